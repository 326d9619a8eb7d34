//! Verdicts against brute force, on both sides: see [`loopwright_testing::two_sided`].
//!
//! `LOOPWRIGHT_CASES` says how many cases, each a kernel with its pipeline (10000 is the long run), `LOOPWRIGHT_SEED` from which seed on:
//!
//! ```text
//! LOOPWRIGHT_CASES=10000 cargo test -p loopwright-testing --test verdicts -- --nocapture
//! ```
//!
//! The table that it prints says for each step how often it was reached, proved, refuted and left undecided. A disagreement is made
//! smaller and printed with its kernel and its steps.

use loopwright_testing::{counts::Count, moves, two_sided};
use loopwright_transforms::Step;
use rayon::prelude::*;

/// Cases of a short run.
const CASES: u64 = 300;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

/// Every step that comes with the library is among those that are tried.
#[test]
fn no_step_is_left_out() {
    for name in Step::NAMES {
        assert!(moves::KINDS.iter().any(|(kind, _)| kind == name), "`{name}` is never tried");
    }
}

#[test]
fn verdicts_agree_with_brute_force() {
    let (cases, first) = (setting("LOOPWRIGHT_CASES", CASES), setting("LOOPWRIGHT_SEED", 0));
    let count =
        (first..first + cases).into_par_iter().map(two_sided::case).reduce(Count::default, Count::with);
    println!("{count}");
    for (reason, (n, example)) in &count.reasons {
        println!("---- {n} x {reason}\n{example}");
    }
    let mut text = String::new();
    for (case, failure) in count.failures.iter().take(8) {
        let (small, failure) = two_sided::shrink(case, failure);
        text += &format!("---- {}: {}\n{small}\n", failure.kind, failure.text);
    }
    assert!(count.failures.is_empty(), "{} disagreements\n{text}", count.failures.len());
    assert!(count.affine_unknown * 100 <= count.affine, "at most one step in a hundred is undecided");
    // Shares of a few cases say little.
    if cases >= 500 {
        assert!(count.legal * 10 >= count.asked * 3, "three in ten steps are legal");
        assert!(count.illegal * 10 >= count.asked * 3, "three in ten steps are illegal");
    }
    if cases >= 10_000 {
        let tried = moves::KINDS.iter().map(|(kind, _)| *kind);
        for kind in Step::NAMES.iter().copied().chain(tried) {
            let reached = count.kinds.get(kind).map_or(0, |t| t.reached);
            assert!(reached >= 200, "`{kind}` is reached {reached} times");
        }
    }
}
