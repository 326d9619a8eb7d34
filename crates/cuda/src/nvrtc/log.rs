//! Parses the compiler's log: messages with their lines, and the resource usage of each kernel.
//!
//! The log has two sources. The front end writes `FILE(LINE): warning #177-D: ...` followed by the
//! source line and a caret; the assembler, in verbose mode, writes `ptxas info : Used 10 registers,
//! ...` after naming the function. Lines that are neither continue a message.

use std::fmt;

/// The severity of a message, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A remark, which needs no action.
    Remark,
    /// A warning: the binary was made.
    Warning,
    /// An error: no binary was made.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Remark => "remark",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// One message of the compiler about the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whether it is a remark, a warning or an error.
    pub severity: Severity,
    /// The line of the source, counted from 1, if the message has one.
    pub line: Option<u32>,
    /// Its text without location and severity; it has several lines if the compiler shows the
    /// source.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}: {}", self.severity, self.text),
            None => write!(f, "{}: {}", self.severity, self.text),
        }
    }
}

/// The resource usage of one kernel, as reported by the assembler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelResources {
    /// The kernel's name in the binary.
    pub name: String,
    /// Registers of each thread.
    pub registers: u32,
    /// Named barriers per block.
    pub barriers: u32,
    /// Shared memory that the kernel declares statically, bytes per block.
    pub shared_bytes: u32,
    /// Stack, bytes per thread.
    pub stack_bytes: u32,
    /// Stores of spilled registers, bytes per thread.
    pub spill_store_bytes: u32,
    /// Loads of spilled registers, bytes per thread.
    pub spill_load_bytes: u32,
    /// Constant memory, bytes.
    pub constant_bytes: u32,
}

impl KernelResources {
    /// Whether registers were spilled to memory.
    pub fn spills(&self) -> bool {
        self.spill_store_bytes + self.spill_load_bytes > 0
    }
}

/// The messages in a log, in order.
pub(super) fn messages(log: &str) -> Vec<Message> {
    let mut found: Vec<Message> = Vec::new();
    let mut open = false;
    for line in log.lines() {
        if let Some(message) = message_start(line) {
            found.push(message);
            open = true;
        } else if line.starts_with("ptxas ") || line.trim().is_empty() || is_tally(line) {
            open = false;
        } else if open && let Some(message) = found.last_mut() {
            message.text.push('\n');
            push_shortened(&mut message.text, line.trim_end());
        }
    }
    found
}

/// The compiler shows complete source lines of any length: the beginning is enough here, and the
/// log has all of it.
fn push_shortened(text: &mut String, line: &str) {
    const MOST: usize = 160;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => text.extend([&line[..end], "..."]),
        None => text.push_str(line),
    }
}

/// `1 error detected in the compilation of "kernel.cu".` and the remarks on how to suppress a
/// warning.
fn is_tally(line: &str) -> bool {
    line.contains(" detected in the compilation of ")
        || line.starts_with("Remark: The warnings can be suppressed")
}

fn message_start(line: &str) -> Option<Message> {
    // The assembler: `ptxas warning : ...`, `ptxas error : ...`, `ptxas fatal : ...`; its program
    // name may be missing.
    if let Some(rest) = line.strip_prefix("ptxas ") {
        let (kind, text) = rest.split_once(':')?;
        let severity = severity(kind.trim())?;
        return Some(Message { severity, line: None, text: text.trim().to_owned() });
    }
    // The front end: `kernel.cu(3): error: ...`, `kernel.cu(3): warning #177-D: ...`, or, of an
    // option, `nvrtc: error: ...`.
    let (place, rest) = line.split_once(": ")?;
    let (kind, text) = rest.split_once(':')?;
    let severity = severity(kind.split_whitespace().next()?)?;
    let number = kind.split_whitespace().nth(1).filter(|word| word.starts_with('#'));
    let line = place
        .strip_suffix(')')
        .and_then(|place| place.rsplit_once('('))
        .and_then(|(_, number)| number.parse().ok());
    let text = match number {
        Some(number) => format!("{} ({number})", text.trim()),
        None => text.trim().to_owned(),
    };
    Some(Message { severity, line, text })
}

fn severity(word: &str) -> Option<Severity> {
    match word {
        "error" | "fatal" | "catastrophic" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "remark" => Some(Severity::Remark),
        _ => None,
    }
}

