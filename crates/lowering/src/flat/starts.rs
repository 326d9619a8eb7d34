//! The first launch: where each tile begins.

use loopwright_kernel_ir::Diagnostic;

use super::{STARTING_THREADS, Writer};
use crate::{
    fold::{add, mul, sub},
    program::{BinOp, Note, Step, Stmt, Value},
};

impl Writer<'_, '_, '_> {
    /// A thread for each border: the number of segments that end before it, bit by bit from the greatest.
    pub fn starts(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let mut body = Vec::new();
        let own = add(mul(self.block(), self.int(i64::from(STARTING_THREADS))), self.thread());
        let tile = self.named("tile", own, &mut body);
        let mut inside = Vec::new();
        let base = self.base()?;
        let base = self.named("base", base, &mut inside);
        let last = self.end_before(scratch.count.clone())?;
        let last = self.named("last", last, &mut inside);
        let total = add(sub(last, base.clone()), scratch.count.clone());
        let border = mul(tile.clone(), self.int(self.flat.steps()));
        let border = self.named("border", Value::binary(BinOp::Min, border, total), &mut inside);
        let ended = self.counter("ended", self.int(0), None, &mut inside);
        let bit = self.emitter.new_var("bit", self.emitter.index(), true);
        let mut find = Vec::new();
        let next = Value::binary(BinOp::BitOr, self.var(ended), self.var(bit));
        let next = Value::binary(BinOp::Min, next, scratch.count.clone());
        let next = self.named("next", next, &mut find);
        // The step that ends the last of so many segments.
        let end = self.end_before(next.clone())?;
        let end = self.named("end", end, &mut find);
        let step = sub(add(sub(end, base), next.clone()), self.int(1));
        let before = Value::binary(BinOp::Lt, step, border);
        find.push(Self::when(before, vec![self.set(ended, next)], Vec::new(), ""));
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
            to: Self::element(scratch.starts, tile.clone()),
            value: self.var(ended),
            leaf: None,
        });
        let exists = Value::binary(BinOp::Le, tile, scratch.tiles.clone());
        body.push(Self::when(exists, inside, Vec::new(), "one border more than tiles"));
        Ok(body)
    }
}
