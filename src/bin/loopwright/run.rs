//! `run`

use std::fmt::Write;

use clap::Args as ClapArgs;
use indexmap::IndexMap;
<<<<<<< HEAD
=======
use loopwright::ir::{Arg, Fact};
>>>>>>> f1ab371 (Late refusals have a place: the step in its pipeline, or the first thing they name in the kernel's text)
use loopwright::prelude::*;

use crate::arguments::Arguments;
use crate::input::{self, Failure, Form};
use crate::report;

/// The options of `loopwright run`.
#[derive(ClapArgs)]
pub struct Run {
    #[command(flatten)]
<<<<<<< HEAD
    form: Form,
    #[command(flatten)]
    arguments: Arguments,
=======
    pub form: Form,
    /// A scalar argument, as `n=1000`; those that follow from shapes can be left out.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// An array argument from a .npy file, as `x=x.npy`.
    #[arg(long = "input", value_name = "NAME=FILE")]
    inputs: Vec<String>,
>>>>>>> f1ab371 (Late refusals have a place: the step in its pipeline, or the first thing they name in the kernel's text)
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
<<<<<<< HEAD
=======
    fn device(&self) -> Result<Device, Failure> {
        match self.device.as_str() {
            "best" => Ok(Device::best()),
            "emulator" => Ok(Device::emulator()),
            "gpu" => Ok(Device::cuda(0)?),
            other => Err(Diagnostic::new("device", format!("there is no device `{other}`"))
                .help("write gpu, emulator or best")
                .into()),
        }
    }

    fn args(&self, kernel: &LoopKernel) -> Result<Args, Failure> {
        let mut args = Args::new();
        for (name, dtype) in input::types(&self.types)? {
            args = args.bind_type(name, dtype);
        }
        for set in &self.set {
            let (name, text) = input::pair(set)?;
            let value = ScalarValue::parse(text).ok_or_else(|| {
                Diagnostic::new("option", format!("`{text}` is no number: argument `{name}` needs one")).help(
                    format!("write `--set {name}=3`; an array comes from a file: `--input {name}=FILE.npy`"),
                )
            })?;
            args = args.scalar(name, value);
        }
        for given in &self.inputs {
            let (name, path) = input::pair(given)?;
            args = args.tensor(name, &Tensor::from_npy(path)?);
        }
        for (names, random) in [(&self.random, true), (&self.zeros, false)] {
            for name in names {
                let expected = loopwright::runtime::expected_arrays(kernel, &args)?;
                let (dtype, shape) =
                    expected.get(name.as_str()).ok_or_else(|| no_array(kernel, name, expected.keys()))?;
                let tensor = if random {
                    self.random(kernel, &args, name, *dtype, shape)?
                } else {
                    Tensor::zeros(shape, *dtype)?
                };
                args = args.tensor(name.as_str(), &tensor);
            }
        }
        Ok(if self.check_facts { args.check_facts() } else { args })
    }

    /// Random elements that keep what is declared about them.
    fn random(
        &self,
        kernel: &LoopKernel,
        args: &Args,
        name: &str,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Tensor, Failure> {
        let seed = name.bytes().fold(self.seed, |s, b| s.wrapping_mul(31).wrapping_add(b.into()));
        let about = |f: &&Fact| match f {
            Fact::Range { array, .. } | Fact::Monotone(array) | Fact::Injective(array) => **array == *name,
        };
        let facts: Vec<&Fact> = kernel.facts.iter().filter(about).collect();
        if facts.is_empty() {
            return Ok(Tensor::random(shape, dtype, seed)?);
        }
        let bounds = loopwright::runtime::fact_range(kernel, args, name)?;
        let raw = Tensor::random(&[shape.iter().product()], DType::U64, seed)?;
        let (low, high) = (bounds.0.unwrap_or(0), bounds.1.unwrap_or(8));
        let mut values: Vec<i64> = raw
            .to_vec::<u64>()?
            .iter()
            .scan(seed, |state, v| {
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1 + v);
                Some(low + ((*state >> 33) as i64) % (high - low).max(1))
            })
            .collect();
        if facts.iter().any(|f| matches!(f, Fact::Injective(_))) {
            // A permutation of the first values, by a stable sort of random keys.
            let mut order: Vec<i64> = (0..values.len() as i64).collect();
            order.sort_by_key(|k| values[*k as usize]);
            values = order.into_iter().map(|k| k + low).collect();
        }
        if facts.iter().any(|f| matches!(f, Fact::Monotone(_))) {
            values.sort_unstable();
        }
        Ok(Tensor::from_vec(shape, values)?.cast(dtype))
    }

>>>>>>> f1ab371 (Late refusals have a place: the step in its pipeline, or the first thing they name in the kernel's text)
    /// `loopwright run`
    pub fn run(&self) -> Result<(), Failure> {
        let declared = self.form.declared()?;
        let kernel = self.form.pipeline()?.apply(&declared)?;
        let device = input::device(&self.device)?;
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
        match self.verify {
            Some(tolerance) => verify(&compiled.reference(&args)?, &result, tolerance),
            None => Ok(()),
        }
    }
}

fn no_array<'a>(kernel: &LoopKernel, name: &str, known: impl Iterator<Item = &'a Name>) -> Diagnostic {
    let known: Vec<&str> = known.map(Name::as_str).collect();
    Diagnostic::new("unknown-argument", format!("`{}` has no array `{name}`", kernel.name))
        .help(format!("its arrays are {}", known.join(", ")))
}

/// Compares with what the plain interpreter gives for the declared kernel.
fn verify(expected: &IndexMap<Name, Tensor>, result: &Outputs, tolerance: f64) -> Result<(), Failure> {
    for (name, expected) in expected {
        let (found, wanted) = (result.get(name)?.to_f64(), expected.to_f64());
        let scale = wanted.iter().fold(1.0f64, |m, v| if v.is_finite() { m.max(v.abs()) } else { m });
        let same =
            |x: f64, y: f64| (x - y).abs() <= tolerance * scale || x == y || (x.is_nan() && y.is_nan());
        if let Some(k) = found.iter().zip(&wanted).position(|(x, y)| !same(*x, *y)) {
            return Err(Failure::Wrong(format!(
                "wrong: element {k} of `{name}` is {}, and the declared kernel gives {}",
                found[k], wanted[k]
            )));
        }
    }
    report::say("verified: equal to the declared kernel\n");
    Ok(())
}
