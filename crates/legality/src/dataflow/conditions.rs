//! Writes under a condition on data, and the reads that share it.
//!
//! Whether such a write takes place is not known, so that it may or may not hide an earlier one.
//! Taking it for granted, [`flow`](loopwright_poly::flow) finds the last write before each read,
//! `{ R[x] -> W[y] }`. What it finds is what the read sees if the write took place wherever the
//! read does, which holds if
//!
//! * the conditions of W are among those of R, and come before the read, if that is itself part of
//!   a condition of R: in `if a > 0.0 and c`, what `c` guards is read whether it holds or not;
//! * their inames have one value in both: for each iname n in them and each pair,
//!   `n_R(x) = n_W(y)`;
//! * so has everything that they read: an array that the kernel writes has one read of it in W and
//!   in R, which see the same definitions.
//!
//! Then W runs for y, and no other write lies between it and R.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Expr, Instruction, Name};
use loopwright_poly::Map;

use super::{
    Checked,
    flows::{Flows, HOPS},
};
use crate::{ModelPart, Touch};

/// The conditions of an instruction that hold wherever it reads an array: those before the first
/// one that reads it too.
pub fn conditions_before<'i>(instruction: &'i Instruction, array: &Name) -> Vec<&'i Expr> {
    let conditions = instruction.predicate.iter().flat_map(Expr::conjuncts);
    conditions.take_while(|condition| !condition.reads().contains(array)).collect()
}

impl Flows<'_, '_> {
    /// Whether a writer under a condition on data has run wherever a read of the array sees it, by
    /// the map from executions of the reader to those of the writer.
    pub(super) fn runs_with(
        &mut self,
        array: &Name,
        (reader, event): (usize, usize),
        writer: usize,
        seen: &Map,
    ) -> Checked<bool> {
        let key = (array.clone(), (reader, event), writer);
        if self.run.contains(&key) {
            return Ok(true);
        }
        let runs = self.conditions_hold(array, reader, writer, seen)?;
        if runs {
            self.run.insert(key);
        }
        Ok(runs)
    }

    /// As [`Flows::runs_with`], of any executions of the writer, which are not noted.
    pub(super) fn conditions_hold(
        &mut self,
        array: &Name,
        reader: usize,
        writer: usize,
        seen: &Map,
    ) -> Checked<bool> {
        let model = self.model;
        let (before, behind) = (&model.parts[writer], &model.parts[reader]);
        let Some(predicate) = &model.instruction(before).predicate else { return Ok(true) };
        let known: Vec<&Expr> = conditions_before(model.instruction(behind), array);
        let conditions = predicate.conjuncts();
        if conditions.iter().any(|c| !known.contains(c) || !c.reductions().is_empty()) {
            return Ok(false);
        }
        let names: BTreeSet<Name> = conditions.iter().flat_map(|c| c.names()).collect();
        let (inames, others): (Vec<&Name>, Vec<&Name>) =
            names.iter().filter(|n| !model.is_parameter(n)).partition(|n| model.lookup.is_iname(n));
        if !inames.is_empty() {
            let (Some(theirs), Some(own)) =
                (self.values_of(before, &inames)?, self.values_of(behind, &inames)?)
            else {
                return Ok(false);
            };
            if !seen.then(&theirs)?.is_subset(&own)? {
                return Ok(false);
            }
        }
        let arrays = conditions.iter().flat_map(|c| c.accesses()).map(|access| access.array);
        let read: BTreeSet<Name> = others.into_iter().cloned().chain(arrays).collect();
        for array in &read {
            if !self.sees_the_same(array, reader, writer, seen)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The values of declared inames, as a function of a part's executions.
    fn values_of(&self, part: &ModelPart, inames: &[&Name]) -> Checked<Option<Map>> {
        let dims = Self::dims(part);
        let mut values: Vec<Aff> = Vec::with_capacity(inames.len());
        for iname in inames {
            let value = self.model.declared_value(part, iname)?;
            if value.mentions_any(&|n| !dims.contains(n) && !self.model.is_parameter(n)) {
                return Ok(None);
            }
            values.push(value);
        }
        Ok(Some(Map::from_affs(&dims, &values)?))
    }

    /// Whether an array that a condition reads has the same elements in both parts.
    fn sees_the_same(&mut self, array: &Name, reader: usize, writer: usize, seen: &Map) -> Checked<bool> {
        let model = self.model;
        let touches = model.touches.get(array).map_or(&[][..], Vec::as_slice);
        let writes = |(p, k): &&(usize, usize)| model.parts[*p].events[*k].touch != Touch::Read;
        if touches.iter().find(writes).is_none() {
            return Ok(true);
        }
        let only_read = |part: &ModelPart| {
            let mut reads = part.events.iter().enumerate().filter(|(_, e)| e.array == *array);
            let first = reads.next().filter(|(_, e)| e.touch == Touch::Read)?;
            reads.all(|(_, e)| e.touch == Touch::Read && e.cell == first.1.cell).then_some(first.0)
        };
        let (Some(theirs), Some(own)) = (only_read(&model.parts[writer]), only_read(&model.parts[reader]))
        else {
            return Ok(false);
        };
        // A condition may read what is written under conditions that read it.
        if self.conditions == HOPS {
            return Ok(false);
        }
        self.conditions += 1;
        let views = [(writer, theirs), (reader, own)].map(|read| self.view(array, Some(read), HOPS));
        self.conditions -= 1;
        let [Ok(theirs), Ok(own)] = views else { return Ok(false) };
        for (what, map) in &theirs {
            let Some(own) = own.get(what) else { return Ok(false) };
            if !seen.then(map)?.is_subset(own)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
