//! Host interface to CUDA: devices and their memory, streams and graphs through the driver,
//! binaries from NVRTC with a cache, and arrays exchanged with other libraries by DLPack.
//!
//! This crate deals in text, bytes and numbers. CUDA C source and options go in; a binary with its
//! log and resource usage comes out. Buffers are bytes, and a launch is a function, a grid, a block
//! and packed argument values. Callers know how a source was produced and what its arguments mean.
//!
//! | module | contents |
//! |---|---|
//! | [`arch`] | the devices that a binary runs on |
//! | [`driver`] | devices, buffers, streams, modules, launches, graphs, times |
//! | [`nvrtc`] | finding NVRTC, and compiling with it |
//! | [`cache`] | compiled binaries on disk |
//! | [`disasm`] | the machine code of a binary |
//! | [`machine_code`] | what a warp executes of it |
//! | [`dlpack`] | exchange of arrays between libraries without copies |
//! | [`tools`] | finding programs and CUDA toolkits |
//!
//! Principles:
//!
//! - **Nothing is required.** The driver and NVRTC are loaded on first use. If one is missing, the
//!   caller gets an error with a remedy, never a panic.
//! - **Compiled binaries run unchanged.** Binaries are compiled for the real architecture of a
//!   device and never translated by the driver, so the registers, shared memory and spills in the
//!   compiler's log are those of the launch.
//! - **A launch that cannot work is refused before it is tried**, and the error names the limit
//!   that it exceeds.
//!
//! Errors are enums ([`CudaError`](driver::CudaError), [`CompileError`](nvrtc::CompileError),
//! [`DisasmError`](disasm::DisasmError)); each converts to a
//! [`Diagnostic`](loopwright_kernel_ir::Diagnostic) with a stable code.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

pub mod arch;
pub mod cache;
mod diagnostic;
pub mod disasm;
pub mod dlpack;
pub mod driver;
pub mod machine_code;
pub mod nvrtc;
pub mod tools;

pub use arch::Arch;
pub use cache::Cache;
