//! Powers: `x**n` with a constant integer exponent is a product, with any other one a call of
//! `pow`.

use crate::{
    BinaryOp, Expr, Name,
    text::parser::{Parse, Parser},
};

/// The greatest exponent of a power that is a product.
const MOST_FACTORS: u64 = 64;

/// The number that a power of a literal is, which may be an exponent itself. A literal that fits 32
/// bits takes the type of what it meets; beyond that it would be one of 64 bits, and its products
/// wrap.
fn number(base: i64, exponent: u64) -> Option<i64> {
    let power = u32::try_from(exponent).ok().and_then(|e| base.checked_pow(e))?;
    i32::try_from(power).ok().map(i64::from)
}

/// The product that a power is: the square of the power with half the exponent, and the base once
/// more if the exponent is odd.
fn raised(base: &Expr, exponent: u64) -> Expr {
    match exponent {
        0 => Expr::Int(1),
        1 => base.clone(),
        _ => {
            let half = raised(base, exponent / 2);
            let square = Expr::binary(BinaryOp::Mul, half.clone(), half);
            match exponent % 2 {
                0 => square,
                _ => Expr::binary(BinaryOp::Mul, square, base.clone()),
            }
        }
    }
}

impl Parser {
    /// An atom, or a power of one: `**` binds tighter than a sign on its left, and from the right.
    pub(super) fn power(&mut self) -> Parse<Expr> {
        let start = self.span().start;
        let base = self.atom()?;
        if !self.eat("**") {
            return Ok(base);
        }
        let exponent = self.prefix_inside()?;
        let span = start..self.last_end();
        let refuse = |message: String, help: &str| {
            Err(self.diagnostic(span.clone(), "power", message).help(help).into())
        };
        let Expr::Int(n) = exponent else {
            let args = vec![base, exponent];
            return Ok(Expr::Call { function: Name::new("pow"), precision: None, args });
        };
        if n.unsigned_abs() > MOST_FACTORS {
            let message = format!("the exponent {n} is beyond {MOST_FACTORS}, the most factors of a product");
            return refuse(message, "write `pow(x, e)`, which computes in floating-point numbers");
        }
        let factors = n.unsigned_abs();
        let mut size = 0;
        let mut reduces = false;
        base.visit(&mut |e| {
            size += 1;
            reduces |= matches!(e, Expr::Reduce(_));
        });
        if factors > 1 && reduces {
            let message = "a power is a product, which would compute this reduction more than once".into();
            return refuse(message, "compute it before: `<> t = sum(k, x[k])`, then `t**2`");
        }
        if size * factors > 4 * MOST_FACTORS {
            let message = format!("a product of {factors} factors of this size would be too long");
            return refuse(message, "compute the base before: `<> t = ...`, then `t**2`");
        }
        let power = match base {
            Expr::Int(b) => match number(b, factors) {
                Some(power) => Expr::Int(power),
                None => {
                    let message = "a power of two literals has to fit 32 bits".into();
                    return refuse(message, "write the number itself, as `1e20` for a floating-point one");
                }
            },
            _ => raised(&base, factors),
        };
        Ok(match (n, power) {
            (0.., power) => power,
            (_, power) => Expr::binary(BinaryOp::Div, Expr::Int(1), power),
        })
    }
}
