//! The distribution of segments of any length: points per tile, tiles per chunk, and smaller chunks
//! at the end.
//!
//! Tiles are as large as the registers and the shared memory of a full multiprocessor allow. Large
//! chunks save boundaries and partial results, so there is one round of blocks; but the total time
//! is that of the last warp. If all chunks take about the same time, it ends with the others. If
//! they do not, because points inside a long segment cost less than ends of short ones, the chunks
//! of the first round are a few per cent smaller, followed by a tail of small chunks for the warps
//! that finish early.
//! The numbers were measured (`benches/RESULTS-archive.md`).

use crate::ir::{DType, Flat, Tail};
use crate::lowering::{Target, flat_min_blocks};
use crate::runtime::cuda::DeviceInfo;
use crate::tuner::{Machine, Space};

use super::forms::multiprocessors;

/// Threads of each block.
const THREADS: u16 = 128;
/// Threads of a warp.
const WARP: usize = Target::cuda().warp_size as usize;
/// The most shared memory that the tiles of a block may take, in bytes: what may be declared, less
/// what the estimate of [`tile`] leaves out.
const MOST_SHARED: usize = Target::cuda().static_shared as usize - (4 << 10);
/// The most tiles per chunk; more would save nothing.
const MOST_TILES: usize = 512;
/// The mean length from which tables of offsets and results are small beside the points: measured
/// between 16 and 64.
const LONG: usize = 32;
/// The mean length up to which streaming loads of points are faster, whatever the cache holds: at
/// 64 they take 2 to 7 % less; at 1024, 2 % less, or 2 % more if the cache has just been written
/// to; at 65536, 1 % less or 6 % more.
const SHORT_ENOUGH_TO_STREAM: usize = 512;
/// The mean length from which tiles of twice as many points, of 4 bytes each, are faster: measured
/// between 4 and 16. Closing segments then takes a smaller part of a tile's time, and fewer warps
/// with more loads in flight do better than more warps.
const LONG_ENOUGH_FOR_LARGE_TILES: usize = 8;
/// A segment with this part of all points is a giant.
const GIANT: usize = 8;
/// The share of the chunks of the first round in all steps, in per cent.
const FIRST: usize = 92;
/// Tiles of a small chunk, in per cent of those of a chunk if a single round did everything: on
/// average the best of 18 pairs with the constant above, for uniform lengths and power laws.
const SHORT: usize = 6;
/// The fewest tiles per round from which small chunks can be cut.
const ENOUGH_TO_CUT: usize = 16;

/// The distribution of flattened segments.
pub(super) struct Cut {
    flat: Flat,
    /// Whether the number of resident blocks per multiprocessor is known.
    pub known: bool,
    /// Whether points are loaded by streaming loads.
    pub streaming: bool,
}

impl Cut {
    /// `state` is the size of a partial result in bytes.
    pub fn of(
        dtype: DType,
        state: usize,
        [elements, count]: [usize; 2],
        longest: Option<usize>,
        machine: &Machine,
        limits: &DeviceInfo,
    ) -> Cut {
        let mean = elements.div_ceil(count.max(1));
        let (items, resident) = tile(dtype, state, mean, limits);
        let known = resident.is_some();
        let long = mean >= LONG;
        let multiprocessors = multiprocessors(machine);
        let warps = resident.unwrap_or(8) * multiprocessors * usize::from(THREADS) / WARP;
        let steps = elements.saturating_add(count.saturating_mul(Flat::END_WEIGHT.into()));
        let points = WARP * usize::from(items);
        // The requested number of rounds, or more if their chunks were too large.
        let rounds = |asked: usize| {
            let rounds = asked.max(steps.div_ceil(warps * points * MOST_TILES));
            (rounds, steps.div_ceil(warps * rounds * points).clamp(1, MOST_TILES))
        };
        let alike =
            |rounds: (usize, usize)| Flat { threads: THREADS, items, tiles: narrow(rounds.1), tail: None };
        let (first, tiles) = rounds(1);
        let part = |per_cent: usize| narrow((tiles * per_cent + 50) / 100);
        let full_chunks = u32::try_from(warps * first).unwrap_or(u32::MAX);
        let uneven = Flat {
            tiles: part(FIRST),
            tail: Some(Tail { full_chunks, tiles: part(SHORT) }),
            ..alike((first, tiles))
        };
        let giant = longest.is_some_and(|longest| longest >= elements / GIANT);
        // No chunk is inside one segment.
        let even = !long && longest.is_some_and(|longest| longest < points * tiles);
        let flat = if !known || (giant && !long) {
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
        Cut { flat, known, streaming: known && long && mean < SHORT_ENOUGH_TO_STREAM }
    }

    /// The open parameters of [`Cut::step`], with one value each.
    pub fn space(&self) -> Space {
        let Flat { items, tiles, tail, .. } = self.flat;
        let space = Space::new().parameter("items", [items.into()]).parameter("tiles", [tiles.into()]);
        match tail {
            Some(Tail { full_chunks, tiles }) => {
                space.parameter("full_chunks", [full_chunks.into()]).parameter("tail_tiles", [tiles.into()])
            }
            None => space,
        }
    }

    /// The text of the `flatten_ragged` step.
    pub fn step(&self) -> String {
        let more =
            if self.flat.tail.is_some() { ", full_chunks=$full_chunks, tail_tiles=$tail_tiles" } else { "" };
        format!("flatten_ragged(s, i, threads={THREADS}, items=$items, tiles=$tiles{more})\n")
    }
}

/// Points per thread and tile, and the resulting number of resident blocks per multiprocessor, if
/// known.
fn tile(dtype: DType, state: usize, mean: usize, limits: &DeviceInfo) -> (u16, Option<usize>) {
    let shared = usize::try_from(limits.shared_per_multiprocessor).unwrap_or(usize::MAX);
    // A point's value, its completed state unless that is the only value, an eighth more of both,
    // and a mark.
    let value = dtype.bytes().max(4);
    let complete = if state == value { 0 } else { state };
    let taken = |items: u16| usize::from(THREADS * items) * ((value + complete) * 9 / 8 + 1);
    let held = |items: u16| if taken(items) > MOST_SHARED { 0 } else { shared / taken(items) };
    let asked = |items: u16| {
        let flat = Flat { threads: THREADS, items, tiles: 1, tail: None };
        flat_min_blocks(flat, &Target::default(), dtype.bytes(), state).map(|blocks| blocks as usize)
    };
    let large = dtype.bytes() == 4 && mean >= LONG_ENOUGH_FOR_LARGE_TILES;
    let large = large && asked(32).is_some_and(|blocks| held(32) >= blocks);
    let items = match large {
        true => 32,
        false => [16, 8].into_iter().find(|items| held(*items) >= 8).unwrap_or(8),
    };
    (items, asked(items).filter(|blocks| held(items) >= *blocks))
}

fn narrow(tiles: usize) -> u16 {
    u16::try_from(tiles).unwrap_or(u16::MAX)
}
