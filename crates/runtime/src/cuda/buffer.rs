//! Memory of a device, and memory of the host that copies go through without waiting.
//!
//! A buffer frees its memory when the last handle to it is dropped, after the work that may still use it: a scratch buffer in the order of
//! its stream, any other after all work of the device. Memory that somebody else owns goes back to its owner at that time.

use std::any::Any;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Mutex};

use cudarc::driver::{CudaStream, result, sys};

use super::device::Device;
use super::error::{CudaError, Doing};

/// Bytes in a device's memory. Cloning gives another handle to the same bytes.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(super) memory: Arc<Memory>,
}

#[derive(Debug)]
pub(super) struct Memory {
    pointer: sys::CUdeviceptr,
    bytes: usize,
    pub(super) device: Device,
    /// The only stream that may use it, for scratch memory.
    pub(super) home: Option<Arc<CudaStream>>,
    /// Whether it came from the stream's pool and has to go back there.
    pooled: bool,
    /// Whoever it is borrowed from, let go of in the end; never locked, the lock only lets it be shared.
    owner: Option<Mutex<Box<dyn Any + Send>>>,
}

impl Buffer {
    pub(super) fn alloc(device: &Device, bytes: usize) -> Result<Buffer, CudaError> {
        device.bind()?;
        // SAFETY: the context is current. The driver refuses to give zero bytes.
        let pointer = unsafe { result::malloc_sync(bytes.max(1)) }
            .map_err(|error| memory_error(device, bytes, error))?;
        Ok(Buffer {
            memory: Arc::new(Memory {
                pointer,
                bytes,
                device: device.clone(),
                home: None,
                pooled: false,
                owner: None,
            }),
        })
    }

    pub(super) fn scratch(
        device: &Device,
        stream: &Arc<CudaStream>,
        bytes: usize,
    ) -> Result<Buffer, CudaError> {
        device.bind()?;
        let pooled = device.inner.context.has_async_alloc();
        // SAFETY: the context is current and the stream belongs to it.
        let pointer = unsafe {
            if pooled {
                result::malloc_async(stream.cu_stream(), bytes.max(1))
            } else {
                result::malloc_sync(bytes.max(1))
            }
        }
        .map_err(|error| memory_error(device, bytes, error))?;
        let home = Some(stream.clone());
        let memory = Memory { pointer, bytes, device: device.clone(), home, pooled, owner: None };
        Ok(Buffer { memory: Arc::new(memory) })
    }

    /// # Safety
    ///
    /// As for [`Device::borrow`].
    pub(super) unsafe fn borrowed(
        device: &Device,
        address: u64,
        bytes: usize,
        owner: Box<dyn Any + Send>,
    ) -> Result<Buffer, CudaError> {
        device.bind()?;
        if bytes > 0 {
            let mut ordinal: i32 = -1;
            // SAFETY: the driver knows or refuses the address; the attribute is an integer.
            let asked = unsafe {
                sys::cuPointerGetAttribute(
                    std::ptr::from_mut(&mut ordinal).cast(),
                    sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                    address,
                )
            };
            if asked != sys::CUresult::CUDA_SUCCESS || usize::try_from(ordinal) != Ok(device.info().ordinal) {
                return Err(CudaError::Foreign { what: "the memory to be borrowed is not of this device" });
            }
        }
        let owner = Some(Mutex::new(owner));
        let memory =
            Memory { pointer: address, bytes, device: device.clone(), home: None, pooled: false, owner };
        Ok(Buffer { memory: Arc::new(memory) })
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.memory.bytes
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.memory.device
    }

    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.memory.pointer
    }

    /// The bytes from `offset` on, if there are so many.
    pub(super) fn range(&self, offset: usize, bytes: usize) -> Result<Range<usize>, CudaError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.memory.bytes => Ok(offset..end),
            _ => Err(CudaError::Range { offset, bytes, length: self.memory.bytes }),
        }
    }
}

fn memory_error(device: &Device, bytes: usize, error: result::DriverError) -> CudaError {
    if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        CudaError::OutOfMemory { bytes, free: device.free_memory().ok() }
    } else {
        CudaError::driver("allocating memory", error)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; one of an earlier launch is reported by the next call that can.
        if self.device.bind().is_err() {
            return;
        }
        // SAFETY: the pointer came from the matching function and is freed once. Work of the home stream comes before the freeing by the
        // order of the stream; other work by waiting for it.
        unsafe {
            match (&self.home, self.pooled) {
                (Some(stream), true) => {
                    let _ = result::free_async(self.pointer, stream.cu_stream());
                }
                _ => {
                    let _ = result::ctx::synchronize();
                    if self.owner.is_none() {
                        let _ = result::free_sync(self.pointer);
                    }
                }
            }
        }
    }
}

/// Bytes in the host's memory that are kept in place, so that a device copies them while the host goes on.
#[derive(Debug)]
pub struct HostBuffer {
    pointer: *mut u8,
    bytes: usize,
    device: Device,
}

// SAFETY: plain memory with one owner; the driver lets any thread free it.
unsafe impl Send for HostBuffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for HostBuffer {}

impl HostBuffer {
    /// This many zeros.
    pub fn new(device: &Device, bytes: usize) -> Result<HostBuffer, CudaError> {
        device.bind()?;
        // SAFETY: the context is current.
        let pointer = unsafe { result::malloc_host(bytes.max(1), 0) }
            .doing("allocating memory of the host")?
            .cast::<u8>();
        // SAFETY: the memory was just given, of at least this many bytes.
        unsafe { pointer.write_bytes(0, bytes.max(1)) };
        Ok(HostBuffer { pointer, bytes, device: device.clone() })
    }
}

impl Deref for HostBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: owned, initialised memory of this many bytes, which no copy is using: a transfer owns the buffer meanwhile.
        unsafe { std::slice::from_raw_parts(self.pointer, self.bytes) }
    }
}

impl DerefMut for HostBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.bytes) }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: given by `malloc_host` and freed once.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}
