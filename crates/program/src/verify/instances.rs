//! Whether the loops and guards of a program run each part for exactly its instances.
//!
//! The counter of a loop is a function of inames, and so is each named index. With these
//! substituted for the variables, the conditions under which a statement runs are constraints over
//! the same names as the instances of its part. Then
//!
//! * nothing is *lost*: every instance satisfies every condition in the thread with its
//!   coordinates, in the elected thread, or in each thread that replicates the part;
//! * nothing is *extra*: whatever satisfies the conditions is an instance, in the elected thread if
//!   there is one;
//! * nothing runs twice: the coordinates and the values of the loops are functions of the instance.
//!   A loop that counts a multiple of an iname must advance by that multiple, from a value that is
//!   divisible by it. A loop that counts nothing of the kernel must not run twice.
//!
//! The initialisation of accumulators may run more often than it has instances, but not in loops
//! over inames of which it has none. Joins of partial
//! results belong to no part. An iname that no loop counts has a single value. Instances may be
//! excluded by a condition on data.

use std::{
    collections::{BTreeMap, BTreeSet, hash_map::Entry},
    rc::Rc,
};

use loopwright_kernel_ir::{Aff, Constraint, HardwareAxis, Name, Part, PartRef};
use loopwright_legality::{Presence, is_coordinate};
use loopwright_poly::{Result, System, Table, TableSet};

use super::{
    cases::case_with,
    reading::{Given, Named, Reading, Scope, ScopeId},
};
use crate::{Instances, LeafId, Program, Step};

/// What is wrong with the executions of a statement.
#[derive(Clone, Debug)]
pub(super) enum Flaw {
    /// Instances that no execution of the statement stands for.
    Lost(LeafId),
    /// Executions that are not instances of the statement's part.
    Extra(LeafId),
    /// Instances that a loop which counts none of their inames may run again.
    Again(LeafId),
    /// An index whose value is not its meaning.
    Index(Name),
}

/// What is wrong, where, and whether each point of the case shows it.
#[derive(Clone, Debug)]
pub(super) struct Misfit {
    pub flaw: Flaw,
    pub case: System,
    pub exact: bool,
}

/// The query for one launch.
pub(super) struct Coverage<'r, 'p> {
    reading: &'r Reading<'p>,
    context: &'r [Constraint],
    /// What follows from the same premises has been asked before: a number for each list of
    /// premises, and what is known to follow.
    numbers: Table<Rc<Vec<Constraint>>, usize>,
    known: Vec<Known>,
    pub queries: usize,
}

/// For each leaf, the first one of its part.
pub(super) fn first_of_part(program: &Program) -> Vec<LeafId> {
    let mut known: Table<&PartRef, LeafId> = Table::default();
    let leaves = program.leaves.iter().enumerate();
    leaves.map(|(k, leaf)| *known.entry(&leaf.part).or_insert(LeafId(k))).collect()
}

/// Whether what is asked of the statements of two parts in one scope is the same.
fn are_alike(a: &Instances, b: &Instances) -> bool {
    a.constraints == b.constraints
        && a.allowed == b.allowed
        && a.executor == b.executor
        && a.lanes == b.lanes
        && a.conditional == b.conditional
}

/// What holds where a query is made.
struct Premises {
    number: usize,
}

/// Premises, and what is known to follow. Most of what is asked is among them, so that they become
/// a system only when something else is.
struct Known {
    rows: Rc<Vec<Constraint>>,
    system: Option<Rc<System>>,
    follows: TableSet<Constraint>,
}

/// In how many ways an instance is asked to be outside of one disjunction, at most.
const MOST_OUTSIDE: usize = 64;

impl<'r, 'p> Coverage<'r, 'p> {
    pub fn new(reading: &'r Reading<'p>, context: &'r [Constraint]) -> Self {
        Coverage { reading, context, numbers: Table::default(), known: Vec::new(), queries: 0 }
    }

