//! The points of a tile: loads are coalesced and overlap the work on the tile before; then the
//! lanes store the points to shared memory, or add them up.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Name};

use super::{
    State, Writer,
    tile::{Chunk, Span, Tile},
};
use crate::{
    flat::plan::{Load, Outside, Source, Staged},
    program::{BinOp, MemRef, Stmt, Value, ValueKind},
    write::{
        env::{Env, Loaded},
        fold::{add, and, mul, select},
        scope::Scope,
        translate::Target,
    },
};

impl Writer<'_, '_, '_> {
    /// The value of an input for the lane's point of this number.
    fn mapped(&mut self, input: usize, item: Value, point: Value) -> Result<Value, Diagnostic> {
        let name = Name::new("loaded point");
        let mut env: Env = self.env.clone();
        env.set(name.clone(), item);
        env.set(self.plan.nest.point.clone(), point);
        for load in &self.of_chunks().loads.inputs {
            let number = load.private;
            env.loaded.push((load.access.clone(), Loaded::Array { number, lanes: vec![name.clone()] }));
        }
        let missing = || Diagnostic::new("internal", "an input of no reduction");
        let input = self.plan.inputs.get(input).ok_or_else(missing)?;
        self.emitter.value(&input.value, input.dtype, Scope::of(&env))
    }

    /// What is stored for points of an input that do not belong to the chunk.
    fn filling(&mut self, input: usize, dtype: DType) -> Result<Value, Diagnostic> {
        match &self.of_chunks().reduction.outside {
            Outside::Neutral(values) => {
                let missing = || Diagnostic::new("internal", "an input without a neutral value");
                let value = values.get(input).ok_or_else(missing)?;
                self.emitter.value(value, dtype, Scope::of(&self.env))
            }
            Outside::Skipped => Ok(Value { dtype, kind: zero(dtype) }),
        }
    }

    /// Whether all points of a tile belong to the chunk.
    pub(super) fn is_whole(&self, chunk: &Chunk, first: &Value, span: Span<'_>) -> Value {
        let begins = Self::begins(first, span);
        let end = add(first.clone(), self.int(self.plan.cut.tile));
        and(begins, Value::binary(BinOp::Le, end, chunk.to.clone()))
    }

    /// Number of neighbouring points that a lane loads.
    fn vector(&self) -> i64 {
        self.of_chunks().loads.vector
    }

    /// A loop over the vectors that a lane loads; `None` if its body is empty.
    fn each_vector(
        &mut self,
        each: impl FnOnce(&mut Self, &Value) -> Result<Vec<Stmt>, Diagnostic>,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let vector = self.emitter.new_var("vector", self.emitter.index(), false);
        let body = each(self, &self.var(vector))?;
        let count = self.plan.cut.items / self.vector();
        Ok((!body.is_empty()).then(|| self.unrolled(vector, count, body, "")))
    }

    /// As [`Self::each_vector`], over the points of each vector.
    fn each_point(
        &mut self,
        each: impl FnOnce(&mut Self, &Value, &Value) -> Result<Vec<Stmt>, Diagnostic>,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let length = self.vector();
        self.each_vector(|this, vector| {
            if length == 1 {
                return each(this, vector, &this.int(0));
            }
            let part = this.emitter.new_var("part", this.emitter.index(), false);
            let body = each(this, vector, &this.var(part))?;
            Ok(if body.is_empty() { body } else { vec![this.unrolled(part, length, body, "")] })
        })
    }

    /// The position of the first point of a lane's vector in the tile: neighbouring lanes take
    /// neighbouring vectors.
    fn vector_place(&self, chunk: &Chunk, vector: &Value) -> Value {
        let own = mul(chunk.lane.clone(), self.int(self.vector()));
        add(own, mul(vector.clone(), self.int(self.warp_size() * self.vector())))
    }

    /// Loads the inputs for the points of a tile.
    pub(super) fn load_points(
        &mut self,
        chunk: &Chunk,
        first: &Value,
        span: Span<'_>,
    ) -> Result<Stmt, Diagnostic> {
        let all: Vec<&Load> = self.of_chunks().loads.inputs.iter().collect();
        let (vectors, singles): (Vec<&Load>, Vec<&Load>) = all.iter().partition(|load| load.vector > 1);
        let mut whole = Vec::new();
        whole.extend(self.load_vectors(chunk, first, &vectors)?);
        whole.extend(self.load_singles(chunk, first, &singles, None)?);
        let partial = self.load_singles(chunk, first, &all, Some(span))?;
        let note = "whole vectors, or those points that belong to the chunk";
        let is_whole = self.is_whole(chunk, first, span);
        Ok(Self::when(is_whole, whole, partial.into_iter().collect(), note))
    }

    /// The element that is loaded for a point.
    fn read_for(&mut self, load: &Load, point: Value) -> Result<MemRef, Diagnostic> {
        let mut env = self.env.clone();
        env.set(self.plan.nest.point.clone(), point);
        match self.emitter.element(&load.access, &env)? {
            Target::Element(element, _) => Ok(element),
            Target::Var(_) => Err(Diagnostic::new("internal", "a vector access to a scalar")),
        }
    }

    fn load_vectors(
        &mut self,
        chunk: &Chunk,
        first: &Value,
        loads: &[&Load],
    ) -> Result<Option<Stmt>, Diagnostic> {
        let leaf = Some(self.update);
        self.each_vector(|this, vector| {
            let mut copies = Vec::new();
            if loads.is_empty() {
                return Ok(copies);
            }
            let point = add(first.clone(), this.vector_place(chunk, vector));
            let point = this.named("point", point, &mut copies);
            for load in loads {
                let from = this.read_for(load, point.clone())?;
                let at = mul(vector.clone(), this.int(this.vector()));
                let to = this.private_element(load.private, at);
                copies.push(Stmt::VectorCopy { to, from, lanes: lanes(load.vector), leaf });
            }
            Ok(copies)
        })
    }

    /// `span` says that not all points belong to the chunk.
    fn load_singles(
        &mut self,
        chunk: &Chunk,
        first: &Value,
        inputs: &[&Load],
        span: Option<Span<'_>>,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let leaf = Some(self.update);
        self.each_point(|this, vector, part| {
            let (mut loads, mut body) = (Vec::new(), Vec::new());
            if inputs.is_empty() {
                return Ok(body);
            }
            let point = this.point_of(chunk, first, vector, part);
            let point = this.named("point", point, &mut body);
            let item = this.item_of(vector, part);
            for load in inputs {
                let from = this.read_for(load, point.clone())?;
                let value = this.emitter.load(from, load.dtype);
                let to = this.private_element(load.private, item.clone());
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

    /// The number of a lane's point among those that it loads.
    fn item_of(&self, vector: &Value, part: &Value) -> Value {
        add(mul(vector.clone(), self.int(self.vector())), part.clone())
    }

    /// The number of such a point among all points.
    fn point_of(&self, chunk: &Chunk, first: &Value, vector: &Value, part: &Value) -> Value {
        add(add(first.clone(), self.vector_place(chunk, vector)), part.clone())
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
    pub(super) fn stage(&mut self, chunk: &Chunk, tile: &Tile) -> Result<Vec<Stmt>, Diagnostic> {
        let reduction = &self.of_chunks().reduction;
        let mut body = Vec::new();
        let mut staged = Vec::new();
        for input in &reduction.staged {
            let own = self.spread(&input.points, mul(chunk.lane.clone(), self.int(self.vector())));
            staged.push((input, self.named("own_place", own, &mut body)));
        }
        let (mut whole, mut partial) = (Vec::new(), Vec::new());
        for (input, place) in &staged {
            whole.extend(self.stage_whole((input, place), chunk, tile)?);
        }
        for (input, place) in &staged {
            partial.extend(self.stage_partial((input, place), chunk, tile)?);
        }
        let note = match reduction.outside {
            Outside::Neutral(_) => "the points side by side; what changes nothing where the chunk has none",
            Outside::Skipped => "the points side by side",
        };
        let is_whole = self.is_whole(chunk, &tile.first, Span::From(&tile.begin));
        body.push(Self::when(is_whole, whole, partial, note));
        Ok(body)
    }

    /// Where a lane's point lies in shared memory, if its first one lies at `place`.
    fn staged_at(&self, input: &Staged, place: &Value, vector: &Value, part: &Value) -> Value {
        let step = input.points.places(self.warp_size() * self.vector());
        add(place.clone(), add(mul(vector.clone(), self.int(step)), part.clone()))
    }

    /// Stores an input for all points of a tile, by the vectors of the plan.
    fn stage_whole(
        &mut self,
        (input, place): (&Staged, &Value),
        chunk: &Chunk,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        if input.width == 1 {
            return self.stage_points(input, chunk, tile, None, &mut |this, vector, part| {
                this.of_warp(input.points.array, chunk, this.staged_at(input, place, vector, part))
            });
        }
        let mut stmts = Vec::new();
        if let Source::Mapped(private) = input.source {
            stmts.extend(self.stage_points(input, chunk, tile, None, &mut |this, vector, part| {
                this.private_element(private, this.item_of(vector, part))
            })?);
        }
        let leaf = Some(self.update);
        stmts.extend(self.each_vector(|this, vector| {
            let part = this.emitter.new_var("part", this.emitter.index(), false);
            let parts = this.vector() / input.width;
            let offset = if parts == 1 { this.int(0) } else { mul(this.var(part), this.int(input.width)) };
            let at = this.staged_at(input, place, vector, &offset);
            let copy = Stmt::VectorCopy {
                to: this.of_warp(input.points.array, chunk, at),
                from: this.private_element(input.source.private(), this.item_of(vector, &offset)),
                lanes: lanes(input.width),
                leaf,
            };
            Ok(vec![if parts == 1 { copy } else { this.unrolled(part, parts, vec![copy], "") }])
        })?);
        Ok(stmts)
    }

    /// Stores an input for all points of a tile of which some do not belong to the chunk.
    fn stage_partial(
        &mut self,
        (input, place): (&Staged, &Value),
        chunk: &Chunk,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let filling = self.filling(input.input, input.points.dtype)?;
        self.stage_points(input, chunk, tile, Some(filling), &mut |this, vector, part| {
            this.of_warp(input.points.array, chunk, this.staged_at(input, place, vector, part))
        })
    }

    /// Stores the mapped values of an input, each to where `to` says; `filling` for points that do
    /// not belong to the chunk, if there are any.
    fn stage_points(
        &mut self,
        input: &Staged,
        chunk: &Chunk,
        tile: &Tile,
        filling: Option<Value>,
        to: &mut dyn FnMut(&Self, &Value, &Value) -> MemRef,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let leaf = Some(self.update);
        let each = self.each_point(|this, vector, part| {
            let mut body = Vec::new();
            let point = this.point_of(chunk, &tile.first, vector, part);
            let point = this.named("point", point, &mut body);
            let mut value = this.mapped(input.input, this.item_of(vector, part), point.clone())?;
            if let Some(filling) = filling {
                let exists = this.exists(chunk, Span::From(&tile.begin), &point);
                value = select(exists, value, filling);
            }
            body.push(Stmt::Store { to: to(this, vector, part), value, leaf });
            Ok(body)
        })?;
        Ok(each.into_iter().collect())
    }

    /// Adds a tile that lies inside one segment to the lanes' accumulators.
    pub(super) fn add_points(
        &mut self,
        cells: &State,
        chunk: &Chunk,
        tile: &Tile,
    ) -> Result<Option<Stmt>, Diagnostic> {
        self.each_point(|this, vector, part| {
            let point = this.point_of(chunk, &tile.first, vector, part);
            let item = this.item_of(vector, part);
            let mut staged = BTreeMap::new();
            for k in 0..this.plan.inputs.len() {
                staged.insert(k, this.mapped(k, item.clone(), point.clone())?);
            }
            // No input depends on the segment.
            let any = this.int(0);
            this.update(cells, any, point, &staged)
        })
    }
}

/// The number of elements of a vector.
pub(super) fn lanes(vector: i64) -> u8 {
    u8::try_from(vector).unwrap_or(1)
}

fn zero(dtype: DType) -> ValueKind {
    match dtype {
        DType::Bool => ValueKind::Bool(false),
        _ if dtype.is_float() => ValueKind::Float(0.0),
        _ => ValueKind::Int(0),
    }
}
