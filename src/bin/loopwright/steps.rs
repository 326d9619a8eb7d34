//! `loopwright steps`: the reference of the steps.

use std::fmt::Write;

use loopwright::transforms::{Page, Step, older_names_of};

use crate::{input::Failure, pages::beside_steps, report};

/// What has a page.
pub fn names() -> Vec<&'static str> {
    let beside = beside_steps().into_iter().map(|(name, ..)| name);
    Step::pages().iter().map(|page| page.name).chain(beside).collect()
}

/// One line per step, or one step's page.
pub fn steps(name: Option<&str>) -> Result<(), Failure> {
    let pages = Step::pages();
    let Some(name) = name else { return report::say(&overview(&pages)) };
    if let Some(page) = pages.iter().find(|p| p.name == name || p.aliases.contains(&name)) {
        return report::say(&whole(page));
    }
    match beside_steps().into_iter().find(|(own, ..)| *own == name) {
        Some((.., page)) => report::say(&page),
        None => Err(unknown(name, &pages).into()),
    }
}

/// Each step in its text form, with its effect.
fn overview(pages: &[Page]) -> String {
    let usage = |page: &Page| page.usage.first().map_or(page.name, |(usage, _)| usage).to_string();
    let widest = pages.iter().map(|p| usage(p).len()).filter(|w| *w <= 44).max().unwrap_or(0);
    let mut text = String::new();
    for page in pages {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:widest$}  {}", usage(page), page.summary());
    }
    text.push('\n');
    for (name, summary, _) in beside_steps() {
        let _ = writeln!(text, "{name:widest$}  {summary}");
    }
    text + "\n`loopwright steps NAME` prints a step's page: arguments, legality, a kernel before and after.\n"
}

fn whole(page: &Page) -> String {
    let mut text = format!("# {}\n\n{}", page.name, page.text);
    for (usage, loopy) in page.usage {
        let _ = write!(text, "\n`{usage}`, in loopy: {loopy}");
    }
    let older = older_names_of(page.name);
    let is_older = |name: &str| older.iter().any(|of| of.older == name);
    let others: Vec<&str> = page.aliases.iter().copied().filter(|name| !is_older(name)).collect();
    if !others.is_empty() {
        let _ = write!(text, "\nAlso accepted: {}", others.join(", "));
    }
    if !older.is_empty() {
        let older: Vec<String> = older.iter().map(|of| format!("`{}` for `{}`", of.older, of.now)).collect();
        let _ = write!(text, "\nOlder names, which are read until 1.0: {}", older.join(", "));
    }
    text + "\n"
}

fn unknown(name: &str, pages: &[Page]) -> loopwright::prelude::Diagnostic {
    let refusal = loopwright::prelude::Diagnostic::new("unknown-step", format!("there is no step `{name}`"));
    if let Some(ours) = loopwright::transforms::ours(name) {
        return refusal.help(format!("it is called {ours} here"));
    }
    let similar: Vec<&str> =
        pages.iter().map(|p| p.name).filter(|n| n.contains(name) || name.contains(n)).collect();
    // Everything contains a name of no letters.
    let similar = if name.is_empty() { Vec::new() } else { similar };
    let near = loopwright::transforms::nearest(name, pages.iter().map(|p| p.name));
    match (similar.as_slice(), near) {
        ([], Some(near)) => refusal.help(format!("did you mean `{near}`?")),
        ([], None) => refusal.help("`loopwright steps` lists all of them"),
        (similar, _) => refusal.help(format!("perhaps {}", similar.join(", "))),
    }
}
