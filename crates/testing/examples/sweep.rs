//! The kernels of the examples through random pipelines: `sweep COUNT FROM [SECONDS] [FOLDER]`,
//! COUNT pipelines for each kernel, from seed FROM on, as far as the time allows. See
//! [`loopwright_testing::sweep`].
//!
//! Failures, refusals by the final check among them, are printed as filetests, and written into the
//! folder if there is one. If there are any, the exit code is not 0.

use std::{collections::BTreeMap, fs, io, path::Path, process::ExitCode, time::Instant};

use loopwright_testing::{
    filetest,
    sweep::{self, Seen},
};
use rayon::prelude::*;

fn main() -> ExitCode {
    let arg = |n: usize| std::env::args().nth(n);
    let number = |n: usize, default: u64| arg(n).and_then(|s| s.parse().ok()).unwrap_or(default);
    let (count, from, seconds) = (number(1, 100), number(2, 0), number(3, u64::MAX));
    let start = Instant::now();
    std::panic::set_hook(Box::new(|_| {}));
    let sources = sweep::sources();
    let of_seed = |seed| match start.elapsed().as_secs() < seconds {
        true => sources.par_iter().map(|s| sweep::case(s, seed)).reduce(Seen::default, Seen::with),
        false => Seen::default(),
    };
    let seen = (from..from + count).map(of_seed).reduce(Seen::with).unwrap_or_default();
    let mut printed: BTreeMap<&str, usize> = BTreeMap::new();
    for (case, failure) in &seen.failures {
        let n = printed.entry(failure.kind).or_default();
        *n += 1;
        if *n <= 6 {
            let small = sweep::shrink(case, failure.kind);
            println!("---- {}: {}", failure.kind, failure.text);
            println!("{}", filetest::text(&small.kernel, &small.steps.join("\n")));
        }
    }
    println!("{seen}\n{printed:?}");
    if let Some(folder) = arg(4)
        && let Err(e) = write(&seen, Path::new(&folder))
    {
        eprintln!("{folder}: {e}");
        return ExitCode::FAILURE;
    }
    match seen.failures.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Writes the failures into a folder, a kernel and a pipeline each; of those with the same steps,
/// two.
fn write(seen: &Seen, folder: &Path) -> io::Result<()> {
    let mut written: BTreeMap<String, usize> = BTreeMap::new();
    for (case, failure) in &seen.failures {
        let small = sweep::shrink(case, failure.kind);
        let name = small.kernel.split('(').next().unwrap_or_default();
        let name = name.rsplit(' ').next().unwrap_or_default();
        let steps: Vec<&str> =
            small.steps.iter().map(|s| s.split(&['(', ' ']).next().unwrap_or_default()).collect();
        let n = written.entry(format!("{name} {} {}", failure.kind, steps.join(" "))).or_default();
        *n += 1;
        if *n > 2 {
            continue;
        }
        let file = format!("{name}_{}_{}_{n}", failure.kind, steps.join("_"));
        let text = format!("# {}\n{}\n", failure.text.replace('\n', "\n# "), small.steps.join("\n"));
        fs::write(folder.join(format!("{file}.lw")), &small.kernel)?;
        fs::write(folder.join(format!("{file}.pipe")), text)?;
    }
    Ok(())
}
