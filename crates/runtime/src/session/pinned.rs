//! Copies between the host and a device that do not block the host.
//!
//! The host side of such a copy is pinned memory. While a copy is pending, its [`Transfer`] owns
//! that memory: it cannot be read, written or freed before the copy is done.

use std::fmt;

use loopwright_kernel_ir::{Buffer, DType, Diagnostic};

use super::device::Inner;
use super::stream::Stream;
use super::tensor::elements;
use super::{Device, DeviceTensor, Tensor};
use crate::cuda;

/// An array on the host, row-major, in pinned memory.
pub struct PinnedTensor {
    shape: Vec<usize>,
    dtype: DType,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Cuda(cuda::HostBuffer),
    /// Ordinary memory, for the emulator.
    Emulator(Vec<u8>),
}

impl fmt::Debug for PinnedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedTensor({}{:?})", self.dtype, self.shape)
    }
}

impl Device {
    /// Allocates an array of zeros in pinned memory of the host.
    pub fn pinned(&self, shape: &[usize], dtype: DType) -> Result<PinnedTensor, Diagnostic> {
        let bytes = elements(shape, dtype)? * dtype.bytes();
        let memory = match &*self.inner {
            Inner::Cuda { device, .. } => Memory::Cuda(cuda::HostBuffer::new(device, bytes)?),
            Inner::Emulator { .. } => {
                let mut memory = Vec::new();
                memory.try_reserve_exact(bytes).map_err(|_| {
                    Diagnostic::new("out-of-memory", format!("the host cannot allocate {bytes} bytes"))
                        .help("work on smaller pieces")
                })?;
                memory.resize(bytes, 0);
                Memory::Emulator(memory)
            }
        };
        Ok(PinnedTensor { shape: shape.to_vec(), dtype, memory })
    }

    /// Copies an array to pinned memory of the host.
    pub fn pin(&self, tensor: &Tensor) -> Result<PinnedTensor, Diagnostic> {
        let mut pinned = self.pinned(tensor.shape(), tensor.dtype())?;
        pinned.bytes_mut().copy_from_slice(tensor.buffer().bytes());
        Ok(pinned)
    }
}

impl PinnedTensor {
    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The bytes of the elements in row-major order.
    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Cuda(buffer) => buffer,
            Memory::Emulator(bytes) => bytes,
        }
    }

    /// The bytes of the elements in row-major order, to be written. A bool is a byte of 0 or 1.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Cuda(buffer) => buffer,
            Memory::Emulator(bytes) => bytes,
        }
    }

    /// Copies the elements to a tensor.
    pub fn to_tensor(&self) -> Result<Tensor, Diagnostic> {
        let buffer = Buffer::from_bytes(self.dtype, self.bytes().to_vec()).ok_or_else(|| {
            Diagnostic::new("tensor-bool", "a truth value is neither 0 nor 1")
                .help("write 0 or 1 to every byte of a bool array")
        })?;
        Tensor::from_buffer(&self.shape, buffer)
    }

    fn check(&self, array: &DeviceTensor) -> Result<(), Diagnostic> {
        array.check_rows()?;
        if self.dtype != array.dtype() || self.shape != array.shape() {
            return Err(Diagnostic::new(
                "tensor-shape",
                format!(
                    "an array of {}{:?} was given for one of {}{:?}",
                    self.dtype,
                    self.shape,
                    array.dtype(),
                    array.shape()
                ),
            )
            .help("pass an array of the same type and shape"));
        }
        Ok(())
    }
}

impl Stream {
    /// Copies all elements to an array on the device, in the order of this stream, without waiting.
    ///
    /// ```
    /// # use loopwright_runtime::{Device, Tensor};
    /// # use loopwright_kernel_ir::DType;
    /// # let device = Device::emulator();
    /// let (stream, there) = (device.stream()?, device.uninit(&[3], DType::F32)?);
    /// let values = device.pin(&Tensor::from_vec(&[3], vec![1.0f32, 2.0, 3.0])?)?;
    /// let up = stream.upload_from(values, &there)?;
    /// let down = stream.download_to(&there, device.pinned(&[3], DType::F32)?)?;
    /// // The host can do something else here.
    /// assert_eq!(down.wait()?.to_tensor()?, up.wait()?.to_tensor()?);
    /// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
    /// ```
    pub fn upload_from(&self, from: PinnedTensor, to: &DeviceTensor) -> Result<Transfer, Diagnostic> {
        from.check(to)?;
        if from.dtype == DType::Bool {
            from.to_tensor()?;
        }
        let PinnedTensor { shape, dtype, memory } = from;
        let under_way = match (memory, &self.0) {
            (Memory::Cuda(buffer), Some(stream)) => {
                UnderWay::Cuda(stream.write_async(to.cuda_buffer()?, 0, buffer)?)
            }
            (Memory::Emulator(bytes), None) => {
                let mut array = to.emulated()?;
                array.buffer.bytes_mut().copy_from_slice(&bytes);
                array.initialised = true;
                UnderWay::Done(bytes)
            }
            _ => return Err(other_device()),
        };
        Ok(Transfer { shape, dtype, under_way })
    }

    /// Copies all elements of an array on the device to the host, in the order of this stream,
    /// without waiting.
    pub fn download_to(&self, from: &DeviceTensor, to: PinnedTensor) -> Result<Transfer, Diagnostic> {
        to.check(from)?;
        let PinnedTensor { shape, dtype, memory } = to;
        let under_way = match (memory, &self.0) {
            (Memory::Cuda(buffer), Some(stream)) => {
                UnderWay::Cuda(stream.read_async(from.cuda_buffer()?, 0, buffer)?)
            }
            (Memory::Emulator(mut bytes), None) => {
                bytes.copy_from_slice(from.emulated()?.buffer.bytes());
                UnderWay::Done(bytes)
            }
            _ => return Err(other_device()),
        };
        Ok(Transfer { shape, dtype, under_way })
    }
}

/// A pending copy, which owns the host memory that it uses. Dropping it waits for the copy.
#[derive(Debug)]
pub struct Transfer {
    shape: Vec<usize>,
    dtype: DType,
    under_way: UnderWay,
}

#[derive(Debug)]
enum UnderWay {
    Cuda(cuda::Transfer),
    Done(Vec<u8>),
}

impl Transfer {
    /// Waits until the copy is done and returns the host memory.
    pub fn wait(self) -> Result<PinnedTensor, Diagnostic> {
        let memory = match self.under_way {
            UnderWay::Cuda(transfer) => Memory::Cuda(transfer.wait()?),
            UnderWay::Done(bytes) => Memory::Emulator(bytes),
        };
        Ok(PinnedTensor { shape: self.shape, dtype: self.dtype, memory })
    }

    /// Whether the copy is done. Does not wait.
    pub fn is_done(&self) -> Result<bool, Diagnostic> {
        match &self.under_way {
            UnderWay::Cuda(transfer) => Ok(transfer.is_done()?),
            UnderWay::Done(_) => Ok(true),
        }
    }
}

fn other_device() -> Diagnostic {
    Diagnostic::new("other-device", "the host memory and the stream belong to different devices")
        .help("create both on the device of the array")
}
