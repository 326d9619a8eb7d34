//! Strides and offsets that are implied by lengths and subscripts, so that texts may omit them.
//!
//! They are built as lowering builds them for arrays without padding, with constants folded. Should
//! the two ever differ, texts become longer than necessary, but mean the same.

use loopwright_kernel_ir::DType;

use crate::{
    LocalArray, Value,
    fold::{add, mul},
};

/// Limit on the nodes of a value that is built here: sums are chains, and chains are walked
/// recursively.
const PARTS: usize = 400;

/// The layout of an array, as far as it determines offsets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Layout {
    /// Row-major, with these lengths.
    Dense(Vec<Value>),
    /// With these strides, in elements.
    Strided(Vec<Value>),
    /// Of an array whose layout is set.
    Local(Box<LocalArray>),
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
    pub(super) fn of_local(array: &LocalArray, index: DType) -> Layout {
        if array.layout.is_some() {
            return Layout::Local(Box::new(array.clone()));
        }
        let length = |d: &u64| Value::int(index, i64::try_from(*d).unwrap_or(i64::MAX));
        Layout::Dense(array.dims.iter().map(length).collect())
    }

    /// The offset of an element; `None` if the text has to give it.
    pub(super) fn offset(&self, subscripts: &[Value], index: DType) -> Option<Value> {
        let axes = match self {
            Layout::Dense(axes) | Layout::Strided(axes) => axes,
            Layout::Local(array) => {
                return is_small(subscripts).then(|| array.offset(subscripts, index)).flatten();
            }
        };
        if axes.len() != subscripts.len() || !is_small(axes.iter().chain(subscripts)) {
            return None;
        }
        let zero = Value::int(index, 0);
        let pairs = subscripts.iter().cloned().zip(axes.iter().cloned());
        Some(match self {
            Layout::Dense(_) => pairs.fold(zero, |sum, (s, length)| add(mul(sum, length), s)),
            Layout::Strided(_) | Layout::Local(_) => {
                pairs.fold(zero, |sum, (s, stride)| add(sum, mul(s, stride)))
            }
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
