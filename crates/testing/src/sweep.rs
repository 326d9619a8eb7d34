//! Hand-written kernels under random pipelines: refuted steps are really wrong, and proved kernels
//! can be lowered.
//!
//! A case is a kernel of `examples/polybench` or `examples/kernels` with a random pipeline
//! ([`moves`]). Each step is applied unconditionally, judged, and then compared with brute-force
//! runs ([`brute`]):
//!
//! - **refuted**: with the witness's sizes the transformed kernel gives other outputs than the
//!   declared one, or races; the instances named by the witness are declared ones, the sizes
//!   satisfy the assumptions, and the cell is written and read by the named instances;
//! - **proved**: for some small sizes both give the same outputs, nothing races, and lowering gives
//!   a program that runs in the emulator without a fault. Lowering may refuse for the reasons in
//!   [`LATE`]; any other refusal fails, one by the final check too.

use std::{collections::BTreeMap, fmt, path::Path};

use loopwright_kernel_ir::{Arg, Fact, LoopKernel, Name, Part};
use loopwright_legality::{Basis, Failure as Wrong, Instance, Judgement, Token, Verdict, Witness, judge};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_transforms::{Pipeline, Step};

use crate::{
    brute::{self, Outcome, Sizes, Stop},
    case::Case,
    check::Failure,
    data, moves, recipes,
    refusals::LATE,
    rng::Rng,
    shown,
};

/// Number of steps tried per case.
const STEPS: usize = 8;

/// A kernel that was written by hand.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name of its file.
    pub name: String,
    /// The text of the kernel.
    pub text: String,
}

/// The kernels of the examples, in the order of their names.
///
/// # Panics
/// If a file cannot be read.
pub fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found = Vec::new();
    for folder in ["kernels", "polybench"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
        for path in entries.filter_map(|e| Some(e.ok()?.path())) {
            if path.extension().is_some_and(|e| e == "lw") {
                let text =
                    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                found.push(Source { name, text });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// What a sweep has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Number of pipelines that were tried.
    pub cases: usize,
    /// Steps that were proved, and how many of them brute force confirmed.
    pub proved: [usize; 2],
    /// Steps that were refuted, and how many of them brute force confirmed.
    pub refuted: [usize; 2],
    /// Steps neither proved nor refuted.
    pub unknown: usize,
    /// Number of runs in the emulator.
    pub runs: usize,
    /// Proved kernels that lowering refuses, by code.
    pub late: BTreeMap<&'static str, usize>,
    /// Cases in which two answers disagree, or lowering refuses what is proved for no reason that
    /// the kernel has; each is a bug.
    pub failures: Vec<(Case, Failure)>,
}

impl Seen {
    /// The statistics of both, field by field.
    pub fn with(mut self, other: Seen) -> Seen {
        self.cases += other.cases;
        for (mine, theirs) in [(&mut self.proved, other.proved), (&mut self.refuted, other.refuted)] {
            mine[0] += theirs[0];
            mine[1] += theirs[1];
        }
        self.unknown += other.unknown;
        self.runs += other.runs;
        for (code, n) in other.late {
            *self.late.entry(code).or_insert(0) += n;
        }
        self.failures.extend(other.failures);
        self
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} pipelines; {} steps proved ({} of them run by brute force, {} runs in the \
             emulator), {} refuted ({} of them by brute force), {} undecided",
            self.cases,
            self.proved[0],
            self.proved[1],
            self.runs,
            self.refuted[0],
            self.refuted[1],
            self.unknown
        )?;
        let late: Vec<String> = self.late.iter().map(|(code, n)| format!("{code} {n}")).collect();
        writeln!(f, "refused later by lowering: {}", late.join(", "))?;
        write!(f, "{} defects and disagreements", self.failures.len())
    }
}

fn failure<T>(kind: &'static str, text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { kind, text: text.into() })
}

fn parameters(kernel: &LoopKernel) -> Vec<Name> {
    let integer = |a: &Arg| match a {
        Arg::Scalar(s) => s.dtype.known().is_some_and(|t| t.is_integer()),
        Arg::Array(_) => false,
    };
    kernel.args.iter().filter(|a| integer(a)).map(|a| a.name().clone()).collect()
}

fn allowed(kernel: &LoopKernel, sizes: &Sizes) -> bool {
    kernel.assumptions.iter().all(|c| c.holds(&|n| sizes.get(n).copied()) != Some(false))
}

/// Small sizes that the assumptions allow.
fn sizes(rng: &mut Rng, kernel: &LoopKernel) -> Option<Sizes> {
    let names = parameters(kernel);
    (0..20)
        .map(|_| names.iter().map(|n| (n.clone(), rng.below(7) as i64)).collect())
        .find(|sizes| allowed(kernel, sizes))
}

