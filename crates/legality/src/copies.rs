//! Reads of copies of an array that nothing writes, proved without dataflow analysis.
//!
//! A read of a buffer is correct if (1) a copy of the cell that it is declared to read is made in
//! the buffer cell that it reads, in the same iteration of all common loops and earlier in the
//! text; and (2) no copy of another cell is made there in the same iteration. Copies from earlier
//! iterations are overwritten by the copy of (1), and later ones come after the read. This proves
//! that the read sees the declared value, for buffers filled by a single part, as a prefetch's are.
//!
//! What a copy leaves for one of its readers is projected once ([`Copied`]): the pairs of a buffer
//! cell and a source cell, over the reader's loops. A stencil has many such reads; each one only
//! substitutes its two cells. For (1), each constraint must follow from the reader's own
//! constraints, usually by inspection of a single constraint; for (2), the equalities alone usually
//! determine the source cell. Constraints that mention neither cell are the same for all reads and
//! are checked once.

use std::{cmp::Ordering, collections::hash_map::Entry};

use loopwright_kernel_ir::{Aff, Constraint, Name};
use loopwright_poly::{Kind, Result, Set, System, Table};

use crate::{
    Event, Model, ModelPart, Presence, Touch, conflict::primed, order::common, owner, roles::PartRole,
};

/// What one part copies for one reader. Each list of constraints relates the reader's inames to a
/// buffer cell and the source cell that is copied there; the union of the lists is the set of all
/// pairs.
struct Copied {
    array: Name,
    /// The names of the buffer cell's subscripts, by axis.
    buffer: Vec<Name>,
    /// The names of the source cell's subscripts, by axis.
    source: Vec<Name>,
    pieces: Vec<Vec<Constraint>>,
    /// For a single piece, whether its constraints that mention no cell hold in each execution of
    /// the reader; `None` until computed.
    elsewhere: Option<bool>,
}

impl Copied {
    /// The function that a cell's name stands for.
    fn value(&self, name: &Name, at: &[&Aff], cell: &[Aff]) -> Option<Aff> {
        let axis = |names: &[Name]| names.iter().position(|n| n == name);
        match axis(&self.buffer) {
            Some(k) => at.get(k).map(|aff| (*aff).clone()),
            None => axis(&self.source).and_then(|k| cell.get(k).cloned()),
        }
    }

    fn is_cell(&self, name: &Name) -> bool {
        self.buffer.contains(name) || self.source.contains(name)
    }
}

/// Copies as their readers see them, keyed by the numbers of the two parts.
pub(crate) struct Copies<'m, 'k> {
    model: &'m Model<'k>,
    copied: Table<(usize, usize), Option<Copied>>,
    /// What holds in each execution of a reader; per event if the read is conditional.
    readers: Table<(usize, Option<usize>), System>,
}

impl<'m, 'k> Copies<'m, 'k> {
    pub(crate) fn new(model: &'m Model<'k>) -> Self {
        Copies { model, copied: Table::default(), readers: Table::default() }
    }

    /// Whether the read of this event provably sees the initial value of a cell of `array`. `false`
    /// means only that there is no proof.
    pub(crate) fn see_initial(
        &mut self,
        (p, k): (usize, usize),
        array: &Name,
        cell: &[Aff],
        queries: &mut usize,
    ) -> Result<bool> {
        let model = self.model;
        let reader = &model.parts[p];
        let event = &reader.events[k];
        let touches = model.touches.get(&event.array).map_or(&[][..], Vec::as_slice);
        let mut writes = touches.iter().filter(|(w, e)| model.parts[*w].events[*e].touch != Touch::Read);
        let (Some(&(w, e)), None) = (writes.next(), writes.next()) else { return Ok(false) };
        let plain = |aff: &Aff| !aff.mentions_any(&|n| !model.is_parameter(n) && !reader.inames.contains(n));
        let at: Option<Vec<&Aff>> = event.cell.iter().map(|s| s.as_ref().filter(|s| plain(s))).collect();
        let Some(at) = at.filter(|_| cell.iter().all(plain)) else { return Ok(false) };
        let reads = match self.readers.entry((p, (!event.under.is_empty()).then_some(k))) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let known = model.context.iter().chain(&reader.constraints).chain(&event.under);
                let known: Vec<Constraint> = known.cloned().collect();
                if !known.iter().all(|c| plain(&c.aff)) {
                    return Ok(false);
                }
                free.insert(System::of(known)?)
            }
        };
        let copied = match self.copied.entry((w, p)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                *queries += 1;
                free.insert(copied(model, (w, e), reader)?)
            }
        };
        let Some(copied) = copied else { return Ok(false) };
        if copied.array != *array || copied.source.len() != cell.len() {
            return Ok(false);
        }
        Ok(no_other(copied, reads, &at, cell, queries)?
            && is_copied(copied, reads, &reader.inames, &at, cell)?)
    }
}

/// The read of a part that copies one cell to another and does nothing else, whatever the data are.
pub(crate) fn source<'m>(model: &Model<'_>, copy: &'m ModelPart) -> Option<&'m Event> {
    if model.role(copy) != PartRole::Copies || copy.may {
        return None;
    }
    let mut sources = copy.events.iter().filter(|e| e.touch == Touch::Read);
    sources.next().filter(|_| sources.next().is_none())
}

