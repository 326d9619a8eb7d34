//! Several loops down the same columns: a softmax along the outer axis, columns that are divided by
//! their norms.
//!
//! Along a column nothing is a neighbour in memory. Neighbouring threads have neighbouring columns,
//! as many as a warp has lanes, and warps share each loop down them: a block reads whole lines, and
//! joins what its warps have found.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel shares(x: f32[m, n], y: f32[m, n], m: i32, n: i32)
//! assume 1 <= m and 0 <= n
//! domain { [c] : 0 <= c < n }
//! domain { [i] : 0 <= i < m }
//! domain { [j] : 0 <= j < m }
//! temp total: f32 private
//! total = sum(i, x[i, c]) {id=total}
//! y[j, c] = x[j, c] / total {id=share}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! split_iname(c, 32)
//! split_iname(i, 8)
//! split_iname(j, 8)
//! tag_inames(c_outer: block.x, c_inner: thread.x, i_inner: thread.y, j_inner: thread.y)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule,
    grid::{AXES, Along, on_axes},
    text::{names, split, tag},
};

pub struct Strips;

/// Warps of a block.
const WARPS: i64 = 8;

impl Rule for Strips {
    fn name(&self) -> &'static str {
        "strips"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let (parallel, down) = (nest.parallel(), nest.rows());
        let Some(x) = nest.best(&parallel) else { return Vec::new() };
        let along: f64 = down.iter().map(|r| nest.score(r)).sum();
        if down.len() < 2 || nest.is_map() || along >= 0.0 || nest.score(&x) <= 0.0 {
            return Vec::new();
        }
        let warp = i64::from(target.warp_size);
        let reason = format!(
            "neighbours of `{x}` are neighbours in memory: a block takes {warp} of them, and {WARPS} warps \
             share the loops over {} down each",
            names(&down)
        );
        let mut proposal = Proposal::new(reason).step(split(&x, warp));
        for r in &down {
            proposal = proposal.step(split(r, WARPS));
        }
        let others = parallel.iter().rev().filter(|n| **n != x).map(Along::whole);
        let loops: Vec<Along> = std::iter::once(Along::outer(&x, warp)).chain(others).collect();
        let (proposal, mut tags) = on_axes(nest, proposal, loops, &AXES);
        tags.push((format!("{x}_inner"), "thread.x"));
        tags.extend(down.iter().map(|r: &Name| (format!("{r}_inner"), "thread.y")));
        vec![proposal.step(tag(&tags))]
    }
}
