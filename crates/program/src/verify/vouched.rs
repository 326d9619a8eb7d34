//! What the user's word (`assume_legal`) covers.
//!
//! It covers two executions of one part, in one iteration of the loops around it, that touch one
//! element by what data say alone: of different threads or blocks (`order`), or of lanes of one
//! thread (`sequence`).

use loopwright_kernel_ir::Constraint;
use loopwright_legality::Load;
use loopwright_poly::{Result, System};

/// Whether the executions of a case may meet whatever the data are, since what they load may be one
/// element each: nothing that can be vouched for.
pub(super) fn meets_anyway(case: &System, (own, others): (&[Load], &[Load])) -> Result<bool> {
    let mut alike = Vec::new();
    for (load, other) in own.iter().zip(others).filter(|(load, other)| load.array == other.array) {
        for (x, y) in load.arguments.iter().zip(&other.arguments) {
            alike.push(Constraint::equal(x, y)?);
        }
    }
    Ok(!alike.is_empty() && own.len() == others.len() && !case.with(&alike)?.is_empty()?)
}
