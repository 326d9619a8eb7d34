//! Tiles of many short segments: a thread takes a segment.
//!
//! Steps are dealt out evenly because segments may have any length. Where a tile has many segments and none of them is long, a thread for each
//! does less: nothing is searched for, joined or told apart, and neighbouring threads write neighbouring results.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Diagnostic;

use super::{State, Writer, tiles::Tile, values};
use crate::{
    fold::{add, select, sub},
    program::{BinOp, MemRef, Note, ShuffleMode, Step, Stmt, Value, VarId},
};

/// The most points of a segment that one thread goes through: about as long as the steps of a tile take otherwise, searches and joins included.
pub(super) const LONGEST: i64 = 256;

impl Writer<'_, '_, '_> {
    /// Whether a tile has enough segments for a thread each: an eighth of the threads do with these what all do with steps.
    pub(super) fn is_many(&self, tile: &Tile) -> Value {
        Value::binary(BinOp::Ge, tile.segments.clone(), self.int(i64::from(self.flat.threads) / 8))
    }

    /// Each warp's longest segment goes to shared memory, if the tile has many.
    pub(super) fn longest_to_shared(
        &mut self,
        longest: VarId,
        array: usize,
        tile: &Tile,
        lane: &Value,
        warp: &Value,
    ) -> Stmt {
        let offset = self.emitter.new_var("offset", self.emitter.index(), true);
        let other = self.shuffled(ShuffleMode::Xor, self.var(longest), self.var(offset));
        let greatest = Value::binary(BinOp::Max, self.var(longest), other);
        let mut join = vec![self.lanes_loop(offset, vec![self.set(longest, greatest)])];
        let to = self.shared_element(array, warp.clone());
        let store = Stmt::Store { to, value: self.var(longest), leaf: None };
        let first = Value::binary(BinOp::Eq, lane.clone(), self.int(0));
        join.push(Self::when(first, vec![store], Vec::new(), ""));
        Self::when(self.is_many(tile), join, Vec::new(), "the longest segment of each warp's")
    }

    /// `longest` becomes that of the tile; where the tile has not many, one that is too long for a thread.
    pub(super) fn longest_of_tile(&mut self, longest: VarId, array: usize, tile: &Tile) -> Vec<Stmt> {
        let other = self.emitter.new_var("other_warp", self.emitter.index(), false);
        let index = self.emitter.index();
        let theirs = self.emitter.load(self.shared_element(array, self.var(other)), index);
        let greatest = Value::binary(BinOp::Max, self.var(longest), theirs);
        let warps = i64::from(self.emitter.block[0] / 32);
        let each = self.unrolled(other, warps, vec![self.set(longest, greatest)], "");
        vec![Self::when(self.is_many(tile), vec![each], vec![self.set(longest, self.int(LONGEST + 1))], "")]
    }

    /// Whether threads take a segment each.
    pub(super) fn is_short(&self, longest: VarId) -> Value {
        Value::binary(BinOp::Le, self.var(longest), self.int(LONGEST))
    }

    /// A thread for each segment of the tile, and one for what is open behind the last, which goes to `open`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn short_segments(
        &mut self,
        ends: usize,
        points: &BTreeMap<usize, usize>,
        open: &[usize],
        carry: &State,
        first_segment: &Value,
        tile: &Tile,
    ) -> Result<Stmt, Diagnostic> {
        let var = self.emitter.new_var("segment", self.emitter.index(), false);
        let segment = self.var(var);
        let mut body = Vec::new();
        // The points before an end are the steps before it without those that are ends.
        let before = sub(segment.clone(), self.int(1));
        let is_first = Value::binary(BinOp::Eq, segment.clone(), self.int(0));
        let from = sub(self.end_at(ends, before.clone()), before);
        let from = self.named("from", select(is_first.clone(), self.int(0), from), &mut body);
        let to = sub(self.end_at(ends, segment.clone()), segment.clone());
        let to = Value::binary(BinOp::Min, to, tile.points.clone());
        let to = self.named("to", to, &mut body);
        let neutral = self.neutral()?;
        let sum = self.state("sum", neutral, &mut body)?;
        let place_var = self.emitter.new_var("place", self.emitter.index(), false);
        let place = self.var(place_var);
        let places: BTreeMap<usize, MemRef> =
            points.iter().map(|(k, array)| (*k, self.shared_element(*array, place.clone()))).collect();
        let whole = add(tile.begun.clone(), segment.clone());
        let point = add(tile.first_point.clone(), place);
        let update = self.update(&sum, whole.clone(), point, &places)?;
        body.push(Stmt::For {
            var: place_var,
            lower: from,
            upper: to,
            step: Step::Add(1),
            unroll: false,
            body: update,
            note: Note::default(),
        });
        let join = self.combine(&sum, values(carry), values(&sum))?;
        body.push(Self::when(is_first, join, Vec::new(), ""));
        let mut close = Vec::new();
        let whole = self.named("whole", whole, &mut close);
        close.push(self.close(&sum, whole, first_segment)?);
        let mut rest = Vec::new();
        for (array, value) in open.iter().zip(values(&sum)) {
            let to = self.shared_element(*array, self.int(0));
            rest.push(Stmt::Store { to, value, leaf: Some(self.update) });
        }
        let ends_here = Value::binary(BinOp::Lt, segment, tile.segments.clone());
        body.push(Self::when(ends_here, close, rest, ""));
        Ok(Stmt::For {
            var,
            lower: self.thread(),
            upper: add(tile.segments.clone(), self.int(1)),
            step: Step::Add(i64::from(self.flat.threads)),
            unroll: false,
            body,
            note: Note::new("a thread for each segment, and one for what is open behind the last"),
        })
    }
}
