//! A reduction over blocks whose partial results are combined by atomic updates.
//!
//! *Theorem.* Let an instruction `I` reduce the points `U(w, b, t)` by a commutative operator,
//! where `w` are the inames around it and `b` those of its inames that are on the grid, and write
//! the state itself to a cell in global memory, of the state's type. Let
//!
//! * `S` write the operator's neutral element to exactly the cells that `I` writes, where `I` does;
//! * `A` reduce, for each `(w, b)`, the points `U(w, b, t)` by the operator, and combine the result
//!   with the cell of `w` by an update that nothing comes between;
//! * each point of `I` be one of some `(w, b)` of `A`, each of which belongs to a `w` of `I`;
//! * nothing else touch the cells, or write what `S` reads, from `S` to the last of `A`.
//!
//! Then the cells hold what `I` wrote: the combination of the neutral element with all points, in
//! the order in which blocks finish, and the operator is associative and commutes.

use loopwright_kernel_ir::{
    AddressSpace, Aff, Expr, Instruction, Name, Part, PartRef, Reduce, Role, Share, Tree, UpdateOp,
};

use super::{Checked, Pair, accesses, consists_of, only_reduction, part, state_types, unchanged, why};
use crate::{Touch, link::Link};

const THEOREM: &str = "a result begins with the neutral element, and each block updates it once";

