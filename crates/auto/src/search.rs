//! A search among the proposals of rules, and among sizes.
//!
//! The pipeline of the rules alone comes first. Then each decision in turn takes its other legal
//! proposals, with the decisions before it as they are by then, and those after it as the rules
//! make them; the cheapest stays. At most three quarters of the candidates are for that. Then each
//! size of the cheapest pipeline ([`Sizes`](crate::Sizes)) in turn takes its other candidates, the
//! nearest first, in either direction as long as it gets cheaper. A number of candidates that is
//! given, and one order: the same result each time, whatever the machine.

use std::{collections::BTreeMap, rc::Rc};

use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_lowering::Target;
use loopwright_transforms::Pipeline;

use crate::{
    Found, Launch,
    found::{assumed_for, auto_with},
    judge::Judge,
};

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// The pipeline with the lowest cost, with the reasons.
    pub found: Found,
    /// Its cost; `None` if it has none.
    pub cost: Option<f64>,
    /// The cost of the pipeline that the rules alone find.
    pub by_rules: Option<f64>,
    /// Number of pipelines whose cost was asked for.
    pub candidates: usize,
    /// Whether the search ended before its number of candidates because it was told to.
    pub is_cut_short: bool,
}

/// A candidate that costs more than this fraction of the best one is no better: an estimate does
/// not resolve less, and which of two is ahead by so little depends on the sizes.
const RESOLVED: f64 = 0.98;

/// Finds the cheapest of at most `most` pipelines for what a kernel leaves open, by a cost of
/// transformed kernels, such as the estimated time. Costs that differ by less than 2% count as
/// equal, and what comes first stays. A kernel without a cost is not taken, unless the rules alone
/// make it and no other is cheaper.
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
    search_while(kernel, target, most, &mut || true, cost)
}

/// As [`search`], as long as `goes_on`, which is asked before each candidate but the first. What is
/// found depends on when it says no: [`Searched::is_cut_short`] says whether it did.
pub fn search_while(
    kernel: &LoopKernel,
    target: &Target,
    most: usize,
    goes_on: &mut dyn FnMut() -> bool,
    cost: &mut dyn FnMut(&LoopKernel) -> Option<f64>,
) -> Searched {
    search_for(kernel, target, &Launch::default(), most, goes_on, cost)
}

/// As [`search_while`], for one launch: the search begins with what [`auto_for`](crate::auto_for)
/// finds for it, and keeps what that assumes.
pub fn search_for(
    kernel: &LoopKernel,
    target: &Target,
    launch: &Launch,
    most: usize,
    goes_on: &mut dyn FnMut() -> bool,
    cost: &mut dyn FnMut(&LoopKernel) -> Option<f64>,
) -> Searched {
    let (assumed, first) = assumed_for(kernel, target, launch, false);
    let judge = Rc::new(Judge::new(target, false).meant_for(launch));
    let by_rules = cost(&first.kernel);
    let seen = vec![first.pipeline.clone()];
    let best = Searched { found: first, cost: by_rules, by_rules, candidates: 1, is_cut_short: false };
    let mut search = Search { kernel: &assumed.kernel, judge, most, goes_on, cost, seen, best };
    loopwright_poly::remembering(|| {
        search.decisions();
        search.sizes();
    });
    let Searched { found, cost, candidates, is_cut_short, .. } = search.best;
    Searched { found: assumed.then(found), cost, by_rules, candidates, is_cut_short }
}

struct Search<'s> {
    kernel: &'s LoopKernel,
    judge: Rc<Judge>,
    most: usize,
    goes_on: &'s mut dyn FnMut() -> bool,
    cost: &'s mut dyn FnMut(&LoopKernel) -> Option<f64>,
    seen: Vec<Pipeline>,
    best: Searched,
}

