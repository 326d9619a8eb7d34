//! The static cost of one kernel.

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::{Args, Device, known};

use crate::{Cost, Counted, Machine, judge::necessary_bytes};

/// The static cost of a transformed kernel for these arguments on a machine: it runs on the
/// emulator, which counts.
///
/// Errors: those of lowering, of arguments that do not fit, and what the emulator finds.
pub fn estimate(kernel: &LoopKernel, args: &Args, machine: &Machine) -> Result<Cost, Diagnostic> {
    let emulator = Device::emulator();
    let bound = emulator.compile(kernel)?.bind(args)?;
    let necessary_bytes = necessary_bytes(&bound)?;
    let report = bound.run()?.report.unwrap_or_default();
    let integers = known(kernel.declared(), args)?.integers;
    let counted = Counted::whole(bound.program(), &report, necessary_bytes, &integers);
    Ok(Cost::of(&counted, machine, emulator.limits()))
}
