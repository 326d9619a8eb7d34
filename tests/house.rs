//! Rules for dependences between crates that the compiler does not enforce.

use std::{fs, path::PathBuf};

/// Crates that read programs do not depend on lowering, not even in their tests: only the facade,
/// the runtime, which turns kernels into programs, and the tests' own crate do.
#[test]
fn what_reads_programs_does_not_depend_on_lowering() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut found: Vec<String> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|folder| {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            manifest.lines().any(|line| line.starts_with("loopwright-lowering"))
        })
        .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, ["runtime", "testing"]);
}
