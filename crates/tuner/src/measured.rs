//! Rates of machines' memory, kept on disk.
//!
//! A measurement takes about a second, which each search would otherwise spend. The rates are kept
//! next to the cached binaries ([`Cache`]), one file per device, and are valid for that device, its
//! driver, this library's version and the measuring kernels. To measure again, remove the file,
//! `machine-*.json`, or turn the cache off. A damaged or unrelated file is ignored, and one that
//! cannot be written costs the next search a second.

use std::path::{Path, PathBuf};

use loopwright_runtime::cuda::DeviceInfo;
use loopwright_runtime::{Cache, Device};
use serde::{Deserialize, Serialize};

use crate::{Rates, key};

/// The key of stored rates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subject {
    device: String,
    multiprocessors: u32,
    memory_clock_khz: u32,
    memory_bus_bits: u32,
    memory_bytes: u64,
    driver: String,
    library: String,
    /// A hash of the kernels that measure and of the bytes that they measure with.
    kernels: String,
}

impl Subject {
    /// A device with its driver, and the kernels that measure it, as texts.
    pub fn new(device: &Device, kernels: &[String]) -> Subject {
        Subject::of(device.limits(), key::driver(device), kernels)
    }

    fn of(info: &DeviceInfo, driver: String, kernels: &[String]) -> Subject {
        Subject {
            device: info.name.clone(),
            multiprocessors: info.multiprocessors,
            memory_clock_khz: info.memory_clock_khz,
            memory_bus_bits: info.memory_bus_bits,
            memory_bytes: info.memory_bytes,
            driver,
            library: key::library(),
            kernels: blake3::hash(kernels.join("\0").as_bytes()).to_hex().to_string(),
        }
    }

    /// Different devices have different files.
    fn file(&self, folder: &Path) -> PathBuf {
        let hash = blake3::hash(format!("{self:?}").as_bytes()).to_hex();
        folder.join(format!("machine-{}.json", &hash[..16]))
    }
}

/// The contents of a file.
#[derive(Serialize, Deserialize)]
struct Kept {
    subject: Subject,
    /// Rate of kernels that only read, in bytes per second.
    read: f64,
    /// Rate of kernels that write as much as they read, in bytes per second.
    copy: f64,
    /// The checksum of all fields above.
    checksum: String,
}

impl Kept {
    fn new(subject: &Subject, rates: &Rates) -> Kept {
        let all = format!("{subject:?} {:x} {:x}", rates.read.to_bits(), rates.copy.to_bits());
        let checksum = blake3::hash(all.as_bytes()).to_hex().to_string();
        Kept { subject: subject.clone(), read: rates.read, copy: rates.copy, checksum }
    }
}

/// The folder of the cache in the environment; none if it is turned off.
pub(crate) fn folder() -> Option<PathBuf> {
    Cache::from_environment().folder().map(Path::to_owned)
}

/// Rates that were measured for a device earlier.
pub(crate) fn recall(folder: &Path, subject: &Subject) -> Option<Rates> {
    let kept: Kept = serde_json::from_slice(&std::fs::read(subject.file(folder)).ok()?).ok()?;
    let rates = Rates { read: kept.read, copy: kept.copy };
    let whole = kept.checksum == Kept::new(&kept.subject, &rates).checksum;
    (whole && kept.subject == *subject).then_some(rates)
}

/// Stores rates, atomically.
pub(crate) fn keep(folder: &Path, subject: &Subject, rates: &Rates) {
    let path = subject.file(folder);
    let own = path.with_extension(format!("{}", std::process::id()));
    let Ok(text) = serde_json::to_vec(&Kept::new(subject, rates)) else { return };
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&own, text))
        .and_then(|()| std::fs::rename(&own, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { read: 4.54e12, copy: 4.031e12 };

    fn h200() -> DeviceInfo {
        DeviceInfo {
            name: "NVIDIA H200".to_owned(),
            multiprocessors: 132,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6144,
            memory_bytes: 150_000_000_000,
            ..DeviceInfo::default()
        }
    }

    fn subject(info: &DeviceInfo, driver: &str, kernels: &str) -> Subject {
        Subject::of(info, driver.to_owned(), &[kernels.to_owned()])
    }

    #[test]
    fn what_was_measured_comes_back_for_the_same_and_nothing_else() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = temporary.path().join("not/yet");
        let this = subject(&h200(), "13.0", "read");
        assert_eq!(recall(&folder, &this), None);
        keep(&folder, &this, &RATES);
        assert_eq!(recall(&folder, &this), Some(RATES));
        assert_eq!(std::fs::read_dir(&folder).expect("lists").count(), 1, "nothing else stays");
        let others = [
            subject(&DeviceInfo { name: "another".to_owned(), ..h200() }, "13.0", "read"),
            subject(&DeviceInfo { multiprocessors: 78, ..h200() }, "13.0", "read"),
            subject(&DeviceInfo { memory_clock_khz: 1, ..h200() }, "13.0", "read"),
            subject(&DeviceInfo { memory_bytes: 1, ..h200() }, "13.0", "read"),
            subject(&h200(), "13.1", "read"),
            subject(&h200(), "13.0", "copy"),
            Subject { library: "another".to_owned(), ..this.clone() },
        ];
        for other in others {
            assert_eq!(recall(&folder, &other), None, "{other:?}");
            // Nor if its file has been copied over the other's.
            std::fs::copy(this.file(&folder), other.file(&folder)).expect("copies");
            assert_eq!(recall(&folder, &other), None, "{other:?}");
            // Each has its own.
            keep(&folder, &other, &Rates { read: 1e12, copy: 2e12 });
            assert_eq!(recall(&folder, &other), Some(Rates { read: 1e12, copy: 2e12 }));
        }
        assert_eq!(recall(&folder, &this), Some(RATES));
    }

    #[test]
    fn damage_is_measured_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let this = subject(&h200(), "13.0", "read");
        keep(folder.path(), &this, &RATES);
        let file = this.file(folder.path());
        let whole = std::fs::read(&file).expect("a file");
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            for damaged in [&flipped[..], &whole[..at]] {
                std::fs::write(&file, damaged).expect("writes");
                assert_eq!(recall(folder.path(), &this), None, "{}", String::from_utf8_lossy(damaged));
            }
        }
        keep(folder.path(), &this, &RATES);
        assert_eq!(recall(folder.path(), &this), Some(RATES));
    }

    #[test]
    fn a_folder_that_cannot_be_written_costs_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "not a folder").expect("writes");
        let this = subject(&h200(), "13.0", "read");
        keep(&file, &this, &RATES);
        assert_eq!(recall(&file, &this), None);
    }
}
