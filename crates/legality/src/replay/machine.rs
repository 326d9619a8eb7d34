//! The run itself.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
};

use loopwright_kernel_ir::{AddressSpace, Aff, Arg, Expr, Instruction, Name, Part, PartRef};

use super::{
    CellName, Instance, Parameters, Stop, Token,
    points::{Function, points},
};
use crate::{Coordinate, Model, Touch, accumulator, event::evaluated, model::AXES, roles::PartRole};

/// One access of a part, ready to run.
struct Access {
    array: Name,
    touch: Touch,
    /// `None`: nobody writes the array, and its values do not matter.
    cell: Option<Vec<Function>>,
    accumulator: bool,
    /// Whether different threads may not meet in its cells.
    seen: bool,
    bound: bool,
    /// Which target a write is.
    target: usize,
}

struct Ready {
    role: PartRole,
    /// Declared inames with their values.
    point: Vec<(Name, Function)>,
    /// Which of them the declared expression takes as values, outside of subscripts.
    valued: Vec<bool>,
    accesses: Vec<Access>,
}

/// One execution.
struct Execution {
    part: usize,
    values: Vec<i64>,
    place: [i64; AXES],
    time: Vec<i64>,
}

type Key = (Name, Vec<i64>, Vec<i64>);

/// What a run of the declared kernel says, and what a transformed one is held to.
#[derive(Default)]
pub struct Run {
    /// The definitions that the reads of each instance see, with hashes of their values.
    reads: HashMap<Instance, Vec<Seen>>,
    /// The points that each finished reduction has joined.
    joined: HashMap<(Instance, usize), Vec<Vec<i64>>>,
    /// What outputs hold at the end.
    outputs: BTreeMap<CellName, (Token, u64)>,
    /// The order in which instances ran.
    order: HashMap<Instance, usize>,
    /// Whether reads saw other definitions than declared, and no output another value for it.
    pub(crate) harmless: bool,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Two threads touch one cell at the same time, one of them writing.
    Race {
        /// The two instances, the one that is declared to come first first, and whether each writes.
        instances: [(Instance, bool); 2],
        /// The cell.
        cell: CellName,
        /// Inames on which the two differ.
        differ: Vec<Name>,
    },
    /// A read sees another definition than declared.
    Read {
        /// Who reads.
        reader: Instance,
        /// The cell that it is declared to read.
        cell: CellName,
        /// What it has to see.
        expected: Token,
        /// What it sees.
        found: Token,
        /// Whether the definition that it has to see runs later now.
        later: bool,
    },
    /// An output holds another definition at the end.
    Output {
        /// The cell.
        cell: CellName,
        /// What it has to hold.
        expected: Token,
        /// What it holds.
        found: Token,
        /// Whether the instance that has to write it has run.
        ran: bool,
    },
    /// A reduction joins other points.
    Points {
        /// The instance that uses its result.
        reader: Instance,
        /// A point.
        point: Vec<i64>,
        /// How often it is joined.
        times: usize,
        /// How often it has to be.
        expected: usize,
    },
}

/// Runs at most this many executions.
const LIMIT: usize = 60_000;

