//! Ownership of an array's cells in both forms.
//!
//! An owner (see [`owner`]) is identified by the values of the inames on the owning axes and of the
//! lanes. Executions with different owners never touch the same cell. If a step refines ownership,
//! as a thread tag does for a private temporary, pairs with different owners no longer conflict;
//! but then no value may have passed between them (see [`Comparison::flows_stay`]). Any other
//! change of ownership is not proved here.

use std::{cmp::Ordering, collections::BTreeSet};

use loopwright_kernel_ir::{AddressSpace, Aff, Constraint, HardwareAxis, Name};
use loopwright_poly::{Result, System};

use super::Comparison;
use crate::{ModelPart, Presence, Touch, conflict::primed, order::common, owner};

/// How the owners of an array's cells changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owners {
    Same,
    Finer,
    Other,
}

impl Comparison<'_, '_> {
    /// Inames whose values own the cells that a part touches: first by axis, then lanes.
    pub(super) fn owner_inames(part: &ModelPart, space: AddressSpace) -> BTreeSet<Name> {
        let mut found: BTreeSet<Name> = BTreeSet::new();
        found.extend(owner(space).iter().filter_map(|axis| part.executor[axis].iname()).cloned());
        if space == AddressSpace::Private {
            found.extend(part.lanes.iter().cloned());
        }
        found
    }

    /// The most severe change of ownership over all accesses to the array.
    pub(super) fn owners(&self, array: &Name) -> Owners {
        let (was, is) = (self.old.space(array), self.new.space(array));
        let mut owners = Owners::Same;
        for (p, _) in &self.new.touches[array] {
            let part = &self.new.parts[*p];
            let Some(link) = &self.links[*p] else { return Owners::Other };
            let mut before = BTreeSet::new();
            for n in Self::owner_inames(&self.old.parts[link.old], was) {
                match link.values.get(&n).and_then(Aff::as_var) {
                    Some(n) => {
                        before.insert(n.clone());
                    }
                    None => return Owners::Other,
                }
            }
            let after = Self::owner_inames(part, is);
            if before == after {
                continue;
            }
            if !before.is_subset(&after) {
                return Owners::Other;
            }
            owners = Owners::Finer;
        }
        owners
    }

    fn lower(&mut self, new: bool, iname: &Name) -> Result<Option<Aff>> {
        if new && let Some(known) = self.lowers.get(iname) {
            return Ok(known.clone());
        }
        let lower = if new { self.new.lower(iname)? } else { self.old.lower(iname)? };
        if new {
            self.lowers.insert(iname.clone(), lower.clone());
        }
        Ok(lower)
    }

    /// The condition for two parts of the new form to touch cells of one owner: pairs of functions
    /// that must be equal, the second over the inames of the second execution.
    pub(super) fn one_owner(&mut self, p: usize, q: usize, array: &Name) -> Result<Vec<(Aff, Aff)>> {
        let space = self.new.space(array);
        let (a, b) = (&self.new.parts[p], &self.new.parts[q]);
        let mut equal = Vec::new();
        for axis in owner(space).iter() {
            match (&a.executor[axis], &b.executor[axis]) {
                (Presence::At(m), Presence::At(n)) if m == n => {
                    equal.push((Aff::var(m), Aff::var(n)));
                }
                (Presence::At(m), Presence::At(n)) => {
                    let (m, n) = (m.clone(), n.clone());
                    if let (Some(x), Some(y)) = (self.lower(true, &m)?, self.lower(true, &n)?) {
                        equal.push((Aff::var(&m).sub(&x)?, Aff::var(&n).sub(&y)?));
                    }
                }
                (Presence::At(m), Presence::Elected) => {
                    let m = m.clone();
                    if let Some(x) = self.lower(true, &m)? {
                        equal.push((Aff::var(&m), x));
                    }
                }
                (Presence::Elected, Presence::At(n)) => {
                    let n = n.clone();
                    if let Some(y) = self.lower(true, &n)? {
                        equal.push((y, Aff::var(&n)));
                    }
                }
                _ => {}
            }
        }
        if space == AddressSpace::Private {
            let (a, b) = (&self.new.parts[p], &self.new.parts[q]);
            equal.extend(a.lanes.iter().filter(|l| b.lanes.contains(l)).map(|l| (Aff::var(l), Aff::var(l))));
        }
        Ok(equal)
    }

