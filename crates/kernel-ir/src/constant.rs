//! Constant tables: arrays that a kernel declares together with their values.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{AddressSpace, Array, Axis, DType, Expr, Fact, Name, Number, Type};

/// A table of numbers that the kernel contains: nothing writes it, and no caller passes it.
///
/// ```
/// use loopwright_kernel_ir::{Constant, DType::F64, Number};
///
/// let w = Constant::new("w", F64, [2, 2], [0.25, 0.5, 0.5, 1.0]);
/// assert_eq!(w.numbers().map(|n| n[1]), Some(Number::F64(0.5)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Constant {
    /// Its name, the type of its elements, and its axes, whose lengths are integer literals. It is
    /// row-major, in [`AddressSpace::Constant`].
    pub array: Array,
    /// Its values, the last axis fastest: literals, as they were written.
    pub values: Arc<[Expr]>,
}

impl Constant {
    /// A table of this shape, with its values row by row. Validation of the kernel checks both.
    pub fn new<E: Into<Expr>>(
        name: impl Into<Name>,
        dtype: impl Into<Type>,
        shape: impl IntoIterator<Item = i64>,
        values: impl IntoIterator<Item = E>,
    ) -> Self {
        let axes = shape.into_iter().map(|length| Axis::new(Expr::Int(length))).collect();
        Constant {
            array: Array::new(name, dtype, axes, AddressSpace::Constant),
            values: values.into_iter().map(Into::into).collect(),
        }
    }

    /// The length of each axis, if all of them are literals and none is negative.
    pub fn shape(&self) -> Option<Vec<u64>> {
        self.array
            .axes
            .iter()
            .map(|axis| match axis.length {
                Expr::Int(length) => u64::try_from(length).ok(),
                _ => None,
            })
            .collect()
    }

    /// The values in the type of the table; `None` if one is not a literal of this type, which
    /// validation refuses.
    pub fn numbers(&self) -> Option<Vec<Number>> {
        let dtype = self.array.dtype.known()?;
        self.values.iter().map(|value| literal(value, dtype)).collect()
    }

    /// What its values show of a table of integers: their range and, of one axis, whether they
    /// never decrease and whether they are distinct. Empty for other tables.
    pub fn facts(&self) -> Vec<Fact> {
        let name = &self.array.name;
        let integers: Option<Vec<i64>> = self.numbers().into_iter().flatten().map(|n| n.as_i64()).collect();
        let Some(integers) = integers.filter(|_| self.array.dtype.known().is_some_and(DType::is_integer))
        else {
            return Vec::new();
        };
        let (Some(least), Some(greatest)) = (integers.iter().min(), integers.iter().max()) else {
            return Vec::new();
        };
        let upper = greatest.checked_add(1).map(Expr::Int);
        let mut facts = vec![Fact::Range { array: name.clone(), lower: Some(Expr::Int(*least)), upper }];
        if self.array.axes.len() == 1 {
            let mut sorted = integers.clone();
            sorted.sort_unstable();
            if sorted == integers {
                facts.push(Fact::Monotone(name.clone()));
            }
            if sorted.windows(2).all(|pair| pair[0] < pair[1]) {
                facts.push(Fact::Injective(name.clone()));
            }
        }
        facts
    }
}

/// The number that a literal is in a type; `None` if it is not a literal of this type: an
/// integer outside of the type's range, a fraction in a table of integers, a finite number that
/// the type rounds to an infinity or to no number.
pub(crate) fn literal(value: &Expr, dtype: DType) -> Option<Number> {
    match value {
        Expr::Bool(v) => (dtype == DType::Bool).then_some(Number::Bool(*v)),
        Expr::Int(v) if dtype.is_integer() => {
            let number = Number::I64(*v).cast(dtype);
            (number.as_i128() == Some(i128::from(*v))).then_some(number)
        }
        Expr::Int(v) if dtype.is_float() => {
            Some(Number::I64(*v).cast(dtype)).filter(|number| number.as_f64().is_finite())
        }
        Expr::Float(v) if dtype.is_float() => {
            let number = Number::F64(v.0).cast(dtype);
            let kept = !v.0.is_finite() || number.as_f64().is_finite();
            let infinite = !v.0.is_infinite() || number.as_f64() == v.0;
            (kept && infinite).then_some(number)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_a_value_of_the_type_or_none() {
        let float = |v: f64| Expr::Float(crate::Float(v));
        for (value, dtype, expected) in [
            (Expr::Int(-128), DType::I8, Some(Number::I8(-128))),
            (Expr::Int(128), DType::I8, None),
            (Expr::Int(-1), DType::U64, None),
            (Expr::Int(3), DType::F32, Some(Number::F32(3.0))),
            (Expr::Int(70000), DType::F16, None),
            (float(0.1), DType::F32, Some(Number::F32(0.1))),
            (float(1e39), DType::F32, None),
            (float(f64::INFINITY), DType::F32, Some(Number::F32(f32::INFINITY))),
            (float(f64::INFINITY), DType::E4M3, None),
            (float(2.0), DType::I32, None),
            (Expr::Bool(true), DType::Bool, Some(Number::Bool(true))),
            (Expr::Int(1), DType::Bool, None),
            (Expr::name("n"), DType::I32, None),
        ] {
            assert_eq!(literal(&value, dtype), expected, "{value} as {dtype}");
        }
    }

    #[test]
    fn a_table_of_integers_says_what_its_values_show() {
        let facts = |values: &[i64]| {
            let table = Constant::new("t", DType::I64, [values.len() as i64], values.iter().copied());
            table.facts().iter().map(crate::text::text_of_fact).collect::<Vec<_>>()
        };
        let range = |text: &str| text.to_string();
        assert_eq!(facts(&[0, 2, 2]), [range("fact 0 <= t < 3"), range("fact monotone(t)")]);
        assert_eq!(facts(&[4, -2]), [range("fact -2 <= t < 5"), range("fact injective(t)")]);
        assert_eq!(facts(&[1, 0, 1]), ["fact 0 <= t < 2"]);
        assert_eq!(facts(&[i64::MAX])[0], format!("fact {} <= t", i64::MAX));
        assert!(Constant::new("t", DType::F32, [1], [1.0]).facts().is_empty());
    }
}
