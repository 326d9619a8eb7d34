//! Steps that change how a kernel computes, never what: `LoopKernel -> LoopKernel`, one file a transform.
//!
//! A [`Step`] is a value: it is applied ([`Transform::apply`]), printed and parsed (`split_iname(i, 128)`), and serialised. A
//! [`Pipeline`] is a list of steps, whose numbers may be open parameters (`split_iname(i, $block)`). The methods of [`Transforms`]
//! on a kernel are the same code. A kernel is a value too: a refused step leaves it as it was.
//!
//! The page [`tags`] shows each tag and each step beside the name that loopy's users know.
//!
//! Here the structure of the kernel is checked; what goes wrong between threads (races, values of other threads) is found when the
//! kernel is lowered.

mod add_prefetch;
mod call;
mod edit;
mod extent;
mod fluent;
mod footprint;
mod join_inames;
mod names;
mod number;
mod pipeline;
mod place;
mod registry;
mod reorder;
mod split_iname;
mod spread;
mod step;
mod tag_inames;
pub mod tags;
mod together;
mod unroll;
mod untag_inames;
mod user;

pub use add_prefetch::AddPrefetch;
pub use call::Call;
pub use fluent::{IntoNames, Transforms};
pub use join_inames::JoinInames;
pub use names::{FOREIGN_STEPS, ours};
pub use number::Number;
pub use pipeline::{Pipeline, Traced};
pub use registry::Registry;
pub use reorder::Reorder;
pub use split_iname::SplitIname;
pub use step::{Step, Transform};
pub use tag_inames::TagInames;
pub use together::{Composite, Together};
pub use unroll::Unroll;
pub use untag_inames::UntagInames;
pub use user::UserStep;
