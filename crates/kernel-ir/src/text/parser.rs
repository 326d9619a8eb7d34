//! The parser's cursor: looking at tokens, consuming them, reporting errors.
//!
//! A statement ends with its line unless a bracket is open: outside of brackets the cursor shows
//! [`Tok::End`] at a token that begins a new line. Nesting is limited so that no text overflows the
//! stack.

use std::{ops::Range, sync::Arc};

use loopwright_target::Language;

use crate::{
    Diagnostic, Name, Place, Record, Struct,
    text::{
        lexer::{Tok, Token, lex},
        library::{Library, Sections},
    },
};

/// Boxed, since a diagnostic carries its text.
pub type Parse<T> = Result<T, Box<Diagnostic>>;

/// Nesting limit of brackets and prefix operators.
const NESTING_LIMIT: usize = 96;

/// A place of the cursor; see [`Parser::mark`].
pub(crate) struct Mark {
    pos: usize,
    statement: usize,
    brackets: usize,
}

/// The cursor over the tokens of a text, with the parts of the grammar that texts share. See the
/// head of `text/parser.rs`.
pub struct Parser {
    /// The texts that are read, of which all but the first are those of a library.
    pub(crate) sections: Sections,
    /// All of them.
    pub(crate) text: Arc<str>,
    tokens: Vec<Token>,
    pos: usize,
    /// The token with which the current statement began; a line break before it does not end it.
    statement: usize,
    /// Number of brackets open in the statement.
    brackets: usize,
    nesting: usize,
    /// Their nesting limit, and the remedy for a text that exceeds it.
    limit: (usize, &'static str),
    /// Whether the text may have complex numbers: they are resolved when a kernel has been read.
    pub(crate) complex: bool,
    /// The structs of the kernel that is being read, those that are declared further down too.
    pub(crate) structs: Vec<Struct>,
    /// Its arguments whose elements are structs.
    pub(crate) records: Vec<Record>,
    /// Whether subscripts may be slices, which are resolved when a kernel has been read.
    pub(crate) slices: bool,
    /// Inside an operator, whose values may be arrays and structs.
    pub(crate) in_operator: bool,
    /// Inside `floor(..)`, where `/` is allowed.
    pub(crate) in_floor: bool,
    /// Whether two words joined by a dot are one name in affine text; then the language in whose
    /// words the first may be, too.
    pub(crate) dotted: Option<Language>,
}

impl Parser {
    /// At the beginning of a text; `origin` is its name in diagnostics.
    pub fn new(origin: &str, text: &str) -> Self {
        Parser {
            sections: Sections::joined([(origin, text)].into_iter()).0,
            text: text.into(),
            tokens: lex(text),
            pos: 0,
            statement: 0,
            brackets: 0,
            nesting: 0,
            limit: (NESTING_LIMIT, "compute parts of it in separate instructions"),
            complex: false,
            structs: Vec::new(),
            records: Vec::new(),
            slices: false,
            in_operator: false,
            in_floor: false,
            dotted: None,
        }
    }

    /// Sets the nesting limit of brackets, and the remedy for a text that exceeds it.
    pub fn with_nesting(mut self, limit: usize, help: &'static str) -> Self {
        self.limit = (limit, help);
        self
    }

    /// With the texts of a library behind its own, each of which ends as a text does.
    pub(crate) fn with_library(mut self, library: &Library) -> Self {
        if library.is_empty() {
            return self;
        }
        let own = self.sections.place(0..0);
        let texts = [(&*own.origin, &*own.text)].into_iter().chain(library.texts());
        let (sections, joined) = Sections::joined(texts);
        let mut at = own.text.len() + 1;
        for (_, text) in library.texts() {
            self.tokens.extend(lex(text).into_iter().enumerate().map(|(k, token)| Token {
                span: at + token.span.start..at + token.span.end,
                newline: token.newline || k == 0,
                ..token
            }));
            at += text.len() + 1;
        }
        (self.sections, self.text) = (sections, joined.into());
        self
    }

    /// Begins a statement at the first token of one of the texts.
    pub(crate) fn go_to_section(&mut self, number: usize) {
        let of = |token: &Token| self.sections.number(token.span.start);
        let first = self.tokens.iter().position(|t| of(t) == number);
        self.go_to(first.unwrap_or(self.tokens.len()));
    }

    /// Whether the next token is in a text of the library.
    pub(crate) fn in_library(&self) -> bool {
        self.sections.number(self.tokens[self.pos].span.start) > 0
    }

    /// Lets affine functions use coordinates such as `thread.x`, also in the words of a language,
    /// as `threadIdx.x`.
    pub fn with_coordinates(mut self, language: Language) -> Self {
        self.dotted = Some(language);
        self
    }

