//! Reductions that are computed more often than declared.
//!
//! A step may compute the value of a declared instance in several places, as each block computes
//! the sums of its tile. The accumulators of such a reduction have no counterpart in the old form.
//! They hold the declared values if every new instance of the reduction has the points of the
//! instance that it does. With W the inames around the reduction in the new form, R its own ones,
//! and v the function that gives the declared instance (w) and point (w, r), this is shown by:
//!
//! * { (w, r), (w, r') : r != r', v(w, r) = v(w, r') } is empty: no point is taken twice;
//! * { (w, q) : (v(w), q) is a declared point } is a subset of { (w, q) : v(w, r) = q }: none is
//!   left out; and the points that are taken are declared ones;
//! * the initial value comes before the points, and these before what reads the result: no pair of
//!   executions with one w has another order;
//! * the operator commutes, so that the order of the points does not matter.
//!
//! Ranges that are read from data are not followed.

use loopwright_kernel_ir::{Aff, Constraint, Name, Part, PartRef};
use loopwright_poly::{Set, System};

use super::{Checked, pair_rows};
use crate::{Model, ModelPart, Touch, conflict::primed, order::not_before, roles::PartRole};

/// Whether the reduction of this accumulator has the points of its declared instances.
pub(super) fn recomputed(
    declared: &Model<'_>,
    new: &Model<'_>,
    array: &Name,
    queries: &mut usize,
) -> Checked<bool> {
    let touches = new.touches.get(array).map_or(&[][..], Vec::as_slice);
    let of = |wanted: fn(Part) -> bool| touches.iter().find(|(p, _)| wanted(new.parts[*p].part.part));
    let (Some(&(i, _)), Some(&(u, k))) =
        (of(|p| matches!(p, Part::Init(_))), of(|p| matches!(p, Part::Update(_))))
    else {
        return Ok(false);
    };
    let (init, update) = (&new.parts[i], &new.parts[u]);
    let instruction = new.instruction(update);
    let is_decided = instruction.scan.is_some() || instruction.atom.is_some() || instruction.atomic;
    if is_decided || instruction.predicate.is_some() || update.events[k].touch != Touch::Update {
        return Ok(false);
    }
    let PartRole::Does(id, Part::Update(n)) = new.role(update) else { return Ok(false) };
    let declared_part = |part| {
        let number = declared.numbers.get(&PartRef { instruction: id.clone(), part })?;
        Some(&declared.parts[*number])
    };
    let (Some(first), Some(original)) = (declared_part(Part::Init(n)), declared_part(Part::Update(n))) else {
        return Ok(false);
    };
    let is_data = |model: &Model<'_>, part: &ModelPart| {
        let names = part.constraints.iter().flat_map(Constraint::names);
        names.into_iter().any(|n| !model.lookup.is_iname(&n) && !model.is_parameter(&n))
    };
    if is_data(new, init) || is_data(new, update) || is_data(declared, original) {
        return Ok(false);
    }

    // The declared instance, and the declared point by the names of its own inames.
    let mut instance: Vec<(Name, Aff)> = Vec::new();
    for iname in &first.inames {
        let value = new.declared_value(init, iname)?;
        let around = |n: &Name| init.inames.contains(n) || new.is_parameter(n);
        if value != new.declared_value(update, iname)? || value.mentions_any(&|n| !around(n)) {
            return Ok(false);
        }
        instance.push((iname.clone(), value));
    }
    let mut point: Vec<(Name, Aff)> = Vec::new();
    for iname in original.inames.iter().filter(|n| !first.inames.contains(n)) {
        point.push((iname.clone(), new.declared_value(update, iname)?));
    }
    let find = |all: &[(Name, Aff)], n: &Name| all.iter().find(|(m, _)| m == n).map(|(_, v)| v.clone());

    // Points that are taken are declared ones, each once.
    let taken = System::new(&[&new.context[..], &update.constraints].concat())?;
    for c in &original.constraints {
        if !taken.implies(&c.substitute(&|n| find(&instance, n).or_else(|| find(&point, n)))?)? {
            return Ok(false);
        }
    }
    let mut rows = [&new.context[..], &update.constraints].concat();
    for c in &update.constraints {
        rows.push(Constraint { kind: c.kind, aff: new.second(&c.aff)? });
    }
    for n in &init.inames {
        rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(n)))?);
    }
    for (_, value) in &point {
        rows.push(Constraint::equal(value, &new.second(value)?)?);
    }
    let twice = System::new(&rows)?;
    let own: Vec<&Name> = update.inames.iter().filter(|n| !init.inames.contains(n)).collect();
    for n in own.iter().copied() {
        *queries += 1;
        if !twice.is_empty_with(&[Constraint::lt(&Aff::var(n), &Aff::var(primed(n)))?])? {
            return Ok(false);
        }
    }

    // No declared point is left out.
    let declared_name = |n: &Name| n.followed_by("\"");
    let mut dims = init.inames.clone();
    dims.extend(point.iter().map(|(n, _)| declared_name(n)));
    let mut rows = [&new.context[..], &init.constraints].concat();
    for c in &original.constraints {
        rows.push(c.substitute(&|n| {
            let is_own = point.iter().any(|(m, _)| m == n);
            if is_own { Some(Aff::var(declared_name(n))) } else { find(&instance, n) }
        })?);
    }
    let wanted = Set::from_constraints(&dims, &rows)?;
    let mut rows = [&new.context[..], &update.constraints].concat();
    for (n, value) in &point {
        rows.push(Constraint::equal(&Aff::var(declared_name(n)), value)?);
    }
    let images = System::new(&rows)?.project_exactly(&|n| own.contains(&n))?;
    *queries += 1;
    if !wanted.is_subset(&Set::from_systems(&dims, images)?)? {
        return Ok(false);
    }

    // In order within each instance.
    let event = |(p, k): &(usize, usize)| (&new.parts[*p], &new.parts[*p].events[*k]);
    let rank = |touch: &Touch| match touch {
        Touch::Write => 0,
        Touch::Update => 1,
        _ => 2,
    };
    for (a, e) in touches.iter().map(event) {
        for (b, f) in touches.iter().map(event).filter(|(_, f)| rank(&e.touch) < rank(&f.touch)) {
            for (way, _) in not_before(a, e, b, f) {
                let rows = pair_rows(new, (a, e), (b, f), &way)?;
                *queries += 1;
                if !System::new(&rows)?.is_empty()? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}
