//! Python's values as arguments of a launch.

use loopwright::ir::Arg;
use loopwright::prelude::{Args, Device, Diagnostic, LoopKernel, ScalarValue, Stream, Tensor};
use loopwright::runtime::dlpack::Description;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyDict, PyFloat, PyInt};

use crate::error::Failure;
use crate::{device, exchange};

/// Where a kernel runs, and how its work is ordered with that of the arrays' library.
pub struct Where {
    pub device: Device,
    pub stream: Stream,
    /// Whether the arrays' library orders later uses of their memory after the stream's work.
    pub in_order: bool,
}

/// The device of this name, or the GPU that holds arguments, or the best.
pub fn place(name: Option<&str>, stream: Option<u64>, values: &Bound<'_, PyDict>) -> Result<Where, Failure> {
    let device = match name {
        Some(name) => device::named(name)?,
        None => {
            let mut found = None;
            for value in values.values() {
                found = found.or(exchange::gpu_of(&value)?);
            }
            match found {
                Some(number) => device::gpu(number)?,
                None => device::named("best")?,
            }
        }
    };
    let stream = match stream.filter(|_| device.is_gpu()) {
        Some(handle) => exchange::stream_of(&device, handle)?,
        None => device.default_stream(),
    };
    Ok(Where { device, stream, in_order: false })
}

/// The arguments of these names, and those of them that stay in their library's memory on the
/// device, where the kernel writes them.
///
/// Unless `keeps` says that the caller's arrays keep their elements, those on the host that the
/// kernel writes are overwritten after the run. They are refused if that is not possible, as arrays
/// on a device are.
pub fn arguments(
    kernel: &LoopKernel,
    place: &Where,
    values: &Bound<'_, PyDict>,
    keeps: bool,
) -> Result<(Args, Vec<String>), Failure> {
    let (mut args, mut in_place) = (Args::new(), Vec::new());
    let mut on_host: Vec<(String, Description)> = Vec::new();
    for (name, value) in values {
        let name: String = name.extract()?;
        if let Some((record, _)) = kernel.record_of(&name) {
            let message = format!("`{name}` is a field of the structs in `{}`", record.array.name);
            return Err(Diagnostic::new("argument-kind", message)
                .help(format!("pass `{}`, as bytes", record.array.name))
                .into());
        }
        if let Some([re, im]) = parts(kernel, &name, &value)? {
            args = args.scalar(format!("{name}_re"), re).scalar(format!("{name}_im"), im);
        } else if let Some(number) = number(&value)? {
            args = args.scalar(&*name, number);
        } else if !exchange::is_array(&value)? {
            let of = value.get_type().name()?.to_string();
            return Err(Diagnostic::new(
                "argument-kind",
                format!("argument `{name}` is of type `{of}`, which is neither an array nor a number"),
            )
            .help("pass a number, or an array that has `__array_interface__` or `__dlpack__`")
            .into());
        } else if place.device.is_gpu() && exchange::gpu_of(&value)?.is_some() {
            let array = exchange::device_array(&value, &place.device, &place.stream, place.in_order)?;
            args = args.device_tensor(&*name, &array);
            in_place.push(name);
        } else {
            let shared = exchange::host_array(&value)?;
            let tensor = Tensor::from_shared(&shared)?;
            let is_scalar =
                kernel.args.iter().any(|arg| **arg.name() == *name && matches!(arg, Arg::Scalar(_)));
            // A number of NumPy, or an array of one number.
            args = match tensor.buffer().get(0) {
                Some(number) if is_scalar && tensor.shape().is_empty() => args.scalar(&*name, number),
                _ => args.tensor(&*name, &tensor),
            };
            on_host.push((name, shared.description().clone()));
        }
    }
    if !keeps {
        check_overwritten(kernel, &on_host)?;
    }
    Ok((args, in_place))
}

