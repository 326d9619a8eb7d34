//! Whether statements compute what the kernel says, and write it where it says.
//!
//! The text of a device kernel is read once, in its order. What each statement computes is brought
//! to a normal form (`forms`) over elements of the kernel's arrays, inames, coordinates and
//! parameters; so is what the kernel's instruction says for the part and for the value that the
//! statement gives (`spec`): of an assignment its value in the type of its target, of a reduction
//! the neutral element, or the operator's `combine` of the accumulator and of the lifted
//! arguments, or its results. The two have to be one form, or have to differ only in subscripts and
//! integers that are equal wherever the statement runs. The element that is written has to be that
//! of the instruction's target.
//!
//! * Variables that hold indices are what they stand for, which is checked elsewhere
//!   (`instances`). Variables and private arrays that serve a part hold the forms of what they have
//!   been given (`buffers`), as long as that is certain: after a loop or a choice that gives them
//!   other values, nothing is known of them.
//! * An element is read in a *version* of its array: how often the text has written it so far. A
//!   value that is loaded ahead counts only if nothing writes its array between the load and the
//!   use. The statements of one execution, such as those of an operator with several values, read
//!   what was there before the first of them; likewise those that copy one vector in pieces. They
//!   stand in one body.
//! * Which variable or array of the thread holds which temporary or accumulator is learnt from the
//!   statements that give values, one for each.
//! * Statements that give no value write nothing that the kernel has (`stray`).
//! * A condition on data has to be the instruction's predicate.
//! * A copy that fills its whole buffer chooses between the value and a constant by a condition
//!   that holds for the instances, and for nothing else that it runs for.
//! * A store of whole boxes may run for more than its instances where nothing reads what it writes
//!   there (`beyond`).
//!
//! Joins of partial results are checked elsewhere (`joins`), and so is what flattened nests compute
//! (`segments`). What is not followed is unknown, and refused. So are forms that are not found to
//! be equal, but for those that are different numbers in some execution (`differ`), which are
//! refuted.

mod beyond;
mod buffers;
mod choices;
mod compare;
mod differ;
mod filling;
mod forms;
mod given;
mod read;
mod spec;
mod stray;
mod walk;

use loopwright_kernel_ir::{Diagnostic, HardwareAxis, LoopKernel, Name, Part};
use loopwright_poly::Table;

use super::reading::Reading;
use crate::{Destination, DeviceKernel, Memory, Program, Stmt, VarId};
use forms::{Forms, Place};
pub(super) use spec::{Spec, Text};
use walk::Walk;

/// What is wrong with a value.
pub(super) enum WrongValue {
    /// It is another one than the kernel's, in some execution that there is.
    Wrong(Box<Diagnostic>),
    /// The check does not know what it is, or whether it is another one, so that nothing is shown.
    NotFollowed(Box<Diagnostic>),
}

impl From<Diagnostic> for WrongValue {
    fn from(diagnostic: Diagnostic) -> Self {
        WrongValue::NotFollowed(Box::new(diagnostic))
    }
}

/// What a statement may write of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Local {
    Var(VarId),
    Array(Memory),
}

/// The values of a program, against one kernel.
pub(super) struct Values<'k> {
    program: &'k Program,
    spec: Spec<'k>,
    forms: Forms,
}

impl<'k> Values<'k> {
    pub fn new(kernel: &'k LoopKernel, program: &'k Program) -> Self {
        Values { program, spec: Spec::new(kernel, program), forms: Forms::new(program.index) }
    }

    /// Whether the statements of a device kernel compute what the kernel says. `reading` is that of
    /// the device kernel, over inames.
    pub fn check(&mut self, kernel: &'k DeviceKernel, reading: &Reading<'_>) -> Result<(), WrongValue> {
        let holders = self.holders(kernel)?;
        self.forms.zero = HardwareAxis::all()
            .filter(|axis| match axis {
                HardwareAxis::Block(dim) => kernel.block[*dim] <= 1,
                HardwareAxis::Grid(dim) => kernel.grid[*dim].as_int() == Some(1),
            })
            .map(|axis| Name::new(axis.coordinate()))
            .collect();
        Stmt::visit(&kernel.body, &mut |stmt| {
            if let Stmt::For { var, lower, unroll: true, .. } = stmt
                && let Some(lane) = kernel.vars.get(var.0).and_then(|v| v.meaning.as_ref()?.as_var())
                && let Some(low) = lower.as_int()
            {
                self.spec.begins_at(lane, low);
            }
        });
        let mut walk = Walk::new(self.program, kernel, reading, &mut self.spec, &mut self.forms, holders);
        walk.body(&kernel.body)?;
        walk.reads_filling()
    }

    /// What of the thread or the block holds which array, accumulator or total: one each.
    fn holders(&mut self, kernel: &DeviceKernel) -> Result<Table<Local, Place>, WrongValue> {
        let mut holders: Table<Local, Place> = Table::default();
        let mut of: Table<Place, Local> = Table::default();
        let mut inits: Vec<(Local, Name, usize, u8)> = Vec::new();
        let mut found: Vec<(Local, Place)> = Vec::new();
        Stmt::visit(&kernel.body, &mut |stmt| {
            let Some((leaf, number)) = stmt.gives(&self.program.leaves) else { return };
            let Some(leaf) = self.program.leaves.get(leaf.0).filter(|l| !l.decided_by_data) else { return };
            let Some(local) = local(stmt) else { return };
            match leaf.part.part {
                Part::Whole | Part::Finish => {
                    let instruction = self.spec.lookup.instruction(&leaf.part.instruction);
                    let target = instruction.and_then(|i| i.targets.get(usize::from(number)));
                    found.extend(target.map(|t| (local, Place::Array(t.array.clone()))));
                }
                Part::Update(n) => {
                    found.push((local, Place::State(leaf.part.instruction.clone(), n, number)));
                }
                Part::Init(n) => inits.push((local, leaf.part.instruction.clone(), n, number)),
            }
        });
        let mut learn = |local: Local, place: Place, of: &mut Table<Place, Local>| {
            let other = holders.insert(local, place.clone()).is_some_and(|own| own != place);
            if other || of.insert(place, local).is_some_and(|own| own != local) {
                let message =
                    format!("`{}` keeps different values in one place, or one in several", kernel.name);
                return Err(WrongValue::from(Diagnostic::new("wrong-value", message)));
            }
            Ok(())
        };
        for (local, place) in found {
            learn(local, place, &mut of)?;
        }
        let mut scans = false;
        Stmt::visit(&kernel.body, &mut |stmt| {
            scans |= matches!(stmt, Stmt::Collective { join, .. } if join.scan);
        });
        for (local, id, n, number) in inits {
            let state = Place::State(id.clone(), n, number);
            // A scan in rounds gives the first value to the total that it carries.
            let place = match of.get(&state) {
                Some(own) if *own != local && scans => Place::Carried(id, n, number),
                _ => state,
            };
            learn(local, place, &mut of)?;
        }
        Ok(holders)
    }
}

/// What a statement writes of its thread or block.
fn local(stmt: &Stmt) -> Option<Local> {
    match stmt.destination()? {
        Destination::Var(var) => Some(Local::Var(var)),
        Destination::Elements(to) => match to.element.memory {
            Memory::Global(_) => None,
            memory => Some(Local::Array(memory)),
        },
    }
}
