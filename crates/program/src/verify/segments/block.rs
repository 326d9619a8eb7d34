//! Runs one block of a device kernel: all its threads in step, one statement after the other.
//!
//! A statement is executed for the threads that come to it, in one go: all values first, then what
//! is written. That is one of the orders that the text allows; that the others give the same is
//! shown where conflicts are judged (`order`), since a barrier separates what must not meet. Only
//! that statements of one part, whose elements data decide, write different ones is not shown
//! there: two threads that write one element of shared memory with no barrier between are a fault
//! here.
//!
//! Faults are besides: to read what nothing has written; an element outside of its array; a vector
//! that is not aligned; an exchange in which a lane of the warp does not take part.

#[cfg(test)]
mod tests;

use loopwright_kernel_ir::{Name, PerDim};
use loopwright_poly::Table;

use super::number::{self, Num, Written};
use crate::{
    BinOp, DeviceKernel, MemRef, Memory, Program, Scope, ShuffleMode, Step, Stmt, Value, ValueKind, VarId,
    eval_host,
};

/// Why a run ends before its last statement.
pub(super) enum Stop {
    /// The program does what it must not.
    Wrong(String),
    /// The check does not know what a statement does.
    NotFollowed(&'static str),
}

pub(super) type Result<T> = std::result::Result<T, Stop>;

/// What a program runs on: its scalars, and the elements of arrays.
pub(super) struct Machine<'p> {
    pub program: &'p Program,
    /// Integer scalars, and the variables of host loops.
    pub scalars: Table<Name, i64>,
    /// The number of elements of each array in global memory.
    pub sizes: Vec<i64>,
    pub written: Written,
    /// Which of the arrays have been written: the elements of others are not looked for.
    pub is_written: Vec<bool>,
    /// The first value of an element, by its array and its offset.
    pub first: &'p dyn Fn(usize, i64) -> Num,
    /// The value of a floating-point scalar, by its name.
    pub scalar: &'p dyn Fn(&Name) -> Num,
    /// How many more statements may be executed, those of each thread counted.
    pub left: u64,
}

impl Machine<'_> {
    pub fn host(&self, value: &Value) -> Option<i64> {
        eval_host(value, &|name| self.scalars.get(name).copied())
    }

    /// Runs all blocks of a launch.
    pub fn launch(&mut self, kernel: &DeviceKernel) -> Result<()> {
        let grid = PerDim::try_from_fn(|dim| {
            self.host(&kernel.grid[dim]).ok_or(Stop::NotFollowed("a grid is no number"))
        })?;
        for z in 0..grid.z {
            for y in 0..grid.y {
                for x in 0..grid.x {
                    Block::new(self, kernel, PerDim { x, y, z }).run()?;
                }
            }
        }
        Ok(())
    }

    fn load(&self, array: usize, offset: i64) -> Num {
        let written = self.is_written[array].then(|| self.written.get(&(array, offset)));
        match written.flatten() {
            Some((value, _)) => *value,
            None => (self.first)(array, offset),
        }
    }
}

/// The threads that execute a statement, in ascending order.
type Active = Vec<usize>;

/// A thread that has written, and the numbers of barriers of its block and of its warp before.
type Writer = (usize, [u32; 2]);

struct Block<'m, 'p> {
    machine: &'m mut Machine<'p>,
    kernel: &'m DeviceKernel,
    at: PerDim<i64>,
    threads: usize,
    warp: usize,
    /// By variable and thread.
    vars: Vec<Num>,
    /// By element and thread, for each array.
    private: Vec<Vec<Num>>,
    shared: Vec<Vec<Num>>,
    /// The last write of each element of shared memory.
    writers: Vec<Vec<Option<Writer>>>,
    block_barriers: u32,
    /// The warp barriers that each warp has passed.
    warp_barriers: Vec<u32>,
}

