//! Whether a loop has an iteration, and another one after that.

use loopwright_kernel_ir::{Aff, Constraint, Name};
use loopwright_poly::Result;

use super::{Reading, Rows, Says};
use crate::{Step, Value};

impl Reading<'_> {
    /// The condition that a loop has an iteration.
    pub(super) fn begins(&mut self, lower: &Value, upper: &Value, step: Step) -> Result<Says> {
        let mut rows = Rows::default();
        let exact = match step {
            Step::Halve => self.compare(upper, lower, 1, &mut rows)?,
            Step::Add(_) | Step::Double => self.compare(lower, upper, 1, &mut rows)?,
        };
        Ok(Says::of(rows, exact))
    }

    /// The condition that the iteration of a loop with this value is not the last one.
    pub(super) fn goes_on(&mut self, counter: &Name, upper: &Value, step: Step) -> Result<Says> {
        let (counter, mut rows) = (Aff::var(counter), Rows::default());
        let exact = match step {
            Step::Add(step) => self.below(&counter.add_constant(step)?, upper, &mut rows)?,
            Step::Double => self.below(&counter.scale(2)?, upper, &mut rows)?,
            // Of a half that is rounded down, as neither it nor the end is negative.
            Step::Halve => match self.aff(upper)? {
                Some(end) => {
                    rows.all.push(Constraint::le(&end.scale(2)?.add_constant(2)?, &counter)?);
                    true
                }
                None => false,
            },
        };
        Ok(Says::of(rows, exact))
    }
}
