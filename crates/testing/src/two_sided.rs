//! Both sides of a verdict, compared with independent runs.
//!
//! A *case* is a random kernel ([`affine`]) with a random pipeline ([`moves`]). Each of its steps
//! is applied unconditionally and then judged:
//!
//! - **proved**: the run in tokens ([`Replays::agrees`]) agrees with the declared kernel for all
//!   small sizes, and so does the emulator, with every check on, with the plain interpreter of the
//!   declared kernel, and finds no race. Lowering may still refuse the kernel for its own reasons
//!   ([`LATE`]), which is counted; the instances that it shows are declared ones ([`shown`]).
//! - **refuted**: the witness's failure is reproduced, and the kernel, lowered by force
//!   ([`lower_forced`]), gives another result for the witness's parameters than the declared one,
//!   or races. If it cannot be lowered even so, that is counted, and so is a scan that runs in
//!   another order than its own, or a sum whose first value comes after its terms, if the run
//!   happens to agree.
//! - **unknown**: counted; rare if no data are involved.
//!
//! Whether a step was legal is also determined from small sizes alone, by runs in tokens and the
//! emulator, so that the share of legal and illegal steps does not depend on the judge.

use std::{collections::BTreeMap, fmt::Write, panic::AssertUnwindSafe, time::Instant};

use loopwright_emulator::{Arguments, FaultKind, Options};
use loopwright_kernel_ir::{Diagnostic, Instruction, Lookup, LoopKernel, Name, Tag, Tree};
use loopwright_legality::{
    Basis, Failure as Wrong, Judgement, Parameters, Replays, Stop, Verdict, along, judge,
};
use loopwright_lowering::{LowerOptions, lower, lower_forced, program::Program};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_transforms::{Pipeline, Step};

use crate::{
    affine, case::Case, check::Failure, counts::Count, data, moves, recipes, refusals::LATE, rng::Rng, shown,
    sites,
};

/// Number of steps tried per case.
const STEPS: usize = 9;

fn parameters(n: i64, m: i64) -> Parameters {
    BTreeMap::from([(Name::new("n"), n), (Name::new("m"), m)])
}

/// Sizes tried by runs in tokens. Random steps fix parameters at 2 or 3.
fn sizes() -> Vec<Parameters> {
    let all = [(0, 2), (1, 1), (4, 1), (2, 2), (3, 3), (2, 5), (5, 3), (5, 6)];
    all.into_iter().map(|(n, m)| parameters(n, m)).collect()
}

fn allowed(kernel: &LoopKernel, values: &Parameters) -> bool {
    kernel.assumptions.iter().all(|c| c.holds(&|n| values.get(n).copied()) != Some(false))
}

fn options() -> Options {
    Options { count: false, threads: Some(1), max_steps: 1 << 22, ..Options::default() }
}

/// The results of the declared kernel, cached by sizes and seed.
struct Oracle {
    declared: LoopKernel,
    known: BTreeMap<(Parameters, u64), (Arguments, Arguments)>,
    /// The runs of the declared kernel in tokens, by sizes.
    replays: Replays,
}

impl Oracle {
    fn new(declared: &LoopKernel) -> Oracle {
        Oracle { declared: declared.clone(), known: BTreeMap::new(), replays: Replays::default() }
    }

    /// The arguments before and after the run.
    fn run(&mut self, values: &Parameters, seed: u64) -> Result<(Arguments, Arguments), Failure> {
        let key = (values.clone(), seed);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let Some(arguments) = data::hashed(&self.declared, values, seed) else {
            return Err(Failure {
                kind: "arguments",
                text: "a length is no function of the parameters".into(),
            });
        };
        let inputs = Inputs {
            arrays: arguments.arrays.iter().map(|(n, a)| (n.clone(), a.buffer.clone())).collect(),
            scalars: arguments.scalars.clone(),
            ..Inputs::default()
        };
        let written = interpret(&self.declared, &inputs, Mode::Exact)
            .map_err(|d| Failure { kind: "reference", text: d.to_string() })?;
        let mut result = arguments.clone();
        for (name, buffer) in written {
            if let Some(array) = result.arrays.get_mut(&name) {
                array.buffer = buffer;
            }
        }
        self.known.insert(key, (arguments.clone(), result.clone()));
        Ok((arguments, result))
    }

