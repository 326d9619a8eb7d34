//! Options of compilation.

use loopwright_kernel_ir::DType;

use crate::{Arch, Cache};

/// Options of compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// NVRTC's `--use_fast_math`, for the whole kernel. Single calls are chosen in the kernel's
    /// text.
    pub fast_math: bool,
    /// Maps machine code to lines of the CUDA C, which is kept in a file, for the profiler and the
    /// sanitizer.
    pub line_info: bool,
    /// Compile without using the cache of binaries.
    pub no_cache: bool,
    /// The architecture to compile for, if it is not the device's own.
    pub arch: Option<Arch>,
    /// [`DType::I32`] or [`DType::I64`] for all launches; by default the narrower one that suffices
    /// for the arguments of each. 32-bit indices that do not suffice are refused.
    pub index: Option<DType>,
}

impl CompileOptions {
    pub(super) fn cache(&self) -> Cache {
        if self.no_cache { Cache::off() } else { Cache::from_environment() }
    }
}
