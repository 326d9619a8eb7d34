//! Totals over several places of a kernel.

use loopwright_kernel_ir::{Diagnostic, Name};

use crate::{Formula, Refusal};

/// A count over a whole run of the kernel: all blocks, threads and iterations together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// The formula, or the refusal that names the instruction and the reason.
    pub formula: Result<Formula, Diagnostic>,
    /// Whether the formula is an upper bound: some of what it counts is under conditions that are
    /// not affine.
    pub at_most: bool,
}

impl Total {
    pub(crate) fn zero() -> Total {
        Total { formula: Ok(Formula::default()), at_most: false }
    }

    pub(crate) fn of(formula: Result<Formula, Refusal>, at_most: bool, what: &str) -> Total {
        Total { formula: formula.map_err(|r| r.about(what)), at_most }
    }

    /// Adds `times` times another total; the first refusal of the two stays.
    pub(crate) fn add(&mut self, other: &Total, times: i64) {
        self.at_most |= other.at_most;
        let sum = match (&self.formula, &other.formula) {
            (Ok(mine), Ok(theirs)) => {
                theirs.scale(times).and_then(|t| mine.plus(&t)).map_err(|r| r.about("the sum"))
            }
            (Err(first), _) => Err(first.clone()),
            (_, Err(second)) => Err(second.clone()),
        };
        self.formula = sum;
    }

    /// Its value for these parameters; `None` if there is no formula or a parameter is missing.
    pub fn eval(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<i128> {
        self.formula.as_ref().ok()?.eval(values)
    }
}
