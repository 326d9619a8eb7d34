//! Whether accesses stay inside their arrays, and whether several neighbours of shared or private
//! memory that are accessed at once lie at an aligned address.
//!
//! The lengths of local arrays are chosen by lowering: slots of a ring, tiles, registers of a
//! fragment. Those of global arrays are what the program declares, over its scalars. Each subscript
//! that is affine has to be in `0 <= s < length` for all executions that loops and guards leave,
//! and the last one, of several neighbours, with those behind it. In a local array that lies row by
//! row the offset of the first of them has to be a multiple of their number, and in a global array,
//! where that can be told: a launch asks that the array begins at an aligned address.
//!
//! Where a condition around the access is not affine, or depends on data, or a subscript or the
//! length of its axis is not affine, nothing is refuted: that such an access stays inside is taken
//! on trust, and the emulator checks it.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name, Term};
use loopwright_poly::{Result, System, TableSet};

use super::{
    cases::case_with,
    reading::{Access, Reading},
    rest, thread,
};
use crate::{Async, AsyncCopy, DeviceKernel, Global, LocalArray, Memory, Program, Stmt};

/// The local array that is accessed.
fn local(kernel: &DeviceKernel, memory: Memory) -> Option<&LocalArray> {
    match memory {
        Memory::Global(_) => None,
        Memory::Shared(k) => kernel.shared.get(k),
        Memory::Private(k) => kernel.private.get(k),
    }
}

/// The lengths of the axes of each global array; `None` where one is not affine.
fn shapes(program: &Program) -> Result<Vec<Vec<Option<Aff>>>> {
    let of = |global: &Global| global.shape.iter().map(|l| l.affine(&mut |_| Ok(None))).collect();
    program.globals.iter().map(of).collect()
}

