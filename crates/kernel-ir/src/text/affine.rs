//! Affine text: domains in isl's syntax, assumptions, values of `let`.

use std::ops::Range;

use loopwright_target::Builtin;

use crate::{
    Aff, Constraint, Domain, Name,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
    },
};

/// The remedy for a domain that is not a conjunction.
const UNION_HELP: &str = "a domain is one conjunction: declare two domains with different inames, \
    or move the condition to the instruction as `if`";

/// The most comparisons in one chain: each becomes constraints that every query about the domain
/// has to process.
const CHAIN_LIMIT: usize = 64;

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Le,
    Lt,
    Ge,
    Gt,
    Eq,
}

impl Parser {
    /// `[n, m] -> { [i, j] : 0 <= i < n and 0 <= j < m }`, the parameters optional.
    pub(crate) fn domain(&mut self) -> Parse<(Domain, Vec<Range<usize>>)> {
        if self.at("[") {
            let start = self.span();
            let parameters = self.bracketed_names("[", "]")?;
            if !self.at("->") {
                return Err(self.error_at(start, "syntax", "expected a domain, as `{ [i] : 0 <= i < n }`"));
            }
            self.expect("->")?;
            let _ = parameters;
        }
        self.open("{")?;
        if self.ident_here() && self.peek_is(1, "[") {
            return Err(self
                .error("syntax", "the tuple of a domain cannot have a name")
                .help("write `{ [i] : ... }`; an instruction is named by its option `{id=...}`")
                .into());
        }
        let inames = self.bracketed_names("[", "]")?;
        let (mut constraints, mut spans) = (Vec::new(), Vec::new());
        if self.eat(":") && !self.at("}") {
            self.conjunction(&mut constraints, &mut spans)?;
        }
        if self.at(";") {
            return Err(self.error("union-domain", "this domain is a union of sets").help(UNION_HELP).into());
        }
        self.close("}")?;
        Ok((Domain { inames, constraints }, spans))
    }

    /// Constraints joined by `and`, each with its span.
    pub fn conjunction(
        &mut self,
        constraints: &mut Vec<Constraint>,
        spans: &mut Vec<Range<usize>>,
    ) -> Parse<()> {
        loop {
            if self.at_word("exists") {
                return Err(self
                    .error("syntax", "`exists` is not supported")
                    .help("use `//`, `%` or `floor(e/d)`: `exists e: i = 2*e` is `i % 2 = 0`")
                    .into());
            }
            if self.at_word("not") || self.at("!") {
                return Err(self
                    .error("union-domain", "a negation would make this a union of sets")
                    .help(UNION_HELP)
                    .into());
            }
            if self.at_word("true") {
                self.advance();
            } else if self.at("(") && self.parenthesised_conjunction() {
                self.enter()?;
                self.open("(")?;
                self.conjunction(constraints, spans)?;
                self.close(")")?;
                self.leave();
            } else {
                self.comparison_chain(constraints, spans)?;
            }
            if self.at_word("or") || self.at("||") {
                return Err(self
                    .error("union-domain", "`or` would make this a union of sets")
                    .help(UNION_HELP)
                    .into());
            }
            if !self.eat_word("and") && !self.eat("&&") {
                return Ok(());
            }
        }
    }

    /// Whether the parenthesis here closes before anything that would make it part of a number.
    fn parenthesised_conjunction(&self) -> bool {
        let mut depth = 0usize;
        let mut ahead = 0;
        loop {
            match self.tok(ahead) {
                Tok::Punct("(" | "[" | "{") => depth += 1,
                Tok::Punct(")" | "]" | "}") => {
                    depth -= 1;
                    if depth == 0 {
                        return matches!(
                            self.tok(ahead + 1),
                            Tok::End | Tok::Punct("}" | ")" | ";" | "&&" | "||")
                        ) || self.word(ahead + 1).is_some_and(|w| matches!(w, "and" | "or"));
                    }
                }
                Tok::End => return false,
                _ => {}
            }
            ahead += 1;
        }
    }

