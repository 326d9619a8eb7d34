//! What private arrays hold that serve statements: vectors and elements that lanes share.
//!
//! A [`Piece`] is a range of an array's elements with one form, a function of the range's
//! parameters. One that is written in a loop over lanes is a function of the lane there, and of a
//! parameter after the loop. One that is written under a condition is read under the same.

use loopwright_kernel_ir::{Aff, Name};
use loopwright_poly::Table;

use super::forms::{Form, Forms};

/// Elements of an array, and what they hold.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The subscripts: functions of parameters and of lanes around.
    pub subscripts: Vec<Aff>,
    /// The parameters, each with its least value and the one after its greatest.
    pub parameters: Vec<(Name, i64, i64)>,
    pub form: Form,
    /// The conditions under which it is there, besides those around.
    pub conditions: Vec<Form>,
}

/// What private arrays hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    /// By the number of the array; later pieces hide earlier ones. Each with its own number.
    pieces: Table<usize, Vec<(usize, Piece)>>,
    written: usize,
    parameters: usize,
}

/// How a piece stands to the element that is read.
enum Found {
    Here(Form),
    Elsewhere,
    Unclear,
}

impl Buffers {
    /// A parameter that nothing else has.
    pub fn parameter(&mut self) -> Name {
        self.parameters += 1;
        Name::new(format!("element {}", self.parameters))
    }

    pub fn write(&mut self, array: usize, piece: Piece) {
        self.written += 1;
        let pieces = self.pieces.entry(array).or_default();
        // Neighbouring vectors of one form are one.
        if let Some((number, last)) = pieces.last_mut()
            && last.conditions == piece.conditions
            && last.form == piece.form
            && last.subscripts == piece.subscripts
            && let ([(name, _, end)], [(other, low, further)]) =
                (last.parameters.as_mut_slice(), piece.parameters.as_slice())
            && name == other
            && end == low
        {
            *end = *further;
            *number = self.written;
            return;
        }
        pieces.push((self.written, piece));
    }

    /// A number that pieces which are written from here on exceed.
    pub fn now(&self) -> usize {
        self.written
    }

    /// What has been written since then is there under a condition.
    pub fn depends(&mut self, since: usize, condition: Form) {
        for (_, piece) in self.pieces.values_mut().flatten().filter(|(number, _)| *number > since) {
            piece.conditions.push(condition);
        }
    }

    pub fn forget(&mut self, array: usize) {
        self.pieces.remove(&array);
    }

    /// After a choice, where `one` is what one side has left and `self` the other: elements that
    /// both have written are chosen by the condition.
    pub fn choose(&mut self, forms: &mut Forms, one: Buffers, since: usize, condition: Form) {
        let arrays: Vec<usize> = self.pieces.keys().chain(one.pieces.keys()).copied().collect();
        self.written = self.written.max(one.written);
        for array in arrays {
            let new = |of: &Buffers| {
                let pieces = of.pieces.get(&array)?;
                Some(pieces.iter().filter(|(n, _)| *n > since).map(|(_, p)| p.clone()).collect::<Vec<_>>())
            };
            let (Some(a), Some(b)) = (new(&one), new(self)) else {
                self.forget(array);
                continue;
            };
            let chosen = match (a.as_slice(), b.as_slice()) {
                ([], []) => continue,
                ([a], [b]) if a.subscripts == b.subscripts && a.parameters == b.parameters => {
                    let plain = a.conditions.is_empty() && b.conditions.is_empty();
                    plain.then(|| Piece { form: forms.choice(condition, a.form, b.form), ..a.clone() })
                }
                _ => None,
            };
            match (chosen, self.pieces.get_mut(&array)) {
                (Some(chosen), Some(pieces)) => {
                    pieces.retain(|(number, _)| *number <= since);
                    self.write(array, chosen);
                }
                _ => self.forget(array),
            }
        }
    }

    /// The form of an element where these conditions hold. `range` bounds functions of lanes, both
    /// ends inclusive.
    pub fn read(
        &self,
        forms: &mut Forms,
        array: usize,
        subscripts: &[Aff],
        holding: &[Form],
        range: &dyn Fn(&Aff) -> Option<(i64, i64)>,
    ) -> Option<Form> {
        for (_, piece) in self.pieces.get(&array)?.iter().rev() {
            match piece.at(forms, subscripts, holding, range) {
                Found::Here(form) => return Some(form),
                Found::Elsewhere => {}
                Found::Unclear => return None,
            }
        }
        None
    }

