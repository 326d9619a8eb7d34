//! The limits of devices by compute capability, from the tables of NVIDIA's programming guide.
//!
//! With these, launches are checked and occupancy is computed on a machine without a GPU.
//! Properties that differ between devices of one compute capability (multiprocessors, clocks,
//! memory) are 0 here.

use loopwright_target::Target;

use super::device_info::DeviceInfo;
use crate::arch::Arch;

/// Compute capability, threads and blocks per multiprocessor, shared memory per multiprocessor in
/// KiB.
const TABLE: [((u32, u32), u32, u32, u32); 10] = [
    ((7, 5), 1024, 16, 64),
    ((8, 0), 2048, 32, 164),
    ((8, 6), 1536, 16, 100),
    ((8, 7), 1536, 16, 164),
    ((8, 9), 1536, 24, 100),
    ((9, 0), 2048, 32, 228),
    ((10, 0), 2048, 32, 228),
    ((10, 3), 2048, 32, 228),
    ((12, 0), 1536, 24, 100),
    ((12, 1), 1536, 24, 100),
];

impl DeviceInfo {
    /// The limits of every device of an architecture; none if it is not in the table.
    pub fn of_arch(arch: Arch) -> Option<DeviceInfo> {
        let capability = (arch.major, arch.minor);
        let &(_, threads, blocks, shared) = TABLE.iter().find(|row| row.0 == capability)?;
        let target = Target::cuda();
        // From 8.0 on, the system reserves 1 KiB of each block's shared memory.
        let reserved = if arch.major >= 8 { 1 } else { 0 };
        Some(DeviceInfo {
            name: format!("any device of compute capability {}.{}", arch.major, arch.minor),
            compute_capability: capability,
            warp_size: target.warp_size,
            max_threads_per_block: target.most_threads,
            max_threads_per_multiprocessor: threads,
            max_blocks_per_multiprocessor: blocks,
            max_block: [target.most_threads, target.most_threads, 64],
            max_grid: [0x7fff_ffff, target.most_blocks, target.most_blocks],
            registers_per_block: target.registers,
            registers_per_multiprocessor: 65536,
            shared_per_block: u32::try_from(target.static_shared).unwrap_or(u32::MAX),
            shared_per_block_optin: (shared - reserved) << 10,
            shared_per_multiprocessor: shared << 10,
            shared_reserved_per_block: reserved << 10,
            constant_bytes: 64 << 10,
            ..DeviceInfo::default()
        })
    }
}
