//! The first launch: where each run begins.

use loopwright_kernel_ir::Diagnostic;

use super::{END_WEIGHT, STARTING_THREADS, Writer};
use crate::{
    fold::{add, mul, sub},
    program::{BinOp, Note, Step, Stmt, Value},
};

impl Writer<'_, '_, '_> {
    /// A thread for each border: the number of segments that end before it, digit by digit from the greatest, and the first point behind it.
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
        // Digits of three bits, from the greatest: the loads of a digit do not wait for each other.
        let wide = self.emitter.index().bytes() == 8;
        let (rounds, highest) = if wide { (16, 1 << 45) } else { (10, 1 << 27) };
        let unit = self.counter("unit", self.int(highest), Some((0, highest)), &mut inside);
        let mut round = Vec::new();
        let found = self.counter("found", self.int(0), Some((0, 7)), &mut round);
        let digit = self.emitter.new_var("digit", self.emitter.index(), false);
        let mut find = Vec::new();
        let next = add(self.var(ended), mul(self.var(digit), self.var(unit)));
        let next = Value::binary(BinOp::Min, next, scratch.count.clone());
        let next = self.named("next", next, &mut find);
        // The step behind those of so many segments.
        let end = self.end_before(next.clone())?;
        let end = self.named("end", end, &mut find);
        let step = add(sub(end, base.clone()), mul(next, weight.clone()));
        let before = Value::binary(BinOp::Le, step, border.clone());
        find.push(Self::when(before, vec![self.set(found, self.var(digit))], Vec::new(), ""));
        round.push(Stmt::For {
            var: digit,
            lower: self.int(1),
            upper: self.int(8),
            step: Step::Add(1),
            unroll: true,
            body: find,
            note: Note::default(),
        });
        let all = add(self.var(ended), mul(self.var(found), self.var(unit)));
        round.push(self.set(ended, Value::binary(BinOp::Min, all, scratch.count.clone())));
        // Digits that no number of segments has need not be looked at.
        let some = Value::binary(BinOp::Le, self.var(unit), scratch.count.clone());
        let smaller = self.quotient(self.var(unit), 8);
        let number = self.emitter.new_var("pass", self.emitter.index(), false);
        inside.push(Stmt::For {
            var: number,
            lower: self.int(0),
            upper: self.int(rounds),
            step: Step::Add(1),
            unroll: false,
            body: vec![Self::when(some, round, Vec::new(), ""), self.set(unit, smaller)],
            note: Note::new("the segments that end before the border, digit by digit: offsets do not fall"),
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
