//! Several blocks for each row, whose partial results are joined.

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use super::{IN_FLIGHT, Row, THREADS, grid};
use crate::{
    Nest, Proposal,
    grid::{Along, on_axes},
    text::{split, split_as, tag},
};

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

/// Points of a row that a block takes, where its length is not known.
const CHUNK: i64 = 4096;
/// Warps of a block, and rows of each.
const WARPS: i64 = 8;
const ROWS: i64 = 4;
/// Points of a row that a block takes if there are few rows.
const LONG_CHUNK: i64 = 16384;

/// The form for rows of which only is known that they are few: blocks share each. `None` if the
/// grid has no axes for the loops around them.
pub(super) fn of_few(nest: &Nest<'_>, parallel: &[Name], r: &Name, count: i64) -> Option<Proposal> {
    if parallel.len() > 2 {
        return None;
    }
    let rows = if count == 1 { "a single row".to_string() } else { format!("{count} rows") };
    let reason = format!(
        "{rows}, too few for the device: blocks take {LONG_CHUNK} points of `{r}` each, and their partial \
         results are joined"
    );
    let (chunk, rest) = (format!("{r}_chunk"), format!("{r}_rest"));
    let (step, inside) = (format!("{r}_step"), format!("{r}_inside"));
    let (part, thread) = (format!("{r}_part"), format!("{r}_thread"));
    let loops = parallel.iter().rev().map(Along::whole).collect();
    let (proposal, mut tags) = on_axes(nest, Proposal::new(reason), loops, &["block.y", "block.z"]);
    tags.extend([(chunk.clone(), "block.x"), (thread.clone(), "thread.x"), (part.clone(), "ilp")]);
    Some(
        proposal
            .step(split_as(r, LONG_CHUNK, chunk, &rest))
            .step(split_as(rest, THREADS * IN_FLIGHT, step, &inside))
            .step(split_as(inside, THREADS, part, thread))
            .step(tag(&tags)),
    )
}

/// The form for rows of which nothing is known: it is nowhere far from the fastest. Blocks take
/// several rows at a time, since short ones are many; long ones, which may be few, are divided
/// among blocks. `None` if there are other loops around the rows.
pub(super) fn of_any_length(
    nest: &Nest<'_>,
    parallel: &[Name],
    r: &Name,
    target: &Target,
) -> Option<Proposal> {
    let [last] = parallel else { return None };
    let width = nest.vector(r, target.widest_access as usize);
    let vectors = if width > 1 { format!(" in whole vectors of {width}") } else { String::new() };
    let rows = WARPS * ROWS;
    let reason = format!(
        "neither the length nor the number of rows is known: a block takes {rows} rows at a time, as far as \
         there are any, and {CHUNK} points of `{r}`{vectors}, whose partial results are joined"
    );
    let (part, row) = (format!("{last}_part"), format!("{last}_row"));
    let (chunk, rest, lane) = (format!("{r}_chunk"), format!("{r}_rest"), format!("{r}_lane"));
    let proposal = Proposal::new(reason).step(split(last, rows)).step(split_as(
        format!("{last}_inner"),
        WARPS,
        &part,
        &row,
    ));
    // Rows may be any number of points long, for which only x has room.
    let loops = vec![Along::outer(last, rows)];
    let (proposal, mut tags) = on_axes(nest, proposal, loops, &["block.y", "block.z"]);
    tags.extend([(chunk.clone(), "block.x"), (row, "thread.y"), (part, "ilp")]);
    let (round, step) = (format!("{r}_round"), format!("{r}_step"));
    let mut proposal = proposal.step(split_as(r, CHUNK, chunk, &rest));
    let warp = i64::from(target.warp_size);
    if width > 1 {
        let vec = format!("{r}_vec");
        proposal = proposal
            .step(split_as(rest, warp * width, step, &round))
            .step(split_as(round, width, &lane, &vec));
        tags.push((vec, "vec"));
    } else {
        proposal = proposal.step(split_as(rest, warp, step, &lane));
    }
    tags.push((lane, "thread.x"));
    Some(proposal.step(tag(&tags)))
}
