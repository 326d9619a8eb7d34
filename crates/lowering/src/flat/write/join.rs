//! The last launch: the partial results of the blocks, in their order.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{State, Writer, parts::Joined, values};
use crate::{
    flat::plan::{Join, RoundNode},
    program::{BinOp, MemRef, Memory, Note, Scope, ShuffleMode, Step, Stmt, Value},
    write::fold::{add, mul},
};

/// The threads of the block, and what they share.
struct Block {
    lane: Value,
    warp: Value,
    /// What is open before the blocks of the round.
    carry: State,
    /// Number of blocks of the launch before.
    blocks: Value,
    /// Which of the two buffers of totals the round uses.
    turn: Value,
    /// The first block of the thread.
    first: Value,
}

/// What a round has found so far.
#[derive(Default)]
struct Round {
    /// What the thread's blocks have left.
    joined: Option<Joined>,
    /// The distance down to the nearest lane where a segment ends.
    since: Option<Value>,
    /// The open partial result before the thread.
    before: Option<State>,
}

impl Round {
    fn joined(&self) -> Result<&Joined, Diagnostic> {
        self.joined.as_ref().ok_or_else(early)
    }

    fn before(&self) -> Result<&State, Diagnostic> {
        self.before.as_ref().ok_or_else(early)
    }
}

fn early() -> Diagnostic {
    Diagnostic::new("internal", "the nodes of a round are out of order")
}

