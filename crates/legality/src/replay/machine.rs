//! The run itself: group by group, the state of cells and accumulators, and what each execution
//! sees, computes and leaves.
//!
//! A group is the set of executions of one part at the same time. All of them read before any
//! writes, so what they see does not depend on their order.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use loopwright_kernel_ir::{AddressSpace, Arg, AxisSet, Name, Part, PartRef, Reduce, UpdateOp};

use super::{
    CellName, Failure, Instance, Parameters, Stop, Token,
    expressions::{Computes, Expressions, expressions},
    schedule::{Access, Execution, Ready, executions, instance, prepare},
    value::{Evaluation, Value, consumed, hash_of},
};
use crate::{Model, Touch, accumulator, owner, roles::PartRole};

/// A cell: its array, its owner, and its subscripts.
pub(super) type Key = (Name, Vec<i64>, Vec<i64>);

/// The record of a run. That of the declared kernel is the reference for transformed ones.
#[derive(Default)]
pub struct Run {
    /// The definitions that the reads of each instance see, with their values.
    pub(super) reads: HashMap<Instance, Vec<Seen>>,
    /// The value that each instance computes.
    values: HashMap<Instance, Value>,
    /// The points that each finished reduction has combined.
    pub(super) joined: HashMap<(Instance, usize), Vec<Vec<i64>>>,
    /// What the outputs hold at the end.
    pub(super) outputs: BTreeMap<CellName, (Token, Value)>,
    /// The order in which instances ran.
    pub(super) order: HashMap<Instance, usize>,
    /// Whether some reads saw definitions other than the declared ones, without changing an output.
    pub(crate) harmless: bool,
}

/// For each reduction, the axes that its inames are on.
fn shared_axes(model: &Model<'_>) -> HashMap<Name, AxisSet> {
    let mut shared: HashMap<Name, AxisSet> = HashMap::new();
    for part in &model.parts {
        let Part::Update(n) = part.part.part else { continue };
        let init = PartRef { instruction: part.part.instruction.clone(), part: Part::Init(n) };
        let around = model.numbers.get(&init).map(|k| &model.parts[*k].inames);
        let mine = shared.entry(accumulator(&part.part.instruction, n)).or_default();
        for (axis, presence) in part.executor.iter() {
            if presence.iname().is_some_and(|i| around.is_none_or(|a| !a.contains(i))) {
                mine.insert(axis);
            }
        }
    }
    shared
}

/// The number of the first failure that a value depends on.
pub(super) type Cause = Option<usize>;

/// The earlier of two causes.
pub(super) fn first(a: Cause, b: Cause) -> Cause {
    a.into_iter().chain(b).min()
}

/// What a cell holds: a definition and a value.
#[derive(Clone)]
pub(super) struct Held {
    pub token: Token,
    pub value: Value,
    pub cause: Cause,
    /// The updates since it was written, or since those of another kind.
    updates: Option<Updates>,
}

/// Updates of one kind, which commute.
#[derive(Clone)]
struct Updates {
    op: UpdateOp,
    /// What the cell held before, and the value of that.
    base: (Token, Value),
    /// The instances, each with a hash of the value by which it updates.
    terms: Vec<(Instance, u64)>,
}

impl Held {
    /// What a cell holds after an update by a value.
    fn updated(self, op: &UpdateOp, who: &Instance, term: Value, cause: Cause) -> Held {
        let cause = first(self.cause, cause);
        let mut updates = match self.updates {
            Some(same) if same.op == *op => same,
            _ => Updates { op: op.clone(), base: (self.token, self.value), terms: Vec::new() },
        };
        updates.terms.push((who.clone(), hash_of(term)));
        updates.terms.sort();
        if op.is_idempotent() {
            updates.terms.dedup();
        }
        let (base, value) = &updates.base;
        let sum = updates.terms.iter().fold(0, |sum: u64, (_, term)| sum.wrapping_add(*term));
        let instances = updates.terms.iter().map(|(who, _)| who.clone()).collect();
        let token = Token::Updated(Box::new(base.clone()), instances);
        let value = Value::Hash(hash_of((op.sign(), value, sum)));
        Held { value, token, cause, updates: Some(updates) }
    }
}

/// What a read sees.
pub(super) struct Seen {
    pub cell: CellName,
    pub token: Token,
    pub value: Value,
    /// Whether the cell is known. If not, nothing writes the array.
    pub known: bool,
}

/// A point that an accumulator has combined, with the hash of its term.
#[derive(Clone)]
pub(super) struct Point {
    pub point: Vec<i64>,
    pub hash: u64,
    pub cause: Cause,
}