    /// `0 <= i, j < n`: each value on one side of a comparison is compared with each on the other
    /// side.
    fn comparison_chain(
        &mut self,
        constraints: &mut Vec<Constraint>,
        spans: &mut Vec<Range<usize>>,
    ) -> Parse<()> {
        let mut start = self.span().start;
        let mut left = self.aff_list()?;
        let mut count = 0;
        loop {
            let comparison = match self.tok(0) {
                Tok::Punct("<=") => Comparison::Le,
                Tok::Punct("<") => Comparison::Lt,
                Tok::Punct(">=") => Comparison::Ge,
                Tok::Punct(">") => Comparison::Gt,
                Tok::Punct("=" | "==") => Comparison::Eq,
                Tok::Punct("!=") => {
                    return Err(self
                        .error("union-domain", "`!=` would make this a union of sets")
                        .help(UNION_HELP)
                        .into());
                }
                _ if count == 0 => return Err(self.unexpected("a comparison, as `<=`")),
                _ => return Ok(()),
            };
            self.advance();
            let right_start = self.span().start;
            let right = self.aff_list()?;
            let span = start..self.last_end();
            for a in &left {
                for b in &right {
                    let constraint = match comparison {
                        Comparison::Le => Constraint::le(a, b),
                        Comparison::Lt => Constraint::lt(a, b),
                        Comparison::Ge => Constraint::le(b, a),
                        Comparison::Gt => Constraint::lt(b, a),
                        // The text of an equality has negative terms on its left.
                        Comparison::Eq => b.sub(a).map(Constraint::zero),
                    };
                    constraints.push(constraint.map_err(|e| self.poly_error(e, span.clone()))?);
                    spans.push(span.clone());
                }
            }
            (left, start, count) = (right, right_start, count + 1);
            if count > CHAIN_LIMIT {
                return Err(self
                    .error("too-deep", format!("a chain of more than {CHAIN_LIMIT} comparisons"))
                    .help("leave out comparisons that follow from the others")
                    .into());
            }
        }
    }

    fn aff_list(&mut self) -> Parse<Vec<Aff>> {
        let mut list = vec![self.aff()?];
        while self.eat(",") {
            list.push(self.aff()?);
        }
        Ok(list)
    }

    /// A quasi-affine function.
    pub fn aff(&mut self) -> Parse<Aff> {
        self.enter()?;
        let start = self.span().start;
        let mut sum = self.aff_term()?;
        while self.at("+") || self.at("-") {
            let minus = self.at("-");
            self.advance();
            let term = self.aff_term()?;
            let result = if minus { sum.sub(&term) } else { sum.add(&term) };
            sum = result.map_err(|e| self.poly_error(e, start..self.last_end()))?;
        }
        self.leave();
        Ok(sum)
    }

    fn aff_term(&mut self) -> Parse<Aff> {
        let start = self.span().start;
        let mut product = self.aff_unary()?;
        loop {
            let operator = match self.tok(0) {
                Tok::Punct(p @ ("*" | "//" | "%")) => p,
                Tok::Punct("/") if !self.in_floor => {
                    return Err(self
                        .error("syntax", "`/` does not specify its rounding")
                        .help("write `a // b` or `floor(a/b)`, which round down")
                        .into());
                }
                _ if self.at_word("mod") => "%",
                _ => return Ok(product),
            };
            self.advance();
            let right = self.aff_unary()?;
            let span = start..self.last_end();
            let result = match (operator, product.as_constant(), right.as_constant()) {
                ("*", Some(c), _) => right.scale(c),
                ("*", _, Some(c)) => product.scale(c),
                ("//", _, Some(d)) if d > 0 => product.floor_div(d),
                ("%", _, Some(d)) if d > 0 => product.modulo(d),
                ("*", ..) => {
                    return Err(self
                        .diagnostic(span, "not-affine", "this is a product of two variables")
                        .help(
                            "domains, assumptions and definitions are affine: one side of `*` has \
                             to be an integer",
                        )
                        .into());
                }
                _ => {
                    return Err(self
                        .diagnostic(span, "not-affine", "the divisor is not a positive integer literal")
                        .help(
                            "domains, assumptions and definitions are affine: divide by a \
                            positive integer literal",
                        )
                        .into());
                }
            };
            product = result.map_err(|e| self.poly_error(e, span))?;
        }
    }

