//! Reductions over segments of unequal length, whose bounds data decide.
//!
//! Rows of known length would be divided equally; here equal numbers of rows are unequal work. The
//! points of all segments are numbered together and divided into equal chunks (`flatten_ragged`);
//! where that does not apply, each segment gets a warp.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel ragged_sum(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], n: i32, nseg: i32)
//! assume 0 <= n and 0 <= nseg
//! fact monotone(offsets)
//! fact 0 <= offsets <= n
//! domain { [s] : 0 <= s < nseg }
//! domain { [i] : lo <= i < hi }
//! temp lo: i32 private
//! temp hi: i32 private
//! lo = offsets[s] {id=load_lo}
//! hi = offsets[s + 1] {id=load_hi}
//! out[s] = sum(i, x[i]) {id=total}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! flatten_ragged(s, i, threads=128, items=16, tiles=16)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{DType, Flat, Name, Reduce, TypeTable};
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule, Site, Stride, Wish, bounds,
    text::{split, split_as, tag},
};

mod cut;

use cut::Cut;

pub struct Segments;

/// Warps of each block.
const WARPS: i64 = 4;
/// Segments of a block whose threads are spread over another loop.
const ROWS: i64 = 8;

/// The number of all points, if the launch tells: the length of what is read point by point.
fn points(nest: &Nest<'_>, i: &Name) -> Option<i64> {
    let along = nest.sites.iter().find(|s| s.stride(i) == Stride::Unit)?;
    let length = &nest.kernel.array(&along.array)?.axes.get(along.dense?)?.length;
    length.to_aff()?.eval(&|n| nest.launch().integers.get(n).copied())
}

impl Rule for Segments {
    fn name(&self) -> &'static str {
        "segments"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let rows = nest.rows();
        let Some(i) = rows.iter().find(|r| bounds::are_data(nest.kernel, r)) else { return Vec::new() };
        let parallel = nest.parallel();
        let Some(s) = owner(nest, i, &parallel) else { return Vec::new() };
        let unequal = format!("data decide how many `{i}` each `{s}` has");
        let mut proposals: Vec<Proposal> =
            columns(nest, &s, i, &parallel, &unequal, target).into_iter().collect();
        if rows.len() == 1 {
            proposals.extend(of_points(nest, &s, i, &unequal, target));
        }
        let shared = shared(nest, &rows);
        let mut warps = Proposal::new(format!("{unequal}: a warp for each{shared}")).step(split(&s, WARPS));
        let mut tags = vec![(format!("{s}_outer"), "block.x"), (format!("{s}_inner"), "warp")];
        for r in &rows {
            warps = warps.step(split(r, i64::from(target.warp_size)));
            tags.push((format!("{r}_inner"), "lane"));
        }
        proposals.push(warps.step(tag(&tags)));
        proposals
    }
}

/// Why several reductions of a segment's points are not divided into equal chunks, with what would
/// allow that.
fn shared(nest: &Nest<'_>, rows: &[Name]) -> String {
    if rows.len() < 2 || !rows.iter().all(|r| bounds::are_data(nest.kernel, r)) {
        return String::new();
    }
    let reducing = || nest.instructions.iter().filter(|i| !i.reductions().is_empty());
    let arrays: Vec<Name> = reducing().flat_map(|i| i.targets.iter().map(|t| t.array.clone())).collect();
    if reducing().all(|i| i.reductions().len() == 1) && arrays.len() == rows.len() {
        nest.wish(Wish::OneReduction {
            arrays,
            allows: "equal chunks of all points, which are equal work".into(),
        });
    }
    format!(
        ", since only one reduction is divided into equal chunks of all points, and these are {}",
        rows.len()
    )
}

/// The parallel loop in which the bounds of a row are read.
fn owner(nest: &Nest<'_>, i: &Name, parallel: &[Name]) -> Option<Name> {
    let read = |n: &&Name| {
        nest.instructions.iter().any(|reader| {
            reader.within.contains(*n)
                && reader.targets.iter().any(|t| bounds::depend_on(nest.kernel, i, &t.array))
        })
    };
    parallel.iter().rev().find(read).or(parallel.last()).cloned()
}

/// Neighbouring threads for a loop beside the segments along which elements are neighbours, as the
/// columns of a dense matrix are in a product with a sparse one: the elements that a segment's
/// points lead to are whole sectors then.
fn columns(
    nest: &Nest<'_>,
    s: &Name,
    i: &Name,
    parallel: &[Name],
    unequal: &str,
    target: &Target,
) -> Option<Proposal> {
    let inner = nest.inner.iter().filter(|n| !bounds::are_data(nest.kernel, n) && nest.is_parallel(n));
    let others: Vec<&Name> = parallel.iter().chain(inner).filter(|n| *n != s).collect();
    let x = nest.best(others.iter().copied()).filter(|x| nest.score(x) > nest.score(i).max(0.0))?;
    let (unit, moving) = nest.neighbours(&x);
    let reason = format!(
        "{unequal}; neighbours of `{x}` are neighbours in memory for {unit} of {moving} accesses along it: \
         a thread for each, and {ROWS} segments in a block"
    );
    let proposal = Proposal::new(reason).step(split(&x, i64::from(target.warp_size))).step(split(s, ROWS));
    let mut tags = vec![
        (format!("{s}_outer"), "block.x"),
        (format!("{x}_outer"), "block.y"),
        (format!("{x}_inner"), "thread.x"),
        (format!("{s}_inner"), "thread.y"),
    ];
    tags.extend(others.iter().find(|n| ***n != x).map(|n| (n.to_string(), "block.z")));
    Some(proposal.step(tag(&tags)))
}

