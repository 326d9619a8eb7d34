//! Random kernels through random pipelines.
//!
//! What lowering accepts runs in the emulator with every check, for several sizes (including 0 and
//! 1), and computes what the plain interpreter computes for the declared kernel. For some cases,
//! the printed text is compiled by NVRTC, and compiled by the system's C++ compiler and run.
//! `LOOPWRIGHT_CASES` is the number of cases (10000 for the long run), `LOOPWRIGHT_SEED` the first
//! seed. A failing case is shrunk and printed with its seed.

use std::sync::Mutex;

use loopwright_runtime::{
    Arch,
    nvrtc::{self, CompileError, CompileOptions},
};
use loopwright_testing::{
    case::{Case, Refusals, sizes},
    check, data,
};
use loopwright_text_check::{Arguments, Checker, Order};
use rayon::prelude::*;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn random_programs_compute_what_the_declared_kernels_say() {
    let (count, first) = (setting("LOOPWRIGHT_CASES", 120), setting("LOOPWRIGHT_SEED", 0));
    let all = Mutex::new(Refusals::default());
    let mut failures: Vec<String> = (first..first + count)
        .into_par_iter()
        .filter_map(|seed| {
            let mut refusals = Refusals::default();
            let case = Case::random(seed, &mut refusals);
            if let Ok(mut all) = all.lock() {
                all.add(&refusals);
            }
            let failure = check::check_all(&case).err()?;
            let (small, failure) = check::shrink(&case, failure.kind);
            Some(format!("seed {seed}: {}: {}\n{small}", failure.kind, failure.text))
        })
        .collect();
    let all = all.into_inner().unwrap_or_default();
    let taken: usize = all.taken.values().sum();
    // The final check of a program verifies what lowering has decided; it must not be what refuses.
    let last = [
        "unordered",
        "divergent-barrier",
        "lost-instance",
        "extra-instance",
        "wrong-index",
        "index-type",
        "wrong-offset",
    ];
    for code in last {
        let first = all.first.get(code).cloned().unwrap_or_default();
        assert!(first.is_empty(), "lowering made what the final check refuses\n{first}");
    }
    println!(
        "{count} cases, {} wrong; steps taken {taken}: {:?}; refused by steps {:?}, by lowering \
         {:?}",
        failures.len(),
        all.taken,
        all.steps,
        all.lowering
    );
    assert!(
        taken as u64 > 3 * count,
        "most cases have several steps that lowering accepts, not {taken} in all"
    );
    failures.truncate(5);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn printed_random_programs_compile_without_warnings() {
    let count = setting("LOOPWRIGHT_CASES", 120) / 5;
    let failures: Vec<String> = (0..count)
        .into_par_iter()
        .filter_map(|seed| {
            let case = Case::random(1_000_000 + seed, &mut Refusals::default());
            let built = case.build().ok()?;
            let text = match loopwright_cuda_target::cuda_source(&built.program) {
                Ok(source) => source.text,
                Err(d) => return Some(format!("{case}{d}")),
            };
            match nvrtc::compile(&text, &CompileOptions::new(Arch::SM_90A)) {
                Ok(compiled) if compiled.warnings().next().is_none() => None,
                Ok(compiled) => Some(format!("{case}{text}\n{}", compiled.log)),
                // Without NVRTC the texts are still compiled by the C++ compiler below; the
                // runtime's own tests report its absence.
                Err(CompileError::NotFound(_)) => None,
                Err(e) => Some(format!("{case}{text}\n{e}")),
            }
        })
        .collect();
    assert!(failures.is_empty(), "{} of {count}\n{}", failures.len(), failures[0]);
}

#[test]
fn printed_random_programs_compute_the_same_on_the_cpu() {
    let count = setting("LOOPWRIGHT_CASES", 120) / 15;
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let cases: Vec<_> = (0..count)
        .filter_map(|seed| {
            let case = Case::random(2_000_000 + seed, &mut Refusals::default());
            let built = case.build().ok()?;
            Some((case, built))
        })
        .collect();
    let programs: Vec<_> = cases.iter().map(|(_, built)| built.program.clone()).collect();
    let mut failures = Vec::new();
    for ((case, built), text) in cases.iter().zip(checker.compile_all(&programs)) {
        let text = match text {
            Ok(text) => text,
            Err(d) => {
                failures.push(format!("{case}{d}"));
                continue;
            }
        };
        for (k, sizes) in sizes().into_iter().enumerate() {
            let Some(inputs) = data::arguments(&built.declared, &sizes) else { continue };
            let mut emulated = inputs.clone();
            let options =
                loopwright_emulator::Options { count: false, max_steps: 1 << 24, ..Default::default() };
            if loopwright_emulator::run(&built.program, &mut emulated, &options).is_err() {
                continue; // The first test's to report.
            }
            let mut arguments = Arguments::new();
            for (name, array) in &inputs.arrays {
                arguments = arguments.array(name.clone(), array.buffer.bytes());
            }
            for (name, number) in &inputs.scalars {
                arguments = arguments.scalar(name.clone(), number.as_i64().unwrap_or_default());
            }
            let order = if k % 2 == 0 { Order::Forwards } else { Order::Backwards };
            if let Err(d) = text.run(&mut arguments, order) {
                failures.push(format!("{case}{sizes:?}: {d}"));
                continue;
            }
            let mut printed = inputs.clone();
            for (name, array) in &mut printed.arrays {
                array.buffer.bytes_mut().copy_from_slice(&arguments.arrays[name]);
            }
            if let Some(difference) = data::difference(&printed, &emulated) {
                failures.push(format!("{case}{sizes:?}: {difference}\n{}", text.source().text));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures[0]);
}
