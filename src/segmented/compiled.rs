//! A reduction compiled for a device.

use std::fmt;

use super::{Chosen, Operator, SegmentedReduce, Segments, Shape};
use crate::ir::{Diagnostic, Element};
use crate::runtime::{Args, Bound, CompileOptions, Compiled, Device, Stream, Tensor};

/// A reduction compiled for a device. Cloning gives another handle to the same reduction.
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

    /// The chosen form, and its estimated cost.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// The underlying kernel, with every intermediate form.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The device that it runs on: a GPU, or the emulator.
    pub fn device(&self) -> &Device {
        self.compiled.device()
    }

    /// Checks arguments and binds them to a launch that can be repeated. Arrays: `x`, of shape
    /// `[count, length]` for rows and `[elements]` for segments between `offsets`; `out`, or
    /// `value` and `index`, can be omitted and then belong to the launch.
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

/// The results of a reduction.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// One value for each segment, in their order.
    pub values: Tensor,
    /// The index of the value within its segment, for argmin and argmax.
    pub indices: Option<Tensor>,
    /// The device that it ran on, which may be the emulator.
    pub device: String,
    /// The form that was chosen.
    pub form: String,
}

/// Reduces segments of a host array on a device, in one call: chooses, compiles, copies, launches
/// and copies back. For more than one launch use [`SegmentedReduce::compile`] and
/// [`CompiledReduce::bind`].
///
/// Errors: those of [`Shape::of`] and [`SegmentedReduce::kernel`].
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
        // `Shape::of` has checked the declared facts.
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
