//! NVRTC: CUDA C text to a binary for a real architecture, with the compiler's log and the
//! resources of each kernel.
//!
//! [`library`] finds and loads it, once per process; [`compile`] may then be called from any number
//! of threads. A machine without NVRTC gets [`NotFound`] with the places that were searched. No GPU
//! is needed.

mod compile;
mod compiled;
mod error;
mod library;
mod locate;
mod log;
mod options;
mod warm_up;

pub use compile::compile;
pub use compiled::Compiled;
pub use error::CompileError;
pub use library::{Library, NotFound, library};
pub(crate) use library::{fingerprint, is_loaded, situation};
pub use locate::search_packages;
pub use log::{KernelResources, Message, Severity};
pub use options::{CompileOptions, Header};
pub use warm_up::warm_up_beside;
