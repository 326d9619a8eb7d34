//! The pool from which a device's buffers are allocated.
//!
//! Freed memory remains in the pool for later buffers: allocating memory from the driver takes as
//! long as a small kernel, and returning it waits for the whole device. Memory is freed on a
//! separate stream that is ordered after all other work (`queues`), and allocated on another one,
//! so that allocation never waits for a kernel.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUmemPool_attribute as A};
use cudarc::driver::{CudaContext, CudaStream, result};

use super::error::{CudaError, Doing};
use super::library;

/// The memory pool of one device.
#[derive(Debug)]
pub(super) struct Pool {
    raw: sys::CUmemoryPool,
    get: Arc<CudaStream>,
    free: Arc<CudaStream>,
}

// SAFETY: the driver lets any thread use a pool.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// Memory use of a device's pool, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Bytes in use by buffers.
    pub used: u64,
    /// Reserved from the driver, for these buffers and later ones; at least `used`.
    pub reserved: u64,
}

impl Pool {
    /// `None` if the device or the driver does not support pools, or a pool cannot be created.
    /// Memory is then allocated by the driver directly.
    pub fn new(context: &Arc<CudaContext>) -> Option<Pool> {
        let pools = context.has_async_alloc() && library::has_symbol(c"cuMemAllocFromPoolAsync");
        pools.then(|| Pool::make(context).ok()).flatten()
    }

    fn make(context: &Arc<CudaContext>) -> Result<Pool, CudaError> {
        let ordinal = i32::try_from(context.ordinal()).unwrap_or(i32::MAX);
        let properties = sys::CUmemPoolProps {
            allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: ordinal,
            },
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let doing = "creating a memory pool";
        let (get, free) = (context.new_stream().doing(doing)?, context.new_stream().doing(doing)?);
        // SAFETY: the properties are complete, and their reserved part is zero.
        let raw = unsafe { result::mem_pool::create(&properties) }.doing(doing)?;
        let pool = Pool { raw, get, free };
        // No memory is returned to the driver automatically, and allocation never waits for work
        // that still uses memory.
        pool.set::<u64>(A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, u64::MAX)?;
        pool.set::<i32>(A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0)?;
        Ok(pool)
    }

    /// Gives another device access to the pool's memory, present and future. If the driver refuses,
    /// copies to and from that device go through the host.
    pub fn let_in(&self, device: sys::CUdevice) {
        let access = sys::CUmemAccessDesc {
            location: sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: device,
            },
            flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        // SAFETY: the pool is live, and one description is given. Every driver that has pools has
        // the function.
        let _ = unsafe { sys::cuMemPoolSetAccess(self.raw, &access, 1) };
    }

    fn set<T>(&self, attribute: A, mut value: T) -> Result<(), CudaError> {
        // SAFETY: the pool is live, and the caller names the attribute's type.
        unsafe { result::mem_pool::set_attribute(self.raw, attribute, std::ptr::from_mut(&mut value).cast()) }
            .doing("configuring a memory pool")
    }

    fn number(&self, attribute: A) -> Result<u64, CudaError> {
        let mut value = 0u64;
        // SAFETY: the pool is live, and the queried attributes have 64 bits.
        unsafe {
            result::mem_pool::get_attribute(self.raw, attribute, std::ptr::from_mut(&mut value).cast())
        }
        .doing("querying a memory pool")?;
        Ok(value)
    }

    /// Allocates memory that any stream may use. The device's context must be current.
    pub fn get(&self, bytes: usize) -> Result<sys::CUdeviceptr, result::DriverError> {
        let pointer = self.get_on(bytes, &self.get)?;
        // Nothing else is on this stream.
        self.get.synchronize()?;
        Ok(pointer)
    }

    /// Allocates memory for later work of this stream. The device's context must be current.
    pub fn get_on(&self, bytes: usize, stream: &CudaStream) -> Result<sys::CUdeviceptr, result::DriverError> {
        // SAFETY: pool and stream are live and of the current context.
        let get = || unsafe { result::mem_pool::alloc_async(self.raw, bytes, stream.cu_stream()) };
        get().or_else(|error| {
            if error.0 != sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
                return Err(error);
            }
            // Pending frees, and fragmented memory returned to the driver, may suffice.
            self.free.synchronize()?;
            // SAFETY: the pool is live.
            unsafe { result::mem_pool::trim_to(self.raw, 0) }?;
            get()
        })
    }

    /// Bytes in use and bytes reserved.
    pub fn usage(&self) -> Result<PoolUse, CudaError> {
        Ok(PoolUse {
            used: self.number(A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            reserved: self.number(A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
        })
    }

    /// Returns unused memory to the driver until at most `keep` bytes are reserved, or no more is
    /// unused. Waits for pending frees.
    pub fn trim(&self, keep: usize) -> Result<(), CudaError> {
        self.free.synchronize().doing("waiting for memory that is being freed")?;
        // SAFETY: the pool is live.
        unsafe { result::mem_pool::trim_to(self.raw, keep) }.doing("giving memory back")
    }

    /// Frees memory on the pool's own stream, once `after_everything` has ordered that stream after
    /// all work submitted to the device so far.
    pub fn free(
        &self,
        pointer: sys::CUdeviceptr,
        after_everything: impl FnOnce(&CudaStream) -> Result<(), CudaError>,
    ) {
        if after_everything(&self.free).is_err() {
            let _ = result::ctx::synchronize();
        }
        // SAFETY: allocated from this pool and freed once.
        let _ = unsafe { result::free_async(pointer, self.free.cu_stream()) };
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: destroyed once, when no buffer is left; the driver waits for pending frees.
        let _ = unsafe { result::mem_pool::destroy(self.raw) };
    }
}
