//! Types of values.

use std::fmt;

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

/// The type of one value, in memory and in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    /// Eight bits, four of them of the exponent: up to 448, no infinities. Storage only, as the
    /// next.
    E4M3,
    /// Eight bits, five of them of the exponent: up to 57344.
    E5M2,
    /// IEEE binary16: eleven significant bits, up to 65504.
    F16,
    /// The upper half of a binary32.
    BF16,
    F32,
    F64,
}

impl DType {
    /// All types, in the order of their declaration.
    pub const ALL: [DType; 15] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::E4M3,
        DType::E5M2,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    /// The name in kernel text.
    pub fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::E4M3 => "e4m3",
            DType::E5M2 => "e5m2",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// The type with this name, as in `f32`; `None` for any other text.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Size of an element in memory in bytes: 1, 2, 4 or 8.
    pub fn bytes(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 | DType::E4M3 | DType::E5M2 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        self.is_narrow_float() || matches!(self, DType::F32 | DType::F64)
    }

    /// Whether it is a floating-point type below 32 bits, in which numbers are stored and not
    /// computed.
    pub fn is_narrow_float(self) -> bool {
        matches!(self, DType::E4M3 | DType::E5M2 | DType::F16 | DType::BF16)
    }

    /// Whether it is a floating-point type of eight bits.
    pub fn is_float8(self) -> bool {
        matches!(self, DType::E4M3 | DType::E5M2)
    }

    /// Whether it is a signed or unsigned integer; bool is neither.
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != DType::Bool
    }

    /// Whether it is an unsigned integer.
    pub fn is_unsigned(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type, or the name of one that the arguments bind at launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Type {
    /// A concrete type, whose size is known.
    Known(DType),
    /// A type parameter such as `T`.
    Open(Name),
}

impl Type {
    /// The concrete type, unless it is a type parameter.
    pub fn known(&self) -> Option<DType> {
        match self {
            Type::Known(t) => Some(*t),
            Type::Open(_) => None,
        }
    }
}

impl From<DType> for Type {
    fn from(t: DType) -> Self {
        Type::Known(t)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Known(t) => write!(f, "{t}"),
            Type::Open(name) => write!(f, "{name}"),
        }
    }
}
