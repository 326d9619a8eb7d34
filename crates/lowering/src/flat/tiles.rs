//! The second launch: blocks go through their tiles.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Expr};

use super::{Writer, is_staged, values, walk::Walk};
use crate::{
    fold::{add, mul, select, sub},
    program::{BinOp, LocalArray, MemRef, Memory, Note, Scope, Step, Stmt, Value, VarId},
    reduce::count,
    translate,
};

/// The most shared memory that a kernel may declare.
const MOST_SHARED: u64 = 48 * 1024;

/// Where the steps of all segments begin and end.
struct Place {
    /// The first offset.
    base: Value,
    /// How many steps there are.
    total: Value,
}

/// What a tile has.
#[derive(Clone)]
struct Tile {
    /// How many segments have ended before it.
    begun: Value,
    /// How many end in it.
    segments: Value,
    /// How many steps it has.
    steps: Value,
    /// How many points.
    points: Value,
    /// The first point.
    first_point: Value,
}

impl Writer<'_, '_, '_> {
    pub(super) fn shared_element(&self, array: usize, at: Value) -> MemRef {
        self.emitter.local_element(Memory::Shared(array), vec![at])
    }

    pub(super) fn unrolled(&self, var: VarId, upper: i64, body: Vec<Stmt>, note: &str) -> Stmt {
        Stmt::For {
            var,
            lower: self.int(0),
            upper: self.int(upper),
            step: Step::Add(1),
            unroll: true,
            body,
            note: Note::new(note),
        }
    }

    /// A block for each `tiles` neighbouring tiles.
    pub fn tiles(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let (steps, items, threads) =
            (self.flat.steps(), i64::from(self.flat.items), i64::from(self.flat.threads));
        // Shared memory: mapped values of points, places of ends.
        let mut staged: BTreeMap<usize, usize> = BTreeMap::new();
        for (k, arg) in self.args.clone().iter().enumerate() {
            if is_staged(self, arg) {
                let dtype = self.input_type(arg)?;
                let like = if self.args.len() == 1 { "points".to_string() } else { format!("points_{k}") };
                staged.insert(k, self.shared(&like, dtype, steps.unsigned_abs(), "what is reduced, mapped"));
            }
        }
        let ends = self.shared(
            "ends",
            DType::I32,
            steps.unsigned_abs() + 1,
            "the steps of the tile that end a segment, and one that none is",
        );
        let totals = self.totals()?;
        let bytes: u64 = self.emitter.shared.iter().map(|a| a.bytes().next_multiple_of(16)).sum();
        if bytes > MOST_SHARED {
            return Err(Diagnostic::new(
                "too-much-shared",
                format!(
                    "a tile of {steps} steps of the flattened nest over `{}` takes {bytes} bytes of shared memory, more than {MOST_SHARED}",
                    self.nest.segment
                ),
            )
            .help("take fewer items or threads: `flatten_ragged(s, i, items=7)`"));
        }

        let mut body = Vec::new();
        let base = self.base()?;
        let base = self.named("base", base, &mut body);
        let last = self.end_before(scratch.count.clone())?;
        let last = self.named("last", last, &mut body);
        let total = add(sub(last, base.clone()), scratch.count.clone());
        let total = self.named("total", total, &mut body);
        let first_tile = mul(self.block(), self.int(i64::from(self.flat.tiles)));
        let first_tile = self.named("first_tile", first_tile, &mut body);
        let end_tile = add(first_tile.clone(), self.int(i64::from(self.flat.tiles)));
        let end_tile = Value::binary(BinOp::Min, end_tile, scratch.tiles.clone());
        let end_tile = self.named("end_tile", end_tile, &mut body);
        let first_segment = self.global_load(scratch.starts, first_tile.clone());
        let first_segment = self.named("first_segment", first_segment, &mut body);
        let neutral = self.neutral()?;
        let carry = self.state("carry", neutral.clone(), &mut body)?;

        let tile_var = self.emitter.new_var("tile", self.emitter.index(), false);
        let tile = self.var(tile_var);
        let mut inside = Vec::new();
        let filling = self.filling(&staged)?;
        let registers = self.registers(&staged)?;
        let place = Place { base, total };
        // The points of the first tile; those of each later one are on the way while the one before it is walked through.
        let ahead = self.describe(&place, first_tile.clone(), &mut body)?;
        body.extend(self.load_points(&staged, &registers, filling.as_deref(), &ahead)?);
        let tile_here = self.describe(&place, tile.clone(), &mut inside)?;
        let Tile { begun, segments, steps: own_steps, first_point, .. } = tile_here.clone();
        // Their loads are on the way while those of the points are.
        self.stage_ends(ends, threads, steps, &segments, &begun, &first_point, &mut inside)?;
        inside.extend(self.store_points(&staged, &registers, filling.is_some(), &tile_here)?);
        inside.push(Stmt::Sync {
            scope: Scope::Block,
            note: Note::new("points and ends of the tile are loaded, from which partial results are made"),
        });
        let mut further = Vec::new();
        let next_tile = self.named("next_tile", add(tile, self.int(1)), &mut inside);
        let ahead = self.describe(&place, next_tile.clone(), &mut further)?;
        further.extend(self.load_points(&staged, &registers, filling.as_deref(), &ahead)?);
        let exists = Value::binary(BinOp::Lt, next_tile, end_tile.clone());
        if !staged.is_empty() {
            inside.push(Self::when(
                exists,
                further,
                Vec::new(),
                "the next tile's points, while this one is walked through",
            ));
        }
        // The thread's first segment.
        let from_step = mul(self.thread(), self.int(items));
        let from_step = self.named("first_step", from_step, &mut inside);
        let current = self.counter("segment", self.int(0), Some((0, steps)), &mut inside);
        inside.extend(self.find(ends, current, &segments, &from_step));
        let first = self.named("first", self.var(current), &mut inside);
        let head = self.state("head", neutral.clone(), &mut inside)?;
        let open = self.state("open", neutral.clone(), &mut inside)?;
        let next_end =
            self.counter("end", self.end_at(ends, self.var(current)), Some((0, steps)), &mut inside);
        let shift = sub(from_step.clone(), self.var(current));
        let shift = self.counter("shift", shift, Some((-steps, steps)), &mut inside);
        let walk = Walk {
            begun: begun.clone(),
            first: first.clone(),
            first_step: from_step.clone(),
            first_point,
            steps: filling.is_none().then_some(own_steps),
            current,
            end: next_end,
            shift,
            ends,
            points: staged,
            head: head.clone(),
            open: open.clone(),
            neutral,
        };
        let (any, none) = (self.walk(&walk, true)?, self.walk(&walk, false)?);
        // Where a warp has an end somewhere, all of it walks: the test is for tiles with fewer ends than warps.
        let few = Value::binary(BinOp::Lt, segments, self.int(threads / 32));
        let behind = Value::binary(BinOp::Ge, self.var(next_end), add(from_step, self.int(items)));
        let none_ends = Value::binary(BinOp::And, few, behind);
        inside.push(Self::when(
            none_ends,
            vec![none],
            vec![any],
            "no segment ends in the thread's steps, or some step ends one",
        ));
        // What is open before the thread belongs to its first segment.
        let closed = Value::binary(BinOp::Gt, self.var(current), first.clone());
        let before = self.open_before(&open, closed.clone(), &carry, &totals, &mut inside)?;
        let mut whole = self.combine(&head, values(&before), values(&head))?;
        let segment = self.named("whole", add(begun, first), &mut whole);
        let mut partial = Vec::new();
        for (array, value) in scratch.head.iter().zip(values(&head)) {
            let to = Self::element(*array, self.block());
            partial.push(Stmt::Store { to, value, leaf: Some(self.finish) });
        }
        let is_first = Value::binary(BinOp::Eq, segment.clone(), first_segment);
        let written = self.result(values(&head), segment)?;
        whole.push(Self::when(
            is_first,
            partial,
            written,
            "the block's first segment may have begun in an earlier block",
        ));
        inside.push(Self::when(
            closed,
            whole,
            Vec::new(),
            "the first segment that ends in the thread's steps",
        ));
        body.push(Stmt::For {
            var: tile_var,
            lower: first_tile,
            upper: end_tile,
            step: Step::Add(1),
            unroll: false,
            body: inside,
            note: Note::default(),
        });
        let mut stores = Vec::new();
        for (array, value) in scratch.tail.iter().zip(values(&carry)) {
            stores.push(Stmt::Store { to: Self::element(*array, self.block()), value, leaf: None });
        }
        let one = Value::binary(BinOp::Eq, self.thread(), self.int(0));
        body.push(Self::when(one, stores, Vec::new(), "what is open after the block's last tile"));
        Ok(body)
    }

    /// How many segments of the tile end before a step, by bisection: bit by bit, and by fours without what a tile of few segments has none of.
    fn find(&mut self, ends: usize, current: VarId, segments: &Value, before: &Value) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        let bits = 64 - u64::leading_zeros(self.flat.steps().unsigned_abs());
        for group in (0..bits.div_ceil(4)).rev() {
            let unit = 1i64 << (4 * group);
            let highest = 1i64 << (bits - 4 * group - 1).min(3);
            let bit = self.emitter.new_var("bit", self.emitter.index(), true);
            let mut find = Vec::new();
            let own = mul(self.var(bit), self.int(unit));
            let next = self.named("next", Value::binary(BinOp::BitOr, self.var(current), own), &mut find);
            let exists = Value::binary(BinOp::Le, next.clone(), segments.clone());
            let end = self.end_at(ends, sub(next.clone(), self.int(1)));
            let both = Value::binary(BinOp::And, exists, Value::binary(BinOp::Lt, end, before.clone()));
            find.push(Self::when(both, vec![self.set(current, next)], Vec::new(), ""));
            let note = "the segments of the tile that end before the thread's first step, by bisection";
            let search = Stmt::For {
                var: bit,
                lower: self.int(highest),
                upper: self.int(0),
                step: Step::Halve,
                unroll: true,
                body: find,
                note: Note::new(if group + 1 == bits.div_ceil(4) { note } else { "" }),
            };
            let some = Value::binary(BinOp::Ge, segments.clone(), self.int(unit));
            stmts.push(Self::when(some, vec![search], Vec::new(), ""));
        }
        stmts
    }

    /// The step that ends the segment of this number in the tile.
    pub(super) fn end_at(&self, ends: usize, at: Value) -> Value {
        let element = self.shared_element(ends, at);
        self.emitter.load(element, DType::I32).cast(self.emitter.index())
    }

    /// For each input what can be loaded where a tile has no point, so that reducing it changes nothing: `None` unless all are loaded, each is a
    /// value of the state as it is, and the neutral element says what.
    fn filling(&mut self, staged: &BTreeMap<usize, usize>) -> Result<Option<Vec<Value>>, Diagnostic> {
        let mut filling = Vec::new();
        for (k, input) in self.operator.inputs.clone().iter().enumerate() {
            let is_input = |e: &Expr| matches!(e, Expr::Name(n) if n == input);
            let plain = self.operator.lift.iter().all(|e| is_input(e) || count(e, input) == 0);
            let places = self.operator.lift.iter().zip(self.operator.neutral.clone());
            let mut neutrals = places.filter(|(e, _)| is_input(e)).map(|(_, neutral)| neutral);
            let (Some(neutral), None) = (neutrals.next(), neutrals.next()) else { return Ok(None) };
            if !plain || !staged.contains_key(&k) {
                return Ok(None);
            }
            let dtype = self.input_type(&self.args[k].clone())?;
            filling.push(self.emitter.value(&neutral, dtype, translate::Scope::of(&self.env))?);
        }
        Ok((!filling.is_empty()).then_some(filling))
    }

    /// Which segments, steps and points a tile has.
    fn describe(&mut self, place: &Place, tile: Value, body: &mut Vec<Stmt>) -> Result<Tile, Diagnostic> {
        let (scratch, length) = (self.scratch()?, self.int(self.flat.steps()));
        let begun = self.global_load(scratch.starts, tile.clone());
        let begun = self.named("begun", begun, body);
        let ended = self.global_load(scratch.starts, add(tile.clone(), self.int(1)));
        let ended = self.named("ended", ended, body);
        let segments = self.named("segments", sub(ended, begun.clone()), body);
        let from = Value::binary(BinOp::Min, mul(tile, length.clone()), place.total.clone());
        let from = self.named("from", from, body);
        let rest = sub(place.total.clone(), from.clone());
        let steps = self.named("steps", Value::binary(BinOp::Min, rest, length), body);
        let points = self.named("count", sub(steps.clone(), segments.clone()), body);
        let first_point = sub(add(place.base.clone(), from), begun.clone());
        let first_point = self.named("first_point", first_point, body);
        Ok(Tile { begun, segments, steps, points, first_point })
    }

    /// An array of each thread for each staged input.
    fn registers(&mut self, staged: &BTreeMap<usize, usize>) -> Result<BTreeMap<usize, usize>, Diagnostic> {
        let mut registers = BTreeMap::new();
        for k in staged.keys() {
            let dtype = self.input_type(&self.args[*k].clone())?;
            let name = self.emitter.unique("loaded");
            let dims = vec![u64::from(self.flat.items)];
            self.emitter.private.push(LocalArray { name, dtype, dims, note: String::new() });
            registers.insert(*k, self.emitter.private.len() - 1);
        }
        Ok(registers)
    }

    /// The loop over a thread's places in a tile, neighbouring threads at neighbouring places: its counter, the place, and the body so far.
    fn each_place(&mut self) -> (VarId, Value, Vec<Stmt>) {
        let item = self.emitter.new_var("item", self.emitter.index(), false);
        let mut body = Vec::new();
        let threads = self.int(i64::from(self.flat.threads));
        let place = self.named("place", add(mul(self.var(item), threads), self.thread()), &mut body);
        (item, place, body)
    }

    /// A thread's loads of the points of a tile, neighbouring threads at neighbouring points.
    fn load_points(
        &mut self,
        staged: &BTreeMap<usize, usize>,
        registers: &BTreeMap<usize, usize>,
        filling: Option<&[Value]>,
        tile: &Tile,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let (item, place, mut body) = self.each_place();
        let exists = Value::binary(BinOp::Lt, place.clone(), tile.points.clone());
        let mut env = self.env.clone();
        env.set(self.nest.point.clone(), add(tile.first_point.clone(), place));
        let mut loads = Vec::new();
        for (k, register) in staged.keys().filter_map(|k| Some((k, registers.get(k)?))) {
            let arg = self.args[*k].clone();
            let dtype = self.input_type(&arg)?;
            let mut value = self.emitter.value(&arg, dtype, translate::Scope::of(&env))?;
            if let Some(neutral) = filling.and_then(|f| f.get(*k)) {
                value = select(exists.clone(), value, neutral.clone());
            }
            let to = self.emitter.local_element(Memory::Private(*register), vec![self.var(item)]);
            loads.push(Stmt::Store { to, value, leaf: Some(self.update) });
        }
        if loads.is_empty() {
            return Ok(None);
        }
        let note = match filling {
            Some(_) => "the points of the tile, side by side; what changes nothing behind them",
            None => "the points of the tile, side by side",
        };
        match filling {
            Some(_) => body.extend(loads),
            None => body.push(Self::when(exists, loads, Vec::new(), "")),
        }
        Ok(Some(self.unrolled(item, i64::from(self.flat.items), body, note)))
    }

    /// The points that a thread has loaded go to shared memory.
    fn store_points(
        &mut self,
        staged: &BTreeMap<usize, usize>,
        registers: &BTreeMap<usize, usize>,
        filled: bool,
        tile: &Tile,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let (item, place, mut body) = self.each_place();
        let mut stores = Vec::new();
        for (k, array) in staged {
            let Some(register) = registers.get(k) else { continue };
            let dtype = self.input_type(&self.args[*k].clone())?;
            let from = self.emitter.local_element(Memory::Private(*register), vec![self.var(item)]);
            let (to, value) = (self.shared_element(*array, place.clone()), self.emitter.load(from, dtype));
            stores.push(Stmt::Store { to, value, leaf: Some(self.update) });
        }
        if stores.is_empty() {
            return Ok(None);
        }
        match filled {
            true => body.extend(stores),
            false => {
                let exists = Value::binary(BinOp::Lt, place, tile.points.clone());
                body.push(Self::when(exists, stores, Vec::new(), ""));
            }
        }
        Ok(Some(self.unrolled(item, i64::from(self.flat.items), body, "")))
    }

    #[allow(clippy::too_many_arguments)]
    fn stage_ends(
        &mut self,
        ends: usize,
        threads: i64,
        steps: i64,
        segments: &Value,
        begun: &Value,
        first_point: &Value,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        let place_var = self.emitter.new_var("place", self.emitter.index(), false);
        let place = self.var(place_var);
        let end = self.nest.end.clone();
        let offset = self.offset(&end, add(begun.clone(), place.clone()))?;
        let mut real_end = Vec::new();
        let offset = self.named("offset", offset, &mut real_end);
        let step = add(sub(offset, first_point.clone()), place.clone());
        let step = self.named("step", step, &mut real_end);
        let real = Value::binary(BinOp::Lt, place.clone(), segments.clone());
        let to = self.shared_element(ends, place);
        let store =
            |value: Value| vec![Stmt::Store { to: to.clone(), value: value.cast(DType::I32), leaf: None }];
        real_end.extend(store(step));
        let inside = vec![Self::when(real, real_end, store(self.int(steps)), "")];
        body.push(Stmt::For {
            var: place_var,
            lower: self.thread(),
            upper: add(segments.clone(), self.int(1)),
            step: Step::Add(threads),
            unroll: false,
            body: inside,
            note: Note::new("the steps that end a segment, and behind them one that none is"),
        });
        Ok(())
    }
}
