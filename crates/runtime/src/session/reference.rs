//! Results of the declared kernel by the plain interpreter, the reference for every other form.
//!
//! Subscripts do not depend on the layout, so that the interpreter runs the kernel with plain
//! row-major arrays and the elements of each tensor unchanged.

use std::collections::BTreeMap;
use std::time::Instant;

use indexmap::IndexMap;
use loopwright_kernel_ir::{Arg, Array, Buffer, Diagnostic, LoopKernel, Name};
use loopwright_reference::{AnyOrder, Inputs, Mode, interpret, interpret_any_order};

use super::args::ArrayArg;
use super::device::Inner;
use super::functions::with_functions;
use super::open_types::bind_types;
use super::resolve::resolve;
use super::{Args, Compiled, Device, Tensor};

impl Compiled {
    /// The arrays that the kernel writes, as the plain interpreter of the *declared* kernel
    /// computes them: the reference for every other form. It knows nothing of transforms and
    /// lowering, and is slow.
    pub fn reference(&self, args: &Args) -> Result<IndexMap<Name, Tensor>, Diagnostic> {
        run(self.device(), self.kernel(), args, Mode::Exact, None, &|_| {})
    }

    /// As [`Compiled::reference`], with every floating-point value in f64, including arrays.
    pub fn reference_in_f64(&self, args: &Args) -> Result<IndexMap<Name, Tensor>, Diagnostic> {
        self.reference_in_f64_until(args, None)
    }

    /// As [`Compiled::reference_in_f64`], refused as `out-of-time` if it does not finish by the
    /// deadline.
    pub fn reference_in_f64_until(
        &self,
        args: &Args,
        deadline: Option<Instant>,
    ) -> Result<IndexMap<Name, Tensor>, Diagnostic> {
        run(self.device(), self.kernel(), args, Mode::Wide, deadline, &|_| {})
    }
}

/// The declared kernel with its open types bound by these arguments.
pub(super) fn bound(kernel: &LoopKernel, args: &Args) -> Result<LoopKernel, Diagnostic> {
    let declared = kernel.origin();
    let resolved = resolve(declared, &*args.with_fields(declared)?)?;
    Ok(LoopKernel::from_data((*bind_types(declared, &resolved.types)?).clone()))
}

/// The arrays that the declared kernel writes, after it has run on these arguments, or on these as
/// changed by `change`.
pub(super) fn run(
    device: &Device,
    kernel: &LoopKernel,
    args: &Args,
    mode: Mode,
    deadline: Option<Instant>,
    change: &dyn Fn(&mut Inputs),
) -> Result<IndexMap<Name, Tensor>, Diagnostic> {
    run_by(device, kernel, args, deadline, change, &mut |bound, inputs| interpret(bound, inputs, mode))
}

/// The same in f64, with what the order of updates leaves open; with a seed, other right results of
/// them are read.
pub(super) fn run_any_order(
    device: &Device,
    kernel: &LoopKernel,
    args: &Args,
    deadline: Option<Instant>,
    seed: Option<u64>,
) -> Result<(IndexMap<Name, Tensor>, AnyOrder), Diagnostic> {
    let mut rest = AnyOrder::default();
    let arrays = run_by(device, kernel, args, deadline, &|_| {}, &mut |bound, inputs| {
        rest = interpret_any_order(bound, inputs, seed)?;
        Ok(std::mem::take(&mut rest.arrays))
    })?;
    Ok((arrays, rest))
}

/// Interprets the declared kernel in this way.
type Interpret<'i> = dyn FnMut(&LoopKernel, &Inputs) -> Result<BTreeMap<Name, Buffer>, Diagnostic> + 'i;

fn run_by(
    device: &Device,
    kernel: &LoopKernel,
    args: &Args,
    deadline: Option<Instant>,
    change: &dyn Fn(&mut Inputs),
    interpreted: &mut Interpret<'_>,
) -> Result<IndexMap<Name, Tensor>, Diagnostic> {
    let declared = kernel.origin();
    let args = &*args.with_fields(declared)?;
    let resolved = resolve(declared, args)?;
    let mut data = (*bind_types(declared, &resolved.types)?).clone();
    for arg in &mut data.args {
        if let Arg::Array(array) = arg {
            plain(array);
        }
    }
    // Fields are arrays of their own here.
    data.records.clear();
    let mut inputs = Inputs { scalars: resolved.scalars.clone(), deadline, ..Inputs::default() };
    if let Inner::Emulator { options, .. } = &*device.inner {
        let called = declared.functions.iter().map(|function| &function.name);
        inputs.functions = with_functions(options, &declared.functions, called)?.functions;
    }
    for (name, array) in &args.arrays {
        let tensor = match array {
            ArrayArg::Host(tensor) => tensor.clone(),
            ArrayArg::Device(array) => array.download()?,
        };
        if tensor.is_initialised() {
            inputs.arrays.insert(name.clone(), tensor.buffer().clone());
        }
    }
    change(&mut inputs);
    let bound = LoopKernel::from_data(data);
    let mut written = interpreted(&bound, &inputs)?;
    let mut outputs = IndexMap::new();
    for arg in &bound.args {
        if let Arg::Array(array) = arg
            && let Some(buffer) = written.remove(&array.name)
            && let Some(shape) = resolved.shapes.get(&array.name)
        {
            outputs.insert(array.name.clone(), Tensor::from_buffer(shape, buffer)?);
        }
    }
    Ok(outputs)
}

/// The array in row-major order.
fn plain(array: &mut Array) {
    array.order.clear();
    for axis in &mut array.axes {
        (axis.stride, axis.padding) = (None, 0);
    }
}
