//! Kernels on devices: a kernel is compiled for a GPU or for the emulator, bound to arguments, and
//! launched; its results are compared with those of the declared kernel.
//!
//! [`Device`], [`Compiled`], [`Args`], [`Bound`], [`Tensor`] and their companions are exported
//! here. The driver and NVRTC are called by [`loopwright_cuda`], whose modules are exported as
//! well:
//!
//! | module | contents |
//! |---|---|
//! | [`arch`] | the devices that a binary runs on |
//! | [`nvrtc`] | finding NVRTC, and compiling with it |
//! | [`cache`] | compiled binaries on disk |
//! | [`cuda`] | the driver: devices, buffers, streams, modules, launches, times |
//! | [`disasm`] | the machine code of a binary |
//! | [`dlpack`] | exchange of arrays between libraries without copies |
//!
//! [`doctor`] reports what this machine has, and what is missing for which task. Neither the driver
//! nor NVRTC is required: without them kernels are printed, checked and emulated.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

pub mod doctor;
mod session;

pub use loopwright_cuda::{Arch, Cache};
pub use loopwright_cuda::{arch, cache, disasm, dlpack, driver as cuda, machine_code, nvrtc};
pub use session::*;
