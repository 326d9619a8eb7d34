//! Where an operator changes its behaviour at values that drawn states may miss.
//!
//! A law that holds for sums, products and smooth functions of a few drawn states holds for all but
//! exotic ones. Not so of an expression in steps: a comparison, a minimum, a quotient of integers,
//! a conversion to fewer bits. `if(a.s // 7 == 1234, b.s, a.s + b.s)` is a sum to all states but
//! seven. Steps are harmless where drawn states stand on all sides of them: those between values of
//! the state, whose orders and ties are all drawn, and at 0 and at the neutral element, which are
//! among the states.

use std::collections::BTreeSet;

use super::State;
use super::value::Scope;
use crate::{BinaryOp, DType, Expr, Name, Number, ReductionOp, TypeTable};

/// The names of a combination, with their types and their neutral values.
pub(super) struct Steps<'a> {
    table: &'a TypeTable<'a>,
    scope: &'a Scope<'a>,
    neutral: Vec<(Name, Number)>,
}

/// Functions without steps where they are defined.
const SMOOTH: &[&str] = &[
    "sqrt",
    "rsqrt",
    "cbrt",
    "rcbrt",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinpi",
    "cospi",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "erfcinv",
    "normcdf",
    "normcdfinv",
    "lgamma",
    "tgamma",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "bessel_i0",
    "bessel_i1",
    "pow",
    "hypot",
    "rhypot",
    "norm3d",
    "rnorm3d",
    "norm4d",
    "rnorm4d",
    "fma",
    "lowest",
    "highest",
];

impl<'a> Steps<'a> {
    /// Of an operator: `table` has the types of its names as they are declared, `scope` as the
    /// tests hold them.
    pub fn new(
        op: &ReductionOp,
        neutral: &State,
        table: &'a TypeTable<'a>,
        scope: &'a Scope<'a>,
    ) -> Steps<'a> {
        let of = |side: &'static str| op.state.iter().zip(neutral).map(move |(s, v)| (side, &s.name, *v));
        let all = ["", "a.", "b."].into_iter().flat_map(of);
        let neutral = all.map(|(side, name, value)| (Name::new(format!("{side}{name}")), value)).collect();
        Steps { table, scope, neutral }
    }

    /// The first part of an expression, wanted in a type, whose steps drawn states may miss.
    pub fn missed(&self, e: &Expr, wanted: DType) -> Option<Expr> {
        if wanted.is_integer() && self.dtype(e).is_some_and(DType::is_float) {
            return Some(e.clone());
        }
        self.part(e)
    }

    fn part(&self, e: &Expr) -> Option<Expr> {
        if names(e).is_empty() {
            return None;
        }
        let seen = match e {
            Expr::Binary(op, a, b) => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => true,
                BinaryOp::And | BinaryOp::Or => true,
                BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::Shl | BinaryOp::Shr => false,
                _ => self.meet(a, b, false),
            },
            Expr::Cast(t, a) => match (self.dtype(a), t.known()) {
                (Some(from), Some(to)) => holds(from, to),
                _ => false,
            },
            Expr::Call { function, args, .. } => match (&**function, args.as_slice()) {
                ("min" | "max" | "fdim", [a, b]) => self.meet(a, b, true),
                ("abs", [a]) => self.is_plain(a, true),
                ("isnan", [a]) | ("copysign", [_, a]) => self.is_plain(a, false),
                (name, _) => SMOOTH.contains(&name),
            },
            _ => true,
        };
        if !seen {
            return Some(e.clone());
        }
        e.children().into_iter().find_map(|child| self.part(child))
    }

    /// Whether drawn states stand on all sides of where these two are equal, and there too, unless
    /// the step is continuous: then what holds on both sides holds between them.
    fn meet(&self, a: &Expr, b: &Expr, continuous: bool) -> bool {
        let (of_a, of_b) = (names(a), names(b));
        (of_a.is_empty() || self.is_plain(a, continuous))
            && (of_b.is_empty() || self.is_plain(b, continuous))
            && (!of_a.is_empty() || self.is_drawn(a, b, &of_b))
            && (!of_b.is_empty() || self.is_drawn(b, a, &of_a))
    }

    /// Whether a constant is 0 or the neutral value of all these names, whose value is `of`.
    fn is_drawn(&self, constant: &Expr, of: &Expr, names: &BTreeSet<Name>) -> bool {
        let known = self.dtype(of).or_else(|| self.dtype(constant));
        let Some(value) = known.and_then(|t| self.scope.code(constant, t)?.value(&[])) else { return false };
        let same = |other: Number| match (value.as_i128(), other.as_i128()) {
            (Some(a), Some(b)) => a == b,
            _ => value.as_f64() == other.as_f64(),
        };
        let neutral = |name: &Name| self.neutral.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
        same(Number::I64(0)) || names.iter().all(|name| neutral(name).is_some_and(same))
    }

    /// Whether an expression has no constants but those in steps, and no name twice, so that its
    /// value is as likely on one side of another as on the other. Products are seldom equal.
    fn is_plain(&self, e: &Expr, products: bool) -> bool {
        let is_plain = |e: &Expr| self.is_plain(e, products);
        if self.dtype(e) == Some(DType::Bool) {
            return true;
        }
        match e {
            Expr::Name(_) => true,
            Expr::Unary(_, a) | Expr::Cast(_, a) => is_plain(a),
            Expr::Binary(BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::Shl | BinaryOp::Shr, ..) => false,
            Expr::Binary(BinaryOp::Mul | BinaryOp::Div, ..) if !products => false,
            Expr::Binary(_, a, b) => is_plain(a) && is_plain(b) && names(a).is_disjoint(&names(b)),
            Expr::If(_, a, b) => is_plain(a) && is_plain(b),
            Expr::Call { function, args, .. } => {
                let is_constant = |a: &Expr| names(a).is_empty();
                matches!(&**function, "min" | "max" | "abs")
                    && args.iter().all(|a| is_constant(a) || is_plain(a))
            }
            _ => false,
        }
    }

    fn dtype(&self, e: &Expr) -> Option<DType> {
        self.table.type_of(e).ok()?.alone().known()
    }
}

fn names(e: &Expr) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    e.visit(&mut |e| {
        if let Expr::Name(name) = e {
            found.insert(name.clone());
        }
    });
    found
}

/// Whether a type holds the values of another, up to the rounding of floating-point types that are
/// no narrower.
fn holds(from: DType, to: DType) -> bool {
    match (from, to) {
        (DType::Bool, _) => true,
        (_, DType::Bool) => false,
        (from, to) if to.is_float() => !from.is_float() || from.bytes() <= to.bytes(),
        (from, _) if from.is_float() => false,
        (from, to) => from == to || from.bytes() < to.bytes() && (from.is_unsigned() || !to.is_unsigned()),
    }
}
