//! Random operators of a kernel's own, associative by construction.

use loopwright_kernel_ir::{DType, LoopKernel, ReductionOp};

use super::generate::{INTEGERS, Kind};
use crate::rng::Rng;

/// An operator, with the kinds of its inputs and of its result; `None` is the kind of the input.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    pub op: ReductionOp,
    pub source: String,
    pub inputs: Vec<Option<Kind>>,
    pub result: Option<Kind>,
}

/// One component of a state: its type and neutral element, its value after an input, and how two
/// are combined.
struct Part {
    state: String,
    lift: String,
    combine: String,
}

/// A function of the input, an integer.
fn lifted(rng: &mut Rng, t: DType) -> String {
    // What is combined is the integer of the type that is congruent.
    let value = match rng.below(6) {
        0 => "x*x".to_string(),
        1 => format!("x + {}", rng.pick(&[1, 100, 40000])),
        2 => format!("if(x > {}, {}, {})", rng.below(9), rng.pick(&[7, 200, 20000]), rng.below(3)),
        3 => "(x >> 1) ^ 5".to_string(),
        4 => "x // 3".to_string(),
        _ => "x".to_string(),
    };
    if rng.chance(50) { format!("cast({t}, {value})") } else { value }
}

/// Integers modulo the type, under one of the operations that are associative on them.
fn integer(rng: &mut Rng, name: &str) -> Part {
    let t = rng.pick(&INTEGERS);
    let (a, b) = (format!("a.{name}"), format!("b.{name}"));
    let (neutral, combine) = match rng.below(7) {
        0 => ("0", format!("{a} + {b}")),
        1 => ("1", format!("{a}*{b}")),
        2 => ("highest()", format!("min({a}, {b})")),
        3 => ("lowest()", format!("max({a}, {b})")),
        4 if t.is_unsigned() => ("highest()", format!("{a} & {b}")),
        4 => ("-1", format!("{a} & {b}")),
        5 => ("0", format!("{a} | {b}")),
        _ => ("0", format!("{a} ^ {b}")),
    };
    Part { state: format!("{name}: {t} = {neutral}"), lift: format!("{name} = {}", lifted(rng, t)), combine }
}

fn truth(rng: &mut Rng, name: &str) -> Part {
    let (a, b) = (format!("a.{name}"), format!("b.{name}"));
    let (neutral, combine) = match rng.below(4) {
        0 => ("false", format!("{a} or {b}")),
        1 => ("true", format!("{a} and {b}")),
        2 => ("false", format!("{a} != {b}")),
        _ => ("true", format!("{a} == {b}")),
    };
    let sign = rng.pick(&["<", ">", "==", "!=", "<=", ">="]);
    Part {
        state: format!("{name}: bool = {neutral}"),
        lift: format!("{name} = x {sign} {}", rng.below(5)),
        combine,
    }
}

fn text(name: &str, inputs: &str, parts: &[Part], result: &str, laws: &str) -> String {
    let all = |of: &dyn Fn(&Part) -> String| parts.iter().map(of).collect::<Vec<_>>().join(", ");
    format!(
        "reduction {name}({inputs}) {{\n    state {}\n    lift {}\n    combine {}\n    result {result}\n\
         {laws}}}\n",
        all(&|p| p.state.clone()),
        all(&|p| p.lift.clone()),
        all(&|p| format!("{} = {}", p.state.split(':').next().unwrap_or_default(), p.combine)),
    )
}

