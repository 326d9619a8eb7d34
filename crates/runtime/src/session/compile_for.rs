//! Compiling for an architecture without a device.

use std::collections::BTreeMap;

use loopwright_cuda_target::{CudaSource, cuda_source};
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel, Name};
use loopwright_program::Target;

use super::ask::bind_open_types;
use super::lowered::lowered;
use super::options::CompileOptions;
use super::variant::compile_source;
use crate::cache::Lookup;
use crate::{Arch, nvrtc};

/// A kernel compiled for an architecture; no device of it is needed.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The CUDA C that was compiled.
    pub source: CudaSource,
    /// The binary, with its PTX, log and resource usage.
    pub compiled: nvrtc::Compiled,
    /// Whether the binary came from the cache.
    pub lookup: Lookup,
}

/// Prints a kernel and compiles it for an architecture; no GPU is needed. `types` binds the open
/// types of the kernel.
pub fn compile_for(
    kernel: &LoopKernel,
    arch: Arch,
    types: &BTreeMap<Name, DType>,
    options: &CompileOptions,
) -> Result<Binary, Diagnostic> {
    let kernel = bind_open_types(kernel, types)?;
    let index = options.index.unwrap_or_else(|| kernel.least_index());
    let program = lowered(&kernel, index, Target::cuda())?;
    let source = cuda_source(&program)?;
    let (compiled, lookup) = compile_source(&source, arch, options)?;
    Ok(Binary { source, compiled, lookup })
}
