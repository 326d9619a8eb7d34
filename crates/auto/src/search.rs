//! A search among the proposals of rules.
//!
//! The pipeline of the rules alone comes first. Then each decision in turn takes its other legal
//! proposals, with the decisions before it as they are by then, and those after it as the rules make
//! them; the cheapest stays. One pass, and a number of candidates that is given: the same result
//! each time, whatever the machine.

use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::Target;

use crate::{Found, auto, found::auto_with};

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// The cheapest pipeline.
    pub found: Found,
    /// Its cost; `None` if it has none.
    pub cost: Option<f64>,
    /// The cost of the pipeline that the rules alone find.
    pub by_rules: Option<f64>,
    /// Number of pipelines whose cost was asked for.
    pub candidates: usize,
}

/// Finds the cheapest of at most `most` pipelines for what a kernel leaves open, by a cost of
/// transformed kernels, such as the estimated time. A kernel without a cost is not taken, unless the
/// rules alone make it and no other is cheaper.
///
/// ```
/// use loopwright_auto::{Target, search};
/// use loopwright_kernel_ir::LoopKernel;
///
/// let kernel = LoopKernel::parse("\
/// kernel row_sum(x: f32[m, n], out: f32[m], m: i32, n: i32)
/// assume 0 <= m and 0 <= n
/// domain { [r] : 0 <= r < m }
/// domain { [i] : 0 <= i < n }
/// out[r] = sum(i, x[r, i]) {id=total}
/// ")?;
/// // If warps were all that matters:
/// let mut cost = |kernel: &LoopKernel| Some(if kernel.to_string().contains("warp") { 1.0 } else { 2.0 });
/// let searched = search(&kernel, &Target::default(), 8, &mut cost);
/// assert_eq!((searched.by_rules, searched.cost), (Some(2.0), Some(1.0)));
/// assert_eq!(searched.found.pipeline.to_string(), "\
/// split_iname(r, 8)
/// split_iname(i, 32)
/// tag_inames(r_outer: block.x, r_inner: warp, i_inner: lane)
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn search(
    kernel: &LoopKernel,
    target: &Target,
    most: usize,
    cost: &mut dyn FnMut(&LoopKernel) -> Option<f64>,
) -> Searched {
    let first = auto(kernel, target);
    let by_rules = cost(&first.kernel);
    let mut best = Searched { found: first, cost: by_rules, by_rules, candidates: 1 };
    let mut skipped: Vec<usize> = Vec::new();
    let mut number = 0;
    while number < best.found.decisions.len() {
        skipped.resize(number, 0);
        let mut own = 0;
        for skip in 1.. {
            if best.candidates >= most {
                return best;
            }
            let tried = [skipped.as_slice(), &[skip]].concat();
            let Some(found) = auto_with(kernel, target, &tried) else { break };
            best.candidates += 1;
            if let Some(new) = cost(&found.kernel)
                && best.cost.is_none_or(|old| new < old)
            {
                (best.found, best.cost, own) = (found, Some(new), skip);
            }
        }
        skipped.push(own);
        number += 1;
    }
    best
}