/// The resources of each kernel in a log, in order.
pub(super) fn resources(log: &str) -> Vec<KernelResources> {
    let mut found: Vec<KernelResources> = Vec::new();
    // Device functions that are not inlined report their stack as well, and are not entries.
    let mut in_entry = false;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default().to_owned();
            found.push(KernelResources { name, ..KernelResources::default() });
            in_entry = false;
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            in_entry = found.last().is_some_and(|kernel| kernel.name == name.trim());
        } else if let Some((_, list)) = line.split_once(": Used ") {
            // Only entries have such a line.
            let Some(kernel) = found.last_mut() else { continue };
            for item in list.split(',') {
                let item = item.trim();
                let item = item.strip_prefix("used ").unwrap_or(item);
                let Some((number, what)) = item.split_once(' ') else { continue };
                let Ok(number) = number.parse::<u32>() else { continue };
                match what {
                    "registers" => kernel.registers = number,
                    "barriers" => kernel.barriers = number,
                    "bytes smem" => kernel.shared_bytes = number,
                    _ if what.starts_with("bytes cmem") => kernel.constant_bytes += number,
                    _ => {}
                }
            }
        } else if in_entry && line.contains("bytes stack frame") {
            let Some(kernel) = found.last_mut() else { continue };
            // Indented, or after the program's name and a dot, depending on the version.
            let number = |what: &str| {
                let (before, _) = line.split_once(what)?;
                before.split_whitespace().next_back()?.parse::<u32>().ok()
            };
            kernel.stack_bytes = number(" bytes stack frame").unwrap_or(0);
            kernel.spill_store_bytes = number(" bytes spill stores").unwrap_or(0);
            kernel.spill_load_bytes = number(" bytes spill loads").unwrap_or(0);
            in_entry = false;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
kernel.cu(2): warning #177-D: variable \"k\" was declared but never referenced
      int k;
          ^

Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"

ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'tile' for 'sm_90a'
ptxas info    : Function properties for helper
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for tile
ptxas         .     96 bytes stack frame, 64 bytes spill stores, 60 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 96 bytes cumulative stack size, 4096 bytes smem, 560 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 4.200 ms
ptxas info    : Compiling entry function 'axpy' for 'sm_90a'
ptxas info    : Function properties for axpy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers, 552 bytes cmem[0]
ptxas warning : Value of threads per SM for entry axpy is out of range
";

    #[test]
    fn every_kernel_gets_its_own_numbers() {
        let found = resources(LOG);
        let tile = KernelResources {
            name: "tile".into(),
            registers: 255,
            barriers: 1,
            shared_bytes: 4096,
            stack_bytes: 96,
            spill_store_bytes: 64,
            spill_load_bytes: 60,
            constant_bytes: 568,
        };
        let axpy = KernelResources {
            name: "axpy".into(),
            registers: 12,
            constant_bytes: 552,
            ..KernelResources::default()
        };
        assert!(tile.spills() && !axpy.spills());
        assert_eq!(found, [tile, axpy]);
    }

    #[test]
    fn warnings_have_a_line_and_the_source() {
        let found = messages(LOG);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].severity, found[0].line), (Severity::Warning, Some(2)));
        assert_eq!(
            found[0].text,
            "variable \"k\" was declared but never referenced (#177-D)\n      int k;\n          ^"
        );
        assert_eq!((found[1].severity, found[1].line), (Severity::Warning, None));
    }

    #[test]
    fn long_source_lines_are_shortened() {
        let log = format!("kernel.cu(1): error: expected an expression\n  {}\n", "é(".repeat(5000));
        let text = messages(&log).remove(0).text;
        assert!(text.ends_with("é(...") && text.chars().count() < 250, "{text}");
    }

    #[test]
    fn errors_of_source_and_options_are_told_from_prose() {
        let log = "kernel.cu(1): error: identifier \"undefined\" is undefined\n\
                   kernel.cu(2): catastrophic error: cannot open source file \"x.h\"\n\
                   ptxas error   : Entry function 'f' uses too much shared data (0x13880 bytes, \
                   0xc000 max)\n\
                   nvrtc: error: unrecognized option --nonsense found\n\
                   1 error detected in the compilation of \"kernel.cu\".\n";
        let found = messages(log);
        let seen: Vec<_> =
            found.iter().map(|message| (message.severity, message.line, message.text.as_str())).collect();
        assert_eq!(
            seen,
            [
                (Severity::Error, Some(1), "identifier \"undefined\" is undefined"),
                (Severity::Error, Some(2), "cannot open source file \"x.h\""),
                (
                    Severity::Error,
                    None,
                    "Entry function 'f' uses too much shared data (0x13880 bytes, 0xc000 max)"
                ),
                (Severity::Error, None, "unrecognized option --nonsense found"),
            ]
        );
    }
}
