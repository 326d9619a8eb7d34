//! Groups of asynchronous copies, and waits for them.
//!
//! Barriers have been placed as if such copies were done when they are issued, except that a copy
//! conflicts with accesses of its own thread too. What is left is to end groups and to wait.
//!
//! * A *group* is a run of neighbouring copies, of each array at most one. It ends after the run,
//!   outside of the loops over a copy's elements and of guards, so that all threads count the same
//!   groups, empty or not. A loop without barriers is part of the run, whatever else it contains:
//!   nothing in it needs what it copies.
//! * A *wait* stands directly before the last barrier between a copy and what conflicts with it,
//!   and leaves as many groups under way as have been committed since that of the copy, on the way
//!   with the fewest.
//!
//! The items are walked with the copies under way: how many groups have been committed since, the
//! last barrier passed, and how many iterations of each loop lie between the copy and the place
//! reached, or have passed since a loop was entered. Around a loop with barriers or groups the walk
//! goes until nothing new is found. For each conflict a wait is placed or strengthened, and the
//! walk begins anew. A copy that nothing waits for is waited for at the end of the kernel.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, HardwareAxis, Name, Tag};
use loopwright_legality::{Time, primed};
use loopwright_poly::{System, Table};

use super::{
    items::Item,
    sync::{Conflicts, because},
};
use crate::program::Note;

/// The most iterations that are told apart: this number means "this many or more".
const MOST: i64 = 10;

/// The indices of an item in the bodies around it, outermost first.
type Path = Vec<usize>;

/// How a loop stands to a copy under way and to the place reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Relation {
    /// Around both: the place is this number of iterations after the copy.
    Around(Name, i64),
    /// Entered since the copy, this number of iterations ago.
    Entered(Name, i64),
}

/// An asynchronous copy that may not have arrived at the place reached.
#[derive(Clone, Debug)]
struct Flight {
    part: usize,
    path: Path,
    /// The commits since its issue.
    commits: u32,
    /// Whether it has been waited for, and only a barrier is missing.
    done: bool,
    /// The last barrier since its issue, and the commits before it.
    barrier: Option<(Path, u32)>,
    relations: Vec<Relation>,
}

/// What has to be added for a reader to see a copy.
enum Change {
    /// A wait before the barrier at this path that leaves this number of groups under way.
    Wait(Path, u32, Note),
    /// A wait and a barrier before the item at this path.
    Barrier(Path, u32, Note),
}

/// The items with groups of their asynchronous copies, and waits.
pub(crate) fn place(conflicts: &Conflicts<'_, '_>, items: Vec<Item>) -> Result<Vec<Item>, Diagnostic> {
    let copies = |p: &usize| conflicts.analysis.copies_asynchronously(*p);
    if !Item::parts(&items).iter().any(copies) {
        return Ok(items);
    }
    let mut items = with_groups(conflicts, items);
    loop {
        let mut walk = Walk { conflicts, change: None, answers: Table::default() };
        let mut left = walk.body(&items, &mut Vec::new(), Vec::new())?;
        match walk.change {
            Some(Change::Wait(path, pending, note)) => wait_before(&mut items, &path, pending, note),
            Some(Change::Barrier(path, pending, note)) => {
                if let Some((body, at)) = body_at(&mut items, &path) {
                    body.insert(at, Item::Sync(note.clone()));
                    body.insert(at, Item::Wait(pending, note));
                }
            }
            None => {
                left.retain(|flight| !flight.done);
                if !left.is_empty() {
                    items.push(Item::Wait(0, Note::new("no copy is under way at the end")));
                }
                return Ok(items);
            }
        }
    }
}

/// The body that contains the item at a path, and its index there.
fn body_at<'i>(items: &'i mut Vec<Item>, path: &[usize]) -> Option<(&'i mut Vec<Item>, usize)> {
    let (first, rest) = path.split_first()?;
    if rest.is_empty() {
        return Some((items, *first));
    }
    match items.get_mut(*first)? {
        Item::Loop { body, .. } => body_at(body, rest),
        _ => None,
    }
}

/// Places a wait before the item at a path, or strengthens the one that stands there.
fn wait_before(items: &mut Vec<Item>, path: &[usize], pending: u32, note: Note) {
    let Some((body, at)) = body_at(items, path) else { return };
    match at.checked_sub(1).and_then(|before| body.get_mut(before)) {
        Some(Item::Wait(old, _)) => *old = pending.min(*old),
        _ => body.insert(at, Item::Wait(pending, note)),
    }
}

