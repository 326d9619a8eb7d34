//! What a host has to check and to do, as formulas of the scalar arguments: the part that does not
//! depend on the host's language.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Arg, DType, Diagnostic, Dim, Expr, LoopKernel, Name, PerDim};
use loopwright_program::{HostStmt, Owner, Param, Program, ProgramArg, Stmt, Value, ValueKind};
use loopwright_runtime::alignment;

use super::fits;
use super::formula::{Bounds, Formula, Op};
use super::names::Names;

/// A host's part of a program.
pub(super) struct Plan<'p> {
    pub program: &'p Program,
    pub bounds: Bounds,
    /// Conditions on the scalar arguments, in the order in which they are checked: each relies on
    /// those before it.
    pub checks: Vec<Check>,
    /// The arrays, as [`Program::globals`].
    pub arrays: Vec<Array>,
    /// The launches, and the loops around them, in order.
    pub host: Vec<Host>,
    /// The names of arguments, scratch arrays and host variables in C.
    pub in_c: Names,
    /// The names of the same in Python, which reserves other words.
    pub in_python: Names,
}

/// A condition and the sentence of its refusal.
pub(super) struct Check {
    pub condition: Condition,
    pub refusal: String,
}

/// How a condition is computed.
pub(super) enum Condition {
    /// A wide scalar argument is within `-FARTHEST..=FARTHEST`.
    NotFar(Name),
    /// By integers, which cannot overflow here.
    Exact(Formula),
    /// All of them, without a bound on what appears in between.
    Wide(Vec<Formula>),
    /// Elements of an array of these lengths and strides do not overlap.
    Apart(Vec<Formula>, Vec<Formula>),
}

/// The greatest magnitude of a 64-bit argument that sizes depend on.
pub(super) const FARTHEST: i64 = 1 << 47;

/// An array in global memory.
pub(super) struct Array {
    pub name: Name,
    pub dtype: DType,
    pub written: bool,
    pub read: bool,
    /// Whether it is a part of the workspace.
    pub scratch: bool,
    /// Whether it is a constant table, which is part of the module.
    pub table: bool,
    pub shape: Vec<Formula>,
    pub strides: Vec<Formula>,
    /// The bytes of its storage.
    pub bytes: Formula,
    /// What its address has to be a multiple of.
    pub alignment: u64,
}

/// A statement of the host.
pub(super) enum Host {
    For { var: Name, lower: Formula, upper: Formula, body: Vec<Host> },
    Launch { kernel: usize, grid: PerDim<Formula> },
}

