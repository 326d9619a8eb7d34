//! `explain-code` and `tags`: the pages of `docs`, which are part of the program.
//!
//! A page is what follows a heading `## name`, up to the next heading. Its first paragraph says in
//! one sentence what the name means.

use std::fmt::Write;

use loopwright::ir::did_you_mean;
use loopwright::prelude::*;

use crate::{input::Failure, report};

const CODES: &str = include_str!("../../../docs/codes.md");
const LINTS: &str = include_str!("../../../docs/lints.md");
const TAGS: &str = include_str!("../../../docs/tags.md");
const PIPELINES: &str = include_str!("../../../docs/pipelines.md");

/// A section of a document.
struct Page<'t> {
    /// The heading of the group that it is in.
    group: &'t str,
    name: &'t str,
    text: &'t str,
}

impl Page<'_> {
    /// The first paragraph, in one line.
    fn summary(&self) -> String {
        let first = self.text.split("\n\n").next().unwrap_or_default();
        without_links(&first.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

fn pages(document: &str) -> Vec<Page<'_>> {
    let (mut group, mut found) = ("", Vec::new());
    let mut begins = vec![0];
    begins.extend(document.match_indices("\n#").map(|(at, _)| at + 1));
    for (k, begin) in begins.iter().enumerate() {
        let end = begins.get(k + 1).copied().unwrap_or(document.len());
        let section = document.get(*begin..end).unwrap_or_default();
        let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
        if let Some(name) = heading.strip_prefix("## ") {
            found.push(Page { group, name: name.trim(), text: text.trim() });
        } else if let Some(name) = heading.strip_prefix("# ") {
            group = name.trim();
        }
    }
    found
}

/// `[text](target)` as the text: a terminal does not follow links.
fn without_links(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(text, tail)| Some((text, tail.split_once(')')?.1)));
        out.push_str(before);
        match link.filter(|(text, _)| !text.contains(['[', ']', '\n'])) {
            Some((text, tail)) => {
                out.push_str(text);
                rest = tail;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

/// What a pipeline has beside steps: each name with its summary, and with its page.
pub fn beside_steps() -> Vec<(&'static str, String, String)> {
    let all = pages(PIPELINES).into_iter();
    all.map(|page| (page.name, page.summary(), format!("# {}\n\n{}\n", page.name, page.text))).collect()
}

/// Whether a diagnostic's code has a page.
pub fn has_code(code: &str) -> bool {
    CODES.lines().any(|line| line.strip_prefix("## ") == Some(code))
}

/// The codes of errors and lints.
pub fn codes() -> Vec<&'static str> {
    pages(CODES).into_iter().chain(pages(LINTS)).map(|page| page.name).collect()
}

/// The names of tags.
pub fn tag_names() -> Vec<&'static str> {
    tags_of(TAGS).into_iter().flat_map(|tag| tag.names).collect()
}

/// One line for each diagnostic and each lint, or the page of one.
pub fn explain_code(code: Option<&str>) -> Result<(), Failure> {
    let all: Vec<Page<'_>> = pages(CODES).into_iter().chain(pages(LINTS)).collect();
    let Some(given) = code else { return report::say(&overview(&all)) };
    // As it is printed, with what stands around it.
    let given = given.trim();
    let code = ["error[", "warning[", "lint["].iter().find_map(|level| given.strip_prefix(level));
    let code = code.map_or(given, |rest| rest.split(']').next().unwrap_or(rest));
    match all.iter().find(|page| page.name == code) {
        Some(page) => report::say(&format!("# {}\n\n{}\n", page.name, without_links(page.text))),
        None => {
            let known: Vec<&str> = all.iter().map(|page| page.name).collect();
            Err(unknown("unknown-code", &format!("code `{code}`"), code, &known, "explain-code").into())
        }
    }
}

fn overview(pages: &[Page<'_>]) -> String {
    let widest = pages.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let (mut text, mut group) = (String::new(), "");
    for page in pages {
        // Writing to a string cannot fail.
        if page.group != group {
            group = page.group;
            let _ = writeln!(text, "{}{group}", if text.is_empty() { "" } else { "\n" });
        }
        let _ = writeln!(text, "  {:widest$}  {}", page.name, page.summary());
    }
    text + "\n`loopwright explain-code CODE` says what is wrong there, and what to do.\n"
}

/// A row of the table of tags.
struct Tag<'t> {
    names: Vec<&'t str>,
    loopy: Vec<&'t str>,
    meaning: &'t str,
}

fn tags_of(document: &str) -> Vec<Tag<'_>> {
    let table = document.lines().skip_while(|line| !line.starts_with("| tag |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.filter_map(|line| {
        let [_, tags, loopy, meaning, _] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            return None;
        };
        Some(Tag { names: quoted(tags), loopy: quoted(loopy), meaning })
    })
    .collect()
}

/// The pieces between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// One line for each tag, or what one means.
pub fn tags(name: Option<&str>) -> Result<(), Failure> {
    let all = tags_of(TAGS);
    let Some(name) = name else {
        let widest = all.iter().map(|t| t.names.join(", ").len()).filter(|w| *w <= 40).max().unwrap_or(0);
        let mut text = String::new();
        for tag in &all {
            let short = tag.meaning.split([';', '.']).next().unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:widest$}  {}", tag.names.join(", "), without_links(short));
        }
        return report::say(&(text + "\n`loopwright tags TAG` says more about one, also by loopy's name.\n"));
    };
    match all.iter().find(|t| t.names.contains(&name) || t.loopy.contains(&name)) {
        Some(tag) => {
            let loopy = match tag.loopy.as_slice() {
                [] => String::new(),
                names => format!("\nIn loopy: {}\n", names.join(", ")),
            };
            report::say(&format!("# {}\n\n{}\n{loopy}", tag.names.join(", "), without_links(tag.meaning)))
        }
        None => {
            if let Some(ours) = loopwright::transforms::foreign_tag(name) {
                let message = format!("there is no tag `{name}`");
                return Err(Diagnostic::new("unknown-tag", message)
                    .help(format!("here it is {ours}"))
                    .into());
            }
            let known: Vec<&str> = all.iter().flat_map(|t| t.names.iter().copied()).collect();
            Err(unknown("unknown-tag", &format!("tag `{name}`"), name, &known, "tags").into())
        }
    }
}

/// The refusal of a name without a page.
fn unknown(code: &'static str, what: &str, name: &str, known: &[&str], command: &str) -> Diagnostic {
    let help = did_you_mean(name, known.iter().copied());
    Diagnostic::new(code, format!("there is no {what}"))
        .help(help.unwrap_or_else(|| format!("`loopwright {command}` lists all of them")))
}
