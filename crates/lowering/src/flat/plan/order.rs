//! The order of a warp's work in the launch over chunks, and its barriers.
//!
//! A warp goes through the tiles of its chunk. The points of a tile are loaded while the tile
//! before is worked on, after whatever takes the points of that one from the same registers. The
//! ends of segments are loaded in groups: the current one and the next before the first tile, and
//! further ones as they are needed.
//!
//! A tile inside one segment is added up, if lanes have accumulators of their own. In any other
//! one, the last points of segments are marked and the points staged, then each lane reduces its
//! points, then lanes close the segments that end. Each of these reads what other lanes of the warp
//! have stored to shared memory, or overwrites what they have read: a barrier of the warp stands
//! between them, and at the end of the tile. It suffices, since each warp has a slice of every
//! array. Marks are taken away by the lane that reads them, so they are cleared once, before the
//! first tile.
//!
//! Segments that end after the last point are closed last. Then, after a barrier of the block, one
//! thread joins what the block's warps have of common segments, in their order.
//!
//! The first tile begins at a multiple of the widest vector, and so of all narrower ones, and of
//! the number of points that a lane reduces, so that a point's number divided by it is its lane.

use loopwright_target::Target;

use super::{Cut, Loads, Reduction};
use crate::program::Scope;

/// A part of a warp's work on its chunk.
pub(crate) enum ChunkNode {
    /// What the warp has of the first segment that ends in its chunk is neutral until one does.
    ResetHead,
    /// No point is marked as the last one of its segment.
    ClearMarks,
    /// A barrier, and what it is for.
    Sync(Scope, &'static str),
    /// The tiles of the chunk, from a multiple of `align` points at or before its first point.
    Tiles { align: i64, before: Vec<FirstNode>, each: Vec<TileNode> },
    /// The lanes write the results of the segments that end after the chunk's last point.
    CloseEmpty,
    /// The lanes' own accumulators are joined into what is open.
    JoinLanes,
    /// The first lane stores what the warp has of segments that others have a part of.
    StoreParts,
    /// One thread joins the parts of the block's warps in their order, and stores those of the
    /// block.
    JoinWarps,
}

/// What comes before the first tile.
pub(crate) enum FirstNode {
    /// The points of the first tile are loaded.
    LoadPoints,
    /// A group of ends is loaded.
    LoadEnds(Group),
    /// Each lane gets to know where the segments of the current group begin.
    FindBegins,
}

/// A group of the ends of segments that a warp holds: the one in use, or the one after it.
pub(crate) enum Group {
    Current,
    Next,
}

/// A part of a warp's work on a tile.
pub(crate) enum TileNode {
    /// `inside` if the tile is whole and no segment ends in it, which the lanes vote on; `ends`
    /// otherwise.
    Vote { inside: Vec<TileNode>, ends: Vec<TileNode> },
    /// Each lane adds the points that it has loaded to its own accumulator.
    AddLoaded,
    /// The points of the next tile are loaded, if there is one.
    LoadNext,
    /// The last points of segments that end in the tile are marked.
    MarkEnds,
    /// The lanes' own accumulators are joined into what is open.
    JoinLanes,
    /// The lanes store the mapped values of the points that they have loaded to shared memory.
    Stage,
    /// A barrier of the warp, and what it is for.
    Sync(&'static str),
    /// Each lane reduces neighbouring points, stores what the last points of segments complete, and
    /// gets to know what is open before it.
    Reduce,
    /// The lanes write the results of the segments that end in the tile.
    CloseEnds,
}

/// The work of a warp on its chunk.
pub(crate) fn chunk(cut: &Cut, loads: &Loads, reduction: &Reduction, target: &Target) -> Vec<ChunkNode> {
    let (loaded, staged) = (!loads.inputs.is_empty(), !reduction.staged.is_empty());
    let ends = [
        Some(TileNode::MarkEnds),
        reduction.own.then_some(TileNode::JoinLanes),
        staged.then_some(TileNode::Stage),
        loaded.then_some(TileNode::LoadNext),
        Some(TileNode::Sync("points and marks of the tile are stored, from which partial results are made")),
        Some(TileNode::Reduce),
        Some(TileNode::Sync("partial results are stored, at the last points of segments")),
        Some(TileNode::CloseEnds),
        Some(TileNode::Sync("the tile's partial results are read")),
    ];
    let ends: Vec<TileNode> = ends.into_iter().flatten().collect();
    let each = match reduction.own {
        true => {
            let next = loaded.then_some(TileNode::LoadNext);
            let inside = [TileNode::AddLoaded].into_iter().chain(next).collect();
            vec![TileNode::Vote { inside, ends }]
        }
        false => ends,
    };
    let tiles = ChunkNode::Tiles {
        align: i64::from(target.widest_access).max(cut.items),
        before: loaded
            .then_some(FirstNode::LoadPoints)
            .into_iter()
            .chain([
                FirstNode::LoadEnds(Group::Current),
                FirstNode::FindBegins,
                FirstNode::LoadEnds(Group::Next),
            ])
            .collect(),
        each,
    };
    let marks = "no point is marked yet: marks tell partial results apart";
    let stored = "all warps have stored their partial results of common segments";
    let nodes = [
        Some(ChunkNode::ResetHead),
        Some(ChunkNode::ClearMarks),
        Some(ChunkNode::Sync(Scope::Warp, marks)),
        Some(tiles),
        Some(ChunkNode::CloseEmpty),
        reduction.own.then_some(ChunkNode::JoinLanes),
        Some(ChunkNode::StoreParts),
        Some(ChunkNode::Sync(Scope::Block, stored)),
        Some(ChunkNode::JoinWarps),
    ];
    nodes.into_iter().flatten().collect()
}
