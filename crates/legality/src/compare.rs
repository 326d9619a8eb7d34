//! The fast proof: a new form of a kernel preserves the order of every conflicting pair of
//! accesses.
//!
//! If each part of the new form is linked to one of the old form (see [`crate::link`]), both forms
//! have the same executions. Two executions *conflict* if they touch the same cell and at least one
//! writes. If every conflicting pair with `x` before `y` in the old form still has `x` before `y`,
//! then every read sees the same definition and no conflicting pair becomes unordered: the new form
//! is legal if the old one is.
//!
//! The query for a pair of events is a disjunction over one case of `x` before `y` in the old order
//! ([`before`]) and one case of not `x` before `y` in the new order ([`not_before`]). Most
//! combinations are already contradictory as comparisons, so only pairs whose order or storage a
//! step changed reach a query on a [`System`]. Identical queries are evaluated once.
//!
//! Two writes that leave the same value may be reordered (see [`crate::value`]), and so may two
//! updates of an element by one operator, which leave the same whichever comes first. A step may
//! therefore spread updates of one element over threads; lowering makes them atomic.
//!
//! Each cell belongs to an owner. A step may refine the owners (see [`owners`]).

mod owners;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use loopwright_kernel_ir::{AddressSpace, Aff, Constraint, Lookup, Name, TypeTable};
use loopwright_poly::{Result, System, Table, TableSet};

use owners::Owners;

use crate::{
    Model, ModelPart, Touch,
    link::{Link, cover, link, narrow_by},
    order::{Against, Possible, Way, before, common, not_before},
    value,
};

/// A pair whose order may not be preserved.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The array that both executions touch.
    pub array: Name,
    /// In which way the order is violated.
    pub against: Against,
    /// The part that comes first in the old order, as a part number of the new form.
    pub first: usize,
    /// The part that comes second in the old order, as a part number of the new form.
    pub second: usize,
    /// All such pairs. Names of the second execution are primed.
    pub pairs: System,
}

/// How the dataflow of two forms of a kernel differs.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Arrays whose dataflow is not provably unchanged, each with the reason.
    pub changed: BTreeMap<Name, String>,
    /// The first pair found whose order is not preserved.
    pub suspect: Option<Box<Suspect>>,
    /// Parts of the new form that have no counterpart in the old form, each with the reason.
    pub unlinked: BTreeMap<usize, String>,
    /// Parts of the old form that have no counterpart in the new form.
    pub gone: Vec<usize>,
    /// Arrays in global memory that instructions update, in changed places, but whose writes and
    /// updates are those of the old form, in its order: the values at the end are the same.
    pub same_in_the_end: BTreeSet<Name>,
}

impl Outcome {
    /// Whether both forms have the same executions and all conflicting pairs keep their order.
    pub fn is_kept(&self) -> bool {
        self.changed.is_empty() && self.unlinked.is_empty() && self.gone.is_empty()
    }
}

/// A comparison of two forms of a kernel.
pub struct Comparison<'a, 'k> {
    old: &'a Model<'k>,
    new: &'a Model<'k>,
    links: Vec<Option<Link>>,
    outcome: Outcome,
    answers: Table<Vec<Constraint>, bool>,
    lowers: Table<Name, Option<Aff>>,
    /// Lookup tables and types of the declared kernel, built on first use.
    declared: Option<(Lookup<'k>, TypeTable<'k>)>,
    /// Number of queries on integer sets so far.
    pub queries: usize,
}

fn row(left: &Aff, right: &Aff, relation: Ordering) -> Result<Constraint> {
    match relation {
        Ordering::Less => Constraint::lt(left, right),
        Ordering::Equal => Constraint::equal(left, right),
        Ordering::Greater => Constraint::lt(right, left),
    }
}

impl<'a, 'k> Comparison<'a, 'k> {
    /// Links the parts of two forms.
    pub fn new(old: &'a Model<'k>, new: &'a Model<'k>) -> Self {
        let mut outcome = Outcome::default();
        let mut links = Vec::with_capacity(new.parts.len());
        for (k, part) in new.parts.iter().enumerate() {
            links.push(match link(old, new, part) {
                Ok(link) => Some(link),
                Err(why) => {
                    outcome.unlinked.insert(k, why.0);
                    None
                }
            });
        }
        let mut of_old: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (k, link) in links.iter().enumerate() {
            if let Some(link) = link {
                of_old.entry(link.old).or_default().push(k);
            }
        }
        outcome.gone = (0..old.parts.len()).filter(|k| !of_old.contains_key(k)).collect();
        for (o, parts) in of_old {
            let linked: Vec<(&ModelPart, &Link)> =
                parts.iter().filter_map(|k| Some((&new.parts[*k], links[*k].as_ref()?))).collect();
            if cover(&old.parts[o], new, &linked) != Ok(true) {
                for k in parts {
                    links[k] = None;
                    outcome
                        .unlinked
                        .insert(k, format!("`{}` runs through other instances", new.parts[k].part));
                }
            }
        }
        Comparison {
            old,
            new,
            links,
            outcome,
            answers: Table::default(),
            lowers: Table::default(),
            declared: None,
            queries: 0,
        }
    }

