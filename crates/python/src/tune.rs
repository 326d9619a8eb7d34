//! Searches for the values of a pipeline's open parameters.

use std::collections::BTreeMap;
use std::time::Duration;

use loopwright::prelude::{Args, Device, Diagnostic, LoopKernel, Pipeline, Space, Strategy, Tuner};
use loopwright::runtime::check_facts;
use pyo3::prelude::*;

use crate::error::Failure;

/// The options of a search, as items of a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    strategy: String,
    points: Option<usize>,
    seed: u64,
    budget: Option<f64>,
    log: Option<String>,
    launches: usize,
    tolerance: Option<f64>,
}

impl Options {
    fn strategy(&self, points: usize) -> Result<Strategy, Diagnostic> {
        let given = self.points;
        let (points, seed) = (given.unwrap_or(points.div_ceil(5)), self.seed);
        match self.strategy.as_str() {
            "exhaustive" if given.is_some() => Err(Diagnostic::new(
                "strategy",
                "the exhaustive strategy takes all points and ignores `points`",
            )
            .help("choose the strategy \"random\" or \"guided\", or leave `points` out")),
            "exhaustive" => Ok(Strategy::Exhaustive),
            "random" => Ok(Strategy::Random { points, seed }),
            "guided" => Ok(Strategy::Guided { points, seed }),
            other => Err(Diagnostic::new("strategy", format!("there is no strategy `{other}`"))
                .help("choose \"exhaustive\", \"random\" or \"guided\"")),
        }
    }
}

/// What a search found.
#[derive(IntoPyObject)]
pub struct Found {
    /// The best point; none if no point is legal.
    best: Option<BTreeMap<String, i64>>,
    /// Why there is none.
    why_none: Option<String>,
    /// The best point's time, or its estimate where nothing is timed.
    milliseconds: Option<f64>,
    /// Whether that is a time.
    timed: bool,
    table: String,
    html: String,
    notes: Vec<String>,
}

/// Runs a search. The arguments are in the host's memory.
pub fn tune(
    device: &Device,
    kernel: &LoopKernel,
    (pipeline, space): (&Pipeline, &Space),
    (args, sample): (&Args, Option<&Args>),
    options: &Options,
) -> Result<Found, Failure> {
    space.check(pipeline)?;
    check_facts(kernel, args)?;
    let strategy = options.strategy(space.points()?.len())?;
    let mut tuner =
        Tuner::new(device, kernel, pipeline, space, args).strategy(strategy).launches(options.launches);
    if let Some(sample) = sample {
        check_facts(kernel, sample)?;
        tuner = tuner.sample(sample);
    }
    if let Some(seconds) = options.budget {
        let budget = Duration::try_from_secs_f64(seconds)
            .map_err(|_| Diagnostic::new("option", format!("`{seconds}` is not a number of seconds")))?;
        tuner = tuner.budget(budget);
    }
    if let Some(log) = &options.log {
        tuner = tuner.log(log);
    }
    if let Some(tolerance) = options.tolerance {
        tuner = tuner.tolerance(tolerance);
    }
    let tuning = tuner.run()?;
    let point = |point: &loopwright::tuner::Point| point.values().map(|(n, v)| (n.to_string(), v)).collect();
    let outcome = tuning.best_outcome();
    Ok(Found {
        best: tuning.best_point().map(point),
        why_none: tuning.why_none().map(str::to_owned),
        milliseconds: outcome.and_then(|o| o.milliseconds()),
        timed: outcome.is_some_and(|o| o.times().is_some()),
        table: tuning.table(),
        html: tuning.html(),
        notes: tuning.notes,
    })
}
