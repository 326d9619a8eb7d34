//! Lengths of segments on which a nest is run: chosen so that each way through its text is taken.
//!
//! Where segments begin and end matters relative to the points of a lane, to a tile, to a chunk and
//! to the chunks of a block, so lengths are derived from these numbers. Choosing is all that they
//! are used for: what has to come out does not depend on them.

mod blocks;
mod edges;
#[cfg(test)]
mod tests;

use std::fmt;

use loopwright_kernel_ir::Flat;

use super::number::hash;

/// The lengths of segments, and how many points lie before the first one.
pub(super) struct Lengths {
    pub before: i64,
    pub lengths: Vec<i64>,
}

/// The greatest number of lengths that a witness has.
const MOST_SHOWN: usize = 8;

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, before) = (self.lengths.len(), self.before);
        if count == 0 {
            return f.write_str("there are no segments");
        }
        let first: Vec<String> = self.lengths.iter().take(MOST_SHOWN).map(i64::to_string).collect();
        let more = if count > MOST_SHOWN { ", ..." } else { "" };
        let first = first.join(", ");
        write!(f, "there are {count} segments, from element {before} on, of lengths {first}{more}")
    }
}

/// The greatest number of steps in a run, but for those of [`blocks`].
const MOST_STEPS: i64 = 9 << 14;

/// Lengths that are built one after the other.
struct Builder {
    lengths: Vec<i64>,
    /// Points so far, and a number of steps for each end.
    steps: i64,
    items: i64,
    drawn: u64,
}

impl Builder {
    fn push(&mut self, length: i64) {
        self.lengths.push(length);
        self.steps += length + i64::from(Flat::END_WEIGHT);
    }

    /// Segments that begin and end anywhere in the points of a lane, empty ones among them.
    fn mixed(&mut self, steps: i64) {
        let end = self.steps + steps;
        while self.steps < end {
            self.drawn += 1;
            let h = hash([self.drawn]);
            let length = match h % 16 {
                0..=2 => 0,
                3..=5 => 1,
                6 => self.items,
                7 => self.items + 1,
                8 => 2 * self.items - 1,
                9 => 5 * self.items + 3,
                10 => 40 * self.items,
                _ => (h >> 8) as i64 % (2 * self.items),
            };
            self.push(length);
        }
    }

    /// One segment, after which there are that many steps, or, if there are more already, none.
    fn reach(&mut self, steps: i64) {
        let length = steps - i64::from(Flat::END_WEIGHT) - self.steps;
        if length >= 0 {
            self.push(length);
        }
    }

    fn empty(&mut self, count: i64) {
        (0..count).for_each(|_| self.push(0));
    }
}

/// What a nest is cut into, in steps.
#[derive(Clone, Copy)]
struct Cut {
    /// Those of a lane in a tile.
    items: i64,
    tile: i64,
    chunk: i64,
    block: i64,
}

impl Cut {
    /// That of a nest in warps of this many threads.
    fn of(flat: Flat, warp: i64) -> Cut {
        let items = i64::from(flat.items);
        let tile = items * warp;
        let chunk = tile * i64::from(flat.tiles);
        Cut { items, tile, chunk, block: chunk * (i64::from(flat.threads) / warp).max(1) }
    }
}

/// The cases for a nest that is cut in this way, in warps of this many threads.
pub(super) fn cases(flat: Flat, warp: i64) -> Vec<Lengths> {
    let mut cases = mixed(flat, warp);
    cases.extend(edges::cases(flat, warp));
    cases.extend(blocks::cases(flat, warp));
    cases
}

/// Those in which segments of all lengths are mixed.
fn mixed(flat: Flat, warp: i64) -> Vec<Lengths> {
    let Cut { items, tile, chunk, block } = Cut::of(flat, warp);
    let builder = || Builder { lengths: Vec::new(), steps: 0, items, drawn: 0 };
    let of = |before: i64, lengths: &[i64]| Lengths { before, lengths: lengths.to_vec() };

    // Fewer segments than a warp has lanes.
    let mut cases = vec![of(0, &[]), of(0, &[0]), of(2, &[5, 0, 0, 9])];

    // A few tiles, groups of ends that coincide, and several groups of segments of a point or two.
    let mut few = builder();
    few.mixed(2 * tile);
    few.empty(9 * warp + 5);
    few.push(3);
    few.empty(4 * warp);
    few.mixed(tile);
    few.push(3 * tile);
    (0..14 * warp).for_each(|k| few.push(1 + k % 2));
    cases.push(of(3, &few.lengths));

    // Chunks that end where a segment does, one step off, and among the steps of an end; whole
    // tiles inside of a segment; empty segments beyond the end of a chunk.
    let mut chunks = builder();
    if 9 * chunk <= MOST_STEPS {
        for number in 0..3 {
            chunks.mixed(tile / 2);
            chunks.reach((number + 1) * chunk + number);
        }
        chunks.mixed(tile / 2);
        chunks.push(2 * tile + chunk / 2 + 1);
        chunks.push(1);
        chunks.push(chunk + 3 * tile);
        chunks.empty(chunk);
        chunks.mixed(tile);
        chunks.empty(3 * warp + 1);
    } else if 2 * chunk <= MOST_STEPS {
        chunks.mixed(tile);
        chunks.push(2 * tile);
        chunks.empty(chunk / 2);
        chunks.mixed(tile);
    }
    if !chunks.lengths.is_empty() {
        cases.push(of(0, &chunks.lengths));
    }

    // Segments that go through one block and through several, and short ones between: as many
    // blocks as there may be, up to more than a warp joins four of for each lane.
    let blocks = (MOST_STEPS / block).min(4 * warp + 5);
    if blocks >= 4 {
        let mut many = builder();
        for number in 0.. {
            let left = blocks * block - many.steps;
            let through = [block, 3 * block, block / 2, 6 * block, block / 3, 2 * block][number % 6];
            if left < through + tile {
                break;
            }
            many.push(through + number as i64);
            many.mixed(if number % 2 == 0 { tile / 4 } else { 8 });
        }
        cases.push(of(1, &many.lengths));
    }
    cases
}
