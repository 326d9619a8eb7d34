//! Which points are timed, and in which order.
//!
//! A [`Search`] gives a batch, is told its outcomes, and gives the next, until there are no more.
//! It knows the points and the estimate of each (none for a refused point), but no device, so
//! recorded sweeps can be replayed through it. If nothing will be timed, estimates take the place
//! of times: the search decides which points to count, and begins without estimates.
//!
//! *Guided* starts with the best estimates and some random points, or with random points alone if
//! there are no estimates. A Gaussian process (`gaussian_process`) then predicts the logarithm of
//! the times from the logarithms of the parameters and of the estimate, and each batch takes the
//! points with the lowest confidence bounds. Everything is determined by the seed.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::Diagnostic;
use serde::{Deserialize, Serialize};

use crate::Point;
use crate::gaussian_process::GaussianProcess;

/// The order in which the points of a space are tried, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// All points, best estimates first.
    Exhaustive,
    /// Points drawn uniformly at random.
    Random {
        /// Number of points timed or, on the emulator, of legal points counted; at least 1.
        points: usize,
        /// Seed of the generator; equal seeds draw the same points.
        seed: u64,
    },
    /// Points guided by the counts and a model of the times so far; on the emulator, by a model of
    /// the estimates so far.
    Guided {
        /// Number of points timed or, on the emulator, of legal points counted; at least 1.
        points: usize,
        /// Seed of the generator of pseudorandom numbers.
        seed: u64,
    },
}

impl Strategy {
    /// Refuses a strategy that looks at nothing.
    pub fn check(&self) -> Result<(), Diagnostic> {
        match self {
            Strategy::Random { points: 0, .. } | Strategy::Guided { points: 0, .. } => {
                Err(Diagnostic::new("strategy", "a strategy of 0 points evaluates nothing")
                    .help("give it 1 point or more, or use the exhaustive strategy for all points"))
            }
            _ => Ok(()),
        }
    }
}

/// A generator of pseudo-random numbers: SplitMix64.
#[derive(Clone, Debug)]
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap_or(0)
    }
}

/// A strategy that is running: it gives out points and is told their times.
pub struct Search<'a> {
    points: &'a [Point],
    estimates: &'a [Option<f64>],
    strategy: Strategy,
    rng: Rng,
    /// Points given out so far.
    asked: BTreeSet<usize>,
    /// Those of them that turned out not to count, such as refused ones if nothing was counted
    /// before.
    left_out: BTreeSet<usize>,
    /// The times of the points that have one.
    times: BTreeMap<usize, f64>,
    /// The coordinates of the points for the model.
    places: Vec<Vec<f64>>,
    batch: usize,
}

