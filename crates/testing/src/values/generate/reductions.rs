//! Reductions, their loops and bounds.

use std::sync::Arc;

use loopwright_kernel_ir::{Access, BinaryOp, DType, Expr, Name, Reduce};

use super::{Generator, Kind, from};
use crate::{
    rng::Rng,
    values::{
        evaluate::typing,
        kernel::{Loop, Statement, Target},
        operators::Operator,
        types::Own,
    },
};

impl Generator {
    /// A new loop, whose iname the caller takes away again.
    pub(super) fn loop_of_a_reduction(&mut self) -> Name {
        let name = Name::new(format!("k_{}", self.kernel.loops.len()));
        let within = self.rng.chance(40) && self.inames[0].1 != Expr::Int(2_147_483_607);
        let loaded =
            (self.bounds_by_data && self.inames.len() == 1 && self.rng.chance(50)).then(|| self.loaded());
        let (lower, upper) = match (&loaded, self.rng.below(8)) {
            (Some(loaded), _) => {
                let loaded = Expr::Name(loaded.clone());
                let lower = match self.rng.below(4) {
                    0 => Expr::binary(BinaryOp::Sub, loaded, Expr::name("n")),
                    1 => Expr::binary(BinaryOp::Mul, Expr::Int(3), loaded),
                    _ => loaded,
                };
                (lower.clone(), Expr::binary(BinaryOp::Add, lower, self.length(within)))
            }
            (None, 0) => (Expr::Int(0), Expr::binary(BinaryOp::FloorDiv, Expr::name("n"), Expr::Int(8))),
            (None, 1) => (Expr::Int(0), Expr::binary(BinaryOp::FloorDiv, Expr::name("m"), Expr::Int(8))),
            (None, 2) => (Expr::Int(2_147_483_640), Expr::Int(2_147_483_646)),
            (None, 3) => (Expr::Int(0), Expr::Int(6)),
            (None, _) => {
                let lower = self.bound(within);
                let length = self.length(within);
                (lower.clone(), Expr::binary(BinaryOp::Add, lower, length))
            }
        };
        let by_i = |n: &Name| n.as_str() == "i" || Some(n) == loaded.as_ref();
        let outer = match [&lower, &upper].iter().any(|e| e.names().iter().any(by_i)) {
            true => vec![Name::new("i")],
            false => vec![],
        };
        let shift = lower.clone();
        self.kernel.loops.push(Loop { name: name.clone(), lower, upper, outer });
        let typed = typing(&self.kernel);
        self.scope.names.insert(name.clone(), typed.names[&name]);
        self.inames.push((name.clone(), shift));
        self.reduces = false;
        name
    }

    pub(super) fn reduction(&mut self, kind: Kind) -> Expr {
        let name = self.loop_of_a_reduction();
        let own: Vec<Operator> =
            self.operators.iter().filter(|o| o.result.is_none_or(|k| k == kind)).cloned().collect();
        let own: Vec<Operator> = own
            .into_iter()
            // What is like its input is a number.
            .filter(|o| o.result.is_some() || kind != Kind::Bool)
            .collect();
        let (op, of) = if !own.is_empty() && self.rng.chance(50) {
            let own = self.rng.pick(&own);
            (own.op.name.clone(), own.inputs.iter().map(|k| k.unwrap_or(kind)).collect())
        } else {
            let (op, of) = match (kind, self.rng.below(8)) {
                (Kind::Bool, _) => (self.rng.pick(&["any", "all"]), Kind::Bool),
                (Kind::Int, 0) => ("sum", Kind::Bool),
                _ => (self.rng.pick(&["sum", "product", "min", "max"]), kind),
            };
            (Name::new(op), vec![of])
        };
        let args = of.into_iter().map(|of: Kind| self.expr(of, 2)).collect();
        self.reduces = true;
        self.inames.pop();
        Expr::Reduce(Arc::new(Reduce { op, inames: vec![name], args }))
    }

    /// A temporary with an element of an array, for each iteration of the loop around.
    fn loaded(&mut self) -> Name {
        let name = Name::new(format!("load_{}", self.kernel.statements.len()));
        let (array, t) = self.rng.pick(&[
            ("idx", DType::I32),
            ("x_i8", DType::I8),
            ("x_u8", DType::U8),
            ("x_i16", DType::I16),
            ("x_u16", DType::U16),
        ]);
        let (iname, lower) = self.inames[0].clone();
        let place = from(&Expr::Name(iname), &lower);
        let value = Expr::Subscript(Access { array: Name::new(array), index: vec![place] });
        self.scope.names.insert(name.clone(), Own::Of(t));
        self.kernel.statements.push(Statement::new(Target::Temporary(name.clone(), Some(t)), value));
        name
    }

    /// An affine function of sizes, of narrow and unsigned scalars, and of the iname around if that
    /// is wanted. Scalars of 64 bits would leave most products of theirs in no type.
    fn bound(&mut self, within: bool) -> Expr {
        use BinaryOp::*;
        let mut names = vec!["n", "m", "n"];
        if within {
            names.extend(["i", "i", "i"]);
        }
        if self.bounds_by_data && self.rng.chance(60) {
            names.extend(["s_i8", "s_u8", "s_i16", "s_u16", "s_i32", "s_u32"]);
        }
        let term = |rng: &mut Rng| {
            let (name, kind) = (Expr::name(rng.pick(&names)), rng.below(4));
            match kind {
                0 => Expr::binary(Mul, Expr::Int(rng.pick(&[2, 3, 7, 1000])), name),
                1 => Expr::binary(FloorDiv, name, Expr::Int(rng.pick(&[2, 3, 8]))),
                2 => Expr::binary(Mod, name, Expr::Int(rng.pick(&[2, 3, 5]))),
                _ => name,
            }
        };
        let mut sum = term(&mut self.rng);
        if self.rng.chance(40) {
            let op = self.rng.pick(&[Add, Sub]);
            sum = Expr::binary(op, sum, term(&mut self.rng));
        }
        match self.rng.chance(50) {
            true => Expr::binary(self.rng.pick(&[Add, Sub]), sum, Expr::Int(self.rng.below(50) as i64)),
            false => sum,
        }
    }

    /// The number of points of a reduction: at most 7.
    fn length(&mut self, within: bool) -> Expr {
        match self.rng.below(5) {
            0 => Expr::binary(BinaryOp::FloorDiv, Expr::name("n"), Expr::Int(8)),
            1 if within => Expr::binary(BinaryOp::Mod, Expr::name("i"), Expr::Int(4)),
            _ => Expr::Int(1 + self.rng.below(7) as i64),
        }
    }
}
