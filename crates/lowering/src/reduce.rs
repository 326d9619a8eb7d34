//! Statements of parts, and how reductions are realised.
//!
//! An accumulator has a copy for each lane that is around it or reduced over. The update of a thread goes into its own copy. Where lanes
//! or threads are reduced over, a join comes before the part that uses the result: first the lanes of a thread, then its threads.
//! Threads that are neighbours by number are joined by shuffles: up to 32 by one butterfly; whole warps by a butterfly in each
//! warp, then through shared memory across them. Other shapes go through shared memory alone.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Access, DType, Diagnostic, Expr, Name, Part, ReductionOp};

use crate::{
    accumulate::Filling,
    analysis::{PartInfo, reduction},
    emitter::{Emitter, Storage, computing, state_type},
    env::Env,
    fold::{add, and, mul},
    items::Join,
    program::{
        self, BinOp, LeafId, LocalArray, MemRef, Memory, Note, Scope as SyncScope, ShuffleMode, Step, Stmt,
        Value, ValueKind,
    },
    translate::{Scope, Target, Typing},
};

impl Emitter<'_, '_> {
    /// The statements of a part, inside its loops and guards.
    pub fn emit_statement(
        &mut self,
        number: usize,
        info: &PartInfo,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let leaf = self.leaf(number);
        let mut env = env.clone();
        let mut stmts = self.load_repeated(info, leaf, &mut env)?;
        stmts.extend(match info.execution.part.part {
            Part::Init(n) => self.emit_init(info, n, leaf, &env)?,
            Part::Update(n) => self.emit_update(info, n, leaf, &env)?,
            Part::Whole | Part::Finish => self.emit_assignment(info, leaf, &env)?,
        });
        Ok(stmts)
    }

    fn emit_assignment(&mut self, info: &PartInfo, leaf: LeafId, env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        let analysis = self.analysis;
        let instruction = analysis.instruction(info);
        let results = self.results(info, env)?;
        let scope = Scope { env, local: None, results: Some(&results.first) };
        let mut stmts = Vec::new();
        if let [target] = instruction.targets.as_slice() {
            let dtype = self.target_type(target)?;
            let mut value = self.value(&instruction.value, computing(dtype), scope)?.cast(dtype);
            if let Some(filling) = &info.filling {
                value = self.filled(value, filling, env)?;
            }
            stmts.push(self.assign(target, value, leaf, env)?);
        } else {
            let Expr::Reduce(_) = &instruction.value else {
                return Err(Diagnostic::new(
                    "tuple",
                    format!("`{}` writes several values, which only a reduction delivers", instruction.id),
                ));
            };
            for (k, target) in instruction.targets.iter().enumerate() {
                let dtype = self.target_type(target)?;
                let value = results.tuple.get(k).cloned().ok_or_else(|| {
                    Diagnostic::new(
                        "tuple",
                        format!(
                            "`{}` writes {} values, its reduction delivers {}",
                            instruction.id,
                            instruction.targets.len(),
                            results.tuple.len()
                        ),
                    )
                })?;
                stmts.push(self.assign(target, value.cast(dtype), leaf, env)?);
            }
        }
        if let Some(predicate) = &instruction.predicate {
            let cond = self.value(predicate, DType::Bool, Scope::of(env))?;
            stmts = vec![Stmt::If { cond, body: stmts, otherwise: Vec::new(), note: Note::default() }];
        }
        Ok(stmts)
    }

    /// The value of a copied cell where there is one, elsewhere the filling.
    fn filled(&mut self, value: Value, filling: &Filling, env: &Env) -> Result<Value, Diagnostic> {
        let mut needed = Vec::new();
        for guard in &filling.guards {
            if !env.implies(&guard.canonical)? {
                needed.push(guard.clone());
            }
        }
        let mut cond = None;
        for guard in self.irredundant(&needed, env)? {
            let c = self.condition(&guard.declared, env)?;
            cond = Some(and(cond, c));
        }
        let Some(cond) = cond else { return Ok(value) };
        let dtype = value.dtype;
        let other = self.value(&filling.value, dtype, Scope::of(env))?;
        Ok(Value { dtype, kind: ValueKind::Select(Box::new(cond), Box::new(value), Box::new(other)) })
    }

