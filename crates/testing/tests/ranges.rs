//! Triangles, clipped and strided ranges under splits and tags: see [`loopwright_testing::ranges`].
//!
//! `LOOPWRIGHT_CASES` is the number of cases, `LOOPWRIGHT_SEED` the first seed. A failing case is
//! shrunk and printed as a filetest with its seed.

use loopwright_testing::{
    check,
    ranges::{self, Sweep},
};
use rayon::prelude::*;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

#[test]
fn ranges_of_which_none_contains_another_are_lowered() {
    let (count, first) = (setting("LOOPWRIGHT_CASES", 150), setting("LOOPWRIGHT_SEED", 0));
    let (sweep, failures) = (first..first + count)
        .into_par_iter()
        .map(|seed| {
            let (case, sweep) = ranges::case(seed);
            let failure = check::check_all(&case).err().map(|failure| {
                let (small, failure) = check::shrink(&case, failure.kind);
                format!("seed {seed}: {}: {}\n{small}", failure.kind, failure.text)
            });
            (sweep, Vec::from_iter(failure))
        })
        .reduce(Default::default, |a: (Sweep, Vec<String>), b| (a.0.with(b.0), [a.1, b.1].concat()));
    println!("{count} cases, lowered {} times, refused {:?}", sweep.asked, sweep.refused);
    assert!(
        failures.is_empty(),
        "{} wrong\n{}",
        failures.len(),
        failures[..failures.len().min(4)].join("\n")
    );
    let wrong: Vec<String> = sweep.wrong.iter().take(12).map(|(case, d)| format!("{case}{d}\n")).collect();
    assert!(wrong.is_empty(), "{} refused for no reason\n{}", sweep.wrong.len(), wrong.join("\n"));
    let refused: usize = sweep.refused.values().sum();
    assert!(refused * 10 <= sweep.asked, "refused {refused} of {}: {:?}", sweep.asked, sweep.refused);
}
