//! Arrays on a device.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use loopwright_emulator::ArrayArgument;
use loopwright_kernel_ir::{Buffer, DType, Diagnostic, Struct};

use super::device::Inner;
use super::layout::Layout;
use super::stream::Stream;
use super::tensor::elements;
use super::{Device, Tensor};
use crate::cuda;

/// An array that stays on a device between launches. Clones are handles to the same elements.
#[derive(Clone)]
pub struct DeviceTensor {
    inner: Arc<Stored>,
}

struct Stored {
    device: Device,
    dtype: DType,
    layout: Layout,
    storage: Storage,
}

enum Storage {
    Cuda(cuda::Buffer),
    Emulator(Mutex<ArrayArgument>),
    /// A field of the structs whose bytes another array has, from this offset of each on.
    Field {
        of: DeviceTensor,
        offset: usize,
    },
}

impl fmt::Debug for DeviceTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceTensor({}{:?} on {})", self.dtype(), self.shape(), self.device().name())
    }
}

impl DeviceTensor {
    /// Copies an array to a device, in the order of its rows.
    pub(super) fn upload(
        device: &Device,
        stream: &Stream,
        tensor: &Tensor,
    ) -> Result<DeviceTensor, Diagnostic> {
        let layout = Layout::rows(tensor.shape())?;
        let target = DeviceTensor::alloc(device, tensor.dtype(), layout)?;
        target.write_on(stream, tensor)?;
        Ok(target)
    }

    pub(super) fn uninit(device: &Device, shape: &[usize], dtype: DType) -> Result<DeviceTensor, Diagnostic> {
        elements(shape, dtype)?;
        DeviceTensor::alloc(device, dtype, Layout::rows(shape)?)
    }

    /// Storage of a layout, without values.
    pub(super) fn alloc(device: &Device, dtype: DType, layout: Layout) -> Result<DeviceTensor, Diagnostic> {
        let count = elements(&[layout.size], dtype)?;
        let storage = match &*device.inner {
            Inner::Cuda { device, .. } => Storage::Cuda(device.alloc(count * dtype.bytes())?),
            Inner::Emulator { options, .. } => {
                let bytes = count * dtype.bytes();
                if bytes as u64 > options.max_bytes {
                    return Err(Diagnostic::new(
                        "out-of-memory",
                        format!(
                            "an array needs {bytes} bytes, and the emulator may use {}",
                            options.max_bytes
                        ),
                    )
                    .help("work on smaller pieces, or raise `max_bytes` of the emulator's options"));
                }
                Storage::Emulator(Mutex::new(ArrayArgument {
                    buffer: Buffer::zeros(dtype, count),
                    initialised: false,
                }))
            }
        };
        Ok(DeviceTensor { inner: Arc::new(Stored { device: device.clone(), dtype, layout, storage }) })
    }

    /// An array in existing memory.
    pub(super) fn of_cuda(
        device: &Device,
        dtype: DType,
        layout: Layout,
        buffer: cuda::Buffer,
    ) -> DeviceTensor {
        let storage = Storage::Cuda(buffer);
        DeviceTensor { inner: Arc::new(Stored { device: device.clone(), dtype, layout, storage }) }
    }

    /// A field of each struct in an array of bytes, without a copy.
    pub(super) fn field(&self, of: &Struct, field: usize) -> Result<DeviceTensor, Diagnostic> {
        let dtype = of.fields[field].dtype;
        let width = dtype.bytes();
        let (shape, strides) = (self.shape(), self.strides());
        let axes = shape.len().saturating_sub(1);
        let whole = strides.get(axes) == Some(&1) && strides[..axes].iter().all(|s| s % of.bytes() == 0);
        if !whole && !shape.contains(&0) {
            let message = format!("the bytes of structs `{}` lie apart, by strides {strides:?}", of.name);
            return Err(Diagnostic::new("argument-strides", message)
                .help("pass whole elements, with strides that are multiples of their size"));
        }
        let shape = shape[..axes].to_vec();
        let strides: Vec<usize> = strides[..axes].iter().map(|s| s / width).collect();
        let reach: usize = shape.iter().zip(&strides).map(|(n, s)| n.saturating_sub(1) * s).sum();
        let size = if shape.contains(&0) { 0 } else { reach + 1 };
        let storage = Storage::Field { of: self.clone(), offset: of.offsets()[field] };
        let layout = Layout { shape, strides, size };
        let device = self.device().clone();
        Ok(DeviceTensor { inner: Arc::new(Stored { device, dtype, layout, storage }) })
    }

    /// The bytes of the structs of which it is a field.
    pub(super) fn whole(&self) -> Option<&DeviceTensor> {
        match &self.inner.storage {
            Storage::Field { of, .. } => Some(of),
            Storage::Cuda(_) | Storage::Emulator(_) => None,
        }
    }

