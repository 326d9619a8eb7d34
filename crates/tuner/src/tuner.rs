//! The search for the best point of a space.
//!
//! 1. Every point's kernel is made and lowered, side by side, and run on the emulator over the sample: what a step or a limit refuses, what
//!    the emulator's checks find, and what differs from the declared kernel are results with a reason. What is left has a [`Cost`].
//! 2. On a GPU the strategy hands out batches. The kernels of a batch are compiled side by side while the device measures the batch
//!    before. Each is run on the sample and compared, then timed on the problem: medians of launches over sets of arrays that together
//!    exceed the second-level cache. A point whose bound lies clearly above the best time so far is not timed.
//! 3. The best few are timed again in alternation, and the best of those is named.
//!
//! Outcomes go to the log as they come, from each thread, so that a run that was killed goes on where it stopped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::cuda::DeviceInfo;
use loopwright_runtime::{Args, Bound, Device};
use loopwright_transforms::Pipeline;
use rayon::prelude::*;

use crate::body::MOST_STATEMENTS;
use crate::candidate::{Context, Plan};
use crate::judge::Judge;
use crate::{
    BinaryFolder, Key, Log, Machine, Outcome, Point, Record, RecordKey, Search, Space, Strategy, Times,
};
use crate::{basis, binaries};

/// How far a search is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// How many points of the phase are done.
    pub done: usize,
    /// How many there are.
    pub of: usize,
    /// The best figure so far, milliseconds: measured, or estimated where nothing is measured.
    pub best: Option<f64>,
}

/// The phases of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Points are lowered, checked and counted.
    Counting,
    /// Points are compiled and timed.
    Timing,
    /// The best are timed in alternation.
    Finals,
}

/// How long the phases took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Lowering, checking and counting on the emulator.
    pub counting: Duration,
    /// Compiling, as far as the device had to wait for it.
    pub compiling: Duration,
    /// Checking and timing on the device.
    pub timing: Duration,
    /// The finals.
    pub finals: Duration,
}

/// A finalist's times in alternation with the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Finalist {
    /// Its number among the points.
    pub candidate: usize,
    /// Its times.
    pub times: Times,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// What the search is called.
    pub name: String,
    /// What the outcomes depend on.
    pub key: Key,
    /// What counts depend on besides, as [`Record::basis`].
    pub basis: String,
    /// What a record of this search holds for.
    pub record_key: RecordKey,
    /// The machine that costs are estimated for.
    pub machine: Machine,
    /// Every point of the space with what became of it; none for those that the strategy or the time budget left out before they were counted.
    pub candidates: Vec<(Point, Option<Outcome>)>,
    /// The best few, timed in alternation, best first; empty where nothing was timed.
    pub finalists: Vec<Finalist>,
    /// The best point's number.
    pub best: Option<usize>,
    /// How many outcomes came from the log.
    pub recalled: usize,
    /// Records of the log that were not used: how many, and the field in which the first differs, with its value here and there.
    pub not_used: Option<(usize, (String, String, String))>,
    /// Where the time went.
    pub spent: Spent,
    /// Whether the time budget ended the search.
    pub out_of_time: bool,
}

impl Tuning {
    /// The best point.
    pub fn best_point(&self) -> Option<&Point> {
        self.best.map(|k| &self.candidates[k].0)
    }

    /// The best point's outcome.
    pub fn best_outcome(&self) -> Option<&Outcome> {
        self.best.and_then(|k| self.candidates[k].1.as_ref())
    }

    /// The part of the memory's limit that the best point reaches, 0 to 1; none where nothing was timed.
    pub fn fraction_of_limit(&self) -> Option<f64> {
        let outcome = self.best_outcome()?;
        Some(outcome.cost()?.bound_ms / outcome.times()?.median)
    }
}

/// A search. Make it with [`Tuner::new`], set what differs from the usual, and [`run`](Tuner::run) it.
pub struct Tuner<'a> {
    pub(crate) plan: Plan<'a>,
    sample: Option<&'a Args>,
    scale: Option<f64>,
    strategy: Strategy,
    budget: Option<Duration>,
    log: Option<PathBuf>,
    name: Option<String>,
    finalists: usize,
    machine: Option<Machine>,
    progress: Box<dyn FnMut(&Progress) + 'a>,
}

