//! The steps, one file each in folders by kind, and the list from which `Step` is defined.
//!
//! A new step needs a file, which declares it (`crate::declare`), and two lines here: its module,
//! and its place in the list.

use loopwright_kernel_ir::{AddressSpace, Diagnostic, KernelData, Name, Precision, UpdateScope};

use crate::{
    Composite, IntoNames, Number, Pipeline, Together, Transform, UserStep,
    call::Call,
    step::{BuiltIn, TextForm},
};

/// Loops: splitting, joining, renaming, reordering, mapping, fusing.
mod loops {
    pub(super) mod chunk_iname;
    pub(super) mod distribute;
    pub(super) mod duplicate_inames;
    pub(super) mod fuse_loops;
    pub(super) mod fuse_maximal;
    pub(super) mod index_set_split;
    mod inverse;
    pub(super) mod join_inames;
    pub(super) mod map_domain;
    pub(super) mod move_statement;
    pub(super) mod peel;
    pub(super) mod rename_iname;
    pub(super) mod reorder;
    pub(super) mod reverse;
    pub(super) mod split_iname;
    pub(super) mod tile;
    pub(super) mod unroll;
}

/// Storage: address spaces, layouts and shapes of arrays, and hints for caches.
mod storage {
    pub(super) mod alias_temporaries;
    pub(super) mod cache_streaming;
    pub(super) mod cache_waves;
    pub(super) mod concatenate_arrays;
    pub(super) mod map_array;
    pub(super) mod pad_array_axis;
    pub(super) mod privatize_temporary;
    pub(super) mod separate_axis;
    pub(super) mod set_address_space;
    pub(super) mod set_layout;
    pub(super) mod split_live_range;
    pub(super) mod swizzle;
    pub(super) mod tag_array_axes;
    pub(super) mod unprivatize_temporary;
}

/// Reductions: how they are split, scanned and joined.
mod reductions {
    pub(super) mod map_to_atom;
    pub(super) mod privatize_updates;
    pub(super) mod realize_scan;
    pub(super) mod recognize_reduction;
    pub(super) mod reduce_atomically;
    pub(super) mod set_update_scope;
    mod split_reduction;
    pub(super) mod split_reduction_inward;
    pub(super) mod split_reduction_outward;
    pub(super) mod store_matrices;
    pub(super) mod tensorize;
}

/// Copies: buffers, and the instructions that fill and empty them.
mod copies {
    pub(super) mod add_prefetch;
    pub(super) mod advance;
    pub(super) mod buffer_array;
    pub(super) mod double_buffer;
    pub(super) mod pack_array;
    pub(super) mod pipeline;
    pub(super) mod precompute;
    pub(super) mod prefetch_fragments;
    pub(super) mod save_reload;
}

/// Rules: names for forms of expressions, and temporaries for their values.
mod rules {
    pub(super) mod assign_common_subexpressions;
    pub(super) mod assignment_to_subst;
    pub(super) mod collect_common_factors;
    pub(super) mod extract_subst;
    pub(super) mod simplify;
    pub(super) mod subst_to_assignment;
}

/// Parallelism: which iterations run at the same time, and where.
mod parallelism {
    pub(super) mod begin_launch;
    pub(super) mod flatten_ragged;
    pub(super) mod min_blocks_per_multiprocessor;
    pub(super) mod tag_inames;
    pub(super) mod untag_inames;
}

/// The context of a kernel: assumptions, values of parameters, precision.
mod context {
    pub(super) mod assume;
    pub(super) mod assume_legal;
    pub(super) mod fix_parameters;
    pub(super) mod set_precision;
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
    storage::set_layout::SetLayout,
    storage::swizzle::SwizzleArray,
    loops::map_domain::MapDomain,
    loops::index_set_split::IndexSetSplit,
    loops::peel::Peel,
    loops::reverse::Reverse,
    loops::tile::Tile,
    loops::distribute::Distribute,
    loops::fuse_loops::FuseLoops,
    loops::move_statement::MoveStatement,
    storage::split_live_range::SplitLiveRange,
    storage::privatize_temporary::PrivatizeTemporary,
    storage::unprivatize_temporary::UnprivatizeTemporary,
    storage::alias_temporaries::AliasTemporaries,
    loops::chunk_iname::ChunkIname,
    copies::double_buffer::DoubleBuffer,
    copies::pipeline::Pipelined,
    copies::advance::Advance,
    copies::prefetch_fragments::PrefetchFragments,
    copies::buffer_array::BufferArray,
    copies::pack_array::PackArray,
    storage::map_array::MapArray,
    storage::separate_axis::SeparateAxis,
    storage::concatenate_arrays::ConcatenateArrays,
    loops::fuse_maximal::FuseMaximal,
    reductions::realize_scan::RealizeScan,
    reductions::recognize_reduction::RecognizeReduction,
    reductions::privatize_updates::PrivatizeUpdates,
    copies::save_reload::SaveReload,
    parallelism::flatten_ragged::FlattenRagged,
    storage::cache_streaming::CacheStreaming,
    storage::cache_waves::CacheWaves,
    reductions::reduce_atomically::ReduceAtomically as "join_atomically",
    reductions::set_update_scope::SetUpdateScope,
    parallelism::min_blocks_per_multiprocessor::MinBlocksPerMultiprocessor,
    parallelism::begin_launch::BeginLaunch,
    reductions::map_to_atom::MapToAtom,
    reductions::tensorize::Tensorize,
    reductions::store_matrices::StoreMatrices,
    rules::extract_subst::ExtractSubst,
    rules::assignment_to_subst::AssignmentToSubst,
    rules::subst_to_assignment::SubstToAssignment,
    rules::simplify::Simplify,
    rules::collect_common_factors::CollectCommonFactors,
    rules::assign_common_subexpressions::AssignCommonSubexpressions,
}

pub use copies::pipeline::Issue;
#[doc(hidden)]
pub use reductions::reduce_atomically::JoinAtomically;
pub use rules::collect_common_factors::Rounding;
pub use storage::tag_array_axes::{AxisTag, Layout};
