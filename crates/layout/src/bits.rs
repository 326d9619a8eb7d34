//! Layouts as maps of bits.
//!
//! If all sizes and strides are powers of two and no two modes share a bit of the value, a layout
//! moves bits: bit `b` of the index becomes a bit of the value. A swizzle adds bits without carry.
//! Both are linear over the field of two elements, so that one word for each bit of the index (the
//! value at that power of two) describes the map, and the number of values follows from the rank.

use crate::{ComposedLayout, Error, Layout, Result};

/// A linear map of bits: the value at each power of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitMap {
    columns: Vec<u64>,
}

impl BitMap {
    /// The value at an index: the exclusive or of the columns of the index's bits.
    pub fn at(&self, index: u64) -> u64 {
        let set = self.columns.iter().enumerate().filter(|(b, _)| index >> b & 1 == 1);
        set.fold(0, |sum, (_, column)| sum ^ column)
    }

    /// The number of bits of an index.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The dimension of the image of the bits in `mask` of the value: there are `2^rank` values.
    pub fn rank(&self, mask: u64) -> u32 {
        let mut rows: Vec<u64> = Vec::new();
        for column in &self.columns {
            let mut rest = column & mask;
            for row in &rows {
                // Each row has its highest bit alone among the rows before it.
                rest = rest.min(rest ^ row);
            }
            if rest != 0 {
                rows.push(rest);
            }
        }
        u32::try_from(rows.len()).unwrap_or(u32::MAX)
    }

    /// Whether it is injective.
    pub fn is_injective(&self) -> bool {
        usize::try_from(self.rank(u64::MAX)).is_ok_and(|rank| rank == self.width())
    }

    /// The number of different words of one bank that are requested at the same time, for lanes
    /// that are the indices of this map, with values in bytes: 1 if there is no conflict. There are
    /// `2^banks` banks, of `2^word` bytes each.
    pub fn bank_conflict(&self, banks: u32, word: u32) -> u64 {
        let words = u64::MAX << word;
        let within = words & !u64::MAX.checked_shl(word + banks).unwrap_or(0);
        1 << (self.rank(words) - self.rank(within))
    }
}

impl Layout {
    /// The layout as a map of bits, if it is one.
    pub fn to_bits(&self) -> Result<Option<BitMap>> {
        let (mut columns, mut taken) = (Vec::new(), 0u64);
        for (shape, stride) in self.leaves() {
            let (Some(size), Some(stride)) = (shape.as_const(), stride.as_const()) else {
                return Err(Error::open("bit map", self));
            };
            let (Ok(size), Ok(stride)) = (u64::try_from(size), u64::try_from(stride)) else {
                return Ok(None);
            };
            if !size.is_power_of_two() || !(stride == 0 || stride.is_power_of_two()) {
                return Ok(None);
            }
            for b in 0..size.trailing_zeros() {
                let Some(column) = stride.checked_shl(b).filter(|c| c >> b == stride) else {
                    return Ok(None);
                };
                if taken & column != 0 {
                    return Ok(None);
                }
                taken |= column;
                columns.push(column);
            }
        }
        Ok(Some(BitMap { columns }))
    }
}

impl ComposedLayout {
    /// The swizzled layout as a map of bits, if it is one; it must not have an offset.
    pub fn to_bits(&self) -> Result<Option<BitMap>> {
        if !self.offset.is_zero() {
            return Ok(None);
        }
        let Some(inner) = self.layout.to_bits()? else { return Ok(None) };
        let swizzled =
            |c: &u64| i64::try_from(*c).ok().and_then(|c| u64::try_from(self.swizzle.apply(c)).ok());
        let columns: Option<Vec<u64>> = inner.columns.iter().map(swizzled).collect();
        Ok(columns.map(|columns| BitMap { columns }))
    }
}
