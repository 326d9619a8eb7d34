//! Swizzles.
//!
//! `Sw<B,M,S>` takes an index to `x ^ ((x & yyy) >> S)`, where `yyy` are `B` bits that start at bit
//! `M + max(0, S)`: those bits are added, without carry, to the `B` bits `|S|` places away. It is
//! its own inverse, and keeps blocks of `2^M` neighbours. It is not a layout, since it has no
//! strides; a [`ComposedLayout`](crate::ComposedLayout) applies it after one.

use std::fmt;

use crate::{Error, Result};

/// `Sw<B,M,S>`. See the module's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// The swizzle of `bits` bits from bit `base` on with those `shift` places above, or below if
    /// it is negative. The two groups must not overlap.
    pub fn new(bits: i64, base: i64, shift: i64) -> Result<Self> {
        let refuse = |why: &str| Error::Call(format!("Sw<{bits},{base},{shift}>: {why}"));
        if bits < 0 || base < 0 {
            return Err(refuse("bits and base are at least 0"));
        }
        if shift.saturating_abs() < bits {
            return Err(refuse("the shift is at least the number of bits, or the bits would overlap"));
        }
        if bits.saturating_add(base).saturating_add(shift.saturating_abs()) > 62 {
            return Err(refuse("an index has 62 bits"));
        }
        let small = |_| Error::Overflow;
        Ok(Swizzle {
            bits: u32::try_from(bits).map_err(small)?,
            base: u32::try_from(base).map_err(small)?,
            shift: i32::try_from(shift).map_err(small)?,
        })
    }

    /// The number of bits that change.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The lowest bit that takes part; blocks of `2^base` neighbours stay together.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The distance from the bits that change to those that change them.
    pub fn shift(&self) -> i32 {
        self.shift
    }

    /// The same swizzle of units of `2^units` elements; `None` if it takes these apart.
    pub(crate) fn of_units(&self, units: u32) -> Option<Self> {
        let base = if self.bits == 0 { 0 } else { self.base.checked_sub(units)? };
        Some(Swizzle { base, ..*self })
    }

    /// The same swizzle of `2^parts`-ths of elements.
    pub(crate) fn of_parts(&self, parts: u32) -> Result<Self> {
        let base = if self.bits == 0 { 0 } else { i64::from(self.base) + i64::from(parts) };
        Swizzle::new(self.bits.into(), base, self.shift.into())
    }

    /// The swizzled index: bits that are `shift` places away are added to others without carry.
    pub fn apply(&self, index: i64) -> i64 {
        let mask = (1i64 << self.bits) - 1;
        let distance = self.shift.unsigned_abs();
        if self.shift >= 0 {
            index ^ ((index & mask << (self.base + distance)) >> distance)
        } else {
            index ^ ((index & mask << self.base) << distance)
        }
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits, self.base, self.shift)
    }
}
