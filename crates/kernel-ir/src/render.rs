//! Diagnostics with the source lines that they refer to.
//!
//! Plain text, the same in a log and a test; for a terminal also with colours.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{Diagnostic, Diagnostics, Place};

impl Place {
    /// Line and column of the place, both from 1, columns in characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = self.text.get(..self.span.start).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }

    /// The text that the span covers; empty if the span lies outside of the text.
    pub fn snippet(&self) -> &str {
        self.text.get(self.span.clone()).unwrap_or("")
    }
}

impl Diagnostic {
    /// The diagnostic with the lines of the text that it is about, as plain text without a line
    /// break at its end.
    pub fn render(&self) -> String {
        self.render_as(Level::ERROR, &Renderer::plain())
    }

    /// As [`Self::render`], with the escape sequences of a terminal for colours.
    pub fn render_coloured(&self) -> String {
        self.render_as(Level::ERROR, &Renderer::styled())
    }

    /// As [`Self::render`], labelled as a warning rather than an error.
    pub fn render_warning(&self) -> String {
        self.render_as(Level::WARNING, &Renderer::plain())
    }

    /// As [`Self::render_warning`], with the escape sequences of a terminal for colours.
    pub fn render_warning_coloured(&self) -> String {
        self.render_as(Level::WARNING, &Renderer::styled())
    }

    fn render_as(&self, level: Level<'_>, renderer: &Renderer) -> String {
        let mut group: Group<'_> =
            Group::with_title(level.primary_title(self.message.as_str()).id(self.code));
        if let Some(place) = &self.place
            && place.text.get(place.span.clone()).is_some()
        {
            let snippet = Snippet::source(&*place.text)
                .path(&*place.origin)
                .annotation(AnnotationKind::Primary.span(place.span.clone()));
            group = group.element(snippet);
        }
        if let Some(witness) = &self.witness {
            group = group.element(Level::NOTE.with_name("witness").message(witness.as_str()));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let text = renderer.render(&[group]);
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

impl Diagnostics {
    /// All diagnostics as [`Diagnostic::render`] shows them, separated by empty lines.
    pub fn render(&self) -> String {
        self.0.iter().map(Diagnostic::render).collect::<Vec<_>>().join("\n\n")
    }
}

/// `code`, `message`, `origin`, `line`, `column`, `span` (bytes), `witness`, `help`; null if
/// absent.
impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let position = self.place.as_ref().map(Place::line_column);
        let mut s = serializer.serialize_struct("Diagnostic", 8)?;
        s.serialize_field("code", self.code)?;
        s.serialize_field("message", &self.message)?;
        s.serialize_field("origin", &self.place.as_ref().map(|p| &*p.origin))?;
        s.serialize_field("line", &position.map(|p| p.0))?;
        s.serialize_field("column", &position.map(|p| p.1))?;
        s.serialize_field("span", &self.place.as_ref().map(|p| (p.span.start, p.span.end)))?;
        s.serialize_field("witness", &self.witness)?;
        s.serialize_field("help", &self.help)?;
        s.end()
    }
}

impl Serialize for Diagnostics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}