    /// The first statement that does not run for exactly the instances of its part. The leaves that
    /// are found are added to `seen`.
    pub fn check(&mut self, seen: &mut TableSet<(LeafId, u8)>) -> Result<Option<Misfit>> {
        let reading = self.reading;
        for named in &reading.named {
            if let Some(misfit) = self.named(named)? {
                return Ok(Some(misfit));
            }
        }
        // A part may have several leaves, which differ in the values of inames without a loop.
        let first = first_of_part(reading.program);
        let mut asked: TableSet<(LeafId, Given, ScopeId)> = TableSet::default();
        let mut together: BTreeMap<(LeafId, Given), Vec<ScopeId>> = BTreeMap::new();
        for done in &reading.done {
            let Some(part) = first.get(done.leaf.0).copied() else { continue };
            if done.gives == Given::Support {
                continue;
            }
            let scopes = together.entry((part, done.gives)).or_default();
            let own = reading.scope(done.scope);
            let is_own = |other: &ScopeId| {
                let other = reading.scope(*other);
                other.rows == own.rows && other.either == own.either
            };
            if !scopes.iter().any(|s| *s == done.scope || done.gives.value().is_none() && is_own(s)) {
                scopes.push(done.scope);
            }
        }
        let counted =
            |leaf: &LeafId| reading.program.leaves.get(leaf.0).is_some_and(|l| l.instances.is_some());
        together.retain(|(leaf, _), scopes| scopes.len() > 1 && counted(leaf));
        let mut overlapping: BTreeMap<(LeafId, Given), Vec<ScopeId>> = BTreeMap::new();
        for (given, scopes) in std::mem::take(&mut together) {
            if self.alternatives(&scopes)? {
                together.insert(given, scopes);
            } else if given.1.value().is_some() {
                overlapping.insert(given, scopes);
            }
        }
        // What serves such a part is where it is needed.
        let in_pieces = together.keys().filter(|(_, given)| given.value().is_some());
        let apart: BTreeSet<LeafId> = in_pieces.map(|(part, _)| *part).collect();
        // The statement before, if nothing was wrong with it: most have the instances of their
        // neighbours, and stand beside them.
        let mut right: Option<(&Instances, ScopeId)> = None;
        for done in &reading.done {
            let Some(part) = first.get(done.leaf.0).copied() else { continue };
            seen.extend(done.gives.value().map(|value| (part, value)));
            if !asked.insert((part, done.gives, done.scope)) {
                continue;
            }
            let leaf = &reading.program.leaves[done.leaf.0];
            let Some(instances) = &leaf.instances else { continue };
            let scope = reading.scope(done.scope);
            let is_init = matches!(leaf.part.part, Part::Init(_));
            if is_init && let Some(misfit) = self.begins_again(done.leaf, instances, done.scope)? {
                return Ok(Some(misfit));
            }
            let counts = |number: &usize| reading.loops[*number].counter.is_some();
            if done.gives.value().is_some() && !scope.loops.iter().all(counts) {
                let case = System::new(&[self.context, &scope.rows].concat())?;
                return Ok(Some(Misfit { flaw: Flaw::Again(done.leaf), case, exact: false }));
            }
            if right.is_some_and(|(of, place)| place == done.scope && are_alike(instances, of)) {
                continue;
            }
            let given = (part, done.gives);
            let is_alone = !together.contains_key(&given) && !overlapping.contains_key(&given);
            let is_alone = is_alone && !apart.contains(&part);
            // Of what has a predicate only that decides.
            let place = |id: ScopeId| match instances.conditional {
                true => reading.scope(id).guards.unwrap_or(id),
                false => id,
            };
            let places = |scopes: &Vec<ScopeId>| scopes.iter().map(|id| place(*id)).collect::<Vec<_>>();
            let scopes = together.get(&given).map(places);
            let misfit = match scopes.as_deref() {
                _ if done.gives.value().is_none() && apart.contains(&part) => None,
                None => {
                    let own = reading.scope(place(done.scope));
                    let beside = overlapping.get(&given).map(places);
                    match (self.lost(done.leaf, instances, own)?, beside) {
                        (Some(lost), Some(scopes)) => {
                            self.lost_beside(lost, done.leaf, instances, &scopes)?
                        }
                        (lost, _) => lost,
                    }
                }
                // Asked once of all.
                Some(scopes) if scopes.first() == Some(&place(done.scope)) => {
                    self.lost_to_all(done.leaf, instances, scopes)?
                }
                Some(_) => None,
            };
            if misfit.is_some() {
                return Ok(misfit);
            }
            if !is_init && let Some(misfit) = self.extra(done.leaf, instances, scope)? {
                return Ok(Some(misfit));
            }
            right = (is_alone && !is_init).then_some((instances, done.scope));
        }
        Ok(None)
    }

