//! Arrays of other libraries, by the protocols that they have in common.
//!
//! | protocol | who has it | used for |
//! |---|---|---|
//! | `__array_interface__`: address, type, shape, strides | NumPy | the host |
//! | `__dlpack__`: a capsule that owns the memory | NumPy, PyTorch, JAX, CuPy | the host, and GPUs |
//!
//! The array interface comes first: it also describes memory that may only be read, and the types
//! that other packages add to NumPy.

use std::ffi::CStr;

use loopwright::prelude::{DType, Device, DeviceTensor, Diagnostic, Stream, Tensor};
use loopwright::runtime::dlpack::{Description, Place, Shared};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::error::Failure;

/// The names of a capsule before and after its content is taken, without and with a version.
const PLAIN: (&CStr, &CStr) = (c"dltensor", c"used_dltensor");
const VERSIONED: (&CStr, &CStr) = (c"dltensor_versioned", c"used_dltensor_versioned");

/// Whether a value is an array by one of the protocols.
pub fn is_array(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.hasattr("__dlpack__")? || value.hasattr("__array_interface__")?)
}

/// The type of the parts of an array's elements, if they are complex numbers by its array
/// interface.
pub fn complex_parts(value: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    let Some(interface) = value.getattr_opt("__array_interface__")? else { return Ok(None) };
    let typestr: String = interface.get_item("typestr")?.extract()?;
    Ok(parts_of(&typestr))
}

/// The number of the GPU that holds an array; none for memory of the host.
pub fn gpu_of(value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if !value.hasattr("__dlpack_device__")? {
        return Ok(None);
    }
    let (kind, number): (i32, i32) = value.call_method0("__dlpack_device__")?.extract()?;
    let on_gpu = matches!(kind, Place::CUDA | Place::CUDA_MANAGED);
    Ok(usize::try_from(number).ok().filter(|_| on_gpu))
}

/// An array in the host's memory, which stays its owner's.
pub fn host_array(value: &Bound<'_, PyAny>) -> Result<Shared, Failure> {
    match value.getattr_opt("__array_interface__")? {
        Some(interface) => described(value, interface.cast::<PyDict>().map_err(PyErr::from)?),
        None => taken(value, None),
    }
}

/// The type of the elements of an array, on the host or on a GPU.
pub fn dtype_of(value: &Bound<'_, PyAny>) -> Result<DType, Failure> {
    let array = if gpu_of(value)?.is_some() { taken(value, None)? } else { host_array(value)? };
    Ok(array.description().dtype)
}

/// Truth values in memory that may hold anything: whatever is not 0 counts as true.
pub fn truths(array: &Shared) -> Result<Tensor, Failure> {
    let bytes = Description { dtype: DType::U8, ..array.description().clone() };
    // SAFETY: the same memory, which the caller's reference keeps for longer.
    let bytes = Tensor::from_shared(&unsafe { Shared::lend(bytes, Box::new(())) })?;
    let truths = bytes.to_vec::<u8>()?.into_iter().map(|byte| byte != 0).collect();
    Ok(Tensor::from_vec(bytes.shape(), truths)?)
}

/// An array in the memory of a GPU, without a copy, ready in the order of a stream. With
/// `in_order`, its library orders later uses of the memory after the stream's work.
pub fn device_array(
    value: &Bound<'_, PyAny>,
    device: &Device,
    stream: &Stream,
    in_order: bool,
) -> Result<DeviceTensor, Failure> {
    // By the protocol, 0 is ambiguous: the default stream is called 1.
    let handle = stream.handle().map(|handle| handle.max(1));
    let shared = taken(value, handle)?;
    Ok(match in_order {
        // SAFETY: the package sets it for libraries which were told of the stream.
        true => unsafe { device.borrow_in_order(shared, stream)? },
        false => device.borrow(shared, stream)?,
    })
}

/// A stream that the caller of a protocol names.
pub fn stream_of(device: &Device, handle: u64) -> Result<Stream, Failure> {
    // SAFETY: by the protocol, the caller names a stream of this device that it keeps.
    Ok(unsafe { device.borrow_stream(handle)? })
}

