//! Application of steps with verdicts.
//!
//! A step first produces the new kernel and checks its own structural conditions. The new kernel is
//! then judged against the previous one (see [`loopwright_legality::judge`]), unless a theorem
//! states that the step is legal wherever it applies. A step that is refuted is refused; so is one
//! whose verdict is unknown, unless the user has vouched for it with `assume_legal`.

use std::{fmt, time::Instant};

use loopwright_kernel_ir::{Array, Diagnostic, LoopKernel, Name};
use loopwright_legality::{Basis, Judgement, Verdict, judge, judge_by_proof};

use crate::{Step, TextDiff, Transform};

/// A step's result and the verdict on it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The kernel after the step.
    pub kernel: LoopKernel,
    /// The verdict; `Unknown` only where the user has vouched for the step.
    pub verdict: Verdict,
    /// The time that the step itself took.
    pub transform_microseconds: f64,
    /// The time that the judgement took.
    pub judge_microseconds: f64,
}

/// Whether the user has vouched for the next step.
pub(crate) fn pending(kernel: &LoopKernel) -> bool {
    kernel.vouched.iter().any(|v| v.step.is_none())
}

/// The verdict on a transform that turned `before` into `after`.
pub(crate) fn verdict(transform: &dyn Transform, before: &LoopKernel, after: &LoopKernel) -> Verdict {
    match transform.judgement(before) {
        Judgement::Theorem(why) => Verdict::Proved { basis: Basis::Theorem(why), queries: 0 },
        Judgement::Ask => judge(before, after),
    }
}

/// The refusal, with the likely reason where an operator is not declared to commute although it
/// does.
fn with_forgotten_commutes(mut refusal: Diagnostic, kernel: &LoopKernel) -> Diagnostic {
    let reductions = kernel.instructions.iter().flat_map(|i| i.reductions());
    let forgotten = reductions.filter_map(|r| kernel.forgotten_commutes(&kernel.operator(&r.op)?)).next();
    if let Some(forgotten) = forgotten {
        refusal.help = Some(match refusal.help {
            Some(help) => format!("{forgotten}; {help}"),
            None => forgotten,
        });
    }
    refusal
}

/// The kernel; an error if a step has changed the shape or the address space of an array so that
/// the layout that is set does not fit it, or so that a field is not where its struct has it.
pub(crate) fn with_right_layouts(kernel: LoopKernel) -> Result<LoopKernel, Diagnostic> {
    match kernel.temporaries.iter().find_map(Array::layout_fault) {
        Some(wrong) => Err(wrong),
        None => {
            kernel.check_records()?;
            Ok(kernel)
        }
    }
}

/// The kernel after a transform, if it is proved to be legal.
pub(crate) fn apply_proved(transform: &dyn Transform, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
    let after = applied(transform, kernel)?;
    let verdict = match transform.judgement(kernel) {
        Judgement::Theorem(_) => return Ok(after),
        Judgement::Ask => judge_by_proof(kernel, &after),
    };
    verdict.refusal().map_or(Ok(after), Err)
}

/// The kernel after a transform, without a verdict.
fn applied(transform: &dyn Transform, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
    let after = with_right_layouts(transform.apply(kernel)?)?;
    // Any step may move the target of atomic updates, or the blocks that execute them, where they
    // are not possible.
    for instruction in after.instructions.iter().filter(|i| i.atomic) {
        instruction.check_atomic_target(&after)?;
    }
    Ok(after)
}

/// Applies a transform and judges it. `is_vouching` is set for `assume_legal` itself, which leaves
/// the reason pending for the next step.
pub(crate) fn apply_judged(
    transform: &dyn Transform,
    is_vouching: bool,
    kernel: &LoopKernel,
) -> Result<Judged, Diagnostic> {
    let start = Instant::now();
    let after = applied(transform, kernel)?;
    let transform_microseconds = start.elapsed().as_secs_f64() * 1e6;
    let start = Instant::now();
    let verdict = verdict(transform, kernel, &after);
    let judge_microseconds = start.elapsed().as_secs_f64() * 1e6;
    let judged = |kernel, verdict| Judged { kernel, verdict, transform_microseconds, judge_microseconds };
    if is_vouching || !pending(&after) {
        return match verdict.refusal() {
            None => Ok(judged(after, verdict)),
            Some(refusal) => Err(with_forgotten_commutes(refusal, &after)),
        };
    }
    let settled = |step: Option<Name>| {
        after.edit(|data| {
            match step {
                // Nothing had to be taken on trust.
                None => data.vouched.retain(|v| v.step.is_some()),
                Some(step) => {
                    for v in data.vouched.iter_mut().filter(|v| v.step.is_none()) {
                        v.step = Some(step.clone());
                    }
                }
            }
            Ok::<(), Diagnostic>(())
        })
    };
    match &verdict {
        Verdict::Proved { .. } => Ok(judged(settled(None)?, verdict)),
        Verdict::Unknown { .. } => {
            let text = transform.to_string().replace('"', "'");
            let line = text.lines().next().unwrap_or_default().trim_end_matches(" {");
            Ok(judged(settled(Some(Name::new(line)))?, verdict))
        }
        Verdict::Refuted(witness) => Err(with_forgotten_commutes(witness.diagnostic(), &after)),
    }
}

