//! The half of a search that needs no GPU: candidates checked, counted and compiled into a folder.

use std::path::Path;
use std::time::{Duration, Instant};

use loopwright_kernel_ir::Diagnostic;
use loopwright_runtime::{Arch, Device, nvrtc};
use rayon::prelude::*;

use crate::binaries::{self, Candidate};
use crate::candidate::Plan;
use crate::tuning::best_first;
use crate::{Key, Outcome, Point, Tuner, Tuning, key};

/// The result of [`Tuner::compile_only`].
#[derive(Clone, Debug)]
pub struct CompiledFolder {
    /// Number of candidates with a binary.
    pub compiled: usize,
    /// Number of candidates that are illegal, impossible or wrong; the manifest says why.
    pub refused: usize,
    /// Time for lowering, checking and counting on the emulator.
    pub counting: Duration,
    /// Wall-clock time for compiling on all cores.
    pub compiling: Duration,
    /// The search on the emulator, with the registers that the compiler reported, and its refusals.
    pub tuning: Tuning,
}

impl Tuner<'_> {
    /// Checks and counts every point on the emulator, and compiles the legal ones for an
    /// architecture, in parallel, into a folder. No GPU is needed; only the sizes of the problem
    /// are used.
    pub fn compile_only(self, folder: impl AsRef<Path>, arch: Arch) -> Result<CompiledFolder, Diagnostic> {
        let folder = folder.as_ref();
        let library = nvrtc::library().map_err(|e| Diagnostic::from(nvrtc::CompileError::from(e)))?;
        let emulator = Device::emulator();
        let (kernel, args) = (self.plan.kernel, self.plan.args);
        let key = Key {
            device: String::new(),
            driver: String::new(),
            compiler: key::compiler_version(library),
            ..Key::new(kernel, self.plan.pipeline, args, self.plan.device)?
        };
        // Everything but the compiling is the search on the emulator.
        let plan = Plan { device: &emulator, ..self.plan.clone() };
        let mut tuning = self.with_plan(plan.clone()).run()?;
        let since = Instant::now();
        binaries::prepare(folder)?;
        let limits = crate::machine::compile_limits(folder, arch)?;
        let compile = |(number, (point, outcome)): (usize, (Point, Option<Outcome>))| {
            let outcome = outcome?;
            let Outcome::Counted { mut cost } = outcome else {
                return Some(Ok(Candidate::new(point, outcome, None)));
            };
            let binary = plan.kernel_of(&point).and_then(|kernel| {
                let binary =
                    binaries::compile_into(folder, format!("{number:05}.cubin"), &kernel, args, arch)?;
                cost.note(&binary.resources());
                Ok(binary)
            });
            Some(match binary {
                Ok(binary) => Ok(Candidate::new(point, Outcome::Counted { cost }, Some(binary))),
                // A folder that cannot be written to is not the fault of the point.
                Err(d) if d.code == "write-file" => Err(d),
                Err(d) => Ok(Candidate::new(point, Outcome::refused(&d), None)),
            })
        };
        let all: Vec<(usize, _)> = tuning.candidates.iter().cloned().enumerate().collect();
        let candidates: Vec<Candidate> =
            all.into_par_iter().filter_map(compile).collect::<Result<_, Diagnostic>>()?;
        let refused = candidates.iter().filter(|c| c.outcome.cost().is_none()).count();
        let mut compiled = candidates.iter();
        for (_, outcome) in tuning.candidates.iter_mut().filter(|(_, o)| o.is_some()) {
            // In the same order, without the points that were skipped.
            *outcome = compiled.next().map(|c| c.outcome.clone());
        }
        tuning.best = best_first(&tuning.candidates).first().copied();
        tuning.spent.compiling = since.elapsed();
        let made = CompiledFolder {
            compiled: candidates.len() - refused,
            refused,
            counting: tuning.spent.counting,
            compiling: tuning.spent.compiling,
            tuning,
        };
        binaries::finish(folder, arch, key, limits, candidates)?;
        Ok(made)
    }
}
