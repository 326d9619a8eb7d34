//! The methods of the Python package's kernels for the steps are generated from the steps: this
//! test holds `crates/python/python/loopwright/_steps.py` to them, and writes it with
//! `LOOPWRIGHT_BLESS=1`.

use std::fmt::Write;
use std::path::PathBuf;

use loopwright::transforms::{Form, Page, Parameter, Step};

const FILE: &str = "crates/python/python/loopwright/_steps.py";

const HEAD: &str = r#""""The steps as methods of kernels.

Generated from the steps' declarations by `tests/python_steps.rs`; do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

if TYPE_CHECKING:
    from ._kernel import Kernel

#: One name, or several.
Names = Union[str, Sequence[str]]
#: An argument of a step whose text is its own: text, a number, names, or pairs of a name and text.
Argument = Union[str, int, Sequence[str], Mapping[str, str]]


class Steps:
    """The steps of pipelines, each a method that returns a new kernel.

    Arguments are those of the step's text: `k.split_iname("i", 128, outer="io")` applies
    `split_iname(i, 128, outer=io)`. A sequence of names is written as `["i", "j"]`.
    """

    def _step(self, name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Kernel:
        raise NotImplementedError
"#;

/// The keywords of Python that are names in Rust, and so could be fields of a step. From the
/// language reference, section 2.3.1.
const KEYWORDS: &[&str] = &[
    "and", "assert", "class", "def", "del", "elif", "except", "finally", "from", "global", "import", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "with",
];

fn generated() -> String {
    let mut text = HEAD.to_owned();
    for page in Step::pages() {
        method(&page, &mut text);
    }
    text
}

fn method(page: &Page, text: &mut String) {
    let name = page.name;
    let (signature, positional, keyed) = match page.parameters {
        Some(parameters) => declared(parameters),
        None => (
            vec!["*arguments: Argument".to_owned(), "**options: Argument".to_owned()],
            "arguments".to_owned(),
            "options".to_owned(),
        ),
    };
    let signature = [vec!["self".to_owned()], signature].concat();
    let documentation = documentation(page);
    assert!(!documentation.contains("\"\"\""), "{name}: {documentation}");
    let lines = documentation.lines().map(|line| format!("        {line}").trim_end().to_owned());
    let documentation = lines.collect::<Vec<String>>().join("\n");
    let head = call(1, &format!("def {name}"), &signature, " -> Kernel:");
    let body = call(2, "return self._step", &[format!("\"{name}\""), positional, keyed], "");
    write!(text, "\n{head}        r\"\"\"\n{documentation}\n        \"\"\"\n{body}").unwrap();
}

/// `name(items)end`, in lines of at most 100 characters, at a depth of indentation.
fn call(depth: usize, name: &str, items: &[String], end: &str) -> String {
    let (outer, inner) = ("    ".repeat(depth), "    ".repeat(depth + 1));
    let items = items.join(", ");
    let one = format!("{outer}{name}({items}){end}\n");
    if one.len() <= 100 {
        return one;
    }
    let mut lines = vec![inner.clone()];
    for item in items.split_inclusive(", ") {
        let last = lines.last_mut().unwrap();
        match last.len() + item.trim_end().len() <= 100 {
            true => last.push_str(item),
            false => lines.push(format!("{inner}{item}")),
        }
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    format!("{outer}{name}(\n{}\n{outer}){end}\n", lines.join("\n"))
}

/// The step's page as Python's documentation is written: without the example, which is in Rust, and
/// with names in place of links to Rust's items.
fn documentation(page: &Page) -> String {
    let mut text = String::new();
    let before = page.text.split("# Before and after").next().unwrap_or_default();
    for line in before.trim_end().lines() {
        match line.strip_prefix("# ") {
            Some(title) => writeln!(text, "{title}\n{}", "-".repeat(title.len())).unwrap(),
            None => writeln!(text, "{line}").unwrap(),
        }
    }
    while let Some((head, rest)) = text.split_once("](crate::") {
        let (start, name) = head.rsplit_once('[').unwrap();
        let (item, tail) = rest.split_once(')').unwrap();
        let step = snake_case(item);
        let name = if Step::NAMES.contains(&&*step) { format!("`{step}`") } else { name.to_owned() };
        text = format!("{start}{name}{tail}");
    }
    // Links whose text is a path: the last part is the name.
    while let Some((head, rest)) = text.split_once("[`crate::") {
        let (path, tail) = rest.split_once("`]").unwrap();
        let item = path.rsplit("::").next().unwrap();
        let step = snake_case(item);
        let name = if Step::NAMES.contains(&&*step) { step } else { item.to_owned() };
        text = format!("{head}`{name}`{tail}");
    }
    text.trim_end().to_owned()
}

/// `split_iname` of `SplitIname`.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// The parameters in Python, and the expressions of the positional and of the keyed arguments.
fn declared(parameters: &[Parameter]) -> (Vec<String>, String, String) {
    let (mut signature, mut positional, mut keyed) = (Vec::new(), Vec::new(), Vec::new());
    let several = parameters.iter().any(|p| p.form == Form::AllPositional);
    let (options, plain): (Vec<&Parameter>, Vec<&Parameter>) =
        parameters.iter().partition(|p| p.form == Form::Keyed);
    for p in parameters {
        assert!(!KEYWORDS.contains(&p.name), "`{}` is a keyword of Python: no parameter", p.name);
    }
    for p in plain {
        match p.form {
            Form::AllPositional => {
                signature.push(format!("*{}: Names", p.name));
                positional.push(format!("*{}", p.name));
            }
            _ => {
                signature.push(format!("{}: {}", p.name, python(p.of)));
                positional.push(p.name.to_owned());
            }
        }
    }
    if !several && !options.is_empty() {
        signature.push("*".to_owned());
    }
    for p in options {
        let inner = p.of.strip_prefix("Option<").and_then(|t| t.strip_suffix('>')).unwrap_or(p.of);
        signature.push(format!("{}: Optional[{}] = None", p.name, python(inner)));
        keyed.push(format!("\"{0}\": {0}", p.name));
    }
    let trailing = if positional.len() == 1 { "," } else { "" };
    (signature, format!("({}{trailing})", positional.join(", ")), format!("{{{}}}", keyed.join(", ")))
}

/// The type of an argument in Python. A word, such as an address space, is a text.
fn python(of: &str) -> &'static str {
    match of.replace(' ', "").as_str() {
        "Number" | "i64" => "int",
        "Vec<Name>" => "Names",
        "Name" | "AddressSpace" | "UpdateScope" | "Via" | "Issue" | "Rounding" | "Expr" => "str",
        "Vec<Access>" => "Names",
        other => panic!("no Python type for `{other}`"),
    }
}

#[test]
fn the_methods_of_python_kernels_are_those_of_the_steps() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let generated = generated();
    if std::env::var_os("LOOPWRIGHT_BLESS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == generated, "{FILE} is out of date: run this test with LOOPWRIGHT_BLESS=1");
}
