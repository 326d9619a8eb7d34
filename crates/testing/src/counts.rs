//! Statistics of many random cases, and their table.

use std::{collections::BTreeMap, fmt};

use crate::{case::Case, check::Failure};

/// Statistics of one kind of step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Steps that could be made.
    pub reached: usize,
    /// Steps refused before any query about order, because of a name or a shape.
    pub refused: usize,
    /// Steps proved, including by theorem.
    pub proved: usize,
    /// Steps refuted by a counterexample.
    pub refuted: usize,
    /// Steps neither proved nor refuted.
    pub unknown: usize,
}

/// Statistics of all cases.
#[derive(Clone, Debug, Default)]
pub struct Count {
    /// Kernels with their pipelines.
    pub cases: usize,
    /// The steps of the pipelines, by kind.
    pub kinds: BTreeMap<&'static str, Tally>,
    /// Steps judged by a query.
    pub asked: usize,
    /// Of these, legal at all small sizes.
    pub legal: usize,
    /// Of these, illegal at some small size.
    pub illegal: usize,
    /// Steps judged on kernels without data-dependent cells.
    pub affine: usize,
    /// Of these, neither proved nor refuted.
    pub affine_unknown: usize,
    /// Runs of proved kernels in the emulator.
    pub runs: usize,
    /// Refuted kernels that failed in the emulator, by kind of failure.
    pub wrong: BTreeMap<&'static str, usize>,
    /// Refuted kernels that lowering refuses even by force.
    pub unforced: BTreeMap<&'static str, usize>,
    /// Proved kernels that lowering refuses.
    pub late: BTreeMap<&'static str, usize>,
    /// Of these, those whose refusal shows instances, all of which the declared kernel runs.
    pub shown: usize,
    /// Reasons of undecided steps on kernels without data, each with one example.
    pub reasons: BTreeMap<String, (usize, String)>,
    /// Times by phase, in seconds.
    pub times: BTreeMap<&'static str, f64>,
    /// Cases in which two answers disagree, each of which is a bug.
    pub failures: Vec<(Case, Failure)>,
}

fn add<K: Ord + Clone>(mine: &mut BTreeMap<K, usize>, theirs: &BTreeMap<K, usize>) {
    for (key, n) in theirs {
        *mine.entry(key.clone()).or_insert(0) += n;
    }
}

impl Count {
    /// The statistics of both, field by field.
    pub fn with(mut self, other: Count) -> Count {
        self.cases += other.cases;
        for (kind, t) in other.kinds {
            let mine = self.kinds.entry(kind).or_default();
            mine.reached += t.reached;
            mine.refused += t.refused;
            mine.proved += t.proved;
            mine.refuted += t.refuted;
            mine.unknown += t.unknown;
        }
        self.asked += other.asked;
        self.legal += other.legal;
        self.illegal += other.illegal;
        self.affine += other.affine;
        self.affine_unknown += other.affine_unknown;
        self.runs += other.runs;
        self.shown += other.shown;
        add(&mut self.wrong, &other.wrong);
        add(&mut self.unforced, &other.unforced);
        add(&mut self.late, &other.late);
        for (reason, (n, example)) in other.reasons {
            self.reasons.entry(reason).or_insert((0, example)).0 += n;
        }
        for (what, seconds) in other.times {
            *self.times.entry(what).or_insert(0.0) += seconds;
        }
        self.failures.extend(other.failures);
        self
    }

    /// Number of judged steps, of all kinds.
    pub fn judged(&self) -> usize {
        self.kinds.values().map(|t| t.reached).sum()
    }
}

/// The statistics as a table, a line for each kind of step.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<24}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "step", "reached", "proved", "refuted", "unknown", "refused"
        )?;
        let mut all = Tally::default();
        for (kind, t) in &self.kinds {
            writeln!(
                f,
                "{kind:<24}{:>9}{:>9}{:>9}{:>9}{:>9}",
                t.reached, t.proved, t.refuted, t.unknown, t.refused
            )?;
            all.reached += t.reached;
            all.proved += t.proved;
            all.refuted += t.refuted;
            all.unknown += t.unknown;
            all.refused += t.refused;
        }
        writeln!(
            f,
            "{:<24}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "all", all.reached, all.proved, all.refuted, all.unknown, all.refused
        )?;
        let share = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
        writeln!(
            f,
            "{} cases; {} steps asked, at small sizes {} legal ({:.1} %), {} illegal ({:.1} %)",
            self.cases,
            self.asked,
            self.legal,
            share(self.legal, self.asked),
            self.illegal,
            share(self.illegal, self.asked)
        )?;
        writeln!(
            f,
            "affine: {} steps, {} unknown ({:.2} %)",
            self.affine,
            self.affine_unknown,
            share(self.affine_unknown, self.affine)
        )?;
        let list = |counts: &BTreeMap<&'static str, usize>| -> String {
            counts.iter().map(|(k, n)| format!("{k} {n}")).collect::<Vec<_>>().join(", ")
        };
        writeln!(
            f,
            "proved: {} runs in the emulator agree; refused later by lowering: {}; {} of these show \
             instances that run",
            self.runs,
            list(&self.late),
            self.shown
        )?;
        writeln!(
            f,
            "refuted: by force {}; not lowered even so: {}",
            list(&self.wrong),
            list(&self.unforced)
        )?;
        let times: Vec<String> = self.times.iter().map(|(what, s)| format!("{what} {s:.1} s")).collect();
        writeln!(f, "time: {}", times.join(", "))?;
        write!(f, "{} disagreements", self.failures.len())
    }
}