    fn target_type(&self, target: &Access) -> Result<DType, Diagnostic> {
        let array = self.analysis.lookup.array(&target.array).ok_or_else(|| {
            Diagnostic::new("unknown-name", format!("there is no array `{}`", target.array))
        })?;
        crate::emitter::known(&array.dtype, &target.array)
    }

    fn assign(&mut self, target: &Access, value: Value, leaf: LeafId, env: &Env) -> Result<Stmt, Diagnostic> {
        Ok(match self.element(target, env)? {
            Target::Var(var) => Stmt::Set { var, value, leaf: Some(leaf) },
            Target::Element(to, dtype) => Stmt::Store { to, value: value.cast(dtype), leaf: Some(leaf) },
        })
    }

    /// The results of the reductions that a part uses.
    fn results(&mut self, info: &PartInfo, env: &Env) -> Result<Results, Diagnostic> {
        let analysis = self.analysis;
        let instruction = analysis.instruction(info);
        let mut results = Results::default();
        for (n, reduce) in instruction.reductions().iter().enumerate() {
            if crate::analysis::consumer(instruction, n) != info.execution.part.part {
                continue;
            }
            let operator = self.operator(&reduce.op)?;
            let state = self.accumulator_values(info.instruction, n, env)?;
            let local: BTreeMap<Name, Value> =
                operator.state.iter().map(|s| s.name.clone()).zip(state).collect();
            let scope = Scope { env, local: Some(&local), results: None };
            let mut tuple = Vec::new();
            for result in &operator.result {
                tuple.push(self.natural(result, scope)?);
            }
            let Some(first) = tuple.first().cloned() else {
                return Err(Diagnostic::new("operator", format!("`{}` delivers nothing", operator.name)));
            };
            results.first.insert(n, first);
            results.tuple = tuple;
        }
        Ok(results)
    }

    /// The storage of an accumulator, one for each value of the operator's state.
    fn accumulator(
        &mut self,
        instruction: usize,
        n: usize,
        env: &Env,
    ) -> Result<Vec<(Storage, DType)>, Diagnostic> {
        if let Some(found) = self.accumulators.get(&(instruction, n)) {
            return Ok(found.clone());
        }
        let analysis = self.analysis;
        let i = &analysis.kernel.instructions[instruction];
        let Some(reduce) = reduction(i, n) else {
            return Err(Diagnostic::new("internal", "a part of a reduction that does not exist"));
        };
        let operator = self.operator(&reduce.op)?;
        let mut inputs = Vec::new();
        for a in &reduce.args {
            inputs.push(self.input_type(a, instruction, env)?);
        }
        let lanes = self.accumulator_lanes(instruction, n);
        let single = analysis.kernel.instructions.iter().map(|i| i.reductions().len()).sum::<usize>() == 1;
        let base = if single {
            "acc".to_string()
        } else {
            let target = i.targets.first().map(|t| t.array.to_string()).unwrap_or_else(|| i.id.to_string());
            format!("acc_{target}")
        };
        let mut found = Vec::new();
        for s in &operator.state {
            let name = if operator.state.len() == 1 { base.clone() } else { format!("{base}_{}", s.name) };
            let dtype = state_type(&s.dtype, &inputs, &operator.name);
            let storage = if lanes.is_empty() {
                Storage::Var(self.new_var(&name, dtype, true))
            } else {
                let dims = self.lane_lengths(&lanes);
                let name = self.unique(&name);
                self.private.push(LocalArray { name, dtype, dims, note: String::new() });
                Storage::Private { array: self.private.len() - 1, lanes: lanes.clone() }
            };
            found.push((storage, dtype));
        }
        self.accumulators.insert((instruction, n), found.clone());
        Ok(found)
    }

    /// The types of an accumulator, one for each value of the operator's state.
    pub fn accumulator_types(
        &mut self,
        instruction: usize,
        n: usize,
        env: &Env,
    ) -> Result<Vec<DType>, Diagnostic> {
        Ok(self.accumulator(instruction, n, env)?.into_iter().map(|(_, dtype)| dtype).collect())
    }

