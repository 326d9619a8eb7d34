//! The text of kernels: reading and printing.
mod affine;
mod expression;
mod fragment;
pub(crate) mod lexer;
mod parser;
mod print;
mod print_expr;
mod read;
pub(crate) mod source_map;
mod statement;
mod tree;

pub use fragment::{parse_constraints, parse_expression};
pub(crate) use lexer::is_identifier;
pub(crate) use parser::RESERVED;
