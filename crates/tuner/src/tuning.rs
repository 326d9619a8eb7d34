//! The result of a search.

use crate::{Key, Machine, Outcome, Point, RecordKey, Spent, Times};

/// A finalist's times in alternation with the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Finalist {
    /// Its index among the points.
    pub candidate: usize,
    /// Its times in the finals.
    pub times: Times,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The name of the search.
    pub name: String,
    /// The text of the declared kernel.
    pub declared: String,
    /// The key of the outcomes.
    pub key: Key,
    /// The basis of the counts, see [`Record::basis`](crate::Record::basis).
    pub basis: String,
    /// The key of a record of this search.
    pub record_key: RecordKey,
    /// The machine for which costs are estimated.
    pub machine: Machine,
    /// Every point of the space with its outcome; none for points that the strategy, the time
    /// budget or an interrupt left out before they were counted.
    pub candidates: Vec<(Point, Option<Outcome>)>,
    /// The best few, timed in alternation, best first; empty if nothing was timed.
    pub finalists: Vec<Finalist>,
    /// Warnings, one sentence each: sizes of the sample that are not multiples of tiles that divide
    /// the problem's, and skipped lines of the log.
    pub notes: Vec<String>,
    /// The best point's index.
    pub best: Option<usize>,
    /// Number of outcomes taken from the log.
    pub recalled: usize,
    /// Records of the log that were not used: their number, and the field in which the first
    /// differs, with its value here and there.
    pub not_used: Option<(usize, (String, String, String))>,
    /// The time spent in each phase.
    pub spent: Spent,
    /// Whether the time budget ended the search.
    pub out_of_time: bool,
    /// Whether [`Tuner::stop_when`](crate::Tuner::stop_when) ended the search.
    pub interrupted: bool,
}

impl Tuning {
    /// The best point; `None` if no point has a figure.
    pub fn best_point(&self) -> Option<&Point> {
        self.best.map(|k| &self.candidates[k].0)
    }

    /// The best point's outcome.
    pub fn best_outcome(&self) -> Option<&Outcome> {
        self.best.and_then(|k| self.candidates[k].1.as_ref())
    }

    /// Why there is no best point, as a sentence; none if there is one.
    pub fn why_none(&self) -> Option<&'static str> {
        if self.best.is_some() {
            return None;
        }
        let looked_at = self.candidates.iter().filter(|(_, o)| o.is_some()).count();
        if self.interrupted {
            return Some(match looked_at {
                0 => "the search was interrupted before any point was looked at",
                _ => "no point that was looked at is legal, and the search was interrupted",
            });
        }
        Some(match (looked_at, self.out_of_time) {
            (0, true) => {
                "the time budget ended before any point was looked at: raise it, or give a smaller \
                 sample"
            }
            (_, true) => "no point that was looked at is legal, and the time budget ended before the others",
            (n, false) if n < self.candidates.len() => {
                "no point that was looked at is legal: let the strategy look at more"
            }
            _ => "no point is legal",
        })
    }

    /// The fraction of the memory's limit that the best point reaches; none if nothing was timed.
    pub fn fraction_of_limit(&self) -> Option<f64> {
        let outcome = self.best_outcome()?;
        Some(outcome.cost()?.bound_ms / outcome.times()?.median)
    }
}

/// The points that have a figure, best first: measured before estimated ones, ties in the order of
/// the space.
pub(crate) fn best_first(candidates: &[(Point, Option<Outcome>)]) -> Vec<usize> {
    let figure = |k: usize| -> Option<(bool, f64)> {
        let outcome = candidates[k].1.as_ref()?;
        Some((outcome.times().is_none(), outcome.milliseconds()?))
    };
    let mut order: Vec<(usize, (bool, f64))> =
        (0..candidates.len()).filter_map(|k| Some((k, figure(k)?))).collect();
    order.sort_by(|(i, a), (j, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(i.cmp(j)));
    order.into_iter().map(|(k, _)| k).collect()
}
