//! Words, numbers and signs of isl's syntax, with their places.

use crate::{Error, Result};

/// One word, number or sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword. Primes belong to it.
    Word(String),
    Number(i64),
    /// A sign, in its one spelling: `<>` and `!=` are `!=`, `==` is `=`, `&&` is the word `and`.
    Sign(&'static str),
    End,
}

const SIGNS: [(&str, &str); 27] = [
    ("->", "->"),
    ("<=", "<="),
    (">=", ">="),
    ("!=", "!="),
    ("<>", "!="),
    ("==", "="),
    ("&&", "and"),
    ("||", "or"),
    ("<", "<"),
    (">", ">"),
    ("=", "="),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "mod"),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    ("{", "{"),
    ("}", "}"),
    (",", ","),
    (";", ";"),
    (":", ":"),
    ("!", "not"),
    ("|", "|"),
];

/// The tokens of a text, each with the byte offset at which it starts; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>> {
    let mut list = Vec::new();
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let rest = &text[at..];
        let Some(c) = rest.chars().next() else { break };
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if c.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number = rest[..end].parse().map_err(|_| Error::Syntax {
                message: "the number does not fit into 64 bits".into(),
                offset: at,
            })?;
            list.push((Token::Number(number), at));
            at += end;
        } else if c.is_alphabetic() || c == '_' {
            let part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
            let end = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
            list.push((Token::Word(rest[..end].to_string()), at));
            at += end;
        } else if let Some((spelling, sign)) = SIGNS.iter().find(|(s, _)| rest.starts_with(s)) {
            list.push((
                match *sign {
                    word @ ("and" | "or" | "not" | "mod") => Token::Word(word.to_string()),
                    sign => Token::Sign(sign),
                },
                at,
            ));
            at += spelling.len();
        } else {
            return Err(Error::Syntax { message: format!("`{c}` has no meaning here"), offset: at });
        }
    }
    list.push((Token::End, text.len()));
    Ok(list)
}
