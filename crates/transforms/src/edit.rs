//! What several transforms do with the data of a kernel.

use loopwright_kernel_ir::{
    Diagnostic, Expr, Instruction, KernelData, Lookup, Name, PartRef, Reduce, Tag, check_name,
};

use crate::names;

/// Refuses what is no loop or coordinate of the kernel: unknown names, and inames that others have
/// replaced.
pub(crate) fn require_iname(data: &KernelData, name: &str) -> Result<(), Diagnostic> {
    if !data.is_iname(name) {
        let d = Diagnostic::new("unknown-iname", format!("the kernel has no iname `{name}`"));
        let base = data.base_inames();
        return Err(match names::nearest(name, base.iter().map(Name::as_str)) {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None => d.help(format!("its inames are {}", names::list(base.iter().map(Name::as_str)))),
        });
    }
    if let Some(value) = data.definition(name) {
        let by = data.base_of(&Name::new(name));
        return Err(Diagnostic::new(
            "replaced-iname",
            format!("`{name}` is no loop any more: {name} = {value}"),
        )
        .help(format!("use {}", names::list(by.iter().map(Name::as_str)))));
    }
    Ok(())
}

/// Refuses what a text of the kernel could not have as a name, and a name that the kernel uses
/// already.
pub(crate) fn require_fresh(data: &KernelData, name: &Name, option: &str) -> Result<(), Diagnostic> {
    check_name(name, if option == "name" { "the temporary" } else { "the iname" })?;
    if !is_taken(data, name) {
        return Ok(());
    }
    Err(Diagnostic::new("name-taken", format!("the kernel has a `{name}` already"))
        .help(format!("choose another name with `{option}=...`")))
}

/// Whether a value of the kernel has this name.
pub(crate) fn is_taken(data: &KernelData, name: &str) -> bool {
    data.is_iname(name)
        || data.args.iter().any(|a| **a.name() == *name)
        || data.temporary(name).is_some()
        || data.domains.iter().flat_map(|d| &d.constraints).any(|c| c.aff.mentions(name))
}

/// The name, or the name with the first free number behind it; without the underscores that would
/// make of it what CUDA C keeps for itself (`i__new`, or `i__2`).
pub(crate) fn fresh(data: &KernelData, name: &str) -> Name {
    let taken = |n: &Name| {
        is_taken(data, n) || data.instruction(n).is_some() || check_name(n, "the new value").is_err()
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

/// The expression with each reduction replaced by what `f` makes of it, inner ones first.
pub(crate) fn map_reductions(e: &Expr, f: &mut dyn FnMut(Reduce) -> Expr) -> Expr {
    let e = e.map_children(&mut |child| map_reductions(child, f));
    match e {
        Expr::Reduce(r) => f((*r).clone()),
        e => e,
    }
}

/// Replaces an iname by others wherever inames are listed: around instructions and in reductions.
pub(crate) fn replace_in_lists(data: &mut KernelData, iname: &Name, by: &[Name]) {
    let swap = |list: &[Name]| -> Vec<Name> {
        list.iter().flat_map(|n| if n == iname { by.to_vec() } else { vec![n.clone()] }).collect()
    };
    for instruction in &mut data.instructions {
        instruction.within = swap(&instruction.within);
        if !instruction.value.reductions().iter().any(|r| r.inames.contains(iname)) {
            continue;
        }
        instruction.value = map_reductions(&instruction.value, &mut |mut r| {
            r.inames = swap(&r.inames);
            Expr::Reduce(r.into())
        });
    }
}

/// All parts, each with its base inames.
pub(crate) fn parts_with_inames(data: &KernelData) -> Vec<(PartRef, Vec<Name>)> {
    let lookup = Lookup::new(data);
    let parts = |i| {
        data.parts(i).into_iter().map(|p| {
            let inames = lookup.inames_of(i, p.part);
            (p, inames)
        })
    };
    data.instructions.iter().flat_map(parts).collect()
}

/// Why a tagged iname cannot be changed in its shape.
pub(crate) fn require_untagged(data: &KernelData, iname: &Name, doing: &str) -> Result<(), Diagnostic> {
    match data.tag(iname) {
        Tag::Seq => Ok(()),
        tag => {
            Err(Diagnostic::new("tagged-iname", format!("`{iname}` is tagged `{tag}` and cannot be {doing}"))
                .help(format!("do it before tagging, or `untag_inames({iname})` first")))
        }
    }
}

/// Replaces all expressions of an instruction: subscripts of targets, value and predicate.
pub(crate) fn map_expressions(instruction: &mut Instruction, f: &mut dyn FnMut(&Expr) -> Expr) {
    instruction.value = f(&instruction.value);
    instruction.predicate = instruction.predicate.as_ref().map(&mut *f);
    for target in &mut instruction.targets {
        target.index = target.index.iter().map(&mut *f).collect();
    }
}
