//! Statements: assignments, updates, the two results of a reduction.

use std::sync::Arc;

use loopwright_kernel_ir::{
    Access, BinaryOp, DType, Expr, MATH_FUNCTIONS, MathFunction, MathResult, Name, Reduce, UnaryOp, UpdateOp,
};

use super::{EXACT, Generator, INTEGERS, Kind, call, from};
use crate::{
    rng::Rng,
    values::{
        evaluate::{assigns, settled},
        kernel::{Statement, Target},
        types::{Own, Stop},
    },
};

impl Generator {
    /// A statement, and whether the page accepts it.
    pub(super) fn statement(&mut self) -> (Statement, Result<(), Stop>) {
        let s = match self.rng.below(12) {
            0 => self.update(),
            1 => self.least(),
            _ => return self.assignment(),
        };
        let judged = settled(&self.scope, &self.kernel.loops, &s);
        (s, judged)
    }

    /// An update. Those of one element may be of any order, so that sums of floating-point values
    /// are of one each.
    fn update(&mut self) -> Statement {
        use DType::*;
        let mut types = vec![I32, U32, I64, U64];
        types.extend(self.floats.iter().copied().filter(|t| matches!(t, F16 | BF16 | F32 | F64)));
        if self.rng.chance(5) {
            types = [vec![Bool], INTEGERS.to_vec(), self.floats.clone()].concat();
        }
        let t = self.rng.pick(&types);
        let signs = if t.is_float() && !self.rng.chance(5) { 3 } else { 5 };
        let op = UpdateOp::SIGNS[self.rng.below(signs)].0.clone();
        let kind = if t.is_float() && self.rng.chance(80) { Kind::Float } else { Kind::Int };
        let mut value = self.expr(kind, 3);
        if self.scope.own(&value).is_ok_and(|own| assigns(own, t).is_err()) && !self.rng.chance(5) {
            value = Expr::Cast(t.into(), value.into());
        }
        // An array that is updated already may be once more.
        let before: Vec<Name> = self
            .kernel
            .statements
            .iter()
            .filter_map(|s| match (&s.target, &s.update) {
                (Target::Array(name, of), Some(_)) if *of == t && t.is_integer() => Some(name.clone()),
                _ => None,
            })
            .collect();
        let name = match before.is_empty() || self.rng.chance(60) {
            true => Name::new(format!("out_{}", self.kernel.statements.len())),
            false => self.rng.pick(&before),
        };
        let place = self.place(op == UpdateOp::Sum && t.is_float());
        let mut s = Statement::new(Target::Array(name, t), value);
        s.update = Some((op, place));
        s.predicate = self.predicate();
        s
    }

    /// The element of an update, each by itself if that is wanted.
    fn place(&mut self, each: bool) -> Expr {
        use BinaryOp::*;
        let (iname, lower) = self.inames[0].clone();
        let i = Expr::Name(iname);
        let place = from(&i, &lower);
        let read =
            |array: &str, at: Expr| Expr::Subscript(Access { array: Name::new(array), index: vec![at] });
        match self.rng.below(6) {
            _ if each => place,
            0 => Expr::binary(Mod, i, Expr::Int(7)),
            1 => Expr::binary(FloorDiv, place, Expr::Int(3)),
            2 => read("idx", place),
            3 => Expr::binary(Add, read("jdx", place), Expr::Int(5)),
            4 => Expr::Int(self.rng.below(40) as i64),
            _ => place,
        }
    }

    /// The least or greatest value and its index.
    fn least(&mut self) -> Statement {
        let kind = if self.floats.is_empty() || self.rng.chance(40) { Kind::Int } else { Kind::Float };
        let name = self.loop_of_a_reduction();
        let value = self.expr(kind, 2);
        let index = match self.rng.below(3) {
            0 => Expr::Name(name.clone()),
            1 => Expr::binary(BinaryOp::Sub, Expr::Int(5), Expr::Name(name.clone())),
            _ => self.expr(Kind::Int, 1),
        };
        self.inames.pop();
        self.reduces = true;
        let op = self.rng.pick(&["argmin", "argmax"]);
        let fitting = |own: Result<Own, Stop>, rng: &mut Rng| {
            let types = [INTEGERS.to_vec(), self.floats.clone()].concat();
            let fitting: Vec<DType> =
                types.into_iter().filter(|t| own.clone().is_ok_and(|own| assigns(own, *t).is_ok())).collect();
            if fitting.is_empty() { DType::I32 } else { rng.pick(&fitting) }
        };
        let mut rng = Rng::new(self.rng.bits());
        let t = fitting(self.scope.own(&value), &mut rng);
        let second = fitting(self.scope.own(&index), &mut rng);
        let count = self.kernel.statements.len();
        let reduce = Reduce { op: Name::new(op), inames: vec![name], args: vec![value, index] };
        let target = Target::Array(Name::new(format!("out_{count}")), t);
        let mut s = Statement::new(target, Expr::Reduce(Arc::new(reduce)));
        s.second = Some((Name::new(format!("place_{count}")), second));
        s
    }