pub(super) struct Machine<'a, 'k> {
    pub model: &'a Model<'k>,
    parameters: &'a Parameters,
    pub cells: HashMap<Key, Held>,
    sums: HashMap<Key, Vec<Point>>,
    /// The errors so far. One counts if it changes the value of an output.
    pub failures: Vec<Failure>,
    lanes: HashMap<Name, Vec<Name>>,
    /// For each accumulator, the axes that the inames of its reduction are on.
    shared: HashMap<Name, AxisSet>,
    arguments: Vec<Name>,
}

impl Run {
    /// The value that a declared instance computes, of a run of the declared kernel. None if it does
    /// not run.
    pub fn value(&self, who: &Instance) -> Option<Value> {
        self.values.get(who).copied()
    }
}

impl Machine<'_, '_> {
    fn key(&self, x: &Execution, a: &Access, index: Vec<i64>) -> Key {
        let part = &self.model.parts[x.part];
        let mut mine = Vec::new();
        if a.accumulator {
            // Each thread that runs the whole reduction itself has its own accumulator; threads
            // that share the reduction combine theirs.
            let shared = &self.shared[&a.array];
            mine.extend(x.place.iter().filter(|(axis, _)| !shared.contains(*axis)).map(|(_, at)| *at));
        } else {
            mine.extend(owner(self.model.space(&a.array)).iter().map(|axis| x.place[axis]));
            if self.model.space(&a.array) == AddressSpace::Private {
                for l in self.lanes.get(&a.array).into_iter().flatten() {
                    // Outside the lanes there is no copy.
                    mine.push(part.inames.iter().position(|i| i == l).map_or(i64::MIN, |k| x.values[k]));
                }
            }
        }
        (a.array.clone(), mine, index)
    }

    pub(super) fn initial(&self, cell: &CellName) -> Held {
        let token = if self.arguments.contains(&cell.array) {
            Token::Initial(cell.clone())
        } else {
            Token::Unwritten
        };
        Held { value: Value::Hash(hash_of(&token)), token, cause: None, updates: None }
    }
}

/// Whether executions have different values of an iname: a single lane needs no copy of its own.
fn has_several_values(model: &Model<'_>, all: &[Execution], iname: &Name) -> bool {
    let mut values = all.iter().filter_map(|x| {
        let k = model.parts[x.part].inames.iter().position(|n| n == iname)?;
        Some(x.values[k])
    });
    let first = values.next();
    values.any(|v| Some(v) != first)
}

/// Runs a kernel. Without `declared` it is the declared kernel, and the result is the reference for
/// transformed ones. With `declared`, the outer `Err` says why there is no run, and the inner `Err`
/// is the first failure.
pub fn replay(
    model: &Model<'_>,
    fixed: &Parameters,
    declared: Option<&Run>,
) -> Result<Result<Run, Failure>, Stop> {
    let ready = prepare(model, fixed)?;
    let all = executions(model, fixed)?;
    let arguments = model
        .kernel
        .args
        .iter()
        .filter(|a| matches!(a, Arg::Array(_)))
        .map(|a| a.name().clone())
        .collect::<Vec<_>>();
    let mut lanes = HashMap::new();
    for array in model.touches.keys() {
        let mut owning = model.written_lanes(array);
        owning.retain(|l| has_several_values(model, &all, l));
        lanes.insert(array.clone(), owning);
    }
    let shared = shared_axes(model);
    let mut machine = Machine {
        model,
        parameters: fixed,
        cells: HashMap::new(),
        sums: HashMap::new(),
        failures: Vec::new(),
        lanes,
        shared,
        arguments,
    };
    let mut run = Run::default();
    let mut start = 0;
    while start < all.len() {
        let mut end = start + 1;
        while end < all.len() && all[end].part == all[start].part && all[end].time == all[start].time {
            end += 1;
        }
        let group = &all[start..end];
        if let Err(failure) = machine.group(group, &ready[all[start].part], declared, &mut run)? {
            return Ok(Err(failure));
        }
        start = end;
    }
    // Each live-out cell is read once at the end.
    for ((array, _, index), held) in &machine.cells {
        if machine.arguments.contains(array) {
            let cell = CellName { array: array.clone(), index: index.clone() };
            run.outputs.insert(cell, (held.token.clone(), held.value));
        }
    }
    if let Some(declared) = declared {
        if let Some(failure) = machine.wrong_output(declared, &run) {
            return Ok(Err(failure));
        }
        run.harmless = !machine.failures.is_empty() || declared.outputs != run.outputs;
    }
    Ok(Ok(run))
}

