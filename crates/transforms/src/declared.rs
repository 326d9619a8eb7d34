//! The verdict on a kernel that was read together with its declared kernel.

use loopwright_kernel_ir::{Arg, Diagnostic, LoopKernel, Type};
use loopwright_legality::{Verdict, judge};

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
    match mismatch(declared, kernel) {
        Some(what) => Err(Diagnostic::new(
            "declared-mismatch",
            format!("`{}` was not made from its declared kernel: {what}", kernel.name),
        )
        .help("apply the pipeline to the declared kernel again, or leave the `declared` block out")),
        None => Ok(Some(judge(declared, kernel))),
    }
}

/// A difference between the two kernels that no step can have made.
fn mismatch(declared: &LoopKernel, kernel: &LoopKernel) -> Option<String> {
    let dtype = |arg: &Arg| match arg {
        Arg::Array(a) => (a.dtype.clone(), Some(a.axes.len())),
        Arg::Scalar(s) => (s.dtype.clone(), None),
    };
    for arg in &kernel.args {
        let name = arg.name();
        let Some(there) = declared.args.iter().find(|a| a.name() == name) else {
            return Some(format!("it lacks the argument `{name}`"));
        };
        let ((here, axes), (there, declared_axes)) = (dtype(arg), dtype(there));
        if axes.is_some() != declared_axes.is_some() {
            return Some(format!("`{name}` is an array in one of them only"));
        }
        // An open type may have been bound since.
        if here != there && !matches!(there, Type::Open(_)) {
            return Some(format!("`{name}` is {here}, but declared as {there}"));
        }
    }
    if let Some(op) = kernel.reductions.iter().find(|op| declared.operator(&op.name).as_ref() != Some(op)) {
        return Some(format!("the operator `{}` differs", op.name));
    }
    if let Some(f) = kernel.functions.iter().find(|f| !declared.functions.contains(f)) {
        return Some(format!("the function `{}` differs", f.name));
    }
    let fact = kernel.facts.iter().find(|f| !declared.facts.contains(f))?;
    Some(format!("it declares a different fact about `{}`", fact.array()))
}
