//! Steps that change how a kernel computes, never what: `LoopKernel -> LoopKernel`, one file a
//! transform, in folders by kind.
//!
//! A [`Step`] is a value: it is applied ([`Transform::apply`]), printed and parsed
//! (`split_iname(i, 128)`), and serialised. A [`Pipeline`] is a list of steps, whose numbers may be
//! open parameters (`split_iname(i, $block)`). The methods of [`Transforms`] on a kernel are the
//! same code. A kernel is a value too: a refused step leaves it as it was.
//!
//! [`Step`] shows each step beside what loopy's users know, the page [`tags`] each tag.
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
mod pipeline;
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
pub use declared::judge_declared;
pub use fluent::IntoNames;
pub use judged::{Explained, Explanation, Judged};
pub use loopwright_legality::{Basis, Judgement, Verdict, Witness};
pub use names::{FOREIGN_STEPS, ours};
pub use number::Number;
pub use pipeline::{Pipeline, Traced};
pub use registry::Registry;
pub use step::Transform;
pub use steps::*;
pub use text_diff::{DiffLine, TextDiff};
pub use together::{Composite, Together};
pub use user::UserStep;
