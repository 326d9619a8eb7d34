//! Making, checking and measuring one candidate.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_runtime::cuda::{DeviceInfo, FunctionInfo, Prepared};
use loopwright_runtime::nvrtc::KernelResources;
use loopwright_runtime::{Args, Bound, CompileOptions, Compiled, Device, known};
use loopwright_transforms::Pipeline;
use rayon::prelude::*;

use crate::cost::Counted;
use crate::judge::Judge;
use crate::work::Work;
use crate::{BinaryFolder, Cost, Machine, Outcome, Point, Space, Times, body};

/// The data that threads need to make and measure candidates.
#[derive(Clone)]
pub(crate) struct Plan<'a> {
    pub device: &'a Device,
    pub kernel: &'a LoopKernel,
    pub pipeline: &'a Pipeline,
    pub space: &'a Space,
    pub args: &'a Args,
    pub tolerance: Option<f64>,
    pub launches: usize,
    /// The source of binaries instead of the compiler, if any.
    pub binaries: Option<BinaryFolder>,
    /// Limits of another device than this one, for the estimates.
    pub limits: Option<DeviceInfo>,
    /// The most statements of an unrolled body.
    pub most_statements: usize,
}

/// The factor by which the memory may turn out to be faster than measured: kernels have read 2 %
/// faster than the best of those that measure the machine.
const MEASURED_SHORT: f64 = 1.05;

/// Whether the memory bound alone shows that a candidate takes longer than `best_ms`.
fn cannot_win(cost: &Cost, best_ms: f64) -> bool {
    cost.bound_ms > MEASURED_SHORT * best_ms
}

/// Number of launches after which a candidate that is clearly slower than the best so far is
/// abandoned.
const BRIEF: usize = 3;

/// Whether the first launches show that a candidate is clearly slower: the fastest of them takes
/// twice the best median so far. The time of such a candidate need not be exact, and timing the
/// slowest points of a space in full takes longer than all others.
fn is_clearly_behind(first: &[f64], best: Option<f64>) -> bool {
    best.is_some_and(|best| first.iter().all(|ms| *ms > 2.0 * best))
}

/// The compiler's report on its kernels, completed by the driver's where it is missing: of 196
/// kernels compiled by 16 threads at once, the logs of 70 had no registers.
fn completed<'i>(
    told: &[KernelResources],
    launched: impl Iterator<Item = &'i FunctionInfo>,
) -> Vec<KernelResources> {
    let mut resources: Vec<KernelResources> = told.iter().filter(|r| r.registers > 0).cloned().collect();
    for info in launched {
        if !resources.iter().any(|r| r.name == info.name) {
            resources.push(KernelResources {
                name: info.name.clone(),
                registers: info.registers,
                shared_bytes: info.shared_bytes,
                stack_bytes: info.local_bytes,
                ..KernelResources::default()
            });
        }
    }
    resources
}

/// A candidate compiled for the device.
pub(crate) struct Ready {
    pub number: usize,
    pub compiled: Result<Compiled, Diagnostic>,
}

impl Plan<'_> {
    /// The kernel after the pipeline with the values of a point; an error is the refusal of a step.
    pub fn kernel_of(&self, point: &Point) -> Result<LoopKernel, Diagnostic> {
        self.pipeline.bind(point.values().map(|(n, v)| (n.as_str(), v)))?.apply(self.kernel)
    }

    /// The bytes of the problem's arrays over those of the sample's.
    pub fn scale_of(&self, sample: &Args) -> Result<f64, Diagnostic> {
        let bytes = |args: &Args| -> Result<f64, Diagnostic> {
            let arrays = known(self.kernel.declared(), args)?.arrays;
            Ok(arrays.values().map(|(t, shape)| (t.bytes() * shape.iter().product::<usize>()) as f64).sum())
        };
        let (all, part) = (bytes(self.args)?, bytes(sample)?);
        Ok(if part > 0.0 { all / part } else { 1.0 })
    }

    /// The work of the problem over that of the sample, by bytes if ranges depend on data; with it
    /// the problem's integers.
    pub fn work_of(&self, sample: &Args, scale: f64) -> Result<(f64, BTreeMap<Name, i64>), Diagnostic> {
        let declared = self.kernel.declared();
        let integers = known(declared, self.args)?.integers;
        let work = Work::of(declared, &|_| false);
        let of = |integers| work.at(integers).filter(|n| *n > 0.0);
        let work = match (of(&integers), of(&known(declared, sample)?.integers)) {
            (Some(all), Some(part)) => all / part,
            _ => scale,
        };
        Ok((work, integers))
    }

    /// Sets of arguments on the device, at most eight, whose total size is four times that of its
    /// cache.
    pub fn argument_sets(&self) -> Result<Vec<Args>, Diagnostic> {
        let bytes: usize =
            self.args.arrays().map(|(_, dtype, shape)| dtype.bytes() * shape.iter().product::<usize>()).sum();
        let wanted = 4 * usize::try_from(self.device.limits().l2_bytes).unwrap_or(0);
        let count = wanted.div_ceil(bytes.max(1)).clamp(1, 8);
        (0..count).map(|_| self.args.on_device(self.device)).collect()
    }

    pub fn compile(&self, points: &[Point], batch: &[usize]) -> Vec<Ready> {
        batch
            .par_iter()
            .map(|&number| {
                let point = &points[number];
                let compiled = self.kernel_of(point).and_then(|kernel| match &self.binaries {
                    Some(folder) => folder.load(self.device, &kernel, self.args, point),
                    None => self.device.compile_with(&kernel, &CompileOptions::default()),
                });
                Ready { number, compiled }
            })
            .collect()
    }

    pub fn measure(
        &self,
        candidate: &Ready,
        mut cost: Cost,
        sample: &Args,
        judge: &Judge,
        sets: &[Args],
        best: Option<f64>,
    ) -> Outcome {
        let compiled = match &candidate.compiled {
            Ok(compiled) => compiled,
            Err(d) => return Outcome::refused(d),
        };
        if best.is_some_and(|best| cannot_win(&cost, best)) {
            return Outcome::Counted { cost };
        }
        let mut attempt = || -> Result<Outcome, Diagnostic> {
            let outputs = compiled.run(sample)?;
            if let Some(message) = judge.wrong(&outputs.arrays, self.tolerance)? {
                return Ok(Outcome::Wrong { message });
            }
            let bound = sets.iter().map(|args| compiled.bind(args)).collect::<Result<Vec<Bound>, _>>()?;
            let all: Vec<&Bound> = bound.iter().collect();
            if let (Ok(stages), Some(first)) = (compiled.stages_for(sample), all.first()) {
                let launched = first.as_cuda().unwrap_or_default().iter().map(Prepared::info);
                let resources = completed(stages.resources(), launched);
                cost.compiled(&stages.program, &resources, self.device.limits());
            }
            let rounds = self.launches.div_ceil(all.len());
            let brief = BRIEF.div_ceil(all.len()).min(rounds);
            let mut times = Bound::time_in_turn(&all, brief)?;
            if brief < rounds && !is_clearly_behind(&times, best) {
                times.extend(Bound::time_in_turn(&all, rounds - brief)?);
            }
            Ok(match Times::of(times) {
                Some(times) => Outcome::Timed { cost, times },
                None => Outcome::Counted { cost },
            })
        };
        attempt().unwrap_or_else(|d| Outcome::refused(&d))
    }
}

