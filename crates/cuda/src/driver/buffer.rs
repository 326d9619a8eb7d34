//! Memory of a device, and pinned memory of the host.
//!
//! When the last handle to a buffer is dropped, it is freed after the work that may still use it,
//! without anything waiting for that: a scratch buffer in the order of its stream, any other after
//! all work of the device. Memory that other libraries use or own is different: dropping the last
//! handle to it waits until the device is idle, unless its owner orders what comes next itself.

use std::any::Any;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cudarc::driver::{result, sys};

use super::device::Device;
use super::error::{CudaError, Doing};
use super::stream::Stream;

/// Bytes in a device's memory. Clones are handles to the same bytes.
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
    /// Whether another library may use it, on streams unknown to the device.
    shared: AtomicBool,
}

/// The origin of memory, which determines how it is freed.
#[derive(Debug)]
enum Source {
    /// The device's pool, for any stream of the device.
    Pool,
    /// The device's pool, for one stream only.
    Scratch(Stream),
    /// The driver, on devices without a pool; for scratch memory with the only stream that may use
    /// it.
    Driver(Option<Stream>),
    /// An owner outside of this crate, dropped with the memory; if it orders later uses after the
    /// work of one stream, that stream, which alone may use the memory. The mutex is never locked;
    /// it makes the owner `Sync`.
    Owner { _owner: Mutex<Box<dyn Any + Send>>, home: Option<Stream> },
}

impl Buffer {
    pub(super) fn alloc(device: &Device, bytes: usize) -> Result<Buffer, CudaError> {
        device.bind()?;
        check_size(device, bytes)?;
        let (pointer, source) = match &device.inner.pool {
            Some(pool) => (pool.get(bytes.max(1)), Source::Pool),
            // SAFETY: the context is current. The driver refuses to allocate zero bytes.
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

    /// The only stream that may use it, for memory of one stream.
    pub(super) fn home(&self) -> Option<&Stream> {
        match &self.memory.source {
            Source::Scratch(stream)
            | Source::Driver(Some(stream))
            | Source::Owner { home: Some(stream), .. } => Some(stream),
            _ => None,
        }
    }

    /// Marks it as used by another library: it is then freed only when the device is idle, whatever
    /// the origin of the work.
    pub fn share(&self) {
        self.memory.shared.store(true, Ordering::Relaxed);
    }

    /// # Safety
    ///
    /// As for [`Device::borrow`], or with a stream for [`Stream::borrow`].
    unsafe fn borrowed(
        device: &Device,
        address: u64,
        bytes: usize,
        owner: Box<dyn Any + Send>,
        home: Option<Stream>,
    ) -> Result<Buffer, CudaError> {
        device.bind()?;
        if bytes > 0 {
            let mut ordinal: i32 = -1;
            // SAFETY: the driver refuses unknown addresses; the attribute is an integer.
            let asked = unsafe {
                sys::cuPointerGetAttribute(
                    std::ptr::from_mut(&mut ordinal).cast(),
                    sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                    address,
                )
            };
            if asked != sys::CUresult::CUDA_SUCCESS || usize::try_from(ordinal) != Ok(device.info().ordinal) {
                return Err(CudaError::Foreign { what: "the memory to be borrowed is not on this device" });
            }
        }
        Buffer::new(device, Ok(address), bytes, Source::Owner { _owner: Mutex::new(owner), home })
    }

    /// Its length in bytes, as it was asked for.
    pub fn bytes(&self) -> usize {
        self.memory.bytes
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.memory.device
    }

    /// The address of its first byte on the device.
    pub fn address(&self) -> u64 {
        self.memory.pointer
    }

    /// The range of `bytes` bytes from `offset`, if it is inside the buffer.
    pub(super) fn range(&self, offset: usize, bytes: usize) -> Result<Range<usize>, CudaError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.memory.bytes => Ok(offset..end),
            _ => Err(CudaError::Range { offset, bytes, length: self.memory.bytes }),
        }
    }
}

impl Device {
    /// Allocates this many bytes, uninitialised.
    pub fn alloc(&self, bytes: usize) -> Result<Buffer, CudaError> {
        Buffer::alloc(self, bytes)
    }

    /// Memory owned outside of this crate. `owner` is dropped once the last handle to the buffer is
    /// gone and the device is idle.
    ///
    /// # Safety
    ///
    /// `bytes` bytes at `address` are memory of this device until `owner` is dropped, and until
    /// then nobody else uses them in a way that conflicts with work on this buffer.
    pub unsafe fn borrow(
        &self,
        address: u64,
        bytes: usize,
        owner: Box<dyn Any + Send>,
    ) -> Result<Buffer, CudaError> {
        // SAFETY: the caller's promise.
        unsafe { Buffer::borrowed(self, address, bytes, owner, None) }
    }
}

impl Stream {
    /// Allocates this many bytes, uninitialised, that only this stream may use. With a pool, both
    /// the allocation and the free are ordered on the stream, and neither waits.
    pub fn scratch(&self, bytes: usize) -> Result<Buffer, CudaError> {
        Buffer::scratch(self, bytes)
    }

    /// Memory owned outside of this crate, that only this stream may use. `owner` is dropped with
    /// the last handle to the buffer, and nothing waits for that.
    ///
    /// # Safety
    ///
    /// As for [`Device::borrow`]. In addition, once `owner` has been dropped, whoever uses the
    /// memory next does so after the work that this stream had been given by then.
    pub unsafe fn borrow(
        &self,
        address: u64,
        bytes: usize,
        owner: Box<dyn Any + Send>,
    ) -> Result<Buffer, CudaError> {
        // SAFETY: the caller's promise.
        unsafe { Buffer::borrowed(self.device(), address, bytes, owner, Some(self.clone())) }
    }
}

/// Refuses sizes beyond the memory of the device before its pool is used.
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
        // A failure cannot be handled here; that of an earlier launch is reported by the next call
        // that can.
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
            // SAFETY: allocated from the pool for this stream, and freed once, in stream order
            // after its work.
            (Source::Scratch(stream), _) => unsafe {
                let _ = result::free_async(self.pointer, stream.raw.cu_stream());
            },
            (Source::Owner { home: Some(_), .. }, _) => {}
            (Source::Owner { home: None, .. }, _) => {
                let _ = result::ctx::synchronize();
            }
            (Source::Driver(_) | Source::Pool, _) => {
                let _ = result::ctx::synchronize();
                // SAFETY: allocated by the driver and freed once, when no work is left.
                let _ = unsafe { result::free_sync(self.pointer) };
            }
        }
    }
}

/// Pinned host memory, for copies from and to a device that do not block the host.
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
    /// Allocates this many bytes, all zero.
    pub fn new(device: &Device, bytes: usize) -> Result<HostBuffer, CudaError> {
        device.bind()?;
        // SAFETY: the context is current.
        let pointer = unsafe { result::malloc_host(bytes.max(1), 0) }
            .doing("allocating memory of the host")?
            .cast::<u8>();
        // SAFETY: the memory was just allocated, with at least this many bytes.
        unsafe { pointer.write_bytes(0, bytes.max(1)) };
        Ok(HostBuffer { pointer, bytes, device: device.clone() })
    }
}

impl Deref for HostBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: owned, initialised memory of this many bytes, which no copy uses: during a copy,
        // the transfer owns the buffer.
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
            // SAFETY: allocated by `malloc_host` and freed once.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}
