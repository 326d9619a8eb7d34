//! A statement that gives a value of a part, against what the kernel says of it.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name, Number, Part, PartRef, UpdateScope};
use loopwright_poly::{Table, TableSet};

use super::{
    Local, WrongValue,
    filling::Filling,
    forms::{Form, Place},
    local,
    spec::{At, Text, Wanted},
    walk::{Group, Walk},
};
use crate::{
    Async, AsyncCopy, Atomic, Destination, Leaf, Stmt,
    verify::reading::{Copied, Done, ScopeId, first_lane},
};

impl<'k> Walk<'_, 'k, '_> {
    /// Compares a statement that gives a value with what the kernel says.
    pub fn given(
        &mut self,
        stmt: &'k Stmt,
        leaf: &'k Leaf,
        number: u8,
        done: &Done,
    ) -> Result<(), WrongValue> {
        let (part, scope) = (&leaf.part, done.scope);
        let piece = match stmt {
            Stmt::VectorCopy { from, lanes, .. } => Some((leaf, from, *lanes)),
            _ => None,
        };
        let goes_on = self.groups.get(part).is_some_and(|group| {
            !group.given.contains(&number)
                || piece.is_some_and(|(_, from, _)| group.is_continued_by(leaf, from))
        });
        if !goes_on {
            let group = Group { given: TableSet::default(), before: self.last, piece: None };
            if let Some(before) = self.groups.insert(part, group) {
                self.is_complete(part, &before)?;
            }
        }
        self.lane = None;
        let before = match self.groups.get_mut(part) {
            Some(group) => {
                group.given.insert(number);
                group.piece = piece;
                group.before
            }
            None => self.last,
        };
        let mut only: Table<Name, Aff> = Table::default();
        for (name, value) in &leaf.only {
            let equal = Constraint::equal(&Aff::var(name), value).map_err(Diagnostic::from)?;
            if self.reading.scope(scope).rows.contains(&equal) {
                only.insert(name.clone(), value.clone());
            }
        }
        // What is written, and where.
        let carries = matches!(part.part, Part::Init(_))
            && local(stmt)
                .and_then(|l| self.holders.get(&l))
                .is_some_and(|p| matches!(p, Place::Carried(..)));
        let (place, subscripts, value) = match stmt {
            Stmt::VectorCopy { to, from, lanes, .. } => {
                let lane = self.buffers.parameter();
                self.range = Some((lane.clone(), i64::from(*lanes)));
                let mut subscripts: Vec<Form> = to.subscripts.iter().map(|s| self.value(s)).collect();
                let dense = self.dense(to);
                self.move_subscript(&mut subscripts, dense, &lane);
                self.elements_are_lanes(Some(&lane), *lanes, leaf, done, &mut only)?;
                let value = self.element_of_vector(from, &lane);
                (self.place(to.memory), subscripts, value)
            }
            Stmt::Async(Async::Copy(copy)) => self.async_copy(copy, leaf, done, &mut only)?,
            _ => match (stmt.destination(), stmt.value()) {
                (Some(Destination::Var(var)), Some(value)) => {
                    (self.holders.get(&Local::Var(var)).cloned(), Vec::new(), self.value(value))
                }
                (Some(Destination::Elements(to)), Some(value)) => {
                    let subscripts = to.element.subscripts.iter().map(|s| self.value(s)).collect();
                    (self.place(to.element.memory), subscripts, self.value(value))
                }
                _ => return Ok(()),
            },
        };
        let lanes: Vec<Name> = self.lanes.iter().map(|(name, _)| name.clone()).collect();
        let versions = self.versions.clone();
        let atomic = match stmt {
            Stmt::Update { atomic, scope, .. } => Some((*atomic, *scope)),
            _ => None,
        };
        let at = At {
            atomic: atomic.is_some(),
            only: &only,
            has_lane: &|name| only.contains_key(name) || lanes.contains(name),
            versions: &versions,
            time: before,
        };
        let wanted = self.spec.wanted(self.forms, part, number, carries, &at)?;
        let Some(wanted) = wanted else { return Err(self.not_followed(part)) };
        let text = self.spec.text(part)?;
        if let Some(text) = text.as_ref()
            && !self.is_done_by(text, atomic, &at)
        {
            let message = format!("{part} updates its target otherwise than the kernel says");
            let found = Diagnostic::new("wrong-value", message);
            // Of operators and of scopes, what differs is not evaluated.
            let by_kinds = match (text.atomic.as_ref().or(text.update.as_ref()), atomic) {
                (Some(op), Some((atomic, _))) => Atomic::of(op).is_some_and(|own| own != atomic),
                (None, Some(_)) => true,
                _ => false,
            };
            return Err(match by_kinds && !matches!(atomic, Some((Atomic::By(_), _))) {
                true => self.if_it_runs(found, scope),
                false => found.into(),
            });
        }
        if let Some(text) = text.filter(|t| t.predicate.is_some() && !matches!(part.part, Part::Init(_))) {
            self.under_predicate(&text, &at, part, scope)?;
        }
        let guessed = done.copied.as_ref().is_some_and(|copied| !copied.certain);
        let written = subscripts.clone();
        let (plain, chosen) = self.without_choices(value, leaf, scope)?;
        // The kernel may have the same choice.
        let (value, chosen) = match chosen.is_empty() || self.same(wanted.value, value, scope)? {
            true => (value, Vec::new()),
            false => (plain, chosen),
        };
        let filling = match self.is_wanted((place, subscripts, value), &wanted, leaf, scope) {
            // The elements may be of other lanes.
            Err(WrongValue::Wrong(_)) if guessed => return Err(self.not_followed(part)),
            other => other?,
        };
        self.fillings.entry(wanted.place).or_default().push(filling);
        if let (Some(Destination::Elements(to)), true) = (stmt.destination(), leaf.instances.is_some()) {
            self.is_unread_beyond(leaf, to.element.memory, &written, scope)?;
        }
        self.adds_nothing(leaf, &at, scope, &chosen)?;
        self.range = None;
        self.truncates(scope)
    }

