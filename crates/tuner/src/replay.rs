//! Strategies replayed over the logs of searches, without a device.

use std::fmt;
use std::path::Path;

use loopwright_kernel_ir::Diagnostic;

use crate::limits::of_logs;
use crate::{Outcome, Point, Strategy, simulate};

/// Points per batch: fixed, so that a replay gives the same result on every machine.
const BATCH: usize = 8;

/// What a strategy would have found in a recorded search.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The name of the search.
    pub name: String,
    /// The device on which it ran.
    pub device: String,
    /// Types and shapes of the arrays, values of the integer scalars.
    pub problem: String,
    /// Whether its points were timed; otherwise the figures are estimates from counts.
    pub measured: bool,
    /// Number of points in the log that have a figure.
    pub points: usize,
    /// The best of them, with its milliseconds.
    pub best: (Point, f64),
    /// The strategy that is replayed on the log's figures.
    pub strategy: Strategy,
    /// Number of points it looked at.
    pub looked_at: usize,
    /// The best of these, with its milliseconds.
    pub found: (Point, f64),
}

impl Replayed {
    /// The time of the log's best over that of the best that the strategy found: 1 if it found the
    /// best.
    pub fn quality(&self) -> f64 {
        self.best.1 / self.found.1
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.measured { "timed" } else { "counted" };
        let name = match self.strategy {
            Strategy::Exhaustive => "exhaustive".to_owned(),
            Strategy::Random { seed, .. } => format!("random with seed {seed}"),
            Strategy::Guided { seed, .. } => format!("guided with seed {seed}"),
        };
        writeln!(f, "{} on {}: {}", self.name, self.device, self.problem)?;
        writeln!(f, "  best of all {} {what}: {:.4} ms, {}", self.points, self.best.1, self.best.0)?;
        write!(
            f,
            "  {name}, {} {what}: {:.4} ms, {}: {:.1} % of the best",
            self.looked_at,
            self.found.1,
            self.found.0,
            100.0 * self.quality()
        )
    }
}

