//! The points of a tile, which lanes load side by side while the tile before is worked on, and bring to shared memory or add up.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Access, AddressSpace, BinaryOp, DType, Diagnostic, Expr, Name};

use super::{
    Writer,
    points::{Points, WIDEST},
    run::{Arrays, Run, Tile},
};
use crate::{
    emitter::known,
    env::{Env, Loaded},
    fold::{add, mul, select},
    program::{BinOp, MemRef, Stmt, Value, ValueKind},
    reduce::count,
    translate::{self, Target},
};

/// Something that is read from memory for each point.
struct Input {
    access: Access,
    private: usize,
    /// How many elements one load takes.
    vector: i64,
}

/// The arrays of a thread.
pub(super) struct Registers {
    inputs: Vec<Input>,
    /// How many neighbouring points a thread loads at once.
    vector: i64,
    /// Mapped values of its points by the number of the input, where they are not what is read.
    mapped: BTreeMap<usize, usize>,
    /// The points that it reduces.
    pub points: BTreeMap<usize, usize>,
    /// Which of them is the last one of its segment, and that none is.
    pub last: usize,
    pub none: usize,
    pub ends: usize,
    /// The ends before those: where the group's segments begin.
    pub begins: usize,
    pub next_ends: usize,
    pub further_ends: usize,
}

