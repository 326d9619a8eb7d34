//! The numbers of a run: integers that wrap in their type, and floating-point numbers in f64.
//!
//! All floating-point types are computed in f64 and compared with a tolerance, since a flattened
//! nest joins the points of a segment in another grouping than the kernel. So a conversion between
//! two floating-point types changes nothing here.

#[cfg(test)]
mod tests;

use loopwright_kernel_ir::{DType, Number, arithmetic};
use loopwright_poly::Table;

use crate::{BinOp, UnOp};

/// A number, or none: what nothing has given a value, and what has no value, such as a quotient by
/// zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Nothing,
    /// Of an integer type, as its bits extended to 64; or a truth value, 0 or 1.
    Int(i64),
    Float(f64),
}

impl Num {
    pub fn int(self) -> Option<i64> {
        match self {
            Num::Int(v) => Some(v),
            _ => None,
        }
    }

    pub fn of(number: Number) -> Num {
        match number.as_i128() {
            Some(v) => Num::Int(wrapped(number.dtype(), v)),
            None => Num::Float(number.as_f64()),
        }
    }

    /// A number that stands for the element of an array, or for a scalar, that a hash identifies.
    /// Products and sums of some ten thousand of them neither vanish nor overflow.
    pub fn drawn(dtype: DType, hash: u64) -> Num {
        match dtype {
            DType::Bool => Num::Int((hash & 1) as i64),
            t if t.is_float() => {
                let exponent = (hash >> 12) as f64 / (1u64 << 51) as f64 - 1.0;
                let sign = if hash & 1 == 0 { 1.0 } else { -1.0 };
                Num::Float(sign * exponent.exp2())
            }
            t if t.is_unsigned() => Num::Int((hash % 101) as i64),
            _ => Num::Int((hash % 199) as i64 - 99),
        }
    }

    /// Whether two results are the same, up to the rounding of f64 in some ten thousand operations.
    pub fn agrees(self, other: Num) -> bool {
        match (self, other) {
            (Num::Int(a), Num::Int(b)) => a == b,
            (Num::Float(a), Num::Float(b)) => {
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-7 * a.abs().max(b.abs())
            }
            _ => false,
        }
    }
}

/// The elements of arrays that have been written, by array and offset: what they hold, and how
/// often they have been written.
pub(super) type Written = Table<(usize, i64), (Num, u32)>;

