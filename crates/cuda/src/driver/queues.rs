//! Tracks the pending work of a device, so that memory can be freed after it without waiting.
//!
//! Every stream that this library submits work to is registered with its device while there is a
//! handle to it; when the last one is dropped, an event represents its work. Work that has to be
//! ordered after everything, such as freeing a buffer that any stream may have used, goes to a
//! stream that waits for all of these. If a stream of another device uses memory of this one, a
//! stream of this one waits for it.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream};

use super::error::{CudaError, Doing};

/// The streams and events of a device whose work may be pending.
#[derive(Debug, Default)]
pub(super) struct Queues {
    live: Vec<Arc<CudaStream>>,
    /// Events at the ends of streams whose handles have been dropped.
    left: Vec<CudaEvent>,
    /// One of the live streams: it only waits for work of other devices on memory of this one.
    guests: Option<Arc<CudaStream>>,
}

impl Queues {
    /// Registers a stream, to which work may be submitted from now on.
    pub fn enter(&mut self, raw: &Arc<CudaStream>) {
        self.live.push(raw.clone());
    }

    /// Unregisters a stream whose last handle was dropped: an event represents its work.
    pub fn leave(&mut self, raw: &Arc<CudaStream>) {
        if let Some(place) = self.live.iter().position(|live| Arc::ptr_eq(live, raw)) {
            self.live.swap_remove(place);
        }
        match end_of(raw) {
            Ok(Some(event)) => self.left.push(event),
            Ok(None) => {}
            // Without an event, the only choice is to wait for its work here.
            Err(_) => {
                let _ = raw.synchronize();
            }
        }
    }

    /// Also counts the work before an event of another device's stream as work of this device,
    /// whose memory it uses.
    pub fn host_work(&mut self, context: &Arc<CudaContext>, done: &CudaEvent) -> Result<(), CudaError> {
        let guests = match &self.guests {
            Some(guests) => guests.clone(),
            None => {
                let guests = context.new_stream().doing("making a stream")?;
                self.live.push(guests.clone());
                self.guests = Some(guests.clone());
                guests
            }
        };
        guests.wait(done).doing("waiting for work of another device")
    }

    /// Orders later work of `target` after all work that has been submitted to any stream.
    pub fn after_everything(&mut self, target: &CudaStream) -> Result<(), CudaError> {
        let doing = "ordering work after all other work";
        self.left.retain(|event| !event.is_complete());
        for event in &self.left {
            target.wait(event).doing(doing)?;
        }
        for raw in &self.live {
            if let Some(event) = end_of(raw).doing(doing)? {
                target.wait(&event).doing(doing)?;
            }
        }
        Ok(())
    }
}

/// An event after all work of a stream. `None` for one that is being captured: captured work does
/// not run, and the event would become part of it.
fn end_of(raw: &CudaStream) -> Result<Option<CudaEvent>, cudarc::driver::DriverError> {
    if raw.capture_status()? != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
        return Ok(None);
    }
    raw.record_event(None).map(Some)
}
