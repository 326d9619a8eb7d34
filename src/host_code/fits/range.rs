//! Intervals of formulas, and what is known of overflow among the operands: the same marks as
//! those of the check for numbers (`index_range::range`).

use loopwright_program::BinOp;

use super::super::formula::{Bounds, Formula, Op, op_of};

/// An interval of formulas.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub low: Formula,
    pub high: Formula,
    /// Whether a value read from memory is among the operands.
    pub data: bool,
    /// Whether a variable is among them whose range is not known yet.
    pub open: bool,
    /// The range of the first subexpression of data that may overflow: no condition has been made
    /// of it yet.
    pub wrapped: Option<(Formula, Formula)>,
    /// Whether anything but a sum or a difference may overflow.
    pub is_far: bool,
    /// Whether anything but sums, differences and products is computed from what may overflow.
    pub spoilt: bool,
}

impl Range {
    pub fn new(low: Formula, high: Formula) -> Range {
        Range { low, high, data: false, open: false, wrapped: None, is_far: false, spoilt: false }
    }

    pub fn constant(value: i128) -> Range {
        Range::new(Formula::Int(value), Formula::Int(value))
    }

    /// A value that is not negative, up to the given one.
    pub fn up_to(high: Formula) -> Range {
        Range::new(Formula::Int(0), high)
    }

    /// Merges in the marks of its operands.
    pub fn from<'r>(mut self, operands: impl IntoIterator<Item = &'r Range>) -> Range {
        for o in operands {
            self.data |= o.data;
            self.open |= o.open;
            self.wrapped = self.wrapped.or_else(|| o.wrapped.clone());
            self.is_far |= o.is_far;
            self.spoilt |= o.spoilt;
        }
        self
    }

    /// The same for an operation whose result overflow makes another one.
    pub fn made_of<'r>(self, operands: impl IntoIterator<Item = &'r Range> + Clone) -> Range {
        let mut made = self.from(operands.clone());
        made.spoilt |= operands.into_iter().any(|o| o.wrapped.is_some());
        made
    }

    /// The same for a comparison, where sums of data are taken to fit.
    pub fn compared<'r>(self, operands: impl IntoIterator<Item = &'r Range> + Clone) -> Range {
        let mut made = self.from(operands.clone());
        made.spoilt |= operands.into_iter().any(|o| o.is_far);
        made
    }
}

/// The ends of an operation's results; `None` where nothing is known but the type.
pub(super) fn operation(bounds: &Bounds, op: BinOp, a: &Range, b: &Range) -> Option<(Formula, Formula)> {
    let positive = bounds.at_least(&b.low, 1);
    let both = |op: Op, x: &Formula, y: &Formula| Formula::binary(op, x.clone(), y.clone());
    let corners = |op: Op| {
        let all = [(&a.low, &b.low), (&a.low, &b.high), (&a.high, &b.low), (&a.high, &b.high)];
        let end = |which: Op| {
            let [w, x, y, z] = all.map(|(x, y)| both(op, x, y));
            let first = bounds.extreme(which, w, x);
            bounds.extreme(which, first, bounds.extreme(which, y, z))
        };
        (end(Op::Min), end(Op::Max))
    };
    // The constant that the second operand is.
    let fixed = b.low.as_int().filter(|_| b.low == b.high);
    let natural = bounds.at_least(&a.low, 0);
    match op {
        BinOp::Add => Some((both(Op::Add, &a.low, &b.low), both(Op::Add, &a.high, &b.high))),
        BinOp::Sub => Some((both(Op::Sub, &a.low, &b.high), both(Op::Sub, &a.high, &b.low))),
        BinOp::Mul if natural && bounds.at_least(&b.low, 0) => {
            Some((both(Op::Mul, &a.low, &b.low), both(Op::Mul, &a.high, &b.high)))
        }
        BinOp::Mul if fixed.is_some_and(|c| c >= 0) => {
            Some((both(Op::Mul, &a.low, &b.low), both(Op::Mul, &a.high, &b.high)))
        }
        BinOp::Mul => Some(corners(Op::Mul)),
        BinOp::FloorDiv if positive => match natural || fixed.is_some() {
            true => Some((both(Op::FloorDiv, &a.low, &b.high), both(Op::FloorDiv, &a.high, &b.low))),
            false => Some(corners(Op::FloorDiv)),
        },
        BinOp::TruncDiv if positive && natural => {
            Some((both(Op::FloorDiv, &a.low, &b.high), both(Op::FloorDiv, &a.high, &b.low)))
        }
        // Rounded towards zero, a quotient is at least the one rounded down, and no further
        // above it than zero.
        BinOp::TruncDiv if positive && fixed.is_some() => {
            let high = both(Op::FloorDiv, &a.high, &b.low);
            let high = bounds.extreme(Op::Max, high, Formula::Int(0));
            Some((both(Op::FloorDiv, &a.low, &b.low), high))
        }
        // At most as far from zero as the dividend.
        BinOp::TruncDiv if positive => {
            let low = bounds.extreme(Op::Min, a.low.clone(), Formula::Int(0));
            Some((low, bounds.extreme(Op::Max, a.high.clone(), Formula::Int(0))))
        }
        BinOp::FloorMod if positive => {
            let is_below = fixed.is_some_and(|c| bounds.at_most(&a.high, c - 1));
            match natural && is_below {
                true => Some((a.low.clone(), a.high.clone())),
                false => Some((Formula::Int(0), b.high.clone().plus(-1))),
            }
        }
        BinOp::TruncRem if positive && natural => {
            Some((Formula::Int(0), bounds.extreme(Op::Min, a.high.clone(), b.high.clone().plus(-1))))
        }
        BinOp::Min | BinOp::Max => {
            let op = op_of(op)?;
            let end = |x: &Formula, y: &Formula| bounds.extreme(op, x.clone(), y.clone());
            Some((end(&a.low, &b.low), end(&a.high, &b.high)))
        }
        BinOp::BitAnd if natural && bounds.at_least(&b.low, 0) => {
            Some((Formula::Int(0), bounds.extreme(Op::Min, a.high.clone(), b.high.clone())))
        }
        BinOp::BitOr | BinOp::BitXor if natural && bounds.at_least(&b.low, 0) => {
            let most = bounds.of(&a.high).1.max(bounds.of(&b.high).1);
            let bits = i128::BITS - most.leading_zeros();
            Some((Formula::Int(0), Formula::Int((1 << bits) - 1)))
        }
        BinOp::Shl => {
            let factor = Formula::Int(1 << fixed.filter(|c| (0..31).contains(c))?);
            Some((both(Op::Mul, &a.low, &factor), both(Op::Mul, &a.high, &factor)))
        }
        BinOp::Shr => {
            let divisor = Formula::Int(1 << fixed.filter(|c| (0..63).contains(c))?);
            Some((both(Op::FloorDiv, &a.low, &divisor), both(Op::FloorDiv, &a.high, &divisor)))
        }
        _ => None,
    }
}
