//! Python's values as arguments of a launch.

use loopwright::ir::{Arg, Type};
use loopwright::prelude::{Args, DType, Device, Diagnostic, LoopKernel, ScalarValue, Stream, Tensor};
use loopwright::runtime::dlpack::Description;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyDict, PyFloat, PyInt};

use crate::error::Failure;
use crate::places::Places;
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
        } else if let Some(number) = number(&name, &value)? {
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
            let of_argument = |failure: Failure| failure.of_argument(&name);
            check_is_plain(&name, &value)?;
            check_complex(kernel, &name, &value).map_err(of_argument)?;
            let shared = exchange::host_array(&value).map_err(of_argument)?;
            let is_overwritten = is_written(kernel, &name) && !is_read(kernel, &name);
            let tensor = match shared.description().dtype {
                // Whatever bytes it has, as memory that was not set: nobody reads them.
                DType::Bool if is_overwritten => exchange::truths(&shared),
                _ => Tensor::from_shared(&shared).map_err(Failure::from),
            }
            .map_err(of_argument)?;
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

/// Whether the kernel writes elements of an array.
pub fn is_written(kernel: &LoopKernel, name: &str) -> bool {
    let is_field = |array: &str| kernel.record_of(array).is_some_and(|(r, _)| *r.array.name == *name);
    let mut targets = kernel.instructions.iter().flat_map(|i| &i.targets);
    targets.any(|target| *target.array == *name || is_field(&target.array))
}

/// Whether the kernel reads elements of an array.
fn is_read(kernel: &LoopKernel, name: &str) -> bool {
    kernel.instructions.iter().any(|instruction| {
        let is_updated =
            instruction.update.is_some() && instruction.targets.iter().any(|t| *t.array == *name);
        let mut accesses = instruction.expressions().flat_map(|e| e.accesses());
        is_updated || accesses.any(|access| *access.array == *name)
    })
}

/// Refuses an array of which some elements do not count: the protocols do not say which.
fn check_is_plain(name: &str, value: &Bound<'_, PyAny>) -> Result<(), Failure> {
    if value.hasattr("filled")? && value.hasattr("mask")? {
        let message = format!("argument `{name}` is a masked array, whose mask kernels do not know");
        let help = "pass its elements, with a value in place of the masked ones: `x.filled(0)`";
        return Err(Diagnostic::new("argument-kind", message).help(help).into());
    }
    Ok(())
}

/// Refuses complex numbers of another size than the pairs that the kernel has.
fn check_complex(kernel: &LoopKernel, name: &str, value: &Bound<'_, PyAny>) -> Result<(), Failure> {
    let Some(given) = exchange::complex_parts(value)? else { return Ok(()) };
    let declared = kernel.args.iter().find_map(|arg| match arg {
        Arg::Array(array) if *array.name == *name => Some(&array.dtype),
        _ => None,
    });
    let called = |parts: DType| if parts == DType::F32 { "complex64" } else { "complex128" };
    match declared {
        Some(Type::Known(wanted @ (DType::F32 | DType::F64))) if *wanted != given => {
            let message = format!("the elements are {}, but {} was given", called(*wanted), called(given));
            let help = format!("convert them: `.astype(\"{}\")`", called(*wanted));
            Err(Diagnostic::new("argument-type", message).help(help).into())
        }
        _ => Ok(()),
    }
}

/// Refuses arrays that cannot hold the results: read-only ones, and those whose elements share
/// memory with each other or with another array.
fn check_overwritten(kernel: &LoopKernel, arrays: &[(String, Description)]) -> Result<(), Diagnostic> {
    for (name, array) in arrays.iter().filter(|(name, _)| is_written(kernel, name)) {
        if array.read_only {
            return Err(Diagnostic::new(
                "read-only",
                format!("the kernel writes `{name}`, and the array is read-only"),
            )
            .help("pass a copy, or leave it out if the kernel does not read it"));
        }
        let places = Places::of(array);
        if !places.are_apart() {
            return Err(Diagnostic::new(
                "overlapping-elements",
                format!("elements of `{name}`, which the kernel writes, overlap"),
            )
            .witness(format!("shape {:?}, strides {:?}", array.shape, array.strides))
            .help("pass an array in which each element has memory of its own, or leave it out"));
        }
        let other = arrays.iter().find(|(n, a)| n != name && places.meet(&Places::of(a)));
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
    if let Some(re) = number(name, value)? {
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
        ([2], Some(re), Some(im)) if exchange::complex_parts(value)?.is_some() => Some([re, im]),
        _ => None,
    })
}

/// The number that a Python object is; `None` if it is none.
fn number(name: &str, value: &Bound<'_, PyAny>) -> Result<Option<ScalarValue>, Failure> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Some(value.is_true().into()));
    }
    if value.is_instance_of::<PyInt>() {
        // By `__index__`: the text of an integer of another class may be anything.
        let integer =
            value.extract::<i128>().ok().filter(|v| i64::try_from(*v).is_ok() || u64::try_from(*v).is_ok());
        return match integer.and_then(|v| ScalarValue::parse(&v.to_string())) {
            Some(number) => Ok(Some(number)),
            None => Err(Diagnostic::new(
                "scalar-range",
                format!("argument `{name}` is an integer that does not fit any type of kernels"),
            )
            .help("integers have at most 64 bits")
            .into()),
        };
    }
    match value.cast::<PyFloat>() {
        Ok(value) => Ok(Some(value.value().into())),
        Err(_) => Ok(None),
    }
}
