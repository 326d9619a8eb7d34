//! One compilation: source and options to a binary for a real architecture.
//!
//! A program object of NVRTC belongs to one call and is destroyed on every way out. The assembler
//! is always asked to be verbose, and the log of a success is kept: registers, shared memory and
//! spills are in it.
//!
//! NVRTC follows the nesting of a source by recursion, takes two to three KiB of stack a level, and
//! ends the whole process when the stack is used up: a few hundred parentheses do on a pool's
//! thread of 2 MiB. So each compilation has a thread of its own, whose stack is reserved (not used)
//! in proportion to the source, which bounds its nesting.

use std::ffi::{CString, NulError, c_char};
use std::fmt;
use std::path::PathBuf;

use cudarc::nvrtc::result::NvrtcError;
use cudarc::nvrtc::sys;

use super::library::{Library, NotFound, library};
use super::log::{self, KernelResources, Message, Severity};
use crate::arch::Arch;

/// How a source is to be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// The architecture of the binary.
    pub arch: Arch,
    /// `--use_fast_math`: approximate division, roots and transcendental functions, and denormals
    /// flushed to zero, everywhere.
    pub fast_math: bool,
    /// `--generate-line-info`: ties machine code to lines of the source, for the profiler and the
    /// sanitizer. Changes no code.
    pub line_info: bool,
    /// `--minimal`, with compilers that know it (12.4 and newer): the source uses no textures, no
    /// surfaces and nothing of the CUDA runtime, whose declarations are left out then. Changes no
    /// code; a small kernel is compiled in about five sixths of the time.
    pub minimal: bool,
    /// The name that the source goes by in messages and line information, where a relative name is
    /// taken from the working folder. A tool that is to show the source beside the machine code
    /// needs the full path of a file that holds it.
    pub name: String,
    /// Headers given as text, which the source may include by name.
    pub headers: Vec<Header>,
    /// Further folders to search for headers. A compilation that names some is never cached: what
    /// they contain may change unseen.
    pub include: Vec<PathBuf>,
    /// Further options, as NVRTC takes them.
    pub extra: Vec<String>,
}

impl CompileOptions {
    /// The defaults for an architecture: precise mathematics, no line information.
    pub fn new(arch: Arch) -> CompileOptions {
        CompileOptions {
            arch,
            fast_math: false,
            line_info: false,
            minimal: false,
            name: "kernel.cu".to_owned(),
            headers: Vec::new(),
            include: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// The options as the newest NVRTC takes them, without the folder of CUDA's own headers.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--gpu-architecture={}", self.arch),
            "--std=c++17".to_owned(),
            "--ptxas-options=-v".to_owned(),
            // The spelling of a message's number is part of the message, so that a warning can be
            // looked up.
            "--display-error-number".to_owned(),
        ];
        if self.fast_math {
            arguments.push("--use_fast_math".to_owned());
        }
        if self.line_info {
            arguments.push("--generate-line-info".to_owned());
        }
        if self.minimal {
            arguments.push(MINIMAL.to_owned());
        }
        arguments.extend(self.include.iter().map(|folder| format!("--include-path={}", folder.display())));
        arguments.extend(self.extra.iter().cloned());
        arguments
    }
}

/// A header given as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name by which the source includes it.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// What came out of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The architecture of the binary.
    pub arch: Arch,
    /// The binary.
    pub cubin: Vec<u8>,
    /// The assembly that the binary was made from, where the compiler gives it.
    pub ptx: Option<String>,
    /// The compiler's log, complete.
    pub log: String,
    /// Warnings and remarks in the log.
    pub messages: Vec<Message>,
    /// What each kernel takes, in the log's order.
    pub resources: Vec<KernelResources>,
}

impl Compiled {
    /// Puts together what was stored of a compilation with what follows from its log: warnings and
    /// resources.
    pub fn from_parts(arch: Arch, cubin: Vec<u8>, ptx: Option<String>, log: String) -> Compiled {
        let messages = log::messages(&log);
        let resources = log::resources(&log);
        Compiled { arch, cubin, ptx, log, messages, resources }
    }

    /// The warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| message.severity == Severity::Warning)
    }

    /// Whether the binary is a complete ELF file, as far as its header tells: the table of sections
    /// lies within it. The driver is given an address and no length, so that what is not complete
    /// must not reach it.
    pub fn is_complete(&self) -> bool {
        let word = |at: usize, length: usize| -> Option<u64> {
            let part = self.cubin.get(at..at + length)?;
            Some(part.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        };
        // In the header of a 64-bit file: the table's place, the size of an entry, the number of
        // entries.
        let (Some(place), Some(size), Some(count)) = (word(0x28, 8), word(0x3a, 2), word(0x3c, 2)) else {
            return false;
        };
        let end = size.checked_mul(count).and_then(|length| length.checked_add(place));
        self.cubin.starts_with(b"\x7fELF\x02") && end.is_some_and(|end| end <= self.cubin.len() as u64)
    }

    /// What the kernel of this name takes.
    pub fn resources_of(&self, kernel: &str) -> Option<&KernelResources> {
        self.resources.iter().find(|resources| resources.name == kernel)
    }
}

