//! The verdict on a step.

use std::{collections::BTreeMap, fmt};

use loopwright_kernel_ir::{Diagnostic, Fact, LoopKernel, Name};
use loopwright_poly::remembering;

use crate::{
    Model, Touch,
    compare::Comparison,
    dataflow::check_flow,
    declarations::redeclared,
    roles::other_values,
    rounds::in_rounds,
    scan::{along, keep_order},
    search::{Search, search},
    witness::Witness,
};

/// The argument that a proof rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// A theorem about the step, stated by the library and confirmed by its tests.
    Theorem(&'static str),
    /// All conflicting pairs of accesses keep their order.
    Order,
    /// Every read sees the declared definition.
    Flow,
}

/// How a step is judged: by queries, or by a theorem about the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Judgement {
    /// By comparing the kernels before and after it.
    Ask,
    /// It is legal wherever it applies, by this theorem.
    Theorem(&'static str),
}

/// The verdict on a step, given that the kernel before it is legal.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It computes the declared kernel for all parameter values.
    Proved {
        /// What the proof rests on.
        basis: Basis,
        /// Number of queries on integer sets.
        queries: usize,
    },
    /// It does not; the counterexample was replayed.
    Refuted(Box<Witness>),
    /// Neither is established.
    Unknown {
        /// Why there is no verdict.
        reason: String,
        /// What would make it provable, if known.
        repair: Option<String>,
    },
}

impl Verdict {
    /// The diagnostic that refuses a step with this verdict; `None` for a proof.
    pub fn refusal(&self) -> Option<Diagnostic> {
        match self {
            Verdict::Proved { .. } => None,
            Verdict::Refuted(witness) => Some(witness.diagnostic()),
            Verdict::Unknown { reason, repair } => {
                let vouch = "if you know that it does, write `assume_legal(\"why\")` before the \
                             step: it stays with the kernel";
                let help = match repair {
                    Some(repair) => format!("{repair}; {vouch}"),
                    None => vouch.to_string(),
                };
                let message = format!("it is not known whether the result stays the same: {reason}");
                Some(Diagnostic::new("legality-unknown", message).help(help))
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Proved { basis: Basis::Theorem(why), .. } => write!(f, "proved: {why}"),
            Verdict::Proved { basis, queries } => {
                let what = match basis {
                    Basis::Flow => "every read sees the declared definition",
                    _ => "all conflicting accesses keep their order",
                };
                let plural = if *queries == 1 { "query" } else { "queries" };
                write!(f, "proved: {what} ({queries} {plural})")
            }
            Verdict::Refuted(witness) => write!(f, "refuted: {witness}"),
            Verdict::Unknown { reason, .. } => write!(f, "unknown: {reason}"),
        }
    }
}

/// Whether `after` computes what its declared kernel does, given that `before` does.
///
/// `after` is compared first with `before` (see [`Comparison`]), then with the declared kernel.
/// What cannot be proved is replayed for small parameter values; only a replay that fails refutes.
pub fn judge(before: &LoopKernel, after: &LoopKernel) -> Verdict {
    judged(before, after, Replay::WhereNotProved)
}

/// As [`judge`], without a replay: what is not proved is `Unknown`, also where a replay would
/// refute it. For callers who only ask whether a step is legal, and ask often.
pub fn judge_by_proof(before: &LoopKernel, after: &LoopKernel) -> Verdict {
    judged(before, after, Replay::Never)
}

/// Whether what is not proved is replayed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replay {
    WhereNotProved,
    Never,
}

fn judged(before: &LoopKernel, after: &LoopKernel, replay: Replay) -> Verdict {
    match remembering(|| try_judge(before, after, replay)) {
        Ok(verdict) => verdict,
        Err(d) => Verdict::Unknown { reason: d.message, repair: None },
    }
}

