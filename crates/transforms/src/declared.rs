//! The verdict on a kernel that was read together with its declared kernel.

use loopwright_kernel_ir::{Arg, Axis, Constraint, Diagnostic, LoopKernel, Type};
use loopwright_legality::{Verdict, judge};
use loopwright_poly::System;

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
    match mismatch(declared, kernel)? {
        Some(what) => Err(Diagnostic::new(
            "declared-mismatch",
            format!("`{}` was not made from its declared kernel: {what}", kernel.name),
        )
        .help("apply the pipeline to the declared kernel again, or leave the `declared` block out")),
        None => Ok(Some(judge(declared, kernel))),
    }
}

/// A difference between the two kernels that no step can have made.
fn mismatch(declared: &LoopKernel, kernel: &LoopKernel) -> Result<Option<String>, Diagnostic> {
    let dtype = |arg: &Arg| match arg {
        Arg::Array(a) => (a.dtype.clone(), Some(a.axes.len())),
        Arg::Scalar(s) => (s.dtype.clone(), None),
    };
    let find = |kernel: &LoopKernel, arg: &Arg| kernel.args.iter().position(|a| a.name() == arg.name());
    for arg in &kernel.args {
        let name = arg.name();
        let Some(there) = find(declared, arg).map(|k| &declared.args[k]) else {
            return Ok(Some(format!("the argument `{name}` is not declared")));
        };
        let ((here, axes), (dtype, declared_axes)) = (dtype(arg), dtype(there));
        if axes.is_some() != declared_axes.is_some() {
            return Ok(Some(format!("`{name}` is an array in one of them only")));
        }
        // An open type may have been bound since.
        if here != dtype && !matches!(dtype, Type::Open(_)) {
            return Ok(Some(format!("`{name}` is {here}, but declared as {dtype}")));
        }
        if let (Arg::Array(here), Arg::Array(there)) = (arg, there)
            && !same_shape(kernel, &here.axes, &there.axes)?
        {
            return Ok(Some(format!("`{name}` has another shape than declared")));
        }
    }
    // Nobody would see the results in an array that is no argument any more. Scalars may have been
    // fixed since.
    let lost = declared.args.iter().find(|arg| matches!(arg, Arg::Array(_)) && find(kernel, arg).is_none());
    if let Some(arg) = lost {
        return Ok(Some(format!("it lacks the argument `{}`", arg.name())));
    }
    if let Some(op) = kernel.reductions.iter().find(|op| declared.operator(&op.name).as_ref() != Some(op)) {
        return Ok(Some(format!("the operator `{}` differs", op.name)));
    }
    if let Some(f) = kernel.functions.iter().find(|f| !declared.functions.contains(f)) {
        return Ok(Some(format!("the function `{}` differs", f.name)));
    }
    let fact = kernel.facts.iter().find(|f| !declared.facts.contains(f));
    Ok(fact.map(|fact| format!("it declares a different fact about `{}`", fact.array())))
}

/// Whether two arrays have the same shape for all parameters that a kernel assumes; a parameter may
/// have been fixed since.
fn same_shape(kernel: &LoopKernel, here: &[Axis], there: &[Axis]) -> Result<bool, Diagnostic> {
    if here.len() != there.len() {
        return Ok(false);
    }
    for (here, there) in here.iter().zip(there) {
        // Lengths that are not affine are left alone: a fixed parameter changes their form.
        if let (Some(here), Some(there)) = (here.length.to_aff(), there.length.to_aff())
            && here != there
            && !System::new(&kernel.assumptions)?.implies(&Constraint::equal(&here, &there)?)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}
