//! The narrowest type of indices with which a kernel can be lowered at all.

use loopwright_poly::Term;

use crate::{Access, Aff, DType, Expr, KernelData, Number, UnaryOp, arithmetic::binary};

fn is_far(number: i64) -> bool {
    i32::try_from(number).is_err()
}

fn has_far_number(aff: &Aff) -> bool {
    let in_term = |term: &Term| match term {
        Term::Var(_) => false,
        Term::Div(div) => is_far(div.denominator) || has_far_number(&div.numerator),
    };
    is_far(aff.constant_term()) || aff.terms().iter().any(|(term, factor)| is_far(*factor) || in_term(term))
}

/// What numbers come to; `None` if it is made of anything else.
fn constant(e: &Expr) -> Option<i64> {
    match e {
        Expr::Int(v) => Some(*v),
        Expr::Unary(UnaryOp::Neg, a) => constant(a)?.checked_neg(),
        Expr::Binary(op, a, b) => {
            let (a, b) = (Number::I64(constant(a)?), Number::I64(constant(b)?));
            binary(*op, a, b).ok()?.as_i64()
        }
        _ => None,
    }
}

/// Whether a number in a subscript, one that numbers in it come to, or a factor of a name in it
/// needs 64 bits.
fn has_far(e: &Expr) -> bool {
    constant(e).is_some_and(is_far)
        || e.to_aff().is_some_and(|aff| has_far_number(&aff))
        || e.children().into_iter().any(has_far)
}

impl KernelData {
    /// `I64` if a bound of a domain or a subscript has a number that 32 bits do not hold, `I32`
    /// otherwise. With narrower indices, such numbers wrap, and the check of a launch that all
    /// indices fit comes too late for what is proved of them before.
    pub fn least_index(&self) -> DType {
        let in_domains = self.domains.iter().flat_map(|d| &d.constraints).any(|c| has_far_number(&c.aff));
        let of = |accesses: Vec<Access>| accesses.iter().any(|a| a.index.iter().any(has_far));
        let in_subscripts = || {
            self.instructions.iter().any(|i| {
                i.targets.iter().any(|t| t.index.iter().any(has_far))
                    || of(i.value.accesses())
                    || i.predicate.as_ref().is_some_and(|p| of(p.accesses()))
            })
        };
        if in_domains || in_subscripts() { DType::I64 } else { DType::I32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoopKernel;

    #[test]
    fn numbers_of_bounds_and_subscripts_decide() {
        let of = |bounds: &str, statement: &str| {
            let text = format!(
                "kernel k(x: f32[64], y: f32[40], j: i32[64])\ndomain {{ [i] : {bounds} }}\n{statement}\n"
            );
            LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}")).least_index()
        };
        let (near, far) = ("0 <= i < 40", "5000000000 <= i < 5000000040");
        for (bounds, statement, expected) in [
            (near, "y[i] = x[i]", DType::I32),
            (near, "y[i] = 5000000000.0*x[i]", DType::I32),
            (near, "y[i] = cast(f32, 5000000000)*x[i]", DType::I32),
            (far, "y[i - 5000000000] = x[0]", DType::I64),
            (near, "y[i] = x[(i + 5000000000) % 64]", DType::I64),
            (near, "y[i] = x[(2*1103515245 + j[i]) % 64]", DType::I64),
            (near, "y[i] = x[(1103515245*i) % 64]", DType::I32),
            (near, "y[i] = x[(65537*1103515245*i) % 64]", DType::I64),
            (near, "y[i] = x[(64 // 10*1103515245 + i) % 64]", DType::I64),
            (near, "y[i] = x[i // 7*1103515245*65537 % 64]", DType::I64),
            (near, "y[i] = x[i // 7*1103515245 % 64]", DType::I32),
            (near, "y[i] = 1.0 if x[2147483648*i % 64] > 0.0", DType::I64),
        ] {
            assert_eq!(of(bounds, statement), expected, "{bounds}: {statement}");
        }
    }
}
