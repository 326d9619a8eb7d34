//! Reductions over blocks in two stages: partial results in global memory, which a second device
//! kernel joins in a fixed order.
//!
//! `out[s] = sum([b, t], e)` with `b` on an axis of the grid becomes
//!
//! ```text
//! out_partial[s, b] = sum(t, e)      # each block its own; the operator's state, not its result
//! out[s] = sum(b_join, out_partial[s, b_join])
//! ```
//!
//! The second instruction reads what other blocks wrote, so lowering puts a kernel boundary between
//! the two. Its iname goes over threads of one block: of the x axis, or of another where that has
//! results of its own. Where neighbouring threads have results of their own, the blocks' axes of
//! the partial results come first, so that neighbours lie side by side. They are combined in an
//! order that does not depend on timing. Where the instruction asks for it, blocks update the
//! result itself ([`crate::updates`]).

use std::{collections::BTreeSet, sync::Arc};

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, Constraint, DType, Definition, Diagnostic, Dim, Domain, Expr,
    HardwareAxis, Instruction, KernelData, LoopKernel, Name, Part, PartRef, PerDim, Reduce, ReductionOp,
    Role, Share, StateType, StateVar, Tag, Tree, Type, TypeTable, ValueType, state_type,
};
use loopwright_legality::{Model, ModelPart, Touch};
use loopwright_poly::System;
use loopwright_target::Target;

use crate::{
    Realization,
    rewrite::{bound_blocks, fresh, fresh_operator, over_threads, with_reduction},
    updates::by_updates,
};

/// The name of the realisation.
const NAME: &str = "two_stages";
/// Threads that join the partial results of one result where the x axis is free, at most.
const JOINING_THREADS: i64 = 128;
/// Threads of a block that join partial results where some have results of their own, at most.
const JOINING_BLOCK: i64 = 256;
/// Threads that join the partial results of one result there, at most: their partial results go
/// through shared memory.
const JOINING_ROWS: i64 = 16;

