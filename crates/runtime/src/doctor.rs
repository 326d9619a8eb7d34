//! The driver, compilers and devices of this machine, and what is missing for which task.
//!
//! [`examine`] never fails: whatever is missing becomes a finding with a remedy. The report is
//! data; [`Report::render`] is the text that the command line prints.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::cache::Cache;
use crate::cuda::{CudaError, Device, DeviceInfo, driver_version};
use crate::disasm::Disassembler;
use crate::nvrtc::{self, Library, NotFound};
use loopwright_cuda::tools;

/// The driver, compilers and devices of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The newest CUDA version that the driver supports: major, minor.
    pub driver: Result<(u32, u32), CudaError>,
    /// The devices that could be opened, in the driver's order.
    pub devices: Vec<DeviceInfo>,
    /// The last error of opening a device; none if all could be opened.
    pub device_error: Option<CudaError>,
    /// NVRTC, the compiler of CUDA C.
    pub nvrtc: Result<Library, NotFound>,
    /// The C++ compiler of the system: its path and the first line of its `--version`.
    pub cxx: Option<(PathBuf, String)>,
    /// The path of the disassembler.
    pub disassembler: Option<PathBuf>,
    /// The folder of compiled binaries; none if the cache is turned off.
    pub cache: Option<PathBuf>,
    /// The number of processor cores, which the emulator runs blocks on.
    pub cores: usize,
}

/// A task that this machine cannot do, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The task, as a gerund phrase.
    pub task: &'static str,
    /// What is missing, as a clause.
    pub reason: String,
    /// How to provide it, as an imperative clause.
    pub remedy: String,
}

/// Finds out what this machine has for running kernels: driver, devices, compilers.
pub fn examine() -> Report {
    let driver = driver_version();
    let mut devices = Vec::new();
    let mut device_error = None;
    let count = Device::count();
    for ordinal in 0..count.max(1) {
        match Device::open(ordinal) {
            Ok(device) => devices.push(device.info().clone()),
            Err(error) => device_error = Some(error),
        }
    }
    Report {
        driver,
        devices,
        device_error,
        nvrtc: nvrtc::library().cloned(),
        cxx: cxx(),
        disassembler: Disassembler::find().map(|disassembler| disassembler.program),
        cache: Cache::from_environment().folder().map(PathBuf::from),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    }
}

fn cxx() -> Option<(PathBuf, String)> {
    let program = ["c++", "g++", "clang++"].into_iter().find_map(tools::on_path)?;
    let output = Command::new(&program).arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
    Some((program, version))
}

impl Report {
    /// The tasks that this machine cannot do. Printing, checking and emulating kernels are never
    /// among them.
    pub fn missing(&self) -> Vec<Missing> {
        let mut missing = Vec::new();
        let error = self.driver.as_ref().err().or(self.device_error.as_ref());
        if self.devices.is_empty() {
            let error = error.unwrap_or(&CudaError::NoDevice);
            missing.push(Missing {
                task: "running kernels on a GPU",
                reason: reason(error),
                remedy: error.remedy().unwrap_or_else(|| "check the driver with nvidia-smi".to_owned()),
            });
        } else if let Some(error) = error {
            missing.push(Missing {
                task: "running kernels on every GPU",
                reason: reason(error),
                remedy: error.remedy().unwrap_or_else(|| "check the driver with nvidia-smi".to_owned()),
            });
        }
        match &self.nvrtc {
            Err(error) => missing.push(Missing {
                task: "compiling CUDA C",
                reason: format!("there is no NVRTC: {}", error.reason),
                remedy: error.remedy(),
            }),
            Ok(library) => {
                if library.headers.is_none() {
                    missing.push(Missing {
                        task: "compiling kernels in half precision",
                        reason: "there is no cuda_fp16.h".to_owned(),
                        remedy: "run `make setup`, or install the headers of the CUDA toolkit".to_owned(),
                    });
                }
                for device in &self.devices {
                    let arch = device.arch();
                    if !library.architectures.contains(&arch.number()) {
                        missing.push(Missing {
                            task: "compiling CUDA C for this GPU",
                            reason: format!(
                                "NVRTC {}.{} does not support {arch} ({})",
                                library.version.0, library.version.1, device.name
                            ),
                            remedy: "install a CUDA toolkit that does, or set LOOPWRIGHT_NVRTC to \
                                     its folder"
                                .to_owned(),
                        });
                    }
                }
            }
        }
        if self.cxx.is_none() {
            missing.push(Missing {
                task: "testing printed kernels with the system's C++ compiler",
                reason: "there is no c++, g++ or clang++".to_owned(),
                remedy: "run `make setup`, or install g++".to_owned(),
            });
        }
        if self.disassembler.is_none() {
            missing.push(Missing {
                task: "showing machine code",
                reason: "there is neither nvdisasm nor cuobjdump".to_owned(),
                remedy: "run `make setup`, or install a CUDA toolkit".to_owned(),
            });
        }
        missing
    }