/// Bytes that are loaded of a point, apart from what other data lead to.
fn loaded(nest: &Nest<'_>, i: &Name) -> usize {
    let mut sites: Vec<&Site> = Vec::new();
    for site in nest.sites.iter().filter(|s| !s.is_write && s.inames.contains(i)) {
        let is_direct = site.index.iter().all(Option::is_some);
        if is_direct && sites.iter().all(|s| s.array != site.array || s.index != site.index) {
            sites.push(site);
        }
    }
    sites.iter().map(|s| s.bytes).sum()
}

/// Bytes of the value of a point: of what is reduced, and made of data.
fn value(nest: &Nest<'_>) -> usize {
    let table = TypeTable::new(nest.kernel);
    let of = |reduce: &Reduce| {
        let read = reduce.args.iter().filter(|arg| !arg.accesses().is_empty());
        read.map(|arg| table.alone(arg).map_or(4, DType::bytes)).sum::<usize>()
    };
    nest.reductions().iter().map(|(_, reduce)| of(reduce)).max().unwrap_or(4)
}

/// Bytes of a partial result; each of several values is aligned for the widest index.
fn state(nest: &Nest<'_>) -> usize {
    match nest.state_bytes() {
        (1, bytes) => bytes,
        (values, bytes) => bytes.max(values * DType::I64.bytes()),
    }
}

/// Equal chunks of all points; or segments of similar lengths one by one, where chunks would not
/// fill the device.
fn of_points(nest: &Nest<'_>, s: &Name, i: &Name, unequal: &str, target: &Target) -> Vec<Proposal> {
    let even = format!("{unequal}: equal chunks of all points are equal work");
    let launch = nest.launch();
    let along = || nest.sites.iter().find(|site| site.stride(i) == Stride::Unit);
    let known = || {
        Some(cut::Segments {
            points: points(nest, i)?,
            count: nest.extent(s)?,
            longest: launch.longest.get(i).copied(),
            bytes: loaded(nest, i),
            value: value(nest),
            state: state(nest),
        })
    };
    let Some(segments) = known() else {
        return vec![Proposal::new(even).step(format!("flatten_ragged({s}, {i})"))];
    };
    let cut = Cut::of(&segments, launch, target);
    let Flat { items, tiles, tail, .. } = cut.flat;
    let mut reason = format!("{even}, {tiles} tiles of {items} points a thread each");
    if let Some(tail) = tail {
        reason += &format!(
            "; those of the first round leave some for small ones of {} at the end, which warps take that are \
             done early",
            tail.tiles
        );
    }
    // Other arrays may be read again, at places that data lead to.
    let is_all = |array: &Name| {
        nest.sites.iter().filter(|s| !s.is_write && s.inames.contains(i)).all(|s| s.array == *array)
    };
    let streaming = along().map(|site| &site.array).filter(|array| cut.streaming && is_all(array));
    let mut proposal = Proposal::new(reason).step(format!("flatten_ragged({s}, {i}, {})", cut.arguments()));
    if let Some(array) = streaming {
        let hint = format!("cache_streaming({array})");
        proposal = proposal.hinted([hint], "points are read once, and are evicted before results");
    }
    let mut proposals = vec![proposal];
    if let Some(similar) = similar(nest, (s, i), unequal, &segments, &cut, target) {
        proposals.insert(0, similar);
    }
    proposals
}

/// The most points of a segment that has a warp, and the fewest of one, on average, that has a
/// block.
const LONGEST_OF_WARP: i64 = 4096;
const SHORTEST_OF_BLOCK: i64 = 512;
/// How many times as long as the others one segment may be.
const SIMILAR: i64 = 8;
/// Points of a thread that are in flight.
const IN_FLIGHT: i64 = 4;
/// Threads of a segment that has a block.
const THREADS: i64 = 128;

/// A warp or a block for each segment, if it is not known that chunks of all points fill the
/// device, and lengths are known to be similar.
///
/// A segment that is much longer than the others keeps its block or warp busy after the others are
/// done: the total work of a multiprocessor has to be many times that.
fn similar(
    nest: &Nest<'_>,
    (s, i): (&Name, &Name),
    unequal: &str,
    segments: &cut::Segments,
    cut: &Cut,
    target: &Target,
) -> Option<Proposal> {
    let (mean, warp) = (segments.mean(), i64::from(target.warp_size));
    let longest = segments.longest.filter(|_| !cut.is_known)?;
    let work = longest.saturating_mul(4 * i64::from(nest.launch().multiprocessors));
    if longest > mean.saturating_mul(SIMILAR) || work > segments.points || mean < 2 * warp {
        return None;
    }
    let lengths = format!("{unequal}, {mean} on average and {longest} at most");
    let (part, inner) = (format!("{i}_part"), format!("{i}_inner"));
    if longest <= LONGEST_OF_WARP {
        let parts = if mean >= IN_FLIGHT * warp { IN_FLIGHT } else { IN_FLIGHT / 2 };
        let lane = format!("{i}_lane");
        let proposal = Proposal::new(format!("{lengths}: a warp for each"))
            .step(split(s, WARPS))
            .step(split(i, parts * warp))
            .step(split_as(inner, warp, &part, &lane));
        return Some(proposal.step(tag(&[
            (format!("{s}_outer"), "block.x"),
            (format!("{s}_inner"), "warp"),
            (lane, "lane"),
            (part, "ilp"),
        ])));
    }
    (mean >= SHORTEST_OF_BLOCK).then(|| {
        let thread = format!("{i}_thread");
        let proposal = Proposal::new(format!("{lengths}: a block for each"))
            .step(split(i, IN_FLIGHT * THREADS))
            .step(split_as(inner, THREADS, &part, &thread));
        proposal.step(tag(&[(s.to_string(), "block.x"), (thread, "thread.x"), (part, "ilp")]))
    })
}
