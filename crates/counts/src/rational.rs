//! Fractions with checked arithmetic.

use std::fmt;

use crate::Refusal;

/// A fraction in lowest terms, with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Rational {
    numerator: i128,
    denominator: i128,
}

pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.saturating_abs()
}

impl Rational {
    pub const ZERO: Rational = Rational { numerator: 0, denominator: 1 };
    pub const ONE: Rational = Rational { numerator: 1, denominator: 1 };

    pub fn new(numerator: i128, denominator: i128) -> Result<Rational, Refusal> {
        if denominator == 0 {
            return Err(Refusal::overflow());
        }
        let g = gcd(numerator, denominator).max(1);
        let sign = if denominator < 0 { -1 } else { 1 };
        let over = Refusal::overflow;
        Ok(Rational {
            numerator: (numerator / g).checked_mul(sign).ok_or_else(over)?,
            denominator: (denominator / g).checked_mul(sign).ok_or_else(over)?,
        })
    }

    pub fn whole(value: i64) -> Rational {
        Rational { numerator: value.into(), denominator: 1 }
    }

    pub fn is_zero(self) -> bool {
        self.numerator == 0
    }

    pub fn numerator(self) -> i128 {
        self.numerator
    }

    pub fn denominator(self) -> i128 {
        self.denominator
    }

    pub fn plus(self, other: Rational) -> Result<Rational, Refusal> {
        let sum = || {
            let left = self.numerator.checked_mul(other.denominator)?;
            let right = other.numerator.checked_mul(self.denominator)?;
            Some((left.checked_add(right)?, self.denominator.checked_mul(other.denominator)?))
        };
        let (n, d) = sum().ok_or_else(Refusal::overflow)?;
        Rational::new(n, d)
    }

    pub fn times(self, other: Rational) -> Result<Rational, Refusal> {
        let product = || {
            let n = self.numerator.checked_mul(other.numerator)?;
            Some((n, self.denominator.checked_mul(other.denominator)?))
        };
        let (n, d) = product().ok_or_else(Refusal::overflow)?;
        Rational::new(n, d)
    }

    /// The integer with this value; `None` if the denominator is not 1.
    pub fn as_integer(self) -> Option<i128> {
        (self.denominator == 1).then_some(self.numerator)
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            d => write!(f, "{}/{d}", self.numerator),
        }
    }
}
