//! What the body of a collective does: it is run for all threads of a block, on sets of threads.
//!
//! See the second question of [`super`].

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use loopwright_kernel_ir::{BinaryOp, Diagnostic, Expr, ReductionOp};

use super::{Holder, State, WrongJoin};
use crate::{BinOp, DeviceKernel, Join, Memory, ShuffleMode, Step, Stmt, UnOp, Value, ValueKind, VarId};

/// Threads whose partial results are in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    /// The number of the value of the operator's state; `None` of what several of them make.
    number: Option<u8>,
    /// A bit for each thread of the block.
    threads: Vec<u64>,
    /// A thread that is in it more than once.
    twice: Option<usize>,
}

/// A value of one thread.
#[derive(Clone, Debug)]
enum Known {
    Int(i64),
    Parts(Rc<Parts>),
    /// Nothing has given it.
    Nothing,
}

/// A place that holds a value in each thread.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Var(VarId),
    /// An element of an array of the thread; its subscripts, which the lanes around give.
    Element(usize, Vec<Value>),
}

/// A body that is run for all threads of a block.
pub(super) struct Run<'p> {
    kernel: &'p DeviceKernel,
    warp_size: i64,
    join: &'p Join,
    state: State,
    /// The first values of the state, if they are known.
    first: BTreeMap<u8, &'p Value>,
    operator: Option<&'p ReductionOp>,
    threads: usize,
    cells: Vec<(Cell, Vec<Known>)>,
    shared: HashMap<(usize, Vec<i64>), Known>,
}

/// Why a run ends.
enum Stop {
    NotFollowed,
    /// An operation that is not the operator's.
    Operation,
    /// It begins anew, with another value than the first one.
    First,
}

impl<'p> Run<'p> {
    /// A join in a kernel whose warps have that many threads, of the state that these hold.
    pub fn new(
        kernel: &'p DeviceKernel,
        warp_size: u32,
        join: &'p Join,
        state: State,
        first: BTreeMap<u8, &'p Value>,
        operator: Option<&'p ReductionOp>,
    ) -> Self {
        let (cells, shared) = (Vec::new(), HashMap::new());
        let (threads, warp_size) = (kernel.threads() as usize, i64::from(warp_size).max(1));
        Run { kernel, warp_size, join, state, first, operator, threads, cells, shared }
    }

    /// Whether each thread to which the contract promises the result comes to have it.
    pub fn check(&mut self, body: &[Stmt]) -> Result<(), WrongJoin> {
        let (kernel, operator) = (&self.kernel.name, &self.join.operator);
        let message = format!("`{kernel}` may not join the `{operator}` of its threads as it says");
        let wrong = |d: Diagnostic| WrongJoin::Wrong(Box::new(d));
        let found = Diagnostic::new("wrong-join", message);
        let all = vec![true; self.threads];
        match self.body(body, &all) {
            Ok(()) => {}
            Err(Stop::Operation) => {
                return Err(wrong(
                    found.witness(format!("two values are combined, but not by `{operator}`")),
                ));
            }
            Err(Stop::First) => {
                return Err(wrong(found.witness("it begins with another value than the neutral one")));
            }
            Err(Stop::NotFollowed) => {
                return Err(WrongJoin::NotFollowed(Box::new(
                    found.help("it is of a form that the check does not follow"),
                )));
            }
        }
        for thread in 0..self.threads {
            if !self.join.to_all && !self.is_first(thread) {
                continue;
            }
            if let Some(why) = self.differs(thread) {
                return Err(wrong(found.witness(format!("thread {} {why}", self.name(thread)))));
            }
        }
        Ok(())
    }

    fn coordinates(&self, thread: usize) -> [usize; 3] {
        let [x, y, _] = self.kernel.block.map(|n| n as usize);
        [thread % x, thread / x % y, thread / (x * y)]
    }