    /// The type of an input of a reduction, before any of its inames has a value.
    fn input_type(&mut self, e: &Expr, instruction: usize, env: &Env) -> Result<DType, Diagnostic> {
        let mut probe = env.clone();
        let zero = self.index_int(0);
        let analysis = self.analysis;
        let kernel = analysis.kernel;
        for name in kernel.domains.iter().flat_map(|d| &d.inames) {
            probe.values.entry(name.clone()).or_insert_with(|| zero.clone());
        }
        // Inner reductions have a type as well.
        let i = &kernel.instructions[instruction];
        let mut results = BTreeMap::new();
        for (n, r) in i.reductions().iter().enumerate() {
            if e.reductions().iter().any(|x| std::sync::Arc::ptr_eq(x, r) || x == r) {
                let accumulators = self.accumulator(instruction, n, env)?;
                if let Some((_, dtype)) = accumulators.first() {
                    results.insert(results.len(), Value { dtype: *dtype, kind: ValueKind::Int(0) });
                }
            }
        }
        let scope = Scope { env: &probe, local: None, results: Some(&results) };
        Ok(match self.typing(e, scope, &mut 0)? {
            Typing::Known(t) => t,
            Typing::FloatLiteral => DType::F32,
            Typing::IntLiteral | Typing::Any => DType::I32,
        })
    }

    fn cell(&mut self, storage: &Storage, env: &Env) -> Result<Cell, Diagnostic> {
        Ok(match storage {
            Storage::Var(var) => Cell::Var(*var),
            Storage::Private { array, lanes } => {
                let subscripts = self.lane_values(lanes, env)?;
                Cell::Element(self.local_element(Memory::Private(*array), subscripts))
            }
            _ => return Err(Diagnostic::new("internal", "an accumulator outside of the thread")),
        })
    }

    fn cells(&mut self, instruction: usize, n: usize, env: &Env) -> Result<Vec<(Cell, DType)>, Diagnostic> {
        let storages = self.accumulator(instruction, n, env)?;
        let mut cells = Vec::new();
        for (storage, dtype) in &storages {
            cells.push((self.cell(storage, env)?, *dtype));
        }
        Ok(cells)
    }

    fn accumulator_values(
        &mut self,
        instruction: usize,
        n: usize,
        env: &Env,
    ) -> Result<Vec<Value>, Diagnostic> {
        Ok(self.cells(instruction, n, env)?.into_iter().map(|(cell, dtype)| cell.value(dtype)).collect())
    }

    fn emit_init(
        &mut self,
        info: &PartInfo,
        n: usize,
        leaf: LeafId,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let analysis = self.analysis;
        let instruction = analysis.instruction(info);
        let Some(reduce) = reduction(instruction, n) else { return Ok(Vec::new()) };
        let operator = self.operator(&reduce.op)?;
        let cells = self.cells(info.instruction, n, env)?;
        let mut stmts = Vec::new();
        for ((cell, dtype), neutral) in cells.into_iter().zip(&operator.neutral) {
            let value = self.value(neutral, dtype, Scope::of(env))?;
            stmts.push(cell.set(value, Some(leaf)));
        }
        Ok(stmts)
    }

