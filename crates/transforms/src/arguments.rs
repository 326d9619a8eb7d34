//! The arguments of a step: read from its text, and printed again.

use std::{cell::RefCell, ops::Range};

use loopwright_kernel_ir::{AddressSpace, Diagnostic, Name};

use crate::{
    Number,
    call::{Body, Call, Piece, name_in, unquoted},
    names,
};

/// What stands in the text of a step as one argument.
pub(crate) trait Argument: Sized {
    /// The value of a text, or a refusal at its place.
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic>;

    /// Its text.
    fn text(&self) -> String;

    /// Its numbers that may be open parameters.
    fn numbers(&mut self) -> Vec<&mut Number> {
        Vec::new()
    }
}

impl Argument for Name {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        name_in(&piece.value)
            .ok_or_else(|| args.error_at(piece, format!("expected a name, not `{}`", piece.value)))
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// A name or `[names]`, in quotes or without.
impl Argument for Vec<Name> {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        let inner = unquoted(&piece.value);
        let inner = inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(inner);
        if inner.trim().is_empty() {
            return Ok(Vec::new());
        }
        let name = |text: &str| {
            name_in(text.trim())
                .ok_or_else(|| args.error_at(piece, format!("expected names, not `{}`", piece.value)))
        };
        inner.split(',').map(name).collect()
    }

    fn text(&self) -> String {
        format!("[{}]", names::comma(self))
    }
}

/// An integer or an open parameter.
impl Argument for Number {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        Number::parse(&piece.value).ok_or_else(|| {
            args.error_at(piece, format!("expected an integer or `$name`, not `{}`", piece.value))
        })
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        vec![self]
    }
}

/// An integer that a tuner does not choose.
impl Argument for i64 {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        Number::of(args, piece)?.value()
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Argument for AddressSpace {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        match unquoted(&piece.value) {
            "private" => Ok(AddressSpace::Private),
            "shared" => Ok(AddressSpace::Shared),
            "global" => Ok(AddressSpace::Global),
            "local" => Err(args
                .error_at(piece, "there is no address space `local`")
                .help("loopy's local memory is called `shared` here, as in CUDA")),
            text => Err(args
                .error_at(piece, format!("there is no address space `{text}`"))
                .help("it is `private`, `shared` or `global`")),
        }
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// An argument that may be missing.
impl<T: Argument> Argument for Option<T> {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        T::of(args, piece).map(Some)
    }

    fn text(&self) -> String {
        self.as_ref().map_or_else(String::new, T::text)
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        self.as_mut().map_or_else(Vec::new, T::numbers)
    }
}

/// An argument with its key, if it is another than by default.
pub(crate) fn given<T: Argument + PartialEq>(key: &str, value: &T, default: &T) -> Option<String> {
    (value != default).then(|| keyed(key, value))
}

/// An argument with its key, as it is printed.
pub(crate) fn keyed(key: &str, value: &impl Argument) -> String {
    format!("{key}={}", value.text())
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

    /// The next argument without a key; `what` says what it is.
    pub fn next<T: Argument>(&mut self, what: &str) -> Result<T, Diagnostic> {
        let piece = self.required(what)?;
        T::of(self, &piece)
    }

    /// The argument of this key, if it is given.
    pub fn option<T: Argument>(&mut self, key: &'static str) -> Result<Option<T>, Diagnostic> {
        self.take_key(key).map(|piece| T::of(self, &piece)).transpose()
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

    /// All remaining arguments without a key: names, or `[names]`, or a quoted list.
    pub fn all_names(&mut self, what: &str) -> Result<Vec<Name>, Diagnostic> {
        let mut found: Vec<Name> = self.next(what)?;
        found.extend(self.rest_names()?);
        Ok(found)
    }

    /// The next argument without a key: a name or `[names]`, and whether it is a list.
    pub fn names_or_list(&mut self, what: &str) -> Result<(bool, Vec<Name>), Diagnostic> {
        let piece = self.required(what)?;
        Ok((unquoted(&piece.value).starts_with('['), Vec::of(self, &piece)?))
    }

    /// All remaining arguments without a key: names.
    pub fn rest_names(&mut self) -> Result<Vec<Name>, Diagnostic> {
        let mut found = Vec::new();
        for piece in self.take_all() {
            found.extend(Vec::of(self, &piece)?);
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
