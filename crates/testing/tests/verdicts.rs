//! Verdicts against brute force, on both sides: see [`loopwright_testing::two_sided`].
//!
//! `LOOPWRIGHT_CASES` is the number of cases, each a kernel with its pipeline (10000 is the long
//! run), `LOOPWRIGHT_SEED` the first seed:
//!
//! ```text
//! LOOPWRIGHT_CASES=10000 cargo test -p loopwright-testing --test verdicts -- --nocapture
//! ```
//!
//! In addition to these cases, which are the same in every run, [`verdicts_agree_on_fresh_cases`]
//! takes a few from a seed of the clock, or from `LOOPWRIGHT_SEED`.
//!
//! The printed table shows for each step how often it was reached, proved, refuted and left
//! undecided. A disagreement is shrunk and printed as a filetest, ready for `tests/filetests`.

use loopwright_kernel_ir::LoopKernel;
use loopwright_testing::{case::Case, counts::Count, filetest, kernels, moves, two_sided};
use loopwright_transforms::{Pipeline, Step};
use rayon::prelude::*;

/// Number of cases of a short run.
const CASES: u64 = 200;

/// Number of cases from a seed of the clock.
const FRESH: u64 = 60;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

/// Every step of the library is among those tried.
#[test]
fn no_step_is_left_out() {
    for name in Step::NAMES {
        let is_tried = moves::KINDS.iter().any(|(kind, _)| kind == name);
        assert!(is_tried, "`{name}` is never tried");
    }
}

/// Seeds of which some once made comparisons of literals in kernels of two floating-point types.
#[test]
fn random_kernels_are_valid() {
    let invalid = (0..3000u64).into_par_iter().filter_map(|seed| {
        let text = kernels::kernel(seed).text;
        LoopKernel::parse(&text).err().map(|d| format!("seed {seed}\n{text}\n{d}\n"))
    });
    let invalid: Vec<String> = invalid.collect();
    assert!(invalid.is_empty(), "{} invalid\n{}", invalid.len(), invalid[0]);
}

/// The points of a scan are equal, so that its instances give the values of others when they run in
/// another order by force, and the same result: no run shows what is wrong, and the step is refused
/// nevertheless.
#[test]
fn a_scan_of_equal_points_does_not_refute_a_refusal() {
    let kernel = "\
kernel k(a: i64[3], c: i64[2])
domain { [t] : 0 <= t < 3 }
domain { [i] : 0 <= i < 8 }
domain { [j] : 0 <= j <= i }
c[1] = c[1] * 6197 + sum(j, a[t] * 22509 + 30045) + 7919 {id=chain, inames=t:i}
";
    let steps = ["realize_scan(i, j)", "split_iname(i, 2)", "reorder(i_inner, i_outer)"];
    let refusal = Pipeline::parse(&steps.join("\n")).unwrap().apply(&LoopKernel::parse(kernel).unwrap());
    let refusal = refusal.unwrap_err();
    assert_eq!(refusal.code, "legality-unknown");
    assert!(refusal.message.contains("step 3"), "{refusal}");
    let case = Case { kernel: kernel.into(), steps: steps.map(String::from).to_vec() };
    if let Some(failure) = two_sided::disagreement(&case) {
        panic!("{}: {}", failure.kind, failure.text);
    }
}

/// A sum whose terms come before its first value is lost, as the witness says. By force, the
/// accumulator of a partial tile is declared with its first value before the guard, so that the run
/// agrees.
#[test]
fn a_first_value_that_is_written_early_does_not_refute_a_refusal() {
    let kernel = "\
kernel k(a: i64[4], b: i64[8])
domain { [i] : 0 <= i < 4 }
domain { [j] : 0 <= j < 8 }
a[i] = 2*i {id=first, inames=i}
a[i] = a[i]*26675 + sum(j, b[j]*2897 + i) {id=total, inames=i, dep=first}
";
    let steps = ["split_iname(i, 3)", "unroll(i_inner)", "move_statement(j, after=first)"];
    let refusal = Pipeline::parse(&steps.join("\n")).unwrap().apply(&LoopKernel::parse(kernel).unwrap());
    let refusal = refusal.unwrap_err();
    assert_eq!(refusal.code, "reduction-points");
    assert!(refusal.to_string().contains("it does not join it"), "{refusal}");
    let case = Case { kernel: kernel.into(), steps: steps.map(String::from).to_vec() };
    if let Some(failure) = two_sided::disagreement(&case) {
        panic!("{}: {}", failure.kind, failure.text);
    }
}

