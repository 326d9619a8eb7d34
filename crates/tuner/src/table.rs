//! A search as a table of text.

use std::fmt::Write;

use crate::{Outcome, Tuning, tuning::best_first};

impl Tuning {
    /// One line per point, best first, then refused and wrong points with their reasons; at the end
    /// what the best one reaches, and where the time went.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let order = best_first(&self.candidates);
        let figure = if order.iter().any(|k| self.times_of(*k)) { "time ms" } else { "est. ms" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{figure:>10} {:>10} {:>7} {:>10} {:>6} {:>6} {:>5}  point",
            "bound ms", "moved", "conflicts", "idle", "occup.", "regs"
        );
        for k in order {
            let (point, Some(outcome)) = &self.candidates[k] else { continue };
            let (Some(ms), Some(cost)) = (outcome.milliseconds(), outcome.cost()) else { continue };
            let mark = if self.best == Some(k) { "  <- best" } else { "" };
            let _ = writeln!(
                text,
                "{ms:>10.4} {:>10.4} {:>6.2}x {:>10.0} {:>5.0}% {:>5.0}% {:>5}  {point}{mark}",
                cost.bound_ms,
                cost.moved_times(),
                cost.bank_conflicts,
                100.0 * cost.idle,
                100.0 * cost.occupancy,
                // Nothing was compiled.
                if cost.registers == 0 { "-".to_owned() } else { cost.registers.to_string() },
            );
        }
        for (point, outcome) in &self.candidates {
            let (what, reason) = match outcome {
                Some(outcome @ Outcome::Refused { .. }) => ("refused", outcome.reason()),
                Some(outcome @ Outcome::Wrong { .. }) => ("wrong", outcome.reason()),
                _ => continue,
            };
            let _ = writeln!(text, "{what:>10} {point}: {}", reason.unwrap_or_default());
        }
        let left = self.candidates.iter().filter(|(_, o)| o.is_none()).count();
        if left > 0 {
            let why = match (self.interrupted, self.out_of_time) {
                (true, _) => "the search was interrupted",
                (false, true) => "the time was over",
                (false, false) => "the strategy left them out",
            };
            let _ = writeln!(text, "{left} points were not looked at: {why}");
        }
        if self.recalled > 0 {
            let _ = writeln!(text, "{} outcomes were taken from the log", self.recalled);
        }
        if let Some((count, (field, ours, theirs))) = &self.not_used {
            let _ = writeln!(
                text,
                "{count} records of the log were not used: their {field} is `{}`, and here it is \
                 `{}`",
                theirs.trim(),
                ours.trim()
            );
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        match (self.best_point(), self.fraction_of_limit()) {
            (Some(point), Some(fraction)) => {
                let _ = writeln!(
                    text,
                    "best: {point}, at {:.1} % of the memory's limit ({:.2} TB/s, {})",
                    100.0 * fraction,
                    self.machine.bandwidth / 1e12,
                    if self.machine.measured { "measured" } else { "as described" }
                );
            }
            (Some(point), None) => {
                let _ = writeln!(text, "best by the counts, nothing was timed: {point}");
            }
            (None, _) => {
                let _ = writeln!(text, "{}", self.why_none().unwrap_or_default());
            }
        }
        let _ = writeln!(text, "spent {}", self.spent);
        text
    }

    fn times_of(&self, k: usize) -> bool {
        self.candidates[k].1.as_ref().is_some_and(|o| o.times().is_some())
    }
}