    /// Whether a statement that is this atomic update, or none, may do a part. What a kernel says
    /// to be an update may also be a read and a write, which no other thread may divide, and an
    /// update's scope may be any: the order of accesses is checked elsewhere. The scope of what
    /// others outside the kernel may update is the system.
    fn is_done_by(&mut self, text: &Text, atomic: Option<(Atomic, UpdateScope)>, at: &At<'_>) -> bool {
        // Who else updates the array is not in the program, so that no check of its order finds it.
        let wide = text.scope == UpdateScope::System;
        if wide && atomic.is_none_or(|(_, scope)| scope != UpdateScope::System) {
            return false;
        }
        let atomic = atomic.map(|(atomic, _)| atomic);
        let (op, atomic) = match (&text.atomic, &text.update, atomic) {
            (Some(op), _, Some(atomic)) | (None, Some(op), Some(atomic)) => (op, atomic),
            (Some(_), _, None) | (None, None, Some(_)) => return false,
            (None, _, None) => return true,
        };
        let Atomic::By(number) = atomic else { return Atomic::of(op) == Some(atomic) };
        let Some(update) = self.program.updates.get(number) else { return false };
        // Both are functions of the same two values, whatever these are.
        let operands = [0; 2].map(|_| self.forms.opaque(update.dtype));
        let wanted = self.spec.updated(self.forms, text, operands, at);
        let outside = self.operands.replace(operands);
        let found = self.value(&update.combined);
        self.operands = outside;
        text.stored == [update.dtype] && wanted == Some(found)
    }

