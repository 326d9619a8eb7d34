//! Partial results that one thread joins in their order: those of the warps of a block, and those
//! of neighbouring blocks.
//!
//! Each part has the first segment that ends in it, or -1; what it has of that segment; and what is
//! open behind it. A segment that ends in a later part than the first is closed here. What the
//! first such part has may belong to a segment that begins before all of them, and is left to
//! whoever knows that.

use loopwright_kernel_ir::Diagnostic;

use super::{State, Writer, values};
use crate::program::{BinOp, Stmt, Value, VarId};

/// The parts so far.
pub(super) struct Joined {
    /// What is open behind them.
    pub open: State,
    /// What they have of the first segment that ends in them.
    pub head: State,
    /// Which one that is, or -1.
    first: VarId,
}

impl Writer<'_, '_, '_> {
    /// No part yet. `whose` begins the name of what they have of the first segment that ends in
    /// them.
    pub(super) fn no_parts(&mut self, whose: &str, body: &mut Vec<Stmt>) -> Result<Joined, Diagnostic> {
        let neutral = self.neutral()?;
        Ok(Joined {
            open: self.state("open", neutral.clone(), body)?,
            head: self.state(&format!("{whose}_head"), neutral, body)?,
            first: self.counter("first_ended", self.int(-1), None, body),
        })
    }

    /// The first segment that ends in the parts, or -1.
    pub(super) fn first_ended(&self, joined: &Joined) -> Value {
        self.var(joined.first)
    }

    /// Adds the next part. `note` says where the first segment that ends in them may have begun.
    pub(super) fn join_part(
        &mut self,
        joined: &Joined,
        ended: Value,
        [head, tail]: [Vec<Value>; 2],
        note: &str,
    ) -> Result<Stmt, Diagnostic> {
        let Joined { open, head: kept, first } = joined;
        let mut close = Vec::new();
        let head = self.named_state("own_head", head, &mut close);
        close.extend(self.combine(open, values(open), head)?);
        let mut keep = Self::assign(kept, values(open));
        keep.push(self.set(*first, ended.clone()));
        let written = self.result(values(open), ended.clone())?;
        let is_first = Value::binary(BinOp::Lt, self.var(*first), self.int(0));
        close.push(Self::when(is_first, keep, written, note));
        close.extend(Self::assign(open, tail.clone()));
        let through = self.combine(open, values(open), tail)?;
        Ok(Self::when(Value::binary(BinOp::Ge, ended, self.int(0)), close, through, ""))
    }
}
