//! The ranges of several parts that share an axis of the grid.
//!
//! The bounds of one part are a conjunction, those of several parts a disjunction: a loop over the
//! hull covers what each part needs, and guards exclude the rest.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name};
use loopwright_poly::{Bound, System};

/// Adds the non-negativity of coordinates, since constraints that follow from it have been dropped
/// from parts.
pub(crate) fn with_coordinates(rows: &mut Vec<Constraint>) {
    let names: BTreeSet<Name> = rows.iter().flat_map(Constraint::names).collect();
    let coordinates = names.iter().filter(|n| loopwright_legality::is_coordinate(n));
    rows.extend(coordinates.map(|n| Constraint::nonneg(Aff::var(n))));
}

/// Drops the bounds of a part if those of another part are weaker: each of these is implied by one
/// of the part's own.
pub(crate) fn weakest(lists: &mut Vec<Vec<Bound>>, context: &System) -> Result<(), Diagnostic> {
    let is_weaker = |a: &Bound, b: &Bound| -> Result<bool, Diagnostic> {
        let (a, b) = (a.aff.scale(b.denominator)?, b.aff.scale(a.denominator)?);
        Ok(context.implies(&Constraint::le(&a, &b)?)?)
    };
    let covers = |wide: &[Bound], narrow: &[Bound]| -> Result<bool, Diagnostic> {
        for b in wide {
            let mut weaker = false;
            for a in narrow {
                weaker = weaker || is_weaker(a, b)?;
            }
            if !weaker {
                return Ok(false);
            }
        }
        Ok(!narrow.is_empty())
    };
    let mut k = 0;
    while k < lists.len() {
        let mut covered = false;
        for n in (0..lists.len()).filter(|n| *n != k) {
            covered = covered || covers(&lists[n], &lists[k])?;
        }
        if covered {
            lists.remove(k);
        } else {
            k += 1;
        }
    }
    Ok(())
}