impl<'m, 'p> Block<'m, 'p> {
    fn new(machine: &'m mut Machine<'p>, kernel: &'m DeviceKernel, at: PerDim<i64>) -> Self {
        let threads = kernel.threads() as usize;
        let of = |arrays: &[crate::LocalArray], copies: usize| -> Vec<Vec<Num>> {
            arrays.iter().map(|a| vec![Num::Nothing; a.elements() as usize * copies]).collect()
        };
        let warp = machine.program.target.warp_size as usize;
        Block {
            at,
            threads,
            warp,
            vars: vec![Num::Nothing; kernel.vars.len() * threads],
            private: of(&kernel.private, threads),
            shared: of(&kernel.shared, 1),
            writers: kernel.shared.iter().map(|a| vec![None; a.elements() as usize]).collect(),
            block_barriers: 0,
            warp_barriers: vec![0; threads.div_ceil(warp.max(1))],
            machine,
            kernel,
        }
    }

    fn run(&mut self) -> Result<()> {
        let all: Active = (0..self.threads).collect();
        let kernel = self.kernel;
        self.body(&kernel.body, &all)
    }

    fn coordinates(&self, thread: usize) -> PerDim<i64> {
        let PerDim { x, y, .. } = self.kernel.block.map(|n| n as usize);
        PerDim { x: thread % x, y: thread / x % y, z: thread / (x * y) }.map(|c| c as i64)
    }

    fn wrong<T>(&self, thread: usize, what: &str) -> Result<T> {
        let (PerDim { x, y, z }, at) = (self.coordinates(thread), self.at);
        let PerDim { x: bx, y: by, z: bz } = at;
        let kernel = &self.kernel.name;
        Err(Stop::Wrong(format!("thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz}) of `{kernel}` {what}")))
    }

    fn body(&mut self, body: &[Stmt], active: &Active) -> Result<()> {
        if active.is_empty() {
            return Ok(());
        }
        body.iter().try_for_each(|stmt| self.statement(stmt, active))
    }

    fn statement(&mut self, stmt: &Stmt, active: &Active) -> Result<()> {
        let Some(left) = self.machine.left.checked_sub(active.len() as u64) else {
            return Err(Stop::NotFollowed("it runs for too long"));
        };
        self.machine.left = left;
        match stmt {
            Stmt::Let { var, value, .. } | Stmt::Set { var, value, .. } => {
                let values = self.values(value, active)?;
                self.assign(*var, active, &values)
            }
            Stmt::Declare(var) => self.assign(*var, active, &vec![Num::Nothing; active.len()]),
            Stmt::Store { to, value, .. } => {
                let values = self.values(value, active)?;
                let offsets = self.offsets(to, active)?;
                self.store(to.memory, active, &offsets, &values)
            }
            Stmt::VectorCopy { to, from, lanes, .. } => {
                let (source, target) = (self.offsets(from, active)?, self.offsets(to, active)?);
                let width = i64::from(*lanes);
                for (thread, (s, t)) in active.iter().zip(source.iter().zip(&target)) {
                    if s % width != 0 || t % width != 0 {
                        return self.wrong(*thread, "copies a vector that is not aligned");
                    }
                }
                for lane in 0..width {
                    let of = |offsets: &[i64]| offsets.iter().map(|o| o + lane).collect::<Vec<_>>();
                    let values = self.load(from.memory, active, &of(&source))?;
                    self.store(to.memory, active, &of(&target), &values)?;
                }
                Ok(())
            }
            Stmt::If { cond, body, otherwise, .. } => {
                let (yes, no) = self.divided(cond, active)?;
                self.body(body, &yes)?;
                self.body(otherwise, &no)
            }
            Stmt::For { var, lower, upper, step, body, .. } => {
                let mut counters = self.integers(lower, active, "begins a loop with")?;
                let mut live = active.clone();
                loop {
                    let values: Vec<Num> = counters.iter().map(|c| Num::Int(*c)).collect();
                    self.assign(*var, &live, &values)?;
                    let ends = self.integers(upper, &live, "ends a loop with")?;
                    let goes_on = |c: i64, end: i64| if *step == Step::Halve { c > end } else { c < end };
                    let mut kept = Vec::new();
                    live = live
                        .iter()
                        .zip(counters.iter().zip(&ends))
                        .filter(|(_, (c, end))| goes_on(**c, **end))
                        .map(|(thread, (c, _))| {
                            kept.push(*c);
                            *thread
                        })
                        .collect();
                    if live.is_empty() {
                        return Ok(());
                    }
                    self.body(body, &live)?;
                    counters = kept;
                    for c in &mut counters {
                        *c = match step {
                            Step::Add(by) => c.saturating_add((*by).max(1)),
                            Step::Halve => *c / 2,
                            Step::Double => c.saturating_mul(2).max(1),
                        };
                    }
                }
            }
            Stmt::Sync { scope: Scope::Block, .. } => {
                self.block_barriers += 1;
                Ok(())
            }
            Stmt::Sync { scope: Scope::Warp, .. } => {
                let mut last = None;
                for warp in active.iter().map(|thread| thread / self.warp) {
                    if last != Some(warp) {
                        self.warp_barriers[warp] += 1;
                    }
                    last = Some(warp);
                }
                Ok(())
            }
            Stmt::Collective { body, .. } => self.body(body, active),
            _ => Err(Stop::NotFollowed("it is no statement that such nests have")),
        }
    }

