//! Refusals as exceptions.

use loopwright::prelude::{Diagnostic, Diagnostics};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    loopwright,
    Error,
    PyException,
    "A kernel, a step or an argument that is refused, or a wrong result.\n\n\
     Its text shows the place, the counter-example and the remedy.\n\n\
     Attributes\n\
     ----------\n\
     code : str\n    A stable name of the error, such as 'race'.\n\
     message : str\n    One sentence.\n\
     place : tuple[str, int, int] | None\n    Name of the text, line and column, counted from 1.\n\
     witness : str | None\n    Concrete instances and sizes that show the error.\n\
     help : str | None\n    What to do.\n\
     errors : list[Error]\n    All errors of the text, of which this is the first."
);

/// A failure on the way from or to Python.
pub enum Failure {
    /// Refusals of the library, at least one.
    Refused(Vec<Diagnostic>),
    /// An exception of Python, such as another library's.
    Python(PyErr),
}

impl Failure {
    /// With the argument that is refused in its sentence.
    pub fn of_argument(self, name: &str) -> Failure {
        let named = |mut diagnostic: Diagnostic| {
            diagnostic.message = format!("argument `{name}`: {}", diagnostic.message);
            diagnostic
        };
        match self {
            Failure::Refused(all) => Failure::Refused(all.into_iter().map(named).collect()),
            Failure::Python(error) => Failure::Python(error),
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Failure {
        Failure::Refused(vec![diagnostic])
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Failure {
        Failure::Refused(diagnostics.0)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Failure {
        Failure::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Python(error) => error,
            Failure::Refused(diagnostics) => {
                Python::attach(|py| exception(py, &diagnostics).unwrap_or_else(|error| error))
            }
        }
    }
}

/// The exception for all errors of a text: its text shows them all, its attributes the first.
fn exception(py: Python<'_>, diagnostics: &[Diagnostic]) -> PyResult<PyErr> {
    let diagnostics: Vec<Diagnostic> = diagnostics.iter().cloned().map(in_python).collect();
    let alone = diagnostics.iter().map(|d| single(py, d, &d.render())).collect::<PyResult<Vec<_>>>()?;
    let text = diagnostics.iter().map(Diagnostic::render).collect::<Vec<_>>().join("\n\n");
    let all = match diagnostics.first() {
        Some(first) => single(py, first, &text)?,
        None => Error::new_err("refused"),
    };
    all.value(py).setattr("errors", alone.iter().map(|e| e.value(py)).collect::<Vec<_>>())?;
    Ok(all)
}

/// With the remedy as it is written in Python.
fn in_python(mut diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.code == "open-parameter"
        && let Some((_, rest)) = diagnostic.message.split_once("the parameter `$")
        && let Some((name, _)) = rest.split_once('`')
    {
        diagnostic.help = Some(format!("give it a value: `kernel.apply(pipeline, {name}=128)`"));
    }
    if diagnostic.code == "open-parameter"
        && let Some((_, rest)) = diagnostic.message.split_once("the pipeline's parameter `$")
        && let Some((name, _)) = rest.split_once('`')
    {
        diagnostic.help = Some(format!(
            "give it values to try: `tune(kernel, pipeline, {{\"{name}\": [64, 128]}})`, or a line \
             `{name} in [64, 128]` of a space that is a text"
        ));
    }
    if diagnostic.code == "open-type" {
        let name = diagnostic.message.split('`').nth(1).unwrap_or("T");
        diagnostic.help = Some(format!(
            "bind it: `kernel.with_types({name}=\"f32\")`; in a call the arrays of this type do so"
        ));
    }
    // Words of the library and of the command line.
    const IN_PYTHON: [(&str, &str); 3] = [
        ("`--acc f32`, `.acc(F32)`", "`acc=\"f32\"`"),
        ("`--out`, `.out(...)`", "`out=\"f16\"`"),
        (
            "`check_facts` finds data that violate a declared fact",
            "declared facts are checked for arrays on the host",
        ),
    ];
    for (library, python) in IN_PYTHON {
        diagnostic.help = diagnostic.help.map(|help| help.replace(library, python));
    }
    diagnostic
}

fn single(py: Python<'_>, diagnostic: &Diagnostic, text: &str) -> PyResult<PyErr> {
    let error = Error::new_err(text.to_owned());
    let value = error.value(py);
    let place = diagnostic.place.as_ref().map(|place| {
        let (line, column) = place.line_column();
        (place.origin.to_string(), line, column)
    });
    value.setattr("code", diagnostic.code)?;
    value.setattr("message", &diagnostic.message)?;
    value.setattr("place", place)?;
    value.setattr("witness", &diagnostic.witness)?;
    value.setattr("help", &diagnostic.help)?;
    value.setattr("errors", Vec::<Py<PyAny>>::new())?;
    Ok(error)
}