impl Writer<'_, '_, '_> {
    /// Declares the arrays of a thread.
    pub(super) fn registers(&mut self, arrays: &Arrays) -> Result<Registers, Diagnostic> {
        let items = self.items();
        let mut accesses: Vec<Access> = Vec::new();
        for k in arrays.points.keys() {
            self.plain_reads(&self.args[*k].clone(), &mut accesses);
        }
        let mut inputs = Vec::new();
        for access in accesses {
            let array = self.emitter.analysis.lookup.array(&access.array).map(|a| &a.dtype);
            let Some(dtype) = array else { continue };
            let dtype = known(dtype, &access.array)?;
            let vector = match self.is_row(&access)? {
                true => (WIDEST / i64::try_from(dtype.bytes()).unwrap_or(16)).clamp(1, items),
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
            points,
            last: self.private("own_last", DType::U8, items),
            none: self.private("none", DType::U8, items),
            ends: self.private("ends", index, super::ENDS),
            begins: self.private("begins", index, super::ENDS),
            next_ends: self.private("next_ends", index, super::ENDS),
            further_ends: self.private("further_ends", index, super::ENDS),
        })
    }

    /// Reads of global memory that every point makes, at subscripts that need no other read.
    fn plain_reads(&self, e: &Expr, found: &mut Vec<Access>) {
        match e {
            Expr::If(c, ..) => return self.plain_reads(c, found),
            Expr::Binary(BinaryOp::And | BinaryOp::Or, a, _) => return self.plain_reads(a, found),
            Expr::Subscript(access) => {
                let array = self.emitter.analysis.lookup.array(&access.array);
                let mut direct = array.is_some_and(|a| a.space == AddressSpace::Global);
                for s in &access.index {
                    s.visit(&mut |e| direct &= !matches!(e, Expr::Subscript(_)));
                }
                if direct && !found.contains(access) {
                    found.push(access.clone());
                }
            }
            _ => {}
        }
        for child in e.children() {
            self.plain_reads(child, found);
        }
    }

    /// Whether neighbouring points read neighbouring elements, the point 0 the first one.
    fn is_row(&mut self, access: &Access) -> Result<bool, Diagnostic> {
        let [index] = &access.index[..] else { return Ok(false) };
        if !matches!(index, Expr::Name(n) if *n == self.nest.point) {
            return Ok(false);
        }
        // A value that stands for any point.
        let point = self.thread();
        let mut env = self.env.clone();
        env.set(self.nest.point.clone(), point.clone());
        Ok(match self.emitter.element(access, &env)? {
            Target::Element(element, _) => *element.offset == point,
            Target::Var(_) => false,
        })
    }

    /// The array of a thread in which an input stands as it is read.
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
        self.emitter.value(&arg, dtype, translate::Scope::of(&env))
    }

    /// For each staged input what stands for a point that is none, so that reducing it changes nothing: `None` unless all inputs are staged, each is a
    /// value of the state as it is, and the neutral element says what.
    pub(super) fn filling(&mut self, arrays: &Arrays) -> Result<Option<Vec<Value>>, Diagnostic> {
        let mut filling = Vec::new();
        for (k, input) in self.operator.inputs.clone().iter().enumerate() {
            let is_input = |e: &Expr| matches!(e, Expr::Name(n) if n == input);
            let plain = self.operator.lift.iter().all(|e| is_input(e) || count(e, input) == 0);
            let places = self.operator.lift.iter().zip(self.operator.neutral.clone());
            let mut neutrals = places.filter(|(e, _)| is_input(e)).map(|(_, neutral)| neutral);
            let (Some(neutral), None) = (neutrals.next(), neutrals.next()) else { return Ok(None) };
            if !plain || !arrays.points.contains_key(&k) {
                return Ok(None);
            }
            let dtype = self.input_type(&self.args[k].clone())?;
            filling.push(self.emitter.value(&neutral, dtype, translate::Scope::of(&self.env))?);
        }
        Ok((!filling.is_empty()).then_some(filling))
    }

    /// Whether all points of a tile belong to the run.
    pub(super) fn is_whole(&self, run: &Run, first: &Value) -> Value {
        let begins = Value::binary(BinOp::Ge, first.clone(), run.from.clone());
        let behind = add(first.clone(), self.int(self.tile_points()));
        let ends = Value::binary(BinOp::Le, behind, run.to.clone());
        Value::binary(BinOp::And, begins, ends)
    }

    /// A loop over the vectors that a thread loads, and one over the points of each: what they do.
    fn each_point(
        &mut self,
        registers: &Registers,
        of_vector: impl FnOnce(&mut Self, &Value) -> Result<Vec<Stmt>, Diagnostic>,
        of_point: impl FnOnce(&mut Self, &Value, &Value) -> Result<Vec<Stmt>, Diagnostic>,
        note: &str,
    ) -> Result<Stmt, Diagnostic> {
        let vector = self.emitter.new_var("vector", self.emitter.index(), false);
        let number = self.var(vector);
        let mut body = of_vector(self, &number)?;
        let mut inner = Vec::new();
        if registers.vector == 1 {
            inner.extend(of_point(self, &number.clone(), &self.int(0))?);
        } else {
            let part = self.emitter.new_var("part", self.emitter.index(), false);
            let mut each = Vec::new();
            each.extend(of_point(self, &number, &self.var(part))?);
            if !each.is_empty() {
                inner.push(self.unrolled(part, registers.vector, each, ""));
            }
        }
        body.extend(inner);
        Ok(self.unrolled(vector, self.items() / registers.vector, body, note))
    }

    /// The first point of a thread's vector in the tile: neighbouring lanes take neighbouring vectors.
    fn vector_place(&self, registers: &Registers, run: &Run, vector: &Value) -> Value {
        let own = mul(run.lane.clone(), self.int(registers.vector));
        add(own, mul(vector.clone(), self.int(32 * registers.vector)))
    }

    /// Loads what is read for the points of a tile.
    pub(super) fn load_points(
        &mut self,
        registers: &Registers,
        run: &Run,
        first: &Value,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        if registers.inputs.is_empty() {
            return Ok(Vec::new());
        }
        let whole = self.load_all(registers, run, first, false)?;
        let partial = self.load_all(registers, run, first, true)?;
        let note = "whole vectors, or those points that belong to the run";
        Ok(vec![Self::when(self.is_whole(run, first), vec![whole], vec![partial], note)])
    }

    fn load_all(
        &mut self,
        registers: &Registers,
        run: &Run,
        first: &Value,
        guarded: bool,
    ) -> Result<Stmt, Diagnostic> {
        let leaf = Some(self.update);
        let point_name = self.nest.point.clone();
        let element = |this: &mut Self, input: &Input, point: Value| -> Result<MemRef, Diagnostic> {
            let mut env = this.env.clone();
            env.set(point_name.clone(), point);
            match this.emitter.element(&input.access, &env)? {
                Target::Element(element, _) => Ok(element),
                Target::Var(_) => Err(Diagnostic::new("internal", "a vector access to a scalar")),
            }
        };
        self.each_point(
            registers,
            |this, vector| {
                let mut copies = Vec::new();
                let vectors: Vec<&Input> =
                    registers.inputs.iter().filter(|i| !guarded && i.vector > 1).collect();
                if vectors.is_empty() {
                    return Ok(copies);
                }
                let point = add(first.clone(), this.vector_place(registers, run, vector));
                let point = this.named("point", point, &mut copies);
                for input in vectors {
                    let from = element(this, input, point.clone())?;
                    let at = mul(vector.clone(), this.int(registers.vector));
                    let to = this.private_element(input.private, at);
                    let lanes = u8::try_from(input.vector).unwrap_or(1);
                    copies.push(Stmt::VectorCopy { to, from, lanes, leaf });
                }
                Ok(copies)
            },
            |this, vector, part| {
                let mut loads = Vec::new();
                let mut body = Vec::new();
                let inputs: Vec<&Input> =
                    registers.inputs.iter().filter(|i| guarded || i.vector == 1).collect();
                if inputs.is_empty() {
                    return Ok(Vec::new());
                }
                let point = this.point_of(registers, run, first, vector, part);
                let point = this.named("point", point, &mut body);
                let item = this.item_of(registers, vector, part);
                for input in inputs {
                    let from = element(this, input, point.clone())?;
                    let dtype = this.emitter.private[input.private].dtype;
                    let value = this.emitter.load(from, dtype);
                    let to = this.private_element(input.private, item.clone());
                    loads.push(Stmt::Store { to, value, leaf });
                }
                match guarded {
                    true => body.push(Self::when(this.exists(run, &point), loads, Vec::new(), "")),
                    false => body.extend(loads),
                }
                Ok(body)
            },
            "",
        )
    }

    /// The number of a thread's point among those that it loads.
    fn item_of(&self, registers: &Registers, vector: &Value, part: &Value) -> Value {
        add(mul(vector.clone(), self.int(registers.vector)), part.clone())
    }

    /// Its number among all points.
    fn point_of(
        &self,
        registers: &Registers,
        run: &Run,
        first: &Value,
        vector: &Value,
        part: &Value,
    ) -> Value {
        add(add(first.clone(), self.vector_place(registers, run, vector)), part.clone())
    }

    pub(super) fn exists(&self, run: &Run, point: &Value) -> Value {
        let begins = Value::binary(BinOp::Ge, point.clone(), run.from.clone());
        let ends = Value::binary(BinOp::Lt, point.clone(), run.to.clone());
        Value::binary(BinOp::And, begins, ends)
    }

    /// Brings the mapped values of the tile to shared memory.
    pub(super) fn stage(
        &mut self,
        arrays: &Arrays,
        registers: &Registers,
        run: &Run,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        if arrays.points.is_empty() {
            return Ok(Vec::new());
        }
        let filling = self.filling(arrays)?;
        let mut body = Vec::new();
        let mut places = BTreeMap::new();
        for (k, points) in &arrays.points {
            let own = self.spread(points, mul(run.lane.clone(), self.int(registers.vector)));
            places.insert(*k, self.named("own_place", own, &mut body));
        }
        let whole = self.stage_all(arrays, registers, run, tile, &places, None)?;
        let partial = self.stage_all(arrays, registers, run, tile, &places, Some(filling.as_deref()))?;
        let note = match filling {
            Some(_) => "the points side by side; what changes nothing where the run has none",
            None => "the points side by side",
        };
        body.push(Self::when(self.is_whole(run, &tile.first), whole, partial, note));
        Ok(body)
    }

    /// `guarded` says that not all points belong to the run, and what stands for others.
    fn stage_all(
        &mut self,
        arrays: &Arrays,
        registers: &Registers,
        run: &Run,
        tile: &Tile,
        places: &BTreeMap<usize, Value>,
        guarded: Option<Option<&[Value]>>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let leaf = Some(self.update);
        let mut stmts = Vec::new();
        for (k, points) in &arrays.points {
            let width = points.widest(registers.vector);
            let plain = self.read_as_it_is(*k, points, &registers.inputs);
            let source = plain.or(registers.mapped.get(k).copied());
            let place = places.get(k).cloned().unwrap_or_else(|| self.int(0));
            let step = points.places(32 * registers.vector);
            let by_vectors = guarded.is_none() && width > 1;
            let at = |this: &Self, vector: &Value, part: &Value| {
                add(place.clone(), add(mul(vector.clone(), this.int(step)), part.clone()))
            };
            let each = self.each_point(
                registers,
                |_, _| Ok(Vec::new()),
                |this, vector, part| {
                    if by_vectors && plain.is_some() {
                        return Ok(Vec::new());
                    }
                    let mut body = Vec::new();
                    let point = this.point_of(registers, run, &tile.first, vector, part);
                    let point = this.named("point", point, &mut body);
                    let item = this.item_of(registers, vector, part);
                    let value = this.mapped(*k, registers, item.clone(), point.clone())?;
                    let to = match (by_vectors, source) {
                        (true, Some(private)) => this.private_element(private, item.clone()),
                        _ => this.of_warp(points.array, run, at(this, vector, part)),
                    };
                    let store = |value| Stmt::Store { to: to.clone(), value, leaf };
                    match guarded {
                        None => body.push(store(value)),
                        Some(filling) => {
                            // What no update looks at is anything.
                            let zero = Value { dtype: value.dtype, kind: zero(value.dtype) };
                            let neutral = filling.and_then(|f| f.get(*k)).cloned().unwrap_or(zero);
                            body.push(store(select(this.exists(run, &point), value, neutral)));
                        }
                    }
                    Ok(body)
                },
                "",
            )?;
            if !matches!(&each, Stmt::For { body, .. } if body.is_empty()) {
                stmts.push(each);
            }
            if let (true, Some(private)) = (by_vectors, source) {
                let vector = self.emitter.new_var("vector", self.emitter.index(), false);
                let part = self.emitter.new_var("part", self.emitter.index(), false);
                let parts = registers.vector / width;
                let behind = match parts {
                    1 => self.int(0),
                    _ => mul(self.var(part), self.int(width)),
                };
                let from = add(mul(self.var(vector), self.int(registers.vector)), behind.clone());
                let to = add(place.clone(), add(mul(self.var(vector), self.int(step)), behind));
                let copy = Stmt::VectorCopy {
                    to: self.of_warp(points.array, run, to),
                    from: self.private_element(private, from),
                    lanes: u8::try_from(width).unwrap_or(1),
                    leaf,
                };
                let copy = match parts {
                    1 => copy,
                    _ => self.unrolled(part, parts, vec![copy], ""),
                };
                stmts.push(self.unrolled(vector, self.items() / registers.vector, vec![copy], ""));
            }
        }
        Ok(stmts)
    }

    /// Adds a tile that lies inside one segment to what the lanes have.
    pub(super) fn add_points(
        &mut self,
        cells: &super::State,
        registers: &Registers,
        run: &Run,
        tile: &Tile,
    ) -> Result<Stmt, Diagnostic> {
        let cells = cells.clone();
        self.each_point(
            registers,
            |_, _| Ok(Vec::new()),
            |this, vector, part| {
                let mut body = Vec::new();
                let point = this.point_of(registers, run, &tile.first, vector, part);
                let item = this.item_of(registers, vector, part);
                let mut staged = BTreeMap::new();
                for k in 0..this.args.len() {
                    staged.insert(k, this.mapped(k, registers, item.clone(), point.clone())?);
                }
                // All inputs are the same for all segments.
                let any = this.int(0);
                body.extend(this.update(&cells, any, point, &staged)?);
                Ok(body)
            },
            "",
        )
    }
}

fn zero(dtype: DType) -> ValueKind {
    match dtype {
        DType::Bool => ValueKind::Bool(false),
        _ if dtype.is_float() => ValueKind::Float(0.0),
        _ => ValueKind::Int(0),
    }
}
