//! One form of a kernel: types bound, an index width, lowered, and on a GPU printed, compiled and
//! loaded.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use loopwright_cuda_target::{CudaSource, cuda_source};
use loopwright_emulator::{self as emulator, Emulator};
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel, Name};
use loopwright_program::{Program, Target};

use super::device::{Device, Inner};
use super::functions::with_functions;
use super::lowered::lowered;
use super::open_types::bind_types;
use super::options::CompileOptions;
use crate::Arch;
use crate::cache::Lookup;
use crate::{cuda, nvrtc};

/// The key of a kernel's forms: bound types and index type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub types: BTreeMap<Name, DType>,
    pub index: DType,
}

/// A form of a kernel for certain types and one index type, each of its results made once.
#[derive(Debug)]
pub(super) struct Variant {
    pub kernel: LoopKernel,
    pub program: Arc<Program>,
    source: OnceLock<Result<Arc<CudaSource>, Diagnostic>>,
    pub gpu: Option<Gpu>,
    /// The code of the emulator, compiled for the first launch.
    emulator: OnceLock<Result<Emulator, Diagnostic>>,
}

/// The binary of a form, loaded on a GPU.
#[derive(Debug)]
pub(super) struct Gpu {
    pub compiled: nvrtc::Compiled,
    pub functions: Vec<cuda::Function>,
}

impl Variant {
    pub fn new(
        device: &Device,
        kernel: &LoopKernel,
        key: &Key,
        options: &CompileOptions,
    ) -> Result<Variant, Diagnostic> {
        let kernel = bind_types(kernel, &key.types)?;
        let program = Arc::new(lowered(&kernel, key.index, device.target())?);
        let mut variant =
            Variant { kernel, program, source: OnceLock::new(), gpu: None, emulator: OnceLock::new() };
        if let Inner::Cuda { device, .. } = &*device.inner {
            variant.gpu = Some(variant.load(device, options)?);
        }
        Ok(variant)
    }

    /// A form whose binary was made elsewhere.
    pub fn with_binary(
        device: &Device,
        kernel: &LoopKernel,
        index: DType,
        binary: nvrtc::Compiled,
    ) -> Result<Variant, Diagnostic> {
        let Inner::Cuda { device, .. } = &*device.inner else {
            return Err(Diagnostic::new("binary-device", "the emulator runs programs, not binaries")
                .help("load the binary on a GPU, or compile the kernel for the emulator"));
        };
        let program = Arc::new(lowered(kernel, index, Target::cuda())?);
        let (source, emulator) = (OnceLock::new(), OnceLock::new());
        let mut variant = Variant { kernel: kernel.clone(), program, source, gpu: None, emulator };
        variant.gpu = Some(variant.load_binary(device, binary)?);
        Ok(variant)
    }

    /// Prints, compiles and loads it.
    fn load(&self, device: &cuda::Device, options: &CompileOptions) -> Result<Gpu, Diagnostic> {
        let source = self.source()?;
        let arch = options.arch.unwrap_or_else(|| device.info().arch());
        let (compiled, _) = compile_source(&source, arch, options)?;
        self.load_binary(device, compiled)
    }

    /// Loads a binary that was compiled from the form's own text.
    fn load_binary(&self, device: &cuda::Device, compiled: nvrtc::Compiled) -> Result<Gpu, Diagnostic> {
        let module = device.load(&compiled)?;
        let functions = self
            .program
            .kernels
            .iter()
            .map(|k| module.function_of(&k.name, self.program.passed(k).count()))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Gpu { compiled, functions })
    }

    /// The code of the emulator, compiled with these options by the first call.
    pub fn emulator(&self, options: &emulator::Options) -> Result<&Emulator, Diagnostic> {
        let made = || {
            let called = self.program.functions.iter().map(|function| &function.name);
            let options = with_functions(options, &self.kernel.functions, called)?;
            Emulator::new(&self.program, &options).map_err(Diagnostic::from)
        };
        self.emulator.get_or_init(made).as_ref().map_err(Clone::clone)
    }

    /// The printed CUDA C, made at the first call.
    pub fn source(&self) -> Result<Arc<CudaSource>, Diagnostic> {
        self.source.get_or_init(|| cuda_source(&self.program).map(Arc::new)).clone()
    }
}

/// Refuses an architecture that lacks an instruction of the text: the compiler would name neither
/// the atom nor the architecture that it needs.
fn has_instructions(source: &CudaSource, arch: Arch) -> Result<(), Diagnostic> {
    let Some(lacking) = source.instructions.iter().find(|used| used.since > arch.number()) else {
        return Ok(());
    };
    let (name, since) = (&lacking.name, lacking.since);
    let message = format!("`{name}` is an instruction of sm_{since} and later, and {arch} does not have it");
    let help = match name.as_str() {
        "stmatrix" => "leave out `store_matrices`".to_owned(),
        _ => "let another instruction do the updates, or leave out the step that asks for it".to_owned(),
    };
    Err(Diagnostic::new("atom-architecture", message)
        .help(format!("compile for sm_{since} or later; otherwise {help}")))
}

/// Compiles printed CUDA C, through the cache of the options.
///
/// Errors: instructions that the architecture does not have, and those of the compiler.
pub(super) fn compile_source(
    source: &CudaSource,
    arch: Arch,
    options: &CompileOptions,
) -> Result<(nvrtc::Compiled, Lookup), Diagnostic> {
    has_instructions(source, arch)?;
    let cache = options.cache();
    let mut nvrtc_options = nvrtc::CompileOptions::new(arch);
    nvrtc_options.fast_math = options.fast_math;
    nvrtc_options.line_info = options.line_info;
    // The printer uses none of the declarations that this omits.
    nvrtc_options.minimal = true;
    if options.line_info {
        // The profiler and the sanitizer need a file to show source lines.
        let folder = cache.folder().map_or_else(|| std::env::temp_dir().join("loopwright"), PathBuf::from);
        let hash = blake3::hash(source.text.as_bytes()).to_hex();
        let name = source.kernels.first().map_or("kernel", |k| k.name.as_str());
        let file = folder.join("source").join(format!("{name}-{}.cu", &hash[..16]));
        let written = std::fs::create_dir_all(folder.join("source"))
            .and_then(|()| std::fs::write(&file, source.text.as_bytes()));
        written.map_err(|e| {
            Diagnostic::new("write-file", format!("{} cannot be written: {e}", file.display())).help(
                "line information needs the source in a file: set LOOPWRIGHT_CACHE to a \
                    folder that can be written to",
            )
        })?;
        nvrtc_options.name = file.display().to_string();
    }
    Ok(cache.compile(&source.text, &nvrtc_options)?)
}
