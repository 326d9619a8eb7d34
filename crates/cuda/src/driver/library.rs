//! The driver's library: availability and version.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use cudarc::driver::{DriverError, result, sys};

use super::error::{CudaError, Doing};

/// Loads and initialises the driver, once per process. Functions of `cudarc::driver` may only be
/// called after this has returned `Ok`: without the library they panic.
pub(super) fn require() -> Result<(), CudaError> {
    static READY: OnceLock<Result<(), CudaError>> = OnceLock::new();
    READY
        .get_or_init(|| {
            // SAFETY: opens the driver's library by name; its initialisers have no requirements.
            if !unsafe { sys::is_culib_present() } || !has_symbol(c"cuInit") {
                return Err(CudaError::NoDriver);
            }
            match result::init() {
                Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => Err(CudaError::NoDevice),
                // The stub library of toolkits, which is for linking only.
                Err(DriverError(sys::CUresult::CUDA_ERROR_STUB_LIBRARY)) => Err(CudaError::NoDriver),
                other => other.doing("initialising the driver"),
            }
        })
        .clone()
}

/// Whether the driver has a function: older drivers lack those added later, and calling a missing
/// one panics.
pub(super) fn has_symbol(name: &CStr) -> bool {
    // SAFETY: called only if the library is present; the symbol is looked up and not called.
    unsafe { sys::culib().get::<*const c_void>(name.to_bytes_with_nul()).is_ok() }
}

/// Refuses a feature if the driver is too old to have this function.
pub(super) fn require_function(
    name: &CStr,
    for_what: &'static str,
    since: &'static str,
) -> Result<(), CudaError> {
    if has_symbol(name) { Ok(()) } else { Err(CudaError::OldDriver { for_what, since }) }
}

/// The newest version of CUDA that the driver supports: major, minor.
pub fn driver_version() -> Result<(u32, u32), CudaError> {
    match require() {
        // Without a device, the driver still knows its version.
        Ok(()) | Err(CudaError::NoDevice) => {}
        Err(error) => return Err(error),
    }
    let mut version: c_int = 0;
    // SAFETY: the library is present, and the pointer is to a live integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().doing("asking for the driver's version")?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}
