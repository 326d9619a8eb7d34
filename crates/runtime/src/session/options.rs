//! Choices of compilation.

use loopwright_kernel_ir::DType;

use crate::{Arch, Cache};

/// Choices of compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// NVRTC's `--use_fast_math`, everywhere; single calls are chosen in the kernel.
    pub fast_math: bool,
    /// Ties machine code to lines of the CUDA C, which is kept in a file, for the profiler and the
    /// sanitizer.
    pub line_info: bool,
    /// Compile anew instead of asking the cache of binaries.
    pub no_cache: bool,
    /// Another architecture than the device's own.
    pub arch: Option<Arch>,
    /// I32 or I64 for all launches, instead of what each one's arguments need. 32-bit indices that
    /// do not suffice are refused.
    pub index: Option<DType>,
}

impl CompileOptions {
    pub(super) fn cache(&self) -> Cache {
        if self.no_cache { Cache::off() } else { Cache::from_environment() }
    }
}
