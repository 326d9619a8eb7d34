//! Rows that are short and not aligned, by way of shared memory.

use loopwright_kernel_ir::Name;

use super::{Row, lanes};
use crate::{
    Nest, Proposal, bounds,
    text::{split, tag},
};

/// The most bytes of a block's rows in shared memory: blocks are to be many on a multiprocessor.
const BYTES: i64 = 12 << 10;

/// Rows of a length that no vector divides: a block copies some of them as they lie in memory,
/// where they are one long row, and each thread adds up one. Between them is an odd number of
/// words, so that neighbouring threads are at different banks. `None` if the length is not the same
/// in every launch: the copy has one size.
pub(super) fn proposal(nest: &Nest<'_>, row: &Row<'_>, parallel: &[Name], last: &Name) -> Option<Proposal> {
    let Row { r, length, .. } = *row;
    let array = {
        let mut along = nest.sites.iter().filter(|s| !s.is_write && s.inames.contains(r));
        along.next().filter(|_| along.next().is_none())?.array.clone()
    };
    let fixed = match bounds::length(nest.kernel, r) {
        Some(_) => None,
        None => {
            let parameter = bounds::length_parameter(nest.kernel, r)?;
            (bounds::fixed_length(nest.kernel, r) == Some(length)).then_some(())?;
            Some(format!("fix_parameters({parameter}={length})"))
        }
    };
    let most = BYTES / row.bytes.max(1) / length.max(1);
    let rows = [128, 64, 32].into_iter().find(|rows| *rows <= most)?;
    let word = (4 / row.bytes).max(1);
    let pad = if length % (2 * word) == 0 { word } else { 0 };
    let reason = format!(
        "rows of {length} are short and no whole vectors: {rows} of them at a time by way of shared memory, \
         as they lie, and a thread for each"
    );
    let mut proposal = Proposal::new(reason);
    if let Some(fixed) = fixed {
        proposal = proposal.step(fixed);
    }
    proposal = proposal.step(split(last, rows));
    let (proposal, tags) = lanes::around(nest, proposal, parallel, last, rows);
    let copied = proposal
        .step(tag(&tags))
        .step(format!("add_prefetch({array}, [{last}_inner, {r}], inames=[{r}_row, {r}_column], pad={pad})"))
        .step(format!("join_inames([{r}_row, {r}_column], {r}_copied)"))
        .step(split(format!("{r}_copied"), rows));
    Some(copied.step(tag(&[
        (format!("{last}_inner"), "thread.x"),
        (format!("{r}_copied_outer"), "unroll"),
        (format!("{r}_copied_inner"), "thread.x"),
        (r.to_string(), "unroll"),
    ])))
}
