//! Checks launches against limits before they are tried.
//!
//! If a launch exceeds a limit, the driver reports one of two errors that do not say which. Here
//! every limit is checked by name, first those of the device, then those of the function, and the
//! first one that is exceeded is reported with both numbers.

use super::device_info::DeviceInfo;
use super::module::FunctionInfo;
use super::shape::LaunchShape;

pub use super::limit_error::{Limit, LimitError};

/// Compares a launch with the limits of a device and of a function. An empty grid is accepted: it
/// launches nothing.
pub fn check(device: &DeviceInfo, function: &FunctionInfo, shape: &LaunchShape) -> Result<(), LimitError> {
    let within = |limit: Limit, asked: u64, allowed: u64| {
        if asked <= allowed {
            Ok(())
        } else {
            Err(LimitError { kernel: function.name.clone(), limit, asked, allowed })
        }
    };
    if let Some(&empty) = shape.block.iter().find(|&&extent| extent == 0) {
        return Err(LimitError {
            kernel: function.name.clone(),
            limit: Limit::EmptyBlock,
            asked: empty.into(),
            allowed: 1,
        });
    }
    for axis in 0..3 {
        within(Limit::BlockExtent(axis), shape.block[axis].into(), device.max_block[axis].into())?;
    }
    // Extents within those limits, at most 1024 each, cannot overflow; without a device's limits
    // they might.
    let threads = shape.block.iter().map(|&extent| u64::from(extent)).fold(1, u64::saturating_mul);
    within(Limit::BlockThreads, threads, device.max_threads_per_block.into())?;
    within(Limit::KernelThreads, threads, function.max_threads_per_block.into())?;
    for axis in 0..3 {
        within(Limit::GridExtent(axis), shape.grid[axis], device.max_grid[axis].into())?;
    }
    let shared = u64::from(function.shared_bytes) + u64::from(shape.dynamic_shared);
    within(Limit::SharedMemory, shared, device.shared_per_block_optin.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> DeviceInfo {
        DeviceInfo {
            max_threads_per_block: 1024,
            max_block: [1024, 1024, 64],
            max_grid: [0x7fff_ffff, 65535, 65535],
            shared_per_block: 48 << 10,
            shared_per_block_optin: 227 << 10,
            ..DeviceInfo::default()
        }
    }

    fn function() -> FunctionInfo {
        FunctionInfo {
            name: "f".into(),
            shared_bytes: 1024,
            max_threads_per_block: 768,
            ..FunctionInfo::default()
        }
    }

    fn broken(grid: [u64; 3], block: [u32; 3], dynamic_shared: u32) -> Option<(Limit, u64, u64)> {
        check(&device(), &function(), &LaunchShape { grid, block, dynamic_shared })
            .err()
            .map(|error| (error.limit, error.asked, error.allowed))
    }

    #[test]
    fn each_limit_is_found_at_its_edge() {
        assert_eq!(broken([1, 1, 1], [768, 1, 1], 226 << 10), None);
        assert_eq!(broken([0x7fff_ffff, 65535, 65535], [1, 1, 64], 0), None);
        assert_eq!(broken([0, 1, 1], [1, 1, 1], 0), None, "an empty grid is not an error");
        assert_eq!(broken([1, 1, 1], [1, 0, 1], 0), Some((Limit::EmptyBlock, 0, 1)));
        assert_eq!(broken([1, 1, 1], [1, 1, 65], 0), Some((Limit::BlockExtent(2), 65, 64)));
        assert_eq!(broken([1, 1, 1], [1025, 1, 1], 0), Some((Limit::BlockExtent(0), 1025, 1024)));
        assert_eq!(broken([1, 1, 1], [1024, 2, 1], 0), Some((Limit::BlockThreads, 2048, 1024)));
        assert_eq!(broken([1, 1, 1], [769, 1, 1], 0), Some((Limit::KernelThreads, 769, 768)));
        assert_eq!(broken([1 << 31, 1, 1], [1, 1, 1], 0), Some((Limit::GridExtent(0), 1 << 31, 0x7fff_ffff)));
        assert_eq!(broken([1, 65536, 1], [1, 1, 1], 0), Some((Limit::GridExtent(1), 65536, 65535)));
        let shared = (226 << 10) + 1;
        assert_eq!(
            broken([1, 1, 1], [1, 1, 1], shared),
            Some((Limit::SharedMemory, u64::from(shared) + 1024, 227 << 10))
        );
        assert_eq!(
            broken([1, 1, 1], [1, 1, 1], u32::MAX),
            Some((Limit::SharedMemory, (1 << 32) + 1023, 227 << 10))
        );
    }

    #[test]
    fn the_message_has_both_numbers() {
        let shape = LaunchShape { grid: [1, 70000, 1], block: [32, 1, 1], dynamic_shared: 0 };
        let error = check(&device(), &function(), &shape).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`f` cannot be launched: its grid has 70000 blocks along y, and the device allows 65535"
        );
    }
}
