//! Which searches form a line, and the label of the line.

use loopwright_kernel_ir::Name;

use super::by::By;
use super::searches::Search;
use super::{Reached, Series};
use crate::tuned::first_difference;

/// What separates searches into lines; each part as it may appear in a label.
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
    /// Other sizes, if a line would otherwise have several shapes of one size.
    sizes: String,
    /// The log, and the data on which searches depend, if a line would otherwise have one shape
    /// several times.
    source: String,
}

/// A line under construction.
struct Group {
    identity: Identity,
    searches: Vec<Search>,
}

/// The series of searches, in the order in which they come.
pub(super) fn group(searches: Vec<Search>, by: &By) -> Vec<Series> {
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
    // Several shapes of one size: the other sizes distinguish them.
    let by_sizes = whole.into_iter().flat_map(|group| {
        let of = |s: &Search| by.of(&s.sizes);
        if !group.has_two(|a, b| of(a) == of(b) && a.sizes != b.sizes) {
            return vec![group];
        }
        let differ: Vec<Name> = group.searches[0]
            .sizes
            .keys()
            .filter(|n| {
                n.as_str() != by.as_str()
                    && group.searches.iter().any(|s| s.sizes[*n] != group.searches[0].sizes[*n])
            })
            .cloned()
            .collect();
        regroup(group.searches, |s| {
            let sizes: Vec<String> = differ.iter().map(|n| format!("{n}={}", s.sizes[n])).collect();
            Identity { sizes: sizes.join(" "), ..identity(s) }
        })
    });
    // One shape several times: the logs, and the contents of arrays such as offsets, distinguish
    // them.
    let by_source = by_sizes.flat_map(|group| {
        if !group.has_two(|a, b| a.sizes == b.sizes) {
            return vec![group];
        }
        let sizes = group.identity.sizes.clone();
        regroup(group.searches, |s| Identity {
            sizes: sizes.clone(),
            source: match s.key.data.as_str() {
                "" => s.source.clone(),
                data => format!("{}, {data}", s.source),
            },
            ..identity(s)
        })
    });
    let groups: Vec<Group> = by_source.collect();
    let labels = labels(&groups);
    let series = |(group, label): (Group, String)| {
        let mut shapes: Vec<Reached> = group.searches.iter().map(|s| s.reached(by.of(&s.sizes))).collect();
        shapes.sort_by(|a, b| a.size.total_cmp(&b.size));
        let first = &group.searches[0];
        let declared = group.searches.iter().map(|s| &s.declared).find(|text| !text.is_empty());
        Series {
            label,
            key: first.key.clone(),
            declared: declared.cloned().unwrap_or_default(),
            machine: first.machine.clone(),
            shapes,
        }
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

    /// Its name: that of the first search that has one.
    fn name(&self) -> &str {
        self.searches.iter().map(|s| s.name.as_str()).find(|n| !n.is_empty()).unwrap_or_default()
    }
}

/// The label of each line: only what differs between them.
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
    // The emulator has no driver, which need not be shown.
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

/// If names coincide, kernels and pipelines are distinguished by their contents.
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
