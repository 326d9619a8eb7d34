//! What functions of C have here in their place: some have another name, and some have two results.

use crate::{Expr, math_function};

/// What a function of C, or an intrinsic one of CUDA C, is here.
pub(crate) fn of_c(function: &str, args: &[Expr]) -> Option<String> {
    let list = args.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ");
    let Some(name) = function.strip_prefix("__") else {
        return of_the_library(function.strip_suffix('f').unwrap_or(function), args);
    };
    let stem = name.strip_suffix('f').unwrap_or(name);
    match (stem, args) {
        ("fdivide", [a, b]) => Some(format!("write `{a} / {b}`")),
        ("ldg", [a]) => Some(format!("write `{a}`")),
        _ => Some(match math_function(stem) {
            Some(known) if known.fast => {
                format!("write `fast.{stem}({list})`, or `{stem}({list})` for accurate values")
            }
            Some(_) => format!("write `{stem}({list})`"),
            // The name itself is not for users to define.
            None => format!(
                "call it in a function of your own: `function own_{}(f32) -> f32 {{ ... }}`",
                name.trim_matches('_')
            ),
        }),
    }
}

/// What a function of C's library, without the suffix of its single-precision form, is here.
fn of_the_library(function: &str, args: &[Expr]) -> Option<String> {
    let two = |first: String, second: String| {
        Some(format!("it has two results, and an expression has one: write `{first}` and `{second}`"))
    };
    match (function, args) {
        ("frexp", [x, ..]) => two(format!("ldexp({x}, -1 - ilogb({x}))"), format!("ilogb({x}) + 1")),
        ("modf", [x, ..]) => two(format!("trunc({x})"), format!("{x} - trunc({x})")),
        ("sincos", [x, ..]) => two(format!("sin({x})"), format!("cos({x})")),
        ("sincospi", [x, ..]) => two(format!("sinpi({x})"), format!("cospi({x})")),
        ("remquo", [a, b, ..]) => two(format!("remainder({a}, {b})"), format!("rint({a} / {b})")),
        ("scalbn" | "scalbln", [x, k]) => Some(format!("write `ldexp({x}, {k})`")),
        ("lrint" | "llrint", [x]) => Some(format!("write `cast(i64, rint({x}))`")),
        ("lround" | "llround", [x]) => Some(format!("write `cast(i64, round({x}))`")),
        ("norm" | "rnorm", _) => Some("write `sqrt(sum(i, x[i]*x[i]))`, or 1 over it".into()),
        ("j0" | "j1" | "y0" | "y1", [x]) => Some(format!("write `bessel_{function}({x})`")),
        ("jn" | "yn", [n, x]) => Some(format!("write `bessel_{function}({n}, {x})`")),
        ("cyl_bessel_i0" | "cyl_bessel_i1", [x]) => {
            Some(format!("write `{}({x})`", function.trim_start_matches("cyl_")))
        }
        _ => None,
    }
}
