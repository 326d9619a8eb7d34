//! Parses and evaluates an expression in one pass.

use std::ops::Range;

use super::{Located, Value, functions};
use crate::{Error, Instruction, Int, Layout, Swizzle, TiledInstruction};

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Int(i64),
    Name(String),
    Sign(char),
    End,
}

/// Tuples nested deeper than this are refused, so that no text exhausts the stack.
const DEEPEST: usize = 64;

pub(super) struct Parser {
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
}

type Read<T> = Result<T, Located>;

fn syntax<T>(message: impl Into<String>, span: Range<usize>) -> Read<T> {
    Err(Located { error: Error::Syntax { message: message.into(), offset: span.start }, span })
}

fn tokens(text: &str) -> Read<Vec<(Token, Range<usize>)>> {
    let mut found = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        let mut end = start + c.len_utf8();
        let mut take = |accept: fn(char) -> bool| {
            while let Some((k, d)) = rest.next_if(|(_, d)| accept(*d)) {
                end = k + d.len_utf8();
            }
            start..end
        };
        let (token, span) = match c {
            _ if c.is_whitespace() => continue,
            '0'..='9' => {
                let span = take(|d| d.is_ascii_digit());
                match text[span.clone()].parse() {
                    Ok(value) => (Token::Int(value), span),
                    Err(_) => return syntax("an integer does not fit into 64 bits", span),
                }
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let span = take(|d| d.is_ascii_alphanumeric() || d == '_');
                let word = &text[span.clone()];
                // `_8` is CuTe's static 8.
                match word.strip_prefix('_').and_then(|digits| digits.parse().ok()) {
                    Some(value) => (Token::Int(value), span),
                    None => (Token::Name(word.to_owned()), span),
                }
            }
            '(' | ')' | '<' | '>' | ',' | ':' | '+' | '-' | '*' => (Token::Sign(c), start..end),
            _ => return syntax(format!("`{c}` has no meaning in a layout"), start..end),
        };
        found.push((token, span));
    }
    found.push((Token::End, text.len()..text.len()));
    Ok(found)
}

impl Parser {
    pub(super) fn new(text: &str) -> Read<Self> {
        Ok(Parser { tokens: tokens(text)?, at: 0, depth: 0 })
    }

