//! A thread's steps of a tile, one after another.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Diagnostic;

use super::{State, Writer, values};
use crate::{
    fold::{add, sub},
    program::{BinOp, MemRef, Stmt, Value, VarId},
};

/// Where a thread stands before its steps.
pub(super) struct Walk {
    /// How many segments have ended before the tile.
    pub begun: Value,
    /// How many end in the tile before the thread's steps.
    pub first: Value,
    /// The thread's first step in the tile.
    pub first_step: Value,
    /// The tile's first point.
    pub first_point: Value,
    /// The tile's number of steps, where a step behind them must not run.
    pub steps: Option<Value>,
    /// How many segments of the tile have ended so far.
    pub current: VarId,
    /// The next step that ends one.
    pub end: VarId,
    /// The place of a point in the tile, without the number of its step among the thread's own.
    pub shift: VarId,
    /// The steps that end segments, in shared memory.
    pub ends: usize,
    /// Mapped values in shared memory, by the number of the input.
    pub points: BTreeMap<usize, usize>,
    /// What the thread has of the first segment that ends in its steps.
    pub head: State,
    /// What it has of the segment that it is in.
    pub open: State,
    /// The neutral element.
    pub neutral: Vec<Value>,
}

impl Writer<'_, '_, '_> {
    /// The steps; `any` says whether one of them may end a segment.
    pub(super) fn walk(&mut self, walk: &Walk, any: bool) -> Result<Stmt, Diagnostic> {
        let item = self.emitter.new_var("item", self.emitter.index(), false);
        let mut body = Vec::new();
        let step = match any || walk.steps.is_some() {
            true => self.named("step", add(walk.first_step.clone(), self.var(item)), &mut body),
            false => self.int(0),
        };
        let place = add(self.var(walk.shift), self.var(item));
        let places: BTreeMap<usize, MemRef> =
            walk.points.iter().map(|(k, array)| (*k, self.shared_element(*array, place.clone()))).collect();
        let segment = add(walk.begun.clone(), self.var(walk.current));
        let point = add(walk.first_point.clone(), place);
        let mut stmts = self.update(&walk.open, segment.clone(), point, &places)?;
        if any {
            let complete = Value::binary(BinOp::Gt, self.var(walk.current), walk.first.clone());
            let mut close = vec![Self::when(
                complete,
                self.result(values(&walk.open), segment)?,
                Self::assign(&walk.head, values(&walk.open)),
                "",
            )];
            close.extend(Self::assign(&walk.open, walk.neutral.clone()));
            close.push(self.set(walk.current, add(self.var(walk.current), self.int(1))));
            close.push(self.set(walk.shift, sub(self.var(walk.shift), self.int(1))));
            close.push(self.set(walk.end, self.end_at(walk.ends, self.var(walk.current))));
            let ends_here = Value::binary(BinOp::Eq, step.clone(), self.var(walk.end));
            stmts = vec![Self::when(ends_here, close, stmts, "")];
        }
        match &walk.steps {
            Some(steps) => {
                let exists = Value::binary(BinOp::Lt, step, steps.clone());
                body.push(Self::when(exists, stmts, Vec::new(), ""));
            }
            None => body.extend(stmts),
        }
        let note = if any { "each step ends a segment or adds a point" } else { "" };
        Ok(self.unrolled(item, i64::from(self.flat.items), body, note))
    }
}
