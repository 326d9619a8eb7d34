//! Reads of arrays that only copies of one other array fill.
//!
//! Which cell of the other array such a read should see is known: the declared one. A copy of that
//! cell is looked for instead of the last write ([`last_gives`]), which costs less where a ring of
//! buffers is filled by several copies, some of them iterations ago. Copies may themselves read
//! copies ([`super::through`]).
//!
//! If nothing writes the other array, the copy holds the cell's initial value. If something does,
//! but each copy sees what its cell holds at the end of the kernel, as where the array is complete
//! before it is copied, then what the cell holds then is also what the read sees.

use loopwright_kernel_ir::{Aff, Name};
use loopwright_poly::{Map, Set, Valued, last_gives};

use super::{
    Checked,
    flows::{Flows, HOPS, View, unite},
};
use crate::{Touch, copies::source, owner};

impl Flows<'_, '_> {
    /// What a read sees, if it provably sees copies of this cell of a written array that all
    /// threads share, and each copy of the array sees what its cell holds in the end. `None` means
    /// only that there is no proof.
    pub(super) fn sees_copy_of_result(
        &mut self,
        (p, k): (usize, usize),
        array: &Name,
        cell: &[Aff],
    ) -> Checked<Option<View>> {
        let model = self.model;
        // In the end there are no threads to which copies of an array could belong.
        let is_shared_by_all =
            owner(model.space(array)).iter().next().is_none() && model.owning_lanes(array).is_empty();
        if !is_shared_by_all || !self.sees_copy((p, k), array, cell, 1)? {
            return Ok(None);
        }
        let Ok(ends) = self.view(array, None, HOPS) else { return Ok(None) };
        for (w, _) in self.writes(&model.parts[p].events[k].array) {
            let part = &model.parts[w];
            let is_source =
                |e: &usize| part.events[*e].touch == Touch::Read && part.events[*e].array == *array;
            let (Some(e), Some(from)) = ((0..part.events.len()).find(is_source), self.copied_from(w, array))
            else {
                return Ok(None);
            };
            if self.is_complete_before(array, w) {
                continue;
            }
            let Ok(seen) = self.view(array, Some((w, e)), HOPS) else { return Ok(None) };
            let from = Map::from_affs(&Self::dims(part), &from)?;
            for (seen, map) in &seen {
                let Some(end) = ends.get(seen) else { return Ok(None) };
                if !map.is_subset(&from.then(end)?)? {
                    return Ok(None);
                }
            }
        }
        let read = self.access(p, k)?;
        let domain = Set::from_constraints(&read.dims, &read.constraints)?;
        let wanted = Map::from_affs(&read.dims, cell)?.intersect_domain(&domain)?;
        let mut view = View::new();
        for (seen, end) in ends {
            unite(&mut view, seen, wanted.then(&end)?)?;
        }
        Ok(Some(view))
    }

    /// Whether all writes of an array are in loops that end before those of this part begin: what
    /// the part reads is what the cells hold in the end.
    fn is_complete_before(&self, array: &Name, part: usize) -> bool {
        let root = |p: usize| self.model.parts[p].path.first().map(|step| step.position);
        self.writes(array).into_iter().all(|(w, _)| root(w).is_some() && root(w) < root(part))
    }

    /// Whether only copies of an array fill what a read reads, and it provably sees one of this
    /// cell, in terms of the read's inames; `hops` is the greatest number of copies in a row.
    /// `false` means only that there is no proof.
    pub(super) fn sees_copy(
        &mut self,
        (p, k): (usize, usize),
        array: &Name,
        cell: &[Aff],
        hops: usize,
    ) -> Checked<bool> {
        let mut writes = Vec::new();
        for (w, e) in self.writes(&self.model.parts[p].events[k].array) {
            let Some(value) = self.copied_through(w, array, hops)? else { return Ok(false) };
            let Ok(access) = self.access(w, e) else { return Ok(false) };
            writes.push(Valued { access, value });
        }
        let Ok(read) = self.access(p, k) else { return Ok(false) };
        self.queries += 1;
        Ok(last_gives(&read, &writes, cell)?)
    }

    /// The cell of the array that each execution of a part copies, if it does nothing else.
    pub(super) fn copied_from(&self, w: usize, array: &Name) -> Option<Vec<Aff>> {
        let part = &self.model.parts[w];
        let source = source(self.model, part).filter(|e| e.array == *array && e.under.is_empty())?;
        let plain = |s: &Aff| !s.mentions_any(&|n| !part.inames.contains(n) && !self.model.is_parameter(n));
        source.cell.iter().map(|s| s.clone().filter(plain)).collect()
    }
}
