//! A warp's work: its chunk, and the tiles of the chunk.

use crate::program::Value;

/// The chunk of a warp, and where it lies among points and segments.
pub(super) struct Chunk {
    pub lane: Value,
    pub warp: Value,
    /// The first segment that ends in it, and the first that ends after it.
    pub first_segment: Value,
    pub end_segment: Value,
    /// Its first point, and the first point after it.
    pub from: Value,
    pub to: Value,
}

/// A tile of a chunk: the points that the lanes of a warp reduce together.
pub(super) struct Tile {
    /// The position of its first point, a multiple of the widest vector; it may lie before the
    /// first point of the chunk.
    pub first: Value,
    /// The range of its points that belong to the chunk.
    pub begin: Value,
    pub stop: Value,
    /// The position of the next tile's first point.
    pub next: Value,
}

/// Which points of a tile, among those before the chunk's end, belong to the chunk.
#[derive(Clone, Copy)]
pub(super) enum Span<'v> {
    /// All: any tile but the first.
    Later,
    /// Those from this one on: the first tile.
    From(&'v Value),
}
