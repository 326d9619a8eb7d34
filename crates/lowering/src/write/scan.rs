//! Writes scans: reductions whose accumulator is carried from one value of an iname to the next.
//!
//! A scan along loops only needs nothing special: the accumulator is initialised before them, and
//! is used after each update. Along lanes and threads a scan goes in rounds, one for each iteration
//! of the loops that it also goes along:
//!
//! 1. The accumulators are reset ([`Item::Start`](crate::schedule::items::Item)) and take one point
//!    each; the total of earlier rounds is *carried* in another variable.
//! 2. Each thread scans its lanes. Units of neighbouring threads, up to a warp, scan their threads'
//!    totals by shuffles from 1, 2, 4, ... threads before. If a group has several units, each
//!    stores its total in shared memory, and every thread joins the totals of the units before its
//!    own. A unit is a warp, or, where groups do not begin with warps, as many threads as divide a
//!    group ([`Units`]); the last unit of a block may have fewer threads than the others.
//! 3. Every accumulator is joined with what precedes it: the carried total, the earlier units, and
//!    the earlier threads.
//!
//! A scan that goes on from block to block has one round in each block, and no total that is
//! carried: between 2 and 3 the block looks back (`look_back`), and what the tiles before join
//! precedes all that the block has.
//!
//! In each join the earlier value is the left operand, so that operators need not commute. Threads
//! beyond the last point hold the neutral element.

use loopwright_kernel_ir::{DType, Diagnostic, Dim, Name, ReductionOp};

use crate::{
    analyse::{analysis::reduction, scan_order::is_carried, state::names},
    program::{BinOp, Memory, Note, ShuffleMode, Step, Stmt, Value, ValueKind, VarId},
    schedule::{
        items::Join,
        join_barriers::{self, JoinBarriers},
        joins::{JoinPlan, Units, axis_names, dims},
    },
    write::{
        cell::Cell,
        emitter::Emitter,
        env::Env,
        fold::{add, mul, sub},
        join::barrier,
    },
};

/// A loop over more units than these is not unrolled.
const LONGEST_UNROLLED: u32 = 32;

/// An accumulator: one cell per value of the operator's state.
pub(super) type Cells = [(Cell, DType)];

impl Emitter<'_, '_> {
    /// Resets the accumulators of a round to the neutral element.
    pub fn start(&mut self, join: &Join, env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        let Some(operator) = self.operator_of(join)? else { return Ok(Vec::new()) };
        let lanes = self.analysis.accumulator_lanes(join.instruction, join.reduction);
        self.lane_loops(&lanes, env, &mut |this, env| {
            let cells = this.cells(join.instruction, join.reduction, env)?;
            this.neutral(&operator, &cells, None, env)
        })
    }

    fn operator_of(&self, join: &Join) -> Result<Option<ReductionOp>, Diagnostic> {
        let instruction = &self.analysis.kernel.instructions[join.instruction];
        let reduce = reduction(instruction, join.reduction);
        reduce.map(|r| self.analysis.operator(&r.op)).transpose()
    }

    /// Gives each lane and thread the joined value up to and including it.
    pub fn scan(
        &mut self,
        join: &Join,
        plan: JoinPlan,
        barriers: &JoinBarriers,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Some(operator) = self.operator_of(join)? else { return Ok(Vec::new()) };
        let around = self.analysis.lanes_around(join);
        self.lane_loops(&around, env, &mut |this, env| {
            let mut stmts = vec![this.scan_round(join, plan, barriers, &operator, env)?];
            stmts.extend(barrier(barriers.again.as_ref()));
            Ok(stmts)
        })
    }

    /// The accumulator for one of the scan's lanes.
    fn cells_at(
        &mut self,
        join: &Join,
        lane: &Name,
        at: Value,
        env: &Env,
    ) -> Result<Vec<(Cell, DType)>, Diagnostic> {
        let mut env = env.clone();
        env.set(lane.clone(), at);
        self.cells(join.instruction, join.reduction, &env)
    }

