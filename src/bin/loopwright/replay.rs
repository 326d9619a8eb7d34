//! `tune --replay`

use std::path::Path;

use loopwright::tuner::{Strategy, replay};

use crate::input::Failure;
use crate::report;

/// Prints what a strategy finds in the searches of a log.
pub fn print(log: &Path, strategy: impl Fn(usize) -> Strategy) -> Result<(), Failure> {
    for replayed in replay(log, strategy)? {
        report::say(&format!("{replayed}\n"))?;
    }
    Ok(())
}