/// An operator of this name.
fn operator(rng: &mut Rng, name: &str) -> Operator {
    let commutes = "    commutes\n";
    let part = |state: &str, lift: &str, combine: &str| Part {
        state: state.into(),
        lift: lift.into(),
        combine: combine.into(),
    };
    let (int, same) = (Some(Kind::Int), None);
    let (source, inputs, result) = match rng.below(10) {
        0..=2 => {
            let result = rng.pick(&["v", "v", "v*2", "v + 1", "cast(i64, v)", "cast(u8, v)"]);
            (text(name, "x", &[integer(rng, "v")], result, commutes), vec![int], int)
        }
        3 => {
            let parts = [integer(rng, "v"), integer(rng, "w")];
            let result = rng.pick(&["cast(i64, v) + cast(i64, w)", "cast(i32, v) ^ cast(i32, w)"]);
            (text(name, "x", &parts, result, commutes), vec![int], int)
        }
        4 => {
            let result = rng.pick(&["v", "not v"]);
            (text(name, "x", &[truth(rng, "v")], result, commutes), vec![int], Some(Kind::Bool))
        }
        5 => {
            // Composition of maps t -> s*t + u, of either order.
            let t = rng.pick(&["i32", "u32", "i64", "u64"]);
            let late = rng.chance(50);
            let shift = if late { "a.u*b.s + b.u" } else { "a.s*b.u + a.u" };
            let parts = [
                part(&format!("s: {t} = 1"), "s = p", "a.s*b.s"),
                part(&format!("u: {t} = 0"), "u = q", shift),
            ];
            let result = rng.pick(&["u", "s", "u + s"]);
            let cast = |input: &str| format!("cast({t}, {input})");
            let parts = parts.map(|p| Part {
                lift: p
                    .lift
                    .replace("= p", &format!("= {}", cast("p")))
                    .replace("= q", &format!("= {}", cast("q"))),
                ..p
            });
            (text(name, "p, q", &parts, result, ""), vec![int, int], int)
        }
        6 => {
            let (b, set) =
                if rng.chance(50) { ("if(b.set, b.v, a.v)", "b") } else { ("if(a.set, a.v, b.v)", "a") };
            let parts = [
                part("v: like x = 0", "v = x", b),
                part(
                    "set: bool = false",
                    "set = true",
                    if set == "a" { "a.set or b.set" } else { "b.set or a.set" },
                ),
            ];
            (text(name, "x", &parts, "v", ""), vec![same], same)
        }
        7 => {
            // Of equal values, that of the least key.
            let (sign, end) = if rng.chance(50) { ("<", "highest()") } else { (">", "lowest()") };
            let wins = format!("b.v {sign} a.v or b.v == a.v and b.k < a.k");
            let parts = [
                part(&format!("v: like x = {end}"), "v = x", &format!("if({wins}, b.v, a.v)")),
                part("k: like q = highest()", "k = q", &format!("if({wins}, b.k, a.k)")),
            ];
            let result = rng.pick(&["v", "k"]);
            (text(name, "x, q", &parts, result, "    commutes\n    idempotent\n"), vec![int, int], int)
        }
        8 => {
            let parts = [
                part("low: like x = highest()", "low = x", "min(a.low, b.low)"),
                part("high: like x = lowest()", "high = x", "max(a.high, b.high)"),
            ];
            (text(name, "x", &parts, "high - low", "    commutes\n    idempotent\n"), vec![same], same)
        }
        _ => {
            let combine = rng.pick(&["a.v + b.v", "min(a.v, b.v)", "max(a.v, b.v)"]);
            let neutral = match combine.split('(').next() {
                Some("min") => "highest()",
                Some("max") => "lowest()",
                _ => "0",
            };
            let lift = rng.pick(&["x", "abs(x)", "x*x", "x + x"]);
            let parts = [part(&format!("v: like x = {neutral}"), &format!("v = {lift}"), combine)];
            (text(name, "x", &parts, "v", commutes), vec![same], same)
        }
    };
    let kernel = format!("kernel k(y: i32[4])\n{source}{{ [i] : 0 <= i < 4 }}\ny[i] = 1\n");
    let read = LoopKernel::parse(&kernel).unwrap_or_else(|d| panic!("{kernel}\n{d}"));
    Operator { op: read.reductions[0].clone(), source, inputs, result }
}

/// Operators of one kernel.
pub(super) fn operators(rng: &mut Rng, count: usize) -> Vec<Operator> {
    (0..count).map(|k| operator(rng, &format!("own_{k}"))).collect()
}
