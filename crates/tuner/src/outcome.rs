//! The outcome of a point. A point that is illegal, impossible or wrong is a result like any other,
//! with a reason.

use loopwright_kernel_ir::Diagnostic;
use serde::{Deserialize, Serialize};

use crate::{Cost, figures};

/// Times of one candidate, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The median, by which candidates are compared.
    pub median: f64,
    /// The least of all launches.
    pub least: f64,
    /// Number of launches timed.
    pub launches: usize,
}

impl Times {
    /// The times of launches; none if there are none.
    pub fn of(mut milliseconds: Vec<f64>) -> Option<Times> {
        milliseconds.sort_by(f64::total_cmp);
        let launches = milliseconds.len();
        let middle = launches / 2;
        let median = if launches % 2 == 1 {
            *milliseconds.get(middle)?
        } else {
            f64::midpoint(*milliseconds.get(middle.checked_sub(1)?)?, *milliseconds.get(middle)?)
        };
        Some(Times { median, least: *milliseconds.first()?, launches })
    }
}

/// The outcome of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A step, the lowering, the compiler or a limit of the device refuses it.
    Refused {
        /// The diagnostic's code, as docs/codes.md lists it.
        code: String,
        /// The diagnostic's sentence.
        message: String,
        /// The diagnostic's remedy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        help: Option<String>,
    },
    /// Its results differ from those of the declared kernel.
    Wrong {
        /// The first difference, in words.
        message: String,
    },
    /// It was counted but not timed: there is no GPU, or its bound shows that it cannot win.
    Counted {
        /// What it costs by the counts.
        #[serde(deserialize_with = "figures::read")]
        cost: Cost,
    },
    /// It was checked, counted and timed on a GPU.
    Timed {
        /// What it costs by the counts.
        #[serde(deserialize_with = "figures::read")]
        cost: Cost,
        /// The times of its launches on the problem.
        times: Times,
    },
}

impl Outcome {
    /// The refusal of a diagnostic.
    pub fn refused(d: &Diagnostic) -> Outcome {
        Outcome::Refused { code: d.code.to_string(), message: d.message.clone(), help: d.help.clone() }
    }

    /// The outcome with the estimate for a machine other than that of the counts.
    pub(crate) fn for_machine(
        mut self,
        machine: &crate::Machine,
        info: &loopwright_runtime::cuda::DeviceInfo,
    ) -> Outcome {
        if let Outcome::Counted { cost } | Outcome::Timed { cost, .. } = &mut self {
            cost.estimate(machine, info);
        }
        self
    }

    /// The static cost, if it was counted.
    pub fn cost(&self) -> Option<&Cost> {
        match self {
            Outcome::Counted { cost } | Outcome::Timed { cost, .. } => Some(cost),
            Outcome::Refused { .. } | Outcome::Wrong { .. } => None,
        }
    }

    /// The measured times; `None` unless it was timed.
    pub fn times(&self) -> Option<&Times> {
        match self {
            Outcome::Timed { times, .. } => Some(times),
            _ => None,
        }
    }

    /// Why there is no figure, in one line; none if there is one.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Outcome::Refused { code, message, help } => {
                let help = help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
                Some(format!("{message} [{code}]{help}"))
            }
            Outcome::Wrong { message } => Some(message.clone()),
            Outcome::Counted { .. } | Outcome::Timed { .. } => None,
        }
    }

    /// The figure to rank by, in milliseconds: measured if available, estimated otherwise. A NaN
    /// estimate, such as a difference of infinities, counts as infinite and ranks last: otherwise
    /// its sign would make it first or last.
    pub fn milliseconds(&self) -> Option<f64> {
        let figure = self.times().map(|t| t.median).or_else(|| self.cost().map(|c| c.estimate_ms));
        figure.map(|ms| if ms.is_nan() { f64::INFINITY } else { ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_ranks_last() {
        let of = |estimate_ms| Outcome::Counted { cost: Cost { estimate_ms, ..Cost::default() } };
        for nan in [f64::NAN, -f64::NAN] {
            assert_eq!(of(nan).milliseconds(), Some(f64::INFINITY));
        }
        assert_eq!(of(1.5).milliseconds(), Some(1.5));
    }

    #[test]
    fn medians() {
        let of = |v: &[f64]| Times::of(v.to_vec()).map(|t| (t.median, t.least));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some((2.0, 1.0)));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some((2.5, 1.0)));
        assert_eq!(of(&[]), None);
    }
}
