//! How subscripts become offsets.

use crate::{
    analyse::arrays::storage_order,
    program::Value,
    write::fold::{add, mul},
};
use loopwright_kernel_ir::{Array, DType, Expr};

/// The strides and storage size of an array whose lengths are run-time values.
pub(crate) struct Layout {
    pub shape: Vec<Value>,
    pub strides: Vec<Value>,
    pub size: Value,
}

/// The layout of an array; `value` translates an integer expression of parameters to the index
/// type.
pub(crate) fn layout<E>(
    array: &Array,
    index: DType,
    value: &mut dyn FnMut(&Expr) -> Result<Value, E>,
) -> Result<Layout, E> {
    let one = Value::int(index, 1);
    let mut shape = Vec::new();
    for axis in &array.axes {
        shape.push(value(&axis.length)?);
    }
    let mut strides = vec![one.clone(); array.axes.len()];
    let mut dense = one.clone();
    let mut extent = one.clone();
    let mut explicit = false;
    for axis in storage_order(array).into_iter().rev() {
        let a = &array.axes[axis];
        let padded = add(shape[axis].clone(), Value::int(index, i64::from(a.padding)));
        if let Some(stride) = &a.stride {
            explicit = true;
            strides[axis] = value(stride)?;
        } else {
            strides[axis] = dense.clone();
            dense = mul(dense, padded);
        }
        // One more than the offset of the last element, for layouts with explicit strides.
        let last = add(shape[axis].clone(), Value::int(index, -1));
        extent = add(extent, mul(last, strides[axis].clone()));
    }
    let size = if explicit { extent } else { dense };
    Ok(Layout { shape, strides, size })
}

/// The offset of an element in an array of this shape and these strides, by Horner's scheme where
/// the layout is dense.
pub(crate) fn offset(
    array: &Array,
    (shape, strides): (&[Value], &[Value]),
    subscripts: &[Value],
    index: DType,
) -> Value {
    let order = storage_order(array);
    if array.axes.iter().any(|a| a.stride.is_some()) {
        return order.iter().fold(Value::int(index, 0), |sum, axis| {
            add(sum, mul(subscripts[*axis].clone(), strides[*axis].clone()))
        });
    }
    let mut sum = Value::int(index, 0);
    for axis in order {
        let padded = add(shape[axis].clone(), Value::int(index, i64::from(array.axes[axis].padding)));
        sum = add(mul(sum, padded), subscripts[axis].clone());
    }
    sum
}
