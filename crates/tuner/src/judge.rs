//! Checks that a candidate computes the same as the declared kernel, on a sample of the problem,
//! before its time counts.

use std::time::Instant;

use indexmap::IndexMap;
use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_program::Owner;
use loopwright_runtime::{Args, Bound, Device, Expectation, Tensor};

/// The results of the declared kernel for the sample, by the plain interpreter.
pub(crate) struct Judge {
    expected: Expectation,
    /// Bytes of arrays that must move: those read and those written, each once.
    pub necessary_bytes: f64,
}

/// Bytes of arrays that must move: those read and those written, each once.
pub(crate) fn necessary_bytes(bound: &Bound) -> Result<f64, Diagnostic> {
    let mut bytes = 0.0;
    for global in bound.program().globals.iter().filter(|g| g.owner == Owner::Caller) {
        let tensor = bound.array(&global.name)?;
        let all = (tensor.shape().iter().product::<usize>() * tensor.dtype().bytes()) as f64;
        bytes += all * (f64::from(u8::from(global.read)) + f64::from(u8::from(global.written)));
    }
    Ok(bytes)
}

impl Judge {
    /// Runs the declared kernel on a sample; none if the deadline came first.
    pub fn new(
        kernel: &LoopKernel,
        sample: &Args,
        deadline: Option<Instant>,
    ) -> Result<Option<Judge>, Diagnostic> {
        let compiled = Device::emulator().compile(kernel.declared())?;
        let bound = compiled.bind(sample)?;
        let necessary_bytes = necessary_bytes(&bound)?;
        match compiled.expectation_until(sample, deadline) {
            Ok(expected) => Ok(Some(Judge { expected, necessary_bytes })),
            Err(d) if d.code == "out-of-time" => Ok(None),
            Err(d) => Err(d),
        }
    }

    /// A judge with known results.
    pub fn of_results(expected: IndexMap<Name, Tensor>) -> Judge {
        Judge { expected: Expectation::of_results(expected), necessary_bytes: 0.0 }
    }

    /// The first element that is further from the declared result than the tolerance, as a
    /// sentence; see [`Expectation`].
    pub fn wrong(
        &self,
        results: &IndexMap<Name, Tensor>,
        tolerance: Option<f64>,
    ) -> Result<Option<String>, Diagnostic> {
        self.expected.difference(results, tolerance)
    }
}
