//! Whether a change of order turns a pair of accesses round.
//!
//! Two accesses of one cell, one of them a write, are a dependence. A step that reorders loops asks, for each pair that its loops
//! contain, whether there are two executions that the old order has one way round and the new order the other: the instance sets of
//! both, equal subscripts, equal values of the loops around, `before` at one level of the old order and `behind` at one level of the new
//! one. Each question is a conjunction; a point of it is the witness. Subscripts that are not affine may be equal or not. Different
//! threads are not ordered by loops: the coordinates of both executions are the same here, and the rest is lowering's question.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{
    AddressSpace, Aff, Constraint, Diagnostic, Expr, KernelData, Name, Part, PartRef, Tree,
};
use loopwright_poly::System;

use crate::{
    extent::constraints_of,
    footprint::affine_subscript,
    reorder::{body_of, path_to},
};

/// One access of a part.
#[derive(Clone, Debug)]
pub(crate) struct PartAccess {
    pub part: PartRef,
    pub array: Name,
    pub index: Vec<Option<Aff>>,
    pub write: bool,
}

/// The accesses of arrays and scalar temporaries in an expression outside of reductions, or inside the reduction of a number.
fn collect(e: &Expr, wanted: Option<usize>, data: &KernelData) -> Vec<(Name, Vec<Expr>)> {
    fn walk(
        e: &Expr,
        next: &mut usize,
        data: &KernelData,
        found: &mut Vec<(Option<usize>, Name, Vec<Expr>)>,
    ) {
        let start = found.len();
        for child in e.children() {
            walk(child, next, data, found);
        }
        match e {
            Expr::Reduce(_) => {
                for (number, _, _) in &mut found[start..] {
                    number.get_or_insert(*next);
                }
                *next += 1;
            }
            Expr::Subscript(a) => found.push((None, a.array.clone(), a.index.clone())),
            Expr::Name(n) if data.temporary(n).is_some() => found.push((None, n.clone(), Vec::new())),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(e, &mut 0, data, &mut found);
    found.into_iter().filter(|(number, _, _)| *number == wanted).map(|(_, a, x)| (a, x)).collect()
}

/// The accesses of a part.
pub(crate) fn accesses(data: &KernelData, part: &PartRef) -> Vec<PartAccess> {
    let Some(instruction) = data.instruction(&part.instruction) else { return Vec::new() };
    let access = |(array, index): (Name, Vec<Expr>), write| PartAccess {
        part: part.clone(),
        array,
        index: index.iter().map(|e| affine_subscript(data, e)).collect(),
        write,
    };
    let mut found = Vec::new();
    match part.part {
        Part::Init(_) => {}
        Part::Update(n) => {
            found.extend(collect(&instruction.value, Some(n), data).into_iter().map(|a| access(a, false)));
        }
        Part::Whole | Part::Finish => {
            found.extend(collect(&instruction.value, None, data).into_iter().map(|a| access(a, false)));
            for e in instruction.targets.iter().flat_map(|t| &t.index) {
                found.extend(collect(e, None, data).into_iter().map(|a| access(a, false)));
            }
            for t in &instruction.targets {
                found.push(access((t.array.clone(), t.index.clone()), true));
            }
        }
    }
    if let Some(p) = &instruction.predicate {
        found.extend(collect(p, None, data).into_iter().map(|a| access(a, false)));
    }
    // Bounds are read as well.
    if !matches!(part.part, Part::Init(_)) {
        let names: BTreeSet<Name> = data.instances(part).iter().flat_map(Constraint::names).collect();
        let read = names.into_iter().filter(|n| data.temporary(n).is_some());
        found.extend(read.map(|n| access((n, Vec::new()), false)));
    }
    found
}

/// The name of an iname in the second execution.
fn second(name: &Name) -> Name {
    Name::new(format!("{name}'"))
}

/// All pairs of executions of two accesses at one cell, the second one's inames primed, with equal coordinates and equal values of the
/// loops `around`.
fn pairs(data: &KernelData, a: &PartAccess, b: &PartAccess, around: &[Name]) -> Result<System, Diagnostic> {
    // Values read from data may be others in the second execution.
    let own = |n: &Name| data.is_iname(n) || data.temporary(n).is_some();
    let prime = |n: &Name| own(n).then(|| Aff::var(second(n)));
    let mut rows = data.assumptions.clone();
    rows.extend(constraints_of(data, &a.part)?);
    for c in constraints_of(data, &b.part)? {
        rows.push(c.substitute(&prime)?);
    }
    for (x, y) in a.index.iter().zip(&b.index) {
        if let (Some(x), Some(y)) = (x, y) {
            rows.push(Constraint::equal(x, &y.substitute(&prime)?)?);
        }
    }
    let (left, right) = (data.part_inames(&a.part), data.part_inames(&b.part));
    for n in left.iter().filter(|n| right.contains(n)) {
        if data.tag(n).is_hardware() || around.contains(n) {
            rows.push(Constraint::equal(&Aff::var(n), &Aff::var(second(n)))?);
        }
    }
    Ok(System::new(&rows)?)
}

/// `a` before `b` (or behind) at each level of a nest: equal outside of it, less (or greater) at it.
fn ordered(loops: &[Name], before: bool) -> Result<Vec<Vec<Constraint>>, Diagnostic> {
    let mut levels = Vec::new();
    let mut equal: Vec<Constraint> = Vec::new();
    for n in loops {
        let (x, y) = (Aff::var(n), Aff::var(second(n)));
        let mut level = equal.clone();
        level.push(if before { Constraint::lt(&x, &y)? } else { Constraint::lt(&y, &x)? });
        levels.push(level);
        equal.push(Constraint::equal(&x, &y)?);
    }
    Ok(levels)
}

/// Two executions of a dependence as text.
fn witness(data: &KernelData, a: &PartAccess, b: &PartAccess, system: &System) -> Option<String> {
    let point = system.sample(&BTreeMap::new()).ok()??;
    let of = |access: &PartAccess, primed: bool| {
        let values: Vec<String> = data
            .part_inames(&access.part)
            .iter()
            .map(|n| {
                let key = if primed { second(n) } else { n.clone() };
                format!("{n}={}", point.get(&key).copied().unwrap_or(0))
            })
            .collect();
        let verb = if access.write { "writes" } else { "reads" };
        format!("`{}` at {} {verb} `{}`", access.part, values.join(", "), access.array)
    };
    let parameters: Vec<String> = point
        .iter()
        .filter(|(n, _)| !data.is_iname(n) && !n.ends_with('\''))
        .map(|(n, v)| format!("{n}={v}"))
        .collect();
    let with =
        if parameters.is_empty() { String::new() } else { format!(" (with {})", parameters.join(", ")) };
    Some(format!("{}, then {}{with}; the new order turns them round", of(a, false), of(b, true)))
}

/// Refuses a pair of accesses of the same cell that a change of order turns round: `old` and `new` are conjunctions any of which says
/// that the first execution comes before the second in the old order, and behind it in the new one.
fn refuse_turned(
    data: &KernelData,
    a: &PartAccess,
    b: &PartAccess,
    around: &[Name],
    old: &[Vec<Constraint>],
    new: &[Vec<Constraint>],
    what: &str,
) -> Result<(), Diagnostic> {
    if a.array != b.array || !(a.write || b.write) {
        return Ok(());
    }
    let pairs = pairs(data, a, b, around)?;
    for before in old {
        let system = pairs.with(before)?;
        for behind in new {
            let system = system.with(behind)?;
            let verdict = system.is_empty();
            if verdict == Ok(true) {
                continue;
            }
            let d =
                Diagnostic::new("dependence-turned", format!("{what} turns accesses of `{}` round", a.array));
            return Err(match (verdict, witness(data, a, b, &system)) {
                (Ok(_), Some(text)) => d.witness(text),
                (Ok(_), None) => d,
                (Err(e), _) => Diagnostic::new(
                    "dependence-unknown",
                    format!("whether {what} keeps the order of accesses of `{}` is not known: {e}", a.array),
                ),
            });
        }
    }
    Ok(())
}

/// Refuses a new order of nested loops that turns a dependence round. `around` are the loops outside of them.
pub(crate) fn check_order(
    data: &KernelData,
    parts: &[PartRef],
    around: &[Name],
    old: &[Name],
    new: &[Name],
) -> Result<(), Diagnostic> {
    let all: Vec<PartAccess> = parts.iter().flat_map(|p| accesses(data, p)).collect();
    let written: Vec<&Name> = all.iter().filter(|a| a.write).map(|a| &a.array).collect();
    let (before, behind) = (ordered(old, true)?, ordered(new, false)?);
    for a in all.iter().filter(|a| written.contains(&&a.array)) {
        for b in all.iter().filter(|b| b.array == a.array) {
            refuse_turned(data, a, b, around, &before, &behind, "the new order of the loops")?;
        }
    }
    Ok(())
}

/// Refuses to run all of `first` before all of `second` in loops of their own, where the loops over `inames` had them in turns.
pub(crate) fn check_distribution(
    data: &KernelData,
    first: &[PartRef],
    behind: &[PartRef],
    around: &[Name],
    inames: &[Name],
) -> Result<(), Diagnostic> {
    let early: Vec<PartAccess> = first.iter().flat_map(|p| accesses(data, p)).collect();
    let late: Vec<PartAccess> = behind.iter().flat_map(|p| accesses(data, p)).collect();
    // Executions of the later half that come before ones of the earlier half so far.
    let before = ordered(inames, true)?;
    for a in &late {
        for b in &early {
            refuse_turned(data, a, b, around, &before, &[Vec::new()], "a loop of its own")?;
        }
    }
    Ok(())
}

/// Refuses to make lanes of a loop (all lanes of a statement, then the next statement; reads before writes) where that turns a
/// dependence round. Private temporaries have a copy for each lane and are not asked about here.
pub(crate) fn check_lanes(data: &KernelData, iname: &Name) -> Result<(), Diagnostic> {
    let Some(path) = path_to(&data.tree, iname) else { return Ok(()) };
    let around = &path[..path.len() - 1];
    let Some(body) = body_of(&data.tree, iname) else { return Ok(()) };
    let mut leaves: Vec<(PartRef, Vec<Name>)> = Vec::new();
    Tree::visit_leaves(body, &mut |loops, part| {
        leaves.push((part.clone(), loops.iter().map(|n| (*n).clone()).collect()));
    });
    let private = |array: &Name| data.temporary(array).is_some_and(|t| t.space == AddressSpace::Private);
    let one = std::slice::from_ref(iname);
    for (k, (p, left)) in leaves.iter().enumerate() {
        for (m, (q, right)) in leaves.iter().enumerate() {
            let shared: Vec<Name> =
                left.iter().zip(right).take_while(|(a, b)| a == b).map(|(a, _)| a.clone()).collect();
            for a in accesses(data, p).iter().filter(|a| !private(&a.array)) {
                for b in accesses(data, q).iter().filter(|b| b.array == a.array) {
                    // `b` comes before `a` among the lanes: in an earlier turn of a shared loop, or as the earlier statement, or as a read of
                    // the same statement.
                    let mut behind = ordered(&shared, false)?;
                    if m < k || (m == k && a.write && !b.write) {
                        let equal = shared
                            .iter()
                            .map(|n| Constraint::equal(&Aff::var(n), &Aff::var(second(n))))
                            .collect::<Result<_, _>>()?;
                        behind.push(equal);
                    }
                    refuse_turned(
                        data,
                        a,
                        b,
                        around,
                        &ordered(one, true)?,
                        &behind,
                        &format!("making lanes of `{iname}`"),
                    )?;
                }
            }
        }
    }
    Ok(())
}
