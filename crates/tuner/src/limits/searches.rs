//! The contents of logs and tunings, as searches of one shape each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loopwright_kernel_ir::{Diagnostic, Name};

use super::{Best, Reached};
use crate::{Key, Outcome, Point, Tuning, basis, log, tuning::best_first};

/// A search of one shape on one machine.
pub(crate) struct Search {
    /// The log, or the place among the tunings.
    pub source: String,
    pub name: String,
    /// The text of the declared kernel; empty if no record has it.
    pub declared: String,
    pub key: Key,
    pub machine: String,
    pub sizes: BTreeMap<Name, i64>,
    candidates: Vec<(Point, Option<Outcome>)>,
    best: Option<usize>,
}

impl Search {
    fn new(source: String, name: &str, key: &Key, basis: &str) -> Search {
        Search {
            source,
            name: name.to_owned(),
            declared: String::new(),
            sizes: key.sizes(),
            key: key.clone(),
            machine: basis::machine(basis),
            candidates: Vec::new(),
            best: None,
        }
    }

    /// Adds an outcome, which replaces an earlier one of the same point.
    fn add(&mut self, places: &mut BTreeMap<Point, usize>, point: Point, outcome: Outcome) {
        match places.get(&point) {
            Some(at) => self.candidates[*at].1 = Some(outcome),
            None => {
                places.insert(point.clone(), self.candidates.len());
                self.candidates.push((point, Some(outcome)));
            }
        }
    }

    /// Its points with their outcomes, each once, in the order of the log.
    pub fn outcomes(&self) -> impl Iterator<Item = (&Point, &Outcome)> {
        self.candidates.iter().filter_map(|(point, outcome)| Some((point, outcome.as_ref()?)))
    }

    /// What it reached, shown at this size.
    pub(super) fn reached(&self, size: f64) -> Reached {
        let count = |is: fn(&Outcome) -> bool| {
            self.candidates.iter().filter_map(|(_, o)| o.as_ref()).filter(|o| is(o)).count()
        };
        Reached {
            size,
            sizes: self.sizes.clone(),
            best: self.best.and_then(|k| {
                let (point, outcome) = &self.candidates[k];
                best(point, outcome.as_ref()?)
            }),
            timed: count(|o| o.times().is_some()),
            counted: count(|o| matches!(o, Outcome::Counted { .. })),
            failed: count(|o| o.cost().is_none()),
        }
    }
}

fn best(point: &Point, outcome: &Outcome) -> Option<Best> {
    let (milliseconds, cost) = (outcome.milliseconds()?, outcome.cost()?);
    // A problem without bytes has no limit.
    let known = milliseconds > 0.0 && cost.bound_ms > 0.0 && cost.bound_ms.is_finite();
    known.then(|| Best {
        point: point.clone(),
        milliseconds,
        measured: outcome.times().is_some(),
        fraction: cost.bound_ms / milliseconds,
        bandwidth: 1e3 * cost.necessary_bytes / cost.bound_ms,
        bottleneck: cost.bottleneck,
    })
}

/// The searches of logs; a file named twice counts once. In a file, records of one key and one
/// machine are one search.
pub(crate) fn of_logs(paths: &[&Path]) -> Result<Vec<Search>, Diagnostic> {
    let mut found: Vec<Search> = Vec::new();
    let mut read: Vec<PathBuf> = Vec::new();
    for path in paths {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if read.contains(&whole) {
            continue;
        }
        read.push(whole);
        let begin = found.len();
        let mut places: Vec<BTreeMap<Point, usize>> = Vec::new();
        for record in log::records(path)? {
            let machine = basis::machine(&record.basis);
            let of_this = |s: &Search| s.key == record.key && s.machine == machine;
            let at = found[begin..].iter().position(of_this).unwrap_or_else(|| {
                found.push(Search::new(source(path, paths), &record.name, &record.key, &record.basis));
                places.push(BTreeMap::new());
                places.len() - 1
            });
            let search = &mut found[begin + at];
            if !record.declared.is_empty() {
                search.declared = record.declared;
            }
            search.add(&mut places[at], record.point, record.outcome);
        }
    }
    for search in &mut found {
        search.best = best_first(&search.candidates).first().copied();
    }
    Ok(found)
}

/// The name of a log: its file name without the extension, or the whole path if names coincide.
fn source(path: &Path, all: &[&Path]) -> String {
    let alike = all.iter().filter(|p| p.file_stem() == path.file_stem()).count();
    let name = path.file_stem().filter(|_| alike == 1).unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The search of a tuning.
pub(super) fn of_tuning((number, tuning): (usize, &Tuning)) -> Search {
    Search {
        candidates: tuning.candidates.clone(),
        best: tuning.best,
        declared: tuning.declared.clone(),
        ..Search::new(format!("search {}", number + 1), &tuning.name, &tuning.key, &tuning.basis)
    }
}
