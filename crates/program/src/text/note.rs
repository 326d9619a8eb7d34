//! Notes (the reasons for statements) and quoted text.

use std::fmt::Write;

use loopwright_kernel_ir::syntax::{Parse, Parser, Tok};

use crate::{Note, Reason};

/// Text in quotes, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            // The lexer ends the text at any quote, even after a backslash.
            c if c == '"' || c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The text that follows a statement for its note, with a leading space.
pub(super) fn text_of(note: &Note) -> String {
    let mut text = match note.reason {
        Reason::Predicate => " predicate".to_string(),
        Reason::Stated | Reason::Dependence(_) | Reason::Guard(_) => String::new(),
    };
    if !note.text.is_empty() {
        text.push(' ');
        text.push_str(&quoted(&note.text));
    }
    text
}

/// A note, if there is one.
pub(super) fn read(p: &mut Parser) -> Parse<Note> {
    let reason = match p.eat_word("predicate") {
        true => {
            // Texts of earlier versions have this word, which no longer has a meaning.
            p.eat_word("integers");
            Reason::Predicate
        }
        false => Reason::Stated,
    };
    let text = match p.tok(0) {
        Tok::Quoted => read_quoted(p, "a note")?,
        _ => String::new(),
    };
    Ok(Note { text, reason })
}

/// The inverse of [`quoted`].
pub(super) fn read_quoted(p: &mut Parser, what: &str) -> Parse<String> {
    let span = p.span();
    let raw = p.quoted(what)?;
    let mut text = String::with_capacity(raw.len());
    let mut rest = &*raw;
    while let Some((before, escape)) = rest.split_once('\\') {
        text.push_str(before);
        let known = match escape.chars().next() {
            Some('\\') => Some(('\\', 1)),
            Some('n') => Some(('\n', 1)),
            Some('u') => escape.strip_prefix("u{").and_then(|e| e.split_once('}')).and_then(|(digits, _)| {
                let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
                Some((c, digits.len() + 3))
            }),
            _ => None,
        };
        let Some((c, length)) = known else {
            return Err(p
                .diagnostic(span, "syntax", "a `\\` in quotes does not begin an escape sequence")
                .help("write `\\\\`, `\\n`, or the code of a character, as `\\u{22}` for a quote")
                .into());
        };
        text.push(c);
        rest = &escape[length..];
    }
    text.push_str(rest);
    Ok(text)
}
