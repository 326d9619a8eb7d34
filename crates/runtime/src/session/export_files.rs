//! Writes the files of an export: either all of them, or the previous ones remain.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loopwright_kernel_ir::Diagnostic;

use super::export::Export;

impl Export {
    /// Writes `kernel.cubin`, `kernel.cu` and `launches.json` into a folder, which is created if
    /// necessary. If one of them cannot be written, the folder is left as it was. Returns the files
    /// with their lengths in bytes.
    pub fn write_to(&self, folder: impl AsRef<Path>) -> Result<Vec<(PathBuf, usize)>, Diagnostic> {
        let mut list = serde_json::to_vec_pretty(self)
            .map_err(|e| Diagnostic::new("write-file", format!("the launches cannot be written: {e}")))?;
        list.push(b'\n');
        // The list, which a host reads first, is written last.
        let files: [(&str, &[u8]); 3] =
            [("kernel.cubin", &self.cubin), ("kernel.cu", self.source.as_bytes()), ("launches.json", &list)];
        write_files(folder.as_ref(), &files)
    }
}

/// Writes files of these names and contents into a folder, which is created if necessary: all of
/// them, or none. The last one appears last. A process that is killed while it replaces earlier
/// files may leave some of either out, never a mixture. Returns the files with their lengths in
/// bytes.
pub fn write_files(folder: &Path, files: &[(&str, &[u8])]) -> Result<Vec<(PathBuf, usize)>, Diagnostic> {
    write_all(folder, files).map_err(|(path, e)| {
        Diagnostic::new("write-file", format!("{} cannot be written: {e}", path.display()))
            .help("use a writable folder")
    })?;
    Ok(files.iter().map(|(name, bytes)| (folder.join(name), bytes.len())).collect())
}

/// Writes files into a temporary folder next to the target, from which they are moved when all of
/// them are complete.
fn write_all(folder: &Path, files: &[(&str, &[u8])]) -> Result<(), (PathBuf, io::Error)> {
    let is_there = folder.is_dir();
    let parent = match folder.parent() {
        _ if is_there => folder,
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if folder.exists() && !is_there {
        return Err((folder.to_owned(), io::ErrorKind::NotADirectory.into()));
    }
    let made = Made::all(parent).map_err(|e| (parent.to_owned(), e))?;
    let stage = tempfile::Builder::new()
        .prefix(".export-")
        .tempdir_in(parent)
        // Its text has the path of the temporary folder, which is nothing to the caller.
        .map_err(|e| (folder.to_owned(), e.kind().into()))?;
    for (name, bytes) in files {
        fs::write(stage.path().join(name), bytes).map_err(|e| (folder.join(name), e))?;
    }
    if is_there {
        move_over(stage.path(), folder, files)?;
    } else {
        // With the default permissions of the process, not those of private temporary folders.
        let whole = stage.path().join("whole");
        fs::create_dir(&whole).map_err(|e| (folder.to_owned(), e))?;
        for (name, _) in files {
            fs::rename(stage.path().join(name), whole.join(name)).map_err(|e| (folder.join(name), e))?;
        }
        fs::rename(&whole, folder).map_err(|e| (folder.to_owned(), e))?;
    }
    made.keep();
    Ok(())
}

/// Moves files into a folder that may contain earlier ones; if one cannot be moved, the earlier
/// ones are restored.
///
/// All earlier files leave before the first new one appears, so that a process which is killed
/// meanwhile leaves no mixture, but a folder in which files are missing.
fn move_over(stage: &Path, folder: &Path, files: &[(&str, &[u8])]) -> Result<(), (PathBuf, io::Error)> {
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).is_dir()) {
        return Err((folder.join(name), io::ErrorKind::IsADirectory.into()));
    }
    leave(stage, folder, files)?;
    for (k, (name, _)) in files.iter().enumerate() {
        let target = folder.join(name);
        if let Err(e) = fs::rename(stage.join(name), &target) {
            for (name, _) in files.iter().take(k) {
                let _ = fs::remove_file(folder.join(name));
            }
            restore(stage, folder, files);
            return Err((target, e));
        }
    }
    Ok(())
}