    fn predicate(&mut self) -> Option<Expr> {
        self.reduces = false;
        let predicate = match self.rng.chance(20) {
            true if self.rng.chance(40) => Some(self.affine(2)),
            true => Some(self.expr(Kind::Bool, 2)),
            false => None,
        };
        self.reduces = true;
        predicate
    }

    /// An assignment, and whether the page accepts it.
    fn assignment(&mut self) -> (Statement, Result<(), Stop>) {
        let count = self.kernel.statements.len();
        let inexact = !self.floats.is_empty() && self.rng.chance(12);
        let kind = match self.rng.below(10) {
            _ if inexact => Kind::Float,
            0 => Kind::Bool,
            k if k < 6 || self.floats.is_empty() => Kind::Int,
            _ => Kind::Float,
        };
        let depth = 1 + self.rng.below(4);
        let value = if inexact { self.inexact() } else { self.expr(kind, depth) };
        let own = self.scope.own(&value);
        let types: Vec<DType> =
            [DType::Bool].into_iter().chain(INTEGERS).chain(self.floats.iter().copied()).collect();
        let fitting = own.clone().map(|own| {
            let exact = |t: &DType| match own {
                _ if !inexact => true,
                Own::Of(of) => of == *t,
                _ => Some(*t) == self.kernel.float,
            };
            types.iter().copied().filter(|t| assigns(own, *t).is_ok()).filter(exact).collect::<Vec<_>>()
        });
        let t = match fitting {
            Ok(fitting) if !fitting.is_empty() && !self.rng.chance(2) => self.rng.pick(&fitting),
            _ => self.rng.pick(&types),
        };
        let target = if !inexact && self.rng.chance(20) {
            let said = if self.rng.chance(30) { Some(t) } else { None };
            Target::Temporary(Name::new(format!("temp_{count}")), said)
        } else {
            Target::Array(Name::new(format!("out_{count}")), t)
        };
        let array = matches!(target, Target::Array(..));
        let mut s = Statement::new(target, value);
        s.predicate = if array { self.predicate() } else { None };
        s.inexact = inexact && matches!(&s.value, Expr::Call { .. });
        let judged = own.and_then(|_| settled(&self.scope, &self.kernel.loops, &s));
        (s, judged)
    }

    fn inexact(&mut self) -> Expr {
        // Bessel functions are near in numbers, not in units, where they are zero.
        let is_drawn = |f: &MathFunction| {
            let plain = f.result == MathResult::Operand && f.integer.is_none() && !f.integers && f.arity > 0;
            plain && !f.name.starts_with("bessel_") && !EXACT.contains(&f.name)
        };
        let of = MATH_FUNCTIONS.iter().filter(|f| is_drawn(f));
        let functions: Vec<_> = of.collect();
        let f = functions[self.rng.below(functions.len())];
        let args = (0..f.arity).map(|_| self.mixed(1)).collect();
        call(f.name, args)
    }

    /// Comparisons of inames and integer scalars, which proofs may use.
    fn affine(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        if depth > 0 && self.rng.chance(40) {
            let (a, b) = (self.affine(depth - 1), self.affine(depth - 1));
            return match self.rng.below(5) {
                0 => Expr::Unary(UnaryOp::Not, a.into()),
                1 => Expr::binary(Or, a, b),
                _ => Expr::binary(And, a, b),
            };
        }
        let place = from(&Expr::name("i"), &self.inames[0].1.clone());
        let scaled = match self.rng.below(4) {
            0 => Expr::binary(Mul, place, Expr::Int(self.rng.pick(&[2, 3, 7, 100_000_000]))),
            1 => Expr::binary(self.rng.pick(&[Mod, FloorDiv]), place, Expr::Int(self.rng.pick(&[2, 3, 5]))),
            _ => place,
        };
        let other = match self.rng.below(4) {
            0 => Expr::Int(self.rng.below(40) as i64),
            1 => Expr::name(self.rng.pick(&["n", "m", "s_i8", "s_u8", "s_i16", "s_i32", "s_i64", "s_u32"])),
            _ => {
                let s = Expr::name(self.rng.pick(&["n", "s_i8", "s_u8", "s_i16", "s_i32"]));
                Expr::binary(self.rng.pick(&[Add, Sub]), s, Expr::Int(self.rng.below(20) as i64))
            }
        };
        Expr::binary(self.rng.pick(&[Lt, Le, Gt, Ge, Eq, Ne]), scaled, other)
    }
}
