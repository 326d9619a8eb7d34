//! Copies of copies: which cell of an array a copy gets by way of a buffer.
//!
//! Fragments are loaded from tiles that copies of an argument fill. What a read of a fragment sees
//! is known by [`last_gives`](loopwright_poly::last_gives) if the cell of the argument is known
//! that each load gets, as a function of the load's inames. This function is guessed, and then
//! proved in the same way: the load, as a read of the tile, sees a copy of that cell.
//!
//! The guess takes one of the copies that fill the tile, and supposes that the load reads what it
//! has written. Where both name a slot of a ring, `(k + 1) mod 3` and `(k + 2) mod 3`, the load's
//! iteration minus one is the copy's. A subscript of the argument that is one of the tile plus a
//! function of loops around both is then the load's subscript of the tile plus that function. A
//! wrong guess costs a query, and proves nothing.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Name};
use loopwright_poly::Term;

use super::{
    Checked,
    flows::{Flows, HOPS},
};
use crate::{Event, Model, ModelPart, copies::source};

impl Flows<'_, '_> {
    /// The cell of an array that each execution of a part provably copies, in terms of the part's
    /// inames: directly, or by way of buffers that only copies of the array fill. `None` means only
    /// that none is known.
    pub(super) fn copied_through(
        &mut self,
        w: usize,
        array: &Name,
        hops: usize,
    ) -> Checked<Option<Vec<Aff>>> {
        if let Some(direct) = self.copied_from(w, array) {
            return Ok(Some(direct));
        }
        if hops < 2 {
            return Ok(None);
        }
        let key = (w, array.clone());
        if let Some(known) = self.through.get(&key) {
            return Ok(known.clone());
        }
        let found = self.by_way_of_a_buffer(w, array, hops - 1)?;
        self.through.insert(key, found.clone());
        Ok(found)
    }

    fn by_way_of_a_buffer(&mut self, w: usize, array: &Name, hops: usize) -> Checked<Option<Vec<Aff>>> {
        let model = self.model;
        let part = &model.parts[w];
        let Some(from) = source(model, part).filter(|from| from.under.is_empty()) else { return Ok(None) };
        let Some(k) = part.events.iter().position(|event| std::ptr::eq(event, from)) else {
            return Ok(None);
        };
        let mut guesses: Vec<Vec<Aff>> = Vec::new();
        for (f, e) in self.writes(&from.array) {
            let Some(value) = self.copied_through(f, array, hops)? else { return Ok(None) };
            let fills = &model.parts[f];
            if let Some(guess) = guess(model, (part, from), &fills.events[e], &value)?
                && !guesses.contains(&guess)
            {
                guesses.push(guess);
            }
        }
        for guess in guesses {
            if self.sees_copy((w, k), array, &guess, hops)? {
                return Ok(Some(guess));
            }
        }
        Ok(None)
    }

    /// The argument that nothing writes and that a part copies, directly or by way of buffers, as
    /// far as one of the copies into each buffer shows.
    pub(super) fn copied_argument(&self, w: usize) -> Option<Name> {
        let model = self.model;
        let mut copy = w;
        for _ in 0..HOPS {
            let array = &source(model, &model.parts[copy])?.array;
            if model.is_given(array) && !model.is_written(array) {
                return Some(array.clone());
            }
            (copy, _) = *self.writes(array).first()?;
        }
        None
    }
}

/// The cell of the array that a read of a buffer gets if it reads what this write of the buffer has
/// copied from the cell `value`.
fn guess(
    model: &Model<'_>,
    (reader, read): (&ModelPart, &Event),
    write: &Event,
    value: &[Aff],
) -> Checked<Option<Vec<Aff>>> {
    let subscripts = |event: &Event| event.cell.iter().cloned().collect::<Option<Vec<Aff>>>();
    let (Some(read), Some(written)) = (subscripts(read), subscripts(write)) else { return Ok(None) };
    // Iterations of the copy, by those of the read.
    let mut iterations: BTreeMap<Name, Aff> = BTreeMap::new();
    for (s, t) in read.iter().zip(&written) {
        let (Some((s, slots)), Some((t, others))) = (dividend(s)?, dividend(t)?) else { continue };
        let counter = t.names().into_iter().find(|n| t.coefficient(n) == 1 && !model.is_parameter(n));
        if let Some(counter) = counter
            && slots == others
        {
            let offset = t.sub(&Aff::var(&counter))?;
            iterations.insert(counter, s.sub(&offset)?);
        }
    }
    let is_known = |aff: &Aff| aff.names().iter().all(|n| reader.inames.contains(n) || model.is_parameter(n));
    let mut cell = Vec::new();
    for subscript in value {
        let here = subscript.substitute(&|n| iterations.get(n).cloned())?;
        let mut found = is_known(&here).then_some(here);
        for (s, t) in read.iter().zip(&written) {
            let rest = subscript.sub(t)?.substitute(&|n| iterations.get(n).cloned())?;
            if found.is_none() && is_known(&rest) {
                found = Some(s.add(&rest)?);
            }
        }
        let Some(found) = found else { return Ok(None) };
        cell.push(found);
    }
    Ok(Some(cell))
}

/// `a` and `n` where the function is `a mod n`.
fn dividend(aff: &Aff) -> Checked<Option<(Aff, i64)>> {
    for (term, k) in aff.terms() {
        if let Term::Div(div) = term
            && k.checked_neg() == Some(div.denominator)
        {
            let quotient = div.numerator.floor_div(div.denominator)?;
            if aff.add(&quotient.scale(div.denominator)?)? == div.numerator {
                return Ok(Some((div.numerator.clone(), div.denominator)));
            }
        }
    }
    Ok(None)
}
