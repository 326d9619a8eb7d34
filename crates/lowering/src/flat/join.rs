//! The last launch: the partial results of the blocks, in their order.
//!
//! One block joins them in rounds; in each, a thread joins those of a few neighbouring blocks. A
//! scan over the lanes of a warp, then over the warps, gives each thread the open partial result
//! before its own, with which it closes the first segment that ends in them. The open partial
//! result after the last thread is carried to the next round.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{JOINED, State, Writer, parts::Joined, values};
use crate::{
    program::{BinOp, MemRef, Memory, Note, Scope, ShuffleMode, Step, Stmt, Value},
    write::{
        cell::names,
        fold::{add, mul},
    },
};

/// Shared memory for the totals of the warps.
struct Totals {
    /// The open partial result after each warp: one array per value of the state.
    open: Vec<usize>,
    /// Whether a segment ends in it.
    closed: usize,
}

impl Writer<'_, '_, '_> {
    /// The body of the kernel: one block.
    pub fn join(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let totals = self.totals()?;
        let mut body = Vec::new();
        let lane = self.lane(&mut body);
        let warp = self.emitter.thread_quotient(self.emitter.warp_size());
        let warp = self.named("warp", warp, &mut body);
        let neutral = self.neutral()?;
        let carry = self.state("carry", neutral, &mut body)?;
        let blocks = self.named("blocks", scratch.blocks.clone(), &mut body);

        let first = self.emitter.new_var("first_block", self.emitter.index(), false);
        self.emitter.vars[first.0].index = true;
        let mut round = Vec::new();
        // Totals are double-buffered, so that one barrier per round is enough.
        let together = self.warp_size() * self.warp_size() * JOINED;
        let number = Value::binary(BinOp::TruncDiv, self.var(first), self.int(together));
        let turn = Value::binary(BinOp::TruncRem, number, self.int(2));
        let turn = self.named("turn", turn, &mut round);
        let own_first = add(self.var(first), mul(self.thread(), self.int(JOINED)));
        let own_first = self.named("own_first", own_first, &mut round);
        let joined = self.own_blocks(&own_first, &blocks, &mut round)?;
        let (open, ended) = (&joined.open, self.first_ended(&joined));
        let ends = Value::binary(BinOp::Ge, ended.clone(), self.int(0));
        let since = self.since_end(ends.clone(), &lane, &mut round);
        self.scan_lanes(open, since.clone(), &lane, &mut round)?;
        let closed = Value::binary(BinOp::Lt, since, Value::int(DType::I32, self.warp_size()));
        round.push(self.leave_total(&totals, open, closed.clone(), [&turn, &lane, &warp]));
        round.push(Stmt::Sync {
            scope: Scope::Block,
            note: Note::new(
                "all warps have stored what is open behind them: partial results of their segments",
            ),
        });
        let before = self.before_warp(&totals, &carry, [&turn, &lane, &warp], &mut round)?;
        // The lanes before this one.
        let one = self.int(1);
        let prior = self.shuffled_state(ShuffleMode::Up, open, one.clone());
        let prior = self.named_state("prior", prior, &mut round);
        let number = closed.cast(DType::I32);
        let prior_closed = self.emitter.new_var("prior_closed", DType::I32, false);
        let taken = self.shuffled(ShuffleMode::Up, number, one);
        round.push(Stmt::Let { var: prior_closed, value: taken, leaf: None });
        let anew = Self::assign(&before, prior.clone());
        let join = self.combine(&before, values(&before), prior)?;
        let choice = Self::when(
            Value::binary(BinOp::Ne, self.var(prior_closed), Value::int(DType::I32, 0)),
            anew,
            join,
            "",
        );
        let has_prior = Value::binary(BinOp::Gt, lane.clone(), self.int(0));
        round.push(Self::when(has_prior, vec![choice], Vec::new(), "the lanes before this one"));
        let mut close = self.combine(&before, values(&before), values(&joined.head))?;
        close.extend(self.result(values(&before), ended)?);
        round.push(Self::when(ends, close, Vec::new(), "the first segment that ends in the thread's blocks"));
        body.push(Stmt::For {
            var: first,
            lower: self.int(0),
            upper: blocks,
            step: Step::Add(together),
            unroll: false,
            body: round,
            note: Note::default(),
        });
        Ok(body)
    }

    /// Declares the shared memory.
    fn totals(&mut self) -> Result<Totals, Diagnostic> {
        let warps = self.warp_size().unsigned_abs();
        let types = self.emitter.accumulator_types(self.nest.instruction, 0)?;
        let mut open = Vec::new();
        for (name, dtype) in names(&self.operator, "totals").iter().zip(types) {
            open.push(self.shared(name, dtype, &[2, warps], "what is open behind each warp"));
        }
        let closed =
            self.shared("totals_closed", DType::I32, &[2, warps], "whether a segment ends in each warp");
        Ok(Totals { open, closed })
    }

    fn total_of(&self, array: usize, turn: &Value, warp: &Value) -> MemRef {
        self.emitter.local_element(Memory::Shared(array), vec![turn.clone(), warp.clone()])
    }

    /// Loads and joins the partial results of neighbouring blocks, as many as exist.
    fn own_blocks(
        &mut self,
        first: &Value,
        blocks: &Value,
        body: &mut Vec<Stmt>,
    ) -> Result<Joined, Diagnostic> {
        let scratch = self.scratch()?;
        let types = self.emitter.accumulator_types(self.nest.instruction, 0)?;
        let ended = self.private("ended", self.emitter.index(), JOINED);
        let [heads, tails] = ["heads", "tails"].map(|like| -> Vec<usize> {
            let names = names(&self.operator, like);
            names.iter().zip(&types).map(|(name, dtype)| self.private(name, *dtype, JOINED)).collect()
        });
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let at = self.var(which);
        let mut each = Vec::new();
        let block = self.named("block", add(first.clone(), at.clone()), &mut each);
        let store = |to, value| Stmt::Store { to, value, leaf: None };
        let mut load = vec![store(
            self.private_element(ended, at.clone()),
            self.global_load(scratch.ended, block.clone()),
        )];
        for (arrays, own) in [(&scratch.head, &heads), (&scratch.tail, &tails)] {
            let left = arrays.iter().map(|array| self.global_load(*array, block.clone())).collect();
            load.extend(Self::stored(own, |array| self.private_element(array, at.clone()), left));
        }
        let mut none = vec![store(self.private_element(ended, at.clone()), self.int(-1))];
        let neutral = self.neutral()?;
        none.extend(Self::stored(&tails, |array| self.private_element(array, at.clone()), neutral));
        let exists = Value::binary(BinOp::Lt, block, blocks.clone());
        each.push(Self::when(exists, load, none, ""));
        body.push(self.unrolled(which, JOINED, each, "what the thread's blocks have left"));

        let joined = self.no_parts("thread", body)?;
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let at = self.var(which);
        let mut each = Vec::new();
        let index = self.emitter.index();
        let ended = self.emitter.load(self.private_element(ended, at.clone()), index);
        let ended = self.named("ended", ended, &mut each);
        let [head, tail] = [&heads, &tails].map(|arrays| {
            let elements = arrays.iter().map(|array| self.private_element(*array, at.clone()));
            self.loaded(elements, &joined.open)
        });
        let note = "the first segment of these may have begun in an earlier block";
        each.push(self.join_part(&joined, ended, [head, tail], note)?);
        body.push(self.unrolled(which, JOINED, each, ""));
        Ok(joined)
    }

    /// The last lane stores the open partial result after its warp.
    fn leave_total(
        &mut self,
        totals: &Totals,
        open: &State,
        closed: Value,
        [turn, lane, warp]: [&Value; 3],
    ) -> Stmt {
        let of_warp = |array| self.total_of(array, turn, warp);
        let mut stores = Self::stored(&totals.open, of_warp, values(open));
        let to = self.total_of(totals.closed, turn, warp);
        stores.push(Stmt::Store { to, value: closed.cast(DType::I32), leaf: None });
        let last = Value::binary(BinOp::Eq, lane.clone(), self.int(self.warp_size() - 1));
        Self::when(last, stores, Vec::new(), "the total of a warp")
    }

    /// The open partial result before each warp. Each lane holds the total of one warp, as there
    /// are as many warps as lanes. The carry, open before the first warp, becomes the one after the
    /// last.
    fn before_warp(
        &mut self,
        totals: &Totals,
        carry: &State,
        [turn, lane, warp]: [&Value; 3],
        body: &mut Vec<Stmt>,
    ) -> Result<State, Diagnostic> {
        let own = self.loaded(totals.open.iter().map(|a| self.total_of(*a, turn, lane)), carry);
        let all = self.state("all", own, body)?;
        let closed = self.emitter.load(self.total_of(totals.closed, turn, lane), DType::I32);
        let closed = Value::binary(BinOp::Ne, closed, Value::int(DType::I32, 0));
        let since = self.since_end(closed, lane, body);
        let is_first = Value::binary(BinOp::Eq, lane.clone(), self.int(0));
        let through = Value::binary(BinOp::Gt, since.clone(), Value::int(DType::I32, 0));
        let join = self.combine(&all, values(carry), values(&all))?;
        let first = Value::binary(BinOp::And, is_first, through);
        body.push(Self::when(first, join, Vec::new(), "what is open before the first warp"));
        self.scan_lanes(&all, since, lane, body)?;
        let warps = self.int(self.warp_size());
        let prior = add(warp.clone(), add(warps.clone(), self.int(-1)));
        let prior = Value::binary(BinOp::TruncRem, prior, warps);
        let others = self.shuffled_state(ShuffleMode::Index, &all, prior);
        let before = self.state("before", others, body)?;
        let is_first = Value::binary(BinOp::Eq, warp.clone(), self.int(0));
        body.push(Self::when(is_first, Self::assign(&before, values(carry)), Vec::new(), ""));
        let last: Vec<Value> = values(&all).into_iter().map(|v| self.of_last_lane(v)).collect();
        body.extend(Self::assign(carry, last));
        Ok(before)
    }
}
