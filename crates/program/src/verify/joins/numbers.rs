//! Whether the numbers that a scan's points have in the text are the order of the kernel's scan.
//!
//! In the text a point is numbered by its block, where blocks look back, by its round, by its
//! thread in the group (z, y, x), and by its lane. A round is an iteration of the loops between the
//! first value and the join; the outermost of them counts first. The kernel scans along an iname,
//! which is a function of the inames that the loops count, of the coordinates and of lanes. The
//! query is whether two points of one accumulator exist such that the first has a lower number in
//! the text and no lower value of that iname, or such that both have one number and different
//! values. Loops and axes go up, as lanes do.
//!
//! Points of one accumulator are in one iteration of the loops around the first value, and in
//! threads that differ on the axes that are joined only.

use loopwright_kernel_ir::{Aff, Constraint, Dim, HardwareAxis, Lookup, LoopKernel, Name};
use loopwright_legality::{along, primed};
use loopwright_poly::{Result, System};

use super::{Found, Reduction};
use crate::{DeviceKernel, Program, Stmt, VarId};

/// Why the numbers are not in the kernel's order; `None` if they are.
pub(super) fn wrong_numbers(
    kernel: &LoopKernel,
    program: &Program,
    device: &DeviceKernel,
    instruction: &Name,
    reduction: &Reduction<'_>,
    found: &Found<'_>,
) -> Option<String> {
    let lookup = Lookup::new(kernel);
    let Some(Ok(inames)) = lookup.instruction(instruction).and_then(|i| along(kernel, &lookup, i)) else {
        return Some("is not along an iname that the others are digits of".into());
    };
    let rounds = found.loops.strip_prefix(reduction.loops.as_slice());
    let Some(rounds) = rounds else { return Some("is not in the loops of its first value".into()) };
    let meaning = |var: &VarId| device.vars.get(var.0).and_then(|v| v.meaning.as_ref());
    let is_joined = |dim: Dim| found.join.axes.iter().any(|(axis, _)| *axis == dim);
    let mut own_lanes: Vec<&Name> = Vec::new();
    for (iname, _) in &inames {
        let tag = kernel.tag(iname);
        match tag.axis() {
            Some(HardwareAxis::Grid(dim)) if found.join.tiles != Some(dim) => {
                return Some(format!("goes along blocks, by `{iname}`"));
            }
            Some(HardwareAxis::Grid(_)) => {}
            Some(HardwareAxis::Block(dim)) if !is_joined(dim) && device.block[dim] > 1 => {
                return Some(format!("does not join the threads of `{iname}`"));
            }
            Some(HardwareAxis::Block(_)) => {}
            None if tag.is_jam() => own_lanes.push(iname),
            None => {
                let is_round =
                    rounds.iter().filter_map(meaning).any(|meaning| meaning.coefficient(iname) > 0);
                if !is_round && counted(device, iname) {
                    return Some(format!("is not in the loop over `{iname}`"));
                }
            }
        }
    }
    if let [_, second, ..] = own_lanes.as_slice() {
        return Some(format!("has `{second}` in another order than the kernel"));
    }
    // What the points of one accumulator have in common.
    let mut same: Vec<Aff> = reduction.loops.iter().filter_map(meaning).cloned().collect();
    same.extend(reduction.init_lanes.iter().map(Aff::var));
    let others = |axis: &HardwareAxis| match axis {
        HardwareAxis::Block(dim) => !is_joined(*dim),
        HardwareAxis::Grid(dim) => found.join.tiles != Some(*dim),
    };
    same.extend(HardwareAxis::all().filter(others).map(HardwareAxis::position));
    // The number of a point, and what to say of two that are in another order by it.
    let mut places: Vec<(Aff, String)> = Vec::new();
    let turned = |iname: &Name| format!("has `{iname}` in another order than the kernel");
    if let Some(dim) = found.join.tiles {
        let axis = HardwareAxis::Grid(dim);
        let iname = inames.iter().find(|(iname, _)| kernel.tag(iname).axis() == Some(axis));
        let Some((iname, _)) = iname else {
            return Some(format!("goes on along the blocks of {dim}, which it is not along"));
        };
        places.push((axis.position(), turned(iname)));
    }
    for var in rounds {
        let Some(meaning) = meaning(var) else {
            return Some("carries a total over a loop that it is not along".into());
        };
        let iname = inames.iter().find(|(iname, _)| meaning.coefficient(iname) > 0);
        let said = iname.map(|(iname, _)| turned(iname));
        let said = said.unwrap_or_else(|| "carries a total over a loop that it is not along".into());
        places.push((meaning.clone(), said));
    }
    for dim in [Dim::Z, Dim::Y, Dim::X].into_iter().filter(|dim| is_joined(*dim)) {
        let axis = HardwareAxis::Block(dim);
        let iname = inames.iter().find(|(iname, _)| kernel.tag(iname).axis() == Some(axis));
        let said = match iname {
            Some((iname, _)) => turned(iname),
            None => format!("joins threads along {dim}, which it is not along"),
        };
        places.push((axis.position(), said));
    }
    places.extend(own_lanes.iter().map(|lane| (Aff::var(*lane), turned(lane))));
    let points = Points { kernel, program, lookup: &lookup };
    match points.wrong_place(instruction, &same, &places) {
        Ok(None) => {}
        Ok(Some(wrong)) => return Some(wrong),
        Err(_) => return Some("has numbers that no question is asked about".into()),
    }
    let lanes = reduction.lanes.difference(&reduction.init_lanes);
    let other = lanes.into_iter().find(|lane| !own_lanes.contains(lane));
    other.map(|lane| format!("has the lanes `{lane}`, which it is not along"))
}

