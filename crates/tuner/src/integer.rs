//! Arithmetic over integers, for requirements: checked, with floor semantics; truth values are 0
//! and 1.

use loopwright_kernel_ir::{BinaryOp, Expr, UnaryOp};

/// The value of an expression; none if it has no integer value (an unknown name, a division by
/// zero, an overflow, a floating-point number, an array).
pub(crate) fn evaluate(e: &Expr, lookup: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    let of = |e: &Expr| evaluate(e, lookup);
    match e {
        Expr::Int(v) => Some(*v),
        Expr::Bool(v) => Some(i64::from(*v)),
        Expr::Name(name) => lookup(name),
        Expr::Unary(UnaryOp::Neg, a) => of(a)?.checked_neg(),
        Expr::Unary(UnaryOp::Not, a) => Some(i64::from(of(a)? == 0)),
        Expr::Unary(UnaryOp::BitNot, a) => Some(!of(a)?),
        Expr::If(c, a, b) => {
            if of(c)? != 0 {
                of(a)
            } else {
                of(b)
            }
        }
        Expr::Binary(BinaryOp::And, a, _) if of(a)? == 0 => Some(0),
        Expr::Binary(BinaryOp::Or, a, _) if of(a)? != 0 => Some(1),
        Expr::Binary(op, a, b) => binary(*op, of(a)?, of(b)?),
        Expr::Call { function, args, .. } => match (function.as_str(), args.as_slice()) {
            ("abs", [a]) => of(a)?.checked_abs(),
            _ => None,
        },
        Expr::Float(_) | Expr::Cast(..) | Expr::Subscript(_) | Expr::Reduce(_) => None,
    }
}

fn binary(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    let truth = |t: bool| Some(i64::from(t));
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::FloorDiv => {
            let quotient = a.checked_div(b)?;
            Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        BinaryOp::Mod => {
            let rest = a.checked_rem(b)?;
            Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
        BinaryOp::Lt => truth(a < b),
        BinaryOp::Le => truth(a <= b),
        BinaryOp::Gt => truth(a > b),
        BinaryOp::Ge => truth(a >= b),
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        BinaryOp::And => truth(a != 0 && b != 0),
        BinaryOp::Or => truth(a != 0 || b != 0),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
        BinaryOp::Shl => a.checked_mul(1i64.checked_shl(u32::try_from(b).ok()?).filter(|p| *p > 0)?),
        BinaryOp::Shr => Some(a >> u32::try_from(b).ok().filter(|b| *b < 64)?),
        BinaryOp::Div => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<i64> {
        let e = loopwright_kernel_ir::parse_expression(text).expect("an expression");
        evaluate(&e, &|name| (name == "a").then_some(-7))
    }

    #[test]
    fn floors_and_truth() {
        assert_eq!(value("a // 2"), Some(-4));
        assert_eq!(value("a % 4"), Some(1));
        assert_eq!(value("a < 0 and 3 * 2 == 6"), Some(1));
        assert_eq!(value("if(a > 0, 1, abs(a))"), Some(7));
        assert_eq!(value("a != -7 and 1 // 0 == 1"), Some(0));
    }

    #[test]
    fn what_has_no_value() {
        for text in ["a // 0", "b + 1", "a + 0.5", "9223372036854775807 + 1", "x[a]"] {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