/// The first access that leaves its array, or is not aligned.
pub(super) fn wrong_access(reading: &Reading<'_>, queries: &mut usize) -> Result<Option<Diagnostic>> {
    if let Some(found) = wrong_width(reading) {
        return Ok(Some(found));
    }
    let shapes = shapes(reading.program)?;
    let mut seen: TableSet<&Access> = TableSet::default();
    for access in reading.accesses.iter().filter(|access| seen.insert(access)) {
        if let Memory::Global(number) = access.memory {
            let Some(shape) = shapes.get(number) else { continue };
            if let Some(found) = outside_shape(reading, access, shape, queries)? {
                return Ok(Some(found));
            }
            if let Some(found) = misaligned_in_memory(reading, access, number, queries)? {
                return Ok(Some(found));
            }
        }
        let Some(array) = local(reading.kernel, access.memory) else { continue };
        if let Some(found) = outside(reading, access, array, queries)? {
            return Ok(Some(found));
        }
        if let Some(found) = misaligned(reading, access, array, queries)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A copy of so many bytes as no instruction copies.
fn wrong_width(reading: &Reading<'_>) -> Option<Diagnostic> {
    let mut found = None;
    Stmt::visit(&reading.kernel.body, &mut |stmt| {
        let Stmt::Async(Async::Copy(copy)) = stmt else { return };
        let Some(array) = local(reading.kernel, copy.to.memory) else { return };
        let bytes = array.dtype.bytes() * usize::from(copy.lanes);
        if !AsyncCopy::BYTES.contains(&bytes) {
            let message = format!(
                "an asynchronous copy to `{}` in `{}` has {bytes} bytes, and may have 4, 8 or 16",
                array.name, reading.kernel.name
            );
            found = found.take().or(Some(Diagnostic::new("invalid-program", message)));
        }
    });
    found
}

/// An execution in which these constraints hold, too.
fn case(
    reading: &Reading<'_>,
    access: &Access,
    rows: &[Constraint],
    queries: &mut usize,
) -> Result<Option<System>> {
    let scope = reading.scope(access.scope);
    if !scope.is_whole() {
        return Ok(None);
    }
    let all = reading.context.iter().chain(&scope.rows).chain(rows).cloned().collect();
    case_with(&System::of(all)?, &scope.either, queries)
}

/// An execution that leaves an axis of its array.
fn outside_shape(
    reading: &Reading<'_>,
    access: &Access,
    shape: &[Option<Aff>],
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    for (axis, (subscript, length)) in access.cell.iter().zip(shape).enumerate() {
        let (Some(subscript), Some(length)) = (subscript, length) else { continue };
        let behind = if axis == access.dense && access.aligned { i64::from(access.lanes) - 1 } else { 0 };
        let what = || format!("axis {axis} of {}", array(reading, access));
        if let Some(found) = beyond(reading, access, subscript, behind, (&what, length), queries)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn outside(
    reading: &Reading<'_>,
    access: &Access,
    local: &LocalArray,
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    let constant = |length: u64| Aff::constant(i64::try_from(length).unwrap_or(i64::MAX));
    let shape: Vec<_> = local.dims.iter().map(|length| Some(constant(*length))).collect();
    if let Some(found) = outside_shape(reading, access, &shape, queries)? {
        return Ok(Some(found));
    }
    if access.aligned {
        return Ok(None);
    }
    let Some(offset) = offset(access, local)? else { return Ok(None) };
    let (what, length) = (|| array(reading, access), constant(local.dims.iter().product()));
    if let Some(found) =
        beyond(reading, access, &offset, i64::from(access.lanes) - 1, (&what, &length), queries)?
    {
        return Ok(Some(found));
    }
    apart(reading, access, local, &offset, queries)
}

/// An execution that accesses several elements at once of which a layout puts one elsewhere than
/// behind the one before.
fn apart(
    reading: &Reading<'_>,
    access: &Access,
    local: &LocalArray,
    offset: &Aff,
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    let (Some(positions), lanes) = (local.positions(), usize::from(access.lanes)) else { return Ok(None) };
    let mut places = Vec::new();
    positions.each(&mut |at| places.push(positions.at(at)));
    let follows = |pair: &[Option<i64>]| pair[0].is_some_and(|place| pair[1] == Some(place + 1));
    for (first, run) in places.windows(lanes).enumerate() {
        if run.windows(2).all(follows) {
            continue;
        }
        let first = Aff::constant(i64::try_from(first).unwrap_or(i64::MAX));
        let begins_here = Constraint::zero(offset.sub(&first)?);
        let Some(case) = case(reading, access, &[begins_here], queries)? else { continue };
        let message = format!(
            "{lanes} elements of {} are accessed at once, which do not follow one another in its layout",
            array(reading, access)
        );
        return Ok(Some(with_witness(Diagnostic::new("misaligned", message), &case)?));
    }
    Ok(None)
}

/// The array and the device kernel, for a message.
fn array(reading: &Reading<'_>, access: &Access) -> String {
    format!("`{}` in `{}`", reading.array_name(access.memory), reading.kernel.name)
}

/// An execution in which a number, or one of so many behind it, is not below the length.
fn beyond(
    reading: &Reading<'_>,
    access: &Access,
    first: &Aff,
    behind: i64,
    (what, length): (&dyn Fn() -> String, &Aff),
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    let scope = reading.scope(access.scope);
    if !scope.is_whole() {
        return Ok(None);
    }
    let end = first.add_constant(behind)?;
    for inside in [first.clone(), length.sub(&end)?.add_constant(-1)?] {
        if is_evident(&inside, [reading.context, &scope.rows]) {
            continue;
        }
        let outside = Constraint::lt(&inside, &Aff::constant(0))?;
        let Some(case) = case(reading, access, &[outside], queries)? else { continue };
        // The names of loops have their numbers behind them.
        let shown = end.rename(&|n| n.split_once('#').map(|(name, _)| Name::new(name)))?;
        let message = format!("{} has {length} elements, and element {shown} of it is accessed", what());
        return Ok(Some(with_witness(Diagnostic::new("out-of-bounds", message), &case)?));
    }
    Ok(None)
}

/// Whether these rows show without a query that a number is not negative: it is at least what a row
/// says not to be, or each of its terms is not.
fn is_evident(number: &Aff, rows: [&[Constraint]; 2]) -> bool {
    // An equality says so, too.
    let rows = rows.into_iter().flatten();
    let is_term = |row: &Constraint, term: &Term| {
        matches!(row.aff.terms(), [(own, 1)] if own == term) && row.aff.constant_term() <= 0
    };
    let constant = number.constant_term();
    let more = |row: &&Constraint| row.aff.terms() == number.terms() && row.aff.constant_term() <= constant;
    rows.clone().any(|row| more(&row))
        || constant >= 0
            && number
                .terms()
                .iter()
                .all(|(term, factor)| *factor > 0 && rows.clone().any(|row| is_term(row, term)))
}

/// The offset of the first element, in an array that lies row by row.
fn offset(access: &Access, array: &LocalArray) -> Result<Option<Aff>> {
    let cell: Option<Vec<Aff>> = access.cell.iter().cloned().collect();
    cell.map(|cell| array.offset_in_rows(&cell)).transpose()
}

fn misaligned(
    reading: &Reading<'_>,
    access: &Access,
    array: &LocalArray,
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    if access.lanes < 2 || !access.aligned || array.layout.is_some() {
        return Ok(None);
    }
    let Some(offset) = offset(access, array)? else { return Ok(None) };
    no_multiple(reading, access, &offset, queries)
}

/// A vector of a global array that does not begin at a multiple of its length from where the array
/// begins, which a launch asks to be aligned. Where data are in a subscript, or a stride is not
/// known to be a multiple of the length, nothing is refuted.
fn misaligned_in_memory(
    reading: &Reading<'_>,
    access: &Access,
    number: usize,
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    let Some(global) = reading.program.globals.get(number) else { return Ok(None) };
    if access.lanes < 2 || !access.aligned || !reading.scope(access.scope).is_whole() {
        return Ok(None);
    }
    let lanes = i64::from(access.lanes);
    let mut offset = Aff::constant(0);
    for (subscript, stride) in access.cell.iter().zip(&global.strides) {
        let (Some(subscript), Some(stride)) = (subscript, stride.affine(&mut |_| Ok(None))?) else {
            return Ok(None);
        };
        if subscript.mentions_any(&|n| n.contains('[')) {
            return Ok(None);
        }
        offset = match (stride.as_constant(), subscript.as_constant()) {
            (Some(stride), _) => offset.add(&subscript.scale(stride)?)?,
            (None, Some(at)) => offset.add(&stride.scale(at)?)?,
            (None, None) => {
                *queries += 1;
                match System::new(reading.context)?.implies(&Constraint::zero(stride.modulo(lanes)?))? {
                    true => offset,
                    false => return Ok(None),
                }
            }
        };
    }
    no_multiple(reading, access, &offset, queries)
}

/// The finding where a vector does not begin at a multiple of its length in some execution.
fn no_multiple(
    reading: &Reading<'_>,
    access: &Access,
    offset: &Aff,
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    let lanes = i64::from(access.lanes);
    let beside = offset.modulo(lanes)?;
    if beside.as_constant() == Some(0) {
        return Ok(None);
    }
    let rest = Constraint::le(&Aff::constant(1), &beside)?;
    let Some(case) = case(reading, access, &[rest], queries)? else { return Ok(None) };
    let message = format!(
        "{lanes} elements of {} are accessed at once, which do not begin at a multiple of {lanes}",
        array(reading, access)
    );
    Ok(Some(with_witness(Diagnostic::new("misaligned", message), &case)?))
}

fn with_witness(found: Diagnostic, case: &System) -> Result<Diagnostic> {
    Ok(match case.sample(&BTreeMap::new())? {
        Some(point) => {
            let thread = thread(&point, "", "thread");
            found.witness(format!("thread {thread} does; {}", rest(&point, true)))
        }
        None => found,
    })
}
