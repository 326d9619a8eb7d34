//! Nests in place that read, in each iteration of an outer loop `k`, the row and the column of `k`:
//! shortest paths, closures.
//!
//! Row and column of `k` are written in the same iteration as they are read, so that no loop is
//! parallel as a whole. Cut at `k` (`index_set_split`), the parts are: what is before, at and
//! after `k`. Each reads only what is finished or what another part writes, and is parallel. Loops
//! over many such problems, each of which lies apart from the next, go inside.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel chain(d: f32[n], n: i32)
//! assume 0 <= n
//! domain { [k, i] : 0 <= k < n and 0 <= i < n }
//! d[i] = d[i] + 0.5*d[k] {id=add}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].rule, Some("pivot"));
//! let steps: Vec<String> = found.decisions[0].steps.iter().map(ToString::to_string).collect();
//! assert_eq!(steps, [
//!     "tag_inames(k: host)",
//!     "index_set_split(i, i <= k, suffix=_below)",
//!     "index_set_split(i, i < k, suffix=_at)",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{Aff, Name};
use loopwright_lowering::Target;

use crate::{Nest, Proposal, Rule, text::names};

pub struct Pivot;

impl Rule for Pivot {
    fn name(&self) -> &'static str {
        "pivot"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        if !nest.inner.is_empty() || !nest.is_map() {
            return Vec::new();
        }
        // Many such problems: each lies apart from the next, so its own loops have to be spread.
        let (batch, own): (Vec<&Name>, Vec<&Name>) = nest.band.iter().partition(|n| nest.is_parallel(n));
        let Some((k, inner)) = own.split_first() else { return Vec::new() };
        if batch.iter().any(|n| nest.score(n) >= 0.0) {
            return Vec::new();
        }
        let cut: Vec<&Name> = inner.iter().copied().filter(|n| meets(nest, k, n)).collect();
        if !(1..=2).contains(&cut.len()) {
            return Vec::new();
        }
        let reason = format!(
            "{} {} cut at `{k}`, whose elements are read while they are written: what is before, at and \
             behind it is parallel by itself",
            names(&cut),
            if cut.len() == 1 { "is" } else { "are" }
        );
        let mut proposal = Proposal::new(reason);
        if !batch.is_empty() {
            let order: Vec<&str> = own.iter().chain(&batch).map(|n| &***n).collect();
            proposal = proposal.step(format!("reorder([{}])", order.join(", ")));
        }
        proposal = proposal.step(format!("tag_inames({k}: host)"));
        // The loops inside of one that is cut are copied with it.
        let mut copies = vec![String::new()];
        let suffixes = [("_below", "_at"), ("_right", "_mid")];
        for (n, (behind, at)) in cut.iter().zip(suffixes) {
            let mut more = Vec::new();
            for copy in &copies {
                proposal = proposal
                    .step(format!("index_set_split({n}{copy}, {n}{copy} <= {k}, suffix={behind})"))
                    .step(format!("index_set_split({n}{copy}, {n}{copy} < {k}, suffix={at})"));
                more.extend([copy.clone(), format!("{copy}{at}"), format!("{copy}{behind}")]);
            }
            copies = more;
        }
        vec![proposal]
    }
}

/// Whether an array that is written at `n` on some axis is read at `k` there.
fn meets(nest: &Nest<'_>, k: &Name, n: &Name) -> bool {
    let is = |aff: &Option<Aff>, name: &Name| aff.as_ref().and_then(Aff::as_var) == Some(name);
    nest.sites.iter().filter(|s| s.is_write).any(|write| {
        let reads = nest.sites.iter().filter(|s| !s.is_write && s.array == write.array);
        reads
            .into_iter()
            .any(|read| write.index.iter().zip(&read.index).any(|(at, from)| is(at, n) && is(from, k)))
    })
}
