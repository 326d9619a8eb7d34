//! Lints: inefficiencies that the analysis of a kernel on the emulator finds, each with a number
//! and a repair that has been tried.
//!
//! ```
//! use loopwright_kernel_ir::{DType, LoopKernel};
//! use loopwright_runtime::{Args, Tensor};
//! use loopwright_transforms::Pipeline;
//! use loopwright_tuner::{Machine, lint};
//!
//! let kernel = LoopKernel::parse("\
//! kernel transpose(a: f32[m, n], b: f32[n, m], m: i32, n: i32)
//! assume 0 <= m and 0 <= n
//! domain { [j, i] : 0 <= j < n and 0 <= i < m }
//! b[j, i] = a[i, j]
//! ")?;
//! let pipeline = Pipeline::parse("\
//! split_iname(i, 32)
//! split_iname(j, 32)
//! split_iname(j_inner, 8, outer=j_part, inner=j_thread)
//! tag_inames(i_outer: block.y, j_outer: block.x, j_thread: thread.y, i_inner: thread.x, j_part: ilp)
//! add_prefetch(a, [i_inner, j_part, j_thread])
//! ")?;
//! let args = Args::new().tensor("a", &Tensor::random(&[64, 64], DType::F32, 1)?);
//! let lints = lint(&kernel, &pipeline, &args, &Machine::h200())?;
//! let conflicts = lints.iter().find(|l| l.code == "bank-conflicts").expect("columns of a tile of 32 lie in one bank");
//! assert_eq!(conflicts.number, 31.0);
//! let repair = conflicts.repair.as_ref().expect("padding helps");
//! assert_eq!(repair.after, 0.0);
//! assert_eq!(repair.steps, ["pad_array_axis(a_tile, 1, 1)"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! 1. The kernel is transformed, lowered and run on the emulator for the given arguments: the
//!    counts are for these sizes.
//! 2. Each kind of finding ([`CODES`]) derives a number from the counts; lower is better.
//! 3. For each finding, changed pipelines are proposed (`repairs`), applied, judged, and run in the
//!    same way. The one with the lowest number is the repair, if it computes the same results and
//!    moves at most a twentieth more sectors than before. Changes that did not help are kept with
//!    the reason.

mod findings;
mod measured;
mod repairs;

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::Args;
use loopwright_transforms::Pipeline;
use rayon::prelude::*;
use serde::Serialize;

use crate::Machine;
use findings::{Finding, Kind};
use measured::{Guard, Measured};
use repairs::Proposal;

/// The codes of lints, each with a one-line description.
pub const CODES: [(&str, &str); 11] = [
    ("bank-conflicts", "lanes of a warp want different words of one bank of shared memory"),
    ("uncoalesced-access", "lanes of a warp touch more sectors of global memory than their bytes fill"),
    ("idle-lanes", "lanes of warps have nothing to do"),
    ("low-bytes-in-flight", "resident threads have too few loads in flight to keep the memory busy"),
    ("few-blocks", "there are fewer blocks than multiprocessors"),
    ("guard-not-needed", "a guard is tested that these sizes never need"),
    ("copy-without-reuse", "what is copied to shared memory is read there once at most"),
    ("spilled-registers", "the compiler keeps values in memory for which there are no registers"),
    ("few-resident-threads", "registers leave room for few threads on a multiprocessor"),
    ("instruction-limit", "instructions other than the kernel's arithmetic take longer than the memory"),
    ("sizes-too-small", "the sizes say nothing about how blocks and threads use a device"),
];

/// The place of a lint in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LintPlace {
    /// The name of the device kernel.
    pub kernel: String,
    /// The array, if it is about one.
    pub array: Option<String>,
    /// The text of the instruction, if it is about one.
    pub instruction: Option<String>,
}

impl fmt::Display for LintPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        if let Some(instruction) = &self.instruction {
            write!(f, ", in `{instruction}`")?;
        }
        Ok(())
    }
}

/// A change of the pipeline that was tried and helped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repair {
    /// What the change does, in words.
    pub what: String,
    /// The steps that are new or changed.
    pub steps: Vec<String>,
    /// The lint's number without it.
    pub before: f64,
    /// The lint's number with it.
    pub after: f64,
    /// The whole pipeline with it.
    pub pipeline: String,
}

/// A change of the pipeline that was tried and did not help.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// What the change does, in words.
    pub what: String,
    /// Why it is not a repair.
    pub why: String,
}

/// A finding about a kernel, with what was tried against it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lint {
    /// A stable code, one of [`CODES`].
    pub code: &'static str,
    /// The finding, in a sentence.
    pub message: String,
    /// Its place in the kernel.
    pub place: LintPlace,
    /// The number that a repair has to lower.
    pub number: f64,
    /// The unit of the number.
    pub unit: &'static str,
    /// The change that lowers the number most, if one does.
    pub repair: Option<Repair>,
    /// The changes that were tried and did not help.
    pub tried: Vec<Attempt>,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lint[{}]: {}\n  at {}", self.code, self.message, self.place)?;
        match &self.repair {
            Some(repair) => {
                let (before, after) = (figure(repair.before), figure(repair.after));
                let unit = match self.unit.split_once(' ').unwrap_or((self.unit, "")) {
                    // `1 guard`.
                    (first, rest) if before == "1" && first != "times" => {
                        format!("{} {rest}", first.trim_end_matches('s'))
                    }
                    _ => self.unit.to_string(),
                };
                write!(f, "\n  tried: {}: {before} {} to {after}", repair.what, unit.trim_end())?;
                repair.steps.iter().try_for_each(|step| write!(f, "\n    {step}"))
            }
            None if self.code == "sizes-too-small" => Ok(()),
            None if self.tried.is_empty() => f.write_str("\n  no repair is known"),
            None => {
                f.write_str("\n  none of the tried changes lowers it:")?;
                self.tried.iter().try_for_each(|t| write!(f, "\n    {}: {}", t.what, t.why))
            }
        }
    }
}

