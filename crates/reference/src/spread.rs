//! By how much the order of updates may change a sum of narrow floating-point numbers.
//!
//! An update of an `f16` or `bf16` element rounds what the element holds, each time, and updates
//! come in any order. So there is no one right result, but a set of them. With terms `v` and a
//! first value `w`, each of the `m` sums is exact but for a factor `1 + d`, `|d| <= u`, whatever
//! its operands: none is subnormal without being exact. A term is rounded once more when it is
//! converted. Hence all right results are within `a ((1 + u)^(m + 1) - 1)` of the exact sum, where
//! `a = |w| + sum |v|`. If all terms are multiples of a power of two, and `a` is so small that each
//! multiple of it up to `a` is a number of the type, no sum is rounded at all.

use loopwright_kernel_ir::{DType, Number};

/// The stored bits of the fraction, the exponent of the least number, and the greatest number.
fn format(dtype: DType) -> Option<(i32, i32, f64)> {
    match dtype {
        DType::F16 => Some((10, -24, 65504.0)),
        DType::BF16 => Some((7, -133, f64::from(f32::from_bits(0x7f7f_0000)))),
        _ => None,
    }
}

/// What is known of the updates of one element by `+=`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    dtype: DType,
    /// How many there were.
    updates: u32,
    /// The sum of the magnitudes of the terms, and of the first value.
    magnitude: f64,
    /// The exponent of a power of two of which all terms are multiples; `None` if a term is no
    /// number of the type.
    unit: Option<i32>,
}

/// The exponent of the greatest power of two of which a number is a multiple.
fn unit(value: f64) -> i32 {
    if value == 0.0 {
        return i32::MAX;
    }
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let digits = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    exponent.max(1) - 1075 + digits.trailing_zeros() as i32
}

impl Spread {
    /// An element of this type that holds a value, before all updates; `None` for types in which
    /// sums are compared as all others.
    pub(crate) fn new(dtype: DType, held: f64) -> Option<Spread> {
        format(dtype)?;
        let spread = Spread { dtype, updates: 0, magnitude: 0.0, unit: Some(i32::MAX) };
        Some(spread.with(held))
    }

    fn with(mut self, term: f64) -> Spread {
        self.magnitude += term.abs();
        let is_number = Number::F64(term).cast(self.dtype).as_f64() == term;
        self.unit = self.unit.filter(|_| is_number).map(|known| known.min(unit(term)));
        self
    }

    /// After one more update, by this term.
    pub(crate) fn updated(self, term: f64) -> Spread {
        let spread = self.with(term);
        Spread { updates: spread.updates.saturating_add(1), ..spread }
    }

    /// By how much a right result may differ from the exact sum of the terms. Infinite if some
    /// order may leave the range of the type.
    pub fn bound(&self) -> f64 {
        let Some((digits, least, greatest)) = format(self.dtype) else { return 0.0 };
        let is_exact = self.unit.is_some_and(|unit| {
            unit == i32::MAX || self.magnitude <= 2f64.powi(unit.saturating_add(digits + 1))
        });
        if is_exact && self.magnitude <= greatest {
            return 0.0;
        }
        let grown = f64::from(self.updates.saturating_add(1)) * 2f64.powi(-digits - 1).ln_1p();
        let bound = self.magnitude * grown.exp_m1() + f64::from(self.updates) * 2f64.powi(least - 1);
        if self.magnitude + bound <= greatest { bound } else { f64::INFINITY }
    }

    /// Whether the bound is small enough beside the terms for a comparison to say something.
    pub fn says_something(&self) -> bool {
        self.bound() <= self.magnitude / 8.0
    }

    /// How many updates there were.
    pub fn updates(&self) -> u32 {
        self.updates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dtype: DType, held: f64, terms: &[f64]) -> Spread {
        terms.iter().fold(Spread::new(dtype, held).unwrap(), |spread, term| spread.updated(*term))
    }

    #[test]
    fn units_are_powers_of_two() {
        for (value, expected) in [
            (1.0, 0),
            (12.0, 2),
            (-0.75, -2),
            (0.0, i32::MAX),
            (f64::from_bits(1), -1074),
            (2f64.powi(-24), -24),
        ] {
            assert_eq!(unit(value), expected, "{value}");
        }
    }

    #[test]
    fn sums_that_no_order_rounds_are_exact() {
        assert_eq!(of(DType::F16, 0.0, &[1.0; 2048]).bound(), 0.0);
        assert!(of(DType::F16, 0.0, &[1.0; 2049]).bound() > 0.0);
        assert!(of(DType::F16, 1.0, &[1.0; 2048]).bound() > 0.0);
        assert_eq!(of(DType::BF16, 0.0, &[0.5; 256]).bound(), 0.0);
        assert!(of(DType::BF16, 0.0, &[0.5; 257]).bound() > 0.0);
        assert!(of(DType::F16, 0.0, &[1.0, 0.1]).bound() > 0.0, "0.1 is no f16");
        assert_eq!(of(DType::F16, 0.0, &[]).bound(), 0.0);
        assert!(Spread::new(DType::F32, 0.0).is_none() && Spread::new(DType::I32, 0.0).is_none());
    }

    #[test]
    fn what_leaves_the_range_has_no_bound() {
        assert_eq!(of(DType::F16, 0.0, &[60000.0, 10000.0, -60000.0]).bound(), f64::INFINITY);
        assert!(!of(DType::F16, 0.0, &[60000.0, 10000.0, -60000.0]).says_something());
        assert!(of(DType::BF16, 0.0, &[60000.0, 10000.0, -60000.0]).bound() < 10000.0);
    }

    /// All orders of short random sums, rounded at each update, are within the bound, and some are
    /// far from the exact sum.
    #[test]
    fn all_orders_are_within_the_bound() {
        fn orders(left: &mut Vec<f64>, held: f64, dtype: DType, found: &mut Vec<f64>) {
            if left.is_empty() {
                found.push(held);
            }
            for k in 0..left.len() {
                let term = left.remove(k);
                let rounded = Number::F64(term).cast(dtype).as_f64();
                orders(left, Number::F64(held + rounded).cast(dtype).as_f64(), dtype, found);
                left.insert(k, term);
            }
        }
        let mut state = 17u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) as f64 / 2f64.powi(30) - 1.0) * 2f64.powi((state >> 20 & 7) as i32)
        };
        let mut used = 0.0f64;
        for round in 0..200 {
            let dtype = if round % 2 == 0 { DType::F16 } else { DType::BF16 };
            let held = Number::F64(next()).cast(dtype).as_f64();
            let terms: Vec<f64> = (0..6).map(|_| next()).collect();
            let spread = of(dtype, held, &terms);
            let (exact, bound) = (held + terms.iter().sum::<f64>(), spread.bound());
            let mut found = Vec::new();
            orders(&mut terms.clone(), held, dtype, &mut found);
            assert_eq!(found.len(), 720);
            for result in found {
                assert!((result - exact).abs() <= bound, "{dtype}: {held} {terms:?}: {result}, {exact}");
                used = used.max((result - exact).abs() / bound);
            }
        }
        assert!(used > 0.1, "the bound is of use: {used}");
    }
}
