//! Whether the partial results of a block's threads are joined, each exactly once.
//!
//! A reduction over an iname on an axis of the block leaves each thread with a partial result.
//! [`Stmt::Collective`] says in its contract that its body joins them. Two questions are asked:
//!
//! 1. *Is there a join?* Where the updates of a reduction are spread over axes on which its first
//!    value is not, exactly one collective with these axes stands behind the updates and before
//!    whatever reads the result, in the loops in which the first value is given. If it leaves the
//!    result with the first threads alone, only these read it.
//! 2. *Does the body do what the contract says?* It is run for all threads of a block, one
//!    statement after the other, on sets of threads instead of numbers: a value is the number of a
//!    value of the operator's state and the set of the threads whose partial results are in it. In
//!    the beginning a thread has its own. An operation on two values unites their sets, which must
//!    have no thread in common. In the end each thread to which the contract promises the result
//!    has the set of its whole group. Barriers do not matter here: that accesses are ordered is
//!    another question (`order`).
//!
//! The operation itself is compared where the operator is one of a single value, such as a sum.
//! Which terms an operation on several values consists of, and scans, are taken on trust; so are
//! joins of the lanes of one thread, and those of flattened nests.

mod run;

use std::collections::{BTreeMap, HashMap};

use loopwright_kernel_ir::{Diagnostic, Dim, HardwareAxis, Name, Part, ReductionOp};
use loopwright_legality::{Executor, Presence};

use super::uniform::Varying;
use crate::{DeviceKernel, Join, Memory, Program, Scope as SyncScope, Stmt, Value, ValueKind, VarId};
use run::Run;

/// What is wrong with a join.
pub(super) enum WrongJoin {
    /// It is known to be wrong.
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
    operator: &dyn Fn(&Name) -> Option<ReductionOp>,
) -> Option<WrongJoin> {
    let mut text = Text::default();
    text.read(program, &kernel.body, &mut Vec::new());
    if text.joins.is_empty() && text.reductions.is_empty() {
        return None;
    }
    let varying = Varying::new(program, kernel, SyncScope::Block);
    let mut states: HashMap<usize, &Reduction<'_>> = HashMap::new();
    for ((instruction, _), reduction) in &text.reductions {
        match text.join_of(kernel, &varying, reduction) {
            Ok(None) => {}
            Ok(Some(number)) => {
                states.insert(number, reduction);
            }
            Err(why) => {
                let message = format!("`{}`: the partial results of `{instruction}` {why}", kernel.name);
                return Some(WrongJoin::Wrong(Box::new(Diagnostic::new("missing-join", message))));
            }
        }
    }
    for (number, found) in text.joins.iter().enumerate().filter(|(_, j)| !j.join.scan) {
        // One that no part claims is what its contract says.
        let own = || found.join.state.iter().enumerate().map(|(k, v)| (k as u8, Holder::Var(*v))).collect();
        let claimed = states.get(&number);
        let state = claimed.map_or_else(own, |r| r.state.clone());
        if state.is_empty() {
            continue;
        }
        let operator = operator(&found.join.operator);
        let first = claimed.map(|r| r.first.clone()).unwrap_or_default();
        let warp_size = program.target.warp_size;
        let mut run = Run::new(kernel, warp_size, found.join, state, first, operator.as_ref());
        if let Err(wrong) = run.check(found.body) {
            return Some(wrong);
        }
    }
    None
}

/// A collective in the text.
struct Found<'p> {
    join: &'p Join,
    body: &'p [Stmt],
    position: usize,
    loops: Vec<VarId>,
    /// The conditions around it.
    choices: Vec<&'p Value>,
}

/// The statements of a reduction in the text.
#[derive(Default)]
struct Reduction<'p> {
    /// What holds its accumulator, by the updates.
    state: State,
    /// How its updates, and its first value, stand to the axes of the block.
    update: Option<Executor<()>>,
    init: Option<Executor<()>>,
    last_update: usize,
    /// The first value of each value of its state.
    first: BTreeMap<u8, &'p Value>,
    /// The loops around its first value, but those that are unrolled, which go over lanes.
    loops: Vec<VarId>,
}

/// A statement of another part, and what it reads.
struct Reader {
    position: usize,
    part: (Name, Part),
    reads: Vec<Holder>,
    executor: Executor<()>,
}

/// What the text of a device kernel says of reductions.
#[derive(Default)]
struct Text<'p> {
    position: usize,
    reductions: BTreeMap<(Name, usize), Reduction<'p>>,
    readers: Vec<Reader>,
    joins: Vec<Found<'p>>,
    /// The conditions around what is being read.
    choices: Vec<&'p Value>,
}

