//! Reductions, and loops with others beside them, along rows that are contiguous in memory: sums of
//! rows, norms, softmax, products of a matrix and a vector.
//!
//! A block works on a row together, with its threads along the row: neighbours in memory are then
//! neighbouring threads, and partial results are joined in the block. If the row is a single
//! reduction, each thread takes four elements at a time, as a vector where all accesses are shown
//! to be whole and aligned. Rows that are known to be short get a few lanes of a warp each, or a
//! thread by way of shared memory if they are not aligned. Rows that are known to be long are
//! divided among blocks if they are not known to be many: fewer than blocks of all sizes fill the
//! device with. If neither is known, a block takes several rows, and a chunk of each. How much is
//! in flight, and hints to the cache, follow from the launch's device.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel row_max(x: f32[m, 52], out: f32[m], m: i32)
//! assume 0 <= m
//! domain { [r] : 0 <= r < m }
//! domain { [i] : 0 <= i < 52 }
//! out[r] = max(i, x[r, i]) {id=largest}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! split_iname(r, 32)
//! split_iname(r_inner, 8, outer=r_part, inner=r_row)
//! split_iname(i, 64)
//! split_iname(i_inner, 4, outer=i_lane, inner=i_vec)
//! tag_inames(r_outer: block.x, r_row: thread.y, r_part: ilp, i_lane: thread.x, i_vec: vec)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod chunks;
mod lanes;
mod staged;

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use block::Block;

use crate::{
    Nest, Proposal, Rule,
    grid::{AXES, Along, on_axes},
    rounding::{ceil, power_below},
    text::{names, split, split_as, tag},
    traffic::Traffic,
};

pub struct Rows;

/// Rows of so many elements and more are divided among blocks, if their number is not known.
const LONG: i64 = 1 << 18;
/// Threads of a block, where the length of rows is not known.
const THREADS: i64 = 256;
/// The fewest threads of a block that has a row.
const LEAST: i64 = 64;
/// Elements, or vectors, of a thread that are loaded before the first is used.
const IN_FLIGHT: i64 = 4;
/// The time of a launch, in times that a load takes: three microseconds are four of them.
pub(super) const LAUNCH: i64 = 4;
/// Bytes that a block reads in the time of a launch: four loads of 16 bytes for each of 1024
/// threads in the time of a load. Blocks that have a single load of a thread in flight read a
/// quarter.
const SECOND_LAUNCH: i64 = LAUNCH * 4 * 16 * 1024;
/// Warps of a block whose warps work on rows of their own.
const WARPS: i64 = 8;

/// Rows of a single reduction whose length is known.
struct Row<'n> {
    r: &'n Name,
    length: i64,
    /// Elements of a load.
    width: i64,
    /// Bytes of an element.
    bytes: i64,
    /// Elements of a line of the cache.
    line: i64,
    warp: i64,
    /// Arrays that are read along it, each by loads of its own.
    reads: i64,
    /// Bytes of a partial result.
    state: i64,
    /// Whether no access of a thread is wider than its loads.
    is_widest: bool,
}