impl Machine<'_, '_> {
    /// The declared reduction whose result a declared part uses at this place.
    pub(super) fn reduction(&self, who: &Instance, place: usize) -> Option<Arc<Reduce>> {
        let instruction = self.model.kernel.declared().instruction(&who.instruction)?;
        let number = *consumed(instruction, who.part).get(place)?;
        instruction.reductions().get(number).cloned()
    }

    /// The result of a reduction, from the terms of its points.
    fn reduced(&self, who: &Instance, place: usize, points: &[Point]) -> u64 {
        let declared = self.model.kernel.declared();
        let operator = self.reduction(who, place).and_then(|r| declared.operator(&r.op));
        let mut terms: Vec<u64> = points.iter().map(|p| p.hash).collect();
        if operator.as_ref().is_some_and(|op| op.idempotent) {
            terms.sort_unstable();
            terms.dedup();
        }
        let joined = match operator.as_ref().is_none_or(|op| op.commutes) {
            true => terms.into_iter().fold(0, u64::wrapping_add),
            false => hash_of(terms),
        };
        hash_of((operator.map(|op| op.name), joined))
    }

    /// Runs the executions of one part at the same time.
    fn group(
        &mut self,
        group: &[Execution],
        ready: &Ready,
        declared: Option<&Run>,
        run: &mut Run,
    ) -> Result<Result<(), Failure>, Stop> {
        let mut touched: HashMap<Key, Vec<(usize, bool)>> = HashMap::new();
        let nothing = Value::Hash(0);
        let unknown = Held { token: Token::Unwritten, value: nothing, cause: None, updates: None };
        let mut copied: Vec<Held> = vec![unknown; group.len()];
        let mut added: Vec<Vec<Point>> = vec![Vec::new(); group.len()];
        let mut causes: Vec<Cause> = vec![None; group.len()];
        let mut reads: Vec<Vec<Seen>> = Vec::with_capacity(group.len());
        let mut joined: Vec<Vec<Vec<Point>>> = vec![Vec::new(); group.len()];
        let several = group.iter().any(|x| x.place != group[0].place);
        for (k, x) in group.iter().enumerate() {
            let mut seen = Vec::new();
            for a in &ready.accesses {
                let Some(functions) = &a.cell else {
                    let cell = CellName { array: a.array.clone(), index: Vec::new() };
                    seen.push(Seen { value: nothing, token: Token::Unwritten, cell, known: false });
                    continue;
                };
                let index: Vec<i64> = functions.iter().map(|f| f.at(&x.values)).collect();
                let key = self.key(x, a, index);
                // Updates of a part are of one kind, and nothing else of it touches their array.
                let updates = matches!(a.touch, Touch::Combine(_));
                if several && a.seen && !updates && a.happens(&x.values) {
                    touched.entry(key.clone()).or_default().push((k, a.touch != Touch::Read));
                }
                if a.touch != Touch::Read {
                    continue;
                }
                if a.accumulator {
                    let mut points = self.sums.get(&key).cloned().unwrap_or_default();
                    self.seen_by_scan(x, ready, &mut points);
                    if matches!(ready.role, PartRole::Joins(..)) {
                        added[k].extend(points);
                    } else {
                        causes[k] = points.iter().fold(causes[k], |c, p| first(c, p.cause));
                        joined[k].push(points);
                    }
                    continue;
                }
                let cell = CellName { array: key.0.clone(), index: key.2.clone() };
                let held = self.cells.get(&key).cloned().unwrap_or_else(|| self.initial(&cell));
                causes[k] = first(causes[k], held.cause);
                if !a.bound {
                    seen.push(Seen { cell, token: held.token.clone(), value: held.value, known: true });
                }
                copied[k] = held;
            }
            reads.push(seen);
        }
        if let Some(failure) = self.race(group, ready, &touched, declared) {
            return Ok(Err(failure));
        }
        let who: Vec<Instance> = group.iter().map(|x| instance(ready, x)).collect();
        let values: Vec<Value> = match &ready.role {
            PartRole::Does(id, part) => {
                let computes = self.expressions()?.of(id, *part);
                (0..group.len()).map(|k| self.value(computes, &who[k], &reads[k], &joined[k])).collect()
            }
            _ => copied.iter().map(|held| held.value).collect(),
        };
        if let PartRole::Does(id, _) = &ready.role {
            for (k, who) in who.iter().enumerate() {
                if let Some(declared) = declared {
                    if declared.reads.get(who).is_some_and(|r| r.len() != reads[k].len()) {
                        return Err(Stop::Other(format!("`{id}` is written in another way")));
                    }
                    if let Err(failure) = self.check(declared, run, who, &reads[k], &joined[k]) {
                        causes[k] = first(causes[k], Some(self.failures.len()));
                        self.failures.push(failure);
                    }
                    // The value is right, whatever its operands.
                    if declared.values.get(who) == Some(&values[k]) {
                        causes[k] = None;
                    }
                } else {
                    run.values.insert(who.clone(), values[k]);
                    run.reads.insert(who.clone(), std::mem::take(&mut reads[k]));
                    for (n, points) in joined[k].iter().enumerate() {
                        let mut points: Vec<Vec<i64>> = points.iter().map(|p| p.point.clone()).collect();
                        if self.sorts(who, n) {
                            points.sort();
                        }
                        run.joined.insert((who.clone(), n), points);
                    }
                }
            }
            for who in &who {
                let number = run.order.len();
                run.order.entry(who.clone()).or_insert(number);
            }
        }
        let several_targets = ready.accesses.iter().any(|a| a.touch == Touch::Write && a.target > 0);
        for (k, x) in group.iter().enumerate() {
            let who = &who[k];
            for a in &ready.accesses {
                let Some(functions) = a.cell.as_ref().filter(|_| a.touch != Touch::Read) else { continue };
                let index: Vec<i64> = functions.iter().map(|f| f.at(&x.values)).collect();
                let key = self.key(x, a, index);
                if let Touch::Combine(op) = &a.touch {
                    let cell = CellName { array: key.0.clone(), index: key.2.clone() };
                    let held = self.cells.remove(&key).unwrap_or_else(|| self.initial(&cell));
                    self.cells.insert(key, held.updated(op, who, values[k], causes[k]));
                    continue;
                }
                if !a.accumulator {
                    let token = match ready.role {
                        PartRole::Copies => copied[k].token.clone(),
                        _ => Token::Definition(who.clone(), a.target),
                    };
                    let value = match ready.role {
                        // One of several results.
                        PartRole::Does(..) if several_targets => Value::Hash(hash_of((values[k], a.target))),
                        _ => values[k],
                    };
                    // Updates of a copy go on from those of its source: that several are in two cells
                    // one after the other makes no difference to what they come to.
                    let updates = match ready.role {
                        PartRole::Copies => copied[k].updates.clone(),
                        _ => None,
                    };
                    self.cells.insert(key, Held { token, value, cause: causes[k], updates });
                    continue;
                }
                let is_init = matches!(self.model.parts[x.part].part.part, Part::Init(_));
                let sum = self.sums.entry(key).or_default();
                match &ready.role {
                    _ if is_init => sum.clear(),
                    PartRole::Joins(..) => sum.append(&mut added[k]),
                    _ => sum.push(Point {
                        point: who.point.iter().map(|(_, v)| *v).collect(),
                        hash: hash_of(values[k]),
                        cause: causes[k],
                    }),
                }
            }
        }
        Ok(Ok(()))
    }