/// The runs of both forms; `None` if they depend on data, or take too long.
fn both(after: &LoopKernel, sizes: &Sizes) -> Result<Option<(Outcome, Outcome)>, Failure> {
    match (brute::run(after.declared(), sizes), brute::run(after, sizes)) {
        (Ok(declared), Ok(run)) => Ok(Some((declared, run))),
        (Err(_), _) | (_, Err(Stop::Large | Stop::Ordered | Stop::Data)) => Ok(None),
    }
}

/// How the transformed kernel differs, if it does.
fn differ(declared: &Outcome, run: &Outcome) -> Option<String> {
    if let Some((array, index)) = &run.race {
        return Some(format!("a race in {array}{index:?}"));
    }
    let cells = declared.outputs.keys().chain(run.outputs.keys());
    let mut other = cells.filter(|cell| declared.outputs.get(*cell) != run.outputs.get(*cell));
    other.next().map(|(array, index)| format!("another value in {array}{index:?}"))
}

fn instance(i: &Instance) -> brute::Instance {
    let mut point = i.point.clone();
    point.sort();
    brute::Instance { instruction: i.instruction.clone(), point }
}

/// Compares a witness with runs. Returns whether there were any.
fn check_witness(after: &LoopKernel, witness: &Witness) -> Result<bool, Failure> {
    let mut sizes: Sizes = parameters(after).into_iter().map(|n| (n, 1)).collect();
    sizes.extend(witness.parameters.clone());
    if !allowed(after, &sizes) {
        return failure("sizes", format!("the assumptions do not hold: {witness}"));
    }
    let Some((declared, run)) = both(after, &sizes)? else { return Ok(false) };
    if differ(&declared, &run).is_none() {
        return failure("false-refusal", format!("no run differs: {witness}"));
    }
    // A reduction over several inames may become several in another order: the instance of the
    // result suffices.
    let runs = |i: &Instance| declared.ran.contains(&instance(i));
    for i in witness.instances.iter().filter(|i| after.declared().instruction(&i.instruction).is_some()) {
        if !runs(i) {
            return failure("outside", format!("{i} is not declared: {witness}"));
        }
    }
    let agree = |token: &Token, last: Option<&brute::Instance>| match token {
        Token::Definition(i, _) => last == Some(&instance(i)),
        // Whichever of them came last.
        Token::Updated(_, all) => last.is_some_and(|last| all.iter().any(|i| instance(i) == *last)),
        Token::Unwritten | Token::Initial(_) => last.is_none(),
    };
    match &witness.failure {
        Wrong::Race { .. } if run.race.is_none() => failure("no-race", format!("nothing races: {witness}")),
        Wrong::Read { reader, cell, expected, .. } if !matches!(reader.part, Part::Init(_)) => {
            let read = (instance(reader), (cell.array.clone(), cell.index.clone()));
            match declared.seen.get(&read) {
                Some(known) if agree(expected, known.as_ref()) => Ok(true),
                other => failure("other-read", format!("{other:?} in a run: {witness}")),
            }
        }
        Wrong::Output { cell, expected, .. } => {
            match agree(expected, declared.last.get(&(cell.array.clone(), cell.index.clone()))) {
                true => Ok(true),
                false => failure("other-output", format!("{witness}")),
            }
        }
        _ => Ok(true),
    }
}

/// A kernel during random steps.
struct Walk {
    text: String,
    kernel: LoopKernel,
    taken: Vec<String>,
    rng: Rng,
    seen: Seen,
}

impl Walk {
    fn case(&self, last: &str) -> Case {
        let steps = self.taken.iter().cloned().chain([last.to_string()]).collect();
        Case { kernel: self.text.clone(), steps }
    }

