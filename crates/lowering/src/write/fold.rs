//! Conditions and choices of values, without neutral operands; beside the sums and products of
//! [`crate::program::fold`].

pub(crate) use crate::program::fold::{add, mul, sub};
use crate::program::{BinOp, UnOp, Value, ValueKind};

/// `c ? a : b`; one of the two values if `c` is constant, or if they are the same.
pub(crate) fn select(c: Value, a: Value, b: Value) -> Value {
    match c.kind {
        ValueKind::Bool(true) => a,
        ValueKind::Bool(false) => b,
        _ if a.is_identical(&b) && is_pure(&c) => a,
        _ => Value { dtype: a.dtype, kind: ValueKind::Select(Box::new(c), Box::new(a), Box::new(b)) },
    }
}

/// `a && b` and `a || b`; a constant operand decides the result or is dropped.
pub(crate) fn logic(op: BinOp, a: Value, b: Value) -> Value {
    // The constant that is dropped: `true && b` is `b`.
    let passes = op == BinOp::And;
    match (&a.kind, &b.kind) {
        (ValueKind::Bool(v), _) => {
            if *v == passes {
                b
            } else {
                a
            }
        }
        (_, ValueKind::Bool(v)) if *v == passes => a,
        (_, ValueKind::Bool(_)) if is_pure(&a) => b,
        _ => Value::binary(op, a, b),
    }
}

/// `!a`; constants and double negations are folded.
pub(crate) fn not(a: Value) -> Value {
    match a.kind {
        ValueKind::Bool(v) => Value { dtype: a.dtype, kind: ValueKind::Bool(!v) },
        ValueKind::Unary(UnOp::Not, inner) => *inner,
        kind => {
            let a = Value { dtype: a.dtype, kind };
            Value { dtype: a.dtype, kind: ValueKind::Unary(UnOp::Not, Box::new(a)) }
        }
    }
}

/// Whether the value may be left unevaluated: no other thread takes part in it.
fn is_pure(value: &Value) -> bool {
    let mut pure = true;
    value.visit(&mut |v| {
        pure &= !v.kind.joins_lanes() && !matches!(v.kind, ValueKind::Call { .. });
    });
    pure
}

/// `a && b`; only `b` if there is no `a`.
pub(crate) fn and(a: Option<Value>, b: Value) -> Value {
    match a {
        None => b,
        Some(a) => Value::binary(BinOp::And, a, b),
    }
}
