//! Properties and limits of devices.

use cudarc::driver::{CudaContext, sys::CUdevice_attribute as A};

use super::error::{CudaError, Doing};
use crate::arch::Arch;

/// Properties and limits of a device. Plain data, which can also describe a device that this
/// machine lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number among the devices of the machine, counted from 0.
    pub ordinal: usize,
    /// Its name, as the driver reports it.
    pub name: String,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Most threads per block.
    pub max_threads_per_block: u32,
    /// Most threads resident on a multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Most blocks resident on a multiprocessor.
    pub max_blocks_per_multiprocessor: u32,
    /// Most threads of a block along x, y and z.
    pub max_block: [u32; 3],
    /// Most blocks of a grid along x, y and z.
    pub max_grid: [u32; 3],
    /// Most 32-bit registers per block.
    pub registers_per_block: u32,
    /// 32-bit registers per multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Shared memory per block available without opting in, bytes.
    pub shared_per_block: u32,
    /// Most shared memory per block, bytes. What exceeds `shared_per_block` must be dynamic, and a
    /// kernel has to opt in.
    pub shared_per_block_optin: u32,
    /// Shared memory per multiprocessor, bytes.
    pub shared_per_multiprocessor: u32,
    /// Shared memory per block reserved by the system, bytes.
    pub shared_reserved_per_block: u32,
    /// Highest clock of the multiprocessors, kHz; 0 if the driver does not report it.
    pub clock_khz: u32,
    /// Highest clock of the memory, kHz; 0 if the driver does not report it.
    pub memory_clock_khz: u32,
    /// Width of the memory bus, bits.
    pub memory_bus_bits: u32,
    /// Size of the L2 cache, bytes.
    pub l2_bytes: u64,
    /// Size of the device memory, bytes.
    pub memory_bytes: u64,
    /// Constant memory available to a kernel, bytes.
    pub constant_bytes: u32,
}

impl DeviceInfo {
    /// Whether a launch can start before the preceding one has ended (programmatic stream
    /// serialization).
    pub fn starts_early(&self) -> bool {
        self.arch().starts_early()
    }

    /// The architecture to compile for.
    pub fn arch(&self) -> Arch {
        Arch::native(self.compute_capability.0, self.compute_capability.1)
    }

    /// Peak memory bandwidth in bytes per second: two transfers per clock over the whole bus. None
    /// if the clock is not known.
    pub fn peak_bandwidth(&self) -> Option<f64> {
        let bandwidth = 2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.memory_bus_bits) / 8.0;
        (bandwidth > 0.0).then_some(bandwidth)
    }

    /// Asks the driver for the properties of a context's device.
    pub(super) fn query(context: &CudaContext) -> Result<DeviceInfo, CudaError> {
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
            // Virtual devices do not report their clocks.
            clock_khz: number(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).unwrap_or(0),
            memory_clock_khz: number(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0),
            memory_bus_bits: number(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
            l2_bytes: number(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
            memory_bytes: context.total_mem().doing("asking for the device's memory")? as u64,
            constant_bytes: number(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)?,
        })
    }
}
