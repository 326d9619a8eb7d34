//! What the body of a join does: it is run for all threads of a block, on partial results instead
//! of numbers.
//!
//! See the second point of [`super`]. A value is one of a state, a term over such values that is
//! none (yet), or an integer, which subscripts and conditions are made of. Each value of the text
//! is computed for all threads at once: the text is gone through once, not once for each thread.

use std::{collections::BTreeMap, rc::Rc};

use loopwright_kernel_ir::{BinaryOp, Diagnostic, Dim, Expr, PerDim, ReductionOp, TypeTable};
use loopwright_poly::Table;

use super::{
    Holder, State, WrongJoin,
    known::{Cell, Known, Sub, Values, constant},
    parts::{Content, Parts},
    scan::Scan,
    terms::{Patterns, Term},
    threads::Groups,
    warps::{followed_first, is_alike},
};
use crate::{BinOp, DeviceKernel, Join, Memory, Step, Stmt, Value, ValueKind};

mod values;

/// What the partial results are, and in what a value of the state has to be joined.
pub(super) enum Points {
    /// One for each thread, in any order.
    Threads,
    /// One for each lane of each thread of a group, in their order, after what is carried.
    Scan(Scan),
    /// As many as there are; somebody else says where they are.
    Given(usize),
}

/// What is known of a state.
#[derive(Clone)]
pub(super) struct Claimed<'p> {
    pub state: State,
    /// The first values of the state, if they are known.
    pub first: BTreeMap<u8, &'p Value>,
    pub operator: Option<&'p ReductionOp>,
    /// The types of the names of the kernel that the program is held to, if it is.
    pub types: &'p TypeTable<'p>,
}

/// A body that is run for all threads of a block.
pub(super) struct Run<'p> {
    kernel: &'p DeviceKernel,
    pub(super) warp_size: i64,
    pub(super) axes: Vec<(Dim, u32)>,
    pub(super) claimed: Claimed<'p>,
    patterns: Option<Patterns>,
    /// The operation of an operator of one value that commutes: most are.
    simple: Option<BinOp>,
    pub(super) points: Points,
    /// The threads of the block.
    pub(super) all: usize,
    /// Those that are followed, from the first on.
    pub(super) threads: usize,
    pub(super) cells: Vec<(Cell, Values)>,
    shared: Table<(usize, Vec<i64>), Known>,
    /// How often the blocks have looked back.
    pub(super) looked: usize,
}

/// How often the body of a loop is followed at most, if not once for each thread.
const LONGEST: usize = 1024;

/// Why a join is not followed to its end.
pub(super) enum Stop {
    NotFollowed,
    /// An operation that is not the operator's.
    Operation,
    /// It begins anew, with another value than the first one.
    First,
    /// The block looks back where it may not, or publishes something else than its total.
    LookBack(&'static str),
}

impl Stop {
    /// What is wrong with something that says that it joins by this operator.
    pub fn wrong(self, found: Diagnostic, operator: &str) -> WrongJoin {
        let wrong = |d: Diagnostic| WrongJoin::Wrong(Box::new(d));
        match self {
            // What the operation gives is not evaluated.
            Stop::Operation => {
                let what = format!("two values are combined, but not by `{operator}` as it is written");
                WrongJoin::NotFollowed(Box::new(found.help(what)))
            }
            Stop::First => wrong(found.witness("it begins with another value than the neutral one")),
            Stop::LookBack(why) => wrong(found.witness(why)),
            Stop::NotFollowed => {
                WrongJoin::NotFollowed(Box::new(found.help("it is of a form that the check does not follow")))
            }
        }
    }
}

impl<'p> Run<'p> {
    /// A join in a kernel whose warps have that many threads.
    pub fn new(
        kernel: &'p DeviceKernel,
        warp_size: u32,
        axes: &[(Dim, u32)],
        claimed: Claimed<'p>,
        points: Points,
    ) -> Self {
        let all = match points {
            Points::Given(_) => 1,
            _ => kernel.threads() as usize,
        };
        let threads = followed_first(&points, all, warp_size as usize);
        let warp_size = i64::from(warp_size).max(1);
        let dtype = |holder: &Holder| match *holder {
            Holder::Var(var) => kernel.vars.get(var.0).map(|var| var.dtype),
            Holder::Array(number) => kernel.private.get(number).map(|array| array.dtype),
        };
        let types = claimed.state.iter().filter_map(|(number, holder)| Some((*number, dtype(holder)?)));
        let patterns =
            claimed.operator.map(|operator| Patterns::new(operator, &types.collect(), claimed.types));
        let simple = claimed.operator.filter(|operator| operator.commutes).and_then(single);
        let (cells, shared) = (Vec::new(), Table::default());
        Run {
            kernel,
            warp_size,
            axes: axes.to_vec(),
            claimed,
            patterns,
            simple,
            points,
            all,
            threads,
            cells,
            shared,
            looked: 0,
        }
    }

