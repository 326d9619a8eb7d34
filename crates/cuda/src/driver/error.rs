//! Errors of the driver, and requests refused before the driver is called.

use std::fmt;

use cudarc::driver::DriverError;

use super::limit_error::LimitError;
use crate::arch::Arch;

/// A failure reported by the driver, or a request refused before the driver was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaError {
    /// The driver's library could not be loaded.
    NoDriver,
    /// The driver is installed but finds no device.
    NoDevice,
    /// The driver lacks a function that was added in a later version.
    OldDriver {
        /// The feature that needs the function, in the plural; the message begins with it.
        for_what: &'static str,
        /// The first version of CUDA whose drivers have it, such as `12.0`.
        since: &'static str,
    },
    /// No device has this number.
    NoSuchDevice {
        /// The requested number; devices are numbered from 0.
        ordinal: usize,
        /// The number of devices of this machine.
        count: usize,
    },
    /// The binary is for another architecture, or incomplete.
    BadBinary {
        /// The architecture that the binary was compiled for.
        arch: Arch,
        /// Why this device cannot load it, as a clause.
        reason: String,
    },
    /// The binary has no kernel of this name.
    NoSuchKernel {
        /// The name that the module was asked for.
        name: String,
    },
    /// A launch exceeds a limit of the device or of the kernel.
    Limit(LimitError),
    /// The arguments of a launch do not match the kernel's parameters.
    Arguments {
        /// The name of the kernel.
        kernel: String,
        /// The first mismatch in count or size, as a clause.
        reason: String,
    },
    /// A range of bytes ends beyond the end of its buffer.
    Range {
        /// The offset of the first requested byte.
        offset: usize,
        /// The length of the range, bytes.
        bytes: usize,
        /// The length of the buffer, bytes.
        length: usize,
    },
    /// A request mixes objects of different devices, or uses scratch memory on a different stream.
    Foreign {
        /// The mismatch, as a clause.
        what: &'static str,
    },
    /// A copy between devices was submitted to a stream that is being captured.
    Captured,
    /// The device does not have enough free memory.
    OutOfMemory {
        /// Number of bytes that were asked for.
        bytes: usize,
        /// Number of free bytes at that time, if the driver reports it.
        free: Option<usize>,
    },
    /// The driver reported an error.
    Driver {
        /// The operation that failed, as in "loading a binary".
        doing: &'static str,
        /// The driver's name for the error, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// The driver's description of the error.
        text: String,
    },
}

impl CudaError {
    /// Wraps an error of the driver.
    pub(super) fn driver(doing: &'static str, error: DriverError) -> CudaError {
        let say = |text: Result<&std::ffi::CStr, DriverError>| {
            text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let name = say(error.error_name());
        let name = if name.is_empty() { format!("{:?}", error.0) } else { name };
        CudaError::Driver { doing, name, text: say(error.error_string()) }
    }

    /// How to fix it, as an imperative clause, if a fix is known. [`Display`](fmt::Display) ends
    /// with it.
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            CudaError::NoDriver => "install NVIDIA's driver (libcuda.so.1), or run on the emulator",
            CudaError::NoDevice => {
                "check with nvidia-smi that a GPU is visible (CUDA_VISIBLE_DEVICES may hide it), \
                 or run on the emulator"
            }
            CudaError::OldDriver { .. } => "update the driver",
            CudaError::BadBinary { .. } => "compile for the architecture of this device",
            CudaError::Limit(error) => return Some(error.remedy().to_owned()),
            CudaError::NoSuchDevice { .. } => "use the number of an existing device, or `Device::best()`",
            CudaError::Foreign { .. } => "create everything that a launch uses on the same device",
            CudaError::Captured => "copy before or after the capture, or on a different stream",
            CudaError::OutOfMemory { .. } => "free buffers or work on smaller pieces",
            CudaError::Driver { name, .. } => match name.as_str() {
                "CUDA_ERROR_ILLEGAL_ADDRESS"
                | "CUDA_ERROR_MISALIGNED_ADDRESS"
                | "CUDA_ERROR_LAUNCH_FAILED" => {
                    "a kernel made an invalid memory access, and this process can no longer use \
                     the device; run the kernel on the emulator or under compute-sanitizer to \
                     locate the access"
                }
                "CUDA_ERROR_NO_BINARY_FOR_GPU" => "compile for the architecture of this device",
                _ => return None,
            },
            _ => return None,
        };
        Some(text.to_owned())
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CudaError::NoDriver => f.write_str("this machine has no CUDA driver"),
            CudaError::NoDevice => f.write_str("this machine has no CUDA device"),
            CudaError::OldDriver { for_what, since } => {
                write!(f, "{for_what} need a driver for CUDA {since} or newer")
            }
            CudaError::NoSuchDevice { ordinal, count } => {
                write!(f, "there is no device {ordinal}: this machine has {count}, numbered from 0")
            }
            CudaError::BadBinary { arch, reason } => {
                write!(f, "the binary for {arch} cannot be loaded: {reason}")
            }
            CudaError::NoSuchKernel { name } => {
                write!(f, "the binary has no kernel `{}`", name.escape_debug())
            }
            CudaError::Limit(error) => error.fmt(f),
            CudaError::Arguments { kernel, reason } => {
                write!(f, "the arguments of `{kernel}` do not match its parameters: {reason}")
            }
            CudaError::Range { offset, bytes, length } => {
                write!(
                    f,
                    "bytes {offset} to {} of a buffer of {length} bytes were requested",
                    offset.saturating_add(*bytes)
                )
            }
            CudaError::Foreign { what } => f.write_str(what),
            CudaError::Captured => {
                f.write_str("copies between devices are not possible on a stream that is being captured")
            }
            CudaError::OutOfMemory { bytes, free } => {
                write!(f, "the device does not have {bytes} bytes of free memory")?;
                free.map_or(Ok(()), |free| write!(f, " ({free} are free)"))
            }
            CudaError::Driver { doing, name, text } => write!(f, "{doing} failed: {text} ({name})"),
        }?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for CudaError {}

impl From<LimitError> for CudaError {
    fn from(error: LimitError) -> CudaError {
        CudaError::Limit(error)
    }
}

/// Turns an error of the driver into one that names the operation that failed.
pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, CudaError>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, doing: &'static str) -> Result<T, CudaError> {
        self.map_err(|error| CudaError::driver(doing, error))
    }
}