/// Ends a group after each run of copies.
fn with_groups(conflicts: &Conflicts<'_, '_>, items: Vec<Item>) -> Vec<Item> {
    let mut placed = Vec::new();
    let mut arrays: Vec<Name> = Vec::new();
    for item in items {
        let parts = Item::parts(std::slice::from_ref(&item));
        let is_loop = matches!(item, Item::Loop { .. });
        let copies = !has_barriers(&item)
            && parts.iter().any(|p| conflicts.analysis.copies_asynchronously(*p))
            && (is_loop || parts.iter().all(|p| conflicts.analysis.copies_asynchronously(*p)));
        if !copies {
            if !arrays.is_empty() {
                placed.push(Item::Commit);
                arrays.clear();
            }
            placed.push(match item {
                Item::Loop { iname, body } => Item::Loop { iname, body: with_groups(conflicts, body) },
                other => other,
            });
            continue;
        }
        let analysis = conflicts.analysis;
        let targets = |p: &usize| analysis.instruction(&analysis.parts[*p]).targets.iter();
        let issued = parts.iter().filter(|p| conflicts.analysis.copies_asynchronously(**p));
        let written: Vec<Name> = issued.flat_map(targets).map(|t| t.array.clone()).collect();
        if written.iter().any(|array| arrays.contains(array)) {
            placed.push(Item::Commit);
            arrays.clear();
        }
        arrays.extend(written);
        placed.push(item);
    }
    if !arrays.is_empty() {
        placed.push(Item::Commit);
    }
    placed
}

/// Whether threads of a block wait for each other within an item.
fn has_barriers(item: &Item) -> bool {
    match item {
        Item::Sync(_) => true,
        Item::Join(join) => !join.axes().is_empty(),
        Item::Loop { body, .. } => body.iter().any(has_barriers),
        Item::Leaf(_) | Item::Start(_) | Item::Commit | Item::Wait(..) => false,
    }
}

/// Whether groups end, or threads wait, in a body.
fn has_events(items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::Sync(_) | Item::Commit | Item::Wait(..) => true,
        Item::Loop { body, .. } => has_events(body),
        Item::Leaf(_) | Item::Join(_) | Item::Start(_) => false,
    })
}

/// Adds flights; whether any is new, or further from being done than known.
fn join(known: &mut Vec<Flight>, more: Vec<Flight>) -> bool {
    let mut changed = false;
    for flight in more {
        let same = |f: &&mut Flight| {
            f.part == flight.part
                && f.relations == flight.relations
                && f.barrier.as_ref().map(|b| &b.0) == flight.barrier.as_ref().map(|b| &b.0)
        };
        let rank = |f: &Flight| (f.done, f.commits, f.barrier.as_ref().map_or(0, |b| b.1));
        match known.iter_mut().find(same) {
            Some(old) if rank(old) <= rank(&flight) => {}
            Some(old) => {
                *old = flight;
                changed = true;
            }
            None => {
                known.push(flight);
                changed = true;
            }
        }
    }
    changed
}

struct Walk<'c, 'a, 'k> {
    conflicts: &'c Conflicts<'a, 'k>,
    change: Option<Change>,
    /// Whether two parts conflict in these relations.
    answers: Table<(usize, usize, Vec<Relation>), Option<Note>>,
}

