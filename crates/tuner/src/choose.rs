//! Defaults without tuning: the point with the lowest static cost among several pipelines and their
//! spaces.

use std::time::Instant;

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::cuda::DeviceInfo;
use loopwright_runtime::{Args, Device};
use loopwright_transforms::Pipeline;

use crate::{Cost, Machine, Outcome, Point, Space, Tuner};

/// The result of [`choose`].
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The index of the form among those given, from 0.
    pub form: usize,
    /// The point of its space.
    pub point: Point,
    /// The form's pipeline, bound to the point.
    pub pipeline: Pipeline,
    /// Its cost by static counts, on the given machine.
    pub cost: Cost,
}

/// The form and the point with the lowest estimate for a machine and the limits of its device,
/// neither of which has to be present. Forms that do not fit the problem (a length that is not a
/// multiple of a vector) are left out; if none fits, the refusal of the first says why.
///
/// Only the sizes of `args` are used; counts are made on `sample`. Ties go to the earlier form and
/// point.
///
/// ```
/// use loopwright_kernel_ir::{DType, LoopKernel};
/// use loopwright_runtime::{Args, Device, Tensor};
/// use loopwright_transforms::Pipeline;
/// use loopwright_tuner::{Machine, Space, choose};
///
/// let kernel = LoopKernel::parse("\
/// kernel row_sum(x: f32[n, m], out: f32[n], n: i32, m: i32)
/// assume 0 <= n and 0 <= m
/// domain { [s] : 0 <= s < n }
/// domain { [i] : 0 <= i < m }
/// out[s] = sum(i, x[s, i])
/// ")?;
/// let thread = Pipeline::parse("split_iname(s, 128)\ntag_inames(s_outer: block.x, s_inner: thread.x)")?;
/// let block = Pipeline::parse("split_iname(i, $threads)\ntag_inames(s: block.x, i_inner: thread.x)")?;
/// let forms = [(thread, Space::new()), (block, Space::parse("threads in [64, 256]")?)];
/// let problem = Args::new().scalar("n", 1 << 16).scalar("m", 4096);
/// let sample = Args::new().tensor("x", &Tensor::random(&[128, 512], DType::F32, 1)?);
/// let limits = Device::emulator().limits().clone();
/// let chosen = choose(&kernel, &forms, &problem, &sample, &Machine::h200(), &limits)?;
/// assert_eq!(chosen.form, 1, "a thread a row would read 32 sectors where 4 do");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn choose(
    kernel: &LoopKernel,
    forms: &[(Pipeline, Space)],
    args: &Args,
    sample: &Args,
    machine: &Machine,
    limits: &DeviceInfo,
) -> Result<Choice, Diagnostic> {
    let emulator = Device::emulator();
    let mut best: Option<Choice> = None;
    let mut refusal: Option<String> = None;
    for (form, (pipeline, space)) in forms.iter().enumerate() {
        let tuner = Tuner::new(&emulator, kernel, pipeline, space, args).sample(sample);
        // If there is no work, any form will do.
        let tuning = tuner.machine(machine.clone()).limits(limits.clone()).search(Instant::now())?;
        for (point, outcome) in &tuning.candidates {
            match outcome {
                Some(Outcome::Counted { cost })
                    if best.as_ref().is_none_or(|b| cost.estimate_ms < b.cost.estimate_ms) =>
                {
                    let pipeline = pipeline.bind(point.values().map(|(n, v)| (n.as_str(), v)))?;
                    best = Some(Choice { form, point: point.clone(), pipeline, cost: *cost });
                }
                Some(Outcome::Refused { message, .. } | Outcome::Wrong { message }) => {
                    refusal.get_or_insert_with(|| message.clone());
                }
                _ => {}
            }
        }
    }
    let none = || {
        let why = refusal.map_or_else(String::new, |r| format!(": {r}"));
        Diagnostic::new("no-choice", format!("no form fits this problem{why}"))
            .help("add a form without assumptions about sizes")
    };
    best.ok_or_else(none)
}