    /// Checks all arrays: what changed, the link of each new part (if it has one), and the number
    /// of queries on integer sets.
    pub fn run(mut self) -> Result<(Outcome, Vec<Option<Link>>, usize)> {
        let arrays: BTreeSet<Name> =
            self.new.touches.keys().chain(self.old.touches.keys()).cloned().collect();
        for array in arrays {
            if let Some(why) = self.array(&array)? {
                self.outcome.changed.insert(array, why);
            }
        }
        Ok((self.outcome, self.links, self.queries))
    }

    /// Why the dataflow through an array may have changed; `None` if it provably has not.
    fn array(&mut self, array: &Name) -> Result<Option<String>> {
        let touches = |model: &Model<'_>| model.touches.get(array).cloned().unwrap_or_default();
        let (was, is) = (touches(self.old), touches(self.new));
        let linked = |(p, k): &(usize, usize)| self.links[*p].as_ref().is_some_and(|l| l.same[*k]);
        let gone = was.iter().any(|(p, _)| self.outcome.gone.contains(p)) || self.writes_elsewhere(array);
        if gone || !is.iter().all(linked) {
            if self.new.is_updated(array) && self.writes_stay(array, &was, &is)? {
                self.outcome.same_in_the_end.insert(array.clone());
            }
            return Ok(Some(format!("`{array}` is touched in other places")));
        }
        if !self.new.is_written(array) || !self.new.is_seen(array) {
            return Ok(None);
        }
        let owners = self.owners(array);
        if owners == Owners::Other {
            return Ok(Some(format!("the cells of `{array}` belong to others")));
        }
        if let Some(suspect) = self.pairs(array, &is)? {
            let part = |k: usize| &self.new.parts[k].part;
            let why = format!(
                "accesses of `{array}` in `{}` and `{}` may change their order",
                part(suspect.first),
                part(suspect.second)
            );
            self.outcome.suspect.get_or_insert(Box::new(suspect));
            return Ok(Some(why));
        }
        if owners == Owners::Finer && !self.flows_stay(array)? {
            return Ok(Some(format!(
                "a value of `{array}` may pass between executions that own different copies of it"
            )));
        }
        Ok(None)
    }

    /// Whether a part that wrote the array writes something else in the new form, as where a step
    /// gives it another target.
    fn writes_elsewhere(&self, array: &Name) -> bool {
        self.links.iter().flatten().any(|link| {
            let events = self.old.parts[link.old].events.iter().enumerate();
            let mut writes = events.filter(|(_, e)| e.array == *array && e.touch != Touch::Read);
            writes.any(|(k, _)| link.same.get(k) != Some(&true))
        })
    }

    /// Whether the writes and updates of an array in global memory are those of the old form, in
    /// its order. What is read of it is not asked.
    fn writes_stay(&mut self, array: &Name, was: &[(usize, usize)], is: &[(usize, usize)]) -> Result<bool> {
        let writes =
            |model: &Model<'_>, (p, k): &(usize, usize)| model.parts[*p].events[*k].touch != Touch::Read;
        let global = [self.old, self.new].iter().all(|model| model.space(array) == AddressSpace::Global);
        let gone = was.iter().any(|at| writes(self.old, at) && self.outcome.gone.contains(&at.0))
            || self.writes_elsewhere(array);
        let is: Vec<(usize, usize)> = is.iter().copied().filter(|at| writes(self.new, at)).collect();
        let linked = |(p, k): &(usize, usize)| self.links[*p].as_ref().is_some_and(|l| l.same[*k]);
        Ok(global && !gone && is.iter().all(linked) && self.pairs(array, &is)?.is_none())
    }

    /// The link of a part. Every part that reaches this point has one.
    fn link(&self, part: usize) -> Result<&Link> {
        self.links[part].as_ref().ok_or_else(|| loopwright_poly::Error::Space("a part without a link".into()))
    }

    /// The signs of an old way as comparisons between functions of new inames.
    fn old_signs(&self, p: usize, q: usize, way: &Way) -> Result<Vec<(Aff, Aff, Ordering)>> {
        way.iter()
            .map(|s| {
                let n = Aff::var(&s.iname);
                Ok((self.link(p)?.apply(&n)?, self.link(q)?.apply(&n)?, s.relation))
            })
            .collect()
    }

