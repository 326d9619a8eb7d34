//! What devices can do.

use cudarc::driver::{CudaContext, sys::CUdevice_attribute as A};

use super::error::{CudaError, Doing};
use crate::arch::Arch;

/// What a device is and what it can do. Plain data: it can be written down for a device that is
/// elsewhere.
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
    /// Shared memory of a block, at most, bytes: beyond `shared_per_block` it has to be dynamic and
    /// asked for.
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

    /// What the memory can move at most, in bytes a second: two transfers a clock over the whole
    /// bus. None where the clock is not known.
    pub fn peak_bandwidth(&self) -> Option<f64> {
        let bandwidth = 2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.memory_bus_bits) / 8.0;
        (bandwidth > 0.0).then_some(bandwidth)
    }

    /// Asks the driver.
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
            // Virtual devices keep their clocks to themselves.
            clock_khz: number(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).unwrap_or(0),
            memory_clock_khz: number(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0),
            memory_bus_bits: number(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
            l2_bytes: number(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
            memory_bytes: context.total_mem().doing("asking for the device's memory")? as u64,
            constant_bytes: number(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)?,
        })
    }
}
