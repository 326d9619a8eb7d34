//! Rules that the compiler does not enforce: dependences between crates, how comments are wrapped,
//! that the files that they cite are there, and that no test is forgotten.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Adds the crates that the Rust files of a folder name, by their folders in `crates`.
fn named_in(folder: &Path, crates: &Path, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            named_in(&path, crates, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let names = text.split("loopwright_").skip(1).map(|rest| {
                let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
                rest[..end].replace('_', "-")
            });
            found.extend(names.filter(|name| crates.join(name).is_dir()));
        }
    }
}

/// The crates in the folder `crates`, each with those that its manifest names, also for tests, and
/// that its tests name: those of many crates are built by `suites`, which is left out.
fn dependences() -> BTreeMap<String, BTreeSet<String>> {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates");
    let of = |folder: PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let named = manifest.lines().filter_map(|line| {
            let name = line.strip_prefix("loopwright-")?;
            Some(name.split(['.', ' ', '=']).next()?.to_string())
        });
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let mut named: BTreeSet<String> = named.collect();
        named_in(&folder.join("tests"), &crates, &mut named);
        named.remove(&name);
        (name, named)
    };
    let all = fs::read_dir(&crates).unwrap().map(|entry| of(entry.unwrap().path()));
    all.filter(|(name, _)| name != "suites").collect()
}

#[test]
fn what_tests_of_another_package_use_is_a_dependence() {
    let dependences = dependences();
    // No manifest but that of `suites` says so.
    assert!(dependences["poly"].contains("filetest") && dependences["testing"].contains("counts"));
}

/// Crates that read programs do not depend on lowering, not even in their tests: only the facade,
/// the runtime, which turns kernels into programs, `auto`, which lowers what it proposes but reads
/// no program, and the tests' own crate do.
#[test]
fn what_reads_programs_does_not_depend_on_lowering() {
    let dependences = dependences();
    let own = |name: &str| dependences[name].contains("lowering");
    let found: Vec<&String> = dependences.keys().filter(|name| own(name)).collect();
    assert_eq!(found, ["auto", "runtime", "testing"]);
}

/// Neither do they depend on a crate that does. The tuner needs the runtime, which measures for it.
#[test]
fn only_the_tuner_reaches_lowering_through_the_runtime() {
    let dependences = dependences();
    for room in ["program", "cuda-target", "hip-target", "emulator", "text-check", "realize", "legality"] {
        let mut reached = BTreeSet::from([room.to_string()]);
        let mut open = vec![room.to_string()];
        while let Some(name) = open.pop() {
            let next = dependences[&name].iter().filter(|n| reached.insert((*n).clone()));
            open.extend(next.cloned().collect::<Vec<_>>());
        }
        assert!(!reached.contains("lowering") && !reached.contains("runtime"), "{room}: {reached:?}");
    }
}

/// Generated kernels are declarations, as a user writes them: how they run is decided elsewhere.
#[test]
fn generators_know_kernels_alone() {
    assert_eq!(dependences()["generate"], BTreeSet::from(["kernel-ir".to_string()]));
}

/// The comments of a source whose prose is wider than 100 columns, by what begins a comment.
/// Examples, which lie between fences, tables and what has no place to break are as wide as they
/// are.
fn wide_comments<'s>(source: &'s str, mark: &str) -> Vec<(usize, &'s str)> {
    let (mut wide, mut is_example) = (Vec::new(), false);
    for (number, line) in source.lines().enumerate() {
        let Some(text) = line.trim_start().strip_prefix(mark) else {
            is_example = false;
            continue;
        };
        let text = text.trim_start_matches(['/', '!']);
        let is_indented = text.starts_with("     ");
        let text = text.trim_start();
        if text.starts_with("```") {
            is_example = !is_example;
        }
        let breaks = line.chars().count() > 100 && text.contains(' ');
        if breaks && !is_example && !is_indented && !text.starts_with('|') {
            wide.push((number + 1, line));
        }
    }
    wide
}

