//! Errors of compilations.

use std::fmt;

use super::library::NotFound;
use super::log::{Message, Severity};
use crate::arch::Arch;

/// Why a source was not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// NVRTC could not be loaded: where it was looked for, and why not.
    NotFound(NotFound),
    /// This NVRTC does not compile for this architecture.
    UnsupportedArch {
        /// The architecture asked for.
        arch: Arch,
        /// The architectures that it knows, as 90 for `sm_90`.
        supported: Vec<u32>,
        /// The version of NVRTC: major, minor.
        version: (u32, u32),
    },
    /// The compiler refused the source or an option.
    Rejected {
        /// The messages of the log, in order.
        messages: Vec<Message>,
        /// The complete log of the compiler.
        log: String,
    },
    /// A source, header, name or option contains a NUL, which cannot be passed to NVRTC.
    Nul {
        /// `source`, `header`, `compiler option` or another part, for the message.
        what: String,
    },
    /// The source with its headers exceeds the limit of the compiler's stack.
    TooLong {
        /// The length of source and headers, bytes.
        bytes: usize,
        /// The limit of that length, bytes.
        most: usize,
    },
    /// Any other failure of NVRTC.
    Nvrtc {
        /// The function of NVRTC that failed.
        call: &'static str,
        /// NVRTC's name for the error.
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
                    "NVRTC {}.{} does not support {arch}; it supports {}",
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
                write!(f, "the {what} contains a NUL character, which cannot be passed to the compiler")
            }
            CompileError::TooLong { bytes, most } => {
                write!(f, "the source has {bytes} bytes, and at most {most} are supported; unroll less")
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
