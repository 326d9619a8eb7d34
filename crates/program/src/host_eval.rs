//! Evaluates the values that the host needs: grids, shapes, strides, sizes, bounds of host loops.
//!
//! Such a value consists of integer constants, parameters, arithmetic, comparisons and choices. It
//! is computed in checked 64-bit integers, whatever its type: the result is mathematically exact,
//! or there is none. Truth values are 0 and 1.

use loopwright_kernel_ir::{DType, Name};

use super::{BinOp, UnOp, Value, ValueKind};

/// The value of a host expression, where `lookup` gives the scalar arguments and host variables.
///
/// `None` if a parameter is unknown, something overflows 64 bits or does not fit the target type of
/// its conversion, a divisor is zero, or the value reads anything but parameters (a thread's
/// coordinates, memory, floating-point numbers).
pub fn eval_host(value: &Value, lookup: &dyn Fn(&Name) -> Option<i64>) -> Option<i64> {
    let eval = |v: &Value| eval_host(v, lookup);
    match &value.kind {
        ValueKind::Int(v) => Some(*v),
        ValueKind::Bool(v) => Some(i64::from(*v)),
        ValueKind::Param(name) => lookup(name),
        ValueKind::Unary(op, a) => {
            let a = eval(a)?;
            match op {
                UnOp::Neg => a.checked_neg(),
                UnOp::Not => Some(i64::from(a == 0)),
                UnOp::BitNot => fit(!a, value.dtype),
            }
        }
        ValueKind::Binary(BinOp::And, a, b) => {
            if eval(a)? == 0 {
                Some(0)
            } else {
                eval(b)
            }
        }
        ValueKind::Binary(BinOp::Or, a, b) => {
            if eval(a)? != 0 {
                Some(1)
            } else {
                eval(b)
            }
        }
        ValueKind::Binary(op, a, b) => binary(*op, eval(a)?, eval(b)?),
        ValueKind::Select(c, a, b) => {
            if eval(c)? != 0 {
                eval(a)
            } else {
                eval(b)
            }
        }
        ValueKind::Cast(a) => match value.dtype {
            DType::Bool => Some(i64::from(eval(a)? != 0)),
            dtype => fit(eval(a)?, dtype),
        },
        ValueKind::Call { function, args, .. } if *function == "abs" && args.len() == 1 => {
            eval(&args[0])?.checked_abs()
        }
        ValueKind::LeadingZeros(a) => {
            let unused = u64::BITS - 8 * u32::try_from(a.dtype.bytes()).ok()?;
            let zeros = u64::try_from(eval(a)?).ok()?.leading_zeros();
            Some(zeros.checked_sub(unused)?.into())
        }
        ValueKind::Float(_)
        | ValueKind::Var(_)
        | ValueKind::BlockIdx(_)
        | ValueKind::ThreadIdx(_)
        | ValueKind::Load(_)
        | ValueKind::Call { .. }
        | ValueKind::Shuffle { .. }
        | ValueKind::Any(_)
        | ValueKind::Ballot(_) => None,
    }
}

/// What an operation makes of two integers, as [`BinaryOp::on_integers`].
///
/// [`BinaryOp::on_integers`]: loopwright_kernel_ir::BinaryOp::on_integers
pub(crate) fn binary(op: BinOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinOp::TruncDiv => a.checked_div(b),
        BinOp::TruncRem => a.checked_rem(b),
        BinOp::Min => Some(a.min(b)),
        BinOp::Max => Some(a.max(b)),
        _ => op.declared()?.on_integers(a, b),
    }
}

/// The value, if the type can represent it.
fn fit(value: i64, dtype: DType) -> Option<i64> {
    let (low, high) = dtype.range()?;
    (low..=high).contains(&value.into()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(name: &str) -> Value {
        Value { dtype: DType::I32, kind: ValueKind::Param(Name::new(name)) }
    }

    fn int(v: i64) -> Value {
        Value::int(DType::I32, v)
    }

    fn with_n(value: &Value, n: i64) -> Option<i64> {
        eval_host(value, &|name| (*name == "n").then_some(n))
    }

    #[test]
    fn a_grid_is_rounded_up_in_floor_arithmetic() {
        let blocks =
            Value::binary(BinOp::FloorDiv, Value::binary(BinOp::Add, param("n"), int(127)), int(128));
        let values: Vec<_> = [-200, -128, -127, 0, 1, 128, 129].iter().map(|n| with_n(&blocks, *n)).collect();
        assert_eq!(values, [-1, -1, 0, 0, 1, 1, 2].map(Some));
        let rest = Value::binary(BinOp::FloorMod, param("n"), int(-5));
        assert_eq!(with_n(&rest, 7), Some(-3));
        assert_eq!(with_n(&rest, -7), Some(-2));
    }

    #[test]
    fn what_has_no_exact_value_has_none() {
        let product = Value::binary(BinOp::Mul, param("n"), param("n"));
        assert_eq!(with_n(&product, 1 << 31), Some(1 << 62));
        assert_eq!(with_n(&product, 1 << 32), None);
        assert_eq!(with_n(&Value::binary(BinOp::FloorDiv, int(1), param("n")), 0), None);
        assert_eq!(with_n(&Value::binary(BinOp::FloorDiv, param("n"), int(-1)), i64::MIN), None);
        assert_eq!(with_n(&param("m"), 1), None);
        assert_eq!(
            with_n(&Value { dtype: DType::I32, kind: ValueKind::ThreadIdx(loopwright_kernel_ir::Dim::X) }, 1),
            None
        );
        let narrow = Value { dtype: DType::I64, kind: ValueKind::Param(Name::new("n")) }.cast(DType::I32);
        assert_eq!(with_n(&narrow, 1 << 31), None);
        assert_eq!(with_n(&narrow, -(1 << 31)), Some(-(1 << 31)));
        assert_eq!(with_n(&Value::binary(BinOp::Shl, int(3), param("n")), 62), None);
        assert_eq!(with_n(&Value::binary(BinOp::Shl, int(3), param("n")), 4), Some(48));
    }

    #[test]
    fn only_the_chosen_side_is_evaluated() {
        let positive = Value::binary(BinOp::Gt, param("n"), int(0));
        let quotient = Value::binary(BinOp::TruncDiv, int(12), param("n"));
        let chosen = Value {
            dtype: DType::I32,
            kind: ValueKind::Select(
                Box::new(positive.clone()),
                Box::new(quotient.clone()),
                Box::new(int(-1)),
            ),
        };
        assert_eq!((with_n(&chosen, 0), with_n(&chosen, 5)), (Some(-1), Some(2)));
        let both = Value::binary(BinOp::And, positive, Value::binary(BinOp::Eq, quotient, int(4)));
        assert_eq!((with_n(&both, 0), with_n(&both, 3), with_n(&both, 4)), (Some(0), Some(1), Some(0)));
    }
}
