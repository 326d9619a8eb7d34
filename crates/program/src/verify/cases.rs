//! Systems with disjunctions: where of each of several lists of constraints at least one holds.

use loopwright_kernel_ir::Constraint;
use loopwright_poly::{Result, System};

/// A case of a system in which of each list some constraint holds; `None` if there is no such
/// point.
pub(super) fn case_with(
    system: &System,
    either: &[Vec<Constraint>],
    queries: &mut usize,
) -> Result<Option<System>> {
    *queries += 1;
    if system.is_empty()? {
        return Ok(None);
    }
    let Some((first, rest)) = either.split_first() else { return Ok(Some(system.clone())) };
    for c in first {
        if let Some(case) = case_with(&system.with(std::slice::from_ref(c))?, rest, queries)? {
            return Ok(Some(case));
        }
    }
    Ok(None)
}
