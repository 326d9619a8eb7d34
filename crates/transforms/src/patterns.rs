//! Patterns: what a list of names may say instead of each name.
//!
//! # In pipelines
//!
//! Where a step takes a list of inames, instructions or temporaries, an entry may be a pattern:
//! `tag_inames(*_inner: unroll)`, `duplicate_inames([i], [reads:x & !id:load_*])`.
//!
//! | pattern | an instruction matches | an iname matches |
//! |---|---|---|
//! | `load_*`, `t?` | by its id | by its name |
//! | `id:load_*` | by its id | if one of its instructions does |
//! | `reads:x` | that reads the array or scalar | if one of its instructions does |
//! | `writes:out*` | that writes it | if one of its instructions does |
//! | `accesses:x` | that reads or writes it | if one of its instructions does |
//! | `role:copy` | that copies, as a prefetch made it; `role:declared` does declared work | if one of its instructions does |
//! | `within:i` | inside the iname, reductions included | nested inside the iname |
//! | `tag:thread.*` | inside an iname of this tag | of this tag; `tag:seq` has none |
//! | `space:shared` | – | – |
//! | `p & q`, `p \| q`, `!p`, `(p)` | as one expects; `!` binds first, then `&` | the same |
//!
//! A temporary matches by its name, by `space:shared`, `space:private` or `space:global`, and by
//! `id:`, `reads:` and so on if an instruction that accesses it does. In words, `*` stands for any
//! letters, `?` for one.
//!
//! # Meaning
//!
//! A pattern stands for the matching names of the kernel that the step is applied to, in the order
//! of their declaration: inames as the domains declare them, those that a split has replaced left
//! out; instructions in text order; temporaries as declared. Names that the list says itself, or
//! that an earlier pattern stands for, are not repeated. A pattern that matches nothing is refused.
//! The step is then the one with the names, which is judged and, where it is vouched for, recorded.
//!
//! Text without `*`, `?`, `:`, `&`, `|`, `!` and brackets is a name, as it has always been.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{AddressSpace, Diagnostic, Instruction, KernelData, Lookup, Name, Role};

use crate::names;

/// What the names of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Inames,
    Instructions,
    Temporaries,
}

impl Subject {
    fn words(self) -> &'static str {
        match self {
            Subject::Inames => "inames",
            Subject::Instructions => "instructions",
            Subject::Temporaries => "temporaries",
        }
    }
}

/// A pattern, parsed; `Not`, `And` and `Or` combine what simpler ones select.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// The one name that is equal to it.
    Name(String),
    /// `key:glob`: names about which the key's property matches the glob.
    Key(Key, String),
    Not(Box<Pattern>),
    And(Box<Pattern>, Box<Pattern>),
    Or(Box<Pattern>, Box<Pattern>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Id,
    Reads,
    Writes,
    Accesses,
    Role,
    Within,
    Tag,
    Space,
}

const KEYS: [(&str, Key); 8] = [
    ("id", Key::Id),
    ("reads", Key::Reads),
    ("writes", Key::Writes),
    ("accesses", Key::Accesses),
    ("role", Key::Role),
    ("within", Key::Within),
    ("tag", Key::Tag),
    ("space", Key::Space),
];

/// The roles by their words.
const ROLES: [&str; 2] = ["copy", "declared"];

/// How deep brackets and `!` may nest.
const DEEPEST: usize = 32;

/// Whether the text of an entry is a pattern and not a name.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.bytes().any(|c| b"*?:&|!()".contains(&c))
}

/// Checks the text of a pattern; the error is a sentence on what is wrong.
pub(crate) fn check(text: &str) -> Result<(), String> {
    parse(text).map(drop)
}