fn prepare(model: &Model<'_>, fixed: &Parameters) -> Result<Vec<Ready>, Stop> {
    let declared = model.kernel.declared();
    let mut ready = Vec::new();
    for part in &model.parts {
        let role = model.role(part);
        let mut names: Vec<Name> = Vec::new();
        if let PartRole::Does(id, _) | PartRole::Joins(id, _) = &role
            && let Some(instruction) = declared.instruction(id)
        {
            names.extend(instruction.within.iter().cloned());
            if let PartRole::Does(_, here) = &role {
                let part = PartRef { instruction: id.clone(), part: *here };
                names.extend(
                    declared.part_inames(&part).into_iter().filter(|n| !instruction.within.contains(n)),
                );
            }
        }
        let valued = match &role {
            PartRole::Does(id, here) => declared.instruction(id).map(|i| valued(i, *here, &names)),
            _ => None,
        };
        let mut point = Vec::new();
        for n in names {
            // A scan begins once for all values of its iname.
            let begins = matches!(part.part.part, Part::Init(_));
            let value = match begins && model.instruction(part).scan.as_ref() == Some(&n) {
                true => Aff::constant(0),
                false => model.declared_value(part, &n)?,
            };
            point.push((n, Function::new(&value, &part.inames, fixed)?));
        }
        if let Some(n) = &model.instruction(part).scan
            && !point.iter().any(|(m, _)| m == n)
            && !matches!(part.part.part, Part::Init(_))
        {
            return Err(Stop::Other(format!("a scan along `{n}`, which is not declared, is not replayed")));
        }
        if part.may {
            return Err(Stop::Data(part.part.instruction.clone()));
        }
        let mut accesses = Vec::new();
        let mut target = 0;
        for e in &part.events {
            let accumulator = model.is_accumulator(&e.array);
            let matters = accumulator || model.is_written(&e.array) || declared_writes(model, &e.array);
            let functions = || -> Result<Vec<Function>, Stop> {
                e.cell
                    .iter()
                    .map(|s| match s {
                        Some(s) => Function::new(s, &part.inames, fixed),
                        None => Err(Stop::Data(e.array.clone())),
                    })
                    .collect()
            };
            let cell = if matters { Some(functions()?) } else { functions().ok() };
            accesses.push(Access {
                array: e.array.clone(),
                touch: e.touch,
                cell,
                accumulator,
                seen: !accumulator && model.is_seen(&e.array),
                bound: e.bound,
                target,
            });
            if e.touch == Touch::Write && !accumulator {
                target += 1;
            }
        }
        ready.push(Ready { role, valued: valued.unwrap_or_default(), point, accesses });
    }
    Ok(ready)
}

/// The declared inames among `names` that a part takes as values. Those in subscripts only say which cells are read, and those in the
/// terms of a reduction count where the terms are added: there may be none.
fn valued(instruction: &Instruction, part: Part, names: &[Name]) -> Vec<bool> {
    fn walk(e: &Expr, names: &[Name], found: &mut [bool]) {
        match e {
            Expr::Subscript(_) | Expr::Reduce(_) => {}
            Expr::Name(n) => {
                if let Some(k) = names.iter().position(|m| m == n) {
                    found[k] = true;
                }
            }
            _ => e.children().into_iter().for_each(|c| walk(c, names, found)),
        }
    }
    let mut found = vec![false; names.len()];
    match part {
        Part::Whole | Part::Finish => walk(&instruction.value, names, &mut found),
        part => {
            let terms = evaluated(instruction, part);
            let terms = terms.into_iter().filter(|e| instruction.predicate.as_ref() != Some(*e));
            terms.for_each(|e| walk(e, names, &mut found));
        }
    }
    found
}

fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn declared_writes(model: &Model<'_>, array: &Name) -> bool {
    model.kernel.declared().instructions.iter().any(|i| i.targets.iter().any(|t| t.array == *array))
}

