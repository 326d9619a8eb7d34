//! Which kernels start before the launches before them have ended.
//!
//! Between two launches of a stream a device is idle for a microsecond or more, since the second
//! starts when the last block of the first is done. From compute capability 9.0 on, a launch can
//! start as soon as all blocks of the one before it are running or done (programmatic dependent
//! launch, CUDA C++ Programming Guide), if its threads wait for the end of that launch themselves.
//!
//! Every kernel that follows another launch of its program starts early: its threads begin with
//! that wait, so that nothing else about the order changes. It therefore ends after all launches
//! before it, whatever they are. A kernel follows another launch if one precedes it in some
//! iteration of the host loops around it; only the first launch of a program waits for nothing.
//!
//! A compiler may assume that the target of a `const ... *__restrict__` is constant while the
//! kernel runs, and load it ahead of the wait. So the writer passes an array that such a kernel
//! reads and any kernel of the program writes without that promise.

use super::{HostNode, KernelPlan};

/// Decides for each kernel whether it starts early.
pub(crate) fn decide(host: &[HostNode], kernels: &mut [KernelPlan]) {
    after_launches(host, false, kernels);
}

/// Marks the kernels that are launched after another launch; `any` says whether there is one before
/// these nodes. Returns whether there is one by their end.
fn after_launches(nodes: &[HostNode], mut any: bool, kernels: &mut [KernelPlan]) -> bool {
    for node in nodes {
        match node {
            HostNode::Launch(number) => {
                if let Some(kernel) = kernels.get_mut(*number) {
                    kernel.starts_early |= any;
                }
                any = true;
            }
            HostNode::For { body, .. } => {
                // The second time stands for all later iterations.
                any = after_launches(body, any, kernels);
                any = after_launches(body, any, kernels);
            }
        }
    }
    any
}
