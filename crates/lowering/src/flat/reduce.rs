//! Reduces the points of a tile in shared memory; each lane takes neighbouring points.
//!
//! A lane processes its points in order; at the last one of a segment it stores its partial result
//! in place of that point and starts over. A segmented scan over the lanes gives each lane the open
//! partial result before it.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{
    Writer,
    chunk::Progress,
    knows_segment,
    points::Points,
    tile::{Chunk, Span, Tile},
    values,
    warp::Warp,
};
use crate::{
    program::{BinOp, MemRef, Note, ShuffleMode, Step, Stmt, Value, ValueKind, VarId},
    write::fold::{add, mul},
};

impl Writer<'_, '_, '_> {
    /// Clears all marks: no point is the last of its segment.
    pub(super) fn clear_last(&mut self, warp: &Warp) -> Vec<Stmt> {
        let item = self.emitter.new_var("item", self.emitter.index(), false);
        let to = self.private_element(warp.registers.none, self.var(item));
        let zero = Stmt::Store { to, value: Value::int(DType::U8, 0), leaf: None };
        let none = self.unrolled(item, self.items(), vec![zero], "");
        vec![none, self.take_last_away(warp)]
    }

    /// Clears the marks of the thread's points.
    fn take_last_away(&mut self, warp: &Warp) -> Stmt {
        self.each_mark(warp, |this, shared, at| {
            let from = this.private_element(warp.registers.none, at);
            (shared, from)
        })
    }

    /// Copies all marks of the thread's points by the widest accesses; `copy` gives the destination
    /// and the source.
    fn each_mark(
        &mut self,
        warp: &Warp,
        copy: impl FnOnce(&Self, MemRef, Value) -> (MemRef, MemRef),
    ) -> Stmt {
        let width = self.items().min(self.widest_access());
        let count = self.items() / width;
        let own = mul(warp.chunk.lane.clone(), self.int(self.items()));
        let vector = self.emitter.new_var("vector", self.emitter.index(), false);
        let at = if count == 1 { self.int(0) } else { mul(self.var(vector), self.int(width)) };
        let shared = self.of_warp(warp.arrays.last, &warp.chunk, add(own, at.clone()));
        let (to, from) = copy(self, shared, at);
        let copy = Stmt::VectorCopy { to, from, lanes: u8::try_from(width).unwrap_or(1), leaf: None };
        if count == 1 { copy } else { self.unrolled(vector, count, vec![copy], "") }
    }

    /// Each thread reduces its points of the tile, and learns the open partial result before it.
    pub(super) fn scan_points(
        &mut self,
        warp: &Warp,
        progress: &Progress,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Warp { chunk, arrays, registers } = warp;
        let items = self.items();
        let mut body = Vec::new();
        body.push(
            self.each_mark(warp, |this, shared, at| (this.private_element(registers.last, at), shared)),
        );
        body.push(self.take_last_away(warp));
        let first_own = mul(chunk.lane.clone(), self.int(items));
        let mut places = BTreeMap::new();
        let lists = arrays.points.iter().map(|(k, points)| (Some(*k), *points));
        let in_place = |p: &Points| arrays.points.values().any(|q| q.array == p.array);
        let completes = arrays.complete.iter().filter(|p| !in_place(p)).map(|p| (None, *p));
        for (k, points) in lists.chain(completes).collect::<Vec<_>>() {
            let own = self.spread(&points, first_own.clone());
            let own = self.named("own_first", own, &mut body);
            places.insert(points.array, own.clone());
            let Some(private) = k.and_then(|k| registers.points.get(&k).copied()) else { continue };
            body.push(self.each_own(&points, private, chunk, own, |shared, own| (own, shared)));
        }
        let neutral = self.neutral()?;
        let open = self.state("open", neutral.clone(), &mut body)?;
        let is_first = Value::binary(BinOp::Eq, chunk.lane.clone(), self.int(0));
        body.push(Self::when(
            is_first,
            Self::assign(&open, values(&progress.carry)),
            Vec::new(),
            "what is open before the tile",
        ));
        let closed = self.emitter.new_var("closed", DType::Bool, true);
        let none = Value { dtype: DType::Bool, kind: ValueKind::Bool(false) };
        body.push(Stmt::Let { var: closed, value: none, leaf: None });
        let first_point = add(tile.first.clone(), first_own);
        let segment = match knows_segment(self) {
            true => {
                let segment = self.counter("own_segment", chunk.first_segment.clone(), None, &mut body);
                // Points before the chunk's are ignored.
                let from = Value::binary(BinOp::Max, first_point.clone(), tile.begin.clone());
                body.extend(self.find_segment(segment, chunk, &from)?);
                Some(segment)
            }
            false => None,
        };
        let item = self.emitter.new_var("item", self.emitter.index(), false);
        let mut each = Vec::new();
        let point = add(first_point, self.var(item));
        let mut staged = BTreeMap::new();
        for (k, private) in &registers.points {
            let Some(points) = arrays.points.get(k) else { continue };
            let element = self.private_element(*private, self.var(item));
            staged.insert(*k, self.emitter.load(element, points.dtype));
        }
        let of_which = segment.map_or_else(|| self.int(0), |s| self.var(s));
        let update = self.update(&open, of_which, point.clone(), &staged)?;
        match registers.filling.is_some() {
            true => each.extend(update),
            false => each.push(Self::when(
                self.exists(chunk, Span::From(&tile.begin), &point),
                update,
                Vec::new(),
                "",
            )),
        }
        let mut end = Vec::new();
        let back = self.written_back(warp);
        if let Some((_, private)) = back {
            let to = self.private_element(private, self.var(item));
            let value = values(&open).swap_remove(0);
            each.push(Stmt::Store { to, value, leaf: Some(self.update) });
        }
        let one_by_one = if back.is_some() { &[][..] } else { &arrays.complete[..] };
        for (points, value) in one_by_one.iter().zip(values(&open)) {
            let own = places.get(&points.array).cloned().unwrap_or_else(|| self.int(0));
            let to = self.of_warp(points.array, chunk, self.own_place(points, own, self.var(item)));
            end.push(Stmt::Store { to, value, leaf: Some(self.update) });
        }
        end.extend(Self::assign(&open, neutral));
        if let Some(segment) = segment {
            end.extend(self.find_segment(segment, chunk, &add(point, self.int(1)))?);
        }
        let mark = self.emitter.load(self.private_element(registers.last, self.var(item)), DType::U8);
        let is_last = Value::binary(BinOp::Ne, mark, Value::int(DType::U8, 0));
        each.push(self.set(closed, Value::binary(BinOp::Or, self.var(closed), is_last.clone())));
        each.push(Self::when(is_last, end, Vec::new(), ""));
        body.push(self.unrolled(item, items, each, "its points, in their order"));
        if let Some((points, private)) = back {
            let own = places.get(&points.array).cloned().unwrap_or_else(|| self.int(0));
            body.push(self.each_own(&points, private, chunk, own, |shared, own| (shared, own)));
        }
        let since = self.since_end(self.var(closed), &chunk.lane, &mut body);
        self.scan_lanes(&open, since, &chunk.lane, &mut body)?;
        let of_lane = |array| self.of_warp(array, chunk, chunk.lane.clone());
        let before = self.shuffled_state(ShuffleMode::Up, &open, self.int(1));
        body.extend(Self::stored(&arrays.before, of_lane, before));
        let last: Vec<Value> = values(&open).into_iter().map(|v| self.of_last_lane(v)).collect();
        body.extend(Self::assign(&progress.carry, last));
        Ok(body)
    }

    /// The position of a thread's point, relative to its first.
    fn own_place(&self, points: &Points, own: Value, item: Value) -> Value {
        match self.items() <= points.together {
            true => add(own, item),
            false => add(own, self.spread(points, item)),
        }
    }

    /// The points and the thread's copy of them, if partial results overwrite the points, so that
    /// whole vectors are stored: the state is one value, as wide as a point.
    fn written_back(&self, warp: &Warp) -> Option<(Points, usize)> {
        let [complete] = &warp.arrays.complete[..] else { return None };
        let (k, points) = warp.arrays.points.iter().find(|(_, p)| p.array == complete.array)?;
        Some((*points, *warp.registers.points.get(k)?))
    }

    /// Copies the points that a thread reduces by the widest accesses; `copy` picks the destination
    /// and the source among their elements in shared and private memory.
    fn each_own(
        &mut self,
        points: &Points,
        private: usize,
        chunk: &Chunk,
        own: Value,
        copy: impl FnOnce(MemRef, MemRef) -> (MemRef, MemRef),
    ) -> Stmt {
        let width = points.widest(self.items(), self.emitter.target());
        let vector = self.emitter.new_var("vector", self.emitter.index(), false);
        let at = mul(self.var(vector), self.int(width));
        let shared = self.of_warp(points.array, chunk, self.own_place(points, own, at.clone()));
        let (to, from) = copy(shared, self.private_element(private, at));
        let copy = match width {
            1 => Stmt::Store { to, value: self.emitter.load(from, points.dtype), leaf: Some(self.update) },
            _ => Stmt::VectorCopy {
                to,
                from,
                lanes: u8::try_from(width).unwrap_or(1),
                leaf: Some(self.update),
            },
        };
        self.unrolled(vector, self.items() / width, vec![copy], "")
    }

    /// Finds the segment that a point belongs to, from `segment` on, by counting the ends at or
    /// before the point.
    fn find_segment(
        &mut self,
        segment: VarId,
        chunk: &Chunk,
        point: &Value,
    ) -> Result<Vec<Stmt>, Diagnostic> {
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
        let most = self.chunk_steps() / super::END_WEIGHT + 1;
        Ok(vec![Stmt::For {
            var: bit,
            lower: self.int(most.unsigned_abs().next_power_of_two() as i64),
            upper: self.int(0),
            step: Step::Halve,
            unroll: false,
            body: find,
            note: Note::new("the segment that the point belongs to, by bisection"),
        }])
    }
}
