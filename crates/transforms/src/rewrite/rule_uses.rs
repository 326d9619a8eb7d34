//! Uses of rules whose values may have reductions, and their replacement.
//!
//! A use is found by comparison. Of a sum, the text of a kernel has copies where it needs a second
//! loop (`sum(k_2, x[i, k_2])` beside `sum(k, x[i, k])`), so that reductions are compared up to
//! the names of their inames, if these have the same bounds. With a use its reductions go: their
//! parts leave the loop tree, and those of the reductions that stay are numbered anew.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Aff, Constraint, Diagnostic, Expr, Instruction, KernelData, Name, Part, PartRef, Reduce, Rule, Tree,
};

use crate::rewrite::parts_with_inames;

/// The inames over which an expression reduces, in the order of its reductions.
pub(crate) fn reduced(e: &Expr) -> Vec<Name> {
    e.reductions().iter().flat_map(|r| r.inames.clone()).collect()
}

/// The expression with other inames, those of reductions included.
pub(crate) fn with_inames(e: &Expr, names: &BTreeMap<Name, Name>) -> Expr {
    let new = |n: &Name| names.get(n).unwrap_or(n).clone();
    match e {
        Expr::Name(n) => Expr::Name(new(n)),
        Expr::Reduce(r) => Expr::Reduce(
            Reduce {
                op: r.op.clone(),
                inames: r.inames.iter().map(new).collect(),
                args: r.args.iter().map(|a| with_inames(a, names)).collect(),
            }
            .into(),
        ),
        _ => e.map_children(&mut |child| with_inames(child, names)),
    }
}

/// The constraints that bound an iname, and those of its domain on parameters alone.
pub(crate) fn bounds(data: &KernelData, iname: &Name) -> Vec<Constraint> {
    let Some(domain) = data.domains.iter().find(|d| d.inames.contains(iname)) else { return Vec::new() };
    let place = |n: &Name| domain.inames.iter().position(|i| i == n);
    let own = |c: &&Constraint| {
        let innermost = c.names().iter().filter_map(place).max();
        innermost.is_none_or(|k| domain.inames[k] == *iname)
    };
    domain.constraints.iter().filter(own).cloned().collect()
}

/// The arguments with which the rule gives this expression, or `None`.
pub(crate) fn arguments_of(data: &KernelData, rule: &Rule, e: &Expr) -> Option<Vec<Expr>> {
    let (here, there) = (reduced(e), reduced(&rule.value));
    if here == there {
        return rule.arguments_of(e);
    }
    if here.len() != there.len() {
        return None;
    }
    let names: BTreeMap<Name, Name> = here.iter().cloned().zip(there.iter().cloned()).collect();
    let same = |a: &Name, b: &Name| -> Option<bool> {
        let mut renamed = bounds(data, a)
            .iter()
            .map(|c| c.substitute(&|n| names.get(n).map(Aff::var)))
            .collect::<Result<Vec<_>, _>>()
            .ok()?;
        let mut of_rule = bounds(data, b);
        renamed.sort();
        of_rule.sort();
        Some(renamed == of_rule)
    };
    let taken = e.names().iter().any(|n| there.contains(n) && !here.contains(n));
    let one_to_one = here
        .iter()
        .zip(&there)
        .all(|(a, b)| names.get(a) == Some(b) && names.iter().all(|(other, to)| (to == b) == (other == a)));
    let equal = || here.iter().zip(&there).all(|(a, b)| same(a, b) == Some(true));
    (!taken && one_to_one && equal()).then(|| rule.arguments_of(&with_inames(e, &names)))?
}

/// The expression with its uses replaced, outermost first; those in subscripts stay.
pub(crate) fn replace(
    data: &KernelData,
    e: &Expr,
    rule: &Rule,
    with: &mut dyn FnMut(Vec<Expr>) -> Expr,
) -> Expr {
    match arguments_of(data, rule, e) {
        Some(arguments) => with(arguments),
        None if matches!(e, Expr::Subscript(_)) => e.clone(),
        None => e.map_children(&mut |child| replace(data, child, rule, with)),
    }
}