/// The lines of a page whose prose is wider than 100 columns. Examples, which lie between fences or
/// are indented, tables, titles and what has no place to break are as wide as they are.
fn wide_lines(page: &str) -> Vec<(usize, &str)> {
    let (mut wide, mut is_example) = (Vec::new(), false);
    for (number, line) in page.lines().enumerate() {
        is_example ^= line.trim_start().starts_with("```");
        let is_prose = !is_example && !["    ", "|", "#"].iter().any(|start| line.starts_with(start));
        if is_prose && line.chars().count() > 100 && line.trim().contains(' ') {
            wide.push((number + 1, line));
        }
    }
    wide
}

#[test]
fn wide_prose_is_found_and_wide_examples_are_not() {
    let (long, short) = ("word ".repeat(30), "word ".repeat(10));
    let source = format!("// {short}\n/// {long}\n/// ```\n/// {long}\n/// ```\n//! | {long}|\nlet {long}\n");
    assert_eq!(wide_comments(&source, "//"), [(2, format!("/// {long}").as_str())]);
    assert_eq!(wide_comments(&format!("{long}\n  # {long}\n"), "#"), [(2, format!("  # {long}").as_str())]);
    let page = format!("{short}\n- {long}\n```\n{long}\n```\n    {long}\n| {long}|\n# {long}\n");
    assert_eq!(wide_lines(&page), [(2, format!("- {long}").as_str())]);
}

/// What begins a comment in a file, by its name.
fn mark(path: &Path) -> Option<&'static str> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("rs" | "c" | "h" | "cu" | "cuh") => Some("//"),
        Some("py" | "sh" | "toml" | "yml" | "atoms" | "lw" | "pipe" | "space") => Some("#"),
        _ => path.ends_with("Makefile").then_some("#"),
    }
}

/// The repository's own files, but for what is built and isl's own sources, from its root on.
fn own_files() -> Vec<PathBuf> {
    const FOREIGN: [&str; 6] =
        ["target", ".git", ".build", "crates/isl/isl", "dist", "book/src/reference/steps.md"];
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let own = path.strip_prefix(&root).unwrap();
            // `crates/target` is a crate, and what cargo builds lies in folders of that name.
            let is_built = own.ends_with("target") && !path.join("Cargo.toml").exists();
            if is_built || FOREIGN.iter().any(|foreign| own == Path::new(foreign)) {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path.clone()),
                false => found.push(own.to_path_buf()),
            }
        }
    }
    assert!(found.len() > 1000, "{} files: not the whole repository", found.len());
    found
}

#[test]
fn comments_and_pages_are_wrapped_at_100_columns() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut read) = (Vec::new(), 0);
    for own in own_files() {
        let path = root.join(&own);
        let is_page = path.extension().is_some_and(|e| e == "md");
        // What is expected of the kernels of filetests names their lines.
        let is_filetest = own.components().any(|part| part.as_os_str() == "filetests");
        if is_filetest || !is_page && mark(&path).is_none() {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        read += 1;
        let wide = mark(&path).map_or_else(|| wide_lines(&text), |mark| wide_comments(&text, mark));
        for (number, line) in wide {
            found.push(format!("{}:{number}: {}", own.display(), line.trim()));
        }
    }
    assert!(read > 1000, "{read} files: not the whole repository");
    assert!(found.is_empty(), "wider than 100 columns:\n{}", found.join("\n"));
}

/// The Rust files and pages that a line names.
fn cited(line: &str) -> impl Iterator<Item = &str> {
    let in_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let words = line.split(move |c| !in_path(c)).map(|word| word.trim_end_matches('.'));
    words.filter(|word| word.len() > 3 && (word.ends_with(".rs") || word.ends_with(".md")))
}

/// Whether a cited path is the end of one of these, wherever it is cited.
fn is_there(cited: &str, files: &[PathBuf]) -> bool {
    let plain = cited.trim_start_matches(['.', '/']);
    files.iter().any(|file| file.ends_with(plain))
}

