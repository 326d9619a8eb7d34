//! The structures of the convention, with C layout.

use std::ffi::c_void;

use loopwright_kernel_ir::DType;

/// The device that memory belongs to (`DLDevice`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kind of device, such as [`Place::HOST`] or [`Place::CUDA`].
    pub kind: i32,
    /// The number of the device among those of its kind, counted from 0.
    pub number: i32,
}

impl Place {
    /// The kind of the host's memory.
    pub const HOST: i32 = 1;
    /// The kind of a GPU's memory.
    pub const CUDA: i32 = 2;
    /// The kind of page-locked host memory of CUDA.
    pub const CUDA_HOST: i32 = 3;
    /// The kind of CUDA's managed memory.
    pub const CUDA_MANAGED: i32 = 13;

    /// The memory of the host.
    pub fn host() -> Place {
        Place { kind: Place::HOST, number: 0 }
    }
}

/// The type of elements (`DLDataType`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    /// 0: signed integer, 1: unsigned integer, 2: IEEE float, 4: bfloat, 5: complex, whose bits are
    /// those of both parts, 6: bool. Other codes have no [`DType`].
    pub code: u8,
    /// Size of one lane in bits.
    pub bits: u8,
    /// Lanes of one element: 1 unless elements are vectors.
    pub lanes: u16,
}

impl ElementType {
    /// The encoding of a type.
    pub fn of(dtype: DType) -> ElementType {
        let code = match dtype {
            DType::Bool => 6,
            DType::BF16 => 4,
            DType::E4M3 => 10,
            DType::E5M2 => 12,
            t if t.is_float() => 2,
            t if t.is_unsigned() => 1,
            _ => 0,
        };
        ElementType { code, bits: (8 * dtype.bytes()) as u8, lanes: 1 }
    }

    /// The [`DType`] with this encoding, if there is one.
    pub fn dtype(self) -> Option<DType> {
        DType::ALL.iter().copied().find(|dtype| ElementType::of(*dtype) == self)
    }

    /// The type of the parts, of a complex one.
    pub fn parts(self) -> Option<DType> {
        match self {
            ElementType { code: 5, bits: 64, lanes: 1 } => Some(DType::F32),
            ElementType { code: 5, bits: 128, lanes: 1 } => Some(DType::F64),
            _ => None,
        }
    }
}

/// Elements in memory (`DLTensor`).
#[repr(C)]
#[derive(Debug)]
pub struct RawTensor {
    /// The beginning of the allocation; elements begin `byte_offset` after it.
    pub data: *mut c_void,
    /// The device that the memory belongs to.
    pub place: Place,
    /// The number of axes: the length of `shape` and `strides`.
    pub rank: i32,
    /// The type of the elements.
    pub element: ElementType,
    /// The length of each axis.
    pub shape: *mut i64,
    /// Stride of each axis in elements; null for row-major without gaps.
    pub strides: *mut i64,
    /// Offset of the first element from `data`, in bytes.
    pub byte_offset: u64,
}

/// Elements with their owner (`DLManagedTensor`).
#[repr(C)]
#[derive(Debug)]
pub struct RawManaged {
    /// The array: address, type, shape and place.
    pub tensor: RawTensor,
    /// Reserved for the owner.
    pub context: *mut c_void,
    /// Returns the array to its owner; null if there is nothing to do.
    pub deleter: Option<unsafe extern "C" fn(*mut RawManaged)>,
}

/// Elements with their owner and flags (`DLManagedTensorVersioned`).
#[repr(C)]
#[derive(Debug)]
pub struct RawVersioned {
    /// The version of the structure: major, minor. The layout depends on the major version.
    pub version: [u32; 2],
    /// Reserved for the owner.
    pub context: *mut c_void,
    /// Returns the array to its owner; null if there is nothing to do.
    pub deleter: Option<unsafe extern "C" fn(*mut RawVersioned)>,
    /// A bit set of [`RawVersioned::READ_ONLY`] and flags that are ignored here.
    pub flags: u64,
    /// The array: address, type, shape and place.
    pub tensor: RawTensor,
}

impl RawVersioned {
    /// The version of the structures here.
    pub const VERSION: [u32; 2] = [1, 1];
    /// The flag of read-only elements.
    pub const READ_ONLY: u64 = 1;
}
