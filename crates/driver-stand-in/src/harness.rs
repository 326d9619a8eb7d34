//! Runs a list of tests against the stand-in, each listed as ignored where they cannot run.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::stand_in::{Entry, StandIn, enter};

/// Passed, or the reason why not.
pub type Outcome = Result<(), Failed>;

/// The name and body of a test.
pub type Test = (&'static str, fn(&StandIn) -> Outcome);

/// The value, or a failed test with the error's text.
pub fn ok<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, Failed> {
    result.map_err(|error| Failed::from(error.to_string()))
}

/// A failed test with this message unless the condition holds.
pub fn check(holds: bool, message: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(Failed::from(message.into())) }
}

/// Runs tests in a process whose driver is the stand-in. `prepare` is called there first; where it
/// gives a reason, the tests are ignored for that reason.
pub fn run<const N: usize>(
    tests: [Test; N],
    prepare: impl FnOnce(&StandIn) -> Result<(), &'static str>,
) -> ExitCode {
    // One after the other: the stand-in's counts are of the whole process.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let driver = match enter() {
        Entry::Inside(driver) => prepare(&driver).map(|()| Arc::new(driver)),
        Entry::Ran(code) => return code,
        Entry::Nowhere(reason) => Err(reason),
    };
    let trials = tests.map(|(name, test)| {
        let driver = driver.clone();
        Trial::ignorable_test(name, move || match driver {
            Err(reason) => Ok(Completion::ignored_with(reason)),
            Ok(driver) => {
                driver.forgive();
                test(&driver)?;
                match driver.violation() {
                    None => Ok(Completion::Completed),
                    Some(text) => Err(text.into()),
                }
            }
        })
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}
