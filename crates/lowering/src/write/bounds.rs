//! Bounds of loops and grids as values.

use loopwright_kernel_ir::Diagnostic;
use loopwright_poly::Bound;

use crate::{
    program::{BinOp, Value},
    schedule::loop_bounds::{LoopEnd, Side},
    write::{emitter::Emitter, env::Env},
};

impl Emitter<'_, '_> {
    /// The greatest lower bound, or one more than the least upper bound; of several lists the
    /// weakest.
    pub fn extreme(&mut self, end: &LoopEnd, env: &Env, side: Side) -> Result<Value, Diagnostic> {
        let (inner, outer) = match side {
            Side::Lower => (BinOp::Max, BinOp::Min),
            Side::Upper => (BinOp::Min, BinOp::Max),
        };
        let mut all: Option<Value> = None;
        for bounds in &end.0 {
            let mut own: Option<Value> = None;
            for b in bounds {
                let value = self.bound_value(b, env, side)?;
                own = Some(match own {
                    None => value,
                    Some(o) => Value::binary(inner, o, value),
                });
            }
            let own = own.ok_or_else(|| Diagnostic::new("no-bound", "a loop has no bound"))?;
            all = Some(match all {
                None => own,
                Some(a) => Value::binary(outer, a, own),
            });
        }
        all.ok_or_else(|| Diagnostic::new("no-bound", "a loop has no bound"))
    }

    /// `ceil(aff/d)` for a lower bound, `floor(aff/d) + 1` for an upper one.
    pub fn bound_value(&mut self, b: &Bound, env: &Env, side: Side) -> Result<Value, Diagnostic> {
        let numerator = side.numerator(b)?;
        match env.place.constant_quotient(&numerator, b.denominator)? {
            Some(value) => Ok(self.index_int(value)),
            None => {
                let quotient = numerator.floor_div(b.denominator)?;
                self.aff_value(&env.place.without_constant_quotients(&quotient)?, env)
            }
        }
    }
}
