//! What a tile has, and how it comes to shared memory: values of points and places of ends are loaded while the tile before is walked through.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Expr};

use super::{
    Writer,
    tiles::{Place, Tile},
};
use crate::{
    fold::{add, mul, select, sub},
    program::{BinOp, LocalArray, Memory, Note, ShuffleMode, Step, Stmt, Value, VarId},
    reduce::count,
    translate,
};

impl Writer<'_, '_, '_> {
    /// For each input what can be loaded where a tile has no point, so that reducing it changes nothing: `None` unless all are loaded, each is a
    /// value of the state as it is, and the neutral element says what.
    pub(super) fn filling(
        &mut self,
        staged: &BTreeMap<usize, usize>,
    ) -> Result<Option<Vec<Value>>, Diagnostic> {
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
    pub(super) fn describe(
        &mut self,
        place: &Place,
        tile: Value,
        body: &mut Vec<Stmt>,
    ) -> Result<Tile, Diagnostic> {
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
    pub(super) fn registers(
        &mut self,
        staged: &BTreeMap<usize, usize>,
    ) -> Result<BTreeMap<usize, usize>, Diagnostic> {
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
    pub(super) fn each_place(&mut self) -> (VarId, Value, Vec<Stmt>) {
        let item = self.emitter.new_var("item", self.emitter.index(), false);
        let mut body = Vec::new();
        let threads = self.int(i64::from(self.flat.threads));
        let place = self.named("place", add(mul(self.var(item), threads), self.thread()), &mut body);
        (item, place, body)
    }

    /// A thread's loads of the points of a tile, neighbouring threads at neighbouring points.
    pub(super) fn load_points(
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
    pub(super) fn store_points(
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

    /// The thread's first end of a tile, which is loaded while the tile before is walked through.
    pub(super) fn load_end(&mut self, ahead: VarId, tile: &Tile) -> Result<Stmt, Diagnostic> {
        let end = self.nest.end.clone();
        let offset = self.offset(&end, add(tile.begun.clone(), self.thread()))?;
        let exists = Value::binary(BinOp::Lt, self.thread(), tile.segments.clone());
        Ok(Self::when(exists, vec![self.set(ahead, offset)], Vec::new(), ""))
    }

    /// The places of the ends of a tile to shared memory. `longest` becomes the number of points of the longest segment that the thread finds, where
    /// the tile has many.
    pub(super) fn stage_ends(
        &mut self,
        ends: usize,
        ahead: VarId,
        tile: &Tile,
        longest: VarId,
        lane: &Value,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let threads = i64::from(self.flat.threads);
        let mut body = self.stage_end(ends, self.thread(), Some(ahead), tile, longest, lane)?;
        let from = self.emitter.new_var("from_end", self.emitter.index(), false);
        let mut inside = Vec::new();
        let place = self.named("place", add(self.var(from), self.thread()), &mut inside);
        inside.extend(self.stage_end(ends, place, None, tile, longest, lane)?);
        body.push(Stmt::For {
            var: from,
            lower: self.int(threads),
            upper: add(tile.segments.clone(), self.int(1)),
            step: Step::Add(threads),
            unroll: false,
            body: inside,
            note: Note::default(),
        });
        Ok(body)
    }

    /// The place of an end for each thread.
    fn stage_end(
        &mut self,
        ends: usize,
        place: Value,
        ahead: Option<VarId>,
        tile: &Tile,
        longest: VarId,
        lane: &Value,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Tile { begun, segments, points, first_point, .. } = tile.clone();
        let end = self.nest.end.clone();
        let mut body = Vec::new();
        // Behind the last end, the tile's.
        let offset = match ahead {
            Some(var) => self.var(var),
            None => self.offset(&end, add(begun.clone(), place.clone()))?,
        };
        let is_end = Value::binary(BinOp::Lt, place.clone(), segments.clone());
        let offset = select(is_end.clone(), offset, add(first_point.clone(), points));
        let offset = self.named("offset", offset, &mut body);
        let exists = Value::binary(BinOp::Le, place.clone(), segments);
        let step = add(sub(offset.clone(), first_point.clone()), place.clone());
        let step = select(is_end, step, self.int(self.flat.steps()));
        let to = self.shared_element(ends, place.clone());
        let store = Stmt::Store { to, value: step.cast(DType::I32), leaf: None };
        let note = match ahead {
            Some(_) => "the steps that end a segment, and behind them one that none is",
            None => "",
        };
        body.push(Self::when(exists.clone(), vec![store], Vec::new(), note));
        // How many points the tile has of the segment: the end before is the neighbour's.
        let mut measure = Vec::new();
        let taken = self.shuffled(ShuffleMode::Up, offset.clone(), self.int(1));
        let before = self.counter("before", taken, None, &mut measure);
        let earlier = self.offset(&end, sub(add(begun, place.clone()), self.int(1)))?;
        let earlier = match ahead {
            Some(_) => select(Value::binary(BinOp::Eq, place, self.int(0)), first_point, earlier),
            None => earlier,
        };
        let earlier = self.set(before, earlier);
        let no_neighbour = Value::binary(BinOp::Eq, lane.clone(), self.int(0));
        let no_neighbour = Value::binary(BinOp::And, no_neighbour, exists);
        measure.push(Self::when(no_neighbour, vec![earlier], Vec::new(), ""));
        let greatest = Value::binary(BinOp::Max, self.var(longest), sub(offset, self.var(before)));
        measure.push(self.set(longest, greatest));
        body.push(Self::when(self.is_many(tile), measure, Vec::new(), ""));
        Ok(body)
    }
}
