//! Diagnostics: what a refusal reports.

use std::{fmt, ops::Range, sync::Arc};

/// A place in a text: of a kernel, or of the user's source from which it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the text: a file name, or `<kernel>`.
    pub origin: Arc<str>,
    /// The whole text that the byte ranges are into.
    pub text: Arc<str>,
    /// The byte range within `text`.
    pub span: Range<usize>,
}

/// One refusal: a stable code, one sentence, the place, the witness, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable code such as `unknown-iname`; each has a test that pins its text.
    pub code: &'static str,
    /// One sentence that names the offending item.
    pub message: String,
    /// Its place in the text, if known.
    pub place: Option<Place>,
    /// Concrete instances and values that demonstrate the error.
    pub witness: Option<String>,
    /// The remedy: what to write or to call instead. `None` where there is none.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic with a code and a sentence.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic { code, message: message.into(), place: None, witness: None, help: None }
    }

    /// Sets the remedy: what to write or to call instead.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the witness: concrete instances and values that demonstrate the error.
    pub fn witness(mut self, witness: impl Into<String>) -> Self {
        self.witness = Some(witness.into());
        self
    }

    /// Adds a place, unless it already has one.
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.place = self.place.or(place);
        self
    }
}

impl From<loopwright_poly::Error> for Diagnostic {
    fn from(error: loopwright_poly::Error) -> Self {
        let code = match error {
            loopwright_poly::Error::Overflow => "overflow",
            loopwright_poly::Error::Syntax { .. } => "syntax",
            loopwright_poly::Error::Space(_) => "space",
            loopwright_poly::Error::Budget => "budget",
            loopwright_poly::Error::Isl(_) => "isl",
        };
        Diagnostic::new(code, error.to_string())
    }
}

impl From<loopwright_layout::Error> for Diagnostic {
    fn from(error: loopwright_layout::Error) -> Self {
        let diagnostic = Diagnostic {
            witness: error.witness().map(str::to_owned),
            ..Diagnostic::new(error.code(), error.to_string())
        };
        Diagnostic { help: error.help().map(str::to_owned), ..diagnostic }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code, self.message)?;
        if let Some(witness) = &self.witness {
            write!(f, "\n  witness: {witness}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// All errors found at once; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, diagnostic) in self.0.iter().enumerate() {
            if k > 0 {
                writeln!(f, "\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics(vec![diagnostic])
    }
}
