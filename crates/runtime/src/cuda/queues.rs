//! Which work of a device may be under way, so that memory is freed after it without anybody waiting.
//!
//! Every stream that work is put on through this library is known to its device while there is a handle to it; when the last one goes, an
//! event stands for what was put on it. Work that has to come after everything, as the freeing of a buffer that any stream may have used,
//! goes to a stream that waits for all of these. A stream of another device that uses memory of this one is waited for by a stream of this one.

use std::fmt;
use std::sync::{Arc, PoisonError};

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaEvent, CudaStream};

use super::device::Device;
use super::error::{CudaError, Doing};

/// The streams and events of a device that work may stand behind.
#[derive(Debug, Default)]
pub(super) struct Queues {
    live: Vec<Arc<CudaStream>>,
    /// The ends of streams whose handles are gone.
    left: Vec<CudaEvent>,
    /// One of the live streams: nothing but waits for work of other devices on memory of this one.
    guests: Option<Arc<CudaStream>>,
}

/// A stream, known to its device as long as this lives.
pub(super) struct Queue {
    device: Device,
    raw: Arc<CudaStream>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({:?})", self.raw.cu_stream())
    }
}

impl Queue {
    pub fn new(device: &Device, raw: &Arc<CudaStream>) -> Arc<Queue> {
        let mut queues = device.inner.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.live.push(raw.clone());
        Arc::new(Queue { device: device.clone(), raw: raw.clone() })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut queues = self.device.inner.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = queues.live.iter().position(|raw| Arc::ptr_eq(raw, &self.raw)) {
            queues.live.swap_remove(place);
        }
        match end_of(&self.raw) {
            Ok(Some(event)) => queues.left.push(event),
            Ok(None) => {}
            // Without an event its work can only be waited for here.
            Err(_) => {
                let _ = self.raw.synchronize();
            }
        }
    }
}

/// An event behind all work of a stream. None of one that is being captured: nothing of what is captured runs, and an event would become a
/// part of it.
fn end_of(raw: &CudaStream) -> Result<Option<CudaEvent>, cudarc::driver::DriverError> {
    if raw.capture_status()? != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
        return Ok(None);
    }
    raw.record_event(None).map(Some)
}

impl Device {
    /// Counts what comes before an event of another device's stream as work of this device, too: it uses memory of this one.
    pub(super) fn host_work(&self, done: &CudaEvent) -> Result<(), CudaError> {
        let mut queues = self.inner.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let guests = match &queues.guests {
            Some(guests) => guests.clone(),
            None => {
                let guests = self.inner.context.new_stream().doing("making a stream")?;
                queues.live.push(guests.clone());
                queues.guests = Some(guests.clone());
                guests
            }
        };
        guests.wait(done).doing("waiting for work of another device")
    }

    /// Lets the work that follows on `target` come after all work that was put on any stream until now.
    pub(super) fn after_everything(&self, target: &CudaStream) -> Result<(), CudaError> {
        let doing = "ordering work after all other";
        let mut queues = self.inner.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.left.retain(|event| !event.is_complete());
        for event in &queues.left {
            target.wait(event).doing(doing)?;
        }
        for raw in &queues.live {
            if let Some(event) = end_of(raw).doing(doing)? {
                target.wait(&event).doing(doing)?;
            }
        }
        Ok(())
    }
}