    fn emit_update(
        &mut self,
        info: &PartInfo,
        n: usize,
        leaf: LeafId,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let analysis = self.analysis;
        let instruction = analysis.instruction(info);
        let Some(reduce) = reduction(instruction, n) else { return Ok(Vec::new()) };
        let operator = self.operator(&reduce.op)?;
        if reduce.args.len() != operator.inputs.len() {
            return Err(Diagnostic::new(
                "operator-inputs",
                format!(
                    "`{}` takes {} values, not {}",
                    operator.name,
                    operator.inputs.len(),
                    reduce.args.len()
                ),
            ));
        }
        let results = self.results(info, env)?;
        // Results of inner reductions are numbered from the first one inside each argument.
        let mut stmts = Vec::new();
        let mut local = BTreeMap::new();
        let mut first = n - reduce.args.iter().map(|a| a.reductions().len()).sum::<usize>();
        for (name, arg) in operator.inputs.iter().zip(&reduce.args) {
            let shifted: BTreeMap<usize, Value> = results
                .first
                .iter()
                .filter_map(|(k, v)| k.checked_sub(first).map(|k| (k, v.clone())))
                .collect();
            first += arg.reductions().len();
            let scope = Scope { env, local: None, results: Some(&shifted) };
            let dtype = self.input_type(arg, info.instruction, env)?;
            let value = self.value(arg, computing(dtype), scope)?;
            let uses: usize = operator.lift.iter().map(|e| count(e, name)).sum();
            let value = if uses > 1 && !value.children().is_empty() {
                let var = self.new_var(name, value.dtype, false);
                stmts.push(Stmt::Let { var, value, leaf: Some(leaf) });
                self.var_value(var)
            } else {
                value
            };
            local.insert(name.clone(), value);
        }
        let cells = self.cells(info.instruction, n, env)?;
        let mut lifted = Vec::new();
        for ((_, dtype), lift) in cells.iter().zip(&operator.lift) {
            let scope = Scope { env, local: Some(&local), results: None };
            lifted.push(self.value(lift, *dtype, scope)?);
        }
        stmts.extend(self.combine(&operator, &cells, lifted, Some(leaf), env)?);
        if let Some(predicate) = &instruction.predicate {
            let cond = self.value(predicate, DType::Bool, Scope::of(env))?;
            stmts = vec![Stmt::If { cond, body: stmts, otherwise: Vec::new(), note: Note::default() }];
        }
        Ok(stmts)
    }

    /// `state = combine(state, other)`.
    fn combine(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        other: Vec<Value>,
        leaf: Option<LeafId>,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut stmts = Vec::new();
        let mut local = BTreeMap::new();
        let several = operator.state.len() > 1;
        for ((s, (cell, dtype)), value) in operator.state.iter().zip(cells).zip(other) {
            let (a, b) = (Name::new(format!("a.{}", s.name)), Name::new(format!("b.{}", s.name)));
            let uses: usize = operator.combine.iter().map(|e| count(e, &b)).sum();
            let value = if uses > 1 && !value.children().is_empty() {
                let var = self.new_var(&format!("other_{}", s.name), *dtype, false);
                stmts.push(Stmt::Let { var, value, leaf });
                self.var_value(var)
            } else {
                value
            };
            local.insert(b, value);
            local.insert(a, cell.value(*dtype));
        }
        let scope = Scope { env, local: Some(&local), results: None };
        let mut combined = Vec::new();
        for ((s, (_, dtype)), combine) in operator.state.iter().zip(cells).zip(&operator.combine) {
            let value = self.value(combine, *dtype, scope)?;
            // All new values are computed from the old ones.
            combined.push(if several {
                let var = self.new_var(&format!("next_{}", s.name), *dtype, false);
                stmts.push(Stmt::Let { var, value, leaf });
                self.var_value(var)
            } else {
                value
            });
        }
        for ((cell, _), value) in cells.iter().zip(combined) {
            stmts.push(cell.set(value, leaf));
        }
        Ok(stmts)
    }

    /// The partial results of lanes and threads become one.
    pub fn emit_join(&mut self, join: &Join, env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        let analysis = self.analysis;
        let instruction = &analysis.kernel.instructions[join.instruction];
        let Some(reduce) = reduction(instruction, join.reduction) else { return Ok(Vec::new()) };
        let operator = self.operator(&reduce.op)?;
        if !operator.commutes {
            return Err(Diagnostic::new(
                "does-not-commute",
                format!("`{}` does not commute, so its iname cannot run on lanes or threads", operator.name),
            )
            .help("leave the iname sequential"));
        }
        let around: Vec<Name> = self
            .accumulator_lanes(join.instruction, join.reduction)
            .into_iter()
            .filter(|l| !join.lanes.contains(l))
            .collect();
        let join = join.clone();
        self.lane_loops(&around, env, &mut |this, env| {
            let mut stmts = Vec::new();
            for k in (0..join.lanes.len()).rev() {
                stmts.extend(this.join_lane(&join, &operator, k, env)?);
            }
            if !join.axes.is_empty() {
                stmts.push(this.join_threads(&join, &operator, env)?);
            }
            if !around.is_empty() && uses_shared(this.block, &join) {
                stmts.push(Stmt::Sync {
                    scope: SyncScope::Block,
                    note: Note("the partial results are written again for the next lane".into()),
                });
            }
            Ok(stmts)
        })
    }

