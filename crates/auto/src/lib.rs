//! Finds a pipeline for a kernel: ordinary steps, each with a reason.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel row_sum(x: f32[m, n], out: f32[m], m: i32, n: i32)
//! assume 0 <= m and 0 <= n
//! domain { [r] : 0 <= r < m }
//! domain { [i] : 0 <= i < n }
//! out[r] = sum(i, x[r, i]) {id=total}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.pipeline.to_string(), "\
//! split_iname(r, 32)
//! split_iname(r_inner, 8, outer=r_part, inner=r_row)
//! split_iname(r_outer, 65535, outer=r_far, inner=r_near)
//! split_iname(i, 4096, outer=i_chunk, inner=i_rest)
//! split_iname(i_rest, 32, outer=i_step, inner=i_lane)
//! tag_inames(r_near: block.y, r_far: block.z, i_chunk: block.x, r_row: thread.y, r_part: ilp, i_lane: thread.x)
//! ");
//! // The kernel after these steps, as `Pipeline::apply` makes it.
//! assert_eq!(found.kernel, found.pipeline.apply(&kernel)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! 1. A [`Nest`] is a loop of the tree with all that it contains, of which nothing runs in parallel
//!    yet: at the top, or directly inside loops of the host. Of a nest that a user's steps have
//!    begun, rules see the declared one; what they propose for that is continued from what is there
//!    (`continued`). What is on threads or blocks stays there.
//! 2. Each [`Rule`] proposes steps for a nest, the best first. Rules look at which loops are
//!    parallel, at strides of accesses along them, at what accesses share, and at the target's
//!    numbers; not at names of kernels, arrays or inames.
//! 3. Each proposed step has to be proved legal; if it is not, the next proposal is tried. So a
//!    rule may be optimistic: what it gets wrong costs speed, never results.
//! 4. The first proposal that passes is taken, and nests are looked for again, until every nest has
//!    been decided about. The kernel is lowered then, which includes the final check. If that
//!    refuses it, decisions are made again, with lowering after each proposal. Where nests of one
//!    launch have blocks of different shapes, so that threads are idle, other proposals are tried.
//!
//! Whether a loop is parallel is decided by the legality analysis as well, once for each loop:
//! would its iterations be legal in different blocks? ([`Nest::is_parallel`].)
//!
//! [`search`] asks a cost which of the legal proposals to take, instead of taking the first, and
//! which [`Sizes`]. The same kernel always gets the same pipeline. [`AutoStep`] is a step that does
//! all this in the middle of a pipeline.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod bounds;
mod continued;
mod digits;
mod fit;
mod found;
mod grid;
mod joined;
mod judge;
mod launch;
mod nest;
mod recurrence;
mod rounding;
mod rule;
mod rules;
mod search;
mod site;
mod sizes;
mod step;
mod text;
mod traffic;
mod wish;

pub use found::{Decision, Found, Refused, auto, auto_for, auto_with_witnesses};
pub use launch::Launch;
pub use loopwright_lowering::Target;
pub use nest::Nest;
pub use rule::{Proposal, Rule};
pub use rules::RULES;
pub use search::{Searched, search, search_for, search_while};
pub use site::{Site, Stride};
pub use sizes::{Size, Sizes};
pub use step::{AutoStep, CANDIDATES_A_SECOND, Cost, Costs, Effort, registry, registry_with};
pub use wish::Wish;