#[test]
fn cited_files_are_found() {
    let line = "// as in `tests/house.rs`, [the page](../a/b.md), c.rs. Not .rs, x.rsx or d.toml.";
    assert_eq!(cited(line).collect::<Vec<_>>(), ["tests/house.rs", "../a/b.md", "c.rs"]);
    let files = ["tests/house.rs", "book/a/b.md"].map(PathBuf::from);
    for (name, there) in [("house.rs", true), ("../a/b.md", true), ("ouse.rs", false), ("b/a.md", false)] {
        assert_eq!(is_there(name, &files), there, "{name}");
    }
}

/// A comment or a page that cites a file of the repository cites one that is there. Records of
/// measurements and of changes cite what was there then.
#[test]
fn files_that_comments_and_pages_cite_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut files = own_files();
    // It is printed by the program.
    files.push("book/src/reference/steps.md".into());
    let (mut missing, mut asked) = (Vec::new(), 0);
    for own in &files {
        let is_page = own.extension().is_some_and(|e| e == "md");
        let is_record = own.starts_with("benches") || own.ends_with("CHANGELOG.md");
        let Some(mark) = mark(own).or(is_page.then_some("")).filter(|_| !is_record) else { continue };
        let Ok(text) = fs::read_to_string(root.join(own)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if !line.trim_start().starts_with(mark) {
                continue;
            }
            for name in cited(line) {
                asked += 1;
                if !is_there(name, &files) {
                    missing.push(format!("{}:{}: {name}", own.display(), number + 1));
                }
            }
        }
    }
    assert!(asked > 200, "{asked} citations");
    assert!(missing.is_empty(), "cited, and not there:\n{}", missing.join("\n"));
}

/// What is published has its licences beside it, as do isl and imath, which are compiled into the
/// wheel.
#[test]
fn published_packages_have_their_licences() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates");
    for entry in fs::read_dir(&crates).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let wanted: &[&str] = match manifest.lines().find(|line| line.starts_with("license")).unwrap() {
            _ if manifest.lines().any(|line| line == "publish = false") => &[],
            "license = \"MIT\"" => &["LICENSE-MIT"],
            _ => &["LICENSE-APACHE", "LICENSE-MIT"],
        };
        for name in wanted {
            assert!(folder.join(name).is_file(), "{} in {}", name, folder.display());
        }
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "LICENSE-imath", "LICENSE-isl"] {
        assert!(crates.join("python").join(name).is_file(), "{name}");
    }
}

/// What the release leaves out is a dependence of nothing that it publishes, but for tests: cargo
/// refuses all of it otherwise. `make package` publishes as the release does.
#[test]
fn the_release_publishes_what_published_crates_need() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let excluded = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let line = text.lines().find(|line| line.contains(" publish --workspace")).unwrap();
        let names = line.split("--exclude loopwright-").skip(1);
        names.map(|rest| rest.split(' ').next().unwrap().to_string()).collect()
    };
    let left_out = excluded(".github/workflows/release.yml");
    assert_eq!(left_out, excluded("Makefile"));
    let manifests = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    for folder in manifests.chain([root.clone()]) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if left_out.contains(&name) || manifest.lines().any(|line| line == "publish = false") {
            continue;
        }
        let needed = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
        let needed = needed.split("\n[").next().unwrap();
        for other in &left_out {
            let entry = format!("loopwright-{other}");
            assert!(!needed.lines().any(|line| line.starts_with(&entry)), "{name} needs {entry}");
        }
    }
}

/// A library whose tests all lie in `tests` says so, and is not built twice. A test that stands in
/// the sources of such a one would never run.
#[test]
fn libraries_that_are_not_tested_in_place_have_no_tests_there() {
    fn has_tests(folder: &Path) -> bool {
        fs::read_dir(folder).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            let is_source = path.extension().is_some_and(|e| e == "rs");
            if path.is_dir() {
                has_tests(&path)
            } else {
                is_source && fs::read_to_string(&path).unwrap().contains("#[cfg(test)]")
            }
        })
    }
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates");
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let is_tested = !manifest.lines().any(|line| line == "test = false");
        assert_eq!(is_tested, has_tests(&folder.join("src")), "{}", folder.display());
    }
}

