//! What no step changes: the declared kernel, the arguments and their shapes, operators, functions,
//! and the facts about data.
//!
//! Proofs about executions take all of these for granted, and name operators, functions and
//! arguments only. A user's step may return any kernel, and a text may have any `declared` block.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Arg, Constraint, Diagnostic, Expr, Fact, KernelData, Kind, LoopKernel, Name, Term, Type,
};
use loopwright_poly::System;

/// Parameters that the assumptions fix to one value.
pub(crate) fn fixed(kernel: &KernelData) -> BTreeMap<Name, i64> {
    let mut fixed = BTreeMap::new();
    for c in &kernel.assumptions {
        if let (Kind::Eq, [(Term::Var(n), k)]) = (c.kind, c.aff.terms())
            && k.abs() == 1
        {
            fixed.insert(n.clone(), c.aff.constant_term().saturating_mul(-k));
        }
    }
    fixed
}

fn argument<'k>(kernel: &'k KernelData, name: &Name) -> Option<&'k Arg> {
    kernel.args.iter().find(|arg| arg.name() == name)
}

fn dtype(arg: &Arg) -> &Type {
    match arg {
        Arg::Array(array) => &array.dtype,
        Arg::Scalar(scalar) => &scalar.dtype,
    }
}

/// What the second of two kernels declares in another way than the first, of all that no step
/// changes.
///
/// # Errors
///
/// A query on integer sets was not possible.
pub fn redeclared(before: &LoopKernel, after: &LoopKernel) -> Result<Option<String>, Diagnostic> {
    if before.declared() != after.declared() {
        return Ok(Some("it comes from another declared kernel".into()));
    }
    for arg in &after.args {
        let name = arg.name();
        let Some(there) = argument(before, name) else {
            return Ok(Some(format!("the argument `{name}` is not declared")));
        };
        match (arg, there) {
            (Arg::Array(here), Arg::Array(there)) => {
                let mut same = here.axes.len() == there.axes.len();
                for (here, there) in here.axes.iter().zip(&there.axes) {
                    same = same && same_number(after, &here.length, &there.length)?;
                }
                if !same {
                    return Ok(Some(format!("`{name}` has another shape than declared")));
                }
            }
            (Arg::Scalar(_), Arg::Scalar(_)) => {}
            _ => return Ok(Some(format!("`{name}` is an array in one of them only"))),
        }
        let (here, declared) = (dtype(arg), dtype(there));
        if here != declared {
            return Ok(Some(format!("`{name}` is {here}, but declared as {declared}")));
        }
    }
    // Nobody sees the results in an array that is not an argument any more. Scalars may be fixed.
    let lost = |arg: &&Arg| matches!(arg, Arg::Array(_)) && argument(after, arg.name()).is_none();
    if let Some(arg) = before.args.iter().find(lost) {
        return Ok(Some(format!("the argument `{}` is gone", arg.name())));
    }
    if let Some(op) = after.reductions.iter().find(|op| before.operator(&op.name).as_ref() != Some(op)) {
        return Ok(Some(format!("the operator `{}` differs", op.name)));
    }
    if let Some(f) = after.functions.iter().find(|f| !before.functions.contains(f)) {
        return Ok(Some(format!("the function `{}` differs", f.name)));
    }
    if let Some(c) = after.constants.iter().find(|c| !before.constants.contains(c)) {
        return Ok(Some(format!("the constant table `{}` differs", c.array.name)));
    }
    for fact in &after.facts {
        let mut known = false;
        for declared in before.facts.iter().filter(|f| f.array() == fact.array()) {
            known = known || same_fact(after, fact, declared)?;
        }
        if !known {
            return Ok(Some(format!("it declares a different fact about `{}`", fact.array())));
        }
    }
    Ok(None)
}

/// Whether two expressions of parameters have the same value wherever a kernel's assumptions hold.
fn same_number(kernel: &KernelData, here: &Expr, there: &Expr) -> Result<bool, Diagnostic> {
    if here == there {
        return Ok(true);
    }
    let fixed = fixed(kernel);
    let there = there.substitute(&|n| fixed.get(n).map(|v| Expr::Int(*v)));
    match (here.to_aff(), there.to_aff()) {
        (Some(a), Some(b)) => {
            Ok(a == b || System::new(&kernel.assumptions)?.implies(&Constraint::equal(&a, &b)?)?)
        }
        _ => Ok(*here == there),
    }
}

fn same_fact(kernel: &KernelData, here: &Fact, there: &Fact) -> Result<bool, Diagnostic> {
    let (Fact::Range { lower: a, upper: b, .. }, Fact::Range { lower: c, upper: d, .. }) = (here, there)
    else {
        return Ok(here == there);
    };
    for pair in [(a, c), (b, d)] {
        let same = match pair {
            (Some(here), Some(there)) => same_number(kernel, here, there)?,
            (here, there) => here.is_none() && there.is_none(),
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}
