//! The verdict on a kernel that was read together with its declared kernel.

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_legality::{Verdict, judge, redeclared};

/// Whether a kernel computes what its declared kernel computes; `None` if it is the declared kernel
/// itself.
///
/// Pipelines judge each step as they apply it. A kernel that comes from a text with a `declared`
/// block, or from JSON, only claims to be derived from its declared kernel: reading it checks its
/// form, and this function checks the claim. A property that was proved by a theorem about a step,
/// as for a realised scan, is no longer known for the finished kernel, so that the verdict may be
/// `Unknown`.
///
/// # Errors
///
/// Arguments, operators, functions or facts that differ from the declared ones in a way that no
/// step can cause.
///
/// ```
/// use loopwright_kernel_ir::LoopKernel;
/// use loopwright_transforms::{Pipeline, Verdict, judge_declared};
///
/// let kernel = LoopKernel::parse("\
/// kernel shift(x: f32[n], n: i32)
/// assume 2 <= n
/// domain { [i] : 1 <= i < n }
/// x[i] = x[i - 1]
/// ")?;
/// let text = Pipeline::parse("split_iname(i, 4)")?.apply(&kernel)?.to_text();
/// let read = |text: &str| LoopKernel::parse(text);
/// assert!(matches!(judge_declared(&read(&text)?)?, Some(Verdict::Proved { .. })));
/// // Not what the block says.
/// let other = text.replacen("x[i] = x[i - 1]", "x[i] = x[i]", 1);
/// assert!(matches!(judge_declared(&read(&other)?)?, Some(Verdict::Refuted(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn judge_declared(kernel: &LoopKernel) -> Result<Option<Verdict>, Diagnostic> {
    let Some(declared) = &kernel.declared else { return Ok(None) };
    match redeclared(declared, kernel)? {
        Some(what) => Err(Diagnostic::new(
            "declared-mismatch",
            format!("`{}` was not made from its declared kernel: {what}", kernel.name),
        )
        .help("apply the pipeline to the declared kernel again, or leave the `declared` block out")),
        None => Ok(Some(judge(declared, kernel))),
    }
}
