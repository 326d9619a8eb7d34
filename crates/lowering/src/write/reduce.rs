//! Statements of parts, and how reductions are realised.
//!
//! An accumulator has a copy for each lane that is around it or reduced over, and each thread
//! updates its own copies. If lanes or threads are reduced over, a join precedes the part that uses
//! the result (`join`).

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Access, DType, Diagnostic, Expr, Name, Part, ReductionOp};

use crate::{
    analyse::{
        analysis::{Filling, Guard, PartInfo, reduction},
        arrays::known,
        scan_order,
        state::count,
    },
    program::{LeafId, LocalArray, Memory, Stmt, Value, ValueKind},
    schedule::Statement,
    write::{
        cell::Cell,
        emitter::{Emitter, Storage},
        env::Env,
        fold::and,
        scope::Scope,
        translate::Target,
    },
};

impl Emitter<'_, '_> {
    /// The statements of a part, inside its loops and guards.
    pub fn statement(&mut self, statement: &Statement, env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        let info = statement.of.info(self.analysis);
        let leaf = self.leaf(statement.of.number, env);
        let mut env = env.clone();
        let mut stmts = Vec::new();
        for access in &statement.repeated {
            stmts.push(self.load_into_variable(access, leaf, &mut env)?);
        }
        stmts.extend(match info.execution.part.part {
            Part::Init(n) => self.emit_init(info, n, leaf, &env)?,
            Part::Update(n) => {
                env.chosen = info.chosen.as_slice().into();
                self.emit_update(info, n, leaf, &env)?
            }
            Part::Whole | Part::Finish => self.emit_assignment(info, statement, leaf, &env)?,
        });
        Ok(stmts)
    }

    fn emit_assignment(
        &mut self,
        info: &PartInfo,
        Statement { filling, atomic, .. }: &Statement,
        leaf: LeafId,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let analysis = self.analysis;
        let instruction = analysis.instruction(info);
        if let ([to], Expr::Subscript(from), true) =
            (instruction.targets.as_slice(), &instruction.value, instruction.via.is_asynchronous())
        {
            return Ok(vec![self.async_element(info, (to, from), filling, leaf, env)?]);
        }
        let results = self.results(info, env)?;
        let scope = Scope { env, local: None, results: Some(&results.first) };
        let mut stmts = Vec::new();
        if let [target] = instruction.targets.as_slice() {
            let dtype = self.target_type(target)?;
            let mut value = self.value(&instruction.value, dtype, scope)?;
            if let Some(Filling { value: elsewhere, .. }) = &info.filling {
                value = self.filled(value, filling, elsewhere, env)?;
            }
            stmts.push(self.assign(target, value, (leaf, 0), env)?);
        } else {
            let Expr::Reduce(_) = &instruction.value else {
                return Err(Diagnostic::new(
                    "internal",
                    format!("`{}` writes several values, which only a reduction delivers", instruction.id),
                ));
            };
            for (k, target) in instruction.targets.iter().enumerate() {
                let dtype = self.target_type(target)?;
                let value = results.tuple.get(k).cloned().ok_or_else(|| {
                    Diagnostic::new(
                        "internal",
                        format!(
                            "`{}` writes {} values, its reduction delivers {}",
                            instruction.id,
                            instruction.targets.len(),
                            results.tuple.len()
                        ),
                    )
                })?;
                stmts.push(self.assign(target, value.cast(dtype), (leaf, k), env)?);
            }
        }
        if let Some(op) = atomic.as_ref().or(instruction.update.as_ref()) {
            let scope = atomic.is_some().then_some(instruction.scope);
            stmts = self.update(op, scope, stmts, leaf, env)?;
        }
        Ok(stmts)
    }

    /// The value of a copied cell where these guards hold, the filling elsewhere.
    pub(super) fn filled(
        &mut self,
        value: Value,
        guards: &[Guard],
        elsewhere: &Expr,
        env: &Env,
    ) -> Result<Value, Diagnostic> {
        let mut cond = None;
        for guard in guards {
            let c = self.guard_condition(guard, env)?;
            cond = Some(and(cond, c));
        }
        let Some(cond) = cond else { return Ok(value) };
        let dtype = value.dtype;
        let other = self.value(elsewhere, dtype, Scope::of(env))?;
        Ok(Value { dtype, kind: ValueKind::Select(Box::new(cond), Box::new(value), Box::new(other)) })
    }

    fn target_type(&self, target: &Access) -> Result<DType, Diagnostic> {
        let array = self.analysis.lookup.array(&target.array).ok_or_else(|| {
            Diagnostic::new("unknown-name", format!("there is no array `{}`", target.array))
        })?;
        known(&array.dtype, &target.array)
    }

