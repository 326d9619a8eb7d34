//! Intervals of integers: what an operation makes of the ranges of its operands.
//!
//! The range of a result contains all of its values in the integers, before they wrap in a type.

use loopwright_kernel_ir::DType;

use crate::BinOp;

/// Far outside every index type, yet small enough that one operation on two such bounds fits in 128
/// bits.
const FAR: i128 = 1 << 62;
const FARTHEST: i128 = FAR * 4;

/// The range of an integer expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub low: i128,
    pub high: i128,
    /// Whether a value read from memory is among its operands.
    pub data: bool,
    /// The range of the first subexpression that overflows its type.
    pub wrapped: Option<(i128, i128)>,
}

impl Range {
    pub fn new(low: i128, high: i128) -> Range {
        Range {
            low: low.clamp(-FARTHEST, FARTHEST),
            high: high.clamp(-FARTHEST, FARTHEST),
            data: false,
            wrapped: None,
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
        }
        self
    }

    pub fn union(self, other: Range) -> Range {
        Range::new(self.low.min(other.low), self.high.max(other.high)).from(&[self, other])
    }

    pub fn is_within(self, (low, high): (i128, i128)) -> bool {
        self.low >= low && self.high <= high
    }
}

/// The range of an integer type; a bool is 0 or 1.
pub(super) fn limits(dtype: DType) -> Option<(i128, i128)> {
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
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => return None,
    })
}

/// The range of a counter from `low` up to `high`, exclusive.
pub(super) fn counter(low: Option<Range>, high: Option<Range>) -> Option<Range> {
    let (low, high) = (low?, high?);
    Some(Range::new(low.low, (high.high - 1).max(low.low)).from(&[low, high]))
}

pub(super) fn binary(op: BinOp, a: Range, b: Range, dtype: DType) -> Option<Range> {
    let corners = |f: &dyn Fn(i128, i128) -> i128| {
        let all = [f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)];
        Range::new(all.into_iter().min().unwrap_or(0), all.into_iter().max().unwrap_or(0))
    };
    let known = match op {
        BinOp::Add => Range::new(a.low + b.low, a.high + b.high),
        BinOp::Sub => Range::new(a.low - b.high, a.high - b.low),
        BinOp::Mul => corners(&i128::saturating_mul),
        BinOp::Min => Range::new(a.low.min(b.low), a.high.min(b.high)),
        BinOp::Max => Range::new(a.low.max(b.low), a.high.max(b.high)),
        BinOp::FloorDiv if b.low > 0 => corners(&i128::div_euclid),
        BinOp::TruncDiv if b.low > 0 => corners(&|x, y| x / y),
        BinOp::FloorMod if b.low > 0 => {
            if b.low == b.high && a.low >= 0 && a.high < b.low {
                a
            } else {
                Range::new(0, b.high - 1)
            }
        }
        BinOp::TruncRem if b.low > 0 && a.low >= 0 => Range::new(0, a.high.min(b.high - 1)),
        BinOp::BitAnd if a.low >= 0 && b.low >= 0 => Range::new(0, a.high.min(b.high)),
        BinOp::BitOr | BinOp::BitXor if a.low >= 0 && b.low >= 0 => {
            let bits = 128 - a.high.max(b.high).leading_zeros();
            Range::new(0, (1i128 << bits.min(100)) - 1)
        }
        BinOp::Shl if b.low >= 0 && b.high < 64 => corners(&|x, s| x.saturating_mul(1i128 << s)),
        BinOp::Shr if b.low >= 0 && b.high < 64 => corners(&|x, s| x >> s),
        BinOp::And | BinOp::Or => Range::new(0, 1),
        _ => Range::of_type(dtype)?,
    };
    Some(known.from(&[a, b]))
}
