//! Typed numbers and buffers: what arrays and scalar arguments hold on the host.
//!
//! Both interpreters and every device exchange these. A buffer holds bytes in machine order, as
//! copied to a device; a number is one element of it.

use std::fmt;

use half::{bf16, f16};

use crate::{DType, E4M3, E5M2};

/// One value of a known type. Equality is of the type and the bits.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Number {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    E4M3(E4M3),
    E5M2(E5M2),
    F16(f16),
    BF16(bf16),
    F32(f32),
    F64(f64),
}

/// A Rust type that is the type of an element.
pub trait Element: Copy {
    /// The type of the kernel language that this Rust type stands for.
    const DTYPE: DType;
    /// The value with its type, for evaluation.
    fn number(self) -> Number;
    /// The value of a number of this type; `None` for another type.
    fn from_number(number: Number) -> Option<Self>;
}

macro_rules! element {
    ($($rust:ty, $variant:ident;)*) => {
        $(
            impl Element for $rust {
                const DTYPE: DType = DType::$variant;
                fn number(self) -> Number {
                    Number::$variant(self)
                }
                fn from_number(number: Number) -> Option<Self> {
                    match number {
                        Number::$variant(v) => Some(v),
                        _ => None,
                    }
                }
            }
            impl From<$rust> for Number {
                fn from(value: $rust) -> Number {
                    Number::$variant(value)
                }
            }
        )*
        impl Number {
            /// The type of the number, which its variant says.
            pub fn dtype(self) -> DType {
                match self {
                    $(Number::$variant(_) => DType::$variant,)*
                }
            }
        }
    };
}

element! {
    bool, Bool; i8, I8; i16, I16; i32, I32; i64, I64; u8, U8; u16, U16; u32, U32; u64, U64;
    E4M3, E4M3; E5M2, E5M2; f16, F16; bf16, BF16; f32, F32; f64, F64;
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.dtype() == other.dtype() && self.bits() == other.bits()
    }
}
impl Eq for Number {}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Bool(v) => write!(f, "{v}"),
            Number::I8(v) => write!(f, "{v}"),
            Number::I16(v) => write!(f, "{v}"),
            Number::I32(v) => write!(f, "{v}"),
            Number::I64(v) => write!(f, "{v}"),
            Number::U8(v) => write!(f, "{v}"),
            Number::U16(v) => write!(f, "{v}"),
            Number::U32(v) => write!(f, "{v}"),
            Number::U64(v) => write!(f, "{v}"),
            Number::E4M3(v) => write!(f, "{v}"),
            Number::E5M2(v) => write!(f, "{v}"),
            Number::F16(v) => write!(f, "{v}"),
            Number::BF16(v) => write!(f, "{v}"),
            Number::F32(v) => write!(f, "{v}"),
            Number::F64(v) => write!(f, "{v}"),
        }
    }
}

impl Number {
    /// Its bits; those above its size are zero.
    pub fn bits(self) -> u64 {
        match self {
            Number::Bool(v) => v.into(),
            Number::I8(v) => (v as u8).into(),
            Number::I16(v) => (v as u16).into(),
            Number::I32(v) => (v as u32).into(),
            Number::I64(v) => v as u64,
            Number::U8(v) => v.into(),
            Number::U16(v) => v.into(),
            Number::U32(v) => v.into(),
            Number::U64(v) => v,
            Number::E4M3(v) => v.to_bits().into(),
            Number::E5M2(v) => v.to_bits().into(),
            Number::F16(v) => v.to_bits().into(),
            Number::BF16(v) => v.to_bits().into(),
            Number::F32(v) => v.to_bits().into(),
            Number::F64(v) => v.to_bits(),
        }
    }

    /// The number of a type with these bits; bits above its size are ignored.
    pub fn from_bits(dtype: DType, bits: u64) -> Number {
        match dtype {
            DType::Bool => Number::Bool(bits & 0xff != 0),
            DType::I8 => Number::I8(bits as i8),
            DType::I16 => Number::I16(bits as i16),
            DType::I32 => Number::I32(bits as i32),
            DType::I64 => Number::I64(bits as i64),
            DType::U8 => Number::U8(bits as u8),
            DType::U16 => Number::U16(bits as u16),
            DType::U32 => Number::U32(bits as u32),
            DType::U64 => Number::U64(bits),
            DType::E4M3 => Number::E4M3(E4M3::from_bits(bits as u8)),
            DType::E5M2 => Number::E5M2(E5M2::from_bits(bits as u8)),
            DType::F16 => Number::F16(f16::from_bits(bits as u16)),
            DType::BF16 => Number::BF16(bf16::from_bits(bits as u16)),
            DType::F32 => Number::F32(f32::from_bits(bits as u32)),
            DType::F64 => Number::F64(f64::from_bits(bits)),
        }
    }

