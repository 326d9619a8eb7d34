//! Reductions over blocks: partial results in global memory, joined by a second device kernel in a
//! fixed order.
//!
//! `out[s] = sum([b, t], e)` with `b` on an axis of the grid becomes, before anything else is
//! lowered,
//!
//! ```text
//! out_partial[s, b] = sum(t, e)              # each block its own; the state of the operator, not its result
//! out[s] = sum(b_join, out_partial[s, b_join])
//! ```
//!
//! The second instruction reads what other blocks wrote, so a kernel boundary comes between the two
//! (`sync`). Its iname goes over threads of one block: of the x axis, or of another where that has
//! results of its own. Where neighbouring threads have results of their own, the blocks' axes of
//! the partial results come first, so that neighbours lie side by side. They are combined in an
//! order that does not depend on timing. Where the instruction asks for it, blocks change the
//! result itself (`grid_update`).

use std::{collections::BTreeMap, sync::Arc};

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, Constraint, Diagnostic, Dim, Domain, Expr, HardwareAxis,
    Instruction, KernelData, LoopKernel, Name, Part, PartRef, Reduce, ReductionOp, StateType, StateVar, Tag,
    Tree,
};
use loopwright_poly::System;

use crate::{
    analysis::Analysis,
    grid_update::by_updates,
    program::Atomic,
    rewrite::{bound_blocks, fresh, over_threads},
};

/// Threads that join the partial results of one result where the x axis is free.
const JOINING_THREADS: i64 = 128;
/// Threads of a block that join partial results where some have results of their own, at most.
const JOINING_BLOCK: i64 = 256;
/// Threads that join the partial results of one result there, at most: their partial results go
/// through shared memory.
const JOINING_ROWS: i64 = 16;

/// The kernel with its reductions over blocks taken apart, or `None` where there are none.
pub(crate) fn take_apart(kernel: &LoopKernel) -> Result<Option<Apart>, Diagnostic> {
    let mut apart: Option<Apart> = None;
    while let Some((instruction, reduction)) = find(apart.as_ref().map_or(kernel, |a| &a.kernel))? {
        let Apart { kernel: current, mut updates } =
            apart.unwrap_or_else(|| Apart { kernel: kernel.clone(), updates: BTreeMap::new() });
        let (next, update) = one(&current, instruction, reduction)?;
        updates.extend(update.map(|atomic| (current.instructions[instruction].id.clone(), atomic)));
        apart = Some(Apart { kernel: next, updates });
    }
    Ok(apart)
}

/// A kernel without reductions over blocks.
pub(crate) struct Apart {
    pub kernel: LoopKernel,
    /// The instructions by which blocks change one element after another.
    pub updates: BTreeMap<Name, Atomic>,
}

/// The first reduction over an iname that is tagged to the grid.
fn find(kernel: &LoopKernel) -> Result<Option<(usize, usize)>, Diagnostic> {
    if !kernel.tags.values().any(|t| t.is_over_blocks()) {
        return Ok(None);
    }
    for (k, i) in kernel.instructions.iter().enumerate() {
        for (n, r) in i.reductions().iter().enumerate() {
            let over_blocks = r.inames.iter().any(|i| kernel.tag(i).is_over_blocks());
            if !over_blocks {
                continue;
            }
            if i.reductions().len() > 1 {
                return Err(Diagnostic::new(
                    "grid-reduction",
                    format!("`{}` has several reductions, one of them over blocks", i.id),
                )
                .help("give the reduction over blocks an instruction of its own"));
            }
            return Ok(Some((k, n)));
        }
    }
    Ok(None)
}

