//! The run itself: group by group, the state of cells and accumulators, and what each execution
//! sees, computes and leaves.
//!
//! A group is the set of executions of one part at the same time. All of them read before any
//! writes, so what they see does not depend on their order.

use std::{collections::HashMap, sync::Arc};

use loopwright_kernel_ir::{AddressSpace, AxisSet, DType, Name, Part, PartRef, UpdateOp};
use loopwright_poly::Table;

use super::{
    Data, Failure, Instance, Parameters, Stop, Token,
    expressions::{Computes, Expressions, expressions},
    numbering::{Cells, Instances, Who},
    schedule::{Access, Execution, Ready, executions, number, prepare},
    value::{Evaluation, Reduced, Value, hash_of},
};
use crate::{Model, Touch, accumulator, roles::PartRole};

/// The record of a run. That of the declared kernel is the reference for transformed ones.
#[derive(Default)]
pub struct Run {
    pub(super) instances: Instances,
    pub(super) cells: Cells,
    /// What each instance of a declared run did, by number, which is the order in which they ran.
    pub(super) records: Vec<Record>,
    /// What the outputs hold at the end, by cell; `None` for what was not written.
    pub(super) outputs: Vec<Option<(Tok, Value)>>,
    /// Whether some reads saw definitions other than the declared ones, without changing an output.
    pub(crate) harmless: bool,
}

/// What an instance of the declared run did.
pub(super) struct Record {
    /// The definitions that its reads saw, with their values.
    pub reads: Vec<Seen>,
    /// The value that it computed.
    value: Value,
    /// The points that each reduction combined whose result it used.
    pub joined: Vec<Vec<Arc<[i64]>>>,
}

/// The definition that a cell holds: a [`Token`] by numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    Unwritten,
    Initial(Arc<super::CellName>),
    Definition(Who, usize),
    /// The definition before, and the instances in the order of their numbers.
    Updated(Arc<(Tok, Vec<Who>)>),
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
    pub token: Tok,
    pub value: Value,
    pub cause: Cause,
    /// The updates since it was written, or since those of another kind.
    updates: Option<Arc<Updates>>,
}

/// Updates of one kind, which commute.
#[derive(Clone)]
struct Updates {
    op: UpdateOp,
    /// What the cell held before, and the value of that.
    base: (Tok, Value),
    /// The instances, each with a hash of the value by which it updates.
    terms: Vec<(Who, u64)>,
}

impl Held {
    /// What a cell of integers, or of something else, holds after an update by a value. Sums of
    /// integers are sums of their terms, whoever adds which.
    fn updated(self, op: &UpdateOp, integers: bool, who: Who, term: Value, cause: Cause) -> Held {
        let adds = integers && *op == UpdateOp::Sum;
        let cause = first(self.cause, cause);
        let mut updates = match self.updates {
            Some(same) if same.op == *op => Arc::unwrap_or_clone(same),
            _ => Updates { op: op.clone(), base: (self.token, self.value), terms: Vec::new() },
        };
        updates.terms.push((who, if adds { term.ring() } else { hash_of(term) }));
        updates.terms.sort_unstable();
        if op.is_idempotent() {
            updates.terms.dedup();
        }
        let (base, value) = &updates.base;
        let sum = updates.terms.iter().fold(0, |sum: u64, (_, term)| sum.wrapping_add(*term));
        let instances = updates.terms.iter().map(|(who, _)| *who).collect();
        let token = Tok::Updated(Arc::new((base.clone(), instances)));
        let value = match adds {
            true => Value::Hash(value.ring().wrapping_add(sum)),
            false => Value::Hash(hash_of((op.sign(), value, sum))),
        };
        Held { value, token, cause, updates: Some(Arc::new(updates)) }
    }
}

/// The definition that a read sees, and its value.
pub(super) struct Seen {
    /// The cell, if it is known. If not, nothing writes the array.
    pub cell: Option<usize>,
    pub token: Tok,
    pub value: Value,
}