/// How `reverse(t)` is refused, of a value that grows in each iteration and is added to a total.
fn reversed(grows: &str, adds: &str) -> &'static str {
    let kernel = format!(
        "kernel k(x: i64[8], c: i64[1], b: i64[1], n: i32)\nassume 1 <= n\ndomain {{ [t] : 0 <= t \
         < n }}\ndomain {{ [j] : 0 <= j < 8 }}\nc[0] = {grows} {{id=grow, inames=t}}\nb[0] {adds} {{id=add, \
         inames=t}}\n"
    );
    let refusal = Pipeline::parse("reverse(t)").unwrap().apply(&LoopKernel::parse(&kernel).unwrap());
    let case = Case { kernel, steps: vec!["reverse(t)".into()] };
    if let Some(failure) = two_sided::disagreement(&case) {
        panic!("{grows}, {adds}: {}: {}", failure.kind, failure.text);
    }
    refusal.unwrap_err().code
}

/// A total of integers is the sum of what was added, whichever iteration adds which. Nothing proves
/// that it is the same here; no witness says otherwise.
#[test]
fn totals_of_integers_that_are_the_same_do_not_refute() {
    for (grows, adds) in [
        ("c[0]*3 + 1", "+= t*5 + c[0]"),
        ("c[0]*3 + 1", "+= sum(j, x[j] + t) + c[0]"),
        ("c[0] + sum(j, x[j])", "+= c[0] - t"),
        ("c[0] + sum(j, j)", "+= c[0]"),
    ] {
        assert_eq!(reversed(grows, adds), "legality-unknown", "{grows}, {adds}");
    }
    for (grows, adds) in [
        ("c[0]*3 + t", "+= c[0]"),
        ("c[0] + sum(j, x[j]*t)", "+= c[0]"),
        ("c[0]*3 + 1", "+= t*c[0]"),
        ("c[0]*3 + 1", "= b[0]*2 + t"),
    ] {
        assert_ne!(reversed(grows, adds), "legality-unknown", "{grows}, {adds}");
    }
}

/// Runs cases from a seed on; panics with those that disagree.
fn run(cases: u64, first: u64) -> Count {
    let seeds = (0..cases).into_par_iter().map(|k| first.wrapping_add(k));
    let count = seeds.map(two_sided::case).reduce(Count::default, Count::with);
    println!("{count}");
    let mut text = String::new();
    for (case, failure) in count.failures.iter().take(8) {
        let (small, failure) = two_sided::shrink(case, failure);
        let test = filetest::text(&small.kernel, &small.steps.join("\n"));
        text += &format!("---- {}: {}\n{test}\n", failure.kind, failure.text);
    }
    assert!(count.failures.is_empty(), "{} disagreements from seed {first} on\n{text}", count.failures.len());
    count
}

#[test]
fn verdicts_agree_with_brute_force() {
    let cases = setting("LOOPWRIGHT_CASES", CASES);
    let count = run(cases, setting("LOOPWRIGHT_SEED", 0));
    for (reason, (n, example)) in &count.reasons {
        println!("---- {n} x {reason}\n{example}");
    }
    // One step in two hundred is undecided. One in a hundred is too many, by more than a sample of
    // this size may be off: three standard deviations of a count with that mean.
    let mean = count.affine as f64 / 100.0;
    let most = mean + 3.0 * mean.sqrt();
    assert!(count.affine_unknown as f64 <= most, "{} undecided, at most {most:.0}", count.affine_unknown);
    // Ratios of a few cases are not meaningful.
    if cases >= 500 {
        assert!(count.legal * 10 >= count.asked * 3, "three in ten steps are legal");
        // Some steps, such as those that declare reductions, are refused rather than illegal.
        assert!(count.illegal * 4 >= count.asked, "a fourth of all steps is illegal");
    }
    // At least 200 times, less three standard deviations of such a count.
    if cases >= 10_000 {
        let least = 200.0 - 3.0 * 200f64.sqrt();
        let tried = moves::KINDS.iter().map(|(kind, _)| *kind);
        for kind in Step::NAMES.iter().copied().chain(tried) {
            let reached = count.kinds.get(kind).map_or(0, |t| t.reached);
            assert!(reached as f64 >= least, "`{kind}` is reached {reached} times");
        }
    }
}

/// Other cases in every run, to find over time what the fixed ones miss. The seed is printed, so
/// that a failure can be reproduced.
#[test]
fn verdicts_agree_on_fresh_cases() {
    let clock = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        now.as_nanos() as u64
    };
    // Short enough to type.
    let seed = std::env::var("LOOPWRIGHT_SEED").ok().and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or_else(|| clock() % 1_000_000_000_000);
    println!("LOOPWRIGHT_SEED={seed}");
    run(setting("LOOPWRIGHT_FRESH", FRESH), seed);
}
