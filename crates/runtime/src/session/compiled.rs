//! A kernel on a device, in as many forms as its arguments ask for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use indexmap::IndexMap;
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel, Name};
use loopwright_reference::Mode;

use super::bound::{Bound, Outputs};
use super::device::Device;
use super::open_types::still_open;
use super::stages::{Stage, Stages};
use super::stream::Stream;
use super::variant::{Key, Variant};
use super::{Args, Tensor, bind, reference};
use crate::{Arch, Cache, nvrtc};

/// Choices of compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// NVRTC's `--use_fast_math`, everywhere; single calls are chosen in the kernel.
    pub fast_math: bool,
    /// Ties machine code to lines of the CUDA C, which is kept in a file, for the profiler and the sanitizer.
    pub line_info: bool,
    /// Compile anew instead of asking the cache of binaries.
    pub no_cache: bool,
    /// Another architecture than the device's own.
    pub arch: Option<Arch>,
    /// I32 or I64 for all launches, instead of what each one's arguments need. 32-bit indices that do not suffice are refused.
    pub index: Option<DType>,
}

impl CompileOptions {
    pub(super) fn cache(&self) -> Cache {
        if self.no_cache { Cache::off() } else { Cache::from_environment() }
    }
}

type Slot = Arc<OnceLock<Result<Arc<Variant>, Diagnostic>>>;

/// A kernel compiled for a device. Cloning gives another handle to the same.
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
            }),
        };
        // What does not wait for arguments is refused now.
        if kernel.open_types().is_empty() {
            compiled.variant(&Key { types: BTreeMap::new(), index: compiled.first_index() })?;
        }
        Ok(compiled)
    }

    /// A kernel of known types whose binary, of indices of this type, was made elsewhere. No compiler is asked.
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
            }),
        })
    }

    /// The width that is tried first.
    pub(super) fn first_index(&self) -> DType {
        self.inner.options.index.unwrap_or(DType::I32)
    }

    /// The form for these types and this width, made when first asked for; others who ask meanwhile wait for it.
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

    /// The device.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The kernel as it was compiled.
    pub fn kernel(&self) -> &LoopKernel {
        &self.inner.kernel
    }

    /// The choices it was compiled with.
    pub fn options(&self) -> &CompileOptions {
        &self.inner.options
    }

    pub(super) fn steps(&self) -> &[Stage] {
        &self.inner.steps
    }

    /// How many forms were made so far: one for each binding of open types and index width that was asked for.
    pub fn forms(&self) -> usize {
        self.inner.variants.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Checks arguments and makes a launch of them that can be repeated.
    pub fn bind(&self, args: &Args) -> Result<Bound, Diagnostic> {
        self.bind_on(&self.inner.device.default_stream(), args)
    }

    /// As [`Compiled::bind`], with launches on a stream. Global temporaries belong to the bound launch, so that launches that are bound
    /// apart may run at once.
    pub fn bind_on(&self, stream: &Stream, args: &Args) -> Result<Bound, Diagnostic> {
        bind::bind(self, stream, args).map_err(|d| self.kernel().locate(d))
    }

    /// Copies the arguments to the device, launches once, and copies back every array that the kernel writes.
    pub fn run(&self, args: &Args) -> Result<Outputs, Diagnostic> {
        self.bind(args)?.run()
    }

    /// The arrays that the kernel writes, as the plain interpreter of the *declared* kernel computes them: what every other form is
    /// held to. It knows nothing of transforms and lowering, and is slow.
    pub fn reference(&self, args: &Args) -> Result<IndexMap<Name, Tensor>, Diagnostic> {
        reference::run(self.device(), self.kernel(), args, Mode::Exact, None)
    }

    /// As [`Compiled::reference`], with every floating-point value an f64: the arrays too.
    pub fn reference_in_f64(&self, args: &Args) -> Result<IndexMap<Name, Tensor>, Diagnostic> {
        self.reference_in_f64_until(args, None)
    }

    /// As [`Compiled::reference_in_f64`], which is slow on purpose, given up at a moment with the refusal `out-of-time`.
    pub fn reference_in_f64_until(
        &self,
        args: &Args,
        deadline: Option<Instant>,
    ) -> Result<IndexMap<Name, Tensor>, Diagnostic> {
        reference::run(self.device(), self.kernel(), args, Mode::Wide, deadline)
    }

    /// Every form on the way, for the types and widths that these arguments ask for.
    pub fn stages_for(&self, args: &Args) -> Result<Stages, Diagnostic> {
        let key = bind::key_for(self, args)?;
        Stages::of(self, &key)
    }

    /// Every form on the way, for 32-bit indices unless the options say otherwise. The kernel's types have to be known.
    pub fn stages(&self) -> Result<Stages, Diagnostic> {
        if let Some(open) = self.inner.kernel.open_types().first() {
            return Err(Diagnostic::new(
                "open-type",
                format!("type `{open}` is open until arguments bind it"),
            )
            .help("ask with `stages_for(&args)`"));
        }
        Stages::of(self, &Key { types: BTreeMap::new(), index: self.first_index() })
    }
}
