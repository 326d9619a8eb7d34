//! Flattened nests over segments of unequal length: three launches whose warps take equal numbers
//! of steps.
//!
//! A step is a point of a segment, or one of the `END_WEIGHT` steps that its end counts for, since
//! closing a segment costs more than adding a point. With `q(s) = end(s) - begin(0) + w * (s + 1)`,
//! the steps from `q(s - 1)` up to `q(s)` belong to segment `s`, its points first
//! (`loopwright_legality::flat_nest` counts one step for an end; any positive number is correct).
//! The steps are cut into chunks of `32 * items * tiles` (for warps of 32 threads), and smaller
//! ones in the tail of a guided schedule.
//!
//! 1. *starts*: one warp per chunk boundary finds, digit by digit, how many segments end before it,
//!    and the first point after it.
//! 2. *chunks*: a warp processes the points of a chunk, a tile of `32 * items` at a time. If no
//!    segment ends in a tile, each lane adds the points that it has loaded to its own accumulator.
//!    Otherwise the mapped values of the points go to shared memory, and the last point of each
//!    segment that ends there is marked. Each lane reduces `items` neighbouring points; at a mark
//!    it stores its partial result and starts over. A segmented scan over the lanes gives each lane
//!    the *open* partial result before it: that of the segment which has begun and not yet ended.
//!    Then each lane closes a segment: it joins the partial result stored at the segment's last
//!    point with the open one before that point's lane. So the lengths of segments do not make
//!    lanes diverge, and long segments do not keep lanes waiting. The partial results of a chunk's
//!    first segment and of the one open after its last tile are joined with those of the block's
//!    other warps by one thread.
//! 3. *join*: one block does the same with the partial results of all blocks, in their order.
//!
//! With long segments the second launch is bound by shared memory bandwidth, with short ones by
//! instructions. So points are stored and loaded there as whole vectors, marks are bytes, one
//! ballot tells a lane how far back its scan may reach, and the code that closes a segment has as
//! few branches as possible.
//!
//! The order of joins is fixed: that of the points if the operator does not commute. If it does,
//! the lanes' accumulators of tiles inside one segment are joined lane by lane.

mod chunk;
mod ends;
mod inside;
mod join;
mod launches;
mod load;
mod parts;
mod points;
mod reduce;
mod scan;
mod starts;
mod tile;
mod warp;

pub(crate) use launches::{Launch, launches};

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    DType, Diagnostic, Dim, Expr, Flat, Instruction, Name, Part, PartRef, Reduce, ReductionOp,
};
use loopwright_legality::FlatNest;

use crate::{
    analyse::analysis::reduction,
    program::{Global, LeafId, MemRef, Memory, Note, Owner, Stmt, Value, ValueKind, VarId},
    write::{
        cell::Cell,
        emitter::Emitter,
        env::Env,
        fold::{add, sub},
        reduce::count,
        scope::Scope,
        translate::Target,
    },
};

/// Threads of a block of the first launch.
const STARTING_THREADS: u32 = 256;
/// Number of steps that the end of a segment counts for.
const END_WEIGHT: i64 = Flat::END_WEIGHT as i64;
/// Number of blocks whose partial results a thread of the last launch joins at a time.
const JOINED: i64 = 4;
/// Number of ends of a group that each lane holds.
const ENDS: i64 = 4;
/// Bits of the greatest number of segments where indices have 32 bits, and where they have 64.
const COUNT_BITS: [u32; 2] = [30, 50];

/// The arrays through which the launches pass data to each other, and their lengths.
pub(crate) struct Scratch {
    /// For each chunk boundary, how many segments end before it: the index of the global array.
    starts: usize,
    /// For each chunk boundary, the first point after it.
    points: usize,
    /// For each block, its partial result of the first segment that ends in it: one array per value
    /// of the state.
    head: Vec<usize>,
    /// For each block, the open partial result after it.
    tail: Vec<usize>,
    /// For each block, the first segment that ends in it, or -1.
    ended: usize,
    /// The greatest number of chunks.
    chunks: Value,
    /// Number of blocks.
    blocks: Value,
    /// Number of segments.
    count: Value,
}

