//! Splits a reduction into two nested ones: the common part of the steps `split_reduction_inward`
//! and `split_reduction_outward`.

use loopwright_kernel_ir::{
    Aff, Constraint, Diagnostic, Expr, KernelData, LoopKernel, Name, Part, PartRef, Reduce, ReductionOp, Tree,
};

use crate::{
    names,
    rewrite::{extent, require_iname, tree::path_of},
};

/// The side on which the listed inames end up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Inward,
    Outward,
}

/// Whether a state can be the input of the same operator.
fn nests(op: &ReductionOp) -> bool {
    let (Some(input), Some(state)) = (op.inputs.first(), op.state.first()) else { return false };
    op.inputs.len() == 1
        && op.state.len() == 1
        && op.lift == [Expr::Name(input.clone())]
        && op.result == [Expr::Name(state.name.clone())]
}

/// The expression with the reduction of this number split.
fn nested(e: &Expr, number: usize, inner: &[Name], next: &mut usize) -> Expr {
    let e = e.map_children(&mut |child| nested(child, number, inner, next));
    let Expr::Reduce(r) = &e else { return e };
    let here = *next;
    *next += 1;
    if here != number {
        return e;
    }
    let (inward, outward): (Vec<Name>, Vec<Name>) = r.inames.iter().cloned().partition(|i| inner.contains(i));
    let inside = Expr::Reduce(Reduce { op: r.op.clone(), inames: inward, args: r.args.clone() }.into());
    Expr::Reduce(Reduce { op: r.op.clone(), inames: outward, args: vec![inside] }.into())
}

/// Renumbers the parts of an instruction.
fn renumber(trees: &mut [Tree], id: &Name, new: &dyn Fn(Part) -> Part) {
    for tree in trees {
        match tree {
            Tree::Leaf(part) if part.instruction == *id => part.part = new(part.part),
            Tree::Leaf(_) => {}
            Tree::Loop { body, .. } => renumber(body, id, new),
        }
    }
}

/// Puts leaves before and after the subtree that has `around`, inside the loops of `path`.
fn wrap(trees: &mut Vec<Tree>, path: &[Name], around: &PartRef, before: Tree, behind: Tree) {
    if let Some((first, rest)) = path.split_first() {
        for tree in trees.iter_mut() {
            if let Tree::Loop { iname, body } = tree
                && iname == first
            {
                return wrap(body, rest, around, before, behind);
            }
        }
        return;
    }
    if let Some(k) = trees.iter().position(|t| t.leaves().contains(&around)) {
        trees.insert(k, before);
        trees.insert(k + 2, behind);
    }
}

/// Whether a part runs inside of the reduction of this number of its instruction, or is its update.
fn is_inside(data: &KernelData, id: &Name, number: usize, part: &PartRef) -> bool {
    let nested = |number: usize| {
        let reductions = data.instruction(id).map(|i| i.reductions()).unwrap_or_default();
        reductions.get(number).map_or(0, |r| r.args.iter().map(|e| e.reductions().len()).sum::<usize>())
    };
    part.instruction == *id
        && matches!(part.part, Part::Init(n) | Part::Update(n) if n <= number && n + nested(number) >= number)
}

/// Adds bounds of the outer inames that are only implied by constraints on inner ones. The new
/// bounds follow from the instances of the inner updates, so that the outer reduction loses only
/// empty inner ones. Other parts with these inames have to have the bounds already.
fn bound_outer(data: &mut KernelData, id: &Name, inner: usize) -> Result<(), Diagnostic> {
    let part = |part| PartRef { instruction: id.clone(), part };
    let kept = data.part_inames(&part(Part::Init(inner)));
    let outer = data.part_inames(&part(Part::Update(inner + 1)));
    let around = data.instruction(id).map(|i| i.within.clone()).unwrap_or_default();
    let known = extent::instances_of(data, &part(Part::Init(inner)))?;
    for iname in outer.iter().filter(|n| !around.contains(n)) {
        let others = |n: &Name| n != iname && (!data.is_iname(n) || kept.contains(n));
        let bounds = known.bounds(iname, &others)?;
        if !bounds.lower.is_empty() && !bounds.upper.is_empty() {
            continue;
        }
        let all = extent::instances_of(data, &part(Part::Update(inner)))?;
        let rows = all.keep_only(&|n| !data.is_iname(n) || kept.contains(n))?.system.gist(&known)?;
        let mut rows: Vec<Constraint> =
            rows.into_iter().filter(|c| c.aff.mentions(iname) && c.aff.is_affine()).collect();
        // A bound may be hidden in divisions: then the bound of the instances, `real`, is added
        // instead.
        let now = known.with(&rows)?.bounds(iname, &others)?;
        let real = all.bounds(iname, &others)?;
        let own = Aff::var(iname);
        for (missing, bounds, sign) in
            [(now.lower.is_empty(), real.lower, 1), (now.upper.is_empty(), real.upper, -1)]
        {
            for b in bounds.iter().filter(|_| missing) {
                rows.push(Constraint::nonneg(own.scale(b.denominator)?.sub(&b.aff)?.scale(sign)?));
            }
        }
        for other in data.instructions.iter().flat_map(|i| data.parts(i)) {
            let is_own = other == part(Part::Update(inner + 1)) || is_inside(data, id, inner, &other);
            if is_own || !data.part_inames(&other).contains(iname) {
                continue;
            }
            let instances = extent::instances_of(data, &other)?;
            if instances.implies_all(&rows)? {
                continue;
            }
            return Err(Diagnostic::new(
                "shared-bounds",
                format!(
                    "the loop over `{iname}` would be bounded by what `{id}` reduces, and {other} runs in \
                     it as well"
                ),
            )
            .help(format!(
                "give the reduction an iname of its own before it is split: `duplicate_inames({iname}, \
                 within={id})`, or an instruction of its own"
            )));
        }
        if let Some(domain) = data.domains.iter_mut().find(|d| d.inames.contains(iname)) {
            domain.constraints.extend(rows);
        }
    }
    Ok(())
}

