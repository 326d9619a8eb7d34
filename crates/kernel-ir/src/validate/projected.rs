//! Warnings about domains that take less from an instruction than a set would, or repeat it.
//!
//! A domain is read as a nest: an instruction that lacks `j` runs for each `i` of the constraints
//! on `i` alone, and one that needs `j` alone runs in the loop over `i` if a bound of `j` mentions
//! it. Who reads `{ [i, j] : 0 <= i < n and i <= j < 4 }` as a set expects of `y[i] = x[i]` the
//! projection on `i`, and of `y[0] = sum(j, x[j])` one sum. Neither is reported where other lines
//! show that the nest is meant: an instruction that has the missing loop inside of the same ones, a
//! reader of what is written in the loop.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_poly::{Result, Set};

use crate::{
    Diagnostic, Instruction, Lookup, LoopKernel, Name,
    text::{map_of_print, source_map::Item},
    validate::bounds,
};

impl LoopKernel {
    /// Where an instruction runs for points that a domain, read as a set, would leave out, and
    /// where bounds alone put one into a loop that overwrites its result (`projection`): in the
    /// order of the text, with places in the printed form. None is an error.
    pub fn projections(&self) -> Vec<Diagnostic> {
        let lookup = Lookup::new(self);
        let mut found = Vec::new();
        for (k, instruction) in self.instructions.iter().enumerate() {
            // What cannot be decided is not warned of.
            let wider = (0..self.domains.len()).find_map(|d| wider(&lookup, instruction, d).ok().flatten());
            found.extend(wider.into_iter().chain(repeated(&lookup, instruction)).map(|d| (k, d)));
        }
        let map = if found.is_empty() { None } else { map_of_print(self) };
        let place = |k| map.as_ref().and_then(|m| m.locate(&Item::Instruction(k), ""));
        found.into_iter().map(|(k, d)| d.at(place(k))).collect()
    }
}

/// All inames that an instruction runs for, those of its reductions included.
fn all_inames(instruction: &Instruction) -> BTreeSet<Name> {
    let reduced = instruction.reductions().into_iter().flat_map(|r| r.inames.clone());
    instruction.within.iter().cloned().chain(reduced).collect()
}

/// Names as a list: `i`, `j`.
fn list<'n>(names: impl IntoIterator<Item = &'n Name>) -> String {
    names.into_iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// The warning about an instruction that has some inames of a domain, and runs for points of these
/// for which the others have no value.
fn wider(lookup: &Lookup<'_>, instruction: &Instruction, domain: usize) -> Result<Option<Diagnostic>> {
    let kernel = lookup.kernel();
    let domain = &kernel.domains[domain];
    let own = all_inames(instruction);
    let missing: Vec<Name> = domain.inames.iter().filter(|n| !own.contains(*n)).cloned().collect();
    let shared: Vec<&Name> = domain.inames.iter().filter(|n| own.contains(*n)).collect();
    let has_nest = |i: &Instruction| {
        let all = all_inames(i);
        missing.iter().any(|n| all.contains(n)) && shared.iter().all(|n| all.contains(*n))
    };
    let is_cut = domain.constraints.iter().any(|c| {
        let names = c.names();
        missing.iter().any(|n| names.contains(n)) && own.iter().any(|n| names.contains(n))
    });
    if !is_cut || shared.is_empty() || kernel.instructions.iter().any(has_nest) {
        return Ok(None);
    }
    let dims: Vec<Name> = own.iter().cloned().collect();
    let all = [dims.clone(), missing.clone()].concat();
    let set = |inames: &[Name]| {
        Set::from_constraints(inames, &[bounds::context(lookup), lookup.instances(inames)].concat())
    };
    let whole = set(&all)?;
    let lost = set(&dims)?.subtract(&whole.project_out(&missing)?)?;
    // Where the domain has no point at all, as for a length of 0, nobody expects a projection.
    let somewhere = Set::from_systems(&dims, whole.project_out(&all)?.disjuncts().to_vec())?;
    let Some(point) = lost.intersect(&somewhere)?.sample(&BTreeMap::new())? else { return Ok(None) };
    let at: Vec<String> = point.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let message = format!(
        "`{}` runs for each {}, also where {} of the same domain has no value",
        instruction.id,
        list(shared),
        list(&missing)
    );
    Ok(Some(Diagnostic::new("projection", message).witness(at.join(", ")).help(format!(
        "a domain is a nest, and the bounds of {} count for what runs in its loop; to leave these points \
         out, say it without {}, as a bound or with `if`",
        list(&missing),
        list(&missing)
    ))))
}

/// The warning about an instruction in a loop that only bounds need, and of which each iteration
/// overwrites what the one before it has written.
fn repeated(lookup: &Lookup<'_>, instruction: &Instruction) -> Option<Diagnostic> {
    let kernel = lookup.kernel();
    let mut mentioned: BTreeSet<Name> = instruction.expressions().flat_map(|e| e.names()).collect();
    mentioned.extend(all_inames(instruction).into_iter().filter(|n| !instruction.within.contains(n)));
    let target = instruction.targets.first()?;
    let reads = |i: &Instruction| i.expressions().any(|e| e.reads().contains(&target.array));
    if instruction.update.is_some() {
        return None;
    }
    let outer = instruction.within.iter().find(|outer| {
        let is_read = |i: &Instruction| all_inames(i).contains(*outer) && reads(i);
        !mentioned.contains(*outer) && !kernel.instructions.iter().any(is_read)
    })?;
    let bounded = mentioned.iter().find(|n| {
        let domain = lookup.domain_of(n).map(|(k, _)| &kernel.domains[k]);
        domain.is_some_and(|d| d.constraints.iter().any(|c| c.aff.mentions(n) && c.aff.mentions(outer)))
    })?;
    let message = format!(
        "`{}` is in the loop over `{outer}` because the bounds of `{bounded}` mention it, and each iteration \
         overwrites `{}`",
        instruction.id, target.array
    );
    Some(Diagnostic::new("projection", message).help(format!(
        "for one result, give `{bounded}` bounds without `{outer}`; for a result of each `{outer}`, let the \
         target have it"
    )))
}
