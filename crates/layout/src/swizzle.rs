//! Swizzles, and swizzled layouts.
//!
//! `Sw<B,M,S>` takes an index to `x ^ ((x & yyy) >> S)`, where `yyy` are `B` bits that start at bit
//! `M + max(0, S)`: those bits are added, without carry, to the `B` bits `|S|` places away. It is
//! its own inverse, and keeps blocks of `2^M` neighbours. It is not a layout, since it has no
//! strides; a [`ComposedLayout`] applies it after one.

use std::fmt;

use crate::{Error, Int, IntTuple, Layout, Result, complement::collision, fit::LIMIT};

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

/// A layout followed by an offset and a swizzle: `Sw o offset o L`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ComposedLayout {
    /// The swizzle, applied last.
    pub swizzle: Swizzle,
    /// The offset, added after the layout and before the swizzle.
    pub offset: Int,
    /// The layout, applied first.
    pub layout: Layout,
}

impl ComposedLayout {
    /// The index that an index of the domain is mapped to.
    pub fn at(&self, index: i64) -> Result<i64> {
        self.shifted(self.layout.at(index)?)
    }

    /// The index that a coordinate is mapped to.
    pub fn at_coordinate(&self, coordinate: &IntTuple) -> Result<i64> {
        self.shifted(self.layout.at_coordinate(coordinate)?)
    }

    fn shifted(&self, index: i64) -> Result<i64> {
        let offset =
            self.offset.as_const().ok_or_else(|| Error::open_int("composed layout", &self.offset))?;
        Ok(self.swizzle.apply(index.checked_add(offset).ok_or(Error::Overflow)?))
    }

    /// All indices, in the order of the domain.
    pub fn values(&self) -> Result<Vec<i64>> {
        self.layout.values()?.into_iter().map(|i| self.shifted(i)).collect()
    }

    /// The composition with a layout that is applied first.
    pub fn compose(&self, first: &Layout) -> Result<Self> {
        let layout = crate::compose::composition(&self.layout, first)?;
        Ok(ComposedLayout { layout, ..self.clone() })
    }

    /// Two indices with the same value, and the value, if it is not injective. A swizzle is
    /// injective.
    pub fn collision(&self) -> Result<Option<(i64, i64, i64)>> {
        Ok(match collision(&self.layout)? {
            Some((i, j, _)) => Some((i, j, self.at(i)?)),
            None => None,
        })
    }

    /// The plain layout that is the same function, if there is one with the same tree. It is
    /// decided by enumeration.
    pub fn as_layout(&self) -> Result<Option<Layout>> {
        let known = self.layout.known("composed layout")?;
        if known.size > LIMIT {
            return Err(Error::TooLarge { operation: "composed layout", points: known.size });
        }
        let Ok(found) = crate::fit::fit(known.size, &|i| self.at(i))? else { return Ok(None) };
        crate::compose::composition(&found, &Layout::compact(&self.layout.shape())?).map(Some).or(Ok(None))
    }
}

impl fmt::Display for ComposedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} o {} o {}", self.swizzle, self.offset, self.layout)
    }
}
