//! Reductions, and loops with others beside them, along rows that are contiguous in memory: sums of
//! rows, norms, softmax, products of a matrix and a vector.
//!
//! A block works on a row together, with its threads along the row: neighbours in memory are then
//! neighbouring threads, and partial results are joined in the block. If the row is a single
//! reduction, each thread takes four elements at a time, as a vector where all accesses are shown
//! to be whole and aligned. Rows that are known to be short get a warp, or a part of one, each.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel row_max(x: f32[m, 48], out: f32[m], m: i32)
//! assume 0 <= m
//! domain { [r] : 0 <= r < m }
//! domain { [i] : 0 <= i < 48 }
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

/// Threads of a block.
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
        if nest.longest(&rows).is_some_and(|n| n <= 16 * warp) {
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

fn by_blocks(nest: &Nest<'_>, parallel: &[Name], rows: &[Name], target: &Target) -> Vec<Proposal> {
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
