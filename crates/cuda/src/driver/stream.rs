//! Streams and events: ordering work, waiting for it, timing it.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream, sys::CUevent_flags};

use super::device::Device;
use super::error::{CudaError, Doing};
use super::queue::Queue;

/// A queue of work of one device, run in order. Clones are handles to the same queue.
#[derive(Clone, Debug)]
pub struct Stream {
    device: Device,
    pub(super) raw: Arc<CudaStream>,
    /// Keeps the stream registered with its device.
    _queue: Arc<Queue>,
}

impl Device {
    /// Makes a stream that is not synchronised with any other.
    pub fn stream(&self) -> Result<Stream, CudaError> {
        Stream::new(self)
    }

    /// A stream owned outside of this crate, by its driver handle.
    ///
    /// # Safety
    ///
    /// `handle` is a stream of this device for as long as the result or a clone of it lives.
    pub unsafe fn borrow_stream(&self, handle: u64) -> Stream {
        // SAFETY: the caller's promise.
        unsafe { Stream::borrowed(self, handle) }
    }
}

impl Stream {
    pub(super) fn new(device: &Device) -> Result<Stream, CudaError> {
        let raw = device.inner.context.new_stream().doing("making a stream")?;
        let queue = Queue::new(device, &raw);
        Ok(Stream { device: device.clone(), raw, _queue: queue })
    }

    /// # Safety
    ///
    /// As for [`Device::borrow_stream`].
    pub(super) unsafe fn borrowed(device: &Device, handle: u64) -> Stream {
        let handle = std::ptr::with_exposed_provenance_mut(handle as usize);
        // SAFETY: the caller's promise.
        let raw = unsafe { device.inner.context.wrap_borrowed_stream(handle) };
        let queue = Queue::new(device, &raw);
        Stream { device: device.clone(), raw, _queue: queue }
    }

    /// The device that it belongs to.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The driver's handle, for other libraries that submit work to it or wait for it.
    pub fn handle(&self) -> u64 {
        self.raw.cu_stream().expose_provenance() as u64
    }

    /// Waits until all of its work is done. Returns the error of earlier work, if some failed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.raw.synchronize().doing("waiting for a stream")
    }

    /// Records an event after all work submitted to the stream so far.
    pub fn record(&self) -> Result<Event, CudaError> {
        let raw = self.raw.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).doing("recording an event")?;
        Ok(Event { raw })
    }

    /// Makes later work of this stream wait for an event of this or another stream.
    pub fn wait(&self, event: &Event) -> Result<(), CudaError> {
        self.raw.wait(&event.raw).doing("waiting for an event")
    }

    /// Times the work that `work` submits to this stream, in milliseconds: one result for each of
    /// `repeats` calls, after `warm_up` calls that are not timed.
    pub fn time(
        &self,
        warm_up: usize,
        repeats: usize,
        mut work: impl FnMut(&Stream) -> Result<(), CudaError>,
    ) -> Result<Vec<f32>, CudaError> {
        for _ in 0..warm_up {
            work(self)?;
        }
        let mut marks = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let start = self.record()?;
            work(self)?;
            marks.push((start, self.record()?));
        }
        self.synchronize()?;
        marks.iter().map(|(start, end)| start.elapsed_ms(end)).collect()
    }
}

/// A point in the work of a stream.
#[derive(Debug)]
pub struct Event {
    raw: CudaEvent,
}

impl Event {
    /// Waits until the stream has reached it.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.raw.synchronize().doing("waiting for an event")
    }

    /// Whether the stream has reached it. Does not wait.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        self.raw.context().bind_to_thread().doing("selecting the device")?;
        self.raw.try_is_complete().doing("querying an event")
    }

    /// Milliseconds from this event to a later one, with a resolution of about half a microsecond.
    /// Waits until the stream has reached both.
    pub fn elapsed_ms(&self, later: &Event) -> Result<f32, CudaError> {
        self.raw.elapsed_ms(&later.raw).doing("measuring a time")
    }
}
