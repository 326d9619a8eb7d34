//! The pieces of the work of a warp: its chunk, and the tiles of that.

use crate::program::Value;

/// The chunk of a warp.
pub(super) struct Chunk {
    pub lane: Value,
    pub warp: Value,
    /// The first segment that ends in it, and the first that ends behind it.
    pub first_segment: Value,
    pub end_segment: Value,
    /// The first point of it, and the first behind it.
    pub from: Value,
    pub to: Value,
}

/// A tile of a chunk.
pub(super) struct Tile {
    /// The place of its first point, a multiple of the widest vector: before the first point of the
    /// chunk, perhaps.
    pub first: Value,
    /// The first point that belongs to the chunk, and the first behind those that do.
    pub begin: Value,
    pub stop: Value,
}

/// Which points of a tile belong to the chunk, besides those from its end on, which do not.
#[derive(Clone, Copy)]
pub(super) enum Span<'v> {
    /// All: of a tile behind the first.
    Behind,
    /// Those from this one on.
    From(&'v Value),
}
