//! The first launch: where each chunk begins.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::Writer;
use crate::{
    flat::plan::{Chunks, Search},
    program::{BinOp, Note, Step, Stmt, Value},
    write::fold::{add, mul, sub},
};

impl Writer<'_, '_, '_> {
    /// The number of steps before a chunk; in a guided schedule, later chunks have fewer.
    fn steps_before(&self, chunk: Value) -> Value {
        let cut = &self.plan.cut;
        let size = self.int(cut.chunk);
        let Chunks::Guided { full, length, .. } = &cut.chunks else { return mul(chunk, size) };
        let full = self.int(*full);
        let first = Value::binary(BinOp::Min, chunk.clone(), full.clone());
        let later = Value::binary(BinOp::Max, sub(chunk, full), self.int(0));
        add(mul(first, size), mul(later, self.int(*length)))
    }

    /// The body of the kernel: for each boundary, the number of segments that end before it, and
    /// the first point after it.
    pub fn starts(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let &Search { warps, digit: bits, rounds, highest, .. } = &self.plan.search;
        let mut body = Vec::new();
        let lane = self.lane(&mut body);
        let warps = self.int(warps);
        let own = add(mul(self.block(), warps), self.emitter.thread_quotient(self.emitter.warp_size()));
        let own = self.named("own_chunk", own, &mut body);
        // All warps take part; there is one more boundary than chunks.
        let chunks = self.named("chunks", scratch.chunks.clone(), &mut body);
        let chunk = Value::binary(BinOp::Min, own.clone(), chunks.clone());
        let chunk = self.named("chunk", chunk, &mut body);
        let base = self.base()?;
        let base = self.named("base", base, &mut body);
        let last = self.end_before(scratch.count.clone())?;
        let last = self.named("last", last, &mut body);
        let weight = self.int(self.plan.cut.end_weight);
        let total = add(sub(last, base.clone()), mul(scratch.count.clone(), weight.clone()));
        let border = self.steps_before(chunk);
        let border = self.named("border", Value::binary(BinOp::Min, border, total), &mut body);
        let ended = self.counter("ended", self.int(0), None, &mut body);
        let unit = self.counter("unit", self.int(highest), Some((0, highest)), &mut body);
        let mut round = Vec::new();
        let next = add(self.var(ended), mul(lane.clone(), self.var(unit)));
        let next = Value::binary(BinOp::Min, next, scratch.count.clone());
        let next = self.named("next", next, &mut round);
        // The first step after those of `next` segments.
        let end = self.end_before(next.clone())?;
        let step = add(sub(end, base.clone()), mul(next, weight.clone()));
        let before = Value::binary(BinOp::Le, step, border.clone());
        let last_lane = Value::int(DType::I32, self.warp_size() - 1);
        let since = Value::ballot(before, self.emitter.target()).leading_zeros();
        let digit = self.index_var("digit");
        self.emitter.vars[digit.0].within = Some((0, self.warp_size() - 1));
        let value = sub(last_lane, since).cast(self.emitter.index());
        round.push(Stmt::Let { var: digit, value, leaf: None });
        let all = add(self.var(ended), mul(self.var(digit), self.var(unit)));
        round.push(self.set(ended, Value::binary(BinOp::Min, all, scratch.count.clone())));
        // Digits beyond the number of segments are skipped.
        let some = Value::binary(BinOp::Le, self.var(unit), scratch.count.clone());
        let smaller = Value::binary(BinOp::Shr, self.var(unit), self.int(bits.into()));
        let number = self.emitter.new_var("pass", self.emitter.index(), false);
        body.push(Stmt::For {
            var: number,
            lower: self.int(0),
            upper: self.int(rounds),
            step: Step::Add(1),
            unroll: false,
            body: vec![Self::when(some, round, Vec::new(), ""), self.set(unit, smaller)],
            note: Note::new("the segments that end before the border, digit by digit: offsets do not fall"),
        });
        let starts = Stmt::Store {
            to: Self::element(scratch.starts, own.clone()),
            value: self.var(ended),
            leaf: None,
        };
        // A boundary may fall among the steps that the end of a segment counts for, after its
        // points.
        let after = Value::binary(BinOp::Min, add(self.var(ended), self.int(1)), scratch.count.clone());
        let end = self.end_before(after)?;
        let point = sub(add(base.clone(), border), mul(self.var(ended), weight));
        // States in the program itself that no point comes before the first, as the final check
        // needs.
        let point = Value::binary(BinOp::Max, Value::binary(BinOp::Min, point, end), base);
        let points = Stmt::Store { to: Self::element(scratch.points, own.clone()), value: point, leaf: None };
        let exists = Value::binary(BinOp::Le, own, chunks);
        let first = Value::binary(BinOp::Eq, lane, self.int(0));
        let one = Value::binary(BinOp::And, first, exists);
        body.push(Self::when(one, vec![starts, points], Vec::new(), "one border more than chunks"));
        Ok(body)
    }
}
