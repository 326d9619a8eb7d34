//! Memory of other libraries: their arrays and streams are used without copies, and arrays of this
//! library are passed to them.
//!
//! Memory that two libraries use must stay valid until both are done, and the work of both on it
//! must be ordered. The owner inside a [`Shared`] array ensures the first. For the second, the
//! memory is ready in the order of a stream (`ready_on`): the default stream of the device waits
//! for it, and every other stream has to ([`Stream::wait`]). Memory is returned to its owner only
//! after all work of the device, unless the owner says that it orders later uses by itself
//! ([`Device::borrow_in_order`]).

use std::any::Any;

use loopwright_kernel_ir::{Buffer, DType, Diagnostic};

use super::device::Inner;
use super::device_tensor::of_struct;
use super::layout::Layout;
use super::stream::Stream;
use super::tensor::elements;
use super::{Device, DeviceTensor, Tensor};
use crate::dlpack::{Description, Place, Shared};

/// An array in memory of a device that another library owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawArray {
    /// The address of the first element.
    pub address: u64,
    /// The type of the elements.
    pub dtype: DType,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Stride of each axis in elements; none for row-major without gaps.
    pub strides: Option<Vec<usize>>,
}

impl Device {
    /// An array in memory owned by others, without a copy. `owner`, which may be `()`, is dropped
    /// when the last handle to the array is gone and the device is idle.
    ///
    /// # Safety
    ///
    /// The elements are at these addresses in memory of this device until `owner` is dropped, and
    /// are ready in the order of `ready_on`. Until then, nobody else writes elements that pending
    /// work of this library uses, or reads elements that such work writes. Elements of `bool` are
    /// bytes of 0 or 1.
    pub unsafe fn borrow_raw(
        &self,
        array: &RawArray,
        ready_on: &Stream,
        owner: impl Any + Send,
    ) -> Result<DeviceTensor, Diagnostic> {
        let layout = match &array.strides {
            None => Layout::rows(&array.shape)?,
            Some(strides) => strided(&array.shape, strides)?,
        };
        // SAFETY: the caller's promise.
        unsafe {
            let memory = (array.address, array.dtype, layout);
            self.borrow_layout(memory, ready_on, Lent::UntilIdle, Box::new(owner))
        }
    }

    /// An array of another library in the memory of this device, without a copy. It is returned to
    /// its owner when the last handle to it is gone and the device is idle. `ready_on` is the
    /// stream in whose order its library has made it ready: the one whose handle was given to
    /// Python's `__dlpack__(stream=...)`.
    pub fn borrow(&self, array: Shared, ready_on: &Stream) -> Result<DeviceTensor, Diagnostic> {
        let layout = self.shared_layout(array.description())?;
        let Description { address, dtype, .. } = *array.description();
        // SAFETY: promised by whoever made the shared array from another library's structure.
        unsafe { self.borrow_layout((address, dtype, layout), ready_on, Lent::UntilIdle, Box::new(array)) }
    }

    /// As [`Device::borrow`], for work of this stream alone; that of others on the array is
    /// refused. It is returned to its owner with the last handle to it, and nothing waits for the
    /// device.
    ///
    /// # Safety
    ///
    /// Whoever uses the memory after it was returned does so after the work that the stream had
    /// been given by then: it is the stream on which the owner reuses its memory, or one that it
    /// was told about, as by PyTorch's `Tensor.record_stream`.
    pub unsafe fn borrow_in_order(&self, array: Shared, stream: &Stream) -> Result<DeviceTensor, Diagnostic> {
        let layout = self.shared_layout(array.description())?;
        let Description { address, dtype, .. } = *array.description();
        // SAFETY: promised by the caller, and as in `borrow`.
        unsafe { self.borrow_layout((address, dtype, layout), stream, Lent::InOrder, Box::new(array)) }
    }