fn split_one(data: &mut KernelData, id: &Name, number: usize, inner: &[Name]) -> Result<(), Diagnostic> {
    let part = |part| PartRef { instruction: id.clone(), part };
    let Some(position) = data.instructions.iter().position(|i| i.id == *id) else { return Ok(()) };
    let Some(reduce) = data.instructions[position].reductions().get(number).cloned() else { return Ok(()) };
    let op = data.operator(&reduce.op);
    if !op.as_ref().is_some_and(nests) {
        return Err(Diagnostic::new(
            "reduction-not-nested",
            format!("`{}` in `{id}` cannot be split: its result cannot be the input of an update", reduce.op),
        )
        .help(
            "only operators whose input, state and result are the same single value can be split: \
             sum, product, min, max, any, all",
        ));
    }
    let path = path_of(&data.tree, &part(Part::Update(number)));
    if let Some(lane) = reduce.inames.iter().find(|n| !path.contains(n))
        && !op.as_ref().is_some_and(|op| op.commutes)
    {
        return Err(Diagnostic::new(
            "order-of-reduction",
            format!(
                "the reduction `{}` in `{id}` does not commute, and `{lane}`, which has no loop, has its \
                 place among the points of the others",
                reduce.op
            ),
        )
        .help(format!("split the reduction before `{lane}` is tagged")));
    }
    let is_outer = |n: &Name| reduce.inames.contains(n) && !inner.contains(n);
    let last_outer = path.iter().rposition(is_outer);
    let first_inner = path.iter().position(|n| inner.contains(n));
    if let (Some(outer), Some(first)) = (last_outer, first_inner)
        && first < outer
    {
        return Err(Diagnostic::new(
            "loops-not-nested",
            format!(
                "the loop over `{}` of the outer reduction would be inside the loop over `{}` \
                of the inner one",
                path[outer], path[first]
            ),
        )
        .help(format!("`reorder({}, {})` first", path[outer], path[first])));
    }
    let depth = match (last_outer, first_inner) {
        (Some(outer), _) => outer + 1,
        (None, Some(inner)) => inner,
        (None, None) => path.len(),
    };
    data.instructions[position].value = nested(&data.instructions[position].value, number, inner, &mut 0);
    // The inner reduction keeps the number, the outer one comes after it.
    renumber(&mut data.tree, id, &|p| match p {
        Part::Init(n) if n >= number => Part::Init(n + 1),
        Part::Update(n) if n > number => Part::Update(n + 1),
        p => p,
    });
    bound_outer(data, id, number)?;
    wrap(
        &mut data.tree,
        &path[..depth],
        &part(Part::Update(number)),
        Tree::Leaf(part(Part::Init(number))),
        Tree::Leaf(part(Part::Update(number + 1))),
    );
    Ok(())
}

pub(crate) fn split(kernel: &LoopKernel, listed: &[Name], side: Side) -> Result<LoopKernel, Diagnostic> {
    for iname in listed {
        require_iname(kernel, iname)?;
    }
    let mut targets: Vec<(Name, usize, Vec<Name>)> = Vec::new();
    for instruction in &kernel.instructions {
        for (number, reduce) in instruction.reductions().iter().enumerate().rev() {
            let here = listed.iter().filter(|i| reduce.inames.contains(i)).count();
            if here == 0 {
                continue;
            }
            let (mine, others): (Vec<Name>, Vec<Name>) =
                reduce.inames.iter().cloned().partition(|i| listed.contains(i));
            if here != listed.len() || others.is_empty() {
                return Err(Diagnostic::new(
                    "reduction-inames",
                    format!(
                        "`{}` in `{}` runs over {}: list some of these inames, but not all",
                        reduce.op,
                        instruction.id,
                        names::list(reduce.inames.iter().map(|n| &**n))
                    ),
                ));
            }
            targets.push((instruction.id.clone(), number, if side == Side::Inward { mine } else { others }));
        }
    }
    if targets.is_empty() {
        return Err(Diagnostic::new(
            "reduction-inames",
            format!("no reduction runs over {}", names::list(listed.iter().map(|n| &**n))),
        ));
    }
    kernel.edit(|data| targets.iter().try_for_each(|(id, number, inner)| split_one(data, id, *number, inner)))
}
