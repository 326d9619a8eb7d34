//! The reference pages of the steps, as `loopwright steps` prints them.
//!
//! A page is the documentation of the step's structure, as rustdoc shows it: nothing is written
//! twice, and every step has a page.

use crate::Step;

/// The reference page of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The step's name in text.
    pub name: &'static str,
    /// Other names under which the step is parsed.
    pub aliases: &'static [&'static str],
    /// Its text form, and its name in loopy.
    pub usage: &'static [(&'static str, &'static str)],
    /// The reference page of the step, as Markdown.
    pub text: String,
    /// Its arguments in the order of its text; `None` for steps with a text form of their own, such
    /// as `assume(n >= 1)`.
    pub parameters: Option<&'static [Parameter]>,
}

/// An argument of a step, for those who generate the step's methods in other languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, which is also its key in text.
    pub name: &'static str,
    /// How it is written in the step's text.
    pub form: Form,
    /// Its type in Rust: `Name`, `Number`, `i64`, `Vec<Name>`, `Option<Name>`, or that of a word.
    pub of: &'static str,
}

/// How an argument of a step is written in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `value`, at its position among the arguments.
    Positional,
    /// All arguments without a key, of which there may be several.
    AllPositional,
    /// `name=value`, which may be left out.
    Keyed,
}

impl Page {
    /// The effect of the step, in one sentence.
    pub fn summary(&self) -> String {
        let paragraph: Vec<&str> = self.text.lines().take_while(|line| !line.trim().is_empty()).collect();
        let paragraph = paragraph.join(" ");
        // The text form comes first: "`unroll(i)`: unrolls the loop over `i`, ...".
        let sentence = paragraph.split_once("`: ").map_or(paragraph.as_str(), |(_, rest)| rest);
        let end = sentence.find(". ").map_or(sentence.len(), |end| end + 1);
        sentence[..end].trim_end_matches(':').to_string()
    }
}

impl Step {
    /// The reference pages of the steps that come with the library, in the order of
    /// [`Step::NAMES`].
    pub fn pages() -> Vec<Page> {
        let documented = Step::DOCUMENTED.iter().zip(Step::TABLE);
        documented
            .map(|(&(name, aliases, attributes, parameters), usage)| Page {
                name,
                aliases,
                usage,
                text: page(attributes),
                parameters,
            })
            .collect()
    }
}

/// The page in the attributes of a structure, without lines that examples hide.
fn page(attributes: &[&str]) -> String {
    let mut text = String::new();
    let mut in_code = false;
    for line in attributes.iter().filter_map(|attribute| doc_line(attribute)) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if in_code && (line == "#" || line.starts_with("# ")) {
            continue;
        }
        text.push_str(&if in_code { line } else { without_items(&line) });
        text.push('\n');
    }
    text
}

/// A line in which links to items of Rust are their texts, and those of steps the steps' names.
fn without_items(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](crate::").and_then(|(text, tail)| Some((text, tail.split_once(')')?)));
        out.push_str(before);
        match link.filter(|(text, _)| !text.contains(['[', ']'])) {
            Some((text, (item, tail))) => {
                let step = snake(item);
                match Step::NAMES.contains(&step.as_str()) {
                    true => out.push_str(&format!("`{step}`")),
                    false => out.push_str(text),
                }
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

/// `AddPrefetch` as `add_prefetch`.
fn snake(item: &str) -> String {
    let mut text = String::new();
    for (k, c) in item.chars().enumerate() {
        if c.is_uppercase() && k > 0 {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

/// The line of a `doc = "..."` attribute, as `stringify!` prints it; `None` of other attributes.
fn doc_line(attribute: &str) -> Option<String> {
    let value = attribute.strip_prefix("doc")?.trim_start().strip_prefix('=')?.trim_start();
    let line = match value.strip_prefix('r') {
        Some(raw) => raw.trim_matches('#').strip_prefix('"')?.strip_suffix('"')?.to_string(),
        None => unescaped(value.strip_prefix('"')?.strip_suffix('"')?),
    };
    Some(line.strip_prefix(' ').unwrap_or(&line).to_string())
}

fn unescaped(literal: &str) -> String {
    let mut text = String::new();
    let mut chars = literal.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            (c, false) => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_attributes() {
        assert_eq!(doc_line(r#"doc = " a \"b\" \\ c""#).as_deref(), Some(r#"a "b" \ c"#));
        assert_eq!(doc_line(r##"doc = r#" a "b" c"#"##).as_deref(), Some(r#"a "b" c"#));
        assert_eq!(doc_line(r#"doc = """#).as_deref(), Some(""));
        assert_eq!(doc_line("serde(default)"), None);
    }

    #[test]
    fn links_to_items_are_names_of_steps_or_texts() {
        assert_eq!(
            without_items("as [`AddPrefetch`](crate::AddPrefetch), by a [pattern](crate::patterns) x[i]"),
            "as `add_prefetch`, by a pattern x[i]"
        );
        assert_eq!(
            without_items("see [the book](https://a.b) and x[i] (crate::a)"),
            "see [the book](https://a.b) and x[i] (crate::a)"
        );
        assert_eq!(without_items("[`pipeline`](crate::Pipelined)"), "`pipeline`");
    }

    #[test]
    fn every_step_has_a_page_with_what_it_does_and_an_example() {
        let pages = Step::pages();
        assert_eq!(pages.iter().map(|p| p.name).collect::<Vec<_>>(), Step::NAMES);
        for page in pages {
            assert!(page.text.contains("# Legality"), "{}", page.name);
            assert!(!page.text.contains("crate::"), "{}: a link to an item of Rust", page.name);
            assert!(page.text.contains("# Before and after"), "{}", page.name);
            let summary = page.summary();
            assert!(summary.len() > 20 && !summary.contains("`: "), "{}: {summary}", page.name);
        }
    }
}