    fn name(&self, thread: usize) -> String {
        let [x, y, z] = self.coordinates(thread);
        format!("({x}, {y}, {z})")
    }

    /// The group of a thread: its coordinates, with those on joined axes by the group.
    fn group(&self, thread: usize) -> [usize; 3] {
        let mut at = self.coordinates(thread);
        for (axis, count) in &self.join.axes {
            *axis.of_mut(&mut at) /= (*count).max(1) as usize;
        }
        at
    }

    fn is_first(&self, thread: usize) -> bool {
        let at = self.coordinates(thread);
        self.join.axes.iter().all(|(axis, count)| axis.of(&at).is_multiple_of((*count).max(1) as usize))
    }

    /// What is wrong with the values that a thread has in the end.
    fn differs(&self, thread: usize) -> Option<String> {
        for (number, holder) in &self.state {
            let mut some = false;
            for (cell, values) in &self.cells {
                let is_own = match cell {
                    Cell::Var(var) => *holder == Holder::Var(*var),
                    Cell::Element(array, _) => *holder == Holder::Array(*array),
                };
                if !is_own {
                    continue;
                }
                some = true;
                let Known::Parts(parts) = &values[thread] else {
                    return Some("has no joined value".into());
                };
                if parts.number.is_some_and(|own| own != *number) {
                    return Some("has one value of the state for another".into());
                }
                if let Some(other) = parts.twice {
                    return Some(format!("has the partial result of thread {} twice", self.name(other)));
                }
                for other in 0..self.threads {
                    match (has(parts, other), self.group(other) == self.group(thread)) {
                        (false, true) => {
                            return Some(format!("has no partial result of thread {}", self.name(other)));
                        }
                        (true, false) => {
                            let other = self.name(other);
                            return Some(format!(
                                "has the partial result of thread {other}, of another group"
                            ));
                        }
                        _ => {}
                    }
                }
            }
            // Nothing has been done with what each thread had.
            if !some && self.join.axes.iter().any(|(_, count)| *count > 1) {
                return Some("has only its own partial result".into());
            }
        }
        None
    }

    fn number_of(&self, cell: &Cell) -> Option<u8> {
        let holder = match cell {
            Cell::Var(var) => Holder::Var(*var),
            Cell::Element(array, _) => Holder::Array(*array),
        };
        self.state.iter().find(|(_, h)| **h == holder).map(|(number, _)| *number)
    }

    /// The values of a place. In the beginning each thread has its own partial result in what holds
    /// the state.
    fn values(&mut self, cell: &Cell) -> &mut Vec<Known> {
        let known = self.cells.iter().position(|(c, _)| c == cell);
        let k = known.unwrap_or_else(|| {
            let values = match self.number_of(cell) {
                Some(number) => {
                    (0..self.threads).map(|t| Known::Parts(Rc::new(self.own(number, t)))).collect()
                }
                None => vec![Known::Nothing; self.threads],
            };
            self.cells.push((cell.clone(), values));
            self.cells.len() - 1
        });
        &mut self.cells[k].1
    }

    fn own(&self, number: u8, thread: usize) -> Parts {
        let mut threads = vec![0; self.threads.div_ceil(64)];
        threads[thread / 64] |= 1 << (thread % 64);
        Parts { number: Some(number), threads, twice: None }
    }

