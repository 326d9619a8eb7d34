//! Searches for failing cases: `hunt COUNT FROM`.

use loopwright_testing::{case::*, check};

fn main() {
    let arg =
        |n: usize, default: u64| std::env::args().nth(n).and_then(|s| s.parse().ok()).unwrap_or(default);
    let (count, from) = (arg(1, 200), arg(2, 0));
    let mut all = Refusals::default();
    let mut bad = std::collections::BTreeMap::new();
    std::panic::set_hook(Box::new(|_| {}));
    for seed in from..from + count {
        let made = std::panic::catch_unwind(|| {
            let mut r = Refusals::default();
            let c = Case::random(seed, &mut r);
            (r, c)
        });
        match made {
            Ok((r, c)) => {
                all.add(&r);
                if let Err(f) = check::check_all(&c) {
                    let n = bad.entry(f.kind).or_insert(0);
                    *n += 1;
                    if *n <= 3 {
                        let (small, f) = check::shrink(&c, f.kind);
                        println!("==== seed {seed} {}: {}\n{small}", f.kind, f.text);
                    }
                }
            }
            Err(e) => {
                *bad.entry("making").or_insert(0) += 1;
                println!("PANIC {seed}: {}\n", e.downcast_ref::<String>().cloned().unwrap_or_default());
            }
        }
    }
    if std::env::var_os("REFUSALS").is_some() {
        for (c, t) in &all.first {
            println!("---- {c}\n{t}");
        }
    }
    println!("{bad:?} of {count}\n{:?}\n{:?}\n{:?}", all.steps, all.lowering, all.taken);
}
