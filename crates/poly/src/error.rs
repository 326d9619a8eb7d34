//! Errors of queries about affine values.

use std::fmt;

/// Why a query about affine values has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A coefficient left the range of `i64`. Nothing wraps silently.
    Overflow,
    /// Text that is not an affine set or map, with the byte offset at which reading stopped.
    Syntax {
        /// One sentence on what was expected.
        message: String,
        /// Byte offset into the text.
        offset: usize,
    },
    /// The operands do not fit together, such as in the intersection of sets of different
    /// dimensions.
    Space(String),
    /// isl exhausted the operation budget of a query.
    Budget,
    /// isl refused the query for another reason, in isl's words.
    Isl(String),
}

/// The result of a query about affine values.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Overflow => write!(f, "a coefficient does not fit into 64 bits"),
            Error::Syntax { message, offset } => write!(f, "{message} (at byte {offset})"),
            Error::Space(what) => write!(f, "the spaces differ: {what}"),
            Error::Budget => write!(f, "the query needs more operations than its budget allows"),
            Error::Isl(what) => write!(f, "isl: {what}"),
        }
    }
}

impl std::error::Error for Error {}
