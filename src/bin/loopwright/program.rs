//! `program`

use clap::Args as ClapArgs;
use loopwright::lowering::program::Program;
use loopwright::lowering::realized;
use loopwright::lowering::verify::{Finding, verify, verify_kernel};
use loopwright::prelude::*;

use crate::check::lowered;
use crate::files;
use crate::input::{Binding, Failure, Form};
use crate::report;

/// What a program's text is held to.
#[derive(ClapArgs)]
pub struct Against {
    /// Check the program's text against this kernel, too: it has to compute what the kernel does.
    #[arg(long = "kernel", value_name = "FILE", id = "of_kernel")]
    kernel: Option<String>,
    /// The pipeline that makes the kernel of which the text is a program.
    #[arg(long = "pipeline", value_name = "FILE", id = "of_pipeline", requires = "of_kernel")]
    pipeline: Option<String>,
}

impl Against {
    /// The kernel with its pipeline, if there is one.
    fn form(&self, form: &Form) -> Option<Form> {
        let (kernel, pipeline) = (self.kernel.clone()?, self.pipeline.clone());
        Some(Form { kernel, pipeline, ..form.clone() })
    }
}

/// Runs the command `loopwright program`.
pub fn program(form: &Form, binding: &Binding, against: &Against) -> Result<(), Failure> {
    let kernel = against.form(form);
    match text(form)? {
        None if kernel.is_some() => {
            let origin = files::origin(&form.kernel);
            Err(Diagnostic::new("option", format!("{origin} is a kernel, and is not held to another one"))
                .help("give a program's file (.lwp) with --kernel, or this kernel without it")
                .into())
        }
        None => {
            let (_, program) = lowered(form, binding).map_err(|f| form.locate(f))?;
            report::say(&program.to_text())
        }
        Some(text) => {
            let origin = files::origin(&form.kernel);
            let of_kernel = !form.parameters.is_empty()
                || form.record.is_some()
                || !binding.types.is_empty()
                || !form.called.files.is_empty();
            let said = form.pipeline.is_some() || binding.index.is_some() || of_kernel && kernel.is_none();
            if said {
                return Err(Diagnostic::new(
                    "option",
                    format!("{origin} is a program, which is already lowered"),
                )
                .help(
                    "give only this file, or a kernel file with its pipeline; --kernel and --pipeline name \
                     those that the program is held to",
                )
                .into());
            }
            let program = Program::parse_named(&origin, &text)?;
            let (finding, computes) = match &kernel {
                None => (verify(&program), String::new()),
                Some(form) => (
                    held_to(form, binding, &program).map_err(|f| form.locate(f))?,
                    format!(", it computes what {} does", files::origin(&form.kernel)),
                ),
            };
            match finding {
                Finding::Proved { queries } => report::say(&format!(
                    "{}: proved, all instances run, barriers are met, conflicts are ordered{computes} \
                     ({queries} queries)\n",
                    program.name
                )),
                Finding::Refuted(refusal) | Finding::Unknown(refusal) => Err(Failure::Input(vec![*refusal])),
            }
        }
    }
}

/// What the final check says of a program of a kernel.
fn held_to(form: &Form, binding: &Binding, program: &Program) -> Result<Finding, Failure> {
    let kernel = loopwright::runtime::bind_open_types(&form.transformed()?, &binding.types()?)?;
    // Its parts are those of the kernel that lowering has realised.
    Ok(verify_kernel(realized(&kernel, &program.target)?.kernel(), program))
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