    fn aff_unary(&mut self) -> Parse<Aff> {
        let start = self.span();
        match self.tok(0) {
            Tok::Punct("-") => {
                self.enter()?;
                self.advance();
                let value = self.aff_unary()?;
                self.leave();
                value.neg().map_err(|e| self.poly_error(e, start.start..self.last_end()))
            }
            Tok::Punct("(") => {
                let floor = std::mem::replace(&mut self.in_floor, false);
                self.open("(")?;
                let value = self.aff()?;
                self.close(")")?;
                self.in_floor = floor;
                Ok(value)
            }
            Tok::Int(value) => {
                let value = self.small(value)?;
                self.advance();
                // isl's `2i`.
                if self.ident_here() && !self.at_any_word(&["and", "or", "mod"]) && self.touches() {
                    let scaled = self.aff_unary()?.scale(value);
                    return scaled.map_err(|e| self.poly_error(e, start.start..self.last_end()));
                }
                Ok(Aff::constant(value))
            }
            Tok::Ident if self.peek_is(1, "(") => self.aff_function(),
            Tok::Ident if self.peek_is(1, "[") => Err(self
                .error("not-affine", "an element of an array cannot be used here")
                .help(
                    "load it into an integer scalar, as in `<i32> lo = offsets[s]`, and use the \
                     scalar",
                )
                .into()),
            Tok::Ident if self.at_any_word(&["and", "or", "exists", "not", "true", "false"]) => {
                Err(self.unexpected("a number"))
            }
            Tok::Ident => {
                let name = self.name("a name")?;
                let Some(language) = self.dotted.filter(|_| self.at(".")) else {
                    return Ok(Aff::var(name));
                };
                self.advance();
                let axis = self.name("an axis, as `x`")?;
                let name = match language.builtin(&name) {
                    Some(Builtin::Coordinate(word)) => Name::new(word),
                    Some(Builtin::Extent) | None => name,
                };
                Ok(Aff::var(name.followed_by(&format!(".{axis}"))))
            }
            _ => Err(self.unexpected("a number")),
        }
    }

    /// `floor(e/d)`, `floord(e, d)`, `ceil(e/d)`.
    fn aff_function(&mut self) -> Parse<Aff> {
        let start = self.span();
        let function = self.word(0).unwrap_or_default().to_string();
        if matches!(function.as_str(), "min" | "max") {
            return Err(self
                .error("union-domain", format!("`{function}` is not supported here"))
                .help("`i < min(a, b)` is `i < a and i < b`; `max(a, b) <= i` is `a <= i and b <= i`")
                .into());
        }
        if !matches!(function.as_str(), "floor" | "floord" | "ceil" | "ceild") {
            return Err(self
                .error("not-affine", format!("`{function}` is not a function of affine text"))
                .help(
                    "`floor(e/d)`, `ceil(e/d)`, `e // d` and `e % d` are, with a positive \
                    integer `d`",
                )
                .into());
        }
        self.advance();
        self.open("(")?;
        let two = function.ends_with('d');
        let outer = std::mem::replace(&mut self.in_floor, !two);
        let numerator = if two { self.aff()? } else { self.aff_term()? };
        self.in_floor = outer;
        let separator = if two { "," } else { "/" };
        if !self.eat(separator) {
            let help =
                if two { "write `floord(e, d)`" } else { "write `floor((e)/d)`, a sum `e` in parentheses" };
            let mut error = self.unexpected(&format!("`{separator}`"));
            error.help = Some(help.into());
            return Err(error);
        }
        let Tok::Int(d @ 1..) = self.tok(0) else { return Err(self.unexpected("a positive integer")) };
        let d = self.small(d)?;
        self.advance();
        self.close(")")?;
        let result = match function.starts_with("floor") {
            true => numerator.floor_div(d),
            false => numerator.neg().and_then(|n| n.floor_div(d)).and_then(|q| q.neg()),
        };
        result.map_err(|e| self.poly_error(e, start.start..self.last_end()))
    }

    /// Names between brackets, separated by commas.
    pub fn bracketed_names(&mut self, open: &'static str, close: &'static str) -> Parse<Vec<Name>> {
        self.open(open)?;
        let mut names = Vec::new();
        while !self.at(close) {
            names.push(self.name("a name")?);
            if !self.eat(",") {
                break;
            }
        }
        self.close(close)?;
        Ok(names)
    }
}
