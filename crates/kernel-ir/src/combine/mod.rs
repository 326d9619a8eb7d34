//! Kernels made of kernels: [`LoopKernel::fuse`] and [`LoopKernel::batched`]; and kernels with
//! other arguments, [`LoopKernel::separated`] and [`LoopKernel::concatenated`].
//!
//! The first two are calls (see [`crate::inline`]): a fused kernel calls the second one after the
//! lines of the first, and a batched kernel calls the one for each problem, with a slice of what
//! varies. So what they mean, and how names are kept apart, is said there.

mod arrays;
mod batched;
mod fuse;

use crate::{Diagnostic, Diagnostics, KernelData, LoopKernel};

/// Refuses a kernel that steps have changed: its lines no longer say what is computed.
fn declared(kernel: &LoopKernel, what: &str) -> Result<(), Diagnostics> {
    if kernel.declared.is_none() && kernel.definitions.is_empty() && !kernel.has_tags() {
        return Ok(());
    }
    let message = format!("`{}` has been transformed, and {what} takes declared kernels", kernel.name);
    Err(Diagnostic::new("transformed", message).help("do it first, and transform the result").into())
}

/// Adds what a call has made.
fn add(data: &mut KernelData, made: crate::inline::Inlined) {
    data.temporaries.extend(made.temporaries);
    data.constants.extend(made.constants);
    data.domains.extend(made.domains);
    data.rules.extend(made.rules);
    data.instructions.extend(made.instructions);
}
