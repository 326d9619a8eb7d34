//! Stores that run for more than their instances, as those of whole boxes of matrices do in partial
//! tiles.
//!
//! What is stored beyond the instances goes to an array in shared memory, and no statement of the
//! kernel may read it: for each constraint of the instances that may fail where the store runs, no
//! execution of the same block reads an element that is written there, unless it is in an earlier
//! iteration of the loops around both. So the store changes no value that is used: what has been
//! read before stays as it was, since all accesses of one element are ordered, those beyond the
//! instances included (`order`). That the store stays inside of the array is asked elsewhere
//! (`bounds`).
//!
//! What is stored there may be anything. So a value may be chosen by a condition that holds for all
//! instances: then it is the one of the two that counts.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, HardwareAxis, Name, Part, Role};
use loopwright_poly::System;

use super::{
    WrongValue,
    forms::{Form, Node, Op},
    walk::Walk,
};
use crate::{
    Leaf, Memory, Step,
    verify::reading::{ScopeId, Touch},
};

impl Walk<'_, '_, '_> {
    /// Whether a store that may run for more than its instances chooses its value for them, and
    /// anything elsewhere. That nothing reads the latter is asked by
    /// [`is_unread_beyond`](Self::is_unread_beyond).
    pub fn is_chosen(
        &mut self,
        (wanted, found): (Form, Form),
        leaf: &Leaf,
        scope: ScopeId,
    ) -> Result<bool, WrongValue> {
        let (Some(claim), Part::Whole | Part::Finish) = (&leaf.instances, leaf.part.part) else {
            return Ok(false);
        };
        let Node::Op(Op::Select, _, args) = self.forms.node(found) else { return Ok(false) };
        let [cond, chosen, _] = args[..] else { return Ok(false) };
        if matches!(leaf.role, Role::Copies { .. }) || !self.same(wanted, chosen, scope)? {
            return Ok(false);
        }
        let mut rows = Vec::new();
        if self.forms.constraints(cond, &mut rows).is_none() {
            return Ok(false);
        }
        Ok(self.instances_here(claim, scope)?.implies_all(&rows).map_err(Diagnostic::from)?)
    }

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
                    self.is_unread((&here, scope), c, to, cell).map_err(Diagnostic::from)?
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

    /// Whether no access of a block reads this cell, where a constraint fails, at the time of the
    /// store or later.
    fn is_unread(
        &self,
        (here, at): (&System, ScopeId),
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
            for when in self.not_earlier(touch, at, &other)? {
                let meeting = meeting.with(&when)?;
                for not in c.negations()? {
                    if !meeting.is_empty_with(&[not])? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// When an access, whose own names are renamed so, is in the same iteration of the loops around
    /// it and another place, or in a later one. Of a loop whose counter is not known to grow it may
    /// be any iteration; an asynchronous access may happen after any.
    fn not_earlier(
        &self,
        touch: &Touch,
        at: ScopeId,
        other: &dyn Fn(&Name) -> Option<Name>,
    ) -> loopwright_poly::Result<Vec<Vec<Constraint>>> {
        let reading = self.reading;
        let (here, there) = (&reading.scope(at).loops, &reading.scope(touch.scope).loops);
        let (mut equal, mut cases) = (Vec::new(), Vec::new());
        for (own, of_touch) in here.iter().zip(there) {
            let Some(of) = reading.loops.get(*own).filter(|_| own == of_touch && !touch.asynchronous) else {
                break;
            };
            let (Some(counter), Step::Add(1..)) = (&of.counter, of.step) else { break };
            let then: Aff = counter.rename(other)?;
            cases.push([equal.as_slice(), &[Constraint::lt(counter, &then)?]].concat());
            equal.push(Constraint::equal(counter, &then)?);
        }
        cases.push(equal);
        Ok(cases)
    }
}
