//! A kernel with the emulator's counts.

use indexmap::IndexMap;
use loopwright_emulator::{CountedAccess, Report};
use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_program::{Place, Program};
use loopwright_runtime::{Args, Device, Known, known};
use loopwright_transforms::Pipeline;

use crate::Machine;
use crate::cost::held;
use crate::judge::Judge;
use crate::under_way::UnderWay;

/// The data from which findings are derived.
pub(super) struct Measured {
    /// The kernel after the pipeline.
    pub kernel: LoopKernel,
    pub program: Program,
    pub report: Report,
    pub machine: Machine,
    pub known: Known,
    /// Bytes that the resident threads of a multiprocessor have in flight, by device kernel; none
    /// if it loads nothing.
    pub under_way: Vec<Option<f64>>,
    judge: Judge,
    results: IndexMap<Name, loopwright_runtime::Tensor>,
}

impl Measured {
    pub fn of(
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        args: &Args,
        machine: &Machine,
    ) -> Result<Measured, Diagnostic> {
        let device = Device::emulator();
        let kernel = pipeline.apply(kernel)?;
        let bound = device.compile(&kernel)?.bind(args)?;
        let outputs = bound.run()?;
        let program = bound.program().clone();
        let report = outputs.report.unwrap_or_default();
        let under_way = program.kernels.iter().enumerate().map(|(number, k)| {
            let bytes = UnderWay::as_written(&program, &report, number).mean();
            let lanes = f64::from(program.target.warp_size);
            let threads = lanes * f64::from(held(k, &[], device.limits()).warps);
            (bytes > 0.0).then_some(bytes * threads)
        });
        Ok(Measured {
            under_way: under_way.collect(),
            known: known(&kernel, args)?,
            kernel,
            report,
            machine: machine.clone(),
            judge: Judge::of_results(outputs.arrays.clone()),
            results: outputs.arrays,
            program,
        })
    }

    /// How the results of another form differ, if they do.
    pub fn differs(&self, other: &Measured) -> Option<String> {
        // Without a kernel to run there is nothing that could fail.
        self.judge.wrong(&other.results, None).ok().flatten()
    }

    /// The threads of another form's blocks, if they do not fill a warp and those of this form do.
    pub fn breaks_warps(&self, other: &Measured) -> Option<u32> {
        let fewest = |m: &Measured| m.program.kernels.iter().map(|k| k.threads()).min();
        let (before, after) = fewest(self).zip(fewest(other))?;
        let warp = self.program.target.warp_size;
        (after < warp && before >= warp).then_some(after)
    }

    /// Total sectors of global memory.
    pub fn sectors(&self) -> f64 {
        (self.report.total.global_loads.sectors + self.report.total.global_stores.sectors) as f64
    }

    /// Sectors of global memory, and passes over the banks of shared memory, each of which serves
    /// the bytes of several sectors.
    pub fn burden(&self) -> f64 {
        let t = &self.report.total;
        self.sectors() + (t.shared_loads.wavefronts + t.shared_stores.wavefronts) as f64
    }

    /// Accesses of global or of shared memory.
    pub fn accesses(&self, shared: bool) -> impl Iterator<Item = &CountedAccess> {
        self.report.accesses.iter().filter(move |a| a.shared == shared)
    }

    /// Guards in the text that are due to partial tiles.
    pub fn guards(&self) -> usize {
        self.program.explain().entries.iter().filter(|e| e.place == Place::Guard).count()
    }
}
