//! Copies to shared memory that a user's steps have made before there were threads.
//!
//! `add_prefetch` spreads a copy over the threads that its block has by then. One that came first
//! is made by a single thread, or again and again by all. Its loops go to the threads that the rest
//! of the block has now, the innermost along x, so that neighbours copy neighbours; what is left of
//! them is unrolled.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//! use loopwright_transforms::Pipeline;
//!
//! let kernel = LoopKernel::parse("\
//! kernel stencil(u: f32[m, n], v: f32[m, n], m: i32, n: i32)
//! assume 3 <= m and 3 <= n
//! domain { [i, j] : 1 <= i < m - 1 and 1 <= j < n - 1 }
//! v[i, j] = u[i - 1, j] + u[i + 1, j] - 2*u[i, j] {id=second}
//! ")?;
//! let begun = Pipeline::parse("\
//! split_iname(i, 8)
//! split_iname(j, 32)
//! reorder(i_outer, j_outer, i_inner, j_inner)
//! add_prefetch(u, [i_inner, j_inner])
//! ")?.apply(&kernel)?;
//! assert_eq!(auto(&begun, &Target::default()).pipeline.to_string(), "\
//! split_iname(i_outer, 65535, outer=i_far, inner=i_near)
//! tag_inames(j_outer: block.x, i_near: block.y, i_far: block.z, j_inner: thread.x, i_inner: thread.y)
//! split_iname(u_f1, 32)
//! split_iname(u_f0, 8)
//! tag_inames(u_f1_inner: thread.x, u_f0_inner: thread.y, u_f0_outer: unroll)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{AddressSpace, Dim, HardwareAxis, Instruction, Name, Role};
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule, bounds,
    text::{names, split, tag},
};

pub struct Copied;

/// The most copies of a statement that what is left of a loop becomes.
const UNROLLED: i64 = 8;

impl Rule for Copied {
    fn name(&self) -> &'static str {
        "copied"
    }

    fn propose(&self, nest: &Nest<'_>, _target: &Target) -> Vec<Proposal> {
        let kernel = nest.kernel;
        let is_copy = |i: &&Instruction| {
            let to = i.targets.first().and_then(|target| kernel.array(&target.array));
            matches!(i.role, Role::Copies { .. }) && to.is_some_and(|to| to.space == AddressSpace::Shared)
        };
        let has_threads = nest.held().iter().any(|tag| tag.is_in_block());
        if !nest.instructions.iter().all(is_copy) || has_threads {
            return Vec::new();
        }
        let loops: Vec<&Name> = nest.band.iter().chain(&nest.inner).rev().collect();
        let axes = [(Dim::X, "thread.x"), (Dim::Y, "thread.y"), (Dim::Z, "thread.z")];
        let threads = axes.map(|(dim, tag)| (threads(nest, dim), tag));
        let mut spread = Vec::new();
        let mut proposal = Proposal::new("");
        let mut tags = Vec::new();
        for (iname, (threads, axis)) in loops.into_iter().zip(threads.into_iter().filter(|(n, _)| *n > 1)) {
            proposal = proposal.step(split(iname, threads));
            tags.push((format!("{iname}_inner"), axis));
            let left = bounds::length(kernel, iname).map(|n| crate::rounding::ceil(n, threads));
            if left.is_some_and(|left| left > 1 && left <= UNROLLED) {
                tags.push((format!("{iname}_outer"), "unroll"));
            }
            spread.push(iname.clone());
        }
        if spread.is_empty() {
            return Vec::new();
        }
        proposal.reason = format!(
            "copies to shared memory come before the threads of the block, which share {} now",
            names(&spread)
        );
        vec![proposal.step(tag(&tags))]
    }
}

/// The threads of the kernel's blocks along an axis.
fn threads(nest: &Nest<'_>, dim: Dim) -> i64 {
    let kernel = nest.kernel;
    let along = kernel.tags.iter().filter(|(_, tag)| tag.axis() == Some(HardwareAxis::Block(dim)));
    along.filter_map(|(iname, _)| bounds::length(kernel, iname)).max().unwrap_or(1)
}
