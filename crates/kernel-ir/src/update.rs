//! Updates: instructions that combine a value with what an element holds, in any order.
//!
//! `out[idx[i]] += x[i]` reads an element, combines it with a value and writes the result, and
//! nothing comes between the read and the write. Two updates of one element by the same operator
//! commute, so that no order holds between them: they may run in different threads and blocks at
//! the same time. Every other access of the element is in order with them, as with a write.

use serde::{Deserialize, Serialize};

use crate::{BinaryOp, DType, Expr, Name};

/// How an update combines what an element holds with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateOp {
    /// The sum. Integers wrap; floating-point sums are rounded in the order in which the updates
    /// happen to run.
    Sum,
    /// The smaller of the two.
    Min,
    /// The greater of the two.
    Max,
    /// The bits that both have.
    And,
    /// The bits that either has.
    Or,
}

impl UpdateOp {
    /// All of them, each with its sign in texts, as in `out[k] min= v`.
    pub const SIGNS: [(UpdateOp, &'static str); 5] = [
        (UpdateOp::Sum, "+="),
        (UpdateOp::Min, "min="),
        (UpdateOp::Max, "max="),
        (UpdateOp::And, "&="),
        (UpdateOp::Or, "|="),
    ];

    /// Its sign in texts.
    pub fn sign(self) -> &'static str {
        UpdateOp::SIGNS.iter().find(|(op, _)| *op == self).map_or("+=", |(_, sign)| sign)
    }

    /// Its name in messages: that of the reduction with the same operator, if there is one.
    pub fn name(self) -> &'static str {
        match self {
            UpdateOp::Sum => "sum",
            UpdateOp::Min => "min",
            UpdateOp::Max => "max",
            UpdateOp::And => "and",
            UpdateOp::Or => "or",
        }
    }

    /// Whether elements of this type have the update: all of them have sums, minima and maxima of
    /// `i32`, `u32`, `i64`, `u64`, `f32` and `f64`, and operations on bits of those integers.
    pub fn takes(self, dtype: DType) -> bool {
        match dtype {
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => true,
            DType::F32 | DType::F64 => !matches!(self, UpdateOp::And | UpdateOp::Or),
            DType::Bool | DType::I8 | DType::I16 | DType::U8 | DType::U16 => false,
            DType::E4M3 | DType::E5M2 | DType::F16 | DType::BF16 => false,
        }
    }

    /// Whether an update that is done twice has the effect of one.
    pub fn is_idempotent(self) -> bool {
        self != UpdateOp::Sum
    }

    /// The operation on what the element holds and the value, both of the element's type; `None`
    /// for a minimum and a maximum, which are functions.
    pub fn binary(self) -> Option<BinaryOp> {
        match self {
            UpdateOp::Sum => Some(BinaryOp::Add),
            UpdateOp::And => Some(BinaryOp::BitAnd),
            UpdateOp::Or => Some(BinaryOp::BitOr),
            UpdateOp::Min | UpdateOp::Max => None,
        }
    }

    /// What the element holds afterwards, given what it held and the value, as an expression.
    pub fn combined(self, old: Expr, value: Expr) -> Expr {
        match self.binary() {
            Some(op) => Expr::binary(op, old, value),
            None => Expr::Call { function: Name::new(self.name()), precision: None, args: vec![old, value] },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sign_belongs_to_one_operator() {
        for (op, sign) in UpdateOp::SIGNS {
            assert_eq!(op.sign(), sign);
            assert_eq!(UpdateOp::SIGNS.iter().filter(|(_, other)| *other == sign).count(), 1);
        }
    }

    #[test]
    fn types_are_those_of_words_that_devices_exchange() {
        let of = |op: UpdateOp| DType::ALL.into_iter().filter(|t| op.takes(*t)).collect::<Vec<_>>();
        let integers = [DType::I32, DType::I64, DType::U32, DType::U64];
        for op in [UpdateOp::Sum, UpdateOp::Min, UpdateOp::Max] {
            assert_eq!(of(op), [&integers[..], &[DType::F32, DType::F64]].concat());
        }
        for op in [UpdateOp::And, UpdateOp::Or] {
            assert_eq!(of(op), integers);
        }
    }
}
