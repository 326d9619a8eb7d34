//! Scalars of the kernel that are read from data and stand in bounds, and the places where they get
//! another value.
//!
//! In the instances of a part such a scalar has one name, which means its value at the time of the
//! execution. Where a statement gives it a value, nothing may be left that was said of the one
//! before: variables that were computed from it are not followed any more ([`Reading::renew`]), and
//! a guard or a loop around the statement that speaks of it is a finding.
//!
//! Where each lane of a thread is given such a scalar, that of the first lane is read for all of
//! them ([`Named::OfLanes`]). So the statement that has given it last has to give all lanes one
//! value ([`Reading::give_lanes`]), the first lane where the scalar is read, and each lane that
//! runs a part by it.
//!
//! What the operation or the declared range of the array says of the value is known wherever it
//! holds for each statement that gives the scalar one ([`Reading::facts`]).

use std::collections::btree_map::Entry;

use loopwright_kernel_ir::{Aff, Constraint, Fact, Name};
use loopwright_legality::is_coordinate;
use loopwright_poly::{Result, TableSet};

use super::{Named, Reading, ScopeId, Terms};
use crate::{BinOp, Destination, LeafId, MemRef, Memory, Purpose, Stmt, Value, ValueKind, VarId};

/// A statement that gives lanes a scalar that is read from data.
pub(in crate::verify) struct OfLanes {
    pub scalar: Name,
    pub scope: ScopeId,
    /// What has to be put in for inames to be at the first lane; `None` if that is not known, or if
    /// other lanes may get another value.
    pub first: Option<Vec<(Name, Aff)>>,
    /// How many statements of [`Reading::done`] there are up to it.
    pub until: usize,
}

/// What is declared of the values of an array's elements, of one of them.
pub(in crate::verify) fn declared_of(facts: &[Fact], array: &Name, value: &Aff) -> Vec<Constraint> {
    let mut known = Vec::new();
    for fact in facts {
        let Fact::Range { array: of, lower, upper } = fact else { continue };
        if of == array {
            let low = lower.as_ref().and_then(|e| Constraint::le(&e.to_aff()?, value).ok());
            let high = upper.as_ref().and_then(|e| Constraint::lt(value, &e.to_aff()?).ok());
            known.extend(low.into_iter().chain(high));
        }
    }
    known
}

