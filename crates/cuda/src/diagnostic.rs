//! Errors of the driver, the compiler and the disassembler as diagnostics.

use loopwright_kernel_ir::Diagnostic;

use crate::arch::ParseArchError;
use crate::disasm::DisasmError;
use crate::driver::CudaError;
use crate::nvrtc::CompileError;

/// The sentence of an error without the remedy at its end.
fn sentence(text: String, remedy: Option<&String>) -> String {
    match remedy {
        Some(remedy) => text.strip_suffix(&format!("; {remedy}")).map(str::to_owned).unwrap_or(text),
        None => text,
    }
}

fn with_remedy(code: &'static str, text: String, remedy: Option<String>) -> Diagnostic {
    let diagnostic = Diagnostic::new(code, sentence(text, remedy.as_ref()));
    match remedy {
        Some(remedy) => diagnostic.help(remedy),
        None => diagnostic,
    }
}

impl From<CudaError> for Diagnostic {
    fn from(error: CudaError) -> Diagnostic {
        let code = match &error {
            CudaError::NoDriver => "no-driver",
            CudaError::NoDevice => "no-device",
            CudaError::OldDriver { .. } => "old-driver",
            CudaError::NoSuchDevice { .. } => "no-such-device",
            CudaError::BadBinary { .. } => "bad-binary",
            CudaError::NoSuchKernel { .. } => "no-such-kernel",
            CudaError::Limit(_) => "device-limit",
            CudaError::Arguments { .. } => "launch-arguments",
            CudaError::Range { .. } => "buffer-range",
            CudaError::Foreign { .. } => "other-device",
            CudaError::Captured => "captured-stream",
            CudaError::OutOfMemory { .. } => "out-of-memory",
            CudaError::Driver { .. } => "cuda",
        };
        with_remedy(code, error.to_string(), error.remedy())
    }
}

impl From<CompileError> for Diagnostic {
    fn from(error: CompileError) -> Diagnostic {
        let (code, remedy) = match &error {
            CompileError::NotFound(missing) => ("no-compiler", Some(missing.remedy())),
            CompileError::UnsupportedArch { .. } => (
                "unsupported-arch",
                Some("install a CUDA toolkit that supports it, or use a different architecture".to_owned()),
            ),
            CompileError::Rejected { .. } => ("compiler", None),
            CompileError::Nul { .. } => ("compiler", None),
            CompileError::TooLong { .. } => ("source-too-long", Some("unroll less".to_owned())),
            CompileError::Nvrtc { .. } => ("compiler", None),
        };
        with_remedy(code, error.to_string(), remedy)
    }
}

impl From<ParseArchError> for Diagnostic {
    fn from(error: ParseArchError) -> Diagnostic {
        Diagnostic::new("arch", error.to_string())
            .help("`loopwright doctor` lists the architectures that NVRTC supports")
    }
}

impl From<DisasmError> for Diagnostic {
    fn from(error: DisasmError) -> Diagnostic {
        match error {
            DisasmError::NotFound => Diagnostic::new("no-disassembler", "there is no disassembler")
                .help("run `make setup`, or install a CUDA toolkit, for nvdisasm or cuobjdump"),
            DisasmError::Failed { .. } => Diagnostic::new("disassembler", error.to_string()),
        }
    }
}
