//! Host code: what launches a printed program from hosts in other languages, for any sizes.
//!
//! A [`HostCode`] has three texts around a binary: a header and a source file in C, which need
//! nothing but the driver's library, and a loader in Python. They check what the kernel assumes of
//! its arguments, compute grids and the sizes of scratch memory, and launch. Sizes are arguments;
//! for given sizes, `runtime::export` writes the launches as data.
//!
//! | module | contents |
//! |---|---|
//! | `formula`, `print` | integer formulas of scalar arguments, and their texts |
//! | `fits` | which sizes an index type suffices for |
//! | `plan` | what a host checks and does, in no language yet |
//! | `names` | the names of arguments in the texts |
//! | `c`, `python` | the texts; what is the same for all kernels is in the files of `source` and `loader` |
//! | `heading` | the comments before printed CUDA C |
//!
//! No launch may be accepted for which a bound launch of the runtime would be refused, but for
//! declared facts about data, which the texts name and do not check. Formulas are computed by
//! integers of 64 bits only after the conditions under which these do not overflow.

mod c;
mod fits;
mod formula;
mod heading;
mod names;
mod plan;
mod print;
mod python;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::{DType, Diagnostic, Fact, LoopKernel, Name};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_program::Program;
use loopwright_runtime::{Arch, CompileOptions, bind_open_types, compile_for, write_files};

pub use heading::heading;
use plan::Plan;

/// The host code of a kernel.
#[derive(Clone, Debug)]
pub struct HostCode {
    /// The kernel's name, with which the names of files and functions begin.
    pub name: Name,
    /// The lowered program that the host code launches.
    pub program: Program,
    /// Its CUDA C, with its [`heading`].
    pub cuda: String,
    /// The header of the host code in C.
    pub header: String,
    /// The text of the loader in Python.
    pub python: String,
    kernel: LoopKernel,
}

impl HostCode {
    /// The host code of a kernel without open types, with indices of this type: I32, which refuses
    /// launches for which 32 bits do not suffice, or I64.
    ///
    /// Errors: those of [`lower`]; `host-value` where something has to be decided for the sizes of
    /// each launch that only the runtime can decide.
    pub fn new(kernel: &LoopKernel, index: DType) -> Result<HostCode, Diagnostic> {
        let program = lower(kernel, LowerOptions::new(index))?;
        let source = cuda_source(&program)?;
        let cuda = format!("{}{}", heading(&program), source.text);
        let plan = Plan::new(kernel, &program)?;
        let facts: Vec<String> = facts(&program).map(fact).collect();
        let (header, python) = (plan.header(&facts), plan.python(&format!("{}.cubin", program.name), &facts));
        let name = program.name.clone();
        Ok(HostCode { name, cuda, header, python, kernel: kernel.clone(), program })
    }

    /// The source file in C around this binary.
    pub fn source(&self, binary: &[u8]) -> Result<String, Diagnostic> {
        Ok(Plan::new(&self.kernel, &self.program)?.source(binary))
    }

    /// The binary for an architecture; no GPU is needed.
    pub fn compile(&self, arch: Arch) -> Result<Vec<u8>, Diagnostic> {
        let options = CompileOptions { index: Some(self.program.index), ..CompileOptions::default() };
        Ok(compile_for(&self.kernel, arch, &BTreeMap::new(), &options)?.compiled.cubin)
    }

    /// Writes `NAME.h`, `NAME.c`, `NAME.py`, `NAME.cubin` and `NAME.cu` into a folder, which is
    /// created if necessary: all of them, or none. The loader is called `NAME_kernel.py` if Python
    /// could not import `NAME`, or found a module of its own no more, as for `copy`. Returns the
    /// files with their lengths in bytes.
    pub fn write_to(
        &self,
        folder: impl AsRef<Path>,
        binary: &[u8],
    ) -> Result<Vec<(PathBuf, usize)>, Diagnostic> {
        let source = self.source(binary)?;
        let files: [(&str, &[u8]); 5] = [
            ("cubin", binary),
            ("cu", self.cuda.as_bytes()),
            ("c", source.as_bytes()),
            ("py", self.python.as_bytes()),
            ("h", self.header.as_bytes()),
        ];
        let names = files.map(|(ending, _)| match ending {
            "py" => format!("{}.py", names::module(&self.name)),
            _ => format!("{}.{ending}", self.name),
        });
        let files: Vec<(&str, &[u8])> =
            names.iter().zip(files).map(|(name, (_, bytes))| (name.as_str(), bytes)).collect();
        write_files(folder.as_ref(), &files)
    }
}

/// The host code of a kernel whose open types are bound by `types`.
///
/// Errors: types that remain open or are unknown, and those of [`HostCode::new`].
pub fn host_code(
    kernel: &LoopKernel,
    types: &BTreeMap<Name, DType>,
    index: DType,
) -> Result<HostCode, Diagnostic> {
    HostCode::new(&bind_open_types(kernel, types)?, index)
}

/// The facts that the caller's data have to satisfy: those about constant tables hold.
fn facts(program: &Program) -> impl Iterator<Item = &Fact> {
    program.facts.iter().filter(|fact| program.global(fact.array()).is_none_or(|g| g.table().is_none()))
}

/// A declared fact, as kernels write it.
fn fact(fact: &Fact) -> String {
    match fact {
        Fact::Monotone(array) => format!("monotone({array})"),
        Fact::Injective(array) => format!("injective({array})"),
        Fact::Range { array, lower, upper } => {
            let lower = lower.as_ref().map_or_else(String::new, |l| format!("{l} <= "));
            let upper = upper.as_ref().map_or_else(String::new, |u| format!(" < {u}"));
            format!("{lower}{array}{upper}")
        }
    }
}
