//! Buffers with slots that copies fill some iterations ahead of those that read them.
//!
//! Iteration `k` of a loop reads the slot `(k - lo) mod slots`. One copy in the loop fills the slot
//! of iteration `k + ahead`; one copy before the loop for each of the first `ahead` iterations
//! fills theirs. Each is described as if it stood in the iteration that reads its slot, so that
//! what is asked of a plain buffer can be asked of each in its case. That no slot is filled again
//! before it has been read is not asked here: the final check follows it.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Array, Constraint, Diagnostic, Name, Part};

use super::{Source, is_copy, is_of_block, split, system};
use crate::analyse::analysis::{Analysis, Guard, PartInfo};

/// The copies that fill the slots of a buffer, each in its case; `None` if it is not such a buffer.
pub(super) fn sources(
    analysis: &Analysis<'_>,
    update: usize,
    buffer: &Array,
    read: &[Aff],
) -> Result<Option<Vec<Source>>, Diagnostic> {
    let loops = &analysis.parts[update].execution.loops;
    let Some((slot, read)) = read.split_first() else { return Ok(None) };
    // The loop whose iterations take slots in turn.
    let Some(depth) = loops.iter().position(|n| slot.mentions(n)) else { return Ok(None) };
    let (iname, outer) = (&loops[depth], &loops[..depth]);
    let mut writers: Vec<(usize, &PartInfo, Vec<Aff>)> = Vec::new();
    for (number, copy) in analysis.writers(&buffer.name) {
        let written = copy.execution.accesses.iter().find(|a| a.write);
        let subscripts: Option<Vec<Aff>> = written.and_then(|a| a.subscripts.iter().cloned().collect());
        let instruction = analysis.instruction(copy);
        let Some(subscripts) = subscripts.filter(|s| s.len() == read.len() + 1) else { return Ok(None) };
        if !is_copy(instruction)
            || instruction.predicate.is_some()
            || !copy.execution.loads.is_empty()
            || copy.execution.part.part != Part::Whole
        {
            return Ok(None);
        }
        writers.push((number, copy, subscripts));
    }
    let is_inside = |copy: &PartInfo| copy.execution.loops.get(..=depth) == Some(&loops[..=depth]);
    let (inside, before): (Vec<_>, Vec<_>) = writers.into_iter().partition(|(_, copy, _)| is_inside(copy));
    let [(number, copy, subscripts)] = inside.as_slice() else { return Ok(None) };
    let is_early =
        |number: usize, copy: &PartInfo| number < update && copy.execution.loops.get(..depth) == Some(outer);
    if !before.iter().all(|(number, copy, _)| is_early(*number, copy)) {
        return Ok(None);
    }
    // A copy for a later iteration may stand after the update.
    if before.is_empty() && *number >= update {
        return Ok(None);
    }
    // How far ahead the copy in the loop is.
    let ahead = i64::try_from(before.len()).unwrap_or(i64::MAX);
    let back = Aff::var(iname).add_constant(ahead.saturating_neg())?;
    if subscripts[0].substitute_one(iname, &back)? != *slot {
        return Ok(None);
    }
    let mut found = Vec::new();
    let around: Vec<Name> = loops[..=depth].to_vec();
    let mut first: Option<Aff> = None;
    for (number, copy, subscripts) in &before {
        // The iteration whose slot it fills: the one of these that has it.
        let Some(own) = subscripts[0].as_constant() else { return Ok(None) };
        let Some(low) = least(analysis, &analysis.parts[update], iname)? else { return Ok(None) };
        let at = low.add_constant(own)?;
        if slot.substitute_one(iname, &at)?.as_constant() != Some(own) || own >= ahead {
            return Ok(None);
        }
        let case = vec![Constraint::equal(&Aff::var(iname), &at)?];
        let unmoved = |c: &Constraint| Ok(c.clone());
        let of = (*number, *copy, &subscripts[1..]);
        found.push(source(analysis, of, buffer, read, (case, &around), &unmoved)?);
        first = Some(low);
    }
    let mut case = Vec::new();
    if let Some(first) = first {
        case.push(Constraint::le(&first.add_constant(ahead)?, &Aff::var(iname))?);
    }
    let moved = |c: &Constraint| -> Result<Constraint, Diagnostic> {
        Ok(Constraint { kind: c.kind, aff: c.aff.substitute_one(iname, &back)? })
    };
    found.push(source(analysis, (*number, copy, &subscripts[1..]), buffer, read, (case, &around), &moved)?);
    Ok(found.into_iter().collect())
}

