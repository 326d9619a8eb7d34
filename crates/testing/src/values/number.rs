//! Values, and their conversions.

use half::{bf16, f16};
use loopwright_kernel_ir::{DType, E4M3, E5M2, Number};

/// A value of a known type. A floating-point value of a narrower type is held in f64, which
/// represents all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Bool(bool),
    Int(DType, i128),
    Float(DType, f64),
}

/// The number of bits of an integer type.
pub fn bits(t: DType) -> u32 {
    t.bytes() as u32 * 8
}

/// The least and the greatest value of an integer type.
pub fn range(t: DType) -> (i128, i128) {
    match t.is_unsigned() {
        true => (0, (1 << bits(t)) - 1),
        false => (-(1 << (bits(t) - 1)), (1 << (bits(t) - 1)) - 1),
    }
}

/// The congruent integer of the type.
pub fn wrap(t: DType, v: i128) -> i128 {
    let low = v & ((1 << bits(t)) - 1);
    if low > range(t).1 { low - (1 << bits(t)) } else { low }
}

/// The number of the type nearest to one that f64 holds, ties to even.
pub fn round(t: DType, v: f64) -> f64 {
    match t {
        DType::F64 => v,
        DType::F32 => f64::from(v as f32),
        // Via an f32 that is exact or odd, so that the second rounding knows on which side of a tie
        // the value lies.
        DType::F16 => f16::from_f32(odd(v)).to_f64(),
        DType::E4M3 => of_eight_bits(v, 3, -6, 448.0),
        DType::E5M2 => of_eight_bits(v, 2, -14, 57344.0),
        _ => bf16::from_f32(odd(v)).to_f64(),
    }
}

/// The multiple of the distance of neighbours that is nearest to a number, of at most this
/// magnitude.
fn of_eight_bits(v: f64, fraction: i32, least: i32, greatest: f64) -> f64 {
    if v.is_nan() {
        return v;
    }
    let magnitude = v.abs().min(greatest);
    let mut exponent = least;
    while magnitude >= 2f64.powi(exponent + 1) {
        exponent += 1;
    }
    let distance = 2f64.powi(exponent - fraction);
    ((magnitude / distance).round_ties_even() * distance).copysign(v)
}

fn odd(v: f64) -> f32 {
    let near = v as f32;
    if f64::from(near) == v || v.is_nan() || near.to_bits() % 2 == 1 {
        return near;
    }
    // Its neighbour on the other side of the value. An infinity from rounding counts as even.
    let towards_zero = f64::from(near).abs() > v.abs();
    f32::from_bits(if towards_zero { near.to_bits() - 1 } else { near.to_bits() + 1 })
}

impl Value {
    /// The value of a number, with its type.
    pub fn of(number: Number) -> Value {
        match (number.as_i128(), number) {
            (_, Number::Bool(v)) => Value::Bool(v),
            (Some(v), _) => Value::Int(number.dtype(), v),
            _ => Value::Float(number.dtype(), number.as_f64()),
        }
    }

    /// The number of its type that it is.
    pub fn number(self) -> Number {
        match self {
            Value::Bool(v) => Number::Bool(v),
            Value::Int(t, v) => Number::from_bits(t, v as u64),
            Value::Float(DType::F64, v) => Number::F64(v),
            Value::Float(DType::F32, v) => Number::F32(v as f32),
            Value::Float(DType::F16, v) => Number::F16(f16::from_f64(v)),
            Value::Float(DType::E4M3, v) => Number::E4M3(E4M3::from_f64(v)),
            // What was read and not converted may be infinite.
            Value::Float(DType::E5M2, v) if v.is_infinite() => {
                Number::from_bits(DType::E5M2, if v > 0.0 { 0x7c } else { 0xfc })
            }
            Value::Float(DType::E5M2, v) => Number::E5M2(E5M2::from_f64(v)),
            Value::Float(_, v) => Number::BF16(bf16::from_f64(v)),
        }
    }

    /// Converted as the table of the page says.
    pub fn to(self, to: DType) -> Value {
        match (self, to) {
            (Value::Bool(v), DType::Bool) => Value::Bool(v),
            (Value::Bool(v), _) => Value::Int(DType::I32, v.into()).to(to),
            (Value::Int(_, v), DType::Bool) => Value::Bool(v != 0),
            (Value::Float(_, v), DType::Bool) => Value::Bool(v != 0.0),
            (Value::Int(_, v), DType::F64) => Value::Float(to, v as f64),
            (Value::Int(_, v), t) if t.is_float() => Value::Float(t, round(t, f64::from(v as f32))),
            // No conversion: infinities stay.
            (Value::Float(from, v), t) if from == t => Value::Float(t, v),
            (Value::Float(_, v), t) if t.is_float() => Value::Float(t, round(t, v)),
            (Value::Int(_, v), t) => Value::Int(t, wrap(t, v)),
            (Value::Float(_, v), t) if v.is_nan() => Value::Int(t, 0),
            (Value::Float(_, v), t) => Value::Int(t, (v.trunc() as i128).clamp(range(t).0, range(t).1)),
        }
    }
}
