//! The steps by kind, a file each.

/// Loops: cut, joined, named, ordered, mapped, fused.
pub(crate) mod loops {
    pub(crate) mod chunk_iname;
    pub(crate) mod distribute;
    pub(crate) mod duplicate_inames;
    pub(crate) mod fuse_loops;
    pub(crate) mod fuse_maximal;
    pub(crate) mod index_set_split;
    pub(crate) mod join_inames;
    pub(crate) mod map_domain;
    pub(crate) mod peel;
    pub(crate) mod rename_iname;
    pub(crate) mod reorder;
    pub(crate) mod reverse;
    pub(crate) mod split_iname;
    pub(crate) mod tile;
    mod unimodular;
    pub(crate) mod unroll;
}

/// Where arrays and temporaries live, and how they lie there.
pub(crate) mod storage {
    pub(crate) mod alias_temporaries;
    pub(crate) mod cache_streaming;
    pub(crate) mod cache_waves;
    pub(crate) mod map_array;
    pub(crate) mod pad_array_axis;
    pub(crate) mod privatize_temporary;
    pub(crate) mod set_address_space;
    pub(crate) mod tag_array_axes;
    pub(crate) mod unprivatize_temporary;
}

/// How reductions are taken apart and joined.
pub(crate) mod reductions {
    pub(crate) mod join_atomically;
    pub(crate) mod realize_scan;
    pub(crate) mod split_reduction;
}

/// Buffers, and the copies that fill and empty them.
pub(crate) mod copies {
    pub(crate) mod add_prefetch;
    pub(crate) mod buffer_array;
    pub(crate) mod double_buffer;
    pub(crate) mod precompute;
    pub(crate) mod save_reload;
}

/// Which iterations run at the same time, and where.
pub(crate) mod parallelism {
    pub(crate) mod flatten_ragged;
    pub(crate) mod tag_inames;
    pub(crate) mod untag_inames;
}

/// What holds for parameters, steps and results, of the kernel as a whole.
pub(crate) mod context {
    pub(crate) mod assume;
    pub(crate) mod assume_legal;
    pub(crate) mod fix_parameters;
    pub(crate) mod set_precision;
}

pub use context::{
    assume::Assume, assume_legal::AssumeLegal, fix_parameters::FixParameters, set_precision::SetPrecision,
};
pub use copies::{
    add_prefetch::AddPrefetch, buffer_array::BufferArray, double_buffer::DoubleBuffer,
    precompute::Precompute, save_reload::SaveReload,
};
pub use loops::{
    chunk_iname::ChunkIname, distribute::Distribute, duplicate_inames::DuplicateInames,
    fuse_loops::FuseLoops, fuse_maximal::FuseMaximal, index_set_split::IndexSetSplit,
    join_inames::JoinInames, map_domain::MapDomain, peel::Peel, rename_iname::RenameIname, reorder::Reorder,
    reverse::Reverse, split_iname::SplitIname, tile::Tile, unroll::Unroll,
};
pub use parallelism::{flatten_ragged::FlattenRagged, tag_inames::TagInames, untag_inames::UntagInames};
pub use reductions::{
    join_atomically::JoinAtomically,
    realize_scan::RealizeScan,
    split_reduction::{SplitReductionInward, SplitReductionOutward},
};
pub use storage::{
    alias_temporaries::AliasTemporaries,
    cache_streaming::CacheStreaming,
    cache_waves::CacheWaves,
    map_array::MapArray,
    pad_array_axis::PadArrayAxis,
    privatize_temporary::PrivatizeTemporary,
    set_address_space::SetAddressSpace,
    tag_array_axes::{AxisTag, Layout, TagArrayAxes},
    unprivatize_temporary::UnprivatizeTemporary,
};
