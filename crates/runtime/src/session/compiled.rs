//! A kernel on a device, in the forms that its arguments need.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_program::Program;
use loopwright_transforms::Pipeline;
use rayon::prelude::*;

use super::device::Device;
use super::host::Integers;
use super::open_types::still_open;
use super::options::CompileOptions;
use super::variant::{Key, Variant};
use crate::nvrtc;

type Slot = Arc<OnceLock<Result<Arc<Variant>, Diagnostic>>>;

/// A kernel after a step of its pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The step, as a line of a pipeline file.
    pub step: String,
    /// The kernel after the step.
    pub kernel: LoopKernel,
}

/// A kernel compiled for a device. Clones are handles to the same one.
#[derive(Clone)]
pub struct Compiled {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    kernel: LoopKernel,
    steps: Vec<Stage>,
    options: CompileOptions,
    variants: Mutex<BTreeMap<Key, Slot>>,
    /// The integer scalars for which subscripts were found to stay inside of their arrays last.
    subscripts: Mutex<Option<Integers>>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compiled({} for {})", self.inner.kernel.name, self.inner.device.name())
    }
}

impl Compiled {
    pub(super) fn new(
        device: &Device,
        kernel: &LoopKernel,
        steps: Vec<Stage>,
        options: &CompileOptions,
    ) -> Result<Compiled, Diagnostic> {
        if let Some(index) = options.index
            && !matches!(index, DType::I32 | DType::I64)
        {
            return Err(Diagnostic::new("index-type", format!("indices cannot be {index}"))
                .help("choose DType::I32 or DType::I64"));
        }
        let compiled = Compiled {
            inner: Arc::new(Inner {
                device: device.clone(),
                kernel: kernel.clone(),
                steps,
                options: options.clone(),
                variants: Mutex::default(),
                subscripts: Mutex::default(),
            }),
        };
        // Errors that do not depend on arguments are reported now.
        if kernel.open_types().is_empty() {
            compiled.variant(&Key { types: BTreeMap::new(), index: compiled.first_index() })?;
        }
        Ok(compiled)
    }

    /// A kernel of concrete types whose binary, with indices of this type, was made elsewhere. No
    /// compiler is used.
    pub(super) fn from_binary(
        device: &Device,
        kernel: &LoopKernel,
        index: DType,
        binary: nvrtc::Compiled,
    ) -> Result<Compiled, Diagnostic> {
        if let Some(open) = kernel.open_types().first() {
            return Err(still_open(open));
        }
        let variant = Variant::with_binary(device, kernel, index, binary).map(Arc::new);
        let key = Key { types: BTreeMap::new(), index };
        let variants = Mutex::new(BTreeMap::from([(key, Slot::new(OnceLock::from(Ok(variant?))))]));
        let options = CompileOptions { index: Some(index), ..CompileOptions::default() };
        Ok(Compiled {
            inner: Arc::new(Inner {
                device: device.clone(),
                kernel: kernel.clone(),
                steps: Vec::new(),
                options,
                variants,
                subscripts: Mutex::default(),
            }),
        })
    }

    /// Checks the subscripts that validation could not prove, once for launches of the same sizes.
    pub(super) fn check_subscripts(&self, scalars: &Integers) -> Result<(), Diagnostic> {
        let last = || self.inner.subscripts.lock().unwrap_or_else(PoisonError::into_inner);
        if last().as_ref() != Some(scalars) {
            self.inner.kernel.check_subscripts(scalars)?;
            *last() = Some(scalars.clone());
        }
        Ok(())
    }

    /// The index type that is tried first.
    pub(super) fn first_index(&self) -> DType {
        self.inner.options.index.unwrap_or_else(|| self.inner.kernel.least_index())
    }

    /// The form for these types and this index type. The first call creates it; concurrent calls
    /// wait.
    pub(super) fn variant(&self, key: &Key) -> Result<Arc<Variant>, Diagnostic> {
        let slot = {
            let mut variants = self.inner.variants.lock().unwrap_or_else(PoisonError::into_inner);
            variants.entry(key.clone()).or_default().clone()
        };
        slot.get_or_init(|| {
            Variant::new(&self.inner.device, &self.inner.kernel, key, &self.inner.options).map(Arc::new)
        })
        .clone()
    }

    /// The device that it was compiled for.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The kernel that was compiled, after all steps.
    pub fn kernel(&self) -> &LoopKernel {
        &self.inner.kernel
    }

    /// The options that it was compiled with.
    pub fn options(&self) -> &CompileOptions {
        &self.inner.options
    }

    /// The program, with 32-bit indices unless the options say otherwise. Refused for kernels with
    /// open types; [`Bound::program`](super::Bound::program) is the one that the arguments need.
    pub fn program(&self) -> Result<Arc<Program>, Diagnostic> {
        Ok(self.variant(&self.first_key()?)?.program.clone())
    }

    /// The form that needs no arguments.
    pub(super) fn first_key(&self) -> Result<Key, Diagnostic> {
        match self.kernel().open_types().first() {
            Some(open) => Err(Diagnostic::new(
                "open-type",
                format!("the type `{open}` is open until arguments bind it"),
            )
            .help("ask with `stages_for(&args)`")),
            None => Ok(Key { types: BTreeMap::new(), index: self.first_index() }),
        }
    }

    pub(super) fn steps(&self) -> &[Stage] {
        &self.inner.steps
    }

    /// The number of forms created so far: one for each requested binding of open types and index
    /// type.
    pub fn forms(&self) -> usize {
        self.inner.variants.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Device {
    /// Compiles a kernel, with default options.
    pub fn compile(&self, kernel: &LoopKernel) -> Result<Compiled, Diagnostic> {
        self.compile_with(kernel, &CompileOptions::default())
    }

    /// Compiles a kernel. If its types are concrete and the device is a GPU, the binary for 32-bit
    /// indices is compiled now; everything else when arguments need it.
    pub fn compile_with(
        &self,
        kernel: &LoopKernel,
        options: &CompileOptions,
    ) -> Result<Compiled, Diagnostic> {
        Compiled::new(self, kernel, Vec::new(), options)
    }

    /// Loads a binary that was compiled elsewhere ([`compile_for`](super::compile_for)) from this
    /// kernel, which has no open types, with indices of this type. The caller is responsible for
    /// their correspondence. No compiler is needed. The emulator refuses binaries.
    pub fn load_binary(
        &self,
        kernel: &LoopKernel,
        index: DType,
        binary: nvrtc::Compiled,
    ) -> Result<Compiled, Diagnostic> {
        Compiled::from_binary(self, kernel, index, binary)
    }

    /// Applies a pipeline to a kernel and compiles the result, which remembers the kernel after
    /// each step.
    pub fn compile_pipeline(
        &self,
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        options: &CompileOptions,
    ) -> Result<Compiled, Diagnostic> {
        let trace = pipeline.apply_traced(kernel)?;
        let last = trace.last().map_or_else(|| kernel.clone(), |t| t.kernel.clone());
        let steps = trace.into_iter().map(|t| Stage { step: t.step, kernel: t.kernel }).collect();
        Compiled::new(self, &last, steps, options)
    }

    /// Compiles kernels in parallel, one thread per core. The results are in the order of
    /// `kernels`.
    pub fn compile_all(
        &self,
        kernels: &[LoopKernel],
        options: &CompileOptions,
    ) -> Vec<Result<Compiled, Diagnostic>> {
        kernels.par_iter().map(|kernel| self.compile_with(kernel, options)).collect()
    }
}
