//! Puts an instruction into loops that exist.
//!
//! An instruction that is to run over `f0, f1, ...`, for given values of the inames around it, runs
//! over inames of the kernel instead. These have to take the values that `f0, f1, ...` would take,
//! neither more nor fewer, each once, whatever the inames around are. An iname that earlier steps
//! have split or joined stands for the inames by which it is defined; those among them that are
//! loops have to stand together in the tree, with no loop around them over which the instruction
//! does not run.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Expr, Instruction, KernelData, Lookup, Name, Tree};
use loopwright_legality::primed;
use loopwright_poly::System;

use crate::rewrite::{
    copy::{Site, bound_outer, list_before_readers},
    require_iname,
    tree::{insert_before, path_to},
};

fn refuse(id: &Name, why: String) -> Diagnostic {
    Diagnostic::new("onto-inames", format!("`{id}` cannot run over inames that exist: {why}"))
}

/// Refuses names of new inames beside those of inames that exist.
pub(crate) fn require_new_or_onto(new: &[Name]) -> Result<(), Diagnostic> {
    match new.is_empty() {
        true => Ok(()),
        false => Err(Diagnostic::new("onto-inames", "`inames=` names new inames, `onto=` ones that exist")
            .help("leave out one of the two")),
    }
}

/// Checks that inames exist, that there is one for each axis of a buffer, and that none is around
/// it.
pub(crate) fn require_onto(
    data: &KernelData,
    onto: &[Name],
    axes: usize,
    site: &Site,
    id: &Name,
) -> Result<(), Diagnostic> {
    if onto.len() != axes {
        let why = format!(
            "its buffer has {axes} axes (those of length 1 are left out), and {} are given",
            onto.len()
        );
        return Err(refuse(id, why));
    }
    for (k, name) in onto.iter().enumerate() {
        if data.definition(name).is_none() {
            require_iname(data, name)?;
        }
        if onto[..k].contains(name) {
            return Err(Diagnostic::new("iname-listed-twice", format!("`{name}` is listed twice")));
        }
        if let Some(around) = data.base_of(name).iter().find(|n| site.within.contains(n)) {
            let why = format!("`{around}` is around the place where the buffer is filled");
            return Err(refuse(id, why).help("name inames over which the buffer is swept"));
        }
    }
    Ok(())
}

/// The inames by which these are defined, each once.
fn bases(data: &KernelData, onto: &[Name]) -> Vec<Name> {
    let lookup = Lookup::new(data);
    let mut found: Vec<Name> = Vec::new();
    for base in onto.iter().flat_map(|n| lookup.base_of(n)) {
        if !found.contains(base) {
            found.push(base.clone());
        }
    }
    found
}

/// Checks that `onto` takes the values that `needed` allows, for the inames around the site.
fn require_same_values(
    data: &KernelData,
    onto: &[Name],
    needed: &[Constraint],
    site: &Site,
    id: &Name,
) -> Result<(), Diagnostic> {
    let lookup = Lookup::new(data);
    let bases = bases(data, onto);
    // The inames in question stay as they are; those around are seen down to what defines them.
    let down = |c: &Constraint| -> Result<Constraint, Diagnostic> {
        let mut c = c.clone();
        loop {
            let defined = |n: &Name| lookup.definition(n).filter(|_| !onto.contains(n));
            if c.names().iter().all(|n| defined(n).is_none()) {
                return Ok(c);
            }
            c = c.substitute(&|n| defined(n).cloned())?;
        }
    };
    let rows = |inames: &[Name]| -> Result<Vec<Constraint>, Diagnostic> {
        let mut rows = data.assumptions.clone();
        for c in lookup.instances(inames) {
            let c = down(&c)?;
            // How the digits of a split iname lie is the business of the split.
            if c.names().iter().all(|n| onto.contains(n) || !bases.contains(n)) {
                rows.push(c);
            }
        }
        Ok(rows)
    };
    let all: Vec<Name> = site.within.iter().chain(&bases).cloned().collect();
    let have = rows(&all)?;
    let mut want = rows(&site.within)?;
    for c in needed {
        want.push(down(c)?);
    }
    let names = onto.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let differs = |a: &[Constraint], b: &[Constraint], what: &str| -> Result<(), Diagnostic> {
        let system = System::new(a)?;
        for c in b {
            if system.implies(c)? {
                continue;
            }
            let why = format!("the values of {names} are not those of the part that is read");
            let d = refuse(id, why)
                .help("leave out `onto=`, so that new inames take these values, or name others");
            let point = c.negations()?.into_iter().find_map(|not| {
                let point = system.with(&[not]).ok()?.sample(&BTreeMap::new()).ok()??;
                Some(point.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", "))
            });
            return Err(match point {
                Some(point) => d.witness(format!("{what} at {point}")),
                None => d,
            });
        }
        Ok(())
    };
    differs(&have, &want, "they have a value that nothing reads")?;
    differs(&want, &have, "they lack a value that is read")?;
    require_once(data, onto, &bases, site, id)
}