impl Row<'_> {
    /// Whether a partial result is a word, or an element.
    fn is_cheap(&self) -> bool {
        self.state <= self.bytes.max(4)
    }

    /// Bytes that a thread loads at a time, of all arrays.
    fn bytes_at_a_time(&self) -> i64 {
        self.width * self.bytes * self.reads
    }

    /// The loads of a row.
    fn loads(&self) -> i64 {
        ceil(self.length, self.width)
    }

    /// The proposal with rows divided into so many threads, a load each, and all tags.
    fn threads(&self, proposal: Proposal, threads: i64, tags: Vec<(String, &'static str)>) -> Proposal {
        let proposal = proposal.step(split(self.r, threads * self.width));
        self.across(proposal, format!("{}_inner", self.r), "lane", tags)
    }

    /// A loop of the row over neighbouring threads, each with an element or, as `{r}_{thread}`,
    /// with a vector; then all tags.
    fn across(
        &self,
        mut proposal: Proposal,
        inner: String,
        thread: &str,
        mut tags: Vec<(String, &'static str)>,
    ) -> Proposal {
        if self.width > 1 {
            let (thread, vec) = (format!("{}_{thread}", self.r), format!("{}_vec", self.r));
            proposal = proposal.step(split_as(inner, self.width, &thread, &vec));
            tags.extend([(thread, "thread.x"), (vec, "vec")]);
        } else {
            tags.push((inner, "thread.x"));
        }
        proposal.step(tag(&tags))
    }
}

impl Rule for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let (parallel, rows) = (nest.parallel(), nest.rows());
        let Some(last) = parallel.last() else { return Vec::new() };
        if rows.is_empty() {
            return Vec::new();
        }
        let warp = i64::from(target.warp_size);
        // Of several short loops, those of lanes would be idle for the most part, and for each a
        // join: a thread for each result then, as other rules have it.
        let is_one_sum = !nest.is_map() && !nest.has_nested_reductions();
        if !is_one_sum && nest.longest(&rows).is_some_and(|longest| longest < warp) {
            return Vec::new();
        }
        // A join for each of the terms around is the shortest within a warp.
        if nest.has_nested_reductions() {
            let blocks = by_blocks(nest, &parallel, &rows, target);
            return std::iter::once(by_warps(nest, last, &parallel, &rows, warp)).chain(blocks).collect();
        }
        let mut proposals = Vec::new();
        let longest = nest.longest(&rows);
        if let (Some(length), [r]) = (longest, rows.as_slice())
            && nest.inner.is_empty()
        {
            proposals.extend(of_length(nest, &parallel, last, r, length, target));
        }
        if let (None, [r]) = (longest, rows.as_slice())
            && nest.inner.is_empty()
        {
            // A block for each would leave three quarters of the device empty.
            let are_few = |count: i64| 4 * count.saturating_mul(THREADS) < nest.launch().places();
            proposals.extend(match nest.count(&parallel) {
                None => chunks::of_any_length(nest, &parallel, r, target),
                Some(count) if are_few(count) => chunks::of_few(nest, &parallel, r, count),
                Some(_) => None,
            });
        }
        if longest.is_some_and(|n| n <= 16 * warp) {
            proposals.push(by_warps(nest, last, &parallel, &rows, warp));
        }
        proposals.extend(by_blocks(nest, &parallel, &rows, target));
        proposals.push(by_warps(nest, last, &parallel, &rows, warp));
        proposals
    }
}

