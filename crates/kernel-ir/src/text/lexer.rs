//! Splits text into tokens.
//!
//! Never fails: anything else becomes [`Tok::Unknown`], and the parser, which knows what it
//! expected, reports it. A token records whether a line break precedes it, since a statement ends
//! with its line unless a bracket is open.
//!
//! The body of a `function` is in the language of the device, not kernel text: from the first `{`
//! of such a statement to the brace that closes it, everything is one [`Tok::Raw`]. So are the
//! lines of an atom.

use std::ops::Range;

/// What a token is; its text is found by its span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tok {
    /// A name or a keyword.
    Ident,
    /// An integer literal of at most 64 bits.
    Int(u64),
    /// An integer literal beyond 64 bits.
    Huge,
    /// A floating-point literal.
    Float(f64),
    /// An imaginary literal, as `2.0j`.
    Imaginary(f64),
    /// An operator, a bracket or a separator: an entry of `PUNCTUATION`.
    Punct(&'static str),
    /// Text between double quotes, on one line; the span includes the quotes.
    Quoted,
    /// The body of a function, or the lines of an atom, including the braces.
    Raw,
    /// A function's body without its closing brace.
    OpenRaw,
    /// A character or a literal that the language does not have.
    Unknown,
    /// The end of the text, which is the last token.
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub tok: Tok,
    pub span: Range<usize>,
    /// A line break precedes this token.
    pub newline: bool,
}

/// All operators, brackets and separators, the longest first, so that `<=` is not read as `<`.
const PUNCTUATION: &[&str] = &[
    "...", "->", "<=", ">=", "==", "!=", "//", "**", "<<", ">>", ":=", "+=", "-=", "*=", "/=", "&=", "|=",
    "&&", "||", "(", ")", "[", "]", "{", "}", ",", ":", ";", "=", "<", ">", "+", "-", "*", "/", "%", "&",
    "|", "^", "~", ".", "?", "!", "@",
];

/// The entry of `PUNCTUATION` at the start of a text. Most differ from it in the first byte, which
/// is looked at before the rest is compared.
fn punctuation(bytes: &[u8]) -> Option<&'static str> {
    let first = bytes.first()?;
    let starts = |p: &&&str| p.as_bytes().first() == Some(first) && bytes.starts_with(p.as_bytes());
    PUNCTUATION.iter().find(starts).copied()
}

fn is_ident_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_'
}

fn is_ident(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

/// Whether a text is a name: a letter or underscore, then letters, digits and underscores, all of
/// ASCII.
pub fn is_identifier(text: &str) -> bool {
    text.bytes().next().is_some_and(is_ident_start) && text.bytes().all(is_ident)
}

/// All tokens of a text; the last one is [`Tok::End`].
pub(crate) fn lex(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens: Vec<Token> = Vec::with_capacity(bytes.len() / 3);
    let (mut at, mut newline, mut in_function, mut in_atom) = (0, true, false, false);
    while at < bytes.len() {
        let start = at;
        let c = bytes[at];
        if c == b'\n' {
            (newline, in_function) = (true, false);
            at += 1;
            continue;
        }
        if c.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if c == b'#' {
            at += bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - at);
            continue;
        }
        let tok = if is_ident_start(c) {
            at += bytes[at..].iter().position(|b| !is_ident(*b)).unwrap_or(bytes.len() - at);
            if newline && &text[start..at] == "function" {
                in_function = true;
            }
            in_atom = newline && &text[start..at] == "atom" && declares_atom(&text[at..]) || in_atom;
            Tok::Ident
        } else if c.is_ascii_digit() {
            let (tok, length) = number(&text[at..]);
            at += length;
            tok
        } else if c == b'{' && in_function {
            in_function = false;
            match close_of_c(bytes, at) {
                Some(end) => {
                    at = end;
                    Tok::Raw
                }
                None => {
                    at = bytes.len();
                    Tok::OpenRaw
                }
            }
        } else if c == b'{' && in_atom {
            in_atom = false;
            // No line of an atom has a brace.
            match bytes[at..].iter().position(|b| *b == b'}') {
                Some(length) => {
                    at += length + 1;
                    Tok::Raw
                }
                None => {
                    at = bytes.len();
                    Tok::OpenRaw
                }
            }
        } else if let Some(length) = quoted(&bytes[at..]) {
            at += length;
            Tok::Quoted
        } else if let Some(p) = punctuation(&bytes[at..]) {
            at += p.len();
            Tok::Punct(p)
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            Tok::Unknown
        };
        tokens.push(Token { tok, span: start..at, newline });
        newline = false;
    }
    tokens.push(Token { tok: Tok::End, span: text.len()..text.len(), newline: true });
    tokens
}

