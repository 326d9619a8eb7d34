//! `explain` and `compare`

use clap::Args as ClapArgs;
use loopwright::{
    lowering::{left_out, realized},
    prelude::*,
    transforms::TextDiff,
};

use crate::check::lowered;
use crate::files::standard_input_once;
use crate::input::{Binding, Failure, Form, bound_each, read_pipeline};
use crate::report;

/// The options of `loopwright explain`.
#[derive(ClapArgs)]
pub struct Explain {
    #[command(flatten)]
    pub form: Form,
    /// Show the whole kernel after each step instead of the lines that changed.
    #[arg(long)]
    whole: bool,
    /// Show how long each step and its proof took.
    #[arg(long)]
    times: bool,
    /// Explain the lowered program instead: the dependence behind every barrier, kernel boundary
    /// and host loop, with two executions that show it, the step behind every guard and copy, and
    /// the instructions that are left out since nothing reads their results.
    #[arg(long)]
    lowered: bool,
    #[command(flatten)]
    binding: Binding,
}

/// The options of `loopwright compare`.
#[derive(ClapArgs)]
pub struct Compare {
    /// The kernel and the first pipeline.
    #[command(flatten)]
    pub form: Form,
    /// The file of the second pipeline.
    second: Option<String>,
}

impl Explain {
    /// Runs the command `loopwright explain`.
    pub fn explain(&self) -> Result<(), Failure> {
        if self.lowered {
            let (kernel, program) = lowered(&self.form, &self.binding)?;
            report::say(&program.explain().to_string())?;
            return say_left_out(&kernel);
        }
        let declared = self.form.declared()?;
        let pipeline = self.form.pipeline()?;
        let phase = report::Phase::begin("proving");
        let mut explained = pipeline.explain(&declared);
        drop(phase);
        let refusal = explained.refusal().cloned();
        if refusal.is_some() {
            // It is reported like other refusals, with its place.
            explained.steps.pop();
        }
        report::say(&format!("declared\n{}", indented(&declared.to_string())))?;
        let text = if self.whole { format!("{explained:#}") } else { explained.to_string() };
        report::say_changes(&text)?;
        if self.times {
            for (k, step) in explained.steps.iter().enumerate() {
                let Ok(judged) = &step.outcome else { continue };
                report::say(&format!(
                    "{}. step {:.0} us, proof {:.0} us\n",
                    k + 1,
                    judged.transform_microseconds,
                    judged.judge_microseconds
                ))?;
            }
        }
        match refusal {
            Some(refusal) => Err(refusal.into()),
            None => self.realizations(explained.kernel().and_then(Result::ok).unwrap_or(&declared)),
        }
    }

    /// What lowering does to the kernel before it decides about loops, guards and barriers, with
    /// the verdicts. A kernel with open types has none yet: they are bound with the arguments.
    fn realizations(&self, kernel: &LoopKernel) -> Result<(), Failure> {
        let phase = report::Phase::begin("lowering");
        let realized = realized(kernel, &Target::default());
        drop(phase);
        let realized = match realized {
            Ok(realized) => realized,
            Err(refusal) if refusal.code == "open-type" => return Ok(()),
            Err(refusal) => {
                let why: String = refusal.to_string().lines().map(|line| format!("   {line}\n")).collect();
                report::say(&format!("lowering: refused\n{why}"))?;
                return Ok(());
            }
        };
        let mut before = kernel.to_string();
        for (step, verdict) in realized.judged() {
            let after = step.kernel.to_string();
            let shown = if self.whole { after.clone() } else { TextDiff::of(&before, &after).to_string() };
            let shown: String = shown.lines().map(|line| format!("   | {line}\n")).collect();
            report::say_changes(&format!("lowering: {step}\n   {verdict}\n{shown}"))?;
            before = after;
        }
        say_left_out(kernel)
    }
}

impl Compare {
    /// Runs the command `loopwright compare`.
    pub fn compare(&self) -> Result<(), Failure> {
        let declared = self.form.declared()?;
        let (Some(first), Some(second)) = (&self.form.pipeline, &self.second) else {
            return Err(Diagnostic::new("option", "`compare` needs two pipelines")
                .help("name two pipeline files after the kernel")
                .into());
        };
        standard_input_once([self.form.kernel.as_str(), first, second])?;
        let open = [read_pipeline(first)?, read_pipeline(second)?];
        let bound = bound_each(&open, &self.form.parameters)?;
        let phase = report::Phase::begin("proving");
        // The difference of two refusals would say nothing of -p.
        for pipeline in bound.iter().filter(|pipeline| !pipeline.parameters().is_empty()) {
            let _ = pipeline.apply(&declared)?;
        }
        let [first, second] = &bound[..] else { return Ok(()) };
        let divergence = first.compare(second, &declared);
        drop(phase);
        match divergence {
            Some(divergence) => report::say_changes(&divergence.to_string())?,
            None => report::say("the kernels are equal after every step\n")?,
        }
        Ok(())
    }
}

/// The instructions that the program does not run.
fn say_left_out(kernel: &LoopKernel) -> Result<(), Failure> {
    for left_out in left_out(kernel, &Target::default())? {
        report::say(&format!("{left_out}\n"))?;
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("   | {line}\n")).collect()
}