    /// Whether each thread to which the contract promises the result comes to have it.
    pub fn check(&mut self, join: &Join, body: &[Stmt]) -> Result<(), WrongJoin> {
        let (kernel, operator) = (&self.kernel.name, &join.operator);
        let message = format!("`{kernel}` may not join the `{operator}` of its threads as it says");
        let found = Diagnostic::new("wrong-join", message);
        for stmt in body {
            if !is_alike(stmt) {
                self.follow_all();
            }
            if let Err(stop) = self.statement(stmt, &vec![true; self.threads]) {
                return Err(stop.wrong(found, operator));
            }
        }
        self.follow_all();
        if let Some(why) = self.looks_back_otherwise(join) {
            return Err(WrongJoin::Wrong(Box::new(found.witness(why))));
        }
        let mut groups = Groups::default();
        for thread in (0..self.threads).filter(|t| join.to_all || self.is_first(*t)) {
            let why = match self.points {
                Points::Scan(_) => self.differs_in_scan(thread),
                _ => self.differs(thread, &mut groups),
            };
            if let Some(why) = why {
                let witness = format!("thread {} {why}", self.name(thread));
                return Err(WrongJoin::Wrong(Box::new(found.witness(witness))));
            }
        }
        Ok(())
    }

    fn coordinates(&self, thread: usize) -> PerDim<usize> {
        let PerDim { x, y, .. } = self.kernel.block.map(|n| n as usize);
        PerDim { x: thread % x, y: thread / x % y, z: thread / (x * y) }
    }

    pub(super) fn name(&self, thread: usize) -> String {
        let PerDim { x, y, z } = self.coordinates(thread);
        format!("({x}, {y}, {z})")
    }

    /// The group of a thread: its coordinates, with those on joined axes by the group.
    pub(super) fn group(&self, thread: usize) -> PerDim<usize> {
        let mut at = self.coordinates(thread);
        for (axis, count) in &self.axes {
            at[*axis] /= (*count).max(1) as usize;
        }
        at
    }

    fn is_first(&self, thread: usize) -> bool {
        let at = self.coordinates(thread);
        self.axes.iter().all(|(axis, count)| at[*axis].is_multiple_of((*count).max(1) as usize))
    }

