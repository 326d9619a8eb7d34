//! The first launch: where each chunk begins.
//!
//! One warp per boundary between chunks finds how many segments end before it, digit by digit; a
//! digit has as many values as a warp has lanes. Each lane tests one value of the digit. Offsets
//! are non-decreasing, so the last lane whose test succeeds has the digit.

use loopwright_kernel_ir::{Aff, DType, Diagnostic, Tail};

use super::{COUNT_BITS, END_WEIGHT, STARTING_THREADS, Writer};
use crate::{
    program::{BinOp, Note, Step, Stmt, Value},
    write::fold::{add, mul, sub},
};

impl Writer<'_, '_, '_> {
    /// The numbers of chunks and of blocks for this number of steps.
    pub(super) fn count_chunks(&mut self, steps: &Aff) -> Result<(Value, Value), Diagnostic> {
        let pieces = |steps: &Aff, length: i64| -> Result<_, Diagnostic> {
            Ok(steps.add_constant(length - 1)?.floor_div(length)?)
        };
        let chunks = self.emitter.aff_value(&pieces(steps, self.chunk_steps())?, &self.env)?;
        let Some(Tail { full_chunks, tiles }) = self.flat.tail else {
            let blocks = pieces(steps, self.chunk_steps() * self.warps())?;
            return Ok((chunks, self.emitter.aff_value(&blocks, &self.env)?));
        };
        let (full_chunks, length) = (i64::from(full_chunks), self.tile_points() * i64::from(tiles));
        let full = Value::binary(BinOp::Min, chunks, self.int(full_chunks));
        // The constant has 32 bits: `Flat::wrong`.
        let small = steps.add_constant(length - 1 - full_chunks * self.chunk_steps())?;
        let small = self.emitter.aff_value(&small, &self.env)?;
        let small = Value::binary(BinOp::Max, small, self.int(0));
        let small = Value::binary(BinOp::TruncDiv, small, self.int(length));
        let chunks = add(full, small);
        let warps = self.warps();
        let whole = add(chunks.clone(), self.int(warps - 1));
        Ok((chunks, Value::binary(BinOp::TruncDiv, whole, self.int(warps))))
    }

    /// Steps before a chunk.
    fn steps_before(&self, chunk: Value) -> Value {
        let length = self.int(self.chunk_steps());
        let Some(Tail { full_chunks, tiles }) = self.flat.tail else { return mul(chunk, length) };
        let full_chunks = self.int(full_chunks.into());
        let full = Value::binary(BinOp::Min, chunk.clone(), full_chunks.clone());
        let small = Value::binary(BinOp::Max, sub(chunk, full_chunks), self.int(0));
        add(mul(full, length), mul(small, self.int(self.tile_points() * i64::from(tiles))))
    }

    /// Steps per chunk of full size.
    pub(super) fn chunk_steps(&self) -> i64 {
        self.tile_points() * i64::from(self.flat.tiles)
    }

    /// The body of the kernel: for each boundary, the number of segments that end before it, and
    /// the first point after it.
    pub fn starts(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let mut body = Vec::new();
        let lane = self.lane(&mut body);
        let warps = self.int(i64::from(STARTING_THREADS) / self.warp_size());
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
        let weight = self.int(END_WEIGHT);
        let total = add(sub(last, base.clone()), mul(scratch.count.clone(), weight.clone()));
        let border = self.steps_before(chunk);
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
        // The first step after those of `next` segments.
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
        // Digits beyond the number of segments are skipped.
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
