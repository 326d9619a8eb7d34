//! The verdict on a kernel that was read together with its declared kernel.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
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
        None => Ok(Some(match judge(declared, kernel) {
            Verdict::Proved { .. } if declared.origin.is_some() => Verdict::Unknown {
                reason: format!(
                    "the declared form of `{}` is not that of its origin, and the steps between them are \
                     not known here",
                    kernel.name
                ),
                repair: Some("apply the whole pipeline to the kernel of the `origin` block".into()),
            },
            verdict => verdict,
        })),
    }
}

/// What is recorded as the step for a whole text that the user vouches for.
const WHOLE: &str = "the whole text";

/// A kernel that was read together with its declared kernel, held to what holds for a step: it is
/// refused if it is refuted, and if it is not known to compute its declared kernel, unless the user
/// vouches for it.
///
/// The user vouches in the text, with a line `assume_legal "why"` before the `declared` block. It
/// then stays with the kernel; one that a step has left behind (`assume_legal "why" for "step"`)
/// counts too, because this step could not be proved either.
///
/// # Errors
///
/// The refusal, and what [`judge_declared`] refuses.
///
/// ```
/// use loopwright_kernel_ir::LoopKernel;
/// use loopwright_transforms::held_to_declared;
///
/// let text = "\
/// kernel twice(x: f32[4], y: f32[4])
/// domain { [i] : 0 <= i < 4 }
/// y[i] = x[i] + x[i] {id=go, inames=i}
/// declared {
///     kernel twice(x: f32[4], y: f32[4])
///     domain { [i] : 0 <= i < 4 }
///     y[i] = 2.0*x[i] {id=go}
/// }
/// ";
/// let refusal = held_to_declared(LoopKernel::parse(text)?).unwrap_err();
/// assert_eq!(refusal.code, "legality-unknown");
/// let vouched = text.replacen("domain", "assume_legal \"doubling is exact\"\ndomain", 1);
/// let kernel = held_to_declared(LoopKernel::parse(&vouched)?)?;
/// assert!(kernel.to_string().contains("assume_legal \"doubling is exact\" for \"the whole text\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn held_to_declared(kernel: LoopKernel) -> Result<LoopKernel, Diagnostic> {
    let refusal = match judge_declared(&kernel)? {
        None | Some(Verdict::Proved { .. }) => return Ok(kernel),
        Some(Verdict::Refuted(witness)) => {
            let mut refusal = witness.diagnostic();
            refusal.message = format!(
                "`{}` does not compute the kernel of its `declared` block: {}",
                kernel.name, refusal.message
            );
            refusal
        }
        Some(Verdict::Unknown { .. }) if !kernel.vouched.is_empty() => {
            return kernel.edit(|data| {
                // It has served its purpose, and is not for the next step as well.
                for v in data.vouched.iter_mut().filter(|v| v.step.is_none()) {
                    v.step = Some(Name::new(WHOLE));
                }
                Ok(())
            });
        }
        Some(Verdict::Unknown { reason, repair }) => {
            let vouch = "if you know that it does, write `assume_legal \"why\"` in a line before the \
                         `declared` block: it stays with the kernel";
            let message = format!(
                "it is not known whether `{}` computes the kernel of its `declared` block: {reason}",
                kernel.name
            );
            Diagnostic::new("legality-unknown", message).help(match repair {
                Some(repair) => format!("{repair}; {vouch}"),
                None => vouch.to_string(),
            })
        }
    };
    Err(kernel.locate(refusal))
}