    pub(super) fn has_parts<'v>(&self, value: &'v Known, number: u8) -> Result<&'v Parts, String> {
        let Known::Parts(parts) = value else { return Err("has no joined value".into()) };
        match parts.number {
            Some(own) if own != number => Err("has one value of the state for another".into()),
            _ => Ok(parts),
        }
    }

    /// The number of a thread in its group.
    pub(super) fn rank(&self, thread: usize) -> usize {
        let at = self.coordinates(thread);
        let mut axes = self.axes.clone();
        axes.sort_unstable();
        axes.iter().rev().fold(0, |rank, (axis, count)| {
            let count = (*count).max(1) as usize;
            rank * count + at[*axis] % count
        })
    }

    pub fn number_of(&self, cell: &Cell) -> Option<u8> {
        let holder = cell.holder();
        self.claimed.state.iter().find(|(_, h)| **h == holder).map(|(number, _)| *number)
    }

    /// The values of a place. In the beginning each thread has its own partial result in what holds
    /// the state.
    pub fn values(&mut self, cell: &Cell) -> &mut Values {
        let known = self.cells.iter().position(|(c, _)| c == cell);
        let k = known.unwrap_or_else(|| {
            let values = self.beginning(cell);
            self.cells.push((cell.clone(), values));
            self.cells.len() - 1
        });
        &mut self.cells[k].1
    }

    /// The values of a place in each thread, to change some of them.
    pub fn each(&mut self, cell: &Cell) -> &mut Vec<Known> {
        let threads = self.threads;
        self.values(cell).each(threads)
    }

    fn beginning(&self, cell: &Cell) -> Values {
        let parts = |number, content| Known::Parts(Rc::new(Parts { number: Some(number), content }));
        if let Points::Scan(Scan { carry: Some(carry), .. }) = &self.points
            && let Some((number, _)) = carry.iter().find(|(_, holder)| **holder == cell.holder())
        {
            return Values::same(parts(*number, Content::run(0, 1)));
        }
        let Some(number) = self.number_of(cell) else { return Values::same(Known::Nothing) };
        let threads = 0..self.threads;
        match &self.points {
            Points::Threads => threads.map(|t| parts(number, Content::single(self.all, t))).collect(),
            Points::Given(size) => Values::same(parts(number, Content::no_set(*size))),
            Points::Scan(scan) => match scan.lane_of(cell) {
                Some(lane) => {
                    let own = |thread| 1 + self.rank(thread) * scan.lanes + lane;
                    threads.map(|t| parts(number, Content::run(own(t), own(t) + 1))).collect()
                }
                None => Values::same(Known::Nothing),
            },
        }
    }

    /// The value of this number in a state without partial results: the neutral element.
    pub fn nothing(&self, number: u8) -> Known {
        let content = match self.points {
            Points::Threads => Content::no_set(self.all),
            Points::Given(size) => Content::no_set(size),
            Points::Scan(_) => Content::run(0, 0),
        };
        Known::Parts(Rc::new(Parts { number: Some(number), content }))
    }

    fn is_neutral(&self, number: u8, value: &Known) -> bool {
        let given = self.claimed.first.get(&number).and_then(|first| constant(first));
        match (given, value, &self.patterns) {
            (Some(Known::Int(a)), Known::Int(b), _) => a == *b,
            (Some(Known::Float(a)), Known::Float(b), _) => a == *b,
            (Some(_), ..) => false,
            (None, value, Some(patterns)) => {
                value.term().is_some_and(|constant| patterns.is_neutral(number, &constant))
            }
            (None, _, None) => true,
        }
    }

    /// The value, as one of a state where it is the operator's of two states.
    pub(super) fn settled(&self, value: Known) -> Known {
        let Known::Term(term) = &value else { return value };
        if let Term::Part(parts) = &**term {
            return Known::Parts(parts.clone());
        }
        let joined = match &self.patterns {
            Some(patterns) => patterns.joined(term),
            None => {
                // Of an operator that is not known, all values of a state are joined as one; a
                // constant may be its neutral element.
                let mut states = Vec::new();
                let constants = term.states(&mut states);
                if term.converts() {
                    return value;
                }
                let mut states = states.iter().map(|s| s.content.clone());
                states.next().map(|first| {
                    let alone = states.len() == 0 && !constants;
                    let content = match alone {
                        true => first.with(&first, true),
                        false => states.fold(first, |a, b| a.with(&b, true)),
                    };
                    Parts { number: None, content }
                })
            }
        };
        joined.map_or(value, |parts| Known::Parts(Rc::new(parts)))
    }

    pub fn body(&mut self, body: &[Stmt], active: &[bool]) -> Result<(), Stop> {
        body.iter().try_for_each(|stmt| self.statement(stmt, active))
    }

    fn statement(&mut self, stmt: &Stmt, active: &[bool]) -> Result<(), Stop> {
        match stmt {
            Stmt::Declare(_) | Stmt::Sync { .. } => Ok(()),
            Stmt::Let { var, value, .. } | Stmt::Set { var, value, .. } => {
                self.assign(&Cell::Var(*var), value, active)
            }
            Stmt::Store { to, value, .. } => match to.memory {
                Memory::Private(array) => {
                    let Some(first) = (0..self.threads).find(|t| active[*t]) else { return Ok(()) };
                    let cell = self.element(array, &to.subscripts, first, active)?;
                    self.assign(&cell, value, active)
                }
                Memory::Shared(array) => {
                    let places = self.subscripts(&to.subscripts, active, active)?;
                    let values = self.of_block(value, active, active)?;
                    for (thread, at) in places.into_iter().enumerate().filter(|(t, _)| active[*t]) {
                        let value = self.settled(values.at(thread).clone());
                        self.shared.insert((array, at), value);
                    }
                    Ok(())
                }
                Memory::Global(_) => Err(Stop::NotFollowed),
            },
            Stmt::If { cond, body, otherwise, .. } => {
                let mut sides = [active.to_vec(), active.to_vec()];
                let holds = self.ints(cond, active, active)?;
                for thread in (0..self.threads).filter(|t| active[*t]) {
                    sides[usize::from(holds[thread] != 0)][thread] = false;
                }
                self.body(body, &sides[0])?;
                self.body(otherwise, &sides[1])
            }
            Stmt::LookBack(stmt) => self.look_back(stmt, active),
            Stmt::For { var, lower, upper, step, body, .. } => {
                let Some(first) = (0..self.threads).find(|t| active[*t]) else { return Ok(()) };
                let (lower, upper) = (self.ints(lower, active, active)?, self.ints(upper, active, active)?);
                let (mut at, end) = (lower[first], upper[first]);
                let same = |t: usize| !active[t] || (lower[t], upper[t]) == (at, end);
                if !(first..self.threads).all(same) {
                    return Err(Stop::NotFollowed);
                }
                for _ in 0..=self.threads.max(LONGEST) {
                    let more = match step {
                        Step::Halve => at > end,
                        Step::Add(_) | Step::Double => at < end,
                    };
                    if !more {
                        return Ok(());
                    }
                    *self.values(&Cell::Var(*var)) = Values::same(Known::Int(at));
                    self.body(body, active)?;
                    at = match step {
                        Step::Halve => at / 2,
                        Step::Double => at.saturating_mul(2),
                        Step::Add(k) => at.saturating_add(*k),
                    };
                }
                Err(Stop::NotFollowed)
            }
            _ => Err(Stop::NotFollowed),
        }
    }

    fn assign(&mut self, cell: &Cell, value: &Value, active: &[bool]) -> Result<(), Stop> {
        let number = self.number_of(cell);
        let mut values = self.of_block(value, active, active)?.into_each(self.threads);
        // What no thread keeps is not looked up.
        let before = active.contains(&false).then(|| self.values(cell).clone());
        for (thread, value) in values.iter_mut().enumerate() {
            if let (false, Some(before)) = (active[thread], &before) {
                *value = before.at(thread).clone();
                continue;
            }
            // What is a value of the state, and what a name of the text may hold, stays as it is.
            let stays = match value {
                Known::Parts(_) | Known::Nothing => true,
                Known::Int(_) | Known::Float(_) => number.is_none(),
                Known::Term(_) => false,
            };
            if stays {
                continue;
            }
            let found = std::mem::replace(value, Known::Nothing);
            *value = match (number, self.settled(found)) {
                // A constant in the place of the state has to be its first value.
                (Some(number), value @ (Known::Int(_) | Known::Float(_))) => {
                    if !self.is_neutral(number, &value) {
                        return Err(Stop::First);
                    }
                    self.nothing(number)
                }
                (Some(_), Known::Term(term)) => {
                    // A conversion may change nothing.
                    let is_other = self.simple.is_some() && !term.converts();
                    return Err(if is_other { Stop::Operation } else { Stop::NotFollowed });
                }
                (_, value) => value,
            };
        }
        *self.values(cell) = Values::of(values);
        Ok(())
    }

    /// The place of an element in a thread. Its subscripts are the same in all threads.
    pub fn element(
        &mut self,
        array: usize,
        subscripts: &[Value],
        thread: usize,
        active: &[bool],
    ) -> Result<Cell, Stop> {
        let mut at = Vec::new();
        for subscript in subscripts {
            let mut own = false;
            subscript.visit(&mut |v| match &v.kind {
                ValueKind::ThreadIdx(_) | ValueKind::Load(_) | ValueKind::Shuffle { .. } => own = true,
                ValueKind::Var(var) => {
                    let values = self.values(&Cell::Var(*var));
                    let same = |v: &Known| {
                        matches!((v, values.at(thread)), (Known::Int(a), Known::Int(b)) if a == b)
                    };
                    own |= !matches!(values.at(thread), Known::Nothing)
                        && !active.iter().enumerate().all(|(t, active)| !active || same(values.at(t)));
                }
                _ => {}
            });
            if own {
                return Err(Stop::NotFollowed);
            }
            at.push(match self.int(subscript, thread, active) {
                Ok(value) => Sub::At(value),
                Err(_) => {
                    // What the body counts would not be the same from one time to the next.
                    let mut counted = false;
                    subscript.visit(&mut |v| {
                        if let ValueKind::Var(var) = &v.kind {
                            let value = self.values(&Cell::Var(*var)).at(thread);
                            counted |= !matches!(value, Known::Nothing);
                        }
                    });
                    if counted {
                        return Err(Stop::NotFollowed);
                    }
                    Sub::Text(subscript.clone())
                }
            });
        }
        Ok(Cell::Element(array, at))
    }

    /// The place of an element in all wanted threads, which has to be the same; `None` if there are
    /// none.
    fn element_of_all(
        &mut self,
        array: usize,
        subscripts: &[Value],
        wanted: &[bool],
        active: &[bool],
    ) -> Result<Option<Cell>, Stop> {
        let Some(first) = (0..self.threads).find(|t| wanted[*t]) else { return Ok(None) };
        let cell = self.element(array, subscripts, first, active)?;
        // An integer that the first thread knows is that of all who run. What is unknown there has
        // to be unknown in all.
        let mut others_know = false;
        subscripts.iter().for_each(|subscript| {
            subscript.visit(&mut |v| {
                let ValueKind::Var(var) = &v.kind else { return };
                let values = self.values(&Cell::Var(*var));
                let knows = |t: usize| !matches!(values.at(t), Known::Nothing);
                others_know |= !knows(first) && wanted.iter().enumerate().any(|(t, w)| *w && knows(t));
            });
        });
        if others_know { Err(Stop::NotFollowed) } else { Ok(Some(cell)) }
    }
}

/// The operation of an operator that combines two single values by one.
fn single(operator: &ReductionOp) -> Option<BinOp> {
    let is_state = |e: &Expr| matches!(e, Expr::Name(_));
    match operator.combine.as_slice() {
        [Expr::Binary(op, a, b)] if is_state(a) && is_state(b) && a != b => match op {
            BinaryOp::Add => Some(BinOp::Add),
            BinaryOp::Mul => Some(BinOp::Mul),
            BinaryOp::And => Some(BinOp::And),
            BinaryOp::Or => Some(BinOp::Or),
            _ => None,
        },
        [Expr::Call { function, args, .. }] if matches!(args.as_slice(), [a, b] if a != b) => {
            match &**function {
                "min" if args.iter().all(is_state) => Some(BinOp::Min),
                "max" if args.iter().all(is_state) => Some(BinOp::Max),
                _ => None,
            }
        }
        _ => None,
    }
}
