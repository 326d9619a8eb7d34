//! The text of kernels: reading and printing.
mod affine;
mod expression;
pub(crate) mod lexer;
mod parser;
mod print;
mod print_expr;
mod read;
pub(crate) mod source_map;
mod statement;
mod tree;

pub(crate) use lexer::is_identifier;
pub(crate) use parser::RESERVED;
