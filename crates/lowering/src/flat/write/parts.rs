//! Partial results that one thread joins in order: those of the warps of a block, and those of
//! neighbouring blocks.
//!
//! Each part has the first segment that ends in it, or -1; its partial result of that segment; and
//! the open one after the part. A segment that ends in a later part than the first is closed here.
//! The first segment that ends in any of them may begin before all of them, so the caller closes
//! it.

use loopwright_kernel_ir::Diagnostic;

use super::{State, Writer, values};
use crate::program::{BinOp, Stmt, Value, VarId};

/// The join of the parts so far.
pub(super) struct Joined {
    /// The open partial result after them.
    pub open: State,
    /// The partial result of the first segment that ends in them.
    pub head: State,
    /// The number of that segment, or -1.
    first: VarId,
}

impl Writer<'_, '_, '_> {
    /// No parts. `whose` is the prefix for the name of the first segment's partial result.
    pub(super) fn no_parts(&mut self, whose: &str, body: &mut Vec<Stmt>) -> Result<Joined, Diagnostic> {
        let neutral = self.neutral()?;
        Ok(Joined {
            open: self.state("open", neutral.clone(), body),
            head: self.state(&format!("{whose}_head"), neutral, body),
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
