//! Filetests: a kernel's text, a pipeline, and the text of the kernel after it or of the refusal.
//!
//! A file has three sections: the kernel, `==== pipeline`, and `==== kernel` or `==== refused`. A
//! pipeline that is not refused is also taken through its printed text and its JSON, and the kernel
//! through its whole text. `LOOPWRIGHT_BLESS=1` writes what is found into the files; read the
//! difference before keeping it.

use std::{fs, path::Path};

use loopwright_kernel_ir::LoopKernel;
use loopwright_transforms::Pipeline;

/// What a file's kernel becomes: the last section with its heading.
fn outcome(kernel: &str, pipeline: &str) -> String {
    let kernel =
        LoopKernel::parse(kernel).unwrap_or_else(|e| panic!("the kernel of a filetest is wrong: {e}"));
    let before = kernel.clone();
    let refused = |d: &dyn std::fmt::Display| format!("==== refused\n{d}\n");
    let pipeline = match Pipeline::parse(pipeline) {
        Ok(pipeline) => pipeline,
        Err(d) => return refused(&d),
    };
    assert_eq!(Pipeline::parse(&pipeline.to_string()).as_ref(), Ok(&pipeline), "the printed pipeline");
    let json = serde_json::to_string(&pipeline).unwrap();
    assert_eq!(serde_json::from_str::<Pipeline>(&json).unwrap(), pipeline, "the pipeline's JSON: {json}");
    let result = match pipeline.apply(&kernel) {
        Ok(after) => {
            assert_eq!(after.declared(), &before, "the declared kernel stays");
            assert_eq!(LoopKernel::parse(&after.to_text()).as_ref(), Ok(&after), "the kernel's text");
            format!("==== kernel\n{after}")
        }
        Err(d) => refused(&d),
    };
    assert_eq!(kernel, before, "the kernel that was given stays as it was");
    result
}

#[test]
fn filetests() {
    let bless = std::env::var_os("LOOPWRIGHT_BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10, "the filetests are there");
    let mut failures = String::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let (kernel, rest) = text.split_once("==== pipeline\n").expect("a section `==== pipeline`");
        let (pipeline, expected) = match rest.find("==== ") {
            Some(k) => rest.split_at(k),
            None => (rest, ""),
        };
        let found = outcome(kernel, pipeline);
        if found == expected {
            continue;
        }
        if bless {
            fs::write(&file, format!("{kernel}==== pipeline\n{pipeline}{found}")).unwrap();
        } else {
            failures.push_str(&format!("{}\n{found}\n", file.display()));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
