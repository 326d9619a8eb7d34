//! Numbers as passed by callers.

use std::fmt;

use half::{bf16, f16};
use loopwright_kernel_ir::{DType, Diagnostic, Element, Name, Number};

/// A number passed by a caller; it takes the type that the kernel declares, if that type can
/// represent it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalarValue(Value);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    /// A host integer, whose type is irrelevant.
    Integer(i128),
    /// A number whose type the kernel's type has to represent.
    Number(Number),
}

macro_rules! numbers {
    ($($rust:ty),*) => {
        $(impl From<$rust> for ScalarValue {
            fn from(value: $rust) -> ScalarValue {
                ScalarValue(Value::Number(value.number()))
            }
        })*
    };
}
numbers!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64);

impl From<usize> for ScalarValue {
    fn from(value: usize) -> ScalarValue {
        ScalarValue(Value::Integer(value as i128))
    }
}

impl From<Number> for ScalarValue {
    fn from(value: Number) -> ScalarValue {
        ScalarValue(Value::Number(value))
    }
}

impl fmt::Display for ScalarValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Integer(v) => v.fmt(f),
            Value::Number(v) => v.fmt(f),
        }
    }
}

impl ScalarValue {
    /// The number of a text as a user types it: `true`, `-3`, `0.5`, `inf`.
    pub fn parse(text: &str) -> Option<ScalarValue> {
        if let Ok(value) = text.parse::<bool>() {
            return Some(value.into());
        }
        if let Ok(value) = text.parse::<i128>() {
            return Some(ScalarValue(Value::Integer(value)));
        }
        text.parse::<f64>().ok().map(ScalarValue::from)
    }

    /// Its own type, for an open type that nothing else binds.
    pub(super) fn own_dtype(self) -> DType {
        match self.0 {
            Value::Integer(_) => DType::I64,
            Value::Number(v) => v.dtype(),
        }
    }

    /// As a number of the declared type. Integers have to fit, and floating-point types take
    /// everything but truth values and what would become infinite.
    pub(super) fn to_number(self, name: &Name, dtype: DType) -> Result<Number, Diagnostic> {
        let integer = match self.0 {
            Value::Integer(v) => Some(v),
            Value::Number(Number::Bool(_)) => None,
            Value::Number(v) => v.as_i128(),
        };
        let wrong = || {
            // A whole number of a floating-point type is no integer, and is not shown as one.
            let given = match self.0 {
                Value::Number(v) if v.dtype().is_float() => format!("{:?}", v.as_f64()),
                _ => self.to_string(),
            };
            Diagnostic::new("scalar-type", format!("`{name}` is {dtype}, but {given} was given"))
                .help(format!("pass a value of {dtype}"))
        };
        match (self.0, dtype) {
            (Value::Number(v @ Number::Bool(_)), DType::Bool) => Ok(v),
            (Value::Number(Number::Bool(_)), _) | (_, DType::Bool) => Err(wrong()),
            (Value::Integer(v), t) if t.is_float() => rounded(name, Number::F64(v as f64), t),
            (Value::Number(v), t) if t.is_float() => rounded(name, v, t),
            _ => {
                let value = integer.ok_or_else(wrong)?;
                let number = Number::from_bits(dtype, value as u64);
                if number.as_i128() == Some(value) {
                    return Ok(number);
                }
                Err(Diagnostic::new(
                    "scalar-range",
                    format!("`{name}` is {dtype}, which cannot represent {value}"),
                )
                .help(format!("declare `{name}` with a wider type")))
            }
        }
    }
}

/// A number of a floating-point type. Infinite is only what was infinite before.
fn rounded(name: &Name, value: Number, dtype: DType) -> Result<Number, Diagnostic> {
    let number = value.cast(dtype);
    if number.as_f64().is_infinite() && !value.as_f64().is_infinite() {
        let message = format!("`{name}` is {dtype}, which cannot represent {:?}", value.as_f64());
        let help = format!("declare `{name}` with a wider type, or pass `inf` if that is meant");
        return Err(Diagnostic::new("scalar-range", message).help(help));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers() {
        let parse = |text: &str| ScalarValue::parse(text).map(|v| (v.own_dtype(), v.to_string()));
        let of = |dtype: DType, text: &str| Some((dtype, text.to_string()));
        assert_eq!(parse("true"), of(DType::Bool, "true"));
        assert_eq!(parse("-3"), of(DType::I64, "-3"));
        assert_eq!(parse("18446744073709551615"), of(DType::I64, "18446744073709551615"));
        assert_eq!(parse("0.5"), of(DType::F64, "0.5"));
        assert_eq!(parse("inf"), of(DType::F64, "inf"));
        assert!(ScalarValue::parse("x").is_none() && ScalarValue::parse("").is_none());
    }
    #[test]
    fn values_have_the_declared_type_or_are_refused() {
        let number = |value: ScalarValue, dtype: DType| {
            value.to_number(&Name::new("s"), dtype).map_err(|d| d.code.to_string())
        };
        let is = |value: Number| Ok::<Number, String>(value);
        assert_eq!(number(true.into(), DType::Bool), is(Number::Bool(true)));
        assert_eq!(number(3.into(), DType::F32), is(Number::F32(3.0)));
        assert_eq!(number(0.5.into(), DType::F32), is(Number::F32(0.5)));
        assert_eq!(number(0.5f32.into(), DType::F64), is(Number::F64(0.5)));
        assert_eq!(number(255.into(), DType::U8), is(Number::U8(255)));
        assert_eq!(number((-128).into(), DType::I8), is(Number::I8(-128)));
        for (value, dtype) in [(true.into(), DType::I32), (true.into(), DType::F32), (1.into(), DType::Bool)]
        {
            assert_eq!(number(value, dtype), Err("scalar-type".into()), "{value} as {dtype}");
        }
        for (value, dtype) in [(256, DType::U8), (-1, DType::U8), (128, DType::I8), (-129, DType::I8)] {
            assert_eq!(number(value.into(), dtype), Err("scalar-range".into()), "{value} as {dtype}");
        }
        assert_eq!(number(0.5.into(), DType::I32), Err("scalar-type".into()));
        // A finite number stays finite; `inf` is meant.
        for (value, dtype) in [(1e39, DType::F32), (-65520.0, DType::F16), (3.4e38, DType::BF16)] {
            assert_eq!(number(value.into(), dtype), Err("scalar-range".into()), "{value} as {dtype}");
        }
        assert_eq!(number(100_000.into(), DType::F16), Err("scalar-range".into()));
        assert_eq!(number(65519.0.into(), DType::F16), is(Number::F16(f16::MAX)));
        assert_eq!(number(f64::INFINITY.into(), DType::F32), is(Number::F32(f32::INFINITY)));
        assert_eq!(number(1e39.into(), DType::E5M2).map(Number::as_f64), Ok(57344.0));
        // Host lengths, whose type is irrelevant.
        assert_eq!(number(255usize.into(), DType::U8), is(Number::U8(255)));
        assert_eq!(number(256usize.into(), DType::U8), Err("scalar-range".into()));
        assert_eq!(number(3usize.into(), DType::F32), is(Number::F32(3.0)));
    }
}
