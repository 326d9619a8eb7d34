//! What is open before each thread of a block: a scan that begins anew after each end.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{State, Writer, values};
use crate::{
    program::{BinOp, Note, ShuffleMode, Step, Stmt, Value, ValueKind, VarId},
    scan::names,
};

/// Shared memory for the totals of the warps.
pub(super) struct Totals {
    /// What is open after each: one array a value of the state.
    open: Vec<usize>,
    /// Whether a segment ends in it.
    closed: usize,
}

impl Writer<'_, '_, '_> {
    pub(super) fn shuffled(&self, mode: ShuffleMode, value: Value, lanes: Value) -> Value {
        let kind = ValueKind::Shuffle {
            mode,
            value: Box::new(value.clone()),
            operand: Box::new(lanes.cast(DType::I32)),
            width: 32,
        };
        Value { dtype: value.dtype, kind }
    }

    pub(super) fn shuffled_state(&self, mode: ShuffleMode, state: &State, lanes: Value) -> Vec<Value> {
        values(state).into_iter().map(|value| self.shuffled(mode, value, lanes.clone())).collect()
    }

    /// Declares the shared memory of a scan.
    pub(super) fn totals(&mut self) -> Result<Totals, Diagnostic> {
        let warps = u64::from(self.emitter.block[0] / 32);
        let types = self.emitter.accumulator_types(self.nest.instruction, 0, &self.env)?;
        let mut open = Vec::new();
        for (name, dtype) in names(&self.operator, "totals").iter().zip(types) {
            open.push(self.shared(name, dtype, &[warps], "what is open after each warp"));
        }
        let closed =
            self.shared("totals_closed", DType::I32, &[warps], "whether a segment ends in each warp");
        Ok(Totals { open, closed })
    }

    /// `open` is what is open after each thread's own steps, `closed` whether a segment ends in them: both become those of the thread and the ones
    /// before it in its warp. What the last one has goes to shared memory; a barrier follows.
    pub(super) fn within_warps(
        &mut self,
        open: &State,
        closed: VarId,
        totals: &Totals,
        lane: &Value,
        warp: &Value,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut body = self.scan_lanes(open, closed, lane)?;
        let mut stores = Vec::new();
        for (array, value) in totals.open.iter().zip(values(open)) {
            stores.push(Stmt::Store { to: self.shared_element(*array, warp.clone()), value, leaf: None });
        }
        stores.push(Stmt::Store {
            to: self.shared_element(totals.closed, warp.clone()),
            value: self.var(closed),
            leaf: None,
        });
        let last = Value::binary(BinOp::Eq, lane.clone(), self.int(31));
        body.push(Self::when(last, stores, Vec::new(), "the total of a warp"));
        Ok(body)
    }

    /// `open` and `closed` become those of the lane and the ones before it.
    pub(super) fn scan_lanes(
        &mut self,
        open: &State,
        closed: VarId,
        lane: &Value,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let zero = Value::int(DType::I32, 0);
        let mut body = Vec::new();
        let offset = self.emitter.new_var("offset", self.emitter.index(), true);
        let mut round = Vec::new();
        let others = self.shuffled_state(ShuffleMode::Up, open, self.var(offset));
        let others = self.named_state("other", others, &mut round);
        let other = self.emitter.new_var("other_closed", DType::I32, false);
        let taken = self.shuffled(ShuffleMode::Up, self.var(closed), self.var(offset));
        round.push(Stmt::Let { var: other, value: taken, leaf: None });
        let join = self.combine(open, others, values(open))?;
        let still_open = Value::binary(BinOp::Eq, self.var(closed), zero.clone());
        let mut inner = vec![Self::when(still_open, join, Vec::new(), "")];
        inner.push(self.set(closed, Value::binary(BinOp::BitOr, self.var(closed), self.var(other))));
        let has_other = Value::binary(BinOp::Ge, lane.clone(), self.var(offset));
        round.push(Self::when(has_other, inner, Vec::new(), ""));
        body.push(Stmt::For {
            var: offset,
            lower: self.int(1),
            upper: self.int(32),
            step: Step::Double,
            unroll: true,
            body: round,
            note: Note::new("what is open after each thread, within its warp"),
        });
        Ok(body)
    }

    /// Behind that barrier: what is open before each thread. The carry, which is what is open before the first, becomes what is open after the last.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn across_warps(
        &mut self,
        open: &State,
        closed: VarId,
        carry: &State,
        totals: &Totals,
        lane: &Value,
        warp: &Value,
        body: &mut Vec<Stmt>,
    ) -> Result<State, Diagnostic> {
        let is_closed = |value: Value| Value::binary(BinOp::Ne, value, Value::int(DType::I32, 0));
        let before = self.state("before", values(carry), body)?;
        let other_warp = self.emitter.new_var("other_warp", self.emitter.index(), false);
        let here = self.var(other_warp);
        let mut inner = Vec::new();
        let captured = Self::assign(&before, values(carry));
        let own = Value::binary(BinOp::Eq, here.clone(), warp.clone());
        inner.push(Self::when(own, captured, Vec::new(), ""));
        let taken = self.loaded(totals.open.iter().map(|a| self.shared_element(*a, here.clone())), carry);
        let taken = self.named_state("total", taken, &mut inner);
        let ended = self.emitter.load(self.shared_element(totals.closed, here), DType::I32);
        let anew = Self::assign(carry, taken.clone());
        let join = self.combine(carry, values(carry), taken)?;
        inner.push(Self::when(is_closed(ended), anew, join, ""));
        body.push(Stmt::For {
            var: other_warp,
            lower: self.int(0),
            upper: self.int(i64::from(self.emitter.block[0] / 32)),
            step: Step::Add(1),
            unroll: true,
            body: inner,
            note: Note::new("what is open before each warp, and after the last"),
        });
        // The thread before in the same warp.
        let one = self.int(1);
        let prior = self.shuffled_state(ShuffleMode::Up, open, one.clone());
        let prior = self.named_state("prior", prior, body);
        let prior_closed = self.emitter.new_var("prior_closed", DType::I32, false);
        let taken = self.shuffled(ShuffleMode::Up, self.var(closed), one);
        body.push(Stmt::Let { var: prior_closed, value: taken, leaf: None });
        let anew = Self::assign(&before, prior.clone());
        let join = self.combine(&before, values(&before), prior)?;
        let choice = Self::when(is_closed(self.var(prior_closed)), anew, join, "");
        let has_prior = Value::binary(BinOp::Gt, lane.clone(), self.int(0));
        body.push(Self::when(has_prior, vec![choice], Vec::new(), "the threads before this one in its warp"));
        Ok(before)
    }
}
