//! The constant tables of a program have to fit together where its target keeps them. Each begins
//! at a multiple of 16 bytes.

use loopwright_kernel_ir::{Constant, DType, Diagnostic, LoopKernel};

/// Refuses tables that have more than `most` bytes together.
pub(crate) fn check(kernel: &LoopKernel, most: u64) -> Result<(), Diagnostic> {
    let bytes = |c: &Constant| {
        let of_element = c.array.dtype.known().map_or(0, DType::bytes);
        (c.values.len().saturating_mul(of_element) as u64).next_multiple_of(16)
    };
    let total: u64 = kernel.constants.iter().map(bytes).sum();
    let Some(largest) = kernel.constants.iter().max_by_key(|c| bytes(c)).filter(|_| total > most) else {
        return Ok(());
    };
    let message = format!(
        "the constant tables of `{}` have {total} bytes, and constant memory has {most}: `{}` alone has {}",
        kernel.name,
        largest.array.name,
        bytes(largest)
    );
    Err(Diagnostic::new("constant-memory", message)
        .help(format!("make `{}` an argument, and pass its values in an array", largest.array.name)))
}
