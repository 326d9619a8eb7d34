//! Integer formulas of a program's sizes, and bounds of their values.
//!
//! A formula stands for its value in the integers. Whoever prints one has to know that no
//! intermediate result leaves the type in which it is computed (`fits`).

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, DType, Kind, Name};
use loopwright_poly::Term;
use loopwright_program::{BinOp, UnOp, Value, ValueKind};

/// An operation of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    /// Rounded towards minus infinity.
    FloorDiv,
    /// The remainder that belongs to it.
    FloorMod,
    Min,
    Max,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Or,
}

/// An integer formula; truth values are 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Formula {
    Int(i128),
    Name(Name),
    Binary(Op, Box<Formula>, Box<Formula>),
    /// Condition, value if it holds, value otherwise.
    If(Box<Formula>, Box<Formula>, Box<Formula>),
}

impl Formula {
    pub fn name(name: &Name) -> Formula {
        Formula::Name(name.clone())
    }

    pub fn as_int(&self) -> Option<i128> {
        match self {
            Formula::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// `a op b`, with constants folded.
    pub fn binary(op: Op, a: Formula, b: Formula) -> Formula {
        if let (Formula::Int(x), Formula::Int(y)) = (&a, &b)
            && let Some(value) = apply(op, *x, *y)
        {
            return Formula::Int(value);
        }
        match (op, &a, &b) {
            (Op::Add | Op::Sub, _, Formula::Int(0)) | (Op::Mul | Op::FloorDiv, _, Formula::Int(1)) => a,
            (Op::Add, Formula::Int(0), _) | (Op::Mul, Formula::Int(1), _) => b,
            (Op::Mul, Formula::Int(0), _) | (Op::Mul, _, Formula::Int(0)) => Formula::Int(0),
            (Op::Min | Op::Max, ..) if a == b => a,
            // Constants of sums come together, after the rest.
            (Op::Add | Op::Sub, Formula::Binary(inner @ (Op::Add | Op::Sub), x, y), Formula::Int(c)) => {
                match &**y {
                    Formula::Int(d) => {
                        let signed = |op, value: i128| if op == Op::Add { value } else { -value };
                        (**x).clone().plus(signed(*inner, *d).saturating_add(signed(op, *c)))
                    }
                    _ => Formula::Binary(op, a.into(), b.into()),
                }
            }
            (Op::Add, Formula::Int(_), other) if other.as_int().is_none() => Formula::binary(Op::Add, b, a),
            (Op::Add, _, Formula::Int(c)) if *c < 0 => {
                Formula::Binary(Op::Sub, a.clone().into(), Formula::Int(-c).into())
            }
            (Op::Sub, _, Formula::Int(c)) if *c < 0 => {
                Formula::Binary(Op::Add, a.clone().into(), Formula::Int(-c).into())
            }
            _ => Formula::Binary(op, a.into(), b.into()),
        }
    }

    /// The formula and a constant added.
    pub fn plus(self, constant: i128) -> Formula {
        Formula::binary(Op::Add, self, Formula::Int(constant))
    }

    /// The formula of a value that the host needs; `None` if it is not one of scalar arguments
    /// alone, or uses operations on bits.
    pub fn of_host(value: &Value) -> Option<Formula> {
        Some(match &value.kind {
            ValueKind::Int(v) => Formula::Int((*v).into()),
            ValueKind::Bool(v) => Formula::Int((*v).into()),
            ValueKind::Param(name) => Formula::name(name),
            ValueKind::Cast(a) if value.dtype.is_integer() => Formula::of_host(a)?,
            ValueKind::Unary(UnOp::Neg, a) => Formula::binary(Op::Sub, Formula::Int(0), Formula::of_host(a)?),
            ValueKind::Binary(op, a, b) => {
                Formula::binary(op_of(*op)?, Formula::of_host(a)?, Formula::of_host(b)?)
            }
            ValueKind::Select(c, a, b) => Formula::If(
                Formula::of_host(c)?.into(),
                Formula::of_host(a)?.into(),
                Formula::of_host(b)?.into(),
            ),
            _ => return None,
        })
    }

    /// The formula of a quasi-affine function.
    pub fn of_aff(aff: &Aff) -> Formula {
        // Positive terms first, so that a difference does not begin with a sign.
        let (positive, negative): (Vec<_>, Vec<_>) = aff.terms().iter().partition(|(_, c)| *c > 0);
        let term = |term: &Term, factor: i128| {
            let value = match term {
                Term::Var(name) => Formula::name(name),
                Term::Div(div) => Formula::binary(
                    Op::FloorDiv,
                    Formula::of_aff(&div.numerator),
                    Formula::Int(div.denominator.into()),
                ),
            };
            Formula::binary(Op::Mul, Formula::Int(factor), value)
        };
        let mut sum = Formula::Int(0);
        for (t, c) in positive {
            sum = Formula::binary(Op::Add, sum, term(t, (*c).into()));
        }
        for (t, c) in negative {
            sum = Formula::binary(Op::Sub, sum, term(t, -i128::from(*c)));
        }
        sum.plus(aff.constant_term().into())
    }

    /// Whether a constraint holds, as the sides that it compares: negative terms stand on the
    /// right.
    pub fn of_constraint(constraint: &Constraint) -> Formula {
        if let Some(divides) = divisibility(constraint) {
            return divides;
        }
        let (mut left, mut right) = (Formula::Int(0), Formula::Int(0));
        for (term, coefficient) in constraint.aff.terms() {
            let one = match term {
                Term::Var(name) => Formula::name(name),
                Term::Div(div) => Formula::binary(
                    Op::FloorDiv,
                    Formula::of_aff(&div.numerator),
                    Formula::Int(div.denominator.into()),
                ),
            };
            let size = Formula::Int(i128::from(*coefficient).abs());
            let side = if *coefficient > 0 { &mut left } else { &mut right };
            *side = Formula::binary(Op::Add, side.clone(), Formula::binary(Op::Mul, size, one));
        }
        let constant = i128::from(constraint.aff.constant_term());
        if constant > 0 {
            left = left.plus(constant);
        } else {
            right = right.plus(-constant);
        }
        // What is said of names comes first: `n <= 8`.
        if let (Formula::Int(_), false) = (&left, matches!(right, Formula::Int(_))) {
            let op = if constraint.kind == Kind::Eq { Op::Eq } else { Op::Le };
            return Formula::Binary(op, right.into(), left.into());
        }
        let op = if constraint.kind == Kind::Eq { Op::Eq } else { Op::Ge };
        Formula::Binary(op, left.into(), right.into())
    }

    /// Calls `f` on the formula and everything inside.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Formula)) {
        f(self);
        match self {
            Formula::Int(_) | Formula::Name(_) => {}
            Formula::Binary(_, a, b) => [a, b].into_iter().for_each(|x| x.visit(f)),
            Formula::If(c, a, b) => [c, a, b].into_iter().for_each(|x| x.visit(f)),
        }
    }

    /// Its value; `None` where a name has none, or a divisor is not positive.
    #[cfg(test)]
    pub fn eval(&self, of: &dyn Fn(&Name) -> Option<i128>) -> Option<i128> {
        match self {
            Formula::Int(value) => Some(*value),
            Formula::Name(name) => of(name),
            Formula::Binary(op, a, b) => apply(*op, a.eval(of)?, b.eval(of)?),
            Formula::If(c, a, b) => if c.eval(of)? != 0 { a } else { b }.eval(of),
        }
    }
}

/// `n % 8 == 0`, which constraints say as `n - 8*floor(n/8) == 0`.
fn divisibility(constraint: &Constraint) -> Option<Formula> {
    let quotients = constraint.aff.terms().iter().filter_map(|(term, factor)| match term {
        Term::Div(div) => Some((div, *factor)),
        Term::Var(_) => None,
    });
    let [(div, factor)] = quotients.collect::<Vec<_>>()[..] else { return None };
    let product = div.numerator.floor_div(div.denominator).and_then(|q| q.scale(div.denominator)).ok()?;
    let remainder = div.numerator.sub(&product).ok()?;
    let is_remainder = constraint.aff == remainder || Some(&constraint.aff) == remainder.neg().ok().as_ref();
    (constraint.kind == Kind::Eq && factor.abs() == div.denominator && is_remainder).then(|| {
        let divisor = Formula::Int(div.denominator.into());
        let remainder = Formula::binary(Op::FloorMod, Formula::of_aff(&div.numerator), divisor);
        Formula::Binary(Op::Eq, remainder.into(), Formula::Int(0).into())
    })
}

/// The operation of a formula that an operation of a program is.
pub(super) fn op_of(op: BinOp) -> Option<Op> {
    Some(match op {
        BinOp::Add => Op::Add,
        BinOp::Sub => Op::Sub,
        BinOp::Mul => Op::Mul,
        // The truncating ones are used where they agree.
        BinOp::FloorDiv | BinOp::TruncDiv => Op::FloorDiv,
        BinOp::FloorMod | BinOp::TruncRem => Op::FloorMod,
        BinOp::Min => Op::Min,
        BinOp::Max => Op::Max,
        BinOp::Lt => Op::Lt,
        BinOp::Le => Op::Le,
        BinOp::Gt => Op::Gt,
        BinOp::Ge => Op::Ge,
        BinOp::Eq => Op::Eq,
        BinOp::Ne => Op::Ne,
        BinOp::And => Op::And,
        BinOp::Or => Op::Or,
        BinOp::Div | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr => return None,
    })
}

fn apply(op: Op, a: i128, b: i128) -> Option<i128> {
    let truth = |t: bool| Some(i128::from(t));
    match op {
        Op::Add => a.checked_add(b),
        Op::Sub => a.checked_sub(b),
        Op::Mul => a.checked_mul(b),
        // Of a positive divisor, the remainder is that of Euclid.
        Op::FloorDiv => (b > 0).then(|| a.div_euclid(b)),
        Op::FloorMod => (b > 0).then(|| a.rem_euclid(b)),
        Op::Min => Some(a.min(b)),
        Op::Max => Some(a.max(b)),
        Op::Lt => truth(a < b),
        Op::Le => truth(a <= b),
        Op::Gt => truth(a > b),
        Op::Ge => truth(a >= b),
        Op::Eq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::And => truth(a != 0 && b != 0),
        Op::Or => truth(a != 0 || b != 0),
    }
}

/// Constant bounds of the scalar arguments, from their types and from assumptions about one of them
/// alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds(BTreeMap<Name, (i128, i128)>);

/// What counts as infinite; products of two finite bounds fit in 128 bits.
const FAR: i128 = 1 << 62;

impl Bounds {
    pub fn new(scalars: impl Iterator<Item = (Name, DType)>, assumptions: &[Constraint]) -> Bounds {
        let mut bounds = BTreeMap::new();
        for (name, dtype) in scalars {
            if let Some(range) = range_of(dtype) {
                bounds.insert(name, range);
            }
        }
        for constraint in assumptions {
            let [(Term::Var(name), factor @ (1 | -1))] = constraint.aff.terms() else { continue };
            let Some((low, high)) = bounds.get_mut(name) else { continue };
            // `factor*name + constant >= 0`, or `== 0`.
            let at = -i128::from(*factor) * i128::from(constraint.aff.constant_term());
            if *factor > 0 || constraint.kind == Kind::Eq {
                *low = (*low).max(at);
            }
            if *factor < 0 || constraint.kind == Kind::Eq {
                *high = (*high).min(at);
            }
        }
        Bounds(bounds)
    }

