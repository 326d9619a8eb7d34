//! Steps that change how a kernel computes, never what: `LoopKernel -> LoopKernel`, one file a
//! transform.
//!
//! A [`Step`] is a value: it is applied ([`Transform::apply`]), printed and parsed
//! (`split_iname(i, 128)`), and serialised. A [`Pipeline`] is a list of steps, whose numbers may be
//! open parameters (`split_iname(i, $block)`). The methods of [`Transforms`] on a kernel are the
//! same code. A kernel is a value too: a refused step leaves it as it was.
//!
//! The page [`tags`] shows each tag and each step beside the name that loopy's users know.
//!
//! Every step is judged (see [`Verdict`]): it is proved to compute the declared kernel for all
//! values of the parameters, or refused with a counter-example, or refused because neither is
//! known, unless the user vouches for it ([`AssumeLegal`]). [`Pipeline::explain`] shows the
//! verdicts. Whether the barriers and kernel boundaries that an order needs can be placed is found
//! when the kernel is lowered.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod add_prefetch;
mod alias_temporaries;
mod array_axes;
mod assume;
mod assume_legal;
mod buffer_array;
mod cache_streaming;
mod cache_waves;
mod call;
mod chunk_iname;
mod compare;
mod declared;
mod distribute;
mod double_buffer;
mod duplicate_inames;
mod fix_parameters;
mod flatten_ragged;
mod fluent;
mod fuse_loops;
mod fuse_maximal;
mod index_set_split;
mod join_atomically;
mod join_inames;
mod judged;
mod map_array;
mod map_domain;
mod names;
mod number;
mod peel;
mod pipeline;
mod precompute;
mod privatize_temporary;
mod realize_scan;
mod registry;
mod rename_iname;
mod reorder;
mod reverse;
mod rewrite;
mod save_reload;
mod set_address_space;
mod set_precision;
mod split_iname;
mod split_reduction;
mod step;
mod tag_inames;
pub mod tags;
mod text_diff;
mod tile;
mod together;
mod unimodular;
mod unroll;
mod untag_inames;
mod user;

pub use add_prefetch::AddPrefetch;
pub use alias_temporaries::AliasTemporaries;
pub use array_axes::{AxisTag, Layout, PadArrayAxis, TagArrayAxes};
pub use assume::Assume;
pub use assume_legal::AssumeLegal;
pub use buffer_array::BufferArray;
pub use cache_streaming::CacheStreaming;
pub use cache_waves::CacheWaves;
pub use call::Call;
pub use chunk_iname::ChunkIname;
pub use compare::{Bisection, Culprit, Divergence};
pub use declared::judge_declared;
pub use distribute::Distribute;
pub use double_buffer::DoubleBuffer;
pub use duplicate_inames::DuplicateInames;
pub use fix_parameters::FixParameters;
pub use flatten_ragged::FlattenRagged;
pub use fluent::{IntoNames, Transforms};
pub use fuse_loops::FuseLoops;
pub use fuse_maximal::FuseMaximal;
pub use index_set_split::IndexSetSplit;
pub use join_atomically::JoinAtomically;
pub use join_inames::JoinInames;
pub use judged::{Explained, Explanation, Judged};
pub use loopwright_legality::{Basis, Judgement, Verdict, Witness};
pub use map_array::MapArray;
pub use map_domain::MapDomain;
pub use names::{FOREIGN_STEPS, ours};
pub use number::Number;
pub use peel::Peel;
pub use pipeline::{Pipeline, Traced};
pub use precompute::Precompute;
pub use privatize_temporary::{PrivatizeTemporary, UnprivatizeTemporary};
pub use realize_scan::RealizeScan;
pub use registry::Registry;
pub use rename_iname::RenameIname;
pub use reorder::Reorder;
pub use reverse::Reverse;
pub use save_reload::SaveReload;
pub use set_address_space::SetAddressSpace;
pub use set_precision::SetPrecision;
pub use split_iname::SplitIname;
pub use split_reduction::{SplitReductionInward, SplitReductionOutward};
pub use step::{Step, Transform};
pub use tag_inames::TagInames;
pub use text_diff::{DiffLine, TextDiff};
pub use tile::Tile;
pub use together::{Composite, Together};
pub use unroll::Unroll;
pub use untag_inames::UntagInames;
pub use user::UserStep;
