//! Occupancy: the number of blocks resident on a multiprocessor at the same time, computed without
//! a device.
//!
//! Four resources bound it. Blocks and warps are counted. Registers are allocated to a warp in
//! units of 256, and warps are distributed evenly over the four partitions of a multiprocessor, so
//! that their number is a multiple of four. Shared memory is allocated to a block in units of 128
//! bytes (256 before 8.0), including the part reserved by the system. A test on a GPU compares the
//! result with the driver's.

use super::device_info::DeviceInfo;

/// A resource that bounds the number of resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The most blocks that a multiprocessor holds.
    Blocks,
    /// The most warps that a multiprocessor holds.
    Warps,
    /// The 32-bit registers of a multiprocessor.
    Registers,
    /// Shared memory per multiprocessor, or per block.
    SharedMemory,
}

/// Blocks and warps resident on a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Number of resident blocks; 0 if a block does not fit.
    pub blocks: u32,
    /// Number of warps of the resident blocks.
    pub warps: u32,
    /// The most warps that may be resident on a multiprocessor.
    pub max_warps: u32,
    /// The resource that admits the fewest blocks.
    pub limited_by: Resource,
}

impl Occupancy {
    /// Resident warps divided by `max_warps`: 0 to 1.
    pub fn fraction(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.max_warps.max(1))
    }
}

/// The occupancy of blocks of `threads` threads of `registers` registers each, with `shared_bytes`
/// of shared memory, declared and dynamic.
pub fn occupancy(device: &DeviceInfo, threads: u32, registers: u32, shared_bytes: u32) -> Occupancy {
    let warp_size = device.warp_size.max(1);
    let max_warps = device.max_threads_per_multiprocessor / warp_size;
    let warps = threads.div_ceil(warp_size).max(1);
    let by_warps = if threads > device.max_threads_per_block { 0 } else { max_warps / warps };
    let by_registers = match registers.saturating_mul(warp_size).div_ceil(256).saturating_mul(256) {
        0 => u32::MAX,
        // The limit of a block is also that of the register file that its warps share.
        of_warp => device.registers_per_multiprocessor / of_warp / 4 * 4 / warps,
    };
    let piece = if device.compute_capability.0 >= 8 { 128 } else { 256 };
    let by_shared = if shared_bytes > device.shared_per_block_optin {
        0
    } else {
        match shared_bytes.div_ceil(piece) * piece + device.shared_reserved_per_block {
            0 => u32::MAX,
            of_block => device.shared_per_multiprocessor / of_block,
        }
    };
    // Of equal bounds, the first one is reported.
    let bounds = [
        (by_warps, Resource::Warps),
        (by_registers, Resource::Registers),
        (by_shared, Resource::SharedMemory),
        (device.max_blocks_per_multiprocessor, Resource::Blocks),
    ];
    let (blocks, limited_by) =
        bounds.into_iter().min_by_key(|(blocks, _)| *blocks).unwrap_or((0, Resource::Blocks));
    Occupancy { blocks, warps: blocks * warps, max_warps, limited_by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;

    #[test]
    fn each_resource_bounds() {
        let a100 = DeviceInfo::of_arch(Arch::SM_80).unwrap();
        let case = |threads, registers, shared| {
            let occupancy = occupancy(&a100, threads, registers, shared);
            (occupancy.blocks, occupancy.warps, occupancy.limited_by)
        };
        // 64 warps and 32 blocks, 65536 registers, 164 KiB.
        assert_eq!(case(256, 32, 0), (8, 64, Resource::Warps));
        assert_eq!(case(32, 16, 0), (32, 32, Resource::Blocks));
        // 33 registers take 5 units of 256 per warp: 51 warps, rounded down to 48.
        assert_eq!(case(256, 33, 0), (6, 48, Resource::Registers));
        // 1024 threads of 65 registers each would need 66560 of 65536.
        assert_eq!(case(1024, 65, 0).0, 0);
        assert_eq!(case(1024, 64, 0), (1, 32, Resource::Registers));
        // 40 KiB and the 1 KiB of the system: 4 times 41 is 164.
        assert_eq!(case(128, 32, 40 << 10), (4, 16, Resource::SharedMemory));
        assert_eq!(case(128, 32, (40 << 10) + 1), (3, 12, Resource::SharedMemory));
        assert_eq!(case(128, 32, 163 << 10).0, 1);
        assert_eq!(case(128, 32, (163 << 10) + 1).0, 0);
        assert_eq!(case(1025, 1, 0).0, 0);
        assert_eq!(occupancy(&a100, 256, 64, 0).fraction(), 0.5);
    }
}
