//! Reductions, and loops with others beside them, along rows that are contiguous in memory: sums of
//! rows, norms, softmax, products of a matrix and a vector.
//!
//! A block works on a row together, with its threads along the row: neighbours in memory are then
//! neighbouring threads, and partial results are joined in the block. If the row is a single
//! reduction, each thread takes four elements at a time, as a vector where all accesses are shown
//! to be whole and aligned. Rows that are known to be short get a warp, or a few lanes of one,
//! each. Rows that are known to be long are divided among blocks if they are not known to be many:
//! fewer than blocks of all sizes fill the device with.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel row_max(x: f32[m, 50], out: f32[m], m: i32)
//! assume 0 <= m
//! domain { [r] : 0 <= r < m }
//! domain { [i] : 0 <= i < 50 }
//! out[r] = max(i, x[r, i]) {id=largest}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! split_iname(r, 16)
//! split_iname(r_inner, 8, outer=r_part, inner=r_row)
//! split_iname(i, 32)
//! split_iname(i_inner, 2, outer=i_lane, inner=i_vec)
//! tag_inames(r_outer: block.x, r_row: thread.y, r_part: ilp, i_lane: thread.x, i_vec: vec)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunks;
mod lanes;
mod staged;

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule,
    grid::{AXES, Along, on_axes},
    text::{names, split, split_as, tag},
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
}

impl Row<'_> {
    /// The loads of a row.
    fn loads(&self) -> i64 {
        self.length / self.width + i64::from(self.length % self.width != 0)
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
        let mut proposals = Vec::new();
        let longest = nest.longest(&rows);
        if let (Some(length), [r]) = (longest, rows.as_slice())
            && nest.inner.is_empty()
        {
            proposals.extend(of_length(nest, &parallel, last, r, length, target));
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
    let along = nest.sites.iter().filter(|s| s.stride(r) == crate::Stride::Unit);
    let bytes = along.map(|s| i64::try_from(s.bytes).unwrap_or(4)).max().unwrap_or(4).max(1);
    let width = nest.vector(r, target.widest_access as usize);
    let line = i64::from(target.line) / bytes;
    let row = Row { r, length, width, bytes, line, warp: target.warp_size.into() };
    // The same rows by the widest loads, which begin before a row that is not aligned.
    let wide = Row { width: (i64::from(target.widest_access) / bytes).max(1), ..row };
    let misaligned = width == 1 && wide.width > 1;
    // Blocks of the fewest threads have as much in flight as a row of this length.
    let long = 3 * LEAST * IN_FLIGHT / 4;
    let mut proposals = Vec::new();
    if length < 2 {
        return proposals;
    }
    if row.loads() < long || (misaligned && wide.loads() < long) {
        if misaligned && length >= line / 8 && length <= 2 * line {
            proposals.extend(staged::proposal(nest, &row, parallel, last));
        }
        if misaligned && length > 4 * line {
            proposals.push(lanes::misaligned(nest, &wide, parallel, last));
        }
        proposals.push(lanes::proposal(nest, &row, parallel, last));
        return proposals;
    }
    let places = nest.launch().places();
    let count = nest.count(parallel);
    let power = |n: i64| i64::try_from(n.max(1).unsigned_abs().next_power_of_two()).unwrap_or(i64::MAX);
    let of = if misaligned { &wide } else { &row };
    // Two rounds of what a thread has in flight, or more.
    let usual = power(of.loads() / (2 * IN_FLIGHT)).clamp(LEAST, 2 * THREADS);
    let few = count.is_some_and(|count| count.saturating_mul(THREADS) < places);
    let mut threads = usual;
    if let Some(count) = count.filter(|_| few) {
        // As many as fill the device together, as far as a row has work for them.
        let all = (places / count.max(1)).min(target.most_threads.into());
        threads = (power(all + 1) / 2).clamp(LEAST, power(of.loads()));
        // A second launch costs what a block takes for two chunks. It is worth that if the places
        // that are left would have had as much to do.
        let idle = places.saturating_sub(count.saturating_mul(threads)).max(0);
        if length.saturating_mul(idle) >= places.saturating_mul(2 * chunks::CHUNKS[0]) {
            proposals.push(chunks::proposal(nest, &row, parallel, Some(count)));
        }
    } else if count.is_none() && length >= LONG {
        proposals.push(chunks::proposal(nest, &row, parallel, None));
    }
    let parts = if misaligned || few { 1 } else { (4 * THREADS / threads).min(IN_FLIGHT) };
    proposals.push(of_block(nest, of, parallel, threads, parts, misaligned));
    proposals
}

/// A block of so many threads for each row, with so many loads in flight.
fn of_block(
    nest: &Nest<'_>,
    row: &Row<'_>,
    parallel: &[Name],
    threads: i64,
    parts: i64,
    misaligned: bool,
) -> Proposal {
    let Row { r, length, width, .. } = *row;
    let vectors = match (width, misaligned) {
        (1, _) => String::new(),
        (_, true) => format!(" in vectors of {width} from before its beginning,"),
        (_, false) => format!(" in whole vectors of {width},"),
    };
    let reason = format!(
        "a block of {threads} threads for each row of {length},{vectors} {parts} at a time in flight for a \
         thread"
    );
    let (mut proposal, mut tags) = grid(nest, Proposal::new(reason), parallel, &AXES);
    let mut rest = format!("{r}_inner");
    proposal = proposal.step(split(r, threads * parts * width));
    if parts > 1 {
        let (part, round) = (format!("{r}_part"), format!("{r}_round"));
        proposal = proposal.step(split_as(rest, threads * width, &part, &round));
        tags.push((part, "ilp"));
        rest = round;
    }
    row.across(proposal, rest, "thread", tags)
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
    let mut proposals = Vec::new();
    if width > 1 {
        let reason = format!("a block for each row, along {along}, in whole vectors of {width}");
        let (mut proposal, mut tags) = grid(nest, Proposal::new(reason), parallel, &AXES);
        for r in rows {
            proposal = proposal.step(split(r, THREADS * width)).step(split_as(
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
        proposal = proposal.step(split(r, THREADS));
        tags.push((format!("{r}_inner"), "thread.x"));
    }
    proposals.push(proposal.step(tag(&tags)));
    proposals
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
