//! Properties of the elements of a host array, computed once per array, however often it is bound.
//!
//! Scanning an array takes more than 2 % of the time of its transfer, so that results are stored
//! with the elements, which never change.

use std::collections::HashMap;
use std::sync::OnceLock;

use loopwright_kernel_ir::{Buffer, DType, Number};

/// The properties computed so far.
#[derive(Debug, Default)]
pub(super) struct Properties {
    range: OnceLock<Option<(i128, i128)>>,
    fall: OnceLock<Option<usize>>,
    equal: OnceLock<Option<(usize, usize)>>,
}

/// The elements of an integer buffer, as an iterator of their own type.
macro_rules! integers {
    ($buffer:expr, $values:ident => $body:expr, $else:expr) => {
        integers!(@ $buffer, $values, $body, $else, i8 I8, i16 I16, i32 I32, i64 I64, u8 U8, u16 U16, u32 U32, u64 U64)
    };
    (@ $buffer:expr, $values:ident, $body:expr, $else:expr, $($rust:ident $dtype:ident),*) => {
        match $buffer.dtype() {
            $(DType::$dtype => {
                let $values = $buffer
                    .bytes()
                    .chunks_exact(size_of::<$rust>())
                    .map(|b| <$rust>::from_le_bytes(b.try_into().unwrap_or_default()));
                $body
            })*
            _ => $else,
        }
    };
}

impl Properties {
    /// The least and the greatest element; `None` if there are no elements, or they are not
    /// integers.
    pub fn range(&self, buffer: &Buffer) -> Option<(i128, i128)> {
        *self.range.get_or_init(|| {
            integers!(buffer, values => {
                let mut values = values;
                let first = values.next()?;
                let (least, greatest) = values.fold((first, first), |(l, g), v| (l.min(v), g.max(v)));
                Some((i128::from(least), i128::from(greatest)))
            }, None)
        })
    }

    /// The first element whose successor is smaller.
    pub fn fall(&self, buffer: &Buffer) -> Option<usize> {
        *self.fall.get_or_init(|| {
            integers!(buffer, values => {
                let mut values = values.enumerate();
                let (_, mut last) = values.next()?;
                values.find_map(|(k, v)| {
                    let falls = v < last;
                    last = v;
                    falls.then_some(k - 1)
                })
            }, None)
        })
    }

    /// The first element that is equal to an earlier one, after that one.
    pub fn equal(&self, buffer: &Buffer) -> Option<(usize, usize)> {
        *self.equal.get_or_init(|| {
            let (least, greatest) = self.range(buffer)?;
            let number = |k: usize| buffer.get(k).and_then(Number::as_i128).unwrap_or(0);
            // A bit for each possible value, if there are not many more of them than elements.
            let values = usize::try_from(greatest - least).ok().filter(|n| n / 64 <= buffer.len());
            let Some(values) = values else {
                let mut seen = HashMap::with_capacity(buffer.len());
                return (0..buffer.len()).find_map(|k| seen.insert(number(k), k).map(|first| (first, k)));
            };
            let mut seen = vec![0u64; values / 64 + 1];
            let second = (0..buffer.len()).find(|k| {
                let place = usize::try_from(number(*k) - least).unwrap_or(0);
                let (word, bit) = (&mut seen[place / 64], 1 << (place % 64));
                let is_there = *word & bit != 0;
                *word |= bit;
                is_there
            })?;
            let first = (0..second).find(|k| number(*k) == number(second))?;
            Some((first, second))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_of_small_and_wide_integers() {
        let of = |buffer: &Buffer| {
            let known = Properties::default();
            (known.range(buffer), known.fall(buffer), known.equal(buffer))
        };
        assert_eq!(of(&Buffer::from_slice::<i32>(&[])), (None, None, None));
        assert_eq!(of(&Buffer::from_slice(&[7i64])), (Some((7, 7)), None, None));
        assert_eq!(of(&Buffer::from_slice(&[-3i32, 4, 4, 2, -3])), (Some((-3, 4)), Some(2), Some((1, 2))));
        assert_eq!(
            of(&Buffer::from_slice(&[u64::MAX, 0, u64::MAX])),
            (Some((0, u64::MAX.into())), Some(0), Some((0, 2)))
        );
        assert_eq!(of(&Buffer::from_slice(&[0u8, 200, 255])), (Some((0, 255)), None, None));
        assert_eq!(
            of(&Buffer::from_slice(&[i64::MIN, i64::MAX])),
            (Some((i64::MIN.into(), i64::MAX.into())), None, None)
        );
    }
}
