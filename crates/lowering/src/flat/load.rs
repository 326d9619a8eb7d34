//! The points of a tile: loads are coalesced and overlap the work on the tile before; then the
//! lanes store the points to shared memory, or add them up.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Access, AddressSpace, DType, Diagnostic, Expr, Name};

use super::{
    State, Writer,
    points::Points,
    tile::{Chunk, Span, Tile},
    warp::{Arrays, Input, Registers, Warp},
};
use crate::{
    analyse::arrays::{known, widest},
    program::{BinOp, MemRef, Stmt, Value, ValueKind},
    schedule::loads::certain_reads,
    write::{
        env::{Env, Loaded},
        fold::{add, and, mul, select},
        reduce::count,
        scope::Scope,
        translate::Target,
    },
};

impl Writer<'_, '_, '_> {
    /// Declares the private arrays of a thread.
    pub(super) fn registers(&mut self, arrays: &Arrays) -> Result<Registers, Diagnostic> {
        let items = self.items();
        let mut accesses: Vec<Access> = Vec::new();
        for k in arrays.points.keys() {
            for access in certain_reads(self.emitter.analysis, &self.args[*k]) {
                if self.is_direct(&access) && !accesses.contains(&access) {
                    accesses.push(access);
                }
            }
        }
        let mut inputs = Vec::new();
        for access in accesses {
            let array = self.emitter.analysis.lookup.array(&access.array).map(|a| &a.dtype);
            let Some(dtype) = array else { continue };
            let dtype = known(dtype, &access.array)?;
            let vector = match self.is_row(&access)? {
                true => widest(dtype, self.emitter.target()).min(items),
                false => 1,
            };
            let private = self.private(&format!("{}_reg", access.array), dtype, items);
            inputs.push(Input { access, private, vector });
        }
        let vector = inputs.iter().map(|i| i.vector).filter(|v| *v > 1).min().unwrap_or(1);
        for input in &mut inputs {
            input.vector = input.vector.min(vector);
        }
        let (mut mapped, mut points) = (BTreeMap::new(), BTreeMap::new());
        for (k, array) in &arrays.points {
            if self.read_as_it_is(*k, array, &inputs).is_none() {
                mapped.insert(*k, self.private("mapped", array.dtype, items));
            }
            points.insert(*k, self.private("own_points", array.dtype, items));
        }
        let index = self.emitter.index();
        Ok(Registers {
            inputs,
            vector,
            mapped,
            filling: self.filling(arrays)?,
            points,
            last: self.private("own_last", DType::U8, items),
            none: self.private("none", DType::U8, items),
            ends: self.private("ends", index, super::ENDS),
            begins: self.private("begins", index, super::ENDS),
            next_ends: self.private("next_ends", index, super::ENDS),
            further_ends: self.private("further_ends", index, super::ENDS),
        })
    }

    /// Whether it reads global memory, with subscripts that need no other read.
    fn is_direct(&self, access: &Access) -> bool {
        let array = self.emitter.analysis.lookup.array(&access.array);
        let mut direct = array.is_some_and(|a| a.space == AddressSpace::Global);
        for s in &access.index {
            s.visit(&mut |e| direct &= !matches!(e, Expr::Subscript(_)));
        }
        direct
    }

    /// Whether point `i` reads element `i`.
    fn is_row(&mut self, access: &Access) -> Result<bool, Diagnostic> {
        let [index] = &access.index[..] else { return Ok(false) };
        if !matches!(index, Expr::Name(n) if *n == self.nest.point) {
            return Ok(false);
        }
        // Any value that can represent an arbitrary point.
        let point = self.thread();
        let mut env = self.env.clone();
        env.set(self.nest.point.clone(), point.clone());
        Ok(match self.emitter.element(access, &env)? {
            Target::Element(element, _) => *element.offset == point,
            Target::Var(_) => false,
        })
    }

    /// The private array that holds an input as it was loaded, if no mapping or conversion is
    /// needed.
    fn read_as_it_is(&self, k: usize, points: &Points, inputs: &[Input]) -> Option<usize> {
        let Expr::Subscript(access) = &self.args[k] else { return None };
        let input = inputs.iter().find(|i| i.access == *access)?;
        (self.emitter.private[input.private].dtype == points.dtype).then_some(input.private)
    }

    /// The value of an input for the thread's point of this number.
    fn mapped(
        &mut self,
        k: usize,
        registers: &Registers,
        item: Value,
        point: Value,
    ) -> Result<Value, Diagnostic> {
        let name = Name::new("loaded point");
        let mut env: Env = self.env.clone();
        env.set(name.clone(), item);
        env.set(self.nest.point.clone(), point);
        for input in &registers.inputs {
            let number = input.private;
            env.loaded.push((input.access.clone(), Loaded::Array { number, lanes: vec![name.clone()] }));
        }
        let arg = self.args[k].clone();
        let dtype = self.input_type(&arg)?;
        self.emitter.value(&arg, dtype, Scope::of(&env))
    }

    /// For each staged input, a value that replaces points outside the chunk, so that their terms
    /// are the neutral element: `None` unless all inputs are staged, each is itself one value of
    /// the state, its type can represent that value's neutral element, and the rest of the state is
    /// neutral for every point.
    fn filling(&mut self, arrays: &Arrays) -> Result<Option<Vec<Value>>, Diagnostic> {
        let operator = self.operator.clone();
        let types = self.emitter.accumulator_types(self.nest.instruction, 0)?;
        let mut filling: Vec<Option<Value>> = vec![None; operator.inputs.len()];
        for ((lift, neutral), state) in operator.lift.iter().zip(&operator.neutral).zip(types) {
            let number = operator.inputs.iter().position(|input| matches!(lift, Expr::Name(n) if n == input));
            match number {
                Some(k) if arrays.points.contains_key(&k) && filling[k].is_none() => {
                    let dtype = self.input_type(&self.args[k].clone())?;
                    if dtype != state && !matches!(neutral, Expr::Int(0 | 1)) {
                        return Ok(None);
                    }
                    filling[k] = Some(self.emitter.value(neutral, dtype, Scope::of(&self.env))?);
                }
                Some(_) => return Ok(None),
                None if lift == neutral && operator.inputs.iter().all(|input| count(lift, input) == 0) => {}
                None => return Ok(None),
            }
        }
        let filling: Option<Vec<Value>> = filling.into_iter().collect();
        Ok(filling.filter(|values| !values.is_empty()))
    }

    /// Whether all points of a tile belong to the chunk.
    pub(super) fn is_whole(&self, chunk: &Chunk, first: &Value, span: Span<'_>) -> Value {
        let begins = Self::begins(first, span);
        let end = add(first.clone(), self.int(self.tile_points()));
        and(begins, Value::binary(BinOp::Le, end, chunk.to.clone()))
    }

    /// A loop over the vectors that a thread loads; `None` if its body is empty.
    fn each_vector(
        &mut self,
        registers: &Registers,
        each: impl FnOnce(&mut Self, &Value) -> Result<Vec<Stmt>, Diagnostic>,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let vector = self.emitter.new_var("vector", self.emitter.index(), false);
        let body = each(self, &self.var(vector))?;
        let count = self.items() / registers.vector;
        Ok((!body.is_empty()).then(|| self.unrolled(vector, count, body, "")))
    }

    /// As [`Self::each_vector`], over the points of each vector.
    fn each_point(
        &mut self,
        registers: &Registers,
        each: impl FnOnce(&mut Self, &Value, &Value) -> Result<Vec<Stmt>, Diagnostic>,
    ) -> Result<Option<Stmt>, Diagnostic> {
        self.each_vector(registers, |this, vector| {
            if registers.vector == 1 {
                return each(this, vector, &this.int(0));
            }
            let part = this.emitter.new_var("part", this.emitter.index(), false);
            let body = each(this, vector, &this.var(part))?;
            Ok(if body.is_empty() { body } else { vec![this.unrolled(part, registers.vector, body, "")] })
        })
    }

    /// The position of the first point of a thread's vector in the tile: neighbouring lanes take
    /// neighbouring vectors.
    fn vector_place(&self, registers: &Registers, chunk: &Chunk, vector: &Value) -> Value {
        let own = mul(chunk.lane.clone(), self.int(registers.vector));
        add(own, mul(vector.clone(), self.int(self.warp_size() * registers.vector)))
    }

    /// Loads the inputs for the points of a tile.
    pub(super) fn load_points(
        &mut self,
        warp: &Warp,
        first: &Value,
        span: Span<'_>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Warp { chunk, registers, .. } = warp;
        if registers.inputs.is_empty() {
            return Ok(Vec::new());
        }
        let (vectors, singles): (Vec<&Input>, Vec<&Input>) =
            registers.inputs.iter().partition(|input| input.vector > 1);
        let mut whole = Vec::new();
        whole.extend(self.load_vectors(warp, first, &vectors)?);
        whole.extend(self.load_singles(warp, first, &singles, None)?);
        let all: Vec<&Input> = registers.inputs.iter().collect();
        let partial = self.load_singles(warp, first, &all, Some(span))?;
        let note = "whole vectors, or those points that belong to the chunk";
        let is_whole = self.is_whole(chunk, first, span);
        Ok(vec![Self::when(is_whole, whole, partial.into_iter().collect(), note)])
    }

    /// The element that an input reads for a point.
    fn read_for(&mut self, input: &Input, point: Value) -> Result<MemRef, Diagnostic> {
        let mut env = self.env.clone();
        env.set(self.nest.point.clone(), point);
        match self.emitter.element(&input.access, &env)? {
            Target::Element(element, _) => Ok(element),
            Target::Var(_) => Err(Diagnostic::new("internal", "a vector access to a scalar")),
        }
    }

    fn load_vectors(
        &mut self,
        warp: &Warp,
        first: &Value,
        inputs: &[&Input],
    ) -> Result<Option<Stmt>, Diagnostic> {
        let Warp { chunk, registers, .. } = warp;
        let leaf = Some(self.update);
        self.each_vector(registers, |this, vector| {
            let mut copies = Vec::new();
            if inputs.is_empty() {
                return Ok(copies);
            }
            let point = add(first.clone(), this.vector_place(registers, chunk, vector));
            let point = this.named("point", point, &mut copies);
            for input in inputs {
                let from = this.read_for(input, point.clone())?;
                let at = mul(vector.clone(), this.int(registers.vector));
                let to = this.private_element(input.private, at);
                let lanes = u8::try_from(input.vector).unwrap_or(1);
                copies.push(Stmt::VectorCopy { to, from, lanes, leaf });
            }
            Ok(copies)
        })
    }

    /// `span` says that not all points belong to the chunk.
    fn load_singles(
        &mut self,
        warp: &Warp,
        first: &Value,
        inputs: &[&Input],
        span: Option<Span<'_>>,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let Warp { chunk, registers, .. } = warp;
        let leaf = Some(self.update);
        self.each_point(registers, |this, vector, part| {
            let (mut loads, mut body) = (Vec::new(), Vec::new());
            if inputs.is_empty() {
                return Ok(body);
            }
            let point = this.point_of(registers, chunk, first, vector, part);
            let point = this.named("point", point, &mut body);
            let item = this.item_of(registers, vector, part);
            for input in inputs {
                let from = this.read_for(input, point.clone())?;
                let value = this.emitter.load(from, this.emitter.private[input.private].dtype);
                let to = this.private_element(input.private, item.clone());
                loads.push(Stmt::Store { to, value, leaf });
            }
            match span {
                Some(span) => {
                    body.push(Self::when(this.exists(chunk, span, &point), loads, Vec::new(), ""));
                }
                None => body.extend(loads),
            }
            Ok(body)
        })
    }

    /// The number of a thread's point among those that it loads.
    fn item_of(&self, registers: &Registers, vector: &Value, part: &Value) -> Value {
        add(mul(vector.clone(), self.int(registers.vector)), part.clone())
    }

    /// The number of such a point among all points.
    fn point_of(
        &self,
        registers: &Registers,
        chunk: &Chunk,
        first: &Value,
        vector: &Value,
        part: &Value,
    ) -> Value {
        add(add(first.clone(), self.vector_place(registers, chunk, vector)), part.clone())
    }

    fn begins(point: &Value, span: Span<'_>) -> Option<Value> {
        match span {
            Span::Later => None,
            Span::From(begin) => Some(Value::binary(BinOp::Ge, point.clone(), begin.clone())),
        }
    }

    /// Whether a point belongs to the chunk.
    pub(super) fn exists(&self, chunk: &Chunk, span: Span<'_>, point: &Value) -> Value {
        let begins = Self::begins(point, span);
        and(begins, Value::binary(BinOp::Lt, point.clone(), chunk.to.clone()))
    }

    /// Stores the mapped values of the tile to shared memory.
    pub(super) fn stage(&mut self, warp: &Warp, tile: &Tile) -> Result<Vec<Stmt>, Diagnostic> {
        let Warp { chunk, arrays, registers } = warp;
        if arrays.points.is_empty() {
            return Ok(Vec::new());
        }
        let mut body = Vec::new();
        let mut places = BTreeMap::new();
        for (k, points) in &arrays.points {
            let own = self.spread(points, mul(chunk.lane.clone(), self.int(registers.vector)));
            places.insert(*k, self.named("own_place", own, &mut body));
        }
        let whole = self.stage_all(warp, tile, &places, false)?;
        let partial = self.stage_all(warp, tile, &places, true)?;
        let note = match registers.filling {
            Some(_) => "the points side by side; what changes nothing where the chunk has none",
            None => "the points side by side",
        };
        let is_whole = self.is_whole(chunk, &tile.first, Span::From(&tile.begin));
        body.push(Self::when(is_whole, whole, partial, note));
        Ok(body)
    }

    /// `guarded` says that not all points belong to the chunk.
    fn stage_all(
        &mut self,
        warp: &Warp,
        tile: &Tile,
        places: &BTreeMap<usize, Value>,
        guarded: bool,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Warp { chunk, arrays, registers } = warp;
        let leaf = Some(self.update);
        let mut stmts = Vec::new();
        for (k, points) in &arrays.points {
            let width = points.widest(registers.vector, self.emitter.target());
            let plain = self.read_as_it_is(*k, points, &registers.inputs);
            let source = plain.or(registers.mapped.get(k).copied());
            let place = places.get(k).cloned().unwrap_or_else(|| self.int(0));
            let step = points.places(self.warp_size() * registers.vector);
            let by_vectors = !guarded && width > 1;
            let at = |this: &Self, vector: &Value, part: &Value| {
                add(place.clone(), add(mul(vector.clone(), this.int(step)), part.clone()))
            };
            let each = self.each_point(registers, |this, vector, part| {
                let mut body = Vec::new();
                if by_vectors && plain.is_some() {
                    return Ok(body);
                }
                let point = this.point_of(registers, chunk, &tile.first, vector, part);
                let point = this.named("point", point, &mut body);
                let item = this.item_of(registers, vector, part);
                let mut value = this.mapped(*k, registers, item.clone(), point.clone())?;
                let to = match (by_vectors, source) {
                    (true, Some(private)) => this.private_element(private, item),
                    _ => this.of_warp(points.array, chunk, at(this, vector, part)),
                };
                if guarded {
                    // Values that no update uses may be arbitrary.
                    let zero = Value { dtype: value.dtype, kind: zero(value.dtype) };
                    let filling = registers.filling.as_ref().and_then(|f| f.get(*k));
                    let exists = this.exists(chunk, Span::From(&tile.begin), &point);
                    value = select(exists, value, filling.cloned().unwrap_or(zero));
                }
                body.push(Stmt::Store { to, value, leaf });
                Ok(body)
            })?;
            stmts.extend(each);
            let Some(private) = source.filter(|_| by_vectors) else { continue };
            stmts.extend(self.each_vector(registers, |this, vector| {
                let part = this.emitter.new_var("part", this.emitter.index(), false);
                let parts = registers.vector / width;
                let offset = if parts == 1 { this.int(0) } else { mul(this.var(part), this.int(width)) };
                let copy = Stmt::VectorCopy {
                    to: this.of_warp(points.array, chunk, at(this, vector, &offset)),
                    from: this.private_element(private, this.item_of(registers, vector, &offset)),
                    lanes: u8::try_from(width).unwrap_or(1),
                    leaf,
                };
                Ok(vec![if parts == 1 { copy } else { this.unrolled(part, parts, vec![copy], "") }])
            })?);
        }
        Ok(stmts)
    }

    /// Adds a tile that lies inside one segment to the lanes' accumulators.
    pub(super) fn add_points(
        &mut self,
        cells: &State,
        warp: &Warp,
        tile: &Tile,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let Warp { chunk, registers, .. } = warp;
        self.each_point(registers, |this, vector, part| {
            let point = this.point_of(registers, chunk, &tile.first, vector, part);
            let item = this.item_of(registers, vector, part);
            let mut staged = BTreeMap::new();
            for k in 0..this.args.len() {
                staged.insert(k, this.mapped(k, registers, item.clone(), point.clone())?);
            }
            // No input depends on the segment.
            let any = this.int(0);
            this.update(cells, any, point, &staged)
        })
    }
}

fn zero(dtype: DType) -> ValueKind {
    match dtype {
        DType::Bool => ValueKind::Bool(false),
        _ if dtype.is_float() => ValueKind::Float(0.0),
        _ => ValueKind::Int(0),
    }
}
