//! What differs between the languages of CUDA's family: names of headers, types and functions.

use loopwright_program::{Language, Target};

/// A language of CUDA's family, by what it writes in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The language; a program lowered for another one is refused.
    pub language: Language,
    /// The sizes of warps that its texts can be written for.
    pub warps: &'static [u32],
    /// Headers of every text.
    pub headers: &'static [&'static str],
    /// The headers of f16 and of bf16.
    pub half_headers: [&'static str; 2],
    /// The types of a bf16 and of a vector of two.
    pub bf16: [&'static str; 2],
    /// Whether functions of a warp are told which lanes take part: they end in `_sync`, and their
    /// first operand is a mask. Otherwise those lanes do that are there, and votes have 64 bits.
    pub masks: bool,
    /// What orders the accesses of a warp, without a mask.
    pub warp_barrier: &'static str,
    /// The definition of what that calls; empty where the language has it.
    pub warp_barrier_definition: &'static str,
    /// Whether it has CUDA's hints, which change no value: how caches treat lines, how many blocks
    /// a multiprocessor has to hold, and launches that begin while the one ahead of them ends.
    pub hints: bool,
}

impl Dialect {
    /// CUDA C, as NVRTC takes it.
    pub const CUDA_C: Dialect = Dialect {
        language: Language::CUDA_C,
        warps: &[Target::cuda().warp_size],
        headers: &[],
        half_headers: ["cuda_fp16.h", "cuda_bf16.h"],
        bf16: ["__nv_bfloat16", "__nv_bfloat162"],
        masks: true,
        warp_barrier: "__syncwarp();",
        warp_barrier_definition: "",
        hints: true,
    };
}
