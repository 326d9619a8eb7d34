//! Constant bounds of integers, as far as they are evident from a value itself: enough to omit what
//! C needs only for operands that do not occur.

use loopwright_program::{BinOp, Value, ValueKind};

use crate::context::Context;

impl Context<'_> {
    /// The least and the greatest value that an integer can have, both inclusive; `None` if they
    /// are not evident.
    pub(crate) fn bounds(&self, value: &Value) -> Option<(i64, i64)> {
        match &value.kind {
            ValueKind::Int(v) => Some((*v, *v)),
            ValueKind::Var(var) => self.kernel.vars.get(var.0)?.within,
            ValueKind::ThreadIdx(axis) => {
                let threads = self.kernel.block[*axis];
                Some((0, i64::from(threads) - 1))
            }
            ValueKind::Cast(a) if a.dtype.is_integer() && value.dtype.is_integer() => {
                // Values that every integer type can represent are not changed by conversions.
                self.bounds(a).filter(|(low, high)| *low >= 0 && *high <= i64::from(i8::MAX))
            }
            ValueKind::Binary(BinOp::Sub, a, b) => {
                let ((low, high), (least, most)) = (self.bounds(a)?, self.bounds(b)?);
                // A difference below 0 would wrap in an unsigned type.
                let low = low.checked_sub(most).filter(|low| *low >= 0)?;
                Some((low, high.checked_sub(least)?))
            }
            ValueKind::Binary(BinOp::TruncRem | BinOp::FloorMod, _, b) => {
                let divisor = b.as_int().filter(|b| *b > 0)?;
                Some((0, divisor - 1))
            }
            _ => None,
        }
    }

    /// A shift amount that is evidently less than the number of bits of the shifted value. Its type
    /// makes no difference in C, so that a conversion around it is omitted.
    pub(crate) fn small_amount<'v>(&self, amount: &'v Value) -> Option<&'v Value> {
        let bits = 8 * amount.dtype.bytes() as i64;
        let (low, high) = self.bounds(amount)?;
        if low < 0 || high >= bits {
            return None;
        }
        Some(match &amount.kind {
            ValueKind::Cast(inner) => inner,
            _ => amount,
        })
    }
}
