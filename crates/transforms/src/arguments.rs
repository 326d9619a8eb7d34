//! The arguments of a step, as they are parsed from its text and printed.

use std::{cell::RefCell, ops::Range};

use loopwright_kernel_ir::{
    Access, AddressSpace, Diagnostic, Expr, Name, UpdateScope, Via, parse_expression,
};

use crate::{
    Issue, Number, Rounding,
    call::{Body, Call, Piece, name_in, unquoted},
    names,
    patterns::{self, is_pattern, not_a_pattern},
};

/// A value that is written as one argument of a step.
pub(crate) trait Argument: Sized {
    /// Parses the value; errors point at the argument.
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic>;

    /// The value as it is printed.
    fn text(&self) -> String;

    /// Its numbers that may be open parameters.
    fn numbers(&mut self) -> Vec<&mut Number> {
        Vec::new()
    }

    /// The names of a list, some of which may be patterns.
    fn names(&mut self) -> Option<&mut Vec<Name>> {
        None
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

/// A name or `[names]`, in quotes or without. A name may be a [pattern](crate::patterns); a step
/// whose list is not of names of the kernel refuses those (`BuiltIn::of_call`).
impl Argument for Vec<Name> {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        let name = |text: &str| match name_in(text) {
            Some(name) => Ok(name),
            None if is_pattern(text) => match patterns::check(unquoted(text)) {
                Ok(()) => Ok(Name::new(unquoted(text))),
                Err(why) => Err(not_a_pattern(text, &why).at(args.call.source.place(piece.span.clone()))),
            },
            None => Err(args.error_at(piece, format!("expected names, not `{}`", piece.value))),
        };
        listed(piece).into_iter().map(name).collect()
    }

    fn text(&self) -> String {
        format!("[{}]", names::comma(self))
    }

    fn names(&mut self) -> Option<&mut Vec<Name>> {
        Some(self)
    }
}

/// The entries of a list, in quotes or without.
fn listed(piece: &Piece) -> Vec<&str> {
    let inner = unquoted(&piece.value);
    let inner = inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(inner);
    if inner.trim().is_empty() { Vec::new() } else { inner.split(',').map(str::trim).collect() }
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

/// An expression, in quotes or without.
impl Argument for Expr {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        let text = unquoted(&piece.value);
        parse_expression(text).map_err(|d| args.error_at(piece, format!("`{text}`: {}", d.message)))
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// One access or `[accesses]`, such as `a[i, k]`.
impl Argument for Vec<Access> {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        let text = unquoted(&piece.value);
        let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        let wrong = || {
            args.error_at(piece, format!("expected accesses, not `{text}`"))
                .help("write them as in the kernel: `[a[i, k], a[j, k]]`")
        };
        // The arguments of a call are a list of expressions.
        let Ok(Expr::Call { args: list, .. }) = parse_expression(&format!("accesses({inner})")) else {
            return Err(wrong());
        };
        let access = |e| match e {
            Expr::Subscript(access) => Ok(access),
            _ => Err(wrong()),
        };
        list.into_iter().map(access).collect()
    }

    fn text(&self) -> String {
        let list: Vec<String> = self.iter().map(ToString::to_string).collect();
        format!("[{}]", list.join(", "))
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

impl Argument for UpdateScope {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        let word = unquoted(&piece.value);
        UpdateScope::of_word(word).ok_or_else(|| {
            let words = UpdateScope::WORDS.map(|(_, word)| format!("`{word}`")).join(" or ");
            args.error_at(piece, format!("`{word}` is no scope of an update")).help(format!("it is {words}"))
        })
    }

    fn text(&self) -> String {
        self.word().into()
    }
}

impl Argument for Via {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        let word = unquoted(&piece.value);
        Via::of_word(word).filter(|via| Via::COPIES.contains(via)).ok_or_else(|| {
            let words = Via::COPIES.map(|via| format!("`{}`", via.word())).join(" or ");
            args.error_at(piece, format!("a copy does not go by way of `{word}`"))
                .help(format!("it is {words}"))
        })
    }

    fn text(&self) -> String {
        self.word().to_string()
    }
}

impl Argument for Issue {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        let word = unquoted(&piece.value);
        Issue::ALL.into_iter().find(|issue| issue.to_string() == word).ok_or_else(|| {
            args.error_at(piece, format!("copies are not issued `{word}`")).help(
                "they are issued `first` or `last` in an iteration, or `staged`: loaded first, stored last",
            )
        })
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Argument for Rounding {
    fn of(args: &Args<'_>, piece: &Piece) -> Result<Self, Diagnostic> {
        let word = unquoted(&piece.value);
        Rounding::ALL.into_iter().find(|r| r.to_string() == word).ok_or_else(|| {
            args.error_at(piece, format!("results are not rounded `{word}`"))
                .help("`rounding=any` allows another rounding; without it, results stay the same")
        })
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

/// The argument `key=value`, unless the value is the default.
pub(crate) fn given<T: Argument + PartialEq>(key: &str, value: &T, default: &T) -> Option<String> {
    (value != default).then(|| keyed(key, value))
}

/// The argument `key=value`.
pub(crate) fn keyed(key: &str, value: &impl Argument) -> String {
    format!("{key}={}", value.text())
}

/// The arguments of one step that have not been read yet. Any that are left at the end are an
/// error ([`Args::done`]).
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

    /// The next positional argument; `what` describes it in the error for a missing one.
    pub fn next<T: Argument>(&mut self, what: &str) -> Result<T, Diagnostic> {
        let piece = self.required(what)?;
        T::of(self, &piece)
    }

    /// The next positional argument, if there is one.
    pub fn following<T: Argument>(&mut self) -> Result<Option<T>, Diagnostic> {
        self.take().map(|piece| T::of(self, &piece)).transpose()
    }

    /// The argument with this key, if it is given.
    pub fn option<T: Argument>(&mut self, key: &'static str) -> Result<Option<T>, Diagnostic> {
        self.take_key(key).map(|piece| T::of(self, &piece)).transpose()
    }

    /// An error at the whole step.
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

    /// All remaining positional arguments.
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

    /// All remaining positional arguments: names, `[names]`, or a quoted list.
    pub fn all_names(&mut self, what: &str) -> Result<Vec<Name>, Diagnostic> {
        let mut found: Vec<Name> = self.next(what)?;
        found.extend(self.rest_names()?);
        Ok(found)
    }

    /// The next positional argument, a name or `[names]`, and whether it is a list.
    pub fn names_or_list(&mut self, what: &str) -> Result<(bool, Vec<Name>), Diagnostic> {
        let piece = self.required(what)?;
        Ok((unquoted(&piece.value).starts_with('['), Vec::of(self, &piece)?))
    }

    /// All remaining positional arguments, as names.
    pub fn rest_names(&mut self) -> Result<Vec<Name>, Diagnostic> {
        let mut found = Vec::new();
        for piece in self.take_all() {
            found.extend(Vec::of(self, &piece)?);
        }
        Ok(found)
    }

    /// All remaining positional arguments as text without quotes, each with its span.
    pub fn all_texts(&mut self) -> Vec<(String, Range<usize>)> {
        let plain = self.take_all().into_iter();
        plain.map(|p| (unquoted(&p.value).to_string(), p.span)).collect()
    }

    /// All remaining keyed arguments in their order.
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

    /// An error at a span of the step.
    pub fn error_in(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new("step-arguments", message).at(self.call.source.place(span))
    }

    /// The argument with this key as text without quotes.
    pub fn key_text(&mut self, key: &'static str) -> Option<(String, Range<usize>)> {
        self.take_key(key).map(|p| (unquoted(&p.value).to_string(), p.span))
    }

    /// Refuses arguments that were not read.
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
                    _ if !asked.contains(&key.as_str()) && names::option(key).is_some() => {
                        d.help(names::option(key).unwrap_or_default())
                    }
                    Some(near) if near != key => d.help(format!("did you mean `{near}`?")),
                    _ if asked.is_empty() => d,
                    _ => d.help(format!("its options are {}", names::list(asked.iter().copied()))),
                }
            }
        })
    }
}
