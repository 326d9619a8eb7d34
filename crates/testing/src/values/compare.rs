//! Runs a kernel in every form, and compares each with the evaluator.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Buffer, DType, Expr, LoopKernel, Name, Number, Reduce, TypeTable};
use loopwright_lowering::{LowerOptions, index_range, lower, program::Program};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_text_check::{Checker, Order};
use loopwright_transforms::Pipeline;

use super::{
    data::{self, Arguments},
    evaluate, generate,
    kernel::{Kernel, LENGTH, POSITIONS, Statement, Target},
    replay,
    types::Stop,
};
use crate::{check::results_of_text, refusals::LATE, rng::Rng};

/// A kernel whose results differ from what the page on values says.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The form that differs from the page.
    pub kind: &'static str,
    /// The values that differ, and where.
    pub text: String,
    /// The kernel, reduced to one statement if that suffices.
    pub kernel: Kernel,
}

/// Statistics of a run of the comparison.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Count {
    pub kernels: usize,
    pub expressions: usize,
    pub evaluations: usize,
    /// Statements that the page refuses, and the validator does.
    pub refused: usize,
    /// Statements that divide by zero, and are reported.
    pub errors: usize,
    /// Texts that were compiled.
    pub texts: usize,
    /// Values of replays: all, those that are numbers whatever the data, and those that are taken
    /// for the same as another one.
    pub replayed: [usize; 3],
    /// Predicates that decide which instances are replayed.
    pub predicates: usize,
    /// Numbers of statements that could not be compared, by reason.
    pub left_out: BTreeMap<String, usize>,
    pub failures: Vec<Failure>,
}

impl Count {
    /// The statistics of both, field by field.
    pub fn with(mut self, other: Count) -> Count {
        self.kernels += other.kernels;
        self.expressions += other.expressions;
        self.evaluations += other.evaluations;
        self.refused += other.refused;
        self.errors += other.errors;
        self.texts += other.texts;
        for (mine, other) in self.replayed.iter_mut().zip(other.replayed) {
            *mine += other;
        }
        self.predicates += other.predicates;
        for (why, n) in other.left_out {
            *self.left_out.entry(why).or_insert(0) += n;
        }
        self.failures.extend(other.failures);
        self
    }

    pub(super) fn add(&mut self, formed: Formed) {
        self.texts += formed.texts;
        formed.refused.into_iter().for_each(|code| self.leave_out(format!("a pipeline: {code}")));
    }

    pub(super) fn leave_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_insert(0) += 1;
    }
}

/// What became of the forms of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Formed {
    /// The number of texts that were compiled.
    pub texts: usize,
    /// The codes of transformed kernels that lowering refuses.
    pub refused: Vec<&'static str>,
}

/// Compiles printed texts; without one, they are left out.
pub type Texts<'a> = Option<&'a Checker>;

/// Whether arrays hold what they should, or else the first difference.
pub type Agrees<'a> = &'a dyn Fn(&BTreeMap<Name, Buffer>) -> Result<(), String>;

/// Pipelines that split the loop around the statements and distribute its iterations.
const PIPELINES: [&str; 6] = [
    "split_iname(i, 16)\ntag_inames(i_outer: block.x, i_inner: thread.x)",
    "split_iname(i, 7)\ntag_inames(i_outer: block.x, i_inner: thread.x)",
    "tag_inames(i: thread.x)",
    "split_iname(i, 4)\ntag_inames(i_outer: thread.x, i_inner: unroll)",
    "split_iname(i, 8)\nsplit_iname(i_inner, 2)",
    "tag_inames(i: block.x)",
];

/// How a reduction runs in parallel.
const SPREAD: [&str; 4] = [
    "split_iname(R, 4)\ntag_inames(R_inner: thread.x)",
    "split_iname(R, 32)\ntag_inames(R_inner: lane)",
    "split_iname(R, 3)\ntag_inames(R_inner: ilp)",
    "split_iname(R, 8)\nsplit_iname(R_inner, 2)\ntag_inames(R_inner_outer: thread.x, R_inner_inner: ilp)",
];

