//! The programs in `examples/` run to completion; each checks its own results.
//!
//! `cargo test` builds them before the tests. `demo` (run by `make demo`), `codegen_time` and
//! `polybench` (which have their own tests) are excluded.

use std::path::{Path, PathBuf};
use std::process::Command;

const ELSEWHERE: [&str; 2] = ["demo", "codegen_time"];

/// The names of the single-file examples.
fn names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| !ELSEWHERE.contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

/// Where cargo puts examples: next to the folder of this test's executable.
fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let profile = own.parent().and_then(Path::parent).expect("a test lies in `deps` of its profile");
    profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

#[test]
fn every_example_ends_well() {
    let names = names();
    assert!(names.len() >= 9, "only {names:?}");
    for name in names {
        let program = program(&name);
        assert!(program.exists(), "{} is not built: `cargo build --examples`", program.display());
        let output = Command::new(&program).output().unwrap();
        assert!(
            output.status.success() && !output.stdout.is_empty(),
            "{name}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// The refusal on the page about steps of one's own is the one that the example prints.
#[test]
fn the_refusal_of_the_page_is_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src/lessons/step.md");
    let page = std::fs::read_to_string(page).unwrap();
    let shown = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let output = Command::new(program("own_step")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains(shown), "{shown}\nis not in\n{printed}");
}

#[test]
fn usage_is_no_error() {
    for argument in ["--help", "-h"] {
        let output = Command::new(program("segmented_reduce")).arg(argument).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", output.status);
        // The usage text, including the names of operators and types; nothing is run.
        for part in ["FOLDER OPERATOR TYPE ragged COUNT ELEMENTS [LONGEST]", "argmax", "bf16"] {
            assert!(said.contains(part), "`{part}` is not in\n{said}");
        }
        assert!(!said.contains("device: "), "{said}");
    }
    let wrong = Command::new(program("segmented_reduce")).args(["folder", "sun"]).output().unwrap();
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("--help"));
}
