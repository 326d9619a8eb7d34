//! The text of kernels: reading and printing.
mod affine;
mod arguments;
mod expression;
mod fragment;
mod instruction;
pub(crate) mod lexer;
mod operator;
mod parser;
mod print;
mod print_expr;
mod read;
pub(crate) mod source_map;
mod statement;
mod tree;

pub(crate) use expression::binary_text;
pub use fragment::{parse_constraints, parse_domain, parse_expression};
pub(crate) use lexer::{close_of_c, is_identifier};
pub(crate) use parser::RESERVED;
pub(crate) use print::conjunction as text_of_constraints;
pub(crate) use read::{complete_built, map_of_print, map_of_text};
