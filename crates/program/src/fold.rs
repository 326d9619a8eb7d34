//! Sums and products of values, without neutral operands.
//!
//! Constants are folded if their type can represent the result. What would wrap is left to be
//! computed, and what would overflow an index is left for the checks to find.

use loopwright_kernel_ir::{DType, Number};

use crate::{BinOp, Value, ValueKind};

/// The constant, if its type can represent it. A negative one of an unsigned type denotes its bits.
fn constant(dtype: DType, value: i64) -> Option<Value> {
    let holds = match Number::I64(value).cast(dtype).as_i64() {
        Some(same) => {
            same == value
                || (dtype.is_unsigned() && value < 0 && value >= -(1i64 << (8 * dtype.bytes() - 1).min(62)))
        }
        // Too large for i64.
        None => dtype == DType::U64,
    };
    holds.then(|| Value::int(dtype, value))
}

/// `a + b`, constants folded to the right: `(i + 1) + 2` becomes `i + 3`, `i + -1` becomes `i - 1`.
pub fn add(a: Value, b: Value) -> Value {
    // a + (b + c) = (a + b) + c, for integers.
    if a.dtype.is_integer()
        && let ValueKind::Binary(op @ (BinOp::Add | BinOp::Sub), left, right) = &b.kind
    {
        let sum = add(a, (**left).clone());
        return if *op == BinOp::Add { add(sum, (**right).clone()) } else { sub(sum, (**right).clone()) };
    }
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && let Some(sum) = x.checked_add(y).and_then(|v| constant(a.dtype, v))
    {
        return sum;
    }
    match (a.as_int(), b.as_int()) {
        (Some(0), _) => return b,
        (_, Some(0)) => return a,
        (Some(_), None) => return add(b, a),
        (_, Some(y)) => {
            if let ValueKind::Binary(op @ (BinOp::Add | BinOp::Sub), left, right) = &a.kind
                && let Some(x) = right.as_int()
            {
                let x = if *op == BinOp::Add { Some(x) } else { x.checked_neg() };
                if let Some(sum) = x.and_then(|x| x.checked_add(y)).and_then(|v| constant(a.dtype, v)) {
                    return add((**left).clone(), sum);
                }
            }
            if let Some(opposite) = y.checked_neg().filter(|_| y < 0).and_then(|v| constant(b.dtype, v)) {
                return Value::binary(BinOp::Sub, a, opposite);
            }
        }
        _ => {}
    }
    Value::binary(BinOp::Add, a, b)
}

/// `a - b`; constants are folded, and the difference of equal values is 0.
pub fn sub(a: Value, b: Value) -> Value {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && let Some(rest) = x.checked_sub(y).and_then(|v| constant(a.dtype, v))
    {
        return rest;
    }
    if let Some(y) = b.as_int()
        && let Some(opposite) = y.checked_neg().and_then(|v| constant(b.dtype, v))
    {
        return add(a, opposite);
    }
    if a == b { Value::int(a.dtype, 0) } else { Value::binary(BinOp::Sub, a, b) }
}

/// `a * b`, a constant factor to the right; two of them are one.
pub fn mul(a: Value, b: Value) -> Value {
    if a.dtype.is_integer()
        && let (ValueKind::Binary(BinOp::Mul, x, y), Some(factor)) = (&a.kind, b.as_int())
        && let Some(both) = y.as_int().and_then(|own| own.checked_mul(factor))
        && let Some(both) = constant(a.dtype, both)
    {
        return mul((**x).clone(), both);
    }
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && let Some(product) = x.checked_mul(y).and_then(|v| constant(a.dtype, v))
    {
        return product;
    }
    match (a.as_int(), b.as_int()) {
        (Some(0), _) | (_, Some(1)) => a,
        (Some(1), _) | (_, Some(0)) => b,
        (Some(_), None) => Value::binary(BinOp::Mul, b, a),
        _ => Value::binary(BinOp::Mul, a, b),
    }
}