/// The data that counting a candidate needs.
pub(crate) struct Context<'c> {
    pub limits: &'c DeviceInfo,
    pub emulator: &'c Device,
    pub sample: &'c Args,
    pub judge: &'c Judge,
    pub machine: &'c Machine,
    pub scale: f64,
    pub work: f64,
    pub integers: &'c BTreeMap<Name, i64>,
    pub tolerance: Option<f64>,
    pub most_statements: usize,
}

impl Context<'_> {
    pub fn outcome(&self, kernel: Result<LoopKernel, Diagnostic>) -> Outcome {
        self.attempt(kernel).unwrap_or_else(|d| Outcome::refused(&d))
    }

    pub fn attempt(&self, kernel: Result<LoopKernel, Diagnostic>) -> Result<Outcome, Diagnostic> {
        let bound = self.emulator.compile(&kernel?)?.bind(self.sample)?;
        body::check(bound.program(), self.most_statements)?;
        let outputs = bound.run()?;
        if let Some(message) = self.judge.wrong(&outputs.arrays, self.tolerance)? {
            return Ok(Outcome::Wrong { message });
        }
        let report = outputs.report.unwrap_or_default();
        let counted = Counted {
            program: bound.program(),
            report: &report,
            resources: &[],
            necessary_bytes: self.judge.necessary_bytes,
            scale: self.scale,
            work: self.work,
            launches: 1.0,
            integers: self.integers,
        };
        Ok(Outcome::Counted { cost: Cost::of(&counted, self.machine, self.limits) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first candidate for rows of 16384 took 0.2356 ms, where the measured rate gives 0.2364
    /// ms, and eight of those after it were faster.
    #[test]
    fn a_machine_that_is_faster_than_measured_prunes_nothing_that_may_win() {
        let bound = |bound_ms| Cost { bound_ms, ..Cost::default() };
        assert!(!cannot_win(&bound(0.2364), 0.2356));
        assert!(cannot_win(&bound(0.2364), 0.2200));
        assert!(!cannot_win(&bound(0.0), 0.2356));
    }

    #[test]
    fn only_what_takes_twice_the_best_in_each_of_its_first_launches_is_left_early() {
        assert!(is_clearly_behind(&[2.5, 2.1, 9.0], Some(1.0)));
        assert!(!is_clearly_behind(&[2.5, 1.9, 9.0], Some(1.0)), "a launch that something else held up");
        assert!(!is_clearly_behind(&[2.5, 2.1, 9.0], None), "the first of all");
    }

    #[test]
    fn the_driver_tells_the_registers_that_the_log_leaves_out() {
        let info = |name: &str, registers| FunctionInfo {
            name: name.into(),
            registers,
            shared_bytes: 64,
            local_bytes: 8,
            constant_bytes: 0,
            max_threads_per_block: 1024,
            parameters: None,
        };
        let told = |name: &str, registers| KernelResources {
            name: name.into(),
            registers,
            ..KernelResources::default()
        };
        let launched = [info("a", 40), info("b", 24), info("c", 16), info("b", 24)];
        let all = completed(&[told("a", 40), told("b", 0)], launched.iter());
        let figures: Vec<(&str, u32, u32)> =
            all.iter().map(|r| (r.name.as_str(), r.registers, r.stack_bytes)).collect();
        assert_eq!(figures, [("a", 40, 0), ("b", 24, 8), ("c", 16, 8)]);
    }
}
