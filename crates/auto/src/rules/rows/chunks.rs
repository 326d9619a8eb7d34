//! Several blocks for each row, whose partial results are joined.

use loopwright_kernel_ir::Name;

use super::{IN_FLIGHT, Row, THREADS, grid};
use crate::{
    Nest, Proposal,
    text::{split_as, tag},
};

/// Points of a row that a block takes, at most and at least.
pub(super) const CHUNKS: [i64; 3] = [16384, 8192, 4096];

/// The form for long rows, `count` of them if that is known.
pub(super) fn proposal(nest: &Nest<'_>, row: &Row<'_>, parallel: &[Name], count: Option<i64>) -> Proposal {
    let Row { r, length, width, .. } = *row;
    // As large as leaves a block for each place of the device; few enough for an axis of the grid.
    let wanted = nest.launch().places() / THREADS;
    let enough = |chunk: &i64| count.is_none_or(|count| count.saturating_mul(length) / chunk >= wanted);
    let mut chunk = CHUNKS.into_iter().find(enough).unwrap_or(CHUNKS[2]);
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
    tags.extend([(format!("{r}_chunk"), "block.y"), (format!("{r}_thread"), "thread.x")]);
    let mut proposal = proposal.step(split_as(r, chunk, format!("{r}_chunk"), format!("{r}_rest")));
    let rest = format!("{r}_rest");
    let (step, round) = (format!("{r}_step"), format!("{r}_round"));
    // A thread has a vector of a round, or single elements, as far apart as there are threads.
    let (own, kind, each) = if width > 1 { ("vec", "vec", width) } else { ("part", "ilp", IN_FLIGHT) };
    let (thread, own) = (format!("{r}_thread"), format!("{r}_{own}"));
    tags.push((own.clone(), kind));
    proposal = proposal.step(split_as(rest, THREADS * each, step, &round));
    proposal = proposal.step(match width > 1 {
        true => split_as(round, width, thread, own),
        false => split_as(round, THREADS, own, thread),
    });
    proposal.step(tag(&tags))
}
