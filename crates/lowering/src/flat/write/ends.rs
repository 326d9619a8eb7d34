//! The ends of segments in a tile, in groups of several for each lane.
//!
//! A warp holds one group of the next ends of its chunk, and prefetches the group after it. In a
//! tile, the last point of every segment that ends there is marked first, for all groups with such
//! an end. Once the points are reduced, the group's segments are closed; when all of them are, the
//! next group takes its place. An end that is closed, or beyond the chunk, is represented by a
//! position after every point. Ends are non-decreasing, so that those in a tile come first.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{
    Writer,
    chunk::Progress,
    tile::{Chunk, Tile},
    values,
};
use crate::{
    flat::plan::ChunksPlan,
    program::{BinOp, Memory, Note, ShuffleMode, Step, Stmt, Value, ValueKind, VarId},
    write::fold::{add, mul, select, sub},
};

/// Where the beginnings of a group's segments are found.
#[derive(Clone, Copy)]
enum Begins {
    /// In the private array of this number, for each end of the group.
    At(usize),
    /// At the end of the segment before; for the first one, at this end: see [`Writer::begin_of`].
    After(VarId),
}

impl Writer<'_, '_, '_> {
    /// One of the lane's ends of a group.
    fn end_of(&self, group: usize, which: Value) -> Value {
        let element = self.emitter.local_element(Memory::Private(group), vec![which]);
        self.emitter.load(element, self.emitter.index())
    }

    /// The lane's segment in a group, given the group's first segment.
    fn segment_of(&self, group: Value, which: VarId, chunk: &Chunk) -> Value {
        add(add(group, mul(self.var(which), self.int(self.warp_size()))), chunk.lane.clone())
    }

    /// The end of a segment beyond the chunk, or of a closed one: after every point.
    fn absent(&mut self) -> Result<Value, Diagnostic> {
        self.emitter.aff_value(&self.plan.cut.absent, &self.env)
    }

    /// Loads the ends of a group of segments.
    pub(super) fn load_ends(
        &mut self,
        group: usize,
        segment: Value,
        chunk: &Chunk,
        note: &str,
    ) -> Result<Stmt, Diagnostic> {
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let mut body = Vec::new();
        let own = self.segment_of(segment, which, chunk);
        let own = self.named("own_segment", own, &mut body);
        let exists = Value::binary(BinOp::Lt, own.clone(), chunk.end_segment.clone());
        let end = self.offset(&self.plan.nest.end, own)?;
        let absent = self.absent()?;
        let to = self.emitter.local_element(Memory::Private(group), vec![self.var(which)]);
        body.push(Stmt::Store { to, value: select(exists, end, absent), leaf: None });
        Ok(self.unrolled(which, self.of_chunks().registers.each, body, note))
    }

    /// Whether a segment that is not closed yet ends in the tile.
    pub(super) fn ends_in(&mut self, tile: &Tile, body: &mut Vec<Stmt>) -> Value {
        let some = self.emitter.new_var("some", DType::Bool, true);
        body.push(Stmt::Let {
            var: some,
            value: Value { dtype: DType::Bool, kind: ValueKind::Bool(false) },
            leaf: None,
        });
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let end = self.end_of(self.of_chunks().registers.ends, self.var(which));
        let here = Value::binary(BinOp::Le, end, tile.stop.clone());
        let either = Value::binary(BinOp::Or, self.var(some), here);
        body.push(self.unrolled(
            which,
            self.of_chunks().registers.each,
            vec![self.set(some, either)],
            "whether a segment ends here",
        ));
        Value { dtype: DType::Bool, kind: ValueKind::Any(Box::new(self.var(some))) }
    }

    /// Where a lane's segment of a group begins: at the end held by the lane before; for the first
    /// lane at `previous`, which then becomes the last end of these.
    fn begin_of(&mut self, end: &Value, previous: VarId, chunk: &Chunk, body: &mut Vec<Stmt>) -> Value {
        let before = self.shuffled(ShuffleMode::Up, end.clone(), self.int(1));
        let before = self.named("end_before", before, body);
        let begins = self.named("begun_at", select(self.is_lane(chunk, 0), self.var(previous), before), body);
        body.push(self.set(previous, self.of_last_lane(end.clone())));
        begins
    }

    /// Finds where the segments of the current group begin, the first one at `previous`.
    pub(super) fn begin_group(&mut self, chunk: &Chunk, previous: Value, body: &mut Vec<Stmt>) {
        let ChunksPlan { registers, .. } = self.of_chunks();
        let previous = self.counter("previous", previous, None, body);
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let mut each = Vec::new();
        let end = self.named("end", self.end_of(registers.ends, self.var(which)), &mut each);
        let begins = self.begin_of(&end, previous, chunk, &mut each);
        let to = self.emitter.local_element(Memory::Private(registers.begins), vec![self.var(which)]);
        each.push(Stmt::Store { to, value: begins, leaf: None });
        body.push(self.unrolled(which, self.of_chunks().registers.each, each, "where they begin"));
    }

    /// The last end of a group.
    fn last_end(&self, group: usize) -> Value {
        self.of_last_lane(self.end_of(group, self.int(self.of_chunks().registers.each - 1)))
    }

    /// Marks the last points of segments of a group.
    fn mark_group(
        &mut self,
        chunk: &Chunk,
        (group, begins): (usize, Begins),
        tile: &Tile,
        note: &str,
    ) -> Stmt {
        let ChunksPlan { arrays, .. } = self.of_chunks();
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let mut body = Vec::new();
        let end = self.end_of(group, self.var(which));
        let end = self.named("end", end, &mut body);
        let here = Value::binary(BinOp::Le, end.clone(), tile.stop.clone());
        let begins = match begins {
            Begins::At(array) => self.end_of(array, self.var(which)),
            Begins::After(previous) => self.begin_of(&end, previous, chunk, &mut body),
        };
        // A segment without points in this tile has no last point in it.
        let begins = Value::binary(BinOp::Max, begins, tile.begin.clone());
        let some = Value::binary(BinOp::Gt, end.clone(), begins);
        let place = sub(sub(end, self.int(1)), tile.first.clone());
        let to = self.of_warp(arrays.last, chunk, place);
        let mark = Stmt::Store { to, value: Value::int(DType::U8, 1), leaf: Some(self.update) };
        body.push(Self::when(Value::binary(BinOp::And, here, some), vec![mark], Vec::new(), ""));
        self.unrolled(which, self.of_chunks().registers.each, body, note)
    }

    /// Marks the last points of all segments that end in the tile.
    pub(super) fn mark_ends(
        &mut self,
        chunk: &Chunk,
        progress: &Progress,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let ChunksPlan { registers, .. } = self.of_chunks();
        let mut body = Vec::new();
        let note = "the last points of segments";
        body.push(self.mark_group(chunk, (registers.ends, Begins::At(registers.begins)), tile, note));
        let previous = self.counter("previous", self.last_end(registers.ends), None, &mut body);
        // Further ends may coincide with the end of the tile, but without points to mark.
        let more = Value::binary(BinOp::Lt, self.var(previous), tile.stop.clone());
        let after = |group| (group, Begins::After(previous));
        let mut inner = vec![self.mark_group(chunk, after(registers.next_ends), tile, "")];
        let mut many = Vec::new();
        let limit = self.counter("limit", chunk.end_segment.clone(), None, &mut many);
        let at = self.index_var("at");
        let mut each = vec![self.load_ends(registers.further_ends, self.var(at), chunk, "")?];
        each.push(self.mark_group(chunk, after(registers.further_ends), tile, ""));
        let all = Value::binary(BinOp::Ge, self.var(previous), tile.stop.clone());
        each.push(Self::when(all, vec![self.set(limit, self.var(at))], Vec::new(), ""));
        many.push(Stmt::For {
            var: at,
            lower: add(self.var(progress.segment), self.int(2 * self.group())),
            upper: self.var(limit),
            step: Step::Add(self.group()),
            unroll: false,
            body: each,
            note: Note::default(),
        });
        inner.push(Self::when(more.clone(), many, Vec::new(), ""));
        body.push(Self::when(more, inner, Vec::new(), ""));
        Ok(body)
    }

    /// Writes the results of the segments that end in the tile.
    pub(super) fn close_ends(
        &mut self,
        chunk: &Chunk,
        progress: &Progress,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let ChunksPlan { registers, .. } = self.of_chunks();
        let mut body = Vec::new();
        let until = self.counter("until", chunk.end_segment.clone(), None, &mut body);
        let at = self.index_var("at");
        let mut group = Vec::new();
        let last = self.named("last_end", self.last_end(registers.ends), &mut group);
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let mut each = Vec::new();
        let end = self.named("end", self.end_of(registers.ends, self.var(which)), &mut each);
        let begins = self.end_of(registers.begins, self.var(which));
        each.extend(self.close(chunk, tile, (at, which), [&end, &begins])?);
        let note = "a segment for each lane: what its last point completes, and what is open \
                    before that thread";
        group.push(self.unrolled(which, self.of_chunks().registers.each, each, note));
        let rest = Value::binary(BinOp::Gt, last.clone(), tile.stop.clone());
        let mut turn = vec![self.set(progress.segment, add(self.var(at), self.int(self.group())))];
        let copied = self.emitter.new_var("which", self.emitter.index(), false);
        let to = self.emitter.local_element(Memory::Private(registers.ends), vec![self.var(copied)]);
        let value = self.end_of(registers.next_ends, self.var(copied));
        turn.push(self.unrolled(
            copied,
            self.of_chunks().registers.each,
            vec![Stmt::Store { to, value, leaf: None }],
            "",
        ));
        self.begin_group(chunk, last.clone(), &mut turn);
        let further = add(self.var(at), self.int(2 * self.group()));
        turn.push(self.load_ends(registers.next_ends, further, chunk, "")?);
        let note = "ends of the group are left, or the next ones take its place";
        let leave = self.set(until, self.var(at));
        // The last point is in this group: the segments after it are empty. Encoded in `segment`,
        // since a separate variable would cost another register.
        let last_point = Value::binary(BinOp::Ge, last, chunk.to.clone());
        let past = sub(self.int(-1), add(self.var(at), self.int(self.group())));
        let past = vec![self.set(progress.segment, past), leave.clone()];
        let turn = Self::when(last_point, past, turn, "");
        group.push(Self::when(rest, vec![leave], vec![turn], note));
        body.push(Stmt::For {
            var: at,
            lower: self.var(progress.segment),
            upper: self.var(until),
            step: Step::Add(self.group()),
            unroll: false,
            body: group,
            note: Note::default(),
        });
        Ok(body)
    }

    /// Writes the results of the empty segments after the chunk's last point. There may be many;
    /// their ends need not be loaded.
    pub(super) fn close_empty(&mut self, chunk: &Chunk, progress: &Progress) -> Result<Stmt, Diagnostic> {
        let some = Value::binary(BinOp::Lt, self.var(progress.segment), self.int(0));
        let first = sub(self.int(-1), self.var(progress.segment));
        let own = self.index_var("own_segment");
        let neutral = self.neutral()?;
        let written = self.result(neutral, self.var(own))?;
        Ok(Stmt::For {
            var: own,
            lower: add(select(some, first, chunk.end_segment.clone()), chunk.lane.clone()),
            upper: chunk.end_segment.clone(),
            step: Step::Add(self.warp_size()),
            unroll: false,
            body: written,
            note: Note::new("segments behind the last point"),
        })
    }

    /// Writes the result of one segment, which begins at `begins` in the tile, or before the tile.
    fn close(
        &mut self,
        chunk: &Chunk,
        tile: &Tile,
        (at, which): (VarId, VarId),
        [end, begins]: [&Value; 2],
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let ChunksPlan { arrays, registers, .. } = self.of_chunks();
        let mut body = Vec::new();
        let here = self.emitter.new_var("here", DType::Bool, false);
        let value = Value::binary(BinOp::Le, end.clone(), tile.stop.clone());
        body.push(Stmt::Let { var: here, value, leaf: None });
        let begun = Value::binary(BinOp::Max, begins.clone(), tile.begin.clone());
        let begun = self.named("begun", begun, &mut body);
        let neutral = self.neutral()?;
        let sum = self.state("sum", neutral, &mut body);
        let mut some = Vec::new();
        let last = sub(end.clone(), self.int(1));
        let place = self.named("place", sub(last.clone(), tile.first.clone()), &mut some);
        let complete = arrays.complete.iter().map(|array| self.point_element(array, chunk, place.clone()));
        some.extend(Self::assign(&sum, self.loaded(complete, &sum)));
        let items = self.plan.cut.items;
        let thread = self.quotient(place, items);
        let before = arrays.before.iter().map(|array| self.of_warp(*array, chunk, thread.clone()));
        let before = self.loaded(before, &sum);
        let join = self.combine(&sum, before, values(&sum))?;
        // Whether the points differ in their quotient by `items`, that is, in their lane; a tile
        // begins at a multiple of `items`.
        let apart = self.quotient(Value::binary(BinOp::BitXor, begun.clone(), last), items);
        let apart = Value::binary(BinOp::Ne, apart, self.int(0));
        some.push(Self::when(apart, join, Vec::new(), "begun among an earlier lane's points"));
        let points = Value::binary(BinOp::Gt, end.clone(), begun);
        let has_points = Value::binary(BinOp::And, self.var(here), points);
        body.push(Self::when(has_points, some, Vec::new(), ""));
        let own = self.segment_of(self.var(at), which, chunk);
        let own = self.named("own_segment", own, &mut body);
        // Only the first segment of the first group can be the chunk's first one.
        let first_of_lane = Value::binary(BinOp::Eq, self.var(which), self.int(0));
        let first_of_lanes = Value::binary(BinOp::And, first_of_lane, self.is_lane(chunk, 0));
        let is_first = Value::binary(BinOp::Eq, self.var(at), chunk.first_segment.clone());
        let is_first = Value::binary(BinOp::And, first_of_lanes, is_first);
        let of_chunk = |array| self.shared_element(array, chunk.warp.clone());
        let head = Self::stored(&arrays.head, of_chunk, values(&sum));
        let written = self.result(values(&sum), own)?;
        let note = "the chunk's first segment may have begun in an earlier chunk";
        let mut close = vec![Self::when(is_first, head, written, note)];
        let to = self.emitter.local_element(Memory::Private(registers.ends), vec![self.var(which)]);
        close.push(Stmt::Store { to, value: self.absent()?, leaf: None });
        body.push(Self::when(self.var(here), close, Vec::new(), ""));
        Ok(body)
    }
}