/// The kernel with its reductions over threads and lanes, as far as steps take them: those of
/// integers, whose partial results may be joined in any order without another result.
fn spread(parsed: &LoopKernel, rng: &mut Rng) -> (LoopKernel, String) {
    let table = TypeTable::new(parsed);
    let of_integers =
        |reduce: &Reduce| reduce.args.iter().all(|arg| table.alone(arg).is_ok_and(|t| !t.is_float()));
    let reductions = parsed.instructions.iter().flat_map(|i| i.reductions());
    let inames: Vec<Name> = reductions.filter(|r| of_integers(r)).flat_map(|r| r.inames.clone()).collect();
    let (mut kernel, mut text) = (parsed.clone(), String::new());
    let how = rng.pick(&SPREAD);
    let steps = inames.iter().map(|iname| how.replace('R', iname)).chain(["tag_inames(i: block.x)".into()]);
    for step in steps {
        if let Ok(after) = Pipeline::parse(&step).and_then(|p| p.apply(&kernel)) {
            kernel = after;
            text += &format!("{step}\n");
        }
    }
    (kernel, text)
}

/// Checks the kernel of this seed.
pub fn case(seed: u64, statements: usize, texts: Texts) -> Count {
    let (kernel, refused) = generate::kernel(seed, statements);
    let mut count = Count { kernels: 1, ..Count::default() };
    for s in refused {
        let alone = with_statement(&kernel, s);
        match LoopKernel::parse(&alone.to_string()) {
            Err(_) => count.refused += 1,
            Ok(_) => count.failures.push(Failure {
                kind: "accepted",
                text: "the page refuses it, the validator does not".into(),
                kernel: alone,
            }),
        }
    }
    check(&kernel, seed, texts, &mut count);
    count
}

fn with_statement(kernel: &Kernel, s: Statement) -> Kernel {
    let mut all = kernel.clone();
    all.statements.push(s);
    let last = all.statements.len() - 1;
    all.with(&needed(&all, last))
}

/// A statement and those whose temporaries it reads, transitively.
pub fn needed(kernel: &Kernel, k: usize) -> Vec<usize> {
    let mut keep = BTreeSet::from([k]);
    for at in (0..=k).rev() {
        let Target::Temporary(name, _) = &kernel.statements[at].target else { continue };
        let read = keep.iter().any(|k| {
            let s = &kernel.statements[*k];
            [Some(&s.value), s.predicate.as_ref()].into_iter().flatten().any(|e| {
                let mut read = e.names();
                e.visit(&mut |e| {
                    let Expr::Reduce(reduce) = e else { return };
                    for l in kernel.loops.iter().filter(|l| reduce.inames.contains(&l.name)) {
                        read.extend(l.lower.names());
                        read.extend(l.upper.names());
                    }
                });
                read.contains(name)
            })
        });
        if read {
            keep.insert(at);
        }
    }
    keep.into_iter().collect()
}

/// Whether a refusal of what the page accepts concerns proofs rather than values.
fn proof(code: &str) -> bool {
    ["out-of-bounds", "bounds", "unproved-bounds"].contains(&code)
}

