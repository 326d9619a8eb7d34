//! The ranges of several parts that one axis of a grid goes over.
//!
//! Of the bounds of one part the strongest count, of all parts the weakest: a loop over the union
//! runs what each part needs, and guards leave out the rest.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name};
use loopwright_poly::{Bound, System};

/// Adds that coordinates are not negative: constraints that follow from it have been left out of
/// those of parts.
pub(crate) fn with_coordinates(rows: &mut Vec<Constraint>) {
    let names: BTreeSet<Name> = rows.iter().flat_map(Constraint::names).collect();
    let coordinates = names.iter().filter(|n| loopwright_legality::is_coordinate(n));
    rows.extend(coordinates.map(|n| Constraint::nonneg(Aff::var(n))));
}

/// Leaves out, of the bounds of several parts, those of a part that another one's are weaker than
/// everywhere: each of them than one of the part's own.
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