    /// How the emulator's run of a program fails; `None` if it agrees, or takes too long.
    fn wrong(
        &mut self,
        program: &Program,
        values: &Parameters,
        seed: u64,
    ) -> Result<Option<(&'static str, String)>, Failure> {
        let (mut found, want) = self.run(values, seed)?;
        // At every other size blocks and warps run in another order than that of their numbers.
        let size = values.values().sum::<i64>().unsigned_abs();
        let options = Options { order: Some(size + seed).filter(|order| order % 2 == 1), ..options() };
        match loopwright_emulator::run(program, &mut found, &options) {
            Err(fault) if fault.kind == FaultKind::StepLimit => Ok(None),
            Err(fault) => Ok(Some((fault.kind.code(), format!("{values:?}: {fault}")))),
            Ok(_) => {
                Ok(data::difference(&found, &want)
                    .map(|text| ("other values", format!("{values:?}: {text}"))))
            }
        }
    }
}

/// The evaluation of one step.
struct Evaluated {
    verdict: Verdict,
    after: LoopKernel,
    /// Whether it is legal at small sizes; `None` if data are involved.
    legal: Option<bool>,
    asked: bool,
    late: Option<&'static str>,
    /// Whether the refusal by lowering shows instances, which were compared with a run.
    shown: bool,
    runs: usize,
    wrong: Option<&'static str>,
    unforced: Option<&'static str>,
    times: Vec<(&'static str, f64)>,
}

fn fail<T>(kind: &'static str, text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { kind, text: text.into() })
}

/// Parses a step, which may be user-defined.
fn parse(text: &str) -> Result<Step, Diagnostic> {
    let pipeline = Pipeline::parse_with(text, &moves::registry())?;
    match pipeline.steps() {
        [step] => Ok(step.clone()),
        _ => Err(Diagnostic::new("test", format!("`{text}` is not one step"))),
    }
}

fn unjudged(step: &Step, before: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
    Pipeline::new().step(step.clone()).apply_unjudged(before)
}

/// Applies a step, judges it, and compares the verdict with runs. `None`: the step does not apply.
fn evaluate(oracle: &mut Oracle, before: &LoopKernel, text: &str) -> Result<Option<Evaluated>, Failure> {
    let Ok(step) = parse(text) else { return fail("step-text", text) };
    let Ok(after) = unjudged(&step, before) else { return Ok(None) };
    let rule = match step {
        Step::Together(_) | Step::Composite(_) => Judgement::Ask,
        ref step => step.rule().judgement(before),
    };
    let asked = rule == Judgement::Ask;
    let mut times = Vec::new();
    let mut start = Instant::now();
    let mut took = |what: &'static str, times: &mut Vec<(&'static str, f64)>| {
        times.push((what, start.elapsed().as_secs_f64()));
        start = Instant::now();
    };
    let verdict = match rule {
        Judgement::Theorem(why) => Verdict::Proved { basis: Basis::Theorem(why), queries: 0 },
        Judgement::Ask => judge(before, &after),
    };
    // Sometimes a theorem is checked, too.
    let doubted = !asked && Rng::new(text.len() as u64 ^ before.instructions.len() as u64).chance(25);
    if doubted && let Verdict::Refuted(witness) = judge(before, &after) {
        return fail("theorem", format!("refuted against a theorem: {witness}"));
    }
    let mut verdict = verdict;
    if let Step::Composite(_) = step {
        match (step.judged(before), &verdict) {
            (Ok(_), Verdict::Refuted(_)) => {
                return fail(
                    "composite",
                    "each of its steps is proved, and all of them together are refuted",
                );
            }
            (Ok(judged), _) => verdict = judged.verdict,
            // One of its steps is refused, although the group as a whole would not be.
            (Err(_), Verdict::Proved { .. } | Verdict::Unknown { .. }) => return Ok(None),
            (Err(_), Verdict::Refuted(_)) => {}
        }
    }
    took("judging", &mut times);
    let mut legal = Some(true);
    let mut first_wrong = None;
    for values in sizes().iter().filter(|v| allowed(&after, v)) {
        match oracle.replays.agrees(&after, values) {
            Ok(None) => {}
            Ok(Some(failure)) => {
                legal = Some(false);
                first_wrong = Some(format!("{failure:?} for {values:?}"));
                break;
            }
            Err(Stop::Large) => break,
            Err(_) => {
                legal = None;
                break;
            }
        }
    }
    took("runs in tokens", &mut times);
    let (late, wrong, unforced) = (None, None, None);
    let mut evaluated =
        Evaluated { verdict, after, legal, asked, late, shown: false, runs: 0, wrong, unforced, times };
    match &evaluated.verdict {
        Verdict::Proved { .. } => {
            if let Some(wrong) = first_wrong {
                return fail("false-proof", format!("proved, and in tokens {wrong}"));
            }
            match lower(&evaluated.after, LowerOptions::default()) {
                Err(d) if !LATE.contains(&d.code) => return fail("lowering", d.to_string()),
                Err(d) => {
                    evaluated.late = Some(d.code);
                    evaluated.shown = shown::check(&evaluated.after, &d)?;
                }
                Ok(program) => {
                    let small: Vec<Parameters> =
                        sizes().into_iter().filter(|v| allowed(&evaluated.after, v)).collect();
                    for values in small.iter().rev().step_by(2) {
                        if let Some((kind, what)) = oracle.wrong(&program, values, 0)? {
                            return fail(
                                "false-proof",
                                format!("proved, and the emulator says {kind}: {what}"),
                            );
                        }
                        evaluated.runs += 1;
                    }
                }
            }
        }
        Verdict::Refuted(witness) => {
            let again = oracle.replays.agrees(&evaluated.after, &witness.parameters);
            if again != Ok(Some(witness.failure.clone())) {
                return fail("witness", format!("{witness} comes not again: {again:?}"));
            }
            let mut values = parameters(1, 1);
            values.extend(witness.parameters.clone());
            match lower_forced(&evaluated.after, LowerOptions::default()) {
                Err(d) if !LATE.contains(&d.code) => {
                    return fail("lowering", d.to_string());
                }
                Err(d) => evaluated.unforced = Some(d.code),
                Ok(program) => {
                    // The maximum of several values does not show each of them: one of 64 in one of
                    // 64 draws, and seldom in none of 24.
                    let seeds = if oracle.declared.to_string().contains("max(") { 400 } else { 2 };
                    for seed in 0..seeds {
                        match oracle.wrong(&program, &values, seed)? {
                            Some(("invalid-program", what)) => return fail("invalid-program", what),
                            Some((kind, _)) => {
                                evaluated.wrong = Some(kind);
                                break;
                            }
                            None => {}
                        }
                    }
                    // A program runs lanes one after the other, which is one of their allowed
                    // orders.
                    let jams = evaluated.after.tags.values().any(|t| t.is_jam());
                    if evaluated.wrong.is_none()
                        && jams
                        && lower(&as_single_accesses(&evaluated.after), LowerOptions::default()).is_err()
                    {
                        evaluated.unforced = Some("order of lanes");
                    } else if evaluated.wrong.is_none() && has_scan_without_order(&evaluated.after) {
                        evaluated.unforced = Some("scan without an order");
                    } else if evaluated.wrong.is_none()
                        && is_left_out(&evaluated.after, &program, &witness.failure)
                    {
                        evaluated.unforced = Some("results that nothing reads");
                    } else if evaluated.wrong.is_none()
                        && matches!(witness.failure, Wrong::Points { .. })
                        && is_written_in_another_order(&evaluated.after)
                    {
                        evaluated.unforced = Some("first value before its updates");
                    } else if evaluated.wrong.is_none() {
                        return fail("false-refusal", format!("the emulator finds nothing wrong: {witness}"));
                    }
                }
            }
        }
        Verdict::Unknown { .. } => {}
    }
    took("lowering and emulator", &mut evaluated.times);
    Ok(Some(evaluated))
}

