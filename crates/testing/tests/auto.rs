//! Random kernels of the two-sided test through `auto`, declared and begun by random steps: what it
//! finds applies, lowers wherever the kernel as it is does, is the same each time, and computes
//! what is declared.
//!
//! `LOOPWRIGHT_CASES` is the number of kernels (10000 is the long run), `LOOPWRIGHT_SEED` the first
//! seed; `LOOPWRIGHT_SHOW=1` prints each kernel with what was found and refused.

use std::{collections::BTreeMap, time::Instant};

use loopwright_auto::{Launch, auto_for};
use loopwright_emulator::{FaultKind, Options, run};
use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_lowering::{LowerOptions, Target, lower};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_testing::{affine, data, moves, rng::Rng};
use loopwright_transforms::Step;
use rayon::prelude::*;

/// Number of kernels of a short run.
const CASES: u64 = 120;

/// Sizes of the runs; tiles are much larger, so that all of them are partial.
const SIZES: [(i64, i64); 4] = [(0, 2), (4, 1), (3, 5), (5, 6)];

/// The launch that a kernel's pipeline is found for: none for half of them, else one of few or
/// many, short or long loops. It decides about forms alone; runs are at the sizes above.
fn launch(seed: u64) -> Launch {
    match seed % 8 {
        1 => Launch::of([("n", 5), ("m", 6)]),
        3 => Launch::of([("n", 600_000), ("m", 8)]),
        5 => Launch::of([("n", 64), ("m", 1 << 22)]),
        7 => Launch::of([("n", 1 << 20), ("m", 100)]),
        _ => Launch::default(),
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

/// What came of a kernel.
#[derive(Default)]
struct Came {
    /// Number of rules that were applied.
    rules: usize,
    /// Number of nests without one.
    without: usize,
    /// Number of runs that were compared.
    runs: usize,
    /// Time that `auto` took.
    seconds: f64,
}

/// Steps with which users begin, by how often they do.
const BEGINNINGS: &[&str] = &[
    "split_iname",
    "split_iname",
    "split_iname",
    "tag_inames",
    "tag_inames",
    "tag_inames",
    "add_prefetch",
    "reorder",
    "join_inames",
    "rename_iname",
    "unroll",
    "privatize_temporary",
];

/// A kernel after some legal steps of these kinds, and their text.
fn begun(seed: u64, declared: &LoopKernel) -> (LoopKernel, String) {
    let mut rng = Rng::new(seed ^ 0x1f2e_3d4c);
    let (mut kernel, mut text) = (declared.clone(), String::new());
    for _ in 0..12 {
        let kind = BEGINNINGS[rng.below(BEGINNINGS.len())];
        let Some(step) = moves::step(&mut rng, &kernel, kind) else { continue };
        let Ok(after) = Step::parse(&step).and_then(|parsed| parsed.proved(&kernel)) else { continue };
        if lower(&after, LowerOptions::default()).is_err() {
            continue;
        }
        kernel = after;
        text += &format!("{step}\n");
    }
    (kernel, text)
}

fn case(seed: u64, is_begun: bool) -> Result<Came, String> {
    let text = affine::kernel(seed).text;
    let declared = LoopKernel::parse(&text).map_err(|d| format!("{d}\n{text}"))?;
    let (begun, steps) = if is_begun { begun(seed, &declared) } else { (declared.clone(), String::new()) };
    let (start, mut came) = (Instant::now(), Came::default());
    let found = auto_for(&begun, &Target::default(), &launch(seed));
    let fail = |what: String| format!("seed {seed}: {what}\n{text}\n{steps}{found:#}");
    came.seconds = start.elapsed().as_secs_f64();
    if std::env::var_os("LOOPWRIGHT_SHOW").is_some() {
        println!("seed {seed}\n{text}\n{steps}{found:#}");
    }
    if seed % 8 < 2 && auto_for(&begun, &Target::default(), &launch(seed)) != found {
        return Err(fail("another pipeline the second time".into()));
    }
    match found.pipeline.apply(&begun) {
        Ok(kernel) if kernel == found.kernel => {}
        Ok(_) => return Err(fail("its pipeline makes another kernel".into())),
        Err(d) => return Err(fail(d.to_string())),
    }
    for decision in &found.decisions {
        came.rules += usize::from(decision.rule.is_some());
        came.without += usize::from(decision.rule.is_none());
    }
    let program = match lower(&found.kernel, LowerOptions::default()) {
        Ok(program) => program,
        // Nothing that is proposed is taken then.
        Err(_) if lower(&begun, LowerOptions::default()).is_err() => return Ok(came),
        Err(d) => return Err(fail(format!("it does not lower, and the kernel as it is does: {d}"))),
    };
    for (n, m) in SIZES {
        let values = BTreeMap::from([(Name::new("n"), n), (Name::new("m"), m)]);
        if found.kernel.assumptions.iter().any(|c| c.holds(&|n| values.get(n).copied()) == Some(false)) {
            continue;
        }
        let Some(given) = data::hashed(&declared, &values, 0) else { continue };
        let inputs = Inputs {
            arrays: given.arrays.iter().map(|(n, a)| (n.clone(), a.buffer.clone())).collect(),
            scalars: given.scalars.clone(),
            ..Inputs::default()
        };
        let written = interpret(&declared, &inputs, Mode::Exact).map_err(|d| fail(d.to_string()))?;
        let (mut expected, mut got) = (given.clone(), given);
        for (name, buffer) in written {
            if let Some(array) = expected.arrays.get_mut(&name) {
                array.buffer = buffer;
            }
        }
        let options = Options { count: false, threads: Some(1), max_steps: 1 << 22, ..Options::default() };
        match run(&program, &mut got, &options) {
            Err(fault) if fault.kind == FaultKind::StepLimit => continue,
            Err(fault) => return Err(fail(format!("{values:?}: {fault}"))),
            Ok(_) => {}
        }
        if let Some(difference) = data::difference(&got, &expected) {
            return Err(fail(format!("{values:?}: {difference}")));
        }
        came.runs += 1;
    }
    Ok(came)
}

#[test]
fn random_kernels_are_computed_as_declared() {
    all(false);
}

#[test]
fn random_kernels_that_steps_have_begun_are_computed_as_declared() {
    all(true);
}

fn all(is_begun: bool) {
    let (cases, first) = (setting("LOOPWRIGHT_CASES", CASES), setting("LOOPWRIGHT_SEED", 0));
    let all: Vec<Result<Came, String>> =
        (0..cases).into_par_iter().map(|k| case(first.wrapping_add(k), is_begun)).collect();
    let wrong: Vec<&String> = all.iter().filter_map(|r| r.as_ref().err()).collect();
    let sum = |of: fn(&Came) -> usize| all.iter().flatten().map(of).sum::<usize>();
    let (rules, without, runs) = (sum(|c| c.rules), sum(|c| c.without), sum(|c| c.runs));
    println!("{cases} kernels: {rules} nests with a rule, {without} without, {runs} runs");
    let mut times: Vec<(f64, u64)> =
        all.iter().zip(first..).filter_map(|(r, k)| Some((r.as_ref().ok()?.seconds, k))).collect();
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (all_seconds, slowest) = (times.iter().map(|(s, _)| s).sum::<f64>(), &times[..times.len().min(8)]);
    println!("auto took {all_seconds:.1} s; longest, with seeds: {slowest:.2?}");
    assert!(wrong.is_empty(), "{} of {cases}\n{}", wrong.len(), wrong[0]);
    // Most kernels run at most sizes, and have something that is parallel.
    assert!(runs as u64 >= cases && rules as u64 >= cases / if is_begun { 4 } else { 2 });
}