/// What a part copies for a reader that follows it in the same iteration; `None` if unknown.
fn copied(model: &Model<'_>, (w, e): (usize, usize), reader: &ModelPart) -> Result<Option<Copied>> {
    let copy = &model.parts[w];
    let Some(source) = source(model, copy) else { return Ok(None) };
    let (loops, position) = common(copy, reader);
    if position != Ordering::Less || !copy.lanes.is_empty() {
        return Ok(None);
    }
    let second = |aff: &Aff| model.second(aff);
    let mut rows = Vec::new();
    for c in &copy.constraints {
        rows.push(Constraint { kind: c.kind, aff: second(&c.aff)? });
    }
    for n in &loops {
        rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(n)))?);
    }
    let (target, from) = (&copy.events[e].cell, &source.cell);
    let names = |of: &str, axes: usize| (0..axes).map(|axis| Name::new(format!("{of} {axis}"))).collect();
    let (buffer, cells): (Vec<Name>, Vec<Name>) =
        (names("buffer", target.len()), names("source", from.len()));
    for (name, s) in buffer.iter().chain(&cells).zip(target.iter().chain(from)) {
        let Some(s) = s else { return Ok(None) };
        rows.push(Constraint::equal(&Aff::var(name), &second(s)?)?);
    }
    for axis in owner(model.space(&copy.events[e].array)).iter() {
        let value = |presence: &Presence<Name>| -> Result<Option<Aff>> {
            Ok(match presence {
                Presence::At(n) => model.lower(n)?.map(|l| Aff::var(n).sub(&l)).transpose()?,
                _ => Some(Aff::constant(0)),
            })
        };
        match (&copy.executor[axis], &reader.executor[axis]) {
            (Presence::At(m), Presence::At(n)) if m == n => {
                rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(m)))?);
            }
            (Presence::Replicated | Presence::Collective, _) => {}
            (_, Presence::Replicated | Presence::Collective) => return Ok(None),
            (a, b) => {
                let (Some(a), Some(b)) = (value(a)?, value(b)?) else { return Ok(None) };
                rows.push(Constraint::equal(&second(&a)?, &b)?);
            }
        }
    }
    let copies: Vec<Name> = copy.inames.iter().map(primed).collect();
    let known = |n: &Name| {
        model.is_parameter(n)
            || reader.inames.contains(n)
            || copies.contains(n)
            || buffer.contains(n)
            || cells.contains(n)
    };
    if rows.iter().any(|c| c.aff.mentions_any(&|n| !known(n))) {
        return Ok(None);
    }
    let pieces = System::of(rows)?.project_exactly(&|n| copies.contains(n))?;
    let pieces = pieces.iter().map(|piece| piece.constraints().to_vec()).collect();
    Ok(Some(Copied { array: source.array.clone(), buffer, source: cells, pieces, elsewhere: None }))
}

/// Whether only this cell is copied to where the reads look.
fn no_other(copied: &Copied, reads: &System, at: &[&Aff], cell: &[Aff], queries: &mut usize) -> Result<bool> {
    let put = |c: &Constraint| c.substitute(&|n| copied.value(n, at, &[]));
    for piece in &copied.pieces {
        let equalities = piece.iter().filter(|c| c.kind == Kind::Eq).map(put).collect::<Result<_>>()?;
        let equalities = System::of(equalities)?;
        let mut both: Option<System> = None;
        for (name, t) in copied.source.iter().zip(cell) {
            let s = Aff::var(name);
            if equalities.vanishes(&s.sub(t)?) {
                continue;
            }
            let both = match &both {
                Some(both) => both,
                None => both.insert(reads.with(&piece.iter().map(put).collect::<Result<Vec<_>>>()?)?),
            };
            for other in [Constraint::lt(&s, t)?, Constraint::lt(t, &s)?] {
                *queries += 1;
                if !both.is_empty_with(&[other])? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Whether this cell is copied to where the reads look, in every execution.
fn is_copied(
    copied: &mut Copied,
    reads: &System,
    inames: &[Name],
    at: &[&Aff],
    cell: &[Aff],
) -> Result<bool> {
    let put = |c: &Constraint| c.substitute(&|n| copied.value(n, at, cell));
    let [one] = copied.pieces.as_slice() else {
        let system = |piece: &Vec<Constraint>| System::of(piece.iter().map(put).collect::<Result<_>>()?);
        let pieces = copied.pieces.iter().map(system).collect::<Result<Vec<_>>>()?;
        return Set::from_constraints(inames, reads.constraints())?
            .is_subset(&Set::from_systems(inames, pieces)?);
    };
    let is_about_cells = |c: &&Constraint| c.aff.mentions_any(&|n| copied.is_cell(n));
    for c in one.iter().filter(is_about_cells) {
        if !reads.implies(&put(c)?)? {
            return Ok(false);
        }
    }
    if let Some(known) = copied.elsewhere {
        return Ok(known);
    }
    let mut holds = true;
    for c in one.iter().filter(|c| !is_about_cells(c)) {
        holds = holds && reads.implies(c)?;
    }
    copied.elsewhere = Some(holds);
    Ok(holds)
}
