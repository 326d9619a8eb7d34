//! Reads of copies of an array that nobody writes, without dataflow analysis.
//!
//! A read of a buffer is right if (1) a copy of the cell that it is declared to read lies in the cell of the buffer that it reads, made in
//! the same iteration of all loops around both and before it in the text; and (2) no copy of another cell is made there in the same
//! iteration. For copies of earlier iterations are overwritten by the one of (1), and later ones come after the read. This is V1 and V2 of the
//! design for buffers that are filled by one part, as those of a prefetch are: (1) is one projection, (2) one conjunction for each axis
//! and side.

use std::cmp::Ordering;

use loopwright_kernel_ir::{Aff, Constraint, Name};
use loopwright_poly::{Result, Set, System};

use crate::{Model, Touch, conflict::primed, model::Coordinate, order::common, roles::PartRole};

/// Whether the read of this event provably sees the initial value of a cell of `array`. `false` says nothing.
pub(crate) fn sees_initial(
    model: &Model<'_>,
    (p, k): (usize, usize),
    array: &Name,
    cell: &[Aff],
    questions: &mut usize,
) -> Result<bool> {
    let reader = &model.parts[p];
    let event = &reader.events[k];
    let touches = model.touches.get(&event.array).map_or(&[][..], Vec::as_slice);
    let writes: Vec<(usize, usize)> =
        touches.iter().copied().filter(|(w, e)| model.parts[*w].events[*e].touch != Touch::Read).collect();
    let [(w, e)] = writes[..] else { return Ok(false) };
    let copy = &model.parts[w];
    if model.role(copy) != PartRole::Copies || copy.may {
        return Ok(false);
    }
    let mut copied = copy.events.iter().filter(|e| e.touch == Touch::Read);
    let (Some(source), None) = (copied.next(), copied.next()) else { return Ok(false) };
    if source.array != *array || source.cell.len() != cell.len() {
        return Ok(false);
    }
    let (loops, position) = common(copy, reader);
    let lanes = copy.lanes.iter().chain(&reader.lanes);
    if position != Ordering::Less || lanes.clone().next().is_some() && !copy.lanes.is_empty() {
        return Ok(false);
    }
    let second = |aff: &Aff| model.second(aff);
    let known: Vec<Constraint> = model.context.iter().chain(&reader.constraints).cloned().collect();
    let mut rows = known.clone();
    for c in &copy.constraints {
        rows.push(Constraint { kind: c.kind, aff: second(&c.aff)? });
    }
    for n in &loops {
        rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(n)))?);
    }
    for (s, t) in event.cell.iter().zip(&copy.events[e].cell) {
        let (Some(s), Some(t)) = (s, t) else { return Ok(false) };
        rows.push(Constraint::equal(s, &second(t)?)?);
    }
    for axis in Model::owner_axes(model.space(&event.array)) {
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
            (_, Coordinate::Every) => return Ok(false),
            (a, b) => {
                let (Some(a), Some(b)) = (value(a)?, value(b)?) else { return Ok(false) };
                rows.push(Constraint::equal(&second(&a)?, &b)?);
            }
        }
    }
    let plain = |aff: &Aff| {
        aff.names().iter().all(|n| {
            model.is_parameter(n) || reader.inames.contains(n) || copy.inames.iter().any(|i| primed(i) == *n)
        })
    };
    if !rows.iter().all(|c| plain(&c.aff)) || !cell.iter().all(plain) {
        return Ok(false);
    }
    let mut copies = Vec::new();
    for s in &source.cell {
        let Some(s) = s else { return Ok(false) };
        copies.push(second(s)?);
    }
    let both = System::new(&rows)?;
    for (s, t) in copies.iter().zip(cell) {
        if both.vanishes(&s.sub(t)?) {
            continue;
        }
        for other in [Constraint::lt(s, t)?, Constraint::lt(t, s)?] {
            *questions += 1;
            if !both.with(&[other])?.is_empty()? {
                return Ok(false);
            }
        }
    }
    let equal: Vec<Constraint> =
        copies.iter().zip(cell).map(|(s, t)| Constraint::equal(s, t)).collect::<Result<_>>()?;
    *questions += 1;
    let copied = both.with(&equal)?.project_exactly(&|n| copy.inames.iter().any(|i| primed(i) == *n))?;
    if let [one] = copied.as_slice() {
        let reads = System::new(&known)?;
        for c in one.constraints() {
            if !reads.implies(c)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let reads = Set::from_constraints(&reader.inames, &known)?;
    reads.is_subset(&Set::from_systems(&reader.inames, copied)?)
}