/// The array that a value passes in a capsule.
fn taken(value: &Bound<'_, PyAny>, stream: Option<u64>) -> Result<Shared, Failure> {
    let py = value.py();
    let options = PyDict::new(py);
    if let Some(stream) = stream {
        options.set_item("stream", stream)?;
    }
    options.set_item("max_version", (1, 1))?;
    let capsule = match value.call_method("__dlpack__", (), Some(&options)) {
        // Libraries before version 1 of the protocol do not know the option.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            options.del_item("max_version")?;
            value.call_method("__dlpack__", (), Some(&options))?
        }
        capsule => capsule?,
    };
    let capsule = capsule.cast_into::<PyCapsule>().map_err(PyErr::from)?;
    // SAFETY: an unused capsule of each of these names holds the structure of the convention, and
    // whoever renames it owns the structure.
    unsafe {
        if let Some(raw) = content(&capsule, VERSIONED)? {
            return Ok(Shared::from_raw_versioned(raw.cast())?);
        }
        if let Some(raw) = content(&capsule, PLAIN)? {
            return Ok(Shared::from_raw(raw.cast())?);
        }
    }
    Err(PyBufferError::new_err("`__dlpack__` returned a capsule that holds no array").into())
}

/// The pointer in a capsule of the first name, which gets the second.
///
/// # Safety
///
/// The caller takes ownership of what is pointed to.
unsafe fn content(
    capsule: &Bound<'_, PyCapsule>,
    (fresh, used): (&'static CStr, &'static CStr),
) -> PyResult<Option<*mut std::ffi::c_void>> {
    // SAFETY: a capsule, and names that live as long as the process.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), fresh.as_ptr()) == 0 {
            return Ok(None);
        }
        let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), fresh.as_ptr());
        if pointer.is_null() || ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(Some(pointer))
    }
}

/// An array in a new capsule. A capsule that nobody takes gives it back.
pub fn capsule(py: Python<'_>, shared: Shared, versioned: bool) -> PyResult<Bound<'_, PyAny>> {
    let (pointer, name) = if versioned {
        (shared.into_raw_versioned().cast(), VERSIONED.0)
    } else {
        (shared.into_raw().cast(), PLAIN.0)
    };
    // SAFETY: the name lives as long as the process; the result is a new reference or null with an
    // exception, and only then the pointer still belongs to this function.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(give_back));
        if capsule.is_null() {
            if versioned {
                drop(Shared::from_raw_versioned(pointer.cast()));
            } else {
                drop(Shared::from_raw(pointer.cast()));
            }
        }
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// The destructor of capsules: calls the deleter of an array that nobody took.
unsafe extern "C" fn give_back(capsule: *mut ffi::PyObject) {
    // SAFETY: called by the interpreter with a capsule of `capsule`; a capsule that still has its
    // first name still owns its content.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.0.as_ptr()) != 0 {
            let pointer = ffi::PyCapsule_GetPointer(capsule, VERSIONED.0.as_ptr());
            drop(Shared::from_raw_versioned(pointer.cast()));
        } else if ffi::PyCapsule_IsValid(capsule, PLAIN.0.as_ptr()) != 0 {
            let pointer = ffi::PyCapsule_GetPointer(capsule, PLAIN.0.as_ptr());
            drop(Shared::from_raw(pointer.cast()));
        }
    }
}

