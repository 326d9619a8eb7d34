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

/// What [`Tuner::compile_only`] made.
#[derive(Clone, Debug)]
pub struct CompiledFolder {
    /// How many candidates have a binary.
    pub compiled: usize,
    /// How many are illegal, impossible or wrong; the manifest says why.
    pub refused: usize,
    /// Lowering, checking and counting on the emulator.
    pub counting: Duration,
    /// Compiling, all cores together, by the clock.
    pub compiling: Duration,
    /// The search on the emulator, with the registers that the compiler reported, and what it
    /// refused.
    pub tuning: Tuning,
}

impl Tuner<'_> {
    /// Checks and counts every point on the emulator, and compiles those that are legal for an
    /// architecture, side by side, into a folder. No GPU is needed; of the problem only sizes are
    /// looked at.
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
                // A folder that cannot be written to is no property of the point.
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
            // In the same order, without the points that were not looked at.
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