fn executions(model: &Model<'_>, fixed: &Parameters) -> Result<Vec<Execution>, Stop> {
    let mut found = Vec::new();
    let mut extents = [1i64; AXES];
    // What coordinates count from: where that is no one function of the parameters, the least value there is.
    let mut lowers: HashMap<Name, i64> = HashMap::new();
    let mut runs = Vec::with_capacity(model.parts.len());
    for part in &model.parts {
        let points = points(&part.constraints, &part.inames, fixed, LIMIT)?;
        for c in &part.place {
            let Coordinate::Iname(n) = c else { continue };
            let k = part.inames.iter().position(|i| i == n).unwrap_or(0);
            let mut least = points.iter().map(|values| values[k]).min();
            if !lowers.contains_key(n) {
                least = least.into_iter().chain(model.lower(n)?.and_then(|a| a.eval_in(fixed))).min();
            }
            if let Some(least) = least {
                lowers.entry(n.clone()).and_modify(|l| *l = least.min(*l)).or_insert(least);
            }
        }
        runs.push(points);
    }
    for (number, (part, points)) in model.parts.iter().zip(runs).enumerate() {
        for values in points {
            let mut place = [0; AXES];
            for (axis, c) in part.place.iter().enumerate() {
                if let Coordinate::Iname(n) = c {
                    let k = part.inames.iter().position(|i| i == n).unwrap_or(0);
                    place[axis] = values[k] - lowers[n];
                    extents[axis] = extents[axis].max(place[axis] + 1);
                }
            }
            let mut time = Vec::with_capacity(2 * part.path.len());
            for step in &part.path {
                time.push(i64::try_from(step.position).unwrap_or(i64::MAX));
                if let Some(n) = &step.iname {
                    time.push(part.inames.iter().position(|i| i == n).map_or(0, |k| values[k]));
                }
            }
            found.push(Execution { part: number, values, place, time });
            if found.len() > LIMIT {
                return Err(Stop::Large);
            }
        }
    }
    // Parts that every thread runs for itself.
    let mut all = Vec::with_capacity(found.len());
    for x in found {
        let part = &model.parts[x.part];
        let mut places = vec![x.place];
        for axis in 0..AXES {
            if part.place[axis] == Coordinate::Every {
                places = places
                    .into_iter()
                    .flat_map(|p| {
                        (0..extents[axis]).map(move |v| {
                            let mut q = p;
                            q[axis] = v;
                            q
                        })
                    })
                    .collect();
            }
        }
        for place in places {
            all.push(Execution { part: x.part, values: x.values.clone(), place, time: x.time.clone() });
            if all.len() > LIMIT {
                return Err(Stop::Large);
            }
        }
    }
    let lanes = |x: &Execution| -> Vec<i64> {
        let part = &model.parts[x.part];
        part.lanes
            .iter()
            .map(|l| part.inames.iter().position(|i| i == l).map_or(0, |k| x.values[k]))
            .collect()
    };
    all.sort_by(|x, y| {
        x.time.cmp(&y.time).then_with(|| x.place.cmp(&y.place)).then_with(|| lanes(x).cmp(&lanes(y)))
    });
    Ok(all)
}

/// The axes of the inames of each reduction.
fn shared_axes(model: &Model<'_>) -> HashMap<Name, [bool; AXES]> {
    let mut shared: HashMap<Name, [bool; AXES]> = HashMap::new();
    for part in &model.parts {
        let Part::Update(n) = part.part.part else { continue };
        let init = PartRef { instruction: part.part.instruction.clone(), part: Part::Init(n) };
        let around = model.numbers.get(&init).map(|k| &model.parts[*k].inames);
        let mine = shared.entry(accumulator(&part.part.instruction, n)).or_default();
        for (axis, c) in part.place.iter().enumerate() {
            if let Coordinate::Iname(i) = c
                && around.is_none_or(|a| !a.contains(i))
            {
                mine[axis] = true;
            }
        }
    }
    shared
}

/// The first failure, by number, that a value comes from.
type Cause = Option<usize>;

/// The one of two causes that came first.
fn first(a: Cause, b: Cause) -> Cause {
    a.into_iter().chain(b).min()
}

/// What a cell holds: which definition, and which value.
#[derive(Clone)]
struct Held {
    token: Token,
    /// A hash of what is computed and of the values that it is computed from.
    hash: u64,
    cause: Cause,
}

/// What a read sees.
struct Seen {
    cell: CellName,
    token: Token,
    hash: u64,
}

/// A point that an accumulator has joined, with the hash of its term.
#[derive(Clone)]
struct Point {
    point: Vec<i64>,
    hash: u64,
    cause: Cause,
}

struct Machine<'a, 'k> {
    model: &'a Model<'k>,
    cells: HashMap<Key, Held>,
    sums: HashMap<Key, Vec<Point>>,
    /// What went wrong so far. It counts where an output has another value for it.
    failures: Vec<Failure>,
    lanes: HashMap<Name, Vec<Name>>,
    /// For each accumulator, the axes that the inames of its reduction are on.
    shared: HashMap<Name, [bool; AXES]>,
    arguments: Vec<Name>,
}

