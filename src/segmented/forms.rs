//! The forms of a reduction, with a few values for the open parameters of each, and the small
//! problem on which they are counted.
//!
//! Which forms fit a shape is arithmetic; the static cost decides which one is best. Loads have 16
//! bytes if all rows are aligned to that, else 8 or 4 bytes if rows are aligned to these, else
//! single elements. The values span the best points of the tuned sweeps
//! (`benches/RESULTS-archive.md`), in multiples of a vector, so that they mean the same bytes for
//! every type.

use crate::ir::{DType, Diagnostic, Name};
use crate::lowering::Target;
use crate::runtime::cuda::DeviceInfo;
use crate::runtime::{Args, Tensor};
use crate::transforms::Pipeline;
use crate::tuner::{Machine, Space};

use super::Shape;
use super::cut::Cut;
use super::lanes;
use super::waves::Waves;

/// The devices that the forms are for.
pub(super) const TARGET: Target = Target::cuda();
/// Threads of a warp.
pub(super) const WARP: usize = TARGET.warp_size as usize;

/// A pipeline with open parameters, and the values to try.
pub(super) struct Form {
    /// Its name, as reported to the user.
    pub name: &'static str,
    pub pipeline: Pipeline,
    pub space: Space,
    /// For a form that loads whole vectors of misaligned rows: the factor by which its estimate may
    /// exceed that of others.
    pub wide: Option<f64>,
    /// Whether a block has one row, or a part of one.
    pub block: bool,
    /// Whether several blocks share a row, and their partial results are joined.
    pub shared: bool,
}

impl Form {
    pub(super) fn new(name: &'static str, steps: &str, space: Space) -> Result<Form, Diagnostic> {
        Ok(Form { name, pipeline: Pipeline::parse(steps)?, space, wide: None, block: false, shared: false })
    }

    /// Makes blocks that share a row update its result atomically.
    pub(super) fn reduce_atomically(&mut self) -> Result<(), Diagnostic> {
        self.pipeline = self.pipeline.clone().then(&Pipeline::parse("reduce_atomically(reduce)")?);
        self.name = if self.wide.is_some() {
            "blocks for chunks of a row, by vectors from before its beginning, joined by atomic \
             updates"
        } else {
            "blocks for chunks of a row, joined by atomic updates"
        };
        Ok(())
    }

    /// Puts a hint to the cache before its steps.
    fn hint(&mut self, step: &str) -> Result<(), Diagnostic> {
        self.pipeline = Pipeline::parse(step)?.then(&self.pipeline);
        Ok(())
    }
}

/// Evict-first loads of the elements.
const STREAMING: &str = "cache_streaming(x)";

/// Elements per load: 16 bytes, or fewer if rows of this length are not all aligned to that.
pub(super) fn vector(dtype: DType, length: usize) -> usize {
    let mut lanes = TARGET.widest_elements(dtype.bytes());
    while lanes > 1 && !length.is_multiple_of(lanes) {
        lanes /= 2;
    }
    lanes
}

pub(super) fn list(values: impl IntoIterator<Item = usize>) -> Vec<i64> {
    values.into_iter().filter_map(|v| i64::try_from(v).ok()).collect()
}