    /// The report as lines of text, a label and its value each.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{label:<14}{value}");
        };
        match self.driver {
            Ok((major, minor)) => line("driver", format!("CUDA {major}.{minor}")),
            Err(_) => line("driver", "none".to_owned()),
        }
        match &self.nvrtc {
            Ok(library) => {
                line(
                    "NVRTC",
                    format!("{}.{} from {}", library.version.0, library.version.1, library.file.display()),
                );
                let headers =
                    library.headers.as_ref().map_or("none".to_owned(), |folder| folder.display().to_string());
                line("CUDA headers", headers);
                let names: Vec<String> =
                    library.architectures.iter().map(|number| format!("sm_{number}")).collect();
                line("compiles for", names.join(" "));
            }
            Err(_) => line("NVRTC", "none".to_owned()),
        }
        match &self.cxx {
            Some((program, version)) => line("C++ compiler", format!("{} ({version})", program.display())),
            None => line("C++ compiler", "none".to_owned()),
        }
        line(
            "disassembler",
            self.disassembler.as_ref().map_or("none".to_owned(), |program| program.display().to_string()),
        );
        line(
            "binary cache",
            self.cache.as_ref().map_or("off".to_owned(), |folder| folder.display().to_string()),
        );
        line("emulator", format!("{} cores", self.cores));
        if self.devices.is_empty() {
            line("device", "none".to_owned());
        }
        for device in &self.devices {
            describe(device, &mut line);
        }
        let missing = self.missing();
        if missing.is_empty() {
            text.push_str("\nNothing is missing.\n");
        } else {
            text.push_str("\nMissing:\n");
            for Missing { task, reason, remedy } in missing {
                let _ = writeln!(text, "- {task}: {reason}.\n  Remedy: {remedy}.");
            }
        }
        text
    }
}

/// An error without its remedy, which the report shows on a separate line.
fn reason(error: &CudaError) -> String {
    let whole = error.to_string();
    match error.remedy() {
        Some(remedy) => whole.strip_suffix(&format!("; {remedy}")).unwrap_or(&whole).to_owned(),
        None => whole,
    }
}