impl Machine<'_, '_> {
    fn key(&self, x: &Execution, a: &Access, index: Vec<i64>) -> Key {
        let part = &self.model.parts[x.part];
        let mut owner = Vec::new();
        if a.accumulator {
            // Each thread that runs the whole reduction for itself has an accumulator; threads that share it join theirs.
            let shared = &self.shared[&a.array];
            owner.extend((0..AXES).filter(|axis| !shared[*axis]).map(|axis| x.place[axis]));
        } else {
            for axis in Model::owner_axes(self.model.space(&a.array)) {
                owner.push(x.place[axis]);
            }
            if self.model.space(&a.array) == AddressSpace::Private {
                for l in self.lanes.get(&a.array).into_iter().flatten() {
                    // What is outside of the lanes has no copy.
                    owner.push(part.inames.iter().position(|i| i == l).map_or(i64::MIN, |k| x.values[k]));
                }
            }
        }
        (a.array.clone(), owner, index)
    }

    fn initial(&self, cell: &CellName) -> Held {
        let token = if self.arguments.contains(&cell.array) {
            Token::Initial(cell.clone())
        } else {
            Token::Unwritten
        };
        Held { hash: hash_of(&token), token, cause: None }
    }
}

fn instance(ready: &Ready, x: &Execution) -> Instance {
    let point = ready.point.iter().map(|(n, f)| (n.clone(), f.at(&x.values))).collect();
    match &ready.role {
        PartRole::Does(id, part) => Instance { instruction: id.clone(), part: *part, point },
        PartRole::Joins(id, _) => Instance { instruction: id.clone(), part: Part::Whole, point },
        PartRole::Copies => Instance { instruction: Name::new("copy"), part: Part::Whole, point },
    }
}

/// Whether executions have different values of an iname: a lane that is alone keeps no copy of its own.
fn has_several_values(model: &Model<'_>, all: &[Execution], iname: &Name) -> bool {
    let mut values = all.iter().filter_map(|x| {
        let k = model.parts[x.part].inames.iter().position(|n| n == iname)?;
        Some(x.values[k])
    });
    let first = values.next();
    values.any(|v| Some(v) != first)
}

