//! The first launch: where each run begins.

use loopwright_kernel_ir::Diagnostic;

use super::{END_WEIGHT, STARTING_THREADS, Writer};
use crate::{
    fold::{add, mul, sub},
    program::{BinOp, Note, Step, Stmt, Value},
};

impl Writer<'_, '_, '_> {
    /// A thread for each border: the number of segments that end before it, bit by bit from the greatest, and the first point behind it.
    pub fn starts(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let mut body = Vec::new();
        let own = add(mul(self.block(), self.int(i64::from(STARTING_THREADS))), self.thread());
        let run = self.named("run", own, &mut body);
        let mut inside = Vec::new();
        let base = self.base()?;
        let base = self.named("base", base, &mut inside);
        let last = self.end_before(scratch.count.clone())?;
        let last = self.named("last", last, &mut inside);
        let weight = self.int(END_WEIGHT);
        let total = add(sub(last, base.clone()), mul(scratch.count.clone(), weight.clone()));
        let border = mul(run.clone(), self.int(self.run_steps()));
        let border = self.named("border", Value::binary(BinOp::Min, border, total), &mut inside);
        let ended = self.counter("ended", self.int(0), None, &mut inside);
        let bit = self.emitter.new_var("bit", self.emitter.index(), true);
        let mut find = Vec::new();
        let next = Value::binary(BinOp::BitOr, self.var(ended), self.var(bit));
        let next = Value::binary(BinOp::Min, next, scratch.count.clone());
        let next = self.named("next", next, &mut find);
        // The step behind those of so many segments.
        let end = self.end_before(next.clone())?;
        let end = self.named("end", end, &mut find);
        let step = add(sub(end, base.clone()), mul(next.clone(), weight.clone()));
        let before = Value::binary(BinOp::Le, step, border.clone());
        find.push(Self::when(before, vec![self.set(ended, next)], Vec::new(), ""));
        // Bits that no number of segments has need not be looked at.
        let some = Value::binary(BinOp::Le, self.var(bit), scratch.count.clone());
        let find = vec![Self::when(some, find, Vec::new(), "")];
        let highest = if self.emitter.index().bytes() == 8 { 1 << 46 } else { 1 << 30 };
        inside.push(Stmt::For {
            var: bit,
            lower: self.int(highest),
            upper: self.int(0),
            step: Step::Halve,
            unroll: false,
            body: find,
            note: Note::new("the segments that end before the border, by bisection: offsets do not fall"),
        });
        inside.push(Stmt::Store {
            to: Self::element(scratch.starts, run.clone()),
            value: self.var(ended),
            leaf: None,
        });
        // A border may lie among the steps that the end of a segment counts for, behind its points.
        let after = Value::binary(BinOp::Min, add(self.var(ended), self.int(1)), scratch.count.clone());
        let end = self.end_before(after)?;
        let point = sub(add(base.clone(), border), mul(self.var(ended), weight));
        // No point is before the first: so much is plain from what is written.
        let point = Value::binary(BinOp::Max, Value::binary(BinOp::Min, point, end), base);
        inside.push(Stmt::Store { to: Self::element(scratch.points, run.clone()), value: point, leaf: None });
        let exists = Value::binary(BinOp::Le, run, scratch.runs.clone());
        body.push(Self::when(exists, inside, Vec::new(), "one border more than runs"));
        Ok(body)
    }
}