/// The files of tests in a package's folder `tests`, by name: each is a program or a part of one.
fn test_files(tests: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(tests).unwrap().map(|entry| entry.unwrap().path());
    let own = |path: &PathBuf| path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").exists();
    let name = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    entries.filter(own).map(name).filter(|name| name != "main").collect()
}

/// The files that a manifest lists as programs of tests, from the package's folder on.
fn programs(manifest: &str) -> BTreeSet<String> {
    fn quoted<'l>(line: &'l str, key: &str) -> Option<&'l str> {
        line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
    }
    let (mut found, mut section, mut usual) = (BTreeSet::new(), "", String::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        if section != "[[test]]" {
            continue;
        }
        if let Some(name) = quoted(line, "name") {
            usual = format!("tests/{name}.rs");
            found.insert(usual.clone());
        } else if let Some(path) = quoted(line, "path") {
            found.remove(&usual);
            found.insert(path.to_string());
        }
    }
    found
}

/// Those that neither manifest lists as programs, the package's or that of `suites`, nor
/// `tests/main.rs` as modules.
fn forgotten_tests(package: &Path, suites: &str) -> Vec<String> {
    let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
    let (name, main) = (package.file_name().unwrap().to_string_lossy(), package.join("tests/main.rs"));
    let mut files = test_files(&package.join("tests"));
    if main.exists() {
        files.insert("main".to_string());
        for line in fs::read_to_string(main).unwrap().lines() {
            if let Some(module) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
                files.remove(module);
            }
        }
    }
    let elsewhere = programs(suites);
    let elsewhere = elsewhere.iter().filter_map(|path| path.strip_prefix(&format!("../{name}/")));
    for path in programs(&manifest).iter().map(String::as_str).chain(elsewhere) {
        let file = path.strip_prefix("tests/").unwrap_or(path);
        files.remove(file.strip_suffix("/main.rs").or(file.strip_suffix(".rs")).unwrap_or(file));
    }
    files.into_iter().collect()
}

/// Most packages have one program of tests, so that cargo does not take each file for one, and
/// would not miss a file either.
#[test]
fn every_file_of_tests_is_part_of_a_program() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let suites = fs::read_to_string(root.join("crates/suites/Cargo.toml")).unwrap();
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut asked = 0;
    for package in crates.chain([root]) {
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
        let lists_tests = manifest.lines().any(|line| line == "autotests = false");
        assert!(lists_tests || !package.join("tests/main.rs").exists(), "{}", package.display());
        if lists_tests {
            let forgotten = forgotten_tests(&package, &suites);
            assert!(forgotten.is_empty(), "{}: {forgotten:?}", package.display());
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked}");
}

#[test]
fn a_forgotten_test_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let put = |file: &str, text: &str| {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("Cargo.toml", "[package]\nname = \"lost\"\n[[test]]\nname = \"own\"\n");
    put("tests/main.rs", "mod part;\n");
    for file in ["own.rs", "part.rs", "lost.rs", "gone/main.rs", "common/mod.rs", "elsewhere.rs"] {
        put(&format!("tests/{file}"), "");
    }
    let name = folder.path().file_name().unwrap().to_string_lossy();
    let of_suites = |file: &str, name: &str| {
        format!("[[test]]\nname = \"of_{file}\"\npath = \"../{name}/tests/{file}.rs\"\n")
    };
    let suites = of_suites("elsewhere", &name) + &of_suites("lost", "another");
    assert_eq!(forgotten_tests(folder.path(), &suites), ["gone", "lost", "main"]);
    assert_eq!(forgotten_tests(folder.path(), &(suites + &of_suites("main", &name))), ["gone", "lost"]);
}

/// The rooms of lowering, in the order in which a kernel walks through them. Nests over segments
/// have a folder of their own, with files of two of these rooms.
const ROOMS: [(&str, &[&str]); 3] = [
    ("analyse", &["analyse"]),
    ("schedule", &["schedule", "flat::plan", "flat::launch", "flat::show"]),
    ("write", &["write", "flat::write"]),
];

