//! Whether the partial results of threads and lanes are joined, each exactly once.
//!
//! A reduction over an iname on an axis of the block leaves each thread with a partial result, and
//! one over lanes each lane. [`Stmt::Collective`] says in its contract that its body joins those of
//! threads, or scans those of threads and lanes. Three things are checked:
//!
//! 1. *Is there a join?* Where the updates of a reduction are spread over axes on which its first
//!    value is not, exactly one collective with these axes stands after the updates and before
//!    whatever reads the result, in the loops in which the first value is given. If it leaves the
//!    result with the first threads alone, only these read it. It is a scan if and only if those
//!    who read the result are spread over these axes or lanes too; then it may stand in more loops
//!    than the first value, if in these the accumulators begin anew and a total is carried. Results
//!    of several blocks are scanned where the blocks look back, and joined nowhere else.
//! 2. *Does the body do what the contract says?* It is run for all threads of a block, one
//!    statement after the other (`run`), the first warp for all where these are alike (`warps`): a
//!    value is the number of a value of the operator's state
//!    and what is joined in it (`parts`), a set of threads, or for a scan a run of points in their
//!    order. In the beginning a thread has its own. A term over the values of two states is a value
//!    of the joined state where it is the operator's own `combine` of the two (`terms`); the states
//!    must have nothing in common, and those of a scan be neighbours. In the end each thread to
//!    which the contract promises the result has that of its whole group, or of the points up to
//!    its own (`scan`). Barriers do not matter here: that accesses are ordered is checked elsewhere
//!    (`order`).
//! 3. *Are the lanes of a thread joined?* See `lanes`.
//!
//! The operator is that of the kernel, if the program is held to one. Otherwise a contract names
//! it, and what joins lanes may be any operation. What flattened nests join is checked elsewhere
//! (`segments`). Whether a scan's kernel goes along its rounds, threads and lanes in the order of
//! their numbers is checked in the kernel (`numbers`).

mod inside;
mod known;
mod lanes;
mod numbers;
mod parts;
mod place;
mod run;
mod scan;
mod terms;
mod threads;
mod tiles;
mod warps;

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Diagnostic, Dim, HardwareAxis, Name, Part};
use loopwright_legality::{Executor, Presence};
use loopwright_poly::Table;

use super::{Operators, uniform::Varying};
use crate::{
    BinOp, Destination, DeviceKernel, Join, Memory, Program, Scope as SyncScope, Stmt, Value, ValueKind,
    VarId,
};
use inside::Uses;
use place::{Around, Misplaced, Path, conditions, counted};
use run::{Claimed, Points, Run};
use scan::Scan;

/// Why a join is refused.
pub(super) enum WrongJoin {
    /// It joins other values than it says, as the diagnostic shows.
    Wrong(Box<Diagnostic>),
    /// It is of a form that cannot be followed.
    NotFollowed(Box<Diagnostic>),
}

/// What holds a value of an operator's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Holder {
    Var(VarId),
    /// An array of the thread, with an element for each lane.
    Array(usize),
}

/// The values of a state, by their numbers.
type State = BTreeMap<u8, Holder>;