    /// Adds the copies of the lane of this number to the first; lanes before it go through all values.
    fn join_lane(
        &mut self,
        join: &Join,
        operator: &ReductionOp,
        k: usize,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let before: Vec<Name> = join.lanes[..k].to_vec();
        let lane = join.lanes[k].clone();
        let (instruction, n) = (join.instruction, join.reduction);
        self.lane_loops(&before, env, &mut |this, env| {
            let lower = this.analysis.extents.get(&lane).and_then(|e| e.lower.as_constant()).unwrap_or(0);
            let length = this.analysis.extents.get(&lane).and_then(|e| e.constant).unwrap_or(1);
            let first = this.cells(instruction, n, env)?;
            let mut inner = env.clone();
            let var = this.new_var(&lane, this.index(), false);
            inner.values.insert(lane.clone(), this.var_value(var));
            let others = this.cells(instruction, n, &inner)?;
            let values = others.into_iter().map(|(c, t)| c.value(t)).collect();
            let body = this.combine(operator, &first, values, None, env)?;
            Ok(vec![Stmt::For {
                var,
                lower: this.index_int(lower + 1),
                upper: this.index_int(lower + length),
                step: Step::Add(1),
                unroll: true,
                body,
                note: Note(format!("join the partial results of the lanes `{lane}`")),
            }])
        })
    }

    /// How the threads of these axes are joined.
    pub fn join_plan(&self, axes: &[usize]) -> JoinPlan {
        plan(self.block, axes)
    }

    /// The thread's number in its block as a sum: axes with their factors.
    fn thread_terms(&self) -> Vec<(usize, u32)> {
        let mut factor = 1;
        let mut terms = Vec::new();
        for axis in 0..3 {
            if self.block[axis] > 1 {
                terms.push((axis, factor));
            }
            factor *= self.block[axis];
        }
        terms
    }

    fn thread_sum(&self, terms: &[(usize, u32)]) -> Value {
        let mut sum = self.index_int(0);
        for (axis, factor) in terms.iter().rev() {
            let id = Value { dtype: self.index(), kind: ValueKind::ThreadIdx(*axis as u8) };
            sum = add(sum, mul(id, self.index_int(i64::from(*factor))));
        }
        sum
    }

    /// The greatest value of such a sum.
    fn thread_greatest(&self, terms: &[(usize, u32)]) -> u32 {
        terms.iter().map(|(axis, factor)| (self.block[*axis] - 1) * factor).sum()
    }

    /// The thread's number modulo `m`.
    fn thread_modulo(&self, m: u32) -> Value {
        let terms: Vec<_> = self.thread_terms().into_iter().filter(|(_, f)| f % m != 0).collect();
        let sum = self.thread_sum(&terms);
        if self.thread_greatest(&terms) < m {
            return sum;
        }
        Value::binary(BinOp::TruncRem, sum, self.index_int(i64::from(m)))
    }

    /// The thread's number divided by `d`, rounded down.
    fn thread_quotient(&self, d: u32) -> Value {
        let (whole, rest): (Vec<_>, Vec<_>) = self.thread_terms().into_iter().partition(|(_, f)| f % d == 0);
        if self.thread_greatest(&rest) < d {
            let terms: Vec<_> = whole.into_iter().map(|(a, f)| (a, f / d)).collect();
            return self.thread_sum(&terms);
        }
        Value::binary(BinOp::TruncDiv, self.thread_sum(&self.thread_terms()), self.index_int(i64::from(d)))
    }