    /// The threads in which a condition holds, and the others.
    fn divided(&mut self, cond: &Value, active: &Active) -> Result<(Active, Active)> {
        let holds = self.integers(cond, active, "decides by")?;
        let (mut yes, mut no) = (Vec::with_capacity(active.len()), Vec::new());
        for (thread, holds) in active.iter().zip(holds) {
            if holds == 0 { &mut no } else { &mut yes }.push(*thread);
        }
        Ok((yes, no))
    }

    fn assign(&mut self, var: VarId, active: &Active, values: &[Num]) -> Result<()> {
        let declared = &self.kernel.vars[var.0];
        for (thread, value) in active.iter().zip(values) {
            if let (Some((least, most)), Num::Int(v)) = (declared.within, value)
                && !(least..=most).contains(v)
            {
                let name = &declared.name;
                return self.wrong(*thread, &format!("has {v} in `{name}`, which is from {least} to {most}"));
            }
            self.vars[var.0 * self.threads + thread] = *value;
        }
        Ok(())
    }

    fn integers(&mut self, value: &Value, active: &Active, what: &str) -> Result<Vec<i64>> {
        let values = self.values(value, active)?;
        if let Some(k) = values.iter().position(|v| v.int().is_none()) {
            return self.wrong(active[k], &format!("{what} a value that nothing has given"));
        }
        // In the memory of the values.
        Ok(values.into_iter().map(|v| v.int().unwrap_or_default()).collect())
    }

    fn offsets(&mut self, element: &MemRef, active: &Active) -> Result<Vec<i64>> {
        self.integers(&element.offset, active, "accesses an element by")
    }

    /// The number of elements of an array, and its name.
    fn array(&self, memory: Memory) -> (i64, &Name) {
        match memory {
            Memory::Global(k) => (self.machine.sizes[k], &self.machine.program.globals[k].name),
            Memory::Shared(k) => (self.kernel.shared[k].elements() as i64, &self.kernel.shared[k].name),
            Memory::Private(k) => (self.kernel.private[k].elements() as i64, &self.kernel.private[k].name),
        }
    }

    /// Whether all threads access elements that the array has.
    fn are_inside(&self, memory: Memory, active: &Active, offsets: &[i64]) -> Result<()> {
        let (size, name) = self.array(memory);
        for (thread, offset) in active.iter().zip(offsets) {
            if !(0..size).contains(offset) {
                let what = format!("accesses element {offset} of `{name}`, which has {size}");
                return self.wrong(*thread, &what);
            }
        }
        Ok(())
    }

    fn store(&mut self, memory: Memory, active: &Active, offsets: &[i64], values: &[Num]) -> Result<()> {
        self.are_inside(memory, active, offsets)?;
        if let Memory::Global(k) = memory {
            self.machine.is_written[k] = true;
        }
        for ((thread, offset), value) in active.iter().zip(offsets).zip(values) {
            let at = *offset as usize;
            match memory {
                Memory::Global(k) => {
                    let element = self.machine.written.entry((k, *offset)).or_insert((Num::Nothing, 0));
                    *element = (*value, element.1 + 1);
                }
                Memory::Shared(k) => {
                    let warp = thread / self.warp;
                    let now = [self.block_barriers, self.warp_barriers[warp]];
                    if let Some((other, then)) = self.writers[k][at].replace((*thread, now))
                        && other != *thread
                        && then[0] == now[0]
                        && (other / self.warp != warp || then[1] == now[1])
                    {
                        let name = &self.kernel.shared[k].name;
                        let what = format!("writes element {offset} of `{name}` as another thread does");
                        return self.wrong(*thread, &what);
                    }
                    self.shared[k][at] = *value;
                }
                Memory::Private(k) => self.private[k][at * self.threads + thread] = *value,
            }
        }
        Ok(())
    }