/// The memory that an array interface describes, kept by a reference to its owner.
fn described(owner: &Bound<'_, PyAny>, interface: &Bound<'_, PyDict>) -> Result<Shared, Failure> {
    let item = |key: &str| -> PyResult<Bound<'_, PyAny>> {
        interface
            .get_item(key)?
            .ok_or_else(|| PyBufferError::new_err(format!("`__array_interface__` has no `{key}`")))
    };
    let typestr: String = item("typestr")?.extract()?;
    let parts = parts_of(&typestr);
    let dtype = match parts {
        Some(dtype) => dtype,
        None => element(owner, &typestr)?,
    };
    let shape: Vec<usize> = item("shape")?.extract()?;
    // Strides are those of whole elements, each a number or a pair.
    let size = dtype.bytes() as i64 * if parts.is_some() { 2 } else { 1 };
    let (address, read_only): (u64, bool) = item("data")?.extract()?;
    let strides = match interface.get_item("strides")?.filter(|s| !s.is_none()) {
        Some(strides) => strides.cast::<PyTuple>().map_err(PyErr::from)?.extract::<Vec<i64>>()?,
        None => rows(&shape, size),
    };
    if strides.len() != shape.len() || strides.iter().any(|bytes| bytes % size != 0) {
        return Err(Diagnostic::new(
            "tensor-strides",
            format!("an array of shape {shape:?} with strides of {strides:?} bytes is no array of {dtype}"),
        )
        .help("pass a contiguous copy, as by `numpy.ascontiguousarray`")
        .into());
    }
    let strides = strides.iter().map(|bytes| bytes / size).collect();
    let whole = Description { address, place: Place::host(), dtype, shape, strides, read_only };
    let description = if parts.is_some() { whole.pairs() } else { whole };
    // SAFETY: by the protocol the memory is there as long as its owner, which the reference keeps.
    Ok(unsafe { Shared::lend(description, Box::new(owner.clone().unbind())) })
}

/// Strides in bytes of rows without gaps.
fn rows(shape: &[usize], size: i64) -> Vec<i64> {
    let mut strides = vec![size; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(i64::try_from(shape[axis]).unwrap_or(i64::MAX));
    }
    strides
}

/// NumPy's text for a type. bf16, e4m3 and e5m2, which it does not have, are passed as
/// their bits.
pub fn type_string(dtype: DType) -> String {
    let kind = match dtype {
        DType::Bool => 'b',
        DType::E4M3 | DType::E5M2 | DType::BF16 => 'u',
        t if t.is_float() => 'f',
        t if t.is_unsigned() => 'u',
        _ => 'i',
    };
    format!("{}{kind}{}", if dtype.bytes() == 1 { '|' } else { '<' }, dtype.bytes())
}

/// The type of the parts of complex numbers, which kernels have as pairs.
fn parts_of(typestr: &str) -> Option<DType> {
    match typestr {
        "<c8" => Some(DType::F32),
        "<c16" => Some(DType::F64),
        _ => None,
    }
}

/// The type of NumPy's text.
fn element(owner: &Bound<'_, PyAny>, typestr: &str) -> Result<DType, Failure> {
    let known = DType::ALL.iter().copied().filter(|t| !t.is_float8() && *t != DType::BF16);
    if let Some(dtype) = known.into_iter().find(|t| type_string(*t) == typestr) {
        return Ok(dtype);
    }
    // A type that another package adds to NumPy says its name only in `dtype`.
    let name = || owner.getattr("dtype")?.getattr("name")?.extract::<String>();
    let added = [
        (DType::BF16, &["V2"][..], "bfloat16"),
        (DType::E4M3, &["V1", "f1"], "float8_e4m3fn"),
        (DType::E5M2, &["V1", "f1"], "float8_e5m2"),
    ];
    for (dtype, ends, called) in added {
        if ends.iter().any(|end| typestr.ends_with(end)) && name().is_ok_and(|name| name == called) {
            return Ok(dtype);
        }
    }
    // A structured type says its fields only in `dtype`.
    if let Ok(dtype) = owner.getattr("dtype")
        && dtype.getattr("names").is_ok_and(|names| !names.is_none())
    {
        return Err(Diagnostic::new("argument-type", "an array of structs is passed as its bytes")
            .help(
                "pass `p.view(numpy.uint8).reshape(*p.shape, p.itemsize)`, which is the same memory; its \
                 dtype has to be laid out as in C, `numpy.dtype([...], align=True)`",
            )
            .into());
    }
    Err(Diagnostic::new("argument-type", format!("elements of NumPy's type `{typestr}` are not supported"))
        .help(
            "convert them with `astype` to bool, float16, float32, float64, complex64, complex128 or an \
             integer of 8 to 64 bits, in the machine's byte order",
        )
        .into())
}
