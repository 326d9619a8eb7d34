//! The algebra as text: expressions in CuTe's notation, evaluated.
//!
//! ```text
//! expression = sum [":" sum] ["o" expression]
//! sum        = product {("+" | "-") product}
//! product    = primary {"*" primary}
//! primary    = integer | "_" | name | name ["<" integers ">"] "(" expressions ")" | "Sw<B,M,S>"
//!            | "(" expressions ")" | "<" expressions ">"
//! ```
//!
//! A name that is not called is a launch parameter. Static integers may be written as CuTe prints
//! them (`_8`). `(4)` is a tuple of one mode; a layout in parentheses is that layout.

mod composed;
mod functions;
mod parse;
mod value;

pub use functions::{FUNCTIONS, Function};
pub use value::Value;

use std::{ops::Range, str::FromStr};

use crate::{ComposedLayout, Error, IntTuple, Layout, Result, Swizzle};

/// An error with the part of the text that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// What is wrong, without its place.
    pub error: Error,
    /// The byte range within the text.
    pub span: Range<usize>,
}

/// The value of an expression.
pub fn evaluate(text: &str) -> std::result::Result<Value, Located> {
    parse::Parser::new(text)?.whole()
}

fn value_of(text: &str) -> Result<Value> {
    evaluate(text).map_err(|located| located.error)
}

fn expected(what: &str, found: &Value) -> Error {
    Error::Syntax { message: format!("expected {what}, found {found}"), offset: 0 }
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match value_of(text)? {
            Value::Layout(layout) => Ok(layout),
            other => Err(expected("a layout", &other)),
        }
    }
}

impl FromStr for IntTuple {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let value = value_of(text)?;
        value.int_tuple().ok_or_else(|| expected("a tuple of integers", &value))
    }
}

impl FromStr for Swizzle {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match value_of(text)? {
            Value::Swizzle(swizzle) => Ok(swizzle),
            other => Err(expected("a swizzle", &other)),
        }
    }
}

impl FromStr for ComposedLayout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match value_of(text)? {
            Value::Composed(composed) => Ok(composed),
            other => Err(expected("a composed layout", &other)),
        }
    }
}
