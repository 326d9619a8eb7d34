//! Arrays on the host.

use std::fmt;
use std::sync::Arc;

use loopwright_kernel_ir::{Buffer, DType, Diagnostic, Element, Number};

use super::properties::Properties;

/// An array on the host: shape, type, elements in row-major order. Immutable and cheap to clone.
#[derive(Clone)]
pub struct Tensor {
    shape: Vec<usize>,
    buffer: Arc<Buffer>,
    initialised: bool,
    /// Properties of the elements, shared by all clones.
    properties: Arc<Properties>,
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Tensor) -> bool {
        (&self.shape, &self.buffer, self.initialised) == (&other.shape, &other.buffer, other.initialised)
    }
}
impl Eq for Tensor {}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}{:?}", self.dtype(), self.shape)?;
        let shown = self.buffer.numbers().take(8).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        let more = if self.len() > 8 { ", ..." } else { "" };
        write!(f, ", [{shown}{more}])")
    }
}

/// The number of elements of a shape, or a refusal if memory cannot hold them.
pub(super) fn elements(shape: &[usize], dtype: DType) -> Result<usize, Diagnostic> {
    shape
        .iter()
        .try_fold(1usize, |product, length| product.checked_mul(*length))
        .filter(|n| n.checked_mul(dtype.bytes()).is_some_and(|bytes| bytes <= isize::MAX as usize))
        .ok_or_else(|| {
            Diagnostic::new(
                "tensor-size",
                format!("an array of shape {shape:?} has more elements than memory can hold"),
            )
            .help("work on smaller pieces")
        })
}

fn too_large(shape: &[usize], bytes: usize) -> Diagnostic {
    Diagnostic::new(
        "out-of-memory",
        format!("an array of shape {shape:?} needs {bytes} bytes, which cannot be allocated"),
    )
    .help("work on smaller pieces")
}

/// A buffer of zeros, or a refusal: an allocation that fails would end the process.
fn zeros(shape: &[usize], dtype: DType) -> Result<Buffer, Diagnostic> {
    let count = elements(shape, dtype)?;
    let bytes = count * dtype.bytes();
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| too_large(shape, bytes))?;
    Ok(Buffer::zeros(dtype, count))
}

impl Tensor {
    /// An array of these elements, in row-major order.
    pub fn from_vec<T: Element>(shape: &[usize], values: Vec<T>) -> Result<Tensor, Diagnostic> {
        Tensor::from_slice(shape, &values)
    }

    /// An array of these elements, in row-major order.
    pub fn from_slice<T: Element>(shape: &[usize], values: &[T]) -> Result<Tensor, Diagnostic> {
        Tensor::from_buffer(shape, Buffer::from_slice(values))
    }

    /// An array of the elements of a buffer, in row-major order.
    pub fn from_buffer(shape: &[usize], buffer: Buffer) -> Result<Tensor, Diagnostic> {
        let needed = elements(shape, buffer.dtype())?;
        if needed != buffer.len() {
            return Err(Diagnostic::new(
                "tensor-length",
                format!("an array of shape {shape:?} has {needed} elements, but {} were given", buffer.len()),
            )
            .help("the number of elements is the product of the lengths"));
        }
        Ok(Tensor {
            shape: shape.to_vec(),
            buffer: Arc::new(buffer),
            initialised: true,
            properties: Arc::default(),
        })
    }

    /// An array of `f(k)` for the element with number `k` in row-major order.
    pub fn from_fn<T: Element>(shape: &[usize], f: impl FnMut(usize) -> T) -> Result<Tensor, Diagnostic> {
        let values: Vec<T> = (0..elements(shape, T::DTYPE)?).map(f).collect();
        Tensor::from_slice(shape, &values)
    }

    /// An array of zeros, or `false`.
    pub fn zeros(shape: &[usize], dtype: DType) -> Result<Tensor, Diagnostic> {
        let buffer = zeros(shape, dtype)?;
        Ok(Tensor {
            shape: shape.to_vec(),
            buffer: Arc::new(buffer),
            initialised: true,
            properties: Arc::default(),
        })
    }

    /// An array without values, for a kernel to write. The emulator reports reads of elements that
    /// were never written.
    pub fn uninit(shape: &[usize], dtype: DType) -> Result<Tensor, Diagnostic> {
        Ok(Tensor { initialised: false, ..Tensor::zeros(shape, dtype)? })
    }

    /// Pseudo-random elements, the same for the same seed: floating-point numbers in -1..1 in steps
    /// of 2^-7 (so that sums of few are exact even in half precision), integers in -8..8 or 0..8,
    /// truth values.
    pub fn random(shape: &[usize], dtype: DType, seed: u64) -> Result<Tensor, Diagnostic> {
        let mut buffer = zeros(shape, dtype)?;
        // Zeros take no memory until they are written, which is done here.
        let bytes = buffer.len() * dtype.bytes();
        if bytes as u64 > loopwright_emulator::Options::default().max_bytes {
            return Err(too_large(shape, bytes));
        }
        let mut state = seed;
        for k in 0..buffer.len() {
            // splitmix64
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            let number = match dtype {
                DType::Bool => Number::Bool(z & 1 == 1),
                t if t.is_float() => Number::F64((z % 256) as f64 / 128.0 - 1.0).cast(t),
                t if t.is_unsigned() => Number::U64(z % 8).cast(t),
                t => Number::I64((z % 16) as i64 - 8).cast(t),
            };
            buffer.set(k, number);
        }
        Tensor::from_buffer(shape, buffer)
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.buffer.dtype()
    }

    /// The number of elements: the product of the lengths.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The elements in row-major order.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Properties of the elements, computed on demand.
    pub(super) fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Whether it has values: not so after [`Tensor::uninit`].
    pub fn is_initialised(&self) -> bool {
        self.initialised
    }

    /// The elements in row-major order. Refused if `T` is not their type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Diagnostic> {
        self.buffer.to_vec().ok_or_else(|| {
            Diagnostic::new(
                "tensor-type",
                format!("the elements are {}, but {} was requested", self.dtype(), T::DTYPE),
            )
            .help("request their own type, or use `to_f64` for any type")
        })
    }

    /// The elements as f64, whatever their type.
    pub fn to_f64(&self) -> Vec<f64> {
        self.buffer.numbers().map(Number::as_f64).collect()
    }

    /// A copy with the elements converted to a type.
    pub fn cast(&self, dtype: DType) -> Tensor {
        let mut buffer = Buffer::zeros(dtype, self.len());
        for (k, number) in self.buffer.numbers().enumerate() {
            buffer.set(k, number.cast(dtype));
        }
        Tensor {
            shape: self.shape.clone(),
            buffer: Arc::new(buffer),
            initialised: self.initialised,
            properties: Arc::default(),
        }
    }

    /// The same elements under another shape with as many elements.
    pub fn reshape(&self, shape: &[usize]) -> Result<Tensor, Diagnostic> {
        let needed = elements(shape, self.dtype())?;
        if needed != self.len() {
            return Err(Diagnostic::new(
                "tensor-length",
                format!("an array of shape {shape:?} has {needed} elements, but {} were given", self.len()),
            )
            .help("choose a shape with the same number of elements"));
        }
        Ok(Tensor { shape: shape.to_vec(), ..self.clone() })
    }
}