/// Whether a name and a brace follow the word `atom`: it declares one. An array may have that name.
fn declares_atom(behind: &str) -> bool {
    let name = behind.trim_start_matches([' ', '\t']);
    let rest = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    name.len() < behind.len()
        && rest.len() < name.len()
        && rest.trim_start_matches([' ', '\t']).starts_with('{')
}

/// The length of the quoted text at the start, if it is closed on its line.
fn quoted(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'"') {
        return None;
    }
    let end = bytes[1..].iter().position(|b| matches!(b, b'"' | b'\n'))? + 1;
    (bytes[end] == b'"').then_some(end + 1)
}

/// The number at the start of a text, and its length.
fn number(text: &str) -> (Tok, usize) {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().position(|b| !b.is_ascii_digit()).unwrap_or(bytes.len() - from);
    if text.starts_with("0x") || text.starts_with("0X") {
        let n = bytes[2..].iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(bytes.len() - 2);
        let tok = u64::from_str_radix(&text[2..2 + n], 16).map_or(Tok::Huge, Tok::Int);
        return (if n == 0 { Tok::Unknown } else { tok }, 2 + n);
    }
    let mut end = digits(0);
    let mut float = false;
    if bytes.get(end) == Some(&b'.') && !bytes.get(end + 1).is_some_and(|b| is_ident_start(*b) || *b == b'.')
    {
        float = true;
        end += 1;
        end += digits(end);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let n = if end + 1 + sign < bytes.len() { digits(end + 1 + sign) } else { 0 };
        if n > 0 {
            float = true;
            end += 1 + sign + n;
        }
    }
    let is_imaginary = bytes.get(end) == Some(&b'j') && !bytes.get(end + 1).is_some_and(|b| is_ident(*b));
    if is_imaginary {
        return (text[..end].parse().map_or(Tok::Unknown, Tok::Imaginary), end + 1);
    }
    let tok = match float {
        true => text[..end].parse().map_or(Tok::Unknown, Tok::Float),
        false => text[..end].parse().map_or(Tok::Huge, Tok::Int),
    };
    (tok, end)
}

/// The end of the braced C text that begins at `open`, past strings, characters and comments.
pub(crate) fn close_of_c(bytes: &[u8], open: usize) -> Option<usize> {
    let (mut at, mut depth) = (open, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += 2;
                while at < bytes.len() && !bytes[at..].starts_with(b"*/") {
                    at += 1;
                }
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those that begin alike stand behind each other, the longest first.
    #[test]
    fn the_longest_operator_that_begins_there_is_read() {
        for entry in PUNCTUATION.iter().copied() {
            let toks: Vec<Tok> = lex(entry).iter().map(|token| token.tok).collect();
            assert_eq!(toks, [Tok::Punct(entry), Tok::End]);
            let before = PUNCTUATION.iter().take_while(|other| **other != entry);
            assert!(before.into_iter().all(|other| !entry.starts_with(other)), "{entry}");
            assert_eq!(punctuation(format!("{entry}x").as_bytes()), Some(entry));
        }
        assert_eq!([punctuation(b""), punctuation(b"x"), punctuation("\u{e4}".as_bytes())], [None; 3]);
    }
}
