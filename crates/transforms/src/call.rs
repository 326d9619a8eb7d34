//! The text of a step: `name(argument, key=value, ...)` or `name { step; step }`.
//!
//! Arguments stay text here; each step reads its own from [`Args`]. Steps are separated by line
//! ends or `;`, a `#` begins a comment that ends with its line. Nesting is bounded, so that no text
//! overflows the stack.

use std::{cell::RefCell, ops::Range, sync::Arc};

use loopwright_kernel_ir::{AddressSpace, Diagnostic, Name, Place};

use crate::{Number, names};

/// How deep `{ }` may nest.
const DEEPEST: usize = 32;

/// One argument of a step, in the words of its text.
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

/// One step as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub(crate) name: String,
    pub(crate) body: Body,
    pub(crate) span: Range<usize>,
    pub(crate) source: Source,
}

/// The text that a step stands in.
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

    /// Passes over spaces and comments; over line ends and `;` too where steps may begin.
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
                        .help("write one step a line, or put `;` between them"));
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

    /// From `(` to its `)`, cut at the commas of the outermost level.
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

/// All steps of a text.
pub(crate) fn read(origin: &str, text: &str) -> Result<Vec<Call>, Diagnostic> {
    let source = Source { origin: Arc::from(origin), text: Arc::from(text) };
    let mut reader = Reader { source: &source, at: 0 };
    let steps = reader.steps(0)?;
    Ok(steps)
}

