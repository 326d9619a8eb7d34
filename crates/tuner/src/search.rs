//! The search for the best point of a space.
//!
//! 0. The declared kernel is interpreted on the sample, for the results with which points are
//!    compared.
//! 1. The kernel of every point (without a GPU, of every point that the strategy selects) is
//!    transformed and lowered, in parallel, and run on the emulator over the sample: refusals by a
//!    step or a limit, errors found by the emulator, and differences from the declared kernel are
//!    results with a reason. The remaining points have a [`Cost`].
//! 2. On a GPU the strategy selects batches. The kernels of a batch are compiled in parallel while
//!    the device measures the previous batch. Each is run on the sample and compared, then timed on
//!    the problem: medians of launches over sets of arrays that together exceed the L2 cache. A
//!    point whose bound is clearly above the best time so far is not timed, and one whose first
//!    launches all take twice that time is not timed further.
//! 3. The best few are timed again in alternation, and the best of these is the result.
//!
//! Each thread logs outcomes as they come, so that a killed run resumes where it stopped.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::{Args, Bound, Device};
use rayon::prelude::*;

use crate::candidate::{Context, Plan};
use crate::judge::Judge;
use crate::tuning::best_first;
use crate::{
    Finalist, Key, Log, Machine, Outcome, Phase, Point, Progress, Record, RecordKey, Search, Spent, Strategy,
    Times, Tuner, Tuning, basis, binaries,
};

/// The most points that are tried without a word about time: each takes about a millisecond.
const MOST_TRIED: usize = 1_000_000;

/// Refuses to try so many points that the search would not end, unless it has a budget of time.
fn check_count(points: usize, budget: Option<Duration>) -> Result<(), Diagnostic> {
    if points <= MOST_TRIED || budget.is_some() {
        return Ok(());
    }
    Err(Diagnostic::new(
        "space-size",
        format!("{points} points fulfil the requirements of the space, and each would be tried"),
    )
    .help(
        "give fewer candidates or further `require` lines, a budget of time, or, on the emulator, \
         the strategy `random` or `guided` with a number of points",
    ))
}

/// What ends a search before its points do.
struct End<'e> {
    deadline: Option<Instant>,
    stop: &'e (dyn Fn() -> bool + Sync),
}

impl End<'_> {
    fn is_over(&self) -> bool {
        (self.stop)() || self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Notes which of them it was.
    fn mark(&self, tuning: &mut Tuning) {
        if (self.stop)() {
            tuning.interrupted = true;
        } else {
            tuning.out_of_time = true;
        }
    }
}

