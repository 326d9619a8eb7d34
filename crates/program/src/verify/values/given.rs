//! A statement that gives a value of a part, against what the kernel says of it.

use std::collections::{HashMap, HashSet};

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name, Number, Part, PartRef};

use super::{
    Local, WrongValue,
    filling::Filling,
    forms::{Form, Forms, Place, Version},
    local,
    spec::{At, Text, Wanted},
    walk::{Group, Walk},
};
use crate::{
    Async, AsyncCopy, Atomic, Destination, Leaf, Stmt,
    verify::reading::{ScopeId, first_lane},
};

impl<'k> Walk<'_, 'k, '_> {
    /// Compares a statement that gives a value with what the kernel says.
    pub fn given(
        &mut self,
        stmt: &'k Stmt,
        leaf: &'k Leaf,
        number: u8,
        scope: ScopeId,
    ) -> Result<(), WrongValue> {
        let part = &leaf.part;
        let piece = match stmt {
            Stmt::VectorCopy { from, lanes, .. } => Some((leaf, from, *lanes)),
            _ => None,
        };
        let goes_on = self.groups.get(part).is_some_and(|group| {
            !group.given.contains(&number)
                || piece.is_some_and(|(_, from, _)| group.is_continued_by(leaf, from))
        });
        if !goes_on {
            let group = Group { given: HashSet::new(), before: self.last, piece: None };
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
        let mut only: HashMap<Name, Aff> = HashMap::new();
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
                // The lane of the kernel that the vector's elements are.
                let own = from.subscripts.last().and_then(|s| {
                    let first = self.value(s);
                    self.forms.to_aff(first, &mut |_| None)?.add(&Aff::var(&lane)).ok()
                });
                let vector = leaf.instances.iter().flat_map(|i| &i.lanes);
                let mut vector =
                    vector.filter(|l| !only.contains_key(*l) && !self.lanes.iter().any(|(n, _)| n == *l));
                if let (Some(own), Some(name), None) = (own, vector.next(), vector.next()) {
                    let least = leaf.instances.as_ref();
                    let least = least.map(|of| first_lane(self.reading.context, of, name)).transpose();
                    let least = least.map_err(Diagnostic::from)?.flatten();
                    // The instances that the copy runs are counted from there.
                    if least != Some(self.spec.lower(name)) {
                        return Err(self.not_followed(part));
                    }
                    let own = own.add_constant(self.spec.lower(name)).map_err(Diagnostic::from)?;
                    let first = own.sub(&Aff::var(&lane)).map_err(Diagnostic::from)?;
                    let back = Aff::var(name).sub(&first).map_err(Diagnostic::from)?;
                    self.lane = Some((name.clone(), HashMap::from([(lane.clone(), back)])));
                    only.insert(name.clone(), own);
                }
                let value = self.element_of_vector(from, &lane);
                (self.place(to.memory), subscripts, value)
            }
            Stmt::Async(Async::Copy(copy)) => self.async_copy(copy, leaf, number, before, &mut only)?,
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
            Stmt::Update { atomic, .. } => Some(*atomic),
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
            return Err(WrongValue::Wrong(Box::new(Diagnostic::new("wrong-value", message))));
        }
        if let Some(text) = text.filter(|t| t.predicate.is_some() && !matches!(part.part, Part::Init(_))) {
            self.under_predicate(&text, &at, part, scope)?;
        }
        let filling = self.is_wanted((place, subscripts, value), &wanted, leaf, scope)?;
        self.fillings.entry(wanted.place).or_default().push(filling);
        self.adds_nothing(leaf, &at, scope)?;
        self.range = None;
        self.truncates(Some(scope))
    }

    /// Whether a statement that is this atomic update, or none, may do a part. What a kernel says
    /// to be an update may also be a read and a write, which no other thread may divide: the order
    /// of accesses is checked elsewhere.
    fn is_done_by(&mut self, text: &Text, atomic: Option<Atomic>, at: &At<'_>) -> bool {
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
        number: u8,
        before: Version,
        only: &mut HashMap<Name, Aff>,
    ) -> Result<(Option<Place>, Vec<Form>, Form), WrongValue> {
        let lane = self.buffers.parameter();
        let mut subscripts: Vec<Form> = copy.to.subscripts.iter().map(|s| self.value(s)).collect();
        let value = match copy.lanes {
            1 => self.element_of(&copy.from),
            lanes => {
                self.range = Some((lane.clone(), i64::from(lanes)));
                let dense = self.dense(&copy.to);
                self.move_subscript(&mut subscripts, dense, &lane);
                if let Some((name, first)) =
                    self.lane_of_copy(&subscripts, dense, (&lane, lanes), leaf, number, before, only)?
                {
                    let own = Aff::var(&lane).add(&first).map_err(Diagnostic::from)?;
                    let back = Aff::var(&name).sub(&first).map_err(Diagnostic::from)?;
                    self.lane = Some((name.clone(), HashMap::from([(lane.clone(), back)])));
                    only.insert(name, own);
                }
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

    /// The lane of the kernel that the elements of a copy are, and the value that it has at the
    /// first of them: the one for which the kernel's target is the element that is written. All of
    /// the copy's elements have to be in the lane's range.
    #[allow(clippy::too_many_arguments)]
    fn lane_of_copy(
        &mut self,
        subscripts: &[Form],
        dense: usize,
        (lane, lanes): (&Name, u8),
        leaf: &'k Leaf,
        number: u8,
        before: Version,
        only: &HashMap<Name, Aff>,
    ) -> Result<Option<(Name, Aff)>, WrongValue> {
        let free = |l: &&Name| !only.contains_key(*l) && !self.lanes.iter().any(|(n, _)| n == *l);
        let vector: Vec<Name> = leaf.instances.iter().flat_map(|i| &i.lanes).filter(free).cloned().collect();
        let [name] = vector.as_slice() else { return Ok(None) };
        let mut with: HashMap<Name, Aff> = only.clone();
        with.insert(name.clone(), Aff::var(lane));
        let known: Vec<Name> = self.lanes.iter().map(|(name, _)| name.clone()).collect();
        let versions = self.versions.clone();
        let at = At {
            only: &with,
            has_lane: &|name| with.contains_key(name) || known.contains(name),
            versions: &versions,
            time: before,
            atomic: false,
        };
        let wanted = self.spec.wanted(self.forms, &leaf.part, number, false, &at)?;
        let (Some(wanted), Some(found)) = (wanted, subscripts.get(dense)) else { return Ok(None) };
        let Some(own) = wanted.subscripts.get(dense) else { return Ok(None) };
        let of = |forms: &Forms, form: Form| forms.to_aff(form, &mut |_| None);
        let (Some(found), Some(own)) = (of(self.forms, *found), of(self.forms, *own)) else {
            return Ok(None);
        };
        let Some(first) = found.sub(&own).ok().and_then(|d| d.as_constant()) else { return Ok(None) };
        let last = first.saturating_add(i64::from(lanes) - 1);
        let instances = leaf.instances.iter().flat_map(|i| &i.constraints);
        let mut of_lane = instances.filter(|c| c.names().iter().all(|n| n == name));
        let within = |v: i64| move |c: &Constraint| c.holds(&|_| Some(v)) == Some(true);
        let inside = of_lane.all(|c| within(first)(c) && within(last)(c));
        Ok(inside.then(|| (name.clone(), Aff::constant(first))))
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
        let Some(found) = self.predicates.last().copied() else {
            let message = format!("{part} does not stand under its predicate");
            return Err(WrongValue::Wrong(Box::new(Diagnostic::new("wrong-value", message))));
        };
        let Some(wanted) = self.spec.predicate(self.forms, text, at) else { return Ok(()) };
        match self.same(wanted, found, scope)? {
            true => Ok(()),
            false => Err(self.wrong(format!("{part} stands under another predicate"), wanted, found)),
        }
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
            return Err(WrongValue::Wrong(Box::new(Diagnostic::new("wrong-value", message))));
        }
        for (found, own) in subscripts.iter().zip(&wanted.subscripts) {
            if !self.same(*own, *found, scope)? {
                return Err(self.wrong(
                    format!("{part} writes another element than its target"),
                    *own,
                    *found,
                ));
            }
        }
        if self.same(wanted.value, value, scope)? {
            return Ok(None);
        }
        let filling = self.is_filled((wanted.value, value), &subscripts, leaf, scope)?;
        if filling.is_some() {
            return Ok(filling);
        }
        let message = format!("{part} does not compute its value in `{}`", self.kernel.name);
        Err(self.wrong(message, wanted.value, value))
    }

    fn not_followed(&self, part: &PartRef) -> WrongValue {
        let message = format!("{part} is of a form that the check of values does not follow");
        WrongValue::NotFollowed(Box::new(Diagnostic::new("wrong-value", message)))
    }

    pub fn wrong(&self, message: String, wanted: Form, found: Form) -> WrongValue {
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
        let witness = match words(&own) == words(&other) {
            true => format!("it has to be {own}, and is that before or after another write"),
            false => format!("it has to be {own}, and is {other}"),
        };
        WrongValue::Wrong(Box::new(diagnostic.witness(witness)))
    }
}
