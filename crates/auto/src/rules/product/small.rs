//! Products of 32-bit numbers in tiles of 64 x 64 or 32 x 32, copied into a ring of three slots:
//! for launches of which longer tiles would leave multiprocessors without a block, or would be full
//! in part only.
//!
//! A thread has 8 x 4 results, or 4 x 4. Of a factor with neighbours along the sum, the tile is
//! turned over while it is copied, element by element, so that the threads of a warp read
//! neighbours; of another one vectors are copied, if its rows begin where vectors do.

use loopwright_lowering::Target;

use super::{Shape, ring};
use crate::{
    Proposal, Site, Stride,
    text::{split, split_as, tag},
};

/// Elements of a vector of 16 bytes.
const VECTOR: i64 = 4;

/// A block's tile.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Tile {
    /// Results along each side.
    pub side: i64,
    /// Terms of the sum in a slot.
    pub depth: i64,
    /// Rows of the results of a thread.
    rows: i64,
}

pub(super) const MIDDLE: Tile = Tile { side: 64, depth: 16, rows: 8 };
pub(super) const SHORT: Tile = Tile { side: 32, depth: 32, rows: 4 };

impl Tile {
    /// Bytes of shared memory of a block: three slots of both tiles, padded.
    fn shared(self) -> i64 {
        4 * 3 * self.depth * 2 * (self.side + VECTOR)
    }
}

/// Whether there is such a proposal: for two matrices whose elements have 32 bits.
pub(super) fn is_possible(shape: &Shape<'_>, tile: Tile, device: &Target) -> bool {
    let have_32_bits = |factors: [&Site; 2]| factors.iter().all(|f| f.bytes == 4);
    shape.matrices().is_some_and(have_32_bits) && shape.has_room(device, 1, tile.shared())
}

/// The proposal, if it is possible.
pub(super) fn small(shape: &Shape<'_>, tile: Tile) -> Option<Proposal> {
    let Shape { x, y, k, .. } = shape;
    let Tile { side, depth, rows } = tile;
    let [left, right] = shape.matrices()?;
    let are_short = shape.used([ring::TILE; 2]) < shape.used([side; 2]);
    let why = if are_short { "have fewer results than places" } else { "leave multiprocessors without work" };
    let proposal = shape.begin(format!(
        "each element of the factors serves many results: a block takes {side} x {side} of them, since longer \
         tiles would {why}, a thread {rows} x {VECTOR} in registers, and {depth} terms of the sum at a time \
         through shared memory, copied two tiles ahead of their use"
    ))
    .step(split(y, side))
    .step(split(x, side));
    let (proposal, steps, shares) = shape.split_sum(proposal, shape.chunk([side; 2], depth), depth);
    let proposal = proposal
        .step(split_as(format!("{y}_inner"), rows, format!("{y}_thread"), format!("{y}_part")))
        .step(split_as(format!("{x}_inner"), VECTOR, format!("{x}_thread"), format!("{x}_vec")));
    let (begun, mut tags) = shape.grid(proposal, side);
    tags.extend([
        (format!("{y}_thread"), "thread.y"),
        (format!("{x}_thread"), "thread.x"),
        (format!("{y}_part"), "ilp"),
        (format!("{x}_vec"), "vec"),
    ]);
    tags.extend(shares);
    let mut proposal = begun.step(tag(&tags));
    let mut tiles = Vec::new();
    for (factor, own) in [(left, format!("{y}_part")), (right, format!("{x}_vec"))] {
        let sweep = [format!("{}_thread", shape.side(factor)), own, format!("{k}_inner")];
        let turned = factor.stride(k) == Stride::Unit;
        let has_vectors = !turned && shape.has_aligned_rows(factor);
        let options = if has_vectors { ", vec=4, via=cp_async" } else { ", via=cp_async" };
        let (copy, name) = shape.prefetch(factor, &sweep, options);
        proposal = proposal.step(copy);
        if turned {
            proposal = proposal
                .step(format!("tag_array_axes({name}, f)"))
                .step(format!("pad_array_axis({name}, 0, {VECTOR})"));
        }
        tiles.push(name);
    }
    Some(
        proposal
            .step(format!("pipeline({steps}, [{}], stages=3)", tiles.join(", ")))
            .step(format!("unroll({k}_inner)")),
    )
}