impl<'w> Writer<'w, '_, '_> {
    fn of_join(&self) -> &'w Join {
        &self.plan.join
    }

    /// The body of the kernel: one block.
    pub fn join(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let plan = self.of_join();
        self.declare(&plan.locals);
        let mut body = Vec::new();
        let lane = self.lane(&mut body);
        let warp = self.emitter.thread_quotient(self.emitter.warp_size());
        let warp = self.named("warp", warp, &mut body);
        let neutral = self.neutral()?;
        let carry = self.state("carry", neutral, &mut body);
        let blocks = self.named("blocks", scratch.blocks.clone(), &mut body);

        let var = self.index_var("first_block");
        let mut each = Vec::new();
        let number = Value::binary(BinOp::TruncDiv, self.var(var), self.int(plan.together));
        let turn = Value::binary(BinOp::TruncRem, number, self.int(2));
        let turn = self.named("turn", turn, &mut each);
        let first = add(self.var(var), mul(self.thread(), self.int(plan.each)));
        let first = self.named("own_first", first, &mut each);
        let block = Block { lane, warp, carry, blocks, turn, first };
        let mut round = Round::default();
        for node in &plan.round {
            self.round_node(node, &block, &mut round, &mut each)?;
        }
        body.push(Stmt::For {
            var,
            lower: self.int(0),
            upper: block.blocks,
            step: Step::Add(plan.together),
            unroll: false,
            body: each,
            note: Note::default(),
        });
        Ok(body)
    }

    fn round_node(
        &mut self,
        node: &RoundNode,
        block: &Block,
        round: &mut Round,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        match node {
            RoundNode::JoinBlocks => round.joined = Some(self.own_blocks(block, body)?),
            RoundNode::ScanLanes => {
                let joined = round.joined()?;
                let ends = self.ends_in_blocks(joined);
                let since = self.since_end(ends, &block.lane, body);
                self.scan_lanes(&joined.open, since.clone(), &block.lane, body)?;
                round.since = Some(since);
            }
            RoundNode::StoreTotals => {
                let closed = self.is_closed(round)?;
                body.push(self.leave_total(&round.joined()?.open, closed, block));
            }
            RoundNode::Sync(note) => body.push(Self::sync(Scope::Block, note)),
            RoundNode::ScanWarps => round.before = Some(self.before_warp(block, body)?),
            RoundNode::AddLanes => {
                let closed = self.is_closed(round)?;
                self.add_lanes((&round.joined()?.open, closed), round.before()?, &block.lane, body)?;
            }
            RoundNode::Close => {
                let (joined, before) = (round.joined()?, round.before()?);
                let mut close = self.combine(before, values(before), values(&joined.head))?;
                close.extend(self.result(values(before), self.first_ended(joined))?);
                let ends = self.ends_in_blocks(joined);
                let note = "the first segment that ends in the thread's blocks";
                body.push(Self::when(ends, close, Vec::new(), note));
            }
        }
        Ok(())
    }

    /// Whether a segment ends in the thread's blocks.
    fn ends_in_blocks(&self, joined: &Joined) -> Value {
        Value::binary(BinOp::Ge, self.first_ended(joined), self.int(0))
    }

    /// Whether a segment ends in the blocks of this lane or one before it.
    fn is_closed(&self, round: &Round) -> Result<Value, Diagnostic> {
        let since = round.since.clone().ok_or_else(early)?;
        Ok(Value::binary(BinOp::Lt, since, Value::int(DType::I32, self.warp_size())))
    }

    /// Adds what is open after the lane before this one to what is open before the warp.
    fn add_lanes(
        &mut self,
        (open, closed): (&State, Value),
        before: &State,
        lane: &Value,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        let one = self.int(1);
        let prior = self.shuffled_state(ShuffleMode::Up, open, one.clone());
        let prior = self.named_state("prior", prior, body);
        let number = closed.cast(DType::I32);
        let prior_closed = self.emitter.new_var("prior_closed", DType::I32, false);
        let taken = self.shuffled(ShuffleMode::Up, number, one);
        body.push(Stmt::Let { var: prior_closed, value: taken, leaf: None });
        let anew = Self::assign(before, prior.clone());
        let join = self.combine(before, values(before), prior)?;
        let choice = Self::when(
            Value::binary(BinOp::Ne, self.var(prior_closed), Value::int(DType::I32, 0)),
            anew,
            join,
            "",
        );
        let has_prior = Value::binary(BinOp::Gt, lane.clone(), self.int(0));
        body.push(Self::when(has_prior, vec![choice], Vec::new(), "the lanes before this one"));
        Ok(())
    }

    fn total_of(&self, array: usize, turn: &Value, warp: &Value) -> MemRef {
        self.emitter.local_element(Memory::Shared(array), vec![turn.clone(), warp.clone()])
    }

    /// Loads and joins the partial results of neighbouring blocks, as many as exist.
    fn own_blocks(&mut self, of: &Block, body: &mut Vec<Stmt>) -> Result<Joined, Diagnostic> {
        let scratch = self.scratch()?;
        let &Join { ended, ref heads, ref tails, each: count, .. } = self.of_join();
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let at = self.var(which);
        let mut each = Vec::new();
        let block = self.named("block", add(of.first.clone(), at.clone()), &mut each);
        let store = |to, value| Stmt::Store { to, value, leaf: None };
        let mut load = vec![store(
            self.private_element(ended, at.clone()),
            self.global_load(scratch.ended, block.clone()),
        )];
        for (arrays, own) in [(&scratch.head, heads), (&scratch.tail, tails)] {
            let left = arrays.iter().map(|array| self.global_load(*array, block.clone())).collect();
            load.extend(Self::stored(own, |array| self.private_element(array, at.clone()), left));
        }
        let mut none = vec![store(self.private_element(ended, at.clone()), self.int(-1))];
        let neutral = self.neutral()?;
        none.extend(Self::stored(tails, |array| self.private_element(array, at.clone()), neutral));
        let exists = Value::binary(BinOp::Lt, block, of.blocks.clone());
        each.push(Self::when(exists, load, none, ""));
        body.push(self.unrolled(which, count, each, "what the thread's blocks have left"));

        let joined = self.no_parts("thread", body)?;
        let which = self.emitter.new_var("which", self.emitter.index(), false);
        let at = self.var(which);
        let mut each = Vec::new();
        let index = self.emitter.index();
        let ended = self.emitter.load(self.private_element(ended, at.clone()), index);
        let ended = self.named("ended", ended, &mut each);
        let [head, tail] = [heads, tails].map(|arrays| {
            let elements = arrays.iter().map(|array| self.private_element(*array, at.clone()));
            self.loaded(elements, &joined.open)
        });
        let note = "the first segment of these may have begun in an earlier block";
        each.push(self.join_part(&joined, ended, [head, tail], note)?);
        body.push(self.unrolled(which, count, each, ""));
        Ok(joined)
    }

    /// The last lane stores the open partial result after its warp.
    fn leave_total(&mut self, open: &State, closed: Value, block: &Block) -> Stmt {
        let Block { turn, lane, warp, .. } = block;
        let totals = self.of_join();
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
    fn before_warp(&mut self, block: &Block, body: &mut Vec<Stmt>) -> Result<State, Diagnostic> {
        let Block { turn, lane, warp, carry, .. } = block;
        let totals = self.of_join();
        let own = self.loaded(totals.open.iter().map(|a| self.total_of(*a, turn, lane)), carry);
        let all = self.state("all", own, body);
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
        let before = self.state("before", others, body);
        let is_first = Value::binary(BinOp::Eq, warp.clone(), self.int(0));
        body.push(Self::when(is_first, Self::assign(&before, values(carry)), Vec::new(), ""));
        let last: Vec<Value> = values(&all).into_iter().map(|v| self.of_last_lane(v)).collect();
        body.extend(Self::assign(carry, last));
        Ok(before)
    }
}
