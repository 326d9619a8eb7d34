//! The key of a recorded outcome: everything that it depends on. An outcome is reused only if all
//! of it is the same.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_runtime::{Args, Device, known};
use loopwright_transforms::Pipeline;
use serde::{Deserialize, Serialize};

use crate::{Point, data_class};

/// Everything that an outcome depends on, except its point. The space is not part of it: an
/// additional candidate does not affect the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The fingerprint of the declared kernel.
    pub kernel: String,
    /// The pipeline's text, with open parameters.
    pub pipeline: String,
    /// Types and shapes of the arrays, values of the integer scalars.
    pub problem: String,
    /// Digests of the contents of arrays with declared facts, such as offsets and indices, which
    /// determine the distribution of work; with their names.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data: String,
    /// The name of the device; `emulator` for the CPU.
    pub device: String,
    /// The driver's version; empty for the emulator.
    pub driver: String,
    /// The compiler's version; empty if there is none.
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
    ) -> Result<Key, Diagnostic> {
        Ok(Key {
            kernel: kernel.declared().fingerprint(),
            pipeline: pipeline.to_string(),
            problem: problem(kernel, args, usize::to_string)?,
            data: data(kernel, args)?,
            device: device_name(device),
            driver: driver(device),
            compiler: compiler(device),
            library: library(),
        })
    }

    /// The values of the integer scalars.
    pub fn sizes(&self) -> BTreeMap<Name, i64> {
        read_problem(&self.problem).1
    }

    /// What it was found with, for pages: the versions of the library, of the driver and of the
    /// compiler, where there are such.
    pub(crate) fn versions(&self) -> String {
        let driver = if self.driver.is_empty() { String::new() } else { format!("driver {}", self.driver) };
        let all = [format!("loopwright {}", self.library), driver, self.compiler.clone()];
        let all: Vec<String> = all.into_iter().filter(|version| !version.is_empty()).collect();
        all.join(", ")
    }

    /// The types of the arrays, such as `x: f32, out: f32`.
    pub fn types(&self) -> String {
        read_problem(&self.problem).0
    }

    /// The first field in which they differ, with both values: ours, theirs.
    pub fn difference(&self, other: &Key) -> Option<(&'static str, &str, String)> {
        let fields = [
            ("kernel", &self.kernel, &other.kernel),
            ("pipeline", &self.pipeline, &other.pipeline),
            ("problem", &self.problem, &other.problem),
            ("data", &self.data, &other.data),
            ("device", &self.device, &other.device),
            ("driver", &self.driver, &other.driver),
            ("compiler", &self.compiler, &other.compiler),
            ("library", &self.library, &other.library),
        ];
        fields.into_iter().find(|(_, a, b)| a != b).map(|(name, a, b)| (name, a.as_str(), b.clone()))
    }
}

/// Digests of the arrays with declared facts.
pub(crate) fn data(kernel: &LoopKernel, args: &Args) -> Result<String, Diagnostic> {
    let mut digests = Vec::new();
    let args = args.with_fields(kernel)?;
    for name in data_class::arrays(kernel) {
        if let Some(values) = args.values(&name)? {
            let hash = blake3::hash(values.buffer().bytes()).to_hex();
            digests.push(format!("{name}: {}", &hash[..16]));
        }
    }
    Ok(digests.join("; "))
}

/// Types and shapes of the arrays and the integer scalars, each length written by `length`.
pub(crate) fn problem(
    kernel: &LoopKernel,
    args: &Args,
    length: impl Fn(&usize) -> String,
) -> Result<String, Diagnostic> {
    let known = known(kernel.declared(), args)?;
    let mut parts: Vec<String> = known
        .arrays
        .iter()
        .map(|(name, (dtype, shape))| {
            let shape: Vec<String> = shape.iter().map(&length).collect();
            format!("{name}: {dtype}[{}]", shape.join(", "))
        })
        .collect();
    parts.sort();
    parts.extend(known.integers.iter().map(|(name, value)| match usize::try_from(*value) {
        Ok(value) => format!("{name} = {}", length(&value)),
        Err(_) => format!("{name} = {value}"),
    }));
    Ok(parts.join("; "))
}

/// Reads what [`problem`] has written: the arrays' types without their shapes, and the integer
/// scalars.
fn read_problem(problem: &str) -> (String, BTreeMap<Name, i64>) {
    let parts = problem.split("; ");
    let types = parts.clone().filter_map(|p| p.split_once('[').map(|(typed, _)| typed));
    let integers = parts.filter_map(|p| {
        let (name, value) = p.split_once(" = ")?;
        Some((Name::new(name), value.parse().ok()?))
    });
    (types.collect::<Vec<_>>().join(", "), integers.collect())
}

/// The name of the device in keys.
pub(crate) fn device_name(device: &Device) -> String {
    if device.is_gpu() { device.name().to_owned() } else { "emulator".to_owned() }
}

/// The driver's version, empty for the emulator.
pub(crate) fn driver(device: &Device) -> String {
    let version = loopwright_runtime::cuda::driver_version().ok().filter(|_| device.is_gpu());
    version.map_or_else(String::new, |(major, minor)| format!("{major}.{minor}"))
}

/// The compiler's version, empty if nothing is compiled.
pub(crate) fn compiler(device: &Device) -> String {
    match loopwright_runtime::nvrtc::library() {
        Ok(library) if device.is_gpu() => compiler_version(library),
        _ => String::new(),
    }
}

/// Unlike the build's fingerprint, a version is the same on every machine.
pub(crate) fn compiler_version(library: &loopwright_runtime::nvrtc::Library) -> String {
    format!("nvrtc {}.{}", library.version.0, library.version.1)
}

/// The version of this library.
pub(crate) fn library() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// A point's outcome with everything it depends on: a line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Everything the outcome depends on, except the point.
    pub key: Key,
    /// The point of the space.
    pub point: Point,
    /// The sample on which it was checked and counted, and the machine for which costs are
    /// estimated.
    #[serde(default)]
    pub basis: String,
    /// The name of the search. Nothing depends on it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The text of the declared kernel, in the first record that a search appends: for pages.
    /// Nothing depends on it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub declared: String,
    /// What became of the point.
    pub outcome: crate::Outcome,
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_kernel_ir::DType;
    use loopwright_runtime::Tensor;

    #[test]
    fn a_problem_is_read_as_it_was_written() {
        let kernel = LoopKernel::parse(
            "kernel k(x: f32[n, m], idx: i32[n], y: f64[n], n: i32, m: i32, shift: i32, a: f32)\n\
             assume 1 <= m\n\
             domain { [i] : 0 <= i < n }\n\
             y[i] = a * x[i, 0] + idx[i] + shift",
        )
        .expect("a kernel");
        let tensor = |shape: &[usize], dtype| Tensor::zeros(shape, dtype).expect("a tensor");
        let args = Args::new()
            .tensor("x", &tensor(&[3, 5], DType::F32))
            .tensor("idx", &tensor(&[3], DType::I32))
            .scalar("shift", -7)
            .scalar("a", 0.5f32);
        let written = problem(&kernel, &args, usize::to_string).expect("a problem");
        let (types, sizes) = read_problem(&written);
        assert_eq!(types, "idx: i32, x: f32, y: f64");
        let sizes: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(sizes, ["m=5", "n=3", "shift=-7"]);
    }
}
