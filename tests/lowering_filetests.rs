//! Filetests of lowering: what it refuses with the rendered diagnostic, what it accepts beside
//! that, and the CUDA C of small kernels.

use std::path::PathBuf;

use loopwright_testing::filetest;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filetests").join(name)
}

#[test]
fn refusals() {
    let files = filetest::read(&folder("refusals"));
    assert!(files.len() > 15, "the files are there");
    filetest::check(&folder("refusals"));
    for file in files {
        assert!(file.expected.starts_with("==== refused\n"), "{} is not refused", file.name);
    }
}

#[test]
fn accepted_neighbours_of_refusals() {
    let files = filetest::read(&folder("accepted"));
    assert!(files.len() > 8, "the files are there");
    filetest::check(&folder("accepted"));
    for file in files {
        assert!(file.expected.starts_with("==== cuda\n"), "{} is not accepted", file.name);
    }
}

#[test]
fn cuda_of_small_kernels() {
    filetest::check(&folder("cuda"));
}
