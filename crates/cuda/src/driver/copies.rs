//! Copies on a stream, to and from the host and between buffers, and filling buffers.

use bytemuck::{AnyBitPattern, NoUninit};
use cudarc::driver::result;

use super::buffer::{Buffer, HostBuffer};
use super::error::{CudaError, Doing};
use super::stream::{Event, Stream};

impl Stream {
    /// Allocates a buffer with these values.
    pub fn upload<T: NoUninit>(&self, values: &[T]) -> Result<Buffer, CudaError> {
        let buffer = self.device().alloc(std::mem::size_of_val(values))?;
        self.write(&buffer, 0, values)?;
        Ok(buffer)
    }

    /// Copies a whole buffer to the host. Its length must be a multiple of the size of `T`.
    pub fn download<T: AnyBitPattern + NoUninit>(&self, buffer: &Buffer) -> Result<Vec<T>, CudaError> {
        let size = size_of::<T>().max(1);
        if !buffer.bytes().is_multiple_of(size) {
            return Err(CudaError::Range {
                offset: 0,
                bytes: buffer.bytes().next_multiple_of(size),
                length: buffer.bytes(),
            });
        }
        let mut values = vec![T::zeroed(); buffer.bytes() / size];
        self.read(buffer, 0, &mut values)?;
        Ok(values)
    }

    /// Copies values into a buffer at byte `offset`, and waits for completion.
    pub fn write<T: NoUninit>(&self, buffer: &Buffer, offset: usize, values: &[T]) -> Result<(), CudaError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let range = self.range(buffer, offset, bytes.len())?;
        if !range.is_empty() {
            // SAFETY: the range is inside the buffer, and `bytes` is borrowed until the copy is
            // done.
            unsafe {
                result::memcpy_htod_async(buffer.address() + range.start as u64, bytes, self.raw.cu_stream())
            }
            .doing("copying to the device")?;
        }
        self.synchronize()
    }

    /// Copies values out of a buffer at byte `offset`, and waits for completion.
    pub fn read<T: AnyBitPattern + NoUninit>(
        &self,
        buffer: &Buffer,
        offset: usize,
        values: &mut [T],
    ) -> Result<(), CudaError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let range = self.range(buffer, offset, bytes.len())?;
        if !range.is_empty() {
            // SAFETY: the range is inside the buffer, and `bytes` is borrowed exclusively until the
            // copy is done.
            unsafe {
                result::memcpy_dtoh_async(bytes, buffer.address() + range.start as u64, self.raw.cu_stream())
            }
            .doing("copying from the device")?;
        }
        self.synchronize()
    }

    /// Copies a whole host buffer into a buffer at byte `offset`, without waiting.
    pub fn write_async(
        &self,
        buffer: &Buffer,
        offset: usize,
        host: HostBuffer,
    ) -> Result<Transfer, CudaError> {
        let range = self.range(buffer, offset, host.len())?;
        if !range.is_empty() {
            // SAFETY: the range is inside the buffer; the transfer owns the host's memory until the
            // copy is done.
            unsafe {
                result::memcpy_htod_async(buffer.address() + range.start as u64, &host, self.raw.cu_stream())
            }
            .doing("copying to the device")?;
        }
        self.transfer(buffer, host)
    }

    /// Fills a whole host buffer from a buffer at byte `offset`, without waiting.
    pub fn read_async(
        &self,
        buffer: &Buffer,
        offset: usize,
        mut host: HostBuffer,
    ) -> Result<Transfer, CudaError> {
        let range = self.range(buffer, offset, host.len())?;
        if !range.is_empty() {
            // SAFETY: the range is inside the buffer; the transfer owns the host's memory until the
            // copy is done.
            unsafe {
                result::memcpy_dtoh_async(
                    &mut host,
                    buffer.address() + range.start as u64,
                    self.raw.cu_stream(),
                )
            }
            .doing("copying from the device")?;
        }
        self.transfer(buffer, host)
    }

    fn transfer(&self, buffer: &Buffer, host: HostBuffer) -> Result<Transfer, CudaError> {
        match self.record() {
            Ok(done) => Ok(Transfer { done, host: Some(host), _buffer: buffer.clone() }),
            Err(error) => {
                // Without an event, the only way to wait for the copy is to wait for everything;
                // its memory must not be released before.
                let _ = self.synchronize();
                Err(error)
            }
        }
    }

    /// Copies bytes from one buffer to another. Between two devices, the stream must belong to one
    /// of them. Freeing memory and [`Device::synchronize`](super::Device::synchronize) of either
    /// device wait for the copy; other streams must [wait](Stream::wait) for an event after it.
    pub fn copy(
        &self,
        from: &Buffer,
        from_offset: usize,
        to: &Buffer,
        to_offset: usize,
        bytes: usize,
    ) -> Result<(), CudaError> {
        if !from.device().is(to.device()) {
            return self.copy_between(from, from_offset, to, to_offset, bytes);
        }
        let source = self.range(from, from_offset, bytes)?;
        let target = self.range(to, to_offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.device().bind()?;
        let (source, target) = (from.address() + source.start as u64, to.address() + target.start as u64);
        // SAFETY: both ranges are inside their buffers, which are freed only after the work of this
        // stream.
        unsafe { result::memcpy_dtod_async(target, source, bytes, self.raw.cu_stream()) }
            .doing("copying on the device")
    }

    /// Sets every byte of a buffer to `byte`.
    pub fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), CudaError> {
        let range = self.range(buffer, 0, buffer.bytes())?;
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: all of a live buffer.
        unsafe { result::memset_d8_async(buffer.address(), byte, range.len(), self.raw.cu_stream()) }
            .doing("filling a buffer")
    }

    /// Checks that this stream may access these bytes, and makes the device current.
    fn range(
        &self,
        buffer: &Buffer,
        offset: usize,
        bytes: usize,
    ) -> Result<std::ops::Range<usize>, CudaError> {
        let range = buffer.range(offset, bytes)?;
        self.may_use(buffer)?;
        self.device().bind()?;
        Ok(range)
    }

    pub(super) fn may_use(&self, buffer: &Buffer) -> Result<(), CudaError> {
        if !buffer.device().is(self.device()) {
            return Err(CudaError::Foreign { what: "the buffer is on another device than the stream" });
        }
        self.may_use_own(buffer)
    }

    /// Refuses memory of another stream.
    pub(super) fn may_use_own(&self, buffer: &Buffer) -> Result<(), CudaError> {
        match buffer.home() {
            Some(home) if home.raw != self.raw => {
                Err(CudaError::Foreign { what: "memory of one stream is used on a different one" })
            }
            _ => Ok(()),
        }
    }
}

/// A pending copy, which owns the host memory that it uses.
#[derive(Debug)]
pub struct Transfer {
    done: Event,
    host: Option<HostBuffer>,
    _buffer: Buffer,
}

impl Transfer {
    /// Waits until the copy is done and returns the host memory. After a failure, that memory is
    /// leaked: the copy may still be using it.
    pub fn wait(mut self) -> Result<HostBuffer, CudaError> {
        self.done.synchronize()?;
        self.host.take().ok_or(CudaError::Foreign { what: "the copy was already waited for" })
    }

    /// Whether the copy is done. Does not wait.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        self.done.is_done()
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if let Some(host) = self.host.take()
            && self.done.synchronize().is_err()
        {
            // The copy may still be running: leaking the memory is better than releasing it while
            // it is being written.
            std::mem::forget(host);
        }
    }
}
