//! Elements of points in shared memory.

use super::{Writer, tile::Chunk};
use crate::{
    flat::plan::Points,
    program::{BinOp, MemRef, Memory, Value},
    write::fold::{add, mul},
};

impl Writer<'_, '_, '_> {
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

    pub(super) fn private_element(&self, array: usize, at: Value) -> MemRef {
        self.emitter.local_element(Memory::Private(array), vec![at])
    }
}
