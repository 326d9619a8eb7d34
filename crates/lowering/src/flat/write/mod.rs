//! Writes the launches of a plan.
//!
//! Nothing is decided here: a node of the plan has one form in the program. What a form needs to
//! know of its place are variables: those of the warp and its chunk, and those of a tile.

mod chunk;
mod ends;
mod inside;
mod join;
mod load;
mod parts;
mod points;
mod reduce;
mod scan;
mod starts;
mod tile;

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{DType, Diagnostic, Dim, Expr, Instruction, Name, Part, PartRef};

use super::{
    launch::{Launch, Stage},
    plan::{Chunks, Handed, HandedArray, Length, Local, Locals, Plan},
};
use crate::{
    analyse::{
        analysis::Analysis,
        state::{count, names},
    },
    program::{
        BinOp, DeviceKernel, Global, LeafId, LocalArray, MemRef, Memory, Note, Owner, Stmt, Value, ValueKind,
        VarId,
    },
    write::{
        cell::Cell,
        device_kernel::Draft,
        emitter::{Emitter, Shared},
        env::Env,
        fold::{add, sub},
        scope::Scope,
        translate::Target,
    },
};

/// The arrays through which the launches pass data to each other, as the numbers of global arrays,
/// and their lengths.
pub(crate) struct Scratch {
    starts: usize,
    points: usize,
    head: Vec<usize>,
    tail: Vec<usize>,
    ended: usize,
    /// The greatest number of chunks.
    chunks: Value,
    /// The number of blocks of the launch over chunks.
    blocks: Value,
    /// The number of segments.
    count: Value,
}

/// Writes the device kernel of one launch, as its plan says.
struct Writer<'w, 'a, 'k> {
    emitter: Emitter<'a, 'k>,
    env: Env,
    plan: &'w Plan,
    scratch: Option<&'w Scratch>,
    instruction: &'k Instruction,
    update: LeafId,
    finish: LeafId,
}

/// The state of the operator.
type State = Vec<(Cell, DType)>;

