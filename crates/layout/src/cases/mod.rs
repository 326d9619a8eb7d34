//! Runs files of cases: operations with their arguments and expected results.
//!
//! A file is a JSON object whose `cases` are objects with an `op`, its `args`, and a `result` or an
//! `error`; a layout is `{"shape": ..., "stride": ...}`, a tuple is a list. What is expected:
//!
//! - A `result` whose `checks` hold has to be met exactly, and each check that holds for it has to
//!   hold for the computed result.
//! - If a check is false, or the case has an `error`, the post-condition decides by enumeration: a
//!   value that satisfies it is right, and an error is right only if it states that no layout does.
//!
//! Everything in a case is read; an unknown operation or key fails the case, so that nothing is
//! ignored.

mod checks;
mod operations;
mod read;

use serde_json::{Map, Value as Json};

use crate::Error;
use operations::Answer;

/// Sections of a file other than its cases, which are not run.
const OTHER_SECTIONS: [&str; 6] =
    ["meta", "known_divergences", "tv_layouts", "gmma_tma", "nvcute_expected", "ptx_canonical_examples"];

/// Keys for the origin of a case.
const REMARKS: [&str; 4] = ["id", "op", "origin", "derived"];

/// The outcome of the cases of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of cases that hold.
    pub passed: usize,
    /// For each case that does not: its description, and the difference.
    pub failed: Vec<String>,
}

impl Report {
    /// The cases that differ, one per line, and the counts.
    pub fn render(&self) -> String {
        let lines: String = self.failed.iter().map(|line| format!("{line}\n")).collect();
        format!("{lines}{} passed, {} failed\n", self.passed, self.failed.len())
    }
}

/// Runs all cases of a file, given as JSON; an error if it has no list of cases.
pub fn run(text: &str) -> Result<Report, Error> {
    let file: Json = serde_json::from_str(text)
        .map_err(|e| Error::Syntax { message: format!("the file is not JSON: {e}"), offset: 0 })?;
    let Some(cases) = file.get("cases").and_then(Json::as_array) else {
        return Err(Error::Syntax { message: "the file has no list `cases`".into(), offset: 0 });
    };
    let mut report = Report::default();
    for section in file.as_object().into_iter().flat_map(Map::keys) {
        if section != "cases" && !OTHER_SECTIONS.contains(&section.as_str()) {
            report.failed.push(format!("section {section}: unknown"));
        }
    }
    for (k, case) in cases.iter().enumerate() {
        let id = case.get("id").map_or_else(|| format!("#{k}"), Json::to_string);
        let op = case.get("op").and_then(Json::as_str).unwrap_or("?");
        match judge(case) {
            Ok(()) => report.passed += 1,
            Err(why) => report.failed.push(format!("case {id}, {op}: {why}")),
        }
    }
    Ok(report)
}

/// Whether a case holds, or the difference.
fn judge(case: &Json) -> Result<(), String> {
    let case = case.as_object().ok_or("it is no object")?;
    let op = case.get("op").and_then(Json::as_str).ok_or("it has no `op`")?;
    let args = case.get("args").and_then(Json::as_object).ok_or("it has no `args`")?;
    let query = operations::Query::read(op, args)?;
    let empty = Map::new();
    let checks = match case.get("checks") {
        None => &empty,
        Some(checks) => checks.as_object().ok_or("`checks` is no object")?,
    };
    let expected = match (case.get("result"), case.contains_key("error")) {
        (Some(result), false) => Some(result),
        (None, true) => None,
        _ => return Err("it needs either `result` or `error`".into()),
    };
    // Checks of arguments describe the case; the others are claims about the result.
    let is_claimed =
        checks.iter().all(|(name, held)| checks::is_about_arguments(name) || *held != Json::Bool(false))
            && !(checks.is_empty() && query.needs_checks());
    let answer = match query.answer() {
        Ok(answer) => answer,
        // Reported only where enumeration has found that there is none.
        Err(Error::NoLayout { .. }) if expected.is_none() || !is_claimed => return known_keys(case),
        Err(error) => return Err(format!("{error}; expected {}", show(expected))),
    };
    if let (Some(expected), true) = (expected, is_claimed) {
        let found = answer.to_json();
        if found != *expected {
            return Err(format!("found {found}, expected {expected}"));
        }
    } else {
        query.post_condition(&answer)?;
    }
    for (name, held) in checks {
        let found = checks::holds(name, &query, &answer)?;
        let is_fixed = *held == Json::Bool(true) || checks::is_about_arguments(name);
        if is_fixed && Json::Bool(found) != *held {
            return Err(format!("check {name} is {found}, expected {held}"));
        }
    }
    for (key, value) in case {
        if !["args", "result", "error", "checks"].contains(&key.as_str()) && !REMARKS.contains(&key.as_str())
        {
            let found = query.property(key, value, &answer)?;
            if found != *value {
                return Err(format!("{key} is {found}, expected {value}"));
            }
        }
    }
    Ok(())
}

/// For a case without an answer: only the keys that all cases have.
fn known_keys(case: &Map<String, Json>) -> Result<(), String> {
    let known = |key: &String| {
        ["args", "result", "error", "checks", "values"].contains(&key.as_str())
            || REMARKS.contains(&key.as_str())
    };
    match case.keys().find(|key| !known(key)) {
        Some(key) => Err(format!("key {key} is unknown")),
        None => Ok(()),
    }
}

fn show(expected: Option<&Json>) -> String {
    expected.map_or("a value that satisfies the post-condition".into(), Json::to_string)
}

impl Answer {
    fn to_json(&self) -> Json {
        match self {
            Answer::Layout(layout) => read::layout_json(layout),
            Answer::Tuple(tuple) => read::tuple_json(tuple),
            Answer::Values(values) => Json::from(values.clone()),
            Answer::Sizes { size, cosize } => serde_json::json!({"size": size, "cosize": cosize}),
            Answer::Slice { layout, offset } => {
                serde_json::json!({"layout": read::layout_json(layout), "offset": offset})
            }
        }
    }
}