    fn butterfly(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        width: u32,
        note: &str,
        env: &Env,
    ) -> Result<Stmt, Diagnostic> {
        let var = self.new_var("offset", self.index(), true);
        let operand = self.var_value(var).cast(DType::I32);
        let others = cells
            .iter()
            .map(|(cell, dtype)| Value {
                dtype: *dtype,
                kind: ValueKind::Shuffle {
                    mode: ShuffleMode::Xor,
                    value: Box::new(cell.value(*dtype)),
                    operand: Box::new(operand.clone()),
                    width,
                },
            })
            .collect();
        let body = self.combine_shuffled(operator, cells, others, env)?;
        Ok(Stmt::For {
            var,
            lower: self.index_int(i64::from(width / 2)),
            upper: self.index_int(0),
            step: Step::Halve,
            unroll: true,
            body,
            note: Note(note.to_string()),
        })
    }

    /// As [`Self::combine`], but shuffles are taken before anything branches on them.
    fn combine_shuffled(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        others: Vec<Value>,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let plain = operator.state.len() == 1
            && match &operator.combine[..] {
                [Expr::Binary(op, ..)] => {
                    !matches!(op, loopwright_kernel_ir::BinaryOp::And | loopwright_kernel_ir::BinaryOp::Or)
                }
                [Expr::Call { function, .. }] => matches!(&**function, "min" | "max"),
                _ => false,
            };
        if plain {
            return self.combine(operator, cells, others, None, env);
        }
        let mut stmts = Vec::new();
        let mut taken = Vec::new();
        for (s, (value, (_, dtype))) in operator.state.iter().zip(others.into_iter().zip(cells)) {
            let var = self.new_var(&format!("other_{}", s.name), *dtype, false);
            stmts.push(Stmt::Let { var, value, leaf: None });
            taken.push(self.var_value(var));
        }
        stmts.extend(self.combine(operator, cells, taken, None, env)?);
        Ok(stmts)
    }

