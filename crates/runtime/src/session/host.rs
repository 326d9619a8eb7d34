//! The host's view of a program for given scalars: sizes, and the launches in order with their
//! parameters.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Name, Number, PerDim};
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
