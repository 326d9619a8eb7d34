//! The first launch: where each run begins.
//!
//! A warp for each border between runs: how many segments have ended before it is found digit by
//! digit; a digit has as many values as a warp has lanes. Every lane asks about one value of the digit; offsets do not fall, so
//! that the last lane whose answer is yes has the digit.

use loopwright_kernel_ir::{Aff, DType, Diagnostic, Shorter};

use super::{COUNT_BITS, END_WEIGHT, STARTING_THREADS, Writer};
use crate::{
    program::{BinOp, Note, Step, Stmt, Value},
    write::fold::{add, mul, sub},
};

impl Writer<'_, '_, '_> {
    /// How many runs so many steps make, and how many blocks.
    pub(super) fn count_runs(&mut self, steps: &Aff) -> Result<(Value, Value), Diagnostic> {
        let pieces = |steps: &Aff, length: i64| -> Result<_, Diagnostic> {
            Ok(steps.add_constant(length - 1)?.floor_div(length)?)
        };
        let runs = self.emitter.aff_value(&pieces(steps, self.run_steps())?, &self.env)?;
        let Some(Shorter { after, tiles }) = self.flat.shorter else {
            let blocks = pieces(steps, self.run_steps() * self.warps())?;
            return Ok((runs, self.emitter.aff_value(&blocks, &self.env)?));
        };
        let (after, length) = (i64::from(after), self.tile_points() * i64::from(tiles));
        let first = Value::binary(BinOp::Min, runs, self.int(after));
        // The constant has 32 bits: `Flat::wrong`.
        let behind = steps.add_constant(length - 1 - after * self.run_steps())?;
        let behind = self.emitter.aff_value(&behind, &self.env)?;
        let behind = Value::binary(BinOp::Max, behind, self.int(0));
        let behind = Value::binary(BinOp::TruncDiv, behind, self.int(length));
        let runs = add(first, behind);
        let warps = self.warps();
        let whole = add(runs.clone(), self.int(warps - 1));
        Ok((runs, Value::binary(BinOp::TruncDiv, whole, self.int(warps))))
    }

    /// Steps before a run.
    fn steps_before(&self, run: Value) -> Value {
        let length = self.int(self.run_steps());
        let Some(Shorter { after, tiles }) = self.flat.shorter else { return mul(run, length) };
        let after = self.int(after.into());
        let first = Value::binary(BinOp::Min, run.clone(), after.clone());
        let behind = Value::binary(BinOp::Max, sub(run, after), self.int(0));
        add(mul(first, length), mul(behind, self.int(self.tile_points() * i64::from(tiles))))
    }

    /// Steps of a run; of the longer ones where some are shorter.
    pub(super) fn run_steps(&self) -> i64 {
        self.tile_points() * i64::from(self.flat.tiles)
    }

    /// The number of segments that end before each border, and the first point behind it.
    pub fn starts(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let mut body = Vec::new();
        let lane = self.lane(&mut body);
        let warps = self.int(i64::from(STARTING_THREADS) / self.warp_size());
        let own = add(mul(self.block(), warps), self.emitter.thread_quotient(self.emitter.warp_size()));
        let own = self.named("own_run", own, &mut body);
        // All warps take part; there is one border more than runs.
        let runs = self.named("runs", scratch.runs.clone(), &mut body);
        let run = Value::binary(BinOp::Min, own.clone(), runs.clone());
        let run = self.named("run", run, &mut body);
        let base = self.base()?;
        let base = self.named("base", base, &mut body);
        let last = self.end_before(scratch.count.clone())?;
        let last = self.named("last", last, &mut body);
        let weight = self.int(END_WEIGHT);
        let total = add(sub(last, base.clone()), mul(scratch.count.clone(), weight.clone()));
        let border = self.steps_before(run);
        let border = self.named("border", Value::binary(BinOp::Min, border, total), &mut body);
        let ended = self.counter("ended", self.int(0), None, &mut body);
        let wide = self.emitter.index().bytes() == 8;
        // There are fewer than 2^30 segments where steps have 32 bits.
        let (bits, digit) = (COUNT_BITS[usize::from(wide)], self.warp_size().trailing_zeros());
        let (rounds, highest) = (i64::from(bits / digit), 1 << (bits - digit));
        let unit = self.counter("unit", self.int(highest), Some((0, highest)), &mut body);
        let mut round = Vec::new();
        let next = add(self.var(ended), mul(lane.clone(), self.var(unit)));
        let next = Value::binary(BinOp::Min, next, scratch.count.clone());
        let next = self.named("next", next, &mut round);
        // The step behind those of so many segments.
        let end = self.end_before(next.clone())?;
        let step = add(sub(end, base.clone()), mul(next, weight.clone()));
        let before = Value::binary(BinOp::Le, step, border.clone());
        let last_lane = Value::int(DType::I32, self.warp_size() - 1);
        let since = Value::ballot(before, self.emitter.target()).leading_zeros();
        let digit = self.emitter.new_var("digit", self.emitter.index(), false);
        self.emitter.vars[digit.0].within = Some((0, self.warp_size() - 1));
        self.emitter.vars[digit.0].index = true;
        let value = sub(last_lane, since).cast(self.emitter.index());
        round.push(Stmt::Let { var: digit, value, leaf: None });
        let all = add(self.var(ended), mul(self.var(digit), self.var(unit)));
        round.push(self.set(ended, Value::binary(BinOp::Min, all, scratch.count.clone())));
        // Digits that no number of segments has need not be looked at.
        let some = Value::binary(BinOp::Le, self.var(unit), scratch.count.clone());
        let smaller = self.quotient(self.var(unit), self.warp_size());
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
        // A border may lie among the steps that the end of a segment counts for, behind its points.
        let after = Value::binary(BinOp::Min, add(self.var(ended), self.int(1)), scratch.count.clone());
        let end = self.end_before(after)?;
        let point = sub(add(base.clone(), border), mul(self.var(ended), weight));
        // No point is before the first: so much is plain from what is written.
        let point = Value::binary(BinOp::Max, Value::binary(BinOp::Min, point, end), base);
        let points = Stmt::Store { to: Self::element(scratch.points, own.clone()), value: point, leaf: None };
        let exists = Value::binary(BinOp::Le, own, runs);
        let first = Value::binary(BinOp::Eq, lane, self.int(0));
        let one = Value::binary(BinOp::And, first, exists);
        body.push(Self::when(one, vec![starts, points], Vec::new(), "one border more than runs"));
        Ok(body)
    }
}