/// The arguments of one step while it reads them. Whatever is left at the end is refused.
pub(crate) struct Args<'a> {
    call: &'a Call,
    pieces: Vec<Piece>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Args<'a> {
    pub fn of(call: &'a Call) -> Result<Self, Diagnostic> {
        match &call.body {
            Body::Arguments(pieces) => Ok(Args { call, pieces: pieces.clone(), asked: RefCell::default() }),
            Body::Steps(_) => Err(Diagnostic::new(
                "pipeline-syntax",
                format!("`{}` takes its arguments in parentheses, not steps in braces", call.name),
            )
            .at(call.source.place(call.span.clone()))),
        }
    }

    /// The name by which the step was called.
    pub fn called(&self) -> &str {
        &self.call.name
    }

    /// A refusal at the whole step.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new("step-arguments", message).at(self.call.source.place(self.call.span.clone()))
    }

    fn error_at(&self, piece: &Piece, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new("step-arguments", message).at(self.call.source.place(piece.span.clone()))
    }

    fn take(&mut self) -> Option<Piece> {
        let k = self.pieces.iter().position(|p| p.key.is_none())?;
        Some(self.pieces.remove(k))
    }

    /// All that is left without a key.
    fn take_all(&mut self) -> Vec<Piece> {
        let (keyed, plain) = std::mem::take(&mut self.pieces).into_iter().partition(|p| p.key.is_some());
        self.pieces = keyed;
        plain
    }

    fn take_key(&mut self, key: &'static str) -> Option<Piece> {
        self.asked.borrow_mut().push(key);
        let k = self.pieces.iter().position(|p| p.key.as_deref() == Some(key))?;
        Some(self.pieces.remove(k))
    }

    fn required(&mut self, what: &str) -> Result<Piece, Diagnostic> {
        match self.take() {
            Some(piece) => Ok(piece),
            None => Err(self.error(format!("`{}` needs {what}", self.call.name))),
        }
    }

    fn name_of(&self, piece: &Piece) -> Result<Name, Diagnostic> {
        name_in(&piece.value)
            .ok_or_else(|| self.error_at(piece, format!("expected a name, not `{}`", piece.value)))
    }

    fn names_of(&self, piece: &Piece) -> Result<Vec<Name>, Diagnostic> {
        let inner = unquoted(&piece.value);
        let inner = inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(inner);
        if inner.trim().is_empty() {
            return Ok(Vec::new());
        }
        inner
            .split(',')
            .map(|t| {
                name_in(t.trim())
                    .ok_or_else(|| self.error_at(piece, format!("expected names, not `{}`", piece.value)))
            })
            .collect()
    }

    /// The next argument without a key: a name.
    pub fn name(&mut self, what: &str) -> Result<Name, Diagnostic> {
        let piece = self.required(what)?;
        self.name_of(&piece)
    }

    /// The next argument without a key: a name or `[names]`.
    pub fn names(&mut self, what: &str) -> Result<Vec<Name>, Diagnostic> {
        let piece = self.required(what)?;
        self.names_of(&piece)
    }

    /// The next argument without a key: an integer or an open parameter.
    pub fn number(&mut self, what: &str) -> Result<Number, Diagnostic> {
        let piece = self.required(what)?;
        Number::parse(&piece.value).ok_or_else(|| {
            self.error_at(&piece, format!("expected an integer or `$name`, not `{}`", piece.value))
        })
    }

    /// All remaining arguments without a key: names, or `[names]`, or a quoted list.
    pub fn all_names(&mut self, what: &str) -> Result<Vec<Name>, Diagnostic> {
        let mut found = self.names(what)?;
        found.extend(self.rest_names()?);
        Ok(found)
    }

    /// The next argument without a key: a name or `[names]`, and whether it is a list.
    pub fn names_or_list(&mut self, what: &str) -> Result<(bool, Vec<Name>), Diagnostic> {
        let piece = self.required(what)?;
        Ok((unquoted(&piece.value).starts_with('['), self.names_of(&piece)?))
    }

    /// All remaining arguments without a key: names.
    pub fn rest_names(&mut self) -> Result<Vec<Name>, Diagnostic> {
        let mut found = Vec::new();
        for piece in self.take_all() {
            found.extend(self.names_of(&piece)?);
        }
        Ok(found)
    }

    /// All remaining arguments without a key, as text without quotes, each with a way to refuse it.
    pub fn all_texts(&mut self) -> Vec<(String, Range<usize>)> {
        let plain = self.take_all().into_iter();
        plain.map(|p| (unquoted(&p.value).to_string(), p.span)).collect()
    }

    /// All remaining arguments with keys, in their order.
    pub fn all_keyed(&mut self) -> Vec<(String, String, Range<usize>)> {
        let pieces = std::mem::take(&mut self.pieces);
        let (keyed, rest): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|p| p.key.is_some());
        self.pieces = rest;
        keyed
            .into_iter()
            .map(|p| (p.key.unwrap_or_default(), unquoted(&p.value).to_string(), p.span))
            .collect()
    }

    /// All remaining arguments as they were written, without quotes.
    pub fn raw(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pieces)
            .into_iter()
            .map(|p| match p.key {
                Some(key) => format!("{key} = {}", p.value),
                None => unquoted(&p.value).to_string(),
            })
            .collect()
    }

    /// A refusal at a part of the step.
    pub fn error_in(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new("step-arguments", message).at(self.call.source.place(span))
    }

    /// The argument of this key: a name.
    pub fn key_name(&mut self, key: &'static str) -> Result<Option<Name>, Diagnostic> {
        self.take_key(key).map(|p| self.name_of(&p)).transpose()
    }

    /// The argument of this key: a name or `[names]`.
    pub fn key_names(&mut self, key: &'static str) -> Result<Option<Vec<Name>>, Diagnostic> {
        self.take_key(key).map(|p| self.names_of(&p)).transpose()
    }

    /// The argument of this key: an integer or an open parameter.
    pub fn key_number(&mut self, key: &'static str) -> Result<Option<Number>, Diagnostic> {
        let Some(piece) = self.take_key(key) else { return Ok(None) };
        match Number::parse(&piece.value) {
            Some(n) => Ok(Some(n)),
            None => {
                Err(self.error_at(&piece, format!("expected an integer or `$name`, not `{}`", piece.value)))
            }
        }
    }

    /// The argument of this key as text without quotes.
    pub fn key_text(&mut self, key: &'static str) -> Option<(String, Range<usize>)> {
        self.take_key(key).map(|p| (unquoted(&p.value).to_string(), p.span))
    }

    /// Refuses what nobody has asked for.
    pub fn done(self) -> Result<(), Diagnostic> {
        let Some(piece) = self.pieces.first() else { return Ok(()) };
        let name = &self.call.name;
        Err(match &piece.key {
            None => self.error_at(piece, format!("`{name}` takes no further argument `{}`", piece.value)),
            Some(key) => {
                let asked = self.asked.borrow();
                let d = if asked.contains(&key.as_str()) {
                    self.error_at(piece, format!("`{key}` is given twice"))
                } else {
                    self.error_at(piece, format!("`{name}` has no option `{key}`"))
                };
                match names::nearest(key, asked.iter().copied()) {
                    Some(near) if near != key => d.help(format!("did you mean `{near}`?")),
                    _ if asked.is_empty() => d,
                    _ => d.help(format!("its options are {}", names::list(asked.iter().copied()))),
                }
            }
        })
    }
}

/// The text without the quotes around it.
pub(crate) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text).trim()
}

/// The name that a text is, quoted or not.
pub(crate) fn name_in(text: &str) -> Option<Name> {
    let text = unquoted(text);
    let first = *text.as_bytes().first()?;
    (!first.is_ascii_digit() && text.bytes().all(is_word)).then(|| Name::new(text))
}

/// The address space of a text.
pub(crate) fn parse_space(
    args: &Args<'_>,
    text: &str,
    span: Range<usize>,
) -> Result<AddressSpace, Diagnostic> {
    match text {
        "private" => Ok(AddressSpace::Private),
        "shared" => Ok(AddressSpace::Shared),
        "global" => Ok(AddressSpace::Global),
        "local" => Err(args
            .error_in(span, "there is no address space `local`")
            .help("loopy's local memory is called `shared` here, as in CUDA")),
        _ => Err(args
            .error_in(span, format!("there is no address space `{text}`"))
            .help("it is `private`, `shared` or `global`")),
    }
}
