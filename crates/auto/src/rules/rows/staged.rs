//! Rows that are short and not aligned, by way of shared memory.
//!
//! A block copies some rows as they lie in memory, where they are one long row: neighbouring
//! threads load neighbouring elements, and all loads are in flight at once. Then each thread adds
//! up a row, or half of one. Between rows in shared memory is an odd number of words, so that
//! neighbouring threads are at different banks. The copy has one size, so that a length that only
//! the launch tells is fixed first; other launches are refused then.
//!
//! How long such rows may be, that those of 80 bytes and fewer want 128 rows a block for enough
//! loads in flight and longer ones small blocks, more of which are at different stages, and that
//! two threads share a row of 256 bytes and more, is from sweeps at 24 lengths of f32, 12 of f64
//! and 12 of f16 (`benches/RESULTS-archive.md`).

use loopwright_kernel_ir::Name;

use super::{Row, lanes};
use crate::{
    Nest, Proposal, bounds,
    text::{split, tag},
};

/// Whether rows are of a length for which this is the fastest form. Elements of less than a word
/// are copied one by one, where two of them at a time would not take as long.
pub(super) fn suits(row: &Row<'_>) -> bool {
    let Row { length, width, bytes, .. } = *row;
    match bytes {
        1 | 2 => width == 1 && (5..=80).contains(&length),
        4 => (5..=132).contains(&length),
        8 => (3..=80).contains(&length),
        _ => false,
    }
}

/// Rows of a block, and threads of a row.
fn sizes(row: &Row<'_>) -> (i64, i64) {
    match row.length * row.bytes {
        41.. if row.bytes < 4 => (64, 1),
        ..=80 => (128, 1),
        256.. if row.length % 2 == 0 => (64, 2),
        _ => (32, 1),
    }
}

/// The form for rows of this length; `None` if the length could not be fixed, or a row is made of
/// several arrays.
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
            let told = nest.launch().integers.get(&parameter) == Some(&length);
            (told || bounds::fixed_length(nest.kernel, r) == Some(length)).then_some(())?;
            Some((format!("fix_parameters({parameter}={length})"), told))
        }
    };
    let (rows, threads) = sizes(row);
    let word = (4 / row.bytes).max(1);
    let pad = if length % (2 * word) == 0 { word } else { 0 };
    let each = if threads == 1 { "a thread" } else { "two threads" };
    let mut reason = format!(
        "rows of {length} are short and not aligned: {rows} of them at a time by way of shared memory, \
         as they lie, and {each} for each"
    );
    if fixed.as_ref().is_some_and(|(_, told)| *told) {
        reason += "; their number of elements is fixed, since the copy has one size";
    }
    let mut proposal = Proposal::new(reason);
    if let Some((fixed, _)) = fixed {
        proposal = proposal.step(fixed);
    }
    proposal = proposal.step(split(last, rows));
    let (proposal, tags) = lanes::around(nest, proposal, parallel, last, rows);
    let copied = format!("{r}_copied");
    let proposal = proposal
        .step(tag(&tags))
        .step(format!("add_prefetch({array}, [{last}_inner, {r}], inames=[{r}_row, {r}_column], pad={pad})"))
        .step(format!("join_inames([{r}_row, {r}_column], {copied})"))
        .step(split(&copied, rows * threads));
    if threads == 1 {
        return Some(proposal.step(tag(&[
            (format!("{last}_inner"), "thread.x"),
            (format!("{copied}_outer"), "unroll"),
            (format!("{copied}_inner"), "thread.x"),
            (r.to_string(), "unroll"),
        ])));
    }
    let proposal = proposal.step(split(format!("{copied}_inner"), threads)).step(split(r, threads));
    Some(proposal.step(tag(&[
        (format!("{last}_inner"), "thread.y"),
        (format!("{r}_inner"), "thread.x"),
        (format!("{r}_outer"), "unroll"),
        (format!("{copied}_outer"), "unroll"),
        (format!("{copied}_inner_outer"), "thread.y"),
        (format!("{copied}_inner_inner"), "thread.x"),
    ])))
}