    fn scan_round(
        &mut self,
        join: &Join,
        plan: JoinPlan,
        barriers: &JoinBarriers,
        operator: &ReductionOp,
        env: &Env,
    ) -> Result<Stmt, Diagnostic> {
        let instruction = &self.analysis.kernel.instructions[join.instruction];
        let id = instruction.id.clone();
        let carry = match is_carried(self.analysis, join.instruction) {
            true => Some(self.carry(join.instruction, join.reduction, env)?),
            false => None,
        };
        let lane = join.lanes.first().cloned();
        let mut body = Vec::new();
        let range = lane.as_ref().map(|lane| {
            let extent = self.analysis.extents.get(lane);
            let lower = extent.and_then(|e| e.lower.as_constant()).unwrap_or(0);
            (lower, lower + extent.and_then(|e| e.constant).unwrap_or(1))
        });
        // The thread's own total.
        let mine = match (&lane, range) {
            (Some(lane), Some((lower, upper))) => {
                let var = self.new_var(lane, self.index(), false);
                let (here, before) = (self.var_value(var), sub(self.var_value(var), self.index_int(1)));
                let to = self.cells_at(join, lane, here, env)?;
                let from = self.cells_at(join, lane, before, env)?;
                let inner = self.combine_into(operator, &to, values(&from), values(&to), None, env)?;
                body.push(self.unrolled(var, lower + 1, upper, inner, "each thread scans its own points"));
                let last = self.cells_at(join, lane, self.index_int(upper - 1), env)?;
                self.copies(operator, "sum", values(&last), &last, &mut body)
            }
            _ => self.cells(join.instruction, join.reduction, env)?,
        };
        let JoinPlan::Scan(units) = plan else {
            return Err(Diagnostic::new("internal", "a scan with the plan of a join"));
        };
        let width = units.unit;
        // The thread's lane in its unit.
        let of_lane = match width {
            1 => self.index_int(0),
            width => {
                let value = self.thread_modulo(width);
                self.index_named("lane", value, &mut body)
            }
        };
        if width > 1 {
            body.push(self.scan_unit(operator, &mine, units, &of_lane, env)?);
        }
        // The joined value before the thread's unit: `None` if there is none.
        let before = match (units.count(), &carry) {
            _ if let Some(axis) = join.tiles => {
                let of = (join, barriers);
                Some(self.after_tiles(of, axis, operator, &mine, &of_lane, units, &mut body, env)?)
            }
            (2.., _) => Some(self.scan_units(
                (join, barriers),
                operator,
                &mine,
                carry.as_deref(),
                &of_lane,
                units,
                &mut body,
                env,
            )?),
            (_, Some(carry)) => {
                // The value of the threads before this one is joined in where there are lanes.
                let before = match lane {
                    Some(_) => self.copies(operator, "before", values(carry), carry, &mut body),
                    None => self.kept(operator, "before", carry, &mut body),
                };
                let total = match width {
                    1 => values(&mine),
                    width => {
                        let last = Value::int(DType::I32, i64::from(units.group - 1));
                        let taken = self.shuffled(&mine, ShuffleMode::Index, &last, width);
                        self.named(operator, "total", taken, &mut body)
                    }
                };
                body.extend(self.combine_into(operator, carry, values(carry), total, None, env)?);
                Some(before)
            }
            _ => None,
        };
        match (&lane, range) {
            (Some(lane), Some((lower, upper))) => {
                let before = match before {
                    Some(before) => before,
                    None if width == 1 => Vec::new(),
                    None => {
                        let neutral = self.neutral_values(operator, &mine, env)?;
                        self.copies(operator, "before", neutral, &mine, &mut body)
                    }
                };
                if width > 1 {
                    let one = Value::int(DType::I32, 1);
                    let taken = self.shuffled(&mine, ShuffleMode::Up, &one, width);
                    let prior = self.named(operator, "prior", taken, &mut body);
                    let join = self.combine_into(operator, &before, values(&before), prior, None, env)?;
                    body.push(Stmt::If {
                        cond: Value::binary(BinOp::Gt, of_lane, self.index_int(0)),
                        body: join,
                        otherwise: Vec::new(),
                        note: Note::new("the points of the thread before"),
                    });
                }
                if !before.is_empty() {
                    let var = self.new_var(lane, self.index(), false);
                    let to = self.cells_at(join, lane, self.var_value(var), env)?;
                    let inner = self.combine_into(operator, &to, values(&before), values(&to), None, env)?;
                    body.push(self.unrolled(var, lower, upper, inner, ""));
                }
            }
            _ => {
                if let Some(before) = &before {
                    body.extend(self.combine_into(
                        operator,
                        &mine,
                        values(before),
                        values(&mine),
                        None,
                        env,
                    )?);
                }
            }
        }
        let over = if join.axes().is_empty() { "the lanes".to_string() } else { axis_names(join) };
        Ok(Stmt::Collective {
            join: self.contract(join, operator, &mine),
            body,
            note: Note::new(format!("scan {id} over {over}")),
        })
    }

