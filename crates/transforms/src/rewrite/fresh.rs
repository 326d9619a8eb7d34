//! Names of items that steps create.

use loopwright_kernel_ir::{Diagnostic, KernelData, LoopKernel, Name, check_name};

/// Refuses names that are invalid in a kernel's text or that the kernel already uses.
pub(crate) fn require_fresh(data: &KernelData, name: &Name, option: &str) -> Result<(), Diagnostic> {
    check_name(name, if option == "name" { "the temporary" } else { "the iname" })?;
    if !data.is_declared(name) {
        return Ok(());
    }
    Err(Diagnostic::new("name-taken", format!("the kernel already has a `{name}`"))
        .help(format!("choose another name with `{option}=...`")))
}

/// The name, with the first free number as a suffix if it is taken. Repeated, leading and trailing
/// underscores are dropped: most languages reserve names with two of them (`i__new`, or `i__2` for
/// an iname `i_`).
pub(crate) fn fresh(data: &KernelData, name: &str) -> Name {
    fresh_beside(data, name, &[])
}

/// As [`fresh`], for a name beside these, which the kernel is going to have.
pub(crate) fn fresh_beside(data: &KernelData, name: &str, others: &[Name]) -> Name {
    let taken = |n: &Name| {
        data.is_declared(n)
            || others.contains(n)
            || data.instruction(n).is_some()
            || n.contains("__")
            || check_name(n, "the new value").is_err()
    };
    let mut candidate = Name::new(name);
    if !taken(&candidate) {
        return candidate;
    }
    let stem = name.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_");
    let mut k = 1usize;
    candidate = Name::new(&stem);
    while taken(&candidate) {
        k += 1;
        candidate = Name::new(format!("{stem}_{k}"));
    }
    candidate
}

/// As [`fresh_beside`], for a name that the declared kernel does not have either.
pub(crate) fn fresh_in_both(kernel: &LoopKernel, name: &str, others: &[Name]) -> Name {
    let declared = kernel.declared();
    let mut taken = others.to_vec();
    loop {
        let new = fresh_beside(kernel, name, &taken);
        if !declared.is_declared(&new) && declared.instruction(&new).is_none() {
            return new;
        }
        taken.push(new);
    }
}

/// The names of the two loops that replace one: those given, or the iname with the suffixes
/// `_outer` and `_inner`.
pub(crate) fn split_names(
    data: &KernelData,
    iname: &Name,
    outer: Option<&Name>,
    inner: Option<&Name>,
) -> Result<(Name, Name), Diagnostic> {
    let name = |given: Option<&Name>, suffix: &str| {
        given.cloned().unwrap_or_else(|| Name::new(format!("{iname}_{suffix}")))
    };
    let (outer, inner) = (name(outer, "outer"), name(inner, "inner"));
    require_fresh(data, &outer, "outer")?;
    require_fresh(data, &inner, "inner")?;
    if outer == inner {
        return Err(Diagnostic::new("name-taken", format!("both loops would be called `{outer}`"))
            .help("give `outer=` and `inner=` different names"));
    }
    Ok((outer, inner))
}
