//! Arrays received from another library or passed to one.

use std::any::Any;

use loopwright_kernel_ir::{DType, Diagnostic};

use super::structures::{ElementType, Place, RawManaged, RawTensor, RawVersioned};

/// The memory layout and element type of a shared array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The address of the first element.
    pub address: u64,
    /// The device that the memory belongs to.
    pub place: Place,
    /// The type of the elements.
    pub dtype: DType,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Stride of each axis in elements; may be negative.
    pub strides: Vec<i64>,
    /// Whether the elements are read-only.
    pub read_only: bool,
}

impl Description {
    /// The array of the parts of complex numbers, with a last axis of 2, where this one has their
    /// shape and strides, and the type of their parts.
    pub fn pairs(mut self) -> Description {
        self.strides.iter_mut().for_each(|stride| *stride = stride.saturating_mul(2));
        self.shape.push(2);
        self.strides.push(1);
        self
    }
}

/// An array shared between libraries, owned by this value.
#[derive(Debug)]
pub struct Shared {
    description: Description,
    owner: Owner,
}

enum Owner {
    /// Memory of this process, freed with its last owner.
    Ours(Box<dyn Any + Send>),
    Raw(*mut RawManaged),
    Versioned(*mut RawVersioned),
    /// Already passed on or returned.
    None,
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Owner::Ours(_) => "ours",
            Owner::Raw(_) | Owner::Versioned(_) => "another library's",
            Owner::None => "nobody",
        })
    }
}

// SAFETY: the deleter of another library may be called from any thread, as required of those who
// pass structures in; everything else is plain data.
unsafe impl Send for Shared {}

impl Shared {
    /// Memory of this process; `owner` is dropped when the array is no longer used.
    ///
    /// # Safety
    ///
    /// All elements of `description` are in memory that may be read, and written unless it is
    /// read-only, until `owner` is dropped, which may happen in any thread.
    pub unsafe fn lend(description: Description, owner: Box<dyn Any + Send>) -> Shared {
        Shared { description, owner: Owner::Ours(owner) }
    }

    /// Takes ownership of an array from another library. If it is refused, it is returned to its
    /// owner.
    ///
    /// # Safety
    ///
    /// The pointer is to a structure that follows the convention and correctly describes the memory
    /// until its deleter is called, which nobody else does and which any thread may do.
    pub unsafe fn from_raw(raw: *mut RawManaged) -> Result<Shared, Diagnostic> {
        if raw.is_null() {
            return Err(null());
        }
        let owner = Owner::Raw(raw);
        // SAFETY: the caller's promise.
        let description = unsafe { describe(&(*raw).tensor, false) };
        Shared::checked(description, owner)
    }

    /// As [`Shared::from_raw`], for the structure with a version.
    ///
    /// # Safety
    ///
    /// As for [`Shared::from_raw`].
    pub unsafe fn from_raw_versioned(raw: *mut RawVersioned) -> Result<Shared, Diagnostic> {
        if raw.is_null() {
            return Err(null());
        }
        let owner = Owner::Versioned(raw);
        // SAFETY: the caller's promise; version, context and deleter have the same positions in
        // every version.
        let [major, minor] = unsafe { (*raw).version };
        let description = if major == RawVersioned::VERSION[0] {
            // SAFETY: the caller's promise, and the structure has the layout of this version.
            unsafe { describe(&(*raw).tensor, (*raw).flags & RawVersioned::READ_ONLY != 0) }
        } else {
            Err(Diagnostic::new(
                "dlpack-version",
                format!(
                    "the array uses version {major}.{minor} of DLPack, and only version 1 is \
                     supported"
                ),
            )
            .help("request `max_version=(1, 1)` from its library"))
        };
        Shared::checked(description, owner)
    }

    fn checked(description: Result<Description, Diagnostic>, owner: Owner) -> Result<Shared, Diagnostic> {
        match description {
            Ok(description) => Ok(Shared { description, owner }),
            Err(diagnostic) => {
                owner.give_back();
                Err(diagnostic)
            }
        }
    }

    /// The memory layout and element type.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// A copy of the elements, row by row, whatever the strides. Refused unless the host can read
    /// the memory.
    pub fn host_bytes(&self) -> Result<Vec<u8>, Diagnostic> {
        let Description { address, place, dtype, shape, strides, .. } = &self.description;
        if !matches!(place.kind, Place::HOST | Place::CUDA_HOST) {
            return Err(Diagnostic::new(
                "other-device",
                format!("the array is on device {} of kind {}, not on the host", place.number, place.kind),
            )
            .help("borrow it on its device with `Device::borrow`"));
        }
        let size = dtype.bytes();
        let count = shape.iter().fold(1, |count: usize, length| count.saturating_mul(*length));
        let total = count.saturating_mul(size);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(total).map_err(|_| {
            Diagnostic::new("out-of-memory", format!("the host cannot allocate {total} bytes"))
                .help("work on smaller pieces")
        })?;
        let base: *const u8 = std::ptr::with_exposed_provenance(*address as usize);
        let mut index = vec![0usize; shape.len()];
        for _ in 0..count {
            let offset: i64 = index.iter().zip(strides).map(|(i, stride)| *i as i64 * stride).sum();
            // SAFETY: the element is one of those described, which are valid by the promise of
            // `from_raw` or `lend`.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(base.offset(offset as isize * size as isize), size)
            });
            for axis in (0..shape.len()).rev() {
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        Ok(bytes)
    }

