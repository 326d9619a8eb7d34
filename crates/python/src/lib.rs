//! The extension module `loopwright._loopwright`, which the Python package `loopwright` is built
//! on.
//!
//! The package's own files, in `python/loopwright`, decide what a user sees; this module gives them
//! the library's kernels, in terms of texts, numbers and arrays of other libraries:
//!
//! | file | what it does |
//! |---|---|
//! | `kernel` | a declared kernel with the steps applied to it; its texts, its runs |
//! | `bound` | a kernel with its arguments, for many launches |
//! | `generate` | kernels from a line: einsum, maps, copies, reductions, scans, the k largest |
//! | `arguments` | Python's values as arguments of a launch |
//! | `places` | which memory the elements of arrays share |
//! | `exchange` | arrays of other libraries, by the array interface and by DLPack |
//! | `array` | results, as other libraries take them |
//! | `device` | devices and streams by name |
//! | `tune` | searches for values of open parameters |
//! | `error` | refusals as `loopwright.Error` |
//!
//! Work that takes long runs without the interpreter's lock. No value of Python is used meanwhile:
//! arrays on the host are copied in first, since nobody could keep another thread from writing
//! them.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)]

use pyo3::prelude::*;

mod arguments;
mod array;
mod bound;
mod device;
mod error;
mod exchange;
mod generate;
mod kernel;
mod places;
mod tune;

/// The library's side of the Python package `loopwright`.
#[pymodule]
mod _loopwright {
    #[pymodule_export]
    use crate::array::Array;
    #[pymodule_export]
    use crate::bound::BoundKernel;
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::generate::{copy, einsum, element_type, map, reduce, scan, top_k};
    #[pymodule_export]
    use crate::kernel::Kernel;

    use pyo3::prelude::*;

    /// Has NVRTC searched in a folder of installed packages, such as PyTorch's, if the dynamic
    /// loader does not find it.
    #[pyfunction]
    fn search_packages(folder: std::path::PathBuf) {
        loopwright::runtime::nvrtc::search_packages(&folder);
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