/// The first join of a device kernel that is missing or wrong.
pub(super) fn wrong_join(
    program: &Program,
    kernel: &DeviceKernel,
    operators: &Operators<'_>,
) -> Option<WrongJoin> {
    let mut text = Text::new(kernel);
    text.read(program, &kernel.body, &mut Vec::new());
    if text.joins.is_empty() && text.reductions.is_empty() {
        return None;
    }
    let varying = Varying::new(program, kernel, SyncScope::Block);
    let mut states: Table<usize, (&Name, &Reduction<'_>)> = Table::default();
    for ((instruction, n), reduction) in &text.reductions {
        match text.join_of(kernel, &varying, reduction) {
            Ok(None) => {}
            Ok(Some(number)) => {
                let contract = &text.joins[number].join.operator;
                if let Some(own) = operators.of(instruction, *n).filter(|own| own != contract) {
                    let message = format!(
                        "`{}`: the partial results of `{instruction}` are joined by `{contract}`, not by `{own}`",
                        kernel.name
                    );
                    // Two operators may be one function.
                    return Some(WrongJoin::NotFollowed(Box::new(Diagnostic::new("wrong-join", message))));
                }
                states.insert(number, (instruction, reduction));
                if let Err(wrong) = text.stands_rightly(reduction, &text.joins[number]) {
                    let message =
                        |why| format!("`{}`: the partial results of `{instruction}` {why}", kernel.name);
                    return Some(match wrong {
                        Misplaced::Wrong(why) => {
                            WrongJoin::Wrong(Box::new(Diagnostic::new("missing-join", message(why))))
                        }
                        Misplaced::NotFollowed => WrongJoin::NotFollowed(Box::new(Diagnostic::new(
                            "missing-join",
                            message("are joined in elements that the check does not follow"),
                        ))),
                    });
                }
            }
            Err(why) => {
                let message = format!("`{}`: the partial results of `{instruction}` {why}", kernel.name);
                return Some(WrongJoin::Wrong(Box::new(Diagnostic::new("missing-join", message))));
            }
        }
    }
    let uses = Uses::of(&kernel.body, &text.joins);
    for (number, found) in text.joins.iter().enumerate() {
        let claimed = states.get(&number).copied();
        let wrong = uses.wrong_inside(program, kernel, found, claimed.map(|(_, reduction)| reduction));
        if let Some(why) = wrong {
            let message = format!("`{}`: a collective by `{}` {why}", kernel.name, found.join.operator);
            return Some(WrongJoin::Wrong(Box::new(Diagnostic::new("wrong-join", message))));
        }
        if let (true, Some((instruction, reduction)), Some(of)) = (found.join.scan, claimed, operators.kernel)
            && let Some(why) = numbers::wrong_numbers(of, program, kernel, instruction, reduction, found)
        {
            let message = format!("`{}`: the scan of `{instruction}` {why}", kernel.name);
            return Some(WrongJoin::Wrong(Box::new(Diagnostic::new("wrong-join", message))));
        }
        let claimed = claimed.map(|(_, reduction)| reduction);
        let points = match (found.join.scan, claimed) {
            (false, _) => Points::Threads,
            (true, Some(reduction)) => match text.scan(reduction) {
                Some(scan) => Points::Scan(scan),
                None => {
                    let message = format!("`{}` scans lanes that have no numbers", kernel.name);
                    return Some(WrongJoin::NotFollowed(Box::new(Diagnostic::new("wrong-join", message))));
                }
            },
            // Of a scan that no part claims it is not known where its points are.
            (true, None) if found.join.tiles.is_some() || operators.kernel.is_some() => {
                let what = if found.join.tiles.is_some() { "looks back in a scan" } else { "has a scan" };
                let message = format!("`{}` {what} that is of no part", kernel.name);
                return Some(WrongJoin::NotFollowed(Box::new(Diagnostic::new("wrong-join", message))));
            }
            (true, None) => continue,
        };
        // One that no part claims is what its contract says.
        let own = || found.join.state.iter().enumerate().map(|(k, v)| (k as u8, Holder::Var(*v))).collect();
        let operator = operators.named(&found.join.operator);
        let claimed = Claimed {
            state: claimed.map_or_else(own, |r| r.state.clone()),
            first: claimed.map(|r| r.first.clone()).unwrap_or_default(),
            operator: operator.as_ref(),
            types: &operators.types,
        };
        if claimed.state.is_empty() {
            continue;
        }
        let first = claimed.first.clone();
        let mut wrong = None;
        Stmt::visit(found.body, &mut |stmt| {
            if let Stmt::LookBack(stmt) = stmt
                && let Some(of) = program.look_backs.get(stmt.by)
                && !tiles::is_of_operator(
                    of,
                    &first,
                    (operator.as_ref(), &operators.types),
                    program.target.warp_size,
                )
            {
                wrong = wrong.take().or(Some(of));
            }
        });
        if let Some(of) = wrong {
            let operator = &found.join.operator;
            let message = format!("`{}` does not join the totals of tiles by `{operator}`", of.name);
            return Some(WrongJoin::NotFollowed(Box::new(Diagnostic::new("wrong-join", message))));
        }
        let mut run = Run::new(kernel, program.target.warp_size, &found.join.axes, claimed, points);
        if let Err(wrong) = run.check(found.join, found.body) {
            return Some(wrong);
        }
    }
    lanes::wrong_lanes(program, kernel, &text, operators)
}

/// A collective in the text.
struct Found<'p> {
    join: &'p Join,
    body: &'p [Stmt],
    position: usize,
    loops: Vec<VarId>,
    path: Path<'p>,
}

