//! Memory of a device, and memory of the host that copies go through without waiting.
//!
//! A buffer is freed when the last handle to it is dropped, after the work that may still use it: a
//! scratch buffer in the order of its stream, any other after all work of the device, without
//! waiting for it. Memory that others use or own is waited for: it goes back to its owner when
//! nothing here uses it any more.

use std::any::Any;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cudarc::driver::{result, sys};

use super::device::Device;
use super::error::{CudaError, Doing};
use super::stream::Stream;

/// Bytes in a device's memory. Cloning gives another handle to the same bytes.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(super) memory: Arc<Memory>,
}

#[derive(Debug)]
pub(super) struct Memory {
    pointer: sys::CUdeviceptr,
    bytes: usize,
    device: Device,
    source: Source,
    /// Whether another library was told of it, whose streams the device does not know.
    shared: AtomicBool,
}

/// Where memory comes from, and so where it goes back to.
#[derive(Debug)]
enum Source {
    /// The device's pool.
    Pool,
    /// The pool, for the work of one stream alone.
    Scratch(Stream),
    /// The driver, where there are no pools; with the only stream that may use it, for scratch
    /// memory.
    Driver(Option<Stream>),
    /// Somebody else, who is let go of in the end; never locked, the lock only lets it be shared.
    Owner { _owner: Mutex<Box<dyn Any + Send>> },
}

impl Buffer {
    pub(super) fn alloc(device: &Device, bytes: usize) -> Result<Buffer, CudaError> {
        device.bind()?;
        check_size(device, bytes)?;
        let (pointer, source) = match &device.inner.pool {
            Some(pool) => (pool.get(bytes.max(1)), Source::Pool),
            // SAFETY: the context is current. The driver refuses to give zero bytes.
            None => (unsafe { result::malloc_sync(bytes.max(1)) }, Source::Driver(None)),
        };
        Buffer::new(device, pointer, bytes, source)
    }

    pub(super) fn scratch(stream: &Stream, bytes: usize) -> Result<Buffer, CudaError> {
        let device = stream.device();
        device.bind()?;
        check_size(device, bytes)?;
        let (pointer, source) = match &device.inner.pool {
            Some(pool) => (pool.get_on(bytes.max(1), &stream.raw), Source::Scratch(stream.clone())),
            // SAFETY: as above.
            None => (unsafe { result::malloc_sync(bytes.max(1)) }, Source::Driver(Some(stream.clone()))),
        };
        Buffer::new(device, pointer, bytes, source)
    }

    fn new(
        device: &Device,
        pointer: Result<sys::CUdeviceptr, result::DriverError>,
        bytes: usize,
        source: Source,
    ) -> Result<Buffer, CudaError> {
        let pointer = pointer.map_err(|error| memory_error(device, bytes, error))?;
        let memory =
            Memory { pointer, bytes, device: device.clone(), source, shared: AtomicBool::new(false) };
        Ok(Buffer { memory: Arc::new(memory) })
    }

    /// The only stream that may use it, for scratch memory.
    pub(super) fn home(&self) -> Option<&Stream> {
        match &self.memory.source {
            Source::Scratch(stream) | Source::Driver(Some(stream)) => Some(stream),
            _ => None,
        }
    }

    /// Notes that another library uses it, so that it is not freed before all work of the device is
    /// done, whoever put it there.
    pub fn share(&self) {
        self.memory.shared.store(true, Ordering::Relaxed);
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
        Buffer::new(device, Ok(address), bytes, Source::Owner { _owner: Mutex::new(owner) })
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

/// Refuses what no memory of the device can hold: a pool is not asked for it.
impl Device {
    /// Memory of this many bytes, whose content is undefined.
    pub fn alloc(&self, bytes: usize) -> Result<Buffer, CudaError> {
        Buffer::alloc(self, bytes)
    }

    /// Memory that somebody else owns, who is dropped when the last handle to the buffer is gone
    /// and all work of the device is done.
    ///
    /// # Safety
    ///
    /// So many bytes at this address are memory of this device until `owner` is dropped, and nobody
    /// else uses them in a way that conflicts with work that is put on them here.
    pub unsafe fn borrow(
        &self,
        address: u64,
        bytes: usize,
        owner: Box<dyn Any + Send>,
    ) -> Result<Buffer, CudaError> {
        // SAFETY: the caller's promise.
        unsafe { Buffer::borrowed(self, address, bytes, owner) }
    }
}

impl Stream {
    /// Memory for the work of this stream alone, whose content is undefined. Getting it and giving
    /// it back are work of the stream as well, so that neither waits for anything.
    pub fn scratch(&self, bytes: usize) -> Result<Buffer, CudaError> {
        Buffer::scratch(self, bytes)
    }
}

fn check_size(device: &Device, bytes: usize) -> Result<(), CudaError> {
    if bytes as u64 > device.info().memory_bytes {
        return Err(CudaError::OutOfMemory { bytes, free: device.free_memory().ok() });
    }
    Ok(())
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
        // Nothing can be done about a failure here; one of an earlier launch is reported by the
        // next call that can.
        if self.device.bind().is_err() {
            return;
        }
        if *self.shared.get_mut() {
            let _ = result::ctx::synchronize();
        }
        match (&self.source, &self.device.inner.pool) {
            (Source::Pool, Some(pool)) => {
                pool.free(self.pointer, |stream| self.device.queues().after_everything(stream))
            }
            // SAFETY: got from the pool for this stream, and freed once, after its work by its
            // order.
            (Source::Scratch(stream), _) => unsafe {
                let _ = result::free_async(self.pointer, stream.raw.cu_stream());
            },
            (Source::Owner { .. }, _) => {
                let _ = result::ctx::synchronize();
            }
            (Source::Driver(_) | Source::Pool, _) => {
                let _ = result::ctx::synchronize();
                // SAFETY: got from the driver and freed once, when no work is left.
                let _ = unsafe { result::free_sync(self.pointer) };
            }
        }
    }
}

/// Bytes in the host's memory that are kept in place, so that a device copies them while the host
/// goes on.
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
        // SAFETY: owned, initialised memory of this many bytes, which no copy is using: a transfer
        // owns the buffer meanwhile.
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
