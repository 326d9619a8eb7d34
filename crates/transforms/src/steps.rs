//! The steps by kind, a file each, and the list that makes one type of them.
//!
//! A new step is its own file, which declares it (`crate::declare`), and two lines here: its
//! module, and its place in the list.

use loopwright_kernel_ir::{AddressSpace, Diagnostic, Name, Precision};

use crate::{
    Composite, IntoNames, Number, Pipeline, Together, Transform, UserStep,
    call::Call,
    step::{BuiltIn, TextForm},
};

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
    mod split_reduction;
    pub(crate) mod split_reduction_inward;
    pub(crate) mod split_reduction_outward;
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

steps! {
    loops::split_iname::SplitIname,
    parallelism::tag_inames::TagInames,
    parallelism::untag_inames::UntagInames,
    loops::reorder::Reorder,
    loops::unroll::Unroll,
    loops::join_inames::JoinInames,
    copies::add_prefetch::AddPrefetch,
    context::assume::Assume,
    context::assume_legal::AssumeLegal,
    loops::duplicate_inames::DuplicateInames,
    context::fix_parameters::FixParameters,
    storage::pad_array_axis::PadArrayAxis,
    copies::precompute::Precompute,
    loops::rename_iname::RenameIname,
    storage::set_address_space::SetAddressSpace,
    context::set_precision::SetPrecision,
    reductions::split_reduction_inward::SplitReductionInward,
    reductions::split_reduction_outward::SplitReductionOutward,
    storage::tag_array_axes::TagArrayAxes,
    loops::map_domain::MapDomain,
    loops::index_set_split::IndexSetSplit,
    loops::peel::Peel,
    loops::reverse::Reverse,
    loops::tile::Tile,
    loops::distribute::Distribute,
    loops::fuse_loops::FuseLoops,
    storage::privatize_temporary::PrivatizeTemporary,
    storage::unprivatize_temporary::UnprivatizeTemporary,
    storage::alias_temporaries::AliasTemporaries,
    loops::chunk_iname::ChunkIname,
    copies::double_buffer::DoubleBuffer,
    copies::buffer_array::BufferArray,
    storage::map_array::MapArray,
    loops::fuse_maximal::FuseMaximal,
    reductions::realize_scan::RealizeScan,
    copies::save_reload::SaveReload,
    parallelism::flatten_ragged::FlattenRagged,
    storage::cache_streaming::CacheStreaming,
    storage::cache_waves::CacheWaves,
    reductions::join_atomically::JoinAtomically,
}

pub use storage::tag_array_axes::{AxisTag, Layout};