/// The forms that fit a shape, usually the best one first. `state` is the size of a partial result
/// in bytes, `results` has the arrays that results are stored to, with the bytes of an element.
pub(super) fn of(
    dtype: DType,
    state: usize,
    results: &[(Name, usize)],
    shape: &Shape,
    machine: &Machine,
    limits: &DeviceInfo,
) -> Result<Vec<Form>, Diagnostic> {
    match *shape {
        Shape::Rows { count, length } => {
            let waves = Waves::of([count, length], dtype, results, machine);
            // Two results of a row are not stored in waves. The elements of short rows are
            // evict-first instead, if the cache holds the results beside them.
            let stream = results.len() > 1 && are_held(count, state, machine);
            let mut forms = rows(dtype, state, [count, length], waves.is_some(), machine, limits)?;
            for form in &mut forms {
                if let Some(waves) = &waves {
                    form.hint(&waves.step())?;
                } else if stream && !form.block {
                    form.hint(STREAMING)?;
                }
            }
            Ok(forms)
        }
        Shape::Ragged { count, elements, longest, .. } => {
            let cut = Cut::of(dtype, state, [elements, count], longest, machine, limits);
            let mut form = Form::new("flattened", &cut.step(), cut.space())?;
            if cut.streaming {
                form.hint(STREAMING)?;
            }
            let mut forms = vec![form];
            // Nothing is faster than flattened segments that fill the multiprocessors, even if each
            // segment would keep a block busy: 0.99 and 0.87 of the memory's limit for segments of
            // 65536 (`benches/RESULTS-archive.md`).
            if !cut.known {
                forms.extend(even(count, elements, longest, machine)?);
            }
            Ok(forms)
        }
    }
}

/// The multiprocessors of a machine, at least one.
pub(super) fn multiprocessors(machine: &Machine) -> usize {
    usize::try_from(machine.multiprocessors).unwrap_or(1).max(1)
}

/// Whether the elements of `count` rows of one length are more than the L2 cache holds.
pub(super) fn exceed_cache([count, length]: [usize; 2], dtype: DType, machine: &Machine) -> bool {
    count as f64 * (length * dtype.bytes()) as f64 > machine.l2_bytes
}

/// Whether the cache holds all results next to the streamed elements.
pub(super) fn are_held(count: usize, state: usize, machine: &Machine) -> bool {
    count as f64 * state as f64 <= machine.l2_bytes / 2.0
}

fn rows(
    dtype: DType,
    state: usize,
    [count, length]: [usize; 2],
    in_waves: bool,
    machine: &Machine,
    limits: &DeviceInfo,
) -> Result<Vec<Form>, Diagnostic> {
    let v = vector(dtype, length);
    let whole = length.div_ceil(v);
    let multiprocessors = multiprocessors(machine);
    // With fewer rows than this, one block per row leaves multiprocessors idle.
    let few = count < 8 * multiprocessors;
    let mut forms = Vec::new();
    if let Some(form) = staged_rows(dtype, v, length)? {
        // The estimate for copying all elements of a row at once exceeds what was measured.
        return Ok(vec![form]);
    }
    let widest = v == TARGET.widest_elements(dtype.bytes());
    // A partial result is one value. The cost of joining lanes is that of their shuffles, of which
    // there are more for several values; and each takes registers.
    let cheap = state <= dtype.bytes().max(4);
    // A block has enough to do with 3 KB: with rows of 600 f32, blocks take 15 % longer than lanes.
    let long = v > 1 && whole >= 192;
    if whole <= 512 && !long {
        let few_lanes = if in_waves && widest { lanes::in_waves } else { lanes::of };
        forms.push(few_lanes(v, whole, cheap && widest)?);
    }
    let cut = few && whole >= 2048;
    let joined = || chunks("blocks for chunks of a row, joined by a second kernel", v, whole, true, cheap);
    let large = exceed_cache([count, length], dtype, machine);
    if cut && widest && large && !(cheap && fill_rounds(count, multiprocessors, limits)) {
        // Whatever the estimates: with 140 to 700 rows of 2^28 f32 in all, small chunks take 0.3 to
        // 6 % less on an H200 than the best blocks for whole rows.
        return Ok(vec![joined()?]);
    }
    if whole >= 128 {
        forms.push(block("a block a row", v, whole, true, few)?);
        if cut && !(widest && large) {
            forms.push(joined()?);
        }
    }
    // Whole vectors even so, counted from the last multiple of 16 bytes before each row.
    let full = TARGET.widest_elements(dtype.bytes());
    let whole = length.div_ceil(full);
    if v < full && if v == 1 { whole > WARP } else { full > 2 * v && whole >= 128 } {
        // Loads of single elements take longer than estimated, increasingly so with longer rows:
        // measured, whole vectors win by 0.5 % at 1001 f32, by 1 % at 4097, and by half at 100003;
        // by 17 % at 161, which takes eight lanes five iterations; and by half at 513 and 1025 f16.
        let near = match whole {
            37.. if dtype.bytes() <= 2 => 1.5,
            1024.. => 1.25,
            37..=60 => 1.15,
            _ => 1.05,
        };
        let wide = |form: Form| Form { wide: Some(near), ..form };
        forms.push(wide(if v == 1 && whole <= 256 {
            lanes::from_before(full, whole)?
        } else {
            block("a block a row, by vectors from before its beginning", full, whole, false, few)?
        }));
        if few && whole >= 2048 {
            let name = "blocks for chunks of a row, by vectors from before its beginning";
            forms.push(wide(chunks(name, full, whole, false, cheap)?));
        }
    }
    Ok(forms)
}

