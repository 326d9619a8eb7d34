//! Runs a kernel for given sizes, declared or transformed, from its text alone: every part for all
//! its instances, in the order of the loop tree, with values in a hash algebra.
//!
//! This is an independent semantics of kernels, for tests of the verdicts on steps; it shares
//! nothing with their models and runs, and makes no queries about sets: instances are found by
//! trying the values of each iname between bounds from interval arithmetic.
//!
//! - A value is a hash of its operation and operands. Integers of inames and parameters are
//!   computed, so that conditions take their branch. A reduction is the multiset of its terms (a
//!   set if the operator is idempotent), whatever nest of reductions adds them.
//! - An execution has a place, a coordinate on each axis of the block and the grid; private cells
//!   belong to a place and a lane, shared ones to a block. A part without an iname on an axis runs
//!   at its first place, or at all of them if its target is private.
//! - Updates of an element since it was written are the multiset of their values (a set for other
//!   operators than the sum), as long as they are by one operator.
//! - Executions of one part at one time read before any of them writes. If two places access one
//!   cell at that time, at least one of them writing, that is a race.

pub mod points;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use loopwright_kernel_ir::{
    AddressSpace, Arg, AxisSet, BinaryOp, Constraint, Expr, HardwareAxis, Instruction, Lookup, LoopKernel,
    Name, Part, PartRef, PerAxis, Reduce, Tree, UnaryOp, UpdateOp,
};

use points::{own_lower, points};

/// Values of the parameters.
pub type Sizes = BTreeMap<Name, i64>;

/// An element of an array.
pub type Cell = (Name, Vec<i64>);

/// Why a kernel cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The execution depends on data.
    Data,
    /// The run has more executions than the limit.
    Large,
    /// A non-commutative operator.
    Ordered,
}

/// An execution of a part, with the values of its inames.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance {
    /// The id of the instruction.
    pub instruction: Name,
    /// The values of its inames, by name.
    pub point: Vec<(Name, i64)>,
}

/// The outcome of a run, by which kernels are compared.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The cells of arguments whose final values are not their initial ones, with the hashes of
    /// their values: a copy that writes back what it loaded changes nothing.
    pub outputs: BTreeMap<Cell, u64>,
    /// A cell that different places access at one time, at least one of them writing.
    pub race: Option<Cell>,
    /// All executed instances.
    pub ran: BTreeSet<Instance>,
    /// For each read, by reader and cell, the last writer, if any.
    pub seen: BTreeMap<(Instance, Cell), Option<Instance>>,
    /// The last writer of each cell.
    pub last: BTreeMap<Cell, Instance>,
}

/// The most executions of a run.
const LIMIT: usize = 40_000;

/// A cell of one owner: its array, the owner, its subscripts.
type Key = (Name, Vec<i64>, Vec<i64>);

/// An accumulator: its instruction, the number of the reduction, the owner.
type Sum = (Name, usize, Vec<i64>);

/// A term of a reduction, with the value of the iname that a scan runs along.
type At = (i64, u64);

fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Value {
    Int(i64),
    Hash(u64),
}

/// The value that an element of an argument has before the kernel runs.
fn initial(array: &Name, index: &[i64]) -> Value {
    Value::Hash(hash_of(("initial", array, index)))
}

struct Leaf<'k> {
    instruction: &'k Instruction,
    part: Part,
    inames: Vec<Name>,
    rows: Vec<Constraint>,
    /// Positions and loops on the path to it.
    path: Vec<(i64, Option<Name>)>,
}

impl Leaf<'_> {
    /// Whether the part reads or writes elements of an array.
    fn touches(&self, array: &Name) -> bool {
        fn reads(e: &Expr, array: &Name) -> bool {
            let mut found = match e {
                Expr::Subscript(access) => access.array == *array,
                Expr::Name(name) => name == array,
                // Its terms are read by another part.
                Expr::Reduce(_) => return false,
                _ => false,
            };
            e.each_child(&mut |child| found |= reads(child, array));
            found
        }
        let Instruction { value, predicate, targets, .. } = self.instruction;
        let subscripts = targets.iter().flat_map(|t| &t.index);
        match self.part {
            Part::Init(_) => false,
            Part::Update(n) => {
                let reductions = self.instruction.reductions();
                let terms = reductions.get(n).into_iter().flat_map(|reduce| &reduce.args);
                terms.chain(predicate).any(|e| reads(e, array))
            }
            Part::Whole | Part::Finish => {
                [value].into_iter().chain(subscripts).chain(predicate).any(|e| reads(e, array))
                    || targets.iter().any(|target| target.array == *array)
            }
        }
    }
}