    /// Stores the part's value of this number to its target.
    fn assign(
        &mut self,
        target: &Access,
        value: Value,
        (leaf, number): (LeafId, usize),
        env: &Env,
    ) -> Result<Stmt, Diagnostic> {
        if let Some((access, number, lanes)) = &env.stored
            && access == target
        {
            let lanes = self.lane_values(lanes, env)?;
            let to = self.local_element(Memory::Private(*number), lanes);
            let dtype = self.target_type(target)?;
            return Ok(Stmt::Store { to, value: value.cast(dtype), leaf: Some(leaf) });
        }
        let leaf = self.giving(leaf, number);
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
            if loopwright_legality::consumer(instruction, n) != info.execution.part.part {
                continue;
            }
            let operator = self.analysis.operator(&reduce.op)?;
            let state = self.accumulator_values(info.instruction, n, env)?;
            let local: BTreeMap<Name, Value> =
                operator.state.iter().map(|s| s.name.clone()).zip(state).collect();
            let scope = Scope { env, local: Some(&local), results: None };
            let types = analysis.reduction_types(info.instruction)?;
            let mut tuple = Vec::new();
            for (result, dtype) in operator.result.iter().zip(&types[n].results) {
                tuple.push(self.value(result, *dtype, scope)?);
            }
            let Some(first) = tuple.first().cloned() else {
                return Err(Diagnostic::new("internal", format!("`{}` delivers nothing", operator.name)));
            };
            results.first.insert(n, first);
            results.tuple = tuple;
        }
        Ok(results)
    }

    /// The locations of an accumulator, one for each value of the operator's state.
    pub fn accumulator(&mut self, instruction: usize, n: usize) -> Result<Vec<(Storage, DType)>, Diagnostic> {
        if let Some(found) = self.accumulators.get(&(instruction, n)) {
            return Ok(found.clone());
        }
        let analysis = self.analysis;
        let i = &analysis.kernel.instructions[instruction];
        let Some(reduce) = reduction(i, n) else {
            return Err(Diagnostic::new("internal", "a part of a reduction that does not exist"));
        };
        let operator = self.analysis.operator(&reduce.op)?;
        let dtypes = analysis.reduction_types(instruction)?[n].state.clone();
        let lanes = self.analysis.accumulator_lanes(instruction, n);
        let single = analysis.kernel.instructions.iter().map(|i| i.reductions().len()).sum::<usize>() == 1;
        let base = if single {
            "acc".to_string()
        } else {
            let target = i.targets.first().map(|t| t.array.to_string()).unwrap_or_else(|| i.id.to_string());
            format!("acc_{target}")
        };
        let found = self.state_storage(&operator, &base, dtypes, &lanes);
        self.accumulators.insert((instruction, n), found.clone());
        Ok(found)
    }

    /// The types of an accumulator, one for each value of the operator's state.
    pub fn accumulator_types(&mut self, instruction: usize, n: usize) -> Result<Vec<DType>, Diagnostic> {
        Ok(self.accumulator(instruction, n)?.into_iter().map(|(_, dtype)| dtype).collect())
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

    pub fn cells(
        &mut self,
        instruction: usize,
        n: usize,
        env: &Env,
    ) -> Result<Vec<(Cell, DType)>, Diagnostic> {
        let storages = self.accumulator(instruction, n)?;
        self.cells_in(&storages, env)
    }

    fn cells_in(
        &mut self,
        storages: &[(Storage, DType)],
        env: &Env,
    ) -> Result<Vec<(Cell, DType)>, Diagnostic> {
        storages.iter().map(|(storage, dtype)| Ok((self.cell(storage, env)?, *dtype))).collect()
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
        let operator = self.analysis.operator(&reduce.op)?;
        let cells = match scan_order::is_carried(analysis, info.instruction) {
            true => self.carry(info.instruction, n, env)?,
            false => self.cells(info.instruction, n, env)?,
        };
        self.neutral(&operator, &cells, Some(leaf), env)
    }

    /// The neutral element of an operator, as values of these cells' types.
    pub fn neutral_values(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        env: &Env,
    ) -> Result<Vec<Value>, Diagnostic> {
        let of = |((_, dtype), neutral): (&(Cell, DType), &Expr)| self.value(neutral, *dtype, Scope::of(env));
        cells.iter().zip(&operator.neutral).map(of).collect()
    }

    /// Sets these cells to the neutral element.
    pub fn neutral(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        leaf: Option<LeafId>,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let neutral = self.neutral_values(operator, cells, env)?;
        let set = |(k, ((cell, _), value)): (usize, (&(Cell, DType), Value))| {
            cell.set(value, leaf.map(|leaf| self.giving(leaf, k)))
        };
        Ok(cells.iter().zip(neutral).enumerate().map(set).collect())
    }

    /// Where a scan in rounds keeps the total of earlier rounds: laid out as its accumulator, but
    /// without the lanes that it goes along.
    pub fn carry(
        &mut self,
        instruction: usize,
        n: usize,
        env: &Env,
    ) -> Result<Vec<(Cell, DType)>, Diagnostic> {
        if !self.carries.contains_key(&(instruction, n)) {
            let lanes = self.analysis.carry_lanes(instruction, n);
            let dtypes = self.accumulator_types(instruction, n)?;
            let i = &self.analysis.kernel.instructions[instruction];
            let Some(reduce) = reduction(i, n) else {
                return Err(Diagnostic::new("internal", "a part of a reduction that does not exist"));
            };
            let operator = self.analysis.operator(&reduce.op)?;
            let found = self.state_storage(&operator, "carry", dtypes, &lanes);
            self.carries.insert((instruction, n), found);
        }
        let storages = self.carries.get(&(instruction, n)).cloned().unwrap_or_default();
        self.cells_in(&storages, env)
    }

    /// A location for each value of an operator's state.
    fn state_storage(
        &mut self,
        operator: &ReductionOp,
        base: &str,
        dtypes: Vec<DType>,
        lanes: &[Name],
    ) -> Vec<(Storage, DType)> {
        let several = operator.state.len() > 1;
        let values = operator.state.iter().zip(dtypes);
        values
            .map(|(s, dtype)| {
                let name = if several { format!("{base}_{}", s.name) } else { base.to_string() };
                (self.per_lane(&name, dtype, lanes), dtype)
            })
            .collect()
    }

    /// A variable, or an array with an element for each lane.
    fn per_lane(&mut self, name: &str, dtype: DType, lanes: &[Name]) -> Storage {
        if lanes.is_empty() {
            return Storage::Var(self.new_var(name, dtype, true));
        }
        let dims = self.analysis.lane_lengths(lanes);
        let name = self.unique(name);
        self.private.push(LocalArray { name, dtype, dims, layout: None, note: String::new() });
        Storage::Private { array: self.private.len() - 1, lanes: lanes.to_vec() }
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
        let operator = self.analysis.operator(&reduce.op)?;
        if reduce.args.len() != operator.inputs.len() {
            return Err(Diagnostic::new(
                "internal",
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
        let types = analysis.reduction_types(info.instruction)?;
        for ((name, arg), dtype) in operator.inputs.iter().zip(&reduce.args).zip(&types[n].inputs) {
            let shifted: BTreeMap<usize, Value> = results
                .first
                .iter()
                .filter_map(|(k, v)| k.checked_sub(first).map(|k| (k, v.clone())))
                .collect();
            first += arg.reductions().len();
            let scope = Scope { env, local: None, results: Some(&shifted) };
            let value = self.value(arg, *dtype, scope)?;
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
        Ok(stmts)
    }

    /// `state = combine(state, other)`.
    pub fn combine(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        other: Vec<Value>,
        leaf: Option<LeafId>,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let own = cells.iter().map(|(cell, dtype)| cell.value(*dtype)).collect();
        self.combine_into(operator, cells, own, other, leaf, env)
    }

    /// `cells = combine(earlier, later)`.
    pub fn combine_into(
        &mut self,
        operator: &ReductionOp,
        cells: &[(Cell, DType)],
        earlier: Vec<Value>,
        later: Vec<Value>,
        leaf: Option<LeafId>,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut stmts = Vec::new();
        let mut local = BTreeMap::new();
        let several = operator.state.len() > 1;
        let operands = earlier.into_iter().zip(later);
        for ((s, (_, dtype)), (own, value)) in operator.state.iter().zip(cells).zip(operands) {
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
            local.insert(a, own);
        }
        // Components that ask one condition share its outcome: compilers do not merge conditions
        // that evaluate only a part of themselves.
        let asked = |c: &Expr| {
            operator.combine.iter().filter(|e| matches!(e, Expr::If(own, ..) if **own == *c)).count() > 1
        };
        let mut conditions: Vec<(Expr, Name)> = Vec::new();
        for e in &operator.combine {
            let Expr::If(c, ..) = e else { continue };
            if conditions.iter().any(|(known, _)| known == &**c) || !asked(c) {
                continue;
            }
            let scope = Scope { env, local: Some(&local), results: None };
            let value = self.value(c, DType::Bool, scope)?;
            let var = self.new_var("condition", DType::Bool, false);
            stmts.push(Stmt::Let { var, value, leaf });
            let name = Name::new(format!("condition.{}", conditions.len()));
            local.insert(name.clone(), self.var_value(var));
            conditions.push(((**c).clone(), name));
        }
        let scope = Scope { env, local: Some(&local), results: None };
        let mut combined = Vec::new();
        for ((s, (_, dtype)), combine) in operator.state.iter().zip(cells).zip(&operator.combine) {
            let shared = match combine {
                Expr::If(c, a, b) => {
                    let known = conditions.iter().find(|(known, _)| known == &**c);
                    known.map(|(_, name)| Expr::If(Expr::name(name.clone()).into(), a.clone(), b.clone()))
                }
                _ => None,
            };
            let value = self.value(shared.as_ref().unwrap_or(combine), *dtype, scope)?;
            // All new values are computed from the old ones.
            combined.push(if several {
                let var = self.new_var(&format!("next_{}", s.name), *dtype, false);
                stmts.push(Stmt::Let { var, value, leaf });
                self.var_value(var)
            } else {
                value
            });
        }
        for (k, ((cell, _), value)) in cells.iter().zip(combined).enumerate() {
            stmts.push(cell.set(value, leaf.map(|leaf| self.giving(leaf, k))));
        }
        Ok(stmts)
    }
}

#[derive(Default)]
struct Results {
    /// The first result of each reduction, by number.
    first: BTreeMap<usize, Value>,
    /// All results of the last one.
    tuple: Vec<Value>,
}