/// Checks the statements of a kernel: those that raise an error are checked one by one, the others
/// together.
pub fn check(kernel: &Kernel, seed: u64, texts: Texts, count: &mut Count) {
    let mut keep: BTreeSet<usize> = (0..kernel.statements.len()).collect();
    let parsed = loop {
        let all: Vec<usize> = keep.iter().copied().collect();
        let some = kernel.with(&all);
        match LoopKernel::parse(&some.to_string()) {
            Ok(parsed) => break Some((some, parsed)),
            Err(_) => {
                let before = keep.len();
                for k in all {
                    let alone = kernel.with(&needed(kernel, k));
                    if let Err(d) = LoopKernel::parse(&alone.to_string()) {
                        keep.remove(&k);
                        let code = d.0.first().map_or("none", |d| d.code);
                        if proof(code) {
                            count.leave_out(code);
                        } else {
                            let kind = "refused";
                            count.failures.push(Failure { kind, text: d.to_string(), kernel: alone });
                        }
                    }
                }
                if keep.is_empty() || keep.len() == before {
                    break None;
                }
            }
        }
    };
    let Some((kernel, parsed)) = parsed else { return };
    for (s, said) in kernel.statements.iter().zip(&parsed.instructions) {
        if s.value != said.value || s.predicate != said.predicate {
            let text = format!("`{}` is read as `{}`", s.value, said.value);
            count.failures.push(Failure { kind: "parsed", text, kernel: kernel.clone() });
            return;
        }
    }
    let seeds = [0, 1].map(|round| seed.wrapping_mul(2).wrapping_add(round));
    match replay::check(&kernel, &seeds) {
        Ok(found) => {
            for (mine, other) in count.replayed.iter_mut().zip([found.values, found.numbers, found.equal]) {
                *mine += other;
            }
            count.predicates += found.predicates;
            found.left_out.into_iter().for_each(|why| count.leave_out(why));
        }
        Err(text) => count.failures.push(Failure { kind: "replay", text, kernel: kernel.clone() }),
    }
    for (round, seed_of) in seeds.into_iter().enumerate() {
        let arguments = data::arguments(&kernel, seed_of);
        let (_, stops) = evaluate::run(&kernel, &parsed, &arguments.arrays, &arguments.scalars);
        let mut stopped = BTreeSet::new();
        for (k, stop) in stops.iter().enumerate() {
            if stop.is_some() || needed(&kernel, k).iter().any(|n| stopped.contains(n)) {
                stopped.insert(k);
            }
            match stop {
                Some(Stop::Error) => fails(&kernel.with(&needed(&kernel, k)), &arguments, count),
                Some(Stop::Refused(_))
                    if needed(&kernel, k).iter().any(|n| *n != k && stopped.contains(n)) => {}
                Some(Stop::Refused(why)) => {
                    let kernel = kernel.with(&needed(&kernel, k));
                    count.failures.push(Failure { kind: "evaluator", text: why.clone(), kernel });
                }
                Some(Stop::Unsaid(why)) => count.leave_out(why.clone()),
                None => {}
            }
        }
        let going: Vec<usize> = (0..stops.len()).filter(|k| !stopped.contains(k)).collect();
        if going.is_empty() {
            continue;
        }
        let some = kernel.with(&going);
        match run(&some, &arguments, seed, texts) {
            Ok(formed) => {
                count.add(formed);
                count.expressions += if round == 0 { going.len() } else { 0 };
                count.evaluations += going.len() * POSITIONS as usize;
            }
            Err(_) => {
                // One by one, so that each is reported.
                let before = count.failures.len();
                for k in &going {
                    let alone = kernel.with(&needed(&kernel, *k));
                    match run(&alone, &arguments, seed, texts) {
                        Ok(formed) => {
                            count.add(formed);
                            count.expressions += usize::from(round == 0);
                            count.evaluations += POSITIONS as usize;
                        }
                        Err(failure) => count.failures.push(failure),
                    }
                }
                if count.failures.len() == before
                    && let Err(failure) = run(&some, &arguments, seed, texts)
                {
                    count.failures.push(failure);
                }
            }
        }
    }
}

/// A division by zero is reported by the interpreter, and by the emulator unless nothing needs the
/// quotient.
fn fails(kernel: &Kernel, arguments: &Arguments, count: &mut Count) {
    let failure = |text: &str| Failure { kind: "no-error", text: text.into(), kernel: kernel.clone() };
    let Ok(parsed) = LoopKernel::parse(&kernel.to_string()) else { return };
    if interpret(&parsed, &inputs(arguments), Mode::Exact).is_ok() {
        count.failures.push(failure("the interpreter divides by zero without an error"));
        return;
    }
    // With 64-bit indices, which hold all bounds.
    let Ok(program) = lower(&parsed, LowerOptions::new(DType::I64)) else {
        return;
    };
    if let Err(fault) = loopwright_emulator::run(&program, &mut emulated(arguments), &options()) {
        match fault.kind {
            loopwright_emulator::FaultKind::DivisionByZero => count.errors += 1,
            kind => count.failures.push(failure(&format!("the emulator reports {}", kind.code()))),
        }
    }
}