    /// The whole text that is read; spans are byte ranges in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn token(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        let k = (self.pos + ahead).min(last);
        for j in self.pos..=k {
            // The end of a text hides what comes after, and so does that of the statement.
            let ends = self.brackets == 0 && self.tokens[j].newline && j > self.statement;
            if ends || self.tokens[j].tok == Tok::End {
                return &self.tokens[last];
            }
        }
        &self.tokens[k]
    }

    /// The token `ahead` places ahead, or [`Tok::End`] past the end of the statement.
    pub fn tok(&self, ahead: usize) -> Tok {
        self.token(ahead).tok
    }

    /// The span of the next token; at the end of a statement, the empty span after the last token.
    pub fn span(&self) -> Range<usize> {
        if self.tok(0) == Tok::End {
            let end = self.last_end();
            return end..end;
        }
        self.tokens[self.pos].span.clone()
    }

    /// The end of the last token, as a byte offset.
    pub fn last_end(&self) -> usize {
        if self.pos == 0 { 0 } else { self.tokens[self.pos - 1].span.end }
    }

    /// Advances to the next token.
    pub fn advance(&mut self) {
        if self.tokens[self.pos].tok != Tok::End {
            self.pos += 1;
        }
    }

    /// The word `ahead` tokens ahead.
    pub fn word(&self, ahead: usize) -> Option<&str> {
        let token = self.token(ahead);
        (token.tok == Tok::Ident).then(|| &self.text[token.span.clone()])
    }

    /// The next word, whether or not it is on a new line.
    pub(crate) fn word_ahead(&self) -> Option<&str> {
        let token = &self.tokens[self.pos];
        (token.tok == Tok::Ident).then(|| &self.text[token.span.clone()])
    }

    /// Whether a word comes next.
    pub fn ident_here(&self) -> bool {
        self.tok(0) == Tok::Ident
    }

    /// Whether the next token follows the previous one without a space.
    pub fn touches(&self) -> bool {
        self.span().start == self.last_end()
    }

    /// Whether this sign comes next.
    pub fn at(&self, punct: &str) -> bool {
        self.peek_is(0, punct)
    }