impl Tuner<'_> {
    /// Runs the search, which began at `start`.
    pub(crate) fn search(mut self, start: Instant) -> Result<Tuning, Diagnostic> {
        self.plan.space.check(self.plan.pipeline)?;
        let points = self.plan.space.points()?;
        if points.is_empty() {
            return Err(Diagnostic::new("empty-space", "no point fulfils the requirements of the space")
                .help("relax a `require` line, or give more candidates"));
        }
        // On a device every point is counted, whichever of them the strategy times.
        if self.plan.device.is_gpu() || self.strategy == Strategy::Exhaustive {
            check_count(points.len(), self.budget)?;
        }
        let Plan { kernel, pipeline, args, device, .. } = self.plan;
        let mut key = Key::new(kernel, pipeline, args, device)?;
        let sample = self.sample.unwrap_or(args);
        let mut record_key = RecordKey::with_sample(kernel, pipeline, args, Some(sample), device)?;
        if let Some(folder) = &self.plan.binaries {
            folder.check_key(&key)?;
            folder.check_device(device.limits())?;
            // The timed binaries are those compiled there.
            folder.compiler().clone_into(&mut key.compiler);
            folder.compiler().clone_into(&mut record_key.compiler);
        }
        let machine = match self.machine.take() {
            Some(machine) => machine,
            None => Machine::measured_with(device, self.plan.binaries.as_ref())?,
        };
        let basis =
            basis::basis(kernel, sample, &machine, self.plan.limits.as_ref().unwrap_or(device.limits()))?;
        let name = self.name.take().unwrap_or_else(|| kernel.declared().name.to_string());
        let declared = kernel.declared().to_text();
        let mut log = None;
        let mut outcomes: Vec<Option<Outcome>> = vec![None; points.len()];
        let (mut recalled_count, mut not_used, mut notes) = (0, None, Vec::new());
        if let Some(path) = &self.log {
            let (opened, recalled) = Log::open(path, &key, &basis)?;
            let by_point: BTreeMap<Point, Outcome> = recalled.outcomes.into_iter().collect();
            for (point, outcome) in points.iter().zip(&mut outcomes) {
                *outcome = by_point.get(point).cloned();
                recalled_count += usize::from(outcome.is_some());
            }
            not_used = recalled.difference.map(|d| (recalled.others, d));
            if let Some(first) = recalled.torn.first() {
                let (count, path) = (recalled.torn.len(), path.display());
                notes.push(match count {
                    1 => format!("line {first} of {path} is torn or no record, and is left out"),
                    n => format!(
                        "{n} lines of {path} are torn or no records, from line {first} on, and are \
                         left out"
                    ),
                });
            }
            log = Some(Journal {
                log: Mutex::new(opened),
                key: key.clone(),
                basis: basis.clone(),
                name: name.clone(),
                declared: Mutex::new(declared.clone()),
            });
        }
        if let Some(folder) = &self.plan.binaries {
            for (point, outcome) in points.iter().zip(&mut outcomes).filter(|(_, o)| o.is_none()) {
                *outcome = Some(match folder.candidate(point) {
                    Some(candidate) => candidate.outcome.clone().for_machine(&machine, device.limits()),
                    None => binaries::not_compiled(point),
                });
            }
        }
        let mut tuning = Tuning {
            name,
            declared,
            key,
            basis,
            record_key,
            machine,
            candidates: points.iter().cloned().zip(outcomes).collect(),
            finalists: Vec::new(),
            notes,
            best: None,
            recalled: recalled_count,
            not_used,
            spent: Spent::default(),
            out_of_time: false,
            interrupted: false,
        };
        let stop = std::mem::replace(&mut self.stop, Box::new(|| false));
        let end = End { deadline: self.budget.map(|b| start + b), stop: &*stop };
        let of = tuning.candidates.len();
        (self.progress)(&Progress { phase: Phase::Reference, done: 0, of, best: None, point: None });
        let since = Instant::now();
        let judge = Judge::new(self.plan.kernel, sample, end.deadline)?;
        tuning.spent.reference = since.elapsed();
        match judge {
            Some(judge) => {
                let since = Instant::now();
                self.count(&mut tuning, &judge, sample, &end, log.as_ref())?;
                tuning.spent.counting = since.elapsed();
                if self.plan.device.is_gpu() && !tuning.interrupted {
                    self.time(&mut tuning, &points, &judge, sample, &end, log.as_ref())?;
                }
            }
            None => tuning.out_of_time = true,
        }
        if tuning.finalists.is_empty() {
            tuning.best = best_first(&tuning.candidates).first().copied();
        }
        if tuning.interrupted {
            let looked_at = tuning.candidates.iter().filter(|(_, o)| o.is_some()).count();
            tuning
                .notes
                .push(format!("the search was interrupted when it had looked at {looked_at} of {of} points"));
        }
        tuning.spent = tuning.spent.of(start.elapsed());
        Ok(tuning)
    }

    /// Phase 1. The deadline is checked before each point.
    fn count(
        &mut self,
        tuning: &mut Tuning,
        judge: &Judge,
        sample: &Args,
        end: &End<'_>,
        log: Option<&Journal>,
    ) -> Result<(), Diagnostic> {
        // On a device all points are counted, so that the strategy knows their costs. Without one,
        // it chooses which are counted at all.
        let strategy = if self.plan.device.is_gpu() { Strategy::Exhaustive } else { self.strategy };
        let points: Vec<Point> = tuning.candidates.iter().map(|(point, _)| point.clone()).collect();
        let unknown = vec![Some(f64::INFINITY); points.len()];
        let mut search = Search::new(&points, &unknown, strategy, batch_of(strategy));
        for (k, (_, outcome)) in tuning.candidates.iter().enumerate() {
            if let Some(outcome) = outcome {
                note(&mut search, k, outcome);
            }
        }
        let recalled = tuning.candidates.iter().filter(|(_, o)| o.is_some()).count();
        let scale = match self.scale {
            Some(scale) => scale,
            None => self.plan.scale_of(sample)?,
        };
        let (work, integers) = self.plan.work_of(sample, scale)?;
        let emulator = Device::emulator();
        let mut done = 0;
        let of = search.looked_at().saturating_sub(recalled);
        (self.progress)(&Progress { phase: Phase::Counting, done, of, best: None, point: None });
        loop {
            let chunk = search.next_batch();
            if chunk.is_empty() {
                break;
            }
            if end.is_over() {
                end.mark(tuning);
                break;
            }
            let found: Vec<Option<Outcome>> = {
                let this = &self.plan;
                let candidates = &tuning.candidates;
                let machine = &tuning.machine;
                let context = Context {
                    limits: this.limits.as_ref().unwrap_or(this.device.limits()),
                    emulator: &emulator,
                    sample,
                    judge,
                    machine,
                    scale,
                    work,
                    integers: &integers,
                    tolerance: this.tolerance,
                    most_statements: this.most_statements,
                };
                let kernels: Vec<Result<LoopKernel, Diagnostic>> =
                    chunk.iter().map(|k| this.kernel_of(&candidates[*k].0)).collect();
                kernels
                    .into_par_iter()
                    .zip(&chunk)
                    .map(|(kernel, k)| {
                        if end.is_over() {
                            return Ok(None);
                        }
                        let outcome = context.outcome(kernel);
                        append(log, &candidates[*k].0, &outcome)?;
                        Ok(Some(outcome))
                    })
                    .collect::<Result<_, Diagnostic>>()?
            };
            for (k, outcome) in chunk.iter().zip(found) {
                match &outcome {
                    Some(outcome) => {
                        note(&mut search, *k, outcome);
                        done += 1;
                    }
                    None => end.mark(tuning),
                }
                tuning.candidates[*k].1 = outcome;
            }
            let (best, point) = best_of(tuning, Outcome::milliseconds).unzip();
            let of = search.looked_at().saturating_sub(recalled);
            (self.progress)(&Progress { phase: Phase::Counting, done, of, best, point });
        }
        Ok(())
    }

    /// Phases 2 and 3: batches are compiled and timed, then the best few in alternation.
    fn time(
        &mut self,
        tuning: &mut Tuning,
        points: &[Point],
        judge: &Judge,
        sample: &Args,
        end: &End<'_>,
        log: Option<&Journal>,
    ) -> Result<(), Diagnostic> {
        let estimates: Vec<Option<f64>> = tuning
            .candidates
            .iter()
            .map(|(_, o)| o.as_ref().and_then(Outcome::cost).map(|c| c.estimate_ms))
            .collect();
        let sets = self.plan.argument_sets()?;
        let sample = sample.on_device(self.plan.device)?;
        let mut search =
            Search::new(points, &estimates, self.strategy, rayon::current_num_threads().clamp(2, 16));
        for (k, (_, outcome)) in tuning.candidates.iter().enumerate() {
            if let Some(times) = outcome.as_ref().and_then(Outcome::times) {
                search.tell(k, Some(times.median));
            }
        }
        let planned = search.planned();
        let mut timed =
            tuning.candidates.iter().filter(|(_, o)| o.as_ref().is_some_and(|o| o.times().is_some())).count();
        let mut best = tuning
            .candidates
            .iter()
            .filter_map(|(_, o)| Some(o.as_ref()?.times()?.median))
            .min_by(f64::total_cmp);

        let since = Instant::now();
        let mut ready = self.plan.compile(points, &search.next_batch());
        tuning.spent.compiling += since.elapsed();
        while !ready.is_empty() {
            if end.is_over() {
                end.mark(tuning);
                break;
            }
            // The next batch is chosen before this one is measured, so that it can be compiled
            // meanwhile.
            let next = search.next_batch();
            let mut results = Vec::with_capacity(ready.len());
            let mut measured_for = Duration::ZERO;
            let both = Instant::now();
            let compiled = {
                let this = &self.plan;
                let candidates = &tuning.candidates;
                std::thread::scope(|scope| {
                    let compiling = scope.spawn(|| this.compile(points, &next));
                    let since = Instant::now();
                    for candidate in &ready {
                        let cost = candidates[candidate.number].1.as_ref().and_then(Outcome::cost).copied();
                        let Some(cost) = cost else { continue };
                        let outcome = this.measure(candidate, cost, &sample, judge, &sets, best);
                        if let Some(t) = outcome.times() {
                            best = Some(best.map_or(t.median, |b: f64| b.min(t.median)));
                        }
                        results.push((candidate.number, outcome));
                    }
                    measured_for = since.elapsed();
                    compiling.join()
                })
            };
            tuning.spent.timing += measured_for;
            tuning.spent.compiling += both.elapsed().saturating_sub(measured_for);
            for (k, outcome) in results {
                search.tell(k, outcome.times().map(|t| t.median));
                append(log, &tuning.candidates[k].0, &outcome)?;
                tuning.candidates[k].1 = Some(outcome);
                timed += 1;
                let (best, point) = best_of(tuning, |o| Some(o.times()?.median)).unzip();
                (self.progress)(&Progress { phase: Phase::Timing, done: timed, of: planned, best, point });
            }
            ready =
                compiled.map_err(|_| Diagnostic::new("internal", "a thread that compiled has panicked"))?;
        }

        if !tuning.interrupted {
            let since = Instant::now();
            self.finals(tuning, points, &sets)?;
            tuning.spent.finals = since.elapsed();
        }
        Ok(())
    }

    /// Phase 3: the best few in alternation, on the same arrays.
    fn finals(&mut self, tuning: &mut Tuning, points: &[Point], sets: &[Args]) -> Result<(), Diagnostic> {
        let order = best_first(&tuning.candidates);
        let timed = order
            .into_iter()
            .filter(|k| tuning.candidates[*k].1.as_ref().is_some_and(|o| o.times().is_some()));
        let chosen: Vec<usize> = timed.take(self.finalists.max(1)).collect();
        let compiled = self.plan.compile(points, &chosen);
        let mut bounds = Vec::new();
        for set in sets {
            for ready in &compiled {
                if let Ok(compiled) = &ready.compiled {
                    bounds.push((ready.number, compiled.bind(set)?));
                }
            }
        }
        let all: Vec<&Bound> = bounds.iter().map(|(_, b)| b).collect();
        let rounds = (2 * self.plan.launches).div_ceil(sets.len().max(1));
        let times = Bound::time_in_turn(&all, rounds)?;
        let mut by_candidate: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (turn, ms) in times.iter().enumerate() {
            by_candidate.entry(bounds[turn % bounds.len()].0).or_default().push(*ms);
        }
        let mut finalists: Vec<Finalist> = by_candidate
            .into_iter()
            .filter_map(|(candidate, ms)| Some(Finalist { candidate, times: Times::of(ms)? }))
            .collect();
        finalists
            .sort_by(|a, b| a.times.median.total_cmp(&b.times.median).then(a.candidate.cmp(&b.candidate)));
        tuning.best = finalists.first().map(|f| f.candidate);
        let of = finalists.len();
        let best = finalists.first().map(|f| f.times.median);
        let point =
            finalists.first().and_then(|f| tuning.candidates.get(f.candidate)).map(|(p, _)| p.clone());
        tuning.finalists = finalists;
        (self.progress)(&Progress { phase: Phase::Finals, done: of, of, best, point });
        Ok(())
    }
}

