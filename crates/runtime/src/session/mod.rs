//! One interface for two devices: a kernel is compiled for a [`Device`], bound to arguments, and
//! launched.
//!
//! ```text
//! Device::compile(&LoopKernel) -> Compiled    one form per binding of open types and index width
//! Compiled::bind(&Args)        -> Bound       checks everything about the arguments, once
//! Bound::launch()                             checks, looks up and allocates nothing
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `device` | the devices: GPUs, and the emulator, which is always available |
//! | `tensor`, `npy`, `device_tensor` | data on the host, in files, and on a device |
//! | `args`, `scalar` | the arguments passed by a caller |
//! | `resolve` | derivation of open types, scalars and shapes |
//! | `record` | arrays of structs: bytes for the caller, fields for the kernel |
//! | `facts`, `properties` | declared facts about data, and computed properties |
//! | `layout` | the layout of a tensor in the kernel's storage |
//! | `lowered` | the program and the text of a kernel |
//! | `variant`, `compiled` | the forms of a kernel: lowered, printed, compiled |
//! | `bind`, `bound` | a kernel with its arguments, ready to be launched |
//! | `stream` | the order of work: streams, and events between them |
//! | `pinned` | copies that run while the host continues |
//! | `foreign` | memory and streams of other libraries, and arrays passed to them |
//! | `graph` | sequences of launches that are launched as a whole |
//! | `ask` | queries about the arguments that a kernel expects |
//! | `functions` | the user's device functions on the emulator |
//! | `export` | a binary and its launches, for hosts that are not written in Rust |
//! | `host_cost` | the host time of a launch |
//! | `reference` | results of the declared kernel by the plain interpreter |
//! | `agreement` | comparison of results with these |
//! | `stages` | every intermediate form, for inspection |
//!
//! Refusals are [`Diagnostic`](loopwright_kernel_ir::Diagnostic)s. The GPU and the emulator refuse
//! the same arguments with the same diagnostics, since they share the checks.

mod agreement;
mod args;
mod ask;
mod bind;
mod bound;
mod compile_for;
mod compiled;
mod device;
mod device_tensor;
mod emulate;
mod export;
mod export_files;
mod facts;
mod foreign;
mod functions;
mod graph;
mod host;
mod host_cost;
mod layout;
mod lowered;
#[cfg(feature = "ndarray")]
mod ndarray;
mod npy;
mod open_types;
mod options;
mod pinned;
mod properties;
mod record;
mod reference;
mod resolve;
mod rounding;
mod scalar;
mod stages;
mod stream;
mod tensor;
mod variant;

pub use agreement::{Expectation, usual_tolerance};
pub use args::Args;
pub use ask::{Known, bind_open_types, check_facts, check_scalars, expected_arrays, fact_range, known};
pub use bind::{alignment, check_device_limits, check_limits_of};
pub use bound::{Bound, Outputs};
pub use compile_for::{Binary, compile_for};
pub use compiled::{Compiled, Stage};
pub use device::Device;
pub use device_tensor::DeviceTensor;
pub use export::{Export, ExportedArray, ExportedLaunch, ExportedParameter, export};
pub use export_files::write_files;
pub use foreign::RawArray;
pub use graph::{Graph, Sequence};
pub use host_cost::HostCost;
pub use lowered::{Printed, print_for, program_to_show};
pub use options::CompileOptions;
pub use pinned::{PinnedTensor, Transfer};
pub use scalar::ScalarValue;
pub use stages::Stages;
pub use stream::{Event, Stream};
pub use tensor::Tensor;