/// The least value of a loop's iname in a part, if it is one function of what is around the loop.
fn least(analysis: &Analysis<'_>, info: &PartInfo, iname: &Name) -> Result<Option<Aff>, Diagnostic> {
    let loops = &info.execution.loops;
    let outer = loops.iter().position(|n| n == iname).unwrap_or(0);
    let keep = |n: &Name| loops[..outer].contains(n) || is_of_block(n) || analysis.is_parameter(n);
    let all = system(analysis, info.guards.iter().map(|g| &g.canonical))?;
    let bounds = all.bounds(iname, &keep)?;
    Ok(match bounds.lower.as_slice() {
        [bound] if bound.denominator == 1 => Some(bound.aff.clone()),
        _ => None,
    })
}

/// A copy as if it stood in the iteration that reads what it writes. `moved` says its constraints
/// there.
fn source(
    analysis: &Analysis<'_>,
    (number, copy, subscripts): (usize, &PartInfo, &[Aff]),
    buffer: &Array,
    read: &[Aff],
    (case, around): (Vec<Constraint>, &[Name]),
    moved: &dyn Fn(&Constraint) -> Result<Constraint, Diagnostic>,
) -> Result<Option<Source>, Diagnostic> {
    let through: BTreeSet<Name> =
        subscripts.iter().flat_map(Aff::names).filter(|n| !analysis.is_parameter(n)).collect();
    if around.iter().any(|n| through.contains(n)) {
        return Ok(None);
    }
    let (kept, chosen) = match &copy.filling {
        Some(filling) => (copy.guards.clone(), filling.guards.clone()),
        None => {
            let split = split(analysis, &copy.guards, &|n| !through.contains(n))?;
            (split.kept, split.mixed)
        }
    };
    let cell: Vec<Name> =
        (0..subscripts.len()).map(|k| Name::new(format!("{}.{}", buffer.name, k + 1))).collect();
    let mut cells = Vec::new();
    for (name, s) in cell.iter().zip(subscripts) {
        cells.push(Constraint::equal(&Aff::var(name), s)?);
    }
    let there = |guards: &[Guard]| guards.iter().map(|g| moved(&g.canonical)).collect::<Result<Vec<_>, _>>();
    let (kept_there, chosen_there) = (there(&kept)?, there(&chosen)?);
    let stays =
        |n: &Name| cell.contains(n) || around.contains(n) || is_of_block(n) || analysis.is_parameter(n);
    let rows = || case.iter().chain(&kept_there).chain(&cells);
    let all = system(analysis, rows())?;
    // The buffer has a place for each cell that is written.
    for (name, axis) in cell.iter().zip(&buffer.axes[1..]) {
        let Some(length) = axis.length.to_aff() else { return Ok(None) };
        let inside = [Constraint::nonneg(Aff::var(name)), Constraint::lt(&Aff::var(name), &length)?];
        if !(all.implies(&inside[0])? && all.implies(&inside[1])?) {
            return Ok(None);
        }
    }
    let written = all.keep_only(&stays)?;
    let copied = system(analysis, rows().chain(&chosen_there))?.keep_only(&stays)?.system;
    if !written.exact {
        return Ok(None);
    }
    Ok(Some(Source {
        number,
        case,
        kept,
        moved: chosen,
        cell,
        written: written.system,
        copied,
        read: read.to_vec(),
        around: around.to_vec(),
    }))
}
