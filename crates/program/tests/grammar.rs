//! The grammar page covers the parser: every keyword that the parser reads occurs there.

use std::{collections::BTreeSet, fs, path::Path};

/// The quoted strings that follow each occurrence of this text.
fn quoted<'a>(source: &'a str, behind: &str) -> Vec<&'a str> {
    source.split(behind).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The strings in a constant of this name.
fn constant<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!("const {name}: ");
    let (_, rest) = source.split_once(&begin).unwrap_or_else(|| panic!("there is no `{begin}`"));
    let (inside, _) = rest.split_once("];").unwrap_or_default();
    inside.split('"').skip(1).step_by(2).collect()
}

#[test]
fn every_word_of_the_parser_is_in_the_grammar() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../program");
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut words: BTreeSet<String> = BTreeSet::new();
    for entry in fs::read_dir(root.join("src/text")).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        for before in ["eat_word(\"", "at_word(\"", "keyword(\"", "word == \""] {
            words.extend(quoted(&source, before).into_iter().map(str::to_string));
        }
    }
    for (file, constants) in [
        ("read.rs", vec!["LINES"]),
        ("read_stmt.rs", vec!["STATEMENTS"]),
        ("print_stmt.rs", vec!["UPDATES"]),
        ("print_value.rs", vec!["SHUFFLES"]),
        ("operators.rs", vec!["INFIX"]),
        ("names.rs", vec!["CALLED"]),
        ("leaf.rs", vec!["LINES", "PRESENCES"]),
    ] {
        let source = read(&format!("src/text/{file}"));
        for name in constants {
            words.extend(constant(&source, name).into_iter().map(str::to_string));
        }
    }
    // The arms of values that are written like calls.
    let values = read("src/text/read_value.rs");
    let (_, arms) = values.split_once("fn form(").unwrap();
    let (arms, _) = arms.split_once("fn operands").unwrap();
    words.extend(
        arms.lines()
            .filter(|l| l.contains("\" =>"))
            .flat_map(|l| l.split('"').skip(1).step_by(2))
            .map(str::to_string),
    );
    for known in ["typed", "ballot", "quo", "<<", "collective", "exchanged", "replicated", "shuffle_up"] {
        assert!(words.contains(known), "{known} is found: {words:?}");
    }
    let page = read("grammar.md");
    let stands: BTreeSet<&str> =
        page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    let signs: BTreeSet<&str> = page.split_whitespace().map(|w| w.trim_end_matches(';')).collect();
    let missing: Vec<&String> =
        words.iter().filter(|w| !stands.contains(w.as_str()) && !signs.contains(w.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?} are not in grammar.md");
}