struct Execution {
    leaf: usize,
    values: Vec<i64>,
    place: PerAxis<i64>,
    time: Vec<i64>,
}

fn leaves<'k>(
    lookup: &Lookup<'k>,
    trees: &[Tree],
    path: &mut Vec<(i64, Option<Name>)>,
    found: &mut Vec<Leaf<'k>>,
) -> Result<(), Stop> {
    for (k, tree) in trees.iter().enumerate() {
        let position = k as i64;
        match tree {
            Tree::Loop { iname, body } => {
                path.push((position, Some(iname.clone())));
                leaves(lookup, body, path, found)?;
                path.pop();
            }
            Tree::Leaf(PartRef { instruction, part }) => {
                let instruction = lookup.instruction(instruction).ok_or(Stop::Data)?;
                let inames = lookup.inames_of(instruction, *part);
                let rows = lookup.instances(&inames);
                let rows = rows.iter().map(|c| lookup.expand_constraint(c).map_err(|_| Stop::Large));
                let mut path = path.clone();
                path.push((position, None));
                found.push(Leaf {
                    instruction,
                    part: *part,
                    rows: rows.collect::<Result<_, _>>()?,
                    inames,
                    path,
                });
            }
        }
    }
    Ok(())
}

struct Machine<'k> {
    kernel: &'k LoopKernel,
    lookup: Lookup<'k>,
    sizes: Sizes,
    leaves: Vec<Leaf<'k>>,
    cells: HashMap<Key, (Value, Instance)>,
    sums: HashMap<Sum, Vec<At>>,
    /// Of cells that updates of one operator have changed last: the operator, what the cell held
    /// before, and the values.
    updated: HashMap<Key, (UpdateOp, Value, Vec<u64>)>,
    /// Lanes in which a private array is written.
    lanes: HashMap<Name, Vec<Name>>,
    outcome: Outcome,
}

/// The effects of one execution.
#[derive(Default)]
struct Done {
    reads: Vec<Key>,
    writes: Vec<(Key, Value)>,
    updates: Vec<(Key, UpdateOp, u64)>,
}

impl<'k> Machine<'k> {
    fn axis(&self, iname: &Name) -> Option<HardwareAxis> {
        self.kernel.tag(iname).axis()
    }

    fn executions(&self) -> Result<Vec<Execution>, Stop> {
        let mut all = Vec::new();
        let mut least: HashMap<Name, i64> = HashMap::new();
        let mut of_leaf = Vec::new();
        for leaf in &self.leaves {
            let found = points(&leaf.rows, &leaf.inames, &self.sizes)?;
            for values in &found {
                for (n, v) in leaf.inames.iter().zip(values) {
                    let known = least.entry(n.clone()).or_insert(*v);
                    *known = (*known).min(*v);
                }
            }
            // A coordinate counts from the iname's own lower bound, if it has one, whether or not
            // there are points there.
            for n in leaf.inames.iter().filter(|n| self.axis(n).is_some()) {
                if let Some(low) = own_lower(&leaf.rows, n, &self.sizes) {
                    least.entry(n.clone()).and_modify(|l| *l = low.min(*l));
                }
            }
            of_leaf.push(found);
        }
        let mut extent = PerAxis::from_fn(|_| 1);
        for (k, leaf) in self.leaves.iter().enumerate() {
            for values in std::mem::take(&mut of_leaf[k]) {
                let mut place = PerAxis::default();
                for (n, v) in leaf.inames.iter().zip(&values) {
                    if let Some(axis) = self.axis(n) {
                        place[axis] = v - least[n];
                        extent[axis] = extent[axis].max(place[axis] + 1);
                    }
                }
                let value = |n: &Name| leaf.inames.iter().position(|m| m == n).map_or(0, |k| values[k]);
                let time = leaf.path.iter().flat_map(|(p, n)| [*p, n.as_ref().map_or(0, value)]).collect();
                all.push(Execution { leaf: k, values, place, time });
            }
            if all.len() > LIMIT {
                return Err(Stop::Large);
            }
        }
        let mut spread = Vec::with_capacity(all.len());
        for x in all {
            let mut places = vec![x.place];
            for (axis, extent) in extent.iter().filter(|(axis, _)| self.is_replicated(x.leaf, *axis)) {
                let at = |p: &PerAxis<i64>, v| PerAxis::from_fn(|k| if k == axis { v } else { p[k] });
                places = places.iter().flat_map(|p| (0..*extent).map(move |v| at(p, v))).collect();
            }
            spread.extend(places.into_iter().map(|place| Execution {
                leaf: x.leaf,
                values: x.values.clone(),
                place,
                time: x.time.clone(),
            }));
            if spread.len() > LIMIT {
                return Err(Stop::Large);
            }
        }
        spread.sort_by(|x, y| {
            (&x.time, x.leaf, x.place, &x.values).cmp(&(&y.time, y.leaf, y.place, &y.values))
        });
        Ok(spread)
    }

