//! Every form of a kernel, from its declaration to the binary, for inspection.

use std::sync::Arc;

use loopwright_cuda_target::CudaSource;
use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_program::Program;

use super::bind::key_for;
use super::variant::{Key, compile_source};
use super::{Args, Compiled, Stage};
use crate::Arch;
use crate::disasm;
use crate::nvrtc::{self, KernelResources};

/// Every form of a kernel, from its declaration to the binary. Without a compiler there is no
/// binary; see [`Stages::not_compiled`].
#[derive(Clone, Debug)]
pub struct Stages {
    /// The kernel as it was declared.
    pub declared: LoopKernel,
    /// The kernel after each step. A kernel that did not come through
    /// [`Device::compile_pipeline`](super::Device::compile_pipeline) has one step, from declared to
    /// compiled.
    pub steps: Vec<Stage>,
    /// The kernel that is lowered: after all steps, its open types bound.
    pub kernel: LoopKernel,
    /// The program that `kernel` is lowered to.
    pub program: Arc<Program>,
    /// The CUDA C, with the map from lines to instructions.
    pub cuda: Arc<CudaSource>,
    /// The binary, with its PTX, log and resource usage.
    pub compiled: Option<nvrtc::Compiled>,
    /// The refusal of compilation; none if `compiled` is there.
    pub not_compiled: Option<Diagnostic>,
}

impl Compiled {
    /// Every form of the kernel, for the types and index type that these arguments need.
    pub fn stages_for(&self, args: &Args) -> Result<Stages, Diagnostic> {
        let key = key_for(self, args)?;
        Stages::of(self, &key)
    }

    /// Every form of the kernel, for 32-bit indices unless the options say otherwise. Refused for
    /// kernels with open types.
    pub fn stages(&self) -> Result<Stages, Diagnostic> {
        Stages::of(self, &self.first_key()?)
    }
}

impl Stages {
    pub(super) fn of(compiled: &Compiled, key: &Key) -> Result<Stages, Diagnostic> {
        let variant = compiled.variant(key)?;
        let kernel = compiled.kernel();
        let mut steps = compiled.steps().to_vec();
        if steps.is_empty() && kernel.declared() != kernel {
            steps.push(Stage { step: "(transformed)".to_owned(), kernel: kernel.clone() });
        }
        let cuda = variant.source()?;
        let (binary, not_compiled) = match &variant.gpu {
            Some(gpu) => (Some(gpu.compiled.clone()), None),
            None => {
                let arch = compiled.options().arch.unwrap_or(Arch::SM_80);
                match compile_source(&cuda, arch, compiled.options()) {
                    Ok((binary, _)) => (Some(binary), None),
                    Err(diagnostic) => (None, Some(diagnostic)),
                }
            }
        };
        Ok(Stages {
            declared: kernel.declared().clone(),
            steps,
            kernel: variant.kernel.clone(),
            program: variant.program.clone(),
            cuda,
            compiled: binary,
            not_compiled,
        })
    }

    /// The architecture of the binary.
    pub fn arch(&self) -> Option<Arch> {
        self.compiled.as_ref().map(|c| c.arch)
    }

    /// The PTX, if there is a binary that came with it.
    pub fn ptx(&self) -> Option<&str> {
        self.compiled.as_ref()?.ptx.as_deref()
    }

    /// The compiler's complete log; `None` if there is no binary.
    pub fn log(&self) -> Option<&str> {
        self.compiled.as_ref().map(|c| c.log.as_str())
    }

    /// Registers, shared memory and spills of each device kernel.
    pub fn resources(&self) -> &[KernelResources] {
        self.compiled.as_ref().map_or(&[], |c| &c.resources)
    }

    /// The machine code, if this machine has a disassembler.
    pub fn sass(&self) -> Result<String, Diagnostic> {
        match (&self.compiled, &self.not_compiled) {
            (Some(compiled), _) => Ok(disasm::disassemble(&compiled.cubin)?),
            (None, Some(diagnostic)) => Err(diagnostic.clone()),
            (None, None) => Err(Diagnostic::new("no-compiler", "there is no binary")),
        }
    }

    /// The text of the instruction that a line of the CUDA C comes from; lines count from 1.
    pub fn instruction_of_line(&self, line: usize) -> Option<&str> {
        let leaf = self.cuda.leaf_of_line(line)?;
        self.program.leaves.get(leaf.0).map(|leaf| leaf.text.as_str())
    }
}
