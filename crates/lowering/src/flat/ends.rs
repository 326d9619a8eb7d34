//! The ends of segments in a tile, in groups of several for each lane.
//!
//! A warp holds the next ends of its run, and those behind them are on the way. In a tile, first the last point of every segment that ends there is
//! marked, of all groups that have such an end; when the points are reduced, the group's segments are closed, and the group behind it takes its
//! place once all of it is dealt with. Ends do not fall, so that those of a tile come first, and no end is behind an absent one.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{
    ENDS, GROUP, Writer,
    run::{Progress, Run, Tile, Warp},
    values,
};
use crate::{
    fold::{add, mul, select, sub},
    program::{BinOp, Memory, Note, ShuffleMode, Step, Stmt, Value, ValueKind, VarId},
};

/// Where the segments of a group begin.
#[derive(Clone, Copy)]
enum Begins {
    /// There, in an array of each thread.
    At(usize),
    /// Each behind the one before; the first behind this end, which becomes the group's last.
    Behind(VarId),
}

impl Writer<'_, '_, '_> {
    /// An end of the group that a lane has.
    fn end_of(&self, group: usize, which: Value) -> Value {
        let element = self.emitter.local_element(Memory::Private(group), vec![which]);
        self.emitter.load(element, self.emitter.index())
    }

    /// A lane's segment of a group that begins with this one.
    fn segment_of(&self, group: Value, which: VarId, run: &Run) -> Value {
        add(add(group, mul(self.var(which), self.int(32))), run.lane.clone())
    }

    /// Nothing of a group is dealt with: before every end.
    pub(super) fn before_all(&mut self) -> Result<Value, Diagnostic> {
        let before = self.nest.least.add_constant(-1)?;
        self.emitter.aff_value(&before, &self.env)
    }

    /// Loads the ends of a group of segments; a run has none behind its last, which is behind every point.
    pub(super) fn load_ends(
        &mut self,
        group: usize,
        segment: Value,
        run: &Run,
        note: &str,
    ) -> Result<Stmt, Diagnostic> {
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let mut body = Vec::new();
        let own = self.segment_of(segment, which, run);
        let own = self.named("own_segment", own, &mut body);
        let exists = Value::binary(BinOp::Lt, own.clone(), run.end_segment.clone());
        let end = self.nest.end.clone();
        let end = self.offset(&end, own)?;
        let absent = self.nest.greatest.add_constant(1)?;
        let absent = self.emitter.aff_value(&absent, &self.env)?;
        let to = self.emitter.local_element(Memory::Private(group), vec![self.var(which)]);
        body.push(Stmt::Store { to, value: select(exists, end, absent), leaf: None });
        Ok(self.unrolled(which, ENDS, body, note))
    }

    /// Whether a segment ends in the tile that is not closed yet.
    pub(super) fn ends_in(
        &mut self,
        warp: &Warp,
        progress: &Progress,
        tile: &Tile,
        body: &mut Vec<Stmt>,
    ) -> Value {
        let some = self.emitter.new_var("some", DType::Bool, true);
        body.push(Stmt::Let {
            var: some,
            value: Value { dtype: DType::Bool, kind: ValueKind::Bool(false) },
            leaf: None,
        });
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let end = self.end_of(warp.registers.ends, self.var(which));
        let here = self.is_open_end(end, progress, tile);
        let either = Value::binary(BinOp::Or, self.var(some), here);
        body.push(self.unrolled(which, ENDS, vec![self.set(some, either)], "whether a segment ends here"));
        Value { dtype: DType::Bool, kind: ValueKind::Any(Box::new(self.var(some))) }
    }

    fn is_open_end(&self, end: Value, progress: &Progress, tile: &Tile) -> Value {
        let here = Value::binary(BinOp::Le, end.clone(), tile.stop.clone());
        let open = Value::binary(BinOp::Gt, end, self.var(progress.done));
        Value::binary(BinOp::And, here, open)
    }

    /// Where a lane's segment of a group begins: the end that the lane before has, or the last one of the lanes' segments before these, `previous`,
    /// which becomes the last one of these.
    fn begin_of(&mut self, end: &Value, previous: VarId, run: &Run, body: &mut Vec<Stmt>) -> VarId {
        let neighbour = self.shuffled(ShuffleMode::Up, end.clone(), self.int(1));
        let begins = self.counter("begun_at", neighbour, None, body);
        let is_first = Value::binary(BinOp::Eq, run.lane.clone(), self.int(0));
        body.push(Self::when(is_first, vec![self.set(begins, self.var(previous))], Vec::new(), ""));
        body.push(self.set(previous, self.of_lane(end.clone(), 31)));
        begins
    }

    /// Where the segments of the group that is looked at begin, behind `previous`.
    pub(super) fn begin_group(&mut self, warp: &Warp, previous: Value, body: &mut Vec<Stmt>) {
        let Warp { run, registers, .. } = warp;
        let previous = self.counter("previous", previous, None, body);
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let mut each = Vec::new();
        let end = self.named("end", self.end_of(registers.ends, self.var(which)), &mut each);
        let begins = self.begin_of(&end, previous, run, &mut each);
        let to = self.emitter.local_element(Memory::Private(registers.begins), vec![self.var(which)]);
        each.push(Stmt::Store { to, value: self.var(begins), leaf: None });
        body.push(self.unrolled(which, ENDS, each, "where they begin"));
    }

    /// The last end of the group that is looked at.
    fn last_end(&self, warp: &Warp) -> Value {
        self.of_lane(self.end_of(warp.registers.ends, self.int(ENDS - 1)), 31)
    }

    /// Marks the last points of segments of a group.
    fn mark_group(&mut self, warp: &Warp, (group, begins): (usize, Begins), tile: &Tile, note: &str) -> Stmt {
        let Warp { run, arrays, .. } = warp;
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let mut body = Vec::new();
        let end = self.end_of(group, self.var(which));
        let end = self.named("end", end, &mut body);
        let begins = match begins {
            Begins::At(array) => self.end_of(array, self.var(which)),
            Begins::Behind(previous) => {
                let begins = self.begin_of(&end, previous, run, &mut body);
                self.var(begins)
            }
        };
        let here = Value::binary(BinOp::Le, end.clone(), tile.stop.clone());
        // A segment without points here has no last one.
        let begins = Value::binary(BinOp::Max, begins, tile.begin.clone());
        let some = Value::binary(BinOp::Gt, end.clone(), begins);
        let place = sub(sub(end, self.int(1)), tile.first.clone());
        let to = self.of_warp(arrays.last, run, place);
        let mark = Stmt::Store { to, value: Value::int(DType::U8, 1), leaf: Some(self.update) };
        body.push(Self::when(Value::binary(BinOp::And, here, some), vec![mark], Vec::new(), ""));
        self.unrolled(which, ENDS, body, note)
    }

    /// Marks the last points of all segments that end in the tile.
    pub(super) fn mark_ends(
        &mut self,
        warp: &Warp,
        progress: &Progress,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Warp { run, registers, .. } = warp;
        let mut body = Vec::new();
        let note = "the last points of segments";
        let group = (registers.ends, Begins::At(registers.begins));
        body.push(self.mark_group(warp, group, tile, note));
        let previous = self.counter("previous", self.last_end(warp), None, &mut body);
        // Behind an end at the tile's there may be others, but no further point.
        let below = Value::binary(BinOp::Lt, self.var(previous), tile.stop.clone());
        let mut inner =
            vec![self.mark_group(warp, (registers.next_ends, Begins::Behind(previous)), tile, "")];
        let mut many = Vec::new();
        let limit = self.counter("limit", run.end_segment.clone(), None, &mut many);
        let at = self.emitter.new_var("at", self.emitter.index(), false);
        self.emitter.vars[at.0].index = true;
        let mut each = vec![self.load_ends(registers.further_ends, self.var(at), run, "")?];
        each.push(self.mark_group(warp, (registers.further_ends, Begins::Behind(previous)), tile, ""));
        let last = Value::binary(BinOp::Ge, self.var(previous), tile.stop.clone());
        each.push(Self::when(last, vec![self.set(limit, self.var(at))], Vec::new(), ""));
        many.push(Stmt::For {
            var: at,
            lower: add(self.var(progress.segment), self.int(2 * GROUP)),
            upper: self.var(limit),
            step: Step::Add(GROUP),
            unroll: false,
            body: each,
            note: Note::default(),
        });
        inner.push(Self::when(below.clone(), many, Vec::new(), ""));
        body.push(Self::when(below, inner, Vec::new(), ""));
        Ok(body)
    }

    /// Writes the results of the segments that end in the tile.
    pub(super) fn close_ends(
        &mut self,
        warp: &Warp,
        progress: &Progress,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Warp { run, registers, .. } = warp;
        let mut body = Vec::new();
        let until = self.counter("until", run.end_segment.clone(), None, &mut body);
        let at = self.emitter.new_var("at", self.emitter.index(), false);
        self.emitter.vars[at.0].index = true;
        let mut group = Vec::new();
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let mut each = Vec::new();
        let end = self.named("end", self.end_of(registers.ends, self.var(which)), &mut each);
        let begins = self.end_of(registers.begins, self.var(which));
        let close = self.close(warp, progress, tile, (at, which), [&end, &begins])?;
        each.push(Self::when(self.is_open_end(end, progress, tile), close, Vec::new(), ""));
        let note =
            "a segment for each lane: what its last point completes, and what is open before that thread";
        group.push(self.unrolled(which, ENDS, each, note));
        let last = self.named("last_end", self.last_end(warp), &mut group);
        let rest = Value::binary(BinOp::Gt, last.clone(), tile.stop.clone());
        let mut turn = vec![self.set(progress.segment, add(self.var(at), self.int(GROUP)))];
        let none = self.before_all()?;
        turn.push(self.set(progress.done, none));
        let copied = self.emitter.new_var("which", self.emitter.index(), false);
        let to = self.emitter.local_element(Memory::Private(registers.ends), vec![self.var(copied)]);
        let value = self.end_of(registers.next_ends, self.var(copied));
        turn.push(self.unrolled(copied, ENDS, vec![Stmt::Store { to, value, leaf: None }], ""));
        self.begin_group(warp, last, &mut turn);
        let further = add(self.var(at), self.int(2 * GROUP));
        turn.push(self.load_ends(registers.next_ends, further, run, "")?);
        let note = "ends of the group are left, or the next ones take its place";
        group.push(Self::when(rest, vec![self.set(until, self.var(at))], turn, note));
        body.push(Stmt::For {
            var: at,
            lower: self.var(progress.segment),
            upper: self.var(until),
            step: Step::Add(GROUP),
            unroll: false,
            body: group,
            note: Note::default(),
        });
        body.push(self.set(progress.done, tile.stop.clone()));
        Ok(body)
    }

    /// The result of one segment, which begins in the tile at `begins` or before it.
    fn close(
        &mut self,
        warp: &Warp,
        progress: &Progress,
        tile: &Tile,
        (at, which): (VarId, VarId),
        [end, begins]: [&Value; 2],
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Warp { run, arrays, .. } = warp;
        let mut body = Vec::new();
        let neutral = self.neutral()?;
        let sum = self.state("sum", neutral, &mut body)?;
        let begun = Value::binary(BinOp::Max, begins.clone(), tile.begin.clone());
        let begun = self.named("begun", begun, &mut body);
        let mut some = Vec::new();
        let place = sub(sub(end.clone(), self.int(1)), tile.first.clone());
        let place = self.named("place", place, &mut some);
        let complete = arrays.complete.iter().map(|array| self.point_element(array, run, place.clone()));
        some.extend(Self::assign(&sum, self.loaded(complete, &sum)));
        let items = self.int(self.items());
        let thread = self.quotient(place, self.items());
        let thread = self.named("thread", thread, &mut some);
        let before = arrays.before.iter().map(|array| self.of_warp(*array, run, thread.clone()));
        let before = self.loaded(before, &sum);
        let join = self.combine(&sum, before, values(&sum))?;
        let starts_before =
            Value::binary(BinOp::Lt, sub(begun.clone(), tile.first.clone()), mul(thread, items));
        some.push(Self::when(starts_before, join, Vec::new(), ""));
        body.push(Self::when(Value::binary(BinOp::Gt, end.clone(), begun), some, Vec::new(), ""));
        let own = self.segment_of(self.var(at), which, run);
        let own = self.named("own_segment", own, &mut body);
        let is_first = Value::binary(BinOp::Eq, own.clone(), run.first_segment.clone());
        let head = Self::assign(&progress.head, values(&sum));
        let written = self.result(values(&sum), own)?;
        let note = "the run's first segment may have begun in an earlier run";
        body.push(Self::when(is_first, head, written, note));
        Ok(body)
    }
}
