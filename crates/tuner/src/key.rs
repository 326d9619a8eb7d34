//! What a recorded outcome depends on. An outcome is used again only where all of it is the same.

use loopwright_kernel_ir::LoopKernel;
use loopwright_runtime::{Args, Device, expected_arrays};
use loopwright_transforms::Pipeline;
use serde::{Deserialize, Serialize};

use crate::Point;

/// What an outcome depends on, besides its point. The space is not part of it: one candidate more leaves the others as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The fingerprint of the declared kernel.
    pub kernel: String,
    /// The pipeline's text, its parameters open.
    pub pipeline: String,
    /// Types and shapes of the arrays, values of the other scalars.
    pub problem: String,
    /// The device's name.
    pub device: String,
    /// The driver's version; empty for the emulator.
    pub driver: String,
    /// The compiler's version; empty where there is none.
    pub compiler: String,
    /// The version of this library.
    pub library: String,
}

impl Key {
    /// The key of a kernel and a pipeline, for these arguments on this device.
    pub fn new(
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        args: &Args,
        device: &Device,
    ) -> Result<Key, loopwright_kernel_ir::Diagnostic> {
        let mut problem: Vec<String> = expected_arrays(kernel.declared(), args)?
            .iter()
            .map(|(name, (dtype, shape))| {
                let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
                format!("{name}: {dtype}[{}]", shape.join(", "))
            })
            .collect();
        problem.sort();
        let gpu = device.is_gpu();
        let version = loopwright_runtime::cuda::driver_version().ok().filter(|_| gpu);
        Ok(Key {
            kernel: kernel.declared().fingerprint(),
            pipeline: pipeline.to_string(),
            problem: problem.join("; "),
            device: if gpu { device.name().to_owned() } else { "emulator".to_owned() },
            driver: version.map_or_else(String::new, |(major, minor)| format!("{major}.{minor}")),
            compiler: match loopwright_runtime::nvrtc::library() {
                Ok(library) if gpu => library.fingerprint.clone(),
                _ => String::new(),
            },
            library: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// The first field in which they differ, with both values: ours, theirs.
    pub fn difference(&self, other: &Key) -> Option<(&'static str, &str, String)> {
        let fields = [
            ("kernel", &self.kernel, &other.kernel),
            ("pipeline", &self.pipeline, &other.pipeline),
            ("problem", &self.problem, &other.problem),
            ("device", &self.device, &other.device),
            ("driver", &self.driver, &other.driver),
            ("compiler", &self.compiler, &other.compiler),
            ("library", &self.library, &other.library),
        ];
        fields.into_iter().find(|(_, a, b)| a != b).map(|(name, a, b)| (name, a.as_str(), b.clone()))
    }
}

/// A point's outcome with all that it depends on: a line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What it depends on.
    pub key: Key,
    /// Which point.
    pub point: Point,
    /// What became of it.
    pub outcome: crate::Outcome,
}
