//! How the steps of a nest are cut.
//!
//! A step is a point of a segment, or one of the [`END_WEIGHT`] steps that its end counts for. Each
//! warp takes a chunk of steps, tile by tile; a tile has `items` points for each of its lanes. The
//! number of points is known when the kernel runs; a launch has blocks for the most points that
//! offsets can have between them, and a chunk after the last step is empty.
//!
//! In a guided schedule the first chunks have full size, and the later ones fewer tiles.
//!
//! Everything is a function of parameters here, or a constant: that sizes do not fit 64 bits is
//! found now, not while code is written.

use loopwright_kernel_ir::{Aff, Diagnostic, Flat, Tail};
use loopwright_legality::FlatNest;
use loopwright_target::Target;

/// Number of steps that the end of a segment counts for.
const END_WEIGHT: i64 = Flat::END_WEIGHT as i64;

/// How the steps of a nest are cut.
pub(crate) struct Cut {
    /// Threads of a warp, as the target has them.
    pub warp: i64,
    /// Warps of a block of the launch over chunks.
    pub warps: i64,
    /// Points of a tile that each lane reduces.
    pub items: i64,
    /// Points of a tile: `items` for each lane of a warp.
    pub tile: i64,
    /// Steps of a chunk of full size.
    pub chunk: i64,
    /// Steps that the end of a segment counts for.
    pub end_weight: i64,
    /// The number of segments.
    pub count: Aff,
    /// The greatest number of steps.
    pub steps: Aff,
    pub chunks: Chunks,
    /// A position after every point: that of an end that is closed, or lies beyond the chunk.
    pub absent: Aff,
}

/// The greatest number of chunks, and of blocks of the launch over them.
pub(crate) enum Chunks {
    /// All chunks have full size.
    Equal { chunks: Aff, blocks: Aff },
    /// This number of chunks, or `all` where there are fewer, have full size; after them there is
    /// one for every `length` steps of `later`.
    Guided { full: i64, all: Aff, later: Aff, length: i64 },
}

impl Cut {
    pub fn new(nest: &FlatNest, flat: Flat, target: &Target) -> Result<Cut, Diagnostic> {
        let warp = i64::from(target.warp_size);
        let warps = i64::from(flat.threads) / warp;
        let items = i64::from(flat.items);
        let tile = items * warp;
        let chunk = tile * i64::from(flat.tiles);
        let ends = nest.count.scale(END_WEIGHT)?;
        let steps = nest.greatest.sub(&nest.least)?.add(&ends)?;
        let pieces =
            |length: i64| -> Result<_, Diagnostic> { Ok(steps.add_constant(length - 1)?.floor_div(length)?) };
        let chunks = match flat.tail {
            None => Chunks::Equal { chunks: pieces(chunk)?, blocks: pieces(chunk * warps)? },
            Some(Tail { full_chunks, tiles }) => {
                let (full, length) = (i64::from(full_chunks), tile * i64::from(tiles));
                // The constant has 32 bits: `Flat::wrong`.
                let later = steps.add_constant(length - 1 - full * chunk)?;
                Chunks::Guided { full, all: pieces(chunk)?, later, length }
            }
        };
        let absent = nest.greatest.add_constant(1)?;
        let (count, end_weight) = (nest.count.clone(), END_WEIGHT);
        Ok(Cut { warp, warps, items, tile, chunk, end_weight, count, steps, chunks, absent })
    }
}
