//! `auto`

use clap::Args as ClapArgs;
use loopwright::{auto::auto, prelude::*};

use crate::input::{Failure, Form};
use crate::report;

/// The options of `loopwright auto`.
#[derive(ClapArgs)]
pub struct Auto {
    #[command(flatten)]
    pub form: Form,
    /// Also show what was proposed and refused before, with the refusals.
    #[arg(long)]
    refused: bool,
}

impl Auto {
    /// `loopwright auto`
    pub fn auto(&self) -> Result<(), Failure> {
        // The pipeline alone: `--auto` changes nothing here.
        let given = Form { auto: false, ..self.form.clone() }.pipeline()?;
        let found = auto(&given.apply(&self.form.declared()?)?, &Target::default());
        let text = if self.refused { format!("{found:#}") } else { found.to_string() };
        report::say(&format!("{given}{text}"))?;
        Ok(())
    }
}