impl<'a> Search<'a> {
    /// A search through points, with an estimate in milliseconds for each that is not refused.
    /// Points come in batches of at most `batch`, so that they can be compiled in parallel.
    pub fn new(
        points: &'a [Point],
        estimates: &'a [Option<f64>],
        strategy: Strategy,
        batch: usize,
    ) -> Search<'a> {
        let seed = match strategy {
            Strategy::Exhaustive => 0,
            Strategy::Random { seed, .. } | Strategy::Guided { seed, .. } => seed,
        };
        Search {
            points,
            estimates,
            strategy,
            rng: Rng(seed),
            asked: BTreeSet::new(),
            left_out: BTreeSet::new(),
            times: BTreeMap::new(),
            places: points.iter().zip(estimates).map(|(p, e)| place(p, *e)).collect(),
            batch: batch.max(1),
        }
    }

    /// Reports the outcome of a point: its time in milliseconds, or none.
    pub fn tell(&mut self, point: usize, milliseconds: Option<f64>) {
        self.asked.insert(point);
        if let Some(ms) = milliseconds.filter(|ms| ms.is_finite() && *ms > 0.0) {
            self.times.insert(point, ms);
        }
    }

    /// Number of points given out, including those that turned out not to count.
    pub(crate) fn looked_at(&self) -> usize {
        self.planned() + self.left_out.len()
    }

    /// Reports that a point does not count: another takes its place.
    pub(crate) fn leave_out(&mut self, point: usize) {
        self.asked.insert(point);
        self.left_out.insert(point);
    }

    /// Number of points given out that count.
    fn done(&self) -> usize {
        self.asked.len() - self.left_out.len()
    }

    fn open(&self) -> Vec<usize> {
        (0..self.points.len())
            .filter(|k| !self.asked.contains(k) && self.estimates.get(*k).is_some_and(Option::is_some))
            .collect()
    }

    /// Total number of points to be given out.
    pub fn planned(&self) -> usize {
        let possible = self.estimates.iter().flatten().count().saturating_sub(self.left_out.len());
        match self.strategy {
            Strategy::Exhaustive => possible,
            Strategy::Random { points, .. } | Strategy::Guided { points, .. } => points.min(possible),
        }
    }

    /// The next points to time; empty when the search is over.
    pub fn next_batch(&mut self) -> Vec<usize> {
        let left = self.planned().saturating_sub(self.done());
        let mut open = self.open();
        let count = left.min(self.batch).min(open.len());
        let chosen = match self.strategy {
            Strategy::Exhaustive => {
                self.by_estimate(&mut open);
                open.truncate(count);
                open
            }
            Strategy::Random { .. } => self.draw(&mut open, count),
            Strategy::Guided { points, .. } => self.guided(open, count, points),
        };
        self.asked.extend(chosen.iter().copied());
        chosen
    }

    fn estimate(&self, k: usize) -> f64 {
        self.estimates.get(k).copied().flatten().unwrap_or(f64::INFINITY)
    }

    /// Sorts by estimate, best first; ties in the order of the points.
    fn by_estimate(&self, open: &mut [usize]) {
        open.sort_by(|a, b| self.estimate(*a).total_cmp(&self.estimate(*b)).then(a.cmp(b)));
    }

    fn draw(&mut self, open: &mut Vec<usize>, count: usize) -> Vec<usize> {
        (0..count.min(open.len())).map(|_| open.swap_remove(self.rng.below(open.len()))).collect()
    }

    fn guided(&mut self, mut open: Vec<usize>, count: usize, budget: usize) -> Vec<usize> {
        // An eighth of the budget goes to the best estimates, another to random points; then the
        // model decides.
        let first = budget.div_ceil(8);
        let done = self.done();
        if done < first && self.estimates.iter().flatten().any(|e| e.is_finite()) {
            self.by_estimate(&mut open);
            open.truncate(count.min(first - done));
            return open;
        }
        if done < 2 * first {
            return self.draw(&mut open, count.min(2 * first - done));
        }
        let Some(model) = self.fit() else { return self.draw(&mut open, count) };
        let mut bounds: Vec<(f64, usize)> =
            open.into_iter().map(|k| (model.lower_bound(&self.places[k], BOLDNESS), k)).collect();
        bounds.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        bounds.into_iter().take(count).map(|(_, k)| k).collect()
    }

    fn fit(&self) -> Option<GaussianProcess> {
        let mut logarithms: Vec<f64> = self.times.values().map(|ms| ms.ln()).collect();
        logarithms.sort_by(f64::total_cmp);
        // Points much slower than the rest need not be distinguished: they would only distort the
        // model.
        let most = logarithms.get(logarithms.len() / 2)? + SLOW;
        let known = self.times.iter().map(|(k, ms)| (self.places[*k].clone(), ms.ln().min(most))).collect();
        GaussianProcess::fit(known)
    }
}

/// Standard deviations subtracted from a prediction.
const BOLDNESS: f64 = 0.5;
/// The natural logarithm of the slowdown over the median at which times are clipped: about a factor
/// of two.
const SLOW: f64 = 0.7;

/// Coordinates in which the time is smooth: doubling a parameter is a step of one.
fn place(point: &Point, estimate: Option<f64>) -> Vec<f64> {
    let step = |v: i64| if v > 0 { (v as f64).log2() } else { v as f64 - 1.0 };
    let estimate = estimate.filter(|e| e.is_finite() && *e > 0.0).map_or(0.0, f64::log2);
    point.values().map(|(_, v)| step(v)).chain([estimate]).collect()
}

/// What a strategy would have found in a recorded sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// The best of the points that it timed.
    pub best: Option<usize>,
    /// Number of points it timed.
    pub timed: usize,
    /// The best time of the sweep over the best that it found: 1 if it found the best.
    pub quality: f64,
}