    /// Whether every read of an array with refined owners provably sees a write by its own owner.
    /// An update is a read here, and no write: it passes on what the cell held.
    ///
    /// It does if some write of the cell precedes it in the same iteration of all old loops that
    /// now own cells: then no write of another iteration comes between the two, so the last write
    /// before the read is in the same iteration and has the same owner. All pairs of one owner keep
    /// their order, so it is the last write in the new order too.
    pub(super) fn flows_stay(&mut self, array: &Name) -> Result<bool> {
        let touches = self.new.touches[array].clone();
        let new = self.new;
        let space = new.space(array);
        let writes: Vec<(usize, usize)> =
            touches.iter().copied().filter(|(p, k)| new.parts[*p].events[*k].touch != Touch::Read).collect();
        // Axes on which writers differ; on the other axes every thread has all values.
        let differs =
            |axis: &HardwareAxis| writes.iter().any(|(p, _)| new.parts[*p].executor[*axis].iname().is_some());
        let axes: Vec<HardwareAxis> = owner(space).iter().filter(differs).collect();
        let lanes: BTreeSet<&Name> = match space {
            AddressSpace::Private => writes.iter().flat_map(|(p, _)| &new.parts[*p].lanes).collect(),
            _ => BTreeSet::new(),
        };
        let is_update = |touch: &Touch| matches!(touch, Touch::Combine(_));
        let reads = |touch: &Touch| *touch == Touch::Read || is_update(touch);
        for &(q, l) in touches.iter().filter(|(q, l)| reads(&new.parts[*q].events[*l].touch)) {
            let reader = &new.parts[q];
            let mut owners: Vec<Name> = Vec::new();
            for axis in &axes {
                match reader.executor[*axis].iname() {
                    Some(n) => owners.push(n.clone()),
                    None => return Ok(false),
                }
            }
            for lane in &lanes {
                if !reader.lanes.contains(lane) {
                    return Ok(false);
                }
                owners.push((*lane).clone());
            }
            let mut found = false;
            let begins = |(p, k): &&(usize, usize)| *p < q && !is_update(&new.parts[*p].events[*k].touch);
            for &(p, k) in writes.iter().rev().filter(begins) {
                if self.writes_before(array, (p, k), (q, l), &axes, &owners)? {
                    found = true;
                    break;
                }
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether each read of a cell is preceded by a write in the same iteration of the old loops
    /// over `owners` and at the same place on `axes`.
    fn writes_before(
        &mut self,
        array: &Name,
        (p, k): (usize, usize),
        (q, l): (usize, usize),
        axes: &[HardwareAxis],
        owners: &[Name],
    ) -> Result<bool> {
        let new = self.new;
        let (writer, reader) = (&new.parts[p], &new.parts[q]);
        let (e, f) = (&writer.events[k], &reader.events[l]);
        if p == q || writer.may || !self.link(p)?.identity || !self.link(q)?.identity {
            return Ok(false);
        }
        let (was_writer, was_reader) =
            (&self.old.parts[self.link(p)?.old], &self.old.parts[self.link(q)?.old]);
        let (loops, position) = common(was_writer, was_reader);
        let same_space = self.old.space(array) == new.space(array);
        let own_already = |n: &Name| {
            same_space
                && (was_writer.hardware.contains(n) && was_reader.hardware.contains(n)
                    || was_writer.lanes.contains(n) && was_reader.lanes.contains(n))
        };
        if position != Ordering::Less || !owners.iter().all(|n| loops.contains(n) || own_already(n)) {
            return Ok(false);
        }
        if axes.iter().any(|axis| writer.executor[*axis] != reader.executor[*axis]) {
            return Ok(false);
        }
        // The writer's execution with the reader's iname values, if the writer has no other inames.
        if writer.inames.iter().all(|n| reader.inames.contains(n))
            && e.cell == f.cell
            && e.cell.iter().all(Option::is_some)
        {
            let missing: Vec<Constraint> =
                writer.constraints.iter().filter(|c| !reader.constraints.contains(c)).cloned().collect();
            if missing.is_empty() {
                return Ok(true);
            }
            let rows: Vec<Constraint> = new.context.iter().chain(&reader.constraints).cloned().collect();
            self.queries += 1;
            return System::new(&rows)?.implies_all(&missing);
        }
        let mut known: Vec<Constraint> = new.context.iter().chain(&reader.constraints).cloned().collect();
        known.extend(new.ranges_of_data(reader)?);
        let mut rows = known.clone();
        for c in &writer.constraints {
            rows.push(Constraint { kind: c.kind, aff: self.new.second(&c.aff)? });
        }
        for n in loops.iter().chain(owners) {
            rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(n)))?);
        }
        for n in was_writer.hardware.iter().filter(|n| was_reader.hardware.contains(n)) {
            rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(n)))?);
        }
        for (s, t) in f.cell.iter().zip(&e.cell) {
            let (Some(s), Some(t)) = (s, t) else { return Ok(false) };
            rows.push(Constraint::equal(s, &self.new.second(t)?)?);
        }
        let mine = |n: &Name| writer.inames.iter().any(|i| primed(i) == *n);
        // Values that the reader reads from data are integers in their declared ranges.
        let read = |n: &Name| reader.loads.iter().any(|load| load.name == *n);
        let known_name = |n: &Name| new.is_parameter(n) || reader.inames.contains(n) || read(n) || mine(n);
        let plain = |c: &Constraint| !c.aff.mentions_any(&|n| !known_name(n));
        if !rows.iter().all(plain) {
            return Ok(false);
        }
        self.queries += 1;
        let [written] = &System::new(&rows)?.project_exactly(&mine)?[..] else { return Ok(false) };
        System::new(&known)?.implies_all(written.constraints())
    }
}