    /// The integer or truth value; `None` for floating-point numbers and values that `i64` does not
    /// hold.
    pub fn as_i64(self) -> Option<i64> {
        self.as_i128().and_then(|v| i64::try_from(v).ok())
    }

    /// The integer or truth value; `None` for floating-point numbers.
    pub fn as_i128(self) -> Option<i128> {
        Some(match self {
            Number::Bool(v) => v.into(),
            Number::I8(v) => v.into(),
            Number::I16(v) => v.into(),
            Number::I32(v) => v.into(),
            Number::I64(v) => v.into(),
            Number::U8(v) => v.into(),
            Number::U16(v) => v.into(),
            Number::U32(v) => v.into(),
            Number::U64(v) => v.into(),
            Number::E4M3(_)
            | Number::E5M2(_)
            | Number::F16(_)
            | Number::BF16(_)
            | Number::F32(_)
            | Number::F64(_) => return None,
        })
    }

    /// Its value as f64, rounded if it has more digits.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::E4M3(v) => v.to_f64(),
            Number::E5M2(v) => v.to_f64(),
            Number::F16(v) => v.to_f64(),
            Number::BF16(v) => v.to_f64(),
            Number::F32(v) => v.into(),
            Number::F64(v) => v,
            _ => self.as_i128().unwrap_or(0) as f64,
        }
    }

    /// Converted as kernels do it: integers wrap, floating-point to integer goes towards zero and
    /// stays in the type's range (NaN becomes 0), conversions to floating-point round to nearest
    /// (integers to types below 32 bits via f32; e4m3 and e5m2 saturate), and bool is whether it is
    /// not zero.
    pub fn cast(self, dtype: DType) -> Number {
        if self.dtype() == dtype {
            return self;
        }
        match (dtype, self.as_i128()) {
            (DType::Bool, Some(v)) => Number::Bool(v != 0),
            (DType::Bool, None) => Number::Bool(self.as_f64() != 0.0),
            // Integers become narrow floating-point numbers via f32.
            (DType::E4M3, Some(v)) => Number::E4M3(E4M3::from_f64((v as f32).into())),
            (DType::E5M2, Some(v)) => Number::E5M2(E5M2::from_f64((v as f32).into())),
            (DType::E4M3, _) => Number::E4M3(E4M3::from_f64(self.as_f64())),
            (DType::E5M2, _) => Number::E5M2(E5M2::from_f64(self.as_f64())),
            (DType::F16, Some(v)) => Number::F16(f16::from_f32(v as f32)),
            (DType::BF16, Some(v)) => Number::BF16(bf16::from_f32(v as f32)),
            (DType::F16, _) => Number::F16(f16::from_f32(round_to_odd(self.as_f64()))),
            (DType::BF16, _) => Number::BF16(bf16::from_f32(round_to_odd(self.as_f64()))),
            (DType::F32, Some(v)) => Number::F32(v as f32),
            (DType::F32, None) => Number::F32(self.as_f64() as f32),
            (DType::F64, _) => Number::F64(self.as_f64()),
            (_, Some(v)) => Number::from_bits(dtype, v as u64),
            (_, None) => {
                let v = self.as_f64();
                match dtype {
                    DType::I8 => Number::I8(v as i8),
                    DType::I16 => Number::I16(v as i16),
                    DType::I32 => Number::I32(v as i32),
                    DType::I64 => Number::I64(v as i64),
                    DType::U8 => Number::U8(v as u8),
                    DType::U16 => Number::U16(v as u16),
                    DType::U32 => Number::U32(v as u32),
                    _ => Number::U64(v as u64),
                }
            }
        }
    }
}

/// The nearest f32 towards zero, with the last bit set if that is inexact (round to odd): rounding
/// the result to a narrower type then equals rounding once.
fn round_to_odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || value.is_nan() {
        return near;
    }
    let away = f64::from(near).abs() > value.abs();
    f32::from_bits((near.to_bits() - u32::from(away)) | 1)
}

/// The elements of an array on the host, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    dtype: DType,
    bytes: Vec<u8>,
}

impl Buffer {
    /// `len` elements whose bits are all zero.
    pub fn zeros(dtype: DType, len: usize) -> Buffer {
        Buffer { dtype, bytes: vec![0; len.saturating_mul(dtype.bytes())] }
    }

