//! Devices and what they can do.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::{CudaContext, result, sys, sys::CUdevice_attribute as A};

use super::buffer::Buffer;
use super::driver;
use super::error::{CudaError, Doing};
use super::module::Module;
use super::pool::Pool;
use super::queues::Queues;
use super::stream::Stream;
use crate::arch::Arch;
use crate::nvrtc::Compiled;

/// What a device is and what it can do. Plain data: it can be written down for a device that is elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number among the devices of the machine.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Its compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads in a warp.
    pub warp_size: u32,
    /// Threads in a block, at most.
    pub max_threads_per_block: u32,
    /// Threads resident on a multiprocessor, at most.
    pub max_threads_per_multiprocessor: u32,
    /// Blocks resident on a multiprocessor, at most.
    pub max_blocks_per_multiprocessor: u32,
    /// Extent of a block, at most, by axis.
    pub max_block: [u32; 3],
    /// Extent of a grid, at most, by axis.
    pub max_grid: [u32; 3],
    /// 32-bit registers of a block, at most.
    pub registers_per_block: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Shared memory of a block that a kernel gets without asking, bytes.
    pub shared_per_block: u32,
    /// Shared memory of a block, at most, bytes: beyond `shared_per_block` it has to be dynamic and asked for.
    pub shared_per_block_optin: u32,
    /// Shared memory of a multiprocessor, bytes.
    pub shared_per_multiprocessor: u32,
    /// Shared memory of each block that the system keeps for itself, bytes.
    pub shared_reserved_per_block: u32,
    /// Highest clock of the multiprocessors, kHz; 0 where the driver does not say.
    pub clock_khz: u32,
    /// Highest clock of the memory, kHz; 0 where the driver does not say.
    pub memory_clock_khz: u32,
    /// Width of the memory's bus, bits.
    pub memory_bus_bits: u32,
    /// Second-level cache, bytes.
    pub l2_bytes: u64,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Constant memory, bytes.
    pub constant_bytes: u32,
}

impl DeviceInfo {
    /// Whether a launch can be started before the one ahead of it has ended.
    pub fn starts_early(&self) -> bool {
        self.arch().starts_early()
    }

    /// The architecture to compile for.
    pub fn arch(&self) -> Arch {
        Arch::native(self.compute_capability.0, self.compute_capability.1)
    }

    /// What the memory can move at most, in bytes a second: two transfers a clock over the whole bus. None where the clock is not known.
    pub fn peak_bandwidth(&self) -> Option<f64> {
        let bandwidth = 2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.memory_bus_bits) / 8.0;
        (bandwidth > 0.0).then_some(bandwidth)
    }
}

/// A GPU. Cloning gives another handle to the same one.
#[derive(Clone, Debug)]
pub struct Device {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) info: DeviceInfo,
    pub(super) queues: Mutex<Queues>,
    pub(super) pool: Option<Pool>,
    /// The devices whose pools it was let into, or asked to be.
    pub(super) reached: Mutex<BTreeSet<usize>>,
    pub(super) context: Arc<CudaContext>,
}

/// The devices that are open, by number: one value for each, whose streams and memory know of each other.
static OPEN: Mutex<BTreeMap<usize, Weak<Inner>>> = Mutex::new(BTreeMap::new());

impl Device {
    /// How many devices this machine has; 0 also where there is no driver.
    pub fn count() -> usize {
        driver::require()
            .ok()
            .and_then(|()| result::device::get_count().ok())
            .map_or(0, |count| count.max(0) as usize)
    }

    /// The device of this number, counted from 0. Opening one that is open gives another handle to it.
    pub fn open(ordinal: usize) -> Result<Device, CudaError> {
        driver::require()?;
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
        let info = query(&context)?;
        let pool = Pool::new(&context);
        let inner =
            Arc::new(Inner { info, queues: Mutex::default(), pool, reached: Mutex::default(), context });
        open.insert(ordinal, Arc::downgrade(&inner));
        Ok(Device { inner })
    }

    /// The first device.
    pub fn first() -> Result<Device, CudaError> {
        Device::open(0)
    }

