//! Drops the guards of partial tiles from stores of matrices.
//!
//! A warp stores whole boxes of results. In a partial tile some of a box's results do not exist,
//! and a guard against these would cut it. They may be stored all the same where
//!
//! * they go to an array in shared memory, and lie inside of it: a padded tile;
//! * nothing reads their elements later: no execution of any part, in the same block, reads an
//!   element that an execution beyond the instances writes, but in earlier iterations of the loops
//!   around both. What was read before is not changed.
//!
//! What is stored of a sum can then be computed beyond the instances, too, if it reads no memory
//! and any value will do for it. Otherwise each lane asks the guards that are dropped, and stores
//! zeros in place of results that do not exist (a [`Filling`], as that of copies): there is no
//! `bias[j]` to read for them.
//!
//! Guards on what a block has in common stay. Otherwise all do, and the store is refused.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    AddressSpace, Aff, Constraint, Diagnostic, Expr, HardwareAxis, Kind, Name, Part, Via,
};
use loopwright_legality::{Access, primed};
use loopwright_poly::System;

use super::{
    accumulate::{Split, is_harmless_around, is_of_block, needed, split, system},
    analysis::{Analysis, Filling, Guard},
};

/// Drops the guards that would cut boxes which stores of matrices may store as a whole.
pub(crate) fn store_whole_boxes(analysis: &mut Analysis<'_>) -> Result<(), Diagnostic> {
    for number in 0..analysis.parts.len() {
        if let Some(Whole { guards, filling }) = guards_of_boxes(analysis, number)? {
            analysis.parts[number].restrict(guards);
            analysis.parts[number].filling = filling;
        }
    }
    Ok(())
}

/// A store of whole boxes.
struct Whole {
    /// The guards that stay around it.
    guards: Vec<Guard>,
    /// What it stores where others fail, if that is not what it stores elsewhere.
    filling: Option<Filling>,
}

/// The guards that stay around a store of matrices, if others are dropped.
fn guards_of_boxes(analysis: &Analysis<'_>, number: usize) -> Result<Option<Whole>, Diagnostic> {
    let info = &analysis.parts[number];
    let instruction = analysis.instruction(info);
    let ([target], None, Part::Whole | Part::Finish, Via::Matrices) =
        (instruction.targets.as_slice(), &instruction.predicate, info.execution.part.part, instruction.via)
    else {
        return Ok(None);
    };
    let Some(array) = analysis.lookup.temporary(&target.array).filter(|a| a.space == AddressSpace::Shared)
    else {
        return Ok(None);
    };
    // Names count as accesses, too.
    let is_memory = |access: &&Access| analysis.lookup.array(&access.array).is_some();
    let (writes, reads): (Vec<_>, Vec<_>) =
        info.execution.accesses.iter().filter(is_memory).partition(|access| access.write);
    let [written] = writes.as_slice() else { return Ok(None) };
    let cell: Option<Vec<_>> = written.subscripts.iter().cloned().collect();
    let (Some(cell), true, None) = (cell, info.execution.loads.is_empty(), &info.filling) else {
        return Ok(None);
    };
    let anywhere = reads.is_empty() && is_harmless_around(&instruction.value);
    let fixed =
        |name: &Name| is_of_block(name) || analysis.is_parameter(name) || info.execution.loops.contains(name);
    let Split { kept, mixed: all } = split(analysis, &info.guards, &fixed)?;
    let known = system(analysis, kept.iter().map(|guard| &guard.canonical))?;
    // Of whole tiles nothing is cut.
    let mixed = needed(&known, all)?;
    if mixed.is_empty() || mixed.iter().any(|guard| guard.canonical.kind != Kind::Ge) {
        return Ok(None);
    }
    for (axis, subscript) in array.axes.iter().zip(&cell) {
        let Some(length) = axis.length.to_aff() else { return Ok(None) };
        let inside = [Constraint::nonneg(subscript.clone()), Constraint::lt(subscript, &length)?];
        if !known.implies_all(&inside)? {
            return Ok(None);
        }
    }
    let touches = analysis.touches.get(&target.array).map_or(&[][..], Vec::as_slice);
    for (part, access) in touches {
        let reader = &analysis.parts[*part].execution;
        let read = &reader.accesses[*access];
        if read.write {
            continue;
        }
        let own_loops = &info.execution.loops;
        let common = own_loops.iter().zip(&reader.loops).take_while(|(own, other)| own == other);
        let common: Vec<&Name> = common.map(|(own, _)| own).collect();
        let other = |name: &Name| {
            let is_common = is_of_block(name) || analysis.is_parameter(name);
            (!is_common).then(|| primed(name))
        };
        let mut rows = Vec::new();
        for c in &reader.constraints {
            rows.push(c.rename(&other)?);
        }
        for (own, read) in cell.iter().zip(&read.subscripts) {
            let Some(read) = read else { return Ok(None) };
            rows.push(Constraint::equal(own, &read.rename(&other)?)?);
        }
        let names: BTreeSet<Name> = rows.iter().flat_map(Constraint::names).collect();
        for axis in HardwareAxis::all() {
            let position = axis.position().rename(&other)?;
            if position.names().iter().any(|n| names.contains(n)) {
                rows.push(Constraint::nonneg(position));
            }
        }
        let meeting = known.with(&rows)?;
        for when in not_earlier(&common)? {
            let meeting = meeting.with(&when)?;
            for guard in &mixed {
                if !all_are_empty(&meeting, &guard.canonical)? {
                    return Ok(None);
                }
            }
        }
    }
    let filling = (!anywhere).then_some(Filling { guards: mixed, value: Expr::Int(0) });
    Ok(Some(Whole { guards: kept, filling }))
}

/// When an execution, whose names are primed, is in the same iteration of these loops as another
/// one, or in a later one.
fn not_earlier(loops: &[&Name]) -> Result<Vec<Vec<Constraint>>, Diagnostic> {
    let (mut equal, mut cases) = (Vec::new(), Vec::new());
    for name in loops {
        let (this, other) = (Aff::var(*name), Aff::var(primed(name)));
        cases.push([equal.as_slice(), &[Constraint::lt(&this, &other)?]].concat());
        equal.push(Constraint::equal(&this, &other)?);
    }
    cases.push(equal);
    Ok(cases)
}

/// Whether a constraint holds everywhere in a system.
fn all_are_empty(system: &System, c: &Constraint) -> Result<bool, Diagnostic> {
    for not in c.negations()? {
        if !system.is_empty_with(&[not])? {
            return Ok(false);
        }
    }
    Ok(true)
}
