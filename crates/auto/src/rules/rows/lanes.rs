//! A few lanes of a warp for each row, several rows a thread.

use loopwright_kernel_ir::Name;

use super::Row;
use crate::{
    Nest, Proposal,
    grid::{AXES, Along, on_axes},
    text::{split, split_as},
};

/// Threads of a block: few, so that many blocks of a multiprocessor are at different stages.
const THREADS: i64 = 128;
/// Loads of a thread that are in flight at a time.
const IN_FLIGHT: i64 = 4;

/// Lanes for each row of so many loads, if a line of the cache has `line` loads.
///
/// Rows up to a line are loaded at once, by as many lanes. Longer ones get half as many lanes as
/// they have loads, or half a warp, since joining the partial results of twice as many is another
/// shuffle for each row. But lanes that have a load more than others of their warp diverge, which
/// costs more than that: so there are twice as many where loads cannot be divided equally and are
/// more than a warp has lanes, or few enough to be taken at once by half a warp, most of which is
/// busy then.
fn lanes(loads: i64, line: i64, warp: i64) -> i64 {
    let power = i64::try_from(loads.max(2).unsigned_abs().next_power_of_two()).unwrap_or(warp);
    let most = power.min(warp);
    let half = most / 2;
    let uneven = loads % half != 0;
    let at_once = most < warp && 8 * loads >= 5 * most;
    if loads <= line || (uneven && (loads > warp || at_once)) { most } else { half.max(line.min(warp)) }
}

/// The form for rows of this length.
pub(super) fn proposal(nest: &Nest<'_>, row: &Row<'_>, parallel: &[Name], last: &Name) -> Proposal {
    let Row { length, width, .. } = *row;
    let loads = row.loads();
    let lanes = lanes(loads, (row.line / width).max(2), row.warp);
    // Rows whose elements are loaded at once have others beside them in flight.
    let parts = if loads <= lanes { IN_FLIGHT } else { IN_FLIGHT / 2 };
    let rows = THREADS / lanes;
    let reason = format!(
        "rows of {length} are short: {lanes} lanes for each, {}{} rows a block",
        if width > 1 { format!("in whole vectors of {width}, ") } else { String::new() },
        rows * parts
    );
    let proposal = Proposal::new(reason).step(split(last, rows * parts)).step(split_as(
        format!("{last}_inner"),
        rows,
        format!("{last}_part"),
        format!("{last}_row"),
    ));
    let (proposal, mut tags) = around(nest, proposal, parallel, last, rows * parts);
    tags.extend([(format!("{last}_row"), "thread.y"), (format!("{last}_part"), "ilp")]);
    row.threads(proposal, lanes, tags)
}

/// The form for rows that are not aligned, in vectors that are counted from before their beginning.
pub(super) fn misaligned(nest: &Nest<'_>, row: &Row<'_>, parallel: &[Name], last: &Name) -> Proposal {
    let Row { length, width, .. } = *row;
    let lanes = (row.line / width).clamp(2, row.warp);
    let rows = THREADS / lanes;
    let reason = format!(
        "rows of {length} are short: {lanes} lanes for each, in vectors of {width} from before its \
         beginning, {rows} rows a block"
    );
    let proposal = Proposal::new(reason).step(split(last, rows));
    let (proposal, mut tags) = around(nest, proposal, parallel, last, rows);
    tags.push((format!("{last}_inner"), "thread.y"));
    row.threads(proposal, lanes, tags)
}

/// The blocks of rows, with the loops around them.
pub(super) fn around(
    nest: &Nest<'_>,
    proposal: Proposal,
    parallel: &[Name],
    last: &Name,
    of_block: i64,
) -> (Proposal, Vec<(String, &'static str)>) {
    let rest = parallel.iter().rev().filter(|n| *n != last).map(Along::whole);
    let loops = std::iter::once(Along::outer(last, of_block)).chain(rest).collect();
    on_axes(nest, proposal, loops, &AXES)
}

#[cfg(test)]
mod tests {
    use super::lanes;

    #[test]
    fn lanes_follow_the_loads_of_a_row() {
        // Vectors of four f32, eight of which are a line.
        let of = |loads| lanes(loads, 8, 32);
        assert_eq!(
            [1, 2, 4, 5, 8, 9, 10, 15, 16, 17, 25, 32].map(of),
            [2, 2, 4, 8, 8, 8, 16, 16, 8, 16, 16, 16]
        );
        assert_eq!([33, 48, 50, 128].map(of), [32, 16, 32, 16]);
        // Single f32, of which a line has 32.
        let of = |loads| lanes(loads, 32, 32);
        assert_eq!([3, 17, 32, 33, 100].map(of), [4, 32, 32, 32, 32]);
    }
}
