//! Accumulators of lanes, for tiles inside one segment.

use loopwright_kernel_ir::Diagnostic;

use super::{
    State, Writer,
    tile::{Chunk, Tile},
    values,
};
use crate::program::{BinOp, Note, ShuffleMode, Step, Stmt, Value, VarId};

/// Each lane's accumulator of the open segment, in addition to the carry.
pub(super) struct Own {
    state: State,
    /// Whether it holds any points.
    pending: VarId,
}

impl Writer<'_, '_, '_> {
    /// Declares empty accumulators: neutral, with no pending points.
    pub(super) fn own(&mut self, neutral: Vec<Value>, body: &mut Vec<Stmt>) -> Own {
        let state = self.state("own", neutral, body);
        let pending = self.counter("pending", self.int(0), Some((0, 1)), body);
        Own { state, pending }
    }

    /// Adds a tile that lies inside one segment.
    pub(super) fn add_inside(
        &mut self,
        own: &Own,
        chunk: &Chunk,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let each = self.add_points(&own.state, chunk, tile)?;
        Ok(each.into_iter().chain([self.set(own.pending, self.int(1))]).collect())
    }

    /// Joins the lanes' accumulators into the carry, if they hold any points.
    pub(super) fn own_to_carry(&mut self, own: &Own, carry: &State) -> Result<Stmt, Diagnostic> {
        let offset = self.emitter.new_var("offset", self.emitter.index(), true);
        let mut round = Vec::new();
        let others = self.shuffled_state(ShuffleMode::Xor, &own.state, self.var(offset));
        let others = self.named_state("other", others, &mut round);
        round.extend(self.combine(&own.state, values(&own.state), others)?);
        let mut join = vec![Stmt::For {
            var: offset,
            lower: self.int(self.warp_size() / 2),
            upper: self.int(0),
            step: Step::Halve,
            unroll: true,
            body: round,
            note: Note::default(),
        }];
        join.extend(self.combine(carry, values(carry), values(&own.state))?);
        let neutral = self.neutral()?;
        join.extend(Self::assign(&own.state, neutral));
        join.push(self.set(own.pending, self.int(0)));
        let some = Value::binary(BinOp::Gt, self.var(own.pending), self.int(0));
        let note = "what the lanes have of the segment that went through whole tiles";
        Ok(Self::when(some, join, Vec::new(), note))
    }
}
