//! The second launch: blocks go through their tiles.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Expr};

use super::{Writer, is_staged, values};
use crate::{
    fold::{add, mul, select, sub},
    program::{BinOp, LocalArray, MemRef, Memory, Note, Scope, Step, Stmt, Value},
    reduce::count,
    translate,
};

/// The most shared memory that a kernel may declare.
const MOST_SHARED: u64 = 48 * 1024;

impl Writer<'_, '_, '_> {
    fn shared_element(&self, array: usize, at: Value) -> MemRef {
        self.emitter.local_element(Memory::Shared(array), vec![at])
    }

    fn unrolled(&self, var: crate::program::VarId, upper: i64, body: Vec<Stmt>, note: &str) -> Stmt {
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
        let first_segment = self.global_load(scratch.starts, first_tile.clone());
        let first_segment = self.named("first_segment", first_segment, &mut body);
        let neutral = self.neutral()?;
        let carry = self.state("carry", neutral.clone(), &mut body)?;

        let tile_var = self.emitter.new_var("tile", self.emitter.index(), false);
        let tile = self.var(tile_var);
        let mut inside = Vec::new();
        // The tile's segments, steps and points.
        let begun = self.global_load(scratch.starts, tile.clone());
        let begun = self.named("begun", begun, &mut inside);
        let ended = self.global_load(scratch.starts, add(tile.clone(), self.int(1)));
        let ended = self.named("ended", ended, &mut inside);
        let segments = self.named("segments", sub(ended, begun.clone()), &mut inside);
        let from = Value::binary(BinOp::Min, mul(tile.clone(), self.int(steps)), total.clone());
        let from = self.named("from", from, &mut inside);
        let rest = sub(total, from.clone());
        let own_steps = self.named("steps", Value::binary(BinOp::Min, rest, self.int(steps)), &mut inside);
        let points = self.named("count", sub(own_steps.clone(), segments.clone()), &mut inside);
        let first_point = sub(add(base, from), begun.clone());
        let first_point = self.named("first_point", first_point, &mut inside);
        let filling = self.filling(&staged)?;
        self.stage(&staged, filling.as_deref(), &points, &first_point, &mut inside)?;
        self.stage_ends(ends, threads, steps, &segments, &begun, &first_point, &mut inside)?;
        inside.push(Stmt::Sync {
            scope: Scope::Block,
            note: Note::new("points and ends of the tile are loaded, from which partial results are made"),
        });
        // The thread's first segment.
        let from_step = mul(self.thread(), self.int(items));
        let from_step = self.named("first_step", from_step, &mut inside);
        let current = self.counter("segment", self.int(0), Some((0, steps)), &mut inside);
        let bit = self.emitter.new_var("bit", self.emitter.index(), true);
        let mut find = Vec::new();
        let next = Value::binary(BinOp::BitOr, self.var(current), self.var(bit));
        let next = self.named("next", next, &mut find);
        let exists = Value::binary(BinOp::Le, next.clone(), segments.clone());
        let at = sub(next.clone(), self.int(1));
        let end = self.end_at(ends, at);
        let before = Value::binary(BinOp::Lt, end, from_step.clone());
        let both = Value::binary(BinOp::And, exists, before);
        find.push(Self::when(both, vec![self.set(current, next)], Vec::new(), ""));
        let highest = 1i64 << (63 - u64::leading_zeros(steps.unsigned_abs()));
        inside.push(Stmt::For {
            var: bit,
            lower: self.int(highest),
            upper: self.int(0),
            step: Step::Halve,
            unroll: true,
            body: find,
            note: Note::new("the segments of the tile that end before the thread's first step, by bisection"),
        });
        let first = self.named("first", self.var(current), &mut inside);
        let head = self.state("head", neutral.clone(), &mut inside)?;
        let open = self.state("open", neutral.clone(), &mut inside)?;
        let next_end =
            self.counter("end", self.end_at(ends, self.var(current)), Some((0, steps)), &mut inside);
        // The walk: how far the place of a point is from the number of its step among the thread's own.
        let shift = sub(from_step.clone(), self.var(current));
        let shift = self.counter("shift", shift, Some((-steps, steps)), &mut inside);
        let item = self.emitter.new_var("item", self.emitter.index(), false);
        let mut walk = Vec::new();
        let step = self.named("step", add(from_step, self.var(item)), &mut walk);
        let segment = add(begun.clone(), self.var(current));
        let mut close = vec![Self::when(
            Value::binary(BinOp::Gt, self.var(current), first.clone()),
            self.result(values(&open), segment.clone())?,
            Self::assign(&head, values(&open)),
            "",
        )];
        close.extend(Self::assign(&open, neutral.clone()));
        close.push(self.set(current, add(self.var(current), self.int(1))));
        close.push(self.set(shift, sub(self.var(shift), self.int(1))));
        close.push(self.set(next_end, self.end_at(ends, self.var(current))));
        let of_tile = add(self.var(shift), self.var(item));
        let places: BTreeMap<usize, MemRef> =
            staged.iter().map(|(k, array)| (*k, self.shared_element(*array, of_tile.clone()))).collect();
        let point = add(first_point.clone(), of_tile.clone());
        let take = self.update(&open, segment, point, &places)?;
        let ends_here = Value::binary(BinOp::Eq, step.clone(), self.var(next_end));
        let choice = Self::when(ends_here, close, take, "");
        walk.push(match filling {
            Some(_) => choice,
            None => Self::when(Value::binary(BinOp::Lt, step, own_steps), vec![choice], Vec::new(), ""),
        });
        inside.push(self.unrolled(item, items, walk, "each step ends a segment or adds a point"));
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

    /// The step that ends the segment of this number in the tile.
    fn end_at(&self, ends: usize, at: Value) -> Value {
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

    /// All loads of a thread before its first store, neighbouring threads at neighbouring points.
    fn stage(
        &mut self,
        staged: &BTreeMap<usize, usize>,
        filling: Option<&[Value]>,
        points: &Value,
        first_point: &Value,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        if staged.is_empty() {
            return Ok(());
        }
        let (threads, items) = (i64::from(self.flat.threads), i64::from(self.flat.items));
        let mut loops = Vec::new();
        let mut own = BTreeMap::new();
        for loads in [true, false] {
            let item = self.emitter.new_var("item", self.emitter.index(), false);
            let mut inside = Vec::new();
            let place = add(mul(self.var(item), self.int(threads)), self.thread());
            let place = self.named("place", place, &mut inside);
            let exists = Value::binary(BinOp::Lt, place.clone(), points.clone());
            let mut env = self.env.clone();
            env.values.insert(self.nest.point.clone(), add(first_point.clone(), place.clone()));
            let mut stores = Vec::new();
            for (k, array) in staged {
                let arg = self.args[*k].clone();
                let dtype = self.input_type(&arg)?;
                let register = match own.get(k) {
                    Some(register) => *register,
                    None => {
                        let name = self.emitter.unique("loaded");
                        let dims = vec![items.unsigned_abs()];
                        self.emitter.private.push(LocalArray { name, dtype, dims, note: String::new() });
                        own.insert(*k, self.emitter.private.len() - 1);
                        self.emitter.private.len() - 1
                    }
                };
                let register = self.emitter.local_element(Memory::Private(register), vec![self.var(item)]);
                let (to, value) = match loads {
                    true => {
                        let value = self.emitter.value(&arg, dtype, translate::Scope::of(&env))?;
                        let value = match filling.and_then(|f| f.get(*k)) {
                            Some(neutral) => select(exists.clone(), value, neutral.clone()),
                            None => value,
                        };
                        (register, value)
                    }
                    false => (self.shared_element(*array, place.clone()), self.emitter.load(register, dtype)),
                };
                stores.push(Stmt::Store { to, value, leaf: Some(self.update) });
            }
            match filling {
                Some(_) => inside.extend(stores),
                None => inside.push(Self::when(exists, stores, Vec::new(), "")),
            }
            let note = match (loads, filling) {
                (true, Some(_)) => "the points of the tile, side by side; what changes nothing behind them",
                (true, None) => "the points of the tile, side by side",
                (false, _) => "",
            };
            loops.push(self.unrolled(item, items, inside, note));
        }
        body.extend(loops);
        Ok(())
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
