//! Places of refusals in the user's files, and remedies as options of the command line.

use std::sync::Arc;

use loopwright::ir::Place;
use loopwright::prelude::*;

use crate::files::{origin, text};
use crate::input::{Failure, Form};

/// Codes of refusals of the command line itself, which no line of a file is about.
const OF_COMMAND_LINE: [&str; 12] = [
    "arch",
    "argument-twice",
    "device",
    "index-type",
    "option",
    "parameter",
    "read-file",
    "strategy",
    "unknown-parameter",
    "unknown-type",
    "write-file",
    "write-output",
];

impl Form {
    /// The refusals with their places in the kernel's file, or else in the pipeline's, as far as
    /// they can be found there.
    pub fn locate(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Input(diagnostics) => {
                Failure::Input(diagnostics.into_iter().map(|d| self.placed(d)).collect())
            }
            other => other,
        }
    }

    /// A refusal with its place in the kernel's file, or else in the pipeline's.
    pub fn placed(&self, mut d: Diagnostic) -> Diagnostic {
        if OF_COMMAND_LINE.contains(&d.code) {
            return d;
        }
        let pipeline = self.pipeline.as_ref().and_then(|path| Some((path, text(path)?)));
        let step = |d: &Diagnostic| {
            let (path, text) = pipeline.as_ref()?;
            line_about(d, &origin(path), text)
        };
        // Steps have put there what a device has no room for, and its witness names it.
        if d.code == "device-limit" && d.place.as_ref().is_none_or(|place| &*place.origin == PRINTED) {
            d.place = step(&Diagnostic { message: String::new(), help: None, ..d.clone() });
        }
        if let (Some(text), Ok(declared), Ok(library)) =
            (text(&self.kernel), self.declared(), self.called.library())
        {
            d = declared.locate_in_with(&origin(&self.kernel), &text, &library, d);
        }
        // A place in the printed kernel, which the user does not see, says less than one in a file.
        if d.place.as_ref().is_none_or(|place| &*place.origin == PRINTED) {
            d.place = step(&d).or(d.place);
        }
        d
    }
}

/// A refusal with the options of the command line as its remedy.
pub fn with_options(mut d: Diagnostic) -> Diagnostic {
    let named = |before: &str, after: &str| {
        let (_, rest) = d.message.rsplit_once(before)?;
        Some(rest.split_once(after)?.0.to_owned())
    };
    let help = match d.code {
        "open-parameter" => named("the parameter `$", "`").map(|name| {
            format!("give it a value: `-p {name}=128`, or `--record FILE` with the best one of a search")
        }),
        "open-type" if !d.help.as_ref().is_some_and(|help| help.contains("--type")) => {
            named("type `", "`").map(|name| format!("bind it: `--type {name}=f32`"))
        }
        "missing-argument" => named("argument `", "`").zip(d.help.clone()).map(|(name, help)| {
            match help.starts_with("pass an array") {
                true => format!("{help}: `--input {name}={name}.npy`, `--random {name}` or `--zeros {name}`"),
                false => format!("{help}: `--set {name}=VALUE`"),
            }
        }),
        _ => None,
    };
    d.help = help.or(d.help);
    d
}

/// The name of the text that a kernel prints itself as.
const PRINTED: &str = "<kernel>";

/// The last line of a pipeline's text, or of a space's, that mentions what a refusal is about.
pub fn line_about(d: &Diagnostic, origin: &str, text: &str) -> Option<Place> {
    let sentences = [Some(&d.message), d.witness.as_ref(), d.help.as_ref()];
    // The first word of what is quoted: `i_inner` of `i_inner: thread.x`. Calls are remedies.
    let quoted = sentences.into_iter().flatten().flat_map(|s| s.split('`').skip(1).step_by(2));
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    let names = quoted.filter(|q| !q.contains('(')).filter_map(|q| q.split(|c: char| !is_in_name(c)).next());
    names.filter(|name| !name.is_empty()).find_map(|name| {
        let mut begins = 0;
        let mut found = None;
        for line in text.split_inclusive('\n') {
            let step = line.split('#').next().unwrap_or_default();
            let inside = step.trim();
            if inside.split(|c: char| !is_in_name(c)).any(|word| word == name) {
                let start = begins + (step.len() - step.trim_start().len());
                found = Some(start..start + inside.len());
            }
            begins += line.len();
        }
        Some(Place { origin: Arc::from(origin), text: Arc::from(text), span: found? })
    })
}
