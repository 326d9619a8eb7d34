//! Segmented scans over lanes: the open partial result at each lane, in order.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{State, Writer, values};
use crate::{
    program::{BinOp, Note, ShuffleMode, Step, Stmt, Value, ValueKind},
    write::fold::sub,
};

impl Writer<'_, '_, '_> {
    pub(super) fn shuffled(&self, mode: ShuffleMode, value: Value, lanes: Value) -> Value {
        let kind = ValueKind::Shuffle {
            mode,
            value: Box::new(value.clone()),
            operand: Box::new(lanes.cast(DType::I32)),
            width: self.emitter.warp_size(),
        };
        Value { dtype: value.dtype, kind }
    }

    pub(super) fn shuffled_state(&self, mode: ShuffleMode, state: &State, lanes: Value) -> Vec<Value> {
        values(state).into_iter().map(|value| self.shuffled(mode, value, lanes.clone())).collect()
    }

    /// Names the lane of each thread.
    pub(super) fn lane(&mut self, body: &mut Vec<Stmt>) -> Value {
        let value = self.emitter.thread_modulo(self.emitter.warp_size());
        let var = self.counter("lane", value, Some((0, self.warp_size() - 1)), body);
        self.emitter.vars[var.0].mutable = false;
        self.var(var)
    }

    /// Names the distance from each lane down to the nearest one where a segment ends, itself
    /// included; the warp size if there is none.
    pub(super) fn since_end(&mut self, ends: Value, lane: &Value, body: &mut Vec<Stmt>) -> Value {
        let var = self.emitter.new_var("since", DType::I32, false);
        let have = Value::ballot(ends, self.emitter.target());
        // The lanes above this one are shifted out.
        let above = sub(self.int(self.warp_size() - 1), lane.clone()).cast(have.dtype);
        let value = Value::binary(BinOp::Shl, have, above).leading_zeros();
        body.push(Stmt::Let { var, value, leaf: None });
        self.var(var)
    }

    /// `open` becomes the open partial result after the lane, over the lanes before it as far back
    /// as `since` says: the lane where a segment ended last contributes only what follows that end.
    pub(super) fn scan_lanes(
        &mut self,
        open: &State,
        since: Value,
        lane: &Value,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        // Lane 0 has no lane before it.
        let reach = Value::binary(BinOp::Min, since, lane.clone().cast(DType::I32));
        let reach = self.named("reach", reach.cast(self.emitter.index()), body);
        let offset = self.emitter.new_var("offset", self.emitter.index(), true);
        let mut round = Vec::new();
        let others = self.shuffled_state(ShuffleMode::Up, open, self.var(offset));
        let others = self.named_state("other", others, &mut round);
        let join = self.combine(open, others, values(open))?;
        let reaches = Value::binary(BinOp::Ge, reach, self.var(offset));
        round.push(Self::when(reaches, join, Vec::new(), ""));
        body.push(Stmt::For {
            var: offset,
            lower: self.int(1),
            upper: self.int(self.warp_size()),
            step: Step::Double,
            unroll: true,
            body: round,
            note: Note::new("what is open behind each lane"),
        });
        Ok(())
    }
}