impl Reading<'_> {
    /// The scalar of the kernel that an array holds, for each lane where these have one each, if
    /// constraints are over instances and some mention it.
    fn scalar_of_array(&mut self, element: &MemRef) -> Option<Name> {
        let name = self.array_name(element.memory);
        if self.terms != Terms::Instances || !self.is_spoken_of(&name) {
            return None;
        }
        self.data.insert(name.clone());
        Some(name)
    }

    /// Whether the instances of a part mention a name.
    fn is_spoken_of(&self, name: &Name) -> bool {
        let instances = self.program.leaves.iter().filter_map(|leaf| leaf.instances.as_ref());
        let spoken_of = self.spoken_of.get_or_init(|| {
            let mut found = TableSet::default();
            for c in instances.flat_map(|i| &i.constraints) {
                c.aff.visit_names(&mut |name| {
                    found.insert(name.clone());
                });
            }
            found
        });
        spoken_of.contains(name)
    }

    /// The scalar of the kernel that an element stands for, where it is read. That of the first
    /// lane stands for all: that it has been given is checked later ([`Named::OfLanes`]).
    pub fn scalar_of_instances(&mut self, element: &MemRef) -> Option<Name> {
        if element.subscripts.iter().any(|s| s.as_int() != Some(0)) {
            return None;
        }
        let name = self.scalar_of_array(element)?;
        if matches!(element.memory, Memory::Private(_)) && !element.subscripts.is_empty() {
            self.named.push(Named::OfLanes {
                name: name.clone(),
                scope: self.scope,
                behind: self.of_lanes.len(),
                // The statement that reads it may be one of a part.
                from: self.done.len().saturating_sub(1),
            });
        }
        Some(name)
    }

    /// Takes note of a statement that gives lanes a scalar. If it may give them different ones,
    /// that of the first lane stands for no other.
    fn give_lanes(&mut self, scalar: &Name, to: &MemRef, value: Option<&Value>) -> Result<()> {
        let mut first: Option<Vec<(Name, Aff)>> = Some(Vec::new());
        for subscript in &to.subscripts {
            let at = self.aff(subscript)?;
            let own = at.as_ref().and_then(|at| match at.names().into_iter().next() {
                Some(lane) => {
                    let rest = at.sub(&Aff::var(&lane)).ok()?.as_constant()?;
                    let is_counted = self.loops_of(&|n| *n == lane).next().is_some();
                    is_counted.then_some(Some((lane, Aff::constant(rest.checked_neg()?))))
                }
                None => (at.as_constant() == Some(0)).then_some(None),
            });
            first = first.zip(own).and_then(|(mut all, own)| {
                // No lane has two values.
                let again = own.as_ref().is_some_and(|(lane, _)| all.iter().any(|(other, _)| other == lane));
                all.extend(own);
                (!again).then_some(all)
            });
        }
        if let Some(lanes) = &first
            && value.is_none_or(|value| self.differs_over(value, lanes))
        {
            first = None;
        }
        let (scalar, scope, until) = (scalar.clone(), self.scope, self.done.len());
        self.of_lanes.push(OfLanes { scalar, scope, first, until });
        Ok(())
    }

    /// The loops around that count an iname of this kind.
    fn loops_of(&self, is_own: &dyn Fn(&Name) -> bool) -> impl Iterator<Item = usize> {
        let around = self.scopes[self.scope].loops.iter().copied();
        around.filter(move |number| self.loops[*number].inames.iter().any(is_own))
    }

    /// Whether a value may differ between these lanes: it mentions one of them, or what is not
    /// known to be the same for them, such as what their loops give a value.
    fn differs_over(&self, value: &Value, lanes: &[(Name, Aff)]) -> bool {
        let is_lane = |n: &Name| lanes.iter().any(|(lane, _)| lane == n);
        let loops_of_lanes: Vec<usize> = self.loops_of(&is_lane).collect();
        let given_outside = |var: VarId| {
            let loops = self.within.get(var.0).and_then(Option::as_ref);
            self.assigned.get(var.0) == Some(&1)
                && loops.is_some_and(|loops| !loops.iter().any(|number| loops_of_lanes.contains(number)))
        };
        let mut differs = false;
        value.visit(&mut |part| {
            differs |= match &part.kind {
                ValueKind::Var(var) => match self.kernel.vars.get(var.0).and_then(|v| v.meaning.as_ref()) {
                    Some(aff) => {
                        aff.mentions_any(&is_lane)
                            || aff.mentions_any(&|n| self.data.contains(n)) && !given_outside(*var)
                    }
                    None => !given_outside(*var),
                },
                // Of an element with one place for all lanes, by what is said above of its
                // subscripts.
                ValueKind::Load(from) => {
                    let mut written = false;
                    for number in &loops_of_lanes {
                        Stmt::visit(self.bodies[*number], &mut |s| {
                            written |= s.written().is_some_and(|to| to.element.memory == from.memory);
                        });
                    }
                    written
                }
                _ => false,
            };
        });
        differs
    }

    /// What is known of the scalars that are read from data.
    pub fn facts(&self) -> impl Iterator<Item = &Constraint> {
        self.known.values().flatten()
    }

    /// Takes note of a value that a scalar gets. Of the scalar is known what holds for all of them.
    pub(super) fn know_scalar(&mut self, value: &Value, scalar: Name) -> Result<()> {
        let rows = self.range_of(value, &Aff::var(&scalar))?;
        match self.known.entry(scalar) {
            Entry::Vacant(free) => {
                free.insert(rows);
            }
            Entry::Occupied(mut known) => known.get_mut().retain(|c| rows.contains(c)),
        }
        Ok(())
    }

    /// Between which bounds a value lies by its last operation, as `0 <= x & 3 <= 3`, or by what is
    /// declared of the array that it is read from.
    fn range_of(&self, value: &Value, scalar: &Aff) -> Result<Vec<Constraint>> {
        let greatest = match &value.kind {
            ValueKind::Cast(a) => {
                let within = |c: &Constraint| {
                    c.aff.names().len() == 1 && c.aff.constant_term().unsigned_abs() <= i8::MAX as u64
                };
                // Small enough for every integer type.
                let rows = self.range_of(a, scalar)?;
                return Ok(if rows.iter().all(within) { rows } else { Vec::new() });
            }
            ValueKind::Load(from) => {
                let Memory::Global(global) = from.memory else { return Ok(Vec::new()) };
                let read_only = self.program.globals.get(global).filter(|g| !g.written);
                return Ok(
                    read_only.map_or_else(Vec::new, |g| declared_of(&self.program.facts, &g.name, scalar))
                );
            }
            ValueKind::Binary(BinOp::BitAnd, a, b) => a.as_int().or(b.as_int()),
            ValueKind::Var(var) => {
                let held = self.values.get(var.0).and_then(|held| held.as_ref()?.0.as_var().cloned());
                let Some(load) = held.as_ref().and_then(|name| self.load_of(name)) else {
                    return Ok(Vec::new());
                };
                let is_written = self.program.writes(&load);
                return Ok(match is_written {
                    true => Vec::new(),
                    false => declared_of(&self.program.facts, &load, scalar),
                });
            }
            _ => None,
        };
        match greatest.filter(|k| *k >= 0) {
            Some(k) => {
                Ok(vec![Constraint::nonneg(scalar.clone()), Constraint::le(scalar, &Aff::constant(k))?])
            }
            None => Ok(Vec::new()),
        }
    }

    /// The scalar of the kernel that a variable of this meaning holds, if it does.
    pub(super) fn scalar_held<'m>(&self, meaning: &'m Aff) -> Option<&'m Name> {
        meaning.as_var().filter(|n| !is_coordinate(n) && !self.bound.contains(n))
    }

    /// Whether a statement of this leaf gives a value of its part.
    pub(super) fn is_given(&self, leaf: Option<LeafId>) -> bool {
        let given = leaf.and_then(|id| self.program.leaves.get(id.0));
        given.is_some_and(|l| l.decided_by_data || matches!(l.purpose, Purpose::Value(_)))
    }

    /// The scalar of the kernel that a statement gives a value, and the variable that holds it.
    fn given_scalar(&mut self, stmt: &Stmt) -> Option<(Name, Option<VarId>)> {
        if self.terms != Terms::Instances || !self.is_given(stmt.leaf()) {
            return None;
        }
        match stmt.destination()? {
            Destination::Var(var) => {
                let meaning = self.kernel.vars.get(var.0)?.meaning.as_ref()?;
                Some((self.scalar_held(meaning)?.clone(), Some(var)))
            }
            Destination::Elements(to) => Some((self.scalar_of_array(to.element)?, None)),
        }
    }

    /// Notes that a statement gives a scalar of the kernel another value, if it does.
    pub(super) fn renew(&mut self, stmt: &Stmt) -> Result<()> {
        let Some((scalar, holder)) = self.given_scalar(stmt) else { return Ok(()) };
        if holder.is_none() {
            match stmt {
                Stmt::Store { value, .. } => self.know_scalar(value, scalar.clone())?,
                // Of what else an element of memory may hold nothing is known.
                _ => drop(self.known.insert(scalar.clone(), Vec::new())),
            }
            if let Some(Destination::Elements(to)) = stmt.destination()
                && !to.element.subscripts.is_empty()
            {
                let value = match stmt {
                    Stmt::Store { value, .. } => Some(value),
                    _ => None,
                };
                self.give_lanes(&scalar, to.element, value)?;
            }
        }
        let scope = &self.scopes[self.scope];
        let mut rows = scope.rows.iter().chain(scope.either.iter().flatten());
        if rows.any(|c| self.depends(&c.aff, &scalar)) {
            self.named.push(Named::Unread { name: scalar.clone(), scope: self.scope });
        }
        self.forget(&scalar, holder);
        Ok(())
    }

    /// Before a loop: what its body gives another value has another one in later iterations.
    pub(super) fn renew_in(&mut self, body: &[Stmt]) {
        let mut found = Vec::new();
        Stmt::visit(body, &mut |stmt| found.extend(self.given_scalar(stmt)));
        for (scalar, holder) in found {
            self.forget(&scalar, holder);
        }
    }

    /// Nothing is known any more of what was computed from a scalar, but of the variable that holds
    /// it.
    fn forget(&mut self, scalar: &Name, holder: Option<VarId>) {
        for number in 0..self.values.len() {
            if holder == Some(VarId(number)) {
                continue;
            }
            let value = self.values[number].as_ref().map(|(aff, _)| aff);
            if value.is_some_and(|aff| self.depends(aff, scalar)) {
                self.values[number] = None;
            }
            let meaning = self.kernel.vars[number].meaning.as_ref();
            if meaning.is_some_and(|aff| self.depends(aff, scalar)) {
                self.stale[number] = true;
            }
        }
    }

    /// Whether a scalar has a part in a function, by itself or in the subscripts of what is read.
    fn depends(&self, aff: &Aff, scalar: &Name) -> bool {
        aff.mentions_any(&|n| {
            n == scalar
                || self
                    .loads
                    .get(n)
                    .is_some_and(|load| load.arguments.iter().any(|a| self.depends(a, scalar)))
        })
    }
}
