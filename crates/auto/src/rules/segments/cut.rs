//! The distribution of segments of any length: points per tile, tiles per chunk, and smaller chunks
//! at the end.
//!
//! Tiles are as large as the registers and the shared memory of a full multiprocessor allow. Large
//! chunks save boundaries and partial results, so there is one round of blocks; but the total time
//! is that of the last warp. If all chunks take about the same time, it ends with the others. If
//! they do not, because points inside a long segment cost less than ends of short ones, the chunks
//! of the first round are a few per cent smaller, followed by a tail of small chunks for the warps
//! that finish early (a guided schedule).
//!
//! The numbers were measured (`benches/RESULTS-archive.md`).

use loopwright_kernel_ir::{Flat, Tail};
use loopwright_lowering::{Target, flat_min_blocks};

use crate::{Launch, rounding::ceil};

/// Threads of each block.
const THREADS: u16 = 128;
/// What the estimate of [`tile`] leaves out of the shared memory of a block, in bytes.
const OTHER_SHARED: u64 = 4 << 10;
/// The most tiles per chunk; more would save nothing.
const MOST_TILES: i64 = 512;
/// The mean length from which tables of offsets and results are small beside the points: measured
/// between 16 and 64.
const LONG: i64 = 32;
/// The mean length up to which streaming loads of points are faster, whatever the cache holds: at
/// 64 they take 2 to 7 % less; at 1024, 2 % less, or 2 % more if the cache has just been written
/// to; at 65536, 1 % less or 6 % more.
const SHORT_ENOUGH_TO_STREAM: i64 = 512;
/// The mean length from which tiles of twice as many points, of 4 bytes each, are faster: measured
/// between 4 and 16. Closing segments then takes a smaller part of a tile's time, and fewer warps
/// with more loads in flight do better than more warps.
const LONG_ENOUGH_FOR_LARGE_TILES: i64 = 8;
/// A segment with this part of all points is a giant.
const GIANT: i64 = 8;
/// The share of the chunks of the first round in all steps, in per cent.
const FIRST: i64 = 92;
/// Tiles of a small chunk, in per cent of those of a chunk if a single round did everything: on
/// average the best of 18 pairs with the constant above, for uniform lengths and power laws.
const SHORT: i64 = 6;
/// The fewest tiles per round from which small chunks can be cut.
const ENOUGH_TO_CUT: i64 = 16;
/// Blocks of a multiprocessor, where their number is not known.
const USUAL_BLOCKS: i64 = 8;

/// The segments of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments {
    /// Points of all segments together.
    pub points: i64,
    pub count: i64,
    /// Points of the longest segment, if that is known.
    pub longest: Option<i64>,
    /// Bytes that are loaded of a point.
    pub bytes: usize,
    /// Bytes of its value, which blocks keep in shared memory.
    pub value: usize,
    /// Bytes of a partial result.
    pub state: usize,
}

impl Segments {
    /// Points of a segment, on average.
    pub fn mean(&self) -> i64 {
        ceil(self.points, self.count)
    }
}

/// How the steps are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub flat: Flat,
    /// Whether the number of resident blocks per multiprocessor is known.
    pub is_known: bool,
    /// Whether points are loaded by streaming loads.
    pub streaming: bool,
}

impl Cut {
    pub fn of(segments: &Segments, launch: &Launch, target: &Target) -> Cut {
        let Segments { points: elements, count, longest, .. } = *segments;
        let mean = segments.mean();
        let (items, resident) = tile(segments, launch, target);
        let is_known = resident.is_some();
        let long = mean >= LONG;
        let warp = i64::from(target.warp_size);
        let blocks = resident.unwrap_or(USUAL_BLOCKS).saturating_mul(launch.multiprocessors.into());
        let warps = blocks.saturating_mul(i64::from(THREADS) / warp).max(1);
        let steps = elements.saturating_add(count.saturating_mul(Flat::END_WEIGHT.into()));
        let points = warp * i64::from(items);
        // The requested number of rounds, or more if their chunks were too large.
        let rounds = |asked: i64| {
            let rounds = asked.max(ceil(steps, warps.saturating_mul(points * MOST_TILES)));
            let all = warps.saturating_mul(rounds).saturating_mul(points);
            (rounds, ceil(steps, all).clamp(1, MOST_TILES))
        };
        let alike =
            |rounds: (i64, i64)| Flat { threads: THREADS, items, tiles: narrow(rounds.1), tail: None };
        let (first, tiles) = rounds(1);
        let part = |per_cent: i64| narrow((tiles * per_cent + 50) / 100);
        let full_chunks = u32::try_from(warps.saturating_mul(first)).unwrap_or(u32::MAX);
        let uneven = Flat {
            tiles: part(FIRST),
            tail: Some(Tail { full_chunks, tiles: part(SHORT) }),
            ..alike((first, tiles))
        };
        let giant = longest.is_some_and(|longest| longest >= elements / GIANT);
        // No chunk is inside one segment.
        let even = !long && longest.is_some_and(|longest| longest < points * tiles);
        let flat = if !is_known || (giant && !long) {
            // With three rounds, one that is not full costs less. With a giant they were measured
            // to be 1 % faster than small chunks at the end.
            alike(rounds(3))
        } else if even {
            alike((first, tiles))
        } else if tiles < ENOUGH_TO_CUT || uneven.wrong().is_some() {
            alike(rounds(if long { 3 } else { 1 }))
        } else {
            uneven
        };
        // With short segments, offsets and results make up most of the cache traffic, and hints for
        // the points gain nothing.
        Cut { flat, is_known, streaming: is_known && long && mean < SHORT_ENOUGH_TO_STREAM }
    }

    /// The arguments of `flatten_ragged` behind the inames.
    pub fn arguments(&self) -> String {
        let Flat { threads, items, tiles, tail } = self.flat;
        let more = tail.map_or_else(String::new, |Tail { full_chunks, tiles }| {
            format!(", full_chunks={full_chunks}, tail_tiles={tiles}")
        });
        format!("threads={threads}, items={items}, tiles={tiles}{more}")
    }
}

/// Points per thread and tile, and the resulting number of resident blocks per multiprocessor, if
/// known.
fn tile(segments: &Segments, launch: &Launch, target: &Target) -> (u16, Option<i64>) {
    let most = target.static_shared.saturating_sub(OTHER_SHARED);
    // A point's value, its completed state unless that is the only value, an eighth more of both,
    // and a mark.
    let value = segments.value.max(4);
    let complete = if segments.state == value { 0 } else { segments.state };
    let taken = |items: u16| u64::from(THREADS * items) * ((value + complete) as u64 * 9 / 8 + 1);
    let held = |items: u16| if taken(items) > most { 0 } else { launch.shared / taken(items).max(1) };
    let asked = |items: u16| {
        let flat = Flat { threads: THREADS, items, tiles: 1, tail: None };
        flat_min_blocks(flat, target, segments.bytes, segments.state).map(u64::from)
    };
    let large = segments.bytes == 4 && segments.mean() >= LONG_ENOUGH_FOR_LARGE_TILES;
    let large = large && asked(32).is_some_and(|blocks| held(32) >= blocks);
    let items = match large {
        true => 32,
        false => [16, 8].into_iter().find(|items| held(*items) >= 8).unwrap_or(8),
    };
    let resident = asked(items).filter(|blocks| held(items) >= *blocks);
    (items, resident.and_then(|blocks| i64::try_from(blocks).ok()))
}

fn narrow(tiles: i64) -> u16 {
    u16::try_from(tiles).unwrap_or(u16::MAX)
}