impl<'p> Plan<'p> {
    pub fn new(kernel: &LoopKernel, program: &'p Program) -> Result<Plan<'p>, Diagnostic> {
        irregular(kernel)?;
        program.without_records("host code")?;
        let scalars: Vec<_> = program.scalars().filter(|s| s.dtype.is_integer()).collect();
        let types = scalars.iter().map(|s| (s.name.clone(), s.dtype));
        let mut bounds = Bounds::new(types, &program.assumptions);
        let mut sized = sized_scalars(program);
        for condition in fits::conditions(program, &bounds) {
            condition.visit(&mut |part| {
                if let Formula::Name(name) = part {
                    sized.insert(name.clone());
                }
            });
        }
        let mut checks = Vec::new();
        for scalar in scalars {
            if scalar.dtype.bytes() < 8 || !sized.contains(&scalar.name) {
                continue;
            }
            let far = i128::from(FARTHEST);
            let (low, high) = bounds.of(&Formula::name(&scalar.name));
            bounds.set(scalar.name.clone(), (low.max(-far), high.min(far)));
            checks.push(Check {
                condition: Condition::NotFar(scalar.name.clone()),
                refusal: format!("`{}` is beyond 2^47", scalar.name),
            });
        }
        let whole = |what: &str| {
            let what = format!("{what} cannot be computed by the host for all sizes");
            Diagnostic::new("host-value", what).help("give the sizes: `--set NAME=VALUE` for each")
        };
        for assumption in &program.assumptions {
            let formula = Formula::of_constraint(assumption);
            let mut overflows = false;
            formula.visit(&mut |part| {
                overflows |= !bounds.at_least(part, -(1 << 61)) || !bounds.at_most(part, 1 << 61);
            });
            if overflows {
                return Err(whole(&format!("the assumption `{assumption}`")));
            }
            checks.push(Check {
                refusal: format!("the assumption `{assumption}` does not hold"),
                condition: Condition::Exact(formula),
            });
        }
        let fits = fits::conditions(program, &bounds);
        if fits.iter().any(|condition| fits::is_hopeless(condition, &bounds)) {
            let what = format!(
                "that indices of `{}` fit into {} cannot be decided by the host for any sizes",
                program.name, program.index
            );
            return Err(Diagnostic::new("host-value", what).help(match program.index {
                DType::I32 => {
                    "use 64-bit indices, `--index i64`, or give the sizes: `--set NAME=VALUE` for each"
                }
                _ => "give the sizes: `--set NAME=VALUE` for each",
            }));
        }
        if !fits.is_empty() {
            let remedy = match program.index {
                DType::I32 => ": 32-bit indices do not suffice",
                _ => "",
            };
            checks.push(Check {
                condition: Condition::Wide(fits),
                refusal: format!("the sizes are too large{remedy}"),
            });
        }
        let formula = |value: &Value, what: &str| Formula::of_host(value).ok_or_else(|| whole(what));
        let mut arrays = Vec::new();
        for (number, global) in program.globals.iter().enumerate() {
            let all = |values: &[Value], what: &str| -> Result<Vec<Formula>, Diagnostic> {
                values.iter().map(|v| formula(v, &format!("a {what} of `{}`", global.name))).collect()
            };
            let (shape, strides) = (all(&global.shape, "length")?, all(&global.strides, "stride")?);
            let size = formula(&global.size, &format!("the size of `{}`", global.name))?;
            let size = bounds.extreme(Op::Max, size, Formula::Int(0));
            let element = Formula::Int(global.dtype.bytes() as i128);
            arrays.push(Array {
                name: global.name.clone(),
                dtype: global.dtype,
                written: global.written,
                read: global.read,
                scratch: global.owner == Owner::Launch,
                table: global.table().is_some(),
                bytes: Formula::binary(Op::Mul, element, size),
                alignment: alignment(program, number),
                shape,
                strides,
            });
        }
        let explicit = |name: &Name| {
            kernel.args.iter().any(|arg| match arg {
                Arg::Array(a) => a.name == *name && a.axes.iter().any(|axis| axis.stride.is_some()),
                Arg::Scalar(_) => false,
            })
        };
        for array in &arrays {
            let strides = array.strides.iter().filter(|_| explicit(&array.name));
            let all = array.shape.iter().map(|l| (l, "length")).chain(strides.map(|s| (s, "stride")));
            for (value, what) in all.filter(|(value, _)| !bounds.at_least(value, 0)) {
                checks.push(Check {
                    condition: Condition::Exact(Formula::binary(Op::Ge, value.clone(), Formula::Int(0))),
                    refusal: format!("a {what} of `{}` is negative", array.name),
                });
            }
            if explicit(&array.name) && array.written {
                checks.push(Check {
                    condition: Condition::Apart(array.shape.clone(), array.strides.clone()),
                    refusal: format!("elements of `{}`, which the kernel writes, overlap", array.name),
                });
            }
        }
        let mut host = Vec::new();
        for stmt in &program.host {
            host.push(Host::of(program, stmt, &formula)?);
        }
        Host::grids(&host, &mut |kernel, grid| {
            for (dim, most) in [(Dim::X, i128::from(i32::MAX)), (Dim::Y, 65535), (Dim::Z, 65535)] {
                let mut of_scalars = true;
                grid[dim].visit(&mut |f| {
                    if let Formula::Name(name) = f {
                        of_scalars &= program.scalars().any(|s| s.name == *name);
                    }
                });
                if of_scalars && !bounds.at_most(&grid[dim], most) {
                    checks.push(Check {
                        condition: Condition::Exact(Formula::binary(
                            Op::Le,
                            grid[dim].clone(),
                            Formula::Int(most),
                        )),
                        refusal: format!(
                            "the grid of `{}` has more than {most} blocks along {dim}",
                            program.kernels[kernel].name
                        ),
                    });
                }
            }
        });
        let mut variables = Vec::new();
        Host::variables(&host, &mut variables);
        let scalars = program.scalars().map(|scalar| &scalar.name);
        let names: Vec<&Name> =
            arrays.iter().map(|array| &array.name).chain(scalars).chain(variables).collect();
        let in_c = super::c::names(program, names.iter().copied());
        let in_python = super::python::names(names.into_iter());
        Ok(Plan { program, bounds, checks, arrays, host, in_c, in_python })
    }

    /// The arrays that the caller passes.
    pub fn of_caller(&self) -> impl Iterator<Item = &Array> {
        self.arrays.iter().filter(|a| !a.scratch && !a.table)
    }

    /// The arrays of the workspace.
    pub fn workspace(&self) -> impl Iterator<Item = &Array> {
        self.arrays.iter().filter(|a| a.scratch)
    }

    /// The arrays of the caller, in calling order, and the other arguments.
    pub fn args(&self) -> impl Iterator<Item = (Option<&Array>, &Name, DType)> {
        self.program.args.iter().map(|arg| match arg {
            ProgramArg::Array(k) => (Some(&self.arrays[*k]), &self.arrays[*k].name, self.arrays[*k].dtype),
            ProgramArg::Scalar(s) => (None, &s.name, s.dtype),
        })
    }

    /// Pairs of the caller's arrays of which a kernel writes one.
    pub fn pairs(&self) -> Vec<(&Array, &Array)> {
        let own: Vec<&Array> = self.of_caller().collect();
        let all = own.iter().enumerate().flat_map(|(k, a)| own[k + 1..].iter().map(move |b| (*a, *b)));
        all.filter(|(a, b)| a.written || b.written).collect()
    }
}

impl Host {
    fn of(
        program: &Program,
        stmt: &HostStmt,
        formula: &dyn Fn(&Value, &str) -> Result<Formula, Diagnostic>,
    ) -> Result<Host, Diagnostic> {
        Ok(match stmt {
            HostStmt::For { var, lower, upper, body, .. } => Host::For {
                var: var.clone(),
                lower: formula(lower, &format!("the host's loop over `{var}`"))?,
                upper: formula(upper, &format!("the host's loop over `{var}`"))?,
                body: body.iter().map(|s| Host::of(program, s, formula)).collect::<Result<_, _>>()?,
            },
            HostStmt::Launch(number) => {
                let kernel = &program.kernels[*number];
                let what = format!("the grid of `{}`", kernel.name);
                Host::Launch {
                    kernel: *number,
                    grid: PerDim::try_from_fn(|dim| formula(&kernel.grid[dim], &what))?,
                }
            }
        })
    }