    /// What it is and what it can do.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// Memory free at the moment, bytes.
    pub fn free_memory(&self) -> Result<usize, CudaError> {
        Ok(self.inner.context.mem_get_info().doing("asking for free memory")?.0)
    }

    /// A new stream, which waits for no other.
    pub fn stream(&self) -> Result<Stream, CudaError> {
        Stream::new(self)
    }

    /// Memory of this many bytes, whose content is undefined.
    pub fn alloc(&self, bytes: usize) -> Result<Buffer, CudaError> {
        Buffer::alloc(self, bytes)
    }

    /// Memory that somebody else owns, who is dropped when the last handle to the buffer is gone and all work of the device is done.
    ///
    /// # Safety
    ///
    /// So many bytes at this address are memory of this device until `owner` is dropped, and nobody else uses them in a way that conflicts with
    /// work that is put on them here.
    pub unsafe fn borrow(
        &self,
        address: u64,
        bytes: usize,
        owner: Box<dyn Any + Send>,
    ) -> Result<Buffer, CudaError> {
        // SAFETY: the caller's promise.
        unsafe { Buffer::borrowed(self, address, bytes, owner) }
    }

    /// A stream that somebody else owns.
    ///
    /// # Safety
    ///
    /// The handle is a stream of this device as long as a handle to the value lives.
    pub unsafe fn borrow_stream(&self, handle: u64) -> Stream {
        // SAFETY: the caller's promise.
        unsafe { Stream::borrowed(self, handle) }
    }

    /// The kernels of a binary.
    pub fn load(&self, compiled: &Compiled) -> Result<Module, CudaError> {
        Module::load(self, compiled)
    }

    /// Waits until all work on the device is done, and reports what went wrong in it.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.inner.context.synchronize().doing("waiting for the device")
    }

    /// Whether both are one device.
    pub(crate) fn is(&self, other: &Device) -> bool {
        self.inner.context == other.inner.context
    }

    /// Makes the device's context current in this thread, which the driver's plain functions rely on.
    pub(super) fn bind(&self) -> Result<(), CudaError> {
        self.inner.context.bind_to_thread().doing("selecting the device")
    }

    /// As [`Device::bind`], for launches: nothing but to ask whether it is current already.
    pub(super) fn make_current(&self) -> Result<(), CudaError> {
        let wanted = self.inner.context.cu_ctx();
        let mut current = std::ptr::null_mut();
        // SAFETY: the driver is initialised, and the pointer is to a live place.
        let asked = unsafe { sys::cuCtxGetCurrent(&mut current) };
        if asked == sys::CUresult::CUDA_SUCCESS && current == wanted {
            return Ok(());
        }
        // SAFETY: the context lives as long as the device.
        unsafe { result::ctx::set_current(wanted) }.doing("selecting the device")
    }
}

fn query(context: &CudaContext) -> Result<DeviceInfo, CudaError> {
    let number = |attribute: A| -> Result<u32, CudaError> {
        let value = context.attribute(attribute).doing("asking for the device's properties")?;
        Ok(value.max(0) as u32)
    };
    Ok(DeviceInfo {
        ordinal: context.ordinal(),
        name: context.name().doing("asking for the device's name")?.trim_end_matches('\0').to_owned(),
        compute_capability: (
            number(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            number(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: number(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        warp_size: number(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        max_threads_per_block: number(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_threads_per_multiprocessor: number(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        max_blocks_per_multiprocessor: number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        max_block: [
            number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        max_grid: [
            number(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            number(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            number(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        registers_per_block: number(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
        registers_per_multiprocessor: number(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        shared_per_block: number(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        shared_per_block_optin: number(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        shared_per_multiprocessor: number(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        shared_reserved_per_block: number(A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
        // Virtual devices keep their clocks to themselves.
        clock_khz: number(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).unwrap_or(0),
        memory_clock_khz: number(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0),
        memory_bus_bits: number(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
        l2_bytes: number(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        memory_bytes: context.total_mem().doing("asking for the device's memory")? as u64,
        constant_bytes: number(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)?,
    })
}
