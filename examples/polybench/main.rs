//! PolyBench on a GPU: sixteen kernels, each declared once and taken through a pipeline of checked
//! steps, compared with plain loops.
//!
//!     cargo run --release --example polybench [-- --emulator] [KERNEL ...]
//!
//! Prints a line per kernel and size: the verdict on all steps, the shape of the resulting program,
//! and whether the result matches that of the loops. Exit status 1 if any is wrong or rests on an
//! assumption.

mod sequential;
mod suite;

use std::process::ExitCode;

use clap::Parser;
use loopwright::{
    prelude::*,
    transforms::{Explained, Verdict},
};

#[derive(Parser)]
#[command(about = "PolyBench kernels through GPU pipelines, compared with plain loops")]
struct Options {
    /// Run on the emulator even if there is a GPU
    #[arg(long)]
    emulator: bool,
    /// Only these kernels
    kernels: Vec<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let device = if options.emulator { Device::emulator() } else { Device::best() };
    println!("on {}", device.name());
    println!(
        "{:16} {:7} {:>5} {:>7} {:>8} {:>9}  {:5} {:>10}  sizes",
        "kernel", "verdict", "steps", "kernels", "barriers", "threads", "check", "ms"
    );
    let (mut passed, mut failed) = (0, 0);
    for case in suite::cases() {
        if !options.kernels.is_empty() && !options.kernels.iter().any(|k| k == case.name) {
            continue;
        }
        match line(&case, &device) {
            Ok(true) => passed += 1,
            Ok(false) => failed += 1,
            Err(refusal) => {
                println!("{:16} refused\n{refusal}", case.name);
                failed += 1;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn proved(step: &Explained) -> bool {
    step.outcome.as_ref().is_ok_and(|judged| matches!(judged.verdict, Verdict::Proved { .. }))
}

/// Runs a kernel at both sizes. Returns whether both results are right and every step is proved.
fn line(case: &suite::Case, device: &Device) -> Result<bool, Diagnostic> {
    let steps = case.steps()?;
    // Refused here if a step is refuted or cannot be decided.
    let kernel = case.declared().pipeline(&steps)?;
    let verdict = match steps.explain(&case.declared()).steps.iter().all(proved) {
        true => "proved",
        false => "assumed",
    };
    let mut right = true;
    for sizes in if device.is_gpu() { case.large } else { case.small } {
        let run = suite::run(case, &kernel, device, sizes)?;
        let ok = run.difference <= 1.0;
        right &= ok && verdict == "proved";
        let sizes: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
        println!(
            "{:16} {:7} {:>5} {:>7} {:>8} {:>9}  {:5} {:>10.3}  {}",
            case.name,
            verdict,
            steps.steps().len(),
            run.kernels,
            run.barriers,
            run.threads,
            if ok { "ok" } else { "WRONG" },
            run.milliseconds,
            sizes.join(" ")
        );
    }
    Ok(right)
}
