//! Constant lengths of inames.

use loopwright_kernel_ir::{Diagnostic, KernelData, Name, Tag};

/// Refuses a tag that the length of the iname does not allow.
pub(crate) fn check_tag(_data: &KernelData, _iname: &Name, _tag: Tag) -> Result<(), Diagnostic> {
    Ok(())
}