    fn join_threads(&mut self, join: &Join, operator: &ReductionOp, env: &Env) -> Result<Stmt, Diagnostic> {
        let cells = self.cells(join.instruction, join.reduction, env)?;
        let axes: Vec<(u8, u32)> = join.axes.iter().map(|a| (*a as u8, self.block[*a])).collect();
        let contract = program::Join {
            operator: operator.name.clone(),
            state: cells
                .iter()
                .filter_map(|(c, _)| match c {
                    Cell::Var(v) => Some(*v),
                    Cell::Element(_) => None,
                })
                .collect(),
            axes,
            to_all: join.to_all,
        };
        let names = join.axes.iter().map(|a| ["thread.x", "thread.y", "thread.z"][*a]).collect::<Vec<_>>();
        let instruction = &self.analysis.kernel.instructions[join.instruction];
        let id = &instruction.id;
        let what = instruction.targets.first().map_or_else(|| id.clone(), |t| t.array.clone());
        let note = Note(format!("join {id}'s partial results over {}", names.join(", ")));
        let mut body = Vec::new();
        match self.join_plan(&join.axes) {
            JoinPlan::Nothing => {}
            JoinPlan::Butterfly(width) => body.push(self.butterfly(operator, &cells, width, "", env)?),
            JoinPlan::Warps { group, groups } => {
                let warps = group / 32;
                body.push(self.butterfly(operator, &cells, 32, "within each warp", env)?);
                let slots = self.scratch(&what, operator, &cells, u64::from(warps * groups));
                let tid = self.thread_sum(&self.thread_terms());
                let mut stores = Vec::new();
                for (slot, (cell, dtype)) in slots.iter().zip(&cells) {
                    let warp = self.thread_quotient(32);
                    let to = self.local_element(Memory::Shared(*slot), vec![warp]);
                    stores.push(Stmt::Store { to, value: cell.value(*dtype), leaf: None });
                }
                let first_lane = Value::binary(BinOp::Eq, self.thread_modulo(32), self.index_int(0));
                body.push(Stmt::If {
                    cond: first_lane,
                    body: stores,
                    otherwise: Vec::new(),
                    note: Note("one partial result a warp".into()),
                });
                body.push(Stmt::Sync {
                    scope: SyncScope::Block,
                    note: Note(format!("all warps have stored their partial results of {id}")),
                });
                let base = mul(self.thread_quotient(group), self.index_int(i64::from(warps)));
                let base = if groups == 1 { self.index_int(0) } else { base };
                let mut rest = Vec::new();
                if warps.is_power_of_two() && warps <= 32 {
                    for (slot, (cell, dtype)) in slots.iter().zip(&cells) {
                        let lane = self.thread_modulo(warps);
                        let from = self.local_element(Memory::Shared(*slot), vec![add(base.clone(), lane)]);
                        rest.push(cell.set(self.load(from, *dtype), None));
                    }
                    if warps > 1 {
                        rest.push(self.butterfly(operator, &cells, warps, "across the warps", env)?);
                    }
                } else {
                    rest.extend(self.serial(operator, &cells, &slots, base, warps, 1, env)?);
                }
                if join.to_all || groups > 1 {
                    body.extend(rest);
                } else {
                    // `threadIdx.y == 0` where a row of threads is a warp, otherwise by the thread's number.
                    let warp = self.thread_quotient(32);
                    let first_warp = if matches!(warp.kind, ValueKind::ThreadIdx(_)) {
                        Value::binary(BinOp::Eq, warp, self.index_int(0))
                    } else {
                        Value::binary(BinOp::Lt, tid, self.index_int(32))
                    };
                    body.push(Stmt::If {
                        cond: first_warp,
                        body: rest,
                        otherwise: Vec::new(),
                        note: Note("the first warp joins the others' results".into()),
                    });
                }
            }
            JoinPlan::Memory => {
                let threads = u64::from(self.block.iter().product::<u32>());
                let slots = self.scratch(&what, operator, &cells, threads);
                let tid = self.thread_sum(&self.thread_terms());
                for (slot, (cell, dtype)) in slots.iter().zip(&cells) {
                    let to = self.local_element(Memory::Shared(*slot), vec![tid.clone()]);
                    body.push(Stmt::Store { to, value: cell.value(*dtype), leaf: None });
                }
                body.push(Stmt::Sync {
                    scope: SyncScope::Block,
                    note: Note(format!("all threads have stored their partial results of {id}")),
                });
                let mut base = self.index_int(0);
                let mut stride = 1u32;
                let mut joined = Vec::new();
                for axis in 0..3 {
                    let extent = self.block[axis];
                    if join.axes.contains(&axis) {
                        joined.push((extent, stride));
                    } else if extent > 1 {
                        let id = Value { dtype: self.index(), kind: ValueKind::ThreadIdx(axis as u8) };
                        base = add(base, mul(id, self.index_int(i64::from(stride))));
                    }
                    stride *= extent;
                }
                let rest = self.serial_axes(operator, &cells, &slots, base, &joined, env)?;
                if join.to_all {
                    body.extend(rest);
                } else {
                    let mut cond = None;
                    for axis in &join.axes {
                        if self.block[*axis] > 1 {
                            let id = Value { dtype: self.index(), kind: ValueKind::ThreadIdx(*axis as u8) };
                            cond = Some(and(cond, Value::binary(BinOp::Eq, id, self.index_int(0))));
                        }
                    }
                    match cond {
                        Some(cond) => body.push(Stmt::If {
                            cond,
                            body: rest,
                            otherwise: Vec::new(),
                            note: Note("one thread joins the others' results".into()),
                        }),
                        None => body.extend(rest),
                    }
                }
            }
        }
        Ok(Stmt::Collective { join: contract, body, note })
    }

    fn scratch(
        &mut self,
        what: &Name,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        length: u64,
    ) -> Vec<usize> {
        let mut slots = Vec::new();
        let single =
            self.analysis.kernel.instructions.iter().map(|i| i.reductions().len()).sum::<usize>() == 1;
        let base = if single { "partial".to_string() } else { format!("partial_{what}") };
        for (s, (_, dtype)) in operator.state.iter().zip(cells) {
            let name = if operator.state.len() == 1 { base.clone() } else { format!("{base}_{}", s.name) };
            let name = self.unique(&name);
            self.shared.push(LocalArray { name, dtype: *dtype, dims: vec![length], note: String::new() });
            slots.push(self.shared.len() - 1);
        }
        slots
    }

    /// `state = slot[base]; for k in 1..count { combine(slot[base + k*stride]) }`
    #[allow(clippy::too_many_arguments)]
    fn serial(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        slots: &[usize],
        base: Value,
        count: u32,
        stride: u32,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        self.serial_axes(operator, cells, slots, base, &[(count, stride)], env)
    }

