//! The size along which searches are shown.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Diagnostic, Name};

use super::searches::Search;

/// An integer argument, or a quotient of two.
#[derive(Clone, Debug)]
pub(super) struct By {
    text: String,
    above: Name,
    below: Option<Name>,
}

impl By {
    fn parse(text: &str) -> By {
        let (above, below) = match text.split_once('/') {
            Some((above, below)) => (above.trim(), Some(Name::new(below.trim()))),
            None => (text.trim(), None),
        };
        let text = below.as_ref().map_or_else(|| above.to_owned(), |below| format!("{above}/{below}"));
        By { text, above: Name::new(above), below }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn names(&self) -> impl Iterator<Item = &Name> {
        std::iter::once(&self.above).chain(&self.below)
    }

    /// Its value; NaN if there is none.
    pub fn of(&self, sizes: &BTreeMap<Name, i64>) -> f64 {
        let value = |name: &Name| sizes.get(name).map_or(f64::NAN, |v| *v as f64);
        value(&self.above) / self.below.as_ref().map_or(1.0, value)
    }
}

/// A value as text, in full if it is an integer.
pub(super) fn written(size: f64) -> String {
    if size.fract() == 0.0 { format!("{size}") } else { format!("{size:.2}") }
}

/// The values of each size that all searches have.
fn values(searches: &[Search]) -> BTreeMap<&Name, BTreeSet<i64>> {
    let names = searches.first().into_iter().flat_map(|s| s.sizes.keys());
    let of = |name| searches.iter().map(|s| s.sizes.get(name).copied()).collect::<Option<BTreeSet<i64>>>();
    names.filter_map(|name| Some((name, of(name)?))).collect()
}

fn listed<'n>(names: impl IntoIterator<Item = &'n Name>) -> String {
    names.into_iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// The named size, or else the only one that all searches have and in which they differ.
pub(super) fn size_to_show_by(searches: &[Search], by: Option<&str>) -> Result<By, Diagnostic> {
    let refused = |message: String| Diagnostic::new("report-size", message);
    let Some(first) = searches.first() else {
        return Err(Diagnostic::new("report-empty", "there are no searches to report")
            .help("give at least one log or tuning"));
    };
    if let Some(text) = by {
        let by = By::parse(text);
        let missing = |s: &Search| by.names().find(|n| !s.sizes.contains_key(*n)).cloned();
        return match searches.iter().find_map(|s| Some((s, missing(s)?))) {
            None => Ok(by),
            Some((lacks, name)) => {
                let message =
                    format!("`{}` of {} has no integer argument `{name}`", lacks.name, lacks.source);
                Err(refused(message)
                    .witness(format!("its problem is {}", lacks.key.problem))
                    .help("use an argument that all have, or make a separate report for each kernel"))
            }
        };
    }
    let values = values(searches);
    let differing: Vec<&Name> = values.iter().filter(|(_, v)| v.len() > 1).map(|(n, _)| *n).collect();
    match differing[..] {
        [only] => Ok(By::parse(only)),
        [first, ..] => Err(refused(format!(
            "the searches differ in {}: along which is not clear",
            listed(differing.iter().copied())
        ))
        .help(format!("choose one with `--by`, as in `--by {first}`"))),
        [] if searches.iter().any(|s| s.sizes != first.sizes) => {
            Err(refused("the searches differ in no integer argument that all of them have".to_owned())
                .help("make a report for each kernel"))
        }
        [] => {
            let name = first.sizes.keys().next();
            let help = name.map_or_else(
                || "make a report of a kernel with sizes".to_owned(),
                |n| {
                    format!(
                        "tune other sizes too, with the same `--log`; or name one with `--by`, as \
                         `--by {n}`"
                    )
                },
            );
            Err(refused(
                "all searches are of one shape, so that there is nothing to show it along".to_owned(),
            )
            .witness(format!("their problem is {}", first.key.problem))
            .help(help))
        }
    }
}

/// Sizes that all searches have with one value.
pub(super) fn fixed_sizes(searches: &[Search]) -> BTreeMap<Name, i64> {
    let single = |(name, values): (&Name, BTreeSet<i64>)| match (values.len(), values.first()) {
        (1, Some(value)) => Some((name.clone(), *value)),
        _ => None,
    };
    values(searches).into_iter().filter_map(single).collect()
}
