//! What the user's word (`assume_legal`) covers.
//!
//! It covers two executions of one part, in one iteration of the loops around it, that touch one
//! element by what data say alone: of different threads or blocks (`order`), or of lanes of one
//! thread (`sequence`). Of different blocks, which no loop of a thread orders, it covers executions
//! in any two iterations, if what they load for the subscripts is never one element.

use loopwright_kernel_ir::{Aff, Constraint, Name};
use loopwright_legality::{Load, primed};
use loopwright_poly::{Result, System};

/// What an execution loads for the subscripts of a cell, which are over its own names; the names of
/// the second execution's loads are primed.
pub(super) fn loaded_for(cell: &[Option<Aff>], loads: &[Load], is_second: bool) -> Vec<Load> {
    let names: Vec<Name> = cell.iter().flatten().flat_map(Aff::names).collect();
    let is_named = |load: &&Load| match is_second {
        true => names.iter().any(|n| primed(n) == load.name),
        false => names.contains(&load.name),
    };
    loads.iter().filter(is_named).cloned().collect()
}

/// Whether executions that load this for the subscripts of their cells meet by what data say alone.
pub(super) fn meets_by_data_alone(case: &System, (own, others): (&[Load], &[Load])) -> Result<bool> {
    let are_paired = own.len() == others.len()
        && own
            .iter()
            .zip(others)
            .all(|(load, other)| load.array == other.array && !load.arguments.is_empty());
    Ok(!own.is_empty() && are_paired && !meets_anyway(case, (own, others))?)
}

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