/// Writes a launch: the device kernel of this name, in the loops of the host `around`. The first
/// launch declares what all of them hand to each other.
pub(crate) fn kernel(
    Launch { plan, stage }: &Launch,
    (analysis, shared, scratch): (&Analysis<'_>, &mut Shared, &mut Option<Scratch>),
    env: Env,
    (name, around): (&Name, &[Name]),
) -> Result<DeviceKernel, Diagnostic> {
    let (plan, stage) = (plan.as_ref(), *stage);
    if stage == Stage::Starts {
        let emitter = Emitter::new(analysis, shared, [1; 3], "");
        *scratch = Some(Writer::new(emitter, env.clone(), plan, None)?.declare_scratch()?);
    }
    let early = || Diagnostic::new("internal", "launches out of order");
    let scratch = scratch.as_ref().ok_or_else(early)?;
    let block = [stage.threads(plan), 1, 1];
    let emitter = Emitter::new(analysis, shared, block, name);
    let mut writer = Writer::new(emitter, env, plan, Some(scratch))?;
    let body = match stage {
        Stage::Starts => writer.starts()?,
        Stage::Chunks => writer.chunks()?,
        Stage::Join => writer.join()?,
    };
    let one = writer.int(1);
    let grid = [writer.grid(stage, scratch), one.clone(), one];
    let mut draft = Draft::of(writer.emitter, body);
    draft.finish();
    let of = (analysis, shared.globals.as_slice());
    let kernel = draft.kernel((name.clone(), grid, block), of, around, &BTreeSet::new());
    Ok(DeviceKernel { min_blocks_per_multiprocessor: stage.min_blocks(plan), ..kernel })
}

impl<'w, 'a, 'k> Writer<'w, 'a, 'k> {
    fn new(
        mut emitter: Emitter<'a, 'k>,
        env: Env,
        plan: &'w Plan,
        scratch: Option<&'w Scratch>,
    ) -> Result<Self, Diagnostic> {
        let analysis = emitter.analysis;
        let nest = &plan.nest;
        let instruction = &analysis.kernel.instructions[nest.instruction];
        // Which thread runs which instances depends on the data, so leaves claim nothing about
        // them.
        for part in &nest.parts {
            if let Some(number) = analysis.numbers.get(part).copied() {
                let leaf = emitter.leaf_at(number, Default::default());
                let leaf = &mut emitter.shared_state.leaves[leaf.0];
                (leaf.instances, leaf.decided_by_data) = (None, true);
            }
        }
        let missing = || Diagnostic::new("internal", "a flattened nest without its reduction");
        let mut leaf = |part| {
            let part = PartRef { instruction: instruction.id.clone(), part };
            let number = analysis.numbers.get(&part).copied().ok_or_else(missing)?;
            Ok::<_, Diagnostic>(emitter.leaf_at(number, Default::default()))
        };
        let (update, finish) = (leaf(Part::Update(0))?, leaf(Part::Finish)?);
        Ok(Writer { emitter, env, plan, scratch, instruction, update, finish })
    }

    /// Declares the arrays through which the launches pass data.
    fn declare_scratch(&mut self) -> Result<Scratch, Diagnostic> {
        let plan = self.plan;
        let (chunks, blocks) = self.count_chunks()?;
        let count = self.emitter.aff_value(&plan.cut.count, &self.env)?;
        let borders = add(chunks.clone(), self.int(1));
        let mut declare = |array: &HandedArray| {
            let length = match array.length {
                Length::Borders => borders.clone(),
                Length::Blocks => blocks.clone(),
            };
            self.global(array, length)
        };
        let Handed { starts, points, head, tail, ended } = &plan.handed;
        Ok(Scratch {
            starts: declare(starts),
            points: declare(points),
            head: head.iter().map(&mut declare).collect(),
            tail: tail.iter().map(&mut declare).collect(),
            ended: declare(ended),
            chunks,
            blocks,
            count,
        })
    }

    /// The number of blocks of a launch; nothing is launched where there are no segments.
    fn grid(&self, stage: Stage, scratch: &Scratch) -> Value {
        let blocks = match stage {
            Stage::Starts => {
                let warps = self.int(self.plan.search.warps);
                Value::binary(BinOp::TruncDiv, add(scratch.chunks.clone(), warps.clone()), warps)
            }
            Stage::Chunks => scratch.blocks.clone(),
            Stage::Join => self.int(1),
        };
        let some = Value::binary(BinOp::Gt, scratch.count.clone(), self.int(0));
        Value {
            dtype: scratch.count.dtype,
            kind: ValueKind::Select(Box::new(some), Box::new(blocks), Box::new(self.int(0))),
        }
    }

    /// The greatest numbers of chunks and of blocks.
    fn count_chunks(&mut self) -> Result<(Value, Value), Diagnostic> {
        let cut = &self.plan.cut;
        match &cut.chunks {
            Chunks::Equal { chunks, blocks } => {
                let chunks = self.emitter.aff_value(chunks, &self.env)?;
                Ok((chunks, self.emitter.aff_value(blocks, &self.env)?))
            }
            Chunks::Guided { full, all, later, length } => {
                let all = self.emitter.aff_value(all, &self.env)?;
                let full = Value::binary(BinOp::Min, all, self.int(*full));
                let later = self.emitter.aff_value(later, &self.env)?;
                let later = Value::binary(BinOp::Max, later, self.int(0));
                let later = Value::binary(BinOp::TruncDiv, later, self.int(*length));
                let chunks = add(full, later);
                let whole = add(chunks.clone(), self.int(cut.warps - 1));
                Ok((chunks, Value::binary(BinOp::TruncDiv, whole, self.int(cut.warps))))
            }
        }
    }

    /// Declares the arrays of a launch, before any others: they keep their numbers.
    fn declare(&mut self, locals: &Locals) {
        for local in &locals.shared {
            let array = self.local_array(local);
            self.emitter.shared.push(array);
        }
        for local in &locals.private {
            let array = self.local_array(local);
            self.emitter.private.push(array);
        }
    }

    fn local_array(&mut self, local: &Local) -> LocalArray {
        LocalArray {
            name: self.emitter.unique(&local.like),
            dtype: local.dtype,
            dims: local.dims.clone(),
            layout: None,
            note: local.note.to_string(),
        }
    }

    /// An array that the launch allocates.
    fn global(&mut self, array: &HandedArray, length: Value) -> usize {
        let name = self.emitter.unique(&array.like);
        let one = self.int(1);
        self.emitter.shared_state.globals.push(Global {
            name,
            dtype: array.dtype,
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

    /// A new index that is not set, as that of a loop.
    fn index_var(&mut self, like: &str) -> VarId {
        let var = self.emitter.new_var(like, self.emitter.index(), false);
        self.emitter.vars[var.0].index = true;
        var
    }

    /// Names an index that does not change.
    fn named(&mut self, like: &str, value: Value, body: &mut Vec<Stmt>) -> Value {
        if value.as_int().is_some() {
            return value;
        }
        let var = self.index_var(like);
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
        env.set(self.plan.nest.segment.clone(), segment);
        self.emitter.integer(which, &env)
    }

    /// The end offset of the last of the first `segments` segments.
    fn end_before(&mut self, segments: Value) -> Result<Value, Diagnostic> {
        let last = sub(segments, self.int(1));
        self.offset(&self.plan.nest.end, last)
    }

    /// The offset at which the first segment begins.
    fn base(&mut self) -> Result<Value, Diagnostic> {
        self.offset(&self.plan.nest.begin, self.int(0))
    }

    /// Mutable variables for a state, with these first values.
    fn state(&mut self, like: &str, first: Vec<Value>, body: &mut Vec<Stmt>) -> State {
        let plan = self.plan;
        let mut cells = Vec::new();
        for ((name, value), dtype) in names(&plan.operator, like).iter().zip(first).zip(&plan.state) {
            let var = self.emitter.new_var(name, *dtype, true);
            body.push(Stmt::Let { var, value, leaf: None });
            cells.push((Cell::Var(var), *dtype));
        }
        cells
    }

    /// Names the values of a state, which do not change.
    fn named_state(&mut self, like: &str, values: Vec<Value>, body: &mut Vec<Stmt>) -> Vec<Value> {
        let mut named = Vec::new();
        for (name, value) in names(&self.plan.operator, like).iter().zip(values) {
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
        let plan = self.plan;
        let types = plan.operator.neutral.iter().zip(&plan.state);
        types.map(|(neutral, dtype)| self.emitter.value(neutral, *dtype, Scope::of(&self.env))).collect()
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
        let operator = &self.plan.operator;
        self.emitter.combine_into(operator, cells, earlier, later, Some(self.update), &self.env)
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
        let Plan { nest, operator, inputs, .. } = self.plan;
        let mut env = self.env.clone();
        env.set(nest.segment.clone(), segment);
        env.set(nest.point.clone(), point);
        let mut stmts = Vec::new();
        let mut local = BTreeMap::new();
        for (k, (name, input)) in operator.inputs.iter().zip(inputs).enumerate() {
            let value = match staged.get(&k) {
                Some(value) => value.clone(),
                None => self.emitter.value(&input.value, input.dtype, Scope::of(&env))?,
            };
            let uses: usize = operator.lift.iter().map(|e| count(e, name)).sum();
            let value = if uses < 2 || value.children().is_empty() {
                value
            } else {
                let var = self.emitter.new_var(name, value.dtype, false);
                stmts.push(Stmt::Let { var, value, leaf: Some(self.update) });
                self.emitter.var_value(var)
            };
            local.insert(name.clone(), value);
        }
        let mut lifted = Vec::new();
        for ((_, dtype), lift) in cells.iter().zip(&operator.lift) {
            let scope = Scope { env: &env, local: Some(&local), results: None };
            lifted.push(self.emitter.value(lift, *dtype, scope)?);
        }
        let own = cells.iter().map(|(cell, dtype)| cell.value(*dtype)).collect();
        stmts.extend(self.emitter.combine_into(operator, cells, own, lifted, Some(self.update), &env)?);
        Ok(stmts)
    }

    /// Writes the result of a segment from its state.
    fn result(&mut self, values: Vec<Value>, segment: Value) -> Result<Vec<Stmt>, Diagnostic> {
        let Plan { nest, operator, results, .. } = self.plan;
        let mut env = self.env.clone();
        env.set(nest.segment.clone(), segment);
        let local: BTreeMap<Name, Value> =
            operator.state.iter().map(|s| s.name.clone()).zip(values).collect();
        let mut delivered = Vec::new();
        for (result, dtype) in operator.result.iter().zip(results) {
            let scope = Scope { env: &env, local: Some(&local), results: None };
            delivered.push(self.emitter.value(result, *dtype, scope)?);
        }
        let value = nest.inlined(&self.instruction.value);
        let first: BTreeMap<usize, Value> = delivered.iter().take(1).cloned().map(|v| (0, v)).collect();
        let mut stmts = Vec::new();
        for (k, target) in self.instruction.targets.iter().enumerate() {
            let target = loopwright_kernel_ir::Access {
                array: target.array.clone(),
                index: target.index.iter().map(|e| nest.inlined(e)).collect(),
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
                    Diagnostic::new("internal", format!("`{}` delivers too few values", operator.name))
                })?,
            };
            let leaf = Some(self.emitter.giving(self.finish, k));
            stmts.push(Stmt::Store { to, value: value.cast(dtype), leaf });
        }
        Ok(stmts)
    }
}

/// The present values of the state's variables.
fn values(cells: &State) -> Vec<Value> {
    cells.iter().map(|(cell, dtype)| cell.value(*dtype)).collect()
}