/// Points counted in parallel before the strategy selects again: fixed, so that the same seed gives
/// the same points on every machine.
fn batch_of(strategy: Strategy) -> usize {
    match strategy {
        Strategy::Exhaustive | Strategy::Random { .. } => 16,
        Strategy::Guided { .. } => 8,
    }
}

/// Reports the outcome of a counted point to the strategy. Refused and wrong points do not take the
/// place of legal ones.
fn note(search: &mut Search<'_>, point: usize, outcome: &Outcome) {
    match outcome.milliseconds() {
        Some(ms) => search.tell(point, Some(ms)),
        None => search.leave_out(point),
    }
}

/// An open log, with the fields that all of its records share.
struct Journal {
    log: Mutex<Log>,
    key: Key,
    basis: String,
    name: String,
    /// The declared kernel, until a record has it.
    declared: Mutex<String>,
}

fn append(journal: Option<&Journal>, point: &Point, outcome: &Outcome) -> Result<(), Diagnostic> {
    let Some(Journal { log, key, basis, name, declared }) = journal else { return Ok(()) };
    let declared = std::mem::take(&mut *declared.lock().unwrap_or_else(PoisonError::into_inner));
    let record = Record {
        key: key.clone(),
        point: point.clone(),
        basis: basis.clone(),
        name: name.clone(),
        declared,
        outcome: outcome.clone(),
    };
    log.lock().unwrap_or_else(PoisonError::into_inner).append(&record)
}

/// The least figure of the points that have one, with its point.
fn best_of(tuning: &Tuning, figure: impl Fn(&Outcome) -> Option<f64>) -> Option<(f64, Point)> {
    let figures = tuning.candidates.iter().filter_map(|(p, o)| Some((figure(o.as_ref()?)?, p)));
    let best = figures.min_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(figure, point)| (figure, point.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_points_than_can_be_tried_need_a_budget() {
        assert_eq!(check_count(MOST_TRIED, None), Ok(()));
        assert_eq!(check_count(5_000_000, Some(Duration::from_secs(60))), Ok(()));
        let refused = check_count(5_000_000, None).expect_err("it would take hours");
        assert_eq!(refused.code, "space-size");
        assert!(refused.message.starts_with("5000000 points fulfil"), "{refused}");
    }
}