pub(super) fn check(pair: &Pair<'_>, queries: &mut usize) -> Checked<&'static str> {
    values(pair)?;
    let (undone, between) = undone(pair)?;
    unchanged::check(pair, &undone, queries)?;
    points(pair, queries)?;
    starts(pair, queries)?;
    nothing_between(pair, &between)?;
    Ok(THEOREM)
}

/// The values: `A` reduces what `I` does, and `S` begins as `I` does.
fn values(pair: &Pair<'_>) -> Checked<()> {
    let Pair { was, is: update, added: start, .. } = pair;
    let (reduce, operator) = only_reduction(pair.old.kernel, was)?;
    let (own, own_op) = only_reduction(pair.new.kernel, update)?;
    let share = |share| was.role.declared().cloned().map(|of| Role::Realizes { of, share });
    if Some(&update.role) != share(Share::Update).as_ref() || !was.atomic {
        return why(format!(
            "`{}` is to update what `{}` writes, and does something else",
            update.id, was.id
        ));
    }
    let on_grid: Vec<Name> = update.within.iter().filter(|n| !was.within.contains(n)).cloned().collect();
    let value = Reduce { inames: reduce.inames.clone(), ..(*own).clone() };
    let as_was = Instruction {
        value: Expr::Reduce(value.into()),
        within: was.within.clone(),
        role: was.role.clone(),
        ..(*update).clone()
    };
    if own_op != operator
        || as_was != **was
        || !consists_of(&reduce.inames, [&own.inames, &on_grid])
        || !consists_of(&update.within, [&was.within, &on_grid])
    {
        return why(format!("`{}` does not reduce what `{}` did", update.id, was.id));
    }
    let ([neutral], [_], [target]) =
        (operator.neutral.as_slice(), operator.state.as_slice(), was.targets.as_slice())
    else {
        return why(format!("`{}` has not one result", was.id));
    };
    if start.value != *neutral || start.scan.is_some() || start.atomic {
        return why(format!("`{}` does not begin with the neutral element", start.id));
    }
    // There is an update for this operator, in the type in which it reduces.
    let array = pair.old.kernel.array(&target.array);
    let dtype = array.filter(|a| a.space == AddressSpace::Global).and_then(|a| a.dtype.known());
    let Some(dtype) = dtype.filter(|t| UpdateOp::joining(pair.old.kernel, &operator.name, *t).is_ok()) else {
        return why(format!("there is no update of `{}` by `{}`", target.array, operator.name));
    };
    if state_types(pair.old.kernel, was)? != [dtype] || state_types(pair.new.kernel, update)? != [dtype] {
        return why(format!("`{}` is not what `{}` reduces in", target.array, was.id));
    }
    if was.reads().contains(&target.array) {
        return why(format!("`{}` reads what it writes", was.id));
    }
    Ok(())
}

/// The points: those of `A` are those of `I`, read the same, and all reach a cell that `I` writes.
fn points(pair: &Pair<'_>, queries: &mut usize) -> Checked<()> {
    let Pair { old, new, was, is: update, .. } = pair;
    let (point, same) = (part(old, was, Part::Update(0))?, part(new, update, Part::Update(0))?);
    if !pair.same_executions(point, same, queries)? || accesses(old, point) != accesses(new, same) {
        return why(format!("`{}` has other points than `{}` had", update.id, was.id));
    }
    let (result, updated) = (part(old, was, Part::Finish)?, part(new, update, Part::Finish)?);
    // Blocks that data bound read these bounds, as the points did.
    let (were, are) = (accesses(old, result), accesses(new, updated));
    let of_points = accesses(old, point);
    let bounds_only = |e: &&crate::Event| e.touch == Touch::Read && of_points.contains(e);
    let same = were.iter().all(|e| are.contains(e))
        && are.iter().all(|e| were.contains(e) || bounds_only(e))
        && result.may == updated.may;
    if !same || !pair.implies(&updated.constraints, &result.constraints, queries)? {
        return why(format!("`{}` updates other cells than `{}` wrote", update.id, was.id));
    }
    if !pair.implies(&point.constraints, &updated.constraints, queries)? {
        return why(format!("a point of `{}` may reach no cell", was.id));
    }
    Ok(())
}

/// The first values: `S` writes exactly the cells that `I` wrote.
fn starts(pair: &Pair<'_>, queries: &mut usize) -> Checked<()> {
    let Pair { old, new, was, added: start, .. } = pair;
    let (result, first) = (part(old, was, Part::Finish)?, part(new, start, Part::Whole)?);
    let named = |n: &Name| match first.inames.contains(n) {
        true => Aff::var(n),
        false => start.map.get(n).cloned().unwrap_or_else(|| Aff::var(n)),
    };
    let mut link =
        Link { old: 0, values: Default::default(), identity: false, onto: false, same: Vec::new() };
    for n in &result.inames {
        link.values.insert(n.clone(), new.lookup.expand(&named(n))?);
    }
    link.identity = result.inames == first.inames;
    let renamed = |e: &Expr| e.substitute(&|n| result.inames.contains(n).then(|| Expr::from_aff(&named(n))));
    if start.predicate != was.predicate.as_ref().map(renamed) {
        return why(format!("`{}` runs under another condition than `{}` did", start.id, was.id));
    }
    let (were, are) = (accesses(old, result), accesses(new, first));
    let written = |e: &&&crate::Event| e.touch == Touch::Write;
    let (Some(was_written), Some(is_written)) = (were.iter().find(written), are.iter().find(written)) else {
        return why(format!("`{}` writes nothing", start.id));
    };
    if start.targets.len() != 1 || !pair.same_event(&link, was_written, is_written)? {
        return why(format!("`{}` writes other cells than `{}` did", start.id, was.id));
    }
    // What predicates and subscripts read may be read in any order.
    let reads = |events: &[&crate::Event]| {
        let mut read: Vec<Name> =
            events.iter().filter(|e| e.touch == Touch::Read).map(|e| e.array.clone()).collect();
        read.sort();
        read.dedup();
        read
    };
    if !reads(&are).iter().all(|a| reads(&were).contains(a)) {
        return why(format!("`{}` reads something else than `{}` did", start.id, was.id));
    }
    if !pair.one_to_one(result, first, &mut link, queries)? {
        return why(format!("`{}` does not write each cell of `{}` once", start.id, was.id));
    }
    Ok(())
}

/// Whether no part between `S` and the end of `A` touches the cells, or writes what `S` reads.
fn nothing_between(pair: &Pair<'_>, between: &[PartRef]) -> Checked<()> {
    let Pair { new, is: update, added: start, .. } = pair;
    let first = part(new, start, Part::Whole)?;
    for p in between.iter().filter(|p| p.instruction != update.id) {
        let Some(other) = new.numbers.get(p).map(|k| &new.parts[*k]) else {
            return why(format!("`{p}` is nowhere in the loop tree"));
        };
        for e in &other.events {
            let target = update.targets.iter().any(|t| t.array == e.array);
            let read = e.touch != Touch::Read && first.events.iter().any(|f| f.array == e.array);
            if target || read {
                return why(format!("`{p}` touches `{}` between the first value and the updates", e.array));
            }
        }
    }
    let written =
        |e: &&crate::Event| update.targets.iter().any(|t| t.array == e.array) && e.touch == Touch::Read;
    match first.events.iter().find(written) {
        Some(e) => why(format!("`{}` reads `{}`, which it writes", start.id, e.array)),
        None => Ok(()),
    }
}

/// The tree without `S`, which is in the same body as the beginning of `A` and before it; and the
/// parts from there to the end of `A`.
fn undone(pair: &Pair<'_>) -> Checked<(Vec<Tree>, Vec<PartRef>)> {
    let Pair { is: update, added: start, .. } = pair;
    let leaf = |i: &Instruction, part| Tree::Leaf(PartRef { instruction: i.id.clone(), part });
    let (first, begin, end) =
        (leaf(start, Part::Whole), leaf(update, Part::Init(0)), leaf(update, Part::Finish));
    let mut between = None;
    let tree = without(&pair.new.kernel.tree, &first, &mut |body, at| {
        let behind = &body[at..];
        let begins = behind.iter().position(|t| *t == begin)?;
        let ends = behind.iter().position(|t| *t == end).filter(|ends| begins < *ends)?;
        let mut parts = Vec::new();
        Tree::visit_leaves(&behind[..=ends], &mut |_, part| parts.push(part.clone()));
        between = Some(parts.split_off(1));
        Some(())
    });
    match between {
        Some(between) => Ok((tree, between)),
        None => why(format!("`{}` does not stand before `{}`", start.id, update.id)),
    }
}

/// The trees without a leaf, where `allowed` allows it, given the body and the leaf's place in it.
fn without(trees: &[Tree], leaf: &Tree, allowed: &mut dyn FnMut(&[Tree], usize) -> Option<()>) -> Vec<Tree> {
    let mut found = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        if tree == leaf && allowed(trees, at).is_some() {
            continue;
        }
        found.push(match tree {
            Tree::Leaf(_) => tree.clone(),
            Tree::Loop { iname, body } => {
                Tree::Loop { iname: iname.clone(), body: without(body, leaf, allowed) }
            }
        });
    }
    found
}