    /// Scans the lanes of a unit: each takes values from 1, 2, 4, ... lanes before it.
    fn scan_unit(
        &mut self,
        operator: &ReductionOp,
        mine: &Cells,
        units: Units,
        of_lane: &Value,
        env: &Env,
    ) -> Result<Stmt, Diagnostic> {
        let var = self.new_var("offset", self.index(), true);
        let offset = self.var_value(var);
        let taken = self.shuffled(mine, ShuffleMode::Up, &offset.clone().cast(DType::I32), units.unit);
        // All lanes take part in a shuffle, whether or not they use its result.
        let mut body = Vec::new();
        let others = self.named(operator, "other", taken, &mut body);
        let join = self.combine_into(operator, mine, others, values(mine), None, env)?;
        body.push(Stmt::If {
            cond: Value::binary(BinOp::Ge, of_lane.clone(), offset),
            body: join,
            otherwise: Vec::new(),
            note: Note::default(),
        });
        Ok(Stmt::For {
            var,
            lower: self.index_int(1),
            upper: self.index_int(i64::from(units.unit.min(units.group))),
            step: Step::Double,
            unroll: true,
            body,
            note: Note::new(match units.warps {
                true => "within each warp",
                false => "",
            }),
        })
    }

    /// Scans the units of the block and looks back: what the tiles before the block's own and the
    /// units before the thread's own join.
    #[allow(clippy::too_many_arguments)]
    fn after_tiles(
        &mut self,
        (join, barriers): (&Join, &JoinBarriers),
        axis: Dim,
        operator: &ReductionOp,
        mine: &Cells,
        of_lane: &Value,
        units: Units,
        body: &mut Vec<Stmt>,
        env: &Env,
    ) -> Result<Vec<(Cell, DType)>, Diagnostic> {
        if units.count() == 1 {
            let last = Value::int(DType::I32, i64::from(units.group - 1));
            let taken = self.shuffled(mine, ShuffleMode::Index, &last, units.unit);
            let total = self.named(operator, "tile", taken, body);
            let earlier = self.look_back((join, barriers), axis, operator, (mine, total), of_lane, body)?;
            return Ok(self.copies(operator, "before", earlier, mine, body));
        }
        let neutral = self.neutral_values(operator, mine, env)?;
        let tile = self.copies(operator, "tile", neutral, mine, body);
        let of = (join, barriers);
        let before = self.scan_units(of, operator, mine, Some(&tile), of_lane, units, body, env)?;
        let earlier =
            self.look_back((join, barriers), axis, operator, (mine, values(&tile)), of_lane, body)?;
        body.extend(self.combine_into(operator, &before, earlier, values(&before), None, env)?);
        Ok(before)
    }

    /// Scans the units of a group: the joined value before each, and the carried total including
    /// all of them.
    #[allow(clippy::too_many_arguments)]
    fn scan_units(
        &mut self,
        (join, barriers): (&Join, &JoinBarriers),
        operator: &ReductionOp,
        mine: &Cells,
        carry: Option<&Cells>,
        of_lane: &Value,
        units: Units,
        body: &mut Vec<Stmt>,
        env: &Env,
    ) -> Result<Vec<(Cell, DType)>, Diagnostic> {
        let instruction = &self.analysis.kernel.instructions[join.instruction];
        let id = instruction.id.clone();
        let what = instruction.targets.first().map_or_else(|| id.clone(), |t| t.array.clone());
        let count = units.count();
        let slots = self.scratch("totals", &what, operator, mine, u64::from(count * units.groups));
        let [a_unit, all_units] = join_barriers::names(units);
        let (own, base) = self.unit_and_base(join, units);
        let own = self.index_named(a_unit, own, body);
        let mut stores = Vec::new();
        for (slot, (cell, dtype)) in slots.iter().zip(mine) {
            let to = self.local_element(Memory::Shared(*slot), vec![add(base.clone(), own.clone())]);
            stores.push(Stmt::Store { to, value: cell.value(*dtype), leaf: None });
        }
        match units.unit {
            1 => body.extend(stores),
            unit => {
                let last = |at: Value, of: u32| Value::binary(BinOp::Eq, at, self.index_int((of - 1).into()));
                let mut cond = last(of_lane.clone(), unit);
                // The total of the last unit is wanted where it is carried to the next round.
                if units.has_partial() && carry.is_some() {
                    let end = last(self.thread_modulo(units.group), units.group);
                    cond = Value::binary(BinOp::Or, cond, end);
                }
                body.push(Stmt::If {
                    cond,
                    body: stores,
                    otherwise: Vec::new(),
                    note: Note::new(format!("the total of a {a_unit}")),
                });
            }
        }
        body.extend(barrier(barriers.stored.as_ref()));
        let first = match carry {
            Some(carry) if join.tiles.is_none() => values(carry),
            _ => self.neutral_values(operator, mine, env)?,
        };
        let before = self.copies(operator, "before", first, mine, body);
        let var = self.new_var(&format!("other_{a_unit}"), self.index(), false);
        let mut inner = Vec::new();
        let mut loads = Vec::new();
        for (slot, (_, dtype)) in slots.iter().zip(mine) {
            let from =
                self.local_element(Memory::Shared(*slot), vec![add(base.clone(), self.var_value(var))]);
            loads.push(self.load(from, *dtype));
        }
        let total = match carry {
            Some(_) => self.named(operator, "total", loads, &mut inner),
            None => loads,
        };
        let earlier = self.combine_into(operator, &before, values(&before), total.clone(), None, env)?;
        inner.push(Stmt::If {
            cond: Value::binary(BinOp::Lt, self.var_value(var), own),
            body: earlier,
            otherwise: Vec::new(),
            note: Note::default(),
        });
        if let Some(carry) = carry {
            inner.extend(self.combine_into(operator, carry, values(carry), total, None, env)?);
        }
        let count = if carry.is_some() { count } else { count - 1 };
        let mut across = self.unrolled(var, 0, i64::from(count), inner, &format!("across the {all_units}"));
        if let Stmt::For { unroll, .. } = &mut across {
            *unroll = count <= LONGEST_UNROLLED;
        }
        body.push(across);
        Ok(before)
    }