fn one(kernel: &LoopKernel, number: usize, n: usize) -> Result<(LoopKernel, Option<Atomic>), Diagnostic> {
    let analysis = Analysis::new(kernel)?;
    let instruction = kernel.instructions[number].clone();
    let reduce = instruction
        .reductions()
        .into_iter()
        .nth(n)
        .ok_or_else(|| Diagnostic::new("internal", "a reduction that does not exist"))?;
    let operator = kernel.operator(&reduce.op).ok_or_else(|| {
        Diagnostic::new("unknown-operator", format!("there is no reduction operator `{}`", reduce.op))
    })?;
    if !operator.commutes {
        return Err(Diagnostic::new(
            "does-not-commute",
            format!("`{}` does not commute, so its iname cannot run on blocks", operator.name),
        )
        .help(kernel.forgotten_commutes(&operator).unwrap_or_else(|| "leave the iname sequential".into())));
    }
    let (on_grid, rest): (Vec<Name>, Vec<Name>) =
        reduce.inames.iter().cloned().partition(|i| kernel.tag(i).is_over_blocks());
    let state = analysis.reduction_types(number)?[n].state.clone();

    // Lengths of the inames that index the partial results, and the domain of the joined ones.
    let update = PartRef { instruction: instruction.id.clone(), part: Part::Update(n) };
    // All that is declared of its instances: guards leave out what coordinates fulfil anyway, as
    // that they are not negative. Guards that follow from coordinates not being negative are not
    // among those.
    let mut least = Vec::new();
    for iname in instruction.within.iter().chain(&on_grid) {
        if let Some(extent) = analysis.extents.get(iname) {
            least.push(Constraint::le(&extent.lower, &Aff::var(iname))?);
        }
    }
    let points = declared(&analysis, &analysis.lookup.part_inames(&update))?;
    let system = System::new(&[analysis.context.as_slice(), &points, &least].concat())?;
    let parameter = |name: &Name| analysis.is_parameter(name);
    let joined: Vec<Name> = on_grid.iter().map(|b| fresh(kernel, &format!("{b}_join"))).collect();
    let kept = system.keep_only(&|name: &Name| {
        parameter(name) || instruction.within.contains(name) || on_grid.contains(name)
    })?;
    let mut domain = Vec::new();
    let mut blocks = Vec::new();
    for c in kept.system.constraints() {
        if c.names().iter().any(|n| on_grid.contains(n)) {
            blocks.push(c.clone());
            domain.push(c.substitute(&|name| {
                let k = on_grid.iter().position(|b| b == name)?;
                Some(Aff::var(&joined[k]))
            })?);
        }
    }
    if instruction.atomic {
        // Those of the reduction's own points would leave out results of none.
        let bounds = declared(&analysis, &instruction.within)?;
        let operator = (operator, state.first().copied());
        return by_updates(kernel, number, operator, [&on_grid, &rest], [blocks, bounds]);
    }
    // Threads with results of their own store and join neighbouring cells; otherwise the threads
    // that join go over the blocks.
    let within = instruction.within.as_slice();
    let neighbours =
        within.iter().any(|i| matches!(kernel.tag(i), Tag::Thread(Dim::X) | Tag::Lane | Tag::Vec));
    let ordered = |blocks: &[Name]| -> Vec<Name> {
        let (first, second) = if neighbours { (blocks, within) } else { (within, blocks) };
        first.iter().chain(second).cloned().collect()
    };
    // There is room for all that is stored, which may be more than has points: what the blocks are
    // counted by leaves out what only data say.
    let results = declared(&analysis, &instruction.within)?;
    let stored = System::new(&[analysis.context.as_slice(), &results, &least, &blocks].concat())?;
    let mut axes = Vec::new();
    for iname in &ordered(&on_grid) {
        let bounds = stored.bounds(iname, &parameter)?;
        let least = stored.constant_range(&Aff::var(iname))?.0;
        let ends = bounds.upper.iter().map(|upper| upper.floor()).collect::<Result<Vec<_>, _>>()?;
        // The inner iname of a split has its constant length, and what the length of the whole
        // leaves of it.
        let constant = ends.iter().filter_map(Aff::as_constant).min().map(Aff::constant);
        // Each of several ends leaves room for all.
        let (Some(end), Some(0..)) = (constant.or(ends.first().cloned()), least) else {
            return Err(Diagnostic::new(
                "grid-reduction",
                format!(
                    "`{iname}` indexes partial results of `{}`, but has no bounds from 0 to a function of the parameters",
                    instruction.id
                ),
            )
            .help(format!(
                "map `{iname}` to an iname that begins at 0 or above, or leave the reduction's inames off the grid"
            )));
        };
        axes.push(Axis::new(Expr::from_aff(&end.add_constant(1)?)));
    }
    let target = instruction.targets.first().map_or_else(|| instruction.id.clone(), |t| t.array.clone());
    let partials: Vec<Name> = operator
        .state
        .iter()
        .map(|s| {
            let suffix = if operator.state.len() == 1 { String::new() } else { format!("_{}", s.name) };
            fresh(kernel, &format!("{target}_partial{suffix}"))
        })
        .collect();
    let subscripts = |over: &[Name]| -> Vec<Expr> { ordered(over).into_iter().map(Expr::Name).collect() };
    // Their laws are those of the operator, for the states that it comes to.
    let trusted =
        operator.trusted.clone().or_else(|| Some(Name::new("parts of an operator that was tested")));
    let partial_op = ReductionOp {
        name: fresh_operator(kernel, &format!("{}_partial", operator.name)),
        result: operator.state.iter().map(|s| Expr::Name(s.name.clone())).collect(),
        trusted: trusted.clone(),
        ..operator.clone()
    };
    let join_op = ReductionOp {
        name: fresh_operator(kernel, &format!("{}_join", operator.name)),
        inputs: operator.state.iter().map(|s| Name::new(format!("in_{}", s.name))).collect(),
        state: operator
            .state
            .iter()
            .enumerate()
            .map(|(k, s)| StateVar { name: s.name.clone(), dtype: StateType::Input(k) })
            .collect(),
        lift: operator.state.iter().map(|s| Expr::Name(Name::new(format!("in_{}", s.name)))).collect(),
        trusted,
        ..operator.clone()
    };
    let partial_id = fresh(kernel, &format!("{}_partial", instruction.id));
    let first = Instruction {
        id: partial_id.clone(),
        targets: partials.iter().map(|p| Access { array: p.clone(), index: subscripts(&on_grid) }).collect(),
        value: Expr::Reduce(Arc::new(Reduce {
            op: partial_op.name.clone(),
            inames: rest,
            args: reduce.args.clone(),
        })),
        within: instruction.within.iter().chain(&on_grid).cloned().collect(),
        predicate: instruction.predicate.clone(),
        scan: None,
        atomic: false,
        made_by: Some(Name::new("reduction over blocks")),
        ..instruction.clone()
    };
    let join = Expr::Reduce(Arc::new(Reduce {
        op: join_op.name.clone(),
        inames: joined.clone(),
        args: partials
            .iter()
            .map(|p| Expr::Subscript(Access { array: p.clone(), index: subscripts(&joined) }))
            .collect(),
    }));
    let second = Instruction { value: replace(&instruction.value, &reduce, &join), ..instruction.clone() };
    let joining = joining_threads(&analysis, &instruction.within);
    let last = joined.last().cloned();
    // Reductions name base inames: those of the rounds before those of the threads.
    let mut base: Vec<Name> = joined.clone();

    let edited: LoopKernel = kernel.edit(|data: &mut KernelData| -> Result<(), Diagnostic> {
        for (partial, dtype) in partials.iter().zip(&state) {
            data.temporaries.push(Array::new(partial, *dtype, axes.clone(), AddressSpace::Global));
        }
        bound_blocks(data, blocks);
        data.reductions.push(partial_op);
        data.reductions.push(join_op);
        data.domains.push(Domain { inames: joined.clone(), constraints: domain });
        let mut loops = joined.clone();
        if let (Some((dim, threads)), Some(name)) = (joining, last) {
            let (outer, inner) = over_threads(data, &name, dim, threads)?;
            loops.pop();
            loops.push(outer.clone());
            base.pop();
            base.extend([outer, inner]);
        }
        data.instructions[number] = first;
        data.instructions.insert(number + 1, second);
        data.tree = retree(&data.tree, &instruction.id, &partial_id, n, &loops);
        Ok(())
    })?;
    let edited = edited.edit(|data| {
        let value = data.instructions[number + 1].value.clone();
        data.instructions[number + 1].value = over_base(&value, &joined, &base);
        Ok::<(), Diagnostic>(())
    })?;
    Ok((edited, None))
}