/// Two points of a scan: names of the second one have a prime, but for parameters.
struct Points<'a> {
    kernel: &'a LoopKernel,
    program: &'a Program,
    lookup: &'a Lookup<'a>,
}

impl Points<'_> {
    /// What is said of the first place by which two points of one accumulator are reversed.
    fn wrong_place(
        &self,
        instruction: &Name,
        same: &[Aff],
        places: &[(Aff, String)],
    ) -> Result<Option<String>> {
        let Some(instruction) = self.lookup.instruction(instruction) else { return Ok(None) };
        let Some(value) = instruction.scan_value() else { return Ok(None) };
        let value = self.of_text(&value)?;
        let mut rows = self.kernel.assumptions.clone();
        for c in self.lookup.instances(&instruction.within) {
            let c = Constraint { kind: c.kind, aff: self.of_text(&c.aff)? };
            rows.push(Constraint { kind: c.kind, aff: self.second(&c.aff)? });
            rows.push(c);
        }
        for aff in same {
            let aff = self.of_text(aff)?;
            rows.push(Constraint::equal(&aff, &self.second(&aff)?)?);
        }
        let mut equal = System::new(&rows)?;
        let not_below = Constraint::le(&self.second(&value)?, &value)?;
        for (place, said) in places {
            let place = self.of_text(place)?;
            let other = self.second(&place)?;
            if !equal.is_empty_with(&[Constraint::lt(&place, &other)?, not_below.clone()])? {
                return Ok(Some(said.clone()));
            }
            equal = equal.with(&[Constraint::equal(&place, &other)?])?;
        }
        let apart = Constraint::lt(&value, &self.second(&value)?)?;
        let found = !equal.is_empty_with(&[apart])?;
        Ok(found.then(|| "gives several points one number".into()))
    }

    /// The function over inames of loops, lanes, coordinates and parameters.
    fn of_text(&self, aff: &Aff) -> Result<Aff> {
        let coordinates = &self.program.coordinates;
        self.lookup
            .expand(aff)?
            .substitute(&|n| coordinates.iter().find(|(name, _)| name == n).map(|(_, value)| value.clone()))
    }

    fn second(&self, aff: &Aff) -> Result<Aff> {
        aff.rename(&|n| (!self.lookup.is_scalar(n)).then(|| primed(n)))
    }
}

/// Whether a loop of the text counts an iname.
fn counted(device: &DeviceKernel, iname: &Name) -> bool {
    let mut found = false;
    Stmt::visit(&device.body, &mut |stmt| {
        if let Stmt::For { var, .. } = stmt {
            let meaning = device.vars.get(var.0).and_then(|v| v.meaning.as_ref());
            found |= meaning.is_some_and(|meaning| meaning.mentions(iname));
        }
    });
    found
}