impl<'p> Text<'p> {
    fn read(&mut self, program: &'p Program, body: &'p [Stmt], loops: &mut Vec<VarId>) {
        for stmt in body {
            self.position += 1;
            self.statement(program, stmt, loops);
            match stmt {
                Stmt::Collective { join, body, .. } => {
                    let (position, loops, choices) = (self.position, loops.clone(), self.choices.clone());
                    self.joins.push(Found { join, body, position, loops, choices });
                }
                Stmt::For { var, body, unroll: false, .. } => {
                    loops.push(*var);
                    self.read(program, body, loops);
                    loops.pop();
                }
                Stmt::If { cond, body, otherwise, .. } => {
                    self.choices.push(cond);
                    self.read(program, body, loops);
                    self.read(program, otherwise, loops);
                    self.choices.pop();
                }
                _ => stmt.bodies().for_each(|body| self.read(program, body, loops)),
            }
        }
    }

    fn statement(&mut self, program: &'p Program, stmt: &'p Stmt, loops: &[VarId]) {
        let Some(leaf) = stmt.leaf().and_then(|id| program.leaves.get(id.0)) else { return };
        let Some(instances) = leaf.instances.as_ref().filter(|_| !leaf.decided_by_data) else { return };
        let number = stmt.gives(&program.leaves).map(|(_, number)| number);
        let of = (leaf.part.instruction.clone(), leaf.part.part);
        if let Part::Init(n) | Part::Update(n) = leaf.part.part {
            let reduction = self.reductions.entry((of.0.clone(), n)).or_default();
            let holder = match stmt {
                Stmt::Let { var, .. } | Stmt::Set { var, .. } => Some(Holder::Var(*var)),
                Stmt::Store { to, .. } => match to.memory {
                    Memory::Private(number) => Some(Holder::Array(number)),
                    _ => None,
                },
                _ => None,
            };
            match leaf.part.part {
                Part::Update(_) => {
                    reduction.update = Some(instances.executor.clone());
                    reduction.last_update = self.position;
                    reduction.state.extend(number.zip(holder));
                }
                _ => {
                    reduction.init = Some(instances.executor.clone());
                    if let (
                        Some(number),
                        Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. },
                    ) = (number, stmt)
                    {
                        reduction.first.insert(number, value);
                    }
                    reduction.loops = loops.to_vec();
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
        self.readers.push(Reader {
            position: self.position,
            part: of,
            reads,
            executor: instances.executor.clone(),
        });
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
        let at = |executor: &Executor<()>, dim: Dim| {
            matches!(executor[HardwareAxis::Block(dim)], Presence::At(()))
        };
        let spread = |dim: &Dim| *dim.of(&kernel.block) > 1 && at(update, *dim) && !at(init, *dim);
        let axes: Vec<Dim> = Dim::ALL.iter().copied().filter(spread).collect();
        if axes.is_empty() || reduction.state.is_empty() {
            return Ok(None);
        }
        let own = |part: &(Name, Part)| {
            self.reductions.iter().any(|((id, n), r)| {
                std::ptr::eq(r, reduction)
                    && part.0 == *id
                    && matches!(part.1, Part::Init(k) | Part::Update(k) if k == *n)
            })
        };
        let holders: Vec<Holder> = reduction.state.values().copied().collect();
        let reads = |r: &&Reader| !own(&r.part) && r.reads.iter().any(|h| holders.contains(h));
        let readers: Vec<&Reader> = self.readers.iter().filter(reads).collect();
        let joins: Vec<usize> = (0..self.joins.len())
            .filter(|k| {
                let found = &self.joins[*k];
                found.position > reduction.last_update && joined(found, &holders)
            })
            .collect();
        let [number] = joins[..] else {
            return Err(match joins.len() {
                0 => "of several threads are not joined".into(),
                _ => "of several threads are joined more than once".into(),
            });
        };
        let found = &self.joins[number];
        let mut theirs: Vec<Dim> = found.join.axes.iter().map(|(dim, _)| *dim).collect();
        theirs.retain(|dim| *dim.of(&kernel.block) > 1);
        theirs.sort_unstable();
        let whole = |(dim, n): &(Dim, u32)| dim.of(&kernel.block) == n;
        if theirs != axes || !found.join.axes.iter().all(whole) {
            return Err("are joined over other threads than they are spread over".into());
        }
        // A scan goes on from round to round.
        if !found.join.scan && found.loops != reduction.loops {
            return Err("are not joined once for each first value".into());
        }
        if readers.iter().any(|r| r.position < found.position) {
            return Err("are read before they are joined".into());
        }
        let elected =
            |r: &&Reader| axes.iter().all(|dim| r.executor[HardwareAxis::Block(*dim)] == Presence::Elected);
        if !found.join.to_all && !readers.iter().all(elected) {
            return Err("are joined for the first threads alone, and read by others".into());
        }
        if found.choices.iter().any(|cond| varying.varies(cond)) {
            return Err("are joined where some of the threads may not come to".into());
        }
        Ok(Some(number))
    }
}

/// Whether a collective is about what these hold.
fn joined(found: &Found<'_>, holders: &[Holder]) -> bool {
    let mut written = Vec::new();
    Stmt::visit(found.body, &mut |stmt| match stmt {
        Stmt::Store { to, .. } => {
            if let Memory::Private(number) = to.memory {
                written.push(Holder::Array(number));
            }
        }
        Stmt::Set { var, .. } => written.push(Holder::Var(*var)),
        _ => {}
    });
    holders.iter().all(|h| written.contains(h))
}