/// The kernel with `ilp` in place of `vec`: the same order of lanes, and nothing has to be aligned.
fn as_single_accesses(kernel: &LoopKernel) -> LoopKernel {
    let mut data = (**kernel).clone();
    for tag in data.tags.values_mut().filter(|t| **t == Tag::Vec) {
        *tag = Tag::Ilp;
    }
    LoopKernel::from_data(data)
}

/// Whether what goes wrong is in instructions that lowering leaves out, since nothing reads their
/// results: no run of the program shows it.
fn is_left_out(kernel: &LoopKernel, program: &Program, wrong: &Wrong) -> bool {
    let runs = |i: &Instruction| program.leaves.iter().any(|leaf| leaf.part.instruction == i.id);
    let mut left_out = kernel.instructions.iter().filter(|i| !runs(i));
    let is_written = |array: &Name| {
        kernel.instructions.iter().any(|i| runs(i) && i.targets.iter().any(|t| t.array == *array))
    };
    let mut is_read_by = |reader: &Name| left_out.any(|i| i.id == *reader);
    match wrong {
        Wrong::Race { cell, .. } | Wrong::Output { cell, .. } => !is_written(&cell.array),
        Wrong::Read { reader, cell, .. } => is_read_by(&reader.instruction) || !is_written(&cell.array),
        Wrong::Points { reader, .. } => is_read_by(&reader.instruction),
    }
}

