//! Intervals of integers: what an operation makes of those of its operands.
//!
//! The interval of a result contains all of its values in the integers, before they wrap in a type.
//! Bounds of operands are far from the ends of 128 bits (at most 2^64 in magnitude).

use crate::BinaryOp;

/// The least and the greatest value.
pub type Interval = (i128, i128);

/// The interval of an operation on integers. `None` if nothing is known: of a comparison, of a
/// divisor that may be zero, or of a bit pattern or an amount of a shift that may be negative.
pub fn binary(op: BinaryOp, a: Interval, b: Interval) -> Option<Interval> {
    // Where these are used, the operation is monotonic in either operand.
    let corners = |f: &dyn Fn(i128, i128) -> i128| {
        let all = [f(a.0, b.0), f(a.0, b.1), f(a.1, b.0), f(a.1, b.1)];
        Some((all.into_iter().min()?, all.into_iter().max()?))
    };
    match op {
        BinaryOp::Add => Some((a.0 + b.0, a.1 + b.1)),
        BinaryOp::Sub => Some((a.0 - b.1, a.1 - b.0)),
        BinaryOp::Mul => corners(&i128::saturating_mul),
        BinaryOp::FloorDiv if b.0 > 0 => corners(&i128::div_euclid),
        // Rounded down: the quotient by the divisor with the other sign, of the dividend with it.
        BinaryOp::FloorDiv if b.1 < 0 => corners(&|x, y| x.saturating_neg().div_euclid(y.saturating_neg())),
        BinaryOp::Mod if b.1 < 0 => Some((b.0.saturating_add(1), 0)),
        BinaryOp::Mod if b.0 > 0 => {
            if b.0 == b.1 && a.0 >= 0 && a.1 < b.0 {
                Some(a)
            } else {
                Some((0, b.1 - 1))
            }
        }
        BinaryOp::BitAnd if a.0 >= 0 && b.0 >= 0 => Some((0, a.1.min(b.1))),
        BinaryOp::BitOr | BinaryOp::BitXor if a.0 >= 0 && b.0 >= 0 => {
            let bits = i128::BITS - a.1.max(b.1).leading_zeros();
            Some((0, (1i128 << bits.min(100)) - 1))
        }
        BinaryOp::Shl if b.0 >= 0 && b.1 < 64 => corners(&|x, s| x.saturating_mul(1i128 << s)),
        BinaryOp::Shr if b.0 >= 0 && b.1 < 64 => corners(&|x, s| x >> s),
        _ => None,
    }
}

/// The interval of the lesser of two values.
pub fn min(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.min(b.1))
}

/// The interval of the greater of two values.
pub fn max(a: Interval, b: Interval) -> Interval {
    (a.0.max(b.0), a.1.max(b.1))
}
