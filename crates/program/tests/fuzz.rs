//! Reading any text as a program gives a program that prints and reads back equal, or a diagnostic
//! that can be rendered. It never panics.

use std::{
    fs,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use loopwright_program::Program;
use proptest::prelude::*;

/// Reads a text and requires one of the two outcomes.
fn read(text: &str) {
    match Program::parse_named("fuzz", text) {
        Ok(program) => {
            let printed = program.to_text();
            match Program::parse(&printed) {
                // Compared by their texts, since a NaN does not equal itself.
                Ok(again) => assert_eq!(again.to_text(), printed, "reads back as a different program"),
                Err(d) => panic!("does not read back:\n{}\n{printed}", d.render()),
            }
        }
        Err(d) => assert!(!d.render().is_empty()),
    }
}

/// The programs of the filetests, including the refused ones.
fn corpus() -> &'static [String] {
    static CORPUS: OnceLock<Vec<String>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let mut texts = Vec::new();
        for folder in ["check", "text"] {
            let folder =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../program/tests/filetests").join(folder);
            let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
            files.sort();
            for file in files {
                let text = fs::read_to_string(file).unwrap();
                texts.push(text.split("\n====").next().unwrap_or_default().to_string());
            }
        }
        texts
    })
}

/// Reads the beginnings of every text, of those that there are every `step`-th: of the first text
/// from the first on, of the second one from the second, and so on. All cores read some of the
/// texts.
fn truncated(step: usize) {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = corpus().get(number) else { break };
            for (end, _) in text.char_indices().skip(number % step).step_by(step) {
                read(&text[..end]);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    assert!(next.into_inner() >= corpus().len());
}

#[test]
fn truncated_programs() {
    truncated(5);
}

#[test]
#[ignore = "a minute; a fifth is in the suite"]
fn every_beginning_of_a_program() {
    truncated(1);
}

const HEAD: &str = "program k(x, n: i32) index i32
global x: f32[n] read written
kernel k(x written, n: i32) {
    grid(1, 1, 1)
    block(32, 1, 1)
    var i: i32 mutable
";

#[test]
fn deep_nesting() {
    let deep = |s: &str| s.repeat(20_000);
    for text in [
        deep("("),
        deep("{"),
        format!("{HEAD}set i = {}", deep("(")),
        format!("{HEAD}set i = {}1{}", deep("("), deep(")")),
        format!("{HEAD}set i = {}1\n}}", deep("-")),
        format!("{HEAD}set i = {}1\n}}", deep("~")),
        format!("{HEAD}set i = {}true\n}}", deep("not ")),
        format!("{HEAD}set i = 1{}\n}}", deep(" + 1")),
        format!("{HEAD}set i = 1{}\n}}", deep(" and 1")),
        format!("{HEAD}set i = {}", deep("x[")),
        format!("{HEAD}set i = {}", deep("x[@ ")),
        format!("{HEAD}set i = {}", deep("cast(i32, ")),
        format!("{HEAD}set i = {}", deep("min(1, ")),
        format!("{HEAD}set i = {}", deep("call f(")),
        format!("{HEAD}{}", deep("if true {\n")),
        format!("{HEAD}if true {{\n}} {}", deep("else if true {\n} ")),
        format!("{HEAD}{}", deep("for i = 0 to 1 {\n")),
        format!("{HEAD}{}", deep("collective sum(i) along(x: 2) {\n")),
        format!("program k() index i32\nhost {{ {}", deep("for t = 0 to 1 { ")),
        format!("program k() index i32\nassume {}", deep("(")),
        format!("program k() index i32\nglobal x: f32[{}", deep("(")),
        format!("program k() index i32\nglobal x: f32[{}1]\n", deep("1, ")),
    ] {
        read(&text);
    }
}

/// Values of the greatest depth, and sums of subscripts that would exceed it.
#[test]
fn as_deep_as_may_be() {
    let nested = |n: usize| format!("{HEAD}set i = {}1{}\n}}", "(i + ".repeat(n), ")".repeat(n));
    assert!(Program::parse(&nested(300)).is_ok());
    let refused = Program::parse(&nested(400)).unwrap_err();
    let first = refused.to_string();
    assert!(first.starts_with("error[too-deep]: the text nests deeper than 320 levels"), "{first}");
    let chain = |n: usize| format!("{HEAD}set i = 1{}\n}}", " + i".repeat(n));
    read(&chain(1100));
    assert!(Program::parse(&chain(1100)).is_ok());
    let refused = Program::parse(&chain(1300)).unwrap_err();
    let first = refused.to_string();
    assert!(first.starts_with("error[too-deep]: the value is deeper than 1200 operations"), "{first}");
    // A balanced sum of 4096 terms.
    let mut sum = "i".to_string();
    for _ in 0..12 {
        sum = format!("({sum} + {sum})");
    }
    let said = Program::parse(&format!("{HEAD}store x[{sum}] = 0.0f32\n}}")).unwrap_err();
    assert_eq!(said.code, "wrong-layout");
    read(&format!("{HEAD}store x[{sum} @ {sum}] = 0.0f32\n}}"));
}

/// Applies one mutation to a text.
fn mutate(text: &mut String, kind: u8, at: usize, length: usize, insert: &str) {
    let near = |text: &str, at: usize| (0..=at.min(text.len())).rev().find(|k| text.is_char_boundary(*k));
    let at = near(text, at % (text.len() + 1)).unwrap_or(0);
    let end = near(text, at + length).unwrap_or(at).max(at);
    match kind {
        0 => drop(text.drain(at..end)),
        1 => {
            let copy = text[at..end].to_string();
            let to = near(text, length * 7 % (text.len() + 1)).unwrap_or(0);
            text.insert_str(to, &copy);
        }
        _ => text.insert_str(at, insert),
    }
}

const TOKENS: &[&str] = &[
    "program",
    "global",
    "leaf",
    "host",
    "kernel",
    "grid(",
    "block(",
    "var ",
    "shared ",
    "let ",
    "set ",
    "store ",
    "update add ",
    "copy 4 ",
    "for ",
    "if ",
    " else ",
    "barrier block",
    "collective sum(i) ",
    "x[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "@",
    ",",
    ":",
    " = ",
    " + ",
    " quo ",
    " // ",
    " and ",
    "not ",
    "-",
    "~",
    "i",
    "n",
    "x",
    "i.1",
    "thread.x",
    "1",
    "1.5f32",
    "0u8",
    "f32.nan(1)",
    "-f32.inf",
    "true",
    "cast(i64, ",
    "typed(f32, ",
    "param(q: i32)",
    "min(",
    "shuffle_up(",
    "call f(",
    "fast.exp(",
    " predicate",
    "\"why\"",
    "\"\\u{22}\"",
    "\n",
    ";",
    "# ",
    "i32",
    "18446744073709551616",
    "9223372036854775808",
    "\u{e9}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_tokens(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..50)) {
        read(&tokens.concat());
        read(&format!("{HEAD}{}\n}}\n", tokens.concat()));
    }

    #[test]
    fn mutated_programs(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(
            (0u8..4, any::<usize>(), 1usize..30, prop::sample::select(TOKENS)), 1..4),
    ) {
        let mut text = which.get(corpus()).clone();
        for (kind, at, length, insert) in changes {
            mutate(&mut text, kind, at, length, insert);
        }
        read(&text);
    }
}
