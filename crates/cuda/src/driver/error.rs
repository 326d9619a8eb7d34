//! What can go wrong on a GPU.

use std::fmt;

use cudarc::driver::DriverError;

use super::limit_error::LimitError;
use crate::arch::Arch;

/// A failure of a device, of the driver, or of a request that they were not even asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaError {
    /// The driver's library could not be loaded.
    NoDriver,
    /// The driver is there and finds no device.
    NoDevice,
    /// The driver is too old for something.
    OldDriver {
        /// For what.
        for_what: &'static str,
        /// The version of CUDA whose drivers have it.
        since: &'static str,
    },
    /// There are fewer devices than that.
    NoSuchDevice {
        /// The number asked for, counted from 0.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The binary is for another architecture, or is not a whole binary.
    BadBinary {
        /// What it was compiled for.
        arch: Arch,
        /// What is wrong with it on this device.
        reason: String,
    },
    /// The binary has no kernel of this name.
    NoSuchKernel {
        /// The name.
        name: String,
    },
    /// A launch breaks a limit.
    Limit(LimitError),
    /// A kernel was given arguments that do not fit its parameters.
    Arguments {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        reason: String,
    },
    /// Bytes outside of a buffer were asked for.
    Range {
        /// The first byte asked for.
        offset: usize,
        /// How many were asked for.
        bytes: usize,
        /// How many the buffer has.
        length: usize,
    },
    /// Two things of one request belong to different devices, or scratch memory is used outside of
    /// its stream.
    Foreign {
        /// Which two.
        what: &'static str,
    },
    /// Work that needs to be done now was put on a stream that is being captured.
    Captured,
    /// The device has not that much memory left.
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
        /// Bytes free at that moment, where the driver says so.
        free: Option<usize>,
    },
    /// The driver reported an error.
    Driver {
        /// What was being done.
        doing: &'static str,
        /// The driver's name for the error, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// The driver's sentence about it.
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

    /// What to do about it, where there is something.
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            CudaError::NoDriver => "install NVIDIA's driver (libcuda.so.1), or run on the emulator",
            CudaError::NoDevice => {
                "check with nvidia-smi that a GPU is visible (CUDA_VISIBLE_DEVICES hides some), or run on the emulator"
            }
            CudaError::OldDriver { .. } => "update the driver",
            CudaError::BadBinary { .. } => "compile for the architecture of this device",
            CudaError::Limit(error) => return Some(error.remedy().to_owned()),
            CudaError::NoSuchDevice { .. } => "name one that there is, or `Device::best()`",
            CudaError::Foreign { .. } => "make everything that one launch uses on one device",
            CudaError::Captured => "copy before or after what is captured, or on another stream",
            CudaError::OutOfMemory { .. } => "free buffers or work on smaller pieces",
            CudaError::Driver { name, .. } => match name.as_str() {
                "CUDA_ERROR_ILLEGAL_ADDRESS"
                | "CUDA_ERROR_MISALIGNED_ADDRESS"
                | "CUDA_ERROR_LAUNCH_FAILED" => {
                    "a kernel accessed memory that it may not; this process cannot use the device any more; run it on the emulator or under compute-sanitizer to see where"
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
                write!(f, "{for_what} need a driver of CUDA {since} or newer")
            }
            CudaError::NoSuchDevice { ordinal, count } => {
                write!(f, "there is no device {ordinal}: this machine has {count}, counted from 0")
            }
            CudaError::BadBinary { arch, reason } => {
                write!(f, "the binary for {arch} cannot be loaded: {reason}")
            }
            CudaError::NoSuchKernel { name } => {
                write!(f, "the binary has no kernel `{}`", name.escape_debug())
            }
            CudaError::Limit(error) => error.fmt(f),
            CudaError::Arguments { kernel, reason } => {
                write!(f, "`{kernel}` was given wrong arguments: {reason}")
            }
            CudaError::Range { offset, bytes, length } => {
                write!(
                    f,
                    "bytes {offset} to {} of a buffer of {length} bytes were asked for",
                    offset.saturating_add(*bytes)
                )
            }
            CudaError::Foreign { what } => f.write_str(what),
            CudaError::Captured => {
                f.write_str("a stream that is being captured cannot take a copy between devices")
            }
            CudaError::OutOfMemory { bytes, free } => {
                write!(f, "the device has no {bytes} bytes of memory left")?;
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

/// Adds to an error of the driver what was being done.
pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, CudaError>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, doing: &'static str) -> Result<T, CudaError> {
        self.map_err(|error| CudaError::driver(doing, error))
    }
}
