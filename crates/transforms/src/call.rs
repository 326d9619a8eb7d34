//! The text of a step: `name(argument, key=value, ...)` or `name { step; step }`.
//!
//! Arguments remain text here; each step parses its own with [`Args`](crate::arguments::Args).
//! Steps are separated by line ends or `;`; `#` begins a comment that extends to the end of its
//! line. The depth of nesting is bounded, so that no input overflows the stack.

use std::{ops::Range, sync::Arc};

use loopwright_kernel_ir::{Diagnostic, Name, Place};

/// How deep `{ }` may nest.
const DEEPEST: usize = 32;

/// One argument of a step as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub key: Option<String>,
    pub value: String,
    pub span: Range<usize>,
}

/// What follows the name of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Arguments(Vec<Piece>),
    Steps(Vec<Call>),
}

/// One step as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub(crate) name: String,
    pub(crate) body: Body,
    pub(crate) span: Range<usize>,
    pub(crate) source: Source,
}

/// The text that contains a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub origin: Arc<str>,
    pub text: Arc<str>,
}

impl Source {
    pub fn place(&self, span: Range<usize>) -> Option<Place> {
        Some(Place { origin: self.origin.clone(), text: self.text.clone(), span })
    }
}

impl Call {
    pub(crate) fn place(&self) -> Option<Place> {
        self.source.place(self.span.clone())
    }
}

struct Reader<'a> {
    source: &'a Source,
    at: usize,
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

impl Reader<'_> {
    fn bytes(&self) -> &[u8] {
        self.source.text.as_bytes()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    fn error(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new("pipeline-syntax", message).at(self.source.place(span))
    }

    /// Skips spaces and comments; also line ends and `;` where a step may begin.
    fn skip(&mut self, lines: bool) {
        while let Some(c) = self.peek() {
            match c {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' | b';' if lines => self.at += 1,
                b'#' => {
                    while self.peek().is_some_and(|c| c != b'\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
    }

    fn steps(&mut self, depth: usize) -> Result<Vec<Call>, Diagnostic> {
        let mut found = Vec::new();
        loop {
            self.skip(true);
            match self.peek() {
                None => return Ok(found),
                Some(b'}') if depth > 0 => return Ok(found),
                Some(_) => found.push(self.step(depth)?),
            }
            self.skip(false);
            match self.peek() {
                None | Some(b'\n' | b';') => {}
                Some(b'}') if depth > 0 => {}
                Some(_) => {
                    return Err(self
                        .error(self.at..self.end_of_char(), "expected the end of the line after a step")
                        .help("write one step per line, or separate steps by `;`"));
                }
            }
        }
    }

    fn end_of_char(&self) -> usize {
        (self.at + 1..=self.source.text.len())
            .find(|k| self.source.text.is_char_boundary(*k))
            .unwrap_or(self.at)
    }

    fn step(&mut self, depth: usize) -> Result<Call, Diagnostic> {
        let start = self.at;
        while self.peek().is_some_and(is_word) {
            self.at += 1;
        }
        let name = self.source.text[start..self.at].to_string();
        if name.is_empty() {
            return Err(self
                .error(start..self.end_of_char(), "expected the name of a step")
                .help("a step is written as `split_iname(i, 128)`"));
        }
        self.skip(false);
        let body = match self.peek() {
            Some(b'(') => Body::Arguments(self.arguments()?),
            Some(b'{') if depth < DEEPEST => {
                let open = self.at;
                self.at += 1;
                let steps = self.steps(depth + 1)?;
                if self.peek() != Some(b'}') {
                    return Err(self.error(open..open + 1, "this `{` is not closed"));
                }
                self.at += 1;
                Body::Steps(steps)
            }
            Some(b'{') => {
                return Err(self.error(self.at..self.at + 1, format!("groups nest deeper than {DEEPEST}")));
            }
            _ => {
                return Err(self
                    .error(start..self.at, format!("expected `(` or `{{` after `{name}`"))
                    .help(format!("a step is written as `{name}(...)`")));
            }
        };
        Ok(Call { name, body, span: start..self.at, source: self.source.clone() })
    }

    /// The arguments from `(` to the matching `)`, split at the commas of the outermost level.
    fn arguments(&mut self) -> Result<Vec<Piece>, Diagnostic> {
        let open = self.at;
        self.at += 1;
        let mut pieces = Vec::new();
        let (mut start, mut depth) = (self.at, 0usize);
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else {
                return Err(self.error(open..open + 1, "this `(` is not closed"));
            };
            match c {
                b'"' => {
                    let quote = self.at;
                    self.at += 1;
                    while self.peek().is_some_and(|c| c != b'"' && c != b'\n') {
                        self.at += 1;
                    }
                    if self.peek() != Some(b'"') {
                        return Err(self.error(quote..quote + 1, "this `\"` is not closed"));
                    }
                    self.at += 1;
                    text.push_str(&self.source.text[quote..self.at]);
                    continue;
                }
                b'#' => {
                    self.skip(true);
                    continue;
                }
                b'(' | b'[' => depth += 1,
                b')' if depth == 0 => break,
                b')' | b']' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    self.piece(start..self.at, &text, &mut pieces)?;
                    self.at += 1;
                    start = self.at;
                    text.clear();
                    continue;
                }
                _ => {}
            }
            let end = self.end_of_char();
            text.push_str(&self.source.text[self.at..end]);
            self.at = end;
        }
        if !text.trim().is_empty() || !pieces.is_empty() {
            self.piece(start..self.at, &text, &mut pieces)?;
        }
        self.at += 1;
        Ok(pieces)
    }

    fn piece(&self, span: Range<usize>, text: &str, pieces: &mut Vec<Piece>) -> Result<(), Diagnostic> {
        let text = text.trim();
        if text.is_empty() {
            return Err(self.error(span, "an argument is missing here"));
        }
        let (mut start, mut end) = (span.start, span.end);
        while start < end && self.bytes()[start].is_ascii_whitespace() {
            start += 1;
        }
        while start < end && self.bytes()[end - 1].is_ascii_whitespace() {
            end -= 1;
        }
        let (key, value) = match text.split_once('=') {
            Some((key, value))
                if !value.starts_with('=') && !key.trim().is_empty() && key.trim().bytes().all(is_word) =>
            {
                (Some(key.trim().to_string()), value.trim())
            }
            _ => (None, text),
        };
        pieces.push(Piece { key, value: value.to_string(), span: start..end });
        Ok(())
    }
}

/// Reads all steps of a text, several on a line or one a line; `origin` names it in errors.
pub(crate) fn read(origin: &str, text: &str) -> Result<Vec<Call>, Diagnostic> {
    let source = Source { origin: Arc::from(origin), text: Arc::from(text) };
    let mut reader = Reader { source: &source, at: 0 };
    let steps = reader.steps(0)?;
    Ok(steps)
}

/// The text without the quotes around it.
pub(crate) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text).trim()
}

/// The name that a text consists of, quoted or not.
pub(crate) fn name_in(text: &str) -> Option<Name> {
    let text = unquoted(text);
    let first = *text.as_bytes().first()?;
    (!first.is_ascii_digit() && text.bytes().all(is_word)).then(|| Name::new(text))
}
