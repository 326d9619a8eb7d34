//! Which work of a device may be under way, so that memory is freed after it without anybody
//! waiting.
//!
//! Every stream that work is put on through this library is known to its device while there is a
//! handle to it; when the last one goes, an event stands for what was put on it. Work that has to
//! come after everything, as the freeing of a buffer that any stream may have used, goes to a
//! stream that waits for all of these. A stream of another device that uses memory of this one is
//! waited for by a stream of this one.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream};

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

impl Queues {
    /// A stream is known from now on.
    pub fn enter(&mut self, raw: &Arc<CudaStream>) {
        self.live.push(raw.clone());
    }

    /// A stream whose last handle is gone: an event stands for what was put on it.
    pub fn leave(&mut self, raw: &Arc<CudaStream>) {
        if let Some(place) = self.live.iter().position(|live| Arc::ptr_eq(live, raw)) {
            self.live.swap_remove(place);
        }
        match end_of(raw) {
            Ok(Some(event)) => self.left.push(event),
            Ok(None) => {}
            // Without an event its work can only be waited for here.
            Err(_) => {
                let _ = raw.synchronize();
            }
        }
    }

    /// Counts what comes before an event of another device's stream as work of this device, too: it
    /// uses memory of this one.
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

    /// Lets the work that follows on `target` come after all work that was put on any stream until
    /// now.
    pub fn after_everything(&mut self, target: &CudaStream) -> Result<(), CudaError> {
        let doing = "ordering work after all other";
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

/// An event behind all work of a stream. None of one that is being captured: nothing of what is
/// captured runs, and an event would become a part of it.
fn end_of(raw: &CudaStream) -> Result<Option<CudaEvent>, cudarc::driver::DriverError> {
    if raw.capture_status()? != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
        return Ok(None);
    }
    raw.record_event(None).map(Some)
}
