//! A reduction on a device.

use std::fmt;

use super::{Chosen, Operator, SegmentedReduce, Segments, Shape};
use crate::ir::{Diagnostic, Element};
use crate::runtime::{Args, Bound, CompileOptions, Compiled, Device, Stream, Tensor};

/// A reduction compiled for a device. Cloning gives another handle to the same.
#[derive(Clone, Debug)]
pub struct CompiledReduce {
    what: String,
    chosen: Chosen,
    compiled: Compiled,
}

impl CompiledReduce {
    pub(super) fn new(
        reduce: &SegmentedReduce,
        shape: &Shape,
        chosen: Chosen,
        device: &Device,
    ) -> Result<CompiledReduce, Diagnostic> {
        let compiled =
            device.compile_pipeline(&chosen.kernel, &chosen.pipeline, &CompileOptions::default())?;
        Ok(CompiledReduce { what: format!("{reduce}, {shape}"), chosen, compiled })
    }

    /// What was chosen, and what it costs by the counts.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// The kernel behind it, with every form on the way.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The device that it runs on: a GPU, or the emulator.
    pub fn device(&self) -> &Device {
        self.compiled.device()
    }

    /// Checks arguments and makes a launch of them that can be repeated. Arrays: `x`, of the shape
    /// `[count, length]` for rows and `[elements]` for segments between `offsets`; `out`, or
    /// `value` and `index`, can be left out and belong to the launch then.
    pub fn bind(&self, args: &Args) -> Result<Bound, Diagnostic> {
        self.compiled.bind(args)
    }

    /// As [`CompiledReduce::bind`], with launches on a stream.
    pub fn bind_on(&self, stream: &Stream, args: &Args) -> Result<Bound, Diagnostic> {
        self.compiled.bind_on(stream, args)
    }
}

impl fmt::Display for CompiledReduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}: {}", self.what, self.device().name(), self.chosen.form)
    }
}

/// What a reduction gave.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// A value for each segment.
    pub values: Tensor,
    /// Where in its segment the value stands; of argmin and argmax.
    pub indices: Option<Tensor>,
    /// The device that it ran on, which may be the emulator.
    pub device: String,
    /// The form that was chosen.
    pub form: String,
}

/// Reduces segments of an array of the host on a device, in one go: chooses, compiles, copies,
/// launches and copies back. For more than one launch use [`SegmentedReduce::compile`] and
/// [`CompiledReduce::bind`].
///
/// Errors: what [`Shape::of`] and [`SegmentedReduce::kernel`] refuse.
pub fn segmented_reduce<T: Element>(
    device: &Device,
    operator: Operator,
    x: &[T],
    segments: Segments<'_>,
) -> Result<Reduced, Diagnostic> {
    SegmentedReduce::new(operator, T::DTYPE).run(device, x, segments)
}

impl SegmentedReduce {
    /// As [`segmented_reduce`], for a reduction that is mapped or has another result type.
    pub fn run<T: Element>(
        &self,
        device: &Device,
        x: &[T],
        segments: Segments<'_>,
    ) -> Result<Reduced, Diagnostic> {
        if T::DTYPE != self.dtype {
            let message = format!("the elements are {}, and the reduction is of {}", T::DTYPE, self.dtype);
            return Err(Diagnostic::new("segment-type", message).help("make the reduction for their type"));
        }
        let shape = Shape::of(x.len(), segments)?;
        let compiled = self.compile(&shape, device)?;
        let args = match shape {
            Shape::Rows { count, length } => {
                Args::new().tensor("x", &Tensor::from_slice(&[count, length], x)?)
            }
            Shape::Ragged { .. } => Args::new().tensor("x", &Tensor::from_slice(&[x.len()], x)?),
        };
        // `Shape::of` has seen that the declared facts hold.
        let args = match segments {
            Segments::Length(_) => args,
            Segments::Offsets(o) => args.tensor("offsets", &Tensor::from_slice(&[o.len()], o)?),
            Segments::WideOffsets(o) => args.tensor("offsets", &Tensor::from_slice(&[o.len()], o)?),
        };
        let outputs = compiled.bind(&args)?.run()?;
        let (values, indices) = if self.operator.has_index() {
            (outputs.get("value")?.clone(), Some(outputs.get("index")?.clone()))
        } else {
            (outputs.get("out")?.clone(), None)
        };
        Ok(Reduced { values, indices, device: outputs.device, form: compiled.chosen.form })
    }
}
