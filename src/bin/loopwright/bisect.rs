//! `bisect`

use clap::Args as ClapArgs;
use loopwright::{prelude::*, transforms::Bisection};

use crate::arguments::{Arguments, whole};
use crate::input::{Binding, Failure, Form};
use crate::report;
use crate::run::{USUAL, tolerance, wrong};

/// The options of `loopwright bisect`. Several properties count as one: that all of them hold.
#[derive(ClapArgs)]
pub struct Bisect {
    #[command(flatten)]
    pub form: Form,
    /// The text of the device kernels has at most this many barriers.
    #[arg(long, value_parser = whole::<usize>, value_name = "N")]
    barriers: Option<usize>,
    /// There are at most this many device kernels.
    #[arg(long, value_parser = whole::<usize>, value_name = "N")]
    kernels: Option<usize>,
    /// A block uses at most this many bytes of shared memory.
    #[arg(long, value_parser = whole::<u64>, value_name = "BYTES")]
    shared: Option<u64>,
    /// A run on the emulator has at most this many bank conflicts.
    #[arg(long, value_parser = whole::<u64>, value_name = "N")]
    bank_conflicts: Option<u64>,
    /// A run on the emulator moves at most this many bytes of global memory.
    #[arg(long, value_parser = whole::<u64>, value_name = "BYTES")]
    moved: Option<u64>,
    /// A run on the emulator agrees with the declared kernel, within this tolerance, as in
    /// `run --verify`.
    #[arg(long, value_name = "TOLERANCE", num_args = 0..=1, default_missing_value = USUAL)]
    result: Option<String>,
    #[command(flatten)]
    arguments: Arguments,
}

impl Bisect {
    /// Runs the command `loopwright bisect`.
    pub fn bisect(&self) -> Result<(), Failure> {
        let asked = self.barriers.is_some() || self.kernels.is_some() || self.shared.is_some();
        if !asked && !self.runs() {
            return Err(Diagnostic::new("option", "`bisect` needs a property")
                .help(
                    "give one, such as `--barriers 0`, `--kernels 1`, `--shared 0`, \
                     `--bank-conflicts 0`, `--moved BYTES` or `--result`",
                )
                .into());
        }
        let declared = self.form.declared()?;
        let pipeline = self.form.pipeline()?;
        // Why the property cannot be evaluated before the first step and after each one.
        let mut refusals: Vec<Option<Diagnostic>> = Vec::new();
        let phase = report::Phase::begin("trying steps");
        let found = pipeline.bisect(&declared, |kernel| {
            let held = self.holds(kernel);
            refusals.push(held.as_ref().err().cloned());
            held
        })?;
        drop(phase);
        // Nothing is known of the end if the property cannot be evaluated there: the step that made
        // it so is the one that is sought.
        let known = refusals.iter().rposition(Option::is_none).map_or(0, |last| last + 1);
        if let (Bisection::Holds, Some(Some(refusal))) = (&found, refusals.get(known)) {
            let mut refusal = refusal.clone();
            let step = known.checked_sub(1).and_then(|number| pipeline.steps().get(number));
            if let Some(step) = step {
                refusal.message =
                    format!("step {known}, `{step}`, made it impossible to tell: {}", refusal.message);
            }
            return Err(refusal.into());
        }
        report::say_changes(&found.to_string())?;
        Ok(())
    }

    fn runs(&self) -> bool {
        self.bank_conflicts.is_some() || self.moved.is_some() || self.result.is_some()
    }

    /// Whether the kernel has the property. An error if it cannot be lowered or run.
    fn holds(&self, kernel: &LoopKernel) -> Result<bool, Diagnostic> {
        let first = |failure: Failure| match failure {
            Failure::Input(mut diagnostics) if !diagnostics.is_empty() => diagnostics.swap_remove(0),
            Failure::Input(_) | Failure::Told => {
                Diagnostic::new("option", "the property cannot be evaluated")
            }
            Failure::Wrong(text) => Diagnostic::new("option", text),
        };
        let binding = Binding { types: self.arguments.types.clone(), index: None };
        let bound = loopwright::runtime::bind_open_types(kernel, &binding.types().map_err(first)?)?;
        let program = lower(&bound, LowerOptions::default())?;
        let shared = program.kernels.iter().map(|k| k.shared_bytes()).max().unwrap_or(0);
        if self.barriers.is_some_and(|most| program.barriers() > most)
            || self.kernels.is_some_and(|most| program.kernels.len() > most)
            || self.shared.is_some_and(|most| shared > most)
        {
            return Ok(false);
        }
        if !self.runs() {
            return Ok(true);
        }
        let args = self.arguments.args(kernel, true).map_err(first)?;
        let compiled = Device::emulator().compile(kernel)?;
        let result = compiled.bind(&args)?.run()?;
        let counts = result.report.as_ref().map(|r| &r.total);
        if counts.is_some_and(|c| {
            self.bank_conflicts.is_some_and(|most| c.bank_conflicts() > most)
                || self.moved.is_some_and(|most| c.global_bytes_moved() > most)
        }) {
            return Ok(false);
        }
        match self.result.as_deref().map(tolerance).transpose().map_err(first)? {
            None => Ok(true),
            Some(tolerance) => Ok(wrong(&compiled, &args, &result, tolerance)?.is_none()),
        }
    }
}
