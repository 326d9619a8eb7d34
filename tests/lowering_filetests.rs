//! Filetests of lowering: refusals with the rendered diagnostic, similar cases that are accepted,
//! known gaps, and the CUDA C of small kernels.

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

/// Right kernels that are refused, one for each entry of the known gaps in ARCHITECTURE.md that is
/// pinned: the file begins with the words of its entry. One that is accepted some day is a gap no
/// more: its entry leaves the page, and its file moves to those that are accepted.
#[test]
fn known_gaps_are_gaps_still() {
    let page = include_str!("../ARCHITECTURE.md");
    let (_, gaps) = page.split_once("\n## Known gaps\n").expect("the section");
    let (gaps, _) = gaps.split_once("\n## ").expect("it ends");
    let gaps = gaps.split_whitespace().collect::<Vec<_>>().join(" ");
    for file in filetest::check(&folder("gaps")) {
        assert!(file.expected.starts_with("==== refused\n"), "{} is a gap no more", file.name);
        let entry = file.text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("its entry");
        assert!(gaps.contains(&format!("- {entry}")), "{}: no known gap begins `{entry}`", file.name);
    }
}

#[test]
fn cuda_of_small_kernels() {
    filetest::check(&folder("cuda"));
}