    /// The element that an asynchronous copy writes, and its value: that of a lane, if it copies
    /// several.
    fn async_copy(
        &mut self,
        copy: &'k AsyncCopy,
        leaf: &'k Leaf,
        done: &Done,
        only: &mut Table<Name, Aff>,
    ) -> Result<(Option<Place>, Vec<Form>, Form), WrongValue> {
        let lane = self.buffers.parameter();
        let mut subscripts: Vec<Form> = copy.to.subscripts.iter().map(|s| self.value(s)).collect();
        let value = match copy.lanes {
            1 => {
                self.elements_are_lanes(None, 1, leaf, done, only)?;
                self.element_of(&copy.from)
            }
            lanes => {
                self.range = Some((lane.clone(), i64::from(lanes)));
                let dense = self.dense(&copy.to);
                self.move_subscript(&mut subscripts, dense, &lane);
                self.elements_are_lanes(Some(&lane), lanes, leaf, done, only)?;
                self.element_of_vector(&copy.from, &lane)
            }
        };
        let value = match &copy.when {
            None => value,
            Some(when) => {
                let when = self.value(when);
                let dtype = self.forms.dtype(value);
                let zero = self.forms.number(Number::I64(0).cast(dtype));
                self.forms.select(dtype, when, value, zero)
            }
        };
        Ok((self.place(copy.to.memory), subscripts, value))
    }

    /// Lets the elements of a copy be the lanes that it has been read to have. `element` names the
    /// number of one among several.
    fn elements_are_lanes(
        &mut self,
        element: Option<&Name>,
        lanes: u8,
        leaf: &'k Leaf,
        done: &Done,
        only: &mut Table<Name, Aff>,
    ) -> Result<(), WrongValue> {
        let Some(instances) = leaf.instances.as_ref().filter(|i| !i.lanes.is_empty()) else { return Ok(()) };
        let Some(Copied { lane, first, certain }) = &done.copied else {
            // Of a single element, loops around count the lanes.
            return if lanes == 1 { Ok(()) } else { Err(self.not_followed(&leaf.part)) };
        };
        let last = first.saturating_add(i64::from(lanes) - 1);
        let mut of_lane = instances.constraints.iter().filter(|c| c.names().iter().all(|n| n == lane));
        let within = |v: i64| move |c: &Constraint| c.holds(&|_| Some(v)) == Some(true);
        let inside = of_lane.all(|c| within(*first)(c) && within(last)(c));
        // What a place in an array of the thread says counts from the least value of the lane.
        let least = || first_lane(self.reading.context, instances, lane).map_err(Diagnostic::from);
        if !inside || !certain && least()? != Some(self.spec.lower(lane)) {
            return Err(self.not_followed(&leaf.part));
        }
        let (own, by) = match element {
            Some(element) => {
                let own = Aff::var(element).add_constant(*first).map_err(Diagnostic::from)?;
                let back = Aff::var(lane).add_constant(first.saturating_neg()).map_err(Diagnostic::from)?;
                (own, Table::from_iter([(element.clone(), back)]))
            }
            None => (Aff::constant(*first), Table::default()),
        };
        self.lane = Some((lane.clone(), by));
        only.insert(lane.clone(), own);
        Ok(())
    }

    /// Whether all values of one execution are given in one body, where they may need each other's
    /// places: each is computed from what was there before the first of them is written.
    pub fn is_complete(&self, part: &PartRef, group: &Group) -> Result<(), WrongValue> {
        let lacks_some = self.numbers.get(part).is_some_and(|all| *all != group.given);
        match lacks_some && self.spec.reads_what_it_writes(part) {
            true => Err(self.not_followed(part)),
            false => Ok(()),
        }
    }

