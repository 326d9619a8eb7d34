//! The items that most programs need: `use loopwright::prelude::*`.

pub use crate::Error;
pub use loopwright_cuda_target::{CudaSource, cuda_source};
#[cfg(feature = "run")]
pub use loopwright_emulator::{Checks, Counters, Options as EmulatorOptions, Report};
pub use loopwright_kernel_ir::{
    AddressSpace, Buffer, DType, Diagnostic, Diagnostics, Element, LoopKernel, Name, Number, Tag, Type,
};
pub use loopwright_lowering::{LowerOptions, Target, lower, program::Program};
#[cfg(feature = "run")]
pub use loopwright_runtime::{
    Arch, Args, Binary, Bound, CompileOptions, Compiled, Device, DeviceTensor, Event, Graph, Outputs,
    PinnedTensor, ScalarValue, Sequence, Stage, Stages, Stream, Tensor, Transfer, compile_for,
};
pub use loopwright_transforms::{Pipeline, Registry, Step, Transform, Transforms};
#[cfg(feature = "run")]
pub use loopwright_tuner::{LimitReport, Space, Strategy, TunedRecords, Tuner, Tuning};
