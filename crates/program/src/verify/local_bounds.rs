//! Whether accesses of shared and private memory stay inside their arrays, and whether several
//! neighbours that are accessed at once lie at an aligned address.
//!
//! Bounds of the caller's arrays are proved of the kernel, by its domains. The lengths of local
//! arrays are chosen by lowering: slots of a ring, tiles, registers of a fragment. Each subscript
//! that is affine has to be in `0 <= s < length` for all executions that loops and guards leave,
//! and the last one, of several neighbours, with those behind it. In an array that lies row by row
//! the offset of the first of them has to be a multiple of their number.
//!
//! Where a condition around the access is not affine, or a subscript is not, nothing is refuted:
//! that such an access stays inside is taken on trust, and the emulator checks it.

use std::collections::{BTreeMap, HashSet};

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name};
use loopwright_poly::{Result, System};

use super::{
    cases::case_with,
    reading::{LocalAccess, Reading},
    rest, thread,
};
use crate::{Async, AsyncCopy, DeviceKernel, LocalArray, Memory, Stmt};

/// The local array that is accessed.
fn array(kernel: &DeviceKernel, memory: Memory) -> Option<&LocalArray> {
    match memory {
        Memory::Global(_) => None,
        Memory::Shared(k) => kernel.shared.get(k),
        Memory::Private(k) => kernel.private.get(k),
    }
}

/// The first access that leaves its array, or is not aligned.
pub(super) fn wrong_access(reading: &Reading<'_>, queries: &mut usize) -> Result<Option<Diagnostic>> {
    if let Some(found) = wrong_width(reading) {
        return Ok(Some(found));
    }
    let mut seen: HashSet<&LocalAccess> = HashSet::new();
    for access in reading.local.iter().filter(|access| seen.insert(access)) {
        let Some(array) = array(reading.kernel, access.memory) else { continue };
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
        let Some(array) = array(reading.kernel, copy.to.memory) else { return };
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
    access: &LocalAccess,
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

fn outside(
    reading: &Reading<'_>,
    access: &LocalAccess,
    array: &LocalArray,
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    let last = access.cell.len().saturating_sub(1);
    for (axis, (subscript, length)) in access.cell.iter().zip(&array.dims).enumerate() {
        let Some(subscript) = subscript else { continue };
        let behind = if axis == last && access.aligned { i64::from(access.lanes) - 1 } else { 0 };
        let what = format!("axis {axis} of `{}` in `{}`", array.name, reading.kernel.name);
        let length = i64::try_from(*length).unwrap_or(i64::MAX);
        if let Some(found) = beyond(reading, access, subscript, behind, (&what, length), queries)? {
            return Ok(Some(found));
        }
    }
    if access.aligned || array.layout.is_some() {
        return Ok(None);
    }
    let Some(offset) = offset(access, array)? else { return Ok(None) };
    let what = format!("`{}` in `{}`", array.name, reading.kernel.name);
    let length = i64::try_from(array.elements()).unwrap_or(i64::MAX);
    beyond(reading, access, &offset, i64::from(access.lanes) - 1, (&what, length), queries)
}

/// An execution in which a number, or one of so many behind it, is not below the length.
fn beyond(
    reading: &Reading<'_>,
    access: &LocalAccess,
    first: &Aff,
    behind: i64,
    (what, length): (&str, i64),
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    if first.as_constant().is_some_and(|s| s >= 0 && s.saturating_add(behind) < length) {
        return Ok(None);
    }
    let end = first.add_constant(behind)?;
    for outside in [Constraint::lt(first, &Aff::constant(0))?, Constraint::le(&Aff::constant(length), &end)?]
    {
        let Some(case) = case(reading, access, &[outside], queries)? else { continue };
        // The names of loops have their numbers behind them.
        let shown = end.rename(&|n| n.split_once('#').map(|(name, _)| Name::new(name)))?;
        let message = format!("{what} has {length} elements, and element {shown} of it is accessed");
        return Ok(Some(with_witness(Diagnostic::new("out-of-bounds", message), &case)?));
    }
    Ok(None)
}

/// The offset of the first element, in an array that lies row by row.
fn offset(access: &LocalAccess, array: &LocalArray) -> Result<Option<Aff>> {
    let mut offset = Aff::constant(0);
    for (subscript, length) in access.cell.iter().zip(&array.dims) {
        let Some(subscript) = subscript else { return Ok(None) };
        offset = offset.scale(i64::try_from(*length).unwrap_or(i64::MAX))?.add(subscript)?;
    }
    Ok(Some(offset))
}

fn misaligned(
    reading: &Reading<'_>,
    access: &LocalAccess,
    array: &LocalArray,
    queries: &mut usize,
) -> Result<Option<Diagnostic>> {
    if access.lanes < 2 || !access.aligned || array.layout.is_some() {
        return Ok(None);
    }
    let Some(offset) = offset(access, array)? else { return Ok(None) };
    let lanes = i64::from(access.lanes);
    let beside = offset.modulo(lanes)?;
    if beside.as_constant() == Some(0) {
        return Ok(None);
    }
    let rest = Constraint::le(&Aff::constant(1), &beside)?;
    let Some(case) = case(reading, access, &[rest], queries)? else { return Ok(None) };
    let message = format!(
        "{lanes} elements of `{}` in `{}` are accessed at once, which do not begin at a multiple of {lanes}",
        array.name, reading.kernel.name
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
