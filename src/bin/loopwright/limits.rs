//! `report`

use std::path::PathBuf;

use clap::Args as ClapArgs;
use loopwright::ir::{Arg, Type};
use loopwright::prelude::*;
use loopwright::tuner::{Reached, Series};

use crate::files;
use crate::input::Failure;
use crate::{report, tune};

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
            files::write(path, &found.page_with(&format!("Made on {}", report::now()), printed))?;
        }
        report::say_table(&found.table())?;
        Ok(())
    }
}

/// The CUDA C of a line's best point for a shape. None if the log is too old to have the kernel, or
/// if its pipeline has steps of the user's own.
fn printed(series: &Series, shape: &Reached) -> Option<String> {
    let kernel = LoopKernel::parse(&series.declared).ok()?;
    let pipeline = Pipeline::parse(&series.key.pipeline).ok()?;
    let mut args = Args::new();
    for (array, dtype) in series.key.types().split(", ").filter_map(|typed| typed.split_once(": ")) {
        let open = kernel.args.iter().find_map(|arg| match arg {
            Arg::Array(a) if a.name == *array => Some(&a.dtype),
            _ => None,
        });
        if let Some(Type::Open(name)) = open {
            args = args.bind_type(name.clone(), DType::from_name(dtype)?);
        }
    }
    for (name, value) in &shape.sizes {
        args = args.scalar(name.clone(), *value);
    }
    tune::printed(&kernel, &pipeline, &shape.best.as_ref()?.point, &args).ok()
}
