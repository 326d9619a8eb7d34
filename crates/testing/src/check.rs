//! The check of a case: its program, run with every check, computes the same as the declared
//! kernel.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use loopwright_emulator::{Arguments, Asynchrony, FaultKind, Options};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Name, Number};
use loopwright_lowering::{LowerOptions, lower, program::Program};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_text_check::{Checker, Order, Scalar, TextProgram};

use crate::{
    case::{Built, Case, sizes},
    data,
};

/// A failure of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure, which smaller cases have to reproduce.
    pub kind: &'static str,
    /// What went wrong, at which sizes.
    pub text: String,
}

fn options() -> Options {
    Options { count: false, threads: Some(1), max_steps: 1 << 26, ..Options::default() }
}

/// A declared kernel at some sizes, with its arguments and their results.
struct Known {
    declared: LoopKernel,
    sizes: BTreeMap<Name, i64>,
    arguments: Arguments,
    results: Option<Arguments>,
}

/// The arguments of these sizes and, unless it takes too long, their results by the declared
/// kernel. Several programs of one kernel are mostly checked one after another, in each mode of the
/// emulator and as text: the last few answers are kept.
fn known(declared: &LoopKernel, sizes: &BTreeMap<Name, i64>) -> Result<Arc<Known>, Failure> {
    const KEPT: usize = 64;
    static LAST: Mutex<VecDeque<Arc<Known>>> = Mutex::new(VecDeque::new());
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = last().iter().find(|k| k.sizes == *sizes && k.declared == *declared) {
        return Ok(known.clone());
    }
    let Some(arguments) = data::arguments(declared, sizes) else {
        return Err(Failure { kind: "arguments", text: "a length is no function of the parameters".into() });
    };
    let results = expected(declared, &arguments)?;
    let known = Arc::new(Known { declared: declared.clone(), sizes: sizes.clone(), arguments, results });
    let mut last = last();
    last.push_front(known.clone());
    last.truncate(KEPT);
    Ok(known)
}

/// The results of the declared kernel by the plain interpreter, in the kernel's types. `None` if
/// that takes too long.
fn expected(declared: &LoopKernel, arguments: &Arguments) -> Result<Option<Arguments>, Failure> {
    // The declared kernel, run by one thread, shows how long that is.
    let program = lower(declared, LowerOptions::default())
        .map_err(|d| Failure { kind: "declared-lowering", text: d.to_string() })?;
    let mut emulated = arguments.clone();
    let short = Options { max_steps: 3 << 20, ..options() };
    match loopwright_emulator::run(&program, &mut emulated, &short) {
        Err(f) if f.kind == FaultKind::StepLimit => return Ok(None),
        Err(f) => return Err(Failure { kind: "declared-fault", text: f.to_string() }),
        Ok(_) => {}
    }
    let inputs = Inputs {
        arrays: arguments.arrays.iter().map(|(n, a)| (n.clone(), a.buffer.clone())).collect(),
        scalars: arguments.scalars.clone(),
        ..Inputs::default()
    };
    let written = interpret(declared, &inputs, Mode::Exact)
        .map_err(|d| Failure { kind: "reference", text: d.to_string() })?;
    let mut result = arguments.clone();
    for (name, buffer) in written {
        if let Some(array) = result.arrays.get_mut(&name) {
            array.buffer = buffer;
        }
    }
    match data::difference(&emulated, &result) {
        None => Ok(Some(result)),
        Some(text) => Err(Failure { kind: "wrong-as-declared", text }),
    }
}

/// Whether the declared kernel is short enough for these sizes: [`run`] compares nothing otherwise.
pub fn is_compared(declared: &LoopKernel, sizes: &BTreeMap<Name, i64>) -> Result<bool, Failure> {
    match known(declared, sizes) {
        Err(f) if f.kind == "arguments" => Ok(false),
        known => Ok(known?.results.is_some()),
    }
}

/// Runs a program in the emulator for one set of sizes and compares it with the declared kernel.
pub fn run(declared: &LoopKernel, program: &Program, sizes: &BTreeMap<Name, i64>) -> Result<(), Failure> {
    run_in(Asynchrony::default(), declared, program, sizes)
}

/// As [`run`], with asynchronous copies that take effect at these times.
pub fn run_in(
    asynchrony: Asynchrony,
    declared: &LoopKernel,
    program: &Program,
    sizes: &BTreeMap<Name, i64>,
) -> Result<(), Failure> {
    let known = known(declared, sizes)?;
    let Some(want) = &known.results else { return Ok(()) };
    let mut found = known.arguments.clone();
    let place = format!("{sizes:?}");
    loopwright_emulator::run(program, &mut found, &Options { asynchrony, ..options() })
        .map_err(|f| Failure { kind: f.kind.code(), text: format!("{place}: {f}") })?;
    match data::difference(&found, want) {
        None => Ok(()),
        Some(text) => Err(Failure { kind: "wrong", text: format!("{place}: {text}") }),
    }
}

