//! Integer expressions of parameters, as numbers: lengths, bounds of facts, requirements of a
//! space.

use crate::{BinaryOp, DType, Expr, Name, UnaryOp};

impl Expr {
    /// Its value as an integer of unlimited size, where `lookup` gives those of names; divisions
    /// round down, and truth values are 0 and 1.
    ///
    /// `None` if it has none: an unknown name, a division by zero, an overflow of 64 bits, a
    /// conversion to a type that cannot represent the value, a floating-point number, an array.
    pub fn to_integer(&self, lookup: &dyn Fn(&Name) -> Option<i64>) -> Option<i64> {
        let of = |e: &Expr| e.to_integer(lookup);
        match self {
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
            Expr::Binary(op, a, b) => op.on_integers(of(a)?, of(b)?),
            Expr::Call { function, args, .. } => match (function.as_str(), args.as_slice()) {
                ("abs", [a]) => of(a)?.checked_abs(),
                ("min", [a, b]) => Some(of(a)?.min(of(b)?)),
                ("max", [a, b]) => Some(of(a)?.max(of(b)?)),
                _ => None,
            },
            Expr::Cast(to, a) => {
                let (value, (least, most)) = (of(a)?, to.known().and_then(DType::range)?);
                (least..=most).contains(&value.into()).then_some(value)
            }
            Expr::Float(_) | Expr::Subscript(_) | Expr::Reduce(_) => None,
        }
    }
}

impl BinaryOp {
    /// What it makes of two integers: exact, rounded down, truth values being 0 and 1. `None` if
    /// that has no value, or not one of 64 bits.
    pub fn on_integers(self, a: i64, b: i64) -> Option<i64> {
        let truth = |t: bool| Some(i64::from(t));
        match self {
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
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => {
                self.compared(a, b).map(i64::from)
            }
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
}

#[cfg(test)]
mod tests {
    fn value(text: &str) -> Option<i64> {
        let e = crate::parse_expression(text).expect("an expression");
        e.to_integer(&|name| (*name == "a").then_some(-7))
    }

    /// Each operation, at operands on both sides of its critical points.
    #[test]
    fn expressions_of_scalars_have_the_values_of_integers() {
        let value = |text: &str| {
            let e = crate::parse_expression(text).unwrap_or_else(|d| panic!("{text}: {d}"));
            e.to_integer(&|n| match n.as_str() {
                "n" => Some(7),
                "far" => Some(i64::MAX),
                _ => None,
            })
        };
        let expected = [
            ("n + 3", 10),
            ("n - 9", -2),
            ("n * 6", 42),
            ("-n", -7),
            ("-n // 2", -4),
            ("n // -2", -4),
            ("-n // 7", -1),
            ("-2*n // 7", -2),
            ("n // -7", -1),
            ("-n // -2", 3),
            ("-n % 4", 1),
            ("n % -4", -1),
            ("n % 7", 0),
            ("min(n + 0, 8)", 7),
            ("max(n + 0, 8)", 8),
            ("abs(n - 9)", 2),
            ("cast(i64, n) + 1", 8),
        ];
        for (text, wanted) in expected {
            assert_eq!(value(text), Some(wanted), "{text}");
        }
        // Below, at and above 7.
        for (op, holds) in [
            ("<", [false, false, true]),
            ("<=", [false, true, true]),
            (">", [true, false, false]),
            (">=", [true, true, false]),
            ("==", [false, true, false]),
            ("!=", [true, false, true]),
        ] {
            for (other, holds) in [6, 7, 8].into_iter().zip(holds) {
                let text = format!("if(n {op} {other}, 1, 2)");
                assert_eq!(value(&text), Some(if holds { 1 } else { 2 }), "{text}");
            }
        }
        for text in ["far + 1", "-far - 2", "far * 2", "n // 0", "n % 0", "unknown", "1.5"] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn floors_and_truth() {
        assert_eq!(value("a // 2"), Some(-4));
        assert_eq!(value("a % 4"), Some(1));
        assert_eq!(value("a < 0 and 3 * 2 == 6"), Some(1));
        assert_eq!(value("if(a > 0, 1, abs(a))"), Some(7));
        assert_eq!(value("a != -7 and 1 // 0 == 1"), Some(0));
        assert_eq!(value("min(a + 0, 3) + max(a + 0, 3)"), Some(-4));
        assert_eq!(value("cast(i32, a) + 2"), Some(-5));
    }

    #[test]
    fn what_has_no_value() {
        for text in
            ["a // 0", "b + 1", "a + 0.5", "9223372036854775807 + 1", "x[a]", "cast(u8, a)", "cast(f32, 1)"]
        {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
