//! Errors of operations on layouts.

use std::fmt;

use crate::{Int, Layout};

/// Errors of operations on layouts.
///
/// If all numbers are constants, [`Error::NoLayout`] means that no layout satisfies the operation's
/// post-condition; it is never reported because of a limitation of an algorithm. If numbers are
/// launch parameters, [`Error::NotKnown`] gives the relation between them that would have been
/// needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A number exceeds the range of `i64`.
    Overflow,
    /// Text that is not a layout or expression, with the byte offset at which parsing stopped.
    Syntax {
        /// One sentence on what was expected.
        message: String,
        /// Byte offset into the text.
        offset: usize,
    },
    /// Shape and stride, a shape and a coordinate, or a layout and a tiler are different trees.
    Profile(String),
    /// No layout satisfies the post-condition.
    NoLayout {
        /// The operation that was asked for, such as `complement`.
        operation: &'static str,
        /// The mode that fails, and the reason.
        why: String,
        /// Concrete indices at which the post-condition would be violated.
        witness: String,
    },
    /// A relation between launch parameters, such as divisibility, is needed and does not hold for
    /// all of their values.
    NotKnown {
        /// The operation that was asked for, such as `complement`.
        operation: &'static str,
        /// The mode, and the relation that is missing.
        what: String,
    },
    /// The post-condition can only be decided by enumeration, and there are too many points.
    TooLarge {
        /// The operation that was asked for, such as `complement`.
        operation: &'static str,
        /// The number of points that would have to be enumerated.
        points: i64,
    },
    /// A function that does not exist, or invalid arguments of a function.
    Call(String),
}

/// The result of an operation on layouts.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The stable code of the diagnostic that reports this error.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Overflow => "layout-overflow",
            Error::Syntax { .. } => "layout-syntax",
            Error::Profile(_) => "layout-profile",
            Error::NoLayout { .. } => "no-layout",
            Error::NotKnown { .. } => "layout-not-known",
            Error::TooLarge { .. } => "layout-too-large",
            Error::Call(_) => "layout-call",
        }
    }

    /// Concrete values that demonstrate the error.
    pub fn witness(&self) -> Option<&str> {
        match self {
            Error::NoLayout { witness, .. } => Some(witness),
            _ => None,
        }
    }

    /// The remedy; `None` where there is none in general.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::Overflow => Some("sizes and strides are 64-bit integers"),
            Error::Syntax { .. } => Some("a layout is written (4, 8) : (1, 4), a swizzle Sw<3,4,3>"),
            Error::Profile(_) => Some("write one number, or one tuple, for each mode"),
            Error::NoLayout { .. } => Some("choose sizes and strides that divide each other"),
            Error::NotKnown { .. } => {
                Some("work mode by mode, with a tuple as tiler, or fix the size to a constant")
            }
            Error::TooLarge { .. } => Some("choose strides that divide sizes, which needs no enumeration"),
            Error::Call(_) => Some("`loopwright layout --help` lists the functions"),
        }
    }

    pub(crate) fn not_known(operation: &'static str, what: impl Into<String>) -> Self {
        Error::NotKnown { operation, what: what.into() }
    }

    pub(crate) fn no_layout(
        operation: &'static str,
        why: impl Into<String>,
        witness: impl Into<String>,
    ) -> Self {
        Error::NoLayout { operation, why: why.into(), witness: witness.into() }
    }

    pub(crate) fn open(operation: &'static str, layout: &Layout) -> Self {
        Error::not_known(operation, format!("all numbers of {layout}"))
    }

    pub(crate) fn open_int(operation: &'static str, value: &Int) -> Self {
        Error::not_known(operation, format!("the value of {value}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Overflow => write!(f, "a size or an index does not fit into 64 bits"),
            Error::Syntax { message, offset } => write!(f, "{message} (at byte {offset})"),
            Error::Profile(what) => f.write_str(what),
            Error::NoLayout { operation, why, .. } => write!(f, "{operation}: no layout does this: {why}"),
            Error::NotKnown { operation, what } => {
                write!(f, "{operation}: {what} would have to be known for all sizes")
            }
            Error::TooLarge { operation, points } => {
                write!(f, "{operation}: only an enumeration of {points} points could decide this")
            }
            Error::Call(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}