/// Whether lowering writes two accesses in an order that is not the kernel's, as the final check
/// finds. An accumulator may be declared with its first value before a guard, though the kernel has
/// the updates first: the run of the program is not that of the kernel.
fn is_written_in_another_order(kernel: &LoopKernel) -> bool {
    lower(kernel, LowerOptions::default()).is_err_and(|d| d.code == "wrong-order")
}

/// Whether a kernel has a scan whose loops are no longer its order. Instance `i` of a scan has the
/// points up to `i`; lowered by force, the loops carry what has come so far. If all points are
/// equal, the second instance to run has the value of the second one of the scan, whichever it is:
/// that the run agrees says nothing of the kernel.
fn has_scan_without_order(kernel: &LoopKernel) -> bool {
    let lookup = Lookup::new(kernel);
    let mut found = false;
    Tree::visit_leaves(&kernel.tree, &mut |loops, part| {
        let Some(instruction) = lookup.instruction(&part.instruction) else { return };
        let inames = match along(kernel, &lookup, instruction) {
            None => return,
            Some(Err(_)) => Vec::new(),
            Some(Ok(inames)) => inames,
        };
        // The coarsest first.
        let places = inames.iter().filter_map(|(n, _)| loops.iter().position(|l| *l == n));
        found |= inames.is_empty() || !places.is_sorted();
    });
    found
}

/// Checks that `assume_legal` does not admit what is refuted.
fn vouched(rng: &mut Rng, kernel: &LoopKernel) -> Result<bool, Failure> {
    let kind = moves::kind(rng);
    let Some(text) =
        moves::step(rng, kernel, kind).filter(|_| !["assume_legal", "composite"].contains(&kind))
    else {
        return Ok(false);
    };
    let Ok(step) = parse(&text) else { return fail("step-text", text) };
    let Ok(after) = unjudged(&step, kernel) else { return Ok(false) };
    let verdict = match step {
        Step::Together(_) => judge(kernel, &after),
        ref step => match step.rule().judgement(kernel) {
            Judgement::Theorem(why) => Verdict::Proved { basis: Basis::Theorem(why), queries: 0 },
            Judgement::Ask => judge(kernel, &after),
        },
    };
    let both = format!("assume_legal(\"at random\")\n{text}");
    let result = Pipeline::parse_with(&both, &moves::registry()).and_then(|p| p.apply(kernel));
    match (&verdict, result.map(|k| k.vouched.len())) {
        (Verdict::Proved { .. }, Ok(0))
        | (Verdict::Unknown { .. }, Ok(1))
        | (Verdict::Refuted(_), Err(_)) => Ok(true),
        (verdict, result) => {
            fail("vouched", format!("{text}: {verdict}, and with `assume_legal` {result:?}"))
        }
    }
}

