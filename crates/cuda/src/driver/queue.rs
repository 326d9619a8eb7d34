//! The registration of a stream with its device, from its first handle to its last.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::CudaStream;

use super::device::Device;

/// A stream that is registered with its device as long as this value lives.
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
        device.queues().enter(raw);
        Arc::new(Queue { device: device.clone(), raw: raw.clone() })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.device.queues().leave(&self.raw);
    }
}