fn options() -> loopwright_emulator::Options {
    loopwright_emulator::Options { count: false, threads: Some(1), ..Default::default() }
}

fn inputs(arguments: &Arguments) -> Inputs {
    Inputs { arrays: arguments.arrays.clone(), scalars: arguments.scalars.clone(), ..Inputs::default() }
}

fn emulated(arguments: &Arguments) -> loopwright_emulator::Arguments {
    let mut result = loopwright_emulator::Arguments::new();
    for (name, buffer) in &arguments.arrays {
        result = result.array(name.clone(), buffer.clone());
    }
    for (name, value) in &arguments.scalars {
        result = result.scalar(name.clone(), *value);
    }
    result
}

/// Runs a kernel whose statements all have values.
pub fn run(kernel: &Kernel, arguments: &Arguments, seed: u64, compiler: Texts) -> Result<Formed, Failure> {
    let fail = |kind, text: String| Failure { kind, text, kernel: kernel.clone() };
    let mine = data_of(kernel, arguments);
    let text = kernel.to_string();
    let parsed = LoopKernel::parse(&text).map_err(|d| fail("refused", d.to_string()))?;
    let (want, _) = evaluate::run(kernel, &parsed, &mine.arrays, &mine.scalars);
    let agrees = |found: &BTreeMap<Name, Buffer>| compare(kernel, &want, found);
    forms(&parsed, &mine, seed, compiler, &agrees).map_err(|(kind, text)| fail(kind, text))
}

/// Runs a kernel by the interpreter, by the emulator in four forms, and as the compiled text of one
/// of those that can be lowered.
/// Errors: the form that does not agree, and why.
pub fn forms(
    parsed: &LoopKernel,
    mine: &Arguments,
    seed: u64,
    compiler: Texts,
    agrees: Agrees,
) -> Result<Formed, (&'static str, String)> {
    let mut found = mine.arrays.clone();
    found.extend(interpret(parsed, &inputs(mine), Mode::Exact).map_err(|d| ("interpreter", d.to_string()))?);
    agrees(&found).map_err(|text| ("interpreter", text))?;
    let mut rng = Rng::new(seed ^ 0x3c6e_f372);
    let pipeline = rng.pick(&PIPELINES);
    let mut programs = Vec::new();
    let mut formed = Formed::default();
    for form in 0..4 {
        let index = if form == 1 { DType::I64 } else { parsed.least_index() };
        let (kernel_form, place) = match form {
            0 => (parsed.clone(), "as declared".to_string()),
            1 => (parsed.clone(), "with 64-bit indices".to_string()),
            3 => {
                let (after, steps) = spread(parsed, &mut rng);
                (after, format!("after\n{steps}"))
            }
            _ => {
                // A refused step does not matter here.
                let Ok(after) = Pipeline::parse(pipeline).and_then(|p| p.apply(parsed)) else { continue };
                (after, format!("after\n{pipeline}"))
            }
        };
        let scalar = |name: &Name| mine.scalars.get(name).and_then(|v| v.as_i64());
        let mut lowered = |index| match lower(&kernel_form, LowerOptions::new(index)) {
            Ok(program) => Ok(index_range::check(&program, &scalar).is_ok().then_some(program)),
            // The final check does not follow ranges into what is not affine (ARCHITECTURE.md,
            // known gaps): `i_inner // 7` inside of `&` is not known to be 0. And a temporary is
            // lost between updates, which are launches of their own.
            Err(d) if form == 2 && ["wrong-value", "ends-with-kernel"].contains(&d.code) => {
                formed.refused.push(d.code);
                Ok(None)
            }
            // Warps of another width, operators that do not commute in lanes, lanes of as many
            // points as data say, and ends of lanes that take too many operations to prove.
            Err(d)
                if form == 3
                    && (LATE.contains(&d.code) || ["does-not-commute", "budget"].contains(&d.code)) =>
            {
                formed.refused.push(d.code);
                Ok(None)
            }
            Err(d) => Err(("lowering", format!("{place}: {d}"))),
        };
        // As a launch: with 64-bit indices if 32 bits do not suffice, or not at all.
        let program = match lowered(index)? {
            Some(program) => program,
            None if index == DType::I64 => continue,
            None => match lowered(DType::I64)? {
                Some(program) => program,
                None => continue,
            },
        };
        let mut arguments = emulated(mine);
        loopwright_emulator::run(&program, &mut arguments, &options())
            .map_err(|f| ("emulator", format!("{place}: {}: {f}", f.kind.code())))?;
        let found = arguments.arrays.iter().map(|(n, a)| (n.clone(), a.buffer.clone())).collect();
        agrees(&found).map_err(|text| ("emulator", format!("{place}: {text}")))?;
        programs.push((place, program));
    }
    if let Some(checker) = compiler
        && !programs.is_empty()
    {
        let (place, program) = &programs[rng.below(programs.len())];
        let wrong = |text| ("text", format!("{place}: {text}"));
        let found = printed_text(checker, program, mine).map_err(wrong)?;
        agrees(&found).map_err(wrong)?;
        formed.texts += 1;
    }
    Ok(formed)
}

