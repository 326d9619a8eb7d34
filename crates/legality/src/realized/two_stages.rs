//! A reduction over blocks in two stages.
//!
//! *Theorem.* Let an instruction `I` reduce the points `U(w, b, t)` by a commutative operator,
//! where `w` are the inames around it and `b` those of its inames that are on the grid. Let
//!
//! * `P` store, for each `(w, b)`, the state that the operator comes to over the points
//!   `U(w, b, t)`: it has the operator's state, neutral element, lift and combination, its points
//!   are those of `I`, and its expression is that of `I`;
//! * each `(w, b)` have a cell of its own, in arrays of the state's types that nothing else
//!   touches: a subscript for each of their inames, or one for several of `w` that are its digits;
//! * `J` combine, for each `w`, the states that it reads, from the operator's neutral element on by
//!   the operator's combination, and compute of the state what `I` does;
//! * the reads of `J` for `w` be exactly the cells of `P` for `w`, each read once;
//! * each point of `I` be one of some `(w, b)` of `P`.
//!
//! Then `J` computes what `I` does: its state is the combination of the same lifted points, grouped
//! by `b`, and the operator is associative and commutes. States of no points are neutral. In the
//! loop tree `P` reduces where `I` did, and `P` stores, `J` reduces and `J` writes, one after the
//! other, where `I` wrote; so both read what `I` did.
//!
//! `P` may run in one thread where each of several ran a copy of `I`, since each had a private
//! result of its own: the copies are executions of the same instances, and that each of them reads
//! what the declared kernel reads is given. All of them then join what that thread has stored.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Expr, Instruction, Name, Part, PartRef, ReductionOp, Role, Share, StateType,
    Tree,
};

use super::{
    Checked, Pair, accesses, consists_of, only_reduction, part, state_types, unchanged, why, with_reduction,
};
use crate::{Touch, link::Link};

const THEOREM: &str = "each block reduces its own points, and each partial result is joined once";

