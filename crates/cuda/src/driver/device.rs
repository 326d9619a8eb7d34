//! Devices: opening them, their memory, waiting for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::{CudaContext, result, sys};

use super::device_info::DeviceInfo;
use super::error::{CudaError, Doing};
use super::library;
use super::pool::{Pool, PoolUse};
use super::queues::Queues;

/// A GPU. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Device {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) info: DeviceInfo,
    queues: Mutex<Queues>,
    pub(super) pool: Option<Pool>,
    /// Ordinals of the devices to whose pools this one requested access.
    pub(super) reached: Mutex<BTreeSet<usize>>,
    pub(super) context: Arc<CudaContext>,
}

/// The open devices by ordinal. There is one value per device, which knows all of its streams and
/// memory.
static OPEN: Mutex<BTreeMap<usize, Weak<Inner>>> = Mutex::new(BTreeMap::new());

impl Device {
    /// The number of devices of this machine; 0 without a driver.
    pub fn count() -> usize {
        library::require()
            .ok()
            .and_then(|()| result::device::get_count().ok())
            .map_or(0, |count| count.max(0) as usize)
    }

    /// Opens the device of this number, counted from 0. If it is open already, the result is
    /// another handle to it.
    pub fn open(ordinal: usize) -> Result<Device, CudaError> {
        library::require()?;
        let count = Device::count();
        if count == 0 {
            return Err(CudaError::NoDevice);
        }
        if ordinal >= count {
            return Err(CudaError::NoSuchDevice { ordinal, count });
        }
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inner) = open.get(&ordinal).and_then(Weak::upgrade) {
            return Ok(Device { inner });
        }
        let context = CudaContext::new(ordinal).doing("opening the device")?;
        let info = DeviceInfo::query(&context)?;
        let pool = Pool::new(&context);
        let inner =
            Arc::new(Inner { info, queues: Mutex::default(), pool, reached: Mutex::default(), context });
        open.insert(ordinal, Arc::downgrade(&inner));
        Ok(Device { inner })
    }

    /// Opens the device with number 0; errors are those of [`Device::open`].
    pub fn first() -> Result<Device, CudaError> {
        Device::open(0)
    }

    /// Its properties and limits.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// Memory that is free at the moment, bytes.
    pub fn free_memory(&self) -> Result<usize, CudaError> {
        Ok(self.inner.context.mem_get_info().doing("asking for free memory")?.0)
    }

    /// Waits until the device is idle. Returns the error of earlier work, if some failed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.inner.context.synchronize().doing("waiting for the device")
    }

    /// Use of its memory pool; zeros if it has none.
    pub fn pool_use(&self) -> Result<PoolUse, CudaError> {
        let Some(pool) = &self.inner.pool else { return Ok(PoolUse::default()) };
        self.bind()?;
        pool.usage()
    }

    /// Returns unused memory of its pool to the driver, for other libraries, until at most `keep`
    /// bytes are reserved, or no more is unused. Waits for work that uses dropped buffers.
    pub fn trim(&self, keep: usize) -> Result<(), CudaError> {
        let Some(pool) = &self.inner.pool else { return Ok(()) };
        self.bind()?;
        pool.trim(keep)
    }

    /// The streams whose work may be pending.
    pub(super) fn queues(&self) -> MutexGuard<'_, Queues> {
        self.inner.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both are handles to the same device.
    pub fn is(&self, other: &Device) -> bool {
        self.inner.context == other.inner.context
    }

    /// Makes the device's context current in this thread, as most driver functions require.
    pub(super) fn bind(&self) -> Result<(), CudaError> {
        self.inner.context.bind_to_thread().doing("selecting the device")
    }

    /// As [`Device::bind`], for launches: only sets the context if it is not already current.
    pub(super) fn make_current(&self) -> Result<(), CudaError> {
        let wanted = self.inner.context.cu_ctx();
        let mut current = std::ptr::null_mut();
        // SAFETY: the driver is initialised, and the pointer is valid.
        let asked = unsafe { sys::cuCtxGetCurrent(&mut current) };
        if asked == sys::CUresult::CUDA_SUCCESS && current == wanted {
            return Ok(());
        }
        // SAFETY: the context lives as long as the device.
        unsafe { result::ctx::set_current(wanted) }.doing("selecting the device")
    }
}