/// The forms of rows of a known length.
fn of_length(
    nest: &Nest<'_>,
    parallel: &[Name],
    last: &Name,
    r: &Name,
    length: i64,
    target: &Target,
) -> Vec<Proposal> {
    if length < 1 {
        return Vec::new();
    }
    let along = || nest.sites.iter().filter(|s| s.stride(r) == crate::Stride::Unit);
    let bytes = along().map(|s| i64::try_from(s.bytes).unwrap_or(4)).max().unwrap_or(4).max(1);
    let width = nest.vector(r, target.widest_access as usize);
    let line = i64::from(target.line) / bytes;
    let widest = (i64::from(target.widest_access) / bytes).max(1);
    let is_aligned = width == widest;
    let warp = i64::from(target.warp_size);
    let state = i64::try_from(nest.state_bytes().1).unwrap_or(i64::MAX);
    let mut read: Vec<&Name> = along().filter(|s| !s.is_write).map(|s| &s.array).collect();
    read.sort();
    read.dedup();
    let reads = i64::try_from(read.len()).unwrap_or(1).max(1);
    let row = Row { r, length, width, bytes, line, warp, reads, state, is_widest: is_aligned };
    // The same rows by the widest loads, which begin before a row that is not aligned.
    let wide = Row { width: widest, is_widest: true, ..row };
    // That is worth it if single elements would be several rounds for a warp, or if loads would be
    // several times as many for a block.
    let misaligned = match width {
        1 => wide.width > 1 && wide.loads() > row.warp,
        _ => wide.width > 2 * width && wide.loads() >= 4 * row.warp,
    };
    let traffic = Traffic::of(nest, parallel, r);
    let waves =
        traffic.as_ref().and_then(|t| t.waves(is_aligned && lanes::suit_waves(row.loads(), row.warp)));
    let streaming = traffic.as_ref().map(|t| t.streaming(row.state)).unwrap_or_default();
    let hinted = |proposal: Proposal| match &waves {
        Some(waves) => proposal.hinted([waves.clone()], "results are stored in waves"),
        None => proposal,
    };
    let of_short = |proposal: Proposal| match waves.is_none() && !streaming.is_empty() {
        true => proposal.hinted(streaming.clone(), "elements are evicted before results"),
        false => hinted(proposal),
    };
    // Blocks of the fewest threads have as much in flight as a row of this length.
    let long = 3 * LEAST * IN_FLIGHT / 4;
    let mut proposals = Vec::new();
    if !is_aligned && staged::suits(&row) {
        proposals.extend(staged::proposal(nest, &row, parallel, last).map(of_short));
    }
    if misaligned && wide.loads() <= 8 * row.warp {
        proposals.push(of_short(lanes::misaligned(nest, &wide, parallel, last)));
    }
    let places = nest.launch().places();
    let count = nest.count(parallel);
    if row.loads() < long || (misaligned && wide.loads() < long) {
        // A block or two for each multiprocessor, with a thread for each load: all of them are
        // under way at once then, and joining them takes a block one step more than a warp. More
        // blocks than that take longer to begin than a warp takes for a few loads.
        let blocks = 2 * i64::from(nest.launch().multiprocessors);
        if let Some(count) = count.filter(|count| *count <= blocks)
            && is_aligned
            && row.loads() >= 2 * row.warp
        {
            let block = Block::of_few(count, &row, nest.launch(), target.most_threads.into());
            proposals.push(of_short(block::proposal(nest, &row, parallel, block, false)));
        }
        proposals.push(of_short(lanes::proposal(nest, &row, parallel, last, waves.is_some())));
        return proposals;
    }
    let of = if misaligned { &wide } else { &row };
    let few = count.filter(|count| count.saturating_mul(THREADS) < places);
    let most = target.most_threads.into();
    let mut block = match misaligned {
        true => Block::misaligned(of.loads(), of, most),
        false => Block::of_many(of, nest.launch()),
    };
    if let Some(count) = few {
        let filling = Block::of_few(count, of, nest.launch(), most);
        // A second launch takes as long as a block takes for some bytes. It is worth that if the
        // places that are left would have had as much to do. Larger partial results take registers,
        // which leave places empty whatever the threads of a block.
        let launch = if misaligned { SECOND_LAUNCH / IN_FLIGHT } else { SECOND_LAUNCH };
        let idle = places.saturating_sub(count.saturating_mul(filling.threads)).max(0);
        let is_worth = length.saturating_mul(bytes).saturating_mul(idle) >= places.saturating_mul(launch);
        let is_dear = !row.is_cheap() && of.loads() >= 2 * THREADS * IN_FLIGHT;
        if is_worth || (is_dear && traffic.as_ref().is_some_and(Traffic::exceeds)) {
            proposals.push(chunks::proposal(nest, of, parallel, Some(count)));
        }
        block = match misaligned {
            true => Block::few_misaligned(count, of, nest.launch(), most).unwrap_or(block),
            false => filling,
        };
    } else if count.is_none() && length >= LONG {
        proposals.push(chunks::proposal(nest, of, parallel, None));
    }
    proposals.push(hinted(block::proposal(nest, of, parallel, block, misaligned)));
    proposals
}