impl Search<'_> {
    /// Whether another candidate may be tried.
    fn has_more(&mut self, most: usize) -> bool {
        if self.best.is_cut_short || self.best.candidates >= most {
            return false;
        }
        self.best.is_cut_short = !(self.goes_on)();
        !self.best.is_cut_short
    }

    /// Asks for a candidate's cost, and keeps it if it is the cheapest.
    fn is_better(&mut self, found: Found) -> bool {
        if self.seen.contains(&found.pipeline) {
            return false;
        }
        self.seen.push(found.pipeline.clone());
        self.best.candidates += 1;
        let Some(new) = (self.cost)(&found.kernel) else { return false };
        let is_better = self.best.cost.is_none_or(|old| new < old * RESOLVED);
        if is_better {
            (self.best.found, self.best.cost) = (found, Some(new));
        }
        is_better
    }

    /// The other proposals for each nest.
    fn decisions(&mut self) {
        let most = self.most - self.most / 4;
        let mut skipped: Vec<usize> = Vec::new();
        let mut number = 0;
        while number < self.best.found.decisions.len() {
            skipped.resize(number, 0);
            let mut own = 0;
            for skip in 1.. {
                if !self.has_more(most) {
                    return;
                }
                let tried = [skipped.as_slice(), &[skip]].concat();
                let Some(found) = auto_with(self.kernel, &self.judge, &tried) else { break };
                if self.is_better(found) {
                    own = skip;
                }
            }
            skipped.push(own);
            number += 1;
        }
    }

    /// The other sizes of the cheapest pipeline.
    fn sizes(&mut self) {
        let found = self.best.found.clone();
        let sizes = found.sizes(&self.judge.target);
        let mut values: BTreeMap<Name, i64> = sizes.usual();
        for size in &sizes.sizes {
            let Some(usual) = size.values.iter().position(|v| *v == size.usual) else { continue };
            let above: Vec<usize> = (usual + 1..size.values.len()).collect();
            let below: Vec<usize> = (0..usual).rev().collect();
            for direction in [above, below] {
                for k in direction {
                    let mut tried = values.clone();
                    tried.insert(size.name.clone(), size.values[k]);
                    if !sizes.allow(&tried) {
                        continue;
                    }
                    if !self.has_more(self.most) {
                        return;
                    }
                    let judge = self.judge.clone();
                    let apply = |kernel: &LoopKernel, step: &loopwright_transforms::Step| {
                        judge.step(kernel, &step.to_string()).map(|(after, _)| after)
                    };
                    let with = sizes.with_applied(&found, self.kernel, &tried, &apply).ok();
                    let Some(with) = with.filter(|with| self.judge.lowers(&with.kernel).is_ok()) else {
                        continue;
                    };
                    if !self.is_better(with) {
                        break;
                    }
                    values = tried;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "kernel row_sum(x: f32[1000, n], out: f32[1000], n: i32)\n\
                        assume 0 <= n\n\
                        domain { [r] : 0 <= r < 1000 }\n\
                        domain { [i] : 0 <= i < n }\n\
                        out[r] = sum(i, x[r, i])\n";

    /// If what matters is that the loop over `i` is cut into pieces of this length.
    fn cost(kernel: &LoopKernel, length: i64) -> Option<f64> {
        let text = kernel.to_string();
        Some(if text.contains(&format!("{length}*i_outer")) { 1.0 } else { 2.0 })
    }

    #[test]
    fn sizes_are_searched_within_the_number_of_candidates() {
        let kernel = LoopKernel::parse(ROWS).expect("a kernel");
        let search = |most| search(&kernel, &Target::default(), most, &mut |kernel| cost(kernel, 512));
        let searched = search(20);
        assert_eq!((searched.by_rules, searched.cost), (Some(2.0), Some(1.0)));
        assert!(searched.candidates <= 20 && !searched.is_cut_short);
        let decision = &searched.found.decisions[0];
        assert!(decision.reason.contains("512 for `i_inner` rather than 1024"), "{}", decision.reason);
        assert_eq!(searched.found.pipeline.apply(&kernel), Ok(searched.found.kernel.clone()));
        assert_eq!(search(20), searched, "the same each time");
        assert_eq!(search(1).candidates, 1);
    }

    #[test]
    fn what_stops_a_search_is_said() {
        let kernel = LoopKernel::parse(ROWS).expect("a kernel");
        let mut left = 3;
        let mut goes_on = || {
            left -= 1;
            left >= 0
        };
        let searched =
            search_while(&kernel, &Target::default(), 20, &mut goes_on, &mut |kernel| cost(kernel, 512));
        assert!(searched.is_cut_short && searched.candidates <= 4);
    }
}
