//! Prints a lowered [`Program`] as HIP C++ for AMD's devices.
//!
//! HIP C++ has the syntax of CUDA C, and the printer is shared; [`DIALECT`] describes the
//! differences. Programs are lowered for [`Target::hip_cdna`](loopwright_program::Target::hip_cdna)
//! (warps of 64 threads) or [`Target::hip_rdna`](loopwright_program::Target::hip_rdna) (warps of
//! 32).
//!
//! The text has been compiled with a stand-in for HIP's header (`loopwright-text-check`), but not
//! run on a device: that HIP's conversions from floating point to integers saturate like CUDA's
//! follows from the devices' instruction set, and is not tested.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

use loopwright_cuda_target::{CudaSource, Dialect, source_in};
use loopwright_kernel_ir::Diagnostic;
use loopwright_program::{Language, Program};

/// HIP C++, as its compiler takes it.
///
/// Warp functions take no mask: those with a mask are recent and need 64 bits. The accesses of a
/// warp are ordered by a fence: its threads run in lockstep, but compilers may reorder accesses.
pub const DIALECT: Dialect = Dialect {
    language: Language::HIP,
    warps: &[32, 64],
    headers: &["hip/hip_runtime.h"],
    half_headers: ["hip/hip_fp16.h", "hip/hip_bf16.h"],
    float8_header: None,
    bf16: ["__hip_bfloat16", "__hip_bfloat162"],
    masks: false,
    warp_size_macro: Some("__AMDGCN_WAVEFRONT_SIZE__"),
    warp_barrier: "order_warp();",
    warp_barrier_definition: r#"// What the threads of a warp wrote before, all of them read behind it.
__device__ __forceinline__ void order_warp() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}"#,
    hints: false,
    ptx: false,
    look_backs: false,
    async_copies: false,
    block_scope: false,
    half_updates: false,
};

/// The program as HIP C++. Refuses names that HIP C++ does not allow, and programs lowered for
/// another language.
pub fn hip_source(program: &Program) -> Result<CudaSource, Diagnostic> {
    source_in(&DIALECT, program)
}
