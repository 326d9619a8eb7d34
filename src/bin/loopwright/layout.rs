//! `layout`

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args as ClapArgs, ValueEnum};
use loopwright::ir::Place;
use loopwright::layout::{Error, Picture, cases, eval, instruction_names};
use loopwright::prelude::*;

use crate::files;
use crate::input::Failure;
use crate::report;

/// The options of `loopwright layout`.
#[derive(ClapArgs)]
#[command(after_long_help = functions())]
pub struct Layout {
    /// An expression, such as '(4,8):(8,1)', 'composition((4,8):(8,1), 4:2)' or
    /// 'Sw<3,4,3> o 0 o (8,64):(64,1)'.
    #[arg(required_unless_present = "cases", conflicts_with = "cases")]
    expression: Option<String>,
    /// Run a file of cases (JSON), print those that differ, and count them.
    #[arg(long, value_name = "FILE")]
    cases: Option<String>,
    /// Draw the layout, the thread-value map or the instruction instead of printing it.
    #[arg(long, value_name = "FORM", conflicts_with = "cases")]
    picture: Option<Form>,
    /// Draw it as SVG into a file.
    #[arg(long, value_name = "FILE", conflicts_with = "cases")]
    svg: Option<PathBuf>,
    /// Draw it as LaTeX into a file.
    #[arg(long, value_name = "FILE", conflicts_with = "cases")]
    latex: Option<PathBuf>,
}

/// How a picture is drawn.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// Characters for a terminal.
    Text,
    /// An SVG document.
    Svg,
    /// A LaTeX document with TikZ.
    Latex,
}

impl Layout {
    /// Runs the command `loopwright layout`.
    pub fn layout(&self) -> Result<(), Failure> {
        if let Some(path) = &self.cases {
            return run_cases(path);
        }
        let text = self.expression.as_deref().unwrap_or_default();
        let value =
            eval::evaluate(text).map_err(|located| diagnostic(&located.error, text, Some(located.span)))?;
        if self.picture.is_none() && self.svg.is_none() && self.latex.is_none() {
            return report::say(&format!("{value}\n"));
        }
        let picture = Picture::of(&value).map_err(|e| diagnostic(&e, text, None))?;
        if let Some(path) = &self.svg {
            files::write(path, &picture.svg())?;
        }
        if let Some(path) = &self.latex {
            files::write(path, &picture.latex())?;
        }
        match self.picture {
            Some(Form::Text) => report::say(&picture.text()),
            Some(Form::Svg) => report::say(&picture.svg()),
            Some(Form::Latex) => report::say(&picture.latex()),
            None => Ok(()),
        }
    }
}

fn run_cases(path: &str) -> Result<(), Failure> {
    let origin = files::origin(path);
    let text = String::from_utf8(files::read(path)?)
        .map_err(|_| Diagnostic::new("layout-syntax", format!("{origin} is no UTF-8 text")).help(JSON))?;
    let report = cases::run(&text)
        .map_err(|e| Diagnostic::new("layout-syntax", format!("{origin}: {e}")).help(JSON))?;
    report::say(&report.render())?;
    match report.failed.len() {
        0 => Ok(()),
        1 => Err(Failure::Wrong("a case differs".into())),
        n => Err(Failure::Wrong(format!("{n} cases differ"))),
    }
}

const JSON: &str = "a file of cases is a JSON object with a list `cases`";

/// A layout's error, with the part of the expression that it is about.
fn diagnostic(error: &Error, text: &str, span: Option<std::ops::Range<usize>>) -> Diagnostic {
    let mut diagnostic = Diagnostic::from(error.clone());
    // The span shows the position, so that the offset is omitted.
    if let Error::Syntax { message, .. } = error {
        diagnostic.message.clone_from(message);
    }
    diagnostic.at(span.map(|span| Place { origin: Arc::from("<expression>"), text: Arc::from(text), span }))
}

/// The functions and instructions, for `--help`.
fn functions() -> String {
    let rows = eval::FUNCTIONS.iter().map(|f| format!("  {:<27} {}\n", f.call, f.what));
    let names = instruction_names().map(|name| format!("  {name}\n"));
    format!(
        "Functions (A, B, L, M: layouts; S, T: shapes or tilers; c: a coordinate, _ for all of a \
         mode):\n\
         {}\n\
         A o B composes; Sw<B,M,S> o offset o L is swizzled; other names are sizes of the \
         launch.\n\
         \n\
         Instructions:\n\
         {}",
        rows.collect::<String>(),
        names.collect::<String>()
    )
}