    /// A pair of these accesses to one array whose order is not preserved.
    fn pairs(&mut self, array: &Name, touches: &[(usize, usize)]) -> Result<Option<Suspect>> {
        let apart = self.others_stay(array, touches);
        for &(p, k) in touches {
            for &(q, l) in touches {
                if apart && p != q {
                    continue;
                }
                if let Some(suspect) = self.pair(array, (p, k), (q, l))? {
                    return Ok(Some(suspect));
                }
            }
        }
        Ok(None)
    }

    /// Inames that have equal values in any two executions that touch the same cell of the array:
    /// those of a subscript shared by all accesses, and those that own the cells.
    fn equal_at_a_cell(&self, array: &Name, touches: &[(usize, usize)]) -> TableSet<Name> {
        let new = self.new;
        let mut equal = TableSet::default();
        let Some(&(p, k)) = touches.first() else { return equal };
        let (first, event) = (&new.parts[p], &new.parts[p].events[k]);
        for (axis, s) in event.cell.iter().enumerate() {
            let Some(s) = s else { continue };
            let everywhere = touches
                .iter()
                .all(|(q, l)| new.parts[*q].events[*l].cell.get(axis) == Some(&Some(s.clone())));
            if everywhere && new.is_radix(s) {
                equal.extend(s.names().into_iter().filter(|n| first.inames.contains(n)));
            }
        }
        let space = new.space(array);
        let mut owners = Self::owner_inames(first, space);
        for (q, _) in touches {
            let here = Self::owner_inames(&new.parts[*q], space);
            owners.retain(|n| here.contains(n));
        }
        equal.extend(owners);
        equal
    }

    /// Whether executions of different parts that touch the same cell provably keep their order:
    /// the loops around several of the parts, except those whose values are equal at a cell, and
    /// the order of the leaves are unchanged. (A sequential iname is one node of the tree, so the
    /// common loops of two parts are the names that both have.)
    fn others_stay(&self, array: &Name, touches: &[(usize, usize)]) -> bool {
        let (old, new) = (self.old, self.new);
        let mut parts: Vec<usize> = touches.iter().map(|(p, _)| *p).collect();
        parts.dedup();
        let mut was = Vec::with_capacity(parts.len());
        for p in &parts {
            match &self.links[*p] {
                Some(link) if link.identity => was.push(link.old),
                _ => return false,
            }
        }
        if !was.is_sorted() {
            return false;
        }
        let equal = self.equal_at_a_cell(array, touches);
        let mut around: Table<&Name, (usize, usize)> = Table::default();
        for (p, o) in parts.iter().zip(&was) {
            new.parts[*p].loops().for_each(|n| around.entry(n).or_default().0 += 1);
            old.parts[*o].loops().for_each(|n| around.entry(n).or_default().1 += 1);
        }
        let matters =
            |n: &&Name| !equal.contains(*n) && around.get(*n).is_some_and(|(new, old)| *new > 1 || *old > 1);
        parts
            .iter()
            .zip(&was)
            .all(|(p, o)| new.parts[*p].loops().filter(matters).eq(old.parts[*o].loops().filter(matters)))
    }

