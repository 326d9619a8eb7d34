//! Open element types replaced by those that arguments bind.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Diagnostics, LoopKernel, Name};

/// The kernel with its open types replaced. Invalid types, such as integers under `/`, are refused.
pub(super) fn bind_types(
    kernel: &LoopKernel,
    types: &BTreeMap<Name, DType>,
) -> Result<LoopKernel, Diagnostic> {
    let types: Vec<(Name, DType)> = types.iter().map(|(name, dtype)| (name.clone(), *dtype)).collect();
    kernel.bind_types(&types).map_err(first)
}

/// The first of several refusals.
fn first(diagnostics: Diagnostics) -> Diagnostic {
    let none = || Diagnostic::new("open-type", "the types do not match the kernel");
    diagnostics.0.into_iter().next().unwrap_or_else(none)
}

/// The refusal for an open type that nothing binds.
pub(super) fn still_open(name: &Name) -> Diagnostic {
    Diagnostic::new("open-type", format!("no argument determines the type `{name}`")).help(format!(
        "bind it with `bind_type(\"{name}\", DType::F32)`, or `--type {name}=f32` on the command \
         line"
    ))
}
