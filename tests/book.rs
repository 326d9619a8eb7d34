//! The book: each command in it runs and prints what the page says, and each page and each file that
//! a page includes is there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Made by `make book`.
const GENERATED: &str = "reference/steps.md";

#[test]
fn commands_print_what_the_pages_say() {
    // The pages of `reference` show code, not sessions; `make book` adds one to them.
    let cases = trycmd::TestCases::new();
    for folder in ["first", "lessons", "from"] {
        cases.case(format!("book/src/{folder}/*.md"));
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src")
}

/// The texts between two marks.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Vec<&'t str> {
    text.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

#[test]
fn the_summary_has_every_page() {
    let listed: BTreeSet<String> =
        between(&fs::read_to_string(source().join("SUMMARY.md")).unwrap(), "](", ")")
            .into_iter()
            .map(String::from)
            .collect();
    let mut pages = BTreeSet::from([GENERATED.to_owned()]);
    for folder in ["", "first", "lessons", "from", "reference"] {
        for entry in fs::read_dir(source().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "md") && !path.ends_with("SUMMARY.md") {
                pages.insert(path.strip_prefix(source()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(listed, pages);
}

#[test]
fn included_files_and_linked_pages_exist() {
    let summary = fs::read_to_string(source().join("SUMMARY.md")).unwrap();
    let mut seen = 0;
    for page in between(&summary, "](", ")").into_iter().filter(|p| *p != GENERATED) {
        let path = source().join(page);
        let text = fs::read_to_string(&path).unwrap();
        let folder = path.parent().unwrap();
        let linked = between(&text, "](", ")").into_iter().filter(|l| l.ends_with(".md"));
        for file in between(&text, "{{#include ", "}}").into_iter().chain(linked) {
            assert!(file.ends_with("steps.md") || folder.join(file).exists(), "{page} names {file}");
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

/// The pictures of the lessons, each with the command that draws it, in the folder of the book.
const PICTURES: [(&str, &str); 6] = [
    ("rows.svg", "layout (8,32):(32,1) --picture svg"),
    ("swizzled.svg", "layout Sw<3,0,5>\u{a0}o\u{a0}0\u{a0}o\u{a0}(8,32):(32,1) --picture svg"),
    ("steps.svg", "picture first/transform.in/blur.lw first/transform.in/small.pipe --set n=10 --steps"),
    (
        "blocks.svg",
        "picture lessons/stencil.in/jacobi.lw lessons/stencil.in/small.pipe --set m=14 --set n=18",
    ),
    (
        "halo.svg",
        "picture lessons/stencil.in/jacobi.lw lessons/stencil.in/small.pipe --set m=14 --set n=18 \
         --statement u_fetch",
    ),
    (
        "roofline.svg",
        "roofline lessons/product.in/product.lw lessons/product.in/naive.pipe lessons/product.in/tiled.pipe \
         lessons/product.in/squares.pipe lessons/product.in/transposed.pipe --set m=256 --set n=256 \
         --set l=256",
    ),
];

#[test]
fn pictures_are_drawn_by_the_library() {
    let folder = source().join("lessons/pictures");
    for (file, command) in PICTURES {
        // Spaces that do not part arguments are written as such.
        let arguments = command.split(' ').map(|argument| argument.replace('\u{a0}', " "));
        let drawn = Command::new(env!("CARGO_BIN_EXE_loopwright"))
            .args(arguments)
            .current_dir(source())
            .output()
            .unwrap();
        assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
        let drawn = String::from_utf8(drawn.stdout).unwrap();
        if std::env::var_os("LOOPWRIGHT_BLESS").is_some() {
            fs::write(folder.join(file), &drawn).unwrap();
        }
        assert_eq!(drawn, fs::read_to_string(folder.join(file)).unwrap(), "{file}");
    }
    let found = fs::read_dir(&folder).unwrap().count();
    assert_eq!(found, PICTURES.len(), "each picture has a command");
}
