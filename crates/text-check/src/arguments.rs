//! The arguments of a run.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, E4M3, E5M2, Name};

/// A scalar argument; it is converted to the type that the program declares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An integer or a truth value.
    Int(i64),
    /// A floating-point number.
    Float(f64),
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Scalar::Int(value)
    }
}

impl From<i32> for Scalar {
    fn from(value: i32) -> Self {
        Scalar::Int(value.into())
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Self {
        Scalar::Float(value)
    }
}

impl From<f32> for Scalar {
    fn from(value: f32) -> Self {
        Scalar::Float(value.into())
    }
}

impl Scalar {
    /// The integer that it is.
    pub(crate) fn as_int(self) -> Option<i64> {
        match self {
            Scalar::Int(v) => Some(v),
            Scalar::Float(_) => None,
        }
    }

    /// Its bytes as a value of that type, low address first.
    pub(crate) fn bytes(self, dtype: DType) -> [u8; 8] {
        let (int, float) = match self {
            Scalar::Int(v) => (v, v as f64),
            Scalar::Float(v) => (v as i64, v),
        };
        let mut bytes = [0; 8];
        let mut put = |value: &[u8]| bytes[..value.len()].copy_from_slice(value);
        match dtype {
            DType::E4M3 => put(&[E4M3::from_f64(float).to_bits()]),
            // A conversion would take it to the greatest number.
            DType::E5M2 if float.is_infinite() => put(&[if float > 0.0 { 0x7c } else { 0xfc }]),
            DType::E5M2 => put(&[E5M2::from_f64(float).to_bits()]),
            DType::F16 => put(&half::f16::from_f64(float).to_ne_bytes()),
            DType::BF16 => put(&half::bf16::from_f64(float).to_ne_bytes()),
            DType::F32 => put(&(float as f32).to_ne_bytes()),
            DType::F64 => put(&float.to_ne_bytes()),
            DType::Bool => put(&[u8::from(int != 0)]),
            DType::I8 | DType::U8 => put(&(int as u8).to_ne_bytes()),
            DType::I16 | DType::U16 => put(&(int as u16).to_ne_bytes()),
            DType::I32 | DType::U32 => put(&(int as u32).to_ne_bytes()),
            DType::I64 | DType::U64 => put(&int.to_ne_bytes()),
        }
        bytes
    }
}

/// The arguments of a program by name: the bytes of arrays, and scalars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// The elements of the caller's arrays, which a run replaces.
    pub arrays: BTreeMap<Name, Vec<u8>>,
    /// The scalar arguments, by name.
    pub scalars: BTreeMap<Name, Scalar>,
}

impl Arguments {
    /// No arguments yet; the methods add them.
    pub fn new() -> Self {
        Arguments::default()
    }

    /// With an array of these bytes.
    pub fn array(mut self, name: impl Into<Name>, bytes: impl Into<Vec<u8>>) -> Self {
        self.arrays.insert(name.into(), bytes.into());
        self
    }

    /// With an array of these numbers.
    pub fn floats(self, name: impl Into<Name>, values: &[f32]) -> Self {
        self.array(name, values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>())
    }

    /// With an array of these integers.
    pub fn ints(self, name: impl Into<Name>, values: &[i32]) -> Self {
        self.array(name, values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>())
    }

    /// With a scalar of this name.
    pub fn scalar(mut self, name: impl Into<Name>, value: impl Into<Scalar>) -> Self {
        self.scalars.insert(name.into(), value.into());
        self
    }

    /// The elements of an array of f32.
    pub fn get_floats(&self, name: &str) -> Vec<f32> {
        self.words(name).map(f32::from_ne_bytes).collect()
    }

    /// The elements of an array of i32.
    pub fn get_ints(&self, name: &str) -> Vec<i32> {
        self.words(name).map(i32::from_ne_bytes).collect()
    }

    fn words(&self, name: &str) -> impl Iterator<Item = [u8; 4]> + '_ {
        let bytes = self.arrays.get(name).map_or(&[][..], |b| b);
        bytes.chunks_exact(4).map(|c| [c[0], c[1], c[2], c[3]])
    }
}
