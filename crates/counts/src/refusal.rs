//! Why there is no formula.

use std::fmt;

use loopwright_kernel_ir::Diagnostic;
use loopwright_poly::Error;

/// Why a count has no formula: one sentence that names the constraint, iname or bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A stable code, such as `count-unbounded`.
    pub code: &'static str,
    /// The reason, as a clause that follows `: `.
    pub reason: String,
}

impl Refusal {
    /// A refusal with a code and a reason.
    pub fn new(code: &'static str, reason: impl Into<String>) -> Refusal {
        Refusal { code, reason: reason.into() }
    }

    pub(crate) fn overflow() -> Refusal {
        Refusal::new("count-overflow", "a coefficient of the formula does not fit")
    }

    /// The refusal as a diagnostic about `what`, such as the loads of an array by an instruction.
    pub fn about(&self, what: &str) -> Diagnostic {
        Diagnostic::new(self.code, format!("{what} cannot be counted: {}", self.reason))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::Overflow => Refusal::overflow(),
            other => Refusal::new("count-undecided", format!("a query about its domain failed, {other}")),
        }
    }
}

impl From<Refusal> for Diagnostic {
    fn from(refusal: Refusal) -> Diagnostic {
        refusal.about("this")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}
