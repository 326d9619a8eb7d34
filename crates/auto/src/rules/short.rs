//! Reductions with few neighbouring terms whose results are neighbours in memory: convolutions,
//! stencils written as sums.
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
use crate::{Nest, Proposal, Rule};

pub struct Short;

impl Rule for Short {
    fn name(&self) -> &'static str {
        "short"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let most = 2 * i64::from(target.warp_size);
        let longest = nest.longest(&nest.rows()).filter(|n| *n <= most);
        let Some(longest) = longest.filter(|_| !nest.is_map()) else { return Vec::new() };
        let best = nest.best(&nest.parallel());
        if !nest.inner.is_empty() || best.is_none_or(|x| nest.score(&x) <= 0.0) {
            return Vec::new();
        }
        let mut proposals = Map.propose(nest, target);
        for proposal in &mut proposals {
            proposal.reason = format!(
                "{longest} neighbouring terms are few: a thread for each result; {}",
                proposal.reason
            );
        }
        proposals
    }
}
