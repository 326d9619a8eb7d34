//! Reads of copies of an array that nobody writes, without dataflow analysis.
//!
//! A read of a buffer is right if (1) a copy of the cell that it is declared to read lies in the cell of the buffer that it reads, made in
//! the same iteration of all loops around both and before it in the text; and (2) no copy of another cell is made there in the same
//! iteration. For copies of earlier iterations are overwritten by the one of (1), and later ones come after the read. This is V1 and V2 of the
//! design for buffers that are filled by one part, as those of a prefetch are.
//!
//! What a copy leaves where one of its readers finds it is projected once ([`Copied`]): the pairs of a cell of the buffer and a cell of
//! the source, over the reader's loops. A read, of which a stencil has many, then only puts its two cells in: (1) each constraint follows
//! from the reader's own, which mostly shows in one of them; (2) the equalities alone mostly say which cell of the source it is.

use std::{
    cmp::Ordering,
    collections::{HashMap, hash_map::Entry},
};

use loopwright_kernel_ir::{Aff, Constraint, Name};
use loopwright_poly::{Result, Set, System};

use crate::{Model, ModelPart, Touch, conflict::primed, model::Coordinate, order::common, roles::PartRole};

/// What one part copies for one reader: each system relates the reader's inames to a cell of the buffer and the cell of the source that
/// is copied there; together they are all pairs.
struct Copied {
    source: Name,
    rank: usize,
    pieces: Vec<System>,
}

/// Copies as readers find them, by the numbers of the two parts.
pub(crate) struct Copies<'m, 'k> {
    model: &'m Model<'k>,
    copied: HashMap<(usize, usize), Option<Copied>>,
    /// What holds in each execution of a reader.
    readers: HashMap<usize, System>,
}

fn buffer_cell(axis: usize) -> Name {
    Name::new(format!("buffer {axis}"))
}

fn source_cell(axis: usize) -> Name {
    Name::new(format!("source {axis}"))
}

impl<'m, 'k> Copies<'m, 'k> {
    pub(crate) fn new(model: &'m Model<'k>) -> Self {
        Copies { model, copied: HashMap::new(), readers: HashMap::new() }
    }

    /// Whether the read of this event provably sees the initial value of a cell of `array`. `false` says nothing.
    pub(crate) fn see_initial(
        &mut self,
        (p, k): (usize, usize),
        array: &Name,
        cell: &[Aff],
        questions: &mut usize,
    ) -> Result<bool> {
        let model = self.model;
        let reader = &model.parts[p];
        let event = &reader.events[k];
        let touches = model.touches.get(&event.array).map_or(&[][..], Vec::as_slice);
        let mut writes = touches.iter().filter(|(w, e)| model.parts[*w].events[*e].touch != Touch::Read);
        let (Some(&(w, e)), None) = (writes.next(), writes.next()) else { return Ok(false) };
        let plain =
            |aff: &Aff| aff.names().iter().all(|n| model.is_parameter(n) || reader.inames.contains(n));
        let at: Option<Vec<&Aff>> = event.cell.iter().map(|s| s.as_ref().filter(|s| plain(s))).collect();
        let Some(at) = at.filter(|_| cell.iter().all(plain)) else { return Ok(false) };
        let reads = match self.readers.entry(p) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let known: Vec<Constraint> =
                    model.context.iter().chain(&reader.constraints).cloned().collect();
                if !known.iter().all(|c| plain(&c.aff)) {
                    return Ok(false);
                }
                free.insert(System::new(&known)?)
            }
        };
        let copied = match self.copied.entry((w, p)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                *questions += 1;
                free.insert(copied(model, (w, e), reader)?)
            }
        };
        let Some(copied) = copied else { return Ok(false) };
        if copied.source != *array || copied.rank != cell.len() {
            return Ok(false);
        }
        let buffer: HashMap<Name, &Aff> =
            at.into_iter().enumerate().map(|(axis, aff)| (buffer_cell(axis), aff)).collect();
        let mut here = Vec::with_capacity(copied.pieces.len());
        for piece in &copied.pieces {
            let put = |c: &Constraint| c.substitute(&|n| buffer.get(n).map(|aff| (*aff).clone()));
            here.push(System::new(&piece.constraints().iter().map(put).collect::<Result<Vec<_>>>()?)?);
        }
        Ok(no_other(&here, reads, cell, questions)? && is_copied(&here, reads, &reader.inames, cell)?)
    }
}