/// The kernel with its first reduction over blocks realised by two instructions, or `None` where
/// there is none.
///
/// Errors: several reductions in an instruction, one of them over blocks; operators that do not
/// commute; partial results that cannot be indexed; updates that do not exist.
pub(crate) fn first(kernel: &LoopKernel, target: &Target) -> Result<Option<Realization>, Diagnostic> {
    find(kernel)?.map(|(instruction, reduction)| one(kernel, instruction, reduction, target)).transpose()
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
            if let Some(update) = &i.update {
                return Err(Diagnostic::new(
                    "grid-reduction",
                    format!(
                        "`{}` is an update (`{}`) by a reduction over blocks, which would be joined \
                         before it",
                        i.id,
                        update.sign()
                    ),
                )
                .help(format!(
                    "update by each point, without the reduction; or assign the reduction to an array in \
                     global memory, and update `{}` by its elements",
                    i.targets.first().map_or_else(|| i.id.to_string(), |t| t.array.to_string())
                )));
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

fn one(kernel: &LoopKernel, number: usize, n: usize, device: &Target) -> Result<Realization, Diagnostic> {
    let model = Model::new(kernel)?;
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
    let (on_grid, within_blocks): (Vec<Name>, Vec<Name>) =
        reduce.inames.iter().cloned().partition(|i| kernel.tag(i).is_over_blocks());
    let state = state_types(kernel, &instruction, n)?;

    // Lengths of the inames that index the partial results, and the domain of the joined ones.
    let update = PartRef { instruction: instruction.id.clone(), part: Part::Update(n) };
    // All that is declared of its instances: guards leave out what coordinates fulfil anyway, as
    // that they are not negative. Guards that follow from coordinates not being negative are not
    // among those.
    let mut least = Vec::new();
    for iname in instruction.within.iter().chain(&on_grid) {
        if kernel.tag(iname) != Tag::Seq
            && let Some(lower) = model.lower(iname)?
        {
            least.push(Constraint::le(&lower, &Aff::var(iname))?);
        }
    }
    let points = declared(&model, &model.lookup.part_inames(&update))?;
    let system = System::new(&[model.context.as_slice(), &points, &least].concat())?;
    let parameter = |name: &Name| model.is_parameter(name);
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
        let bounds = declared(&model, &instruction.within)?;
        let operator = (operator, state.first().copied());
        return by_updates(kernel, number, operator, [&on_grid, &within_blocks], [blocks, bounds], device);
    }
    bounded_by_data(&model, &instruction, &on_grid)?;
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
    let results = declared(&model, &instruction.within)?;
    let stored = System::new(&[model.context.as_slice(), &results, &least, &blocks].concat())?;
    let whole = split_over_blocks(&model, kernel, within);
    let ordered = |blocks: &[Name]| whole_for_parts(&whole, ordered(blocks));
    let sums = whole.iter().map(|w| Constraint::equal(&Aff::var(&w.iname), &w.value));
    let sums = sums.collect::<Result<Vec<_>, _>>()?;
    let stored = stored.with(&sums)?;
    let mut axes = Vec::new();
    for iname in &ordered(&on_grid) {
        let bounds = stored.bounds(iname, &parameter)?;
        let least = stored.constant_range(&Aff::var(iname))?.0;
        let ends = bounds.upper.iter().map(|upper| upper.floor()).collect::<Result<Vec<_>, _>>()?;
        let (Some(room), Some(0..)) = (room(&model, &ends)?, least) else {
            return Err(Diagnostic::new(
                "grid-reduction",
                format!(
                    "`{iname}` indexes partial results of `{}`, but has no bounds from 0 to a \
                     function of the parameters",
                    instruction.id
                ),
            )
            .help(format!(
                "map `{iname}` to an iname that begins at 0 or above, or leave the reduction's \
                 inames off the grid"
            )));
        };
        axes.push(Axis::new(Expr::from_aff(&room)));
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
    let partial_name = fresh_operator(kernel, &format!("{}_partial", operator.name));
    let partial_op = ReductionOp {
        state: said(kernel, &operator, &partial_name, &reduce, &state),
        name: partial_name,
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
            inames: within_blocks,
            args: reduce.args.clone(),
        })),
        within: instruction.within.iter().chain(&on_grid).cloned().collect(),
        predicate: instruction.predicate.clone(),
        scan: None,
        atomic: false,
        role: share(&instruction, Share::Partial),
        made_by: Some(Name::new(NAME)),
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
    let second = Instruction {
        value: with_reduction(&instruction.value, &reduce, &join),
        // A hardware instruction does the updates of blocks.
        atom: None,
        role: share(&instruction, Share::Join),
        ..instruction.clone()
    };
    let joining = joining_threads(&model, &instruction, device)?;
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
    let (results, over) = (names(&partials), names(&on_grid));
    Ok(Realization {
        name: NAME,
        instruction: instruction.id.clone(),
        what: format!(
            "each block of `{}` stores a partial result in {results} over {over}; `{}` joins them \
             in a kernel of its own",
            instruction.id, instruction.id
        ),
        kernel: edited,
    })
}

