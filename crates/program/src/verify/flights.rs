//! Whether anything touches the elements of an asynchronous copy while it is under way.
//!
//! Commits, waits and barriers are reached by all threads of a block alike (`uniform`), so that all
//! threads have one sequence of these events, and each access has a place between two of them. A
//! copy takes effect somewhere between its issue and the first wait that covers it: one that leaves
//! fewer groups under way than have been committed since the issue. Only after a barrier that
//! follows that wait is the copy ordered before other accesses, of its own thread too. An access is
//! ordered before a copy by a barrier between the two.
//!
//! The walk follows the text with the *flights*: the accesses of copies, and of what shares memory
//! with them, that the last barrier has not ordered before what comes next. A flight knows its
//! state, and how its loops relate to the place that the walk has reached:
//!
//! * a loop around both has gone on by so many iterations;
//! * a loop around the access has been left so many iterations later;
//! * a loop that has been entered since is in its first, second, ... iteration.
//!
//! Of loops without an event all iterations count as one place. Where a choice with an event sends
//! a flight to one side, and where a loop with one ends, what that says is noted with the flight,
//! in the values that its own names have; ways on which this contradicts itself are left. A
//! condition that cannot be said so is left out, and what is found by that is unknown. Around a
//! loop the walk goes until it finds no new flights; where ways of different length meet, the worse
//! state counts. From a number of iterations on a relation means "or more". Each access that meets
//! a flight of the same array is a query about integer sets: whether the two touch one element.
//! Accesses of one element by the same executions share their flights.
//!
//! Loops in loops can have very many relations, and copies in many pieces very many flights. Then
//! less is told apart (`DETAILS`): fewer iterations, and in the end not what conditions say. Each
//! level follows more than can happen, never less, so that the first one without a meeting proves
//! the kernel. Only the first level refutes one.

mod flight;
mod report;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, HardwareAxis, Name};
use loopwright_legality::primed;
use loopwright_poly::{Result, System, Table};

use super::{
    Finding,
    order::is_own,
    reading::{Node, Reading, Side, Touch, TouchId},
};
use crate::{Memory, Scope, Step};
use flight::{DETAILS, Detail, Flight, Relation, State, join, narrow};
use report::{Met, describe};

struct Walk<'r, 'p> {
    reading: &'r Reading<'p>,
    context: &'r [Constraint],
    /// The greatest number that a wait leaves, and one more.
    most_commits: u32,
    detail: Detail,
    arrays: &'r [Memory],
    /// Of each access the first one like it.
    alike: &'r [TouchId],
    asked: Table<Vec<Constraint>, bool>,
    queries: usize,
    found: Option<Met>,
    too_many: bool,
}

/// The first access that may meet an asynchronous copy under way, or a copy that is under way when
/// the kernel ends.
pub(super) fn check(
    reading: &Reading<'_>,
    context: &[Constraint],
    queries: &mut usize,
) -> Result<Option<Finding>> {
    let touches = &reading.touches;
    if !touches.iter().any(|t| t.asynchronous) {
        return Ok(None);
    }
    let shared_with = |t: &Touch| touches.iter().any(|u| u.memory == t.memory && (t.write || u.write));
    let mut arrays: Vec<Memory> = Vec::new();
    for touch in touches.iter().filter(|t| t.asynchronous && shared_with(t)) {
        if !arrays.contains(&touch.memory) {
            arrays.push(touch.memory);
        }
    }
    let alike = alike(reading, &arrays);
    let mut perhaps = None;
    for detail in DETAILS {
        let mut walk = Walk {
            reading,
            context,
            most_commits: most_pending(&reading.body) + 1,
            detail,
            arrays: &arrays,
            alike: &alike,
            asked: Table::default(),
            queries: 0,
            found: None,
            too_many: false,
        };
        let left = walk.body(&reading.body, Vec::new())?;
        if walk.found.is_none() && !walk.too_many {
            walk.ends(&left)?;
        }
        *queries += walk.queries;
        match walk.found {
            // Where less is told apart, more may meet than does.
            Some(met) if detail == DETAILS[0] => return describe(reading, &met).map(Some),
            Some(met) => perhaps = perhaps.or(Some(Met { exact: false, ..met })),
            None if !walk.too_many => return Ok(None),
            None => {}
        }
    }
    if let Some(met) = perhaps {
        return describe(reading, &met).map(Some);
    }
    let message = format!("the asynchronous copies of `{}` are too many to follow", reading.kernel.name);
    Ok(Some(Finding::Unknown(Box::new(Diagnostic::new("under-way", message)))))
}