    pub(super) fn whole(mut self) -> Read<Value> {
        let value = self.expression()?;
        match self.peek() {
            Token::End => Ok(value),
            _ => syntax("expected the end of the expression", self.span()),
        }
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(0..0, |(_, span)| span.clone())
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn accept(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: char) -> Read<()> {
        if self.accept(sign) { Ok(()) } else { syntax(format!("expected `{sign}`"), self.span()) }
    }

    /// The range of the tokens from an index on, up to the last one consumed.
    fn since(&self, first: usize) -> Range<usize> {
        let start = self.tokens.get(first).map_or(0, |(_, s)| s.start);
        let end = self.tokens.get(self.at.saturating_sub(1)).map_or(start, |(_, s)| s.end);
        start..end.max(start)
    }

    fn located<T>(&self, first: usize, result: crate::Result<T>) -> Read<T> {
        result.map_err(|error| Located { error, span: self.since(first) })
    }

    fn expression(&mut self) -> Read<Value> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return syntax(format!("expressions are nested at most {DEEPEST} deep"), self.span());
        }
        let first = self.at;
        let mut value = self.sum()?;
        if self.accept(':') {
            let stride = self.sum()?;
            let (Some(shape), Some(stride)) = (value.int_tuple(), stride.int_tuple()) else {
                return syntax("a shape and a stride are integers or tuples of them", self.since(first));
            };
            let layout = self.located(first, Layout::new(&shape, &stride))?;
            value = Value::Layout(layout);
        }
        if *self.peek() == Token::Name("o".into()) {
            self.at += 1;
            let inner = self.expression()?;
            value = self.located(first, value.compose(&inner))?;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn sum(&mut self) -> Read<Value> {
        let first = self.at;
        let mut value = self.product()?;
        loop {
            let negative = match self.peek() {
                Token::Sign('+') => false,
                Token::Sign('-') => true,
                _ => return Ok(value),
            };
            self.at += 1;
            let (a, right) = (self.number(first, &value)?, self.product()?);
            let b = self.number(first, &right)?;
            value = Value::Int(self.located(first, if negative { a.sub(&b) } else { a.add(&b) })?);
        }
    }

    fn product(&mut self) -> Read<Value> {
        let first = self.at;
        let mut value = self.signed()?;
        while self.accept('*') {
            let (a, right) = (self.number(first, &value)?, self.signed()?);
            let b = self.number(first, &right)?;
            value = Value::Int(self.located(first, a.mul(&b))?);
        }
        Ok(value)
    }

    fn signed(&mut self) -> Read<Value> {
        let first = self.at;
        let mut negative = false;
        while self.accept('-') {
            negative = !negative;
        }
        let value = self.primary()?;
        if !negative {
            return Ok(value);
        }
        let number = self.number(first, &value)?;
        Ok(Value::Int(self.located(first, number.mul(&Int::from(-1)))?))
    }

    /// The number of a value in arithmetic, in which parentheses group.
    fn number(&self, first: usize, value: &Value) -> Read<Int> {
        match value {
            Value::Int(n) => Ok(n.clone()),
            Value::Tuple(parts) if parts.len() == 1 => match parts.first() {
                Some(part) => self.number(first, part),
                None => syntax("expected a number", self.since(first)),
            },
            _ => syntax(format!("expected a number, found {value}"), self.since(first)),
        }
    }

    fn primary(&mut self) -> Read<Value> {
        let first = self.at;
        let span = self.span();
        match self.next() {
            Token::Int(value) => Ok(Value::Int(value.into())),
            Token::Name(name) if name == "_" => Ok(Value::All),
            Token::Name(name) => self.named(first, &name),
            Token::Sign('(') => {
                let (mut parts, comma) = self.list(')')?;
                match (parts.len(), parts.pop()) {
                    // A layout in parentheses is that layout; one number is a tuple of one mode.
                    (1, Some(part)) if !comma && part.int_tuple().is_none() && part != Value::All => Ok(part),
                    (_, last) => {
                        parts.extend(last);
                        Ok(Value::Tuple(parts))
                    }
                }
            }
            Token::Sign('<') => Ok(Value::Tuple(self.list('>')?.0)),
            _ => syntax("expected a layout, a tuple, an integer or a function", span),
        }
    }

    /// Expressions up to a closing bracket, and whether a comma follows the last one.
    fn list(&mut self, close: char) -> Read<(Vec<Value>, bool)> {
        let mut parts = Vec::new();
        let mut comma = false;
        while !self.accept(close) {
            if !parts.is_empty() && !comma {
                return syntax(format!("expected `,` or `{close}`"), self.span());
            }
            parts.push(self.expression()?);
            comma = self.accept(',');
        }
        Ok((parts, comma))
    }

    /// An expression that begins with a name: a swizzle, a call, an instruction, or a size.
    fn named(&mut self, first: usize, name: &str) -> Read<Value> {
        let mut chosen = Vec::new();
        if self.accept('<') {
            for part in self.list('>')?.0 {
                let number = self.number(first, &part)?;
                chosen.push(self.located(
                    first,
                    number.as_const().ok_or(Error::Call(format!("{name}<...> takes constants"))),
                )?);
            }
            if let ("Sw" | "Swizzle", [bits, base, shift]) = (name, chosen.as_slice()) {
                return Ok(Value::Swizzle(self.located(first, Swizzle::new(*bits, *base, *shift))?));
            }
        } else if *self.peek() != Token::Sign('(') {
            if name == "o" {
                return syntax("`o` composes two layouts", self.since(first));
            }
            if let Some(instruction) = Instruction::named(name) {
                let alone = self.located(first, TiledInstruction::alone(instruction))?;
                return Ok(Value::Instruction(Box::new(alone)));
            }
            return Ok(Value::Int(Int::name(name)));
        }
        self.expect('(')?;
        let (arguments, _) = self.list(')')?;
        let value = functions::call(name, &chosen, &arguments);
        self.located(first, value)
    }
}
