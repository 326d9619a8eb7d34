//! One compilation: source and options to a binary for a real architecture.
//!
//! A program object of NVRTC belongs to one call and is destroyed on every return path. The
//! assembler is always run in verbose mode, and the log of a successful compilation is kept: it
//! contains registers, shared memory and spills.
//!
//! NVRTC parses nested sources recursively, uses two to three KiB of stack per level, and aborts
//! the process on stack overflow: a few hundred parentheses suffice on a thread with 2 MiB. So each
//! compilation runs on a separate thread, whose reserved (not committed) stack is proportional to
//! the length of the source, which bounds its nesting.

use std::ffi::{CString, NulError, c_char};

use cudarc::nvrtc::result::NvrtcError;
use cudarc::nvrtc::sys;

use super::compiled::Compiled;
use super::error::CompileError;
use super::library::{Library, library};
use super::log::{self, Message, Severity};
use super::options::{CompileOptions, knows};

/// The greatest accepted length of a source with its headers, in bytes; it bounds the reserved
/// stack.
const LONGEST: usize = 1 << 20;

/// Stack of any compilation, and additional stack for each byte of its source.
const STACK: (usize, usize) = (64 << 20, 4 << 10);

/// Compiles a source. May be called from several threads at once.
pub fn compile(source: &str, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let library = library()?;
    let length = source.len() + options.headers.iter().map(|header| header.text.len()).sum::<usize>();
    if length > LONGEST {
        return Err(CompileError::TooLong { bytes: length, most: LONGEST });
    }
    let failed = |error: String| CompileError::Nvrtc { call: "starting the compiler's thread", error };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("nvrtc".to_owned())
            .stack_size(STACK.0 + STACK.1 * length)
            .spawn_scoped(scope, || compile_with(library, source, options))
            .map_err(|error| failed(error.to_string()))?
            .join()
            .map_err(|_| failed("it panicked".to_owned()))?
    })
}

fn compile_with(library: &Library, source: &str, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let arch = options.arch;
    if !library.architectures.is_empty() && !library.architectures.contains(&arch.number()) {
        return Err(CompileError::UnsupportedArch {
            arch,
            supported: library.architectures.clone(),
            version: library.version,
        });
    }
    let mut arguments = options.arguments();
    arguments.retain(|argument| knows(library.version, argument));
    if let Some(headers) = &library.headers {
        arguments.push(format!("--include-path={}", headers.display()));
    }
    let arguments = c_strings(arguments.iter().map(String::as_str), "compiler option")?;
    let program = Program::create(source, options)?;
    let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    // SAFETY: the program is live, and the array has the given number of strings.
    let outcome =
        unsafe { sys::nvrtcCompileProgram(program.raw, pointers.len() as i32, pointers.as_ptr()) }.result();
    let log =
        text(program.bytes("nvrtcGetProgramLog", sys::nvrtcGetProgramLogSize, sys::nvrtcGetProgramLog)?);
    match outcome {
        Ok(()) => {}
        Err(NvrtcError(
            sys::nvrtcResult::NVRTC_ERROR_COMPILATION | sys::nvrtcResult::NVRTC_ERROR_INVALID_OPTION,
        )) => {
            let mut messages = log::messages(&log);
            if !messages.iter().any(|message| message.severity == Severity::Error) {
                messages.extend(too_much_shared_memory(&log));
            }
            return Err(CompileError::Rejected { messages, log });
        }
        Err(error) => return Err(failure("nvrtcCompileProgram", error)),
    }
    let cubin = program.bytes("nvrtcGetCUBIN", sys::nvrtcGetCUBINSize, sys::nvrtcGetCUBIN)?;
    if cubin.is_empty() {
        return Err(CompileError::Nvrtc {
            call: "nvrtcGetCUBIN",
            error: format!("no binary was made for {arch}"),
        });
    }
    // The assembly is informative only, so that a compiler without it is accepted.
    let ptx = program
        .bytes("nvrtcGetPTX", sys::nvrtcGetPTXSize, sys::nvrtcGetPTX)
        .ok()
        .map(text)
        .filter(|ptx| !ptx.is_empty());
    Ok(Compiled::from_parts(arch, cubin, ptx, log))
}