    /// Whether all places of an axis run a part, independently.
    fn is_replicated(&self, leaf: usize, axis: HardwareAxis) -> bool {
        let leaf = &self.leaves[leaf];
        if leaf.inames.iter().any(|n| self.axis(n) == Some(axis)) {
            return false;
        }
        let of_reduction = |r: &Arc<Reduce>| {
            r.inames.iter().flat_map(|i| self.lookup.base_of(i)).any(|n| self.axis(n) == Some(axis))
        };
        if matches!(leaf.part, Part::Init(_) | Part::Update(_))
            && leaf.instruction.reductions().iter().any(of_reduction)
        {
            return true;
        }
        let spaces = leaf.instruction.targets.iter().filter_map(|t| Some(self.lookup.array(&t.array)?.space));
        match spaces.max() {
            Some(AddressSpace::Global) => false,
            Some(AddressSpace::Shared) => !axis.is_in_block(),
            _ => true,
        }
    }

    fn key(&self, x: &Execution, array: &Name, index: Vec<i64>) -> Key {
        let leaf = &self.leaves[x.leaf];
        let mut owner = match self.lookup.array(array).map(|a| a.space) {
            Some(AddressSpace::Private) => HardwareAxis::all().map(|axis| x.place[axis]).collect(),
            Some(AddressSpace::Shared) => HardwareAxis::OF_GRID.iter().map(|axis| x.place[*axis]).collect(),
            _ => Vec::new(),
        };
        for lane in self.lanes.get(array).into_iter().flatten() {
            owner.push(leaf.inames.iter().position(|n| n == lane).map_or(i64::MIN, |k| x.values[k]));
        }
        (array.clone(), owner, index)
    }

    fn instance(&self, x: &Execution) -> Instance {
        let leaf = &self.leaves[x.leaf];
        let mut point: Vec<(Name, i64)> = leaf.inames.iter().cloned().zip(x.values.iter().copied()).collect();
        point.sort();
        Instance { instruction: leaf.instruction.id.clone(), point }
    }

    /// The accumulator of a reduction, for the place and the values that it belongs to.
    fn sum(&self, x: &Execution, number: usize) -> Sum {
        let leaf = &self.leaves[x.leaf];
        let init = self.lookup.inames_of(leaf.instruction, Part::Init(number));
        let mut shared = AxisSet::default();
        let update = self.lookup.inames_of(leaf.instruction, Part::Update(number));
        for n in update.iter().filter(|n| !init.contains(n)) {
            if let Some(axis) = self.axis(n) {
                shared.insert(axis);
            }
        }
        let mut owner: Vec<i64> =
            HardwareAxis::all().filter(|a| !shared.contains(*a)).map(|a| x.place[a]).collect();
        owner.extend(
            init.iter().map(|n| leaf.inames.iter().position(|m| m == n).map_or(i64::MIN, |k| x.values[k])),
        );
        (leaf.instruction.id.clone(), number, owner)
    }

    fn iname(&self, x: &Execution, n: &Name) -> Option<i64> {
        let leaf = &self.leaves[x.leaf];
        if let Some(k) = leaf.inames.iter().position(|m| m == n) {
            return Some(x.values[k]);
        }
        let of = |n: &Name| {
            let own = leaf.inames.iter().position(|m| m == n).map(|k| x.values[k]);
            own.or_else(|| self.sizes.get(n).copied())
        };
        match self.lookup.definition(n) {
            Some(value) => self.lookup.expand(value).ok()?.eval(&of),
            None => self.sizes.get(n).copied(),
        }
    }

