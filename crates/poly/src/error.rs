//! What can go wrong in a question about affine values.

use std::fmt;

/// Why a question about affine values has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A coefficient left the range of `i64`. Nothing wraps silently.
    Overflow,
    /// Text that is no affine set or map: what was found there, and the byte offset at which
    /// reading stopped.
    Syntax {
        /// One sentence on what was expected.
        message: String,
        /// Byte offset into the text.
        offset: usize,
    },
    /// The values do not fit together, as in the intersection of sets of different dimensions.
    Space(String),
    /// isl used up the operation budget of one question.
    Budget,
    /// isl refused the question for another reason, in its own words.
    Isl(String),
}

/// The result of a question about affine values.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Overflow => write!(f, "a coefficient does not fit into 64 bits"),
            Error::Syntax { message, offset } => write!(f, "{message} (at byte {offset})"),
            Error::Space(what) => write!(f, "the spaces differ: {what}"),
            Error::Budget => write!(f, "the question needs more steps than its budget allows"),
            Error::Isl(what) => write!(f, "isl: {what}"),
        }
    }
}

impl std::error::Error for Error {}
