//! The order of work on a device: streams, and events between them.
//!
//! The emulator runs work when it is submitted, in the calling thread, so that every order of
//! streams and events holds automatically.

use std::time::Instant;

use loopwright_kernel_ir::Diagnostic;

use super::DeviceTensor;
use crate::cuda;

/// A queue of work of a device, run in order. Clones are handles to the same queue.
#[derive(Clone, Debug)]
pub struct Stream(pub(super) Option<cuda::Stream>);

impl Stream {
    /// Waits until all of its work is done. Returns the error of earlier work, if some failed.
    pub fn synchronize(&self) -> Result<(), Diagnostic> {
        match &self.0 {
            Some(stream) => Ok(stream.synchronize()?),
            None => Ok(()),
        }
    }

    /// Records an event after all work submitted to the stream so far.
    pub fn record(&self) -> Result<Event, Diagnostic> {
        Ok(Event(match &self.0 {
            Some(stream) => Mark::Cuda(stream.record()?),
            None => Mark::Emulator(Instant::now()),
        }))
    }

    /// Makes later work of this stream wait for an event of another. The host does not wait.
    pub fn wait(&self, event: &Event) -> Result<(), Diagnostic> {
        if let (Some(stream), Mark::Cuda(event)) = (&self.0, &event.0) {
            stream.wait(event)?;
        }
        Ok(())
    }

    /// Copies all elements from one array to another of the same type, shape and strides, in the
    /// order of this stream.
    ///
    /// The arrays can be on two GPUs; the stream must then belong to one of them. Streams of the
    /// other device are not ordered with the copy: they have to [wait](Stream::wait) for an event
    /// before they use either array. Operations that wait for all work of either device, such as
    /// [`DeviceTensor::download`], wait for the copy as well. A stream that is being captured
    /// refuses copies between devices.
    ///
    /// ```no_run
    /// # use loopwright_runtime::{Device, Tensor};
    /// # use loopwright_kernel_ir::DType;
    /// let (here, there) = (Device::cuda(0)?, Device::cuda(1)?);
    /// let x = here.upload(&Tensor::from_vec(&[3], vec![1.0f32, 2.0, 3.0])?)?;
    /// let copy = there.uninit(&[3], DType::F32)?;
    /// let (from, to) = (here.stream()?, there.stream()?);
    /// from.copy(&x, &copy)?;
    /// // Work on `to` sees the copy; the host waits for nothing.
    /// to.wait(&from.record()?)?;
    /// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
    /// ```
    pub fn copy(&self, from: &DeviceTensor, to: &DeviceTensor) -> Result<(), Diagnostic> {
        from.copy_on(self, to)
    }

    /// The driver's handle, for other libraries that submit work to it or wait for it; none on the
    /// emulator.
    pub fn handle(&self) -> Option<u64> {
        self.0.as_ref().map(cuda::Stream::handle)
    }
}

/// A point in the work of a stream.
#[derive(Debug)]
pub struct Event(Mark);

#[derive(Debug)]
enum Mark {
    Cuda(cuda::Event),
    Emulator(Instant),
}

impl Event {
    /// Waits until the stream has reached it. Returns the error of earlier work, if some failed.
    pub fn synchronize(&self) -> Result<(), Diagnostic> {
        match &self.0 {
            Mark::Cuda(event) => Ok(event.synchronize()?),
            Mark::Emulator(_) => Ok(()),
        }
    }

    /// Whether the stream has reached it. Does not wait.
    pub fn is_done(&self) -> Result<bool, Diagnostic> {
        match &self.0 {
            Mark::Cuda(event) => Ok(event.is_done()?),
            Mark::Emulator(_) => Ok(true),
        }
    }

    /// Milliseconds from this event to a later one of the same device. Waits for both.
    pub fn milliseconds_to(&self, later: &Event) -> Result<f64, Diagnostic> {
        match (&self.0, &later.0) {
            (Mark::Cuda(from), Mark::Cuda(to)) => Ok(from.elapsed_ms(to)?.into()),
            (Mark::Emulator(from), Mark::Emulator(to)) => {
                Ok(to.saturating_duration_since(*from).as_secs_f64() * 1e3)
            }
            _ => Err(Diagnostic::new("other-device", "the two events belong to different devices")
                .help("record both on streams of the same device")),
        }
    }
}