    /// Behind a loop over these values of a lane: pieces of single elements become those of all.
    pub fn leave(&mut self, forms: &mut Forms, lane: &Name, (low, end): (i64, i64)) {
        let arrays: Vec<usize> = self.pieces.keys().copied().collect();
        for array in arrays {
            let Some(mut pieces) = self.pieces.remove(&array) else { continue };
            let mut kept = true;
            for (_, piece) in &mut pieces {
                let is_of_lane = piece.subscripts.iter().any(|s| s.mentions(lane));
                let computed = [&[piece.form][..], &piece.conditions].concat();
                if !is_of_lane && !computed.iter().any(|f| forms.mentions(*f, lane)) {
                    continue;
                }
                // An element for each value of the lane.
                let own = |s: &Aff| s.coefficient(lane) == 1 && s.names().len() == 1 && s.is_affine();
                if !piece.subscripts.iter().any(own) || low >= end {
                    kept = false;
                    break;
                }
                // One that is last has the name that it has in vectors.
                let last = piece.subscripts.last().filter(|s| own(s) && piece.parameters.is_empty());
                let moved = last.map_or(0, Aff::constant_term);
                let parameter = match last {
                    Some(_) => Name::new("subscript"),
                    None => {
                        self.parameters += 1;
                        Name::new(format!("element {}", self.parameters))
                    }
                };
                let Ok(value) = Aff::var(&parameter).add_constant(moved.saturating_neg()) else {
                    kept = false;
                    break;
                };
                let (low, end) = (low.saturating_add(moved), end.saturating_add(moved));
                let by = Table::from_iter([(lane.clone(), value)]);
                let subscripts: Result<Vec<Aff>, _> =
                    piece.subscripts.iter().map(|s| s.substitute(&|n| by.get(n).cloned())).collect();
                let Ok(subscripts) = subscripts else {
                    kept = false;
                    break;
                };
                piece.subscripts = subscripts;
                piece.form = forms.substitute(piece.form, &by);
                piece.conditions.iter_mut().for_each(|c| *c = forms.substitute(*c, &by));
                piece.parameters.push((parameter, low, end));
            }
            if kept {
                self.pieces.insert(array, pieces);
            }
        }
    }
}

impl Piece {
    fn at(
        &self,
        forms: &mut Forms,
        subscripts: &[Aff],
        holding: &[Form],
        range: &dyn Fn(&Aff) -> Option<(i64, i64)>,
    ) -> Found {
        if subscripts.len() != self.subscripts.len() {
            return Found::Unclear;
        }
        let mut by: Table<Name, Aff> = Table::default();
        let mut clear = true;
        for (own, read) in self.subscripts.iter().zip(subscripts) {
            let parameter = self.parameters.iter().find(|(name, ..)| own.mentions(name));
            let Some((name, low, end)) = parameter else {
                match own.sub(read).ok().and_then(|d| d.as_constant()) {
                    Some(0) => {}
                    Some(_) => return Found::Elsewhere,
                    None => clear = false,
                }
                continue;
            };
            let at = own.sub(&Aff::var(name)).and_then(|rest| read.sub(&rest));
            let (Ok(at), 1) = (at, own.coefficient(name)) else { return Found::Unclear };
            match range(&at) {
                Some((least, greatest)) if greatest < *low || least >= *end => return Found::Elsewhere,
                Some((least, greatest)) if least >= *low && greatest < *end => {}
                _ => clear = false,
            }
            if by.insert(name.clone(), at.clone()).is_some_and(|other| other != at) {
                clear = false;
            }
        }
        let clear = clear && self.conditions.iter().all(|c| holding.contains(&forms.substitute(*c, &by)));
        match clear && by.len() == self.parameters.len() {
            true => Found::Here(forms.substitute(self.form, &by)),
            false => Found::Unclear,
        }
    }
}

#[cfg(test)]
mod tests;
