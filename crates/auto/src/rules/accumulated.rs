//! Loops that add to elements, one after the other, as a program in C has them: each becomes a
//! reduction, by itself.
//!
//! No iteration of such a loop is parallel to the next, and two of them in one nest, along
//! different loops, hold each other back. As reductions, taken apart, they are what other rules
//! know: sums of rows and of columns. This rule comes last, for nests of which nothing else is
//! known.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel bicg(a: f32[n, m], p: f32[m], q: f32[n], s: f32[m], r: f32[n], n: i32, m: i32)
//! assume 1 <= n and 1 <= m
//! domain { [i, j] : 0 <= i < n and 0 <= j < m }
//! for i, j {
//!     s[j] = s[j] + r[i]*a[i, j] {id=s}
//!     q[i] = q[i] + a[i, j]*p[j] {id=q}
//! }
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].rule, Some("accumulated"));
//! let steps: Vec<String> = found.decisions[0].steps.iter().map(ToString::to_string).collect();
//! assert_eq!(steps, ["recognize_reduction(q, j)", "recognize_reduction(s, i)"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{Expr, Instruction, Name};
use loopwright_lowering::Target;

use crate::{Nest, Proposal, Rule};

pub struct Accumulated;

/// Whether an instruction combines what one element holds with something for all values of an
/// iname.
fn accumulates(i: &Instruction, iname: &Name) -> bool {
    let [target] = i.targets.as_slice() else { return false };
    let of = |e: &Expr| match e {
        Expr::Subscript(access) => access == target,
        Expr::Name(name) => *name == target.array && target.index.is_empty(),
        _ => false,
    };
    let mut reads = i.update.is_some();
    i.value.visit(&mut |e| reads |= of(e));
    reads && i.within.contains(iname) && !target.index.iter().any(|e| e.names().contains(iname))
}

impl Rule for Accumulated {
    fn name(&self) -> &'static str {
        "accumulated"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        let root = nest.root();
        let innermost = |i: &Instruction| i.within.last().cloned();
        let (inner, rest): (Vec<&Instruction>, Vec<&Instruction>) = nest
            .instructions
            .iter()
            .copied()
            .partition(|i| innermost(i).is_some_and(|n| n != *root && accumulates(i, &n)));
        let outer: Vec<&Instruction> = rest.iter().copied().filter(|i| accumulates(i, root)).collect();
        if inner.is_empty() && outer.is_empty() {
            return Vec::new();
        }
        let ids: Vec<Name> = inner.iter().chain(&outer).map(|i| i.id.clone()).collect();
        let reason = format!(
            "{} in loops under `{root}` that are sums: each becomes one, with loops of its own",
            crate::text::names(&ids.iter().collect::<Vec<_>>())
        );
        let mut proposal = Proposal::new(reason);
        for i in &inner {
            if let Some(n) = innermost(i) {
                proposal = proposal.step(format!("recognize_reduction({}, {n})", i.id));
            }
        }
        for i in &outer {
            proposal = proposal.step(format!("recognize_reduction({}, {root})", i.id));
        }
        vec![proposal]
    }
}
