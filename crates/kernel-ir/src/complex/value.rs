//! The arithmetic of pairs. What it means is on the page on values.

use std::sync::Arc;

use crate::{BinaryOp, Expr, Float, UnaryOp};

/// A number: its real and its imaginary part. A part that is missing is exactly zero and takes no
/// part in arithmetic, so that `2.0j*z` has two products and not four.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub re: Option<Expr>,
    pub im: Option<Expr>,
    /// Whether it is complex; a real number has no imaginary part.
    pub complex: bool,
}

/// `-e`. Signs are moved and cancelled, which changes no value: rounding is the same for both.
pub(crate) fn neg(e: Expr) -> Expr {
    match (&e, negated(&e)) {
        (Expr::Float(Float(v)), _) => Expr::Float(Float(-v)),
        (_, Some(e)) => e.clone(),
        (_, None) => Expr::Unary(UnaryOp::Neg, Arc::new(e)),
    }
}

/// The operand of a sign. The literal `-0` has none: it is a zero without a sign.
fn negated(e: &Expr) -> Option<&Expr> {
    match e {
        Expr::Unary(UnaryOp::Neg, e) if **e != Expr::Int(0) => Some(e),
        _ => None,
    }
}

fn is_one(e: &Expr) -> bool {
    matches!(e, Expr::Float(Float(v)) if *v == 1.0) || *e == Expr::Int(1)
}

/// `a*b`, where a factor of one is left out.
fn times(a: &Expr, b: &Expr) -> Expr {
    if is_one(a) {
        return b.clone();
    }
    if is_one(b) {
        return a.clone();
    }
    match (negated(a), negated(b)) {
        (Some(a), Some(b)) => times(a, b),
        (Some(a), None) => neg(times(a, b)),
        (None, Some(b)) => neg(times(a, b)),
        (None, None) => Expr::binary(BinaryOp::Mul, a.clone(), b.clone()),
    }
}

fn product(a: &Option<Expr>, b: &Option<Expr>) -> Option<Expr> {
    Some(times(a.as_ref()?, b.as_ref()?))
}

pub(crate) fn plus(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(match (negated(&a), negated(&b)) {
            (_, Some(b)) => Expr::binary(BinaryOp::Sub, a, b.clone()),
            (Some(a), None) => Expr::binary(BinaryOp::Sub, b, a.clone()),
            (None, None) => Expr::binary(BinaryOp::Add, a, b),
        }),
        (a, b) => a.or(b),
    }
}

pub(crate) fn minus(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(match negated(&b) {
            Some(b) => Expr::binary(BinaryOp::Add, a, b.clone()),
            None => Expr::binary(BinaryOp::Sub, a, b),
        }),
        (None, Some(b)) => Some(neg(b)),
        (a, None) => a,
    }
}

fn over(a: Option<Expr>, b: &Expr) -> Option<Expr> {
    Some(Expr::binary(BinaryOp::Div, a?, b.clone()))
}

impl Value {
    pub fn real(e: Expr) -> Value {
        Value { re: Some(e), im: None, complex: false }
    }

    pub fn pair(re: Expr, im: Expr) -> Value {
        Value::of(Some(re), Some(im))
    }

    pub fn of(re: Option<Expr>, im: Option<Expr>) -> Value {
        Value { re, im, complex: true }
    }

    /// Its parts, zero where they are missing.
    pub fn parts(self) -> [Expr; 2] {
        let zero = || Expr::Float(Float(0.0));
        [self.re.unwrap_or_else(zero), self.im.unwrap_or_else(zero)]
    }

    /// Whether a part is a literal one.
    pub fn has_one(&self) -> bool {
        self.re.iter().chain(&self.im).any(is_one)
    }

    /// Whether both parts are there.
    pub fn is_whole(&self) -> bool {
        self.re.is_some() && self.im.is_some()
    }

    pub fn neg(self) -> Value {
        Value { re: self.re.map(neg), im: self.im.map(neg), complex: self.complex }
    }

    pub fn conj(self) -> Value {
        Value { im: self.im.map(neg), ..self }
    }

    pub fn add(self, other: Value) -> Value {
        Value::of(plus(self.re, other.re), plus(self.im, other.im))
    }

    pub fn sub(self, other: Value) -> Value {
        Value::of(minus(self.re, other.re), minus(self.im, other.im))
    }

    pub fn mul(&self, other: &Value) -> Value {
        Value::of(
            minus(product(&self.re, &other.re), product(&self.im, &other.im)),
            plus(product(&self.re, &other.im), product(&self.im, &other.re)),
        )
    }

    /// What is divided by to divide by this number, if that is a real number: the square of its
    /// magnitude, or nothing where it has one part only.
    pub fn square(&self) -> Option<Expr> {
        plus(product(&self.re, &self.re), product(&self.im, &self.im)).filter(|_| self.is_whole())
    }

    /// The quotient; `square` stands for [`Value::square`] of the divisor.
    pub fn div(self, other: &Value, square: Option<&Expr>) -> Value {
        match (&other.re, &other.im, square) {
            (Some(_), Some(_), Some(square)) => {
                let re = plus(product(&self.re, &other.re), product(&self.im, &other.im));
                let im = minus(product(&self.im, &other.re), product(&self.re, &other.im));
                Value::of(over(re, square), over(im, square))
            }
            (None, Some(im), _) => Value::of(over(self.im, im), over(self.re, im).map(neg)),
            (Some(re), ..) => Value::of(over(self.re, re), over(self.im, re)),
            // Zero has no parts.
            (None, None, _) => {
                let zero = Expr::Float(Float(0.0));
                Value::of(over(self.re, &zero), over(self.im, &zero))
            }
        }
    }
}