impl<'a> Tuner<'a> {
    /// A search for the fastest way to run a kernel on these arguments. Kernels are compared on `args` unless a smaller
    /// [`sample`](Tuner::sample) is given.
    pub fn new(
        device: &'a Device,
        kernel: &'a LoopKernel,
        pipeline: &'a Pipeline,
        space: &'a Space,
        args: &'a Args,
    ) -> Tuner<'a> {
        Tuner {
            plan: Plan {
                device,
                kernel,
                pipeline,
                space,
                args,
                tolerance: None,
                launches: 20,
                binaries: None,
                limits: None,
                most_statements: MOST_STATEMENTS,
            },
            sample: None,
            scale: None,
            strategy: Strategy::Exhaustive,
            budget: None,
            log: None,
            name: None,
            finalists: 6,
            machine: None,
            progress: Box::new(|_| {}),
        }
    }

    /// The same search after another plan.
    pub(crate) fn with_plan<'b>(self, plan: Plan<'b>) -> Tuner<'b>
    where
        'a: 'b,
    {
        Tuner { plan, ..self }
    }

    /// With a smaller problem to check and count on: the interpreter and the emulator are slow. It has to fulfil the same assumptions.
    pub fn sample(mut self, args: &'a Args) -> Self {
        self.sample = Some(args);
        self
    }

    /// How many times larger the problem is than the sample, for the estimates; by default the ratio of the bytes of the given arrays.
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = Some(scale);
        self
    }

    /// With a strategy; by default all points.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Ends after this time, with what was found until then.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Keeps outcomes in a file and goes on with those it holds.
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// Calls the search so in its log, where reports of several searches tell them apart by it; by default the kernel's name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How far results may be off, relative to the largest element of their array; by default what their type makes usual.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.plan.tolerance = Some(tolerance);
        self
    }

    /// How many launches a median is of; 20 by default.
    pub fn launches(mut self, launches: usize) -> Self {
        self.plan.launches = launches.max(1);
        self
    }

    /// How many of the best are timed again in alternation; 6 by default.
    pub fn finalists(mut self, finalists: usize) -> Self {
        self.finalists = finalists;
        self
    }

    /// Estimates for this machine instead of measuring the device.
    pub fn machine(mut self, machine: Machine) -> Self {
        self.machine = Some(machine);
        self
    }

    /// Estimates within these limits of a device instead of those of the device that runs the search.
    pub fn limits(mut self, limits: DeviceInfo) -> Self {
        self.plan.limits = Some(limits);
        self
    }

    /// Lets points through whose bodies have up to this many statements once their loops are unrolled; 6000 by default. The compiler takes
    /// seconds for such a body, and for longer ones minutes: they are results with a reason (`body-too-long`), and are not compiled.
    pub fn most_statements(mut self, most: usize) -> Self {
        self.plan.most_statements = most;
        self
    }

    /// Times the binaries of a folder that [`Tuner::compile_only`] has made, without the compiler. What was checked and counted there is not
    /// counted again; results are checked on the device before times count, as always.
    pub fn binaries(mut self, folder: BinaryFolder) -> Self {
        self.plan.binaries = Some(folder);
        self
    }

    /// Called after every point.
    pub fn on_progress(mut self, progress: impl FnMut(&Progress) + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Runs the search.
    pub fn run(mut self) -> Result<Tuning, Diagnostic> {
        let start = Instant::now();
        self.plan.space.check(self.plan.pipeline)?;
        let points = self.plan.space.points()?;
        if points.is_empty() {
            return Err(Diagnostic::new("empty-space", "no point fulfils the requirements of the space")
                .help("relax a `require` line, or give more candidates"));
        }
        let Plan { kernel, pipeline, args, device, .. } = self.plan;
        let mut key = Key::new(kernel, pipeline, args, device)?;
        let sample = self.sample.unwrap_or(args);
        let mut record_key = RecordKey::with_sample(kernel, pipeline, args, Some(sample), device)?;
        if let Some(folder) = &self.plan.binaries {
            folder.check_key(&key)?;
            folder.check_device(device.limits())?;
            // What is timed is what was compiled there.
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
        let mut log = None;
        let mut outcomes: Vec<Option<Outcome>> = vec![None; points.len()];
        let (mut recalled_count, mut not_used) = (0, None);
        if let Some(path) = &self.log {
            let (opened, recalled) = Log::open(path, &key, &basis)?;
            let by_point: BTreeMap<Point, Outcome> = recalled.outcomes.into_iter().collect();
            for (point, outcome) in points.iter().zip(&mut outcomes) {
                *outcome = by_point.get(point).cloned();
                recalled_count += usize::from(outcome.is_some());
            }
            not_used = recalled.difference.map(|d| (recalled.others, d));
            log = Some(Journal {
                log: Mutex::new(opened),
                key: key.clone(),
                basis: basis.clone(),
                name: name.clone(),
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
            key,
            basis,
            record_key,
            machine,
            candidates: points.iter().cloned().zip(outcomes).collect(),
            finalists: Vec::new(),
            best: None,
            recalled: recalled_count,
            not_used,
            spent: Spent::default(),
            out_of_time: false,
        };
        let deadline = self.budget.map(|b| start + b);
        let judge = Judge::new(self.plan.kernel, sample)?;

        let since = Instant::now();
        self.count(&mut tuning, &judge, sample, deadline, log.as_ref())?;
        tuning.spent.counting = since.elapsed();
        if self.plan.device.is_gpu() {
            self.time(&mut tuning, &points, &judge, sample, deadline, log.as_ref())?;
        }
        if tuning.finalists.is_empty() {
            tuning.best = best_first(&tuning.candidates).first().copied();
        }
        Ok(tuning)
    }

    /// Phase 1. Between chunks the clock is looked at.
    fn count(
        &mut self,
        tuning: &mut Tuning,
        judge: &Judge,
        sample: &Args,
        deadline: Option<Instant>,
        log: Option<&Journal>,
    ) -> Result<(), Diagnostic> {
        let open: Vec<usize> =
            (0..tuning.candidates.len()).filter(|k| tuning.candidates[*k].1.is_none()).collect();
        let scale = match self.scale {
            Some(scale) => scale,
            None => self.plan.scale_of(sample)?,
        };
        let (work, integers) = self.plan.work_of(sample, scale)?;
        let emulator = Device::emulator();
        let mut done = 0;
        for chunk in open.chunks(16) {
            if deadline.is_some_and(|d| Instant::now() >= d) {
                tuning.out_of_time = true;
                break;
            }
            let found: Vec<Outcome> = {
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
                    .zip(chunk)
                    .map(|(kernel, k)| {
                        let outcome = context.outcome(kernel);
                        append(log, &candidates[*k].0, &outcome)?;
                        Ok(outcome)
                    })
                    .collect::<Result<_, Diagnostic>>()?
            };
            for (k, outcome) in chunk.iter().zip(found) {
                tuning.candidates[*k].1 = Some(outcome);
                done += 1;
            }
            let best = tuning.candidates.iter().filter_map(|(_, o)| o.as_ref()?.milliseconds());
            let best = best.min_by(f64::total_cmp);
            (self.progress)(&Progress { phase: Phase::Counting, done, of: open.len(), best });
        }
        Ok(())
    }

    /// Phases 2 and 3.
    fn time(
        &mut self,
        tuning: &mut Tuning,
        points: &[Point],
        judge: &Judge,
        sample: &Args,
        deadline: Option<Instant>,
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
            if deadline.is_some_and(|d| Instant::now() >= d) {
                tuning.out_of_time = true;
                break;
            }
            // The next batch is chosen before this one is measured, so that it can be compiled meanwhile.
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
                (self.progress)(&Progress { phase: Phase::Timing, done: timed, of: planned, best });
            }
            ready =
                compiled.map_err(|_| Diagnostic::new("internal", "a thread that compiled has panicked"))?;
        }

        let since = Instant::now();
        self.finals(tuning, points, &sets)?;
        tuning.spent.finals = since.elapsed();
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
        tuning.finalists = finalists;
        (self.progress)(&Progress { phase: Phase::Finals, done: of, of, best });
        Ok(())
    }
}

/// An open log, with what all of its records have in common.
struct Journal {
    log: Mutex<Log>,
    key: Key,
    basis: String,
    name: String,
}

fn append(journal: Option<&Journal>, point: &Point, outcome: &Outcome) -> Result<(), Diagnostic> {
    let Some(Journal { log, key, basis, name }) = journal else { return Ok(()) };
    let record = Record {
        key: key.clone(),
        point: point.clone(),
        basis: basis.clone(),
        name: name.clone(),
        outcome: outcome.clone(),
    };
    log.lock().unwrap_or_else(PoisonError::into_inner).append(&record)
}

/// The points that have a figure, best first: measured ones before estimated ones, equal ones in the order of the space.
pub(crate) fn best_first(candidates: &[(Point, Option<Outcome>)]) -> Vec<usize> {
    let figure = |k: usize| -> Option<(bool, f64)> {
        let outcome = candidates[k].1.as_ref()?;
        Some((outcome.times().is_none(), outcome.milliseconds()?))
    };
    let mut order: Vec<(usize, (bool, f64))> =
        (0..candidates.len()).filter_map(|k| Some((k, figure(k)?))).collect();
    order.sort_by(|(i, a), (j, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(i.cmp(j)));
    order.into_iter().map(|(k, _)| k).collect()
}
