//! Writes the joins of partial results of lanes and threads.
//!
//! First the lanes of a thread, then its threads. Threads with consecutive numbers are joined by
//! shuffles: up to a warp by one butterfly; whole warps by a butterfly in each warp, then across
//! warps through shared memory. Other shapes use shared memory only.

use loopwright_kernel_ir::{DType, Diagnostic, Dim, Expr, HardwareAxis, Name, ReductionOp};

use crate::{
    analyse::analysis::reduction,
    program::{
        self, BinOp, LocalArray, Memory, Note, Scope as SyncScope, ShuffleMode, Step, Stmt, Value, ValueKind,
    },
    schedule::{
        items::Join,
        join_barriers::JoinBarriers,
        joins::{JoinPlan, axis_names, dims},
    },
    write::{
        cell::Cell,
        emitter::Emitter,
        env::Env,
        fold::{add, and, mul},
    },
};

/// The barrier of the block that the schedule has at a place of a join, if it has one.
pub(super) fn barrier(note: Option<&Note>) -> Option<Stmt> {
    note.map(|note| Stmt::Sync { scope: SyncScope::Block, note: note.clone() })
}

impl Emitter<'_, '_> {
    /// Joins the partial results of lanes and threads.
    pub fn join(
        &mut self,
        join: &Join,
        plan: JoinPlan,
        barriers: &JoinBarriers,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let instruction = &self.analysis.kernel.instructions[join.instruction];
        let Some(reduce) = reduction(instruction, join.reduction) else { return Ok(Vec::new()) };
        let operator = self.analysis.operator(&reduce.op)?;
        let around = self.analysis.lanes_around(join);
        let join = join.clone();
        self.lane_loops(&around, env, &mut |this, env| {
            let mut stmts = Vec::new();
            for k in (0..join.lanes.len()).rev() {
                stmts.extend(this.join_lane(&join, &operator, k, env)?);
            }
            if !join.axes().is_empty() {
                stmts.push(this.join_threads(&join, plan, barriers, &operator, env)?);
            }
            stmts.extend(barrier(barriers.again.as_ref()));
            Ok(stmts)
        })
    }