impl Walk<'_, '_, '_> {
    fn body(
        &mut self,
        items: &[Item],
        path: &mut Path,
        mut flights: Vec<Flight>,
    ) -> Result<Vec<Flight>, Diagnostic> {
        for (k, item) in items.iter().enumerate() {
            path.push(k);
            flights = self.item(item, path, flights)?;
            path.pop();
            if self.change.is_some() {
                break;
            }
        }
        Ok(flights)
    }

    fn item(
        &mut self,
        item: &Item,
        path: &mut Path,
        mut flights: Vec<Flight>,
    ) -> Result<Vec<Flight>, Diagnostic> {
        match item {
            Item::Sync(_) => {
                flights.retain(|f| !f.done);
                for flight in &mut flights {
                    flight.barrier = Some((path.clone(), flight.commits));
                }
            }
            Item::Commit => {
                let most = u32::try_from(MOST).unwrap_or(u32::MAX);
                flights.iter_mut().for_each(|f| f.commits = (f.commits + 1).min(most));
            }
            Item::Wait(pending, _) => {
                flights.iter_mut().for_each(|f| f.done |= f.commits > *pending);
            }
            Item::Leaf(part) => {
                for flight in &flights {
                    self.meet(flight, *part, path)?;
                }
                if self.conflicts.analysis.copies_asynchronously(*part) {
                    let (commits, done, barrier, relations) = (0, false, None, Vec::new());
                    let path = path.clone();
                    join(&mut flights, vec![Flight { part: *part, path, commits, done, barrier, relations }]);
                }
            }
            Item::Join(_) | Item::Start(_) => {}
            Item::Loop { body, .. } if !has_events(body) => {
                flights = self.body(body, path, flights)?;
            }
            Item::Loop { iname, body } => flights = self.loop_of(iname, body, path, flights)?,
        }
        Ok(flights)
    }

    fn loop_of(
        &mut self,
        iname: &Name,
        body: &[Item],
        path: &mut Path,
        before: Vec<Flight>,
    ) -> Result<Vec<Flight>, Diagnostic> {
        let mut passed = before.clone();
        let mut known: Vec<Flight> = Vec::new();
        let mut arriving = before;
        for flight in &mut arriving {
            flight.relations.push(Relation::Entered(iname.clone(), 0));
        }
        let mut first = true;
        while join(&mut known, std::mem::take(&mut arriving)) || first {
            first = false;
            let mut end = self.body(body, path, known.clone())?;
            if self.change.is_some() {
                return Ok(end);
            }
            for flight in &mut end {
                let inside = flight.path.starts_with(path) && flight.path.len() > path.len();
                let mut next = flight.clone();
                match next.relations.iter_mut().find_map(|r| match r {
                    Relation::Around(n, by) | Relation::Entered(n, by) if n == iname => Some(by),
                    _ => None,
                }) {
                    Some(by) => *by = (*by + 1).min(MOST),
                    None if inside => next.relations.push(Relation::Around(iname.clone(), 1)),
                    None => {}
                }
                join(&mut arriving, vec![next]);
                flight.relations.retain(|r| match r {
                    Relation::Around(n, _) | Relation::Entered(n, _) => n != iname,
                });
            }
            join(&mut passed, end);
        }
        Ok(passed)
    }

    /// Places what a copy under way and a part that conflicts with it need between them.
    fn meet(&mut self, flight: &Flight, part: usize, path: &Path) -> Result<(), Diagnostic> {
        if self.change.is_some() {
            return Ok(());
        }
        let key = (flight.part, part, flight.relations.clone());
        let note = match self.answers.get(&key) {
            Some(known) => known.clone(),
            None => {
                let note = self.conflict(flight, part)?;
                self.answers.insert(key, note.clone());
                note
            }
        };
        let Some(note) = note else { return Ok(()) };
        if !flight.done
            && let Some((barrier, commits @ 1..)) = &flight.barrier
            && barrier.split_last().is_some_and(|(_, around)| path.starts_with(around))
        {
            self.change = Some(Change::Wait(barrier.clone(), commits - 1, note));
            return Ok(());
        }
        let Some(pending) = flight.commits.checked_sub(1) else {
            return Err(Diagnostic::new("internal", "a copy is needed before its group ends"));
        };
        // Before the item that contains the access and not the copy, or, if a loop around both has
        // gone on since, before the one in that loop's body.
        let common = flight.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        self.change = Some(Change::Barrier(path[..=common.min(path.len() - 1)].to_vec(), pending, note));
        Ok(())
    }

    /// The dependence between a copy under way and a part, if there is one.
    fn conflict(&self, flight: &Flight, part: usize) -> Result<Option<Note>, Diagnostic> {
        let analysis = self.conflicts.analysis;
        let loops = &analysis.parts[flight.part].execution.loops;
        let later = |name: &Name| {
            flight.relations.iter().any(|r| matches!(r, Relation::Around(n, by) if n == name && *by > 0))
        };
        let time = match loops.iter().position(later) {
            Some(depth) => Time::Earlier(depth),
            None => Time::Same,
        };
        let mut rows = Vec::new();
        for relation in &flight.relations {
            let (name, from, by) = match relation {
                Relation::Around(name, by) => (name, Some(Aff::var(name)), *by),
                Relation::Entered(name, by) => (name, self.least(name)?, *by),
            };
            let Some(from) = from else { continue };
            let (reached, to) = (from.add_constant(by)?, Aff::var(primed(name)));
            rows.push(match by < MOST {
                true => Constraint::equal(&to, &reached)?,
                false => Constraint::le(&reached, &to)?,
            });
        }
        let holds = |pairs: &System| Ok(!pairs.is_empty_with(&rows)?);
        let met = self.conflicts.meet_where(flight.part, part, time, &holds)?;
        met.map(|met| Ok(because(self.conflicts.dependence_of([flight.part, part], met, time)?))).transpose()
    }

    /// The least value of a loop's iname, if it is one function of parameters and blocks.
    fn least(&self, iname: &Name) -> Result<Option<Aff>, Diagnostic> {
        let analysis = self.conflicts.analysis;
        let is_fixed = |n: &Name| {
            analysis.is_parameter(n)
                || HardwareAxis::of_coordinate(n).is_some_and(|axis| !axis.is_in_block())
                || analysis.kernel.tag(n) == Tag::Host
        };
        let mut least: Option<Aff> = None;
        for part in analysis.parts.iter().filter(|p| p.execution.loops.contains(iname)) {
            let mut rows = analysis.context.clone();
            rows.extend(part.execution.constraints.iter().cloned());
            let bounds = System::of(rows)?.bounds(iname, &is_fixed)?;
            let [bound] = bounds.lower.as_slice() else { return Ok(None) };
            if bound.denominator != 1 || least.as_ref().is_some_and(|known| *known != bound.aff) {
                return Ok(None);
            }
            least = Some(bound.aff.clone());
        }
        Ok(least)
    }
}
