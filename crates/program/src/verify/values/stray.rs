//! Statements that belong to no part, or only prepare one, write nothing that the kernel has.
//!
//! What the kernel has is arrays in global memory, and what of the thread or the block holds an
//! array or an accumulator. Statements that give values write these, and besides them only
//!
//! * the statements of a collective, which write the accumulators that they join, and the total
//!   that a scan carries;
//! * joins of lanes, which write accumulators that a thread has for each lane;
//! * the neutral value, with which accumulators of a scan in rounds begin anew.
//!
//! `joins` follows all three.
//!
//! In a flattened nest data decide which instances a statement runs. There a statement of a part
//! writes its target alone, besides what the kernel does not have, and reads only arrays that the
//! instructions of the nest read.

use loopwright_kernel_ir::{Diagnostic, Name, Part};

use super::{Local, WrongValue, forms::Place, local, walk::Walk};
use crate::{Leaf, Memory, Program, Stmt, Value, verify::reading::ScopeId};

impl<'k> Walk<'_, 'k, '_> {
    /// Whether a statement that gives no value may write what it writes.
    pub fn is_stray(&mut self, stmt: &'k Stmt, scope: ScopeId) -> Result<(), WrongValue> {
        if let Some(array) = stmt.published() {
            return self.of_kernel(Memory::Global(array)).map_or(Ok(()), |name| Err(self.stray(name, scope)));
        }
        // That it writes what the contract of its atom does is shown by `atoms`.
        if let Stmt::StoreMatrices { .. } = stmt {
            return Ok(());
        }
        if let Some(to) = stmt.written()
            && let Memory::Global(_) = to.element.memory
        {
            return self.of_kernel(to.element.memory).map_or(Ok(()), |name| Err(self.stray(name, scope)));
        }
        if self.has_nest {
            return Ok(());
        }
        let Some(place) = local(stmt).and_then(|l| self.holders.get(&l).cloned()) else { return Ok(()) };
        let (instruction, number) = match &place {
            Place::State(id, n, _) | Place::Carried(id, n, _) => (id.clone(), *n),
            Place::Array(array) => return Err(self.stray(array, scope)),
        };
        if self.joining {
            return Ok(());
        }
        let is_state = matches!(place, Place::State(..));
        let is_total =
            |p: &Place| matches!(p, Place::Carried(id, n, _) if *id == instruction && *n == number);
        let scans = self.holders.values().any(is_total);
        let holds_lanes = matches!(local(stmt), Some(Local::Array(Memory::Private(_))));
        if is_state && !scans && holds_lanes && self.spec.joins_lanes(&instruction, number) {
            return Ok(());
        }
        if is_state
            && scans
            && let Some(value) = stmt.value()
        {
            return self.begins(value, &place, scope);
        }
        Err(self.stray(&instruction, scope))
    }

    /// Whether a statement of which data decide for which instance it runs writes its target, or
    /// what the kernel does not have, and reads nothing that the nest does not.
    pub fn of_nest(&mut self, stmt: &'k Stmt, leaf: &'k Leaf, number: Option<u8>) -> Result<(), WrongValue> {
        let id = &leaf.part.instruction;
        let target = match (leaf.part.part, number) {
            (Part::Whole | Part::Finish, Some(number)) => {
                self.spec.lookup.instruction(id).and_then(|i| i.targets.get(usize::from(number)))
            }
            _ => None,
        };
        let to = stmt.written().and_then(|to| self.of_kernel(to.element.memory));
        let wrong = to.filter(|name| target.is_none_or(|t| t.array != **name));
        let mut read = Vec::new();
        stmt.each_read(&mut |from| read.extend(self.of_kernel(from.element.memory)));
        let unknown = match read.is_empty() {
            true => None,
            false => {
                let known = self.spec.read_in_nests(id);
                read.into_iter().find(|name| !known.contains(*name))
            }
        };
        let Some((what, array)) = wrong.map(|n| ("writes", n)).or(unknown.map(|n| ("reads", n))) else {
            return Ok(());
        };
        let message = format!("{} {what} `{array}` in `{}`, unlike the kernel", leaf.part, self.kernel.name);
        // Whether it runs, data decide.
        Err(Diagnostic::new("wrong-value", message).into())
    }

    /// The name of an array in global memory that the kernel has too. A program may have others, of
    /// which no part knows.
    fn of_kernel(&self, memory: Memory) -> Option<&'k Name> {
        let Memory::Global(array) = memory else { return None };
        let program: &'k Program = self.program;
        let name = &program.globals.get(array)?.name;
        self.spec.lookup.array(name).is_some().then_some(name)
    }

    /// Accumulators that begin anew, for a round of a scan, have the neutral value.
    fn begins(&mut self, value: &'k Value, place: &Place, scope: ScopeId) -> Result<(), WrongValue> {
        let form = self.value(value);
        match self.spec.neutral(self.forms, place)? {
            Some(neutral) if neutral == form => Ok(()),
            neutral => Err(self.wrong(
                format!(
                    "an accumulator in `{}` begins with another value than the neutral one",
                    self.kernel.name
                ),
                neutral.unwrap_or(form),
                form,
                scope,
            )),
        }
    }

    /// The refusal of a statement that writes the array, or the accumulator of the instruction.
    fn stray(&mut self, what: &Name, scope: ScopeId) -> WrongValue {
        let message =
            format!("a statement in `{}` that is of no part of the kernel writes `{what}`", self.kernel.name);
        self.if_it_runs(Diagnostic::new("stray-write", message), scope)
    }
}
