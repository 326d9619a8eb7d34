//! The last launch: the partial results of the blocks, in their order.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{JOINING_THREADS, Writer, values};
use crate::{
    fold::{add, mul},
    program::{BinOp, Note, Scope, Step, Stmt, Value},
};

impl Writer<'_, '_, '_> {
    /// One block: each thread takes neighbouring blocks of the launch before.
    pub fn join(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let totals = self.totals()?;
        let threads = i64::from(JOINING_THREADS);
        let mut body = Vec::new();
        let each = add(scratch.blocks.clone(), self.int(threads - 1));
        let each = Value::binary(BinOp::TruncDiv, each, self.int(threads));
        let each = self.named("each", each, &mut body);
        let from = self.named("from", mul(self.thread(), each.clone()), &mut body);
        let to = Value::binary(BinOp::Min, add(from.clone(), each), scratch.blocks.clone());
        let to = self.named("to", to, &mut body);
        let neutral = self.neutral()?;
        let open = self.state("open", neutral.clone(), &mut body)?;
        let carry = self.state("carry", neutral, &mut body)?;
        let closed = self.emitter.new_var("closed", DType::I32, true);
        body.push(Stmt::Let { var: closed, value: Value::int(DType::I32, 0), leaf: None });

        // What is open after the thread's blocks, and whether a segment ends in them.
        let (block_var, block, ended, mut inside) = self.of_block()?;
        let tail = self.tail_of(block, &mut inside)?;
        let one = Value::int(DType::I32, 1);
        let anew = [Self::assign(&open, tail.clone()), vec![self.set(closed, one)]].concat();
        let join = self.combine(&open, values(&open), tail)?;
        inside.push(Self::when(Value::binary(BinOp::Ge, ended, self.int(0)), anew, join, ""));
        body.push(self.blocks_loop(block_var, &from, &to, inside, "what is open after the thread's blocks"));
        let lane = self.emitter.thread_modulo(32);
        let lane = self.named("lane", lane, &mut body);
        let warp = self.emitter.thread_quotient(32);
        let warp = self.named("warp", warp, &mut body);
        body.extend(self.within_warps(&open, closed, &totals, &lane, &warp)?);
        body.push(Stmt::Sync {
            scope: Scope::Block,
            note: Note::new(
                "all warps have stored what is open after them: partial results of their segments",
            ),
        });
        let before = self.across_warps(&open, closed, &carry, &totals, &lane, &warp, &mut body)?;

        // Once more, knowing what is open before.
        let (block_var, block, ended, mut inside) = self.of_block()?;
        let tail = self.tail_of(block.clone(), &mut inside)?;
        let mut close = Vec::new();
        let mut head = Vec::new();
        for array in &scratch.head {
            head.push(self.global_load(*array, block.clone()));
        }
        close.extend(self.combine(&before, values(&before), head)?);
        close.extend(self.result(values(&before), ended.clone())?);
        close.extend(Self::assign(&before, tail.clone()));
        let join = self.combine(&before, values(&before), tail)?;
        inside.push(Self::when(Value::binary(BinOp::Ge, ended, self.int(0)), close, join, ""));
        body.push(self.blocks_loop(
            block_var,
            &from,
            &to,
            inside,
            "the first segment of each block in which it ends",
        ));
        Ok(body)
    }

    /// The variable of a loop over blocks, and the first segment that ends in one.
    fn of_block(&mut self) -> Result<(crate::program::VarId, Value, Value, Vec<Stmt>), Diagnostic> {
        let scratch = self.scratch()?;
        let var = self.emitter.new_var("block", self.emitter.index(), false);
        let block = self.var(var);
        let mut inside = Vec::new();
        let ended = self.global_load(scratch.ended, block.clone());
        let ended = self.named("ended", ended, &mut inside);
        Ok((var, block, ended, inside))
    }

    fn tail_of(&mut self, block: Value, body: &mut Vec<Stmt>) -> Result<Vec<Value>, Diagnostic> {
        let scratch = self.scratch()?;
        let tails = scratch.tail.iter().map(|array| self.global_load(*array, block.clone())).collect();
        Ok(self.named_state("tail", tails, body))
    }

    fn blocks_loop(
        &self,
        var: crate::program::VarId,
        from: &Value,
        to: &Value,
        body: Vec<Stmt>,
        note: &str,
    ) -> Stmt {
        Stmt::For {
            var,
            lower: from.clone(),
            upper: to.clone(),
            step: Step::Add(1),
            unroll: false,
            body,
            note: Note::new(note),
        }
    }
}
