//! `run`

use std::fmt::Write;
use std::path::Path;

use clap::Args as ClapArgs;
use loopwright::ir::Arg;
use loopwright::prelude::*;

use crate::arguments::{Arguments, no_array, whole};
use crate::files;
use crate::input::{self, Failure, Form};
use crate::report;

/// The options of `loopwright run`.
#[derive(ClapArgs)]
pub struct Run {
    #[command(flatten)]
    pub form: Form,
    #[command(flatten)]
    arguments: Arguments,
    /// Run the loops as they are declared, each in its order and on one thread, where no pipeline
    /// is given: without this, steps are found as by --auto.
    #[arg(long, conflicts_with_all = ["auto", "pipeline", "parameters", "record"])]
    as_declared: bool,
    /// Write an array to a file after the run, such as `out=out.npy`.
    #[arg(long = "output", value_name = "NAME=FILE")]
    outputs: Vec<String>,
    /// The device: `gpu`, `emulator`, or `best`, which is a GPU if there is one.
    #[arg(long, default_value = "best")]
    device: String,
    /// Check the declared facts about data before the run. This is the default unless
    /// `--trust-facts` is given.
    #[arg(long, conflicts_with = "trust_facts")]
    check_facts: bool,
    /// Do not check the declared facts about data: if one does not hold, the kernel may read and
    /// write anywhere.
    #[arg(long)]
    trust_facts: bool,
    /// Launch this many more times, and report the median time.
    #[arg(long, value_parser = whole::<usize>, value_name = "N")]
    repeat: Option<usize>,
    /// Compare the result with a plain interpreter of the declared kernel, which is slow; exit
    /// status 1 if they differ. Integers have to be equal; each floating-point element has to be
    /// within this relative tolerance of the declared one or, where terms cancel, within the change
    /// that inputs perturbed by as much would cause in four runs together. By default 2e-5 for f32,
    /// 1e-12 for f64, 4e-3 for f16, 3e-2 for bf16. Subnormal numbers are not compared: a difference
    /// below the least normal number of the type, in f16 below the least subnormal one, is not
    /// reported, unless the tolerance is 0.
    #[arg(long, value_name = "TOLERANCE", num_args = 0..=1, default_missing_value = USUAL)]
    verify: Option<String>,
}

impl Run {
    /// Runs the command `loopwright run`.
    pub fn run(&self) -> Result<(), Failure> {
        let tolerance_asked = self.verify.as_deref().map(tolerance).transpose()?;
        let outputs = self.files()?;
        let declared = self.form.declared()?;
        let device = input::device(&self.device)?;
        let pipeline = self
            .with_steps(&declared, &device)
            .pipeline_for(&device, |kernel| self.arguments.args(kernel, false))?;
        let phase = report::Phase::begin("proving");
        let kernel = pipeline.apply(&declared)?;
        drop(phase);
        // A loop that the text does not have shows as a wrong result only, and digits that an f64
        // lacks not even so: the reference computes them in f32 too.
        let mut notes = declared.last_values();
        if tolerance_asked.is_some() {
            notes.extend(declared.declared().single_in_double());
        }
        for note in self.form.in_the_text(notes) {
            report::warn(&note);
        }
        let args = self.arguments.args(&kernel, false)?;
        let args = if self.trust_facts { args.trust_facts() } else { args.check_facts() };
        // The destinations of outputs are checked before anything runs.
        let plain = || kernel.args.iter().filter(|a| matches!(a, Arg::Array(_))).map(Arg::name);
        let arrays = || plain().chain(kernel.records.iter().map(|r| &r.array.name));
        if let Some((name, _)) = outputs.iter().find(|(name, _)| !arrays().any(|a| **a == **name)) {
            return Err(no_array(&kernel, name, arrays()).into());
        }
        let expected = match outputs.is_empty() {
            true => Default::default(),
            false => loopwright::runtime::expected_arrays(&kernel, &args)?,
        };
        for (name, path) in &outputs {
            files::writable(Path::new(path))?;
            // Not all types can be in such files.
            if let Some((dtype, _)) = expected.get(*name) {
                Tensor::zeros(&[0], *dtype)?.to_npy_bytes()?;
            }
        }
        let phase = report::Phase::begin("lowering");
        let compiled = device.compile(&kernel)?;
        let bound = compiled.bind(&args)?;
        phase.next("running");
        let result = bound.run()?;
        drop(phase);
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
        report::say(&text)?;
        for (name, path) in outputs {
            let tensor = match result.arrays.get(name) {
                Some(tensor) => tensor.clone(),
                None => bound.read(name)?,
            };
            tensor.to_npy(path)?;
        }
        if let Some(tolerance) = tolerance_asked {
            let phase = report::Phase::begin("verifying");
            let wrong = wrong(&compiled, &args, &result, tolerance)?;
            drop(phase);
            if let Some(wrong) = wrong {
                return Err(Failure::Wrong(wrong));
            }
            report::say("verified: equal to the declared kernel\n")?;
        }
        Ok(())
    }
}

