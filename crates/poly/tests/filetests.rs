//! Runs `filetests/*.poly`: queries with answers derived by hand, each made twice, in plain Rust
//! and by isl alone.
//!
//! One statement per line; `#` starts a comment.
//!
//! ```text
//! let NAME = TEXT                 a set or a map
//! let NAME = OPERATION OPERANDS   its result: see `result` below
//! empty NAME yes|no
//! subset NAME NAME yes|no
//! equal NAME NAME yes|no
//! single NAME yes|no              single-valued
//! has NAME x=1,y=2 yes|no         whether a point belongs
//! range NAME SUM LOW HIGH         of a function, `none` where unbounded, `0 -1` where empty
//! prints NAME TEXT
//! sample NAME x=1,y=2             a small point, or `none`
//! bounds NAME x [NAMES] LOWER .. UPPER [if GUARDS]   of dimension x in terms of the names, several separated by `|`
//! error TEXT OFFSET MESSAGE       text that is refused, in quotes
//! ```

use std::{collections::BTreeMap, fmt::Display, path::Path};

use loopwright_filetest::{Filetest, read};
use loopwright_poly::{Aff, Error, Map, Name, Set, with_isl_only};

#[derive(Clone)]
enum Value {
    Set(Set),
    Map(Map),
}

impl Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Set(s) => s.fmt(f),
            Value::Map(m) => m.fmt(f),
        }
    }
}

type Outcome<T> = Result<T, String>;

struct Run {
    values: BTreeMap<String, Value>,
    queries: usize,
}

fn fail<E: Display>(error: E) -> String {
    error.to_string()
}

fn parse(text: &str) -> Outcome<Value> {
    match text.parse::<Set>() {
        Ok(set) => Ok(Value::Set(set)),
        Err(Error::Syntax { message, .. }) if message.starts_with("a set has one tuple") => {
            text.parse().map(Value::Map).map_err(fail)
        }
        Err(error) => Err(fail(error)),
    }
}

/// A function in the syntax of a set, of any names.
fn function(text: &str) -> Outcome<Aff> {
    let names: Vec<&str> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''))
        .map(|w| w.trim_start_matches(|c: char| c.is_ascii_digit()))
        .filter(|w| w.starts_with(|c: char| c.is_alphabetic()) && !["mod", "floor", "ceil"].contains(w))
        .collect();
    let mut params: Vec<&str> = names.clone();
    params.sort_unstable();
    params.dedup();
    let set: Set =
        format!("[{}] -> {{ [value'] : value' = {text} }}", params.join(", ")).parse().map_err(fail)?;
    let aff = &set.disjuncts()[0].constraints()[0].aff;
    let value = Aff::var("value'").scale(aff.coefficient("value'")).map_err(fail)?;
    aff.sub(&value).and_then(|rest| rest.scale(-aff.coefficient("value'"))).map_err(fail)
}

fn point(text: &str) -> Outcome<BTreeMap<Name, i64>> {
    text.split(',')
        .map(|pair| {
            let (name, value) = pair.split_once('=').ok_or(format!("`{pair}` is no `name=value`"))?;
            Ok((Name::new(name), value.parse().map_err(fail)?))
        })
        .collect()
}

fn names(text: &str) -> Vec<Name> {
    text.split(',').map(str::trim).filter(|n| !n.is_empty()).map(Name::new).collect()
}

fn yes(text: &str) -> Outcome<bool> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => Err(format!("`{other}` is neither yes nor no")),
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(got: T, expected: T) -> Outcome<()> {
    if got == expected { Ok(()) } else { Err(format!("got {got:?}, expected {expected:?}")) }
}

impl Run {
    fn get(&self, name: &str) -> Outcome<Value> {
        self.values.get(name).cloned().ok_or(format!("nothing is called `{name}`"))
    }

    fn set(&self, name: &str) -> Outcome<Set> {
        match self.get(name)? {
            Value::Set(set) => Ok(set),
            Value::Map(_) => Err(format!("`{name}` is a map")),
        }
    }

    fn map(&self, name: &str) -> Outcome<Map> {
        match self.get(name)? {
            Value::Map(map) => Ok(map),
            Value::Set(_) => Err(format!("`{name}` is a set")),
        }
    }

