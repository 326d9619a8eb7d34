//! Expressions as text, with only the parentheses that reading back needs.

use std::fmt::{self, Write};

use crate::{
    Access, Expr, Precision, ReductionOp, UnaryOp,
    text::expression::{binary_binding, binary_text, binding},
};

/// Prints expressions; knows the inames, since `max(i, e)` reads as a reduction where `i` is one.
pub(crate) struct ExprPrinter<'a> {
    pub is_iname: &'a dyn Fn(&str) -> bool,
}

/// A floating-point literal that reads back to the same bits.
fn float(value: f64) -> String {
    if value.is_nan() {
        "nan".into()
    } else if value.is_infinite() {
        if value > 0.0 { "inf".into() } else { "-inf".into() }
    } else {
        format!("{value:?}")
    }
}

impl ExprPrinter<'_> {
    fn strength(e: &Expr) -> u8 {
        match e {
            Expr::Unary(UnaryOp::Not, _) => binding::NOT,
            Expr::Unary(..) => binding::SIGN,
            Expr::Binary(op, ..) => binary_binding(*op),
            _ => binding::ATOM,
        }
    }

    pub fn expr(&self, f: &mut dyn Write, e: &Expr) -> fmt::Result {
        self.above(f, e, binding::OR)
    }

    /// In parentheses if it binds less strongly than `least`.
    pub fn above(&self, f: &mut dyn Write, e: &Expr, least: u8) -> fmt::Result {
        if Self::strength(e) < least {
            f.write_char('(')?;
            self.bare(f, e)?;
            return f.write_char(')');
        }
        self.bare(f, e)
    }

    fn bare(&self, f: &mut dyn Write, e: &Expr) -> fmt::Result {
        match e {
            Expr::Int(value) => write!(f, "{value}"),
            Expr::Float(value) => f.write_str(&float(value.0)),
            Expr::Bool(value) => write!(f, "{value}"),
            Expr::Name(name) => write!(f, "{name}"),
            Expr::Unary(op, a) => {
                f.write_str(match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Not => "not ",
                    UnaryOp::BitNot => "~",
                })?;
                match (op, &**a) {
                    // `-5` is a literal.
                    (UnaryOp::Neg, Expr::Int(_) | Expr::Float(_)) => {
                        f.write_char('(')?;
                        self.bare(f, a)?;
                        f.write_char(')')
                    }
                    (UnaryOp::Not, a) => self.above(f, a, binding::NOT),
                    (_, a) => self.above(f, a, binding::SIGN),
                }
            }
            Expr::Binary(op, a, b) => {
                let strength = binary_binding(*op);
                // Comparisons do not associate: a chain would read as a conjunction.
                let left = if strength == binding::COMPARE { strength + 1 } else { strength };
                self.above(f, a, left)?;
                write!(f, " {} ", binary_text(*op))?;
                self.above(f, b, strength + 1)
            }
            Expr::If(c, a, b) => self.call(f, "if", &[&**c, &**a, &**b]),
            Expr::Cast(dtype, a) => {
                write!(f, "cast({dtype}, ")?;
                self.expr(f, a)?;
                f.write_char(')')
            }
            Expr::Call { function, precision, args } => {
                f.write_str(match precision {
                    Some(Precision::Fast) => "fast.",
                    Some(Precision::Precise) => "precise.",
                    None => "",
                })?;
                match args.split_first() {
                    // A name in parentheses is not read as an iname to reduce over.
                    Some((Expr::Name(n), rest))
                        if precision.is_none() && ReductionOp::is_library(function) && (self.is_iname)(n) =>
                    {
                        write!(f, "{function}(({n})")?;
                        for a in rest {
                            f.write_str(", ")?;
                            self.expr(f, a)?;
                        }
                        f.write_char(')')
                    }
                    _ => self.call(f, function, &args.iter().collect::<Vec<_>>()),
                }
            }
            Expr::Subscript(access) => {
                write!(f, "{}[", access.array)?;
                self.list(f, &access.index)?;
                f.write_char(']')
            }
            Expr::Reduce(r) => {
                match r.inames.as_slice() {
                    [one] => write!(f, "{}({one}", r.op)?,
                    inames => {
                        let names: Vec<&str> = inames.iter().map(|n| n.as_str()).collect();
                        write!(f, "{}([{}]", r.op, names.join(", "))?;
                    }
                }
                for a in &r.args {
                    f.write_str(", ")?;
                    self.expr(f, a)?;
                }
                f.write_char(')')
            }
        }
    }

    fn call(&self, f: &mut dyn Write, function: &str, args: &[&Expr]) -> fmt::Result {
        write!(f, "{function}(")?;
        for (k, a) in args.iter().enumerate() {
            if k > 0 {
                f.write_str(", ")?;
            }
            self.expr(f, a)?;
        }
        f.write_char(')')
    }

    pub fn list(&self, f: &mut dyn Write, list: &[Expr]) -> fmt::Result {
        for (k, e) in list.iter().enumerate() {
            if k > 0 {
                f.write_str(", ")?;
            }
            self.expr(f, e)?;
        }
        Ok(())
    }

    /// A target of an instruction.
    pub fn target(&self, f: &mut dyn Write, access: &Access) -> fmt::Result {
        f.write_str(&access.array)?;
        if access.index.is_empty() {
            return Ok(());
        }
        f.write_char('[')?;
        self.list(f, &access.index)?;
        f.write_char(']')
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ExprPrinter { is_iname: &|_| false }.expr(f, self)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ExprPrinter { is_iname: &|_| false }.target(f, self)
    }
}