    /// The layout of an array of another library, if kernels of this device can use it.
    fn shared_layout(&self, array: &Description) -> Result<Layout, Diagnostic> {
        let Description { place, shape, strides, .. } = array;
        let ordinal = i32::try_from(self.limits().ordinal).unwrap_or(i32::MAX);
        let here = self.is_gpu()
            && (place.kind == Place::CUDA_MANAGED || *place == Place { kind: Place::CUDA, number: ordinal });
        if !here {
            return Err(Diagnostic::new(
                "other-device",
                format!(
                    "an array on device {} of kind {} cannot be used without a copy on {}",
                    place.number,
                    place.kind,
                    self.name()
                ),
            )
            .help(
                "open the device that it is on; a host array becomes a tensor by \
                 `Tensor::from_shared`",
            ));
        }
        if array.read_only {
            return Err(Diagnostic::new("read-only", "the array is read-only, and kernels could write it")
                .help("make a copy with its library"));
        }
        let strides =
            strides.iter().map(|stride| usize::try_from(*stride)).collect::<Result<Vec<_>, _>>().map_err(
                |_| {
                    Diagnostic::new("tensor-strides", format!("the array has negative strides: {strides:?}"))
                        .help("make a contiguous copy with its library")
                },
            )?;
        strided(shape, &strides)
    }

    /// # Safety
    ///
    /// As for [`Device::borrow_raw`], or [`Device::borrow_in_order`].
    unsafe fn borrow_layout(
        &self,
        (address, dtype, layout): (u64, DType, Layout),
        ready_on: &Stream,
        lent: Lent,
        owner: Box<dyn Any + Send>,
    ) -> Result<DeviceTensor, Diagnostic> {
        let (Inner::Cuda { device, stream }, Some(ready)) = (&*self.inner, &ready_on.0) else {
            return Err(Diagnostic::new(
                "other-device",
                "memory is borrowed on a GPU, in the order of a stream of it",
            )
            .help("on the emulator, upload a tensor"));
        };
        if !address.is_multiple_of(dtype.bytes() as u64) {
            return Err(Diagnostic::new(
                "tensor-alignment",
                format!("elements of {dtype} are misaligned at address {address:#x}"),
            )
            .help(format!("pass memory whose address is a multiple of {} bytes", dtype.bytes())));
        }
        let bytes = elements(&[layout.size], dtype)? * dtype.bytes();
        let buffer = match lent {
            // SAFETY: the caller's promise.
            Lent::InOrder => unsafe { ready.borrow(address, bytes, owner)? },
            Lent::UntilIdle => {
                // SAFETY: the caller's promise.
                let buffer = unsafe { device.borrow(address, bytes, owner)? };
                if ready.handle() != stream.handle() {
                    stream.wait(&ready.record()?)?;
                }
                buffer
            }
        };
        Ok(DeviceTensor::of_cuda(self, dtype, layout, buffer))
    }

    /// A stream that another library owns: the work of both libraries runs on it in order. Handles
    /// 0, 1 and 2 are the driver's own default streams.
    ///
    /// # Safety
    ///
    /// `handle` is a stream of this device for as long as the result, a clone of it, or anything
    /// bound to it lives.
    pub unsafe fn borrow_stream(&self, handle: u64) -> Result<Stream, Diagnostic> {
        match &*self.inner {
            // SAFETY: the caller's promise.
            Inner::Cuda { device, .. } => Ok(Stream(Some(unsafe { device.borrow_stream(handle) }))),
            Inner::Emulator { .. } => {
                Err(Diagnostic::new("other-device", "the emulator has no streams of other libraries")
                    .help("create a stream with `Device::stream`"))
            }
        }
    }
}

/// When memory goes back to its owner.
enum Lent {
    /// When the device is idle.
    UntilIdle,
    /// With the last handle: the owner orders what comes next after the stream's work.
    InOrder,
}

/// A layout with these strides.
fn strided(shape: &[usize], strides: &[usize]) -> Result<Layout, Diagnostic> {
    let wrong = |what: String| {
        Diagnostic::new("tensor-strides", what).help("give a stride in elements for each axis")
    };
    if strides.len() != shape.len() {
        return Err(wrong(format!("an array of {} axes has {} strides", shape.len(), strides.len())));
    }
    let span = shape.iter().zip(strides).try_fold(1usize, |span, (length, stride)| {
        length.saturating_sub(1).checked_mul(*stride).and_then(|reach| span.checked_add(reach))
    });
    let size = if shape.contains(&0) { Some(0) } else { span };
    let size = size.ok_or_else(|| wrong(format!("strides {strides:?} exceed the address space")))?;
    Ok(Layout { shape: shape.to_vec(), strides: strides.to_vec(), size })
}

