//! The text of kernels: reading and printing.
//!
//! [`syntax`] is shared with other text formats.
mod affine;
mod arguments;
mod array_layout;
pub(crate) mod block;
mod callee;
mod calls;
mod complex;
mod complex_calls;
mod complex_number;
mod expression;
mod fragment;
mod instruction;
pub(crate) mod lexer;
mod library;
mod operator;
mod parser;
mod power;
mod predicates;
mod print;
mod print_expr;
mod read;
mod rows;
mod shape;
pub(crate) mod source_map;
mod statement;
mod structs;
mod tree;

pub(crate) use expression::binary_text;
pub use fragment::{parse_constraints, parse_domain, parse_expression};
pub(crate) use lexer::{close_of_c, is_identifier};
pub use library::Library;
pub(crate) use parser::RESERVED;
pub(crate) use print::{conjunction as text_of_constraints, fact as text_of_fact};
pub(crate) use read::{complete_built, map_of_print, map_of_text};

/// The parts of the parser that other text formats share: tokens, the cursor over them, affine
/// functions and constraints, types, facts and device functions.
pub mod syntax {
    pub use super::{
        lexer::{Tok, is_identifier},
        parser::{Parse, Parser},
        print::{conjunction as text_of_constraints, fact as text_of_fact, function as text_of_function},
    };
    pub use crate::suggest::did_you_mean;
}
