//! Runs the printed CUDA C itself on a CPU, so that a machine without a GPU can test it.
//!
//! The text is compiled, unchanged, by the system's C++ compiler under a shim header of our own
//! (`shim/cuda_shim.h`; `shim/hip_runtime.h` adds the names of HIP) that defines CUDA's keywords
//! and functions: threads of a block are fibers, and a barrier or a shuffle switches between them.
//! The resulting library is loaded, and [`TextProgram::run`] executes the host body of the program.
//!
//! It tests the printing, not the kernel: finding races is the emulator's task, although running
//! the threads forwards and backwards ([`Order`]) reveals many of them. Compiler warnings are
//! errors.
//!
//! The user's device functions alone are compiled in the same way for the emulator, which has no
//! other meaning of them ([`device_functions`]).
//!
//! Differences from a GPU: products are not contracted into fused multiply-adds, fast functions are
//! the precise ones, signed integers wrap.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod arguments;
mod compile;
mod functions;
mod run;
mod wrapper;

pub use arguments::{Arguments, Scalar};
pub use compile::Checker;
pub use functions::{HostFunction, device_functions};
pub use run::{Order, TextProgram};
