//! Reductions with few neighbouring terms whose results are neighbours in memory: convolutions,
//! stencils written as sums, pooling.
//!
//! Threads along so few terms would be idle for the most part, and their results would have to be
//! joined. Each thread computes a result, and neighbouring results go to neighbouring threads, as
//! in a map. What a thread skips, its neighbours or its own next terms read: windows that overlap,
//! or lie side by side, are a contiguous piece of memory together, of which each line is loaded
//! once and found in the first-level cache from then on. That holds for steps from window to window
//! of a sector at most; rows that are farther apart are those of other rules.
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
//! unroll(k)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use super::map::Map;
use crate::{Nest, Proposal, Rule, Site, Wish, bounds};

pub struct Short;

/// The most terms of a sum that are written one after another, so that all their loads are in
/// flight together.
const UNROLLED: i64 = 16;

/// The proposal with the loops of reductions of few terms unrolled.
fn unrolled(nest: &Nest<'_>, proposal: Proposal) -> Proposal {
    let few =
        nest.reductions().into_iter().filter(|(_, r)| nest.count(&r.inames).is_some_and(|n| n <= UNROLLED));
    let loops: Vec<String> = few.flat_map(|(_, r)| r.inames.clone()).map(|n| n.to_string()).collect();
    if loops.is_empty() { proposal } else { proposal.optional(format!("unroll({})", loops.join(", "))) }
}

/// As [`Nest::score`], where accesses of windows that leave no gaps count as neighbours.
fn score(nest: &Nest<'_>, x: &Name, target: &Target) -> f64 {
    let along = nest.sites.iter().filter(|s| s.inames.contains(x));
    along.map(|s| if leaves_no_gaps(nest, s, x, target) { s.weight() } else { nest.score_of(s, x) }).sum()
}

/// Whether the windows of neighbours along `x` are contiguous in memory together, and a request of
/// neighbouring threads touches a sector for each of them at most.
fn leaves_no_gaps(nest: &Nest<'_>, site: &Site, x: &Name, target: &Target) -> bool {
    let subscript = || {
        let axis = site.dense?;
        let elsewhere = (0..site.index.len()).filter(|k| *k != axis);
        let is_elsewhere = |k: usize| site.index[k].as_ref().is_none_or(|aff| aff.mentions(x));
        if { elsewhere }.any(is_elsewhere) {
            return None;
        }
        site.index[axis].as_ref().filter(|aff| aff.is_affine())
    };
    let Some(subscript) = subscript() else { return false };
    let step = subscript.coefficient(x).unsigned_abs();
    let reduced = nest.reductions().into_iter().flat_map(|(_, r)| r.inames.clone());
    // The elements of a window along the axis, as far as each lies next to another one.
    let mut terms: Vec<(u64, u64)> = reduced
        .filter_map(|n| Some((subscript.coefficient(&n).unsigned_abs(), nest.extent(&n)?)))
        .filter_map(|(factor, length)| Some((factor, u64::try_from(length).ok()?)))
        .filter(|(factor, length)| *factor > 0 && *length > 0)
        .collect();
    terms.sort_unstable();
    let window = terms.into_iter().fold(1u64, |window, (factor, length)| match factor <= window {
        true => window.saturating_add(factor.saturating_mul(length - 1)),
        false => window,
    });
    step > 1 && step <= window && step.saturating_mul(site.bytes as u64) <= target.sector.into()
}

/// What fixing the length of windows that overlap would allow, if it is a parameter: nothing says
/// then that they are short.
fn wish_for_windows(nest: &Nest<'_>) {
    let Some(x) = nest.best(&nest.parallel()) else { return };
    for r in nest.rows() {
        let overlaps = |site: &Site| {
            let along = site.dense.and_then(|axis| site.index.get(axis)?.as_ref());
            along.is_some_and(|aff| aff.coefficient(&x) != 0 && aff.coefficient(&r).abs() == 1)
        };
        let is_window = nest.sites.iter().any(|site| !site.is_write && overlaps(site));
        let parameter = bounds::length_parameter(nest.kernel, &r).filter(|_| is_window);
        if let Some(parameter) = parameter {
            nest.remark(format!("nothing says that the windows along `{r}` are short"));
            let step = format!("fix_parameters({parameter}={UNROLLED})");
            nest.wish(Wish::step(
                step,
                format!("a thread for each window of {UNROLLED} and fewer, unrolled"),
            ));
        }
    }
}

impl Rule for Short {
    fn name(&self) -> &'static str {
        "short"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let most = 2 * i64::from(target.warp_size);
        let longest = nest.longest(&nest.rows()).filter(|n| *n <= most);
        let Some(longest) = longest.filter(|_| !nest.is_map()) else {
            if nest.longest(&nest.rows()).is_none() && nest.inner.is_empty() {
                wish_for_windows(nest);
            }
            return Vec::new();
        };
        let best = nest.best(&nest.parallel());
        if !nest.inner.is_empty() || best.is_none_or(|x| score(nest, &x, target) <= 0.0) {
            return Vec::new();
        }
        let mut proposals = Map.propose(nest, target);
        for proposal in &mut proposals {
            proposal.reason = format!(
                "{longest} neighbouring terms are few: a thread for each result; {}",
                proposal.reason
            );
        }
        proposals.into_iter().map(|proposal| unrolled(nest, proposal)).collect()
    }
}
