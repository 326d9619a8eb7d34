//! Export of a kernel for other hosts: its binary, and the launches with their parameters, for
//! given scalars.
//!
//! A host that is not written in Rust, such as a Python program with its own tensors, loads the
//! binary with the driver, allocates the arrays that belong to the launch, and launches in the
//! order of the list. Exporting does not need a device.

use indexmap::IndexMap;
use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_program::Owner;
use serde::Serialize;

use super::Args;
use super::bind::check_limits_of;
use super::host;
use super::lowered::Lowered;
use super::options::CompileOptions;
use super::variant::compile_source;
use crate::Arch;
use crate::cuda::DeviceInfo;

/// A binary and its launches. Serialised without the binary.
#[derive(Clone, Debug, Serialize)]
pub struct Export {
    /// The architecture of the binary.
    pub arch: String,
    /// The binary, for `cuModuleLoadData`.
    #[serde(skip)]
    pub cubin: Vec<u8>,
    /// The CUDA C that it was made from.
    #[serde(skip)]
    pub source: String,
    /// The arrays by name: arguments of the kernel and temporaries of the launches.
    pub arrays: IndexMap<String, ExportedArray>,
    /// The launches in order, to be submitted to one stream.
    pub launches: Vec<ExportedLaunch>,
}

/// An array of the launches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportedArray {
    /// The type of its elements, such as `f32`.
    pub dtype: &'static str,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Stride of each axis, in elements.
    pub strides: Vec<usize>,
    /// The size of its storage in bytes.
    pub bytes: usize,
    /// Whether a launch writes it.
    pub written: bool,
    /// Whether it is scratch memory that the host has to allocate for the launches, with any
    /// contents.
    pub scratch: bool,
}

/// A launch with its parameters, in the order of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportedLaunch {
    /// The name of the kernel in the binary.
    pub kernel: String,
    /// Blocks along x, y and z.
    pub grid: [u64; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes per block. Above 48 KiB the host has to opt in first
    /// (`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`).
    pub dynamic_shared: u64,
    /// Whether the host may launch it with programmatic stream serialization (an attribute of
    /// `cuLaunchKernelEx`): the kernel itself waits for the preceding launch in this list, which
    /// saves the time between the two.
    pub early: bool,
    /// The parameters, in their order.
    pub parameters: Vec<ExportedParameter>,
}

/// One parameter of a launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportedParameter {
    /// The address of the array of this name.
    Array(String),
    /// These bytes, in hexadecimal digits, lowest address first.
    Bytes(String),
}

impl From<host::Parameter<'_>> for ExportedParameter {
    fn from(parameter: host::Parameter<'_>) -> Self {
        match parameter {
            host::Parameter::Array(name) => ExportedParameter::Array(name.to_string()),
            host::Parameter::Bytes(bytes) => {
                ExportedParameter::Bytes(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
            }
        }
    }
}

/// The binary and the launches of a kernel for an architecture, for these scalars. Only shapes and
/// types of arrays matter; arrays that follow from scalars can be omitted.
///
/// Errors: those of [`super::Compiled::bind`] about scalars and shapes.
pub fn export(
    kernel: &LoopKernel,
    arch: Arch,
    args: &Args,
    options: &CompileOptions,
) -> Result<Export, Diagnostic> {
    let Lowered { resolved, index, program, .. } = Lowered::for_args(kernel, args, options)?;
    program.without_records("an export")?;
    if let Some(limits) = DeviceInfo::of_arch(arch) {
        check_limits_of(kernel, &program, &limits)?;
    }
    let source = cuda_source(&program)?;
    let (binary, _) = compile_source(&source, arch, options)?;
    let mut arrays = IndexMap::new();
    for global in program.globals.iter().filter(|global| global.table().is_none()) {
        let layout = host::layout(global, &resolved.integers)?;
        let array = ExportedArray {
            dtype: global.dtype.name(),
            bytes: layout.size.saturating_mul(global.dtype.bytes()),
            shape: layout.shape,
            strides: layout.strides,
            written: global.written,
            scratch: global.owner == Owner::Launch,
        };
        arrays.insert(global.name.to_string(), array);
    }
    let launches = host::launches(&program, &resolved.integers)?
        .iter()
        .map(|step| {
            let printed = &source.kernels[step.kernel];
            Ok(ExportedLaunch {
                kernel: printed.name.to_string(),
                grid: step.grid.into(),
                block: printed.block.into(),
                dynamic_shared: printed.dynamic_bytes(),
                early: step.early && arch.starts_early(),
                parameters: host::parameters(&program, step, &resolved.scalars, index)?
                    .into_iter()
                    .map(ExportedParameter::from)
                    .collect(),
            })
        })
        .collect::<Result<_, Diagnostic>>()?;
    Ok(Export { arch: arch.to_string(), cubin: binary.cubin, source: source.text, arrays, launches })
}