    fn body(&mut self, body: &[Stmt], active: &[bool]) -> Result<(), Stop> {
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
                    self.assign(&Cell::Element(array, to.subscripts.clone()), value, active)
                }
                Memory::Shared(array) => {
                    let mut stored = Vec::new();
                    for thread in (0..self.threads).filter(|t| active[*t]) {
                        let at = self.subscripts(&to.subscripts, thread, active)?;
                        stored.push(((array, at), self.value(value, thread, active)?));
                    }
                    self.shared.extend(stored);
                    Ok(())
                }
                Memory::Global(_) => Err(Stop::NotFollowed),
            },
            Stmt::If { cond, body, otherwise, .. } => {
                let mut sides = [active.to_vec(), active.to_vec()];
                for thread in (0..self.threads).filter(|t| active[*t]) {
                    let holds = self.int(cond, thread, active)? != 0;
                    sides[usize::from(holds)][thread] = false;
                }
                self.body(body, &sides[0])?;
                self.body(otherwise, &sides[1])
            }
            Stmt::For { var, lower, upper, step, body, .. } => {
                let Some(first) = (0..self.threads).find(|t| active[*t]) else { return Ok(()) };
                let bounds =
                    |this: &mut Self, t| Ok((this.int(lower, t, active)?, this.int(upper, t, active)?));
                let (mut at, end) = bounds(self, first)?;
                for thread in (first..self.threads).filter(|t| active[*t]) {
                    if bounds(self, thread)? != (at, end) {
                        return Err(Stop::NotFollowed);
                    }
                }
                for _ in 0..=self.threads {
                    let more = match step {
                        Step::Halve => at > end,
                        Step::Add(_) | Step::Double => at < end,
                    };
                    if !more {
                        return Ok(());
                    }
                    let threads = self.threads;
                    *self.values(&Cell::Var(*var)) = vec![Known::Int(at); threads];
                    self.body(body, active)?;
                    at = match step {
                        Step::Halve => at / 2,
                        Step::Double => at.saturating_mul(2),
                        Step::Add(k) => at.saturating_add(*k),
                    };
                }
                Err(Stop::NotFollowed)
            }
            Stmt::Update { .. } | Stmt::VectorCopy { .. } | Stmt::Collective { .. } => Err(Stop::NotFollowed),
        }
    }

    fn assign(&mut self, cell: &Cell, value: &Value, active: &[bool]) -> Result<(), Stop> {
        let number = self.number_of(cell);
        let mut given = Vec::new();
        for thread in (0..self.threads).filter(|t| active[*t]) {
            let value = match (number, self.value(value, thread, active)?) {
                // A constant in the place of the state has to be its first value.
                (Some(number), Known::Int(_)) => {
                    if self.first.get(&number).is_some_and(|first| *first != value) {
                        return Err(Stop::First);
                    }
                    let threads = vec![0; self.threads.div_ceil(64)];
                    Known::Parts(Rc::new(Parts { number: Some(number), threads, twice: None }))
                }
                (Some(number), Known::Parts(parts)) if parts.number.is_none() => {
                    Known::Parts(Rc::new(Parts { number: Some(number), ..(*parts).clone() }))
                }
                (_, value) => value,
            };
            given.push((thread, value));
        }
        let values = self.values(cell);
        for (thread, value) in given {
            values[thread] = value;
        }
        Ok(())
    }

    fn int(&mut self, value: &Value, thread: usize, active: &[bool]) -> Result<i64, Stop> {
        match self.value(value, thread, active)? {
            Known::Int(v) => Ok(v),
            _ => Err(Stop::NotFollowed),
        }
    }

    fn subscripts(&mut self, s: &[Value], thread: usize, active: &[bool]) -> Result<Vec<i64>, Stop> {
        s.iter().map(|s| self.int(s, thread, active)).collect()
    }

    /// The value in a thread of those that run.
    fn value(&mut self, value: &Value, thread: usize, active: &[bool]) -> Result<Known, Stop> {
        match &value.kind {
            ValueKind::Int(v) => Ok(Known::Int(*v)),
            ValueKind::Bool(v) => Ok(Known::Int((*v).into())),
            // The constants of the state are not told apart.
            ValueKind::Float(_) => Ok(Known::Int(0)),
            ValueKind::ThreadIdx(axis) => Ok(Known::Int(*axis.of(&self.coordinates(thread)) as i64)),
            ValueKind::Var(var) => Ok(self.values(&Cell::Var(*var))[thread].clone()),
            ValueKind::Cast(a) => self.value(a, thread, active),
            ValueKind::Load(element) => match element.memory {
                Memory::Private(array) => {
                    let cell = Cell::Element(array, element.subscripts.clone());
                    Ok(self.values(&cell)[thread].clone())
                }
                Memory::Shared(array) => {
                    let at = self.subscripts(&element.subscripts, thread, active)?;
                    Ok(self.shared.get(&(array, at)).cloned().unwrap_or(Known::Nothing))
                }
                Memory::Global(_) => Err(Stop::NotFollowed),
            },
            ValueKind::Shuffle { mode, value, operand, width } => {
                let operand = self.int(operand, thread, active)?;
                let (width, own) = (i64::from(*width).max(1), thread as i64);
                // Groups begin at multiples of their width, in each warp.
                let in_warp = own % self.warp_size;
                let lane = in_warp % width;
                let to = match mode {
                    ShuffleMode::Xor => lane ^ operand,
                    ShuffleMode::Down => lane + operand,
                    ShuffleMode::Up => lane - operand,
                    ShuffleMode::Index => operand,
                };
                let to = if (0..width).contains(&to) { to } else { lane };
                match usize::try_from(own - lane + to) {
                    Ok(other) if other < self.threads && active[other] => self.value(value, other, active),
                    _ => Ok(Known::Nothing),
                }
            }
            ValueKind::Binary(op, a, b) => {
                match (self.value(a, thread, active)?, self.value(b, thread, active)?) {
                    (Known::Int(a), Known::Int(b)) => {
                        computed(*op, a, b).map(Known::Int).ok_or(Stop::NotFollowed)
                    }
                    (Known::Parts(a), Known::Parts(b)) if self.state.len() == 1 => {
                        match self.operator.and_then(single) {
                            Some(known) if known != *op => Err(Stop::Operation),
                            _ => Ok(Known::Parts(Rc::new(united(&a, &b)))),
                        }
                    }
                    (Known::Nothing, _) | (_, Known::Nothing) => Ok(Known::Nothing),
                    _ => self.combined(value, thread, active),
                }
            }
            ValueKind::Unary(op, a) => match (op, self.value(a, thread, active)?) {
                (UnOp::Neg, Known::Int(a)) => Ok(Known::Int(a.saturating_neg())),
                (UnOp::Not, Known::Int(a)) => Ok(Known::Int((a == 0).into())),
                _ => self.combined(value, thread, active),
            },
            ValueKind::Select(cond, a, b) => match self.value(cond, thread, active) {
                Ok(Known::Int(0)) => self.value(b, thread, active),
                Ok(Known::Int(_)) => self.value(a, thread, active),
                _ => self.combined(value, thread, active),
            },
            ValueKind::Call { .. } => self.combined(value, thread, active),
            ValueKind::Param(_)
            | ValueKind::BlockIdx(_)
            | ValueKind::Any(_)
            | ValueKind::Ballot(_)
            | ValueKind::LeadingZeros(_) => Err(Stop::NotFollowed),
        }
    }

    /// An operation on values of a state: those of two states, of which each stands for all of its
    /// values.
    fn combined(&mut self, value: &Value, thread: usize, active: &[bool]) -> Result<Known, Stop> {
        let mut leaves = Vec::new();
        self.leaves(value, thread, active, true, &mut leaves)?;
        let numbers: Vec<Option<u8>> =
            leaves.iter().filter(|(_, gives)| *gives).map(|(p, _)| p.number).collect();
        let number = numbers.first().copied().flatten().filter(|n| numbers.iter().all(|m| *m == Some(*n)));
        let mut states: Vec<&Parts> = Vec::new();
        for (parts, _) in &leaves {
            if !states.iter().any(|s| s.threads == parts.threads && s.twice == parts.twice) {
                states.push(parts);
            }
        }
        let united = match states[..] {
            // Both states are of the same threads.
            [one] => united(one, one),
            [one, other] => united(one, other),
            _ => return Err(Stop::NotFollowed),
        };
        Ok(Known::Parts(Rc::new(Parts { number, ..united })))
    }

    /// The values of states that a value is computed from, and whether it may be one of them, or
    /// only depends on them by a condition.
    fn leaves(
        &mut self,
        value: &Value,
        thread: usize,
        active: &[bool],
        gives: bool,
        found: &mut Vec<(Rc<Parts>, bool)>,
    ) -> Result<(), Stop> {
        match &value.kind {
            ValueKind::Select(cond, a, b) => {
                self.leaves(cond, thread, active, false, found)?;
                self.leaves(a, thread, active, gives, found)?;
                self.leaves(b, thread, active, gives, found)
            }
            ValueKind::Binary(op, a, b) => {
                let gives = gives && !op.is_comparison();
                self.leaves(a, thread, active, gives, found)?;
                self.leaves(b, thread, active, gives, found)
            }
            ValueKind::Unary(_, a) | ValueKind::Cast(a) => self.leaves(a, thread, active, gives, found),
            ValueKind::Call { args, .. } => {
                args.iter().try_for_each(|a| self.leaves(a, thread, active, gives, found))
            }
            _ => match self.value(value, thread, active)? {
                Known::Parts(parts) => {
                    found.push((parts, gives));
                    Ok(())
                }
                Known::Int(_) => Ok(()),
                Known::Nothing => Err(Stop::NotFollowed),
            },
        }
    }
}