/// Refuses results in the memory of a library whose arrays never change.
pub fn check_never_written(kernel: &LoopKernel, in_place: &[String]) -> Result<(), Diagnostic> {
    match in_place.iter().find(|name| is_written(kernel, name)) {
        None => Ok(()),
        Some(name) => Err(Diagnostic::new(
            "read-only",
            format!("the kernel writes `{name}`, and arrays of its library never change"),
        )
        .help("leave it out if the kernel does not read it, or pass an array of another library")),
    }
}

fn is_written(kernel: &LoopKernel, name: &str) -> bool {
    let is_field = |array: &str| kernel.record_of(array).is_some_and(|(r, _)| *r.array.name == *name);
    let mut targets = kernel.instructions.iter().flat_map(|i| &i.targets);
    targets.any(|target| *target.array == *name || is_field(&target.array))
}

/// Refuses arrays that cannot hold the results: read-only ones, and two with memory in common.
fn check_overwritten(kernel: &LoopKernel, arrays: &[(String, Description)]) -> Result<(), Diagnostic> {
    for (name, array) in arrays.iter().filter(|(name, _)| is_written(kernel, name)) {
        if array.read_only {
            return Err(Diagnostic::new(
                "read-only",
                format!("the kernel writes `{name}`, and the array is read-only"),
            )
            .help("pass a copy, or leave it out if the kernel does not read it"));
        }
        let (low, high) = exchange::extent(array);
        let overlaps = |(from, to): (i128, i128)| low < to && from < high;
        let other = arrays.iter().find(|(n, a)| n != name && overlaps(exchange::extent(a)));
        if let Some((other, _)) = other {
            return Err(Diagnostic::new(
                "aliased-arguments",
                format!("`{other}` and `{name}` share memory, and the kernel writes `{name}`"),
            )
            .help("use separate memory for each written array"));
        }
    }
    Ok(())
}

/// The parts of a number for a scalar that the kernel's text declares as complex: its arguments are
/// the two parts. A real number has an imaginary part of 0.
fn parts(
    kernel: &LoopKernel,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> Result<Option<[ScalarValue; 2]>, Failure> {
    let is_scalar =
        |name: &str| kernel.args.iter().any(|a| **a.name() == *name && matches!(a, Arg::Scalar(_)));
    let is_pair = is_scalar(&format!("{name}_re")) && is_scalar(&format!("{name}_im"));
    if !is_pair || kernel.args.iter().any(|a| **a.name() == *name) {
        return Ok(None);
    }
    if let Some(re) = number(value)? {
        return Ok(Some([re, 0.0.into()]));
    }
    if let Ok(z) = value.cast::<PyComplex>() {
        return Ok(Some([z.real().into(), z.imag().into()]));
    }
    if !exchange::is_array(value)? || exchange::gpu_of(value)?.is_some() {
        return Ok(None);
    }
    // A number of NumPy, or an array of one number.
    let tensor = Tensor::from_shared(&exchange::host_array(value)?)?;
    let part = |k: usize| tensor.buffer().get(k).map(ScalarValue::from);
    Ok(match (tensor.shape(), part(0), part(1)) {
        ([], Some(re), _) => Some([re, 0.0.into()]),
        ([2], Some(re), Some(im)) if exchange::is_complex(value)? => Some([re, im]),
        _ => None,
    })
}

/// The number that a Python object is; `None` if it is none.
fn number(value: &Bound<'_, PyAny>) -> Result<Option<ScalarValue>, Failure> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Some(value.is_true().into()));
    }
    if value.is_instance_of::<PyInt>() {
        let text = value.str()?.to_string();
        return match ScalarValue::parse(&text) {
            Some(number) if !text.contains(['.', 'e', 'n']) => Ok(Some(number)),
            _ => Err(Diagnostic::new("scalar-range", format!("{text} does not fit any type of kernels"))
                .help("integers have at most 64 bits")
                .into()),
        };
    }
    match value.cast::<PyFloat>() {
        Ok(value) => Ok(Some(value.value().into())),
        Err(_) => Ok(None),
    }
}
