//! The book: each command in it runs and prints what the page says, and each page and each file
//! that a page includes is there.

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

/// The pages that the summary names.
fn pages() -> Vec<String> {
    let summary = fs::read_to_string(source().join("SUMMARY.md")).unwrap();
    between(&summary, "](", ")").into_iter().filter(|p| *p != GENERATED).map(String::from).collect()
}

/// Programs for other systems, which are not run: they are shown beside ours.
#[test]
fn programs_in_python_can_be_parsed() {
    let mut programs = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(source().join(&page)).unwrap();
        programs
            .extend(between(&text, "```python\n", "```").into_iter().map(|p| (page.clone(), p.to_owned())));
    }
    assert!(programs.len() >= 3);
    for (page, program) in programs {
        let mut parser = Command::new("python3");
        parser.args(["-c", "import ast, sys; ast.parse(sys.argv[1])", &program]);
        let Ok(output) = parser.output() else {
            eprintln!("skipped: there is no Python");
            return;
        };
        assert!(output.status.success(), "{page}\n{program}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What a text that stands in `folder` names and is not there: included files, pages, pictures and
/// other files that are linked. Links to the network and to places within a page are left out, and
/// included texts are read as well. The second value counts what was looked for.
fn missing(folder: &Path, text: &str) -> (Vec<String>, usize) {
    let (mut lost, mut seen) = (Vec::new(), 0);
    let linked = between(text, "](", ")").into_iter().filter_map(|link| link.split(['#', ' ']).next());
    let linked =
        linked.filter(|l| !l.is_empty() && !l.contains("://") && !l.contains(['`', '[', '<', '=', ',']));
    for file in linked {
        seen += 1;
        let path = folder.join(file);
        if !path.exists() && !path.ends_with(GENERATED) {
            lost.push(file.to_owned());
        }
    }
    for file in between(text, "{{#include ", "}}") {
        seen += 1;
        // A part of a file is named behind a colon.
        let file = file.split(':').next().unwrap_or(file);
        let path = folder.join(file);
        match fs::read_to_string(&path) {
            Ok(included) if file.ends_with(".md") => {
                // What is included from the repository names files beside itself.
                let within = path.canonicalize().unwrap().starts_with(source().canonicalize().unwrap());
                let from = if within { folder } else { path.parent().unwrap() };
                let (inner, count) = missing(from, &included);
                lost.extend(inner.into_iter().map(|name| format!("{name}, which {file} names")));
                seen += count;
            }
            Ok(_) => {}
            Err(_) => lost.push(file.to_owned()),
        }
    }
    (lost, seen)
}

#[test]
fn included_files_linked_pages_and_pictures_exist() {
    let mut all = 0;
    for page in pages() {
        let path = source().join(&page);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("SUMMARY.md names {page}: {e}"));
        let (lost, seen) = missing(path.parent().unwrap(), &text);
        assert!(lost.is_empty(), "{page} names {lost:?}");
        all += seen;
    }
    assert!(all > 50, "{all}");
}

#[test]
fn what_a_page_names_and_is_not_there_is_found() {
    let text = "[a](declare.md#part) [b](nowhere.md) ![c](no.svg) [d](https://example.org/x.md)\n\
                {{#include declare.in/no.lw:3:4}} `x[i](y)`";
    let (lost, _) = missing(&source().join("first"), text);
    assert_eq!(lost[..2], ["nowhere.md", "no.svg"]);
    assert!(lost.contains(&"declare.in/no.lw".to_owned()));
}

/// A file that a page brings along for its commands is named there: what no page uses is deleted.
#[test]
fn files_of_a_page_are_named_by_it() {
    let mut seen = 0;
    for page in pages() {
        let folder = source().join(&page).with_extension("in");
        let Ok(files) = fs::read_dir(&folder) else { continue };
        let text = fs::read_to_string(source().join(&page)).unwrap();
        for file in files {
            let name = file.unwrap().file_name().into_string().unwrap();
            let words = text.split(|c: char| !c.is_alphanumeric() && !['.', '_'].contains(&c));
            assert!(words.into_iter().any(|word| word == name), "{page} does not name {name}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

/// Lessons that draw no other conclusion end with a run that is compared with the declared kernel.
#[test]
fn lessons_of_kernels_end_with_a_run() {
    for page in ["stencil", "softmax", "segments"] {
        let text = fs::read_to_string(source().join("lessons").join(page).with_extension("md")).unwrap();
        let last = text.rsplit("```console\n").next().unwrap();
        assert!(last.starts_with("$ loopwright run ") && last.contains(" --verify"), "{page}: {last}");
        assert!(last.trim_end().ends_with("```"), "{page}: {last}");
    }
}

/// The pages for those who come from elsewhere have both texts beside each other.
#[test]
fn both_texts_are_side_by_side() {
    let style = fs::read_to_string(source().join("../book.toml")).unwrap();
    assert!(style.contains("additional-css = [\"both.css\"]") && source().join("../both.css").is_file());
    for entry in fs::read_dir(source().join("from")).unwrap() {
        let page = entry.unwrap().path();
        if page.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        let both = between(&text, "<div class=\"both\">\n", "\n</div>\n</div>\n");
        let [both] = both[..] else { panic!("{}", page.display()) };
        let columns = between(both, "<div>\n\n", "\n</div>");
        let [theirs, ours] = columns[..] else { panic!("{}: {columns:?}", page.display()) };
        // Markdown begins anew after an empty line.
        assert!(theirs.contains("\n\n```") && !theirs.contains("```text"), "{}", page.display());
        assert!(ours.contains(".lw}}") && ours.contains(".pipe}}"), "{}", page.display());
    }
}

/// Halide's code is not compiled, for want of Halide; its brackets match.
#[test]
fn brackets_of_halide_match() {
    let page = fs::read_to_string(source().join("from/halide.md")).unwrap();
    let blocks = between(&page, "```c++\n", "```");
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let mut open = Vec::new();
        for c in block.chars() {
            match c {
                '(' | '[' | '{' => open.push(c),
                ')' => assert_eq!(open.pop(), Some('('), "{block}"),
                ']' => assert_eq!(open.pop(), Some('['), "{block}"),
                '}' => assert_eq!(open.pop(), Some('{'), "{block}"),
                _ => {}
            }
        }
        assert!(open.is_empty() && block.trim_end().ends_with(';'), "{block}");
    }
}

/// What `docs/lints.md` shows is what the command prints.
#[test]
fn the_lint_of_the_page_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/lints.md")).unwrap();
    let shown = between(&page, "```text\n", "```");
    assert_eq!(shown.len(), 1);
    let output = Command::new(env!("CARGO_BIN_EXE_loopwright"))
        .args(["lint", "examples/kernels/transpose.lw", "examples/pipelines/transpose/tiled.pipe"])
        .args(["--set", "m=64", "--set", "n=64"])
        .current_dir(root)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains(shown[0]), "{}\nis not in\n{printed}", shown[0]);
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

/// The CUDA C that a page starts from is accepted by NVRTC, where there is one.
#[test]
fn cuda_of_the_pages_compiles() {
    use loopwright::runtime::{
        Arch,
        nvrtc::{self, CompileError, CompileOptions},
    };

    let page = fs::read_to_string(source().join("from/cuda.md")).unwrap();
    let blocks = between(&page, "```c++\n", "```");
    assert_eq!(blocks.len(), 1);
    for block in blocks {
        match nvrtc::compile(block, &CompileOptions::new(Arch::SM_90A)) {
            Ok(compiled) => assert_eq!(compiled.warnings().count(), 0, "{}", compiled.log),
            Err(CompileError::NotFound(_)) => {}
            Err(e) => panic!("{block}\n{e}"),
        }
    }
}