    /// A first value that is given in a loop over an iname of which it has no instances: what has
    /// been added in one iteration is lost in the next.
    fn begins_again(&self, leaf: LeafId, instances: &Instances, scope: ScopeId) -> Result<Option<Misfit>> {
        let scope = self.reading.scope(scope);
        let known = |iname: &Name| instances.constraints.iter().any(|c| c.aff.mentions(iname));
        let again = |number: &usize| self.reading.loops[*number].inames.iter().any(|iname| !known(iname));
        if !scope.loops.iter().any(again) {
            return Ok(None);
        }
        let case = System::new(&[self.context, &scope.rows].concat())?;
        Ok(Some(Misfit { flaw: Flaw::Again(leaf), case, exact: false }))
    }

    /// All instances, each with the threads that have to run it.
    pub fn instances(
        instances: &Instances,
        context: &[Constraint],
        reading: Option<&Reading<'_>>,
    ) -> Result<Vec<Constraint>> {
        let mut rows = context.to_vec();
        rows.extend(instances.constraints.iter().cloned());
        for (axis, presence) in instances.executor.iter() {
            match presence {
                Presence::At(()) => {}
                Presence::Elected => rows.push(Constraint::zero(axis.position())),
                Presence::Replicated | Presence::Collective => {
                    let own = |c: &&Constraint| c.aff.mentions(axis.coordinate());
                    rows.extend(reading.iter().flat_map(|r| r.scopes[0].rows.iter().filter(own)).cloned());
                }
            }
        }
        Ok(rows)
    }

    /// Whether a disjunction is the range of blocks that there are, along axes on which all of them
    /// run the instances.
    fn is_range(&self, instances: &Instances, either: &Vec<Constraint>) -> bool {
        let every: Vec<&str> = instances.executor.everywhere().map(HardwareAxis::coordinate).collect();
        let is_about_all = either.iter().all(|c| every.iter().any(|n| c.aff.mentions(n)));
        is_about_all && self.reading.scopes.first().is_some_and(|all| all.either.contains(either))
    }