    /// Passes it on as `DLManagedTensor`. The receiver must call the deleter once, from any thread.
    pub fn into_raw(self) -> *mut RawManaged {
        let mut lent = Box::new(Lent::new(self));
        let raw =
            RawManaged { tensor: lent.tensor(), context: std::ptr::null_mut(), deleter: Some(delete_raw) };
        Box::into_raw(Box::new(RawManaged { context: Box::into_raw(lent).cast(), ..raw }))
    }

    /// As [`Shared::into_raw`], with the versioned structure, which also says whether the elements
    /// are read-only.
    pub fn into_raw_versioned(self) -> *mut RawVersioned {
        let flags = if self.description.read_only { RawVersioned::READ_ONLY } else { 0 };
        let mut lent = Box::new(Lent::new(self));
        let raw = RawVersioned {
            version: RawVersioned::VERSION,
            context: std::ptr::null_mut(),
            deleter: Some(delete_versioned),
            flags,
            tensor: lent.tensor(),
        };
        Box::into_raw(Box::new(RawVersioned { context: Box::into_raw(lent).cast(), ..raw }))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        std::mem::replace(&mut self.owner, Owner::None).give_back();
    }
}

impl Owner {
    fn give_back(self) {
        match self {
            Owner::Ours(owner) => drop(owner),
            Owner::None => {}
            Owner::Raw(raw) => {
                // SAFETY: the structure is live, and its deleter, which frees it, is called once.
                unsafe {
                    if let Some(deleter) = (*raw).deleter {
                        deleter(raw);
                    }
                }
            }
            Owner::Versioned(raw) => {
                // SAFETY: as above.
                unsafe {
                    if let Some(deleter) = (*raw).deleter {
                        deleter(raw);
                    }
                }
            }
        }
    }
}

/// The target of `context` in structures made here.
struct Lent {
    shared: Shared,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
}

impl Lent {
    fn new(shared: Shared) -> Lent {
        let shape = shared.description.shape.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect();
        let strides = shared.description.strides.clone().into_boxed_slice();
        Lent { shared, shape, strides }
    }

    /// Its pointers are valid as long as this value, even if it is moved.
    fn tensor(&mut self) -> RawTensor {
        let description = &self.shared.description;
        RawTensor {
            data: std::ptr::with_exposed_provenance_mut(description.address as usize),
            place: description.place,
            rank: i32::try_from(self.shape.len()).unwrap_or(i32::MAX),
            element: ElementType::of(description.dtype),
            shape: self.shape.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            byte_offset: 0,
        }
    }
}

unsafe extern "C" fn delete_raw(raw: *mut RawManaged) {
    if raw.is_null() {
        return;
    }
    // SAFETY: made by `into_raw`; called once.
    unsafe {
        drop(Box::from_raw(Box::from_raw(raw).context.cast::<Lent>()));
    }
}

unsafe extern "C" fn delete_versioned(raw: *mut RawVersioned) {
    if raw.is_null() {
        return;
    }
    // SAFETY: made by `into_raw_versioned`; called once.
    unsafe {
        drop(Box::from_raw(Box::from_raw(raw).context.cast::<Lent>()));
    }
}

fn null() -> Diagnostic {
    Diagnostic::new("dlpack-null", "the pointer to the array is null")
        .help("a capsule that was already consumed has none")
}

/// Reads a description.
///
/// # Safety
///
/// The structure follows the convention.
unsafe fn describe(tensor: &RawTensor, read_only: bool) -> Result<Description, Diagnostic> {
    let ElementType { code, bits, lanes } = tensor.element;
    let parts = tensor.element.parts();
    let dtype = tensor.element.dtype().or(parts).ok_or_else(|| {
        Diagnostic::new(
            "dlpack-type",
            format!("elements of code {code}, {bits} bits and {lanes} lanes are not supported"),
        )
        .help(
            "convert them to one of f16, bf16, f32, f64, complex64, complex128, bool, or an integer \
             of 8 to 64 bits",
        )
    })?;
    let rank = usize::try_from(tensor.rank).map_err(|_| malformed("a negative number of axes"))?;
    if rank > 0 && tensor.shape.is_null() {
        return Err(malformed("axes but no lengths"));
    }
    let list = |pointer: *const i64| -> Vec<i64> {
        // SAFETY: by the convention as many numbers as axes.
        (0..rank).map(|axis| unsafe { pointer.add(axis).read() }).collect()
    };
    let shape: Vec<usize> = list(tensor.shape)
        .into_iter()
        .map(|length| usize::try_from(length).map_err(|_| malformed("a negative length")))
        .collect::<Result<_, _>>()?;
    let strides = if tensor.strides.is_null() {
        let mut strides = vec![1; rank];
        for axis in (1..rank).rev() {
            strides[axis - 1] = i64::try_from(shape[axis])
                .ok()
                .and_then(|length| length.checked_mul(strides[axis]))
                .ok_or_else(|| malformed("more elements than memory can hold"))?;
        }
        strides
    } else {
        list(tensor.strides)
    };
    let address = (tensor.data.expose_provenance() as u64)
        .checked_add(tensor.byte_offset)
        .ok_or_else(|| malformed("an offset that is out of range"))?;
    let whole = Description { address, place: tensor.place, dtype, shape, strides, read_only };
    Ok(if parts.is_some() { whole.pairs() } else { whole })
}

fn malformed(what: &str) -> Diagnostic {
    Diagnostic::new("dlpack-malformed", format!("the array has {what}"))
        .help("this is an error of the library that made it")
}
