//! Where the points of a block's tiles lie in shared memory.
//!
//! Lanes store vectors side by side, and each reads neighbouring points. Every 128 bytes of points
//! are followed by 16 bytes of padding, so that vectors in either order are free of bank conflicts.

use loopwright_kernel_ir::DType;
use loopwright_target::Target;

use super::{Writer, tile::Chunk};
use crate::{
    analyse::arrays::widest,
    program::{BinOp, LocalArray, MemRef, Memory, Value},
    write::fold::{add, mul},
};

/// An array in shared memory with an element for each point of the block's tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    pub array: usize,
    pub dtype: DType,
    /// `together` points in a row are followed by `gap` unused elements.
    pub(super) together: i64,
    gap: i64,
}

impl Points {
    fn new(array: usize, dtype: DType) -> Self {
        let bytes = i64::try_from(dtype.bytes()).unwrap_or(16);
        // Padding for narrower elements would need larger tiles than a warp can have.
        let (together, gap) = if bytes < 4 { (1 << 20, 0) } else { (128 / bytes, 16 / bytes) };
        Points { array, dtype, together, gap }
    }

    /// The number of elements that these points take, padding included.
    pub(super) fn places(&self, points: i64) -> i64 {
        points + points / self.together * self.gap
    }

    /// The widest vector of elements.
    pub(super) fn widest(&self, items: i64, target: &Target) -> i64 {
        widest(self.dtype, target).min(items)
    }
}

impl Writer<'_, '_, '_> {
    pub(super) fn shared_points(&mut self, like: &str, dtype: DType, note: &str) -> Points {
        let array = Points::new(0, dtype);
        let dims = [self.warps(), array.places(self.tile_points())].map(i64::unsigned_abs);
        Points { array: self.shared(like, dtype, &dims, note), ..array }
    }

    /// The element of a point of the warp's tile, by its position in the tile. The data guarantee
    /// that this is not negative, so that a shift can replace the division.
    pub(super) fn point_element(&self, points: &Points, chunk: &Chunk, place: Value) -> MemRef {
        let gaps = self.quotient(place.clone(), points.together);
        self.of_warp(points.array, chunk, self.with_gaps(points, place, gaps))
    }

    /// The quotient of a value that is not negative and a power of two.
    pub(super) fn quotient(&self, value: Value, by: i64) -> Value {
        Value::binary(BinOp::Shr, value, self.int(i64::from(by.trailing_zeros())))
    }

    /// The index of a point among those of its warp, by a position that consists of lanes and
    /// constants. A division is used because the final check understands it.
    pub(super) fn spread(&self, points: &Points, place: Value) -> Value {
        let gaps = Value::binary(BinOp::TruncDiv, place.clone(), self.int(points.together));
        self.with_gaps(points, place, gaps)
    }

    fn with_gaps(&self, points: &Points, place: Value, gaps: Value) -> Value {
        match points.gap {
            0 => place,
            gap => add(place, mul(gaps, self.int(gap))),
        }
    }

    pub(super) fn private(&mut self, like: &str, dtype: DType, length: i64) -> usize {
        let name = self.emitter.unique(like);
        let dims = vec![length.unsigned_abs()];
        self.emitter.private.push(LocalArray { name, dtype, dims, layout: None, note: String::new() });
        self.emitter.private.len() - 1
    }

    pub(super) fn private_element(&self, array: usize, at: Value) -> MemRef {
        self.emitter.local_element(Memory::Private(array), vec![at])
    }

    pub(super) fn items(&self) -> i64 {
        i64::from(self.flat.items)
    }
}
