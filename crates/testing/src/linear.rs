//! Sums of parameters: lengths of arrays and ends of ranges.

use std::{collections::BTreeMap, fmt};

/// A constant and multiples of parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Linear {
    terms: BTreeMap<String, i64>,
    constant: i64,
}

impl Linear {
    /// The constant with this value.
    pub fn constant(constant: i64) -> Linear {
        Linear { terms: BTreeMap::new(), constant }
    }

    /// The parameter with this name.
    pub fn parameter(name: &str) -> Linear {
        Linear { terms: BTreeMap::from([(name.to_string(), 1)]), constant: 0 }
    }

    /// The sum with a constant.
    pub fn plus(&self, more: i64) -> Linear {
        Linear { terms: self.terms.clone(), constant: self.constant + more }
    }

    /// The multiple by a constant.
    pub fn times(&self, factor: i64) -> Linear {
        Linear {
            terms: self.terms.iter().map(|(n, c)| (n.clone(), c * factor)).collect(),
            constant: self.constant * factor,
        }
    }

    /// The sum of both, term by term.
    pub fn add(&self, other: &Linear) -> Linear {
        let mut terms = self.terms.clone();
        for (name, c) in &other.terms {
            *terms.entry(name.clone()).or_insert(0) += c;
        }
        Linear { terms, constant: self.constant + other.constant }
    }

    /// The constant, if it is one.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (name, c) in &self.terms {
            if !first {
                f.write_str(" + ")?;
            }
            first = false;
            if *c == 1 { f.write_str(name)? } else { write!(f, "{c}*{name}")? }
        }
        match self.constant {
            c if first => write!(f, "{c}"),
            0 => Ok(()),
            c if c < 0 => write!(f, " - {}", -c),
            c => write!(f, " + {c}"),
        }
    }
}