/// The statements of a reduction in the text.
#[derive(Default)]
struct Reduction<'p> {
    /// What holds its accumulator, by the updates.
    state: State,
    /// How its updates, and its first value, stand to the axes of the block.
    update: Option<Executor<()>>,
    init: Option<Executor<()>>,
    first_update: usize,
    last_update: usize,
    /// The lanes that updates and the first value are in.
    lanes: BTreeSet<Name>,
    init_lanes: BTreeSet<Name>,
    /// The subscripts of the updates' elements that count lanes.
    subscripts: BTreeMap<Name, usize>,
    /// What is given the first value: another variable than the accumulator, where a scan in rounds
    /// carries its total there.
    begins: State,
    /// The first value of each value of its state.
    first: BTreeMap<u8, &'p Value>,
    /// The loops around its first value, but those that go over lanes.
    loops: Vec<VarId>,
    /// What is around its first value.
    path: Path<'p>,
}

impl Reduction<'_> {
    /// The axes of the grid over which its updates are spread, and its first value is not.
    fn tiles(&self) -> Vec<Dim> {
        let (Some(update), Some(init)) = (&self.update, &self.init) else { return Vec::new() };
        let spread_over = |dim: &Dim| {
            let axis = HardwareAxis::Grid(*dim);
            matches!(update[axis], Presence::At(())) && !matches!(init[axis], Presence::At(()))
        };
        Dim::ALL.iter().copied().filter(spread_over).collect()
    }
}

/// A statement of another part, and what it reads.
struct Reader<'p> {
    position: usize,
    stmt: &'p Stmt,
    path: Path<'p>,
    part: (Name, Part),
    reads: Vec<Holder>,
    executor: Executor<()>,
    lanes: Vec<Name>,
}

/// A statement of no part that gives an accumulator a constant.
struct Reset<'p> {
    position: usize,
    holder: Holder,
    path: Path<'p>,
    /// Whether it does so for all elements that hold it.
    whole: bool,
}

/// What the text of a device kernel says of reductions.
struct Text<'p> {
    kernel: &'p DeviceKernel,
    position: usize,
    reductions: BTreeMap<(Name, usize), Reduction<'p>>,
    readers: Vec<Reader<'p>>,
    joins: Vec<Found<'p>>,
    /// What is around the statement that is being read.
    path: Path<'p>,
    resets: Vec<Reset<'p>>,
}

/// Whether an unrolled loop counts an iname of the kernel that is not a lane.
fn is_sequential(program: &Program, kernel: &DeviceKernel, var: VarId) -> bool {
    let meaning = kernel.vars.get(var.0).and_then(|v| v.meaning.as_ref());
    let mut lanes = program.leaves.iter().filter_map(|l| l.instances.as_ref()).flat_map(|i| &i.lanes);
    meaning.is_some_and(|meaning| !lanes.any(|lane| meaning.mentions(lane)))
}

impl<'p> Text<'p> {
    fn new(kernel: &'p DeviceKernel) -> Self {
        Text {
            kernel,
            position: 0,
            reductions: BTreeMap::new(),
            readers: Vec::new(),
            joins: Vec::new(),
            path: Path::new(),
            resets: Vec::new(),
        }
    }

    fn read(&mut self, program: &'p Program, body: &'p [Stmt], loops: &mut Vec<VarId>) {
        for stmt in body {
            self.position += 1;
            self.statement(program, stmt, loops);
            match stmt {
                // What stands inside is no part's (`inside`).
                Stmt::Collective { join, body, .. } => {
                    let (position, loops, path) = (self.position, loops.clone(), self.path.clone());
                    self.joins.push(Found { join, body, position, loops, path });
                }
                Stmt::For { var, body, unroll, .. } => {
                    let counts = !unroll || is_sequential(program, self.kernel, *var);
                    self.path.push(if counts { Around::Loop(stmt) } else { Around::Lanes(stmt) });
                    loops.extend(counts.then_some(*var));
                    self.read(program, body, loops);
                    if counts {
                        loops.pop();
                    }
                    self.path.pop();
                }
                Stmt::If { body, otherwise, .. } => {
                    for (side, body) in [(true, body), (false, otherwise)] {
                        self.path.push(Around::Side(stmt, side));
                        self.read(program, body, loops);
                        self.path.pop();
                    }
                }
                _ => stmt.bodies().for_each(|body| self.read(program, body, loops)),
            }
        }
    }

