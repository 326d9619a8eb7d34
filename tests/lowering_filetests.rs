//! Filetests of lowering: refusals with the rendered diagnostic, similar cases that are accepted,
//! and the CUDA C of small kernels.

use std::path::PathBuf;

use loopwright_testing::filetest;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filetests").join(name)
}

#[test]
fn refusals() {
    for file in filetest::check(&folder("refusals")) {
        assert!(file.expected.starts_with("==== refused\n"), "{} is not refused", file.name);
    }
}

#[test]
fn accepted_neighbours_of_refusals() {
    for file in filetest::check(&folder("accepted")) {
        assert!(file.expected.starts_with("==== cuda\n"), "{} is not accepted", file.name);
    }
}

#[test]
fn cuda_of_small_kernels() {
    filetest::check(&folder("cuda"));
}
