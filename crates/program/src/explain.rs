//! Why a program looks as it does: the dependence behind every barrier, kernel boundary and host
//! loop, the step behind every guard and copy, and what it claims where it runs without a guard.

use std::{collections::BTreeSet, fmt};

use loopwright_kernel_ir::{Part, PartRef, Role, syntax::text_of_constraints};

use super::{Async, HostStmt, Leaf, LeafId, Note, Program, Reason, Scope, Stmt};

/// The kind of construct that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A host loop around launches.
    HostLoop,
    /// The boundary between one device kernel and the next.
    Boundary,
    /// A barrier among the threads of a block, or of a warp.
    Barrier,
    /// A wait for asynchronous copies.
    Wait,
    /// A condition around statements.
    Guard,
    /// A copy that a step introduced.
    Copy,
    /// A claim on which a part rests that runs for more than its instances.
    Claim,
}

/// A construct with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The kind of construct that the reason is for.
    pub place: Place,
    /// Index of the device kernel that contains it; `None` on the host.
    pub kernel: Option<usize>,
    /// The reason in one line.
    pub reason: String,
    /// Supporting evidence: two executions of a dependence, or the conditions of a guard.
    pub details: Vec<String>,
}

/// A program's constructs with their reasons, in the order of the host statements and the kernels'
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramExplanation {
    /// Names of the device kernels, in program order.
    pub kernels: Vec<String>,
    /// The explained constructs, in order.
    pub entries: Vec<Explained>,
}

impl Program {
    /// Why every barrier, kernel boundary, host loop, guard and copy is there, and what is claimed
    /// of the parts that run without a guard.
    pub fn explain(&self) -> ProgramExplanation {
        let kernels = self.kernels.iter().map(|k| k.name.to_string()).collect();
        let mut explanation = ProgramExplanation { kernels, entries: Vec::new() };
        explanation.host(self, &self.host);
        explanation
    }
}

impl ProgramExplanation {
    fn host(&mut self, program: &Program, body: &[HostStmt]) {
        for stmt in body {
            match stmt {
                HostStmt::For { body, note, .. } => {
                    self.note(Place::HostLoop, None, note);
                    self.host(program, body);
                }
                HostStmt::Launch(number) => self.kernel(program, *number),
            }
        }
    }

    fn kernel(&mut self, program: &Program, number: usize) {
        let Some(kernel) = program.kernels.get(number) else { return };
        // The notes of enclosing host loops are reported with the loops.
        for note in kernel.notes.iter().filter(|n| n.text.starts_with("launched after")) {
            self.note(Place::Boundary, Some(number), note);
        }
        let mut copied: BTreeSet<LeafId> = BTreeSet::new();
        let mut claimed: BTreeSet<PartRef> = BTreeSet::new();
        Stmt::visit(&kernel.body, &mut |stmt| match stmt {
            Stmt::Sync { scope, note } => {
                let text = match scope {
                    Scope::Block => note.text.clone(),
                    Scope::Warp => format!("among the threads of a warp: {}", note.text),
                };
                self.note(Place::Barrier, Some(number), &Note { text, ..note.clone() });
            }
            Stmt::Async(Async::Wait { note, .. }) if !note.text.is_empty() => {
                let text = format!("for asynchronous copies: {}", note.text);
                self.note(Place::Wait, Some(number), &Note { text, ..note.clone() });
            }
            Stmt::If { note, .. } if !note.text.is_empty() => self.note(Place::Guard, Some(number), note),
            stmt => {
                let Some(leaf) = stmt.leaf().filter(|id| copied.insert(*id)) else { return };
                let Some(copy) = program.leaves.get(leaf.0) else { return };
                if let Some((reason, details)) = padding(copy)
                    && claimed.insert(copy.part.clone())
                {
                    let kernel = Some(number);
                    self.entries.push(Explained { place: Place::Claim, kernel, reason, details });
                }
                if let Role::Copies { source } = &copy.role {
                    let step =
                        copy.made_by.as_ref().map_or("declared so".into(), |s| format!("made by `{s}`"));
                    let reason = format!("{} copies {source}, {step}", copy.part);
                    let details = vec![copy.text.clone()];
                    self.entries.push(Explained {
                        place: Place::Copy,
                        kernel: Some(number),
                        reason,
                        details,
                    });
                }
            }
        });
    }

    fn note(&mut self, place: Place, kernel: Option<usize>, note: &Note) {
        let details = match &note.reason {
            Reason::Stated | Reason::Predicate => Vec::new(),
            Reason::Dependence(dependence) => match dependence.example() {
                Some(example) => vec![dependence.shown(&example)],
                None if dependence.cell.iter().any(Option::is_none) => {
                    vec![format!("the cell of {} depends on data", dependence.array)]
                }
                None => vec!["no declared instances are known to be an example".into()],
            },
            Reason::Guard(conditions) => {
                conditions.iter().map(|c| format!("{}: {}", c.condition, c.why)).collect()
            }
        };
        self.entries.push(Explained { place, kernel, reason: note.text.clone(), details });
    }
}

/// What is claimed of an update that has no guard for the padding of its buffers, and its
/// instances.
fn padding(leaf: &Leaf) -> Option<(String, Vec<String>)> {
    let instances = leaf.instances.as_ref()?;
    if !matches!(leaf.part.part, Part::Update(_)) || instances.allowed == instances.constraints {
        return None;
    }
    let dropped = instances.constraints.iter().filter(|c| !instances.allowed.contains(c));
    let dropped: Vec<_> = dropped.cloned().collect();
    let reason = format!("{} also runs for padding, whose terms change no result that is written", leaf.part);
    Some((reason, vec![format!("without a guard for {}", text_of_constraints(&dropped))]))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::HostLoop => "host loop",
            Place::Boundary => "kernel boundary",
            Place::Barrier => "barrier",
            Place::Wait => "wait",
            Place::Guard => "guard",
            Place::Copy => "copy",
            Place::Claim => "claim",
        })
    }
}

impl fmt::Display for ProgramExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut current = None;
        for entry in &self.entries {
            if entry.kernel != current
                && let Some(name) = entry.kernel.and_then(|k| self.kernels.get(k))
            {
                writeln!(f, "{name}")?;
            }
            current = entry.kernel;
            let indent = if entry.kernel.is_some() { "  " } else { "" };
            writeln!(f, "{indent}{}: {}", entry.place, entry.reason)?;
            entry.details.iter().try_for_each(|line| writeln!(f, "{indent}    {line}"))?;
        }
        Ok(())
    }
}