    /// Adds the variables of loops.
    fn variables<'h>(body: &'h [Host], found: &mut Vec<&'h Name>) {
        for stmt in body {
            if let Host::For { var, body, .. } = stmt {
                found.push(var);
                Host::variables(body, found);
            }
        }
    }

    /// Calls `f` on the grid of each launch.
    fn grids(body: &[Host], f: &mut dyn FnMut(usize, &PerDim<Formula>)) {
        for stmt in body {
            match stmt {
                Host::For { body, .. } => Host::grids(body, f),
                Host::Launch { kernel, grid } => f(*kernel, grid),
            }
        }
    }
}

/// The scalar arguments on which sizes, bounds, subscripts and conditions depend: all that are
/// integers where the program uses indices.
fn sized_scalars(program: &Program) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    for assumption in &program.assumptions {
        found.extend(assumption.names());
    }
    let mut note = |value: &Value| {
        value.visit(&mut |v| {
            if let ValueKind::Param(name) = &v.kind {
                found.insert(name.clone());
            }
        });
    };
    for global in &program.globals {
        global.shape.iter().chain(&global.strides).chain([&global.size]).for_each(&mut note);
    }
    for kernel in &program.kernels {
        kernel.grid.values().for_each(&mut note);
        Stmt::visit(&kernel.body, &mut |stmt| {
            if let Stmt::If { cond, .. } = stmt {
                note(cond);
            }
            if let Stmt::For { lower, upper, .. } = stmt {
                [lower, upper].into_iter().for_each(&mut note);
            }
            stmt.each_element(&mut |element| element.subscripts.iter().for_each(&mut note));
            stmt.each_operand(&mut |operand| {
                operand.visit(&mut |v| match &v.kind {
                    ValueKind::Select(c, ..) => note(c),
                    ValueKind::Load(element) => element.subscripts.iter().for_each(&mut note),
                    _ => {}
                });
            });
        });
    }
    for fact in &program.facts {
        if let loopwright_kernel_ir::Fact::Range { lower, upper, .. } = fact {
            found.extend([lower, upper].into_iter().flatten().flat_map(Expr::names));
        }
    }
    // The host's bounds.
    let mut open: Vec<&HostStmt> = program.host.iter().collect();
    let mut bounds: Vec<&Value> = Vec::new();
    while let Some(stmt) = open.pop() {
        if let HostStmt::For { lower, upper, body, .. } = stmt {
            bounds.extend([lower, upper]);
            open.extend(body);
        }
    }
    for bound in bounds {
        bound.visit(&mut |v| {
            if let ValueKind::Param(name) = &v.kind {
                found.insert(name.clone());
            }
        });
    }
    found
}

