//! Which searches make a line, along which size, and what the line is called.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Diagnostic, Name};

use super::searches::Search;
use super::{Reached, Series};
use crate::tuned::first_difference;

/// The values of each size that all searches have.
fn values(searches: &[Search]) -> BTreeMap<&Name, BTreeSet<i64>> {
    let names = searches.first().into_iter().flat_map(|s| s.sizes.keys());
    let of = |name| searches.iter().map(|s| s.sizes.get(name).copied()).collect::<Option<BTreeSet<i64>>>();
    names.filter_map(|name| Some((name, of(name)?))).collect()
}

fn listed<'n>(names: impl IntoIterator<Item = &'n Name>) -> String {
    names.into_iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// The size that was named, or the only one that all searches have and in which they differ.
pub(super) fn size_to_show_by(searches: &[Search], by: Option<&str>) -> Result<Name, Diagnostic> {
    let refused = |message: String| Diagnostic::new("report-size", message);
    let Some(first) = searches.first() else {
        return Err(Diagnostic::new("report-empty", "there are no searches to report")
            .help("give at least one log or tuning"));
    };
    if let Some(by) = by {
        return match searches.iter().find(|s| !s.sizes.keys().any(|n| **n == *by)) {
            None => Ok(Name::new(by)),
            Some(lacks) => {
                Err(refused(format!("`{}` of {} has no integer argument `{by}`", lacks.name, lacks.source))
                    .witness(format!("its problem is {}", lacks.key.problem))
                    .help("show by an argument that all have, or make a report for each kernel"))
            }
        };
    }
    let values = values(searches);
    let differing: Vec<&Name> = values.iter().filter(|(_, v)| v.len() > 1).map(|(n, _)| *n).collect();
    match differing[..] {
        [only] => Ok(only.clone()),
        [first, ..] => Err(refused(format!(
            "the searches differ in {}: along which is not clear",
            listed(differing.iter().copied())
        ))
        .help(format!("say which with `--by`, as `--by {first}`"))),
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
                        "tune other sizes too, with the same `--log`; or name one with `--by`, as `--by {n}`"
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

/// What makes searches different lines, each part as it may stand in a label.
#[derive(Clone, PartialEq, Eq)]
struct Identity {
    kernel: String,
    pipeline: String,
    types: String,
    device: String,
    driver: String,
    compiler: String,
    library: String,
    machine: String,
    /// Other sizes, where a line would have several shapes of one size.
    sizes: String,
    /// The log, where a line would have one shape several times.
    source: String,
}

/// A line that is being made.
struct Group {
    identity: Identity,
    searches: Vec<Search>,
}

/// The series of searches, in the order in which they come.
pub(super) fn group(searches: Vec<Search>, by: &Name) -> Vec<Series> {
    let identity = |s: &Search| Identity {
        kernel: s.key.kernel.clone(),
        pipeline: s.key.pipeline.clone(),
        types: s.key.types(),
        device: s.key.device.clone(),
        driver: s.key.driver.clone(),
        compiler: s.key.compiler.clone(),
        library: s.key.library.clone(),
        machine: s.machine.clone(),
        sizes: String::new(),
        source: String::new(),
    };
    let whole = regroup(searches, identity);
    // Several shapes of one size: the other sizes tell them apart.
    let by_sizes = whole.into_iter().flat_map(|group| {
        let of = |s: &Search| s.sizes.get(by).copied();
        if !group.has_two(|a, b| of(a) == of(b) && a.sizes != b.sizes) {
            return vec![group];
        }
        let differ: Vec<Name> = group.searches[0]
            .sizes
            .keys()
            .filter(|n| *n != by && group.searches.iter().any(|s| s.sizes[*n] != group.searches[0].sizes[*n]))
            .cloned()
            .collect();
        regroup(group.searches, |s| {
            let sizes: Vec<String> = differ.iter().map(|n| format!("{n}={}", s.sizes[n])).collect();
            Identity { sizes: sizes.join(" "), ..identity(s) }
        })
    });
    // One shape several times: the logs tell them apart.
    let by_source = by_sizes.flat_map(|group| {
        if !group.has_two(|a, b| a.sizes == b.sizes) {
            return vec![group];
        }
        let sizes = group.identity.sizes.clone();
        regroup(group.searches, |s| Identity {
            sizes: sizes.clone(),
            source: s.source.clone(),
            ..identity(s)
        })
    });
    let groups: Vec<Group> = by_source.collect();
    let labels = labels(&groups);
    let series = |(group, label): (Group, String)| {
        let mut shapes: Vec<Reached> = group.searches.iter().map(|s| s.reached(by)).collect();
        shapes.sort_by_key(|s| s.size);
        let first = &group.searches[0];
        Series { label, key: first.key.clone(), machine: first.machine.clone(), shapes }
    };
    groups.into_iter().zip(labels).map(series).collect()
}

/// Searches of one identity together, in the order in which they come.
fn regroup(searches: Vec<Search>, identity: impl Fn(&Search) -> Identity) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for search in searches {
        let identity = identity(&search);
        match groups.iter_mut().find(|g| g.identity == identity) {
            Some(group) => group.searches.push(search),
            None => groups.push(Group { identity, searches: vec![search] }),
        }
    }
    groups
}

impl Group {
    fn has_two(&self, alike: impl Fn(&Search, &Search) -> bool) -> bool {
        let all = &self.searches;
        (0..all.len()).any(|k| all[..k].iter().any(|s| alike(s, &all[k])))
    }

    /// What it is called where names tell: that of the first search that has one.
    fn name(&self) -> &str {
        self.searches.iter().map(|s| s.name.as_str()).find(|n| !n.is_empty()).unwrap_or_default()
    }
}

/// What each line is called: what differs between them, and no more.
fn labels(groups: &[Group]) -> Vec<String> {
    let mut labels: Vec<Vec<String>> = vec![Vec::new(); groups.len()];
    let mut say = |part: &dyn Fn(&Group) -> String| {
        for (label, group) in labels.iter_mut().zip(groups) {
            label.push(part(group));
        }
    };
    let differs = |field: &dyn Fn(&Identity) -> &String| {
        groups.iter().any(|g| field(&g.identity) != field(&groups[0].identity))
    };
    // The emulator has no driver, which needs no saying.
    let differs_on_a_device = |field: fn(&Identity) -> &String| {
        groups.iter().any(|a| {
            let other = |b: &Group| {
                a.identity.device == b.identity.device && field(&a.identity) != field(&b.identity)
            };
            groups.iter().any(other)
        })
    };
    let named = differs(&|i| &i.kernel) || differs(&|i| &i.pipeline);
    if named || groups.len() == 1 {
        say(&|g| g.name().to_owned());
    }
    if differs(&|i| &i.types) {
        say(&|g| g.identity.types.clone());
    }
    if differs(&|i| &i.device) {
        say(&|g| g.identity.device.clone());
    }
    if differs_on_a_device(|i| &i.driver) {
        say(&|g| format!("driver {}", g.identity.driver));
    }
    if differs_on_a_device(|i| &i.compiler) {
        say(&|g| g.identity.compiler.clone());
    }
    if differs_on_a_device(|i| &i.library) {
        say(&|g| format!("version {}", g.identity.library));
    }
    if differs_on_a_device(|i| &i.machine) {
        say(&|g| match g.identity.machine.as_str() {
            "" => "for a machine that is not recorded".to_owned(),
            machine => format!("for {machine}"),
        });
    }
    say(&|g| g.identity.sizes.clone());
    say(&|g| g.identity.source.clone());
    let joined = labels
        .into_iter()
        .map(|parts| parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(", "));
    let mut labels = tell_apart(joined.collect(), groups);
    // Old logs have no names.
    for (label, group) in labels.iter_mut().zip(groups).filter(|(label, _)| label.is_empty()) {
        label.clone_from(&group.identity.device);
    }
    labels
}

/// Where names are alike, kernels and pipelines are told apart by what they are.
fn tell_apart(mut labels: Vec<String>, groups: &[Group]) -> Vec<String> {
    let plain = labels.clone();
    for k in 0..labels.len() {
        let alike = |j: &usize| *j != k && plain[*j] == plain[k];
        let Some(other) = (0..labels.len()).find(alike) else { continue };
        let (a, b) = (&groups[k].identity, &groups[other].identity);
        let part = match a.kernel == b.kernel {
            true => format!("with `{}`", first_difference(&a.pipeline, &b.pipeline).0.trim()),
            false => format!("kernel {}", a.kernel.chars().take(8).collect::<String>()),
        };
        labels[k] = if plain[k].is_empty() { part } else { format!("{}, {part}", plain[k]) };
    }
    let told = labels.clone();
    for k in 0..labels.len() {
        let before = told[..k].iter().filter(|l| **l == told[k]).count();
        if before > 0 {
            labels[k].push_str(&format!(" ({})", before + 1));
        }
    }
    labels
}
