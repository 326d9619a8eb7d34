//! Open element types replaced by those that arguments bind.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Diagnostics, LoopKernel, Name};

/// The kernel with its open types replaced. Types that make no sense of it, as integers under `/`,
/// are refused.
pub(super) fn bind_types(
    kernel: &LoopKernel,
    types: &BTreeMap<Name, DType>,
) -> Result<LoopKernel, Diagnostic> {
    let types: Vec<(Name, DType)> = types.iter().map(|(name, dtype)| (name.clone(), *dtype)).collect();
    kernel.bind_types(&types).map_err(first)
}

/// What is said where there is room for one refusal.
fn first(diagnostics: Diagnostics) -> Diagnostic {
    let none = || Diagnostic::new("open-type", "the types do not fit the kernel");
    diagnostics.0.into_iter().next().unwrap_or_else(none)
}

/// The refusal where nothing binds an open type.
pub(super) fn still_open(name: &Name) -> Diagnostic {
    Diagnostic::new("open-type", format!("no argument determines the type `{name}`")).help(format!(
        "say so with `bind_type(\"{name}\", DType::F32)`, on the command line `--type {name}=f32`"
    ))
}
