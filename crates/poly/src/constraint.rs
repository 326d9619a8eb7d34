//! One affine constraint.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::{Aff, Name, Result};

/// How a [`Constraint`] compares its function with zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// The function is zero.
    Eq,
    /// The function is at least zero.
    Ge,
}

/// A constraint `aff = 0` or `aff >= 0`, over integers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Constraint {
    /// Whether the function has to be zero, or at least zero.
    pub kind: Kind,
    /// The function that is compared with zero.
    pub aff: Aff,
}

impl Constraint {
    /// The constraint `aff >= 0`.
    pub fn nonneg(aff: Aff) -> Self {
        Constraint { kind: Kind::Ge, aff }
    }

    /// The constraint `aff = 0`.
    pub fn zero(aff: Aff) -> Self {
        Constraint { kind: Kind::Eq, aff }
    }

    /// The constraint `low <= high`; an error if the difference overflows.
    pub fn le(low: &Aff, high: &Aff) -> Result<Self> {
        Ok(Constraint::nonneg(high.sub(low)?))
    }

    /// The constraint `low < high`; an error if the difference overflows.
    pub fn lt(low: &Aff, high: &Aff) -> Result<Self> {
        Ok(Constraint::nonneg(high.sub(low)?.add_constant(-1)?))
    }

    /// The constraint `left = right`; an error if the difference overflows.
    pub fn equal(left: &Aff, right: &Aff) -> Result<Self> {
        Ok(Constraint::zero(left.sub(right)?))
    }

    /// Whether it holds for these values; `None` if a name has no value.
    pub fn holds(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<bool> {
        let value = self.aff.eval(values)?;
        Some(match self.kind {
            Kind::Eq => value == 0,
            Kind::Ge => value >= 0,
        })
    }

    /// All names that occur, those inside of quotients included.
    pub fn names(&self) -> BTreeSet<Name> {
        self.aff.names()
    }

    /// The negation of the constraint, as mutually exclusive alternatives.
    pub fn negations(&self) -> Result<Vec<Self>> {
        let below = Constraint::nonneg(self.aff.neg()?.add_constant(-1)?);
        Ok(match self.kind {
            Kind::Ge => vec![below],
            Kind::Eq => vec![below, Constraint::nonneg(self.aff.add_constant(-1)?)],
        })
    }

    /// The constraint with names replaced, all at once.
    pub fn substitute(&self, replace: &dyn Fn(&Name) -> Option<Aff>) -> Result<Self> {
        Ok(Constraint { kind: self.kind, aff: self.aff.substitute(replace)? })
    }

    /// The constraint with names replaced by names, all at once.
    pub fn rename(&self, replace: &dyn Fn(&Name) -> Option<Name>) -> Result<Self> {
        Ok(Constraint { kind: self.kind, aff: self.aff.rename(replace)? })
    }
}

/// A function as a difference: its negated negative terms, and its other terms with the constant.
fn sides(aff: &Aff) -> Result<(Aff, Aff)> {
    let (parts, constant) = crate::aff::shown_parts(aff)?;
    let mut left = Aff::default();
    let mut right = Aff::constant(constant);
    for (part, negative) in parts {
        let side = if negative { &mut left } else { &mut right };
        *side = side.add(&part)?;
    }
    Ok((left, right))
}

/// Negative terms go to the left of the comparison: `i < n`, `2*i = j`, `n mod 4 = 0`. Numbers
/// whose negation overflows stay where they are.
impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = sides(&self.aff).unwrap_or_else(|_| (Aff::default(), self.aff.clone()));
        match (self.kind, right.constant_term()) {
            (Kind::Eq, _) => write!(f, "{left} = {right}"),
            // a <= b - 1 reads better as a < b.
            (Kind::Ge, -1) if !right.terms().is_empty() && !left.terms().is_empty() => {
                write!(f, "{left} < {}", right.add_constant(1).map_err(|_| fmt::Error)?)
            }
            (Kind::Ge, c) if c < 0 && c != i64::MIN && left.terms().is_empty() => {
                write!(f, "{} <= {}", -c, right.add_constant(-c).map_err(|_| fmt::Error)?)
            }
            (Kind::Ge, _) => write!(f, "{left} <= {right}"),
        }
    }
}
