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
//! | `flat_128x16x16` | – | segments of unequal length in pieces of equal work; given by `flatten_ragged` |
//!
//! Both columns are read in every text; printed is the first.
//!
//! # Steps
//!
//! | here | loopy |
//! |---|---|
//! | [`split_iname(i, 128)`](crate::SplitIname) | `split_iname(k, "i", 128)` |
//! | [`join_inames([i, j], k)`](crate::JoinInames) | `join_inames(k, ["i", "j"], "k")` |
//! | [`rename_iname(i, row)`](crate::RenameIname) | `rename_iname(k, "i", "row")` |
//! | [`duplicate_inames([i], [id])`](crate::DuplicateInames) | `duplicate_inames(k, "i", "id:id")`, with its dependences proved |
//! | [`tag_inames(i: block.x)`](crate::TagInames) | `tag_inames(k, "i:g.0")` |
//! | [`untag_inames(i)`](crate::UntagInames) | `untag_inames(k, "i", ...)` |
//! | [`reorder(j, i)`](crate::Reorder) | `prioritize_loops(k, "j,i")`, always obeyed and its dependences proved |
//! | [`tile([i, j], [16, 32])`](crate::Tile) | `split_iname` twice, then `prioritize_loops` |
//! | [`map_domain([t, i] -> [w, t], w = 2*t + i)`](crate::MapDomain) | `map_domain(k, isl_map)`, `affine_map_inames` |
//! | [`reverse(i)`](crate::Reverse) | `affine_map_inames` |
//! | [`index_set_split(i, i < k)`](crate::IndexSetSplit) | – |
//! | [`peel(i, first=1, last=1)`](crate::Peel) | `split_iname(..., slabs=(1, 1))` after a split |
//! | [`distribute(i)`](crate::Distribute) | `duplicate_inames` |
//! | [`fuse_loops([i, j])`](crate::FuseLoops) | `rename_inames(k, ["i", "j"], "i")` |
//! | [`fuse_maximal(i, j, k)`](crate::FuseMaximal) | `get_kennedy_unweighted_fusion_candidates`, `rename_inames_in_batch` |
//! | [`unroll(i)`](crate::Unroll) | `tag_inames(k, "i:unr")` |
//! | [`add_prefetch(a, [i_inner, k_inner])`](crate::AddPrefetch) | `add_prefetch(k, "a", ["i_inner", "k_inner"])` |
//! | [`precompute(t, [i_inner])`](crate::Precompute) | `precompute(k, "t_subst", "i_inner")` after `assignment_to_subst` |
//! | [`split_reduction_inward(i_inner)`](crate::SplitReductionInward) | `split_reduction_inward(k, "i_inner")` |
//! | [`split_reduction_outward(i_outer)`](crate::SplitReductionOutward) | `split_reduction_outward(k, "i_outer")` |
//! | [`privatize_temporary(t, [i])`](crate::PrivatizeTemporary) | `privatize_temporaries_with_inames(k, "i", "t")` |
//! | [`unprivatize_temporary(t, 0)`](crate::UnprivatizeTemporary) | `unprivatize_temporaries_with_inames(k, "i", "t")` |
//! | [`alias_temporaries([a, b])`](crate::AliasTemporaries) | `alias_temporaries(k, ["a", "b"])` |
//! | [`buffer_array(c, [k])`](crate::BufferArray) | `buffer_array(k, "c", ["k"])` |
//! | [`double_buffer(a_tile, k_outer)`](crate::DoubleBuffer) | – |
//! | [`chunk_iname(i, 4)`](crate::ChunkIname) | `chunk_iname(k, "i", 4)` |
//! | [`save_reload(t)`](crate::SaveReload) | `save_and_reload_temporaries(k)` |
//! | [`realize_scan(i, j)`](crate::RealizeScan) | `realize_reduction(k, force_scan=True)` |
//! | [`flatten_ragged(s, i)`](crate::FlattenRagged) | – |
//! | [`join_atomically(id)`](crate::JoinAtomically) | `atomic` on an instruction |
//! | [`cache_streaming(x)`](crate::CacheStreaming) | – |
//! | [`cache_waves(x, window=128, windows=2)`](crate::CacheWaves) | – |
//! | [`set_address_space(t, shared)`](crate::SetAddressSpace) | `set_temporary_address_space(k, "t", "local")` |
//! | [`make_global(t)`](crate::SetAddressSpace) | `set_temporary_address_space(k, "t", "global")` |
//! | [`tag_array_axes(x, [N1, N0])`](crate::TagArrayAxes), `c`, `f` | `tag_array_axes(k, "x", "N1,N0")` |
//! | [`map_array(t, [x, y] -> [y, x + y])`](crate::MapArray) | `split_array_dim`, for temporaries |
//! | [`pad_array_axis(t, 1, 1)`](crate::PadArrayAxis) | `add_padding(k, "t", 1, align)` |
//! | [`assume(n >= 1)`](crate::Assume) | `assume(k, "n >= 1")` |
//! | [`fix_parameters(n=64)`](crate::FixParameters) | `fix_parameters(k, n=64)` |
//! | [`set_precision(fast)`](crate::SetPrecision) | a compiler option |
//! | [`assume_legal("why")`](crate::AssumeLegal) | – |
//! | [`together { ... }`](crate::Together) | – |
//! | [`name { ... }`](crate::Composite), [`name()`](crate::UserStep) | a Python function |
//!
//! `barriers`, `local memory` and `groups` of loopy are called barriers, shared memory and blocks
//! here, as in CUDA.
//!
//! A name of loopy's that is another one here ([`crate::FOREIGN_STEPS`]) is answered with ours.
