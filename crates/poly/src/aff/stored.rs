//! Functions as read from a file, which may contain anything: only what satisfies the invariants of
//! [`Aff`] becomes one.

use serde::Deserialize;

use super::{Aff, FloorDiv, Term};
use crate::{Error, Result};

/// The fields of a [`FloorDiv`].
#[derive(Deserialize)]
pub(super) struct StoredDiv {
    numerator: Aff,
    denominator: i64,
}

/// The fields of an [`Aff`].
#[derive(Deserialize)]
pub(super) struct StoredAff {
    terms: Vec<(Term, i64)>,
    constant: i64,
}

impl TryFrom<StoredDiv> for FloorDiv {
    type Error = Error;

    fn try_from(stored: StoredDiv) -> Result<Self> {
        let StoredDiv { numerator, denominator } = stored;
        if denominator < 1 {
            return Err(Error::Space(format!("a divisor must be a positive constant, not {denominator}")));
        }
        Ok(FloorDiv { numerator, denominator })
    }
}

impl TryFrom<StoredAff> for Aff {
    type Error = Error;

    fn try_from(stored: StoredAff) -> Result<Self> {
        let StoredAff { terms, constant } = stored;
        // Searches and sums rely on the order, and on each term occurring once with a non-zero
        // coefficient.
        let sorted = terms.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !sorted || terms.iter().any(|(_, coefficient)| *coefficient == 0) {
            return Err(Error::Space(
                "the terms of a function must be sorted, different, and without zero coefficients".into(),
            ));
        }
        if terms.iter().map(|(_, coefficient)| *coefficient).chain([constant]).any(|c| c == i64::MIN) {
            return Err(Error::Overflow);
        }
        Ok(Aff { terms: terms.into(), constant })
    }
}
