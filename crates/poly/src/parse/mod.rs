//! Sets and maps from text, in isl's syntax.
//!
//! ```text
//! value   = [ "[" names "] ->" ] "{" [ part { ";" part } ] "}"
//! part    = [ tuple [ "->" tuple ] ] [ ":" formula ]
//! tuple   = [ name ] "[" [ entry { "," entry } ] "]"      entry = name | name "=" sum | sum
//! formula = both { "or" both }        both = one { "and" one }
//! one     = "not" one | "exists" [ "(" ] names ":" formula [ ")" ] | "(" formula ")" | "true" | "false" | chain
//! chain   = sums compare sums { compare sums }            sums = sum { "," sum }
//! sum     = product { ("+" | "-") product }
//! product = factor { "*" factor | factor | "/" number | "mod" number }
//! factor  = number | name | "-" factor | "(" sum ")" | "floor(" sum ")" | "ceil(" sum ")" | "[" sum "]"
//!         | "floord(" sum "," number ")" | "ceild(" sum "," number ")"
//! ```
//!
//! At most one factor of a product is not constant. A tuple entry that is not a new name stands for
//! its value. A quotient outside a rounding is rational: `i <= n/2` is `2i <= n`. An `exists`
//! extends as far to the right as possible and is projected out exactly and immediately, so a
//! parsed value has no bound names. A formula becomes alternatives of conjunctions; more than
//! [`crate::relation::DISJUNCT_LIMIT`] of them are refused, and so are brackets deeper than
//! [`DEPTH_LIMIT`].

mod formula;
mod lexer;

use std::collections::BTreeSet;

use crate::{
    Aff, Constraint, Error, Map, Name, Result, Set, System,
    relation::{Relation, fresh},
};
use formula::Rational;
use lexer::{Token, tokens};

/// Nesting limit of brackets.
pub(crate) const DEPTH_LIMIT: usize = 100;

/// A position in the tokens, and the names that are known there.
struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    /// For each `(`, whether it contains a comparison or a logical word, so that it is a formula
    /// rather than a sum.
    formulas: Vec<bool>,
    /// The bindings of each name, the innermost last.
    scope: Vec<(String, Name)>,
    /// Number of bound names so far, so that each gets its own column.
    bound: usize,
}

const KEYWORDS: [&str; 12] =
    ["and", "or", "not", "exists", "true", "false", "mod", "floor", "ceil", "floord", "ceild", "implies"];

/// Reads a set in isl's syntax, such as `{ [i] : 0 <= i < n }`.
pub(crate) fn set(text: &str) -> Result<Set> {
    let relation = Parser::new(text)?.value(false)?;
    Ok(Set::of(relation))
}

/// Reads a map in isl's syntax, such as `{ [i] -> [i + 1] }`.
pub(crate) fn map(text: &str) -> Result<Map> {
    Ok(Map { relation: Parser::new(text)?.value(true)? })
}

/// One side of a part: tuple name, dimensions, and equations for entries that are values.
#[derive(Default)]
struct Tuple {
    name: Option<Name>,
    dims: Vec<Name>,
    equations: Vec<Constraint>,
}