    /// Starts from the neutral element and goes through all combinations of the axes.
    fn serial_axes(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        slots: &[usize],
        base: Value,
        axes: &[(u32, u32)],
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut stmts = Vec::new();
        for ((cell, dtype), neutral) in cells.iter().zip(&operator.neutral) {
            let value = self.value(neutral, *dtype, Scope::of(env))?;
            stmts.push(cell.set(value, None));
        }
        let mut offset = base;
        let mut vars = Vec::new();
        for (count, stride) in axes.iter().rev() {
            if *count > 1 {
                let var = self.new_var("other", self.index(), false);
                offset = add(offset, mul(self.var_value(var), self.index_int(i64::from(*stride))));
                vars.push((var, *count));
            }
        }
        let mut others = Vec::new();
        for (slot, (_, dtype)) in slots.iter().zip(cells) {
            let from = self.local_element(Memory::Shared(*slot), vec![offset.clone()]);
            others.push(self.load(from, *dtype));
        }
        let mut body = self.combine(operator, cells, others, None, env)?;
        for (var, count) in vars.into_iter().rev() {
            body = vec![Stmt::For {
                var,
                lower: self.index_int(0),
                upper: self.index_int(i64::from(count)),
                step: Step::Add(1),
                unroll: false,
                body,
                note: Note::default(),
            }];
        }
        stmts.extend(body);
        Ok(stmts)
    }
}

/// How threads are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinPlan {
    /// There is one thread.
    Nothing,
    /// Groups of 2 to 32 neighbouring lanes.
    Butterfly(u32),
    /// Groups of whole warps.
    Warps { group: u32, groups: u32 },
    /// Any other shape.
    Memory,
}

/// How the threads of these axes of a block are joined.
pub(crate) fn plan(block: [u32; 3], axes: &[usize]) -> JoinPlan {
    let threads: u32 = block.iter().product();
    let group: u32 = axes.iter().map(|a| block[*a]).product();
    if group == 1 {
        return JoinPlan::Nothing;
    }
    let last = axes.iter().copied().filter(|a| block[*a] > 1).max().unwrap_or(0);
    let contiguous = (0..last).all(|a| block[a] == 1 || axes.contains(&a));
    let full_warps = threads.is_multiple_of(32) || (threads < 32 && threads.is_power_of_two());
    if contiguous && full_warps && group <= 32 && group.is_power_of_two() {
        JoinPlan::Butterfly(group)
    } else if contiguous && full_warps && group.is_multiple_of(32) {
        JoinPlan::Warps { group, groups: threads / group }
    } else {
        JoinPlan::Memory
    }
}

/// Whether a join goes through shared memory.
pub(crate) fn uses_shared(block: [u32; 3], join: &Join) -> bool {
    !join.axes.is_empty() && matches!(plan(block, &join.axes), JoinPlan::Warps { .. } | JoinPlan::Memory)
}

/// A value of an accumulator's state in one thread and lane.
#[derive(Clone, Debug)]
enum Cell {
    Var(program::VarId),
    Element(MemRef),
}

impl Cell {
    fn value(&self, dtype: DType) -> Value {
        match self {
            Cell::Var(var) => Value::var(dtype, *var),
            Cell::Element(e) => Value { dtype, kind: ValueKind::Load(e.clone()) },
        }
    }

    fn set(&self, value: Value, leaf: Option<LeafId>) -> Stmt {
        match self {
            Cell::Var(var) => Stmt::Set { var: *var, value, leaf },
            Cell::Element(to) => Stmt::Store { to: to.clone(), value, leaf },
        }
    }
}

#[derive(Default)]
struct Results {
    /// The first result of each reduction, by number.
    first: BTreeMap<usize, Value>,
    /// All results of the last one.
    tuple: Vec<Value>,
}

/// How often a name occurs.
fn count(e: &Expr, name: &Name) -> usize {
    let mut n = 0;
    e.visit(&mut |e| n += usize::from(matches!(e, Expr::Name(x) if x == name)));
    n
}