    /// The expressions of the declared kernel.
    fn expressions(&self) -> Result<&Expressions, Stop> {
        let found = self.model.expressions.get_or_init(|| expressions(self.model.kernel.declared()));
        found.as_ref().map_err(Clone::clone)
    }

    /// The value that an execution computes.
    fn value(
        &self,
        computes: Option<&Computes>,
        who: &Instance,
        reads: &[Seen],
        joined: &[Vec<Point>],
    ) -> Value {
        let reduced: Vec<u64> =
            joined.iter().enumerate().map(|(n, points)| self.reduced(who, n, points)).collect();
        let (declared, parameters) = (self.model.kernel.declared(), self.parameters);
        Evaluation { declared, parameters, who, reads, reduced: &reduced }.of(computes)
    }

    /// The points of a scan whose iname value is at most the reader's own, ordered by the iname, as
    /// points of the reader.
    fn seen_by_scan(&self, x: &Execution, ready: &Ready, points: &mut Vec<Point>) {
        let Some(iname) = &self.model.instruction(&self.model.parts[x.part]).scan else { return };
        let Some(k) = ready.point.iter().position(|(n, _)| n == iname) else { return };
        let own = ready.point[k].1.at(&x.values);
        points.retain(|p| p.point.get(k).is_some_and(|v| *v <= own));
        points.sort_by_key(|p| p.point.get(k).copied());
        for p in points {
            p.point[k] = own;
        }
    }

    /// Whether the order of the points of a reduction is irrelevant.
    pub(super) fn sorts(&self, who: &Instance, place: usize) -> bool {
        let declared = self.model.kernel.declared();
        self.reduction(who, place).and_then(|r| declared.operator(&r.op)).is_none_or(|op| op.commutes)
    }
}
