//! Instructions with a type at every node, computed once before the kernel runs.

use loopwright_kernel_ir::{
    Combination, DType, Diagnostic, Instruction, LoopKernel, Name, ReductionOp, TypeTable, Typed, UpdateOp,
};

/// An instruction, ready to be run.
pub(crate) struct Prepared {
    pub predicate: Option<Typed>,
    /// The targets, with their subscripts.
    pub targets: Vec<(Name, Vec<Typed>)>,
    /// The value of its only target; `None` if a reduction has several results.
    pub value: Option<Typed>,
    /// How the value is combined with what the target holds.
    pub update: Option<UpdateOp>,
    /// That of an operator with a name.
    pub combination: Option<(Combination, Typed)>,
    /// Its reductions, by number.
    pub reductions: Vec<Plan>,
}

/// The prepared form of a reduction.
pub(crate) struct Plan {
    pub op: ReductionOp,
    /// The arguments of one update, in the types of the operator's inputs.
    pub args: Vec<Typed>,
    pub neutral: Vec<Typed>,
    pub lift: Vec<Typed>,
    pub combine: Vec<Typed>,
    pub result: Vec<Typed>,
    /// The names in `combine` of the state before an update, and of the update's own state.
    pub before: Vec<Name>,
    pub brought: Vec<Name>,
}

/// Subscripts are integers, computed here in 64 bits.
const INDEX: Option<DType> = Some(DType::I64);

/// A kernel's instructions in their order.
pub(crate) fn prepare(kernel: &LoopKernel, table: &TypeTable<'_>) -> Result<Vec<Prepared>, Diagnostic> {
    kernel.instructions.iter().map(|i| instruction(table, i)).collect()
}

fn instruction(table: &TypeTable<'_>, i: &Instruction) -> Result<Prepared, Diagnostic> {
    let indices = table.of_indices(DType::I64);
    let mut targets = Vec::new();
    let mut wanted = Vec::new();
    for target in &i.targets {
        let unknown = || Diagnostic::new("unknown-name", format!("there is no array `{}`", target.array));
        let element = table.element(&target.array).ok_or_else(unknown)?;
        let open = || Diagnostic::new("open-type", format!("the open type `{element}` is not bound"));
        wanted.push(element.known().ok_or_else(open)?);
        let index = target.index.iter().map(|e| indices.typed(e, DType::I64, INDEX));
        targets.push((target.array.clone(), index.collect::<Result<_, _>>()?));
    }
    let value = match wanted[..] {
        [wanted] => Some(table.typed(&i.value, wanted, INDEX)?),
        _ => None,
    };
    let predicate = i.predicate.as_ref().map(|p| table.typed(p, DType::Bool, INDEX)).transpose()?;
    let types = table.reduction_types(&i.value, &wanted)?;
    let mut reductions = Vec::new();
    for (n, (r, types)) in i.reductions().iter().zip(&types).enumerate() {
        let unknown = || Diagnostic::new("unknown-operator", format!("there is no operator `{}`", r.op));
        let op = table.data().operator(&r.op).ok_or_else(unknown)?;
        // The reductions inside the arguments come before it.
        let mut first = n.saturating_sub(r.args.iter().map(|a| a.reductions().len()).sum());
        let mut args = Vec::new();
        for (a, dtype) in r.args.iter().zip(&types.inputs) {
            args.push(table.typed_from(a, *dtype, INDEX, first)?);
            first += a.reductions().len();
        }
        let known = |names: Vec<Name>, types: &[DType]| {
            table.with_scalars(names.into_iter().zip(types.iter().map(|t| (*t).into())))
        };
        let named = |side: &str| -> Vec<Name> {
            op.state.iter().map(|s| Name::new(format!("{side}.{}", s.name))).collect()
        };
        let (before, brought) = (named("a"), named("b"));
        let inputs = known(op.inputs.clone(), &types.inputs);
        let both =
            known([before.clone(), brought.clone()].concat(), &[&types.state[..], &types.state].concat());
        let state = known(op.state.iter().map(|s| s.name.clone()).collect(), &types.state);
        let each = |table: &TypeTable<'_>, exprs: &[loopwright_kernel_ir::Expr], types: &[DType]| {
            exprs.iter().zip(types).map(|(e, t)| table.typed(e, *t, INDEX)).collect::<Result<Vec<_>, _>>()
        };
        reductions.push(Plan {
            args,
            neutral: each(&inputs, &op.neutral, &types.state)?,
            lift: each(&inputs, &op.lift, &types.state)?,
            combine: each(&both, &op.combine, &types.state)?,
            result: each(&state, &op.result, &types.results)?,
            before,
            brought,
            op,
        });
    }
    let update = i.update.clone();
    let combination = match (&update, &wanted[..]) {
        (Some(op), [dtype]) => op.combination(table.data(), *dtype)?,
        _ => None,
    };
    let combination = match combination {
        Some(of) => {
            let combined = of.typed(table)?;
            Some((of, combined))
        }
        None => None,
    };
    Ok(Prepared { predicate, targets, value, update, combination, reductions })
}
