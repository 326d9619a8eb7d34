//! Copies from the memory of one device to that of another.
//!
//! The driver orders such a copy on one stream, which belongs to one of the two devices. Operations
//! that wait for all work of the *other* one, such as freeing a buffer there, would not know about
//! it: so a stream of the other device waits for the copy (`Queues::host_work`), and thus does
//! everything that waits for all work there.
//!
//! Devices with peer access are given access to each other's pools on the first copy between them,
//! and copy directly. Without peer access, as over some buses, and for memory that other libraries
//! own, the driver copies through the host.

use std::sync::PoisonError;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUstreamCaptureStatus};

use super::buffer::Buffer;
use super::device::Device;
use super::error::{CudaError, Doing};
use super::stream::Stream;

impl Stream {
    /// Copies bytes from a buffer to one on another device, in the order of this stream, which
    /// belongs to one of the two devices.
    pub(super) fn copy_between(
        &self,
        from: &Buffer,
        from_offset: usize,
        to: &Buffer,
        to_offset: usize,
        bytes: usize,
    ) -> Result<(), CudaError> {
        let doing = "copying to another device";
        let source = from.range(from_offset, bytes)?;
        let target = to.range(to_offset, bytes)?;
        let other = match (self.device().is(from.device()), self.device().is(to.device())) {
            (true, _) => to.device(),
            (_, true) => from.device(),
            _ => {
                return Err(CudaError::Foreign { what: "the stream belongs to neither buffer's device" });
            }
        };
        self.may_use_own(from)?;
        self.may_use_own(to)?;
        // Captured work does not run now, so that no stream of the other device could wait for it.
        let capturing = self.raw.capture_status().doing(doing)?;
        if capturing != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
            return Err(CudaError::Captured);
        }
        if bytes == 0 {
            return Ok(());
        }
        self.device().reach(other);
        other.reach(self.device());
        self.device().bind()?;
        // SAFETY: both ranges are inside their buffers, which are freed only after the work of
        // their devices; this copy is part of both.
        unsafe {
            result::memcpy_peer_async(
                to.device().inner.context.cu_ctx(),
                to.address() + target.start as u64,
                from.device().inner.context.cu_ctx(),
                from.address() + source.start as u64,
                bytes,
                self.raw.cu_stream(),
            )
        }
        .doing(doing)?;
        let told = self
            .raw
            .record_event(None)
            .doing(doing)
            .and_then(|done| other.queues().host_work(&other.inner.context, &done));
        if told.is_err() {
            // The copy is then complete before the other device can do anything.
            let _ = self.synchronize();
        }
        told
    }
}

impl Device {
    /// Gives this device access to the pool of another, once, if the hardware supports it. A
    /// failure only costs time.
    fn reach(&self, other: &Device) {
        let Some(pool) = &other.inner.pool else { return };
        let mut reached = self.inner.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if !reached.insert(other.info().ordinal) {
            return;
        }
        let mut reaches = 0;
        let (own, peer) = (self.inner.context.cu_device(), other.inner.context.cu_device());
        // SAFETY: both are devices of the driver, and the pointer is valid.
        let asked = unsafe { sys::cuDeviceCanAccessPeer(&mut reaches, own, peer) };
        if asked == sys::CUresult::CUDA_SUCCESS && reaches != 0 {
            pool.let_in(own);
        }
    }
}
