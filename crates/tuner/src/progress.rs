//! The progress of a search, and where its time went.

use std::fmt;
use std::time::Duration;

use crate::Point;

/// The progress of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The phase that is running.
    pub phase: Phase,
    /// Number of points done in this phase.
    pub done: usize,
    /// Number of points in this phase.
    pub of: usize,
    /// The best figure so far, in milliseconds: measured, or estimated if nothing is measured.
    pub best: Option<f64>,
    /// The point with the best figure; `None` as long as no point has one.
    pub point: Option<Point>,
}

/// The phases of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The declared kernel is interpreted on the sample, for the results with which points are
    /// compared. Reported when it begins.
    Reference,
    /// Points are lowered, checked and counted.
    Counting,
    /// Points are compiled and timed.
    Timing,
    /// The best are timed in alternation.
    Finals,
}

/// The durations of the phases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Everything outside the other phases: measuring the machine, reading the log, moving arrays
    /// to the device.
    pub preparing: Duration,
    /// The results of the declared kernel on the sample, by the plain interpreter.
    pub reference: Duration,
    /// Lowering, checking and counting on the emulator.
    pub counting: Duration,
    /// Time that the device waited for the compiler.
    pub compiling: Duration,
    /// Checking and timing on the device.
    pub timing: Duration,
    /// Timing the best points in alternation.
    pub finals: Duration,
}

impl Spent {
    /// All phases together: the time from the beginning of the search to its end.
    pub fn total(&self) -> Duration {
        self.preparing + self.reference + self.counting + self.compiling + self.timing + self.finals
    }

    /// Assigns the remainder of the whole time to preparing.
    pub(crate) fn of(self, whole: Duration) -> Spent {
        let others = Spent { preparing: Duration::ZERO, ..self }.total();
        Spent { preparing: whole.saturating_sub(others), ..self }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} s: {:.1} s preparing, {:.1} s for the reference, {:.1} s counting, {:.1} s \
             waiting for the compiler, {:.1} s timing, {:.1} s in the finals",
            self.total().as_secs_f64(),
            self.preparing.as_secs_f64(),
            self.reference.as_secs_f64(),
            self.counting.as_secs_f64(),
            self.compiling.as_secs_f64(),
            self.timing.as_secs_f64(),
            self.finals.as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_add_up_to_the_whole() {
        let s = Duration::from_secs;
        let phases = Spent { reference: s(2), counting: s(3), timing: s(4), ..Spent::default() };
        let spent = phases.of(s(10));
        assert_eq!((spent.preparing, spent.total()), (s(1), s(10)));
        assert!(spent.to_string().starts_with("10.0 s: 1.0 s preparing, 2.0 s for the reference, "));
    }
}
