//! Several blocks for each row, whose partial results are joined.

use loopwright_kernel_ir::Name;

use super::{IN_FLIGHT, Row, THREADS, grid};
use crate::{Nest, Proposal, text::split_as};

/// Rounds of what its threads have in flight that a block takes: more would leave the last blocks
/// of a launch at work when the others are done.
const ROUNDS: i64 = 2;
/// The same, with half as much in flight, where a partial result is more than a word: each thread
/// begins one and joins it.
const DEAR_ROUNDS: i64 = 16;

/// The form for long rows, `count` of them if that is known.
pub(super) fn proposal(nest: &Nest<'_>, row: &Row<'_>, parallel: &[Name], count: Option<i64>) -> Proposal {
    let Row { r, length, width, .. } = *row;
    let parts = if row.is_cheap() { IN_FLIGHT } else { IN_FLIGHT / 2 };
    let loads = THREADS * parts;
    // As many blocks as have in flight what the memory needs; few enough for an axis of the grid.
    let wanted = nest.launch().loads_of_each(loads, row.bytes_at_a_time(), 1);
    let enough = |rounds: &i64| {
        count.is_none_or(|count| count.saturating_mul(length) / (rounds * loads * width) >= wanted)
    };
    let dear = (!row.is_cheap()).then_some(DEAR_ROUNDS);
    let rounds = dear.into_iter().chain([ROUNDS]).find(enough).unwrap_or(1);
    let mut chunk = rounds * loads * width;
    while (length - 1) / chunk >= nest.most_blocks() {
        chunk *= 2;
    }
    let few = match count {
        Some(count) => format!("rows are long, and too few for the device, {count}"),
        None => "rows are long".to_string(),
    };
    let reason =
        format!("{few}: blocks take {chunk} points of `{r}` each, and their partial results are joined");
    // Chunks are along y; a third loop around the row stays in the block.
    let (proposal, mut tags) = grid(
        nest,
        Proposal::new(reason),
        &parallel[parallel.len().saturating_sub(2)..],
        &["block.x", "block.z"],
    );
    tags.push((format!("{r}_chunk"), "block.y"));
    let (chunks, rest) = (format!("{r}_chunk"), format!("{r}_rest"));
    let (tile, inside) = (format!("{r}_tile"), format!("{r}_in_tile"));
    let (part, round) = (format!("{r}_part"), format!("{r}_round"));
    tags.push((part.clone(), "ilp"));
    let proposal = proposal
        .step(split_as(r, chunk, chunks, &rest))
        .step(split_as(rest, loads * width, tile, &inside))
        .step(split_as(inside, THREADS * width, part, &round));
    row.across(proposal, round, "thread", tags)
}