impl DeviceTensor {
    /// The address of the first element in the memory of a GPU; none on the emulator.
    pub fn device_address(&self) -> Option<u64> {
        Some(self.cuda_buffer().ok()?.address() + self.offset() as u64)
    }

    /// Passes the array to another library without a copy: the memory stays valid until both are
    /// done with it. Waits for all work of the device, so that the receiver can read the elements
    /// at once.
    pub fn share(&self) -> Result<Shared, Diagnostic> {
        let shared = self.to_shared()?;
        self.device().synchronize()?;
        Ok(shared)
    }

    /// As [`DeviceTensor::share`], without waiting on the host: the stream of the receiver
    /// ([`Device::borrow_stream`]) waits for the work submitted to `produced_on` so far.
    pub fn share_on(&self, produced_on: &Stream, receiver: &Stream) -> Result<Shared, Diagnostic> {
        let shared = self.to_shared()?;
        if produced_on.handle() != receiver.handle() {
            receiver.wait(&produced_on.record()?)?;
        }
        Ok(shared)
    }

    fn to_shared(&self) -> Result<Shared, Diagnostic> {
        if self.whole().is_some() {
            return Err(of_struct());
        }
        let buffer = self.cuda_buffer().map_err(|_| {
            Diagnostic::new("other-device", "arrays of the emulator cannot be shared")
                .help("download it and share the tensor")
        })?;
        buffer.share();
        let layout = self.layout();
        let description = Description {
            address: buffer.address(),
            place: Place {
                kind: Place::CUDA,
                number: i32::try_from(self.device().limits().ordinal).unwrap_or(i32::MAX),
            },
            dtype: self.dtype(),
            shape: layout.shape.clone(),
            strides: layout.strides.iter().map(|s| i64::try_from(*s).unwrap_or(i64::MAX)).collect(),
            read_only: false,
        };
        // SAFETY: the description is that of the array, and a handle keeps its memory.
        Ok(unsafe { Shared::lend(description, Box::new(self.clone())) })
    }
}

impl Tensor {
    /// A copy of the elements for another library.
    pub fn share(&self) -> Result<Shared, Diagnostic> {
        let layout = Layout::rows(self.shape())?;
        // Aligned for every element type.
        let bytes = self.buffer().bytes();
        let mut words = vec![0u64; bytes.len().div_ceil(8)].into_boxed_slice();
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        let description = Description {
            address: words.as_mut_ptr().expose_provenance() as u64,
            place: Place::host(),
            dtype: self.dtype(),
            shape: self.shape().to_vec(),
            strides: layout.strides.iter().map(|s| i64::try_from(*s).unwrap_or(i64::MAX)).collect(),
            read_only: false,
        };
        // SAFETY: `words` holds the elements in row-major order, at a fixed address in its box.
        Ok(unsafe { Shared::lend(description, Box::new(words)) })
    }

    /// A copy of the elements of another library's array on the host, whatever its strides.
    ///
    /// ```
    /// # use loopwright_runtime::{Tensor, dlpack::Shared};
    /// let tensor = Tensor::from_vec(&[2, 2], vec![1i32, 2, 3, 4])?;
    /// let raw = tensor.share()?.into_raw();
    /// // Here the pointer goes to another library and comes back from it.
    /// // SAFETY: nobody else calls its deleter.
    /// let shared = unsafe { Shared::from_raw(raw)? };
    /// assert_eq!(Tensor::from_shared(&shared)?, tensor);
    /// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
    /// ```
    pub fn from_shared(array: &Shared) -> Result<Tensor, Diagnostic> {
        let Description { dtype, shape, .. } = array.description();
        elements(shape, *dtype)?;
        let bytes = array.host_bytes()?;
        let buffer = Buffer::from_bytes(*dtype, bytes).ok_or_else(|| {
            Diagnostic::new("tensor-bool", "a truth value is neither 0 nor 1")
                .help("write 0 or 1 to every byte of a bool array")
        })?;
        Tensor::from_buffer(shape, buffer)
    }
}