impl Run {
    /// The arrays to be written, with their files, none of which is the same as another or as one
    /// that is read. Those that are read are there.
    fn files(&self) -> Result<Vec<(&str, &str)>, Failure> {
        let outputs = self.outputs.iter().map(|o| input::pair(o)).collect::<Result<Vec<_>, _>>()?;
        let inputs = self.arguments.inputs.iter().map(|i| input::pair(i)).collect::<Result<Vec<_>, _>>()?;
        let written =
            outputs.iter().map(|(name, file)| (format!("--output {name}={file}"), Path::new(*file)));
        let arrays = inputs.iter().map(|(_, file)| ("an input", *file));
        let record = self.form.record.as_deref().and_then(Path::to_str);
        let record = record.into_iter().map(|file| ("the file of records", file));
        files::distinct(&written.collect::<Vec<_>>(), self.form.files().chain(arrays).chain(record))?;
        for (_, file) in inputs {
            if std::fs::File::open(file).is_err() {
                let _ = Tensor::from_npy(file)?;
            }
        }
        Ok(outputs)
    }

    /// The form, with steps to be found where it has no pipeline and loops are left to them.
    fn with_steps(&self, declared: &LoopKernel, device: &Device) -> Form {
        let is_open = || !loopwright::auto::Nest::all(declared).is_empty();
        let is_automatic = self.form.pipeline.is_none() && !self.form.auto && !self.as_declared && is_open();
        if is_automatic {
            report::note(
                "note: no pipeline is given, so these steps are found for the kernel, as by `--auto`; \
                 `--as-declared` runs its loops in their order, on one thread",
            );
        }
        let auto = self.form.auto || is_automatic;
        // What is wrong with arguments is said when they are bound.
        let launch = auto.then(|| input::launch(declared, &self.arguments, Some(device)));
        let launch = launch.unwrap_or_default();
        Form { auto, launch, ..self.form.clone() }
    }
}

/// How a result differs from that of the declared kernel, if it does. Without a tolerance, the
/// usual one of each type applies.
pub fn wrong(
    compiled: &Compiled,
    args: &Args,
    result: &Outputs,
    tolerance: Option<f64>,
) -> Result<Option<String>, Diagnostic> {
    let difference = compiled.expectation(args)?.difference(&result.arrays, tolerance)?;
    Ok(difference.map(|text| format!("wrong: {text}")))
}

/// A tolerance, or the word for the usual one of each type.
pub fn tolerance(given: &str) -> Result<Option<f64>, Failure> {
    match given.parse::<f64>() {
        _ if given == USUAL => Ok(None),
        Ok(value) if value >= 0.0 => Ok(Some(value)),
        _ => Err(Diagnostic::new("option", format!("`{given}` is no tolerance"))
            .help("write a non-negative number such as `1e-5`, or leave it out")
            .into()),
    }
}

/// The tolerance that follows from types.
pub const USUAL: &str = "usual";
