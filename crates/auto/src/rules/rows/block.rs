//! A block for each row: how many threads it has, and how much each of them has in flight.

use loopwright_kernel_ir::Name;

use super::{IN_FLIGHT, LEAST, Row, THREADS, grid};
use crate::{
    Launch, Nest, Proposal,
    grid::AXES,
    rounding::{ceil, power_above, power_below},
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
        let threads = power_above(ceil(loads, rounds)).clamp(least, 2 * THREADS);
        let most = launch.in_flight_of_each() / (threads * row.bytes_at_a_time()).max(1);
        Block { threads, parts: power_below(most).clamp(1, IN_FLIGHT) }
    }

    /// For so few rows that all have blocks at a time: as many threads as fill the device together,
    /// as far as a row has work for them. What they have in flight together is what the memory
    /// needs; rows that can be loaded at once are. Elements of less than a word are converted,
    /// which keeps fewer threads as busy, each with more in flight.
    pub fn of_few(count: i64, row: &Row<'_>, launch: &Launch, most: i64) -> Block {
        let loads = row.loads();
        let all = (launch.places() / count.max(1)).min(most);
        let threads = power_below(all).clamp(LEAST, power_above(loads).max(LEAST));
        let at_once = power_above(ceil(loads, threads));
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
        let root = loads.saturating_mul(64).isqrt().clamp(1, most.max(1));
        Block { threads: power_below(root).min(largest(most)), parts: 1 }
    }

    /// For so few of them that all have blocks at a time, which load a row in two rounds at most
    /// then, both under way at once. None where that takes more threads than the device holds.
    pub fn few_misaligned(count: i64, row: &Row<'_>, launch: &Launch, most: i64) -> Option<Block> {
        let threads = power_below((launch.places() / count.max(1)).clamp(1, most)).min(largest(most));
        // A row that begins within a vector may end in another one.
        let parts = ceil(row.loads() + 1, threads);
        (parts <= 2).then_some(Block { threads, parts })
    }
}

/// The most threads of a block of rows that are not aligned, of `most` that a block can have: the
/// largest leave no room for others that begin.
fn largest(most: i64) -> i64 {
    3 * most / 4
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

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::Name;

    use super::*;

    /// Rows of so many vectors of 16 bytes, of elements of so many bytes.
    fn with_row<T>(loads: i64, bytes: i64, look: impl FnOnce(&Row<'_>) -> T) -> T {
        let (r, width) = (Name::new("i"), 16 / bytes);
        let length = loads * width;
        let (line, warp, state) = (128 / bytes, 32, 4);
        look(&Row { r: &r, length, width, bytes, line, warp, reads: 1, state, is_widest: true })
    }

    fn many(loads: i64, launch: &Launch) -> (i64, i64) {
        let Block { threads, parts } = with_row(loads, 4, |row| Block::of_many(row, launch));
        (threads, parts)
    }

    /// As measured at rows of 1000 f32 and at powers of two from 1024 on.
    #[test]
    fn blocks_of_many_rows_have_what_a_multiprocessor_needs_in_flight() {
        let launch = Launch::default();
        let all = [250, 256, 512, 1024, 2048, 4096, 1 << 15].map(|loads| many(loads, &launch));
        assert_eq!(all, [(64, 4), (64, 4), (128, 4), (128, 4), (256, 4), (512, 2), (512, 2)]);
        // With half the bandwidth, half as much has to be in flight.
        let slow = Launch { in_flight: launch.in_flight / 2, ..launch };
        assert_eq!([1024, 2048, 4096].map(|loads| many(loads, &slow)), [(128, 4), (256, 2), (512, 1)]);
    }

    /// As measured at 2^28 f32 in all.
    #[test]
    fn few_rows_fill_the_device_together() {
        let launch = Launch::default();
        let few = |count: i64, loads: i64, bytes: i64| {
            let Block { threads, parts } =
                with_row(loads, bytes, |row| Block::of_few(count, row, &launch, 1024));
            (threads, parts)
        };
        assert_eq!([few(1024, 1 << 16, 4), few(512, 1 << 17, 4)], [(256, 1), (512, 1)]);
        assert_eq!(few(256, 1 << 18, 4), (1024, 1));
        // Too few to have enough in flight; short enough to be loaded at once; converted elements.
        assert_eq!(few(64, 1 << 14, 4), (1024, 4));
        assert_eq!([few(1000, 512, 4), few(8, 1024, 4)], [(256, 2), (1024, 1)]);
        assert_eq!(few(512, 1 << 17, 2), (256, 4));
    }

    /// As measured at 15, 255 and 1023 rows of 4097 f32.
    #[test]
    fn few_misaligned_rows_are_loaded_in_two_rounds() {
        let of = |count| {
            let launch = Launch::default();
            let block = with_row(1025, 4, |row| Block::few_misaligned(count, row, &launch, 1024));
            block.map(|Block { threads, parts }| (threads, parts))
        };
        assert_eq!([15, 255, 1023].map(of), [Some((768, 2)), Some((768, 2)), None]);
    }

    #[test]
    fn threads_of_misaligned_rows_grow_with_the_root_of_their_length() {
        let of = |loads| {
            let Block { threads, parts } = with_row(loads, 4, |row| Block::misaligned(loads, row, 1024));
            (threads, parts)
        };
        assert_eq!([257, 511, 512, 1025, 4095].map(of), [(32, 4), (32, 4), (128, 1), (256, 1), (256, 1)]);
        assert_eq!([4097, 16383, 16384, 25001].map(of), [(512, 1), (512, 1), (768, 1), (768, 1)]);
    }
}
