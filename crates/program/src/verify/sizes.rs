//! Whether blocks and local arrays have sizes that this check follows.
//!
//! What comes behind executes joins and nests on tables that have an entry for each thread and each
//! element. So a program whose blocks have more threads than the target allows, which never runs,
//! is refused before anything is built for it. Local arrays are followed up to a number of
//! elements, of which no device has the memory in a block. What a device has of shared memory is
//! asked where a device is known: the text of a program is of use without.

use loopwright_kernel_ir::Diagnostic;

use super::Finding;
use crate::{DeviceKernel, LocalArray, Program};

/// The most elements of the shared arrays of a block that are followed, and of the private ones of
/// all of its threads.
const MOST: u64 = 1 << 24;

/// The first kernel that is too large.
pub(super) fn too_large(program: &Program) -> Option<Finding> {
    program.kernels.iter().find_map(|kernel| in_kernel(program, kernel))
}

fn in_kernel(program: &Program, kernel: &DeviceKernel) -> Option<Finding> {
    let (name, most) = (&kernel.name, program.target.most_threads);
    let threads = kernel.threads();
    if threads > most {
        let message = format!(
            "a block of `{name}` of {} threads is more than the {most} that it may have",
            kernel.block
        );
        let found = Diagnostic::new("too-many-threads", message);
        return Some(Finding::Refuted(Box::new(found.help("split the thread axes by smaller numbers"))));
    }
    let elements =
        |arrays: &[LocalArray]| arrays.iter().map(LocalArray::elements).fold(0, u64::saturating_add);
    let message = |of: &str| format!("the {of} arrays of a block of `{name}` have more than {MOST} elements");
    let found = if elements(&kernel.shared) > MOST {
        Diagnostic::new("too-much-shared", message("shared"))
    } else if elements(&kernel.private).saturating_mul(threads.into()) > MOST {
        Diagnostic::new("too-much-private", message("private"))
    } else {
        return None;
    };
    Some(Finding::Unknown(Box::new(found.help("split by smaller numbers, or use global memory"))))
}
