//! Whether a candidate computes what the declared kernel says: on a sample of the problem, before its time counts.

use std::time::Instant;

use indexmap::IndexMap;
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel, Name};
use loopwright_lowering::program::Owner;
use loopwright_runtime::{Args, Device, Tensor};

/// What the declared kernel gives for the sample, from the plain interpreter in f64.
pub(crate) struct Judge {
    expected: IndexMap<Name, Tensor>,
    /// Bytes of arrays that must move: read ones and written ones, each once.
    pub necessary_bytes: f64,
}

impl Judge {
    /// Of the declared kernel on a sample; none where the deadline came first.
    pub fn new(
        kernel: &LoopKernel,
        sample: &Args,
        deadline: Option<Instant>,
    ) -> Result<Option<Judge>, Diagnostic> {
        let compiled = Device::emulator().compile(kernel.declared())?;
        let bound = compiled.bind(sample)?;
        let mut necessary_bytes = 0.0;
        for global in bound.program().globals.iter().filter(|g| g.owner == Owner::Caller) {
            let tensor = bound.array(&global.name)?;
            let bytes = (tensor.shape().iter().product::<usize>() * tensor.dtype().bytes()) as f64;
            necessary_bytes +=
                bytes * (f64::from(u8::from(global.read)) + f64::from(u8::from(global.written)));
        }
        match compiled.reference_in_f64_until(sample, deadline) {
            Ok(expected) => Ok(Some(Judge { expected, necessary_bytes })),
            Err(d) if d.code == "out-of-time" => Ok(None),
            Err(d) => Err(d),
        }
    }

    /// Of results that are right.
    pub fn of_results(expected: IndexMap<Name, Tensor>) -> Judge {
        Judge { expected, necessary_bytes: 0.0 }
    }

    /// The first element that is further from the declared result than the tolerance, as a sentence. The tolerance is relative to the largest
    /// expected magnitude of the array; integers have to be equal.
    pub fn wrong(&self, results: &IndexMap<Name, Tensor>, tolerance: Option<f64>) -> Option<String> {
        for (name, expected) in &self.expected {
            let Some(got) = results.get(name) else { continue };
            let expected = expected.to_f64();
            let scale = expected.iter().fold(0.0f64, |m, v| if v.is_finite() { m.max(v.abs()) } else { m });
            let allowed = tolerance.unwrap_or_else(|| usual_tolerance(got.dtype())) * scale.max(1.0);
            for (k, (x, y)) in got.to_f64().iter().zip(&expected).enumerate() {
                let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= allowed;
                if !same {
                    return Some(format!(
                        "element {k} of `{name}` is {x}, and the declared kernel gives {y}"
                    ));
                }
            }
        }
        None
    }
}

/// How far a sum in another order may be off, relative to the largest element.
fn usual_tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 4e-3,
        DType::BF16 => 3e-2,
        DType::F32 => 2e-5,
        DType::F64 => 1e-12,
        _ => 0.0,
    }
}
