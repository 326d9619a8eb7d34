//! Output to the user.

use std::io::{ErrorKind, Write};

use loopwright::ir::Diagnostic;
use loopwright::program::{BinOp, UnOp, Value, ValueKind};

use crate::input::Failure;

/// Writes to standard output. A closed pipe is not an error; any other failure to write is.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Diagnostic::new("write-output", format!("standard output cannot be written: {e}"))
                .help("redirect it to where there is room")
                .into())
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error. A failure to do so is ignored.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A diagnostic with the source line that it refers to.
pub fn render(diagnostic: &Diagnostic) -> String {
    diagnostic.render()
}

/// A host value as it would be written in a text.
pub fn value(v: &Value) -> String {
    written(v, 0)
}

fn written(v: &Value, outer: u8) -> String {
    let (level, text) = match &v.kind {
        ValueKind::Int(i) => (9, i.to_string()),
        ValueKind::Bool(b) => (9, b.to_string()),
        ValueKind::Param(name) => (9, name.to_string()),
        ValueKind::Cast(a) => return written(a, outer),
        ValueKind::Unary(UnOp::Neg, a) => (5, format!("-{}", written(a, 6))),
        ValueKind::Select(c, a, b) => (9, format!("if({}, {}, {})", value(c), value(a), value(b))),
        ValueKind::Binary(op @ (BinOp::Min | BinOp::Max), a, b) => {
            let name = if *op == BinOp::Min { "min" } else { "max" };
            (9, format!("{name}({}, {})", value(a), value(b)))
        }
        ValueKind::Binary(op, a, b) => {
            let (level, sign) = match op {
                BinOp::Add => (3, "+"),
                BinOp::Sub => (3, "-"),
                BinOp::Mul => (4, "*"),
                BinOp::FloorDiv | BinOp::TruncDiv => (4, "//"),
                BinOp::FloorMod | BinOp::TruncRem => (4, "%"),
                BinOp::Lt => (2, "<"),
                BinOp::Le => (2, "<="),
                BinOp::Gt => (2, ">"),
                BinOp::Ge => (2, ">="),
                BinOp::Eq => (2, "=="),
                BinOp::Ne => (2, "!="),
                BinOp::And => (1, "and"),
                BinOp::Or => (1, "or"),
                _ => (0, "?"),
            };
            (level, format!("{} {sign} {}", written(a, level), written(b, level + 1)))
        }
        _ => (9, "?".to_owned()),
    };
    if level < outer { format!("({text})") } else { text }
}