/// Refuses kernels of which a launch has to look at subscripts by itself, for its own sizes.
fn irregular(kernel: &LoopKernel) -> Result<(), Diagnostic> {
    let declared = kernel.declared();
    let lengths: BTreeMap<&Name, bool> = declared
        .args
        .iter()
        .filter_map(|arg| match arg {
            Arg::Array(a) => Some(a),
            Arg::Scalar(_) => None,
        })
        .chain(&declared.temporaries)
        .map(|a| (&a.name, a.axes.iter().all(|axis| axis.length.to_aff().is_some())))
        .collect();
    let is_data = |e: &Expr| {
        !e.accesses().is_empty()
            || e.names().iter().any(|n| declared.temporaries.iter().any(|t| t.name == *n))
    };
    for instruction in &declared.instructions {
        let mut found = None;
        let targets = instruction.targets.iter().map(|t| Expr::Subscript(t.clone()));
        for e in targets.chain([instruction.value.clone()]).chain(instruction.predicate.clone()) {
            for access in e.accesses() {
                let plain = access.index.iter().all(|e| e.to_aff().is_some() || is_data(e));
                if !plain || lengths.get(&access.array) == Some(&false) {
                    found = found.or(Some(Expr::Subscript(access)));
                }
            }
        }
        if let Some(access) = found {
            let what = format!(
                "whether `{access}` stays in its array is decided for the sizes of each launch, which \
                 exported host code cannot do"
            );
            return Err(
                Diagnostic::new("host-value", what).help("give the sizes: `--set NAME=VALUE` for each")
            );
        }
    }
    Ok(())
}

/// The parameters of a kernel, by the names of arrays, scalars and host variables.
pub(super) fn parameters(program: &Program, kernel: usize) -> impl Iterator<Item = (&Name, Passed)> {
    program.passed(&program.kernels[kernel]).map(|param| match param {
        Param::Global { global, .. } => {
            let record = program.record_of_param(param);
            (record.map_or(&program.globals[*global].name, |r| &r.name), Passed::Address)
        }
        Param::Scalar { name, dtype } => (name, Passed::Scalar(*dtype)),
        Param::HostVar(name) => (name, Passed::Host),
    })
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    Address,
    Scalar(DType),
    Host,
}