    fn statement(&mut self, program: &'p Program, stmt: &'p Stmt, loops: &[VarId]) {
        let holder = written(stmt);
        let Some(leaf) = stmt.leaf().and_then(|id| program.leaves.get(id.0)) else {
            if let (
                Some(holder),
                Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. },
            ) = (holder, stmt)
                && matches!(value.kind, ValueKind::Int(_) | ValueKind::Float(_) | ValueKind::Bool(_))
            {
                let (position, path, whole) = (self.position, self.path.clone(), self.is_whole(stmt));
                self.resets.push(Reset { position, holder, path, whole });
            }
            return;
        };
        let Some(instances) = leaf.instances.as_ref().filter(|_| !leaf.decided_by_data) else { return };
        let number = stmt.gives(&program.leaves).map(|(_, number)| number);
        let of = (leaf.part.instruction.clone(), leaf.part.part);
        if let Part::Init(n) | Part::Update(n) = leaf.part.part {
            let reduction = self.reductions.entry((of.0.clone(), n)).or_default();
            match leaf.part.part {
                Part::Update(_) => {
                    if reduction.update.is_none() {
                        reduction.first_update = self.position;
                    }
                    reduction.update = Some(instances.executor.clone());
                    reduction.last_update = self.position;
                    reduction.lanes.extend(instances.lanes.iter().cloned());
                    if let (Some(_), Stmt::Store { to, .. }) = (number, stmt) {
                        for (k, subscript) in to.subscripts.iter().enumerate() {
                            let lane = lane_of(self.kernel, subscript, &instances.lanes);
                            reduction.subscripts.extend(lane.map(|lane| (lane, k)));
                        }
                    }
                    reduction.state.extend(number.zip(holder));
                }
                _ => {
                    reduction.init = Some(instances.executor.clone());
                    reduction.init_lanes.extend(instances.lanes.iter().cloned());
                    reduction.begins.extend(number.zip(holder));
                    if let (
                        Some(number),
                        Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. },
                    ) = (number, stmt)
                    {
                        reduction.first.insert(number, value);
                    }
                    reduction.loops = loops.to_vec();
                    reduction.path.clone_from(&self.path);
                }
            }
        }
        let mut reads = Vec::new();
        stmt.visit_values(&mut |value| match &value.kind {
            ValueKind::Var(var) => reads.push(Holder::Var(*var)),
            ValueKind::Load(element) => {
                if let Memory::Private(number) = element.memory {
                    reads.push(Holder::Array(number));
                }
            }
            _ => {}
        });
        if let Stmt::VectorCopy { from, .. } = stmt
            && let Memory::Private(number) = from.memory
        {
            reads.push(Holder::Array(number));
        }
        self.readers.push(Reader {
            position: self.position,
            stmt,
            path: self.path.clone(),
            part: of,
            reads,
            executor: instances.executor.clone(),
            lanes: instances.lanes.clone(),
        });
    }

    /// Whether the loops around a statement take it to all elements of the thread's array that it
    /// writes.
    fn is_whole(&self, stmt: &Stmt) -> bool {
        if !self.path.iter().all(Around::has_a_round) {
            return false;
        }
        let Stmt::Store { to, .. } = stmt else { return true };
        let Memory::Private(number) = to.memory else { return false };
        let Some(array) = self.kernel.private.get(number) else { return false };
        let mut counters: Vec<VarId> = Vec::new();
        to.subscripts.iter().zip(&array.dims).all(|(s, n)| {
            let (first, end) = match s.as_int() {
                Some(at) => (Some(at), at.checked_add(1)),
                None => {
                    let Some((var, by)) = shifted(s).filter(|(var, _)| !counters.contains(var)) else {
                        return false;
                    };
                    counters.push(var);
                    let mut around = self.path.iter().rev().filter_map(Around::range);
                    let Some((_, low, high)) = around.find(|(of, ..)| *of == var) else { return false };
                    (low.checked_add(by), high.checked_add(by))
                }
            };
            first == Some(0) && end.and_then(|end| u64::try_from(end).ok()) == Some(*n)
        })
    }

    /// The points of a scan; `None` if its lanes have no numbers.
    fn scan(&self, reduction: &Reduction<'_>) -> Option<Scan> {
        let carried = reduction.begins.values().any(|h| !reduction.state.values().any(|own| own == h));
        let carry = carried.then(|| reduction.begins.clone());
        let tiles = !reduction.tiles().is_empty();
        let scanned: Vec<&Name> = reduction.lanes.difference(&reduction.init_lanes).collect();
        let [lane] = scanned[..] else {
            return scanned.is_empty().then_some(Scan { lanes: 1, subscript: None, carry, tiles });
        };
        let subscript = *reduction.subscripts.get(lane)?;
        let mut lengths = reduction.state.values().map(|holder| match holder {
            Holder::Array(array) => self.kernel.private.get(*array)?.dims.get(subscript).copied(),
            Holder::Var(_) => None,
        });
        let length = lengths.next()??;
        if !lengths.all(|other| other == Some(length)) {
            return None;
        }
        Some(Scan { lanes: usize::try_from(length).ok()?, subscript: Some(subscript), carry, tiles })
    }

    /// The statements of other parts that read what a reduction's updates make.
    fn readers<'t>(&'t self, reduction: &Reduction<'_>) -> Vec<&'t Reader<'p>> {
        let own = |part: &(Name, Part)| {
            self.reductions.iter().any(|((id, n), r)| {
                std::ptr::eq(r, reduction)
                    && part.0 == *id
                    && matches!(part.1, Part::Init(k) | Part::Update(k) if k == *n)
            })
        };
        let reads = |r: &&Reader<'_>| {
            !own(&r.part) && r.reads.iter().any(|h| reduction.state.values().any(|s| s == h))
        };
        self.readers.iter().filter(reads).collect()
    }

    /// Whether each of the points of a reduction has its own result: whoever reads it is spread as
    /// the updates are, over axes or lanes on which the first value is not.
    fn is_scan(&self, reduction: &Reduction<'_>, axes: &[Dim]) -> bool {
        self.readers(reduction).iter().any(|r| {
            let at = |dim: &Dim| matches!(r.executor[HardwareAxis::Block(*dim)], Presence::At(()));
            let lane = |lane: &Name| reduction.lanes.contains(lane) && !reduction.init_lanes.contains(lane);
            axes.iter().any(at) || r.lanes.iter().any(lane)
        })
    }

    /// The number of the collective that joins a reduction, if it has to be joined; otherwise what
    /// is wrong.
    fn join_of(
        &self,
        kernel: &DeviceKernel,
        varying: &Varying<'_>,
        reduction: &Reduction<'_>,
    ) -> Result<Option<usize>, String> {
        let (Some(update), Some(init)) = (&reduction.update, &reduction.init) else { return Ok(None) };
        let spread_over = |axis: HardwareAxis| {
            matches!(update[axis], Presence::At(())) && !matches!(init[axis], Presence::At(()))
        };
        let tiles = reduction.tiles();
        let spread = |dim: &Dim| kernel.block[*dim] > 1 && spread_over(HardwareAxis::Block(*dim));
        let axes: Vec<Dim> = Dim::ALL.iter().copied().filter(spread).collect();
        let is_scan = self.is_scan(reduction, &axes);
        // No collective but a scan reaches beyond its block.
        if !(tiles.is_empty() || is_scan || reduction.state.is_empty()) {
            return Err("of several blocks are not joined".into());
        }
        if axes.is_empty() && !is_scan || reduction.state.is_empty() {
            return Ok(None);
        }
        let holders: Vec<Holder> = reduction.state.values().copied().collect();
        let readers = self.readers(reduction);
        let joins: Vec<usize> = (0..self.joins.len())
            .filter(|k| {
                let found = &self.joins[*k];
                found.position > reduction.last_update && joined(found, &holders)
            })
            .collect();
        let [number] = joins[..] else {
            return Err(match joins.len() {
                0 if axes.is_empty() => "of several lanes are not joined".into(),
                0 => "of several threads are not joined".into(),
                _ if axes.is_empty() => "of several lanes are joined more than once".into(),
                _ => "of several threads are joined more than once".into(),
            });
        };
        let found = &self.joins[number];
        let mut theirs: Vec<Dim> = found.join.axes.iter().map(|(dim, _)| *dim).collect();
        theirs.retain(|dim| kernel.block[*dim] > 1);
        theirs.sort_unstable();
        let whole = |(dim, n): &(Dim, u32)| kernel.block[*dim] == *n;
        if theirs != axes || !found.join.axes.iter().all(whole) {
            return Err("are joined over other threads than they are spread over".into());
        }
        if found.join.scan != is_scan {
            return Err(match is_scan {
                true => "are joined as one, where each point has its own".into(),
                false => "are scanned, where one is made of all".into(),
            });
        }
        if found.join.tiles.as_slice() != tiles {
            return Err("of several blocks are not joined".into());
        }
        let carried = is_scan && reduction.begins.values().any(|h| !holders.contains(h));
        if !carried && found.loops != reduction.loops {
            return Err("are not joined once for each first value".into());
        }
        // A scan continues from round to round, in each of which the accumulators begin anew.
        let is_before = |r: &Reset<'_>| {
            r.whole && r.position < reduction.first_update && counted(&r.path).eq(counted(&found.path))
        };
        let begins = |holder: &Holder| self.resets.iter().any(|r| r.holder == *holder && is_before(r));
        if carried && !(found.loops.starts_with(&reduction.loops) && holders.iter().all(begins)) {
            return Err("are not joined once for each round".into());
        }
        if self.resets.iter().any(|r| holders.contains(&r.holder) && !is_before(r)) {
            return Err("begin anew elsewhere than before the updates of a round".into());
        }
        if readers.iter().any(|r| r.position < found.position) {
            return Err("are read before they are joined".into());
        }
        let elected = |r: &&Reader<'_>| {
            axes.iter().all(|dim| r.executor[HardwareAxis::Block(*dim)] == Presence::Elected)
        };
        if !found.join.to_all && !readers.iter().all(elected) {
            return Err("are joined for the first threads alone, and read by others".into());
        }
        // A thread that scans the points of its own lanes waits for no other.
        if !axes.is_empty() && conditions(&found.path).any(|cond| varying.varies(cond)) {
            return Err("are joined where some of the threads may not come to".into());
        }
        Ok(Some(number))
    }
}

