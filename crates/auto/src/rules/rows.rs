//! Reductions, and loops with others beside them, along rows that are contiguous in memory: sums of
//! rows, norms, softmax, products of a matrix and a vector.
//!
//! A block works on a row together, with its threads along the row: neighbours in memory are then
//! neighbouring threads, and partial results are joined in the block. If the row is a single
//! reduction, each thread takes four elements at a time, as a vector where all accesses are shown
//! to be whole and aligned. Rows that are known to be short get a warp, or a few
//! lanes of one, each; those that are known to be long are divided among blocks.
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
//! split_iname(r, 8)
//! split_iname(i, 32)
//! tag_inames(r_outer: block.x, r_inner: warp, i_inner: lane)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule,
    text::{names, split, split_as, tag},
};

pub struct Rows;

/// Rows of so many elements and more are divided among blocks.
const LONG: i64 = 1 << 18;
/// Points of such a row that a block takes.
const CHUNK: i64 = 16384;
/// Threads of each block.
const THREADS: i64 = 256;
/// Elements of a thread that are loaded before the first is used.
const IN_FLIGHT: i64 = 4;
/// Warps of a block whose warps work on rows of their own.
const WARPS: i64 = 8;

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
            let width = nest.vector(r, target.widest_access as usize);
            if (2..=warp * width).contains(&length) {
                proposals.push(by_lanes(&parallel, last, r, length, width));
            } else if length >= LONG {
                proposals.push(by_chunks(&parallel, r, width));
            }
        }
        if longest.is_some_and(|n| n <= 16 * warp) {
            proposals.push(by_warps(last, &parallel, &rows, warp));
        }
        proposals.extend(by_blocks(nest, &parallel, &rows, target));
        proposals.push(by_warps(last, &parallel, &rows, warp));
        proposals
    }
}

/// Tags that put the loops around rows on the grid, the last one along x.
fn grid(parallel: &[Name]) -> Vec<(String, &'static str)> {
    let axes = ["block.x", "block.y", "block.z"];
    parallel.iter().rev().zip(axes).map(|(n, axis)| (n.to_string(), axis)).collect()
}

pub(super) fn by_blocks(nest: &Nest<'_>, parallel: &[Name], rows: &[Name], target: &Target) -> Vec<Proposal> {
    let widths: Vec<i64> = rows.iter().map(|r| nest.vector(r, target.widest_access as usize)).collect();
    let width = widths.iter().copied().min().unwrap_or(1);
    let along = names(rows);
    let mut proposals = Vec::new();
    if width > 1 {
        let reason = format!("a block for each row, along {along}, in whole vectors of {width}");
        let (mut proposal, mut tags) = (Proposal::new(reason), grid(parallel));
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
        let (mut proposal, mut tags) = (Proposal::new(reason), grid(parallel));
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
    let (mut proposal, mut tags) =
        (Proposal::new(format!("a block for each row, along {along}")), grid(parallel));
    for r in rows {
        proposal = proposal.step(split(r, THREADS));
        tags.push((format!("{r}_inner"), "thread.x"));
    }
    proposals.push(proposal.step(tag(&tags)));
    proposals
}

/// Lanes for each row, as many as its elements can use.
fn by_lanes(parallel: &[Name], last: &Name, r: &Name, length: i64, width: i64) -> Proposal {
    let width = if length % width == 0 { width } else { 1 };
    let elements = |lanes: i64| length.div_euclid(lanes * width) + i64::from(length % (lanes * width) > 0);
    let taken = |lanes: &i64| elements(*lanes) * lanes * width;
    // Fewer than 8 neighbouring elements are not a whole sector. More lanes have more loads in
    // flight, if at least three quarters of them have an element.
    let all = || [32, 16, 8, 4, 2].into_iter().filter(|lanes| lanes * width >= 8);
    let full = all().find(|lanes| 3 * taken(lanes) <= 4 * length);
    let lanes = full.or_else(|| all().min_by_key(taken)).unwrap_or(2);
    let rows = THREADS / lanes;
    let reason = format!(
        "rows of {length} are short: {lanes} lanes for each, {}{} rows a block",
        if width > 1 { format!("in whole vectors of {width}, ") } else { String::new() },
        rows * IN_FLIGHT
    );
    let mut tags = vec![
        (format!("{last}_outer"), "block.x"),
        (format!("{last}_row"), "thread.y"),
        (format!("{last}_part"), "ilp"),
    ];
    let rest = parallel.iter().rev().skip(1);
    tags.extend(rest.zip(["block.y", "block.z"]).map(|(n, axis)| (n.to_string(), axis)));
    let mut proposal = Proposal::new(reason)
        .step(split(last, rows * IN_FLIGHT))
        .step(split_as(format!("{last}_inner"), rows, format!("{last}_part"), format!("{last}_row")))
        .step(split(r, lanes * width));
    if width > 1 {
        let (lane, vec) = (format!("{r}_lane"), format!("{r}_vec"));
        proposal = proposal.step(split_as(format!("{r}_inner"), width, &lane, &vec));
        tags.extend([(lane, "thread.x"), (vec, "vec")]);
    } else {
        tags.push((format!("{r}_inner"), "thread.x"));
    }
    proposal.step(tag(&tags))
}

/// Several blocks for each row, whose partial results are joined.
fn by_chunks(parallel: &[Name], r: &Name, width: i64) -> Proposal {
    let reason = format!(
        "rows are long: blocks take {CHUNK} points of `{r}` each, and their partial results are joined"
    );
    let mut tags = grid(parallel);
    // The grid's axis y has room for few chunks only; a third loop around the row stays in the
    // block.
    tags.retain(|(_, axis)| *axis != "block.z");
    for (_, axis) in tags.iter_mut().skip(1) {
        *axis = "block.z";
    }
    tags.extend([(format!("{r}_chunk"), "block.y"), (format!("{r}_thread"), "thread.x")]);
    let mut proposal =
        Proposal::new(reason).step(split_as(r, CHUNK, format!("{r}_chunk"), format!("{r}_rest")));
    if width > 1 {
        tags.push((format!("{r}_vec"), "vec"));
        proposal = proposal
            .step(split_as(format!("{r}_rest"), THREADS * width, format!("{r}_step"), format!("{r}_round")))
            .step(split_as(format!("{r}_round"), width, format!("{r}_thread"), format!("{r}_vec")));
    } else {
        tags.push((format!("{r}_part"), "ilp"));
        proposal = proposal
            .step(split_as(
                format!("{r}_rest"),
                THREADS * IN_FLIGHT,
                format!("{r}_step"),
                format!("{r}_round"),
            ))
            .step(split_as(format!("{r}_round"), THREADS, format!("{r}_part"), format!("{r}_thread")));
    }
    proposal.step(tag(&tags))
}

fn by_warps(last: &Name, parallel: &[Name], rows: &[Name], warp: i64) -> Proposal {
    let reason = format!("a warp for each row, along {}: {WARPS} rows a block", names(rows));
    let mut proposal = Proposal::new(reason).step(split(last, WARPS));
    let mut tags = vec![(format!("{last}_outer"), "block.x"), (format!("{last}_inner"), "warp")];
    let rest = parallel.iter().rev().skip(1);
    tags.extend(rest.zip(["block.y", "block.z"]).map(|(n, axis)| (n.to_string(), axis)));
    for r in rows {
        proposal = proposal.step(split(r, warp));
        tags.push((format!("{r}_inner"), "lane"));
    }
    proposal.step(tag(&tags))
}