/// A kernel during random steps.
struct Walk {
    seed: u64,
    declared: String,
    data: bool,
    oracle: Oracle,
    kernel: LoopKernel,
    taken: Vec<String>,
    count: Count,
}

impl Walk {
    fn new(seed: u64) -> Walk {
        let affine::Affine { text, data } = affine::kernel(seed);
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("seed {seed}\n{text}\n{d}"));
        let count = Count { cases: 1, ..Count::default() };
        Walk { seed, data, oracle: Oracle::new(&kernel), kernel, taken: Vec::new(), count, declared: text }
    }

    /// Records a disagreement with the case that shows it: the previous steps, and finally the one
    /// concerned.
    fn found(&mut self, last: &str, failure: Failure) {
        let mut steps = self.taken.clone();
        steps.push(last.to_string());
        self.count.failures.push((Case { kernel: self.declared.clone(), steps }, failure));
    }

    /// `assume_legal` before a step of any kind.
    fn vouch(&mut self, rng: &mut Rng) {
        let outcome = vouched(rng, &self.kernel);
        let tally = self.count.kinds.entry("assume_legal").or_default();
        match outcome {
            Ok(true) => {
                tally.reached += 1;
                tally.proved += 1;
            }
            Ok(false) => tally.refused += 1,
            Err(failure) => self.found("assume_legal(\"at random\")", failure),
        }
    }

    /// Applies, judges and counts a step; `None` if it cannot be applied, or disagrees.
    fn evaluate(&mut self, kind: &'static str, step: &str) -> Option<Evaluated> {
        let evaluated =
            std::panic::catch_unwind(AssertUnwindSafe(|| evaluate(&mut self.oracle, &self.kernel, step)))
                .unwrap_or_else(|payload| {
                    let text = payload.downcast_ref::<String>().cloned().unwrap_or_default();
                    Err(Failure { kind: "panic", text })
                });
        let count = &mut self.count;
        let tally = count.kinds.entry(kind).or_default();
        let e = match evaluated {
            Ok(Some(e)) => e,
            Ok(None) => {
                tally.refused += 1;
                return None;
            }
            Err(failure) => {
                tally.reached += 1;
                self.found(step, failure);
                return None;
            }
        };
        tally.reached += 1;
        if e.asked {
            count.asked += 1;
            count.legal += usize::from(e.legal == Some(true));
            count.illegal += usize::from(e.legal == Some(false));
        }
        count.affine += usize::from(!self.data);
        count.runs += e.runs;
        count.shown += usize::from(e.shown);
        for (what, seconds) in &e.times {
            *count.times.entry(what).or_insert(0.0) += seconds;
        }
        match &e.verdict {
            Verdict::Proved { .. } => tally.proved += 1,
            Verdict::Refuted(_) => tally.refuted += 1,
            Verdict::Unknown { reason, .. } => {
                tally.unknown += 1;
                if !self.data {
                    count.affine_unknown += 1;
                    let (seed, text, taken) = (self.seed, &self.declared, self.taken.join("\n"));
                    let mut example = String::new();
                    let _ = write!(example, "seed {seed}\n{text}{taken}\n{step}");
                    let brief = format!("{kind}: {}", without_names(reason));
                    count.reasons.entry(brief).or_insert((0, example)).0 += 1;
                }
            }
        }
        for (code, counts) in
            [(e.wrong, &mut count.wrong), (e.unforced, &mut count.unforced), (e.late, &mut count.late)]
        {
            if let Some(code) = code {
                *counts.entry(code).or_insert(0) += 1;
            }
        }
        Some(e)
    }

    /// Continues with the result of a step if it is proved and can be lowered. If the only obstacle
    /// is a value that ends with its device kernel, `save_reload` of some temporaries may keep it.
    fn take(&mut self, step: String, e: Evaluated) {
        if !matches!(e.verdict, Verdict::Proved { .. }) || !matches!(e.late, None | Some("ends-with-kernel"))
        {
            return;
        }
        let before = (self.kernel.clone(), self.taken.len());
        self.kernel = e.after;
        self.taken.push(step);
        if e.late.is_none() {
            return;
        }
        for t in self.kernel.temporaries.clone() {
            let step = format!("save_reload({})", t.name);
            let Some(e) = self.evaluate("save_reload", &step) else { continue };
            if let Verdict::Proved { .. } = e.verdict {
                self.kernel = e.after;
                self.taken.push(step);
                match e.late {
                    None => return,
                    Some("ends-with-kernel") => {}
                    Some(_) => break,
                }
            }
        }
        self.kernel = before.0;
        self.taken.truncate(before.1);
    }
}