/// A well-mixed hash of some numbers (the finaliser of splitmix64, in a chain).
pub(in crate::verify) fn hash(of: impl IntoIterator<Item = u64>) -> u64 {
    of.into_iter().fold(0x9e37_79b9_7f4a_7c15, |seed, v| {
        let mut z = (seed ^ v).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// A hash of a name, the same in every run.
pub(in crate::verify) fn hash_of_name(name: &str) -> u64 {
    hash(name.bytes().map(u64::from))
}

/// The bits of an integer in a type.
pub(super) fn wrapped(dtype: DType, value: i128) -> i64 {
    match dtype {
        DType::Bool => i64::from(value != 0),
        DType::I8 => (value as i8).into(),
        DType::I16 => (value as i16).into(),
        DType::I32 => (value as i32).into(),
        DType::U8 => (value as u8).into(),
        DType::U16 => (value as u16).into(),
        DType::U32 => (value as u32).into(),
        _ => value as i64,
    }
}

fn exact(dtype: DType, value: i64) -> i128 {
    if dtype == DType::U64 { i128::from(value as u64) } else { value.into() }
}

/// The number in another type.
pub(super) fn cast(from: DType, to: DType, value: Num) -> Num {
    match value {
        Num::Int(v) if to.is_float() => Num::Float(exact(from, v) as f64),
        Num::Int(v) => Num::Int(wrapped(to, exact(from, v))),
        Num::Float(_) if to.is_float() => value,
        Num::Float(v) => Num::of(Number::F64(v).cast(to)),
        Num::Nothing => value,
    }
}

pub(super) fn unary(op: UnOp, dtype: DType, value: Num) -> Num {
    match (op, value) {
        (UnOp::Neg, Num::Int(v)) => Num::Int(wrapped(dtype, -i128::from(v))),
        (UnOp::Neg, Num::Float(v)) => Num::Float(-v),
        (UnOp::Not, Num::Int(v)) => Num::Int((v == 0).into()),
        (UnOp::BitNot, Num::Int(v)) => Num::Int(wrapped(dtype, !i128::from(v))),
        _ => Num::Nothing,
    }
}

/// An operation on two numbers of a type.
pub(super) fn binary(op: BinOp, dtype: DType, a: Num, b: Num) -> Num {
    match (a, b) {
        (Num::Int(a), Num::Int(b)) => integers(op, dtype, exact(dtype, a), exact(dtype, b)),
        (Num::Float(a), Num::Float(b)) => floats(op, a, b),
        _ => Num::Nothing,
    }
}

/// An operation on many pairs of numbers of a type: what [`binary`] gives for each. The right ones
/// by their place.
pub(super) fn binary_each(op: BinOp, dtype: DType, left: &mut [Num], right: impl Fn(usize) -> Num) {
    // Sums, differences and products are the same in 64 bits that wrap; the rest is exact there,
    // but for the upper half of u64.
    let truth = i64::from;
    match (op, dtype) {
        (_, DType::Bool) => one_by_one(op, dtype, left, right),
        (BinOp::Add, _) => each(op, dtype, left, right, i64::wrapping_add),
        (BinOp::Sub, _) => each(op, dtype, left, right, i64::wrapping_sub),
        (BinOp::Mul, _) => each(op, dtype, left, right, i64::wrapping_mul),
        (_, DType::U64) => one_by_one(op, dtype, left, right),
        (BinOp::Min, _) => each(op, dtype, left, right, i64::min),
        (BinOp::Max, _) => each(op, dtype, left, right, i64::max),
        (BinOp::Lt, _) => each(op, DType::Bool, left, right, |a, b| truth(a < b)),
        (BinOp::Le, _) => each(op, DType::Bool, left, right, |a, b| truth(a <= b)),
        (BinOp::Gt, _) => each(op, DType::Bool, left, right, |a, b| truth(a > b)),
        (BinOp::Ge, _) => each(op, DType::Bool, left, right, |a, b| truth(a >= b)),
        (BinOp::Eq, _) => each(op, DType::Bool, left, right, |a, b| truth(a == b)),
        (BinOp::Ne, _) => each(op, DType::Bool, left, right, |a, b| truth(a != b)),
        _ => one_by_one(op, dtype, left, right),
    }
}

fn one_by_one(op: BinOp, dtype: DType, left: &mut [Num], right: impl Fn(usize) -> Num) {
    for (k, l) in left.iter_mut().enumerate() {
        *l = binary(op, dtype, *l, right(k));
    }
}

/// An operation on integers, whose results are of a type; floating-point numbers go the slow way.
fn each(
    op: BinOp,
    dtype: DType,
    left: &mut [Num],
    right: impl Fn(usize) -> Num,
    of: impl Fn(i64, i64) -> i64,
) {
    let spare = 64 - 8 * dtype.bytes() as u32;
    let is_unsigned = dtype.is_unsigned();
    for (k, l) in left.iter_mut().enumerate() {
        *l = match (*l, right(k)) {
            (Num::Int(a), Num::Int(b)) => {
                let bits = of(a, b) << spare;
                Num::Int(if is_unsigned { (bits as u64 >> spare) as i64 } else { bits >> spare })
            }
            (a, b) => binary(op, dtype, a, b),
        };
    }
}

fn compared<T: PartialOrd>(op: BinOp, a: T, b: T) -> Option<Num> {
    Some(Num::Int(op.compared(a, b)?.into()))
}

fn floats(op: BinOp, a: f64, b: f64) -> Num {
    Num::Float(match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::FloorDiv => (a / b).floor(),
        // The operand that is not NaN, as `f64::min` has it.
        BinOp::Min => a.min(b),
        BinOp::Max => a.max(b),
        op => return compared(op, a, b).unwrap_or(Num::Nothing),
    })
}

fn integers(op: BinOp, dtype: DType, a: i128, b: i128) -> Num {
    let bits = 8 * dtype.bytes() as i128;
    let inside = (0..bits).contains(&b);
    let result = match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::FloorDiv | BinOp::FloorMod | BinOp::TruncDiv | BinOp::TruncRem if b == 0 => {
            return Num::Nothing;
        }
        BinOp::FloorDiv => floor_quotient(a, b),
        BinOp::FloorMod => a - b * floor_quotient(a, b),
        BinOp::TruncDiv => a / b,
        BinOp::TruncRem => a % b,
        BinOp::Min => a.min(b),
        BinOp::Max => a.max(b),
        BinOp::And => return Num::Int((a != 0 && b != 0).into()),
        BinOp::Or => return Num::Int((a != 0 || b != 0).into()),
        BinOp::BitAnd => a & b,
        BinOp::BitOr => a | b,
        BinOp::BitXor => a ^ b,
        BinOp::Shl => {
            if inside {
                a << b
            } else {
                0
            }
        }
        BinOp::Shr if inside => a >> b,
        BinOp::Shr => -i128::from(a < 0),
        op => return compared(op, a, b).unwrap_or(Num::Nothing),
    };
    Num::Int(wrapped(dtype, result))
}

/// The quotient by a number that is not zero, rounded down. Divisions of 128 bits are slow, and
/// rarely needed.
fn floor_quotient(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) if b > 0 => a.div_euclid(b).into(),
        _ => a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0),
    }
}

/// A function of the library, of operands of a type.
pub(super) fn math(name: &str, dtype: DType, args: &[Num]) -> Num {
    let mut numbers = Vec::new();
    for arg in args {
        numbers.push(match arg {
            Num::Int(v) => Number::I64(*v).cast(dtype),
            Num::Float(v) => Number::F64(*v),
            Num::Nothing => return Num::Nothing,
        });
    }
    arithmetic::math(name, &numbers).map_or(Num::Nothing, Num::of)
}

/// A function of the user's: all that is known is that equal operands have equal results.
pub(super) fn unknown_function(name: &str, result: DType, args: &[Num]) -> Num {
    let mut bits = vec![hash_of_name(name)];
    for arg in args {
        bits.push(match arg {
            Num::Int(v) => *v as u64,
            Num::Float(v) => v.to_bits(),
            Num::Nothing => return Num::Nothing,
        });
    }
    Num::drawn(result, hash(bits))
}
