//! `lint`

use clap::Args as ClapArgs;
use loopwright::tuner::{Machine, lint};

use crate::arguments::Arguments;
use crate::input::{Failure, Form};
use crate::report;

/// The options of `loopwright lint`.
#[derive(ClapArgs)]
pub struct Lint {
    #[command(flatten)]
    pub form: Form,
    #[command(flatten)]
    arguments: Arguments,
    /// Print the lints as JSON.
    #[arg(long)]
    json: bool,
    /// Exit with status 1 if there is a lint.
    #[arg(long)]
    deny_warnings: bool,
}

impl Lint {
    /// Runs the command `loopwright lint`.
    pub fn lint(&self) -> Result<(), Failure> {
        let declared = self.form.declared()?;
        let pipeline = self.form.pipeline()?;
        for note in self.form.in_the_text(declared.declared().single_in_double()) {
            report::warn(&note);
        }
        let phase = report::Phase::begin("making arguments");
        let args = self.arguments.args(&declared, true)?;
        phase.next("proving and counting");
        let lints = lint(&declared, &pipeline, &args, &Machine::h200())?;
        drop(phase);
        if self.json {
            let text = serde_json::to_string_pretty(&lints).unwrap_or_default();
            report::say(&format!("{text}\n"))?;
            return self.verdict(&lints);
        }
        for lint in &lints {
            report::say_lint(&format!("{lint}\n\n"))?;
        }
        let repaired = lints.iter().filter(|l| l.repair.is_some()).count();
        report::say(&match lints.len() {
            0 => "no lints\n".to_owned(),
            n => format!("{n} {}, {repaired} with a repair\n", if n == 1 { "lint" } else { "lints" }),
        })?;
        self.verdict(&lints)
    }

    /// Lints are refused where they are denied; what was printed says why.
    fn verdict(&self, lints: &[loopwright::tuner::Lint]) -> Result<(), Failure> {
        if self.deny_warnings && !lints.is_empty() { Err(Failure::Told) } else { Ok(()) }
    }
}
