//! The grammar page covers the parser: every word that the parser reads occurs there.

use std::{collections::BTreeSet, fs, path::Path};

use loopwright_kernel_ir::{Share, Via};

/// What the parser compares words with, where it does not use a list.
const ASKS: [&str; 4] = ["eat_word(", "at_word(", "Some(", "matches!("];

/// Words that the parser knows in order to refuse them, with what to write instead, and a code of
/// its diagnostics.
const REFUSED: [&str; 12] = [
    "bool_", "char", "elif", "end", "exists", "half", "long", "single", "size_t", "syntax", "uint",
    "unsigned",
];

/// The quoted strings up to the bracket that closes what an occurrence of this text opens.
fn quoted<'a>(source: &'a str, open: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for inside in source.split(open).skip(1) {
        let (mut depth, mut begin, mut escaped) = (1, None, false);
        for (at, c) in inside.char_indices() {
            match (begin, c) {
                (Some(_), _) if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(from), '"') => {
                    found.push(&inside[from..at]);
                    begin = None;
                }
                (Some(_), _) => {}
                (None, '"') => begin = Some(at + 1),
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                (None, _) => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

#[test]
fn words_are_those_between_brackets() {
    let source = r#"if self.eat_word("if") || matches!(&*word, "a" | "b(" | "\"") && f("c") { at("d") }"#;
    assert_eq!(quoted(source, "eat_word("), ["if"]);
    assert_eq!(quoted(source, "matches!("), ["a", "b(", r#"\""#]);
}

/// The strings of a list that starts with this text.
fn list<'a>(source: &'a str, begin: &str) -> Vec<&'a str> {
    let (_, rest) = source.split_once(begin).unwrap_or_else(|| panic!("there is no `{begin}`"));
    let (inside, _) = rest.split_once("];").unwrap_or_default();
    inside.split('"').skip(1).step_by(2).collect()
}

#[test]
fn every_word_of_the_parser_is_in_the_grammar() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-ir");
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut words: BTreeSet<String> = BTreeSet::new();
    for entry in fs::read_dir(root.join("src/text")).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        let asked = ASKS.iter().flat_map(|ask| quoted(&source, ask));
        words.extend(asked.filter(|word| !REFUSED.contains(word)).map(str::to_string));
    }
    words.extend(
        list(&read("src/text/statement.rs"), "const LINES: &[&str] = &[").into_iter().map(str::to_string),
    );
    words.extend(list(&read("src/text/instruction.rs"), "const OURS: ").into_iter().map(str::to_string));
    words.extend(Share::WORDS.map(|(_, word)| word.to_string()));
    words.extend(Via::WORDS.map(|(_, word)| word.to_string()));
    // The lines of an atom: the arms of `read`.
    let atoms = read("src/atom/parse.rs");
    let (_, arms) = atoms.split_once("    match word {\n").unwrap();
    let (arms, _) = arms.split_once("\n}\n").unwrap();
    for line in arms.lines().filter(|line| line.trim_start().starts_with('"')) {
        let Some((words_of_line, _)) = line.split_once("=>") else { continue };
        words.extend(words_of_line.split('"').skip(1).step_by(2).map(str::to_string));
    }
    // The arms of `Tag::parse`.
    let tags = read("src/tag.rs");
    let (_, arms) = tags.split_once("Some(match text {").unwrap();
    let (arms, _) = arms.split_once("impl fmt::Display for Tag").unwrap();
    words.extend(arms.split('"').skip(1).step_by(2).map(str::to_string));
    for word in ["streaming", "scan", "unroll", "plain", "executor", "ptx", "local", "ceild", "mod"] {
        assert!(words.contains(word), "{word} is not in {words:?}");
    }
    let page = read("grammar.md");
    // What is said below the grammar is not part of it.
    let (_, grammar) = page.split_once("```text\n").unwrap();
    let (grammar, _) = grammar.split_once("\n```\n").unwrap();
    let stands: BTreeSet<&str> =
        grammar.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    let missing: Vec<&String> = words
        .iter()
        .filter(|w| w.chars().all(|c| c.is_ascii_alphabetic() || c == '_') && w.len() > 1)
        .filter(|w| {
            !stands.contains(w.as_str())
                && !stands.iter().any(|s| w.ends_with('_') && s.starts_with(w.as_str()))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?} are not in grammar.md");
}
