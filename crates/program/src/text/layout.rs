//! Strides and offsets that are implied by lengths and subscripts, so that texts may omit them.
//!
//! They are built as lowering builds them for arrays without padding, with constants folded. Should
//! the two ever differ, texts become longer than necessary, but mean the same.

use loopwright_kernel_ir::DType;

use crate::{BinOp, Value, ValueKind};

/// Limit on the nodes of a value that is built here: sums are chains, and chains are walked
/// recursively.
const PARTS: usize = 400;

/// The layout of an array, as far as it determines offsets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Layout {
    /// Row-major, with these lengths.
    Dense(Vec<Value>),
    /// With these strides.
    Strided(Vec<Value>),
}

/// The strides of a row-major array of this shape, and the size of its storage.
pub(super) fn dense(shape: &[Value], index: DType) -> Option<(Vec<Value>, Value)> {
    if !is_small(shape) {
        return None;
    }
    let mut strides = Vec::with_capacity(shape.len());
    let mut size = Value::int(index, 1);
    for length in shape.iter().rev() {
        strides.push(size.clone());
        size = mul(size, length.clone());
    }
    strides.reverse();
    Some((strides, size))
}

impl Layout {
    /// The layout of an array in global memory.
    pub(super) fn of(shape: &[Value], strides: &[Value], index: DType) -> Layout {
        match dense(shape, index) {
            Some((dense, _)) if dense == strides => Layout::Dense(shape.to_vec()),
            _ => Layout::Strided(strides.to_vec()),
        }
    }

    /// The layout of an array in shared or private memory.
    pub(super) fn of_dims(dims: &[u64], index: DType) -> Layout {
        let length = |d: &u64| Value::int(index, i64::try_from(*d).unwrap_or(i64::MAX));
        Layout::Dense(dims.iter().map(length).collect())
    }

    /// The offset of an element; `None` if the text has to give it.
    pub(super) fn offset(&self, subscripts: &[Value], index: DType) -> Option<Value> {
        let (Layout::Dense(axes) | Layout::Strided(axes)) = self;
        if axes.len() != subscripts.len() || !is_small(axes.iter().chain(subscripts)) {
            return None;
        }
        let zero = Value::int(index, 0);
        let pairs = subscripts.iter().cloned().zip(axes.iter().cloned());
        Some(match self {
            Layout::Dense(_) => pairs.fold(zero, |sum, (s, length)| add(mul(sum, length), s)),
            Layout::Strided(_) => pairs.fold(zero, |sum, (s, stride)| add(sum, mul(s, stride))),
        })
    }
}

fn is_small<'v>(values: impl IntoIterator<Item = &'v Value>) -> bool {
    fn count(value: &Value, left: &mut usize) {
        if *left > 0 {
            *left -= 1;
            value.each_child(&mut |child| count(child, left));
        }
    }
    let mut left = PARTS;
    values.into_iter().for_each(|v| count(v, &mut left));
    left > 0
}

/// The constant, if the index type can represent it.
fn constant(dtype: DType, value: Option<i64>) -> Option<Value> {
    let value = value?;
    let holds = dtype != DType::I32 || i32::try_from(value).is_ok();
    (holds && matches!(dtype, DType::I32 | DType::I64)).then(|| Value::int(dtype, value))
}

fn add(a: Value, b: Value) -> Value {
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

fn sub(a: Value, b: Value) -> Value {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if let Some(rest) = constant(a.dtype, x.checked_sub(y)) => rest,
        (_, Some(y)) if let Some(opposite) = constant(b.dtype, y.checked_neg()) => add(a, opposite),
        _ if a == b => Value::int(a.dtype, 0),
        _ => Value::binary(BinOp::Sub, a, b),
    }
}

fn mul(a: Value, b: Value) -> Value {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if let Some(product) = constant(a.dtype, x.checked_mul(y)) => product,
        (Some(0), _) | (_, Some(1)) => a,
        (Some(1), _) | (_, Some(0)) => b,
        (Some(_), None) => Value::binary(BinOp::Mul, b, a),
        _ => Value::binary(BinOp::Mul, a, b),
    }
}