fn has(parts: &Parts, thread: usize) -> bool {
    parts.threads[thread / 64] >> (thread % 64) & 1 == 1
}

fn united(a: &Parts, b: &Parts) -> Parts {
    let common = a.threads.iter().zip(&b.threads).enumerate().find(|(_, (a, b))| *a & *b != 0);
    let common = common.map(|(k, (a, b))| 64 * k + (a & b).trailing_zeros() as usize);
    Parts {
        number: a.number,
        threads: a.threads.iter().zip(&b.threads).map(|(a, b)| a | b).collect(),
        twice: a.twice.or(b.twice).or(common),
    }
}

/// The operation of an operator whose state is one value, if it is one of those that a program has.
fn single(operator: &ReductionOp) -> Option<BinOp> {
    let is_state = |e: &Expr| matches!(e, Expr::Name(_));
    match operator.combine.as_slice() {
        [Expr::Binary(op, a, b)] if is_state(a) && is_state(b) => match op {
            BinaryOp::Add => Some(BinOp::Add),
            BinaryOp::Mul => Some(BinOp::Mul),
            BinaryOp::And => Some(BinOp::And),
            BinaryOp::Or => Some(BinOp::Or),
            _ => None,
        },
        [Expr::Call { function, args, .. }] if args.iter().all(is_state) => match &**function {
            "min" => Some(BinOp::Min),
            "max" => Some(BinOp::Max),
            _ => None,
        },
        _ => None,
    }
}

fn computed(op: BinOp, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        BinOp::Add => a.checked_add(b)?,
        BinOp::Sub => a.checked_sub(b)?,
        BinOp::Mul => a.checked_mul(b)?,
        BinOp::FloorDiv | BinOp::TruncDiv if b > 0 && a >= 0 => a / b,
        BinOp::FloorMod | BinOp::TruncRem if b > 0 && a >= 0 => a % b,
        BinOp::Min => a.min(b),
        BinOp::Max => a.max(b),
        BinOp::Lt => (a < b).into(),
        BinOp::Le => (a <= b).into(),
        BinOp::Gt => (a > b).into(),
        BinOp::Ge => (a >= b).into(),
        BinOp::Eq => (a == b).into(),
        BinOp::Ne => (a != b).into(),
        BinOp::And => (a != 0 && b != 0).into(),
        BinOp::Or => (a != 0 || b != 0).into(),
        _ => return None,
    })
}