/// What is declared of instances over these inames, over base inames.
fn declared(analysis: &Analysis<'_>, inames: &[Name]) -> Result<Vec<Constraint>, Diagnostic> {
    let over_base = |c: Constraint| Ok(Constraint { kind: c.kind, aff: analysis.lookup.expand(&c.aff)? });
    analysis.lookup.instances(inames).into_iter().map(over_base).collect()
}

/// The axis of the block that nobody has results on, and how many threads there join the partial
/// results of each result; `None` where the block is full without them.
fn joining_threads(analysis: &Analysis<'_>, within: &[Name]) -> Option<(Dim, i64)> {
    let mut lengths = [1i64; 3];
    for iname in within {
        if let Some(HardwareAxis::Block(dim)) = analysis.kernel.tag(iname).axis() {
            *dim.of_mut(&mut lengths) = analysis.extents.get(iname)?.constant?.max(2);
        }
    }
    let free = Dim::ALL.iter().find(|dim| *dim.of(&lengths) == 1)?;
    let own: i64 = lengths.iter().product();
    if own == 1 {
        return Some((Dim::X, JOINING_THREADS));
    }
    let room = JOINING_BLOCK / own;
    (room >= 2).then(|| (*free, JOINING_ROWS.min(1 << room.ilog2())))
}