    fn result(&self, text: &str) -> Outcome<Value> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let set = |s: Result<Set, Error>| s.map(Value::Set).map_err(fail);
        let map = |m: Result<Map, Error>| m.map(Value::Map).map_err(fail);
        match words.as_slice() {
            ["lex_lt", dims] => map(Map::lex_lt(&names(dims))),
            ["lex_le", dims] => map(Map::lex_le(&names(dims))),
            [operation, operand] => match (*operation, self.get(operand)?) {
                ("complement", Value::Set(s)) => set(s.complement()),
                ("complement", Value::Map(m)) => map(m.complement()),
                ("lexmin", Value::Set(s)) => set(s.lexmin()),
                ("lexmin", Value::Map(m)) => map(m.lexmin()),
                ("lexmax", Value::Set(s)) => set(s.lexmax()),
                ("lexmax", Value::Map(m)) => map(m.lexmax()),
                ("coalesce", Value::Set(s)) => set(s.coalesce()),
                ("identity", Value::Set(s)) => map(s.identity()),
                ("params", Value::Set(s)) => set(s.params_domain()),
                ("reverse", Value::Map(m)) => map(Ok(m.reverse())),
                ("domain", Value::Map(m)) => set(m.domain()),
                ("range", Value::Map(m)) => set(m.range()),
                _ => Err(format!("no operation `{text}`")),
            },
            [operation, left, right] => match (*operation, self.get(left)?) {
                ("project", Value::Set(s)) => set(s.project_out(&names(right))),
                ("project", Value::Map(m)) => map(m.project_out(&names(right))),
                ("fix", Value::Set(s)) => set(s.fix_params(&point(right)?)),
                ("dim_min", Value::Set(s)) => set(s.dim_min(&Name::new(right))),
                ("dim_max", Value::Set(s)) => set(s.dim_max(&Name::new(right))),
                ("apply", Value::Set(s)) => set(s.apply(&self.map(right)?)),
                ("preimage", Value::Set(s)) => set(s.preimage(&self.map(right)?)),
                ("intersect", Value::Set(s)) => set(s.intersect(&self.set(right)?)),
                ("union", Value::Set(s)) => set(s.union(&self.set(right)?)),
                ("subtract", Value::Set(s)) => set(s.subtract(&self.set(right)?)),
                ("gist", Value::Set(s)) => set(s.gist(&self.set(right)?)),
                ("intersect", Value::Map(m)) => map(m.intersect(&self.map(right)?)),
                ("union", Value::Map(m)) => map(m.union(&self.map(right)?)),
                ("subtract", Value::Map(m)) => map(m.subtract(&self.map(right)?)),
                ("then", Value::Map(m)) => map(m.then(&self.map(right)?)),
                ("within", Value::Map(m)) => map(m.intersect_domain(&self.set(right)?)),
                _ => Err(format!("no operation `{text}`")),
            },
            _ => Err(format!("no operation `{text}`")),
        }
    }

    fn line(&mut self, line: &str) -> Outcome<()> {
        let (head, rest) = line.split_once(' ').ok_or("a statement has operands")?;
        let rest = rest.trim();
        if head == "let" {
            let (name, text) = rest.split_once('=').ok_or("`let` needs `=`")?;
            let text = text.trim();
            let value = if text.contains('{') { parse(text)? } else { self.result(text)? };
            self.values.insert(name.trim().to_string(), value);
            return Ok(());
        }
        self.queries += 1;
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (head, words.as_slice()) {
            ("empty", [name, answer]) => {
                let got = match self.get(name)? {
                    Value::Set(s) => s.is_empty(),
                    Value::Map(m) => m.is_empty(),
                };
                expect(got.map_err(fail)?, yes(answer)?)
            }
            ("subset" | "equal", [left, right, answer]) => {
                let got = match (head, self.get(left)?, self.get(right)?) {
                    ("subset", Value::Set(a), Value::Set(b)) => a.is_subset(&b),
                    ("subset", Value::Map(a), Value::Map(b)) => a.is_subset(&b),
                    (_, Value::Set(a), Value::Set(b)) => a.is_equal(&b),
                    (_, Value::Map(a), Value::Map(b)) => a.is_equal(&b),
                    _ => return Err("a set and a map do not compare".into()),
                };
                expect(got.map_err(fail)?, yes(answer)?)
                    .map_err(|e| format!("{e}; {left} is {}", self.values[*left]))
            }
            ("single", [name, answer]) => {
                expect(self.map(name)?.is_single_valued().map_err(fail)?, yes(answer)?)
            }
            ("has", [name, at, answer]) => {
                let at = point(at)?;
                let value = |n: &Name| at.get(n).copied();
                let got = match self.get(name)? {
                    Value::Set(s) => s.contains(&value),
                    Value::Map(m) => m.contains(&value),
                };
                expect(got.ok_or("a name has no value")?, yes(answer)?)
            }
            ("range", [name, sum @ .., low, high]) => {
                let end = |text: &str| match text {
                    "none" => Ok(None),
                    number => number.parse().map(Some).map_err(fail),
                };
                let got = self.set(name)?.constant_range(&function(&sum.join(" "))?).map_err(fail)?;
                expect(got, (end(low)?, end(high)?))
            }
            ("prints", [name, ..]) => {
                let expected = rest[name.len()..].trim();
                expect(self.get(name)?.to_string().as_str(), expected)
            }
            ("sample", [name, at]) => {
                let expected = if *at == "none" { None } else { Some(point(at)?) };
                let none = BTreeMap::new();
                let got = match self.get(name)? {
                    Value::Set(s) => s.sample(&none),
                    Value::Map(m) => m.sample(&none),
                };
                expect(got.map_err(fail)?, expected)
            }
            ("bounds", [name, dim, ..]) => {
                let text = rest[rest.find('[').ok_or("`[names]` is missing")? + 1..].trim();
                let (kept, text) = text.split_once(']').ok_or("`]` is missing")?;
                let kept = names(kept);
                let (text, guards) = text.split_once(" if ").unwrap_or((text, ""));
                let (low, high) = text.split_once("..").ok_or("`..` is missing")?;
                let set = self.set(name)?;
                let [system] = set.disjuncts() else { return Err("bounds need one disjunct".into()) };
                let bounds = system.bounds(&Name::new(dim), &|n| kept.contains(n)).map_err(fail)?;
                expect(bounds.exact, true)?;
                let list = |text: &str| {
                    text.split('|')
                        .map(str::trim)
                        .filter(|t| !t.is_empty())
                        .map(function)
                        .collect::<Outcome<Vec<_>>>()
                };
                // In any order: it does not matter which of two bounds is written first.
                let sorted = |mut list: Vec<Aff>| {
                    list.sort();
                    list
                };
                let lower: Result<Vec<Aff>, Error> = bounds.lower.iter().map(|b| b.ceil()).collect();
                let upper: Result<Vec<Aff>, Error> = bounds.upper.iter().map(|b| b.floor()).collect();
                expect(sorted(lower.map_err(fail)?), sorted(list(low)?))?;
                expect(sorted(upper.map_err(fail)?), sorted(list(high)?))?;
                let params: Vec<&str> = kept.iter().map(Name::as_str).collect();
                let formula = if guards.trim().is_empty() { "true" } else { guards.trim() };
                let wanted: Set =
                    format!("[{}] -> {{ [{dim}] : {formula} }}", params.join(", ")).parse().map_err(fail)?;
                let got = Set::from_constraints(&[Name::new(dim)], &bounds.guards).map_err(fail)?;
                expect(
                    (got.is_equal(&wanted).map_err(fail)?, bounds.guards.is_empty()),
                    (true, guards.is_empty()),
                )
            }
            ("error", _) => {
                let text =
                    rest.strip_prefix('"').and_then(|r| r.split_once('"')).ok_or("a text in quotes")?;
                let (offset, message) = text.1.trim().split_once(' ').ok_or("an offset and a message")?;
                let expected =
                    Error::Syntax { message: message.into(), offset: offset.parse().map_err(fail)? };
                expect(parse(text.0).err(), Some(expected.to_string()))
            }
            _ => Err(format!("no statement `{head}`")),
        }
    }
}

fn run(test: &Filetest, failures: &mut Vec<String>) -> usize {
    let mut run = Run { values: BTreeMap::new(), queries: 0 };
    for (k, line) in test.text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if let Err(message) = run.line(line) {
            failures.push(format!("{}:{}: {line}\n  {message}", test.name, k + 1));
        }
    }
    run.queries
}

fn all() -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../poly/tests/filetests");
    let files = read(&folder, "poly", &[]);
    let mut failures = Vec::new();
    let queries = files.iter().map(|file| run(file, &mut failures)).sum();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    queries
}

#[test]
fn plain_first() {
    assert!(all() > 50);
}

#[test]
fn isl_only() {
    assert!(with_isl_only(all) > 50);
}