    /// Where its first element lies in the memory of its buffer, in bytes.
    pub(super) fn offset(&self) -> usize {
        match &self.inner.storage {
            Storage::Field { offset, .. } => *offset,
            Storage::Cuda(_) | Storage::Emulator(_) => 0,
        }
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.inner.dtype
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.inner.layout.shape
    }

    /// Stride of each axis, in elements of the storage.
    pub fn strides(&self) -> &[usize] {
        &self.inner.layout.strides
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    /// Whether both are handles to the same elements.
    pub(super) fn is(&self, other: &DeviceTensor) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Whether both have memory in common, as borrowed pieces of one allocation can.
    pub(super) fn overlaps(&self, other: &DeviceTensor) -> bool {
        let (a, b) = (self.extent(), other.extent());
        self.is(other) || (a.0 < b.1 && b.0 < a.1)
    }

    /// Copies the elements to the host, after all work of the device.
    pub fn download(&self) -> Result<Tensor, Diagnostic> {
        self.device().synchronize()?;
        self.read_on(&self.device().default_stream())
    }

    /// Replaces the elements, after all work of the device.
    pub fn write(&self, tensor: &Tensor) -> Result<(), Diagnostic> {
        self.device().synchronize()?;
        self.write_on(&self.device().default_stream(), tensor)
    }

    /// Copies the elements to another array of the same type, shape and strides, on this or any
    /// other device, after all work of both; the copy is complete on return. GPUs copy directly if
    /// they can; between a GPU and the emulator, the host copies.
    pub fn copy_to(&self, to: &DeviceTensor) -> Result<(), Diagnostic> {
        self.check_copy(to)?;
        if self.device().is_gpu() != to.device().is_gpu() {
            return to.write(&self.download()?);
        }
        self.device().synchronize()?;
        to.device().synchronize()?;
        let stream = to.device().default_stream();
        self.copy_on(&stream, to)?;
        stream.synchronize()
    }

    /// A copy of the array on this or any other device, in the same layout, as by
    /// [`DeviceTensor::copy_to`].
    ///
    /// ```
    /// # use loopwright_runtime::{Device, Tensor};
    /// let x = Device::best().upload(&Tensor::from_vec(&[3], vec![1.0f32, 2.0, 3.0])?)?;
    /// let copy = x.to_device(&Device::emulator())?;
    /// assert_eq!(copy.download()?.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
    /// ```
    pub fn to_device(&self, device: &Device) -> Result<DeviceTensor, Diagnostic> {
        let copy = DeviceTensor::alloc(device, self.dtype(), self.layout().clone())?;
        self.copy_to(&copy)?;
        Ok(copy)
    }

    pub(super) fn read_on(&self, stream: &Stream) -> Result<Tensor, Diagnostic> {
        let layout = &self.inner.layout;
        let stored;
        let guard;
        let (storage, offset) = match &self.inner.storage {
            Storage::Field { of, offset } => (&of.inner.storage, *offset),
            storage => (storage, 0),
        };
        let bytes: &[u8] = match (storage, &stream.0) {
            (Storage::Field { .. }, _) => return Err(of_struct()),
            (Storage::Cuda(buffer), Some(stream)) => {
                stored = stream.download::<u8>(buffer)?;
                &stored
            }
            (Storage::Cuda(_), None) => return Err(other_device()),
            (Storage::Emulator(_), _) => {
                guard = self.emulated()?;
                guard.buffer.bytes()
            }
        };
        let dense = layout.unpack(bytes.get(offset..).unwrap_or_default(), self.dtype().bytes());
        let buffer = Buffer::from_bytes(self.dtype(), dense).ok_or_else(|| {
            Diagnostic::new("tensor-bool", "a truth value on the device is neither 0 nor 1")
                .help("every element of a bool array has to be written before it is read")
        })?;
        Tensor::from_buffer(&layout.shape, buffer)
    }

    pub(super) fn write_on(&self, stream: &Stream, tensor: &Tensor) -> Result<(), Diagnostic> {
        let layout = &self.inner.layout;
        if tensor.dtype() != self.dtype() || tensor.shape() != layout.shape {
            return Err(Diagnostic::new(
                "tensor-shape",
                format!(
                    "an array of {}{:?} was given for one of {}{:?}",
                    tensor.dtype(),
                    tensor.shape(),
                    self.dtype(),
                    layout.shape
                ),
            )
            .help("pass an array of the same type and shape"));
        }
        match (&self.inner.storage, &stream.0) {
            (Storage::Field { .. }, _) => Err(of_struct()),
            (Storage::Cuda(_), None) => Err(other_device()),
            (Storage::Cuda(_), _) if !tensor.is_initialised() => Ok(()),
            (Storage::Cuda(buffer), Some(stream)) => {
                let bytes = layout.pack(tensor.buffer().bytes(), self.dtype().bytes())?;
                Ok(stream.write(buffer, 0, &bytes)?)
            }
            (Storage::Emulator(_), _) => {
                let bytes = layout.pack(tensor.buffer().bytes(), self.dtype().bytes())?;
                let mut array = self.emulated()?;
                array.buffer.bytes_mut().copy_from_slice(&bytes);
                array.initialised = tensor.is_initialised();
                Ok(())
            }
        }
    }

    /// Copies the elements to another array of the same type and layout, in the order of a stream
    /// of either array's device.
    pub(super) fn copy_on(&self, stream: &Stream, to: &DeviceTensor) -> Result<(), Diagnostic> {
        self.check_copy(to)?;
        match (&self.inner.storage, &to.inner.storage, &stream.0) {
            (Storage::Field { .. }, ..) | (_, Storage::Field { .. }, _) => Err(of_struct()),
            (Storage::Cuda(from), Storage::Cuda(to), Some(stream)) => {
                if ![from, to].iter().any(|buffer| buffer.device().is(stream.device())) {
                    return Err(stream_of_neither());
                }
                Ok(stream.copy(from, 0, to, 0, from.bytes().min(to.bytes()))?)
            }
            // Onto itself.
            (Storage::Emulator(_), Storage::Emulator(_), None) if self.is(to) => Ok(()),
            (Storage::Emulator(_), Storage::Emulator(_), None) => {
                let values = self.emulated()?.clone();
                *to.emulated()? = values;
                Ok(())
            }
            (Storage::Cuda(_), Storage::Cuda(_), None) | (Storage::Emulator(_), Storage::Emulator(_), _) => {
                Err(stream_of_neither())
            }
            _ => Err(Diagnostic::new("other-device", "streams cannot copy between a GPU and the emulator")
                .help("copy with `DeviceTensor::copy_to`, through the host")),
        }
    }

    /// Refuses targets of another type, shape or strides.
    pub(super) fn check_copy(&self, to: &DeviceTensor) -> Result<(), Diagnostic> {
        if self.dtype() != to.dtype() || !self.layout().same_places(to.layout()) {
            return Err(Diagnostic::new(
                "tensor-shape",
                format!(
                    "an array of {}{:?} with strides {:?} cannot be copied to one of {}{:?} with \
                     strides {:?}",
                    self.dtype(),
                    self.shape(),
                    self.strides(),
                    to.dtype(),
                    to.shape(),
                    to.strides()
                ),
            )
            .help("copy between arrays of the same type, shape and strides"));
        }
        Ok(())
    }

    /// Refuses layouts other than row-major without gaps, which is the layout of host arrays.
    pub(super) fn check_rows(&self) -> Result<(), Diagnostic> {
        if self.layout().is_rows() {
            return Ok(());
        }
        Err(Diagnostic::new(
            "tensor-strides",
            format!(
                "the elements of the array, with strides {:?}, are not contiguous in row-major \
                 order",
                self.strides()
            ),
        )
        .help("copy it with `write` and `download`, which rearrange the elements"))
    }

    /// The half-open range of addresses of its memory.
    pub(super) fn extent(&self) -> (u64, u64) {
        match &self.inner.storage {
            Storage::Field { of, .. } => of.extent(),
            Storage::Cuda(buffer) => (buffer.address(), buffer.address() + buffer.bytes() as u64),
            Storage::Emulator(_) => (self.address() as u64, self.address() as u64 + 1),
        }
    }

    /// Its buffer on a GPU; refused on the emulator.
    pub(super) fn cuda_buffer(&self) -> Result<&cuda::Buffer, Diagnostic> {
        match &self.inner.storage {
            Storage::Field { of, .. } => of.cuda_buffer(),
            Storage::Cuda(buffer) => Ok(buffer),
            Storage::Emulator(_) => Err(other_device()),
        }
    }

    /// Its elements on the emulator, locked; of a field, the bytes of the structs.
    pub(super) fn emulated(&self) -> Result<MutexGuard<'_, ArrayArgument>, Diagnostic> {
        match &self.inner.storage {
            Storage::Field { of, .. } => of.emulated(),
            Storage::Cuda(_) => Err(other_device()),
            // A panic elsewhere leaves complete elements.
            Storage::Emulator(array) => Ok(array.lock().unwrap_or_else(std::sync::PoisonError::into_inner)),
        }
    }

    /// A number that determines the locking order of several arrays, to avoid deadlocks.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.whole().unwrap_or(self).inner).addr()
    }
}

fn stream_of_neither() -> Diagnostic {
    Diagnostic::new("other-device", "the stream belongs to neither array's device")
        .help("copy on a stream of one of the two")
}

pub(super) fn of_struct() -> Diagnostic {
    Diagnostic::new("argument-kind", "the array is a field of structs, which are copied and written whole")
        .help("write or copy the array of structs, as bytes")
}

fn other_device() -> Diagnostic {
    Diagnostic::new("other-device", "the array is on a different device")
        .help("upload it to the device of the launch")
}
