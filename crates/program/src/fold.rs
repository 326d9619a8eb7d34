//! Sums and products of indices, with constants folded.

use loopwright_kernel_ir::DType;

use crate::{BinOp, Value, ValueKind};

/// The constant, if the index type can represent it.
fn constant(dtype: DType, value: Option<i64>) -> Option<Value> {
    let value = value?;
    let holds = dtype != DType::I32 || i32::try_from(value).is_ok();
    (holds && matches!(dtype, DType::I32 | DType::I64)).then(|| Value::int(dtype, value))
}

/// `a + b`.
pub(crate) fn add(a: Value, b: Value) -> Value {
    // a + (b + c) = (a + b) + c
    if a.dtype.is_integer()
        && let ValueKind::Binary(op @ (BinOp::Add | BinOp::Sub), left, right) = &b.kind
    {
        let sum = add(a, (**left).clone());
        return if *op == BinOp::Add { add(sum, (**right).clone()) } else { sub(sum, (**right).clone()) };
    }
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if let Some(sum) = constant(a.dtype, x.checked_add(y)) => return sum,
        (Some(0), _) => return b,
        (_, Some(0)) => return a,
        (Some(_), None) => return add(b, a),
        (_, Some(y)) => {
            if let ValueKind::Binary(op @ (BinOp::Add | BinOp::Sub), left, right) = &a.kind
                && let Some(x) = right.as_int()
            {
                let x = if *op == BinOp::Add { Some(x) } else { x.checked_neg() };
                if let Some(sum) = constant(a.dtype, x.and_then(|x| x.checked_add(y))) {
                    return add((**left).clone(), sum);
                }
            }
            if let Some(opposite) = constant(b.dtype, y.checked_neg().filter(|_| y < 0)) {
                return Value::binary(BinOp::Sub, a, opposite);
            }
        }
        _ => {}
    }
    Value::binary(BinOp::Add, a, b)
}

/// `a - b`.
fn sub(a: Value, b: Value) -> Value {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if let Some(rest) = constant(a.dtype, x.checked_sub(y)) => rest,
        (_, Some(y)) if let Some(opposite) = constant(b.dtype, y.checked_neg()) => add(a, opposite),
        _ if a == b => Value::int(a.dtype, 0),
        _ => Value::binary(BinOp::Sub, a, b),
    }
}

/// `a * b`, a constant factor to the right.
pub(crate) fn mul(a: Value, b: Value) -> Value {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if let Some(product) = constant(a.dtype, x.checked_mul(y)) => product,
        (Some(0), _) | (_, Some(1)) => a,
        (Some(1), _) | (_, Some(0)) => b,
        (Some(_), None) => Value::binary(BinOp::Mul, b, a),
        _ => Value::binary(BinOp::Mul, a, b),
    }
}
