//! The sizes on which a choice depends, and the small problem on which its cost is counted.

use std::collections::BTreeMap;

use crate::ir::{DType, Diagnostic, Name};
use crate::runtime::{Args, Tensor};

use super::Shape;

/// The integer arguments of a shape.
pub(super) fn integers(shape: &Shape) -> BTreeMap<Name, i64> {
    let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let of = |name: &str, n: usize| (Name::new(name), number(n));
    match *shape {
        Shape::Rows { count, length } => [of("nseg", count), of("len", length)].into(),
        Shape::Ragged { count, elements, .. } => [of("nseg", count), of("n", elements)].into(),
    }
}

/// The most points of a segment, if that is known and segments are unequal.
pub(super) fn longest(shape: &Shape) -> BTreeMap<Name, i64> {
    match *shape {
        Shape::Ragged { longest: Some(longest), .. } => {
            [(Name::new("i"), i64::try_from(longest).unwrap_or(i64::MAX))].into()
        }
        _ => BTreeMap::new(),
    }
}

/// The sizes of a problem, on which alone costs depend.
pub(super) fn sizes(shape: &Shape) -> Args {
    integers(shape).iter().fold(Args::new(), |args, (name, n)| args.scalar(name, *n))
}

/// Elements of a sample of rows.
const SAMPLE: usize = 1 << 13;
/// Points and ends in a sample of segments: two blocks, with 8 tiles of 128 threads with 23 items
/// each, so that per-block work counts once.
const STEPS: usize = 47_104;
/// The most vectors in a row of a sample: a chunk.
const ROW: usize = 1 << 13;

/// A small problem of the same kind: rows of the same length, or of the same remainder if they are
/// long; segments of the same mean length.
pub(super) fn sample(dtype: DType, shape: &Shape) -> Result<Args, Diagnostic> {
    match *shape {
        Shape::Rows { count, length } => {
            let most = ROW * 16 / dtype.bytes();
            let length = if length > most { most + length % 16 } else { length };
            let rows = (SAMPLE / length.max(1)).clamp(1, 512).min(count.max(1));
            Ok(Args::new().tensor("x", &Tensor::random(&[rows, length], dtype, 5)?))
        }
        Shape::Ragged { count, elements, offsets, .. } => {
            let mean = elements.div_ceil(count.max(1)).clamp(1, STEPS / 8);
            let segments = (STEPS / (mean + 1)).min(count.max(1));
            // Lengths from zero to twice the mean, without a pattern.
            let (mut ends, mut state) = (vec![0i64], 1u64);
            for _ in 0..segments {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let length = (state >> 33) % (2 * mean as u64 + 1);
                ends.push(ends[ends.len() - 1] + length as i64);
            }
            let n = ends.last().copied().unwrap_or(0);
            let x = Tensor::random(&[usize::try_from(n).unwrap_or(0)], dtype, 5)?;
            let ends = Tensor::from_slice(&[ends.len()], &ends)?.cast(offsets);
            Ok(Args::new().tensor("x", &x).tensor("offsets", &ends))
        }
    }
}
