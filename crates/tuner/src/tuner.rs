//! The options of a search.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::cuda::DeviceInfo;
use loopwright_runtime::{Args, Device, known};
use loopwright_transforms::Pipeline;

use crate::body::MOST_STATEMENTS;
use crate::candidate::Plan;
use crate::points::points;
use crate::work::Work;
use crate::{BinaryFolder, Machine, Progress, Space, Strategy, Tuning, partial_tiles};

/// A search. Create it with [`Tuner::new`], set options, and [`run`](Tuner::run) it.
#[must_use = "its methods return a changed one"]
pub struct Tuner<'a> {
    pub(crate) plan: Plan<'a>,
    pub(crate) sample: Option<&'a Args>,
    pub(crate) scale: Option<f64>,
    pub(crate) strategy: Strategy,
    pub(crate) budget: Option<Duration>,
    pub(crate) stop: Box<dyn Fn() -> bool + Sync + 'a>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) name: Option<String>,
    pub(crate) finalists: usize,
    pub(crate) machine: Option<Machine>,
    pub(crate) progress: Box<dyn FnMut(&Progress) + 'a>,
}

impl<'a> Tuner<'a> {
    /// A search for the fastest way to run a kernel on these arguments. Kernels are compared on
    /// `args` unless a smaller [`sample`](Tuner::sample) is given.
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
            stop: Box::new(|| false),
            log: None,
            name: None,
            finalists: 6,
            machine: None,
            progress: Box::new(|_| {}),
        }
    }

    /// The same search with another plan.
    pub(crate) fn with_plan<'b>(self, plan: Plan<'b>) -> Tuner<'b>
    where
        'a: 'b,
    {
        Tuner { plan, ..self }
    }

    /// Sets a smaller problem for checks and counts, since the interpreter and the emulator are
    /// slow. It has to satisfy the same assumptions, and tiles that divide the problem's sizes
    /// should also divide the sample's: the cost of partial tiles there is counted
    /// ([`Tuning::notes`]).
    pub fn sample(mut self, args: &'a Args) -> Self {
        self.sample = Some(args);
        self
    }

    /// The size of the problem over that of the sample, for the estimates; by default the ratio of
    /// the bytes of the given arrays.
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = Some(scale);
        self
    }

    /// Sets the strategy; the default is all points. On a GPU all points are counted and the
    /// strategy selects those to time; on the emulator, where nothing is timed, it selects those to
    /// count.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Limits the time of the search, which ends with what it has found. The reference is cut too,
    /// between two of its instructions, in which case nothing is known about any point; points in
    /// progress are completed, and the finals of the timed points take place.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Ends the search with what it has found as soon as this holds, as when a user interrupts it.
    /// It is asked before each point that is counted, and before each batch that is timed; there
    /// are no finals then.
    pub fn stop_when(mut self, stop: impl Fn() -> bool + Sync + 'a) -> Self {
        self.stop = Box::new(stop);
        self
    }

    /// Keeps outcomes in a file and resumes from those in it.
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// Sets the name of the search in its log, by which reports distinguish searches; by default
    /// the kernel's name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The relative tolerance for each floating-point element (see
    /// [`Expectation`](loopwright_runtime::Expectation)); the default depends on the type. Integers
    /// are compared exactly.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.plan.tolerance = Some(tolerance);
        self
    }

    /// Number of launches per median, at least one; 20 by default. If each of the first three
    /// launches of a point takes more than twice the best median so far, it is not timed further,
    /// as its [`Times`](crate::Times) show.
    pub fn launches(mut self, launches: usize) -> Self {
        self.plan.launches = launches;
        self
    }

    /// Number of the best points that are timed again in alternation; 6 by default.
    pub fn finalists(mut self, finalists: usize) -> Self {
        self.finalists = finalists;
        self
    }

    /// Estimates for this machine instead of measuring the device.
    pub fn machine(mut self, machine: Machine) -> Self {
        self.machine = Some(machine);
        self
    }

    /// Estimates within these limits of a device instead of those of the device that runs the
    /// search.
    pub fn limits(mut self, limits: DeviceInfo) -> Self {
        self.plan.limits = Some(limits);
        self
    }

    /// The most statements of a body after unrolling; 6000 by default. The compiler takes seconds
    /// for such a body, and minutes for longer ones: these are refused with a reason
    /// (`body-too-long`) and not compiled.
    pub fn most_statements(mut self, most: usize) -> Self {
        self.plan.most_statements = most;
        self
    }

    /// Times the binaries of a folder that [`Tuner::compile_only`] has made, without the compiler.
    /// Checks and counts are not repeated; results are checked on the device before times count, as
    /// always.
    pub fn binaries(mut self, folder: BinaryFolder) -> Self {
        self.plan.binaries = Some(folder);
        self
    }

    /// Called when the reference begins and after every point.
    pub fn on_progress(mut self, progress: impl FnMut(&Progress) + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }
    /// Number of instruction executions of the sample, each of which takes the reference and the
    /// emulator microseconds. If ranges depend on data, the number of elements of its arrays.
    pub fn sample_size(&self) -> Result<f64, Diagnostic> {
        let sizes = known(self.plan.kernel.declared(), self.sample.unwrap_or(self.plan.args))?;
        let elements =
            || sizes.arrays.values().map(|(_, shape)| shape.iter().product::<usize>() as f64).sum();
        Ok(points(self.plan.kernel.declared(), &sizes.integers).unwrap_or_else(elements))
    }

    /// Runs the search.
    ///
    /// Errors: a space that does not fit the pipeline or has no points, arguments that do not fit
    /// the kernel, a problem or a sample without work, a strategy of no points, medians of no
    /// launches, a file that is not a log. Errors of a point are its [`Outcome`].
    ///
    /// [`Outcome`]: crate::Outcome
    pub fn run(self) -> Result<Tuning, Diagnostic> {
        let start = Instant::now();
        self.strategy.check()?;
        if self.plan.launches == 0 {
            return Err(Diagnostic::new("launches", "the median of 0 launches has no value")
                .help("time 1 launch or more; 20 are the default"));
        }
        self.something_to_do()?;
        let notes = match self.sample {
            Some(sample) => {
                let mut notes = partial_tiles::notes(&self.plan, &self.plan.space.points()?, sample)?;
                notes.extend(Work::of(self.plan.kernel.declared(), &|_| false).estimated());
                notes
            }
            None => Vec::new(),
        };
        let mut found = self.search(start)?;
        // The search has notes of its own.
        found.notes.splice(0..0, notes);
        Ok(found)
    }

    /// Refuses sizes at which no instruction is executed: all points would cost nothing.
    fn something_to_do(&self) -> Result<(), Diagnostic> {
        let declared = self.plan.kernel.declared();
        for (what, args) in [("problem", Some(self.plan.args)), ("sample", self.sample)] {
            let Some(args) = args else { continue };
            let integers = known(declared, args)?.integers;
            if points(declared, &integers) == Some(0.0) {
                let sizes: Vec<String> = integers.iter().map(|(name, v)| format!("{name}={v}")).collect();
                let message = format!(
                    "`{}` does nothing for the {what} ({}): no instruction is executed",
                    declared.name,
                    sizes.join(" ")
                );
                return Err(Diagnostic::new("nothing-to-do", message)
                    .help("use sizes with some work; without work, all points are equally good"));
            }
        }
        Ok(())
    }
}