/// Moves earlier files of these names out of a folder: all of them, or none.
fn leave(stage: &Path, folder: &Path, files: &[(&str, &[u8])]) -> Result<(), (PathBuf, io::Error)> {
    for (name, _) in files {
        let target = folder.join(name);
        match fs::rename(&target, earlier(stage, name)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                restore(stage, folder, files);
                return Err((target, e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Moves what has left a folder back.
fn restore(stage: &Path, folder: &Path, files: &[(&str, &[u8])]) {
    for (name, _) in files {
        if earlier(stage, name).exists() {
            let _ = fs::rename(earlier(stage, name), folder.join(name));
        }
    }
}

/// Where a file goes that another one replaces.
fn earlier(stage: &Path, name: &str) -> PathBuf {
    stage.join(format!("{name}.earlier"))
}

/// Folders that were created on the way, which are removed again unless they are kept.
struct Made(Vec<PathBuf>);

impl Made {
    fn all(folder: &Path) -> io::Result<Made> {
        let missing = folder.ancestors().filter(|f| !f.as_os_str().is_empty()).take_while(|f| !f.exists());
        let made = Made(missing.map(Path::to_owned).collect());
        fs::create_dir_all(folder)?;
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // The innermost first; a folder that has become non-empty is kept.
        for folder in &self.0 {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            folder.read_dir().unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    const FILES: [(&str, &[u8]); 3] = [("a", b"1"), ("b", b"2"), ("c", b"3")];

    #[test]
    fn a_folder_with_the_name_of_a_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(folder.path().join("b").join("mine"), "1").unwrap();
        let refused = write_files(folder.path(), &[("a", b"1"), ("b", b"2")]).unwrap_err();
        assert!(refused.code == "write-file" && refused.to_string().contains("b cannot be written"));
        assert_eq!(names(folder.path()), ["b"]);
        assert_eq!(names(&folder.path().join("b")), ["mine"]);
    }

    #[test]
    fn a_folder_gets_all_files_or_stays_as_it_was() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("deep/er/made");
        write_all(&folder, &FILES).unwrap();
        assert_eq!(names(&folder), ["a", "b", "c"]);
        assert_eq!(names(folder.parent().unwrap()), ["made"]);
        // Over an earlier export, next to an unrelated file.
        fs::write(folder.join("notes"), "mine").unwrap();
        write_all(&folder, &[("a", b"4"), ("b", b"5"), ("c", b"6")]).unwrap();
        assert_eq!(names(&folder), ["a", "b", "c", "notes"]);
        assert_eq!(fs::read(folder.join("c")).unwrap(), b"6");
    }

    #[test]
    fn no_new_file_stands_beside_an_earlier_one() {
        let (folder, stage) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_all(folder.path(), &FILES).unwrap();
        fs::write(folder.path().join("notes"), "mine").unwrap();
        // What a process that is killed before the first new file leaves.
        leave(stage.path(), folder.path(), &FILES).unwrap();
        assert_eq!(names(folder.path()), ["notes"]);
        assert_eq!(names(stage.path()), ["a.earlier", "b.earlier", "c.earlier"]);
        restore(stage.path(), folder.path(), &FILES);
        assert_eq!(names(folder.path()), ["a", "b", "c", "notes"]);
    }

    #[test]
    fn what_fails_half_way_leaves_nothing_half_written() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("made");
        write_all(&folder, &FILES).unwrap();
        // A non-empty folder has the name of the last file, so that the file cannot replace it; the
        // folder is moved away and back.
        let bad: [(&str, &[u8]); 3] = [("a", b"4"), ("b", b"5"), ("no/such", b"6")];
        assert!(write_all(&folder, &bad).is_err());
        assert_eq!(names(&folder), ["a", "b", "c"]);
        assert_eq!(fs::read(folder.join("a")).unwrap(), b"1");
        // The second of two files to be moved is missing.
        let stage = tempfile::tempdir_in(around.path()).unwrap();
        fs::write(stage.path().join("a"), "7").unwrap();
        fs::write(stage.path().join("new"), "7").unwrap();
        let gone: [(&str, &[u8]); 3] = [("new", b""), ("a", b""), ("b", b"")];
        assert!(move_over(stage.path(), &folder, &gone).is_err());
        assert_eq!(names(&folder), ["a", "b", "c"]);
        assert_eq!(fs::read(folder.join("a")).unwrap(), b"1");
        assert_eq!(fs::read(folder.join("b")).unwrap(), b"2");
        // Into a folder that does not exist yet.
        let other = around.path().join("x/y");
        assert!(write_all(&other, &bad).is_err());
        assert!(!around.path().join("x").exists());
        fs::write(around.path().join("file"), "").unwrap();
        assert!(write_all(&around.path().join("file"), &FILES).is_err());
        assert!(write_all(&around.path().join("file/in"), &FILES).is_err());
    }
}