/// Whether a collective is about what these hold.
fn joined(found: &Found<'_>, holders: &[Holder]) -> bool {
    let mut all = Vec::new();
    Stmt::visit(found.body, &mut |stmt| all.extend(written(stmt)));
    holders.iter().all(|h| all.contains(h))
}

/// Where a statement puts a value that it computes, if that is the thread's own.
fn written(stmt: &Stmt) -> Option<Holder> {
    stmt.value()?;
    match stmt.destination()? {
        Destination::Var(var) => Some(Holder::Var(var)),
        Destination::Elements(to) => match to.element.memory {
            Memory::Private(number) => Some(Holder::Array(number)),
            Memory::Global(_) | Memory::Shared(_) => None,
        },
    }
}

/// A variable and a number that is added to it.
fn shifted(value: &Value) -> Option<(VarId, i64)> {
    match &value.kind {
        ValueKind::Var(var) => Some((*var, 0)),
        ValueKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
            let (var, by) = shifted(a)?;
            let more = b.as_int()?;
            let by = if *op == BinOp::Add { by.checked_add(more) } else { by.checked_sub(more) };
            Some((var, by?))
        }
        _ => None,
    }
}

/// The lane that a subscript counts, one element for each of its values.
fn lane_of(kernel: &DeviceKernel, subscript: &Value, lanes: &[Name]) -> Option<Name> {
    match &subscript.kind {
        ValueKind::Var(var) => {
            let meaning = kernel.vars.get(var.0)?.meaning.as_ref()?;
            let lane = meaning.as_var()?;
            lanes.contains(lane).then(|| lane.clone())
        }
        ValueKind::Binary(BinOp::Add | BinOp::Sub, a, b) if b.as_int().is_some() => lane_of(kernel, a, lanes),
        _ => None,
    }
}