fn names(names: &[Name]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// What an instruction becomes that does a share of another.
pub(crate) fn share(of: &Instruction, share: Share) -> Role {
    match of.role.declared() {
        Some(declared) => Role::Realizes { of: declared.clone(), share },
        None => of.role.clone(),
    }
}

/// The types of the state of a reduction.
fn state_types(kernel: &LoopKernel, i: &Instruction, n: usize) -> Result<Vec<DType>, Diagnostic> {
    let table = TypeTable::new(kernel).or_else(DType::I32);
    let wanted: Vec<DType> = i.targets.iter().filter_map(|t| table.element(&t.array)?.known()).collect();
    let types = table.reduction_types(&i.value, &wanted)?;
    let state = types.get(n).map(|t| t.state.clone());
    state.ok_or_else(|| Diagnostic::new("internal", "a reduction that does not exist"))
}

/// A length with room for all numbers from 0 to the least of these ends, each of which leaves it: a
/// constant one, as the inner iname of a split has it beside what the length of the whole leaves of
/// it; or one that has a least value, and is never negative then, so that no launch is refused for
/// results that nobody stores.
fn room(model: &Model<'_>, ends: &[Aff]) -> Result<Option<Aff>, Diagnostic> {
    let constant = ends.iter().filter_map(Aff::as_constant).min().map(Aff::constant);
    let context = System::new(&model.context)?;
    for end in constant.iter().chain(ends) {
        let length = end.add_constant(1)?;
        match context.constant_range(&length)?.0 {
            Some(least) if least < 0 => return Ok(Some(length.add_constant(least.saturating_neg())?)),
            Some(_) => return Ok(Some(length)),
            None => {}
        }
    }
    Ok(ends.first().map(|end| end.add_constant(1)).transpose()?)
}

/// The inames of results whose two parts both count blocks, as those of a grid that continues on
/// another axis do. One axis of their length indexes partial results: the inner part's own length
/// is that of a full axis of the grid, whatever the number of results.
fn split_over_blocks<'k>(model: &Model<'_>, kernel: &'k LoopKernel, within: &[Name]) -> Vec<&'k Definition> {
    let is_part = |n: &Name| within.contains(n) && kernel.tag(n).is_over_blocks();
    let is_split = |d: &&Definition| {
        let names = d.value.names();
        names.len() == 2
            && d.value.constant_term() == 0
            && names.iter().all(|n| is_part(n) && d.value.coefficient(n) > 0)
            && model.is_radix(&d.value)
    };
    kernel.definitions.iter().filter(is_split).collect()
}

/// The inames, with an iname in place of its outer and inner part where they follow each other.
fn whole_for_parts(whole: &[&Definition], mut inames: Vec<Name>) -> Vec<Name> {
    for d in whole {
        let outer = |n: &Name| d.value.coefficient(n) > 1;
        let inner = |n: &Name| d.value.coefficient(n) == 1;
        if let Some(at) = inames.windows(2).position(|pair| outer(&pair[0]) && inner(&pair[1])) {
            inames.splice(at..at + 2, [d.iname.clone()]);
        }
    }
    inames
}

/// The state of an operator under another name, with the types that it has under its own: sums and
/// products of narrow integers have wider ones.
fn said(
    kernel: &LoopKernel,
    operator: &ReductionOp,
    name: &Name,
    reduce: &Reduce,
    types: &[DType],
) -> Vec<StateVar> {
    let table = TypeTable::new(kernel);
    let of = |e: &Expr| match table.type_of(e) {
        Ok(ValueType::Of(t)) => Some(t),
        _ => None,
    };
    let inputs: Option<Vec<Type>> = reduce.args.iter().map(of).collect();
    let renamed = ReductionOp { name: name.clone(), ..operator.clone() };
    let state = operator.state.iter().zip(types).map(|(s, dtype)| {
        let own = inputs.as_ref().map(|inputs| state_type(&renamed, &s.dtype, inputs));
        match own.is_some_and(|own| own != Type::Known(*dtype)) {
            true => StateVar { name: s.name.clone(), dtype: StateType::Fixed(*dtype) },
            false => s.clone(),
        }
    });
    state.collect()
}

/// Refuses blocks of which data say how many have a partial result: what joins them does not know.
/// Where a part of the reduction is inside of the blocks, its range depends on the data, and each
/// block stores a result, of no points at least.
fn bounded_by_data(model: &Model<'_>, instruction: &Instruction, on_grid: &[Name]) -> Result<(), Diagnostic> {
    let all: Vec<Name> = instruction.within.iter().chain(on_grid).cloned().collect();
    for c in declared(model, &all)? {
        let names = c.names();
        let data = names.iter().find(|n| !model.is_parameter(n) && !all.contains(n));
        if let (Some(data), Some(block)) = (data, names.iter().find(|n| on_grid.contains(n))) {
            return Err(Diagnostic::new(
                "grid-reduction",
                format!(
                    "`{block}` is bounded by `{data}`, which is read from data: what joins the blocks of \
                     `{}` does not know which of them have a partial result",
                    instruction.id
                ),
            )
            .help(format!(
                "split `{block}` and leave the inner part in the block; or leave the reduction's inames \
                 off the grid"
            )));
        }
    }
    Ok(())
}

/// What is declared of instances over these inames, over base inames.
fn declared(model: &Model<'_>, inames: &[Name]) -> Result<Vec<Constraint>, Diagnostic> {
    let over_base = |c: &Constraint| Ok(model.lookup.expand_constraint(c)?);
    model.lookup.instances(inames).iter().map(over_base).collect()
}

/// The axis of the block that nobody has results on, and how many threads there join the partial
/// results of each result; `None` where the block is full without them, or its size is not known.
fn joining_threads(
    model: &Model<'_>,
    instruction: &Instruction,
    target: &Target,
) -> Result<Option<(Dim, i64)>, Diagnostic> {
    let mut lengths = PerDim::all(1i64);
    for iname in &instruction.within {
        if let Some(HardwareAxis::Block(dim)) = model.kernel.tag(iname).axis() {
            let Some(length) = length(model, iname)? else { return Ok(None) };
            lengths[dim] = length.max(2);
        }
    }
    let Some(free) = Dim::ALL.iter().find(|dim| lengths[**dim] == 1) else { return Ok(None) };
    let own: i64 = lengths.values().product();
    let most = i64::from(target.most_threads).max(1);
    if own == 1 {
        // Threads that read a private result are beside those that join it.
        let mut beside = 1;
        for iname in readers_of_private(model, instruction) {
            if let Some(HardwareAxis::Block(Dim::Y | Dim::Z)) = model.kernel.tag(&iname).axis() {
                let Some(length) = length(model, &iname)? else { return Ok(None) };
                beside *= length.clamp(1, most);
            }
        }
        let room = most / beside;
        return Ok((room >= 2).then(|| (Dim::X, JOINING_THREADS.min(1 << room.ilog2()))));
    }
    let room = JOINING_BLOCK.min(most) / own;
    Ok((room >= 2).then(|| (*free, JOINING_ROWS.min(1 << room.ilog2()))))
}

/// The inames of those who read a private result of an instruction, each once.
fn readers_of_private(model: &Model<'_>, instruction: &Instruction) -> BTreeSet<Name> {
    let is_private = |name: &Name| {
        model.lookup.array(name).is_some_and(|array| array.space == AddressSpace::Private)
            && instruction.targets.iter().any(|target| target.array == *name)
    };
    let reads = |p: &&ModelPart| p.events.iter().any(|e| e.touch == Touch::Read && is_private(&e.array));
    model.parts.iter().filter(reads).flat_map(|p| p.inames.clone()).collect()
}

/// The number of coordinates that an iname takes, if it is constant.
fn length(model: &Model<'_>, iname: &Name) -> Result<Option<i64>, Diagnostic> {
    let Some(lower) = model.lower(iname)? else { return Ok(None) };
    let from_lower = Aff::var(iname).sub(&lower)?;
    let mut most = Some(1);
    let mut seen: Vec<&[Constraint]> = Vec::new();
    for part in model.parts.iter().filter(|p| p.inames.contains(iname)) {
        let own = &part.constraints[..part.from_domains];
        if !seen.contains(&own) {
            seen.push(own);
            let system = System::new(&[model.context.as_slice(), own].concat())?;
            let last = system.constant_range(&from_lower)?.1;
            most = most.zip(last).map(|(most, last)| most.max(last.saturating_add(1)));
        }
    }
    Ok(most)
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
