//! Complex expressions: their text, and the pairs of real expressions that the page gives for them.

use std::{fmt, sync::Arc};

use loopwright_kernel_ir::{Access, BinaryOp, DType, Expr, Float, Name, UnaryOp};

/// A complex expression; a part that is missing is no zero, it is not there.
#[derive(Clone, Debug)]
pub(super) enum Complex {
    /// An element of an array, at the loop's position or another one.
    Element(&'static str, Expr),
    /// A scalar argument or temporary.
    Scalar(Name),
    /// An imaginary literal, as `2.0j`.
    Imaginary(f64),
    /// Both parts given, as `complex(a, b)`.
    Parts(Expr, Expr),
    /// A real number where a complex one is wanted.
    Real(Expr),
    Neg(Box<Complex>),
    Conj(Box<Complex>),
    Binary(BinaryOp, Box<Complex>, Box<Complex>),
    Power(Box<Complex>, u32, bool),
    Exp(Box<Complex>),
    If(Arc<Expr>, Box<Complex>, Box<Complex>),
    Cast(DType, Box<Complex>),
}

/// A real value of a complex expression.
#[derive(Clone, Debug)]
pub(super) enum OfComplex {
    Re(Complex),
    Im(Complex),
    Abs(Complex),
    IsNan(Complex),
    Equal(bool, Complex, Complex),
}

/// The real and the imaginary part, each if it is there.
pub(super) type Pair = (Option<Expr>, Option<Expr>);

pub(super) fn bin(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

pub(super) fn neg(a: Expr) -> Expr {
    Expr::Unary(UnaryOp::Neg, a.into())
}

pub(super) fn call(function: &str, args: Vec<Expr>) -> Expr {
    Expr::Call { function: Name::new(function), precision: None, args }
}

/// A sum or difference of what is there.
fn sum(op: BinaryOp, a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(bin(op, a, b)),
        (a, None) => a,
        (None, Some(b)) => Some(if op == BinaryOp::Sub { neg(b) } else { b }),
    }
}

fn times(a: &Option<Expr>, b: &Option<Expr>) -> Option<Expr> {
    Some(bin(BinaryOp::Mul, a.clone()?, b.clone()?))
}

fn product((a, b): Pair, (c, d): Pair) -> Pair {
    (sum(BinaryOp::Sub, times(&a, &c), times(&b, &d)), sum(BinaryOp::Add, times(&a, &d), times(&b, &c)))
}

fn quotient((a, b): Pair, (c, d): Pair) -> Pair {
    let over = |e: Option<Expr>, by: &Expr| Some(bin(BinaryOp::Div, e?, by.clone()));
    let (c, d) = match (c, d) {
        (Some(c), Some(d)) => (Some(c), Some(d)),
        (None, Some(d)) => return (over(b, &d), over(a, &d).map(neg)),
        (c, None) => {
            let by = c.unwrap_or(Expr::Float(Float(0.0)));
            return (over(a, &by), over(b, &by));
        }
    };
    let by = sum(BinaryOp::Add, times(&c, &c), times(&d, &d)).expect("both parts");
    (
        over(sum(BinaryOp::Add, times(&a, &c), times(&b, &d)), &by),
        over(sum(BinaryOp::Sub, times(&b, &c), times(&a, &d)), &by),
    )
}

impl Complex {
    pub fn pair(&self) -> Pair {
        match self {
            Complex::Element(array, at) => {
                let part = |k: i64| {
                    let twice = bin(BinaryOp::Mul, at.clone(), Expr::Int(2));
                    let index = vec![bin(BinaryOp::Add, twice, Expr::Int(k))];
                    Expr::Subscript(Access { array: Name::new(*array), index })
                };
                (Some(part(0)), Some(part(1)))
            }
            Complex::Scalar(name) => {
                let part = |part: &str| Some(Expr::Name(Name::new(format!("{name}_{part}"))));
                (part("re"), part("im"))
            }
            Complex::Imaginary(v) => (None, Some(Expr::Float(Float(*v)))),
            Complex::Parts(a, b) => {
                let part = |e: &Expr| (*e != Expr::Int(0)).then(|| floating(e));
                (part(a), part(b))
            }
            Complex::Real(a) => (Some(a.clone()), None),
            Complex::Neg(z) => {
                let (a, b) = z.pair();
                (a.map(neg), b.map(neg))
            }
            Complex::Conj(z) => {
                let (a, b) = z.pair();
                (a, b.map(neg))
            }
            Complex::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), z, w) => {
                let ((a, b), (c, d)) = (z.pair(), w.pair());
                let (a, c) = match (a, c) {
                    (Some(a), None) => (Some(floating(&a)), None),
                    (None, Some(c)) => (None, Some(floating(&c))),
                    both => both,
                };
                (sum(*op, a, c), sum(*op, b, d))
            }
            Complex::Binary(BinaryOp::Mul, z, w) => product(z.pair(), w.pair()),
            Complex::Binary(_, z, w) => quotient(z.pair(), w.pair()),
            Complex::Power(z, n, inverse) => {
                fn raised(z: &Pair, n: u32) -> Pair {
                    if n == 1 {
                        return z.clone();
                    }
                    let half = raised(z, n / 2);
                    let square = product(half.clone(), half);
                    if n % 2 == 1 { product(square, z.clone()) } else { square }
                }
                let power = raised(&z.pair(), *n);
                if *inverse { quotient((Some(Expr::Int(1)), None), power) } else { power }
            }
            Complex::Exp(z) => match z.pair() {
                (a, None) => (a.map(|a| call("exp", vec![a])), None),
                (None, Some(b)) => (Some(call("cos", vec![b.clone()])), Some(call("sin", vec![b]))),
                (Some(a), Some(b)) => {
                    let e = call("exp", vec![a]);
                    let part = |f: &str| Some(bin(BinaryOp::Mul, e.clone(), call(f, vec![b.clone()])));
                    (part("cos"), part("sin"))
                }
            },
            Complex::If(c, z, w) => {
                let zero = |e: Option<Expr>| e.unwrap_or(Expr::Float(Float(0.0)));
                let ((a, b), (d, e)) = (z.pair(), w.pair());
                let part = |x: Option<Expr>, y: Option<Expr>| match (x, y) {
                    (None, None) => None,
                    (x, y) => Some(Expr::If(c.clone(), zero(x).into(), zero(y).into())),
                };
                (part(a, d), part(b, e))
            }
            Complex::Cast(t, z) => {
                let (a, b) = z.pair();
                let cast = |e: Expr| Expr::Cast((*t).into(), e.into());
                (a.map(cast), b.map(cast))
            }
        }
    }
}