impl Parser {
    fn new(text: &str) -> Result<Self> {
        let tokens = tokens(text)?;
        let mut formulas = vec![false; tokens.len()];
        let mut open = Vec::new();
        for (i, (token, _)) in tokens.iter().enumerate() {
            let logic = match token {
                Token::Sign("(") => {
                    open.push(i);
                    false
                }
                Token::Sign(")") => {
                    // What makes the inner one a formula makes the outer one a formula.
                    let inner = open.pop().is_some_and(|k| formulas[k]);
                    inner && {
                        if let Some(&outer) = open.last() {
                            formulas[outer] = true;
                        }
                        false
                    }
                }
                Token::Sign(s) => matches!(*s, "<" | "<=" | ">" | ">=" | "=" | "!=" | ":"),
                Token::Word(w) => matches!(w.as_str(), "and" | "or" | "not" | "exists" | "true" | "false"),
                _ => false,
            };
            if let (true, Some(&k)) = (logic, open.last()) {
                formulas[k] = true;
            }
        }
        Ok(Parser { tokens, at: 0, depth: 0, formulas, scope: Vec::new(), bound: 0 })
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)].0
    }

    fn offset(&self) -> usize {
        self.tokens[self.at.min(self.tokens.len() - 1)].1
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::Syntax { message: message.into(), offset: self.offset() })
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w == word)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign) { Ok(()) } else { self.fail(format!("expected `{sign}`")) }
    }

    /// Runs a reader one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_LIMIT {
            return self.fail(format!("the text nests deeper than {DEPTH_LIMIT} levels"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// A name that is not a keyword.
    fn name(&mut self) -> Result<String> {
        match self.peek() {
            Token::Word(w) if !KEYWORDS.contains(&w.as_str()) => {
                let name = w.clone();
                self.at += 1;
                Ok(name)
            }
            _ => self.fail("expected a name"),
        }
    }

    fn lookup(&self, name: &str) -> Option<Name> {
        self.scope.iter().rev().find(|(n, _)| n == name).map(|(_, column)| column.clone())
    }

    fn value(mut self, map: bool) -> Result<Relation> {
        let mut params = Vec::new();
        if self.eat("[") {
            while !self.is_sign("]") {
                let name = self.name()?;
                if self.lookup(&name).is_some() {
                    return self.fail(format!("two parameters are called `{name}`"));
                }
                self.scope.push((name.clone(), Name::new(&name)));
                params.push(Name::new(name));
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("]")?;
            self.expect("->")?;
        }
        self.expect("{")?;
        let known = self.scope.len();
        let mut union: Option<Relation> = None;
        loop {
            let start = self.offset();
            let part = self.part(map, &params)?;
            self.scope.truncate(known);
            union = Some(match union {
                None => part,
                Some(before) => before.union(&part).map_err(|e| match e {
                    Error::Space(what) => Error::Syntax {
                        message: format!("the parts of a union differ: {what}"),
                        offset: start,
                    },
                    other => other,
                })?,
            });
            if !self.eat(";") {
                break;
            }
        }
        self.expect("}")?;
        if *self.peek() != Token::End {
            return self.fail("nothing may follow the closing brace");
        }
        match union {
            Some(relation) => Ok(relation),
            None => self.fail("expected a tuple"),
        }
    }

    fn part(&mut self, map: bool, params: &[Name]) -> Result<Relation> {
        let mut taken: BTreeSet<Name> = params.iter().cloned().collect();
        let (mut domain, mut range) = (Tuple::default(), Tuple::default());
        if !map && self.is_sign("}") {
            return self.fail("an empty set needs its dimensions: `{ [i] : false }`");
        }
        if map || !self.is_sign(":") {
            range = self.tuple("i", &mut taken)?;
        }
        if map {
            domain = range;
            self.expect("->")?;
            range = self.tuple("o", &mut taken)?;
        } else if self.is_sign("->") {
            return self.fail("a set has one tuple, this is a map");
        }
        let mut equations = domain.equations;
        equations.extend(range.equations);
        let alternatives = if self.eat(":") { self.formula()? } else { vec![Vec::new()] };
        let mut disjuncts = Vec::new();
        for mut list in alternatives {
            list.splice(0..0, equations.iter().cloned());
            disjuncts.push(System::new(&list)?);
        }
        let mut relation = Relation::new(params, &domain.dims, &range.dims, disjuncts)?;
        relation.in_tuple = domain.name;
        relation.out_tuple = range.name;
        Ok(relation)
    }

    fn tuple(&mut self, letter: &str, taken: &mut BTreeSet<Name>) -> Result<Tuple> {
        let mut tuple = Tuple::default();
        if !self.is_sign("[") {
            tuple.name = Some(Name::new(self.name()?));
        }
        self.expect("[")?;
        while !self.is_sign("]") {
            let new = match self.peek() {
                Token::Word(w) if !KEYWORDS.contains(&w.as_str()) && self.lookup(w).is_none() => {
                    Some(w.clone())
                }
                _ => None,
            };
            let mut value = None;
            let name = match new {
                Some(name) => {
                    self.at += 1;
                    if self.eat("=") {
                        value = Some(self.sum()?);
                    }
                    self.scope.push((name.clone(), Name::new(&name)));
                    fresh(&Name::new(name), taken)
                }
                None => {
                    value = Some(self.sum()?);
                    fresh(&Name::new(format!("{letter}{}", tuple.dims.len())), taken)
                }
            };
            if let Some(value) = value {
                let aff = self.integral(value)?;
                tuple.equations.push(Constraint::equal(&aff, &Aff::var(&name))?);
            }
            taken.insert(name.clone());
            tuple.dims.push(name);
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(tuple)
    }

    fn integral(&self, value: Rational) -> Result<Aff> {
        match value.denominator {
            1 => Ok(value.aff),
            _ => self.fail("a quotient must be rounded here, with `floor(...)`"),
        }
    }
}