/// Whether blocks of 1024 threads, one for each row, leave at most a twentieth of the places for
/// them empty.
fn fill_rounds(rows: usize, multiprocessors: usize, limits: &DeviceInfo) -> bool {
    let each = usize::try_from(limits.max_threads_per_multiprocessor).unwrap_or(2048) / 1024;
    let places = rows.next_multiple_of(multiprocessors * each.max(1));
    rows * 20 >= places * 19
}

/// Misaligned rows that are too short for vectors counted from before their beginnings: a block
/// copies some consecutive rows to shared memory, element by element but coalesced and with all
/// loads in flight at once, and each thread adds a row. The kernel is specialised for this length.
///
/// Rows in shared memory begin an odd number of words apart, so that neighbouring threads read from
/// different banks. From sweeps at 24 lengths of f32, 12 of f64 and 12 of f16
/// (`benches/RESULTS-archive.md`): how long such rows may be, that those of 80 bytes and fewer want
/// 128 rows a block for enough loads in flight, longer ones small blocks, more of which are at
/// different stages, and that two threads share a row of 256 bytes and more.
fn staged_rows(dtype: DType, v: usize, length: usize) -> Result<Option<Form>, Diagnostic> {
    let bytes = dtype.bytes();
    let fits = match bytes {
        4 => v < 4 && (5..=132).contains(&length),
        8 => v == 1 && (3..=80).contains(&length),
        1 | 2 => v == 1 && (5..=80).contains(&length),
        _ => false,
    };
    if !fits {
        return Ok(None);
    }
    let word = (4 / bytes).max(1);
    let pad = if length.is_multiple_of(2 * word) { word } else { 0 };
    let (rows, threads) = match length * bytes {
        41.. if bytes < 4 => (64, 1),
        0..=80 => (128, 1),
        256.. if length.is_multiple_of(2) => (64, 2),
        _ => (32, 1),
    };
    let copy = format!(
        "fix_parameters(len={length})\n\
         split_iname(s, $rows)\n\
         tag_inames(s_outer: block.x)\n\
         add_prefetch(x, [s_inner, i], inames=[r, c], pad={pad})\n\
         join_inames([r, c], rc)\n\
         split_iname(rc, {})\n",
        rows * threads
    );
    let (name, add) = if threads == 1 {
        (
            "whole rows by way of shared memory, a thread each",
            "tag_inames(s_inner: thread.x, rc_outer: unroll, rc_inner: thread.x, i: unroll)\n",
        )
    } else {
        (
            "whole rows by way of shared memory, two threads each",
            "split_iname(rc_inner, 2)\n\
             split_iname(i, 2)\n\
             tag_inames(s_inner: thread.y, i_inner: thread.x, i_outer: unroll)\n\
             tag_inames(rc_outer: unroll, rc_inner_outer: thread.y, rc_inner_inner: thread.x)\n",
        )
    };
    Form::new(name, &(copy + add), Space::new().parameter("rows", list([rows]))).map(Some)
}

/// The split of a loop's tail into vectors, if there are any.
pub(super) fn vectors(v: usize, of: &str, lane: &str) -> (String, String) {
    if v == 1 {
        (String::new(), of.to_owned())
    } else {
        (format!("split_iname({of}, {v}, outer={lane}, inner=i_vec)\n"), lane.to_owned())
    }
}

