//! Parsers for fragments of kernels, used for the arguments of transforms.

use crate::{Constraint, Diagnostic, Domain, Expr, text::parser::Parser};

/// The constraints of a text such as `n >= 1 and n % 16 = 0`.
pub fn parse_constraints(text: &str) -> Result<Vec<Constraint>, Diagnostic> {
    let mut parser = Parser::new("<constraints>", text);
    parser.begin_statement();
    let mut constraints = Vec::new();
    parser.conjunction(&mut constraints, &mut Vec::new()).map_err(|d| *d)?;
    match parser.at_text_end() {
        true => Ok(constraints),
        false => Err(*parser.unexpected("`and`, or the end of the constraints")),
    }
}

/// The expression of a text such as `n + 1`.
pub fn parse_expression(text: &str) -> Result<Expr, Diagnostic> {
    expression_of(Parser::new("<expression>", text))
}

/// As [`parse_expression`], for a part of a kernel's text, which may have complex numbers.
pub(super) fn parse_part(text: &str) -> Result<Expr, Diagnostic> {
    let mut parser = Parser::new("<expression>", text);
    parser.complex = true;
    expression_of(parser)
}

fn expression_of(mut parser: Parser) -> Result<Expr, Diagnostic> {
    parser.begin_statement();
    let expression = parser.expr().map_err(|d| *d)?;
    match parser.at_text_end() {
        true => Ok(expression),
        false => Err(*parser.unexpected("the end of the expression")),
    }
}

/// The domain of a text such as `{ [i] : 0 <= i < n }`.
pub fn parse_domain(text: &str) -> Result<Domain, Diagnostic> {
    let mut parser = Parser::new("<domain>", text);
    parser.begin_statement();
    // The text may have several lines.
    let (domain, _) = parser.domain().map_err(|d| *d)?;
    match parser.at_text_end() {
        true => Ok(domain),
        false => Err(*parser.unexpected("the end of the domain")),
    }
}
