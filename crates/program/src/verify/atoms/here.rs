//! What is known where an atom runs: by it, two functions may be the same there that differ
//! elsewhere.

use std::cell::RefCell;

use loopwright_kernel_ir::{Aff, Constraint};
use loopwright_poly::{Result, System, Table};

use crate::verify::reading::{AtomText, Reading};

/// What is known of the names around an atom, where it runs.
pub(super) struct Here {
    pub rows: Vec<Constraint>,
    /// Whether that is all that is known.
    pub exact: bool,
    /// The same as a system, once it is asked, and functions that were asked about: whether they
    /// are 0 there.
    asked: RefCell<(Option<System>, Table<Aff, bool>)>,
}

impl Here {
    pub fn new(reading: &Reading<'_>, text: &AtomText<'_>) -> Here {
        let touch = text.loaded.clone().chain(text.read.clone()).next();
        let touch = touch.and_then(|touch| reading.touches.get(touch));
        // What a choice says holds for its element alone.
        let choices = touch.and_then(|touch| touch.choices.as_deref());
        let scope = touch.filter(|_| choices.is_some()).map(|touch| reading.scope(touch.scope));
        let exact = scope.is_some_and(|scope| scope.exact && choices.is_some_and(<[_]>::is_empty));
        let rows = scope.map_or_else(Vec::new, |scope| {
            let of_place = scope.rows.iter().filter(|row| !choices.is_some_and(|c| c.contains(row)));
            of_place.chain(reading.context).cloned().collect()
        });
        Here { rows, exact, asked: RefCell::default() }
    }

    /// Whether two cells are the same one: their subscripts are, as functions, or wherever the atom
    /// runs. So the slot `k mod 3` is `k` in a loop of three iterations.
    pub fn same(&self, a: &[Aff], b: &[Aff]) -> Result<bool> {
        if a == b {
            return Ok(true);
        }
        if a.len() != b.len() {
            return Ok(false);
        }
        for (a, b) in a.iter().zip(b) {
            let apart = a.sub(b)?;
            match apart.as_constant() {
                Some(0) => continue,
                Some(_) => return Ok(false),
                None => {}
            }
            let mut asked = self.asked.borrow_mut();
            if let Some(known) = asked.1.get(&apart) {
                match known {
                    true => continue,
                    false => return Ok(false),
                }
            }
            if asked.0.is_none() {
                asked.0 = Some(System::new(&self.rows)?);
            }
            let zero = Constraint::zero(apart.clone());
            let known = match &asked.0 {
                Some(system) => system.implies(&zero)?,
                None => false,
            };
            asked.1.insert(apart, known);
            if !known {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