    /// The position of a scan.
    fn along(&self, x: &Execution) -> i64 {
        let leaf = &self.leaves[x.leaf];
        let value = leaf.instruction.scan_value().and_then(|v| self.lookup.expand(&v).ok());
        value.and_then(|v| v.eval(&|n| self.iname(x, n))).unwrap_or(0)
    }

    fn load(&self, x: &Execution, array: &Name, index: Vec<i64>, done: &mut Done) -> Value {
        let key = self.key(x, array, index);
        let value = match self.cells.get(&key) {
            Some((value, _)) => *value,
            None if self.lookup.temporary(array).is_some() => Value::Hash(0),
            None => initial(array, &key.2),
        };
        done.reads.push(key);
        value
    }

    /// The terms of a reduction so far.
    fn terms(&self, x: &Execution, reduce: &Arc<Reduce>) -> Vec<u64> {
        let leaf = &self.leaves[x.leaf];
        let number = leaf.instruction.reductions().iter().position(|r| Arc::ptr_eq(r, reduce)).unwrap_or(0);
        let own = leaf.instruction.scan.as_ref().map(|_| self.along(x));
        let terms = self.sums.get(&self.sum(x, number)).map_or(&[][..], Vec::as_slice);
        terms.iter().filter(|(at, _)| own.is_none_or(|own| *at <= own)).map(|(_, t)| *t).collect()
    }

    fn subscripts(&self, x: &Execution, index: &[Expr], done: &mut Done) -> Result<Vec<i64>, Stop> {
        index
            .iter()
            .map(|e| match self.value(x, e, done)? {
                Value::Int(v) => Ok(v),
                Value::Hash(_) => Err(Stop::Data),
            })
            .collect()
    }