/// A number as text, with as many digits as it needs.
fn figure(v: f64) -> String {
    if (v - v.round()).abs() < 1e-9 { format!("{v:.0}") } else { format!("{v:.2}") }
}

/// Analyses the kernel that a pipeline makes, for these arguments and the limits of a machine, and
/// tries repairs of each finding. Open parameters of the pipeline have to be bound.
pub fn lint(
    kernel: &LoopKernel,
    pipeline: &Pipeline,
    args: &Args,
    machine: &Machine,
) -> Result<Vec<Lint>, Diagnostic> {
    let measured = Measured::of(kernel, pipeline, args, machine)?.compiled(args, true);
    let found = findings::all(&measured);
    Ok(found
        .par_iter()
        .map(|finding| {
            let proposals = repairs::proposals(finding, pipeline, &measured);
            try_repairs(kernel, args, machine, &measured, finding, proposals)
        })
        // Only a repair shows that a guard or a copy is not needed.
        .filter(|lint| !shown_by_repair(lint.code) || lint.repair.is_some())
        .collect())
}

/// Whether a finding is one only if a repair of it is known.
fn shown_by_repair(code: &str) -> bool {
    ["guard-not-needed", "copy-without-reuse"].contains(&code)
}

/// The most that a repaired number may be, relative to the number before.
const HELPS: f64 = 0.9;
/// The most memory traffic of a repair, relative to that before.
const MORE: f64 = 1.05;

/// The best repair so far.
struct Tried {
    /// The memory traffic with it.
    burden: f64,
    repair: Repair,
    /// The first guard that it removes, where the finding is about guards.
    removed: Option<Guard>,
}

/// The first guard that is no longer there: guards for one reason are told apart by their number.
fn first_removed(before: &[Guard], after: &[Guard]) -> Option<Guard> {
    let mut left = after.to_vec();
    let gone = |guard: &&Guard| match left.iter().position(|other| other == *guard) {
        Some(kept) => {
            left.swap_remove(kept);
            false
        }
        None => true,
    };
    before.iter().find(gone).cloned()
}

fn try_repairs(
    kernel: &LoopKernel,
    args: &Args,
    machine: &Machine,
    before: &Measured,
    finding: &Finding,
    proposals: Vec<Proposal>,
) -> Lint {
    let mut best: Option<Tried> = None;
    let mut tried = Vec::new();
    for proposal in proposals {
        let outcome = Measured::of(kernel, &proposal.pipeline, args, machine).map_err(|d| d.message);
        let outcome = match finding.kind.is_of_registers() {
            true => outcome.map(|m| m.compiled(args, matches!(finding.kind, Kind::Instructions))),
            false => outcome,
        };
        let verdict = outcome.and_then(|after| {
            let number = finding.kind.number(&after);
            if let Some(wrong) = before.differs(&after) {
                return Err(format!("the result differs: {wrong}"));
            }
            // What lanes without a thread cost is shown by no count.
            if let Some(threads) = after.less_than_a_warp() {
                let warp = before.program.target.warp_size;
                return Err(format!("its blocks have {threads} threads, fewer than the {warp} of a warp"));
            }
            if number > HELPS * finding.number {
                let (from, to) = (figure(finding.number), figure(number));
                return Err(format!("{from} {} to {to}", finding.unit));
            }
            if let Some(why) = finding.kind.only_divided(before, &after) {
                return Err(why);
            }
            // Scattered accesses of one array must not be traded for those of another.
            let most = if matches!(finding.kind, Kind::Uncoalesced(_)) { HELPS } else { MORE };
            if after.sectors() > most * before.sectors() {
                let (from, to) = (figure(before.sectors()), figure(after.sectors()));
                return Err(format!("all accesses together move {to} sectors instead of {from}"));
            }
            // What repairs one finding must not be what another one warns of.
            let kept = finding.kind.worsened(before, &after);
            if let Some((other, from, to)) = kept {
                let (from, to) = (figure(from), figure(to));
                return Err(format!("`{}` from {from} to {to} {}", other.lint_code(), other.unit()));
            }
            Ok((number, after))
        });
        match verdict {
            Ok((number, measured)) => {
                let burden = measured.burden();
                // Ties go to the first, which changes least.
                let better = best.as_ref().is_none_or(|b| {
                    number < b.repair.after || (number == b.repair.after && MORE * burden < b.burden)
                });
                if better {
                    let repair = Repair {
                        what: proposal.what,
                        steps: proposal.steps,
                        before: finding.number,
                        after: number,
                        pipeline: proposal.pipeline.to_string(),
                    };
                    let removed = match finding.kind {
                        Kind::Guards => first_removed(&before.guards(), &measured.guards()),
                        _ => None,
                    };
                    best = Some(Tried { burden, repair, removed });
                }
            }
            Err(why) => tried.push(Attempt { what: proposal.what, why }),
        }
    }
    // A finding about guards is about what its repair removes.
    let (message, place) = match best.as_ref().and_then(|b| b.removed.as_ref()) {
        Some(guard) => findings::of_guard(guard),
        None => (finding.message.clone(), finding.place.clone()),
    };
    Lint {
        code: finding.kind.lint_code(),
        message,
        place,
        number: finding.number,
        unit: finding.unit,
        repair: best.map(|b| b.repair),
        tried,
    }
}