    /// Whether the token `ahead` tokens ahead is this sign.
    pub fn peek_is(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.tok(ahead), Tok::Punct(p) if p == punct)
    }

    /// Whether this word comes next.
    pub fn at_word(&self, word: &str) -> bool {
        self.word(0) == Some(word)
    }

    /// Whether one of these words comes next.
    pub fn at_any_word(&self, words: &[&str]) -> bool {
        self.word(0).is_some_and(|w| words.contains(&w))
    }

    /// Consumes this sign if it comes next.
    pub fn eat(&mut self, punct: &str) -> bool {
        let here = self.at(punct);
        if here {
            self.advance();
        }
        here
    }

    /// Consumes this word if it comes next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let here = self.at_word(word);
        if here {
            self.advance();
        }
        here
    }

    /// Consumes this sign, or refuses the text.
    pub fn expect(&mut self, punct: &'static str) -> Parse<()> {
        if self.eat(punct) { Ok(()) } else { Err(self.unexpected(&format!("`{punct}`"))) }
    }

    /// Consumes an opening bracket; line breaks inside have no meaning.
    pub fn open(&mut self, punct: &'static str) -> Parse<()> {
        self.expect(punct)?;
        self.brackets += 1;
        self.enter()
    }

    /// Consumes the closing bracket of [`Parser::open`].
    pub fn close(&mut self, punct: &'static str) -> Parse<()> {
        if !self.at(punct) {
            return Err(self.unexpected(&format!("`{punct}`")));
        }
        // The line break after the bracket counts again.
        self.brackets = self.brackets.saturating_sub(1);
        self.pos += 1;
        self.leave();
        Ok(())
    }

    /// A name; keywords of expressions are not names.
    pub fn name(&mut self, what: &str) -> Parse<Name> {
        match self.word(0) {
            Some(w) if RESERVED.contains(&w) => Err(self
                .error("reserved-name", format!("`{w}` is a keyword, not a name"))
                .help("choose another name")
                .into()),
            Some(w) => {
                let name = Name::new(w);
                self.advance();
                Ok(name)
            }
            None => Err(self.unexpected(what)),
        }
    }

    /// Enters one level of nesting.
    pub fn enter(&mut self) -> Parse<()> {
        self.nesting += 1;
        let (limit, help) = self.limit;
        if self.nesting > limit {
            return Err(self
                .error("too-deep", format!("the text nests deeper than {limit} levels"))
                .help(help)
                .into());
        }
        Ok(())
    }

    /// Leaves one level of nesting.
    pub fn leave(&mut self) {
        self.nesting = self.nesting.saturating_sub(1);
    }

    /// An integer literal as `i64`.
    pub fn small(&self, value: u64) -> Parse<i64> {
        i64::try_from(value).map_err(|_| {
            let mut error = self.error("overflow", "an integer literal is at most 2^63 - 1");
            error.help = Some("of u64 write a computed one, such as `cast(u64, 1) << 63`".into());
            error.into()
        })
    }

    /// The refusal of an integer beyond 64 bits.
    pub fn huge(&self) -> Box<Diagnostic> {
        self.error("overflow", "the integer does not fit into 64 bits").into()
    }

    /// Begins a statement at the next token, whether or not it is on a new line.
    pub fn begin_statement(&mut self) {
        self.statement = self.pos;
        self.brackets = 0;
    }

    /// Where it stands, to come back by [`Parser::back_to`].
    pub(crate) fn mark(&self) -> Mark {
        Mark { pos: self.pos, statement: self.statement, brackets: self.brackets }
    }

    /// Goes back to a mark.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        (self.pos, self.statement, self.brackets) = (mark.pos, mark.statement, mark.brackets);
    }

    /// Begins a statement at this token.
    pub(crate) fn go_to(&mut self, token: usize) {
        self.pos = token.min(self.tokens.len() - 1);
        self.begin_statement();
    }

    /// The token with which the `number`-th `struct` line of the kernel at the mark begins.
    pub(crate) fn next_struct(&self, from: &Mark, number: usize) -> Option<usize> {
        let mut depth = 0usize;
        let mut seen = 0;
        for (k, token) in self.tokens.iter().enumerate().skip(from.pos) {
            match token.tok {
                Tok::End => return None,
                Tok::Punct("{") => depth += 1,
                Tok::Punct("}") => depth = depth.checked_sub(1)?,
                Tok::Ident if depth == 0 && &self.text[token.span.clone()] == "struct" => {
                    let follows = |ahead: usize| self.tokens.get(k + ahead).map(|t| t.tok);
                    let begins = token.newline || matches!(self.tokens[k - 1].tok, Tok::Punct(";"));
                    if begins && follows(1) == Some(Tok::Ident) && follows(2) == Some(Tok::Punct("{")) {
                        if seen == number {
                            return Some(k);
                        }
                        seen += 1;
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Whether the text has ended. Only at the beginning of a statement.
    pub fn at_text_end(&self) -> bool {
        self.tokens[self.pos].tok == Tok::End
    }

    /// Requires that the statement ends here: a line break, a `;`, or a closing brace.
    pub fn end_statement(&mut self) -> Parse<()> {
        if self.eat(";") || self.tok(0) == Tok::End || self.at("}") {
            return Ok(());
        }
        Err(self.unexpected("the end of the line"))
    }

    /// The place of these bytes of the text.
    pub fn place(&self, span: Range<usize>) -> Place {
        self.sections.place(span)
    }

    /// A diagnostic about these bytes of the text.
    pub fn diagnostic(
        &self,
        span: Range<usize>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(code, message).at(Some(self.place(span)))
    }

    /// A diagnostic at the next token.
    pub fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(self.span(), code, message)
    }

    /// As [`Parser::diagnostic`], ready to be returned.
    pub fn error_at(
        &self,
        span: Range<usize>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Box<Diagnostic> {
        self.diagnostic(span, code, message).into()
    }

    /// The refusal for a failed query about integers, at these bytes of the text.
    pub(crate) fn poly_error(&self, error: loopwright_poly::Error, span: Range<usize>) -> Box<Diagnostic> {
        Diagnostic::from(error).at(Some(self.place(span))).into()
    }

    /// A syntax error at the next token.
    pub fn unexpected(&self, expected: &str) -> Box<Diagnostic> {
        let found = match self.tok(0) {
            Tok::End if self.at_text_end() => "the text ends".to_string(),
            Tok::End => "the line ends".to_string(),
            Tok::Huge => return self.huge(),
            Tok::OpenRaw => "the body of this function has no closing brace".to_string(),
            _ => {
                let token = &self.text[self.span()];
                format!("found `{}`", token.escape_debug())
            }
        };
        let mut diagnostic = self.error("syntax", format!("expected {expected}, but {found}"));
        diagnostic.help = match &self.text[self.span()] {
            "&&" => Some("write `and`".into()),
            "||" => Some("write `or`".into()),
            "!" => Some("write `not`".into()),
            "?" => Some("write `if(c, a, b)`".into()),
            _ => None,
        };
        diagnostic.into()
    }
}

/// Words that are not allowed as names.
pub(crate) const RESERVED: &[&str] =
    &["and", "or", "not", "if", "cast", "true", "false", "inf", "nan", "domain", "mod", "exists"];