/// Of each access of these arrays the first one of the same element, of the same kind and by the
/// same executions.
fn alike(reading: &Reading<'_>, arrays: &[Memory]) -> Vec<TouchId> {
    let mut firsts: Table<&[Option<Aff>], Vec<TouchId>> = Table::default();
    let mut alike: Vec<TouchId> = (0..reading.touches.len()).collect();
    for (id, touch) in reading.touches.iter().enumerate() {
        if !arrays.contains(&touch.memory) {
            continue;
        }
        let kind = |t: &Touch| (t.memory, t.write, t.asynchronous);
        let when = |t: &Touch| {
            let scope = reading.scope(t.scope);
            (&scope.loops, &scope.rows, scope.exact)
        };
        let of_cell = firsts.entry(&touch.cell).or_default();
        let same = |first: &&TouchId| {
            let first = &reading.touches[**first];
            kind(first) == kind(touch) && when(first) == when(touch)
        };
        match of_cell.iter().find(same) {
            Some(first) => alike[id] = *first,
            None => of_cell.push(id),
        }
    }
    alike
}

/// The greatest number of groups that a wait leaves under way.
fn most_pending(nodes: &[Node<'_>]) -> u32 {
    let of = |node: &Node<'_>| match node {
        Node::Wait(pending, _) => *pending,
        Node::Loop(_, body) => most_pending(body),
        Node::Choice([(_, body), (_, otherwise)]) => most_pending(body).max(most_pending(otherwise)),
        Node::Touches(_) | Node::Together(_) | Node::Barrier(_) | Node::Commit(_) => 0,
    };
    nodes.iter().map(of).max().unwrap_or(0)
}

/// Whether a commit, a wait or a barrier of the block stands in a body.
fn has_events(nodes: &[Node<'_>]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Barrier(b) => b.among == Scope::Block,
        Node::Commit(_) | Node::Wait(..) => true,
        Node::Loop(_, body) => has_events(body),
        Node::Choice([(_, body), (_, otherwise)]) => has_events(body) || has_events(otherwise),
        Node::Touches(_) | Node::Together(_) => false,
    })
}

/// What holds of two values of a loop's counter, the second of which it has as many iterations
/// later as the relation says.
fn gone_on(
    from: &Aff,
    to: &Aff,
    step: Step,
    relation: Relation,
    detail: Detail,
) -> Result<Option<Constraint>> {
    let (Relation::Around(_, by) | Relation::Left(_, by) | Relation::Entered(_, by)) = relation;
    let Step::Add(step) = step else {
        return Ok(if by == 0 { Some(Constraint::equal(to, from)?) } else { None });
    };
    let reached = from.add_constant(step.saturating_mul(by.into()))?;
    Ok(Some(match relation.exactly(detail) {
        Some(_) => Constraint::equal(to, &reached)?,
        None => Constraint::le(&reached, to)?,
    }))
}

/// Conditions on the number of a loop's iterations.
struct Rounds {
    /// There are more: all of these hold.
    more: Vec<Constraint>,
    /// There are no more: one of these holds.
    no_more: Vec<Constraint>,
}

