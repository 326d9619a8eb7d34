//! Subscripts: integers of unlimited size, inside arrays of 64 elements.

use loopwright_kernel_ir::{Access, BinaryOp, DType, Expr, Name, UnaryOp};

use super::{Generator, INTEGERS, call, from};

/// An element of an array.
fn read(array: impl Into<Name>, at: Expr) -> Expr {
    Expr::Subscript(Access { array: array.into(), index: vec![at] })
}

fn modulo(e: Expr) -> Expr {
    Expr::binary(BinaryOp::Mod, e, Expr::Int(64))
}

impl Generator {
    /// A subscript that lies in an array of 64 elements.
    pub(super) fn subscript(&mut self) -> Expr {
        use BinaryOp::*;
        let (i, place) = self.place_of_an_iname();
        match self.rng.below(if self.computes_subscripts { 32 } else { 16 }) {
            0 => Expr::Int(self.rng.below(64) as i64),
            1 => modulo(Expr::binary(Mul, Expr::Int(self.rng.pick(&[3, 65537, 1_103_515_245])), i)),
            2 => modulo(Expr::binary(Sub, Expr::Int(17), Expr::binary(Mul, i.clone(), Expr::Int(5)))),
            3 => read(self.rng.pick(&["idx", "jdx"]), place),
            4 => {
                let inner = read(self.rng.pick(&["idx", "jdx"]), place);
                Expr::binary(Add, Expr::binary(Mul, inner, Expr::Int(7)), Expr::Int(3))
            }
            5 => modulo(Expr::binary(Add, i, Expr::name("n"))),
            6 => Expr::binary(FloorDiv, place, Expr::Int(3)),
            16.. => self.computed_subscript(),
            _ => place,
        }
    }

    /// An iname, and its distance from its least value, which is below 40.
    fn place_of_an_iname(&mut self) -> (Expr, Expr) {
        let all = self.inames.clone();
        let (iname, lower) = self.rng.pick(&all);
        let i = Expr::Name(iname);
        let place = from(&i, &lower);
        (i, place)
    }

    /// Any integer, brought into the array.
    fn computed_subscript(&mut self) -> Expr {
        use BinaryOp::*;
        let e = self.index(3);
        let within = |e: &Expr| {
            let at_least = Expr::binary(Ge, e.clone(), Expr::Int(0));
            Expr::binary(And, at_least, Expr::binary(Lt, e.clone(), Expr::Int(64)))
        };
        // A reduction runs whatever the condition around it, so that what it reads has to be proved
        // to be in bounds: a remainder is.
        let in_reduction = self.inames.len() > 1;
        match self.rng.below(8) {
            _ if in_reduction => modulo(e),
            0 => call("max", vec![call("min", vec![e, Expr::Int(63)]), Expr::Int(0)]),
            1 => Expr::If(within(&e).into(), e.into(), Expr::Int(5).into()),
            2 => Expr::binary(BitAnd, e, Expr::Int(63)),
            3 => call("abs", vec![Expr::binary(Mod, e, Expr::Int(-64))]),
            _ => modulo(e),
        }
    }

    /// An integer of a subscript.
    fn index(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        if depth == 0 || self.rng.chance(10) {
            return self.index_leaf();
        }
        let a = self.index(depth - 1);
        match self.rng.below(16) {
            0 => Expr::Unary(UnaryOp::Neg, a.into()),
            1 => Expr::Unary(UnaryOp::BitNot, a.into()),
            2 => call("abs", vec![a]),
            3 => {
                let b = self.index(depth - 1);
                call(self.rng.pick(&["min", "max"]), vec![a, b])
            }
            4 | 5 => Expr::binary(self.rng.pick(&[Shl, Shr, Shr]), a, Expr::Int(self.rng.below(9) as i64)),
            6..=8 => {
                let by = Expr::Int(self.rng.pick(&[2, 3, 7, 10, 61, 1000, 65536, -3]));
                Expr::binary(self.rng.pick(&[FloorDiv, Mod]), a, by)
            }
            9 => {
                let (b, c) = (self.index(depth - 1), self.index(depth - 1));
                let condition = self.index_condition();
                let b = if self.rng.chance(50) { c } else { b };
                Expr::If(condition.into(), a.into(), b.into())
            }
            10 => Expr::binary(Mul, a, Expr::Int(self.rng.pick(&[2, 3, 5, 1000, 65537, 1_103_515_245]))),
            11 => Expr::binary(self.rng.pick(&[BitAnd, BitOr, BitXor]), a, self.index(depth - 1)),
            12 => {
                // Other numbers than data are refused where a conversion changes them.
                let (_, place) = self.place_of_an_iname();
                let t: DType = self.rng.pick(&INTEGERS);
                let of: DType = self.rng.pick(&INTEGERS);
                Expr::Cast(t.into(), read(format!("x_{of}"), place).into())
            }
            _ => Expr::binary(self.rng.pick(&[Add, Sub, Add, Sub, Mul]), a, self.index(depth - 1)),
        }
    }

    /// A comparison of integers of a subscript.
    fn index_condition(&mut self) -> Expr {
        use BinaryOp::*;
        let (a, b) = (self.index(1), self.index(1));
        let condition = Expr::binary(self.rng.pick(&[Lt, Le, Gt, Ge, Eq, Ne]), a, b);
        match self.rng.below(6) {
            0 => Expr::Unary(UnaryOp::Not, condition.into()),
            1 => Expr::binary(self.rng.pick(&[And, Or]), condition, self.index_condition()),
            _ => condition,
        }
    }

    fn index_leaf(&mut self) -> Expr {
        use DType::*;
        let (i, place) = self.place_of_an_iname();
        // 64 bits hold what is computed from few numbers of 64 bits.
        let t = if self.rng.chance(8) {
            self.rng.pick(&[I64, U64])
        } else {
            self.rng.pick(&[I8, I16, I32, U8, U16, U32])
        };
        match self.rng.below(8) {
            0 => Expr::Int(self.rng.pick(&[0, 1, 2, 5, 63, 64, 255, 70_000, 2_147_483_647, 4_294_967_295])),
            1 => Expr::name(self.rng.pick(&["n", "m"])),
            2 | 3 => Expr::name(format!("s_{t}")),
            4 | 5 => read(format!("x_{t}"), place),
            6 => i,
            _ => place,
        }
    }
}
