//! Realisations: the last rewrites from kernel to kernel before a kernel is lowered.
//!
//! A pipeline says where reductions run, and not how partial results get from one block to another,
//! or how vectors meet misaligned rows. [`realize`] decides that: one instruction becomes several,
//! each of which does a share of it (`kernel_ir::Share`).
//!
//! | name | what it does |
//! |---|---|
//! | `alignment` | a reduction over `vec` counts its points from the aligned address before a row |
//! | `two_stages` | a reduction over blocks leaves partial results, which a second kernel joins |
//! | `updates` | one with `join=atomic` updates its result atomically |
//!
//! Each is a [`Realization`] with a verdict of its own ([`Realized::judged`]): a theorem, whose
//! premises `loopwright_legality::judge_realization` checks for the kernels before and after it,
//! without this crate. So each kernel between the declared one and the program is held to the one
//! before it: transformed ones by the steps' verdicts, the realised one by these, and the program
//! to the realised kernel by its final check.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod alignment;
mod rewrite;
mod two_stages;
mod updates;

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::{Verdict, judge_realization};
use loopwright_target::Target;

pub use alignment::aligned_iname;

/// A rewrite of a kernel that lowering needs, with its result.
#[derive(Clone, Debug)]
pub struct Realization {
    /// Its name, see the table of the [crate].
    pub name: &'static str,
    /// The instruction that it rewrites.
    pub instruction: Name,
    /// What it does, in a sentence.
    pub what: String,
    /// The kernel after the rewrite.
    pub kernel: LoopKernel,
}

impl fmt::Display for Realization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}): {}", self.name, self.instruction, self.what)
    }
}

/// A kernel and its realisations, in order.
#[derive(Clone, Debug)]
pub struct Realized {
    start: LoopKernel,
    steps: Vec<Realization>,
}

/// Which realisations are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All that apply.
    All,
    /// Those without which a kernel cannot be lowered: reductions over blocks.
    Needed,
}

/// Realizes a kernel whose types are all bound.
///
/// Errors: reductions over blocks that nothing realises.
pub fn realize(kernel: &LoopKernel, target: &Target, wanted: Wanted) -> Result<Realized, Diagnostic> {
    let mut realized = Realized { start: kernel.clone(), steps: Vec::new() };
    let mut from = 0;
    while wanted == Wanted::All
        && let Some((step, next)) = alignment::first(realized.kernel(), from, target)?
    {
        realized.steps.push(step);
        from = next;
    }
    while let Some(step) = two_stages::first(realized.kernel(), target)? {
        realized.steps.push(step);
    }
    Ok(realized)
}

impl Realized {
    /// A kernel with rewrites that another tool has made of it, to be judged as those of
    /// [`realize`] are.
    pub fn of(start: LoopKernel, steps: Vec<Realization>) -> Realized {
        Realized { start, steps }
    }

    /// The kernel after all of them.
    pub fn kernel(&self) -> &LoopKernel {
        self.steps.last().map_or(&self.start, |step| &step.kernel)
    }

    /// The realisations in their order.
    pub fn steps(&self) -> &[Realization] {
        &self.steps
    }

    /// The realisations in their order, each with the kernel before it.
    fn with_kernels(&self) -> impl Iterator<Item = (&LoopKernel, &Realization)> {
        let before = std::iter::once(&self.start).chain(self.steps.iter().map(|step| &step.kernel));
        before.zip(&self.steps)
    }

    /// The realisations in their order, each with the verdict on it.
    pub fn judged(&self) -> impl Iterator<Item = (&Realization, Verdict)> {
        self.with_kernels().map(|(before, step)| (step, judge_realization(before, &step.kernel)))
    }

    /// Refuses realisations that are not proved. One that is refused is a defect of this crate, or
    /// a premise that its theorem does not need.
    pub fn check(&self) -> Result<(), Diagnostic> {
        for (before, step) in self.with_kernels() {
            let reason = match judge_realization(before, &step.kernel) {
                Verdict::Proved { .. } => continue,
                Verdict::Unknown { reason, .. } => reason,
                refuted @ Verdict::Refuted(_) => refuted.to_string(),
            };
            return Err(Diagnostic::new(
                "unproved-realization",
                format!("`{}` of `{}` is not known to be right: {reason}", step.name, step.instruction),
            )
            .help("report it with the kernel and its pipeline: what a pipeline asks for should be proved"));
        }
        Ok(())
    }
}
