//! The host time of a launch, compared with that of the driver's own call.

use std::time::Instant;

use loopwright_kernel_ir::Diagnostic;

use super::Bound;
use super::bound::Execution;

/// Nanoseconds of host time per launch, one value per round. Each round measures all three, in an
/// order that changes from round to round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostCost {
    /// Nanoseconds of [`Bound::launch`].
    pub launch: Vec<f64>,
    /// `cuLaunchKernel` of the same functions with the same sizes, stream and packed parameters,
    /// and nothing else.
    pub bare: Vec<f64>,
    /// The driver's call again, to show the variation between two measurements of the same.
    pub bare_again: Vec<f64>,
}

impl Bound {
    /// Measures the host time of launches on a GPU, in this many rounds of this many launches of
    /// each kind. Between measurements it waits for the device, so that the driver's queue never
    /// fills; that time is not counted.
    pub fn host_cost(&self, rounds: usize, launches: usize) -> Result<HostCost, Diagnostic> {
        let Execution::Cuda { launches: prepared, .. } = self.execution() else {
            return Err(Diagnostic::new(
                "no-device",
                "the cost of the driver's call can only be measured on a GPU",
            )
            .help("bind the kernel on a device of `Device::cuda`"));
        };
        let time = |work: &dyn Fn() -> Result<(), Diagnostic>| -> Result<f64, Diagnostic> {
            self.wait()?;
            let start = Instant::now();
            for _ in 0..launches {
                work()?;
            }
            let nanoseconds = start.elapsed().as_secs_f64() * 1e9 / launches.max(1) as f64;
            self.wait()?;
            Ok(nanoseconds)
        };
        let ours = || self.launch();
        let bare = || -> Result<(), Diagnostic> {
            for launch in prepared.iter() {
                // SAFETY: as for a launch of this bound kernel; waiting has made the context
                // current. Launches with empty grids are not listed when binding.
                unsafe { launch.bare_launch() }?;
            }
            Ok(())
        };
        let mut cost = HostCost::default();
        // A warm-up: neither the lookup of the driver's functions nor a cold cache counts.
        time(&ours)?;
        time(&bare)?;
        for round in 0..rounds {
            for turn in 0..3 {
                match (round + turn) % 3 {
                    0 => cost.launch.push(time(&ours)?),
                    1 => cost.bare.push(time(&bare)?),
                    _ => cost.bare_again.push(time(&bare)?),
                }
            }
        }
        Ok(cost)
    }
}