/// Replays a strategy over each search of a log that `Tuner::log` has kept. The strategy is given
/// for a number of points that have a figure; it should be a log of an exhaustive search, since
/// points outside it cannot be found. If the log has times, points without one count as refused; if
/// it has none, estimates take their place, as in a search on the emulator.
///
/// Errors: a file that is not a log, a log in which no point has a figure, a strategy of no points.
pub fn replay(
    log: impl AsRef<Path>,
    strategy: impl Fn(usize) -> Strategy,
) -> Result<Vec<Replayed>, Diagnostic> {
    let log = log.as_ref();
    let mut replayed = Vec::new();
    for search in of_logs(&[log])? {
        let outcomes: Vec<(&Point, &Outcome)> = search.outcomes().collect();
        let measured = outcomes.iter().any(|(_, o)| o.times().is_some());
        let points: Vec<Point> = outcomes.iter().map(|(point, _)| (*point).clone()).collect();
        let figure = |o: &Outcome| if measured { o.times().map(|t| t.median) } else { o.milliseconds() };
        let figures: Vec<Option<f64>> = outcomes.iter().map(|(_, o)| figure(o)).collect();
        let estimates: Vec<Option<f64>> = outcomes
            .iter()
            .map(|(_, o)| o.cost().map(|c| if measured { c.estimate_ms } else { f64::INFINITY }))
            .collect();
        let count = figures.iter().flatten().count();
        if count == 0 {
            continue;
        }
        let strategy = strategy(count);
        strategy.check()?;
        let simulated = simulate(&points, &estimates, &figures, strategy, BATCH);
        let at = |k: usize| Some((points.get(k)?.clone(), (*figures.get(k)?)?));
        let order = |a: &usize, b: &usize| {
            let of = |k: usize| figures[k].unwrap_or(f64::INFINITY);
            of(*a).total_cmp(&of(*b))
        };
        let best = (0..points.len()).filter(|k| figures[*k].is_some()).min_by(order).and_then(at);
        // Infinite and NaN figures are not found by a strategy.
        let (Some(best), Some(found)) = (best, simulated.best.and_then(at)) else { continue };
        replayed.push(Replayed {
            name: search.name.clone(),
            device: search.key.device.clone(),
            problem: search.key.problem.clone(),
            measured,
            points: count,
            best,
            strategy,
            looked_at: simulated.timed,
            found,
        });
    }
    if replayed.is_empty() {
        return Err(Diagnostic::new(
            "nothing-to-replay",
            format!("no point of {} has a time or an estimate", log.display()),
        )
        .help("name the log of a search with points that are legal"));
    }
    Ok(replayed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cost, Key, Log, Record, Times};

    fn key(problem: &str) -> Key {
        Key {
            kernel: "k".to_owned(),
            pipeline: "split_iname(i, $block)\n".to_owned(),
            problem: problem.to_owned(),
            data: String::new(),
            device: "a device".to_owned(),
            driver: String::new(),
            compiler: String::new(),
            library: "0".to_owned(),
        }
    }

    /// Appends 64 points whose times fall to that of block 40 and rise from there; the estimates
    /// know it roughly.
    fn fill(path: &Path, problem: &str, timed: bool) {
        let (mut log, _) = Log::open(path, &key(problem), "").expect("a log");
        for block in 1..=64 {
            let away = f64::from(i32::abs_diff(block, 40));
            let cost = Cost { estimate_ms: 3.0 + (away / 8.0).floor(), ..Cost::default() };
            let times = Times { median: 2.0 + 0.1 * away, least: 1.0, launches: 3 };
            let outcome = match (block % 8, timed) {
                (0, _) if block != 40 => {
                    Outcome::Refused { code: "no".to_owned(), message: "no".to_owned(), help: None }
                }
                (_, true) => Outcome::Timed { cost, times },
                (_, false) => Outcome::Counted { cost },
            };
            let point = Point::default().with("block", i64::from(block));
            let (key, basis, name) = (key(problem), String::new(), "name".to_owned());
            log.append(&Record { key, point, basis, name, declared: String::new(), outcome })
                .expect("appends");
        }
    }

    #[test]
    fn strategies_are_held_to_the_best_of_the_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log.jsonl");
        fill(&path, "n = 1", true);
        fill(&path, "n = 2", false);
        let best = Point::default().with("block", 40);
        let all = replay(&path, |_| Strategy::Exhaustive).expect("a log");
        assert_eq!(all.len(), 2);
        for (one, (measured, ms)) in all.iter().zip([(true, 2.0), (false, 3.0)]) {
            assert_eq!((one.measured, one.points, one.looked_at), (measured, 57, 57));
            assert_eq!((one.best.1, one.found.1, one.quality()), (ms, ms, 1.0));
        }
        assert_eq!(all[0].best.0, best);
        // One point at random is hardly ever the best; which it is follows from the seed.
        let random = |seed| {
            let found = replay(&path, |_| Strategy::Random { points: 1, seed }).expect("a log");
            found.into_iter().next().expect("the first search")
        };
        assert!((0..8).any(|seed| random(seed).quality() < 1.0));
        assert_eq!(random(3), random(3));
        assert_eq!((random(3).looked_at, random(3).best), (1, (best.clone(), 2.0)));
        // The number of points is that of those with a figure.
        let guided = replay(&path, |n| Strategy::Guided { points: n.div_ceil(5), seed: 1 }).expect("a log");
        assert_eq!(guided[0].looked_at, 12);
        assert!(guided[0].quality() > 0.9, "{}", guided[0]);
        let text = guided[0].to_string();
        assert!(
            text.starts_with("name on a device: n = 1\n  best of all 57 timed: 2.0000 ms, block=40\n"),
            "{text}"
        );
        assert!(text.contains("\n  guided with seed 1, 12 timed: "), "{text}");
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log.jsonl");
        let code =
            |points| replay(&path, |_| Strategy::Random { points, seed: 1 }).map(|_| ()).map_err(|d| d.code);
        assert_eq!(code(1), Err("tuning-log"));
        let (mut log, _) = Log::open(&path, &key("n = 1"), "").expect("a log");
        let outcome = Outcome::Wrong { message: "element 0".to_owned() };
        let (point, basis, name) = (Point::default(), String::new(), String::new());
        log.append(&Record { key: key("n = 1"), point, basis, name, declared: String::new(), outcome })
            .expect("appends");
        assert_eq!(code(1), Err("nothing-to-replay"));
        fill(&path, "n = 1", true);
        assert_eq!(code(0), Err("strategy"));
        assert_eq!(code(1), Ok(()));
    }
}
