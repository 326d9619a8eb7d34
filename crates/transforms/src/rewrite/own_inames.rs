//! Gives instructions separate inames: copies with the same ranges that only these instructions run
//! over.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Domain, Expr, KernelData, Name, PartRef};
use loopwright_poly::System;

use crate::rewrite::{is_declared, map_expressions, map_reductions};

/// Replaces each first iname of a pair by the second one in the instructions of these ids. The new
/// inames become a domain with the constraints of the old ones, and each instruction's map
/// remembers the values of the declared inames. Tree and tags stay as they are.
pub(crate) fn give_own_inames(
    data: &mut KernelData,
    ids: &[Name],
    pairs: &[(Name, Name)],
) -> Result<(), Diagnostic> {
    let new_of = |n: &Name| pairs.iter().find(|(old, _)| old == n).map(|(_, new)| new);
    let with: Vec<_> = data
        .instructions
        .iter()
        .filter(|i| ids.contains(&i.id))
        .flat_map(|i| data.parts(i))
        .filter(|p| data.part_inames(p).iter().any(|n| new_of(n).is_some()))
        .collect();
    // Every name whose value depends on one of the inames.
    let direct = |n: &Name| new_of(n).map(Aff::var);
    let mut values: BTreeMap<Name, Aff> = BTreeMap::new();
    for (old, new) in pairs {
        values.insert(old.clone(), Aff::var(new));
    }
    for definition in &data.definitions {
        let value = data.expand(&definition.value)?;
        if value.mentions_any(&|n| new_of(n).is_some()) {
            values.insert(definition.iname.clone(), value.substitute(&direct)?);
        }
    }
    let of_value = |n: &Name| values.get(n).cloned();
    let mut before: Vec<Vec<Constraint>> = Vec::new();
    let mut constraints: Vec<Constraint> = Vec::new();
    for part in &with {
        let mut rows = Vec::new();
        for c in data.instances(part) {
            let changes = c.names().iter().any(|n| values.contains_key(n));
            let c = c.substitute(&of_value)?;
            if changes && !constraints.contains(&c) {
                constraints.push(c.clone());
            }
            rows.push(c);
        }
        before.push(rows);
    }
    data.domains.push(Domain { inames: pairs.iter().map(|(_, new)| new.clone()).collect(), constraints });
    let declared: Vec<(Name, Aff)> =
        values.iter().filter(|(n, _)| is_declared(data, n)).map(|(n, v)| (n.clone(), v.clone())).collect();
    let rename = |list: &mut Vec<Name>| {
        for n in list {
            if let Some(new) = new_of(n) {
                *n = new.clone();
            }
        }
    };
    let expr = |e: &Expr| {
        let e = e.substitute(&|n| values.get(n).map(Expr::from_aff));
        map_reductions(&e, &mut |mut r| {
            rename(&mut r.inames);
            Expr::Reduce(r.into())
        })
    };
    for instruction in data.instructions.iter_mut().filter(|i| ids.contains(&i.id)) {
        map_expressions(instruction, &mut |e| expr(e));
        rename(&mut instruction.within);
        for value in instruction.map.values_mut() {
            *value = value.substitute(&|n| values.get(n).cloned())?;
        }
        let reduced = instruction.reductions().into_iter().flat_map(|r| r.inames.clone());
        let own: Vec<Name> = instruction.within.iter().cloned().chain(reduced).collect();
        // The scan is along an iname that is not a declared one, such as a reversed one.
        if let Some(n) = instruction.scan.clone()
            && let (None, Some(value)) = (instruction.map.get(&n), values.get(&n))
            && !declared.iter().any(|(d, _)| *d == n)
        {
            // If the iname is already split, lowering reports that the scan no longer has it.
            if let Some(new) = value.as_var() {
                instruction.scan = Some(new.clone());
            }
        }
        for (n, value) in &declared {
            if pairs.iter().all(|(_, new)| own.contains(new) || !value.mentions(new)) {
                instruction.map.entry(n.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    keep_guards(data, &with, &before)
}

/// A domain may also restrict when its instruction runs at all, by constraints that mention none of
/// its own inames (as that of a copy does). Those that the parts have lost go into the new domain,
/// the last one.
fn keep_guards(
    data: &mut KernelData,
    parts: &[PartRef],
    before: &[Vec<Constraint>],
) -> Result<(), Diagnostic> {
    for (part, rows) in parts.iter().zip(before) {
        let has = data.instances(part);
        let lost: Vec<Constraint> = rows.iter().filter(|c| !has.contains(c)).cloned().collect();
        if let Some(domain) = data.domains.last_mut() {
            domain.constraints.extend(lost);
        }
    }
    for (part, rows) in parts.iter().zip(before) {
        let system = System::new(&[data.assumptions.clone(), rows.clone()].concat())?;
        for c in data.instances(part).iter().filter(|c| !rows.contains(c)) {
            if !system.implies(c)? {
                return Err(Diagnostic::new(
                    "ranges-differ",
                    format!(
                        "`{part}` cannot share inames with the others: {c} would restrict it as \
                         well"
                    ),
                )
                .help("give the instructions separate inames one at a time"));
            }
        }
    }
    Ok(())
}