impl<'r, 'p> Walk<'r, 'p> {
    fn touch(&self, id: TouchId) -> &'r Touch {
        &self.reading.touches[id]
    }

    fn body(&mut self, nodes: &[Node<'p>], mut flights: Vec<Flight>) -> Result<Vec<Flight>> {
        for node in nodes {
            if self.found.is_some() || self.too_many {
                break;
            }
            flights = self.node(node, flights)?;
            self.too_many |= flights.len() > self.detail.flights;
        }
        Ok(flights)
    }

    fn node(&mut self, node: &Node<'p>, mut flights: Vec<Flight>) -> Result<Vec<Flight>> {
        match node {
            Node::Barrier(b) => {
                if b.among == Scope::Block {
                    flights.retain(|f| f.state != State::Done);
                }
                Ok(flights)
            }
            Node::Commit(_) => {
                for flight in &mut flights {
                    if let State::UnderWay(commits) = &mut flight.state {
                        *commits = (*commits + 1).min(self.most_commits);
                    }
                }
                Ok(flights)
            }
            Node::Wait(pending, _) => {
                for flight in &mut flights {
                    if matches!(flight.state, State::UnderWay(commits) if commits > *pending) {
                        flight.state = State::Done;
                    }
                }
                Ok(flights)
            }
            Node::Together(_) => Ok(flights),
            Node::Touches(touches) => {
                let own = touches.iter().filter(|t| self.arrays.contains(&self.touch(**t).memory));
                let own: Vec<TouchId> = own.copied().collect();
                for id in &own {
                    for flight in &flights {
                        self.meet(flight, *id)?;
                    }
                    self.again(*id)?;
                }
                let mut more = Vec::new();
                for id in own.into_iter().map(|id| self.alike[id]) {
                    let touch = self.touch(id);
                    let around = self.reading.scope(touch.scope).loops.iter();
                    let relations = around.filter(|l| self.reading.loops[**l].has_events);
                    let relations = relations.map(|l| Relation::Around(*l, 0)).collect();
                    let state = if touch.asynchronous { State::UnderWay(0) } else { State::Done };
                    let exact = self.detail.ways;
                    more.push(Flight { touch: id, state, relations, also: Vec::new(), exact });
                }
                join(&mut flights, more, self.detail);
                Ok(flights)
            }
            Node::Choice(sides) => {
                let [(_, body), (_, otherwise)] = sides;
                // Without an event, different threads may go different ways.
                if !has_events(body) && !has_events(otherwise) {
                    let flights = self.body(body, flights)?;
                    return self.body(otherwise, flights);
                }
                let mut left = Vec::new();
                for (side, body) in sides {
                    let mut own = Vec::new();
                    for flight in &flights {
                        own.extend(self.goes(flight.clone(), side)?);
                    }
                    join(&mut left, self.body(body, own)?, self.detail);
                }
                Ok(left)
            }
            Node::Loop(number, body) => match has_events(body) {
                true => self.loop_of(*number, body, flights),
                false => self.body(body, flights),
            },
        }
    }

    fn loop_of(&mut self, number: usize, body: &[Node<'p>], before: Vec<Flight>) -> Result<Vec<Flight>> {
        let mut passed = Vec::new();
        let mut known: Vec<Flight> = Vec::new();
        let mut arriving = Vec::new();
        for flight in before {
            passed.extend(self.leaves(&flight, &[], self.iterations(number, 0)?)?);
            let mut enters = flight;
            enters.relations.push(Relation::Entered(number, 0));
            arriving.push(enters);
        }
        loop {
            // Even if nothing is under way, the first iteration is walked.
            let first = known.is_empty() && arriving.is_empty();
            if !join(&mut known, std::mem::take(&mut arriving), self.detail) && !first {
                return Ok(passed);
            }
            let end = self.body(body, known.clone())?;
            if self.found.is_some() || self.too_many {
                return Ok(end);
            }
            let (mut go_on, mut leave) = (Vec::new(), Vec::new());
            for flight in end {
                let mut next = flight.clone();
                next.relations.iter_mut().for_each(|r| *r = r.next_of(number, self.detail));
                go_on.push(next);
                leave.extend(self.left(flight, number)?);
            }
            join(&mut arriving, go_on, self.detail);
            join(&mut passed, leave, self.detail);
            if first && arriving.is_empty() {
                return Ok(passed);
            }
        }
    }

    /// A flight after a loop, on each way on which it comes there.
    fn left(&self, mut flight: Flight, number: usize) -> Result<Vec<Flight>> {
        let mut since = None;
        for relation in &mut flight.relations {
            match *relation {
                Relation::Around(l, by) if l == number => {
                    *relation = Relation::Left(l, by.min(self.detail.since));
                }
                Relation::Entered(l, by) if l == number => since = Some(by),
                _ => {}
            }
        }
        let Some(by) = since else { return Ok(vec![flight]) };
        flight.relations.retain(|r| !matches!(r, Relation::Entered(l, _) if *l == number));
        let Some(Rounds { more, .. }) = self.iterations(number, by)? else {
            return self.leaves(&flight, &[], None);
        };
        // Of more iterations, each with a commit, a wait may cover more.
        if by >= self.detail.since {
            return Ok(self.so_far(flight, &more, self.most_commits <= by)?.into_iter().collect());
        }
        self.leaves(&flight, &more, self.iterations(number, by + 1)?)
    }

    /// A flight behind a loop that has no more iterations, where `more` holds besides: on each way
    /// on which that may be, or without a word of it if that is not known.
    fn leaves(&self, flight: &Flight, more: &[Constraint], rounds: Option<Rounds>) -> Result<Vec<Flight>> {
        let Some(Rounds { no_more, .. }) = rounds else {
            return Ok(self.so_far(flight.clone(), &[], false)?.into_iter().collect());
        };
        let mut left = Vec::new();
        for last in no_more {
            let rows: Vec<Constraint> = more.iter().cloned().chain([last]).collect();
            left.extend(self.so_far(flight.clone(), &rows, true)?);
        }
        Ok(left)
    }

    /// The conditions that a loop has more than this number of iterations, and that it has no more,
    /// in terms of the place before it.
    fn iterations(&self, number: usize, iterations: u32) -> Result<Option<Rounds>> {
        let of = &self.reading.loops[number];
        let Step::Add(step) = of.step else { return Ok(None) };
        if of.lowers.is_empty() || of.uppers.is_empty() {
            return Ok(None);
        }
        let (mut more, mut no_more) = (Vec::new(), Vec::new());
        for lower in &of.lowers {
            let reached = lower.add_constant(step.saturating_mul(iterations.into()))?;
            for upper in &of.uppers {
                more.push(Constraint::lt(&reached, upper)?);
                no_more.push(Constraint::le(upper, &reached)?);
            }
        }
        Ok(Some(Rounds { more, no_more }))
    }

    /// A flight on a side of a choice; `None` where it cannot come there.
    fn goes(&self, flight: Flight, side: &Side) -> Result<Option<Flight>> {
        self.so_far(flight, &side.taken.rows, side.taken.exact)
    }

    /// A flight on a way on which these hold at the place that it has reached; `None` where that
    /// plainly cannot be. All of them, if they are `whole`.
    fn so_far(&self, mut flight: Flight, rows: &[Constraint], whole: bool) -> Result<Option<Flight>> {
        flight.exact &= whole;
        for c in rows {
            match self.of_flight(&c.aff, &flight)? {
                Some(aff) => {
                    let c = Constraint { kind: c.kind, aff };
                    if c.holds(&|_| None) == Some(false) || !narrow(&mut flight.also, c)? {
                        return Ok(None);
                    }
                }
                None => flight.exact = false,
            }
        }
        Ok(Some(flight))
    }

    /// A function of the place that has been reached in the values that a flight's own names have.
    fn of_flight(&self, aff: &Aff, flight: &Flight) -> Result<Option<Aff>> {
        let mut values = Vec::new();
        for name in aff.names() {
            let Some(value) = self.counter_of(&name, flight)? else { return Ok(None) };
            values.push((name, value));
        }
        let of = |name: &Name| values.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
        Ok(Some(aff.substitute(&of)?))
    }

    /// The value of a name at the place that has been reached, in those that a flight's own names
    /// have; `None` where that is not exactly known.
    fn counter_of(&self, name: &Name, flight: &Flight) -> Result<Option<Aff>> {
        // The threads of a block decide alike at events: each by its own coordinates.
        if !is_own(name) || HardwareAxis::of_coordinate(name).is_some() {
            return Ok(Some(Aff::var(name)));
        }
        for relation in &flight.relations {
            let (l, by, from) = match *relation {
                Relation::Around(l, by) if self.reading.loops[l].name == *name => {
                    (l, by, Some(Aff::var(name)))
                }
                Relation::Entered(l, by) if self.reading.loops[l].name == *name => {
                    let lower = self.reading.loops[l].start();
                    (l, by, lower.map(|lower| self.of_flight(lower, flight)).transpose()?.flatten())
                }
                _ => continue,
            };
            let (Some(from), Step::Add(step)) = (from, self.reading.loops[l].step) else { return Ok(None) };
            return match relation.exactly(self.detail) {
                Some(_) => Ok(Some(from.add_constant(step.saturating_mul(by.into()))?)),
                None => Ok(None),
            };
        }
        Ok(None)
    }

    /// The constraints on a flight by itself.
    fn rows_of(&self, flight: &Flight) -> Result<Vec<Constraint>> {
        let scope = self.reading.scope(self.touch(flight.touch).scope);
        let mut rows: Vec<Constraint> = self.context.to_vec();
        rows.extend(scope.rows.iter().cloned());
        rows.extend(flight.also.iter().cloned());
        for relation in &flight.relations {
            let Relation::Left(l, by) = *relation else { continue };
            let of = &self.reading.loops[l];
            let (Step::Add(step), Some(upper)) = (of.step, of.end()) else { continue };
            let last = Aff::var(&of.name).add_constant(step.saturating_mul(by.into()))?;
            rows.push(Constraint::lt(&last, upper)?);
            if relation.exactly(self.detail).is_some() {
                rows.push(Constraint::le(upper, &last.add_constant(step)?)?);
            }
        }
        Ok(rows)
    }

    /// Whether relations are exactly what holds of each pair.
    fn is_exact(&self, flight: &Flight) -> bool {
        let known = |r: &Relation| match *r {
            Relation::Around(l, _) => matches!(self.reading.loops[l].step, Step::Add(_)),
            Relation::Left(l, _) => self.reading.loops[l].end().is_some(),
            Relation::Entered(l, _) => !self.reading.loops[l].lowers.is_empty(),
        };
        flight.exact && flight.relations.iter().all(|r| known(r) && r.exactly(self.detail).is_some())
    }

    fn is_empty(&mut self, rows: &[Constraint]) -> Result<bool> {
        if let Some(known) = self.asked.get(rows) {
            return Ok(*known);
        }
        self.queries += 1;
        let empty = System::new(rows)?.is_empty()?;
        self.asked.insert(rows.to_vec(), empty);
        Ok(empty)
    }

    /// Asks whether an access touches an element of a flight.
    fn meet(&mut self, flight: &Flight, by: TouchId) -> Result<()> {
        let (first, second) = (self.touch(flight.touch), self.touch(by));
        if self.found.is_some()
            || first.memory != second.memory
            || !(first.write || second.write)
            || !(first.asynchronous || second.asynchronous)
        {
            return Ok(());
        }
        let Some(rows) = self.pair(flight, by)? else { return Ok(()) };
        let mut exact = self.is_exact(flight);
        // Where a loop starts at the greatest of several values: a case for each.
        let mut cases = vec![Vec::new()];
        for relation in &flight.relations {
            let (from, l) = match *relation {
                Relation::Around(l, _) => (vec![Aff::var(&self.reading.loops[l].name)], l),
                Relation::Entered(l, _) => {
                    let lowers = self.reading.loops[l].lowers.iter();
                    (lowers.map(|lower| lower.rename(&other)).collect::<Result<_>>()?, l)
                }
                Relation::Left(..) => continue,
            };
            let of = &self.reading.loops[l];
            let to = Aff::var(primed(&of.name));
            let mut starts = Vec::new();
            for first in &from {
                let Some(reached) = gone_on(first, &to, of.step, *relation, self.detail)? else {
                    starts.clear();
                    break;
                };
                let mut start = vec![reached];
                for less in from.iter().filter(|less| *less != first) {
                    start.push(Constraint::le(less, first)?);
                }
                starts.push(start);
            }
            if starts.is_empty() {
                exact = false;
                continue;
            }
            let with = |case: &Vec<Constraint>| {
                let case = case.clone();
                starts.iter().map(move |start| case.iter().chain(start).cloned().collect())
            };
            cases = cases.iter().flat_map(with).collect();
        }
        for case in cases {
            self.note(flight, by, rows.iter().cloned().chain(case).collect(), exact)?;
        }
        Ok(())
    }

    /// Asks whether two executions of a copy, in different iterations of a loop without events,
    /// write one element.
    fn again(&mut self, id: TouchId) -> Result<()> {
        let touch = self.touch(id);
        if !(touch.asynchronous && touch.write) {
            return Ok(());
        }
        let loops = &self.reading.scope(touch.scope).loops;
        let (with, without): (Vec<usize>, Vec<usize>) =
            loops.iter().partition(|l| self.reading.loops[**l].has_events);
        let relations = with.into_iter().map(|l| Relation::Around(l, 0)).collect();
        let (state, also) = (State::UnderWay(0), Vec::new());
        let flight = Flight { touch: id, state, relations, also, exact: true };
        for free in without {
            let Some(mut rows) = self.pair(&flight, id)? else { return Ok(()) };
            for relation in &flight.relations {
                let Relation::Around(l, _) = *relation else { continue };
                let name = &self.reading.loops[l].name;
                rows.push(Constraint::equal(&Aff::var(name), &Aff::var(primed(name)))?);
            }
            let name = &self.reading.loops[free].name;
            rows.push(Constraint::lt(&Aff::var(name), &Aff::var(primed(name)))?);
            self.note(&flight, id, rows, true)?;
        }
        Ok(())
    }

    /// What holds of a flight and an access of the same element, without the relations of loops;
    /// `None` if that is plainly nothing.
    fn pair(&self, flight: &Flight, by: TouchId) -> Result<Option<Vec<Constraint>>> {
        let (first, second) = (self.touch(flight.touch), self.touch(by));
        let mut rows = self.rows_of(flight)?;
        for (s, t) in first.cell.iter().zip(&second.cell) {
            if let (Some(s), Some(t)) = (s, t) {
                let c = Constraint::equal(s, &t.rename(&other)?)?;
                if c.aff.as_constant().is_some_and(|k| k != 0) {
                    return Ok(None);
                }
                rows.push(c);
            }
        }
        for c in &self.reading.scope(second.scope).rows {
            let c = Constraint { kind: c.kind, aff: c.aff.rename(&other)? };
            if !rows.contains(&c) {
                rows.push(c);
            }
        }
        Ok(Some(rows))
    }

    fn note(&mut self, flight: &Flight, by: TouchId, rows: Vec<Constraint>, exact: bool) -> Result<()> {
        if self.found.is_some() || self.is_empty(&rows)? {
            return Ok(());
        }
        let (first, second) = (self.touch(flight.touch), self.touch(by));
        let whole = |t: &Touch| self.reading.scope(t.scope).exact && t.cell.iter().all(Option::is_some);
        let exact = exact && whole(first) && whole(second);
        let case = System::new(&rows)?;
        self.found = Some(Met { flight: flight.clone(), by: Some(by), case, exact });
        Ok(())
    }

    /// Asks which copies are under way at the end.
    fn ends(&mut self, left: &[Flight]) -> Result<()> {
        for flight in left.iter().filter(|f| f.state != State::Done) {
            let rows = self.rows_of(flight)?;
            if !self.is_empty(&rows)? {
                let exact = self.reading.scope(self.touch(flight.touch).scope).exact && self.is_exact(flight);
                let case = System::new(&rows)?;
                self.found = Some(Met { flight: flight.clone(), by: None, case, exact });
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Names of the second of two executions: those that the two have not in common are primed.
fn other(name: &Name) -> Option<Name> {
    let of_grid = HardwareAxis::of_coordinate(name).is_some_and(|axis| !axis.is_in_block());
    (is_own(name) && !of_grid).then(|| primed(name))
}