pub(super) fn check(pair: &Pair<'_>, queries: &mut usize) -> Checked<&'static str> {
    values(pair)?;
    unchanged::check(pair, &undone(&pair.new.kernel.tree, pair), queries)?;
    points(pair, queries)?;
    cells(pair, queries)?;
    Ok(THEOREM)
}

/// The values: `P` comes to the state of `I`, and `J` continues from there as `I` does.
fn values(pair: &Pair<'_>) -> Checked<()> {
    let Pair { was, is: join, added: partial, .. } = pair;
    let (reduce, operator) = only_reduction(pair.old.kernel, was)?;
    let (first, first_op) = only_reduction(pair.new.kernel, partial)?;
    let (second, second_op) = only_reduction(pair.new.kernel, join)?;
    let share = |share| was.role.declared().cloned().map(|of| Role::Realizes { of, share });
    if Some(&join.role) != share(Share::Join).as_ref() || was.atomic {
        return why(format!("`{}` is to join partial results, and does something else", join.id));
    }
    // `P`: the state of the operator over the inames that are not on the grid.
    let states: Vec<Expr> = operator.state.iter().map(|s| Expr::Name(s.name.clone())).collect();
    // Sums of narrow integers have a state of 32 bits, which an operator of another name has to
    // say.
    let types = state_types(pair.old.kernel, was)?;
    let mut state = operator.state.clone();
    for ((s, own), dtype) in state.iter_mut().zip(&first_op.state).zip(&types) {
        if own.dtype == StateType::Fixed(*dtype) {
            s.dtype = own.dtype.clone();
        }
    }
    let state_of = ReductionOp {
        name: first_op.name.clone(),
        state,
        result: states,
        trusted: first_op.trusted.clone(),
        ..operator.clone()
    };
    let on_grid: Vec<Name> = partial.within.iter().filter(|n| !was.within.contains(n)).cloned().collect();
    let as_was = Instruction {
        id: was.id.clone(),
        targets: was.targets.clone(),
        value: was.value.clone(),
        within: was.within.clone(),
        role: was.role.clone(),
        made_by: was.made_by.clone(),
        ..(*partial).clone()
    };
    if state_of != first_op
        || first.args != reduce.args
        || partial.value != Expr::Reduce(first.clone())
        || !consists_of(&reduce.inames, [&first.inames, &on_grid])
        || !consists_of(&partial.within, [&was.within, &on_grid])
        || as_was != **was
    {
        return why(format!("`{}` does not reduce what `{}` does", partial.id, was.id));
    }
    // `J`: the operator over states, in place of the reduction.
    let inputs: BTreeSet<&Name> = second_op.inputs.iter().collect();
    let joins = ReductionOp {
        name: second_op.name.clone(),
        inputs: second_op.inputs.clone(),
        state: (operator.state.iter().enumerate())
            .map(|(k, s)| loopwright_kernel_ir::StateVar { dtype: StateType::Input(k), ..s.clone() })
            .collect(),
        lift: second_op.inputs.iter().map(|n| Expr::Name(n.clone())).collect(),
        trusted: second_op.trusted.clone(),
        ..operator.clone()
    };
    let value = with_reduction(&join.value, &second, &Expr::Reduce(reduce.clone()));
    // A hardware instruction does the updates of `P` only.
    let as_was = Instruction { value, role: was.role.clone(), atom: was.atom.clone(), ..(*join).clone() };
    let plain = join.atom.is_none();
    if joins != second_op || inputs.len() != operator.state.len() || !plain || as_was != **was {
        return why(format!("`{}` does not join what `{}` reduces", join.id, was.id));
    }
    let read: Vec<&Name> = partial.targets.iter().map(|t| &t.array).collect();
    let arguments = second.args.iter().map(|e| match e {
        Expr::Subscript(Access { array, .. }) => Some(array),
        _ => None,
    });
    if !arguments.eq(read.iter().map(|array| Some(*array))) {
        return why(format!("`{}` does not read the partial results in their order", join.id));
    }
    // The arrays keep what is stored in them.
    let kept = types.len() == partial.targets.len()
        && partial.targets.iter().zip(&types).all(|(target, dtype)| {
            let array = pair.new.kernel.temporary(&target.array);
            array.is_some_and(|a| a.space == AddressSpace::Global && a.dtype.known() == Some(*dtype))
                && pair.old.kernel.array(&target.array).is_none()
        });
    if !kept
        || state_types(pair.new.kernel, partial)? != types
        || state_types(pair.new.kernel, join)? != types
    {
        return why(format!("`{}` stores its results in other types", partial.id));
    }
    Ok(())
}

/// The points: those of `P` are those of `I`, and read the same; `J` writes where `I` did.
fn points(pair: &Pair<'_>, queries: &mut usize) -> Checked<()> {
    let Pair { old, new, was, is: join, added: partial } = pair;
    let point = part(old, was, Part::Update(0))?;
    for (a, b, once) in [
        (point, part(new, partial, Part::Update(0))?, true),
        (part(old, was, Part::Finish)?, part(new, join, Part::Finish)?, false),
    ] {
        let executor = unchanged::same_executor(pair, a, b) || once && unchanged::once_for_all(pair, a, b);
        let same = accesses(old, a) == accesses(new, b) && executor;
        if !same || !pair.same_executions(a, b, queries)? {
            return why(format!("`{}` has other executions or accesses than `{}` had", b.part, a.part));
        }
    }
    let stored = part(new, partial, Part::Finish)?;
    if !pair.implies(&point.constraints, &stored.constraints, queries)? {
        return why(format!("a point of `{}` may belong to no partial result", was.id));
    }
    Ok(())
}

/// The cells: each result of `P` has its own, and `J` reads each of them once.
fn cells(pair: &Pair<'_>, queries: &mut usize) -> Checked<()> {
    let Pair { new, was, is: join, added: partial, .. } = pair;
    let stored = part(new, partial, Part::Finish)?;
    let joined = part(new, join, Part::Update(0))?;
    let writes = stored.events.iter().filter(|e| e.touch == Touch::Write && !new.is_accumulator(&e.array));
    for write in writes {
        let mut reads = joined.events.iter().filter(|e| e.touch == Touch::Read && e.array == write.array);
        let (Some(read), None) = (reads.next(), reads.next()) else {
            return why(format!("`{}` does not read `{}` once", join.id, write.array));
        };
        let mut link =
            Link { old: 0, values: Default::default(), identity: false, onto: false, same: Vec::new() };
        let mut subscripts = 0;
        for (subscript, value) in write.cell.iter().zip(&read.cell) {
            let (Some(subscript), Some(value)) = (subscript, value) else {
                return why(format!("a subscript of `{}` is not affine", write.array));
            };
            if let Some(iname) = subscript.as_var() {
                // A result's own inames are the same at both places.
                if was.within.contains(iname) && *value != Aff::var(iname) {
                    return why(format!("`{}` reads results of others from `{}`", join.id, write.array));
                }
                link.values.insert(iname.clone(), value.clone());
                subscripts += 1;
                continue;
            }
            // Names that are digits: each number is that of one choice of them only.
            let names = subscript.names();
            if value != subscript
                || !names.iter().all(|n| was.within.contains(n) && subscript.coefficient(n) > 0)
                || !new.is_radix(subscript)
            {
                return why(format!("a subscript of `{}` is no number of a result", write.array));
            }
            subscripts += names.len();
            link.values.extend(names.into_iter().map(|n| (n.clone(), Aff::var(n))));
        }
        if link.values.len() != stored.inames.len() || subscripts != stored.inames.len() {
            return why(format!("several results may be stored in one cell of `{}`", write.array));
        }
        if !pair.one_to_one(stored, joined, &mut link, queries)? {
            return why(format!("`{}` does not read each cell of `{}` once", join.id, write.array));
        }
    }
    Ok(())
}

/// The tree with the leaves of `I` where those of `P` and `J` are.
fn undone(trees: &[Tree], pair: &Pair<'_>) -> Vec<Tree> {
    let leaf = |i: &Instruction, part| Tree::Leaf(PartRef { instruction: i.id.clone(), part });
    let Pair { was, is: join, added: partial, .. } = pair;
    let stored = [leaf(partial, Part::Finish), leaf(join, Part::Init(0))];
    let mut found = Vec::new();
    let mut rest = trees;
    while let Some((tree, behind)) = rest.split_first() {
        if let Some([nest, last, end @ ..]) = rest.strip_prefix(&stored)
            && *last == leaf(join, Part::Finish)
            && innermost(nest, pair) == Some(&leaf(join, Part::Update(0)))
        {
            found.push(last.clone());
            rest = end;
            continue;
        }
        found.push(match tree {
            Tree::Leaf(p) if p.instruction == partial.id && p.part != Part::Finish => leaf(was, p.part),
            Tree::Leaf(_) => tree.clone(),
            Tree::Loop { iname, body } => Tree::Loop { iname: iname.clone(), body: undone(body, pair) },
        });
        rest = behind;
    }
    found
}

/// What loops over inames that the old kernel does not have lead to, if they have nothing else.
fn innermost<'t>(tree: &'t Tree, pair: &Pair<'_>) -> Option<&'t Tree> {
    match tree {
        Tree::Leaf(_) => Some(tree),
        Tree::Loop { iname, body } if !pair.old.kernel.is_iname(iname) => match body.as_slice() {
            [only] => innermost(only, pair),
            _ => None,
        },
        Tree::Loop { .. } => None,
    }
}
