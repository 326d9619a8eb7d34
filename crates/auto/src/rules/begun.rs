//! Nests that a user's steps have put on blocks or on threads, and not on both.
//!
//! What the user has decided stays. Inside given blocks, threads go along rows, as if each row had
//! a block, or along the loop whose neighbours are neighbours in memory. Around given threads,
//! loops that are parallel go to blocks.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//! use loopwright_transforms::Pipeline;
//!
//! let kernel = LoopKernel::parse("\
//! kernel row_sum(x: f32[m, n], out: f32[m], m: i32, n: i32)
//! assume 0 <= m and 0 <= n
//! domain { [r] : 0 <= r < m }
//! domain { [i] : 0 <= i < n }
//! out[r] = sum(i, x[r, i]) {id=total}
//! ")?;
//! let begun = Pipeline::parse("tag_inames(r: block.x)")?.apply(&kernel)?;
//! assert_eq!(auto(&begun, &Target::default()).pipeline.to_string(), "\
//! split_iname(i, 1024)
//! split_iname(i_inner, 256, outer=i_part, inner=i_thread)
//! tag_inames(i_thread: thread.x, i_part: ilp)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use super::rows;
use crate::{
    Nest, Proposal, Rule,
    grid::{AXES, Along, on_axes},
    text::{names, split, split_as, tag},
};

pub struct Begun;

/// Threads of each block.
const THREADS: i64 = 256;

impl Rule for Begun {
    fn name(&self) -> &'static str {
        "begun"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let parallel = nest.parallel();
        if nest.held().iter().any(|t| t.is_in_block()) {
            return around_threads(nest, &parallel);
        }
        let has_blocks = nest.held().iter().any(|t| t.is_over_blocks());
        let rows = nest.rows();
        let along: f64 = rows.iter().map(|r| nest.score(r)).sum();
        let x = nest.best(&parallel).filter(|x| rows.is_empty() || nest.score(x) > along);
        match x {
            Some(x) if has_blocks => in_blocks(nest, &x, target),
            Some(x) => vec![spread(nest, &x, &parallel)],
            None if rows.is_empty() => Vec::new(),
            None => {
                let around: &[Name] = if has_blocks { &[] } else { &parallel };
                let mut proposals = rows::by_blocks(nest, around, &rows, target);
                if has_blocks {
                    for proposal in &mut proposals {
                        proposal.reason = format!(
                            "blocks are given by the steps before, and their threads go along {}",
                            names(&rows)
                        );
                    }
                }
                proposals
            }
        }
    }
}

/// Loops that are parallel, on the axes of the grid, around threads.
fn around_threads(nest: &Nest<'_>, parallel: &[Name]) -> Vec<Proposal> {
    if parallel.is_empty() {
        return Vec::new();
    }
    let axes = nest.free_blocks();
    let reason =
        format!("threads are given by the steps before; iterations of {} are independent", names(parallel));
    let loops = parallel.iter().rev().map(Along::whole).collect();
    let (proposal, tags) = on_axes(nest, Proposal::new(reason), loops, &axes);
    vec![proposal.step(tag(&tags))]
}

/// Threads along a loop inside blocks.
fn in_blocks(nest: &Nest<'_>, x: &Name, target: &Target) -> Vec<Proposal> {
    let (unit, moving) = nest.neighbours(x);
    let reason = format!(
        "blocks are given by the steps before; neighbours of `{x}` are neighbours in memory for {unit} of \
         {moving} accesses along it"
    );
    let mut proposals = Vec::new();
    let width = nest.vector(x, target.widest_access as usize);
    if width > 1 {
        let (thread, vec) = (format!("{x}_thread"), format!("{x}_vec"));
        proposals.push(
            Proposal::new(format!("{reason}, in whole vectors of {width}"))
                .step(split(x, THREADS * width))
                .step(split_as(format!("{x}_inner"), width, &thread, &vec))
                .step(tag(&[(thread, "thread.x"), (vec, "vec")])),
        );
    }
    let plain = Proposal::new(reason).step(split(x, THREADS));
    proposals.push(plain.step(tag(&[(format!("{x}_inner"), "thread.x")])));
    proposals
}

/// Blocks and threads along a loop, where the steps before have only given lanes of a thread.
fn spread(nest: &Nest<'_>, x: &Name, parallel: &[Name]) -> Proposal {
    let (unit, moving) = nest.neighbours(x);
    let reason =
        format!("neighbours of `{x}` are neighbours in memory for {unit} of {moving} accesses along it");
    let others = parallel.iter().rev().filter(|n| *n != x).map(Along::whole);
    let loops = std::iter::once(Along::outer(x, THREADS)).chain(others).collect();
    let proposal = Proposal::new(reason).step(split(x, THREADS));
    let (proposal, mut tags) = on_axes(nest, proposal, loops, &AXES);
    tags.push((format!("{x}_inner"), "thread.x"));
    proposal.step(tag(&tags))
}