    /// Checks a proved kernel: equal by brute force, and lowered to a program. Returns the code
    /// with which lowering refuses it, if it does.
    fn check_proved(&mut self, after: &LoopKernel) -> Result<Option<&'static str>, Failure> {
        if let Some(sizes) = sizes(&mut self.rng, after)
            && let Some((declared, run)) = both(after, &sizes)?
        {
            if let Some(what) = differ(&declared, &run) {
                return failure("false-proof", format!("{what} with {sizes:?}"));
            }
            self.seen.proved[1] += 1;
        }
        let program = match lower(after, LowerOptions::default()) {
            Ok(program) => program,
            Err(d) => {
                *self.seen.late.entry(d.code).or_insert(0) += 1;
                shown::check(after, &d)?;
                return match LATE.contains(&d.code) {
                    true => Ok(Some(d.code)),
                    false => failure(d.code, d.to_string()),
                };
            }
        };
        // Several facts about data would have to be satisfied together.
        let facts = after.facts.iter().any(|f| !matches!(f, Fact::Range { .. } | Fact::Monotone(_)));
        if let Some(sizes) = sizes(&mut self.rng, after).filter(|_| !facts)
            && let Some(mut arguments) = data::arguments(after.declared(), &sizes)
        {
            let options = loopwright_emulator::Options {
                count: false,
                threads: Some(1),
                max_steps: 1 << 20,
                ..Default::default()
            };
            match loopwright_emulator::run(&program, &mut arguments, &options) {
                Err(fault) if fault.kind != loopwright_emulator::FaultKind::StepLimit => {
                    return failure("emulator", format!("{sizes:?}: {fault}"));
                }
                _ => self.seen.runs += 1,
            }
        }
        Ok(None)
    }

    /// Applies a step, judges it and compares the verdict with runs; continues from proved kernels
    /// that can be lowered.
    fn step(&mut self, text: &str) -> Result<(), Failure> {
        let Ok(pipeline) = Pipeline::parse_with(text, &moves::registry()) else { return Ok(()) };
        let [step] = pipeline.steps() else { return Ok(()) };
        let Ok(after) = Pipeline::new().step(step.clone()).apply_unjudged(&self.kernel) else {
            return Ok(());
        };
        let rule = match step {
            Step::Together(_) | Step::Composite(_) => Judgement::Ask,
            step => step.rule().judgement(&self.kernel),
        };
        let verdict = match rule {
            Judgement::Theorem(why) => Verdict::Proved { basis: Basis::Theorem(why), queries: 0 },
            Judgement::Ask => judge(&self.kernel, &after),
        };
        match verdict {
            Verdict::Proved { .. } => {
                self.seen.proved[0] += 1;
                if self.check_proved(&after)?.is_none() {
                    self.kernel = after;
                    self.taken.push(text.to_string());
                }
            }
            Verdict::Refuted(witness) => {
                self.seen.refuted[0] += 1;
                self.seen.refuted[1] += usize::from(check_witness(&after, &witness)?);
            }
            Verdict::Unknown { .. } => self.seen.unknown += 1,
        }
        Ok(())
    }
}

/// Runs a kernel through the random pipeline of a seed.
///
/// # Panics
/// If the text is not a kernel.
pub fn case(source: &Source, seed: u64) -> Seen {
    let kernel = LoopKernel::parse(&source.text).unwrap_or_else(|d| panic!("{}: {d}", source.name));
    let seen = Seen { cases: 1, ..Seen::default() };
    let rng = Rng::new(source.name.bytes().fold(seed, |h, b| h.wrapping_mul(31) ^ u64::from(b)));
    let mut walk = Walk { text: source.text.clone(), kernel, taken: Vec::new(), rng, seen };
    let mut planned = match walk.rng.chance(50) {
        true => recipes::recipe(&mut walk.rng, &walk.kernel),
        false => Vec::new(),
    };
    planned.reverse();
    for _ in 0..STEPS {
        let text = planned.pop().or_else(|| {
            let kind = moves::kind(&mut walk.rng);
            moves::step(&mut walk.rng, &walk.kernel, kind).filter(|_| kind != "assume_legal")
        });
        let Some(text) = text else { continue };
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| walk.step(&text)));
        let made = made.unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().cloned().unwrap_or_default();
            failure("panic", text)
        });
        if let Err(found) = made {
            walk.seen.failures.push((walk.case(&text), found));
        }
    }
    walk.seen
}

/// Removes steps one by one as long as the case fails in the same way.
pub fn shrink(case: &Case, kind: &str) -> Case {
    let mut best = case.clone();
    'again: loop {
        for k in (0..best.steps.len().saturating_sub(1)).rev() {
            let mut fewer = best.clone();
            fewer.steps.remove(k);
            if fails(&fewer, kind) {
                best = fewer;
                continue 'again;
            }
        }
        return best;
    }
}

/// Whether the last step of a case fails in this way.
pub fn fails(case: &Case, kind: &str) -> bool {
    let Ok(kernel) = LoopKernel::parse(&case.kernel) else { return false };
    let Some((last, before)) = case.steps.split_last() else { return false };
    let seen = Seen::default();
    let mut walk = Walk { text: case.kernel.clone(), kernel, taken: Vec::new(), rng: Rng::new(1), seen };
    for text in before {
        if walk.step(text).is_err() || walk.taken.last() != Some(text) {
            return false;
        }
    }
    walk.step(last).is_err_and(|found| found.kind == kind)
}