/// Runs a kernel. Without `declared` it is the declared kernel, and the result is what others are held to; with it, `Err` of the outer
/// result is a reason why there is no run, and `Err` of the inner one the first failure.
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
    // What lives out is read once at the end.
    for ((array, _, index), held) in &machine.cells {
        if machine.arguments.contains(array) {
            let cell = CellName { array: array.clone(), index: index.clone() };
            run.outputs.insert(cell, (held.token.clone(), held.hash));
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
    /// What makes an output another value than declared: the first read that went wrong and that some output comes from, otherwise the
    /// definition that is left at the end.
    fn wrong_output(&self, declared: &Run, run: &Run) -> Option<Failure> {
        let cells: std::collections::BTreeSet<&CellName> =
            declared.outputs.keys().chain(run.outputs.keys()).collect();
        let mut cause = None;
        let mut output = None;
        for cell in cells {
            let of = |run: &Run| {
                run.outputs.get(cell).cloned().unwrap_or_else(|| {
                    let held = self.initial(cell);
                    (held.token, held.hash)
                })
            };
            let ((expected, was), (found, is)) = (of(declared), of(run));
            if was == is {
                continue;
            }
            let key = (cell.array.clone(), Vec::new(), cell.index.clone());
            cause = first(cause, self.cells.get(&key).and_then(|held| held.cause));
            if expected != found {
                output.get_or_insert_with(|| {
                    let ran = matches!(&expected, Token::Definition(i, _) if run.order.contains_key(i));
                    Failure::Output { cell: cell.clone(), expected, found, ran }
                });
            }
        }
        cause.and_then(|k| self.failures.get(k).cloned()).or(output)
    }

    /// What a reduction comes to, from the terms of its points.
    fn reduced(&self, id: &Name, number: usize, points: &[Point]) -> u64 {
        let declared = self.model.kernel.declared();
        let reduce = declared.instruction(id).and_then(|i| i.reductions().get(number).cloned());
        let operator = reduce.and_then(|r| declared.operator(&r.op));
        let mut terms: Vec<u64> = points.iter().map(|p| p.hash).collect();
        if operator.as_ref().is_some_and(|op| op.idempotent) {
            terms.sort_unstable();
            terms.dedup();
        }
        match operator.is_none_or(|op| op.commutes) {
            true => terms.into_iter().fold(0, u64::wrapping_add),
            false => hash_of(terms),
        }
    }

    /// The executions of one part at one time.
    fn group(
        &mut self,
        group: &[Execution],
        ready: &Ready,
        declared: Option<&Run>,
        run: &mut Run,
    ) -> Result<Result<(), Failure>, Stop> {
        let mut touched: HashMap<Key, Vec<(usize, bool)>> = HashMap::new();
        let unknown = Held { token: Token::Unwritten, hash: 0, cause: None };
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
                    seen.push(Seen { hash: 0, token: Token::Unwritten, cell });
                    continue;
                };
                let index: Vec<i64> = functions.iter().map(|f| f.at(&x.values)).collect();
                let key = self.key(x, a, index);
                if several && a.seen {
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
                    seen.push(Seen { cell, token: held.token.clone(), hash: held.hash });
                }
                copied[k] = held;
            }
            reads.push(seen);
        }
        if let Some(failure) = self.race(group, ready, &touched, declared) {
            return Ok(Err(failure));
        }
        let who: Vec<Instance> = group.iter().map(|x| instance(ready, x)).collect();
        let hashes: Vec<u64> = match &ready.role {
            PartRole::Does(id, _) => {
                (0..group.len()).map(|k| self.value(ready, id, &who[k], &reads[k], &joined[k])).collect()
            }
            _ => copied.iter().map(|held| held.hash).collect(),
        };
        if let PartRole::Does(id, _) = &ready.role {
            for (k, who) in who.iter().enumerate() {
                if let Some(declared) = declared {
                    if declared.reads.get(who).is_some_and(|r| r.len() != reads[k].len()) {
                        return Err(Stop::Other(format!("`{id}` is written in another way")));
                    }
                    if let Err(failure) = self.check(declared, run, who, &reads[k], &joined[k], id) {
                        causes[k] = first(causes[k], Some(self.failures.len()));
                        self.failures.push(failure);
                    }
                } else {
                    run.reads.insert(who.clone(), std::mem::take(&mut reads[k]));
                    for (n, points) in joined[k].iter().enumerate() {
                        let mut points: Vec<Vec<i64>> = points.iter().map(|p| p.point.clone()).collect();
                        if self.sorts(id, n) {
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
        for (k, x) in group.iter().enumerate() {
            let who = &who[k];
            for a in &ready.accesses {
                let Some(functions) = a.cell.as_ref().filter(|_| a.touch != Touch::Read) else { continue };
                let index: Vec<i64> = functions.iter().map(|f| f.at(&x.values)).collect();
                let key = self.key(x, a, index);
                if !a.accumulator {
                    let token = match ready.role {
                        PartRole::Copies => copied[k].token.clone(),
                        _ => Token::Definition(who.clone(), a.target),
                    };
                    let hash = match ready.role {
                        PartRole::Copies => hashes[k],
                        _ => hash_of((hashes[k], a.target)),
                    };
                    self.cells.insert(key, Held { token, hash, cause: causes[k] });
                    continue;
                }
                let is_init = matches!(self.model.parts[x.part].part.part, Part::Init(_));
                let sum = self.sums.entry(key).or_default();
                match &ready.role {
                    _ if is_init => sum.clear(),
                    PartRole::Joins(..) => sum.append(&mut added[k]),
                    _ => sum.push(Point {
                        point: who.point.iter().map(|(_, v)| *v).collect(),
                        hash: hashes[k],
                        cause: causes[k],
                    }),
                }
            }
        }
        Ok(Ok(()))
    }

    /// A hash of the value that an execution computes: of the expression, the values that it reads, and those of its inames.
    fn value(&self, ready: &Ready, id: &Name, who: &Instance, reads: &[Seen], joined: &[Vec<Point>]) -> u64 {
        let mut hasher = DefaultHasher::new();
        (id, who.part).hash(&mut hasher);
        for seen in reads {
            seen.hash.hash(&mut hasher);
        }
        for (n, points) in joined.iter().enumerate() {
            self.reduced(id, n, points).hash(&mut hasher);
        }
        // Values whose place is not known are taken to differ from instance to instance.
        let all = ready.accesses.iter().any(|a| a.cell.is_none());
        for ((_, value), valued) in who.point.iter().zip(&ready.valued) {
            if all || *valued {
                value.hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Of the points of a scan those of the values of its iname up to the reader's own, in the order of the iname, as points of the reader.
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

    /// Whether the order of the points of a reduction does not matter.
    fn sorts(&self, id: &Name, number: usize) -> bool {
        let declared = self.model.kernel.declared();
        let reduce = declared.instruction(id).and_then(|i| i.reductions().get(number).cloned());
        reduce.and_then(|r| declared.operator(&r.op)).is_none_or(|op| op.commutes)
    }

    fn race(
        &self,
        group: &[Execution],
        ready: &Ready,
        touched: &HashMap<Key, Vec<(usize, bool)>>,
        declared: Option<&Run>,
    ) -> Option<Failure> {
        let mut found: Option<(Key, usize, usize, [bool; 2])> = None;
        for (key, list) in touched {
            let Some((w, _)) = list.iter().find(|(_, write)| *write) else { continue };
            let other = list.iter().find(|(k, _)| group[*k].place != group[*w].place);
            let Some((r, writes)) = other else { continue };
            // The smallest one, so that the choice does not depend on the table's order.
            let candidate = (key.clone(), *w, *r, [true, *writes]);
            if found.as_ref().is_none_or(|f| (&candidate.0.2, candidate.1) < (&f.0.2, f.1)) {
                found = Some(candidate);
            }
        }
        let (key, w, r, writes) = found?;
        let (a, b) = (instance(ready, &group[w]), instance(ready, &group[r]));
        let part = &self.model.parts[group[w].part];
        let differ = part
            .hardware
            .iter()
            .filter(|n| {
                let k = part.inames.iter().position(|i| i == *n).unwrap_or(0);
                group[w].values[k] != group[r].values[k]
            })
            .cloned()
            .collect();
        let position = |i: &Instance| declared.and_then(|d| d.order.get(i).copied());
        let mut instances = [(a, writes[0]), (b, writes[1])];
        if position(&instances[1].0) < position(&instances[0].0) {
            instances.reverse();
        }
        Some(Failure::Race { instances, cell: CellName { array: key.0, index: key.2 }, differ })
    }

    fn check(
        &self,
        declared: &Run,
        run: &Run,
        who: &Instance,
        reads: &[Seen],
        joined: &[Vec<Point>],
        id: &Name,
    ) -> Result<(), Failure> {
        // What is not declared may read what it likes.
        let Some(expected) = declared.reads.get(who) else { return Ok(()) };
        for (expected, found) in expected.iter().zip(reads) {
            // What the declared kernel reads without a definition may be anything. Another definition of the same value does no harm,
            // and another value of the right definition has another cause.
            let (was, is) = (&expected.token, &found.token);
            if was != is && expected.hash != found.hash && *was != Token::Unwritten {
                let later = match was {
                    Token::Definition(i, _) => !run.order.contains_key(i),
                    _ => false,
                };
                return Err(Failure::Read {
                    reader: who.clone(),
                    cell: expected.cell.clone(),
                    expected: was.clone(),
                    found: is.clone(),
                    later,
                });
            }
        }
        for (n, points) in joined.iter().enumerate() {
            let Some(expected) = declared.joined.get(&(who.clone(), n)) else { continue };
            let mut points: Vec<Vec<i64>> = points.iter().map(|p| p.point.clone()).collect();
            if self.sorts(id, n) {
                points.sort();
            }
            let reduce =
                self.model.kernel.declared().instruction(id).and_then(|i| i.reductions().get(n).cloned());
            let idempotent = reduce
                .and_then(|r| self.model.kernel.declared().operator(&r.op))
                .is_some_and(|op| op.idempotent);
            if idempotent {
                points.dedup();
            }
            if points != *expected {
                let times = |p: &[i64], list: &[Vec<i64>]| list.iter().filter(|q| **q == p).count();
                let wrong = points
                    .iter()
                    .chain(expected)
                    .filter(|p| times(p, &points) != times(p, expected))
                    .min()
                    .or(points.first());
                let point = wrong.cloned().unwrap_or_default();
                return Err(Failure::Points {
                    reader: who.clone(),
                    times: times(&point, &points),
                    expected: times(&point, expected),
                    point,
                });
            }
        }
        Ok(())
    }
}