pub(super) fn vector_tag(v: usize) -> &'static str {
    if v == 1 { "" } else { ", i_vec: vec" }
}

pub(super) fn assumed(v: usize, aligned: bool) -> String {
    if v == 1 || !aligned { String::new() } else { format!("assume(len % {v} = 0)\n") }
}

fn block(name: &'static str, v: usize, whole: usize, aligned: bool, few: bool) -> Result<Form, Diagnostic> {
    let (split, thread) = vectors(v, "i_rest", "i_thread");
    let steps = format!(
        "{}split_iname(i, $tile)\n\
         split_iname(i_inner, $step, outer=i_part, inner=i_rest)\n{split}\
         tag_inames(s: block.x, {thread}: thread.x{}, i_part: ilp)\n",
        assumed(v, aligned),
        vector_tag(v)
    );
    // Vectors from before a row's beginning add the work of finding it, and of the ends: the longer
    // the rows, the more threads share them, as measured at seventeen lengths from 515 to 200001
    // f32. The same holds of aligned rows, as measured at 768, 900, 1000 and the powers of two from
    // 1024 to 2^18: with four vectors of each thread in flight, as long as blocks are small.
    let (threads, parts): (&[usize], &[usize]) = match (v, aligned) {
        (1, _) => (&[128, 256], &[4, 8]),
        // If a multiprocessor has few rows, they alone have to keep it busy.
        (_, true) if few => (&[128, 256, 512, 1024], &[1, 4]),
        (_, true) if whole <= 1 << 8 => (&[64], &[4]),
        (_, true) if whole <= 1 << 10 => (&[128], &[4]),
        (_, true) if whole <= 1 << 11 => (&[256], &[4]),
        (_, true) => (&[512], &[2]),
        (_, false) if whole >= 1 << 14 => (&[768], &[1]),
        (_, false) if whole >= 1 << 12 => (&[512], &[1]),
        (_, false) if whole >= 1 << 10 => (&[256], &[1]),
        (_, false) if whole >= 1 << 9 => (&[128], &[1]),
        (_, false) => (&[WARP], &[4]),
    };
    let tiles = threads.iter().flat_map(|t| parts.iter().map(move |p| t * p * v));
    let conditions: Vec<String> = parts.iter().map(|p| format!("tile == {p} * step")).collect();
    let space = Space::new()
        .parameter("step", list(threads.iter().map(|t| t * v)))
        .parameter("tile", list(tiles))
        .require(&conditions.join(" or "))?;
    Ok(Form { block: true, ..Form::new(name, &steps, space)? })
}

fn chunks(
    name: &'static str,
    v: usize,
    whole: usize,
    aligned: bool,
    cheap: bool,
) -> Result<Form, Diagnostic> {
    let (split, thread) = vectors(v, "i_lanes", "i_thread");
    let steps = format!(
        "{}split_iname(i, $chunk, outer=i_chunk, inner=i_rest)\n\
         split_iname(i_rest, $tile, outer=i_tile, inner=i_in_tile)\n\
         split_iname(i_in_tile, $step, outer=i_part, inner=i_lanes)\n{split}\
         tag_inames(s: block.x, i_chunk: block.y, {thread}: thread.x{}, i_part: ilp)\n",
        assumed(v, aligned),
        vector_tag(v)
    );
    // Chunks are on the second dimension of the grid.
    let enough = whole.div_ceil(TARGET.most_blocks as usize).next_power_of_two();
    let sizes: &[usize] = if cheap { &[2048] } else { &[2048, 8192] };
    let tiles: &[usize] = if cheap { &[1024] } else { &[512, 1024] };
    let space = Space::new()
        .parameter("chunk", list(sizes.iter().map(|c| c.max(&enough) * v)))
        .parameter("step", list([256 * v]))
        .parameter("tile", list(tiles.iter().map(|t| t * v)));
    Ok(Form { block: true, shared: true, ..Form::new(name, &steps, space)? })
}