/// The reduction over the joined inames, over those that stand for them.
fn over_base(e: &Expr, joined: &[Name], base: &[Name]) -> Expr {
    match e {
        Expr::Reduce(r) if r.inames == joined => {
            Expr::Reduce(Arc::new(Reduce { op: r.op.clone(), inames: base.to_vec(), args: r.args.clone() }))
        }
        _ => e.map_children(&mut |c| over_base(c, joined, base)),
    }
}

fn replace(e: &Expr, reduce: &Arc<Reduce>, by: &Expr) -> Expr {
    match e {
        Expr::Reduce(r) if r == reduce => by.clone(),
        _ => e.map_children(&mut |c| replace(c, reduce, by)),
    }
}

/// The parts of the reduction now belong to the partial instruction; the joining one follows where
/// its result was used.
fn retree(trees: &[Tree], id: &Name, partial: &Name, n: usize, loops: &[Name]) -> Vec<Tree> {
    let leaf = |instruction: &Name, part| Tree::Leaf(PartRef { instruction: instruction.clone(), part });
    let mut result = Vec::new();
    for tree in trees {
        match tree {
            Tree::Leaf(p) if p.instruction == *id => match p.part {
                Part::Finish => {
                    result.push(leaf(partial, Part::Finish));
                    result.push(leaf(id, Part::Init(n)));
                    let mut body = vec![leaf(id, Part::Update(n))];
                    for iname in loops.iter().rev() {
                        body = vec![Tree::Loop { iname: iname.clone(), body }];
                    }
                    result.extend(body);
                    result.push(leaf(id, Part::Finish));
                }
                part => result.push(leaf(partial, part)),
            },
            Tree::Leaf(_) => result.push(tree.clone()),
            Tree::Loop { iname, body } => {
                result.push(Tree::Loop { iname: iname.clone(), body: retree(body, id, partial, n, loops) });
            }
        }
    }
    result
}

fn fresh_operator(kernel: &LoopKernel, like: &str) -> Name {
    let mut name = like.to_string();
    let mut k = 1;
    while kernel.operator(&name).is_some() {
        name = format!("{like}_{k}");
        k += 1;
    }
    Name::from(name)
}
