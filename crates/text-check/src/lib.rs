//! Runs the printed CUDA C itself on a CPU, so that a machine without a GPU tests what is printed.
//!
//! The text is compiled, unchanged, by the system's C++ compiler under a shim header of our own
//! (`shim/cuda_shim.h`) that gives CUDA's words a meaning: threads of a block are fibers, a barrier
//! or a shuffle is a switch between them. The library that comes out is loaded, and
//! [`TextProgram::run`] does what the host body of the program says.
//!
//! It judges the printing, not the kernel: races are the emulator's to find. Running the threads
//! forwards and backwards ([`Order`]) tells many of them all the same. Warnings of the compiler are
//! errors.
//!
//! Differences from a GPU: products are not contracted into fused multiply-adds, fast functions are
//! the precise ones, signed integers wrap.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod arguments;
mod compile;
mod run;
mod wrapper;

pub use arguments::{Arguments, Scalar};
pub use compile::Checker;
pub use run::{Order, TextProgram};
