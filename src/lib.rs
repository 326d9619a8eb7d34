//! Declare a GPU kernel once, transform it by checked steps, print it as CUDA C and run it.
//!
//! ```
//! use loopwright::prelude::*;
//!
//! // What is computed.
//! let kernel = LoopKernel::parse(
//!     "kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
//!      assume 0 <= nseg and 0 <= len
//!      domain { [s] : 0 <= s < nseg }
//!      domain { [i] : 0 <= i < len }
//!      out[s] = sum(i, x[s, i])",
//! )?;
//! // How: a block a segment, its threads along the segment.
//! let pipeline = Pipeline::parse(
//!     "split_iname(i, $threads)
//!      tag_inames(s: block.x, i_inner: thread.x)",
//! )?;
//! let kernel = pipeline.bind([("threads", 64)])?.apply(&kernel)?;
//!
//! // Where: a GPU if there is one, otherwise the emulator.
//! let device = Device::best();
//! let x = Tensor::from_vec(&[3, 4], (1..=12).map(|v| v as f32).collect())?;
//! let outputs = device.compile(&kernel)?.run(&Args::new().tensor("x", &x))?;
//! assert_eq!(outputs.get("out")?.to_vec::<f32>()?, [10.0, 26.0, 42.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`ir`] | kernels: domains, instructions, the loop tree, the text format |
//! | [`generate`] | kernels from a line: einsum, maps, copies, reductions, scans, the k largest |
//! | [`transforms`] | steps and pipelines from kernel to kernel |
//! | [`lowering`] | the one lowered program that everything below reads |
//! | [`cuda`] | the program as CUDA C |
//! | [`emulator`] | the program on the CPU, checked and counted |
//! | [`runtime`] | devices, compilation, arguments, launches, times |
//! | [`segmented`] | sums, means, argmax and others of segments, fast without tuning |
//! | [`counts`] | what a kernel does, as formulas of its parameters |
//! | [`launches`] | the launches and barriers of its program, likewise |
//! | [`host_code`] | what launches printed programs from C and Python, for any sizes |
//! | [`picture`] | who runs what, and the roofline, as SVG |
//! | [`auto`] | a pipeline for a kernel, found by rules, with reasons |
//! | [`automatic`] | `auto()` in the texts of pipelines, with searches |
//! | [`tuner`] | the search for values of a pipeline's open parameters |
//! | [`layout`] | layouts: CuTe's algebra, its text form, pictures |
//! | [`poly`] | affine sets and maps, exact queries about them |
//!
//! The modules `automatic`, `emulator`, `host_code`, `runtime`, `segmented` and `tuner` need the
//! feature `run`, which is on by default. With `default-features = false`, kernels are transformed,
//! lowered and printed, which needs no driver and no runtime. The feature `ndarray` converts
//! between tensors and arrays of that crate.
//!
//! The [`prelude`] exports the items that most programs need. Everything that fails does so with a
//! [`Diagnostic`](ir::Diagnostic), or several; [`Error`] is either, for functions that use `?`.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

pub use loopwright_auto as auto;
pub use loopwright_counts as counts;
pub use loopwright_cuda_target as cuda;
#[cfg(feature = "run")]
pub use loopwright_emulator as emulator;
pub use loopwright_generate as generate;
pub use loopwright_kernel_ir as ir;
pub use loopwright_layout as layout;
pub use loopwright_lowering as lowering;
pub use loopwright_poly as poly;
pub use loopwright_program as program;
#[cfg(feature = "run")]
pub use loopwright_runtime as runtime;
pub use loopwright_transforms as transforms;
#[cfg(feature = "run")]
pub use loopwright_tuner as tuner;

pub use error::Error;

#[cfg(feature = "run")]
pub mod automatic;
mod error;
#[cfg(feature = "run")]
pub mod host_code;
pub mod launches;
pub mod picture;
pub mod prelude;
#[cfg(feature = "run")]
pub mod segmented;

/// The README's program is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
