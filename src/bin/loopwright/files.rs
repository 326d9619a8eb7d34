//! Files of the command line: reading, writing, and which of them may be the same.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use loopwright::prelude::*;

use crate::input::Failure;

/// The name of a file in diagnostics.
pub fn origin(path: &str) -> String {
    if path == "-" { "<stdin>".to_owned() } else { path.to_owned() }
}

/// Maximum size of a kernel or pipeline file in bytes; a longer file was given by mistake.
const LONGEST: u64 = 16 << 20;

/// Writes a file; the error names its path.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| unwritable(path, &e))
}

/// Refuses a file that cannot be written, before the work whose results go there. Its contents are
/// not changed.
pub fn writable(path: &Path) -> Result<(), Failure> {
    let is_there = path.try_exists().unwrap_or(true);
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map(drop)
        .and_then(|()| if is_there { Ok(()) } else { std::fs::remove_file(path) })
        .map_err(|e| unwritable(path, &e))
}

fn unwritable(path: &Path, e: &std::io::Error) -> Failure {
    Diagnostic::new("write-file", format!("{} cannot be written: {e}", path.display()))
        .help("use a file in an existing, writable folder")
        .into()
}

/// The bytes of a file, or of standard input.
pub fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| {
        Diagnostic::new("read-file", format!("{} cannot be read: {e}", origin(path)))
            .help("use an existing, readable text file, or `-` for standard input")
    };
    // Commands read a kernel more than once, which standard input does not allow.
    static STDIN: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(bytes) = STDIN.get().filter(|_| path == "-") {
        return Ok(bytes.clone());
    }
    let mut bytes = Vec::new();
    if path == "-" {
        std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.len() as u64 > LONGEST {
        return Err(Diagnostic::new("read-file", format!("{} has more than {LONGEST} bytes", origin(path)))
            .help("a kernel or pipeline is a short text")
            .into());
    }
    // Editors of some systems begin a text with a mark of its encoding, which nobody sees.
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(if path == "-" { STDIN.get_or_init(|| bytes).clone() } else { bytes })
}

/// The text of a file that has been read before, if it still can be.
pub fn text(path: &str) -> Option<String> {
    String::from_utf8(read(path).ok()?).ok()
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Refuses standard input for two files: it can be read once.
pub fn standard_input_once<'p>(files: impl IntoIterator<Item = &'p str>) -> Result<(), Failure> {
    match files.into_iter().filter(|file| *file == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Diagnostic::new("option", "standard input can be read once, and two files are `-`")
            .help("name a file for one of them")
            .into()),
    }
}

/// Refuses outputs that would overwrite each other, or a file that is read. Each comes with the
/// words that the user gave it by. Devices and pipes, such as /dev/null, may be written twice.
pub fn distinct<'p>(
    outputs: &[(String, &'p Path)],
    inputs: impl IntoIterator<Item = (&'static str, &'p str)>,
) -> Result<(), Failure> {
    let same = |a: &Path, b: &Path| is_file(a) && is_file(b) && resolved(a) == resolved(b);
    for (k, (given, path)) in outputs.iter().enumerate() {
        if let Some((earlier, _)) = outputs[..k].iter().find(|(_, other)| same(path, other)) {
            let message = format!("`{earlier}` and `{given}` would write the same file");
            return Err(Diagnostic::new("write-file", message)
                .help("name another file for one of them")
                .into());
        }
    }
    for (what, read) in inputs.into_iter().filter(|(_, read)| *read != "-") {
        if let Some((given, _)) = outputs.iter().find(|(_, path)| same(path, Path::new(read))) {
            let message = format!("`{given}` would overwrite {read}, {what}");
            return Err(Diagnostic::new("write-file", message)
                .help("name another file to be written")
                .into());
        }
    }
    Ok(())
}

/// Whether this is a file, or would become one.
fn is_file(path: &Path) -> bool {
    path.metadata().map_or(true, |m| m.is_file())
}

/// The path by which the file is the same as others; of a file that is not there, by its folder.
fn resolved(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_path_buf())
}