    /// Whether a statement that has a predicate in the kernel stands under it. What the predicate
    /// reads has to be what it reads in the kernel, right before the execution.
    fn under_predicate(
        &mut self,
        text: &Text,
        at: &At<'_>,
        part: &PartRef,
        scope: ScopeId,
    ) -> Result<(), WrongValue> {
        if self.predicates.is_empty() {
            let message = format!("{part} does not stand under its predicate");
            let found = Diagnostic::new("wrong-value", message);
            let holds = self.forms.number(Number::Bool(true));
            let wanted = self.spec.predicate(self.forms, text, at);
            return Err(match wanted.is_some_and(|wanted| self.differ(wanted, holds, scope)) {
                true => WrongValue::Wrong(Box::new(found)),
                false => found.into(),
            });
        }
        let Some(wanted) = self.spec.predicate(self.forms, text, at) else { return Ok(()) };
        // Whatever others around say would keep instances from running.
        for found in self.predicates.clone() {
            if self.same(wanted, found, scope)? {
                continue;
            }
            // One of the two may hold where the other does not.
            let others = self.conditions.iter().copied().filter(|c| *c != found).collect();
            let all = std::mem::replace(&mut self.conditions, others);
            let wrong = self.wrong(format!("{part} stands under another predicate"), wanted, found, scope);
            self.conditions = all;
            return Err(wrong);
        }
        Ok(())
    }

    fn is_wanted(
        &mut self,
        (place, subscripts, value): (Option<Place>, Vec<Form>, Form),
        wanted: &Wanted,
        leaf: &Leaf,
        scope: ScopeId,
    ) -> Result<Option<Filling>, WrongValue> {
        let part = &leaf.part;
        if place.as_ref() != Some(&wanted.place) || subscripts.len() != wanted.subscripts.len() {
            let message = format!("{part} writes something else than its target");
            return Err(self.if_it_runs(Diagnostic::new("wrong-value", message), scope));
        }
        for (found, own) in subscripts.iter().zip(&wanted.subscripts) {
            if !self.same(*own, *found, scope)? {
                return Err(self.wrong(
                    format!("{part} writes another element than its target"),
                    *own,
                    *found,
                    scope,
                ));
            }
        }
        if self.same(wanted.value, value, scope)? {
            return Ok(None);
        }
        let filling = self.is_filled((wanted.value, value), &subscripts, leaf, scope)?;
        if filling.is_some() || self.is_chosen((wanted.value, value), leaf, scope)? {
            return Ok(filling);
        }
        let message = format!("{part} does not compute its value in `{}`", self.kernel.name);
        Err(self.wrong(message, wanted.value, value, scope))
    }

    fn not_followed(&self, part: &PartRef) -> WrongValue {
        let message = format!("{part} is of a form that the check of values does not follow");
        WrongValue::NotFollowed(Box::new(Diagnostic::new("wrong-value", message)))
    }

    /// The refusal of a statement that does something else than the kernel says, wherever it runs.
    pub fn if_it_runs(&mut self, found: Diagnostic, scope: ScopeId) -> WrongValue {
        match self.runs(scope) {
            true => WrongValue::Wrong(Box::new(found)),
            false => found.into(),
        }
    }

    /// The refusal of a form that is not the kernel's.
    pub fn wrong(&mut self, message: String, wanted: Form, found: Form, scope: ScopeId) -> WrongValue {
        let (own, other) = (self.forms.text(wanted), self.forms.text(found));
        let diagnostic = Diagnostic::new("wrong-value", message);
        if self.forms.is_opaque(wanted) || self.forms.is_opaque(found) {
            let help = format!("it has to be {own}; what the program computes is not followed: {other}");
            return WrongValue::NotFollowed(Box::new(diagnostic.help(help)));
        }
        // Terms stand in the order in which they were met.
        let words = |text: &str| {
            let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            words.sort();
            words
        };
        let (witness, unless) = match words(&own) == words(&other) {
            true => (
                format!("it has to be {own}, and is that before or after another write"),
                "which may have left it as it was",
            ),
            false => (format!("it has to be {own}, and is {other}"), "which is not found to differ"),
        };
        match self.differ(wanted, found, scope) {
            true => WrongValue::Wrong(Box::new(diagnostic.witness(witness))),
            false => diagnostic.help(format!("{witness}, {unless}")).into(),
        }
    }
}