/// Checks that `onto` takes no value twice for the same values of the inames around the site: its
/// inames may be some of those that the same loops count.
fn require_once(
    data: &KernelData,
    onto: &[Name],
    bases: &[Name],
    site: &Site,
    id: &Name,
) -> Result<(), Diagnostic> {
    let lookup = Lookup::new(data);
    if onto.iter().all(|n| lookup.definition(n).is_none()) {
        return Ok(());
    }
    let all: Vec<Name> = site.within.iter().chain(bases).cloned().collect();
    let other = |n: &Name| bases.contains(n).then(|| Aff::var(primed(n)));
    let mut rows = data.assumptions.clone();
    for c in lookup.instances(&all) {
        let c = lookup.expand_constraint(&c)?;
        rows.push(c.substitute(&other)?);
        rows.push(c);
    }
    for n in onto {
        let value = lookup.expand(&Aff::var(n))?;
        rows.push(Constraint::equal(&value, &value.substitute(&other)?)?);
    }
    let system = System::new(&rows)?;
    for base in bases {
        let later = Constraint::lt(&Aff::var(base), &Aff::var(primed(base)))?;
        if !system.is_empty_with(&[later])? {
            let names = onto.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            let why = format!("several values of `{base}` have the same {names}");
            return Err(refuse(id, why).help("name all inames that these loops count"));
        }
    }
    Ok(())
}

/// The instruction over `onto` in place of `own`, and the constraints on the values of its inames
/// likewise.
pub(crate) fn moved(
    data: &KernelData,
    mut instruction: Instruction,
    needed: &[Constraint],
    own: &[Name],
    onto: &[Name],
    site: &Site,
) -> Result<(Instruction, Vec<Constraint>), Diagnostic> {
    let new = |n: &Name| onto.get(own.iter().position(|o| o == n)?).cloned();
    let as_aff = |n: &Name| new(n).map(Aff::var);
    let as_expr = |n: &Name| new(n).map(Expr::Name);
    let mut constraints = Vec::with_capacity(needed.len());
    for c in needed {
        constraints.push(c.substitute(&as_aff)?);
    }
    for value in instruction.map.values_mut() {
        *value = value.substitute(&as_aff)?;
    }
    for target in &mut instruction.targets {
        target.index = target.index.iter().map(|e| e.substitute(&as_expr)).collect();
    }
    instruction.value = instruction.value.substitute(&as_expr);
    instruction.within = site.within.iter().cloned().chain(bases(data, onto)).collect();
    Ok((instruction, constraints))
}

/// Adds an instruction to the loops of `onto`: before the readers if these are in the same loops,
/// otherwise at their end. Its inames have to take the values that `needed` allows.
pub(crate) fn add_onto(
    data: &mut KernelData,
    instruction: Instruction,
    parts: Vec<Tree>,
    onto: &[Name],
    needed: &[Constraint],
    site: &Site,
) -> Result<(), Diagnostic> {
    let id = instruction.id.clone();
    // An outer iname around it may have its bounds from an inner one, over which it does not run.
    let around = |c: &&Constraint| c.names().iter().all(|n| !onto.contains(n));
    bound_outer(data, &instruction, &needed.iter().filter(around).cloned().collect::<Vec<_>>())?;
    require_same_values(data, onto, needed, site, &id)?;
    let mut path = site.loops.clone();
    for base in bases(data, onto) {
        match path_to(&data.tree, &base) {
            Some(found) if found.len() > path.len() => path = found,
            Some(_) => {}
            None if data.tag(&base).is_hardware() => {}
            None => {
                let why = format!("there is no loop over `{base}`, other than that of what it replaces");
                return Err(refuse(&id, why).help("name inames of other instructions"));
            }
        }
    }
    for base in bases(data, onto).iter().chain(&site.loops) {
        if path_to(&data.tree, base).is_some() && !path.contains(base) {
            return Err(refuse(
                &id,
                format!("the loops over `{base}` and `{}` are apart", path[path.len() - 1]),
            )
            .help("name inames of one nest of loops"));
        }
    }
    if let Some(more) = path.iter().find(|n| !instruction.within.contains(n)) {
        return Err(refuse(
            &id,
            format!("they are inside the loop over `{more}`, which it does not run over"),
        )
        .help("bring the loops together with `reorder` or `distribute` first"));
    }
    for tree in parts {
        insert_before(&mut data.tree, &path, &site.readers, tree)?;
    }
    list_before_readers(data, instruction, site);
    Ok(())
}