    fn premises(&mut self, mut rows: Vec<Constraint>) -> Result<Premises> {
        rows.extend(self.reading.facts().cloned());
        let number = match self.numbers.entry(Rc::new(rows)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let rows = free.key().clone();
                self.known.push(Known { rows, system: None, follows: TableSet::default() });
                *free.insert(self.known.len() - 1)
            }
        };
        Ok(Premises { number })
    }

    fn system(&mut self, premises: &Premises) -> Result<Rc<System>> {
        let known = &mut self.known[premises.number];
        if let Some(system) = &known.system {
            return Ok(system.clone());
        }
        let system = Rc::new(System::new(&known.rows)?);
        known.system = Some(system.clone());
        Ok(system)
    }

    fn implied(&mut self, premises: &Premises, c: &Constraint) -> Result<bool> {
        let known = &self.known[premises.number];
        if known.rows.contains(c) || known.follows.contains(c) {
            return Ok(true);
        }
        let system = self.system(premises)?;
        self.queries += 1;
        let implied = system.implies(c)?;
        if implied {
            self.known[premises.number].follows.insert(c.clone());
        }
        Ok(implied)
    }

    /// A point of the premises where a constraint does not hold, though of each of these lists some
    /// constraint does.
    fn against(
        &mut self,
        flaw: Flaw,
        system: &System,
        c: &Constraint,
        either: &[Vec<Constraint>],
        exact: bool,
    ) -> Result<Option<Misfit>> {
        for not in c.negations()? {
            if let Some(case) = case_with(&system.with(&[not])?, either, &mut self.queries)? {
                let exact = exact && !case.names().iter().any(|n| self.reading.data.contains(n));
                return Ok(Some(Misfit { flaw, case, exact }));
            }
        }
        Ok(None)
    }

    /// Whether a case has a value for what is neither of the instances nor a scalar, as the counter
    /// of a loop that counts nothing of the kernel: that an instance does not run with this value
    /// says nothing of others.
    fn has_counter(&self, instances: &Instances, case: &System) -> bool {
        let is_known = |n: &Name| {
            is_coordinate(n)
                || self.reading.program.scalars().any(|s| s.name == *n)
                || instances.constraints.iter().any(|c| c.aff.mentions(n))
        };
        !case.names().iter().all(is_known)
    }

    fn lost(&mut self, leaf: LeafId, instances: &Instances, scope: &Scope) -> Result<Option<Misfit>> {
        let premises = self.premises(Self::instances(instances, self.context, Some(self.reading))?)?;
        if scope.unread {
            return Ok(Some(Misfit {
                flaw: Flaw::Lost(leaf),
                case: (*self.system(&premises)?).clone(),
                exact: false,
            }));
        }
        for c in &scope.rows {
            if !self.implied(&premises, c)? {
                let system = self.system(&premises)?;
                if let Some(mut misfit) = self.against(Flaw::Lost(leaf), &system, c, &[], true)? {
                    misfit.exact &= !self.has_counter(instances, &misfit.case);
                    return Ok(Some(misfit));
                }
            }
        }
        for either in &scope.either {
            if self.is_range(instances, either) {
                continue;
            }
            let none: Vec<Vec<Constraint>> =
                either.iter().map(Constraint::negations).collect::<Result<_>>()?;
            let system = self.system(&premises)?;
            if let Some(case) = case_with(&system, &none, &mut self.queries)? {
                return Ok(Some(Misfit { flaw: Flaw::Lost(leaf), case, exact: false }));
            }
        }
        Ok(None)
    }

    /// Whether no two of these scopes, of statements that write a part's result or one private
    /// array for it, run in one execution: as those of whole vectors, and of the elements of
    /// others, or the load of a vector and its filling. Then they have to run all instances
    /// together, otherwise each has to.
    fn alternatives(&mut self, scopes: &[ScopeId]) -> Result<bool> {
        for (k, a) in scopes.iter().enumerate() {
            for b in &scopes[k + 1..] {
                let (a, b) = (self.reading.scope(*a), self.reading.scope(*b));
                let mut rows = [self.context, &a.rows, &b.rows].concat();
                rows.extend(self.reading.facts().cloned());
                let system = System::new(&rows)?;
                let either = [&a.either[..], &b.either].concat();
                if a.unread || b.unread || case_with(&system, &either, &mut self.queries)?.is_some() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// What is lost if one of several statements that give a part's result does not run some
    /// instances, where the others may: nothing, if each instance has one that runs it. That none
    /// has two is asked in `sequence`, but not of first values.
    fn lost_beside(
        &mut self,
        lost: Misfit,
        leaf: LeafId,
        instances: &Instances,
        scopes: &[ScopeId],
    ) -> Result<Option<Misfit>> {
        let is_read = scopes.iter().all(|scope| !self.reading.scope(*scope).unread);
        let is_init = matches!(self.reading.program.leaves[leaf.0].part.part, Part::Init(_));
        Ok(match self.lost_to_all(leaf, instances, scopes)? {
            Some(misfit) => Some(Misfit { exact: misfit.exact && is_read, ..misfit }),
            None if is_read && !is_init => None,
            None => Some(Misfit { exact: false, ..lost }),
        })
    }

    /// An instance that none of these scopes runs.
    fn lost_to_all(
        &mut self,
        leaf: LeafId,
        instances: &Instances,
        scopes: &[ScopeId],
    ) -> Result<Option<Misfit>> {
        let premises = self.premises(Self::instances(instances, self.context, Some(self.reading))?)?;
        // The ways in which an instance can stay outside of each.
        let mut ways: Vec<Vec<Vec<Constraint>>> = Vec::new();
        for scope in scopes {
            let scope = self.reading.scope(*scope);
            let mut outside = Vec::new();
            for c in &scope.rows {
                if !self.implied(&premises, c)? {
                    outside.extend(c.negations()?.into_iter().map(|not| vec![not]));
                }
            }
            for either in &scope.either {
                if self.is_range(instances, either) {
                    continue;
                }
                // Of an equality the negation is one of two. Of many nothing is said: an instance
                // may be outside.
                let mut none: Vec<Vec<Constraint>> = vec![Vec::new()];
                for c in either {
                    let negations = c.negations()?;
                    if none.len() * negations.len() > MOST_OUTSIDE {
                        none = vec![Vec::new()];
                        break;
                    }
                    none = none
                        .iter()
                        .flat_map(|rest| {
                            negations.iter().map(|not| [&rest[..], std::slice::from_ref(not)].concat())
                        })
                        .collect();
                }
                outside.extend(none);
            }
            ways.push(outside);
        }
        let system = self.system(&premises)?;
        let Some(case) = self.outside(&system, &ways)? else { return Ok(None) };
        let by_data = case.names().iter().any(|n| self.reading.data.contains(n));
        let exact = !by_data && !self.has_counter(instances, &case);
        Ok(Some(Misfit { flaw: Flaw::Lost(leaf), case, exact }))
    }

    /// A system of points that are outside in one way of each list.
    fn outside(&mut self, system: &System, ways: &[Vec<Vec<Constraint>>]) -> Result<Option<System>> {
        self.queries += 1;
        if system.is_empty()? {
            return Ok(None);
        }
        let Some((first, rest)) = ways.split_first() else { return Ok(Some(system.clone())) };
        for way in first {
            if let Some(case) = self.outside(&system.with(way)?, rest)? {
                return Ok(Some(case));
            }
        }
        Ok(None)
    }

    fn extra(&mut self, leaf: LeafId, instances: &Instances, scope: &Scope) -> Result<Option<Misfit>> {
        let mut premises = self.context.to_vec();
        premises.extend(scope.rows.iter().cloned());
        let mut allowed = instances.allowed.clone();
        let elected = instances.executor.iter().filter(|(_, presence)| **presence == Presence::Elected);
        allowed.extend(elected.map(|(axis, _)| Constraint::zero(axis.position())));
        // Most of it is said in the same words.
        allowed.retain(|c| !premises.contains(c));
        if allowed.is_empty() {
            return Ok(None);
        }
        // Inames that no loop counts here: lanes that are done together, and those of one value.
        let reading = self.reading;
        let is_free = |n: &Name| {
            !is_coordinate(n)
                && !premises.iter().any(|c| c.aff.mentions(n))
                && !reading.program.scalars().any(|s| s.name == *n)
        };
        let free: BTreeSet<Name> = allowed.iter().flat_map(Constraint::names).filter(is_free).collect();
        for name in free {
            if instances.lanes.contains(&name) {
                let own = |c: &&Constraint| c.names().iter().all(|n| *n == name);
                premises.extend(allowed.iter().filter(own).cloned());
                continue;
            }
        }
        let premises = self.premises(premises)?;
        for c in &allowed {
            if !self.implied(&premises, c)? {
                let system = self.system(&premises)?;
                let misfit = self.against(Flaw::Extra(leaf), &system, c, &scope.either, scope.is_whole())?;
                if misfit.is_some() {
                    return Ok(misfit);
                }
            }
        }
        Ok(None)
    }

    /// Whether a scalar, read where that of the first lane stands for all of them, is that of every
    /// lane for which it is read. The last statement that gives it has to give all lanes one value,
    /// to the first lane where it is read, and to each lane that runs a part with it.
    fn of_lanes(&mut self, name: &Name, scope: ScopeId, behind: usize, from: usize) -> Result<bool> {
        let reading = self.reading;
        let (before, after) = reading.of_lanes.split_at(behind);
        let Some(given) = before.iter().rfind(|given| given.scalar == *name) else { return Ok(false) };
        let under = reading.scope(given.scope);
        let Some(first) = given.first.as_ref().filter(|_| !under.unread && under.either.is_empty()) else {
            return Ok(false);
        };
        let premises = self.premises([self.context, &reading.scope(scope).rows].concat())?;
        for c in &under.rows {
            let value = |n: &Name| first.iter().find(|(own, _)| own == n).map(|(_, at)| at.clone());
            if !self.implied(&premises, &Constraint { kind: c.kind, aff: c.aff.substitute(&value)? })? {
                return Ok(false);
            }
        }
        let until = after.iter().find(|given| given.scalar == *name).map_or(reading.done.len(), |g| g.until);
        let mut asked = TableSet::default();
        for done in &reading.done[from.min(until)..until] {
            let instances = reading.program.leaves.get(done.leaf.0).and_then(|leaf| leaf.instances.as_ref());
            let Some(rows) = instances.map(|i| &i.constraints) else { continue };
            if !rows.iter().any(|c| c.aff.mentions(name)) || !asked.insert((done.leaf, done.scope)) {
                continue;
            }
            let premises = self.premises([self.context, rows, &reading.scope(done.scope).rows].concat())?;
            for c in &under.rows {
                if !self.implied(&premises, c)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn named(&mut self, named: &Named) -> Result<Option<Misfit>> {
        let (name, scope, equal) = match named {
            Named::Unread { name, scope } => {
                let rows = [self.context, &self.reading.scope(*scope).rows].concat();
                let flaw = Flaw::Index(name.clone());
                return Ok(Some(Misfit { flaw, case: System::new(&rows)?, exact: false }));
            }
            Named::OfLanes { name, scope, behind, from } => {
                if self.of_lanes(name, *scope, *behind, *from)? {
                    return Ok(None);
                }
                let rows = [self.context, &self.reading.scope(*scope).rows].concat();
                return Ok(Some(Misfit {
                    flaw: Flaw::Index(name.clone()),
                    case: System::new(&rows)?,
                    exact: false,
                }));
            }
            Named::Index { name, scope, value, meaning } => {
                (name, *scope, Constraint::equal(value, meaning)?)
            }
            Named::Loop { name, scope, lower, step, meaning, inames } => {
                let flaw = Flaw::Index(name.clone());
                let anywhere = |exact| {
                    let rows = [self.context, &self.reading.scope(*scope).rows].concat();
                    Ok(Some(Misfit { flaw: flaw.clone(), case: System::new(&rows)?, exact }))
                };
                let [iname] = inames.as_slice() else { return anywhere(false) };
                let factor = meaning.coefficient(iname);
                if factor.abs() == 1 {
                    return Ok(None);
                }
                let (Step::Add(step), Some(lower), true) = (step, lower, factor != 0) else {
                    return anywhere(false);
                };
                if step % factor != 0 {
                    return anywhere(true);
                }
                let rest = meaning.sub(&Aff::var(iname).scale(factor)?)?;
                let remainder = lower.sub(&rest)?.modulo(factor.abs())?;
                (name, *scope, Constraint::zero(remainder))
            }
        };
        let premises = self.premises([self.context, &self.reading.scope(scope).rows].concat())?;
        if self.implied(&premises, &equal)? {
            return Ok(None);
        }
        let system = self.system(&premises)?;
        let scope = self.reading.scope(scope);
        self.against(Flaw::Index(name.clone()), &system, &equal, &scope.either, scope.is_whole())
    }
}
