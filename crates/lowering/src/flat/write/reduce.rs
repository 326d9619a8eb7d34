//! Reduces the points of a tile in shared memory; each lane takes neighbouring points.
//!
//! A lane processes its points in order; at the last one of a segment it stores its partial result
//! in place of that point and starts over. A segmented scan over the lanes gives each lane the open
//! partial result before it.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{
    State, Writer,
    chunk::Progress,
    load::lanes,
    tile::{Chunk, Span, Tile},
    values,
};
use crate::{
    flat::plan::{ChunksPlan, Outside, Points, Reduction, Staged},
    program::{BinOp, MemRef, Note, ShuffleMode, Step, Stmt, Value, ValueKind, VarId},
    write::fold::{add, mul},
};

impl Writer<'_, '_, '_> {
    /// Clears all marks: no point is the last of its segment.
    pub(super) fn clear_last(&mut self, chunk: &Chunk) -> Vec<Stmt> {
        let item = self.emitter.new_var("item", self.emitter.index(), false);
        let to = self.private_element(self.of_chunks().registers.none, self.var(item));
        let zero = Stmt::Store { to, value: Value::int(DType::U8, 0), leaf: None };
        let none = self.unrolled(item, self.plan.cut.items, vec![zero], "");
        vec![none, self.take_last_away(chunk)]
    }

    /// Clears the marks of the thread's points.
    fn take_last_away(&mut self, chunk: &Chunk) -> Stmt {
        self.each_mark(chunk, |this, shared, at| {
            let from = this.private_element(this.of_chunks().registers.none, at);
            (shared, from)
        })
    }

    /// Copies all marks of the thread's points by the accesses of the plan; `copy` gives the
    /// destination and the source.
    fn each_mark(
        &mut self,
        chunk: &Chunk,
        copy: impl FnOnce(&Self, MemRef, Value) -> (MemRef, MemRef),
    ) -> Stmt {
        let ChunksPlan { arrays, reduction, .. } = self.of_chunks();
        let (width, items) = (reduction.marks, self.plan.cut.items);
        let count = items / width;
        let own = mul(chunk.lane.clone(), self.int(items));
        let vector = self.emitter.new_var("vector", self.emitter.index(), false);
        let at = if count == 1 { self.int(0) } else { mul(self.var(vector), self.int(width)) };
        let shared = self.of_warp(arrays.last, chunk, add(own, at.clone()));
        let (to, from) = copy(self, shared, at);
        let copy = Stmt::VectorCopy { to, from, lanes: lanes(width), leaf: None };
        if count == 1 { copy } else { self.unrolled(vector, count, vec![copy], "") }
    }

    /// Each lane reduces its points of the tile, and gets to know the open partial result before
    /// it.
    pub(super) fn scan_points(
        &mut self,
        chunk: &Chunk,
        progress: &Progress,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut body = Vec::new();
        let places = self.take_points(chunk, &mut body);
        let neutral = self.neutral()?;
        let open = self.state("open", neutral, &mut body);
        let is_first = Value::binary(BinOp::Eq, chunk.lane.clone(), self.int(0));
        let carried = Self::assign(&open, values(&progress.carry));
        body.push(Self::when(is_first, carried, Vec::new(), "what is open before the tile"));
        let closed = self.emitter.new_var("closed", DType::Bool, true);
        let none = Value { dtype: DType::Bool, kind: ValueKind::Bool(false) };
        body.push(Stmt::Let { var: closed, value: none, leaf: None });
        self.reduce_points((&open, closed), &places, (chunk, tile), &mut body)?;
        let since = self.since_end(self.var(closed), &chunk.lane, &mut body);
        self.scan_lanes(&open, since, &chunk.lane, &mut body)?;
        let of_lane = |array| self.of_warp(array, chunk, chunk.lane.clone());
        let before = self.shuffled_state(ShuffleMode::Up, &open, self.int(1));
        body.extend(Self::stored(&self.of_chunks().arrays.before, of_lane, before));
        let last: Vec<Value> = values(&open).into_iter().map(|v| self.of_last_lane(v)).collect();
        body.extend(Self::assign(&progress.carry, last));
        Ok(body)
    }

    /// Takes the marks away and copies the points that the lane reduces. Where its first point lies
    /// in each array of points.
    fn take_points(&mut self, chunk: &Chunk, body: &mut Vec<Stmt>) -> BTreeMap<usize, Value> {
        let ChunksPlan { arrays, registers, reduction, .. } = self.of_chunks();
        body.push(
            self.each_mark(chunk, |this, shared, at| (this.private_element(registers.last, at), shared)),
        );
        body.push(self.take_last_away(chunk));
        let mut places = BTreeMap::new();
        for input in &reduction.staged {
            let own = self.own_first(&input.points, chunk, body);
            places.insert(input.points.array, own.clone());
            body.push(self.each_own(input, chunk, own, |shared, own| (own, shared)));
        }
        if arrays.overwritten.is_none() {
            for points in &arrays.complete {
                let own = self.own_first(points, chunk, body);
                places.insert(points.array, own);
            }
        }
        places
    }

    /// Adds the lane's points to `open`, in their order. At the last point of a segment it stores
    /// what that point completes, and starts over; `closed` becomes whether there is one.
    fn reduce_points(
        &mut self,
        (open, closed): (&State, VarId),
        places: &BTreeMap<usize, Value>,
        (chunk, tile): (&Chunk, &Tile),
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        let ChunksPlan { arrays, registers, reduction, .. } = self.of_chunks();
        let Reduction { staged, outside, bisection, .. } = reduction;
        let items = self.plan.cut.items;
        let first_point = add(tile.first.clone(), mul(chunk.lane.clone(), self.int(items)));
        let segment = match bisection {
            Some(highest) => {
                let segment = self.counter("own_segment", chunk.first_segment.clone(), None, body);
                // Points before the chunk's are ignored.
                let from = Value::binary(BinOp::Max, first_point.clone(), tile.begin.clone());
                body.push(self.find_segment((segment, *highest), chunk, &from)?);
                Some((segment, *highest))
            }
            None => None,
        };
        let item = self.emitter.new_var("item", self.emitter.index(), false);
        let point = add(first_point, self.var(item));
        let mut inputs = BTreeMap::new();
        for input in staged {
            let element = self.private_element(input.own, self.var(item));
            inputs.insert(input.input, self.emitter.load(element, input.points.dtype));
        }
        let of_which = segment.map_or_else(|| self.int(0), |(s, _)| self.var(s));
        let update = self.update(open, of_which, point.clone(), &inputs)?;
        let mut each = match outside {
            Outside::Neutral(_) => update,
            Outside::Skipped => {
                let exists = self.exists(chunk, Span::From(&tile.begin), &point);
                vec![Self::when(exists, update, Vec::new(), "")]
            }
        };
        let mut end = Vec::new();
        // Points that partial results overwrite are written back as whole vectors.
        let back = arrays.overwritten.and_then(|k| staged.iter().find(|input| input.input == k));
        let place = |points: &Points| places.get(&points.array).cloned().unwrap_or_else(|| self.int(0));
        match back {
            Some(input) => {
                let to = self.private_element(input.own, self.var(item));
                let store = |value| Stmt::Store { to: to.clone(), value, leaf: Some(self.update) };
                each.extend(values(open).into_iter().map(store));
            }
            None => {
                for (points, value) in arrays.complete.iter().zip(values(open)) {
                    let at = self.own_place(points, place(points), self.var(item));
                    let to = self.of_warp(points.array, chunk, at);
                    end.push(Stmt::Store { to, value, leaf: Some(self.update) });
                }
            }
        }
        let written_back = back.map(|input| (input, place(&input.points)));
        let neutral = self.neutral()?;
        end.extend(Self::assign(open, neutral));
        if let Some(segment) = segment {
            end.push(self.find_segment(segment, chunk, &add(point, self.int(1)))?);
        }
        let mark = self.emitter.load(self.private_element(registers.last, self.var(item)), DType::U8);
        let is_last = Value::binary(BinOp::Ne, mark, Value::int(DType::U8, 0));
        each.push(self.set(closed, Value::binary(BinOp::Or, self.var(closed), is_last.clone())));
        each.push(Self::when(is_last, end, Vec::new(), ""));
        body.push(self.unrolled(item, items, each, "its points, in their order"));
        if let Some((input, own)) = written_back {
            body.push(self.each_own(input, chunk, own, |shared, own| (shared, own)));
        }
        Ok(())
    }

    /// Names the place in shared memory of the first point that a lane reduces.
    fn own_first(&mut self, points: &Points, chunk: &Chunk, body: &mut Vec<Stmt>) -> Value {
        let own = self.spread(points, mul(chunk.lane.clone(), self.int(self.plan.cut.items)));
        self.named("own_first", own, body)
    }

    /// The position of a thread's point, relative to its first.
    fn own_place(&self, points: &Points, own: Value, item: Value) -> Value {
        match self.plan.cut.items <= points.together {
            true => add(own, item),
            false => add(own, self.spread(points, item)),
        }
    }

    /// Copies the points of an input that a lane reduces; `copy` picks the destination and the
    /// source among their elements in shared and private memory.
    fn each_own(
        &mut self,
        input: &Staged,
        chunk: &Chunk,
        own: Value,
        copy: impl FnOnce(MemRef, MemRef) -> (MemRef, MemRef),
    ) -> Stmt {
        let &Staged { points, own: private, own_width: width, .. } = input;
        let vector = self.emitter.new_var("vector", self.emitter.index(), false);
        let at = mul(self.var(vector), self.int(width));
        let shared = self.of_warp(points.array, chunk, self.own_place(&points, own, at.clone()));
        let (to, from) = copy(shared, self.private_element(private, at));
        let copy = match width {
            1 => Stmt::Store { to, value: self.emitter.load(from, points.dtype), leaf: Some(self.update) },
            _ => Stmt::VectorCopy { to, from, lanes: lanes(width), leaf: Some(self.update) },
        };
        self.unrolled(vector, self.plan.cut.items / width, vec![copy], "")
    }

    /// Finds the segment that a point belongs to, from `segment` on, by counting the ends at or
    /// before the point.
    fn find_segment(
        &mut self,
        (segment, highest): (VarId, i64),
        chunk: &Chunk,
        point: &Value,
    ) -> Result<Stmt, Diagnostic> {
        let bit = self.emitter.new_var("bit", self.emitter.index(), true);
        let mut find = Vec::new();
        let next = add(self.var(segment), self.var(bit));
        let next = Value::binary(BinOp::Min, next, chunk.end_segment.clone());
        let next = self.named("next", next, &mut find);
        let end = self.end_before(next.clone())?;
        let before = Value::binary(BinOp::Le, end, point.clone());
        let some = Value::binary(BinOp::Gt, next.clone(), self.var(segment));
        let before = Value::binary(BinOp::And, some, before);
        find.push(Self::when(before, vec![self.set(segment, next)], Vec::new(), ""));
        Ok(Stmt::For {
            var: bit,
            lower: self.int(highest),
            upper: self.int(0),
            step: Step::Halve,
            unroll: false,
            body: find,
            note: Note::new("the segment that the point belongs to, by bisection"),
        })
    }
}