/// A warp or a block per segment, if their lengths are known to be similar.
fn even(
    count: usize,
    elements: usize,
    longest: Option<usize>,
    machine: &Machine,
) -> Result<Vec<Form>, Diagnostic> {
    let multiprocessors = multiprocessors(machine);
    let mean = elements.div_ceil(count.max(1)).max(1);
    let mut forms = Vec::new();
    let Some(longest) = longest else { return Ok(forms) };
    // A segment that is much longer than the others keeps its block or warp busy after the others
    // are done: the total work of a multiprocessor has to be many times that.
    let even = longest <= 8 * mean && longest.saturating_mul(4 * multiprocessors) <= elements;
    if even && longest <= 4096 && mean >= 16 {
        forms.push(Form::new(
            "a warp a segment",
            &format!(
                "split_iname(s, $rows)\n\
                 split_iname(i, $tile)\n\
                 split_iname(i_inner, {WARP}, outer=i_part, inner=i_lane)\n\
                 tag_inames(s_outer: block.x, s_inner: warp, i_lane: lane, i_part: ilp)\n"
            ),
            Space::new().parameter("rows", [4, 8]).parameter("tile", [64, 128]),
        )?);
    }
    if even && mean >= 512 {
        forms.push(Form::new(
            "a block a segment",
            "split_iname(i, $tile)\n\
             split_iname(i_inner, $threads, outer=i_part, inner=i_thread)\n\
             tag_inames(s: block.x, i_thread: thread.x, i_part: ilp)\n",
            Space::new()
                .parameter("threads", [128, 256])
                .parameter("tile", [512, 1024, 2048])
                .require("tile == 4 * threads or tile == 8 * threads")?,
        )?);
    }
    Ok(forms)
}

/// The sizes of a problem, on which alone costs depend.
pub(super) fn sizes(shape: &Shape) -> Args {
    let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    match *shape {
        Shape::Rows { count, length } => {
            Args::new().scalar("nseg", number(count)).scalar("len", number(length))
        }
        Shape::Ragged { count, elements, .. } => {
            Args::new().scalar("nseg", number(count)).scalar("n", number(elements))
        }
    }
}

/// Elements of a sample of rows.
const SAMPLE: usize = 1 << 13;
/// Points and ends in a sample of segments: two blocks, with 8 tiles of 128 threads with 23 items
/// each, so that per-block work counts once.
const STEPS: usize = 47_104;
/// The most vectors in a row of a sample: a chunk.
const ROW: usize = 1 << 13;

/// A small problem of the same kind: rows of the same length, or of the same remainder if they are
/// long; segments of the same mean length.
pub(super) fn sample(dtype: DType, shape: &Shape) -> Result<Args, Diagnostic> {
    match *shape {
        Shape::Rows { count, length } => {
            let most = ROW * 16 / dtype.bytes();
            let length = if length > most { most + length % 16 } else { length };
            let rows = (SAMPLE / length.max(1)).clamp(1, 512).min(count.max(1));
            Ok(Args::new().tensor("x", &Tensor::random(&[rows, length], dtype, 5)?))
        }
        Shape::Ragged { count, elements, offsets, .. } => {
            let mean = elements.div_ceil(count.max(1)).clamp(1, STEPS / 8);
            let segments = (STEPS / (mean + 1)).min(count.max(1));
            // Lengths from zero to twice the mean, without a pattern.
            let (mut ends, mut state) = (vec![0i64], 1u64);
            for _ in 0..segments {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let length = (state >> 33) % (2 * mean as u64 + 1);
                ends.push(ends[ends.len() - 1] + length as i64);
            }
            let n = ends.last().copied().unwrap_or(0);
            let x = Tensor::random(&[usize::try_from(n).unwrap_or(0)], dtype, 5)?;
            let ends = Tensor::from_slice(&[ends.len()], &ends)?.cast(offsets);
            Ok(Args::new().tensor("x", &x).tensor("offsets", &ends))
        }
    }
}
