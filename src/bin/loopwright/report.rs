//! Output to the user.
//!
//! Only a terminal gets colours, or whoever asks for them by `--color`: diagnostics, lines that
//! differ, verdicts, tables. Kernels, programs and files never have any.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};

use loopwright::ir::Diagnostic;
use loopwright::program::{BinOp, UnOp, Value, ValueKind};

use crate::input::Failure;

/// When output has colours; by default, where it goes to a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

static COLOR: OnceLock<Color> = OnceLock::new();

/// Decides about colours, once.
pub fn set_color(color: Color) {
    let _ = COLOR.set(color);
}

fn is_coloured(is_terminal: impl FnOnce() -> bool) -> bool {
    match COLOR.get().copied().unwrap_or_default() {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
            set("NO_COLOR").is_none() && set("TERM").is_none_or(|t| t != "dumb") && is_terminal()
        }
    }
}

const BOLD: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";
const FAINT: &str = "2";

/// Writes lines to standard output, each in the colour that its text gets.
fn say_lines(text: &str, colour: impl Fn(&str) -> Option<&'static str>) -> Result<(), Failure> {
    if !is_coloured(|| std::io::stdout().is_terminal()) {
        return say(text);
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let (inside, end) = line.strip_suffix('\n').map_or((line, ""), |inside| (inside, "\n"));
        match colour(inside) {
            Some(colour) => format!("\x1b[{colour}m{inside}\x1b[0m{end}"),
            None => line.to_owned(),
        }
    });
    say(&lines.collect::<String>())
}

/// Writes verdicts and lines that differ to standard output.
pub fn say_changes(text: &str) -> Result<(), Failure> {
    say_lines(text, |line| {
        let inside = line.trim_start();
        let inside = inside.strip_prefix("| ").unwrap_or(inside);
        match inside.split([' ', ':']).next()? {
            "+" | "proved" => Some(GREEN),
            "-" | "refuted" | "refused" => Some(RED),
            "unknown" => Some(BOLD),
            number => number.strip_suffix('.')?.parse::<usize>().ok().map(|_| BOLD),
        }
    })
}

/// Writes a table of points to standard output: its head is bold, the best point green, those that
/// are refused or wrong are red, and notes are faint.
pub fn say_table(text: &str) -> Result<(), Failure> {
    let head = text.lines().next().unwrap_or_default().to_owned();
    say_lines(text, |line| match line.split_whitespace().next()? {
        _ if line == head => Some(BOLD),
        "best:" => Some(GREEN),
        _ if line.ends_with("<- best") => Some(GREEN),
        "refused" | "wrong" => Some(RED),
        "note:" | "spent" => Some(FAINT),
        _ => None,
    })
}

/// Writes lines in sections to standard output: what is not indented begins one, and is bold. Other
/// lines with colours of their own keep them.
pub fn say_sections(text: &str) -> Result<(), Failure> {
    let is_title = |line: &str| line.starts_with(|c: char| c.is_alphabetic()) && !line.contains('\x1b');
    say_lines(text, |line| is_title(line).then_some(BOLD))
}

/// Writes a lint to standard output: what it is about is bold, a repair green, and that there is
/// none faint.
pub fn say_lint(text: &str) -> Result<(), Failure> {
    let mut is_repair = false;
    let colours: Vec<Option<&str>> = text
        .lines()
        .map(|line| {
            is_repair = line.starts_with("  tried: ") || is_repair && line.starts_with("    ");
            match line {
                _ if line.starts_with("lint[") => Some(BOLD),
                _ if is_repair => Some(GREEN),
                _ if line.starts_with("  at ") => None,
                _ => Some(FAINT),
            }
        })
        .collect();
    let number = std::cell::Cell::new(0);
    say_lines(text, |line| {
        let colour = colours.get(number.replace(number.get() + 1)).copied().flatten();
        colour.filter(|_| !line.is_empty())
    })
}

/// Writes what the machine has to standard output: what is missing is red, and remedies are green.
pub fn say_machine(text: &str) -> Result<(), Failure> {
    say_lines(text, |line| match line {
        "Missing:" => Some(BOLD),
        _ if line.starts_with("- ") => Some(RED),
        _ if line.starts_with("  Remedy:") => Some(GREEN),
        _ => None,
    })
}

/// A warning, as it is written to standard output.
pub fn warning(diagnostic: &Diagnostic) -> String {
    warning_for(diagnostic, is_coloured(|| std::io::stdout().is_terminal()))
}

/// Writes a warning to standard error.
pub fn warn(diagnostic: &Diagnostic) {
    note(&warning_for(diagnostic, is_coloured(|| std::io::stderr().is_terminal())));
}

fn warning_for(diagnostic: &Diagnostic, coloured: bool) -> String {
    if coloured { diagnostic.render_warning_coloured() } else { diagnostic.render_warning() }
}

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

/// Writes diagnostics to standard error, each with the source line that it refers to. Someone who
/// reads them on a terminal is told where there is more about them.
pub fn refuse(diagnostics: &[Diagnostic]) {
    let coloured = is_coloured(|| std::io::stderr().is_terminal());
    for diagnostic in diagnostics {
        note(&if coloured { diagnostic.render_coloured() } else { diagnostic.render() });
    }
    let reads = std::io::stderr().is_terminal() || COLOR.get() == Some(&Color::Always);
    // A code that nothing was written about has no page.
    let code = diagnostics.iter().map(|d| d.code).find(|code| crate::pages::has_code(code));
    if let (true, Some(code)) = (reads, code) {
        note(&format!("\n`loopwright explain-code {code}` says more about this"));
    }
}

/// The text of clap, which knows where it has colours.
pub fn styled(error: &clap::Error) -> String {
    let coloured = match error.use_stderr() {
        true => is_coloured(|| std::io::stderr().is_terminal()),
        false => is_coloured(|| std::io::stdout().is_terminal()),
    };
    let text = error.render();
    if coloured { text.ansi().to_string() } else { text.to_string() }
}

/// A phase that may take long: a terminal shows its name and the time that it has taken, until this
/// is dropped.
pub struct Phase(ProgressBar);

impl Phase {
    /// Shows a spinner with the name of the phase and the time that it takes.
    pub fn begin(name: &'static str) -> Phase {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(name);
        bar.enable_steady_tick(TICK);
        Phase(bar)
    }

    /// Goes on with another phase.
    pub fn next(&self, name: &'static str) {
        self.0.reset_elapsed();
        self.0.set_message(name);
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How often the time is shown anew.
pub const TICK: Duration = Duration::from_millis(500);

/// The date and the time of day, in UTC.
pub fn now() -> String {
    date(SystemTime::now())
}

fn date(at: SystemTime) -> String {
    // 2026-11-26T04:30:00Z
    let text = humantime::format_rfc3339_seconds(at).to_string();
    format!("{} UTC", text.get(..16).unwrap_or(&text).replace('T', " "))
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::date;

    #[test]
    fn dates() {
        for (seconds, wanted) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
            (4_107_542_399, "2100-02-28 23:59 UTC"),
            (1_767_225_599, "2025-12-31 23:59 UTC"),
        ] {
            assert_eq!(date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), wanted);
        }
    }
}
