//! What runs: compiling CUDA C with NVRTC, keeping the binaries, and launching them on a GPU.
//!
//! This layer deals in text, bytes and numbers: CUDA C source and options go in, a binary with its
//! log and resources comes out; buffers are bytes; a launch is a function, a grid, a block and
//! arguments. It knows nothing of how the text was made.
//!
//! | module | what it answers |
//! |---|---|
//! | [`arch`] | which architecture a binary is for |
//! | [`nvrtc`] | where NVRTC is, and what it makes of a source |
//! | [`cache`] | has this been compiled before? |
//! | [`cuda`] | devices, buffers, streams, modules, launches, times |
//! | [`disasm`] | the machine code of a binary |
//! | [`dlpack`] | arrays that change hands between libraries without a copy |
//! | [`doctor`] | what this machine has, and what is missing for what |
//! | `session` | kernels on devices: [`Device`], [`Compiled`], [`Args`], [`Bound`], [`Tensor`]; all of it is exported here |
//!
//! Principles:
//!
//! - **Nothing is required.** The driver and NVRTC are loaded when first asked for. Where one is
//!   missing, the answer is an error that says what to do, never a panic: the printer and the
//!   emulator go on without them.
//! - **What was compiled is what runs.** Binaries are made for the real architecture of a device,
//!   never translated again by the driver, so that registers, shared memory and spills in the
//!   compiler's log are those of the launch.
//! - **A launch that cannot work is refused before it is tried**, with the limit it breaks.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

pub mod doctor;
mod session;

pub use loopwright_cuda::{Arch, Cache};
pub use loopwright_cuda::{arch, cache, disasm, dlpack, driver as cuda, nvrtc};
pub use session::*;
