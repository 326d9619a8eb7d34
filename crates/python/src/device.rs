//! Devices and streams, as Python names them.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use loopwright::prelude::{Device, Diagnostic};

/// The device of a name: `emulator`, `gpu`, `gpu:1`, or `best`, which is a GPU if there is one.
/// Each is opened once in a process.
pub fn named(name: &str) -> Result<Device, Diagnostic> {
    match name {
        "best" => Ok(gpu(0).unwrap_or_else(|_| emulator())),
        "emulator" => Ok(emulator()),
        "gpu" => gpu(0),
        other => match other.strip_prefix("gpu:").and_then(|n| n.parse().ok()) {
            Some(number) => gpu(number),
            None => Err(Diagnostic::new("device", format!("there is no device `{other}`"))
                .help("write \"emulator\", \"gpu\", \"gpu:1\" or \"best\"")),
        },
    }
}

fn emulator() -> Device {
    static EMULATOR: OnceLock<Device> = OnceLock::new();
    EMULATOR.get_or_init(Device::emulator).clone()
}

/// The GPU of a number, counted from 0.
pub fn gpu(number: usize) -> Result<Device, Diagnostic> {
    static GPUS: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
    let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = gpus.get(&number) {
        return Ok(device.clone());
    }
    let device = Device::cuda(number)?;
    gpus.insert(number, device.clone());
    Ok(device)
}
