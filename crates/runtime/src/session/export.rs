//! What another host needs to launch a kernel: its binary, and the launches with their parameters, for given scalars.
//!
//! A host that is not written in Rust, as a Python program with tensors of its own, loads the binary with the driver, allocates the
//! arrays that belong to the launch, and launches in the order of the list. No device is needed to export.

use indexmap::IndexMap;
use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel, Name};
use loopwright_lowering::program::{Owner, Param, Program};
use loopwright_lowering::{LowerOptions, index_range, lower};
use serde::Serialize;

use super::Args;
use super::compiled::CompileOptions;
use super::host;
use super::open_types::bind_types;
use super::resolve::{Resolved, resolve_given};
use super::variant::compile_source;
use crate::Arch;

/// A binary and its launches. What serialises is the list without the binary.
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
    /// The arrays, by name.
    pub arrays: IndexMap<String, ExportedArray>,
    /// The launches, in their order, on one stream.
    pub launches: Vec<ExportedLaunch>,
}

/// An array of the launches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportedArray {
    /// The type of its elements, as `f32`.
    pub dtype: &'static str,
    /// Its lengths.
    pub shape: Vec<usize>,
    /// The steps between neighbours on each axis, in elements.
    pub strides: Vec<usize>,
    /// The bytes of its storage.
    pub bytes: usize,
    /// Whether a launch writes it.
    pub written: bool,
    /// Whether it is scratch memory that the host has to allocate for the launches, with any content.
    pub scratch: bool,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportedLaunch {
    /// The name of the kernel in the binary.
    pub kernel: String,
    /// Blocks on x, y, z.
    pub grid: [u64; 3],
    /// Threads of a block on x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory; above 48 KiB the host has to allow them to the function first.
    pub dynamic_shared: u64,
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

/// The binary and the launches of a kernel for an architecture, for these scalars. Of arrays only shapes and types matter; those that
/// follow from scalars can be left out.
///
/// Errors: everything that [`super::Compiled::bind`] refuses of scalars and shapes.
pub fn export(
    kernel: &LoopKernel,
    arch: Arch,
    args: &Args,
    options: &CompileOptions,
) -> Result<Export, Diagnostic> {
    let resolved = resolve_given(kernel, args)?;
    let kernel = bind_types(kernel, &resolved.types)?;
    let (program, index) = narrowest(&kernel, &resolved, options)?;
    let source = cuda_source(&program)?;
    let (binary, _) = compile_source(&source, arch, options)?;
    let mut arrays = IndexMap::new();
    for global in &program.globals {
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
                grid: step.grid,
                block: printed.block,
                dynamic_shared: if printed.dynamic_shared { printed.shared_bytes as u64 } else { 0 },
                parameters: parameters(&program, step, &resolved, index)?,
            })
        })
        .collect::<Result<_, Diagnostic>>()?;
    Ok(Export { arch: arch.to_string(), cubin: binary.cubin, source: source.text, arrays, launches })
}

/// The program with the narrowest indices that these sizes need.
fn narrowest(
    kernel: &LoopKernel,
    resolved: &Resolved,
    options: &CompileOptions,
) -> Result<(Program, DType), Diagnostic> {
    let lookup = |name: &Name| resolved.integers.get(name).copied();
    let first = options.index.unwrap_or(DType::I32);
    let program = lower(kernel, LowerOptions { index: first })?;
    match index_range::check(&program, &lookup) {
        Ok(()) => return Ok((program, first)),
        Err(too_wide) if options.index.is_some() => return Err(too_wide.diagnostic()),
        Err(_) => {}
    }
    let program = lower(kernel, LowerOptions { index: DType::I64 })?;
    index_range::check(&program, &lookup).map_err(|t| t.diagnostic())?;
    Ok((program, DType::I64))
}

fn parameters(
    program: &Program,
    step: &host::Step,
    resolved: &Resolved,
    index: DType,
) -> Result<Vec<ExportedParameter>, Diagnostic> {
    let missing = |name: &Name| {
        Diagnostic::new("missing-argument", format!("argument `{name}` of `{}` is missing", program.name))
    };
    let bytes =
        |bytes: &[u8]| ExportedParameter::Bytes(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
    let one = |param: &Param| {
        Ok(match param {
            Param::Global { global, .. } => {
                ExportedParameter::Array(program.globals[*global].name.to_string())
            }
            Param::Scalar { name, dtype } => {
                let number = resolved.scalars.get(name).ok_or_else(|| missing(name))?.cast(*dtype);
                bytes(&number.bits().to_le_bytes()[..dtype.bytes()])
            }
            Param::HostVar(name) => {
                let value = step.hosts.get(name).ok_or_else(|| missing(name))?;
                bytes(&value.to_le_bytes()[..index.bytes()])
            }
        })
    };
    program.kernels[step.kernel].params.iter().map(one).collect()
}