/// What the numbers of an expression's reductions become; `None` for those of uses.
fn numbers(data: &KernelData, e: &Expr, rule: &Rule) -> Vec<Option<usize>> {
    fn walk(data: &KernelData, e: &Expr, rule: &Rule, next: &mut usize, found: &mut Vec<Option<usize>>) {
        if arguments_of(data, rule, e).is_some() {
            found.extend(e.reductions().iter().map(|_| None));
            return;
        }
        e.each_child(&mut |child| walk(data, child, rule, next, found));
        if matches!(e, Expr::Reduce(_)) {
            found.push(Some(*next));
            *next += 1;
        }
    }
    let mut found = Vec::new();
    walk(data, e, rule, &mut 0, &mut found);
    found
}

/// The trees with the parts of an instruction replaced, and without loops that become empty.
fn with_parts(trees: &[Tree], id: &Name, part: &dyn Fn(Part) -> Option<Part>) -> Vec<Tree> {
    let new = |tree: &Tree| match tree {
        Tree::Leaf(leaf) if leaf.instruction == *id => {
            let part = part(leaf.part)?;
            Some(Tree::Leaf(PartRef { instruction: id.clone(), part }))
        }
        Tree::Leaf(_) => Some(tree.clone()),
        Tree::Loop { iname, body } => {
            let body = with_parts(body, id, part);
            (!body.is_empty()).then(|| Tree::Loop { iname: iname.clone(), body })
        }
    };
    trees.iter().filter_map(new).collect()
}

/// Replaces all uses in the values and predicates of a kernel's instructions, and removes the parts
/// of their reductions.
///
/// Errors: a step has made a scan or the updates of a hardware instruction of such a reduction.
pub(crate) fn replace_all(
    data: &mut KernelData,
    rule: &Rule,
    with: &mut dyn FnMut(Vec<Expr>) -> Expr,
) -> Result<(), Diagnostic> {
    let before = data.clone();
    for i in &mut data.instructions {
        let numbers = numbers(&before, &i.value, rule);
        if numbers.contains(&None) {
            if i.scan.is_some() || i.atom.is_some() || i.atomic {
                let message = format!(
                    "a step has decided how the reductions of `{}` run, of which one is a use of `{}`",
                    i.id, rule.name
                );
                return Err(Diagnostic::new("rule-values", message).help("apply the step earlier"));
            }
            let plain = numbers.iter().all(Option::is_none);
            data.tree = with_parts(&data.tree, &i.id, &|part| match part {
                Part::Init(n) => numbers.get(n)?.map(Part::Init),
                Part::Update(n) => numbers.get(n)?.map(Part::Update),
                Part::Finish if plain => Some(Part::Whole),
                part => Some(part),
            });
        }
        i.value = replace(&before, &i.value, rule, with);
        i.predicate = i.predicate.as_ref().map(|p| replace(&before, p, rule, with));
    }
    // Inames that only those reductions had keep their domains, but no tags.
    let inames = |data: &KernelData| -> Vec<Name> {
        parts_with_inames(data).into_iter().flat_map(|(_, inames)| inames).collect()
    };
    let (old, new) = (inames(&before), inames(data));
    data.retain_tags(|iname| !old.contains(iname) || new.contains(iname));
    Ok(())
}

/// The part of a tree that belongs to one instruction, without the loops around all of it.
pub(crate) fn inside(trees: &[Tree], instruction: &Instruction) -> Vec<Tree> {
    trees
        .iter()
        .flat_map(|tree| match tree {
            Tree::Leaf(leaf) if leaf.instruction == instruction.id => vec![tree.clone()],
            Tree::Leaf(_) => Vec::new(),
            Tree::Loop { iname, body } => {
                let body = inside(body, instruction);
                match instruction.within.contains(iname) || body.is_empty() {
                    true => body,
                    false => vec![Tree::Loop { iname: iname.clone(), body }],
                }
            }
        })
        .collect()
}
