//! The host's view of a program for given scalars: sizes, and the launches in order with their
//! parameters.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{BinaryOp, DType, Diagnostic, Expr, Name, Number, PerDim, UnaryOp};
use loopwright_program::{Global, HostStmt, Param, Program, Value, eval_host};

use super::layout::Layout;

/// The integers among the scalar arguments.
pub(super) type Integers = BTreeMap<Name, i64>;

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The index of the kernel.
    pub kernel: usize,
    /// Blocks on each dimension, all positive.
    pub grid: PerDim<u64>,
    /// Values of the host's variables.
    pub hosts: Integers,
    /// Whether it may start before the preceding launch has ended. The first one may not: a launch
    /// before it belongs to another program, and may write arrays that this one only reads.
    pub early: bool,
}

/// The maximum number of launches, which are listed when a kernel is bound.
const MOST: usize = 1 << 20;

/// An integer expression of scalars; `None` if it overflows, divides by zero, or uses anything
/// else.
pub(super) fn eval_expr(expr: &Expr, lookup: &dyn Fn(&Name) -> Option<i64>) -> Option<i64> {
    let eval = |e: &Expr| eval_expr(e, lookup);
    match expr {
        Expr::Int(v) => Some(*v),
        Expr::Name(name) => lookup(name),
        Expr::Unary(UnaryOp::Neg, a) => eval(a)?.checked_neg(),
        Expr::Cast(_, a) => eval(a),
        Expr::If(c, a, b) => {
            if eval(c)? != 0 {
                eval(a)
            } else {
                eval(b)
            }
        }
        Expr::Call { function, args, .. } if args.len() == 2 => {
            let (a, b) = (eval(&args[0])?, eval(&args[1])?);
            match function.as_str() {
                "min" => Some(a.min(b)),
                "max" => Some(a.max(b)),
                _ => None,
            }
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (eval(a)?, eval(b)?);
            match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::FloorDiv => {
                    let q = a.checked_div(b)?;
                    Some(if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
                }
                BinaryOp::Mod => {
                    let r = a.checked_rem(b)?;
                    Some(if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
                }
                BinaryOp::Lt => Some(i64::from(a < b)),
                BinaryOp::Le => Some(i64::from(a <= b)),
                BinaryOp::Gt => Some(i64::from(a > b)),
                BinaryOp::Ge => Some(i64::from(a >= b)),
                BinaryOp::Eq => Some(i64::from(a == b)),
                BinaryOp::Ne => Some(i64::from(a != b)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn no_value(what: &str) -> Diagnostic {
    Diagnostic::new(
        "host-value",
        format!(
            "{what} has no value: it overflows, divides by zero, or uses values unknown to the \
             host"
        ),
    )
    .help("work on smaller pieces")
}

/// The layout of a global array. Refused if it is written and elements overlap.
pub(super) fn layout(global: &Global, scalars: &Integers) -> Result<Layout, Diagnostic> {
    let lookup = |name: &Name| scalars.get(name).copied();
    let values = |values: &[Value], what: &str| -> Result<Vec<usize>, Diagnostic> {
        values
            .iter()
            .map(|v| {
                let value = eval_host(v, &lookup)
                    .ok_or_else(|| no_value(&format!("a {what} of `{}`", global.name)))?;
                usize::try_from(value).map_err(|_| {
                    Diagnostic::new("negative-length", format!("a {what} of `{}` is {value}", global.name))
                        .help("lengths and strides have to be at least 0")
                })
            })
            .collect()
    };
    let shape = values(&global.shape, "length")?;
    let strides = values(&global.strides, "stride")?;
    let size = match shape.contains(&0) {
        true => 0,
        false => values(std::slice::from_ref(&global.size), "size")?[0],
    };
    let layout = Layout { shape, strides, size };
    if global.written && !layout.is_injective(&global.name)? {
        return Err(Diagnostic::new(
            "overlapping-elements",
            format!("elements of `{}`, which the kernel writes, overlap", global.name),
        )
        .witness(format!("shape {:?}, strides {:?}", layout.shape, layout.strides))
        .help("use strides for which elements do not overlap"));
    }
    Ok(layout)
}

/// A parameter of a launch.
pub(super) enum Parameter<'p> {
    /// The address of the global array of this name.
    Array(&'p Name),
    /// A value, lowest address first.
    Bytes(Vec<u8>),
}

/// The parameters of a launch, in their order, for a program of this index type.
pub(super) fn parameters<'p>(
    program: &'p Program,
    step: &Step,
    scalars: &BTreeMap<Name, Number>,
    index: DType,
) -> Result<Vec<Parameter<'p>>, Diagnostic> {
    let missing = |name: &Name| {
        Diagnostic::new("missing-argument", format!("argument `{name}` of `{}` is missing", program.name))
    };
    let one = |param: &Param| {
        Ok(match param {
            Param::Global { global, .. } => Parameter::Array(&program.globals[*global].name),
            Param::Scalar { name, dtype } => {
                let number = scalars.get(name).ok_or_else(|| missing(name))?.cast(*dtype);
                Parameter::Bytes(number.bits().to_le_bytes()[..dtype.bytes()].to_vec())
            }
            Param::HostVar(name) => {
                let value = step.hosts.get(name).ok_or_else(|| missing(name))?;
                Parameter::Bytes(value.to_le_bytes()[..index.bytes()].to_vec())
            }
        })
    };
    program.passed(&program.kernels[step.kernel]).map(one).collect()
}

/// The launches of a program.
pub(super) fn launches(program: &Program, scalars: &Integers) -> Result<Vec<Step>, Diagnostic> {
    let mut steps = Vec::new();
    walk(program, &program.host, scalars, &mut Integers::new(), &mut steps)?;
    Ok(steps)
}

fn walk(
    program: &Program,
    body: &[HostStmt],
    scalars: &Integers,
    hosts: &mut Integers,
    steps: &mut Vec<Step>,
) -> Result<(), Diagnostic> {
    for stmt in body {
        match stmt {
            HostStmt::Launch(number) => {
                let Some(kernel) = program.kernels.get(*number) else { continue };
                let grid = PerDim::try_from_fn(|dim| {
                    let lookup = |name: &Name| hosts.get(name).or_else(|| scalars.get(name)).copied();
                    let blocks = eval_host(&kernel.grid[dim], &lookup)
                        .ok_or_else(|| no_value(&format!("the grid of `{}`", kernel.name)))?;
                    Ok::<u64, Diagnostic>(u64::try_from(blocks).unwrap_or(0))
                })?;
                if grid.values().any(|blocks| *blocks == 0) {
                    continue;
                }
                if steps.len() == MOST {
                    return Err(Diagnostic::new(
                        "too-many-launches",
                        format!("the host's loops launch kernels more than {MOST} times"),
                    )
                    .help("do more work in each kernel"));
                }
                let early = kernel.early && !steps.is_empty();
                steps.push(Step { kernel: *number, grid, hosts: hosts.clone(), early });
            }
            HostStmt::For { var, lower, upper, body, .. } => {
                let bound = |value: &Value, hosts: &Integers| {
                    let lookup = |name: &Name| hosts.get(name).or_else(|| scalars.get(name)).copied();
                    eval_host(value, &lookup)
                        .ok_or_else(|| no_value(&format!("the host's loop over `{var}`")))
                };
                let (lower, upper) = (bound(lower, hosts)?, bound(upper, hosts)?);
                let before = hosts.get(var).copied();
                let empty = steps.len();
                for value in lower..upper {
                    hosts.insert(var.clone(), value);
                    walk(program, body, scalars, hosts, steps)?;
                    // A loop that launches nothing in its first million iterations is abandoned.
                    if value - lower > MOST as i64 && steps.len() == empty {
                        return Err(Diagnostic::new(
                            "too-many-launches",
                            format!("the host's loop over `{var}` runs {} times", upper - lower),
                        )
                        .help("do more work in each kernel"));
                    }
                }
                match before {
                    Some(value) => hosts.insert(var.clone(), value),
                    None => hosts.remove(var),
                };
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each operation, at operands on both sides of its critical points.
    #[test]
    fn expressions_of_scalars_have_the_values_of_integers() {
        let value = |text: &str| {
            let e = loopwright_kernel_ir::parse_expression(text).unwrap_or_else(|d| panic!("{text}: {d}"));
            eval_expr(&e, &|n| match n.as_str() {
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
        for text in ["far + 1", "-far - 2", "far * 2", "n // 0", "n % 0", "unknown", "1.5", "abs(n)"] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    /// The program of a host loop over `t` around a kernel over `i`.
    fn rounds(domains: &str) -> Program {
        let text = format!(
            "kernel k(x: f32[n], n: i32, first: i32, rounds: i32)\n\
             assume 0 <= n\n\
             {domains}\n\
             x[i] = 0.0 {{inames=t:i}}\n\
             tree {{\n    for t {{\n        for i {{\n            k\n        }}\n    }}\n\
             }}\n"
        )
        .replace("{inames", "{id=k, inames");
        let kernel = loopwright_kernel_ir::LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"));
        let steps = "split_iname(i, 32)\ntag_inames(t: host, i_outer: block.x, i_inner: thread.x)";
        let steps = loopwright_transforms::Pipeline::parse(steps).and_then(|p| p.apply(&kernel));
        let kernel = steps.unwrap_or_else(|d| panic!("{text}{d}"));
        loopwright_lowering::lower(&kernel, Default::default()).unwrap_or_else(|d| panic!("{text}{d}"))
    }

    /// A loop that launches nothing is abandoned after [`MOST`] iterations, whatever its first
    /// value; one that launches something later is not.
    #[test]
    fn loops_that_launch_nothing_are_not_waited_for() {
        let launched = |program: &Program, n: i64, first: i64, rounds: i64| {
            let scalars = [("n", n), ("first", first), ("rounds", rounds)].map(|(k, v)| (Name::new(k), v));
            launches(program, &Integers::from(scalars)).map(|s| s.len()).map_err(|d| d.message)
        };
        let all = "domain { [t] : first <= t < first + rounds }\ndomain { [i] : 0 <= i < n }";
        let all = rounds(all);
        let most = MOST as i64;
        assert_eq!(launched(&all, 0, 0, most + 1), Ok(0));
        let refusal = format!("the host's loop over `t` runs {} times", most + 2);
        assert_eq!(launched(&all, 0, 0, most + 2), Err(refusal.clone()));
        assert_eq!(launched(&all, 0, -most, most + 2), Err(refusal));
        // Iteration `t` has `t - first - 3` elements.
        let later = "domain { [t] : first <= t < first + rounds }\n\
                     domain { [i] : 0 <= i < n and i + first + 3 < t }";
        let later = rounds(later);
        for first in [0, -7, most + 5] {
            assert_eq!(launched(&later, 4, first, 10), Ok(6), "{first}");
        }
    }

    /// The first launch never starts early, and those after it do where their kernel may.
    #[test]
    fn launches_start_early_only_where_their_kernel_may() {
        let mut program = rounds("domain { [t] : first <= t < first + rounds }\ndomain { [i] : 0 <= i < n }");
        let scalars = [("n", 4), ("first", 0), ("rounds", 3)].map(|(k, v)| (Name::new(k), v));
        for early in [false, true] {
            program.kernels[0].early = early;
            let steps = launches(&program, &Integers::from(scalars.clone())).unwrap();
            let found: Vec<bool> = steps.iter().map(|step| step.early).collect();
            assert_eq!(found, [false, early, early]);
        }
    }
}