/// An integer as a floating-point number of any type.
fn floating(e: &Expr) -> Expr {
    let mut float = false;
    e.visit(&mut |e| {
        float |= match e {
            Expr::Float(_) => true,
            Expr::Name(name) => name.as_str() != "i",
            Expr::Subscript(access) => access.array.as_str() != "ks",
            _ => false,
        }
    });
    if float { e.clone() } else { bin(BinaryOp::Add, Expr::Float(Float(0.0)), e.clone()) }
}

pub(super) fn word(t: DType) -> &'static str {
    if t == DType::F64 { "complex128" } else { "complex64" }
}

impl fmt::Display for Complex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Complex::Element(array, at) => write!(f, "{array}[{at}]"),
            Complex::Scalar(name) => write!(f, "{name}"),
            Complex::Imaginary(v) => write!(f, "{v:?}j"),
            Complex::Parts(a, b) => write!(f, "complex({a}, {b})"),
            Complex::Real(a) => write!(f, "({a})"),
            Complex::Neg(z) => write!(f, "(-{z})"),
            Complex::Conj(z) => write!(f, "conj({z})"),
            Complex::Binary(op, z, w) => {
                let sign = match op {
                    BinaryOp::Add => "+",
                    BinaryOp::Sub => "-",
                    BinaryOp::Mul => "*",
                    _ => "/",
                };
                write!(f, "({z} {sign} {w})")
            }
            Complex::Power(z, n, inverse) => write!(f, "(({z})**{}{n})", if *inverse { "-" } else { "" }),
            Complex::Exp(z) => write!(f, "exp({z})"),
            Complex::If(c, z, w) => write!(f, "if({c}, {z}, {w})"),
            Complex::Cast(t, z) => write!(f, "cast({}, {z})", word(*t)),
        }
    }
}

impl OfComplex {
    pub fn value(&self) -> Expr {
        let zero = || Expr::Float(Float(0.0));
        match self {
            OfComplex::Re(z) => z.pair().0.unwrap_or_else(zero),
            OfComplex::Im(z) => z.pair().1.unwrap_or_else(zero),
            OfComplex::Abs(z) => match z.pair() {
                (Some(a), Some(b)) => call("hypot", vec![a, b]),
                (a, b) => call("abs", vec![a.or(b).unwrap_or(Expr::Float(Float(0.0)))]),
            },
            OfComplex::IsNan(z) => {
                let (a, b) = z.pair();
                let parts = a.into_iter().chain(b).map(|e| call("isnan", vec![e]));
                parts.reduce(|a, b| bin(BinaryOp::Or, a, b)).unwrap_or(Expr::Bool(false))
            }
            OfComplex::Equal(equal, z, w) => {
                let ((a, b), (c, d)) = (z.pair(), w.pair());
                let (each, both) = match equal {
                    true => (BinaryOp::Eq, BinaryOp::And),
                    false => (BinaryOp::Ne, BinaryOp::Or),
                };
                let part = |x: Option<Expr>, y: Option<Expr>| {
                    bin(each, x.unwrap_or_else(zero), y.unwrap_or_else(zero))
                };
                bin(both, part(a, c), part(b, d))
            }
        }
    }
}

impl fmt::Display for OfComplex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OfComplex::Re(z) => write!(f, "re({z})"),
            OfComplex::Im(z) => write!(f, "im({z})"),
            OfComplex::Abs(z) => write!(f, "abs({z})"),
            OfComplex::IsNan(z) => write!(f, "isnan({z})"),
            OfComplex::Equal(equal, z, w) => write!(f, "{z} {} {w}", if *equal { "==" } else { "!=" }),
        }
    }
}