    fn value(&self, x: &Execution, e: &Expr, done: &mut Done) -> Result<Value, Stop> {
        Ok(match e {
            Expr::Int(v) => Value::Int(*v),
            Expr::Bool(v) => Value::Int((*v).into()),
            Expr::Float(v) => Value::Hash(v.0.to_bits()),
            Expr::Name(n) if self.lookup.array(n).is_some() => self.load(x, n, Vec::new(), done),
            Expr::Name(n) => self.iname(x, n).map_or_else(|| Value::Hash(hash_of(n)), Value::Int),
            Expr::Subscript(a) => {
                let index = self.subscripts(x, &a.index, done)?;
                self.load(x, &a.array, index, done)
            }
            Expr::Reduce(r) => {
                let operator = self.kernel.operator(&r.op).ok_or(Stop::Data)?;
                if !operator.commutes {
                    return Err(Stop::Ordered);
                }
                let mut terms = self.terms(x, r);
                terms.sort_unstable();
                if operator.idempotent {
                    terms.dedup();
                }
                Value::Hash(hash_of((&r.op, terms)))
            }
            Expr::Unary(op, a) => match (op, self.value(x, a, done)?) {
                (UnaryOp::Neg, Value::Int(a)) => Value::Int(-a),
                (UnaryOp::Not, Value::Int(a)) => Value::Int((a == 0).into()),
                (op, a) => Value::Hash(hash_of((op, a))),
            },
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(x, a, done)?, self.value(x, b, done)?);
                match (a, b) {
                    (Value::Int(a), Value::Int(b)) => {
                        computed(*op, a, b).map_or_else(|| Value::Hash(hash_of((op, a, b))), Value::Int)
                    }
                    _ => Value::Hash(hash_of((op, a, b))),
                }
            }
            Expr::If(c, a, b) => match self.value(x, c, done)? {
                Value::Int(0) => self.value(x, b, done)?,
                Value::Int(_) => self.value(x, a, done)?,
                c => Value::Hash(hash_of(("if", c, self.value(x, a, done)?, self.value(x, b, done)?))),
            },
            Expr::Cast(t, a) => match self.value(x, a, done)? {
                Value::Int(v) if t.known().is_some_and(|t| t.is_integer()) => Value::Int(v),
                v => Value::Hash(hash_of((t.to_string(), v))),
            },
            Expr::Call { function, args, .. } => {
                let args: Vec<Value> =
                    args.iter().map(|e| self.value(x, e, done)).collect::<Result<_, _>>()?;
                Value::Hash(hash_of((function, args)))
            }
        })
    }

    /// Whether the predicate of an execution holds.
    fn is_active(&self, x: &Execution, done: &mut Done) -> Result<bool, Stop> {
        match &self.leaves[x.leaf].instruction.predicate {
            None => Ok(true),
            Some(e) => match self.value(x, e, done)? {
                Value::Int(v) => Ok(v != 0),
                Value::Hash(_) => Err(Stop::Data),
            },
        }
    }

    fn group(&mut self, group: &[Execution]) -> Result<(), Stop> {
        let leaf = &self.leaves[group[0].leaf];
        let (instruction, part) = (leaf.instruction, leaf.part);
        let mut all = Vec::with_capacity(group.len());
        let mut added: Vec<(Sum, Vec<At>)> = Vec::new();
        for x in group {
            let mut done = Done::default();
            match part {
                Part::Init(n) => {
                    let sum = self.sum(x, n);
                    self.sums.insert(sum, Vec::new());
                }
                Part::Update(n) if self.is_active(x, &mut done)? => {
                    let reduce = instruction.reductions()[n].clone();
                    let terms = match reduce.args.as_slice() {
                        // Partial results of the same operator are joined.
                        [Expr::Reduce(inner)] if inner.op == reduce.op => self.terms(x, inner),
                        args => {
                            let values = args
                                .iter()
                                .map(|e| self.value(x, e, &mut done))
                                .collect::<Result<Vec<_>, _>>()?;
                            vec![hash_of(values)]
                        }
                    };
                    let at = self.along(x);
                    added.push((self.sum(x, n), terms.into_iter().map(|t| (at, t)).collect()));
                }
                Part::Update(_) => {}
                Part::Whole | Part::Finish => {
                    if self.is_active(x, &mut done)? {
                        let value = self.value(x, &instruction.value, &mut done)?;
                        for (k, target) in instruction.targets.iter().enumerate() {
                            let index = self.subscripts(x, &target.index, &mut done)?;
                            let value = if k == 0 { value } else { Value::Hash(hash_of((k, value))) };
                            let key = self.key(x, &target.array, index);
                            match &instruction.update {
                                Some(op) => done.updates.push((key, op.clone(), hash_of(value))),
                                None => done.writes.push((key, value)),
                            }
                        }
                    }
                }
            }
            all.push(done);
        }
        for (sum, terms) in added {
            self.sums.entry(sum).or_default().extend(terms);
        }
        let mut touched: HashMap<&Key, BTreeSet<(bool, PerAxis<i64>)>> = HashMap::new();
        for (x, done) in group.iter().zip(&all) {
            let keys =
                done.reads.iter().map(|k| (k, false)).chain(done.writes.iter().map(|(k, _)| (k, true)));
            for (key, write) in keys {
                touched.entry(key).or_default().insert((write, x.place));
            }
        }
        let races = touched.iter().filter(|(_, by)| {
            let mut writers = by.iter().filter(|(write, _)| *write);
            writers.next().is_some_and(|(_, w)| by.iter().any(|(_, place)| place != w))
        });
        let races = races.map(|(key, _)| (key.0.clone(), key.2.clone()));
        // Cells that are never read are left out.
        let seen = |n: &Name| self.lookup.temporary(n).is_none() || self.is_read(n);
        let race = races.filter(|(n, _)| seen(n)).min();
        self.outcome.race = self.outcome.race.take().or(race);
        for (x, done) in group.iter().zip(all) {
            let who = self.instance(x);
            for key in done.reads {
                let writer = self.cells.get(&key).map(|(_, who)| who.clone());
                self.outcome.seen.insert((who.clone(), (key.0, key.2)), writer);
            }
            let mut writes = done.writes;
            for (key, _) in &writes {
                self.updated.remove(key);
            }
            for (key, op, term) in done.updates {
                let held = self.cells.get(&key).map_or_else(|| initial(&key.0, &key.2), |(held, _)| *held);
                let known = self.updated.remove(&key).filter(|(known, ..)| *known == op);
                let (_, base, mut terms) = known.unwrap_or((op.clone(), held, Vec::new()));
                terms.push(term);
                terms.sort_unstable();
                if !matches!(op, UpdateOp::Sum | UpdateOp::By(_)) {
                    terms.dedup();
                }
                let value = Value::Hash(hash_of((&op, base, &terms)));
                self.updated.insert(key.clone(), (op, base, terms));
                writes.push((key, value));
            }
            for (key, value) in writes {
                if self.lookup.temporary(&key.0).is_none() {
                    let cell = (key.0.clone(), key.2.clone());
                    match value == initial(&key.0, &key.2) {
                        true => self.outcome.outputs.remove(&cell),
                        false => self.outcome.outputs.insert(cell.clone(), hash_of(value)),
                    };
                    self.outcome.last.insert(cell, who.clone());
                }
                self.cells.insert(key, (value, who.clone()));
            }
            self.outcome.ran.insert(who);
        }
        Ok(())
    }

    fn is_read(&self, array: &Name) -> bool {
        let mut found = false;
        for i in &self.kernel.instructions {
            let exprs =
                [&i.value].into_iter().chain(&i.predicate).chain(i.targets.iter().flat_map(|t| &t.index));
            for e in exprs {
                e.visit(&mut |e| {
                    found |= match e {
                        Expr::Subscript(a) => a.array == *array,
                        Expr::Name(n) => n == array,
                        _ => false,
                    }
                });
            }
        }
        found
    }
}

