//! Reductions over blocks whose partial results are joined by atomic updates of the result.
//!
//! `out[s] = sum([b, t], e) {join=atomic}` with `b` on an axis of the grid becomes
//!
//! ```text
//! out[s] = 0                 # in a launch of its own, at most 128 results a block
//! out[s] += sum(t, e)        # each block, by an update that nothing comes between, in any order
//! ```
//!
//! Nothing but the result is in global memory, and nothing is launched after the blocks. Sums of
//! floating-point numbers may differ in their last bits from run to run, as the order is that in
//! which blocks come to the end.

use std::{collections::BTreeSet, sync::Arc};

use loopwright_kernel_ir::{
    AddressSpace, Aff, Constraint, DType, Diagnostic, Dim, Domain, Expr, Instruction, KernelData, LoopKernel,
    Name, Part, PartRef, Reduce, ReductionOp, Share, Tree, Type, UPDATES, UpdateOp,
};
use loopwright_target::Target;

use crate::{
    Realization,
    rewrite::{before_init, bound_blocks, fresh, over_threads},
    two_stages::share,
};

/// The name of the realisation.
const NAME: &str = "updates";
/// Threads of a block that give results their first values, at most.
const STARTING_THREADS: i64 = 128;

/// The kernel with the reduction of an instruction realised by atomic updates. `operator`
/// comes with the type of its state, the inames are those on the grid and the others; `blocks`
/// bounds those on the grid, `bounds` those of the results.
pub(crate) fn by_updates(
    kernel: &LoopKernel,
    number: usize,
    (operator, state): (ReductionOp, Option<DType>),
    [on_grid, within_blocks]: [&[Name]; 2],
    [blocks, bounds]: [Vec<Constraint>; 2],
    device: &Target,
) -> Result<Realization, Diagnostic> {
    let instruction = &kernel.instructions[number];
    let id = &instruction.id;
    let ([target], Expr::Reduce(reduce)) = (instruction.targets.as_slice(), &instruction.value) else {
        return Err(Diagnostic::new("atomic-shape", format!("`{id}` is not one reduction by itself")));
    };
    let array = kernel.array(&target.array);
    let (space, dtype) = (
        array.map(|a| a.space),
        array.and_then(|a| match a.dtype {
            Type::Known(dtype) => Some(dtype),
            _ => None,
        }),
    );
    if space != Some(AddressSpace::Global) {
        return Err(Diagnostic::new(
            "atomic-target",
            format!(
                "`reduce_atomically({id})`: blocks cannot add to `{}`, which is not in global \
                 memory",
                target.array
            ),
        )
        .help(format!("`make_global({})` moves it there", target.array)));
    }
    let joining = match dtype {
        Some(dtype) => UpdateOp::joining(kernel, &operator.name, dtype).map(|_| ()),
        None => Err(Diagnostic::new("atomic-type", "its type is open").help(UPDATES)),
    };
    if let Err(mut refusal) = joining {
        refusal.message = format!(
            "`reduce_atomically({id})`: `{id}` cannot be joined by atomic updates: {}",
            refusal.message
        );
        return Err(refusal);
    }
    if state != dtype {
        let of = |t: Option<DType>| t.map_or_else(|| "?".to_owned(), |t| t.to_string());
        return Err(Diagnostic::new(
            "atomic-type",
            format!(
                "`reduce_atomically({id})`: `{id}` cannot be joined by atomic updates: it adds up \
                 {}, and `{}` holds {}",
                of(state),
                target.array,
                of(dtype)
            ),
        )
        .help("let the array have the type of what is added up"));
    }
    let start = fresh(kernel, &format!("{id}_start"));
    let first = Instruction {
        id: start.clone(),
        value: operator.neutral.first().cloned().unwrap_or(Expr::Int(0)),
        scan: None,
        atomic: false,
        atom: None,
        role: share(instruction, Share::Start),
        made_by: Some(Name::new(NAME)),
        ..instruction.clone()
    };
    let second = Instruction {
        value: Expr::Reduce(Arc::new(Reduce { inames: within_blocks.to_vec(), ..(**reduce).clone() })),
        within: instruction.within.iter().chain(on_grid).cloned().collect(),
        role: share(instruction, Share::Update),
        ..instruction.clone()
    };
    let owner = PartRef { instruction: id.clone(), part: Part::Init(0) };
    // Where nothing comes before that it could depend on, all such instructions are together at the
    // beginning, and share a launch.
    let touches = |i: &Instruction| {
        i.targets.iter().any(|t| t.array == target.array) || i.reads().contains(&target.array)
    };
    let steady = |names: BTreeSet<Name>| names.iter().all(|n| kernel.array(n).is_none());
    let early = instruction.predicate.is_none()
        && target.index.iter().all(|s| s.accesses().is_empty() && steady(s.names()))
        && bounds.iter().all(|c| steady(c.names()))
        && !kernel.instructions.iter().any(|i| i.id != *id && touches(i));
    let edited = kernel.edit(|data: &mut KernelData| -> Result<(), Diagnostic> {
        let mut first = first;
        spread((kernel, data), &mut first, bounds, device)?;
        bound_blocks(data, blocks);
        data.instructions[number] = second;
        data.instructions.insert(number, first);
        let leaf = Tree::Leaf(PartRef { instruction: start.clone(), part: Part::Whole });
        if !(early && put_first_in_body_of(&mut data.tree, &owner, &leaf)) {
            data.tree = before_init(&data.tree, &owner, &start);
        }
        Ok(())
    })?;
    Ok(Realization {
        name: NAME,
        instruction: id.clone(),
        what: format!(
            "`{start}` gives `{}` the neutral element, and each block of `{id}` updates it \
             atomically",
            target.array
        ),
        kernel: edited,
    })
}