/// One step of an explained pipeline.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The step's text, as in a pipeline.
    pub step: String,
    /// Its result, or the refusal.
    pub outcome: Result<Judged, Diagnostic>,
    /// The choices that it made, if it had any.
    pub notes: Vec<String>,
}

/// A pipeline step by step, with verdicts. `{}` prints the lines of the kernel that each step
/// changed, `{:#}` whole kernels.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The kernel before the first step.
    pub start: LoopKernel,
    /// The steps, up to the first one that is refused.
    pub steps: Vec<Explained>,
}

impl Explanation {
    /// Explains the steps; `refused` adds the location to a refusal, given the index of its step in
    /// `steps`.
    pub(crate) fn of(
        steps: &[Step],
        start: &LoopKernel,
        refused: &dyn Fn(Diagnostic, usize, &LoopKernel) -> Diagnostic,
    ) -> Explanation {
        let mut kernel = start.clone();
        let mut explained = Vec::new();
        fn go(
            steps: &[Step],
            kernel: &mut LoopKernel,
            explained: &mut Vec<Explained>,
            refused: &dyn Fn(Diagnostic, usize, &LoopKernel) -> Diagnostic,
        ) -> bool {
            for (number, step) in steps.iter().enumerate() {
                if let Step::Composite(c) = step {
                    // Its steps are explained one by one, and are refused as the composite step
                    // that they belong to.
                    if !go(&c.steps, kernel, explained, &|d, _, kernel| refused(d, number, kernel)) {
                        return false;
                    }
                    continue;
                }
                let expanded = step.expanded(kernel).unwrap_or_else(|_| step.clone());
                let mut notes = expanded.rule().notes(kernel);
                if expanded != *step {
                    notes.insert(0, format!("for this kernel: {expanded}"));
                }
                let outcome = step.judged(kernel).map_err(|d| refused(d, number, kernel));
                let is_refused = outcome.is_err();
                if let Ok(judged) = &outcome {
                    *kernel = judged.kernel.clone();
                }
                explained.push(Explained { step: step.to_string(), outcome, notes });
                if is_refused {
                    return false;
                }
            }
            true
        }
        go(steps, &mut kernel, &mut explained, refused);
        Explanation { start: start.clone(), steps: explained }
    }

    /// The final kernel, or the refusal.
    pub fn kernel(&self) -> Option<Result<&LoopKernel, &Diagnostic>> {
        self.steps.last().map(|s| s.outcome.as_ref().map(|j| &j.kernel))
    }

    /// The refusal of the last step, if it was refused.
    pub fn refusal(&self) -> Option<&Diagnostic> {
        self.kernel().and_then(Result::err)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = self.start.to_string();
        for (k, step) in self.steps.iter().enumerate() {
            let mut lines = step.step.lines();
            writeln!(f, "{}. {}", k + 1, lines.next().unwrap_or_default())?;
            lines.try_for_each(|line| writeln!(f, "   {line}"))?;
            match &step.outcome {
                Ok(judged) => {
                    writeln!(f, "   {}", judged.verdict)?;
                    step.notes.iter().try_for_each(|note| writeln!(f, "   {note}"))?;
                    let after = judged.kernel.to_string();
                    let shown = match f.alternate() {
                        true => after.clone(),
                        false => TextDiff::of(&before, &after).to_string(),
                    };
                    shown.lines().try_for_each(|line| writeln!(f, "   | {line}"))?;
                    before = after;
                }
                Err(refusal) => {
                    writeln!(f, "   refused")?;
                    refusal.to_string().lines().try_for_each(|line| writeln!(f, "   {line}"))?;
                }
            }
        }
        Ok(())
    }
}