fn computed(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::FloorDiv if b > 0 => Some(a.div_euclid(b)),
        BinaryOp::Mod if b > 0 => Some(a.rem_euclid(b)),
        BinaryOp::Lt => Some((a < b).into()),
        BinaryOp::Le => Some((a <= b).into()),
        BinaryOp::Gt => Some((a > b).into()),
        BinaryOp::Ge => Some((a >= b).into()),
        BinaryOp::Eq => Some((a == b).into()),
        BinaryOp::Ne => Some((a != b).into()),
        BinaryOp::And => Some((a != 0 && b != 0).into()),
        BinaryOp::Or => Some((a != 0 || b != 0).into()),
        _ => None,
    }
}

/// Runs a kernel for these sizes.
pub fn run(kernel: &LoopKernel, sizes: &Sizes) -> Result<Outcome, Stop> {
    let lookup = Lookup::new(kernel);
    let mut found = Vec::new();
    leaves(&lookup, &kernel.tree, &mut Vec::new(), &mut found)?;
    let mut sizes = sizes.clone();
    for arg in &kernel.args {
        if let Arg::Scalar(s) = arg
            && s.dtype.known().is_some_and(|t| t.is_integer())
        {
            sizes.entry(s.name.clone()).or_insert(1);
        }
    }
    let mut machine = Machine {
        kernel,
        lookup,
        sizes,
        leaves: found,
        cells: HashMap::new(),
        sums: HashMap::new(),
        updated: HashMap::new(),
        lanes: HashMap::new(),
        outcome: Outcome::default(),
    };
    let all = machine.executions()?;
    for (k, leaf) in machine.leaves.iter().enumerate() {
        // A single lane needs no copy.
        let several = |n: &Name| {
            let at = leaf.inames.iter().position(|m| m == n);
            let values: BTreeSet<i64> =
                all.iter().filter(|x| x.leaf == k).filter_map(|x| Some(x.values[at?])).collect();
            values.len() > 1
        };
        let lanes = leaf.inames.iter().filter(|n| kernel.tag(n).is_jam() && several(n));
        for target in &leaf.instruction.targets {
            let private =
                machine.lookup.array(&target.array).is_some_and(|a| a.space == AddressSpace::Private);
            if private && matches!(leaf.part, Part::Whole | Part::Finish) {
                machine.lanes.entry(target.array.clone()).or_default().extend(lanes.clone().cloned());
            }
        }
    }
    let mut lanes = std::mem::take(&mut machine.lanes);
    for (array, lanes) in &mut lanes {
        lanes.sort();
        lanes.dedup();
        // What is touched outside of a lane is one for all of them, if it has elements.
        let touching = machine.leaves.iter().filter(|leaf| leaf.touches(array));
        if machine.lookup.array(array).is_some_and(|a| !a.axes.is_empty()) {
            lanes.retain(|lane| touching.clone().all(|leaf| leaf.inames.contains(lane)));
        }
    }
    machine.lanes = lanes;
    let mut start = 0;
    while start < all.len() {
        let same = |x: &&Execution| x.leaf == all[start].leaf && x.time == all[start].time;
        let end = start + all[start..].iter().take_while(same).count();
        machine.group(&all[start..end])?;
        start = end;
    }
    Ok(machine.outcome)
}
