//! Reductions of few terms whose results are neighbours in memory: convolutions, stencils written
//! as sums.
//!
//! Threads along so few terms would be idle for the most part, and their results would have to be
//! joined. Each thread computes a result, and neighbouring results go to neighbouring threads, as
//! in a map.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel convolution(x: f32[n + 6], w: f32[7], y: f32[n], n: i32)
//! assume 0 <= n
//! domain { [i] : 0 <= i < n }
//! domain { [k] : 0 <= k < 7 }
//! y[i] = sum(k, w[k]*x[i + k]) {id=convolve}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! split_iname(i, 512)
//! split_iname(i_inner, 128, outer=i_part, inner=i_thread)
//! tag_inames(i_outer: block.x, i_thread: thread.x, i_part: ilp)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_lowering::Target;

use super::map::Map;
use crate::{Nest, Proposal, Rule, bounds};

pub struct Short;

impl Rule for Short {
    fn name(&self) -> &'static str {
        "short"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let reductions = nest.reductions();
        let most = 2 * i64::from(target.warp_size);
        let terms = |inames: &[loopwright_kernel_ir::Name]| {
            let lengths = inames.iter().map(|n| bounds::length(nest.kernel, n));
            lengths.product::<Option<i64>>()
        };
        let longest = reductions.iter().map(|(_, r)| terms(&r.inames)).collect::<Option<Vec<i64>>>();
        let Some(longest) = longest.and_then(|all| all.into_iter().max()).filter(|n| *n <= most) else {
            return Vec::new();
        };
        let best = nest.best(&nest.parallel());
        if !nest.inner.is_empty() || best.is_none_or(|x| nest.score(&x) <= 0.0) {
            return Vec::new();
        }
        let mut proposals = Map.propose(nest, target);
        for proposal in &mut proposals {
            proposal.reason =
                format!("{longest} terms are few: a thread for each result; {}", proposal.reason);
        }
        proposals
    }
}