/// The subset of the arguments that the kernel has.
fn data_of(kernel: &Kernel, arguments: &Arguments) -> Arguments {
    let mut mine = arguments.clone();
    let written = |name: &Name| kernel.statements.iter().flat_map(Statement::arrays).any(|(n, _)| n == name);
    mine.arrays.retain(|name, _| written(name) || kernel.arrays.iter().any(|(n, _)| n == name));
    mine.scalars.retain(|name, _| kernel.scalars.iter().any(|(n, _)| n == name));
    mine
}

fn printed_text(
    checker: &Checker,
    program: &Program,
    arguments: &Arguments,
) -> Result<BTreeMap<Name, Buffer>, String> {
    let compiled = checker.compile(program).map_err(|d| d.to_string())?;
    let arrays = arguments.arrays.iter().collect();
    results_of_text(&compiled, &arrays, &arguments.scalars, Order::Forwards)
}

/// The first difference between the results that are wanted and those found, in words.
fn compare(
    kernel: &Kernel,
    want: &BTreeMap<Name, Buffer>,
    found: &BTreeMap<Name, Buffer>,
) -> Result<(), String> {
    for (s, name) in kernel.statements.iter().flat_map(|s| s.arrays().map(move |(name, _)| (s, name))) {
        let (Some(want), Some(found)) = (want.get(name), found.get(name)) else {
            return Err(format!("no `{name}`"));
        };
        for (k, (want, found)) in want.numbers().zip(found.numbers()).enumerate() {
            if !same(want, found, apart(s)) {
                return Err(format!("{name}[{k}] is {found:?}, not {want:?}"));
            }
        }
    }
    Ok(())
}

/// How many units in the last place a value may differ by. Those of a library function by two. Two
/// implementations of `exp10` and of the gamma function differ by the sum of what `values.md`
/// grants them.
fn apart(statement: &Statement) -> i128 {
    match &statement.value {
        _ if !statement.inexact => 0,
        Expr::Call { function, .. } => match &**function {
            "exp10" => 5,
            "erfinv" | "erfcinv" | "normcdf" | "normcdfinv" => 6,
            "rhypot" | "norm3d" | "norm4d" | "rnorm3d" | "rnorm4d" => 5,
            "tgamma" | "erfcx" => 10,
            "lgamma" => 16,
            _ => 2,
        },
        _ => 2,
    }
}

/// The same number within some units in the last place, or the same bits if there are none; all NaN
/// count as equal.
pub fn same(want: Number, found: Number, apart: i128) -> bool {
    let (a, b) = (want.as_f64(), found.as_f64());
    if want == found || (want.dtype().is_float() && a.is_nan() && b.is_nan()) {
        return true;
    }
    // Results of a function in `f32`, in a wider target: its units are those of `f32`.
    let as_f32 = |v: f64| (want.dtype() == DType::F64 && f64::from(v as f32) == v).then_some(v as f32);
    if let (Some(a), Some(b)) = (as_f32(a), as_f32(b)) {
        return same(Number::F32(a), Number::F32(b), apart);
    }
    // Bits of numbers of one sign are in their order, and across zero.
    let order = |n: Number| {
        let sign = 1i64 << (n.dtype().bytes() * 8 - 1);
        let bits = n.bits() as i64;
        i128::from(if bits & sign == 0 { bits } else { sign.wrapping_sub(bits) })
    };
    apart > 0 && !a.is_nan() && !b.is_nan() && (order(want) - order(found)).abs() <= apart
}

