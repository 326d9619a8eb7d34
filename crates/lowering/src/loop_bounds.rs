//! Between which values a loop runs.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name};
use loopwright_poly::Bound;

use crate::env::Env;

/// The bounds of a loop.
#[derive(Clone, Default)]
pub(crate) struct LoopBounds {
    pub lower: Vec<Bound>,
    pub upper: Vec<Bound>,
}

impl LoopBounds {
    /// What they say of the iname is known from here on.
    pub fn learn(&self, iname: &Name, env: &mut Env) -> Result<(), Diagnostic> {
        for b in &self.lower {
            // d*i >= aff
            env.learn(&[Constraint::le(&b.aff, &Aff::var(iname).scale(b.denominator)?)?])?;
        }
        for b in &self.upper {
            env.learn(&[Constraint::le(&Aff::var(iname).scale(b.denominator)?, &b.aff)?])?;
        }
        Ok(())
    }
}

/// The value of an iname whose bounds say that it has one, and exactly one.
pub(crate) fn one_value<'b>(lower: &'b [Bound], upper: &[Bound]) -> Option<&'b Aff> {
    match (lower, upper) {
        ([low], [high]) if low.denominator == 1 && low == high => Some(&low.aff),
        _ => None,
    }
}