/// What a part copies for a reader that comes after it in the same iteration; `None` where that is not known.
fn copied(model: &Model<'_>, (w, e): (usize, usize), reader: &ModelPart) -> Result<Option<Copied>> {
    let copy = &model.parts[w];
    if model.role(copy) != PartRole::Copies || copy.may {
        return Ok(None);
    }
    let mut sources = copy.events.iter().filter(|e| e.touch == Touch::Read);
    let (Some(source), None) = (sources.next(), sources.next()) else { return Ok(None) };
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
    let cells: Vec<Name> =
        (0..target.len()).map(buffer_cell).chain((0..from.len()).map(source_cell)).collect();
    for (name, s) in cells.iter().zip(target.iter().chain(from)) {
        let Some(s) = s else { return Ok(None) };
        rows.push(Constraint::equal(&Aff::var(name), &second(s)?)?);
    }
    for axis in Model::owner_axes(model.space(&copy.events[e].array)) {
        let value = |c: &Coordinate| -> Result<Option<Aff>> {
            Ok(match c {
                Coordinate::Iname(n) => model.lower(n)?.map(|l| Aff::var(n).sub(&l)).transpose()?,
                _ => Some(Aff::constant(0)),
            })
        };
        match (&copy.place[axis], &reader.place[axis]) {
            (Coordinate::Iname(m), Coordinate::Iname(n)) if m == n => {
                rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(m)))?);
            }
            (Coordinate::Every, _) => {}
            (_, Coordinate::Every) => return Ok(None),
            (a, b) => {
                let (Some(a), Some(b)) = (value(a)?, value(b)?) else { return Ok(None) };
                rows.push(Constraint::equal(&second(&a)?, &b)?);
            }
        }
    }
    let copies: Vec<Name> = copy.inames.iter().map(primed).collect();
    let known = |n: &Name| {
        model.is_parameter(n) || reader.inames.contains(n) || copies.contains(n) || cells.contains(n)
    };
    if !rows.iter().all(|c| c.names().iter().all(known)) {
        return Ok(None);
    }
    let pieces = System::new(&rows)?.project_exactly(&|n| copies.contains(n))?;
    Ok(Some(Copied { source: source.array.clone(), rank: from.len(), pieces }))
}

/// Whether no other cell than this one is copied to where the reads look.
fn no_other(here: &[System], reads: &System, cell: &[Aff], questions: &mut usize) -> Result<bool> {
    for piece in here {
        let mut both: Option<System> = None;
        for (axis, t) in cell.iter().enumerate() {
            let s = Aff::var(source_cell(axis));
            if piece.vanishes(&s.sub(t)?) {
                continue;
            }
            let both = match &both {
                Some(both) => both,
                None => both.insert(reads.with(piece.constraints())?),
            };
            for other in [Constraint::lt(&s, t)?, Constraint::lt(t, &s)?] {
                *questions += 1;
                if !both.with(&[other])?.is_empty()? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Whether this cell is copied to where the reads look, in all of them.
fn is_copied(here: &[System], reads: &System, inames: &[Name], cell: &[Aff]) -> Result<bool> {
    let sources: HashMap<Name, &Aff> =
        cell.iter().enumerate().map(|(axis, aff)| (source_cell(axis), aff)).collect();
    let put = |c: &Constraint| c.substitute(&|n| sources.get(n).map(|aff| (*aff).clone()));
    let mut pieces = Vec::with_capacity(here.len());
    for piece in here {
        pieces.push(piece.constraints().iter().map(put).collect::<Result<Vec<_>>>()?);
    }
    if let [one] = pieces.as_slice() {
        return reads.implies_all(one);
    }
    let pieces = pieces.iter().map(|p| System::new(p)).collect::<Result<Vec<_>>>()?;
    Set::from_constraints(inames, reads.constraints())?.is_subset(&Set::from_systems(inames, pieces)?)
}
