//! Launches whose checks are made once.
//!
//! A prepared launch has everything that the driver's call needs: the function, the stream, the
//! sizes in the driver's form, the values of the parameters and the array of pointers to them. Each
//! launch then only makes the device's context current in this thread, which takes nanoseconds and
//! cannot be omitted, since other libraries of the process set it too, and makes the call.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys;

use super::error::{CudaError, Doing};
use super::launch::Arguments;
use super::library::has_symbol;
use super::module::{Function, FunctionInfo};
use super::shape::LaunchShape;
use super::stream::Stream;

/// A checked launch of a kernel on a stream with its arguments. Submitting it does not allocate,
/// look anything up or take a lock. Clones are handles to the same launch.
#[derive(Clone, Debug)]
pub struct Prepared {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    function: Function,
    stream: Stream,
    /// Whether the grid is empty. The driver refuses such launches; here they do nothing.
    empty: bool,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    /// Whether it may start before the preceding launch on its stream has ended.
    early: bool,
    /// Owns the targets of `pointers`, at fixed addresses on the heap, and keeps the buffers alive.
    _arguments: Arguments,
    pointers: Box<[*mut c_void]>,
}

// SAFETY: the pointers are to heap memory that the value owns and that nothing writes to; the
// driver reads it during a launch and lets any thread launch.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Function {
    /// Checks a launch as [`Function::launch`] does, and prepares it for any number of executions.
    pub fn prepare(
        &self,
        stream: &Stream,
        shape: &LaunchShape,
        arguments: Arguments,
    ) -> Result<Prepared, CudaError> {
        self.prepare_as(stream, shape, arguments, false)
    }

    /// The same for a kernel all of whose threads first wait for the preceding launch on its stream
    /// (`griddepcontrol.wait`): the device may start it before that launch has ended, which saves
    /// the time between the two (programmatic stream serialization). Before compute capability 9.0,
    /// with drivers older than 11.8, and in a graph, it is launched like others.
    pub fn prepare_early(
        &self,
        stream: &Stream,
        shape: &LaunchShape,
        arguments: Arguments,
    ) -> Result<Prepared, CudaError> {
        let early = self.device.info().starts_early() && has_symbol(c"cuLaunchKernelEx");
        self.prepare_as(stream, shape, arguments, early)
    }

    fn prepare_as(
        &self,
        stream: &Stream,
        shape: &LaunchShape,
        arguments: Arguments,
        early: bool,
    ) -> Result<Prepared, CudaError> {
        self.check_launch(stream, shape, &arguments)?;
        let pointers = arguments.pointers().into_boxed_slice();
        let inner = Inner {
            function: self.clone(),
            stream: stream.clone(),
            empty: shape.is_empty(),
            // The extents fit, since they are within the checked limits.
            grid: shape.grid.map(|extent| u32::try_from(extent).unwrap_or(u32::MAX)),
            block: shape.block,
            dynamic_shared: shape.dynamic_shared,
            early,
            _arguments: arguments,
            pointers,
        };
        Ok(Prepared { inner: Arc::new(inner) })
    }
}

impl Inner {
    /// The driver's call for a launch that may start before the preceding one has ended.
    ///
    /// # Safety
    ///
    /// As for [`Prepared::bare_launch`].
    unsafe fn start_early(&self) -> Result<(), CudaError> {
        let ([x, y, z], [bx, by, bz]) = (self.grid, self.block);
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: self.dynamic_shared,
            hStream: self.stream.raw.cu_stream(),
            attrs: &mut attribute,
            numAttrs: 1,
        };
        // SAFETY: function and stream are live and of one context; there is a pointer for each
        // parameter, to a value of its size; the driver reads the configuration and its attribute
        // before it returns. The rest is the caller's promise.
        unsafe {
            sys::cuLaunchKernelEx(
                &config,
                self.function.raw.cu_function(),
                self.pointers.as_ptr().cast_mut(),
                std::ptr::null_mut(),
            )
        }
        .result()
        .doing("launching a kernel")
    }
}

impl Prepared {
    /// Submits the launch to its stream. An empty grid launches nothing.
    ///
    /// # Safety
    ///
    /// As for [`Function::launch`].
    pub unsafe fn launch(&self) -> Result<(), CudaError> {
        let launch = &*self.inner;
        if launch.empty {
            return Ok(());
        }
        launch.function.device.make_current()?;
        // SAFETY: the caller's promise, and the context is current.
        unsafe { self.bare_launch() }
    }

    /// Only the driver's call of this launch: the baseline for measurements of
    /// [`Prepared::launch`].
    ///
    /// # Safety
    ///
    /// As for [`Function::launch`]; the grid is not empty, and the device's context is current in
    /// this thread, as it is after any launch.
    #[inline]
    pub unsafe fn bare_launch(&self) -> Result<(), CudaError> {
        let launch = &*self.inner;
        if launch.early {
            // SAFETY: the caller's promise.
            return unsafe { launch.start_early() };
        }
        let ([x, y, z], [bx, by, bz]) = (launch.grid, launch.block);
        // SAFETY: function and stream are live and of one context; there is a pointer for each
        // parameter, to a value of its size. The driver takes the array as mutable and only reads
        // it. The rest is the caller's promise.
        unsafe {
            sys::cuLaunchKernel(
                launch.function.raw.cu_function(),
                x,
                y,
                z,
                bx,
                by,
                bz,
                launch.dynamic_shared,
                launch.stream.raw.cu_stream(),
                launch.pointers.as_ptr().cast_mut(),
                std::ptr::null_mut(),
            )
        }
        .result()
        .doing("launching a kernel")
    }

    /// The resource usage of its kernel.
    pub fn info(&self) -> &FunctionInfo {
        self.inner.function.info()
    }

    /// The stream that it is submitted to.
    pub fn stream(&self) -> &Stream {
        &self.inner.stream
    }

    /// Whether it launches nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.inner.empty
    }

    /// The device that it runs on.
    pub(super) fn device(&self) -> &super::device::Device {
        &self.inner.function.device
    }

    /// The launch as a node of a graph. Its pointers are valid as long as `self`.
    pub(super) fn node(&self) -> sys::CUDA_KERNEL_NODE_PARAMS {
        let launch = &*self.inner;
        let ([x, y, z], [bx, by, bz]) = (launch.grid, launch.block);
        sys::CUDA_KERNEL_NODE_PARAMS {
            func: launch.function.raw.cu_function(),
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: launch.dynamic_shared,
            kernelParams: launch.pointers.as_ptr().cast_mut(),
            extra: std::ptr::null_mut(),
            kern: std::ptr::null_mut(),
            ctx: std::ptr::null_mut(),
        }
    }
}