    /// Joins the copies of this lane into the first; for lanes before it, all values are iterated.
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
            inner.set(lane.clone(), this.var_value(var));
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
                note: Note::new(format!("join the partial results of the lanes `{lane}`")),
            }])
        })
    }

    /// The number of threads of a warp, as the target has them.
    pub fn warp_size(&self) -> u32 {
        self.target().warp_size
    }

    /// The linear thread index in the block as a sum: axes with their factors.
    fn thread_terms(&self) -> Vec<(Dim, u32)> {
        let mut factor = 1;
        let mut terms = Vec::new();
        for dim in Dim::ALL {
            let extent = self.block[*dim];
            if extent > 1 {
                terms.push((*dim, factor));
            }
            factor *= extent;
        }
        terms
    }

    /// The number of the thread among those along some axes: of two, x counts before y before z.
    pub fn number_along(&self, dims: &[Dim]) -> Value {
        let mut factor = 1;
        let mut terms = Vec::new();
        for dim in Dim::ALL.iter().filter(|dim| dims.contains(dim) && self.block[**dim] > 1) {
            terms.push((*dim, factor));
            factor *= self.block[*dim];
        }
        self.thread_sum(&terms)
    }

    fn thread_sum(&self, terms: &[(Dim, u32)]) -> Value {
        let mut sum = self.index_int(0);
        for (dim, factor) in terms.iter().rev() {
            let id = Value { dtype: self.index(), kind: ValueKind::ThreadIdx(*dim) };
            sum = add(sum, mul(id, self.index_int(i64::from(*factor))));
        }
        sum
    }

    /// The greatest value of such a sum.
    fn thread_greatest(&self, terms: &[(Dim, u32)]) -> u32 {
        terms.iter().map(|(dim, factor)| (self.block[*dim] - 1) * factor).sum()
    }

    /// The linear thread index modulo `m`.
    pub fn thread_modulo(&self, m: u32) -> Value {
        let terms: Vec<_> = self.thread_terms().into_iter().filter(|(_, f)| f % m != 0).collect();
        let sum = self.thread_sum(&terms);
        if self.thread_greatest(&terms) < m {
            return sum;
        }
        Value::binary(BinOp::TruncRem, sum, self.index_int(i64::from(m)))
    }

    /// The linear thread index divided by `d`, rounded down.
    pub fn thread_quotient(&self, d: u32) -> Value {
        let (whole, rest): (Vec<_>, Vec<_>) = self.thread_terms().into_iter().partition(|(_, f)| f % d == 0);
        if self.thread_greatest(&rest) < d {
            let terms: Vec<_> = whole.into_iter().map(|(a, f)| (a, f / d)).collect();
            return self.thread_sum(&terms);
        }
        Value::binary(BinOp::TruncDiv, self.thread_sum(&self.thread_terms()), self.index_int(i64::from(d)))
    }

    /// Whether a thread is one of the block's first warp: `threadIdx.y == 0` if a row of threads is
    /// a warp, otherwise by the linear thread index.
    pub fn is_first_warp(&self) -> Value {
        let lanes = self.warp_size();
        let warp = self.thread_quotient(lanes);
        if matches!(warp.kind, ValueKind::ThreadIdx(_)) {
            return Value::binary(BinOp::Eq, warp, self.index_int(0));
        }
        let thread = self.thread_sum(&self.thread_terms());
        Value::binary(BinOp::Lt, thread, self.index_int(i64::from(lanes)))
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
            note: Note::new(note.to_string()),
        })
    }

    /// As [`Self::combine`], but shuffles are executed before any branch on their results.
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

    /// The meaning of a collective whose state is in these cells.
    pub fn contract(&self, join: &Join, operator: &ReductionOp, cells: &[(Cell, DType)]) -> program::Join {
        let variable = |(cell, _): &(Cell, DType)| match cell {
            Cell::Var(v) => Some(*v),
            Cell::Element(_) => None,
        };
        program::Join {
            operator: operator.name.clone(),
            state: cells.iter().filter_map(variable).collect(),
            axes: dims(join.axes()).map(|dim| (dim, self.block[dim])).collect(),
            to_all: join.scan || join.to_all,
            scan: join.scan,
            tiles: join.tiles,
        }
    }

    fn join_threads(
        &mut self,
        join: &Join,
        plan: JoinPlan,
        barriers: &JoinBarriers,
        operator: &ReductionOp,
        env: &Env,
    ) -> Result<Stmt, Diagnostic> {
        let cells = self.cells(join.instruction, join.reduction, env)?;
        let contract = self.contract(join, operator, &cells);
        let instruction = &self.analysis.kernel.instructions[join.instruction];
        let id = &instruction.id;
        let what = instruction.targets.first().map_or_else(|| id.clone(), |t| t.array.clone());
        let note = Note::new(format!("join {id}'s partial results over {}", axis_names(join)));
        let mut body = Vec::new();
        match plan {
            // Scans are not joins.
            JoinPlan::Nothing | JoinPlan::Scan(_) => {}
            JoinPlan::Butterfly(width) => body.push(self.butterfly(operator, &cells, width, "", env)?),
            JoinPlan::Warps { group, groups } => {
                let lanes = self.warp_size();
                let warps = group / lanes;
                body.push(self.butterfly(operator, &cells, lanes, "within each warp", env)?);
                let slots = self.scratch("partial", &what, operator, &cells, u64::from(warps * groups));
                let mut stores = Vec::new();
                for (slot, (cell, dtype)) in slots.iter().zip(&cells) {
                    let warp = self.thread_quotient(lanes);
                    let to = self.local_element(Memory::Shared(*slot), vec![warp]);
                    stores.push(Stmt::Store { to, value: cell.value(*dtype), leaf: None });
                }
                let first_lane = Value::binary(BinOp::Eq, self.thread_modulo(lanes), self.index_int(0));
                body.push(Stmt::If {
                    cond: first_lane,
                    body: stores,
                    otherwise: Vec::new(),
                    note: Note::new("one partial result a warp"),
                });
                body.extend(barrier(barriers.stored.as_ref()));
                let base = mul(self.thread_quotient(group), self.index_int(i64::from(warps)));
                let base = if groups == 1 { self.index_int(0) } else { base };
                let mut rest = Vec::new();
                if warps.is_power_of_two() && warps <= lanes {
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
                    body.push(Stmt::If {
                        cond: self.is_first_warp(),
                        body: rest,
                        otherwise: Vec::new(),
                        note: Note::new("the first warp joins the others' results"),
                    });
                }
            }
            JoinPlan::Memory => {
                let threads = u64::from(self.block.values().product::<u32>());
                let slots = self.scratch("partial", &what, operator, &cells, threads);
                let tid = self.thread_sum(&self.thread_terms());
                for (slot, (cell, dtype)) in slots.iter().zip(&cells) {
                    let to = self.local_element(Memory::Shared(*slot), vec![tid.clone()]);
                    body.push(Stmt::Store { to, value: cell.value(*dtype), leaf: None });
                }
                body.extend(barrier(barriers.stored.as_ref()));
                let mut base = self.index_int(0);
                let mut stride = 1u32;
                let mut joined = Vec::new();
                for dim in Dim::ALL {
                    let extent = self.block[*dim];
                    if join.axes().contains(HardwareAxis::Block(*dim)) {
                        joined.push((extent, stride));
                    } else if extent > 1 {
                        let id = Value { dtype: self.index(), kind: ValueKind::ThreadIdx(*dim) };
                        base = add(base, mul(id, self.index_int(i64::from(stride))));
                    }
                    stride *= extent;
                }
                let rest = self.serial_axes(operator, &cells, &slots, base, &joined, env)?;
                if join.to_all {
                    body.extend(rest);
                } else {
                    let mut cond = None;
                    for dim in dims(join.axes()) {
                        if self.block[dim] > 1 {
                            let id = Value { dtype: self.index(), kind: ValueKind::ThreadIdx(dim) };
                            cond = Some(and(cond, Value::binary(BinOp::Eq, id, self.index_int(0))));
                        }
                    }
                    match cond {
                        Some(cond) => body.push(Stmt::If {
                            cond,
                            body: rest,
                            otherwise: Vec::new(),
                            note: Note::new("the first thread joins the others' results"),
                        }),
                        None => body.extend(rest),
                    }
                }
            }
        }
        Ok(Stmt::Collective { join: contract, body, note })
    }

    pub fn scratch(
        &mut self,
        like: &str,
        what: &Name,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        length: u64,
    ) -> Vec<usize> {
        let mut slots = Vec::new();
        let single =
            self.analysis.kernel.instructions.iter().map(|i| i.reductions().len()).sum::<usize>() == 1;
        let base = if single { like.to_string() } else { format!("{like}_{what}") };
        for (s, (_, dtype)) in operator.state.iter().zip(cells) {
            let name = if operator.state.len() == 1 { base.clone() } else { format!("{base}_{}", s.name) };
            let name = self.unique(&name);
            self.shared.push(LocalArray {
                name,
                dtype: *dtype,
                dims: vec![length],
                layout: None,
                note: String::new(),
            });
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

    /// Starts from the neutral element and iterates over all combinations of the axes.
    fn serial_axes(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        slots: &[usize],
        base: Value,
        axes: &[(u32, u32)],
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut stmts = self.neutral(operator, cells, None, env)?;
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
