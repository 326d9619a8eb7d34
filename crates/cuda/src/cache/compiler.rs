//! Which compiler a cache was last used with.
//!
//! The key of an entry tells one build of the compiler from every other, and to load the compiler
//! for that takes longer than all the rest of a hit. So a file beside the entries says what was
//! loaded, and in which situation: the variables, folders and caches by which the loader finds it.
//! While none of that has changed, nor the compiler's own files, the same one would be loaded
//! again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::nvrtc::{self, Library};

/// The name of the file.
const NAME: &str = "compiler";

/// Notes which compiler was loaded. A folder that cannot be written to costs the next process the
/// loading.
pub(super) fn remember(folder: &Path, library: &Library) {
    let text = describe(library, &nvrtc::situation());
    if fs::read_to_string(folder.join(NAME)).ok() != text
        && let Some(text) = text
    {
        let _ = super::write(folder, &folder.join(NAME), text.as_bytes());
    }
}

/// The fingerprint of the compiler that would be loaded; none where that has to be seen.
pub(super) fn recall(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(NAME)).ok()?;
    understand(&text, &nvrtc::situation())
}

/// A line each: situation, version, file, headers, fingerprint. None where a path has no text, or
/// more than one line.
fn describe(library: &Library, situation: &str) -> Option<String> {
    let headers = match &library.headers {
        Some(headers) => headers.to_str()?,
        None => "",
    };
    let (major, minor) = library.version;
    let lines =
        [situation, &format!("{major}.{minor}"), library.file.to_str()?, headers, &library.fingerprint];
    lines.iter().all(|line| !line.contains('\n')).then(|| lines.join("\n"))
}

/// The fingerprint, if the situation is this one and the files are as they were.
fn understand(text: &str, situation: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let [then, version, file, headers, fingerprint] = lines[..] else { return None };
    let (major, minor) = version.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    let headers = (!headers.is_empty()).then(|| PathBuf::from(headers));
    let now = nvrtc::fingerprint(version, Path::new(file), headers.as_deref());
    (then == situation && now == fingerprint && Path::new(file).is_file()).then_some(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_is_known_again_until_something_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libnvrtc.so.13");
        fs::write(&file, "one").unwrap();
        let library = Library {
            version: (13, 0),
            file: file.clone(),
            headers: None,
            architectures: vec![90],
            fingerprint: nvrtc::fingerprint((13, 0), &file, None),
        };
        let text = describe(&library, "here").unwrap();
        assert_eq!(understand(&text, "here"), Some(library.fingerprint.clone()));
        assert_eq!(understand(&text, "elsewhere"), None);
        assert_eq!(understand("damaged", "here"), None);
        fs::write(&file, "another").unwrap();
        assert_eq!(understand(&text, "here"), None);
        fs::remove_file(&file).unwrap();
        assert_eq!(understand(&text, "here"), None);
        assert_eq!(describe(&Library { file: "two\nlines".into(), ..library }, "here"), None);
    }
}
