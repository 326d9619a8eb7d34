//! Tiles that lie inside one segment: most tiles of long segments.
//!
//! Where no segment ends, there is nothing to tell apart: each thread adds the points that it has loaded to what it has of the open segment,
//! without shared memory. Threads are joined when a segment ends, or the block's tiles do. That takes the points of a segment in
//! another order, always the same one, so that the operator has to commute.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Diagnostic;

use super::{State, Writer, tiles::Tile, values};
use crate::{
    fold::add,
    program::{BinOp, MemRef, Memory, Note, ShuffleMode, Step, Stmt, Value, VarId},
};

/// What each thread has of the segment that is open, besides the carry.
pub(super) struct Own {
    state: State,
    /// Whether that is anything.
    pending: VarId,
}

impl Writer<'_, '_, '_> {
    /// Nothing yet; `None` of an operator that does not commute.
    pub(super) fn own(&mut self, body: &mut Vec<Stmt>) -> Result<Option<Own>, Diagnostic> {
        if !self.operator.commutes {
            return Ok(None);
        }
        let neutral = self.neutral()?;
        let state = self.state("own", neutral, body)?;
        let pending = self.counter("pending", self.int(0), Some((0, 1)), body);
        Ok(Some(Own { state, pending }))
    }

    /// Shared memory for it, of each warp.
    pub(super) fn own_totals(&mut self, like: &str) -> Result<Vec<usize>, Diagnostic> {
        let warps = u64::from(self.emitter.block[0] / 32);
        let types = self.emitter.accumulator_types(self.nest.instruction, 0, &self.env)?;
        let names = crate::scan::names(&self.operator, like);
        let note = "what each warp has of a segment that goes through whole tiles";
        Ok(names.iter().zip(types).map(|(name, dtype)| self.shared(name, dtype, warps, note)).collect())
    }

    /// Adds a tile that lies inside one segment.
    pub(super) fn add_inside(
        &mut self,
        own: &Own,
        registers: &BTreeMap<usize, usize>,
        filled: bool,
        tile: &Tile,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let (item, place, mut body) = self.each_place();
        let loaded: BTreeMap<usize, MemRef> = registers
            .iter()
            .map(|(k, array)| (*k, self.emitter.local_element(Memory::Private(*array), vec![self.var(item)])))
            .collect();
        let point = add(tile.first_point.clone(), place.clone());
        let update = self.update(&own.state, tile.begun.clone(), point, &loaded)?;
        if filled {
            body.extend(update);
        } else {
            let exists = Value::binary(BinOp::Lt, place, tile.points.clone());
            body.push(Self::when(exists, update, Vec::new(), ""));
        }
        let each = self.unrolled(item, i64::from(self.flat.items), body, "");
        Ok(vec![each, self.set(own.pending, self.int(1))])
    }

    /// What the warps have goes to shared memory, if it is anything; a barrier follows.
    pub(super) fn own_to_shared(
        &mut self,
        own: &Own,
        totals: &[usize],
        lane: &Value,
        warp: &Value,
    ) -> Result<Stmt, Diagnostic> {
        let offset = self.emitter.new_var("offset", self.emitter.index(), true);
        let mut round = Vec::new();
        let mut others = Vec::new();
        for (name, value) in crate::scan::names(&self.operator, "other").iter().zip(values(&own.state)) {
            let taken = self.shuffled(ShuffleMode::Xor, value, self.var(offset));
            let var = self.emitter.new_var(name, taken.dtype, false);
            round.push(Stmt::Let { var, value: taken, leaf: None });
            others.push(self.var(var));
        }
        round.extend(self.combine(&own.state, values(&own.state), others)?);
        let mut join = vec![self.lanes_loop(offset, round)];
        let mut stores = Vec::new();
        for (array, value) in totals.iter().zip(values(&own.state)) {
            stores.push(Stmt::Store { to: self.shared_element(*array, warp.clone()), value, leaf: None });
        }
        let first = Value::binary(BinOp::Eq, lane.clone(), self.int(0));
        join.push(Self::when(first, stores, Vec::new(), ""));
        let some = self.is_pending(own);
        Ok(Self::when(
            some,
            join,
            Vec::new(),
            "what the threads have of the segment that went through whole tiles",
        ))
    }

    /// The carry takes up what the warps have, if it is anything.
    pub(super) fn own_to_carry(
        &mut self,
        own: &Own,
        totals: &[usize],
        carry: &State,
    ) -> Result<Stmt, Diagnostic> {
        let other = self.emitter.new_var("other_warp", self.emitter.index(), false);
        let mut taken = Vec::new();
        for (array, (_, dtype)) in totals.iter().zip(carry) {
            let element = self.shared_element(*array, self.var(other));
            taken.push(self.emitter.load(element, *dtype));
        }
        let each = self.combine(carry, values(carry), taken)?;
        let mut join = vec![self.unrolled(other, i64::from(self.emitter.block[0] / 32), each, "")];
        let neutral = self.neutral()?;
        join.extend(Self::assign(&own.state, neutral));
        join.push(self.set(own.pending, self.int(0)));
        Ok(Self::when(self.is_pending(own), join, Vec::new(), ""))
    }

    fn is_pending(&self, own: &Own) -> Value {
        Value::binary(BinOp::Gt, self.var(own.pending), self.int(0))
    }

    /// A loop over halves of the warp: 16, 8, 4, 2, 1.
    pub(super) fn lanes_loop(&self, offset: VarId, body: Vec<Stmt>) -> Stmt {
        Stmt::For {
            var: offset,
            lower: self.int(16),
            upper: self.int(0),
            step: Step::Halve,
            unroll: true,
            body,
            note: Note::default(),
        }
    }
}