/// Puts a leaf before all that is in the same body as another; whether that is there.
fn put_first_in_body_of(trees: &mut Vec<Tree>, other: &PartRef, leaf: &Tree) -> bool {
    if trees.iter().any(|t| matches!(t, Tree::Leaf(part) if part == other)) {
        trees.insert(0, leaf.clone());
        return true;
    }
    trees.iter_mut().any(|t| match t {
        Tree::Loop { body, .. } => put_first_in_body_of(body, other, leaf),
        Tree::Leaf(_) => false,
    })
}

/// Where each result has a block of its own, the first values of neighbouring results go to the
/// threads of one block.
fn spread(
    (kernel, data): (&LoopKernel, &mut KernelData),
    first: &mut Instruction,
    bounds: Vec<Constraint>,
    device: &Target,
) -> Result<(), Diagnostic> {
    let on_grid = |i: &Name| kernel.tag(i).is_over_blocks();
    let Some(own) = first.within.last().cloned().filter(|_| first.within.iter().all(on_grid)) else {
        return Ok(());
    };
    let name = fresh(kernel, &format!("{own}_start"));
    let moved = |aff: &Aff| aff.substitute_one(&own, &Aff::var(&name));
    let mut constraints = Vec::new();
    for c in bounds.iter().filter(|c| c.aff.mentions(&own)) {
        constraints.push(Constraint { kind: c.kind, aff: moved(&c.aff)? });
    }
    data.domains.push(Domain { inames: vec![name.clone()], constraints });
    let threads = STARTING_THREADS.min(i64::from(device.most_threads).max(1));
    let (outer, inner) = over_threads(data, &name, Dim::X, threads)?;
    // What the results are called by in the declared kernel, by the new name.
    for d in &kernel.definitions {
        if d.value.mentions(&own) {
            first.map.entry(d.iname.clone()).or_insert(d.value.clone());
        }
    }
    first.map.entry(own.clone()).or_insert(Aff::var(&own));
    for value in first.map.values_mut() {
        *value = moved(value)?;
    }
    data.tags.insert(outer.clone(), kernel.tag(&own));
    let renamed = |e: &Expr| e.substitute(&|n| (*n == own).then(|| Expr::Name(name.clone())));
    for target in &mut first.targets {
        for subscript in &mut target.index {
            *subscript = renamed(subscript);
        }
    }
    first.predicate = first.predicate.as_ref().map(renamed);
    first.within.pop();
    first.within.extend([outer, inner]);
    Ok(())
}