/// Replays a strategy over recorded times, without a device. Points without a time count as
/// refused.
pub fn simulate(
    points: &[Point],
    estimates: &[Option<f64>],
    times: &[Option<f64>],
    strategy: Strategy,
    batch: usize,
) -> Simulated {
    let known: Vec<Option<f64>> =
        estimates.iter().zip(times).map(|(e, t)| if t.is_some() { *e } else { None }).collect();
    let mut search = Search::new(points, &known, strategy, batch);
    loop {
        let batch = search.next_batch();
        if batch.is_empty() {
            break;
        }
        for k in batch {
            search.tell(k, times.get(k).copied().flatten());
        }
    }
    let best = search.times.iter().min_by(|a, b| a.1.total_cmp(b.1));
    let least = times.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    Simulated {
        best: best.map(|(k, _)| *k),
        timed: search.times.len(),
        quality: best.map_or(0.0, |(_, ms)| least / ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;

    /// A landscape with a ridge that the estimates know only roughly.
    fn landscape() -> (Vec<Point>, Vec<Option<f64>>, Vec<Option<f64>>) {
        let space = Space::parse(
            "block in powers(32, 1024)\n\
             rows in [1, 2, 4, 8]\n\
             unroll in [1, 2, 4, 8]\n\
             vec in [1, 2, 4]\n\
             require block * rows <= 4096",
        )
        .expect("a space");
        let points = space.points().expect("points");
        let get = |p: &Point, n: &str| p.get(n).unwrap_or(1) as f64;
        let time = |p: &Point| {
            let flight = get(p, "unroll") * get(p, "vec") * 4.0;
            let off = (get(p, "block") * get(p, "rows")).log2() - 9.0;
            1.0 + 8.0 / flight + 0.1 * off * off + if flight > 64.0 { 0.6 } else { 0.0 }
        };
        let times =
            points.iter().map(|p| (get(p, "block") * get(p, "rows") <= 2048.0).then(|| time(p))).collect();
        let estimates = points.iter().map(|p| Some(1.0 + 4.0 / get(p, "vec"))).collect();
        (points, estimates, times)
    }

    #[test]
    fn all_points_once() {
        let (points, estimates, times) = landscape();
        let found = simulate(&points, &estimates, &times, Strategy::Exhaustive, 7);
        assert_eq!(found.timed, times.iter().flatten().count());
        assert!((found.quality - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_guided_search_finds_nearly_the_best_with_a_fifth_of_the_points() {
        let (points, estimates, times) = landscape();
        let possible = times.iter().flatten().count();
        for seed in 0..5 {
            let strategy = Strategy::Guided { points: possible / 5, seed };
            let found = simulate(&points, &estimates, &times, strategy, 4);
            assert!(found.timed <= possible / 5);
            assert!(found.quality >= 0.95, "seed {seed}: {}", found.quality);
            assert_eq!(found, simulate(&points, &estimates, &times, strategy, 4), "it follows from the seed");
        }
    }

    /// As on the emulator, where nothing is known about a point before it is counted.
    #[test]
    fn without_estimates_what_is_told_leads() {
        let (points, _, times) = landscape();
        let unknown = vec![Some(f64::INFINITY); points.len()];
        let possible = times.iter().flatten().count();
        let least = times.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let mut found = 0.0;
        for seed in 0..5 {
            let mut search =
                Search::new(&points, &unknown, Strategy::Guided { points: possible / 5, seed }, 4);
            let (mut told, mut best) = (0, f64::INFINITY);
            loop {
                let batch = search.next_batch();
                if batch.is_empty() {
                    break;
                }
                for k in batch {
                    match times[k] {
                        Some(ms) => {
                            told += 1;
                            best = best.min(ms);
                            search.tell(k, Some(ms));
                        }
                        None => search.leave_out(k),
                    }
                }
            }
            assert_eq!(told, possible / 5, "refused points take no other's place");
            found += least / best / 5.0;
        }
        assert!(found >= 0.95, "{found}");
    }

    #[test]
    fn a_random_search_stops_at_its_number() {
        let (points, estimates, times) = landscape();
        let found = simulate(&points, &estimates, &times, Strategy::Random { points: 10, seed: 1 }, 4);
        assert_eq!(found.timed, 10);
        assert!(found.quality < 1.0 || found.best.is_some());
    }
}
