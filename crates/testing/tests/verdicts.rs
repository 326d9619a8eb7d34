//! Verdicts against brute force: random kernels and steps, each step applied without asking and then judged.
//!
//! *Proved* has to mean that a concrete run agrees with the declared kernel for all small sizes; *refuted* that it really goes wrong for the
//! witness's sizes. Undecided cases have to be rare where no data are involved.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_legality::{Judgement, Parameters, Stop, Verdict, agrees, judge};
use loopwright_testing::{kernels, pipelines, rng::Rng};
use loopwright_transforms::{Pipeline, Step};

const SEEDS: u64 = 24;
const STEPS: usize = 12;

/// A small kernel full of dependences: one or two loops, some statements that read near where others write.
fn dependent(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0xd1b5_4a32_d192_ed03);
    let two = rng.chance(50);
    let stepped = rng.chance(30);
    let shape = if two { "[n + 6, m + 6]" } else { "[n + 6]" };
    let mut text = format!("kernel dependent(a: f32{shape}, b: f32{shape}, c: f32{shape}, n: i32, m: i32)\n");
    text += "assume 0 <= n and 0 <= m\n";
    if stepped {
        text += "domain { [t] : 0 <= t < 3 }\n";
    }
    let nests = 1 + rng.below(2);
    let mut body = String::new();
    for k in 0..nests {
        text += &format!("domain {{ [i{k}] : 0 <= i{k} < n }}\n");
        if two {
            let more = if rng.chance(20) { format!(" and q{k} <= i{k}") } else { String::new() };
            text += &format!("domain {{ [q{k}] : 0 <= q{k} < m{more} }}\n");
        }
        let private = rng.chance(30);
        if private {
            text += &format!("temp p{k}: f32 private\n");
        }
        let inames = [stepped.then(|| "t".to_string()), Some(format!("i{k}")), two.then(|| format!("q{k}"))];
        let inames: Vec<String> = inames.into_iter().flatten().collect();
        for s in 0..1 + rng.below(3) {
            let cell = |rng: &mut Rng| {
                let array = rng.pick(&["a", "a", "b", "c"]);
                let mut axis = |name: String, end: &str| match rng.below(6) {
                    0 => format!("{end} - {name} + {}", rng.below(3)),
                    1 | 2 => format!("{name} + {}", rng.below(3)),
                    _ => name,
                };
                let first = axis(format!("i{k}"), "n");
                match two {
                    true => format!("{array}[{first}, {}]", axis(format!("q{k}"), "m")),
                    false => format!("{array}[{first}]"),
                }
            };
            let value = format!("{} * 0.5 + {}", cell(&mut rng), cell(&mut rng));
            let (target, value) = match private {
                true if s == 0 => (format!("p{k}"), value),
                true => (cell(&mut rng), format!("{value} + p{k}")),
                false => (cell(&mut rng), value),
            };
            body += &format!("{target} = {value} {{id=s{k}{s}, inames={}}}\n", inames.join(":"));
        }
    }
    text + &body
}

fn sizes() -> Vec<Parameters> {
    let mut all: Vec<(i64, i64)> = (0..4).flat_map(|n| (0..4).map(move |m| (n, m))).collect();
    all.extend([(5, 6), (9, 7)]);
    let names = |(n, m): (i64, i64)| BTreeMap::from([(Name::new("n"), n), (Name::new("m"), m)]);
    all.into_iter().map(names).collect()
}

#[derive(Default, Debug)]
struct Count {
    proved: usize,
    refuted: usize,
    unknown: usize,
    checked: usize,
    reasons: BTreeMap<String, usize>,
}

fn one(seed: u64, declared: &str, count: &mut Count) {
    let mut kernel = LoopKernel::parse(declared).unwrap_or_else(|d| panic!("{declared}\n{d}"));
    let mut rng = Rng::new(seed ^ 0x9e37_79b9);
    let mut taken: Vec<String> = Vec::new();
    for _ in 0..STEPS {
        // Carried inames too: illegal steps are wanted.
        let text = pipelines::step(&mut rng, &kernel, &[]);
        let Ok(step) = Step::parse(&text) else { continue };
        let Ok(after) = Pipeline::new().step(step.clone()).apply_unjudged(&kernel) else { continue };
        let show = || format!("seed {seed}\n{declared}{}\n{text}", taken.join("\n"));
        let theorem = matches!(step_judgement(&step, &kernel), Judgement::Theorem(_));
        let verdict = judge(&kernel, &after);
        match &verdict {
            Verdict::Proved { .. } => {
                for values in sizes() {
                    match agrees(&after, &values) {
                        Ok(None) => count.checked += 1,
                        Ok(Some(failure)) => panic!("{}\nproved, but {failure:?} for {values:?}", show()),
                        Err(Stop::Data(_) | Stop::Large) => break,
                        Err(stop) => panic!("{}\n{stop}", show()),
                    }
                }
                count.proved += 1;
            }
            Verdict::Refuted(witness) => {
                assert!(!theorem, "{}\nrefuted against a theorem: {witness}", show());
                let again = agrees(&after, &witness.parameters);
                assert_eq!(again, Ok(Some(witness.failure.clone())), "{}", show());
                count.refuted += 1;
                continue;
            }
            Verdict::Unknown { reason, .. } => {
                let data = declared.contains("fact") || reason.contains("depends on");
                if !data && !theorem {
                    count.unknown += 1;
                    *count.reasons.entry(format!("{reason}\n{}", show())).or_default() += 1;
                }
                if !theorem {
                    continue;
                }
            }
        }
        kernel = after;
        taken.push(text);
    }
}

fn step_judgement(step: &Step, kernel: &LoopKernel) -> Judgement {
    match step {
        Step::Together(_) | Step::Composite(_) => Judgement::Ask,
        step => step.rule().judgement(kernel),
    }
}

#[test]
fn verdicts_agree_with_brute_force() {
    let seeds = std::env::var("LOOPWRIGHT_CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(SEEDS);
    let mut count = Count::default();
    for seed in 0..seeds {
        one(seed, &dependent(seed), &mut count);
        if seed % 3 == 0 {
            one(seed, &kernels::kernel(seed).text, &mut count);
        }
    }
    println!(
        "{} proved, {} refuted, {} unknown, {} runs",
        count.proved, count.refuted, count.unknown, count.checked
    );
    for (reason, n) in count.reasons.iter().take(12) {
        println!("{n} x {reason}\n");
    }
    assert!(count.refuted * 20 > count.proved, "illegal steps are among them: {count:?}");
    assert!(count.unknown * 20 <= count.proved + count.refuted, "few are undecided");
}