    fn pair(
        &mut self,
        array: &Name,
        (p, k): (usize, usize),
        (q, l): (usize, usize),
    ) -> Result<Option<Suspect>> {
        let (old, new) = (self.old, self.new);
        let (a, b) = (&new.parts[p], &new.parts[q]);
        let (e, f) = (&a.events[k], &b.events[l]);
        if e.touch.commutes_with(&f.touch) {
            return Ok(None);
        }
        // Points added later do not change a result that a scan has already delivered. Threads and
        // lanes may add them first, since they are joined in order; that no earlier iteration of a
        // loop does has been asked for already (`crate::rounds`).
        if (&e.touch, &f.touch) == (&Touch::Read, &Touch::Update) && new.is_scan(array) {
            return Ok(None);
        }
        let (c, d) = (&old.parts[self.link(p)?.old], &old.parts[self.link(q)?.old]);
        if p != q && self.link(p)?.identity && self.link(q)?.identity && common(a, b) == common(c, d) {
            // Both are in the same loops, in the same order.
            return Ok(None);
        }
        let owner = self.one_owner(p, q, array)?;
        let mut cells: Vec<(Aff, Aff)> = owner;
        for (s, t) in e.cell.iter().zip(&f.cell) {
            if let (Some(s), Some(t)) = (s, t) {
                cells.push((s.clone(), t.clone()));
            }
        }
        let mut possible = Possible::default();
        for (s, t) in &cells {
            if s == t && new.is_radix(s) {
                for n in s.names().iter().filter(|n| !new.is_parameter(n)) {
                    if !possible.narrow(n, Ordering::Equal) {
                        return Ok(None);
                    }
                }
            }
        }
        // It does not matter either when a scan adds points that the reader does not see.
        let seen = match (&e.touch, &f.touch) {
            (Touch::Update, Touch::Read) if new.is_scan(array) => self.seen(a, b)?,
            _ => None,
        };
        let (mut base, mut checked): (Option<System>, bool) = (None, false);
        let reversed = not_before(a, e, b, f);
        if reversed.is_empty() {
            return Ok(None);
        }
        for way in before(c, e, d, f) {
            let signs = self.old_signs(p, q, &way)?;
            let mut here = possible.clone();
            if !signs.iter().all(|(x, y, r)| narrow_by(&mut here, x, y, *r)) {
                continue;
            }
            for (against, why) in &reversed {
                let mut here = here.clone();
                if !against.iter().all(|s| here.narrow(&s.iname, s.relation)) {
                    continue;
                }
                let mut more: Vec<Constraint> = seen.iter().cloned().collect();
                for (x, y, r) in &signs {
                    more.push(row(x, &self.new.second(y)?, *r)?);
                }
                for s in against {
                    let n = Aff::var(&s.iname);
                    more.push(row(&n, &self.new.second(&n)?, s.relation)?);
                }
                if base.is_none() {
                    base = Some(self.base((p, k), (q, l), &cells)?);
                }
                let Some(base) = &base else { continue };
                if !checked {
                    checked = true;
                    if Self::ask(&mut self.answers, &mut self.queries, base)? {
                        return Ok(None);
                    }
                }
                let system = base.with(&more)?;
                let harmless = Self::ask(&mut self.answers, &mut self.queries, &system)?
                    || new.facts_exclude(a, b, &system)?
                    || *why == Against::Turned && self.leave_the_same((p, k), (q, l), &system)?;
                if !harmless {
                    return Ok(Some(Suspect {
                        array: array.clone(),
                        against: *why,
                        first: p,
                        second: q,
                        pairs: system,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Whether two events are writes that leave the same value in all executions of a system. If
    /// so, their order does not matter: a read has the same writes before it either way, and
    /// whichever of the two comes last leaves the same value.
    fn leave_the_same(
        &mut self,
        (p, k): (usize, usize),
        (q, l): (usize, usize),
        system: &System,
    ) -> Result<bool> {
        let new = self.new;
        let declared = self.declared.get_or_insert_with(|| {
            let declared = new.kernel.declared();
            (Lookup::new(declared), TypeTable::new(declared))
        });
        let Some(first) = new.pure_write(declared, &new.parts[p], k)? else { return Ok(false) };
        let Some(second) = new.pure_write(declared, &new.parts[q], l)? else { return Ok(false) };
        value::same(new, &first, &second, system, &mut self.queries)
    }

    /// The constraint that what one part adds to a scan is visible to another part, the second
    /// execution: the update does not belong to a later value of the scan's iname.
    fn seen(&self, update: &ModelPart, reader: &ModelPart) -> Result<Option<Constraint>> {
        let value = |part| {
            let value = self.new.instruction(part).scan_value()?;
            self.new.lookup.expand(&value).ok()
        };
        let (Some(own), Some(others)) = (value(update), value(reader)) else { return Ok(None) };
        Ok(Some(Constraint::le(&own, &self.new.second(&others)?)?))
    }

    /// The pairs of executions that both run and touch the same cell.
    fn base(&self, (p, k): (usize, usize), (q, l): (usize, usize), cells: &[(Aff, Aff)]) -> Result<System> {
        let mut rows = self.new.context.clone();
        let (first, second) = (&self.new.parts[p], &self.new.parts[q]);
        rows.extend(first.constraints.iter().chain(&first.events[k].under).cloned());
        for c in second.constraints.iter().chain(&second.events[l].under) {
            rows.push(Constraint { kind: c.kind, aff: self.new.second(&c.aff)? });
        }
        for (s, t) in cells {
            rows.push(Constraint::equal(s, &self.new.second(t)?)?);
        }
        System::of(rows)
    }

    fn ask(answers: &mut Table<Vec<Constraint>, bool>, queries: &mut usize, system: &System) -> Result<bool> {
        if let Some(known) = answers.get(system.constraints()) {
            return Ok(*known);
        }
        *queries += 1;
        let empty = system.is_empty()?;
        answers.insert(system.constraints().to_vec(), empty);
        Ok(empty)
    }
}
