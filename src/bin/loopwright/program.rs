//! `program`

use loopwright::lowering::program::Program;
use loopwright::lowering::verify::{Finding, verify};
use loopwright::prelude::*;

use crate::check::lowered;
use crate::files;
use crate::input::{Binding, Failure, Form};
use crate::report;

/// Runs the command `loopwright program`.
pub fn program(form: &Form, binding: &Binding) -> Result<(), Failure> {
    match text(form)? {
        None => {
            let (_, program) = lowered(form, binding).map_err(|f| form.locate(f))?;
            report::say(&program.to_text())
        }
        Some(text) => {
            let origin = files::origin(&form.kernel);
            let said = form.pipeline.is_some()
                || !form.parameters.is_empty()
                || form.record.is_some()
                || !binding.types.is_empty()
                || binding.index.is_some();
            if said {
                return Err(Diagnostic::new(
                    "option",
                    format!("{origin} is a program, which is already lowered"),
                )
                .help("give only this file, or a kernel file with its pipeline")
                .into());
            }
            let program = Program::parse_named(&origin, &text)?;
            match verify(&program) {
                Finding::Proved { queries } => report::say(&format!(
                    "{}: proved, all instances run, barriers are met, conflicts are ordered \
                     ({queries} queries)\n",
                    program.name
                )),
                Finding::Refuted(refusal) | Finding::Unknown(refusal) => Err(Failure::Input(vec![*refusal])),
            }
        }
    }
}

/// The text of the file, if it is a program's: by its name, or by its first word.
fn text(form: &Form) -> Result<Option<String>, Failure> {
    if form.kernel == "-" {
        // Standard input is a kernel.
        return Ok(None);
    }
    let is_named_so = form.kernel.ends_with(".lwp");
    match String::from_utf8(files::read(&form.kernel)?) {
        Ok(text) if is_named_so || begins_as_program(&text) => Ok(Some(text)),
        Ok(_) => Ok(None),
        Err(_) if is_named_so => Err(Diagnostic::new("syntax", format!("{} is no UTF-8 text", form.kernel))
            .help("a program file is plain text that begins with `program`")
            .into()),
        // The reader of kernels reports the error.
        Err(_) => Ok(None),
    }
}

fn begins_as_program(text: &str) -> bool {
    let mut lines = text.lines().map(|l| l.split('#').next().unwrap_or_default().trim());
    lines.find(|l| !l.is_empty()).is_some_and(|l| l.split_whitespace().next() == Some("program"))
}