    /// The number of the thread's unit in its group, and the number of the group's first unit.
    fn unit_and_base(&self, join: &Join, units: Units) -> (Value, Value) {
        let first = |this: &Self, group: Value| match units.groups {
            1 => this.index_int(0),
            _ => mul(group, this.index_int(i64::from(units.count()))),
        };
        if units.neighbours {
            let own = match units.groups {
                1 => self.thread_quotient(units.unit),
                _ => {
                    let number = self.thread_modulo(units.group);
                    match units.unit {
                        1 => number,
                        unit => Value::binary(BinOp::TruncDiv, number, self.index_int(unit.into())),
                    }
                }
            };
            let group = self.thread_quotient(units.group);
            return (own, first(self, group));
        }
        let scanned: Vec<Dim> = dims(join.axes()).collect();
        let own = self.number_along(&scanned);
        let others: Vec<Dim> = Dim::ALL.iter().copied().filter(|d| !scanned.contains(d)).collect();
        (own, first(self, self.number_along(&others)))
    }

    /// The value as a new variable of the index type; a constant stays as it is.
    fn index_named(&mut self, like: &str, value: Value, body: &mut Vec<Stmt>) -> Value {
        if value.as_int().is_some() {
            return value;
        }
        let var = self.new_var(like, self.index(), false);
        body.push(Stmt::Let { var, value, leaf: None });
        self.var_value(var)
    }

    fn unrolled(&self, var: VarId, lower: i64, upper: i64, body: Vec<Stmt>, note: &str) -> Stmt {
        Stmt::For {
            var,
            lower: self.index_int(lower),
            upper: self.index_int(upper),
            step: Step::Add(1),
            unroll: true,
            body,
            note: Note::new(note),
        }
    }

    /// Variables for the values of a state.
    fn named(
        &mut self,
        operator: &ReductionOp,
        like: &str,
        of: Vec<Value>,
        body: &mut Vec<Stmt>,
    ) -> Vec<Value> {
        let mut named = Vec::new();
        for (name, value) in names(operator, like).into_iter().zip(of) {
            let var = self.new_var(&name, value.dtype, false);
            body.push(Stmt::Let { var, value, leaf: None });
            named.push(self.var_value(var));
        }
        named
    }

    /// As [`Self::named`], with the types of some cells, and mutable.
    fn copies(
        &mut self,
        operator: &ReductionOp,
        like: &str,
        of: Vec<Value>,
        types: &Cells,
        body: &mut Vec<Stmt>,
    ) -> Vec<(Cell, DType)> {
        let mut cells = Vec::new();
        for ((name, value), (_, dtype)) in names(operator, like).into_iter().zip(of).zip(types) {
            let var = self.new_var(&name, *dtype, true);
            body.push(Stmt::Let { var, value, leaf: None });
            cells.push((Cell::Var(var), *dtype));
        }
        cells
    }

    /// As [`Self::copies`], but immutable.
    fn kept(
        &mut self,
        operator: &ReductionOp,
        like: &str,
        of: &Cells,
        body: &mut Vec<Stmt>,
    ) -> Vec<(Cell, DType)> {
        let mut cells = self.copies(operator, like, values(of), of, body);
        for (cell, _) in &mut cells {
            if let Cell::Var(var) = cell {
                self.vars[var.0].mutable = false;
            }
        }
        cells
    }

    pub(super) fn shuffled(
        &self,
        cells: &Cells,
        mode: ShuffleMode,
        operand: &Value,
        width: u32,
    ) -> Vec<Value> {
        cells
            .iter()
            .map(|(cell, dtype)| Value {
                dtype: *dtype,
                kind: ValueKind::Shuffle {
                    mode,
                    value: Box::new(cell.value(*dtype)),
                    operand: Box::new(operand.clone()),
                    width,
                },
            })
            .collect()
    }
}

fn values(cells: &Cells) -> Vec<Value> {
    cells.iter().map(|(cell, dtype)| cell.value(*dtype)).collect()
}
