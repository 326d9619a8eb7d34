//! Powers: products of the forms that the page gives, written with `**`.

use loopwright_kernel_ir::{BinaryOp, Expr, Name, UnaryOp};

/// The product that a power with this exponent is.
pub fn raised(base: &Expr, exponent: u32) -> Expr {
    if exponent < 2 {
        return base.clone();
    }
    let half = raised(base, exponent / 2);
    let square = Expr::binary(BinaryOp::Mul, half.clone(), half);
    if exponent % 2 == 1 { Expr::binary(BinaryOp::Mul, square, base.clone()) } else { square }
}

/// Whether a power of this base is a product.
pub fn may_be_raised(base: &Expr) -> bool {
    let literal = match base {
        Expr::Unary(UnaryOp::Neg, a) => matches!(**a, Expr::Int(_)),
        e => matches!(e, Expr::Int(_)),
    };
    let mut size = 0;
    base.visit(&mut |_| size += 1);
    !literal && base.reductions().is_empty() && size <= 16
}

/// The base and the exponent, if it is a power.
fn of(e: &Expr) -> Option<(&Expr, u32)> {
    let Expr::Binary(BinaryOp::Mul, a, b) = e else { return None };
    let (base, exponent) = if a == b {
        of(a).map_or((&**a, 2), |(base, n)| (base, 2 * n))
    } else {
        let (base, n) = of(a).filter(|(base, n)| n % 2 == 0 && *base == &**b)?;
        (base, n + 1)
    };
    (may_be_raised(base) && exponent <= 16 && raised(base, exponent) == *e).then_some((base, exponent))
}

/// The expression with its powers as calls of `raise_N`.
fn marked(e: &Expr) -> Expr {
    let call = |function: String, args: Vec<&Expr>| {
        let args = args.into_iter().map(marked).collect();
        Expr::Call { function: Name::new(function), precision: None, args }
    };
    if let Some((base, exponent)) = of(e) {
        return call(format!("raise_{exponent}"), vec![base]);
    }
    match e {
        Expr::Binary(BinaryOp::Div, one, power) if matches!(**one, Expr::Int(1)) => match of(power) {
            Some((base, exponent)) => call(format!("lower_{exponent}"), vec![base]),
            None => e.map_children(&mut |child| marked(child)),
        },
        _ => e.map_children(&mut |child| marked(child)),
    }
}

/// The text of an expression, its powers with `**`.
pub fn text(e: &Expr) -> String {
    let mut text = marked(e).to_string();
    for (word, sign) in [("raise_", ""), ("lower_", "-")] {
        while let Some(start) = text.find(word) {
            let open = start + text[start..].find('(').expect("a call");
            let exponent = text[start + word.len()..open].to_string();
            let mut depth = 0;
            let close = open
                + text[open..]
                    .find(|c: char| {
                        depth += match c {
                            '(' => 1,
                            ')' => -1,
                            _ => 0,
                        };
                        depth == 0
                    })
                    .expect("a closed call");
            let base = text[open..=close].to_string();
            text.replace_range(start..=close, &format!("({base}**{sign}{exponent})"));
        }
    }
    text
}
