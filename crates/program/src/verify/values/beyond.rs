//! Stores that run for more than their instances, as those of whole boxes of matrices do in partial
//! tiles.
//!
//! What is stored beyond the instances goes to an array in shared memory, and no statement of the
//! kernel may read it: for each constraint of the instances that may fail where the store runs, no
//! execution of the same block reads, at whatever time, an element that is written there. So the
//! store changes no value that is used; that it stays inside of the array is asked elsewhere
//! (`bounds`).

use loopwright_kernel_ir::{Constraint, Diagnostic, HardwareAxis, Name, Part, Role};
use loopwright_poly::System;

use super::{WrongValue, forms::Form, walk::Walk};
use crate::{Leaf, Memory, verify::reading::ScopeId};

impl Walk<'_, '_, '_> {
    /// Whether nothing reads what a store writes beyond its instances.
    pub fn is_unread_beyond(
        &mut self,
        leaf: &Leaf,
        to: Memory,
        subscripts: &[Form],
        scope: ScopeId,
    ) -> Result<(), WrongValue> {
        let (Some(claim), Part::Whole | Part::Finish) = (&leaf.instances, leaf.part.part) else {
            return Ok(());
        };
        if claim.allowed == claim.constraints || matches!(leaf.role, Role::Copies { .. }) {
            return Ok(());
        }
        let cell: Option<Vec<_>> = subscripts.iter().map(|s| self.forms.to_aff(*s, &mut |_| None)).collect();
        let here = self.system(scope)?.clone();
        for c in &claim.constraints {
            if here.implies(c).map_err(Diagnostic::from)? {
                continue;
            }
            let is_shown = match (&cell, to) {
                (Some(cell), Memory::Shared(_)) => {
                    self.is_unread(&here, c, to, cell).map_err(Diagnostic::from)?
                }
                _ => false,
            };
            if !is_shown {
                let message = format!(
                    "`{}` may store what is read where {} has no instances: `{c}` need not hold there",
                    self.kernel.name, leaf.part
                );
                return Err(Diagnostic::new("wrong-value", message).into());
            }
        }
        Ok(())
    }

    /// Whether no access of a block reads this cell, where a constraint fails.
    fn is_unread(
        &self,
        here: &System,
        c: &Constraint,
        memory: Memory,
        cell: &[loopwright_kernel_ir::Aff],
    ) -> loopwright_poly::Result<bool> {
        let reading = self.reading;
        let other = |name: &Name| {
            let of_block = HardwareAxis::of_coordinate(name).is_some_and(|axis| !axis.is_in_block());
            (!of_block && !self.spec.lookup.is_scalar(name)).then(|| name.followed_by("'"))
        };
        for touch in reading.touches.iter().filter(|touch| touch.memory == memory && !touch.write) {
            let scope = &reading.scope(touch.scope).rows;
            let mut rows = Vec::new();
            for row in reading.context.iter().chain(scope) {
                rows.push(row.rename(&other)?);
            }
            for (own, read) in cell.iter().zip(&touch.cell) {
                let Some(read) = read else { return Ok(false) };
                rows.push(Constraint::equal(own, &read.rename(&other)?)?);
            }
            let meeting = here.with(&rows)?;
            for not in c.negations()? {
                if !meeting.is_empty_with(&[not])? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