/// A point that an accumulator has combined, with its term. The point is the vector of an instance.
#[derive(Clone)]
pub(super) struct Point {
    pub point: Arc<[i64]>,
    term: Value,
    pub cause: Cause,
    /// The time at which a scan has added it; `None` of points that are no scan's.
    time: Option<Arc<[i64]>>,
}

/// One execution of a group, after its reads.
struct Doing {
    who: Who,
    seen: Vec<Seen>,
    /// The points of the reductions whose results it uses.
    joined: Vec<Vec<Point>>,
    /// The points that it adds to those of another accumulator.
    added: Vec<Point>,
    /// What it read last, which a copy passes on.
    copied: Option<Held>,
    value: Value,
    cause: Cause,
}

/// The value of what is not known.
const NOTHING: Value = Value::Hash(0);

pub(super) struct Machine<'a, 'k> {
    pub model: &'a Model<'k>,
    parameters: &'a Parameters,
    data: Data,
    pub declared: Option<&'a Run>,
    pub instances: Instances,
    pub cells: Cells,
    /// What the cells hold that have been touched, by number, and whether they were written.
    pub held: Vec<Option<(Held, bool)>>,
    sums: Table<usize, Vec<Point>>,
    records: Vec<Record>,
    /// The errors so far. One counts if it changes the value of an output.
    pub failures: Vec<Failure>,
    /// Which instances of the declared run have run.
    pub ran: Vec<bool>,
    /// Room for the vector of a cell or an instance.
    vector: Vec<i64>,
}

impl Run {
    /// The value that a declared instance computes, of a run of the declared kernel. None if it
    /// does not run.
    pub fn value(&self, who: &Instance) -> Option<Value> {
        Some(self.records.get(self.instances.find(who)?)?.value)
    }
}

impl Machine<'_, '_> {
    /// The cell that an execution touches.
    fn cell(&mut self, x: &Execution, a: &Access, index: impl Iterator<Item = i64>) -> usize {
        let cell = self.cells.touched(a.array, x, &a.lanes, index, &mut self.vector);
        if cell >= self.held.len() {
            self.held.resize_with(cell + 1, || None);
        }
        cell
    }

    /// What a cell holds before it is written.
    pub(super) fn initial(cells: &Cells, cell: usize) -> Held {
        let (token, named) = if cells.is_given(cell) {
            let name = cells.name(cell);
            (Tok::Initial(Arc::new(name.clone())), Token::Initial(name))
        } else {
            (Tok::Unwritten, Token::Unwritten)
        };
        Held { value: Value::Hash(hash_of(named)), token, cause: None, updates: None }
    }

    /// The cell's present content; the initial one if nothing has written it.
    fn holds(&mut self, cell: usize) -> Held {
        let initial = || (Self::initial(&self.cells, cell), false);
        self.held[cell].get_or_insert_with(initial).0.clone()
    }

