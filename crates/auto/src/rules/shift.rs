//! Loops whose first iteration moves on with a loop of the host: the rest of a matrix behind a
//! pivot, what a front has not reached.
//!
//! On the axes of the grid such a loop would have blocks for all values that it ever has, and in
//! later launches those before the first one find nothing to do. Counted from its first iteration,
//! it has the blocks that a launch has work for.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel eliminate(a: f64[n, n], n: i32)
//! assume 1 <= n
//! domain { [k] : 0 <= k < n }
//! domain { [i, j] : k < i < n and k < j < n }
//! a[i, j] = a[i, j] - a[i, k] * a[k, j] {id=update, inames=k:i:j}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].steps[0].to_string(), "tag_inames(k: host)");
//! assert_eq!(found.decisions[1].rule, Some("shift"));
//! let steps: Vec<String> = found.decisions[1].steps.iter().map(ToString::to_string).collect();
//! assert_eq!(steps, [
//!     "map_domain([i] -> [i_rel], i_rel = i - k - 1)",
//!     "map_domain([j] -> [j_rel], j_rel = j - k - 1)",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{Aff, Constraint, Lookup, Name, Tag};
use loopwright_lowering::Target;
use loopwright_poly::System;

use crate::{Nest, Proposal, Rule, text::names};

pub struct Shift;

impl Rule for Shift {
    fn name(&self) -> &'static str {
        "shift"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        let is_around = |n: &Name| nest.instructions.iter().all(|i| i.within.contains(n));
        let hosts = nest.kernel.tags.iter().filter(|(n, tag)| **tag == Tag::Host && is_around(n));
        let hosts: Vec<&Name> = hosts.map(|(n, _)| n).collect();
        if hosts.is_empty() {
            return Vec::new();
        }
        let begin = |iname: &Name| Some((iname.clone(), first_iteration(nest, iname, &hosts)?));
        let moving: Vec<(Name, Aff)> = nest.band.iter().filter_map(begin).collect();
        if moving.is_empty() {
            return Vec::new();
        }
        let of: Vec<&Name> = moving.iter().map(|(iname, _)| iname).collect();
        let reason = format!(
            "the first iteration of {} moves on with a loop of the host: counted from there, each launch has \
             the blocks that it has work for",
            names(&of)
        );
        let shifted = moving.iter().fold(Proposal::new(reason), |proposal, (iname, first)| {
            let Ok(value) = Aff::var(iname).sub(first) else { return proposal };
            proposal.step(format!("map_domain([{iname}] -> [{iname}_rel], {iname}_rel = {value})"))
        });
        vec![shifted]
    }
}

/// The first iteration of a loop, if it is a function of these loops of the host and of parameters,
/// and grows with the first. (A loop that has been shifted has bounds that fall.)
fn first_iteration(nest: &Nest<'_>, iname: &Name, hosts: &[&Name]) -> Option<Aff> {
    let kernel = nest.kernel;
    let is_host = |n: &Name| hosts.contains(&n);
    let is_known = |n: &Name| is_host(n) || kernel.args.iter().any(|arg| arg.name() == n);
    let lookup = Lookup::new(kernel);
    let instruction = nest.instructions.iter().find(|i| i.within.contains(iname))?;
    let rows: Option<Vec<Constraint>> =
        lookup.instances(&instruction.within).iter().map(|c| lookup.expand_constraint(c).ok()).collect();
    let bounds = System::of(rows?).ok()?.bounds(iname, &is_known).ok()?;
    let firsts = bounds.lower.into_iter().filter(|bound| bound.denominator == 1).map(|bound| bound.aff);
    firsts.into_iter().find(|first| {
        let mut hosts = first.names().into_iter().filter(|n| is_host(n)).peekable();
        hosts.peek().is_some() && hosts.all(|n| first.coefficient(&n) > 0)
    })
}