/// A compilation that gave no binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// There is no NVRTC.
    NotFound(NotFound),
    /// This NVRTC does not compile for this architecture.
    UnsupportedArch {
        /// The architecture.
        arch: Arch,
        /// What the compiler knows instead, as numbers.
        supported: Vec<u32>,
        /// The compiler's version.
        version: (u32, u32),
    },
    /// The compiler refused the source or an option.
    Rejected {
        /// Its messages, in order.
        messages: Vec<Message>,
        /// Its log, complete.
        log: String,
    },
    /// A source, header, name or option contains a NUL, which NVRTC cannot be given.
    Nul {
        /// Which of them.
        what: String,
    },
    /// The source, with its headers, is longer than the compiler can be trusted with.
    TooLong {
        /// How long it is, bytes.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// NVRTC failed otherwise.
    Nvrtc {
        /// The function.
        call: &'static str,
        /// Its error.
        error: String,
    },
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::NotFound(error) => error.fmt(f),
            CompileError::UnsupportedArch { arch, supported, version } => {
                let supported: Vec<String> = supported.iter().map(|number| format!("sm_{number}")).collect();
                write!(
                    f,
                    "NVRTC {}.{} does not compile for {arch}; it knows {}",
                    version.0,
                    version.1,
                    supported.join(", ")
                )
            }
            CompileError::Rejected { messages, log } => {
                let errors: Vec<&Message> =
                    messages.iter().filter(|message| message.severity == Severity::Error).collect();
                match errors.as_slice() {
                    [] => write!(f, "NVRTC refused the source:\n{}", log.trim_end()),
                    [first, rest @ ..] => {
                        write!(f, "NVRTC refused the source: {first}")?;
                        rest.iter().try_for_each(|message| write!(f, "\n{message}"))
                    }
                }
            }
            CompileError::Nul { what } => {
                write!(f, "the {what} contains a NUL character, which the compiler cannot be given")
            }
            CompileError::TooLong { bytes, most } => {
                write!(f, "the source has {bytes} bytes, and at most {most} are compiled; unroll less")
            }
            CompileError::Nvrtc { call, error } => write!(f, "{call} failed: {error}"),
        }
    }
}

impl std::error::Error for CompileError {}

impl From<NotFound> for CompileError {
    fn from(error: NotFound) -> CompileError {
        CompileError::NotFound(error)
    }
}

/// The option that leaves declarations out.
const MINIMAL: &str = "--minimal";

/// Whether NVRTC of this version, major and minor, knows an option: one that it does not know it
/// refuses.
fn knows(version: (u32, u32), argument: &str) -> bool {
    argument != MINIMAL || version >= (12, 4)
}

/// The longest source that is taken, with its headers, in bytes: what the stack of its compilation
/// is reserved for.
const LONGEST: usize = 1 << 20;

/// Stack that any compilation gets, and what it gets for each byte of its source.
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
    // SAFETY: the program is live, and the array holds as many strings as it says.
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
    // The assembly is for reading only: a compiler that does not give it is no failure.
    let ptx = program
        .bytes("nvrtcGetPTX", sys::nvrtcGetPTXSize, sys::nvrtcGetPTX)
        .ok()
        .map(text)
        .filter(|ptx| !ptx.is_empty());
    Ok(Compiled::from_parts(arch, cubin, ptx, log))
}

/// The most shared memory that a kernel may declare, on every architecture, bytes.
const DECLARED_SHARED: u32 = 48 << 10;

/// The messages that NVRTC should have written: it refuses a kernel that declares too much shared
/// memory, and its log shows only how much.
fn too_much_shared_memory(log: &str) -> Vec<Message> {
    log::resources(log)
        .into_iter()
        .filter(|kernel| kernel.shared_bytes > DECLARED_SHARED)
        .map(|kernel| Message {
            severity: Severity::Error,
            line: None,
            text: format!(
                "`{}` declares {} bytes of shared memory, and at most {DECLARED_SHARED} may be declared; more has to be dynamic",
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

    /// Calls one of NVRTC's pairs of functions, the one that tells a size and the one that fills as
    /// many bytes.
    fn bytes(
        &self,
        call: &'static str,
        size: unsafe fn(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult,
        fill: unsafe fn(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult,
    ) -> Result<Vec<u8>, CompileError> {
        let mut length = 0;
        // SAFETY: the program is live and the pointer is to a live integer.
        unsafe { size(self.raw, &mut length) }.result().map_err(|error| failure(call, error))?;
        let mut bytes = vec![0u8; length];
        if length > 0 {
            // SAFETY: the buffer has as many bytes as the library said that it writes.
            unsafe { fill(self.raw, bytes.as_mut_ptr().cast()) }
                .result()
                .map_err(|error| failure(call, error))?;
        }
        Ok(bytes)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created by `create` and destroyed once. Nothing can be done about a failure.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_compiler_is_not_given_what_it_would_refuse() {
        let options = CompileOptions { minimal: true, ..CompileOptions::new(Arch::SM_80) };
        let given = |version| options.arguments().iter().filter(|a| knows(version, a)).count();
        assert_eq!(given((12, 3)) + 1, given((12, 4)));
        assert_eq!(given((12, 4)), given((13, 0)));
    }
}
