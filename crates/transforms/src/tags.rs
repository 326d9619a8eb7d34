//! Tags, with their names in loopy.
//!
//! # Tags
//!
//! | here | loopy | where the iname runs |
//! |---|---|---|
//! | `block.x`, `block.y`, `block.z` | `g.0`, `g.1`, `g.2` | an axis of the grid |
//! | `thread.x`, `thread.y`, `thread.z` | `l.0`, `l.1`, `l.2` | an axis of the block; its length is constant |
//! | `warp` | – | the warps of a block: the threads' y axis over full warps |
//! | `lane` | – | the lanes of a warp: the threads' x axis; a power of two of them, from 2 to a whole warp |
//! | `unroll` | `unr` | a loop of constant length, unrolled; its order stays |
//! | `partition` | – | a loop in the thread, apart where all conditions in it hold |
//! | `ilp` | `ilp`, `ilp.unr` | lanes of one thread: all lanes of a statement, then the next statement |
//! | `vec` | `vec` | as `ilp`, with vector loads and stores where neighbours in memory are neighbouring lanes |
//! | `seq` | `for`, or no tag | a loop in the thread |
//! | `host` | – | a loop around launches |
//! | `flat_128x16x16` | – | segments of unequal length in pieces of equal work; given by `flatten_ragged` |
//!
//! Both columns are accepted in every text; the first one is printed.
//!
//! # Steps
//!
//! The table of the steps is part of the documentation of [`Step`](crate::Step).
//!
//! loopy's local memory and groups are called shared memory and blocks here, as in CUDA.
//!
//! For a name that is only known in loopy ([`crate::FOREIGN_STEPS`]), the error names the
//! counterpart here.