    fn write(&mut self, cell: usize, held: Held) {
        self.held[cell] = Some((held, true));
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
/// transformed ones. With `declared`, a run with the same `data`, the outer `Err` says why there is
/// no run, and the inner `Err` is the first failure.
pub fn replay(
    model: &Model<'_>,
    fixed: &Parameters,
    data: Data,
    declared: Option<&Run>,
) -> Result<Result<Run, Failure>, Stop> {
    let mut instances = declared.map(|d| Instances::beside(&d.instances)).unwrap_or_default();
    let mut ready = prepare(model, fixed, &mut instances)?;
    let all = executions(model, fixed)?;
    let cells = Cells::new(model, declared.map(|d| &d.cells), &shared_axes(model), |array| {
        if model.space(array) != AddressSpace::Private {
            return Vec::new();
        }
        let mut owning = model.owning_lanes(array);
        owning.retain(|l| has_several_values(model, &all, l));
        owning
    });
    number(&mut ready, model, &cells);
    let mut machine = Machine {
        model,
        parameters: fixed,
        data,
        declared,
        instances,
        cells,
        held: Vec::new(),
        sums: Table::default(),
        records: Vec::new(),
        failures: Vec::new(),
        ran: vec![false; declared.map_or(0, |d| d.records.len())],
        vector: Vec::new(),
    };
    for group in all.chunk_by(|x, y| x.part == y.part && x.time == y.time) {
        if let Err(failure) = machine.group(group, &ready[group[0].part])? {
            return Ok(Err(failure));
        }
    }
    // Each live-out cell is read once at the end.
    let mut outputs = Vec::with_capacity(machine.held.len());
    for (cell, held) in machine.held.iter().enumerate() {
        let written = held.as_ref().filter(|(_, written)| *written && machine.cells.is_given(cell));
        outputs.push(written.map(|(held, _)| (held.token.clone(), held.value)));
    }
    let mut harmless = false;
    if let Some(declared) = declared {
        let differ = machine.differing(declared, &outputs);
        if let Some(failure) = machine.wrong_output(&differ) {
            return Ok(Err(failure));
        }
        harmless = !machine.failures.is_empty() || !differ.is_empty();
    }
    let Machine { instances, cells, records, .. } = machine;
    Ok(Ok(Run { instances, cells, records, outputs, harmless }))
}

impl Machine<'_, '_> {
    /// The result of the reduction that a part uses at this place, from the terms of its points.
    fn reduced(ready: &Ready, place: usize, points: &[Point]) -> Reduced {
        let operator = ready.operator(place);
        let sum = ready.is_sum(place).then(|| {
            let sum = points.iter().fold(0, |sum: u64, p| sum.wrapping_add(p.term.ring()));
            match points.iter().all(|p| p.term.number().is_some()) {
                true => Value::Number(DType::I64, sum),
                false => Value::Hash(sum),
            }
        });
        let mut terms: Vec<u64> = points.iter().map(|p| hash_of(p.term)).collect();
        if operator.is_some_and(|op| op.idempotent) {
            terms.sort_unstable();
            terms.dedup();
        }
        let joined = match ready.sorts(place) {
            true => terms.into_iter().fold(0, u64::wrapping_add),
            false => hash_of(terms),
        };
        Reduced { hash: hash_of((operator.map(|op| &op.name), joined)), sum }
    }

    /// What an execution reads.
    fn reads(&mut self, x: &Execution, ready: &Ready, touched: &mut impl FnMut(usize, &Access)) -> Doing {
        let mut doing = Doing {
            who: 0,
            seen: Vec::new(),
            joined: Vec::new(),
            added: Vec::new(),
            copied: None,
            value: NOTHING,
            cause: None,
        };
        for a in &ready.accesses {
            let Some(functions) = &a.cell else {
                doing.seen.push(Seen { value: NOTHING, token: Tok::Unwritten, cell: None });
                continue;
            };
            let cell = self.cell(x, a, functions.iter().map(|f| f.at(&x.values)));
            touched(cell, a);
            if a.touch != Touch::Read {
                continue;
            }
            if a.accumulator {
                let mut points = self.sums.get(&cell).cloned().unwrap_or_default();
                self.seen_by_scan(x, ready, &mut points);
                if matches!(ready.role, PartRole::Joins(..)) {
                    doing.added.extend(points);
                } else {
                    doing.cause = points.iter().fold(doing.cause, |c, p| first(c, p.cause));
                    doing.joined.push(points);
                }
                continue;
            }
            let held = self.holds(cell);
            doing.cause = first(doing.cause, held.cause);
            if !a.bound {
                doing.seen.push(Seen { cell: Some(cell), token: held.token.clone(), value: held.value });
            }
            doing.copied = Some(held);
        }
        doing
    }

    /// Runs the executions of one part at the same time.
    fn group(&mut self, group: &[Execution], ready: &Ready) -> Result<Result<(), Failure>, Stop> {
        let mut touched: Table<usize, Vec<(usize, bool)>> = Table::default();
        let several = group.iter().any(|x| x.place != group[0].place);
        let mut doing = Vec::with_capacity(group.len());
        for (k, x) in group.iter().enumerate() {
            doing.push(self.reads(x, ready, &mut |cell, a| {
                // Updates of a part are of one kind, and nothing else of it touches their array.
                let updates = matches!(a.touch, Touch::Combine(_));
                if several && a.seen && !updates && a.happens(&x.values) {
                    touched.entry(cell).or_default().push((k, a.touch != Touch::Read));
                }
            }));
        }
        if let Some(failure) = self.race(group, ready, &touched) {
            return Ok(Err(failure));
        }
        let declared = self.declared;
        for (x, doing) in group.iter().zip(&mut doing) {
            self.vector.clear();
            self.vector.extend(ready.instance(x));
            doing.who = self.instances.number(&self.vector, declared.map(|d| &d.instances));
        }
        match &ready.role {
            PartRole::Does(id, part) => {
                let computes = self.expressions()?.of(id, *part);
                for doing in &mut doing {
                    doing.value = self.value(computes, ready, doing);
                }
            }
            _ => {
                for doing in &mut doing {
                    doing.value = doing.copied.as_ref().map_or(NOTHING, |held| held.value);
                }
            }
        }
        let Some(declared) = declared else {
            for (x, mut doing) in group.iter().zip(doing) {
                self.record(ready, &mut doing);
                self.writes(x, ready, doing);
            }
            return Ok(Ok(()));
        };
        if let PartRole::Does(id, _) = &ready.role {
            for doing in &mut doing {
                // An instance that is not declared may read anything.
                let Some(expected) = declared.records.get(doing.who) else { continue };
                if expected.reads.len() != doing.seen.len() {
                    return Err(Stop::Other(format!("`{id}` is written in another way")));
                }
                if let Err(failure) = self.check(declared, ready, doing.who, &doing.seen, &doing.joined) {
                    doing.cause = first(doing.cause, Some(self.failures.len()));
                    self.failures.push(failure);
                }
                // The value is right, whatever its operands.
                if expected.value == doing.value {
                    doing.cause = None;
                }
            }
        }
        for doing in &doing {
            if let Some(ran) = self.ran.get_mut(doing.who) {
                *ran = true;
            }
        }
        for (x, doing) in group.iter().zip(doing) {
            self.writes(x, ready, doing);
        }
        Ok(Ok(()))
    }

    /// Records what an instance of the declared run did.
    fn record(&mut self, ready: &Ready, doing: &mut Doing) {
        let points = |(n, points): (usize, &Vec<Point>)| {
            let mut points: Vec<Arc<[i64]>> = points.iter().map(|p| p.point.clone()).collect();
            if ready.sorts(n) {
                points.sort();
            }
            points
        };
        let joined = doing.joined.iter().enumerate().map(points).collect();
        let record = Record { reads: std::mem::take(&mut doing.seen), value: doing.value, joined };
        match self.records.get_mut(doing.who) {
            Some(again) => *again = record,
            None => self.records.push(record),
        }
    }

    /// Writes what an execution leaves.
    fn writes(&mut self, x: &Execution, ready: &Ready, mut doing: Doing) {
        let several_targets = ready.accesses.iter().any(|a| a.touch == Touch::Write && a.target > 0);
        for a in &ready.accesses {
            let Some(functions) = a.cell.as_ref().filter(|_| a.touch != Touch::Read) else { continue };
            let cell = self.cell(x, a, functions.iter().map(|f| f.at(&x.values)));
            if let Touch::Combine(op) = &a.touch {
                let held = self.holds(cell);
                let held = held.updated(op, a.integers, doing.who, doing.value, doing.cause);
                self.write(cell, held);
                continue;
            }
            if !a.accumulator {
                let held = match &ready.role {
                    // Updates of a copy go on from those of its source: that several are in two
                    // cells one after the other makes no difference to what they come to.
                    PartRole::Copies => {
                        let (token, updates) = match &doing.copied {
                            Some(held) => (held.token.clone(), held.updates.clone()),
                            None => (Tok::Unwritten, None),
                        };
                        Held { token, value: doing.value, cause: doing.cause, updates }
                    }
                    role => {
                        // One of several results.
                        let value = match role {
                            PartRole::Does(..) if several_targets => {
                                Value::Hash(hash_of((doing.value, a.target)))
                            }
                            _ => doing.value,
                        };
                        let token = Tok::Definition(doing.who, a.target);
                        Held { token, value, cause: doing.cause, updates: None }
                    }
                };
                self.write(cell, held);
                continue;
            }
            let is_init = matches!(self.model.parts[x.part].part.part, Part::Init(_));
            let point = self.instance_vector(doing.who).clone();
            let sum = self.sums.entry(cell).or_default();
            match &ready.role {
                _ if is_init => sum.clear(),
                PartRole::Joins(..) => sum.append(&mut doing.added),
                _ => {
                    let of_scan = self.model.instruction(&self.model.parts[x.part]).scan.is_some();
                    let time = of_scan.then(|| Arc::from(x.time.as_slice()));
                    sum.push(Point { point, term: doing.value, cause: doing.cause, time });
                }
            }
        }
    }

    /// The expressions of the declared kernel.
    fn expressions<'m>(&self) -> Result<&'m Expressions, Stop>
    where
        Self: 'm,
    {
        let found = self.model.expressions.get_or_init(|| expressions(self.model.kernel.declared()));
        found.as_ref().map_err(Clone::clone)
    }

    /// The vector of an instance.
    pub(super) fn instance_vector(&self, who: Who) -> &Arc<[i64]> {
        self.instances.vector(who, self.declared.map(|d| &d.instances))
    }

    /// The value that an execution computes.
    fn value(&self, computes: Option<&Computes>, ready: &Ready, doing: &Doing) -> Value {
        let reduced = doing.joined.iter().enumerate().map(|(n, points)| Self::reduced(ready, n, points));
        let reduced: Vec<Reduced> = reduced.collect();
        Evaluation {
            declared: self.model.kernel.declared(),
            parameters: self.parameters,
            data: self.data,
            point: &self.instances.point(self.instance_vector(doing.who)).collect::<Vec<_>>(),
            reads: &doing.seen,
            reduced: &reduced,
        }
        .of(computes)
    }

    /// What a scan delivers: the points of earlier rounds, whatever their iname values, and those
    /// of its own round, which are joined in order, up to the reader's own value. They are ordered
    /// by the iname, as points of the reader.
    fn seen_by_scan(&self, x: &Execution, ready: &Ready, points: &mut Vec<Point>) {
        let Some(iname) = &self.model.instruction(&self.model.parts[x.part]).scan else { return };
        let Some(k) = ready.point.iter().position(|(n, _)| n == iname) else { return };
        let own = ready.point[k].1.at(&x.values);
        // The first entry of a vector is that of its part.
        let k = k + 1;
        let path = &self.model.parts[x.part].path;
        let in_an_earlier_round = |time: &[i64]| {
            let mut values = time.iter().zip(&x.time);
            for step in path {
                if values.next().is_none_or(|(point, own)| point != own) {
                    return false;
                }
                if step.iname.is_some() {
                    match values.next() {
                        Some((point, own)) if point == own => {}
                        earlier => return earlier.is_some_and(|(point, own)| point < own),
                    }
                }
            }
            false
        };
        points.retain(|p| {
            p.point.get(k).is_some_and(|v| *v <= own) || p.time.as_deref().is_some_and(in_an_earlier_round)
        });
        points.sort_by_key(|p| p.point.get(k).copied());
        for p in points {
            p.point = p.point.iter().enumerate().map(|(at, v)| if at == k { own } else { *v }).collect();
        }
    }
}