/// Runs the case of a seed.
///
/// # Panics
/// If the random kernel is invalid.
pub fn case(seed: u64) -> Count {
    let mut walk = Walk::new(seed);
    let mut rng = Rng::new(seed ^ 0x9e37_79b9);
    let often = if sites::is_rare(&walk.kernel) { 90 } else { 50 };
    let mut planned = if rng.chance(often) { recipes::recipe(&mut rng, &walk.kernel) } else { Vec::new() };
    planned.reverse();
    for _ in 0..STEPS {
        let (kind, step) = match planned.pop() {
            Some(text) => {
                let name = text.split('(').next().unwrap_or_default().to_string();
                match moves::KINDS.iter().find(|(k, _)| *k == name) {
                    Some((kind, _)) => (*kind, text),
                    None => continue,
                }
            }
            None => {
                let kind = moves::kind(&mut rng);
                // Several tries: structural refusals are not informative.
                let mut text = None;
                for _ in 0..4 {
                    text = moves::step(&mut rng, &walk.kernel, kind);
                    let made = |t: &String| parse(t).is_ok_and(|s| unjudged(&s, &walk.kernel).is_ok());
                    if text.as_ref().is_some_and(made) {
                        break;
                    }
                }
                match text {
                    Some(text) => (kind, text),
                    None => continue,
                }
            }
        };
        if kind == "assume_legal" {
            walk.vouch(&mut rng);
        } else if let Some(e) = walk.evaluate(kind, &step) {
            walk.take(step, e);
        }
    }
    walk.count
}

/// A reason without the text in quotation marks.
fn without_names(reason: &str) -> String {
    reason.split('`').enumerate().map(|(k, piece)| if k % 2 == 0 { piece } else { "_" }).collect()
}

/// How the last step of a case disagrees, whose steps before are proved; `None` if it does not.
pub fn disagreement(case: &Case) -> Option<Failure> {
    let declared = LoopKernel::parse(&case.kernel).ok()?;
    let (last, before) = case.steps.split_last()?;
    let mut kernel = declared.clone();
    for text in before {
        let step = parse(text).ok()?;
        let after = unjudged(&step, &kernel).ok()?;
        if let Judgement::Ask = step.rule().judgement(&kernel)
            && !matches!(judge(&kernel, &after), Verdict::Proved { .. })
        {
            return None;
        }
        kernel = after;
    }
    let run = || evaluate(&mut Oracle::new(&declared), &kernel, last);
    match std::panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(_)) => None,
        Ok(Err(failure)) => Some(failure),
        Err(_) => Some(Failure { kind: "panic", text: String::new() }),
    }
}

/// Whether the last step of a case still disagrees in the same way.
fn fails(case: &Case, kind: &str) -> Option<Failure> {
    disagreement(case).filter(|failure| failure.kind == kind)
}

/// A smaller case that disagrees in the same way.
pub fn shrink(case: &Case, failure: &Failure) -> (Case, Failure) {
    let (mut best, mut failure) = (case.clone(), failure.clone());
    let mut budget = 300;
    'outer: loop {
        for smaller in best.smaller() {
            if budget == 0 {
                break 'outer;
            }
            budget -= 1;
            if let Some(f) = fails(&smaller, failure.kind) {
                (best, failure) = (smaller, f);
                continue 'outer;
            }
        }
        break;
    }
    (best, failure)
}
