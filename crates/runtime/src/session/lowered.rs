//! Kernels as programs: the only file of this crate that lowers.
//!
//! Crates above the runtime take programs, texts and binaries from it and do not depend on
//! lowering.

use std::collections::BTreeMap;

use loopwright_cuda_target::{CudaSource, cuda_source};
use loopwright_kernel_ir::{Aff, Arg, Constraint, DType, Diagnostic, LoopKernel, Name};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_poly::System;
use loopwright_program::index_range::{self, TooWide};
use loopwright_program::{Program, Target};

use super::Args;
use super::bind::narrowest;
use super::compile_for::Binary;
use super::open_types::bind_types;
use super::options::CompileOptions;
use super::resolve::{Resolved, resolve_given};
use super::variant::compile_source;
use crate::Arch;

/// The program of a kernel whose types are bound, with indices of this type.
pub(super) fn lowered(kernel: &LoopKernel, index: DType, target: Target) -> Result<Program, Diagnostic> {
    lower(kernel, LowerOptions::new(index).on(target))
}

/// A kernel whose types are bound by arguments, and its program for CUDA with the narrowest
/// sufficient indices. Only shapes and types of arrays matter; arrays that follow from scalars can
/// be omitted.
pub(super) struct Lowered {
    pub kernel: LoopKernel,
    pub resolved: Resolved,
    pub index: DType,
    pub program: Program,
}

impl Lowered {
    pub fn for_args(
        kernel: &LoopKernel,
        args: &Args,
        options: &CompileOptions,
    ) -> Result<Lowered, Diagnostic> {
        let resolved = resolve_given(kernel, args)?;
        let kernel = bind_types(kernel, &resolved.types)?;
        let first = options.index.unwrap_or_else(|| kernel.least_index());
        let form = |index| lowered(&kernel, index, Target::cuda());
        let (index, program) = narrowest(first, options.index.is_some(), &resolved, form, |program| program)?;
        Ok(Lowered { kernel, resolved, index, program })
    }
}

/// A kernel printed for certain arguments; no device is needed.
#[derive(Clone, Debug)]
pub struct Printed {
    /// The kernel, with its types bound by the arguments.
    pub kernel: LoopKernel,
    /// The type of its indices: the narrowest that suffices for the arguments, unless the options
    /// specify one.
    pub index: DType,
    /// The program that the kernel was lowered to.
    pub program: Program,
    /// The program printed as CUDA C.
    pub source: CudaSource,
}

/// Prints a kernel as it is launched with these arguments. Only shapes and types of arrays matter;
/// arrays that follow from scalars can be omitted.
///
/// Errors: those of [`super::Compiled::bind`] about scalars and shapes.
pub fn print_for(kernel: &LoopKernel, args: &Args, options: &CompileOptions) -> Result<Printed, Diagnostic> {
    let Lowered { kernel, index, program, .. } = Lowered::for_args(kernel, args, options)?;
    let source = cuda_source(&program)?;
    Ok(Printed { kernel, index, program, source })
}

/// The program of a kernel without open types, to be shown: with indices of this type or, if none
/// is given, of 32 bits, or of 64 if 32 bits overflow even for small sizes. The place that needs
/// 64 bits is returned too. A launch, which knows its sizes, may choose differently.
pub fn program_to_show(
    kernel: &LoopKernel,
    index: Option<DType>,
) -> Result<(Program, Option<TooWide>), Diagnostic> {
    if index.is_none() && kernel.least_index() == DType::I64 {
        // The place, if a program with 32 bits can be had.
        let narrow = lowered(kernel, DType::I32, Target::cuda()).ok();
        let wide = narrow.and_then(|program| index_range::check(&program, &smallest(kernel)).err());
        return Ok((lowered(kernel, DType::I64, Target::cuda())?, wide));
    }
    let program = lowered(kernel, index.unwrap_or(DType::I32), Target::cuda())?;
    match index_range::check(&program, &smallest(kernel)) {
        Err(wide) if index.is_none() => Ok((lowered(kernel, DType::I64, Target::cuda())?, Some(wide))),
        _ => Ok((program, None)),
    }
}

/// Values of the scalar arguments for which the assumptions hold, small ones if possible.
fn smallest(kernel: &LoopKernel) -> impl Fn(&Name) -> Option<i64> {
    let positive = kernel.args.iter().filter_map(|arg| match arg {
        Arg::Scalar(scalar) => Some(Constraint::nonneg(Aff::var(&scalar.name).add_constant(-1).ok()?)),
        Arg::Array(_) => None,
    });
    let assumed = kernel.assumptions.iter().cloned();
    let point = |rows: Vec<Constraint>| System::new(&rows).ok()?.sample(&BTreeMap::new()).ok()?;
    let found = point(assumed.clone().chain(positive).collect()).or_else(|| point(assumed.collect()));
    move |name| Some(found.as_ref().and_then(|p| p.get(name).copied()).unwrap_or(1))
}

impl Printed {
    /// Compiles the text for an architecture; no GPU is needed.
    pub fn compile(self, arch: Arch, options: &CompileOptions) -> Result<Binary, Diagnostic> {
        let (compiled, lookup) = compile_source(&self.source, arch, options)?;
        Ok(Binary { source: self.source, compiled, lookup })
    }
}
