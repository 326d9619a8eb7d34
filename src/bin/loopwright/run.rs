//! `run`

use std::fmt::Write;

use clap::Args as ClapArgs;
use indexmap::IndexMap;
use loopwright::ir::Arg;
use loopwright::prelude::*;

use crate::arguments::{Arguments, no_array};
use crate::input::{self, Failure, Form};
use crate::report;

/// The options of `loopwright run`.
#[derive(ClapArgs)]
pub struct Run {
    #[command(flatten)]
    pub form: Form,
    #[command(flatten)]
    arguments: Arguments,
    /// Writes an array after the run, as `out=out.npy`.
    #[arg(long = "output", value_name = "NAME=FILE")]
    outputs: Vec<String>,
    /// Where: `gpu`, `emulator`, or `best`, a GPU where there is one.
    #[arg(long, default_value = "best")]
    device: String,
    /// Check the declared facts about data before the run.
    #[arg(long)]
    check_facts: bool,
    /// Launch so many times more, and report the median time.
    #[arg(long, value_name = "N")]
    repeat: Option<usize>,
    /// Compare the result with a plain interpreter of the kernel as it was declared, which is slow; exit status 1 if they differ by more
    /// than this, relative to the largest element.
    #[arg(long, value_name = "TOLERANCE", num_args = 0..=1, default_missing_value = "1e-5")]
    verify: Option<f64>,
}

impl Run {
    /// `loopwright run`
    pub fn run(&self) -> Result<(), Failure> {
        let declared = self.form.declared()?;
        let device = input::device(&self.device)?;
        let pipeline = self.form.pipeline_for(&device, |kernel| self.arguments.args(kernel, false))?;
        let kernel = pipeline.apply(&declared)?;
        let args = self.arguments.args(&kernel, false)?;
        let args = if self.check_facts { args.check_facts() } else { args };
        // Where outputs go is known before anything runs.
        let outputs = self.outputs.iter().map(|o| input::pair(o)).collect::<Result<Vec<_>, _>>()?;
        let arrays = || kernel.args.iter().filter(|a| matches!(a, Arg::Array(_))).map(Arg::name);
        if let Some((name, _)) = outputs.iter().find(|(name, _)| !arrays().any(|a| **a == **name)) {
            return Err(no_array(&kernel, name, arrays()).into());
        }
        let compiled = device.compile(&kernel)?;
        let bound = compiled.bind(&args)?;
        let result = bound.run()?;
        let mut text = format!("device: {}, {} indices\n", result.device, result.index);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "time: {:.3} ms", result.milliseconds);
        if let Some(repeat) = self.repeat.filter(|n| *n > 0) {
            let mut times = bound.time(repeat)?;
            times.sort_by(f64::total_cmp);
            let _ = writeln!(text, "median of {repeat}: {:.3} ms", times[times.len() / 2]);
        }
        if let Some(report) = &result.report {
            let t = &report.total;
            let _ = writeln!(
                text,
                "counts: {} launches, {} blocks, {} bytes moved, {} barriers, {} bank conflicts",
                t.launches,
                t.blocks,
                t.global_bytes_moved(),
                t.barriers,
                t.bank_conflicts()
            );
        }
        for (name, tensor) in &result.arrays {
            let shape: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
            let first: Vec<String> = tensor.buffer().numbers().take(8).map(|n| n.to_string()).collect();
            let more = if tensor.len() > 8 { " ..." } else { "" };
            let _ = writeln!(
                text,
                "{name}: {}[{}] = {}{more}",
                tensor.dtype(),
                shape.join(", "),
                first.join(" ")
            );
        }
        report::say(&text);
        for (name, path) in outputs {
            let tensor = match result.arrays.get(name) {
                Some(tensor) => tensor.clone(),
                None => bound.read(name)?,
            };
            tensor.to_npy(path)?;
        }
        if let Some(tolerance) = self.verify {
            if let Some(wrong) = wrong(&compiled, &args, &result, tolerance)? {
                return Err(Failure::Wrong(wrong));
            }
            report::say("verified: equal to the declared kernel\n");
        }
        Ok(())
    }
}

/// How a result differs from what the declared kernel gives, if it does.
pub fn wrong(
    compiled: &Compiled,
    args: &Args,
    result: &Outputs,
    tolerance: f64,
) -> Result<Option<String>, Diagnostic> {
    // In the kernel's own types first, as it is declared; a long sum in another order may be closer to what f64 gives.
    let wrong = first_difference(&compiled.reference(args)?, result, tolerance)?;
    if wrong.is_some() && first_difference(&compiled.reference_in_f64(args)?, result, tolerance)?.is_none() {
        return Ok(None);
    }
    Ok(wrong)
}

/// Compares with what the plain interpreter gives for the declared kernel: what differs first, in words.
fn first_difference(
    expected: &IndexMap<Name, Tensor>,
    result: &Outputs,
    tolerance: f64,
) -> Result<Option<String>, Diagnostic> {
    for (name, expected) in expected {
        let (found, wanted) = (result.get(name)?.to_f64(), expected.to_f64());
        let scale = wanted.iter().fold(1.0f64, |m, v| if v.is_finite() { m.max(v.abs()) } else { m });
        let same =
            |x: f64, y: f64| (x - y).abs() <= tolerance * scale || x == y || (x.is_nan() && y.is_nan());
        if let Some(k) = found.iter().zip(&wanted).position(|(x, y)| !same(*x, *y)) {
            return Ok(Some(format!(
                "wrong: element {k} of `{name}` is {}, and the declared kernel gives {}",
                found[k], wanted[k]
            )));
        }
    }
    Ok(None)
}