fn parse(text: &str) -> Result<Pattern, String> {
    let mut reader = Reader { text, at: 0 };
    let pattern = reader.any(0)?;
    reader.skip();
    match text[reader.at..].chars().next() {
        None => Ok(pattern),
        Some(c) => Err(format!("`{c}` is not expected there")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, c: char) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn word(&mut self, more: &[u8]) -> &'t str {
        self.skip();
        let rest = &self.text[self.at..];
        let is_word = |c: u8| c.is_ascii_alphanumeric() || b"_*?".contains(&c) || more.contains(&c);
        let length = rest.bytes().position(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn any(&mut self, depth: usize) -> Result<Pattern, String> {
        let mut found = self.all(depth)?;
        while self.take('|') {
            found = Pattern::Or(Box::new(found), Box::new(self.all(depth)?));
        }
        Ok(found)
    }

    fn all(&mut self, depth: usize) -> Result<Pattern, String> {
        let mut found = self.one(depth)?;
        while self.take('&') {
            found = Pattern::And(Box::new(found), Box::new(self.one(depth)?));
        }
        Ok(found)
    }

    fn one(&mut self, depth: usize) -> Result<Pattern, String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".into());
        }
        if self.take('!') {
            return Ok(Pattern::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.take('(') {
            let inner = self.any(depth + 1)?;
            return if self.take(')') { Ok(inner) } else { Err("a `(` is not closed".into()) };
        }
        let word = self.word(&[]);
        if word.is_empty() {
            return Err("a name or a pattern is missing".into());
        }
        if !self.take(':') {
            return Ok(Pattern::Name(word.to_string()));
        }
        let Some((_, key)) = KEYS.iter().find(|(text, _)| *text == word) else {
            let known = KEYS.iter().map(|(text, _)| *text);
            return Err(match names::nearest(word, known.clone()) {
                Some(near) => format!("there is no key `{word}`; did you mean `{near}`?"),
                None => format!("there is no key `{word}`; the keys are {}", names::list(known)),
            });
        };
        let value = self.word(b".");
        if value.is_empty() {
            return Err(format!("what `{word}:` is to match is missing"));
        }
        if *key == Key::Role && !ROLES.iter().any(|role| matches(value, role)) {
            return Err(format!("there is no role `{value}`; the roles are {}", names::list(ROLES)));
        }
        Ok(Pattern::Key(*key, value.to_string()))
    }
}

/// Whether a word with `*` and `?` matches a text as a whole.
fn matches(glob: &str, text: &str) -> bool {
    let (glob, text) = (glob.as_bytes(), text.as_bytes());
    // The last `*` and how much of the text it takes.
    let (mut g, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match glob.get(g) {
            Some(b'*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(c) if *c == b'?' || *c == text[t] => {
                g += 1;
                t += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (g, t) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|c| *c == b'*')
}

/// The kernel in which patterns are looked up.
struct Context<'k> {
    lookup: Lookup<'k>,
    /// For each instruction, the base inames of each of its parts, outermost first.
    parts: Vec<Vec<Vec<Name>>>,
}

impl<'k> Context<'k> {
    fn new(kernel: &'k KernelData) -> Self {
        let lookup = Lookup::new(kernel);
        let parts = kernel
            .instructions
            .iter()
            .map(|i| kernel.parts(i).iter().map(|p| lookup.inames_of(i, p.part)).collect())
            .collect();
        Context { lookup, parts }
    }

    fn kernel(&self) -> &'k KernelData {
        self.lookup.kernel()
    }

    /// All names that a pattern may stand for, in the order of their declaration.
    fn all(&self, subject: Subject) -> Vec<Name> {
        let kernel = self.kernel();
        match subject {
            Subject::Inames => {
                let inames = kernel.domains.iter().flat_map(|d| &d.inames);
                inames.filter(|i| self.lookup.definition(i).is_none()).cloned().collect()
            }
            Subject::Instructions => kernel.instructions.iter().map(|i| i.id.clone()).collect(),
            Subject::Temporaries => kernel.temporaries.iter().map(|t| t.name.clone()).collect(),
        }
    }

    fn matches(&self, pattern: &Pattern, subject: Subject, name: &Name) -> bool {
        match pattern {
            Pattern::Name(glob) => matches(glob, name),
            Pattern::Not(p) => !self.matches(p, subject, name),
            Pattern::And(p, q) => self.matches(p, subject, name) && self.matches(q, subject, name),
            Pattern::Or(p, q) => self.matches(p, subject, name) || self.matches(q, subject, name),
            Pattern::Key(key, glob) => match (key, subject) {
                (Key::Tag, Subject::Inames) => matches(glob, &self.kernel().tag(name).to_string()),
                (Key::Within, Subject::Inames) => self.is_nested(name, glob),
                (Key::Space, Subject::Temporaries) => {
                    let space = self.lookup.temporary(name).map(|t| t.space);
                    matches(glob, &space.unwrap_or(AddressSpace::Private).to_string())
                }
                (Key::Space, _) => false,
                (key, Subject::Instructions) => {
                    self.lookup.instruction_number(name).is_some_and(|k| self.instruction(k, *key, glob))
                }
                (key, Subject::Inames) => (0..self.parts.len()).any(|k| {
                    self.parts[k].iter().flatten().any(|n| n == name) && self.instruction(k, *key, glob)
                }),
                (key, Subject::Temporaries) => (0..self.parts.len()).any(|k| {
                    accesses(&self.kernel().instructions[k], name) && self.instruction(k, *key, glob)
                }),
            },
        }
    }

    /// Whether an instruction matches `key:glob`.
    fn instruction(&self, number: usize, key: Key, glob: &str) -> bool {
        let i = &self.kernel().instructions[number];
        let inames = || self.parts[number].iter().flatten();
        let reads = || i.reads().iter().any(|n| matches(glob, n));
        let writes = || i.targets.iter().any(|t| matches(glob, &t.array));
        match key {
            Key::Id => matches(glob, &i.id),
            Key::Reads => reads(),
            Key::Writes => writes(),
            Key::Accesses => reads() || writes(),
            Key::Role => {
                matches(glob, if matches!(i.role, Role::Copies { .. }) { ROLES[0] } else { ROLES[1] })
            }
            Key::Within => inames().any(|n| matches(glob, n)),
            Key::Tag => inames().any(|n| matches(glob, &self.kernel().tag(n).to_string())),
            Key::Space => false,
        }
    }

    /// Whether every part inside `iname` is inside an iname that matches and lies around it: one
    /// with more parts, or with the same and before it.
    fn is_nested(&self, iname: &Name, glob: &str) -> bool {
        let parts = || self.parts.iter().flatten();
        let with = |n: &Name| parts().filter(|p| p.contains(n)).count();
        let own: Vec<&Vec<Name>> = parts().filter(|p| p.contains(iname)).collect();
        let Some(first) = own.first() else { return false };
        first.iter().filter(|n| *n != iname && matches(glob, n)).any(|outer| {
            let around = own.iter().all(|p| p.contains(outer));
            let before = first.iter().position(|n| n == outer) < first.iter().position(|n| n == iname);
            around && (with(outer) > own.len() || before)
        })
    }
}

fn accesses(i: &Instruction, array: &Name) -> bool {
    i.reads().contains(array) || i.targets.iter().any(|t| t.array == *array)
}

/// Replaces the patterns among names, each with a value that goes along with it, by the names that
/// they stand for. See the module's head.
pub(crate) fn expand<T: Clone>(
    kernel: &KernelData,
    subject: Subject,
    list: &mut Vec<(Name, T)>,
) -> Result<(), Diagnostic> {
    if !list.iter().any(|(name, _)| is_pattern(name)) {
        return Ok(());
    }
    let context = Context::new(kernel);
    let all = context.all(subject);
    let mut said: BTreeSet<Name> = list.iter().map(|(n, _)| n.clone()).filter(|n| !is_pattern(n)).collect();
    let mut expanded = Vec::new();
    for (name, value) in list.iter() {
        if !is_pattern(name) {
            expanded.push((name.clone(), value.clone()));
            continue;
        }
        let pattern = parse(name).map_err(|why| not_a_pattern(name, &why))?;
        let found: Vec<&Name> = all.iter().filter(|n| context.matches(&pattern, subject, n)).collect();
        if found.is_empty() {
            let words = subject.words();
            let there = names::list(all.iter().map(Name::as_str));
            return Err(Diagnostic::new("pattern-nothing", format!("`{name}` matches none of the {words}"))
                .help(format!("the {words} are {there}")));
        }
        for found in found {
            if said.insert(found.clone()) {
                expanded.push((found.clone(), value.clone()));
            }
        }
    }
    *list = expanded;
    Ok(())
}

/// As [`expand`], for names alone.
pub(crate) fn expand_names(
    kernel: &KernelData,
    subject: Subject,
    list: &mut Vec<Name>,
) -> Result<(), Diagnostic> {
    let mut pairs: Vec<(Name, ())> = list.drain(..).map(|n| (n, ())).collect();
    let done = expand(kernel, subject, &mut pairs);
    *list = pairs.into_iter().map(|(n, ())| n).collect();
    done
}

/// The refusal of a text that is neither a name nor a pattern.
pub(crate) fn not_a_pattern(text: &str, why: &str) -> Diagnostic {
    Diagnostic::new("step-arguments", format!("`{text}` is no pattern: {why}"))
        .help("a pattern is written as `*_inner`, `id:load_*`, `reads:x & !within:i`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_as_a_whole() {
        for (glob, text, expected) in [
            ("*", "", true),
            ("i", "i", true),
            ("i", "ii", false),
            ("*_inner", "i_inner", true),
            ("*_inner", "i_inner_outer", false),
            ("i_*_*", "i_inner_outer", true),
            ("?_*r", "i_outer", true),
            ("??", "i", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
        ] {
            assert_eq!(matches(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn not_binds_first_and_or_last() {
        let name = |n: &str| Pattern::Name(n.into());
        let expected = Pattern::Or(
            Box::new(Pattern::And(Box::new(Pattern::Not(Box::new(name("a")))), Box::new(name("b")))),
            Box::new(Pattern::Key(Key::Id, "c*".into())),
        );
        assert_eq!(parse("!a & b | id:c*"), Ok(expected.clone()));
        assert_eq!(parse("((!(a)) & b) | (id : c*)"), Ok(expected));
        for (text, why) in [
            ("a &", "a name or a pattern is missing"),
            ("(a | b", "a `(` is not closed"),
            ("a b", "`b` is not expected there"),
            ("read:x", "there is no key `read`; did you mean `reads`?"),
            ("id:", "what `id:` is to match is missing"),
            ("role:prefetch", "there is no role `prefetch`; the roles are `copy` and `declared`"),
        ] {
            assert_eq!(parse(text), Err(why.to_string()), "{text}");
        }
    }
}
