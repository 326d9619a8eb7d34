//! Intervals of integers: what an operation makes of the ranges of its operands.
//!
//! The range of a result contains all of its values in the integers, before they wrap in a type.

use loopwright_kernel_ir::{BinaryOp, DType, interval};

use crate::BinOp;

/// Far outside every index type, yet small enough that one operation on two such bounds fits in 128
/// bits.
const FAR: i128 = 1 << 62;
const FARTHEST: i128 = FAR * 4;

/// The range of an integer expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub low: i128,
    pub high: i128,
    /// Whether a value read from memory is among its operands.
    pub data: bool,
    /// The range of the first subexpression that overflows its type.
    pub wrapped: Option<(i128, i128)>,
    /// Whether anything but a sum or a difference overflows: these do so only where data are near
    /// the ends of the type.
    pub is_far: bool,
    /// Whether anything but sums, differences and products is computed from what overflows: the
    /// result is then not congruent to the one without overflow.
    pub spoilt: bool,
}

impl Range {
    pub fn new(low: i128, high: i128) -> Range {
        Range {
            low: low.clamp(-FARTHEST, FARTHEST),
            high: high.clamp(-FARTHEST, FARTHEST),
            data: false,
            wrapped: None,
            is_far: false,
            spoilt: false,
        }
    }

    pub fn constant(value: i64) -> Range {
        Range::new(value.into(), value.into())
    }

    pub fn of_type(dtype: DType) -> Option<Range> {
        let (low, high) = limits(dtype)?;
        Some(Range { data: true, ..Range::new(low, high) })
    }

    /// Merges in the flags of its operands.
    pub fn from(mut self, operands: &[Range]) -> Range {
        for o in operands {
            self.data |= o.data;
            self.wrapped = self.wrapped.or(o.wrapped);
            self.is_far |= o.is_far;
            self.spoilt |= o.spoilt;
        }
        self
    }

    /// The same for an operation whose result overflow makes another one.
    pub fn made_of(self, operands: &[Range]) -> Range {
        let mut made = self.from(operands);
        made.spoilt |= operands.iter().any(|o| o.wrapped.is_some());
        made
    }

    /// The same for a comparison, where sums of data are taken to fit.
    pub fn compared(self, operands: &[Range]) -> Range {
        let mut made = self.from(operands);
        made.spoilt |= operands.iter().any(|o| o.is_far);
        made
    }

    pub fn union(self, other: Range) -> Range {
        Range::new(self.low.min(other.low), self.high.max(other.high)).from(&[self, other])
    }

    pub fn is_within(self, (low, high): (i128, i128)) -> bool {
        self.low >= low && self.high <= high
    }
}

/// The range of an integer type; a bool is 0 or 1.
pub(crate) fn limits(dtype: DType) -> Option<(i128, i128)> {
    Some(match dtype {
        DType::Bool => (0, 1),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::I64 => (i64::MIN.into(), i64::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::U32 => (0, u32::MAX.into()),
        DType::U64 => (0, u64::MAX.into()),
        DType::E4M3 | DType::E5M2 | DType::F16 | DType::BF16 | DType::F32 | DType::F64 => return None,
    })
}

/// The range of a counter from `low` up to `high`, exclusive.
pub(crate) fn counter(low: Option<Range>, high: Option<Range>) -> Option<Range> {
    let (low, high) = (low?, high?);
    Some(Range::new(low.low, (high.high - 1).max(low.low)).from(&[low, high]))
}

pub(crate) fn binary(op: BinOp, a: Range, b: Range, dtype: DType) -> Option<Range> {
    let ends = |r: Range| (r.low, r.high);
    let of = |op| interval::binary(op, ends(a), ends(b));
    let known = match op {
        BinOp::Add => of(BinaryOp::Add),
        BinOp::Sub => of(BinaryOp::Sub),
        BinOp::Mul => of(BinaryOp::Mul),
        BinOp::FloorDiv => of(BinaryOp::FloorDiv),
        BinOp::FloorMod => of(BinaryOp::Mod),
        BinOp::BitAnd => of(BinaryOp::BitAnd),
        BinOp::BitOr => of(BinaryOp::BitOr),
        BinOp::BitXor => of(BinaryOp::BitXor),
        BinOp::Shl => of(BinaryOp::Shl),
        BinOp::Shr => of(BinaryOp::Shr),
        BinOp::Min => Some(interval::min(ends(a), ends(b))),
        BinOp::Max => Some(interval::max(ends(a), ends(b))),
        // These are used where they equal the ones that round down, but for the range of what they
        // give elsewhere.
        BinOp::TruncDiv if b.low > 0 => {
            let all = [a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high];
            all.into_iter().min().zip(all.into_iter().max())
        }
        BinOp::TruncRem if b.low > 0 && a.low >= 0 => Some((0, a.high.min(b.high - 1))),
        BinOp::And | BinOp::Or => Some((0, 1)),
        _ => None,
    };
    let known = match known {
        Some((low, high)) => Range::new(low, high),
        None => Range::of_type(dtype)?,
    };
    Some(match op {
        BinOp::Add | BinOp::Sub | BinOp::Mul => known.from(&[a, b]),
        BinOp::Shl => known.made_of(&[b]).from(&[a]),
        BinOp::Min | BinOp::Max | BinOp::And | BinOp::Or => known.compared(&[a, b]),
        _ => known.made_of(&[a, b]),
    })
}

#[cfg(test)]
mod tests;