    fn load(&self, memory: Memory, active: &Active, offsets: &[i64]) -> Result<Vec<Num>> {
        self.are_inside(memory, active, offsets)?;
        let mut values = Vec::with_capacity(active.len());
        for (thread, offset) in active.iter().zip(offsets) {
            let at = *offset as usize;
            let value = match memory {
                Memory::Global(k) => self.machine.load(k, *offset),
                Memory::Shared(k) => self.shared[k][at],
                Memory::Private(k) => self.private[k][at * self.threads + thread],
            };
            if value == Num::Nothing {
                let name = self.array(memory).1;
                return self.wrong(
                    *thread,
                    &format!("reads element {offset} of `{name}`, which nothing has written"),
                );
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The value of an operand that is the same in all threads of the block.
    fn common(&self, value: &Value) -> Option<Num> {
        Some(match &value.kind {
            ValueKind::Int(v) => Num::Int(*v),
            ValueKind::Bool(v) => Num::Int((*v).into()),
            ValueKind::Float(v) => Num::Float(*v),
            ValueKind::Param(name) => match self.machine.scalars.get(name) {
                Some(v) if value.dtype.is_integer() => Num::Int(*v),
                _ => (self.machine.scalar)(name),
            },
            ValueKind::BlockIdx(dim) => Num::Int(self.at[*dim]),
            _ => return None,
        })
    }

    /// The values of an expression in the threads, in their order.
    fn values(&mut self, value: &Value, active: &Active) -> Result<Vec<Num>> {
        Ok(match &value.kind {
            ValueKind::Int(_)
            | ValueKind::Bool(_)
            | ValueKind::Float(_)
            | ValueKind::Param(_)
            | ValueKind::BlockIdx(_) => vec![self.common(value).unwrap_or(Num::Nothing); active.len()],
            ValueKind::Var(var) => {
                let of_all = &self.vars[var.0 * self.threads..][..self.threads];
                match active.len() == self.threads {
                    true => of_all.to_vec(),
                    false => active.iter().map(|t| of_all[*t]).collect(),
                }
            }
            ValueKind::ThreadIdx(dim) => {
                active.iter().map(|t| Num::Int(self.coordinates(*t)[*dim])).collect()
            }
            ValueKind::Load(element) => {
                let offsets = self.offsets(element, active)?;
                self.load(element.memory, active, &offsets)?
            }
            ValueKind::Unary(op, a) => {
                let mut a_values = self.values(a, active)?;
                a_values.iter_mut().for_each(|v| *v = number::unary(*op, value.dtype, *v));
                a_values
            }
            ValueKind::Binary(op @ (BinOp::And | BinOp::Or), a, b)
                if value.dtype == loopwright_kernel_ir::DType::Bool =>
            {
                self.decided(*op, a, b, active)?
            }
            ValueKind::Binary(op, a, b) => {
                let mut left = self.values(a, active)?;
                if let Some(r) = self.common(b) {
                    number::binary_each(*op, a.dtype, &mut left, |_| r);
                } else {
                    let right = self.values(b, active)?;
                    number::binary_each(*op, a.dtype, &mut left, |k| right[k]);
                }
                left
            }
            ValueKind::Select(cond, a, b) => {
                let (yes, no) = self.divided(cond, active)?;
                let (a, b) = (self.values(a, &yes)?, self.values(b, &no)?);
                merged(active, (&yes, a), b)
            }
            ValueKind::Cast(a) => {
                let mut values = self.values(a, active)?;
                values.iter_mut().for_each(|v| *v = number::cast(a.dtype, value.dtype, *v));
                values
            }
            ValueKind::Call { function, args, .. } => {
                let mut columns = Vec::new();
                for arg in args {
                    columns.push(self.values(arg, active)?);
                }
                let is_declared = self.machine.program.functions.iter().any(|f| f.name == *function);
                let dtype = args.first().map_or(value.dtype, |a| a.dtype);
                (0..active.len())
                    .map(|k| {
                        let own: Vec<Num> = columns.iter().map(|c| c[k]).collect();
                        match is_declared {
                            true => number::unknown_function(function, value.dtype, &own),
                            false => number::math(function, dtype, &own),
                        }
                    })
                    .collect()
            }
            ValueKind::Shuffle { mode, value, operand, width } => {
                self.whole_warps(active)?;
                let (values, by) =
                    (self.values(value, active)?, self.integers(operand, active, "shuffles by")?);
                let width = i64::from(*width).max(1);
                let mut found = Vec::with_capacity(active.len());
                for (thread, by) in active.iter().zip(by) {
                    let own = (thread % self.warp) as i64;
                    let lane = own % width;
                    let to = match mode {
                        ShuffleMode::Xor => lane ^ by,
                        ShuffleMode::Down => lane.saturating_add(by),
                        ShuffleMode::Up => lane.saturating_sub(by),
                        ShuffleMode::Index => by,
                    };
                    let to = if (0..width).contains(&to) { to } else { lane };
                    let source = thread - lane as usize + to as usize;
                    // A lane that does not take part has nothing to give.
                    found.push(active.binary_search(&source).map_or(Num::Nothing, |k| values[k]));
                }
                found
            }
            ValueKind::Any(_) | ValueKind::Ballot(_) => {
                self.whole_warps(active)?;
                let (ValueKind::Any(cond) | ValueKind::Ballot(cond)) = &value.kind else {
                    return Err(Stop::NotFollowed("an exchange of another kind"));
                };
                let holds = self.integers(cond, active, "votes by")?;
                let mut masks: Table<usize, u64> = Table::default();
                for (thread, holds) in active.iter().zip(holds) {
                    *masks.entry(thread / self.warp).or_default() |=
                        u64::from(holds != 0) << (thread % self.warp);
                }
                let is_any = matches!(value.kind, ValueKind::Any(_));
                let of = |mask: u64| if is_any { (mask != 0).into() } else { mask as i64 };
                active.iter().map(|t| Num::Int(of(masks[&(t / self.warp)]))).collect()
            }
            ValueKind::LeadingZeros(a) => {
                let bits = 8 * a.dtype.bytes() as u32;
                let count = |v: Num| match v.int() {
                    Some(v) => Num::Int(i64::from((v as u64).leading_zeros()) - i64::from(64 - bits)),
                    None => Num::Nothing,
                };
                self.values(a, active)?.into_iter().map(count).collect()
            }
        })
    }

    /// Whether all lanes of a warp take part, or none.
    fn whole_warps(&self, active: &Active) -> Result<()> {
        for lanes in active.chunks(self.warp) {
            if lanes[0] % self.warp != 0 || lanes[lanes.len() - 1] + 1 != lanes[0] + self.warp {
                return self.wrong(lanes[0], "exchanges values in a part of its warp");
            }
        }
        Ok(())
    }

    /// `and` and `or`: the right side counts only where the left does not decide.
    fn decided(&mut self, op: BinOp, a: &Value, b: &Value, active: &Active) -> Result<Vec<Num>> {
        let (yes, no) = self.divided(a, active)?;
        Ok(match op {
            BinOp::And => {
                let right = self.values(b, &yes)?;
                merged(active, (&yes, right), vec![Num::Int(0); no.len()])
            }
            _ => {
                let right = self.values(b, &no)?;
                merged(active, (&yes, vec![Num::Int(1); yes.len()]), right)
            }
        })
    }
}

/// The values of some of the threads and those of the others, in the order of the threads.
fn merged(active: &Active, (some, of_some): (&Active, Vec<Num>), of_others: Vec<Num>) -> Vec<Num> {
    let (mut k, mut j) = (0, 0);
    let mut values = Vec::with_capacity(active.len());
    for thread in active {
        if some.get(k) == Some(thread) {
            values.push(of_some[k]);
            k += 1;
        } else {
            values.push(of_others[j]);
            j += 1;
        }
    }
    values
}
