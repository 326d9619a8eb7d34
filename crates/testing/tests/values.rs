//! What expressions mean: the validator, the plain interpreter, the emulator, the printed text and
//! the replay of counter-examples against an evaluator written from `kernel-ir/values.md` alone,
//! see [`loopwright_testing::values`].
//!
//! `make values` is the long run: `LOOPWRIGHT_CASES` is the number of kernels, `LOOPWRIGHT_SEED`
//! the first seed. A disagreement is shrunk and printed as a kernel.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use loopwright_kernel_ir::UpdateOp;
use loopwright_testing::values::{
    compare::{Count, case, shrink},
    complex,
    generate::kernel,
};
use loopwright_text_check::Checker;
use rayon::prelude::*;

/// Number of kernels of a short run, and of statements of each.
const CASES: u64 = 16;
const STATEMENTS: usize = 20;
/// Number of statements of a kernel with complex numbers.
const LINES: usize = 8;
/// Number of kernels of the long run, which has 10^4 expressions and 10^6 evaluations of them.
const LONG: u64 = 700;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|s| s.parse().ok())
}

/// A folder for the texts of a long run, which are not kept.
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("loopwright-{name}-{}", std::process::id()))
}

/// The compiler of texts. Those of the short run are the same each time and are kept.
fn checker(folder: Option<&Path>) -> Checker {
    let checker = folder.map_or_else(Checker::new, Checker::with_folder);
    checker.unwrap().without_warnings(&["error"])
}

/// Complex numbers are the pairs of the page.
#[test]
fn complex_numbers_are_pairs() {
    // A quarter of the kernels of the other test.
    let cases = setting("LOOPWRIGHT_CASES").map_or(CASES, |n| n.div_ceil(4));
    let first = setting("LOOPWRIGHT_SEED").unwrap_or(1);
    let folder = setting("LOOPWRIGHT_CASES").map(|_| folder("complex-values"));
    let checker = checker(folder.as_deref());
    let texts = (setting("LOOPWRIGHT_TEXTS") != Some(0)).then_some(&checker);
    let all: Vec<(u64, (Count, Vec<String>))> = (first..first + cases)
        .into_par_iter()
        .map(|seed| (seed, complex::case(seed, LINES, texts)))
        .collect();
    let (mut total, mut failures) = (Count::default(), Vec::new());
    for (seed, (count, mut found)) in all {
        total = total.with(count);
        found.iter_mut().for_each(|text| *text = format!("---- seed {seed}, {text}"));
        failures.append(&mut found);
    }
    println!(
        "{} complex kernels, {} expressions, {} evaluations, {} texts; {} refusals alike; left out: {:?}",
        total.kernels, total.expressions, total.evaluations, total.texts, total.refused, total.left_out,
    );
    if let Some(folder) = folder {
        std::fs::remove_dir_all(folder).unwrap();
    }
    let count = failures.len();
    failures.truncate(12);
    assert!(failures.is_empty(), "{count} disagreements\n{}", failures.join("\n"));
}

#[test]
fn all_evaluators_agree() {
    let (cases, first) =
        (setting("LOOPWRIGHT_CASES").unwrap_or(CASES), setting("LOOPWRIGHT_SEED").unwrap_or(1));
    let long = setting("LOOPWRIGHT_CASES").is_some();
    let folder = long.then(|| folder("values"));
    let checker = checker(folder.as_deref());
    let texts = (setting("LOOPWRIGHT_TEXTS") != Some(0)).then_some(&checker);
    let done = AtomicUsize::new(0);
    let one = |seed: u64| {
        if long {
            // A text with undefined behaviour traps, and ends the process.
            println!("seed {seed}");
        }
        let count = case(seed, STATEMENTS, texts);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(100) {
            println!("{done} kernels of {cases}");
        }
        (seed, count)
    };
    println!("seeds {first} to {}", first + cases - 1);
    let all: Vec<(u64, Count)> = (first..first + cases).into_par_iter().map(one).collect();
    let mut text = String::new();
    let mut kinds = BTreeSet::new();
    let mut total = Count::default();
    for (seed, count) in all {
        for failure in &count.failures {
            // The first ones, and one of each kind and message.
            let message =
                failure.text.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
            if kinds.len() < 12 && kinds.insert((failure.kind, message)) {
                let small =
                    shrink(failure, seed, texts, setting("LOOPWRIGHT_SHRINK").unwrap_or(300) as usize);
                text += &format!("---- seed {seed}, {}: {}\n{}", small.kind, small.text, small.kernel);
            }
        }
        total = total.with(count);
    }
    println!(
        "{} kernels, {} expressions, {} evaluations, {} texts; {} refusals and {} errors alike; \
         {:?} values, numbers and equals of replays, {} predicates; left out: {:?}",
        total.kernels,
        total.expressions,
        total.evaluations,
        total.texts,
        total.refused,
        total.errors,
        total.replayed,
        total.predicates,
        total.left_out,
    );
    if let Some(folder) = folder {
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(total.failures.is_empty(), "{} disagreements\n{text}", total.failures.len());
    if cases >= LONG {
        assert!(total.expressions >= 10_000 && total.evaluations >= 1_000_000, "the run is too short");
    }
}

/// What there is to be tested is in some kernel of the short run.
#[test]
fn kernels_have_all_forms() {
    let texts: Vec<String> = (1..=CASES).map(|seed| kernel(seed, STATEMENTS).0.to_string()).collect();
    let mut forms =
        vec!["**", "argmin(", "argmax(", " if ", "if(", "lowest()", "isnan(", "%", "//", ">>", "~"];
    forms.extend(UpdateOp::SIGNS.iter().map(|(_, sign)| *sign));
    let missing: Vec<&str> =
        forms.into_iter().filter(|form| !texts.iter().any(|text| text.contains(form))).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
