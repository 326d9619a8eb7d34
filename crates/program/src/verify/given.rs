//! Whether something gives a value to all that is read.
//!
//! A value of a thread that no statement gives may be left out of a program, if nothing reads it.
//! So an array of the thread or of the block that is read has to be written somewhere in its
//! kernel, and a variable has to be declared in a body around whatever reads or assigns it, and to
//! have been assigned before in the text, unless it holds what the kernel has: a kernel may read a
//! temporary before it writes it, whatever is in it, and the order of its parts is asked in
//! `sequence`. What counts a loop, or stands for a function of inames, has one value at a time.
//! Whether a guard leaves an assignment out is not asked here.
//!
//! No body declares what one around it has declared ([`declared_again`]): in languages like C that
//! is another variable, without the value of the one outside.
//!
//! Counters have an end: one that is doubled begins above zero, one that is halved goes to a value
//! that is not negative ([`endless`]).

use std::collections::HashSet;

use loopwright_kernel_ir::{Name, Part, PartRef};
use loopwright_poly::{Table, TableSet};

use super::affine::is_natural;
use crate::{DeviceKernel, Leaf, Memory, Program, Step, Stmt, ValueKind, VarId};

/// The first counter or index of a program that is assigned more than once, and its kernel.
pub(super) fn given_again(program: &Program) -> Option<(Name, Name)> {
    program.kernels.iter().find_map(|kernel| {
        let var = again(program, kernel)?;
        Some((kernel.vars.get(var.0)?.name.clone(), kernel.name.clone()))
    })
}

/// The first part of a reduction that a device kernel adds to, or takes the result of, where the
/// first value is given in another one only: accumulators begin anew with each launch. One that is
/// given nowhere may serve nothing; otherwise it is forgotten.
pub(super) fn not_begun(program: &Program, kernel: &DeviceKernel) -> Option<PartRef> {
    let parts = |kernel: &DeviceKernel| {
        let leaves = Stmt::given(&kernel.body, &program.leaves).into_iter();
        leaves.filter_map(|leaf| program.leaves.get(leaf.0)).filter(|leaf| !leaf.decided_by_data)
    };
    let begun = |kernel: &DeviceKernel| -> TableSet<(Name, usize)> {
        let number = |leaf: &Leaf| match leaf.part.part {
            Part::Init(number) => Some((leaf.part.instruction.clone(), number)),
            _ => None,
        };
        parts(kernel).filter_map(number).collect()
    };
    let own = begun(kernel);
    let mut elsewhere: TableSet<(Name, usize)> = program.kernels.iter().flat_map(begun).collect();
    elsewhere.retain(|begun| !own.contains(begun));
    let needs = |leaf: &&Leaf| {
        elsewhere.iter().any(|(of, number)| {
            let reads = match leaf.part.part {
                Part::Update(own) => own == *number,
                Part::Finish => true,
                Part::Init(_) | Part::Whole => false,
            };
            reads && leaf.part.instruction == *of
        })
    };
    parts(kernel).find(needs).map(|leaf| leaf.part.clone())
}

/// The first variable of a program that is declared again where it is known, and its kernel.
pub(super) fn declared_again(program: &Program) -> Option<(Name, Name)> {
    fn in_body(body: &[Stmt], known: &mut HashSet<VarId>) -> Option<VarId> {
        let mut own = Vec::new();
        for stmt in body {
            let declares: Vec<VarId> = stmt.declared().collect();
            if let Some(again) = declares.iter().find(|var| !known.insert(**var)) {
                return Some(*again);
            }
            let inside = stmt.bodies().find_map(|body| in_body(body, known));
            if inside.is_some() {
                return inside;
            }
            match stmt {
                Stmt::For { var, .. } => drop(known.remove(var)),
                _ => own.extend(declares),
            }
        }
        own.iter().for_each(|var| {
            known.remove(var);
        });
        None
    }
    program.kernels.iter().find_map(|kernel| {
        let var = in_body(&kernel.body, &mut HashSet::new())?;
        Some((kernel.vars.get(var.0)?.name.clone(), kernel.name.clone()))
    })
}

/// The first counter of a program that is doubled or halved and may never come to its end, and its
/// kernel.
pub(super) fn endless(program: &Program) -> Option<(Name, Name)> {
    program.kernels.iter().find_map(|kernel| {
        let mut found = None;
        Stmt::visit(&kernel.body, &mut |stmt| {
            let Stmt::For { var, lower, upper, step, .. } = stmt else { return };
            let ends = match step {
                Step::Add(step) => *step > 0,
                Step::Double => lower.as_int().is_some_and(|first| first > 0),
                Step::Halve => is_natural(upper),
            };
            found = found.take().or_else(|| (!ends).then_some(*var));
        });
        Some((kernel.vars.get(found?.0)?.name.clone(), kernel.name.clone()))
    })
}

