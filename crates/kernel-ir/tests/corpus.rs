//! Every kernel of the repository is valid and reads back from its printed form, except those whose
//! test expects the kernel itself to be refused.

use std::{
    fs,
    path::{Path, PathBuf},
};

use loopwright_kernel_ir::LoopKernel;

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|n| n != "target" && n != ".git") {
                collect(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "test" || e == "lw") {
            found.push(path);
        }
    }
}

#[test]
fn every_kernel_of_the_repository_reads_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["examples", "tests", "crates/transforms/tests", "crates/cuda-target", "crates/lowering"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    assert!(files.len() > 5, "{files:?}");
    let mut wrong = String::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let (kernel, rest) = text.split_once("\n====").unwrap_or((&text, ""));
        match LoopKernel::parse(kernel) {
            Ok(k) => match LoopKernel::parse(&k.to_text()) {
                Ok(again) if again == k => {}
                Ok(_) => {
                    wrong += &format!("{}: another kernel reads back\n{}\n", file.display(), k.to_text())
                }
                Err(d) => wrong += &format!("{}: reading back\n{}\n", file.display(), d.render()),
            },
            Err(_) if rest.contains("\n==== refused") => {}
            // Its test holds the refusals to the table in its README.
            Err(_) if file.iter().any(|folder| folder == "from_loopy") => {}
            Err(d) => wrong += &format!("{}\n{}\n\n", file.display(), d.render()),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