/// What a compiled text makes of the arrays.
pub(crate) fn results_of_text(
    compiled: &TextProgram,
    arrays: &BTreeMap<&Name, &Buffer>,
    scalars: &BTreeMap<Name, Number>,
    order: Order,
) -> Result<BTreeMap<Name, Buffer>, String> {
    let mut given = loopwright_text_check::Arguments::new();
    for (name, buffer) in arrays {
        given = given.array((*name).clone(), buffer.bytes());
    }
    for (name, value) in scalars {
        let scalar = match value.as_i128() {
            Some(v) => Scalar::Int(v as i64),
            None => Scalar::Float(value.as_f64()),
        };
        given = given.scalar(name.clone(), scalar);
    }
    compiled.run(&mut given, order).map_err(|d| d.to_string())?;
    let mut found = BTreeMap::new();
    for (name, bytes) in given.arrays {
        let t = arrays.get(&name).map_or(DType::I8, |buffer| buffer.dtype());
        let buffer = Buffer::from_bytes(t, bytes).ok_or(format!("`{name}` has bytes that are no {t}"))?;
        found.insert(name, buffer);
    }
    Ok(found)
}

/// Runs the printed text of a program for one set of sizes, its threads in either order, and
/// compares it with the declared kernel.
pub fn run_text(
    checker: &Checker,
    declared: &LoopKernel,
    program: &Program,
    sizes: &BTreeMap<Name, i64>,
) -> Result<(), Failure> {
    let compiled = checker
        .compile(program)
        .map_err(|d| Failure { kind: "text", text: format!("{sizes:?}: {}", d.render()) })?;
    run_compiled(&compiled, declared, sizes)
}

/// As [`run_text`], of a text that is compiled already.
pub fn run_compiled(
    compiled: &TextProgram,
    declared: &LoopKernel,
    sizes: &BTreeMap<Name, i64>,
) -> Result<(), Failure> {
    let known = known(declared, sizes)?;
    let (arguments, Some(want)) = (&known.arguments, &known.results) else { return Ok(()) };
    let fail = |order, text: String| Failure { kind: "text", text: format!("{sizes:?} {order:?}: {text}") };
    for order in [Order::Forwards, Order::Backwards] {
        let arrays = arguments.arrays.iter().map(|(name, array)| (name, &array.buffer)).collect();
        let results = results_of_text(compiled, &arrays, &arguments.scalars, order);
        let mut found = arguments.clone();
        for (name, buffer) in results.map_err(|text| fail(order, text))? {
            if let Some(array) = found.arrays.get_mut(&name) {
                array.buffer = buffer;
            }
        }
        if let Some(text) = data::difference(&found, want) {
            return Err(fail(order, text));
        }
    }
    Ok(())
}

/// Builds a case, and checks it at all sizes that its assumptions allow.
pub fn check(case: &Case) -> Result<Built, Failure> {
    let built = case.build().map_err(|d| Failure { kind: "refused", text: d.to_string() })?;
    for sizes in sizes() {
        let holds =
            |c: &loopwright_kernel_ir::Constraint| c.holds(&|name| sizes.get(name).copied()) != Some(false);
        if built.program.assumptions.iter().all(holds) {
            run(&built.declared, &built.program, &sizes)?;
        }
    }
    Ok(built)
}

/// As [`check`], but a panic is a failure too.
pub fn check_all(case: &Case) -> Result<Built, Failure> {
    let case = case.clone();
    std::panic::catch_unwind(move || check(&case)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string()))
            .unwrap_or_default();
        Err(Failure { kind: "panic", text })
    })
}

/// A smaller case that fails in the same way.
pub fn shrink(case: &Case, kind: &'static str) -> (Case, Failure) {
    let mut best = case.clone();
    let mut failure = Failure { kind, text: String::new() };
    let mut budget = 400;
    'outer: loop {
        for smaller in best.smaller() {
            if budget == 0 {
                break 'outer;
            }
            budget -= 1;
            if let Err(f) = check_all(&smaller)
                && f.kind == kind
            {
                best = smaller;
                failure = f;
                continue 'outer;
            }
        }
        break;
    }
    if failure.text.is_empty()
        && let Err(f) = check_all(&best)
    {
        failure = f;
    }
    (best, failure)
}