    /// A copy of these elements, of type `T::DTYPE`.
    pub fn from_slice<T: Element>(values: &[T]) -> Buffer {
        let mut buffer = Buffer::zeros(T::DTYPE, values.len());
        let size = T::DTYPE.bytes();
        for (bytes, value) in buffer.bytes.chunks_exact_mut(size).zip(values) {
            bytes.copy_from_slice(&value.number().bits().to_le_bytes()[..size]);
        }
        buffer
    }

    /// These bytes, little-endian; `None` if their number is not a multiple of the element size, or
    /// if a byte of a bool is neither 0 nor 1.
    pub fn from_bytes(dtype: DType, bytes: Vec<u8>) -> Option<Buffer> {
        let whole = bytes.len().is_multiple_of(dtype.bytes());
        let truths = dtype != DType::Bool || bytes.iter().all(|b| *b < 2);
        (whole && truths).then_some(Buffer { dtype, bytes })
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of elements, not of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.bytes()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes, little-endian.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, to be overwritten by a copy from a device. A bool is a byte of 0 or 1.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The element at `index`, or `None` beyond the end.
    pub fn get(&self, index: usize) -> Option<Number> {
        let size = self.dtype.bytes();
        let from = self.bytes.get(index.checked_mul(size)?..)?.get(..size)?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(from);
        Some(Number::from_bits(self.dtype, u64::from_le_bytes(word)))
    }

    /// Overwrites an element; false if `index` is out of range or the type differs.
    pub fn set(&mut self, index: usize, value: Number) -> bool {
        let size = self.dtype.bytes();
        let to = index.checked_mul(size).and_then(|from| self.bytes.get_mut(from..)?.get_mut(..size));
        match to {
            Some(to) if value.dtype() == self.dtype => {
                to.copy_from_slice(&value.bits().to_le_bytes()[..size]);
                true
            }
            _ => false,
        }
    }

    /// The elements; `None` if they are of another type.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        (T::DTYPE == self.dtype).then_some(())?;
        self.numbers().map(T::from_number).collect()
    }

    /// The elements as numbers.
    pub fn numbers(&self) -> impl Iterator<Item = Number> + '_ {
        let size = self.dtype.bytes();
        self.bytes.chunks_exact(size).map(move |bytes| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            Number::from_bits(self.dtype, u64::from_le_bytes(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back_as_they_went_in() {
        let halves = [f16::from_f32(1.5), f16::NEG_INFINITY];
        assert_eq!(Buffer::from_slice(&halves).to_vec::<f16>(), Some(halves.to_vec()));
        let mut b = Buffer::from_slice(&[1i16, -2, 3]);
        assert_eq!((b.len(), b.bytes()), (3, &[1, 0, 254, 255, 3, 0][..]));
        assert!(b.set(2, Number::I16(-1)) && !b.set(3, Number::I16(0)) && !b.set(0, Number::I32(0)));
        assert_eq!(b.to_vec::<i16>(), Some(vec![1, -2, -1]));
        assert_eq!((b.get(1), b.get(3), b.to_vec::<u16>()), (Some(Number::I16(-2)), None, None));
        assert_eq!(Buffer::from_bytes(DType::F32, vec![0; 6]), None);
        assert_eq!(Buffer::from_bytes(DType::Bool, vec![2]), None);
    }

    #[test]
    fn casts_follow_the_kernels_rules() {
        assert_eq!(Number::F32(-3.9).cast(DType::I32), Number::I32(-3));
        assert_eq!(Number::F64(1e30).cast(DType::I16), Number::I16(i16::MAX));
        assert_eq!(Number::F32(f32::NAN).cast(DType::U8), Number::U8(0));
        assert_eq!(Number::I32(-1).cast(DType::U16), Number::U16(65535));
        assert_eq!(Number::U64(u64::MAX).cast(DType::I64), Number::I64(-1));
        assert_eq!(Number::F32(f32::NAN).cast(DType::Bool), Number::Bool(true));
        assert_eq!(Number::F64(65520.0).cast(DType::F16), Number::F16(f16::INFINITY));
        // A tie of f16 that rounding to f32 on the way would miss: 1 + 2^-11 + 2^-40 rounds up.
        let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(Number::F64(above).cast(DType::F16), Number::F16(f16::from_bits(0x3c01)));
        // Rounded once: 2^24 + 1 is a tie in f32 and goes to even.
        assert_eq!(Number::I64((1 << 24) + 1).cast(DType::F32), Number::F32(16_777_216.0));
    }
}