/// The first variable or local array of a program that is read and has no value, and its kernel.
pub(super) fn not_given(program: &Program) -> Option<(Name, Name)> {
    program.kernels.iter().find_map(|kernel| Some((of_kernel(program, kernel)?, kernel.name.clone())))
}

fn of_kernel(program: &Program, kernel: &DeviceKernel) -> Option<Name> {
    let name = |var: VarId| kernel.vars.get(var.0).map(|v| v.name.clone());
    let mut of_parts = TableSet::default();
    Stmt::visit(&kernel.body, &mut |stmt| {
        of_parts.extend(stmt.assigned().filter(|_| stmt.gives(&program.leaves).is_some()));
    });
    if let Some(var) = unknown(&kernel.body, &of_parts, &mut TableSet::default(), &mut TableSet::default()) {
        return name(var);
    }
    let mut written = TableSet::default();
    Stmt::visit(&kernel.body, &mut |stmt| written.extend(stmt.written().map(|to| to.element.memory)));
    let mut found = None;
    Stmt::visit(&kernel.body, &mut |stmt| {
        stmt.each_read(&mut |from| {
            let memory = from.element.memory;
            let array = match memory {
                Memory::Global(_) => None,
                Memory::Shared(k) => kernel.shared.get(k),
                Memory::Private(k) => kernel.private.get(k),
            };
            if let Some(array) = array.filter(|_| !written.contains(&memory)) {
                found = found.take().or_else(|| Some(array.name.clone()));
            }
        });
    });
    found
}

/// The first counter that its loop's body changes, or index that has several values: a variable
/// that stands for a function of inames is assigned in one place, or counts loops beside each
/// other. The kernel's own scalars, such as bounds of segments, have what their statements give
/// (`values`).
fn again(program: &Program, kernel: &DeviceKernel) -> Option<VarId> {
    let (mut counts, mut given) = (TableSet::default(), TableSet::default());
    let (mut assigned, mut changed) = (Table::default(), None);
    Stmt::visit(&kernel.body, &mut |stmt| {
        for var in stmt.assigned() {
            let Stmt::For { body, .. } = stmt else {
                match stmt.gives(&program.leaves) {
                    Some(_) => drop(given.insert(var)),
                    None => *assigned.entry(var).or_insert(0) += 1,
                }
                continue;
            };
            counts.insert(var);
            Stmt::visit(body, &mut |inner| {
                if inner.assigned().any(|other| other == var) {
                    changed = changed.or(Some(var));
                }
            });
        }
    });
    let has_meaning = |var: &VarId| kernel.vars.get(var.0).is_some_and(|v| v.meaning.is_some());
    let several = |(var, times): (&VarId, &usize)| {
        let again = *times > 1 || given.contains(var);
        (counts.contains(var) || (has_meaning(var) && again)).then_some(*var)
    };
    changed.or_else(|| assigned.iter().filter_map(several).min())
}

/// The first variable that is read, or assigned, where it is not declared or has no value yet.
fn unknown(
    body: &[Stmt],
    of_parts: &TableSet<VarId>,
    declared: &mut TableSet<VarId>,
    assigned: &mut TableSet<VarId>,
) -> Option<VarId> {
    let mut own = Vec::new();
    let mut found = None;
    for stmt in body {
        stmt.visit_values(&mut |value| {
            if let ValueKind::Var(var) = value.kind
                && !(declared.contains(&var) && (assigned.contains(&var) || of_parts.contains(&var)))
            {
                found = found.or(Some(var));
            }
        });
        if let Stmt::Declare(var) = stmt {
            assigned.remove(var);
        }
        own.extend(stmt.declared().filter(|var| declared.insert(*var)));
        for var in stmt.assigned() {
            found = found.or((!declared.contains(&var)).then_some(var));
            assigned.insert(var);
        }
        found = stmt
            .bodies()
            .fold(found, |found, body| found.or_else(|| unknown(body, of_parts, declared, assigned)));
        if let Stmt::For { var, .. } = stmt {
            declared.remove(var);
        }
        if found.is_some() {
            break;
        }
    }
    own.iter().for_each(|var| {
        declared.remove(var);
    });
    found
}
