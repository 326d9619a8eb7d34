//! What the program says about itself: `explain-code`, `tags`, `completions`, `man`; and where it
//! has colours.

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};

use loopwright::transforms::Step;

use crate::common::{Folder, call, example, out, refusal};

#[test]
fn explain_code_prints_a_page_or_all_summaries() {
    let all = out(&call(&["explain-code"]));
    let line = |code: &str| all.lines().find(|l| l.split_whitespace().next() == Some(code)).unwrap_or("");
    assert!(line("race").ends_with(
        "  Different threads would touch one cell at the same time, and at least one of them writes it."
    ));
    assert!(all.lines().count() > 300 && all.lines().any(|l| l == "Legality"), "{all}");
    // Links are for the file.
    assert!(!all.contains("](") && !out(&call(&["explain-code", "subscripts"])).contains("]("));
    let page = out(&call(&["explain-code", "race"]));
    assert!(page.starts_with("# race\n\nDifferent threads would touch"), "{page}");
    assert!(page.contains("\n```text\nerror[race]: ") && page.contains("skew the loops first"), "{page}");
    // As it stands in a message.
    for printed in ["error[race]", "error[race]:", "warning[race]"] {
        assert_eq!(out(&call(&["explain-code", printed])), page);
    }
    let text = refusal(&call(&["explain-code", "unknown-inam"]));
    assert_eq!(
        text,
        "error[unknown-code]: there is no code `unknown-inam`\n |\n = help: do you mean `unknown-iname`?\n"
    );
    let text = refusal(&call(&["explain-code", "zzzzzzzz"]));
    assert!(text.contains("`loopwright explain-code` lists all of them"), "{text}");
}

#[test]
fn every_lint_has_a_page() {
    let all = out(&call(&["explain-code"]));
    let (_, lints) = all.split_once("\nLints\n").unwrap();
    let listed: BTreeSet<&str> =
        lints.lines().take_while(|l| !l.is_empty()).filter_map(|l| l.split_whitespace().next()).collect();
    assert_eq!(listed, loopwright::tuner::LINT_CODES.iter().map(|(code, _)| *code).collect());
    for (code, what) in loopwright::tuner::LINT_CODES {
        let page = out(&call(&["explain-code", &format!("lint[{code}]")])).to_lowercase();
        assert!(page.starts_with(&format!("# {code}\n\n{what}.\n")), "{page}");
        assert!(page.contains("\nreported if ") && page.contains("\ntried: "), "{page}");
    }
}

#[test]
fn tags_are_those_that_steps_take() {
    let all = out(&call(&["tags"]));
    let listed: Vec<&str> = all
        .lines()
        .take_while(|l| !l.is_empty())
        .flat_map(|l| l.split("  ").next().unwrap().split(", "))
        .map(str::trim)
        .collect();
    // The refusal of a word that is none lists all that can be given.
    let refused = Step::parse("tag_inames(i: somewhere)").unwrap_err().to_string();
    let (_, known) = refused.split_once("the tags are ").unwrap();
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    assert!(known.len() > 10, "{refused}");
    for tag in &known {
        assert!(listed.contains(tag), "docs/tags.md does not have `{tag}`: {listed:?}");
    }
    for tag in listed.iter().filter(|t| !t.starts_with("flat_")) {
        assert!(known.contains(tag), "`{tag}` is no tag");
    }
    let page = out(&call(&["tags", "thread.y"]));
    assert_eq!(page, "# thread.x, thread.y, thread.z\n\nan axis of the block\n\nIn loopy: l.0, l.1, l.2\n");
    assert_eq!(out(&call(&["tags", "l.0"])), page);
    let text = refusal(&call(&["tags", "thred.x"]));
    assert!(text.contains("error[unknown-tag]") && text.contains("do you mean `thread.x`?"), "{text}");
}

#[test]
fn shells_complete_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = out(&call(&["completions", shell]));
        assert!(text.contains("explain-code") && text.contains("verify"), "{shell}: {text}");
        // The scripts of the others complete no positional arguments.
        if matches!(shell, "bash" | "zsh") {
            for name in ["split_iname", "dependence-violated", "low-bytes-in-flight", "thread.x"] {
                assert!(text.contains(name), "{shell} has no `{name}`: {text}");
            }
        }
    }
    let script = out(&call(&["completions", "bash"]));
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut bash.stdin.take().unwrap(), script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success(), "bash reads it");
    assert_eq!(call(&["completions", "sh"]).status.code(), Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new("man");
    let pages = folder.path("pages");
    out(&call(&["man", &pages]));
    let help = out(&call(&["--help"]));
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|l| !l.is_empty());
    let commands: Vec<&str> =
        commands.filter(|l| !l.starts_with("   ")).filter_map(|l| l.split_whitespace().next()).collect();
    assert!(commands.len() > 15, "{help}");
    for command in commands.iter().filter(|c| **c != "help") {
        let page = std::fs::read_to_string(format!("{pages}/loopwright-{command}.1")).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"), "{command}: {page}");
    }
    assert!(std::fs::read_to_string(format!("{pages}/loopwright.1")).unwrap().contains("emulator"));
    // A folder that cannot be made.
    let file = folder.file("file", "");
    assert!(refusal(&call(&["man", &format!("{file}/pages")])).contains("error[write-file]"));
}

fn coloured(args: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopwright"));
    command.env_remove("NO_COLOR").envs(environment.iter().copied());
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// Without its escape sequences, and without spaces that they may leave at the ends of lines.
fn plain(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap().to_owned();
    let text = pieces.fold(first, |all, piece| all + piece.split_once('m').unwrap().1);
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The tests of this file are no terminal: colours have to be asked for.
#[test]
fn colours_change_no_text() {
    let folder = Folder::new("colours");
    let bad = folder.file("bad.lw", "kernel k(x: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\nx[i] = y\n");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let without = text(&coloured(&["check", &bad], &[]).stderr);
    let with = text(&coloured(&["--color", "always", "check", &bad], &[]).stderr);
    assert!(!without.contains('\x1b') && with.contains("\x1b["), "{with}");
    // Someone at a terminal is told where there is more, once.
    let hint = "\n`loopwright explain-code unknown-name` says more about this\n";
    assert_eq!(plain(&with), format!("{without}{hint}"));
    // The option comes before the variable, which comes before the terminal.
    let asked = coloured(&["check", "--color", "always", &bad], &[("NO_COLOR", "1")]);
    assert_eq!(text(&asked.stderr), with);
    assert_eq!(text(&coloured(&["check", &bad], &[("NO_COLOR", "1")]).stderr), without);

    let (kernel, pipeline) = (example("kernels/transpose.lw"), example("pipelines/transpose/tiled.pipe"));
    let explained = text(&coloured(&["explain", &kernel, &pipeline], &[]).stdout);
    let with = text(&coloured(&["--color", "always", "explain", &kernel, &pipeline], &[]).stdout);
    assert_eq!(plain(&with), explained);
    assert!(with.contains("\x1b[32m   | + temp a_tile: f32[32, 32] shared\x1b[0m\n"), "{with}");
    assert!(with.contains("\x1b[31m   | - b[j, i] = a[i, j]"), "{with}");
    // What is read again never has any.
    for command in ["print", "cuda", "program"] {
        let with = coloured(&[command, "--color", "always", &kernel, &pipeline], &[]);
        assert_eq!(out(&with), out(&call(&[command, &kernel, &pipeline])), "{command}");
    }
    let help = coloured(&["--help", "--color", "always"], &[]);
    assert!(help.status.success());
}
