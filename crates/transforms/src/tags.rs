//! Tags and steps beside the names that loopy's users know.
//!
//! # Tags
//!
//! | here | loopy | where the iname runs |
//! |---|---|---|
//! | `block.x`, `block.y`, `block.z` | `g.0`, `g.1`, `g.2` | an axis of the grid |
//! | `thread.x`, `thread.y`, `thread.z` | `l.0`, `l.1`, `l.2` | an axis of the block; its length is constant |
//! | `warp` | – | the warps of a block: the threads' y axis over full warps |
//! | `lane` | – | the lanes of a warp: the threads' x axis; 2, 4, 8, 16 or 32 of them |
//! | `unroll` | `unr` | a loop of constant length, unrolled; its order stays |
//! | `ilp` | `ilp`, `ilp.unr` | lanes of one thread: all lanes of a statement, then the next statement |
//! | `vec` | `vec` | as `ilp`, with vector loads and stores where neighbours in memory are neighbouring lanes |
//! | `seq` | `for`, or no tag | a loop in the thread |
//! | `host` | – | a loop around launches |
//!
//! Both columns are read in every text; printed is the first.
//!
//! # Steps
//!
//! | here | loopy |
//! |---|---|
//! | [`split_iname(i, 128)`](crate::SplitIname) | `split_iname(k, "i", 128)` |
//! | [`tag_inames(i: block.x)`](crate::TagInames) | `tag_inames(k, "i:g.0")` |
//! | [`untag_inames(i)`](crate::UntagInames) | `untag_inames(k, "i", ...)` |
//! | [`reorder(j, i)`](crate::Reorder) | `prioritize_loops(k, "j,i")`, obeyed always |
//! | [`unroll(i)`](crate::Unroll) | `tag_inames(k, "i:unr")` |
//! | [`together { ... }`](crate::Together) | – |
//!
//! A name of loopy's that is another one here ([`crate::FOREIGN_STEPS`]) is answered with ours.