    /// A name with these bounds, such as the variable of a host loop.
    pub fn set(&mut self, name: Name, bounds: (i128, i128)) {
        self.0.insert(name, bounds);
    }

    /// Lowers the greatest value of a name that has bounds.
    pub fn limit(&mut self, name: &Name, greatest: i128) {
        if let Some((_, high)) = self.0.get_mut(name) {
            *high = greatest.min(*high);
        }
    }

    /// Bounds of a formula's values, both inclusive; those beyond `FAR` are not known.
    pub fn of(&self, formula: &Formula) -> (i128, i128) {
        let corners = |a: (i128, i128), b: (i128, i128), f: &dyn Fn(i128, i128) -> i128| {
            let all = [f(a.0, b.0), f(a.0, b.1), f(a.1, b.0), f(a.1, b.1)];
            let least = all.iter().copied().fold(i128::MAX, i128::min);
            (least, all.iter().copied().fold(i128::MIN, i128::max))
        };
        let infinite = |v: i128| v.abs() >= FAR;
        let (low, high) = match formula {
            Formula::Int(v) => (*v, *v),
            Formula::Name(name) => self.0.get(name).copied().unwrap_or((-FAR, FAR)),
            Formula::If(_, a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                (a.0.min(b.0), a.1.max(b.1))
            }
            Formula::Binary(op, a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                match op {
                    Op::Add => (
                        if infinite(a.0) || infinite(b.0) { -FAR } else { a.0 + b.0 },
                        if infinite(a.1) || infinite(b.1) { FAR } else { a.1 + b.1 },
                    ),
                    Op::Sub => (
                        if infinite(a.0) || infinite(b.1) { -FAR } else { a.0 - b.1 },
                        if infinite(a.1) || infinite(b.0) { FAR } else { a.1 - b.0 },
                    ),
                    Op::Mul => corners(a, b, &i128::saturating_mul),
                    Op::FloorDiv if b.0 > 0 => {
                        let (low, high) = corners(a, b, &i128::div_euclid);
                        (if infinite(a.0) { -FAR } else { low }, if infinite(a.1) { FAR } else { high })
                    }
                    Op::FloorMod if b.0 > 0 => (0, if infinite(b.1) { FAR } else { b.1 - 1 }),
                    Op::Min => (a.0.min(b.0), a.1.min(b.1)),
                    Op::Max => (a.0.max(b.0), a.1.max(b.1)),
                    Op::FloorDiv | Op::FloorMod => (-FAR, FAR),
                    _ => (0, 1),
                }
            }
        };
        (low.clamp(-FAR, FAR), high.clamp(-FAR, FAR))
    }

    /// Whether all values of a formula are at least a constant.
    pub fn at_least(&self, formula: &Formula, constant: i128) -> bool {
        let low = self.of(formula).0;
        low > -FAR && low >= constant
    }

    /// Whether all values of a formula are at most a constant.
    pub fn at_most(&self, formula: &Formula, constant: i128) -> bool {
        let high = self.of(formula).1;
        high < FAR && high <= constant
    }

    /// The lesser or the greater of two formulas, without the one that it never is.
    pub fn extreme(&self, op: Op, a: Formula, b: Formula) -> Formula {
        let difference = self.of(&Formula::binary(Op::Sub, a.clone(), b.clone()));
        match op {
            Op::Min if difference.1 <= 0 => a,
            Op::Min if difference.0 >= 0 => b,
            Op::Max if difference.0 >= 0 => a,
            Op::Max if difference.1 <= 0 => b,
            _ => Formula::binary(op, a, b),
        }
    }
}

/// The least and the greatest value of an integer type, or of truth values.
pub(super) fn range_of(dtype: DType) -> Option<(i128, i128)> {
    if dtype == DType::Bool { Some((0, 1)) } else { dtype.range() }
}
