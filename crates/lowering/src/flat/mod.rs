//! Flattened nests over segments of unequal length: three launches whose warps take equal numbers
//! of steps.
//!
//! A step is a point of a segment, or one of the `END_WEIGHT` steps that its end counts for, since
//! closing a segment costs more than adding a point. With `q(s) = end(s) - begin(0) + w * (s + 1)`,
//! the steps from `q(s - 1)` up to `q(s)` belong to segment `s`, its points first
//! (`loopwright_legality::flat_nest` counts one step for an end; any positive number is correct).
//! The steps are cut into chunks of `32 * items * tiles` (for warps of 32 threads), and smaller
//! ones in the tail of a guided schedule.
//!
//! 1. *starts*: one warp per chunk boundary finds, digit by digit, how many segments end before it,
//!    and the first point after it.
//! 2. *chunks*: a warp processes the points of a chunk, a tile of `32 * items` at a time. If no
//!    segment ends in a tile, each lane adds the points that it has loaded to its own accumulator.
//!    Otherwise the mapped values of the points go to shared memory, and the last point of each
//!    segment that ends there is marked. Each lane reduces `items` neighbouring points; at a mark
//!    it stores its partial result and starts over. A segmented scan over the lanes gives each lane
//!    the *open* partial result before it: that of the segment which has begun and not yet ended.
//!    Then each lane closes a segment: it joins the partial result stored at the segment's last
//!    point with the open one before that point's lane. So the lengths of segments do not make
//!    lanes diverge, and long segments do not keep lanes waiting. The partial results of a chunk's
//!    first segment and of the one open after its last tile are joined with those of the block's
//!    other warps by one thread.
//! 3. *join*: one block does the same with the partial results of all blocks, in their order.
//!
//! With long segments the second launch is bound by shared memory bandwidth, with short ones by
//! instructions. So points are stored and loaded there as whole vectors, marks are bytes, one
//! ballot tells a lane how far back its scan may reach, and the code that closes a segment has as
//! few branches as possible.
//!
//! The order of joins is fixed: that of the points if the operator does not commute. If it does,
//! the lanes' accumulators of tiles inside one segment are joined lane by lane.

mod launch;
pub(crate) mod plan;
mod show;
pub(crate) mod write;

pub(crate) use launch::{Launch, launches};
pub use plan::occupancy::min_blocks;
