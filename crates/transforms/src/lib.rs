//! Transformation steps, `LoopKernel -> LoopKernel`: they change how a kernel computes its results,
//! and never which results it computes. Each step has its own file, in a folder for its kind.
//!
//! A [`Step`] is a value: it can be applied ([`Transform::apply`]), printed, parsed
//! (`split_iname(i, 128)`) and serialised. A [`Pipeline`] is a sequence of steps, whose numbers may
//! be open parameters (`split_iname(i, $block)`). The methods of [`Transforms`] apply the same
//! steps to a kernel. A kernel is a value too: a step that is refused leaves it unchanged.
//!
//! The documentation of [`Step`] lists each step with its counterpart in loopy, and the module
//! [`tags`] does so for each tag. Lists of inames, instructions and temporaries may have
//! [`patterns`].
//!
//! Every step is judged (see [`Verdict`]). Either the new kernel is proved to compute what the
//! declared kernel computes, for all values of the parameters; or the step is refused with a
//! counter-example; or neither can be shown, and the step is refused unless the user vouches for it
//! ([`AssumeLegal`]). [`Pipeline::explain`] shows the verdicts. Whether the barriers and kernel
//! boundaries that an order requires can be placed is determined when the kernel is lowered.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

#[macro_use]
mod declare;

mod arguments;
mod call;
mod compare;
mod declared;
mod fluent;
mod judged;
mod names;
mod number;
mod older_names;
pub mod patterns;
mod pipeline;
mod reference;
mod registry;
mod rewrite;
mod step;
mod steps;
pub mod tags;
mod text_diff;
mod together;
mod user;

pub use call::Call;
pub use compare::{Bisection, Culprit, Divergence};
pub use declared::{held_to_declared, judge_declared};
pub use fluent::IntoNames;
pub use judged::{Explained, Explanation, Judged};
pub use loopwright_legality::{Basis, Judgement, Verdict, Witness};
pub use names::{FOREIGN_STEPS, foreign_tag, nearest, ours};
pub use number::Number;
pub use older_names::{OlderName, older_names_in, older_names_of};
pub use pipeline::{Pipeline, Traced};
pub use reference::{Form, Page, Parameter};
pub use registry::Registry;
pub use step::Transform;
pub use steps::*;
pub use text_diff::{DiffLine, TextDiff};
pub use together::{Composite, Together};
pub use user::UserStep;