fn describe(device: &DeviceInfo, line: &mut impl FnMut(&str, String)) {
    let kib = |bytes: u32| format!("{} KiB", bytes / 1024);
    let (major, minor) = device.compute_capability;
    line(
        &format!("device {}", device.ordinal),
        format!("{}, compute capability {major}.{minor} ({})", device.name, device.arch()),
    );
    let mut detail = |what: &str, value: String| line("", format!("{what:<16}{value}"));
    detail(
        "multiprocessors",
        format!(
            "{}, each with {} warps of {} threads and at most {} blocks",
            device.multiprocessors,
            device.max_threads_per_multiprocessor / device.warp_size.max(1),
            device.warp_size,
            device.max_blocks_per_multiprocessor
        ),
    );
    detail(
        "threads",
        format!("at most {} a block, {:?} by axis", device.max_threads_per_block, device.max_block),
    );
    detail("grid", format!("at most {:?} blocks by axis", device.max_grid));
    detail(
        "registers",
        format!(
            "{} a multiprocessor, at most {} a block",
            device.registers_per_multiprocessor, device.registers_per_block
        ),
    );
    detail(
        "shared memory",
        format!(
            "{} per multiprocessor; per block: {} by default, at most {}, {} more reserved by the \
             system",
            kib(device.shared_per_multiprocessor),
            kib(device.shared_per_block),
            kib(device.shared_per_block_optin),
            kib(device.shared_reserved_per_block)
        ),
    );
    let bandwidth = device
        .peak_bandwidth()
        .map_or(String::new(), |bandwidth| format!(", at most {:.0} GB/s", bandwidth / 1e9));
    detail(
        "memory",
        format!(
            "{:.1} GiB{bandwidth}, L2 {:.0} MiB",
            device.memory_bytes as f64 / f64::from(1 << 30),
            device.l2_bytes as f64 / f64::from(1 << 20)
        ),
    );
    detail(
        "clocks",
        format!("{} MHz, memory {} MHz", device.clock_khz / 1000, device.memory_clock_khz / 1000),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare() -> Report {
        Report {
            driver: Err(CudaError::NoDriver),
            devices: Vec::new(),
            device_error: Some(CudaError::NoDriver),
            nvrtc: Err(NotFound { reason: "it is nowhere".into(), searched: Vec::new() }),
            cxx: None,
            disassembler: None,
            cache: None,
            cores: 2,
        }
    }

    #[test]
    fn a_bare_machine_lacks_everything_and_hears_what_to_do() {
        let tasks: Vec<&str> = bare().missing().iter().map(|missing| missing.task).collect();
        assert_eq!(
            tasks,
            [
                "running kernels on a GPU",
                "compiling CUDA C",
                "testing printed kernels with the system's C++ compiler",
                "showing machine code"
            ]
        );
        let text = bare().render();
        for part in ["driver        none\n", "device        none\n", "emulator      2 cores\n"] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(
            text.contains(
                "- running kernels on a GPU: this machine has no CUDA driver.\n  Remedy: install \
                 NVIDIA's driver"
            ),
            "{text}"
        );
        assert!(text.contains("make setup"), "{text}");
    }

    #[test]
    fn a_full_machine_lacks_nothing() {
        let device = DeviceInfo {
            name: "Some GPU".into(),
            compute_capability: (9, 0),
            multiprocessors: 132,
            warp_size: 32,
            max_threads_per_multiprocessor: 2048,
            shared_per_block_optin: 227 << 10,
            memory_bytes: 80 << 30,
            memory_clock_khz: 2_619_000,
            memory_bus_bits: 5120,
            ..DeviceInfo::default()
        };
        let library = Library {
            version: (13, 0),
            file: "/lib/libnvrtc.so.13".into(),
            headers: Some("/include".into()),
            architectures: vec![80, 90],
            fingerprint: String::new(),
        };
        let full = Report {
            driver: Ok((13, 0)),
            devices: vec![device],
            device_error: None,
            nvrtc: Ok(library.clone()),
            cxx: Some(("/usr/bin/c++".into(), "13.2".into())),
            disassembler: Some("/usr/bin/nvdisasm".into()),
            cache: Some("/cache".into()),
            cores: 8,
        };
        let text = full.render();
        assert_eq!(full.missing(), [], "{text}");
        for part in [
            "Some GPU, compute capability 9.0 (sm_90a)",
            "132, each with 64 warps",
            "at most 227 KiB",
            "80.0 GiB, at most 3352 GB/s",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        let older = Library { architectures: vec![80], headers: None, ..library };
        let tasks: Vec<&str> =
            Report { nvrtc: Ok(older), ..full }.missing().iter().map(|missing| missing.task).collect();
        assert_eq!(tasks, ["compiling kernels in half precision", "compiling CUDA C for this GPU"]);
    }

    #[test]
    fn this_machine_can_be_examined() {
        let report = examine();
        let text = report.render();
        assert!(report.cores > 0 && text.contains("NVRTC"));
        // Where there is a GPU, it is in the report.
        if let Ok(device) = Device::first() {
            assert!(report.devices.contains(device.info()) && text.contains(&device.info().name), "{text}");
        }
    }
}
