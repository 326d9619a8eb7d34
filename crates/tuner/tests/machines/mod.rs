//! Limits of devices that need not be present.

use loopwright_runtime::{Device, cuda::DeviceInfo};

/// The limits of an H200, which the emulator has.
pub fn h200() -> DeviceInfo {
    Device::emulator().limits().clone()
}

/// The limits of an A100, as reported by its driver.
pub fn a100() -> DeviceInfo {
    DeviceInfo {
        name: "an A100".into(),
        compute_capability: (8, 0),
        multiprocessors: 108,
        shared_per_block_optin: 163 << 10,
        shared_per_multiprocessor: 164 << 10,
        clock_khz: 1_410_000,
        memory_clock_khz: 1_215_000,
        memory_bus_bits: 5120,
        l2_bytes: 40 << 20,
        ..h200()
    }
}