/// The number of the room that a path of modules leads to, if it leads to one.
fn room(path: &str) -> Option<usize> {
    let leads = |to: &&str| path == *to || path.strip_prefix(*to).is_some_and(|rest| rest.starts_with("::"));
    ROOMS.iter().position(|(_, modules)| modules.iter().any(leads))
}

/// The paths of modules, from the crate on, that a source in this module names in code by
/// `crate::` or `super::`, each with what it lists in braces.
fn named_paths(source: &str, module: &[&str]) -> Vec<String> {
    fn tree(text: &str, around: &str, found: &mut Vec<String>) -> usize {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
        let (path, rest) = match &text[..end] {
            "super" => (around.rsplit_once("::").map_or("", |(up, _)| up).to_string(), &text[end..]),
            "" | "self" => (around.to_string(), &text[end..]),
            name if around.is_empty() => (name.to_string(), &text[end..]),
            name => (format!("{around}::{name}"), &text[end..]),
        };
        let Some(inner) = rest.strip_prefix("::") else {
            found.push(path);
            return end;
        };
        let Some(list) = inner.strip_prefix('{') else { return end + 2 + tree(inner, &path, found) };
        let mut at = 0;
        while let Some(skipped) = list[at..].find(|c| is_name(c) || c == '}') {
            at += skipped;
            if list[at..].starts_with('}') {
                break;
            }
            at += tree(&list[at..], &path, found);
        }
        end + 3 + at
    }
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let (code, mut found, mut at) = (code.join("\n"), Vec::new(), 0);
    while let Some(next) = ["crate::", "super::"].iter().filter_map(|start| code[at..].find(start)).min() {
        at += next;
        at += match code[at..].strip_prefix("crate::") {
            Some(rest) if rest.starts_with('{') => tree(&code[at + 5..], "", &mut found) + 5,
            Some(rest) => tree(rest, "", &mut found) + 7,
            None => tree(&code[at..], &module.join("::"), &mut found),
        };
    }
    found
}

#[test]
fn paths_of_modules_are_found() {
    let source = "use super::{sync::Met, super::b};\nuse crate::{\n    A, write::{self, x::{Y, Z as W}},\n};\n\
                  // crate::no::path\nlet x: crate::flat::Launch = super::super::c::d(1);\n";
    let found = ["p::sync::Met", "b", "A", "write", "write::x::Y", "write::x::Z", "flat::Launch", "c::d"];
    let named = named_paths(source, &["p", "q"]);
    let missing: Vec<&&str> = found.iter().filter(|path| !named.iter().any(|n| n == *path)).collect();
    assert!(missing.is_empty(), "{missing:?} of {named:?}");
    assert_eq!(
        [room("write::x"), room("flat::plan"), room("flat"), room("writes")],
        [Some(2), Some(1), None, None]
    );
}

/// Inside lowering, no room imports from a later one: what is analysed does not know how it will
/// be scheduled, and no decision depends on how it will be written.
#[test]
fn no_room_of_lowering_imports_from_a_later_one() {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates/lowering/src");
    let (mut found, mut named) = (Vec::new(), 0);
    for own in own_files() {
        let Ok(inside) = own.strip_prefix("crates/lowering/src") else { continue };
        let module = inside.with_extension("");
        let mut module: Vec<&str> = module.iter().map(|part| part.to_str().unwrap()).collect();
        module.retain(|part| *part != "mod");
        let Some(from) = room(&module.join("::")) else { continue };
        let source = fs::read_to_string(sources.join(inside)).unwrap();
        for path in named_paths(&source, &module) {
            let to = room(&path);
            named += usize::from(to.is_some_and(|to| to < from));
            if to.is_some_and(|to| to > from) {
                found.push(format!("{} of {}: {path}", inside.display(), ROOMS[from].0));
            }
        }
    }
    assert!(named > 100, "{named} imports from earlier rooms");
    assert!(found.is_empty(), "imported from later rooms:\n{}", found.join("\n"));
}