/// Writes one launch.
struct Writer<'w, 'a, 'k> {
    pub emitter: Emitter<'a, 'k>,
    env: Env,
    nest: &'w FlatNest,
    flat: Flat,
    scratch: Option<&'w Scratch>,
    /// The number of blocks that a multiprocessor must have registers for: see
    /// [`Flat::min_blocks`].
    pub min_blocks: Option<u32>,
    operator: ReductionOp,
    /// What is reduced, without the scalars of the nest.
    args: Vec<Expr>,
    instruction: &'k Instruction,
    update: LeafId,
    finish: LeafId,
}

/// The state of the operator.
type State = Vec<(Cell, DType)>;

impl<'w, 'a, 'k> Writer<'w, 'a, 'k> {
    pub fn new(
        mut emitter: Emitter<'a, 'k>,
        env: Env,
        nest: &'w FlatNest,
        flat: Flat,
        scratch: Option<&'w Scratch>,
    ) -> Result<Self, Diagnostic> {
        let analysis = emitter.analysis;
        let instruction = &analysis.kernel.instructions[nest.instruction];
        let missing = || Diagnostic::new("internal", "a flattened nest without its reduction");
        let reduce = reduction(instruction, 0).ok_or_else(missing)?;
        let operator = analysis.operator(&reduce.op)?;
        let args = reduce.args.iter().map(|a| nest.inlined(a)).collect();
        // Which thread runs which instances depends on the data, so leaves claim nothing about
        // them.
        for part in &nest.parts {
            if let Some(number) = analysis.numbers.get(part).copied() {
                let leaf = emitter.leaf_at(number, Default::default());
                let leaf = &mut emitter.shared_state.leaves[leaf.0];
                (leaf.instances, leaf.decided_by_data) = (None, true);
            }
        }
        let mut leaf = |part| {
            let part = PartRef { instruction: instruction.id.clone(), part };
            let number = analysis.numbers.get(&part).copied().ok_or_else(missing)?;
            Ok::<_, Diagnostic>(emitter.leaf_at(number, Default::default()))
        };
        let (update, finish) = (leaf(Part::Update(0))?, leaf(Part::Finish)?);
        Ok(Writer {
            emitter,
            env,
            nest,
            flat,
            scratch,
            min_blocks: None,
            operator,
            args,
            instruction,
            update,
            finish,
        })
    }

    /// Declares the arrays through which the launches pass data.
    pub fn declare_scratch(&mut self) -> Result<Scratch, Diagnostic> {
        let ends = self.nest.count.scale(END_WEIGHT)?;
        let steps = self.nest.greatest.sub(&self.nest.least)?.add(&ends)?;
        let (chunks, blocks) = self.count_chunks(&steps)?;
        let count = self.emitter.aff_value(&self.nest.count, &self.env)?;
        let state = self.emitter.accumulator_types(self.nest.instruction, 0)?;
        let what = match self.instruction.targets.first() {
            Some(target) => target.array.clone(),
            None => self.instruction.id.clone(),
        };
        let index = self.emitter.index();
        let borders = add(chunks.clone(), self.int(1));
        let starts = self.global(&format!("{what}_starts"), index, borders.clone());
        let points = self.global(&format!("{what}_points"), index, borders);
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        for (list, like) in [(&mut head, "head"), (&mut tail, "tail")] {
            for (name, dtype) in
                crate::write::cell::names(&self.operator, &format!("{what}_{like}")).iter().zip(&state)
            {
                list.push(self.global(name, *dtype, blocks.clone()));
            }
        }
        let ended = self.global(&format!("{what}_ended"), index, blocks.clone());
        Ok(Scratch { starts, points, head, tail, ended, chunks, blocks, count })
    }

