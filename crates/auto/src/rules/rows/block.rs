//! A block for each row: how many threads it has, and how much each of them has in flight.

use loopwright_kernel_ir::Name;

use super::{IN_FLIGHT, LEAST, Row, THREADS, grid, power};
use crate::{
    Launch, Nest, Proposal,
    grid::AXES,
    text::{split, split_as},
};

/// A block of so many threads for each row, each with so many loads in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub threads: i64,
    pub parts: i64,
}

impl Block {
    /// For many rows of aligned loads.
    ///
    /// Two rounds of what a thread has in flight at most, so that threads that are done early are
    /// few; blocks of the fewest threads, of which a multiprocessor cannot hold more than fill it,
    /// have a single round. Other blocks fill in while one begins and joins its partial results, if
    /// each by itself has nearly what a multiprocessor needs in flight (Little's law); more than
    /// that would only wait.
    pub fn of_many(row: &Row<'_>, launch: &Launch) -> Block {
        let loads = row.loads();
        let least = if loads > LEAST * IN_FLIGHT { 2 * LEAST } else { LEAST };
        let rounds = 2 * IN_FLIGHT;
        let threads = power(loads / rounds + i64::from(loads % rounds != 0)).clamp(least, 2 * THREADS);
        let most = launch.in_flight_of_each() / (threads * row.bytes_at_a_time()).max(1);
        Block { threads, parts: (power(most + 1) / 2).clamp(1, IN_FLIGHT) }
    }

    /// For so few rows that all have blocks at a time: as many threads as fill the device together,
    /// as far as a row has work for them. What they have in flight together is what the memory
    /// needs; rows that can be loaded at once are. Elements of less than a word are converted,
    /// which keeps fewer threads as busy, each with more in flight.
    pub fn of_few(count: i64, row: &Row<'_>, launch: &Launch, most: i64) -> Block {
        let loads = row.loads();
        let all = (launch.places() / count.max(1)).min(most);
        let threads = (power(all + 1) / 2).clamp(LEAST, power(loads).max(LEAST));
        let at_once = power(loads / threads + i64::from(loads % threads != 0));
        if at_once <= IN_FLIGHT {
            return Block { threads, parts: at_once };
        }
        if row.bytes < 4 {
            return Block { threads: (threads / 2).max(LEAST), parts: IN_FLIGHT };
        }
        let needed = launch.loads_of_each(count.saturating_mul(threads), row.bytes_at_a_time(), 1);
        Block { threads, parts: needed.min(IN_FLIGHT) }
    }

    /// For rows of so many vectors that are counted from before their beginnings.
    ///
    /// Each thread finds the beginning and cuts off the ends; what is done once for a thread and
    /// its rounds together take the least time where threads grow with the root of the length. The
    /// factor was measured at seventeen lengths from 515 to 200001 f32, and that rows which hardly
    /// need more than a warp have one, with all in flight.
    pub fn misaligned(loads: i64, row: &Row<'_>, most: i64) -> Block {
        if loads < 16 * row.warp {
            return Block { threads: row.warp, parts: IN_FLIGHT };
        }
        let root = (1..=most).take_while(|threads| threads * threads <= 64 * loads).last().unwrap_or(1);
        // The largest blocks leave no room for others that begin.
        Block { threads: (power(root + 1) / 2).min(3 * most / 4), parts: 1 }
    }
}

/// The form with such a block for each row.
pub(super) fn proposal(
    nest: &Nest<'_>,
    row: &Row<'_>,
    parallel: &[Name],
    Block { threads, parts }: Block,
    misaligned: bool,
) -> Proposal {
    let Row { r, length, width, .. } = *row;
    let vectors = match (width, misaligned) {
        (1, _) => String::new(),
        (_, true) => format!(" in vectors of {width} from before its beginning,"),
        (_, false) => format!(" in whole vectors of {width},"),
    };
    let reason = format!(
        "a block of {threads} threads for each row of {length},{vectors} {parts} at a time in flight for a \
         thread"
    );
    let (mut proposal, mut tags) = grid(nest, Proposal::new(reason), parallel, &AXES);
    let mut rest = format!("{r}_inner");
    proposal = proposal.step(split(r, threads * parts * width));
    if parts > 1 {
        let (part, round) = (format!("{r}_part"), format!("{r}_round"));
        proposal = proposal.step(split_as(rest, threads * width, &part, &round));
        tags.push((part, "ilp"));
        rest = round;
    }
    row.across(proposal, rest, "thread", tags)
}
