//! The C++ around a printed text: the shim before it, and an entry for each kernel after it.

use std::{collections::BTreeSet, fmt::Write};

use loopwright_cuda_target::CudaSource;
use loopwright_kernel_ir::PerDim;
use loopwright_program::{DeviceKernel, Program, Stmt, Target};

/// The header that defines CUDA's words for a C++ compiler.
pub(crate) const SHIM: &str = include_str!("../shim/cuda_shim.h");

/// The name of that header's file.
pub(crate) const SHIM_NAME: &str = "cuda_shim.h";

/// Bytes of dynamic shared memory that the shim gives a block.
const DYNAMIC_SHARED_BYTES: u64 = Target::cuda().dynamic_shared;

/// The header for tensor cores.
pub(crate) const TENSOR_SHIM: &str = include_str!("../shim/tensor_cores.h");

/// The header that adds the names of HIP.
pub(crate) const HIP_SHIM: &str = include_str!("../shim/hip_runtime.h");

/// The name of the entry of a kernel.
pub(crate) fn entry(kernel: usize) -> String {
    format!("loopwright_launch_{kernel}")
}

/// The whole translation unit.
pub(crate) fn translation_unit(program: &Program, source: &CudaSource) -> String {
    let mut text = format!("#include \"{SHIM_NAME}\"\n");
    // A kernel may have the name of a C library function, which the shim has declared.
    for info in &source.kernels {
        let _ = writeln!(text, "#define {0} loopwright_kernel_{0}", info.name);
    }
    let collectives = collectives(program, &source.text);
    if !collectives.is_empty() {
        text.push_str("#include \"tensor_cores.h\"\n");
    }
    let mut printed = source.text.clone();
    for (name, stands_in) in collectives {
        printed = printed.replacen(&format!("{FUNCTION}{name}("), &format!("{FUNCTION}printed_{name}("), 1);
        let _ = writeln!(text, "#define {name} {stands_in}");
    }
    text.push_str("#line 1 \"kernel.cu\"\n");
    text.push_str(&printed);
    let _ = writeln!(text, "#line 1 \"entries.cpp\"");
    let _ = writeln!(text, "alignas(16) thread_local unsigned char shared_memory[{DYNAMIC_SHARED_BYTES}];");
    for (k, kernel) in program.kernels.iter().enumerate() {
        let PerDim { x, y, z } = kernel.block;
        let synchronises = u8::from(synchronises(kernel));
        let _ = write!(
            text,
            "extern \"C\" int {}(const unsigned int *grid, int backwards, void *const *arguments) \
             {{\n    static const unsigned int shape[] = {{{x}, {y}, {z}}};\n    return \
             shim::launch(&{}, grid, shape, {synchronises}, backwards, arguments);\n\
             }}\n",
            entry(k),
            kernel.name,
        );
    }
    text
}

/// How the definition of a function without a result begins.
const FUNCTION: &str = "__device__ __forceinline__ void ";

/// The functions around instructions of whole warps that a text defines, each with the function of
/// the shim that is called instead.
fn collectives(program: &Program, text: &str) -> Vec<(String, String)> {
    let mut atoms = BTreeSet::new();
    for kernel in &program.kernels {
        Stmt::visit(&kernel.body, &mut |stmt| {
            if let Stmt::Mma { atom, .. } = stmt {
                atoms.insert(atom.as_str());
            }
        });
    }
    let names = text.lines().filter_map(|line| line.strip_prefix(FUNCTION)?.split_once('('));
    let instead = |name: &str| {
        let of =
            |verb: &str| name.strip_prefix(verb)?.strip_prefix("_matrices_").map(|m| (verb.to_string(), m));
        let Some((verb, matrices)) = of("load").or_else(|| of("store")) else {
            return atoms.contains(name).then(|| "shim::product".to_string());
        };
        let (count, transposed) = match matrices.strip_suffix("_transposed") {
            Some(count) => (count, true),
            None => (matrices, false),
        };
        Some(format!("shim::{verb}_matrices<{count}, {transposed}>"))
    };
    names.filter_map(|(name, _)| Some((name.to_string(), instead(name)?))).collect()
}

/// Whether threads wait for each other anywhere in the kernel.
fn synchronises(kernel: &DeviceKernel) -> bool {
    let mut found = false;
    Stmt::visit(&kernel.body, &mut |stmt| {
        found |= stmt.barrier().is_some() || stmt.joins_lanes();
        stmt.visit_values(&mut |value| found |= value.kind.joins_lanes());
    });
    found
}