    /// An array that the launch allocates.
    fn global(&mut self, like: &str, dtype: DType, length: Value) -> usize {
        let name = self.emitter.unique(like);
        let one = self.int(1);
        self.emitter.shared_state.globals.push(Global {
            name,
            dtype,
            shape: vec![length.clone()],
            strides: vec![one],
            size: length,
            owner: Owner::Launch,
            read: false,
            written: false,
            hints: Default::default(),
        });
        self.emitter.shared_state.globals.len() - 1
    }

    fn scratch(&self) -> Result<&'w Scratch, Diagnostic> {
        self.scratch.ok_or_else(|| Diagnostic::new("internal", "a launch without what it hands on"))
    }

    fn int(&self, value: i64) -> Value {
        self.emitter.index_int(value)
    }

    fn thread(&self) -> Value {
        Value { dtype: self.emitter.index(), kind: ValueKind::ThreadIdx(Dim::X) }
    }

    fn block(&self) -> Value {
        Value { dtype: self.emitter.index(), kind: ValueKind::BlockIdx(Dim::X) }
    }

    /// Names an index that does not change.
    fn named(&mut self, like: &str, value: Value, body: &mut Vec<Stmt>) -> Value {
        if value.as_int().is_some() {
            return value;
        }
        let var = self.emitter.new_var(like, self.emitter.index(), false);
        self.emitter.vars[var.0].index = true;
        body.push(Stmt::Let { var, value, leaf: None });
        self.emitter.var_value(var)
    }

    /// A mutable index within this range.
    fn counter(
        &mut self,
        like: &str,
        first: Value,
        within: Option<(i64, i64)>,
        body: &mut Vec<Stmt>,
    ) -> VarId {
        let var = self.emitter.new_var(like, self.emitter.index(), true);
        self.emitter.vars[var.0].within = within;
        self.emitter.vars[var.0].index = true;
        body.push(Stmt::Let { var, value: first, leaf: None });
        var
    }

    fn var(&self, var: VarId) -> Value {
        self.emitter.var_value(var)
    }

    fn set(&self, var: VarId, value: Value) -> Stmt {
        Stmt::Set { var, value, leaf: None }
    }

    fn when(cond: Value, body: Vec<Stmt>, otherwise: Vec<Stmt>, note: &str) -> Stmt {
        Stmt::If { cond, body, otherwise, note: Note::new(note) }
    }

    /// An element of an array in global memory of one axis.
    fn element(global: usize, at: Value) -> MemRef {
        MemRef { memory: Memory::Global(global), subscripts: vec![at.clone()], offset: Box::new(at) }
    }

    fn global_load(&self, global: usize, at: Value) -> Value {
        let dtype = self.emitter.shared_state.globals[global].dtype;
        self.emitter.load(Self::element(global, at), dtype)
    }

    /// An offset as an index, for this segment.
    fn offset(&mut self, which: &Expr, segment: Value) -> Result<Value, Diagnostic> {
        let mut env = self.env.clone();
        env.set(self.nest.segment.clone(), segment);
        self.emitter.integer(which, &env)
    }

    /// The end offset of the last of the first `segments` segments.
    fn end_before(&mut self, segments: Value) -> Result<Value, Diagnostic> {
        let end = self.nest.end.clone();
        let last = sub(segments, self.int(1));
        self.offset(&end, last)
    }

    /// The first offset.
    fn base(&mut self) -> Result<Value, Diagnostic> {
        let begin = self.nest.begin.clone();
        let zero = self.int(0);
        self.offset(&begin, zero)
    }

    /// Mutable variables for a state, with these first values.
    fn state(&mut self, like: &str, first: Vec<Value>, body: &mut Vec<Stmt>) -> Result<State, Diagnostic> {
        let types = self.emitter.accumulator_types(self.nest.instruction, 0)?;
        let mut cells = Vec::new();
        for ((name, value), dtype) in
            crate::write::cell::names(&self.operator, like).iter().zip(first).zip(types)
        {
            let var = self.emitter.new_var(name, dtype, true);
            body.push(Stmt::Let { var, value, leaf: None });
            cells.push((Cell::Var(var), dtype));
        }
        Ok(cells)
    }

    /// Names the values of a state, which do not change.
    fn named_state(&mut self, like: &str, values: Vec<Value>, body: &mut Vec<Stmt>) -> Vec<Value> {
        let mut named = Vec::new();
        for (name, value) in crate::write::cell::names(&self.operator, like).iter().zip(values) {
            let var = self.emitter.new_var(name, value.dtype, false);
            body.push(Stmt::Let { var, value, leaf: None });
            named.push(self.var(var));
        }
        named
    }

    /// Loads a state from arrays: one element of each.
    fn loaded(&self, elements: impl IntoIterator<Item = MemRef>, like: &State) -> Vec<Value> {
        elements
            .into_iter()
            .zip(like)
            .map(|(element, (_, dtype))| self.emitter.load(element, *dtype))
            .collect()
    }

    /// Stores a state to arrays: one element of each.
    fn stored(arrays: &[usize], element: impl Fn(usize) -> MemRef, state: Vec<Value>) -> Vec<Stmt> {
        let store = |(array, value): (&usize, Value)| Stmt::Store { to: element(*array), value, leaf: None };
        arrays.iter().zip(state).map(store).collect()
    }

    fn neutral(&mut self) -> Result<Vec<Value>, Diagnostic> {
        let types = self.emitter.accumulator_types(self.nest.instruction, 0)?;
        let mut values = Vec::new();
        for (neutral, dtype) in self.operator.neutral.clone().iter().zip(types) {
            values.push(self.emitter.value(neutral, dtype, Scope::of(&self.env))?);
        }
        Ok(values)
    }

    fn assign(cells: &State, values: Vec<Value>) -> Vec<Stmt> {
        cells.iter().zip(values).map(|((cell, _), value)| cell.set(value, None)).collect()
    }

    /// `cells = combine(earlier, later)`.
    fn combine(
        &mut self,
        cells: &State,
        earlier: Vec<Value>,
        later: Vec<Value>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let (operator, env) = (self.operator.clone(), self.env.clone());
        self.emitter.combine_into(&operator, cells, earlier, later, Some(self.update), &env)
    }

    /// Adds a point to a state, given its segment, its number, and the inputs that have been
    /// staged.
    fn update(
        &mut self,
        cells: &State,
        segment: Value,
        point: Value,
        staged: &BTreeMap<usize, Value>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut env = self.env.clone();
        env.set(self.nest.segment.clone(), segment);
        env.set(self.nest.point.clone(), point);
        let mut stmts = Vec::new();
        let mut local = BTreeMap::new();
        for (k, (input, arg)) in self.operator.inputs.clone().iter().zip(self.args.clone()).enumerate() {
            let dtype = self.input_type(&arg)?;
            let value = match staged.get(&k) {
                Some(value) => value.clone(),
                None => self.emitter.value(&arg, dtype, Scope::of(&env))?,
            };
            let uses: usize = self.operator.lift.iter().map(|e| count(e, input)).sum();
            let value = if uses < 2 || value.children().is_empty() {
                value
            } else {
                let var = self.emitter.new_var(input, value.dtype, false);
                stmts.push(Stmt::Let { var, value, leaf: Some(self.update) });
                self.emitter.var_value(var)
            };
            local.insert(input.clone(), value);
        }
        let mut lifted = Vec::new();
        for ((_, dtype), lift) in cells.iter().zip(self.operator.lift.clone()) {
            let scope = Scope { env: &env, local: Some(&local), results: None };
            lifted.push(self.emitter.value(&lift, *dtype, scope)?);
        }
        let own = cells.iter().map(|(cell, dtype)| cell.value(*dtype)).collect();
        let operator = self.operator.clone();
        stmts.extend(self.emitter.combine_into(&operator, cells, own, lifted, Some(self.update), &env)?);
        Ok(stmts)
    }

    /// The type of what is reduced, as it is computed.
    fn input_type(&mut self, arg: &Expr) -> Result<DType, Diagnostic> {
        let types = self.emitter.analysis.reduction_types(self.nest.instruction)?;
        let number = self.args.iter().position(|a| a == arg);
        let missing = || Diagnostic::new("internal", "an input of no reduction");
        number.and_then(|k| types[0].inputs.get(k).copied()).ok_or_else(missing)
    }

    /// Writes the result of a segment from its state.
    fn result(&mut self, values: Vec<Value>, segment: Value) -> Result<Vec<Stmt>, Diagnostic> {
        let mut env = self.env.clone();
        env.set(self.nest.segment.clone(), segment);
        let local: BTreeMap<Name, Value> =
            self.operator.state.iter().map(|s| s.name.clone()).zip(values).collect();
        let mut delivered = Vec::new();
        let types = self.emitter.analysis.reduction_types(self.nest.instruction)?;
        for (result, dtype) in self.operator.result.clone().iter().zip(&types[0].results) {
            let scope = Scope { env: &env, local: Some(&local), results: None };
            delivered.push(self.emitter.value(result, *dtype, scope)?);
        }
        let value = self.nest.inlined(&self.instruction.value);
        let first: BTreeMap<usize, Value> = delivered.iter().take(1).cloned().map(|v| (0, v)).collect();
        let mut stmts = Vec::new();
        for (k, target) in self.instruction.targets.iter().enumerate() {
            let target = loopwright_kernel_ir::Access {
                array: target.array.clone(),
                index: target.index.iter().map(|e| self.nest.inlined(e)).collect(),
            };
            let Target::Element(to, dtype) = self.emitter.element(&target, &env)? else {
                return Err(Diagnostic::new("internal", "a flattened nest writes a scalar"));
            };
            let value = match self.instruction.targets.len() {
                1 => {
                    let scope = Scope { env: &env, local: None, results: Some(&first) };
                    self.emitter.value(&value, dtype, scope)?
                }
                _ => delivered.get(k).cloned().ok_or_else(|| {
                    Diagnostic::new("internal", format!("`{}` delivers too few values", self.operator.name))
                })?,
            };
            let leaf = Some(self.emitter.giving(self.finish, k));
            stmts.push(Stmt::Store { to, value: value.cast(dtype), leaf });
        }
        Ok(stmts)
    }
}

/// The values of a state.
fn values(cells: &State) -> Vec<Value> {
    cells.iter().map(|(cell, dtype)| cell.value(*dtype)).collect()
}

/// Whether an input does not depend on the segment and is read from memory: then coalesced loads
/// through shared memory pay off.
fn is_staged(writer: &Writer<'_, '_, '_>, arg: &Expr) -> bool {
    let mut reads = false;
    arg.visit(&mut |e| reads |= matches!(e, Expr::Subscript(_)));
    reads && !of_segment(writer, arg) && !contains_reduction(arg)
}

/// Whether any input depends on the segment.
fn knows_segment(writer: &Writer<'_, '_, '_>) -> bool {
    writer.args.iter().any(|arg| of_segment(writer, arg))
}

/// Whether an input depends on the segment.
fn of_segment(writer: &Writer<'_, '_, '_>, arg: &Expr) -> bool {
    let lookup = &writer.emitter.analysis.lookup;
    arg.names().iter().any(|n| lookup.base_of(n).contains(&writer.nest.segment))
}

fn contains_reduction(e: &Expr) -> bool {
    let found: Vec<std::sync::Arc<Reduce>> = e.reductions();
    !found.is_empty()
}
