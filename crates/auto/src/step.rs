//! `auto()` as a step of pipelines.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_lowering::Target;
use loopwright_transforms::{Judgement, Registry, Transform};

use crate::auto;

/// The step `auto()`: those steps that [`auto`](crate::auto) finds for what the steps before it have
/// left open. What comes after it sees their inames.
///
/// It is legal as each of its steps is, all of which are judged when it is applied.
///
/// ```
/// use loopwright_auto::registry;
/// use loopwright_kernel_ir::LoopKernel;
/// use loopwright_transforms::Pipeline;
///
/// let kernel = LoopKernel::parse("\
/// kernel scale(x: f32[n], y: f32[n], n: i32)
/// assume 0 <= n
/// domain { [i] : 0 <= i < n }
/// y[i] = 2*x[i] {id=scale}
/// ")?;
/// // With what is assumed first, the rest consists of whole vectors.
/// let pipeline = Pipeline::parse_with("assume(n % 4 = 0)\nauto()", &registry())?;
/// let same = Pipeline::parse("\
/// assume(n % 4 = 0)
/// split_iname(i, 1024)
/// split_iname(i_inner, 4, outer=i_thread, inner=i_vec)
/// tag_inames(i_outer: block.x, i_thread: thread.x, i_vec: vec)
/// ")?;
/// assert_eq!(pipeline.apply(&kernel)?, same.apply(&kernel)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoStep {
    /// What the steps are found for.
    pub target: Target,
}

impl fmt::Display for AutoStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("auto()")
    }
}

impl Transform for AutoStep {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        Ok(auto(kernel, &self.target).kernel)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("each of its steps was judged")
    }
}

/// The steps of this crate by name, for pipelines in text form: `auto()`, for CUDA.
pub fn registry() -> Registry {
    Registry::new().transform("auto", |args| match args {
        [] => Ok(AutoStep { target: Target::default() }),
        [first, ..] => {
            let message = format!("`auto` takes no arguments, and is given `{first}`");
            Err(Diagnostic::new("pipeline-syntax", message).help("write `auto()`"))
        }
    })
}