fn try_judge(before: &LoopKernel, after: &LoopKernel, replay: Replay) -> Result<Verdict, Diagnostic> {
    if before == after {
        return Ok(Verdict::Proved { basis: Basis::Order, queries: 0 });
    }
    if let Some(reason) = redeclared(before, after)? {
        return Ok(Verdict::Unknown { reason, repair: None });
    }
    let new = Model::new(after)?;
    let old = Model::new(before)?;
    if let Some(reason) = other_values(&new) {
        return Ok(Verdict::Unknown { reason, repair: None });
    }
    // If the parts of a scan's iname no longer determine its value in order, it cannot be proved. A
    // run may show that it is wrong; otherwise lowering refuses it.
    let ended = after.instructions.iter().find_map(|i| {
        along(after, &new.lookup, i)?.and_then(|inames| in_rounds(after, &new.lookup, i, &inames)).err()
    });
    if let Some(d) = ended {
        if replay == Replay::Never {
            return Ok(Verdict::Unknown { reason: d.message, repair: d.help });
        }
        return Ok(match search(&Model::new(after.declared())?, &new, None) {
            Search::Wrong(mut witness) => {
                witness.repair = witness.repair.or(d.help);
                Verdict::Refuted(witness)
            }
            _ => Verdict::Unknown { reason: d.message, repair: d.help },
        });
    }
    let (outcome, links, mut queries) = Comparison::new(&old, &new).run()?;
    if outcome.is_kept() {
        return Ok(Verdict::Proved { basis: Basis::Order, queries });
    }
    let declared = Model::new(after.declared())?;
    let reason = match check_flow(&declared, &new, &outcome, &links, &mut queries) {
        Ok(()) => return Ok(Verdict::Proved { basis: Basis::Flow, queries }),
        Err(why) => why,
    };
    let repair = facts_wanted(&new, &outcome.changed);
    if replay == Replay::Never {
        return Ok(Verdict::Unknown { reason: reason.text, repair });
    }
    let pairs = outcome.suspect.map(|s| s.pairs).or(reason.pairs);
    let sample = pairs.and_then(|s| s.sample(&Default::default()).ok().flatten());
    let reason = reason.text;
    Ok(match search(&declared, &new, sample.as_ref()) {
        Search::Wrong(mut witness) => {
            let scanned = || outcome.changed.keys().find_map(|array| new.scan_of(array));
            witness.repair = witness.repair.or_else(|| scanned().map(keep_order));
            Verdict::Refuted(witness)
        }
        Search::Clean { harmless: true, .. } => Verdict::Unknown {
            reason: format!("{reason}; where it was tried, no output had another value for it"),
            repair,
        },
        Search::Clean { .. } => Verdict::Unknown { reason, repair },
        Search::Stopped(stop) if reason.contains(&stop.to_string()) => Verdict::Unknown { reason, repair },
        Search::Stopped(stop) => Verdict::Unknown { reason: format!("{reason}; {stop}"), repair },
    })
}

/// Facts about data that could help: those of arrays on which cells of changed arrays depend, and
/// first of those on which the cells that are written do.
fn facts_wanted(model: &Model<'_>, changed: &BTreeMap<Name, String>) -> Option<String> {
    let touches = || changed.keys().filter_map(|array| model.touches.get(array)).flatten();
    let written = touches().find_map(|(p, e)| {
        let (part, event) = (&model.parts[*p], &model.parts[*p].events[*e]);
        let decides = |load: &&crate::Load| event.cell.iter().flatten().any(|s| s.mentions(&load.name));
        part.loads.iter().find(|load| event.touch != Touch::Read && decides(load))
    });
    let load = written.or_else(|| touches().flat_map(|(p, _)| &model.parts[*p].loads).next())?;
    let array = &load.array;
    // Where values may be out of the range of a temporary, nothing may have written what they read.
    let of_temporary = changed.keys().any(|n| model.kernel.temporary(n).is_some());
    let bounded = |fact: &Fact| matches!(fact, Fact::Range { array: of, .. } if of == array);
    let range = match of_temporary && !model.kernel.facts.iter().any(bounded) {
        true => format!("`fact 0 <= {array} < n`, "),
        false => String::new(),
    };
    Some(format!(
        "declare what is known of the data, as {range}`fact injective({array})` or `fact monotone({array})`"
    ))
}
