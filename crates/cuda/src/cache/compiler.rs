//! Records which compiler a cache was last used with.
//!
//! The key of an entry identifies the build of the compiler, and loading the compiler to determine
//! it would take longer than the rest of a cache hit. So a file next to the entries records which
//! one was loaded, and in which environment: the variables, folders and caches by which the loader
//! finds it. As long as neither these nor the compiler's files change, the same compiler would be
//! loaded again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::nvrtc::{self, Library};

/// The name of the file in the folder of the cache.
const NAME: &str = "compiler";

/// Records which compiler was loaded. If the folder is not writable, the next process has to load
/// the compiler.
pub(super) fn remember(folder: &Path, library: &Library) {
    let text = describe(library, &nvrtc::situation());
    if fs::read_to_string(folder.join(NAME)).ok() != text
        && let Some(text) = text
    {
        let _ = super::write(folder, &folder.join(NAME), text.as_bytes());
    }
}

/// The fingerprint of the compiler that would be loaded; `None` if it has to be loaded to find out.
pub(super) fn recall(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(NAME)).ok()?;
    understand(&text, &nvrtc::situation())
}

/// One line each: environment, version, file, headers, fingerprint. `None` if a path is not valid
/// text, or has a line break.
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

/// The fingerprint, if the environment is the same and the files have not changed.
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
