//! Launches whose checks are made once.

use std::ffi::c_void;

use cudarc::driver::result;

use super::error::{CudaError, Doing};
use super::launch::{Arguments, LaunchShape};
use super::module::Function;
use super::stream::Stream;

/// Parameters of a kernel for which a launch takes no memory from the heap.
const FEW: usize = 64;

/// A launch of a kernel on a stream with its arguments: everything is checked, and putting it on the stream again allocates nothing and
/// looks nothing up.
#[derive(Debug)]
pub struct Prepared {
    function: Function,
    stream: Stream,
    shape: LaunchShape,
    /// Owns what `pointers` point to, which stays in its place on the heap, and keeps the buffers alive.
    _arguments: Arguments,
    pointers: Vec<*mut c_void>,
}

// SAFETY: the pointers are to heap memory that the value owns and that nothing writes to; the driver reads it during a launch and lets
// any thread launch.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

impl Function {
    /// Checks a launch as [`Function::launch`] does, and keeps it.
    pub fn prepare(
        &self,
        stream: &Stream,
        shape: &LaunchShape,
        arguments: Arguments,
    ) -> Result<Prepared, CudaError> {
        self.check_launch(stream, shape, &arguments)?;
        let pointers = arguments.pointers();
        Ok(Prepared {
            function: self.clone(),
            stream: stream.clone(),
            shape: *shape,
            _arguments: arguments,
            pointers,
        })
    }
}

impl Prepared {
    /// Puts the launch on its stream. An empty grid launches nothing.
    ///
    /// # Safety
    ///
    /// As for [`Function::launch`].
    pub unsafe fn launch(&self) -> Result<(), CudaError> {
        if self.shape.is_empty() {
            return Ok(());
        }
        self.function.device.bind()?;
        let [x, y, z] = self.shape.grid.map(|extent| u32::try_from(extent).unwrap_or(u32::MAX));
        let [bx, by, bz] = self.shape.block;
        // The driver takes the array as mutable, so that each launch has its own; nearly always on the stack.
        let (mut few, mut many);
        let pointers = if self.pointers.len() <= FEW {
            few = [std::ptr::null_mut(); FEW];
            few[..self.pointers.len()].copy_from_slice(&self.pointers);
            &mut few[..self.pointers.len()]
        } else {
            many = self.pointers.clone();
            &mut many[..]
        };
        // SAFETY: function and stream are live and of one context; there is a pointer for each parameter, to as many bytes as it has. The
        // rest is the caller's promise.
        unsafe {
            result::launch_kernel(
                self.function.raw.cu_function(),
                (x, y, z),
                (bx, by, bz),
                self.shape.dynamic_shared,
                self.stream.raw.cu_stream(),
                pointers,
            )
        }
        .doing("launching a kernel")
    }
}
