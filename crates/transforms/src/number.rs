//! Numbers in steps, which may be left open for a tuner.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, Name};
use serde::{Deserialize, Serialize};

/// An integer in a step: known, or an open parameter of the pipeline (`$block`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// An integer, such as 128 or -1.
    Known(i64),
    /// A parameter, which [`crate::Pipeline::bind`] replaces by its value.
    Open(Name),
}

impl Number {
    /// Parses `128`, `-1` or `$block`.
    pub fn parse(text: &str) -> Option<Number> {
        match text.trim().strip_prefix('$') {
            Some(name) => crate::call::name_in(name).map(Number::Open),
            None => text.trim().parse().ok().map(Number::Known),
        }
    }

    /// Its value, or an error that names the open parameter.
    pub fn value(&self) -> Result<i64, Diagnostic> {
        match self {
            Number::Known(value) => Ok(*value),
            Number::Open(name) => {
                Err(Diagnostic::new("open-parameter", format!("the parameter `${name}` has no value yet"))
                    .help(format!("bind it: `pipeline.bind([(\"{name}\", 128)])`")))
            }
        }
    }

    /// Its value if it is at least `least`; `what` describes it in the error.
    pub(crate) fn at_least(&self, least: i64, what: &str) -> Result<i64, Diagnostic> {
        let value = self.value()?;
        if value < least {
            return Err(Diagnostic::new(
                "number-range",
                format!("{what} must be at least {least}, not {value}"),
            )
            .help(format!("give {least} or more")));
        }
        Ok(value)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number::Known(value)
    }
}

/// An integer as text, `"128"`, or an open parameter, `"$block"`. Any other text becomes an open
/// parameter of that name.
impl From<&str> for Number {
    fn from(text: &str) -> Self {
        Number::parse(text).unwrap_or_else(|| Number::Open(Name::new(text)))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Known(value) => write!(f, "{value}"),
            Number::Open(name) => write!(f, "${name}"),
        }
    }
}
