//! The positions of a kernel's items in a text.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use crate::{
    Name, Place,
    text::{
        lexer::{Tok, lex},
        library::Sections,
    },
};

/// An item of a kernel, by its number in its list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    Header,
    Arg(usize),
    Temporary(usize),
    Constant(usize),
    Struct(usize),
    Domain(usize),
    Constraint(usize, usize),
    Definition(usize),
    Instruction(usize),
    Tag(String),
    Assumption(usize),
    Fact(usize),
    Reduction(usize),
    Function(usize),
    Rule(usize),
    Atom(usize),
    Tree,
}

/// The spans of a kernel's items in one text.
#[derive(Clone, Debug)]
pub(crate) struct SourceMap {
    pub sections: Sections,
    /// All texts.
    pub text: Arc<str>,
    pub spans: BTreeMap<Item, Range<usize>>,
    /// Of the items that calls have made, what was called in which bytes; the innermost call first.
    pub calls: BTreeMap<Item, Vec<(Name, Range<usize>)>>,
}

impl SourceMap {
    pub fn new(sections: &Sections, text: &Arc<str>) -> Self {
        SourceMap {
            sections: sections.clone(),
            text: text.clone(),
            spans: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    /// Makes room for a domain without a place, before the one with this number.
    pub fn insert_domain(&mut self, at: usize) {
        let moved = |k: usize| if k < at { k } else { k + 1 };
        self.renumber(&|item| match item {
            Item::Domain(k) => Item::Domain(moved(k)),
            Item::Constraint(k, j) => Item::Constraint(moved(k), j),
            item => item,
        });
    }

    /// Makes room for an instruction that was made of the one with this number, before it.
    pub fn insert_instruction(&mut self, at: usize) {
        let moved = |k: usize| if k < at { k } else { k + 1 };
        let own = self.spans.get(&Item::Instruction(at)).cloned();
        let called = self.calls.get(&Item::Instruction(at)).cloned();
        self.renumber(&|item| match item {
            Item::Instruction(k) => Item::Instruction(moved(k)),
            item => item,
        });
        if let Some(span) = own {
            self.spans.insert(Item::Instruction(at), span);
        }
        if let Some(called) = called {
            self.calls.insert(Item::Instruction(at), called);
        }
    }

    /// Gives items other numbers.
    pub fn renumber(&mut self, moved: &dyn Fn(Item) -> Item) {
        self.spans = std::mem::take(&mut self.spans).into_iter().map(|(i, span)| (moved(i), span)).collect();
        self.calls =
            std::mem::take(&mut self.calls).into_iter().map(|(i, calls)| (moved(i), calls)).collect();
    }

    /// Words that say which calls have made an item, to be added to a sentence about it.
    pub fn called(&self, item: &Item) -> Option<String> {
        let calls = self.calls.get(item)?;
        let words = calls.iter().map(|(name, span)| {
            let place = self.place(span.clone());
            let before = place.text.get(..place.span.start).unwrap_or_default();
            let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
            match self.sections.number(span.start) {
                0 => format!("in `{name}`, called in line {line}"),
                _ => format!("in `{name}`, called in line {line} of {}", place.origin),
            }
        });
        Some(format!(" ({})", words.collect::<Vec<_>>().join(", ")))
    }

    /// Whether a text of a library declares the item.
    pub fn is_foreign(&self, item: &Item) -> bool {
        self.spans.get(item).is_some_and(|span| self.sections.number(span.start) > 0)
    }

    pub fn place(&self, span: Range<usize>) -> Place {
        self.sections.place(span)
    }

    /// The place of an item, narrowed to the first tokens inside it that match `part`, if there are
    /// any.
    pub fn locate(&self, item: &Item, part: &str) -> Option<Place> {
        let span = self.spans.get(item).or_else(|| match item {
            Item::Constraint(domain, _) => self.spans.get(&Item::Domain(*domain)),
            _ => self.spans.get(&Item::Header),
        })?;
        let inner = self.text.get(span.clone())?;
        Some(self.place(match find(inner, part) {
            Some(found) => span.start + found.start..span.start + found.end,
            None => span.clone(),
        }))
    }
}

/// Where the tokens of `part` occur consecutively in `text`.
fn find(text: &str, part: &str) -> Option<Range<usize>> {
    let part_tokens = lex(part);
    let wanted: Vec<&str> =
        part_tokens.iter().filter(|t| t.tok != Tok::End).map(|t| &part[t.span.clone()]).collect();
    if wanted.is_empty() {
        return None;
    }
    let tokens = lex(text);
    if wanted.len() > tokens.len() {
        return None;
    }
    (0..=tokens.len() - wanted.len()).find_map(|k| {
        let here = &tokens[k..k + wanted.len()];
        here.iter()
            .zip(&wanted)
            .all(|(t, w)| &text[t.span.clone()] == *w)
            .then(|| here[0].span.start..here[wanted.len() - 1].span.end)
    })
}
