//! Launching a kernel.

use std::ffi::c_void;

use bytemuck::NoUninit;
use cudarc::driver::result;

use super::buffer::Buffer;
use super::error::{CudaError, Doing};
use super::limits;
use super::module::Function;
use super::shape::LaunchShape;
use super::stream::Stream;

/// The arguments of a kernel, in the order of its parameters. They keep their buffers alive, and
/// may be used for any number of launches.
#[derive(Clone, Debug, Default)]
#[must_use = "its methods return a changed one"]
pub struct Arguments {
    /// Each value is at the beginning of a separate slot with sufficient alignment for any
    /// parameter.
    slots: Vec<Slot>,
    buffers: Vec<Buffer>,
}

#[derive(Clone, Debug)]
struct Slot {
    value: Aligned,
    bytes: usize,
}

#[derive(Clone, Debug)]
#[repr(align(16))]
struct Aligned([u8; 16]);

impl Arguments {
    /// No arguments yet; the methods add them in the order of the kernel's parameters.
    pub fn new() -> Arguments {
        Arguments::default()
    }

    /// Adds a pointer to the beginning of a buffer.
    pub fn buffer(self, buffer: &Buffer) -> Arguments {
        let address = buffer.address();
        self.pointer(buffer, address)
    }

    /// Adds a pointer into a buffer, `offset` bytes from its beginning.
    pub fn buffer_at(self, buffer: &Buffer, offset: usize) -> Result<Arguments, CudaError> {
        let range = buffer.range(offset, 0)?;
        let address = buffer.address() + range.start as u64;
        Ok(self.pointer(buffer, address))
    }

    fn pointer(mut self, buffer: &Buffer, address: u64) -> Arguments {
        self.slots.push(Slot::new(&address.to_ne_bytes()));
        self.buffers.push(buffer.clone());
        self
    }

    /// Adds a value of at most 16 bytes.
    pub fn scalar<T: NoUninit>(mut self, value: T) -> Arguments {
        const { assert!(size_of::<T>() <= 16, "an argument has at most 16 bytes") };
        self.slots.push(Slot::new(bytemuck::bytes_of(&value)));
        self
    }

    /// Adds a value given as its bytes, at most 16.
    pub fn bytes(mut self, bytes: &[u8]) -> Result<Arguments, CudaError> {
        if bytes.len() > 16 {
            return Err(CudaError::Range { offset: 0, bytes: bytes.len(), length: 16 });
        }
        self.slots.push(Slot::new(bytes));
        Ok(self)
    }

    /// Pointers to the values, through which the driver only reads.
    pub(super) fn pointers(&self) -> Vec<*mut c_void> {
        self.slots.iter().map(|slot| std::ptr::from_ref(&slot.value).cast_mut().cast()).collect()
    }

    /// The number of arguments.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

impl Slot {
    /// `bytes` has at most 16 bytes.
    fn new(bytes: &[u8]) -> Slot {
        let mut value = Aligned([0; 16]);
        value.0[..bytes.len()].copy_from_slice(bytes);
        Slot { value, bytes: bytes.len() }
    }
}

impl Function {
    /// Whether a launch is within the limits of the device and of this kernel.
    pub fn check(&self, shape: &LaunchShape) -> Result<(), CudaError> {
        Ok(limits::check(self.device.info(), self.info(), shape)?)
    }

    /// Submits a launch to a stream, after checking its limits and, if the driver reports the
    /// parameters, the number and sizes of its arguments. An empty grid launches nothing.
    ///
    /// # Safety
    ///
    /// The kernel must access only the buffers among its arguments, within their bounds, and its
    /// parameters must have the types of the arguments. Launches that may run at the same time on
    /// other streams must not conflict with it. A kernel that violates this can corrupt other
    /// buffers or make the device unusable for the process.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        shape: &LaunchShape,
        arguments: &Arguments,
    ) -> Result<(), CudaError> {
        self.check_launch(stream, shape, arguments)?;
        if shape.is_empty() {
            return Ok(());
        }
        self.device.bind()?;
        let mut pointers = arguments.pointers();
        // The extents fit, since they are within the checked limits.
        let [x, y, z] = shape.grid.map(|extent| u32::try_from(extent).unwrap_or(u32::MAX));
        let [bx, by, bz] = shape.block;
        // SAFETY: function and stream are live and of the same context; there is a pointer for each
        // parameter, to a value of its size; the driver copies the values before it returns. The
        // rest is the caller's promise.
        unsafe {
            result::launch_kernel(
                self.raw.cu_function(),
                (x, y, z),
                (bx, by, bz),
                shape.dynamic_shared,
                stream.raw.cu_stream(),
                &mut pointers,
            )
        }
        .doing("launching a kernel")
    }

    /// All checks of a launch: limits, arguments, and that everything belongs to one device.
    pub(super) fn check_launch(
        &self,
        stream: &Stream,
        shape: &LaunchShape,
        arguments: &Arguments,
    ) -> Result<(), CudaError> {
        self.check(shape)?;
        self.check_arguments(arguments)?;
        if !stream.device().is(&self.device) {
            return Err(CudaError::Foreign { what: "the kernel is on another device than the stream" });
        }
        arguments.buffers.iter().try_for_each(|buffer| stream.may_use(buffer))
    }

    fn check_arguments(&self, arguments: &Arguments) -> Result<(), CudaError> {
        let Some(parameters) = &self.info().parameters else { return Ok(()) };
        let wrong = |reason: String| Err(CudaError::Arguments { kernel: self.info().name.clone(), reason });
        if parameters.len() != arguments.len() {
            return wrong(format!(
                "it has {} parameters, and {} were given",
                parameters.len(),
                arguments.len()
            ));
        }
        for (number, (&size, slot)) in parameters.iter().zip(&arguments.slots).enumerate() {
            if size != slot.bytes {
                return wrong(format!("parameter {number} has {size} bytes, and {} were given", slot.bytes));
            }
        }
        Ok(())
    }
}
