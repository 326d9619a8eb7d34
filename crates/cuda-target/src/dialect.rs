//! Differences between the languages of CUDA's family: names of headers, types and functions.

use loopwright_kernel_ir::UpdateScope;
use loopwright_program::{Language, Target};

/// A language of CUDA's family, described by its differences from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The language; a program lowered for another one is refused.
    pub language: Language,
    /// The sizes of warps that its texts can be written for.
    pub warps: &'static [u32],
    /// Headers that every text includes.
    pub headers: &'static [&'static str],
    /// The headers of f16 and of bf16.
    pub half_headers: [&'static str; 2],
    /// The header of e4m3 and e5m2, if the language has these types.
    pub float8_header: Option<&'static str>,
    /// The types of a bf16 and of a vector of two.
    pub bf16: [&'static str; 2],
    /// Whether warp functions take a mask of the participating lanes: their names end in `_sync`,
    /// and the mask is their first operand. Otherwise the active lanes participate, and ballots
    /// have 64 bits.
    pub masks: bool,
    /// The compiler's macro for the number of threads of a warp, where devices of one language have
    /// different ones: a text that depends on it refuses to be compiled for another.
    pub warp_size_macro: Option<&'static str>,
    /// The call that orders the memory accesses of a warp, without a mask.
    pub warp_barrier: &'static str,
    /// The definition of the function that it calls; empty if the language has it.
    pub warp_barrier_definition: &'static str,
    /// Whether it has CUDA's hints, which change no value: cache hints, the least number of blocks
    /// per multiprocessor, and launches that may start before the preceding one has ended.
    pub hints: bool,
    /// Whether it has inline PTX, by which atoms are printed.
    pub ptx: bool,
    /// Whether blocks may wait for blocks that have started before them.
    pub look_backs: bool,
    /// Whether it has copies from global to shared memory that continue while their thread runs.
    pub async_copies: bool,
    /// Whether it has atomic functions for the threads of a block alone.
    pub block_scope: bool,
    /// Whether it has atomic updates of elements of two bytes.
    pub half_updates: bool,
}

impl Dialect {
    /// CUDA C, as NVRTC takes it.
    pub const CUDA_C: Dialect = Dialect {
        language: Language::CUDA_C,
        warps: &[Target::cuda().warp_size],
        headers: &[],
        half_headers: ["cuda_fp16.h", "cuda_bf16.h"],
        float8_header: Some("cuda_fp8.h"),
        bf16: ["__nv_bfloat16", "__nv_bfloat162"],
        masks: true,
        warp_size_macro: None,
        warp_barrier: "__syncwarp();",
        warp_barrier_definition: "",
        hints: true,
        ptx: true,
        look_backs: true,
        async_copies: true,
        block_scope: true,
        half_updates: true,
    };

    /// The narrowest scope of atomic functions that contains this one.
    pub(crate) fn scope(&self, wanted: UpdateScope) -> UpdateScope {
        match wanted {
            UpdateScope::Block if !self.block_scope => UpdateScope::Device,
            other => other,
        }
    }
}