/// The loops around rows on axes of the grid, the last one on the first.
fn grid(
    nest: &Nest<'_>,
    proposal: Proposal,
    parallel: &[Name],
    axes: &[&'static str],
) -> (Proposal, Vec<(String, &'static str)>) {
    on_axes(nest, proposal, parallel.iter().rev().map(Along::whole).collect(), axes)
}

pub(super) fn by_blocks(nest: &Nest<'_>, parallel: &[Name], rows: &[Name], target: &Target) -> Vec<Proposal> {
    let widths: Vec<i64> = rows.iter().map(|r| nest.vector(r, target.widest_access as usize)).collect();
    let width = widths.iter().copied().min().unwrap_or(1);
    let along = names(rows);
    let threads = threads(nest, parallel, rows, width, target);
    let mut proposals = Vec::new();
    if width > 1 {
        let reason = format!("a block for each row, along {along}, in whole vectors of {width}");
        let (mut proposal, mut tags) = grid(nest, Proposal::new(reason), parallel, &AXES);
        for r in rows {
            proposal = proposal.step(split(r, threads * width)).step(split_as(
                format!("{r}_inner"),
                width,
                format!("{r}_thread"),
                format!("{r}_vec"),
            ));
            tags.extend([(format!("{r}_thread"), "thread.x"), (format!("{r}_vec"), "vec")]);
        }
        proposals.push(proposal.step(tag(&tags)));
    }
    if rows.len() == 1 && nest.inner.is_empty() {
        let reason = format!(
            "a block for each row, along {along}; {IN_FLIGHT} elements a thread are in flight at a \
             time, since rows are not known to consist of whole vectors"
        );
        let (mut proposal, mut tags) = grid(nest, Proposal::new(reason), parallel, &AXES);
        for r in rows {
            proposal = proposal.step(split(r, THREADS * IN_FLIGHT)).step(split_as(
                format!("{r}_inner"),
                THREADS,
                format!("{r}_part"),
                format!("{r}_thread"),
            ));
            tags.extend([(format!("{r}_thread"), "thread.x"), (format!("{r}_part"), "ilp")]);
        }
        proposals.push(proposal.step(tag(&tags)));
    }
    let reason = format!("a block for each row, along {along}");
    let (mut proposal, mut tags) = grid(nest, Proposal::new(reason), parallel, &AXES);
    for r in rows {
        proposal = proposal.step(split(r, threads));
        tags.push((format!("{r}_inner"), "thread.x"));
    }
    proposals.push(proposal.step(tag(&tags)));
    proposals
}

/// Threads of a block that has a row of several loops, with vectors of this width: the more, the
/// fewer rows are under way at a time, and the more of what is read again is still in a cache.
///
/// Where the device has a place for each load of all rows, that many; else, if the length is known,
/// as many as load a row with several loads of each thread in flight. Of a single loop, which other
/// loops repeat, joining partial results takes the time.
pub(super) fn threads(nest: &Nest<'_>, parallel: &[Name], rows: &[Name], width: i64, target: &Target) -> i64 {
    let Some(longest) = nest.longest(rows).filter(|_| rows.len() > 1) else { return THREADS };
    let (loads, most) = (ceil(longest.max(1), width), i64::from(target.most_threads));
    let all = power_below(loads.min(most));
    let have_places = |count: i64| count.saturating_mul(all) <= nest.launch().places();
    match nest.count(parallel) {
        Some(count) if have_places(count) => all.max(THREADS),
        _ => power_below(ceil(loads, IN_FLIGHT).min(most)).max(LEAST),
    }
}

fn by_warps(nest: &Nest<'_>, last: &Name, parallel: &[Name], rows: &[Name], warp: i64) -> Proposal {
    let reason = format!("a warp for each row, along {}: {WARPS} rows a block", names(rows));
    let proposal = Proposal::new(reason).step(split(last, WARPS));
    let (mut proposal, mut tags) = lanes::around(nest, proposal, parallel, last, WARPS);
    tags.push((format!("{last}_inner"), "warp"));
    for r in rows {
        proposal = proposal.step(split(r, warp));
        tags.push((format!("{r}_inner"), "lane"));
    }
    proposal.step(tag(&tags))
}