/// A smaller kernel that fails in the same way: expressions are replaced by their parts as long as
/// they can be compared.
pub fn shrink(failure: &Failure, seed: u64, texts: Texts, budget: usize) -> Failure {
    let mut best = failure.clone();
    let mut budget = budget;
    'outer: loop {
        for smaller in smaller(&best.kernel) {
            if budget == 0 {
                break 'outer;
            }
            budget -= 1;
            if let Some(f) = fails_alike(&smaller, seed, texts, &best) {
                best = f;
                continue 'outer;
            }
        }
        break;
    }
    best
}

fn fails_alike(kernel: &Kernel, seed: u64, texts: Texts, failure: &Failure) -> Option<Failure> {
    let mut count = Count::default();
    let kind = failure.kind;
    // A refusal begins with its code.
    let code = |f: &Failure| f.text.split(':').next().filter(|_| f.kind == "refused").map(str::to_string);
    if kind == "accepted" {
        let accepted = LoopKernel::parse(&kernel.to_string()).is_ok() && generate::judge(kernel).is_err();
        return accepted.then(|| Failure {
            kind,
            text: format!("{:?}", generate::judge(kernel)),
            kernel: kernel.clone(),
        });
    }
    generate::judge(kernel).ok()?;
    check(kernel, seed, texts.filter(|_| kind == "text"), &mut count);
    count.failures.into_iter().find(|f| f.kind == kind && code(f) == code(failure))
}

fn smaller(kernel: &Kernel) -> Vec<Kernel> {
    let mut found = Vec::new();
    for k in 0..kernel.statements.len() {
        if kernel.statements.len() > 1 {
            let keep: Vec<usize> = (0..kernel.statements.len()).filter(|o| *o != k).collect();
            found.push(kernel.with(&keep));
        }
        let s = &kernel.statements[k];
        if s.predicate.is_some() {
            let mut less = kernel.clone();
            less.statements[k].predicate = None;
            found.push(less);
        }
        for value in parts(&s.value) {
            // Two results are those of a reduction.
            if s.second.is_some() && !matches!(value, Expr::Reduce(_)) {
                continue;
            }
            let mut less = kernel.clone();
            less.statements[k].value = value;
            found.push(less.with(&(0..less.statements.len()).collect::<Vec<_>>()));
        }
        for p in s.predicate.iter().flat_map(parts) {
            let mut less = kernel.clone();
            less.statements[k].predicate = Some(p);
            found.push(less);
        }
    }
    if !matches!(kernel.around.lower, loopwright_kernel_ir::Expr::Int(0)) {
        let mut less = kernel.clone();
        less.around.lower = loopwright_kernel_ir::Expr::Int(0);
        less.around.upper = loopwright_kernel_ir::Expr::Int(POSITIONS);
        found.push(less);
    }
    const { assert!(LENGTH >= POSITIONS) };
    found
}

/// The expression with one part of it replaced by a part of that, the largest first.
fn parts(e: &loopwright_kernel_ir::Expr) -> Vec<loopwright_kernel_ir::Expr> {
    use loopwright_kernel_ir::Expr;
    let mut found: Vec<Expr> = e.children().into_iter().cloned().collect();
    if e.children().is_empty() && !matches!(e, Expr::Int(0..2)) {
        found.push(Expr::Int(1));
    }
    for k in 0..e.children().len() {
        for part in e.children().get(k).map(|c| parts(c)).unwrap_or_default() {
            let mut at = 0;
            found.push(e.map_children(&mut |child| {
                at += 1;
                if at - 1 == k { part.clone() } else { child.clone() }
            }));
        }
    }
    found
}
