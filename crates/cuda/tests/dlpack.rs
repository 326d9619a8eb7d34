//! The structures of DLPack, and which of them are refused.

use std::mem::{offset_of, size_of};

use loopwright_cuda::dlpack::{Description, ElementType, Place, RawManaged, RawTensor, RawVersioned, Shared};
use loopwright_kernel_ir::{DType, Diagnostic};

/// Lends a host array with elements 0, 1, 2 and so on.
fn lend(shape: &[usize]) -> Shared {
    let values: Box<[i32]> = (0..shape.iter().product::<usize>() as i32).collect();
    let mut strides = vec![1i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as i64;
    }
    let description = Description {
        address: values.as_ptr().expose_provenance() as u64,
        place: Place::host(),
        dtype: DType::I32,
        shape: shape.to_vec(),
        strides,
        read_only: false,
    };
    // SAFETY: `values` holds these elements and moves with its box.
    unsafe { Shared::lend(description, Box::new(values)) }
}

/// The elements of an array of `i32` on the host.
fn values(shared: &Shared) -> Result<Vec<i32>, Diagnostic> {
    let bytes = shared.host_bytes()?;
    Ok(bytes.chunks_exact(4).map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// The layout of the C structures on 64-bit machines, from `dlpack.h`.
#[test]
#[cfg(target_pointer_width = "64")]
fn the_structures_lie_as_the_header_has_them() {
    assert_eq!((size_of::<Place>(), size_of::<ElementType>(), size_of::<RawTensor>()), (8, 4, 48));
    let tensor = [
        offset_of!(RawTensor, data),
        offset_of!(RawTensor, place),
        offset_of!(RawTensor, rank),
        offset_of!(RawTensor, element),
        offset_of!(RawTensor, shape),
        offset_of!(RawTensor, strides),
        offset_of!(RawTensor, byte_offset),
    ];
    assert_eq!(tensor, [0, 8, 16, 20, 24, 32, 40]);
    let managed =
        [offset_of!(RawManaged, tensor), offset_of!(RawManaged, context), offset_of!(RawManaged, deleter)];
    assert_eq!((managed, size_of::<RawManaged>()), ([0, 48, 56], 64));
    let versioned = [
        offset_of!(RawVersioned, version),
        offset_of!(RawVersioned, context),
        offset_of!(RawVersioned, deleter),
        offset_of!(RawVersioned, flags),
        offset_of!(RawVersioned, tensor),
    ];
    assert_eq!((versioned, size_of::<RawVersioned>()), ([0, 8, 16, 24, 32], 80));
}

#[test]
fn every_type_has_a_code() {
    let codes = [
        (DType::Bool, 6, 8),
        (DType::BF16, 4, 16),
        (DType::F16, 2, 16),
        (DType::I8, 0, 8),
        (DType::U64, 1, 64),
    ];
    for (dtype, code, bits) in codes {
        assert_eq!(ElementType::of(dtype), ElementType { code, bits, lanes: 1 });
    }
    for dtype in DType::ALL {
        assert_eq!(ElementType::of(dtype).dtype(), Some(dtype));
    }
    // Complex numbers and vectors of numbers.
    let complex = |bits| ElementType { code: 5, bits, lanes: 1 };
    assert_eq!(complex(64).dtype(), None);
    let parts = [32, 64, 128].map(|bits| complex(bits).parts());
    assert_eq!(parts, [None, Some(DType::F32), Some(DType::F64)]);
    assert_eq!(ElementType { code: 2, bits: 32, lanes: 4 }.dtype(), None);
}

#[test]
fn arrays_come_back_by_either_structure() -> Result<(), Diagnostic> {
    for shape in [&[][..], &[0, 3], &[5], &[2, 3, 4]] {
        let array = lend(shape);
        let (description, elements) = (array.description().clone(), values(&array)?);
        // SAFETY: nothing else calls the deleters.
        let array = unsafe { Shared::from_raw(array.into_raw())? };
        assert_eq!((array.description(), values(&array)?), (&description, elements.clone()));
        // SAFETY: as above.
        let array = unsafe { Shared::from_raw_versioned(array.into_raw_versioned())? };
        assert_eq!((array.description(), values(&array)?), (&description, elements));
    }
    Ok(())
}

/// Rows owned by another library that are reversed and not contiguous, with and without explicit
/// strides.
#[test]
fn strides_are_followed() -> Result<(), Diagnostic> {
    let mut data: Vec<i32> = (0..12).collect();
    let mut shape = [2i64, 3];
    let mut strides = [-6i64, 2];
    let mut raw = RawManaged {
        tensor: RawTensor {
            data: data.as_mut_ptr().cast(),
            place: Place::host(),
            rank: 2,
            element: ElementType::of(DType::I32),
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 6 * 4,
        },
        context: std::ptr::null_mut(),
        deleter: None,
    };
    // SAFETY: the structure describes `data`, which outlives everything made from it.
    let shared = unsafe { Shared::from_raw(&mut raw)? };
    assert_eq!(values(&shared)?, [6, 8, 10, 0, 2, 4]);
    raw.tensor.strides = std::ptr::null_mut();
    // SAFETY: as above.
    let shared = unsafe { Shared::from_raw(&mut raw)? };
    assert_eq!(values(&shared)?, [6, 7, 8, 9, 10, 11]);
    Ok(())
}

/// Complex numbers are pairs: a last axis of 2, whatever the other strides are.
#[test]
fn complex_numbers_are_pairs() -> Result<(), Diagnostic> {
    let mut data: Vec<f32> = (0..16).map(|v| v as f32).collect();
    let mut shape = [2i64, 2];
    let mut strides = [-4i64, 2];
    let mut raw = RawManaged {
        tensor: RawTensor {
            data: data.as_mut_ptr().cast(),
            place: Place::host(),
            rank: 2,
            element: ElementType { code: 5, bits: 64, lanes: 1 },
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 4 * 8,
        },
        context: std::ptr::null_mut(),
        deleter: None,
    };
    // SAFETY: the structure describes `data`, which outlives everything made from it.
    let shared = unsafe { Shared::from_raw(&mut raw)? };
    let description = shared.description();
    assert_eq!((description.dtype, &description.shape[..]), (DType::F32, &[2, 2, 2][..]));
    assert_eq!(description.strides, [-8, 4, 1]);
    let bytes = shared.host_bytes()?;
    let found: Vec<f32> = bytes.chunks(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect();
    assert_eq!(found, [8., 9., 12., 13., 0., 1., 4., 5.]);
    raw.tensor.strides = std::ptr::null_mut();
    // SAFETY: as above.
    let shared = unsafe { Shared::from_raw(&mut raw)? };
    assert_eq!(shared.description().strides, [4, 2, 1]);
    Ok(())
}

#[test]
fn what_is_not_understood_is_refused() -> Result<(), Diagnostic> {
    let refusal = |change: fn(&mut RawVersioned)| -> Result<String, Diagnostic> {
        let raw = lend(&[2, 2]).into_raw_versioned();
        // SAFETY: the structure is live; a refused one is returned to its owner.
        unsafe {
            change(&mut *raw);
            Ok(Shared::from_raw_versioned(raw).map_or_else(|d| d.to_string(), |_| "not refused".to_owned()))
        }
    };
    assert_eq!(
        refusal(|raw| raw.version = [2, 0])?,
        "error[dlpack-version]: the array uses version 2.0 of DLPack, and only version 1 is \
         supported\n  help: request `max_version=(1, 1)` from its library"
    );
    assert_eq!(
        refusal(|raw| raw.tensor.element.code = 5)?,
        "error[dlpack-type]: elements of code 5, 32 bits and 1 lanes are not supported\n  help: \
         convert them to one of f16, bf16, f32, f64, complex64, complex128, bool, or an integer of 8 to 64 bits"
    );
    assert_eq!(
        refusal(|raw| raw.tensor.rank = -1)?,
        "error[dlpack-malformed]: the array has a negative number of axes\n  help: this is an \
         error of the library that made it"
    );
    // SAFETY: null is refused.
    let null = unsafe { Shared::from_raw(std::ptr::null_mut()) };
    assert_eq!(
        null.map_or_else(|d| d.to_string(), |_| String::new()),
        "error[dlpack-null]: the pointer to the array is null\n  help: a capsule that was already \
         consumed has none"
    );
    // GPU memory is not read as if it were host memory.
    let raw = lend(&[2]).into_raw();
    // SAFETY: the structure is live.
    let elsewhere = unsafe {
        (*raw).tensor.place = Place { kind: Place::CUDA, number: 3 };
        Shared::from_raw(raw)?
    };
    assert_eq!(
        elsewhere.host_bytes().map_or_else(|d| d.to_string(), |_| String::new()),
        "error[other-device]: the array is on device 3 of kind 2, not on the host\n  help: borrow \
         it on its device with `Device::borrow`"
    );
    Ok(())
}
