//! Systems with disjunctions: where of each of several lists of constraints at least one holds.

use loopwright_kernel_ir::Constraint;
use loopwright_poly::{Error, Result, System};

/// The most systems that are looked at for a case. There may be as many as the product of the
/// lengths of the lists; what needs more is not known.
const MOST: usize = 1 << 12;

/// A case of a system in which of each list some constraint holds; `None` if there is no such
/// point.
///
/// # Errors
///
/// [`Error::Budget`], if there are more cases than are looked at: then nothing is proved.
pub(super) fn case_with(
    system: &System,
    either: &[Vec<Constraint>],
    queries: &mut usize,
) -> Result<Option<System>> {
    let mut left = MOST;
    let found = case_within(system, either, &mut left);
    *queries += MOST - left;
    found
}

fn case_within(system: &System, either: &[Vec<Constraint>], left: &mut usize) -> Result<Option<System>> {
    *left = left.checked_sub(1).ok_or(Error::Budget)?;
    if system.is_empty()? {
        return Ok(None);
    }
    let Some((first, rest)) = either.split_first() else { return Ok(Some(system.clone())) };
    for c in first {
        if let Some(case) = case_within(&system.with(std::slice::from_ref(c))?, rest, left)? {
            return Ok(Some(case));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_kernel_ir::Aff;

    fn at_least(name: &str, least: i64) -> Constraint {
        Constraint::le(&Aff::constant(least), &Aff::var(name)).unwrap()
    }

    fn at_most(name: &str, most: i64) -> Constraint {
        Constraint::le(&Aff::var(name), &Aff::constant(most)).unwrap()
    }

    /// The last list rules out what the first ones leave: all of their choices would be tried.
    #[test]
    fn too_many_cases_are_not_known() {
        let system = System::of(vec![at_least("i", 0)]).unwrap();
        let lists = |count: i64| -> Vec<Vec<Constraint>> {
            let choices = (1..=count).map(|k| vec![at_least("i", k), at_least("i", -k)]);
            choices.chain([vec![at_most("i", -1)]]).collect()
        };
        let mut queries = 0;
        assert_eq!(case_with(&system, &lists(4), &mut queries).map(|c| c.is_none()), Ok(true));
        assert_eq!(queries, 1 + 2 + 4 + 8 + 16 + 16);
        queries = 0;
        assert_eq!(case_with(&system, &lists(24), &mut queries).map(|c| c.is_none()), Err(Error::Budget));
        assert_eq!(queries, MOST);
        // A case that is there is found all the same.
        let found = case_with(&system, &lists(24)[..24], &mut queries).unwrap();
        assert!(found.is_some());
    }
}