/// Maximum size of the shared memory that a kernel may declare on any architecture, in bytes.
const DECLARED_SHARED: u64 = loopwright_target::Target::cuda().static_shared;

/// The messages that NVRTC lacks: it refuses a kernel that declares too much shared memory, but its
/// log only has the size.
fn too_much_shared_memory(log: &str) -> Vec<Message> {
    log::resources(log)
        .into_iter()
        .filter(|kernel| u64::from(kernel.shared_bytes) > DECLARED_SHARED)
        .map(|kernel| Message {
            severity: Severity::Error,
            line: None,
            text: format!(
                "`{}` declares {} bytes of shared memory, and at most {DECLARED_SHARED} may be \
                 declared; larger sizes have to be dynamic",
                kernel.name, kernel.shared_bytes
            ),
        })
        .collect()
}

/// A program object of NVRTC, destroyed when dropped. The texts that it was made of live as long as
/// it does.
struct Program {
    raw: sys::nvrtcProgram,
    _texts: Vec<CString>,
}

impl Program {
    fn create(source: &str, options: &CompileOptions) -> Result<Program, CompileError> {
        let mut texts = c_strings([source], "source")?;
        texts.extend(c_strings([options.name.as_str()], "name of the source")?);
        texts.extend(c_strings(options.headers.iter().map(|header| header.text.as_str()), "header")?);
        texts.extend(c_strings(
            options.headers.iter().map(|header| header.name.as_str()),
            "name of a header",
        )?);
        let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        let count = options.headers.len();
        let (bodies, names) = pointers[2..].split_at(count);
        let mut raw: sys::nvrtcProgram = std::ptr::null_mut();
        // SAFETY: all strings end in NUL and live in `texts`; both arrays have `count` elements.
        unsafe {
            sys::nvrtcCreateProgram(
                &mut raw,
                pointers[0],
                pointers[1],
                count as i32,
                bodies.as_ptr(),
                names.as_ptr(),
            )
        }
        .result()
        .map_err(|error| failure("nvrtcCreateProgram", error))?;
        Ok(Program { raw, _texts: texts })
    }

    /// Calls one of NVRTC's pairs of functions: one returns a size, the other fills a buffer of
    /// that size.
    fn bytes(
        &self,
        call: &'static str,
        size: unsafe fn(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult,
        fill: unsafe fn(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult,
    ) -> Result<Vec<u8>, CompileError> {
        let mut length = 0;
        // SAFETY: the program is live and the pointer is valid.
        unsafe { size(self.raw, &mut length) }.result().map_err(|error| failure(call, error))?;
        let mut bytes = vec![0u8; length];
        if length > 0 {
            // SAFETY: the buffer has the size that the library reported.
            unsafe { fill(self.raw, bytes.as_mut_ptr().cast()) }
                .result()
                .map_err(|error| failure(call, error))?;
        }
        Ok(bytes)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created by `create` and destroyed once. A failure cannot be handled.
        let _ = unsafe { sys::nvrtcDestroyProgram(&mut self.raw) };
    }
}

fn failure(call: &'static str, error: NvrtcError) -> CompileError {
    CompileError::Nvrtc { call, error: format!("{:?}", error.0) }
}

fn c_strings<'a>(texts: impl IntoIterator<Item = &'a str>, what: &str) -> Result<Vec<CString>, CompileError> {
    texts
        .into_iter()
        .map(|text| CString::new(text).map_err(|_: NulError| CompileError::Nul { what: what.to_owned() }))
        .collect()
}

/// A text that NVRTC wrote, without the NUL at its end.
fn text(bytes: Vec<u8>) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
