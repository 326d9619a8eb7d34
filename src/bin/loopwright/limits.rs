//! `report`

use std::path::PathBuf;

use clap::Args as ClapArgs;
use loopwright::prelude::*;

use crate::input::{self, Failure};
use crate::report;

/// The options of `loopwright report`.
#[derive(ClapArgs)]
pub struct Limits {
    /// Logs of `tune --log`; one may hold several searches.
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The integer argument on the x axis, such as `len`, or a quotient of two, such as `n/nseg`;
    /// by default the only one in which the searches differ.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Write a page with the plot.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Limits {
    /// Runs the command `loopwright report`.
    pub fn report(&self) -> Result<(), Failure> {
        let found = LimitReport::read(&self.logs, self.by.as_deref())?;
        if let Some(path) = &self.html {
            input::write(path, &found.page(&format!("Made on {}", report::now())))?;
        }
        report::say_table(&found.table())?;
        Ok(())
    }
}
