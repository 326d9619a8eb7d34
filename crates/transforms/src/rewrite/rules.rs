//! Rules and the kernels that they change: where expressions are uses of a rule, and the
//! replacement of a temporary by its value.
//!
//! These steps change the declared kernel as well: an instruction that computes a temporary is gone
//! from both, or new in both. Both forms are changed in the same way, so that the roles of
//! instructions and their maps still relate them.

use loopwright_kernel_ir::{
    DType, Diagnostic, Diagnostics, Expr, KernelData, LoopKernel, Name, Rule, Type, TypeTable, TypedKind,
    ValueType,
};
use loopwright_legality::judge;

/// All uses of a rule in the kernel's expressions: the instruction, and the arguments.
pub(crate) fn uses(data: &KernelData, rule: &Rule) -> Vec<(Name, Vec<Expr>)> {
    let mut found = Vec::new();
    for i in &data.instructions {
        for e in i.expressions() {
            e.visit(&mut |e| {
                if let Some(arguments) = rule.arguments_of(e) {
                    found.push((i.id.clone(), arguments));
                }
            });
        }
    }
    found
}

/// The first of several errors.
pub(crate) fn first_of(errors: Diagnostics) -> Diagnostic {
    errors.0.into_iter().next().unwrap_or_else(|| Diagnostic::new("internal", "an error without a text"))
}

/// The kernel with both its forms changed, each checked as a kernel that is read is.
pub(crate) fn redeclare(
    kernel: &LoopKernel,
    change: &dyn Fn(&mut KernelData) -> Result<(), Diagnostic>,
) -> Result<LoopKernel, Diagnostic> {
    let changed = |data: &KernelData| -> Result<KernelData, Diagnostic> {
        let mut data = data.clone();
        change(&mut data)?;
        Ok(data)
    };
    let checked = |data: KernelData| {
        let kernel = LoopKernel::from_data(data);
        kernel.validate().map_err(first_of)?;
        Ok::<LoopKernel, Diagnostic>(kernel)
    };
    let mut declared = changed(kernel.declared())?;
    declared.origin = Some(kernel.origin().clone());
    let declared = checked(declared)?;
    if kernel.declared.is_none() {
        return Ok(declared);
    }
    let mut data = changed(kernel)?;
    data.declared = Some(declared);
    checked(data)
}

/// The kernel, if steps have not changed it from its declared form, or it is judged to do the same.
pub(crate) fn does_what_is_declared(kernel: LoopKernel) -> Result<LoopKernel, Diagnostic> {
    match kernel.declared.is_some().then(|| judge(kernel.declared(), &kernel)).and_then(|v| v.refusal()) {
        Some(refusal) => {
            let help = refusal.help.iter().cloned().chain([
                "applied before the other steps, this one has only expressions to compare".to_owned(),
            ]);
            let help = help.collect::<Vec<_>>().join("; ");
            Err(refusal.help(help))
        }
        None => Ok(kernel),
    }
}

/// Whether two expressions have the same reductions in the same order: parts go by their numbers.
pub(crate) fn has_same_reductions(a: &Expr, b: &Expr) -> bool {
    let loops = |e: &Expr| -> Vec<(Name, Vec<Name>)> {
        e.reductions().iter().map(|r| (r.op.clone(), r.inames.clone())).collect()
    };
    loops(a) == loops(b)
}

/// Whether the type of an expression of a floating-point type does not depend on its place. Values
/// of `if` are computed in the type that is wanted.
pub(crate) fn is_of_its_own_type(e: &Expr) -> bool {
    matches!(
        e,
        Expr::Binary(..)
            | Expr::Unary(loopwright_kernel_ir::UnaryOp::Neg, _)
            | Expr::Call { .. }
            | Expr::Subscript(_)
            | Expr::Cast(..)
    )
}

/// The expression such that every context computes it as an assignment to this type does.
pub(crate) fn in_its_type(data: &KernelData, e: &Expr, dtype: DType) -> Option<Expr> {
    let table = TypeTable::new(data);
    let assigned = table.typed(e, dtype, None).ok()?;
    let own = table.type_of(e).ok()? == ValueType::Of(Type::Known(dtype));
    // The type of a reduction is that of what it reduces.
    let is_alike = match e {
        Expr::Reduce(r) => r.args.iter().all(is_of_its_own_type),
        e => is_of_its_own_type(e),
    };
    if own && is_alike && dtype.is_float() && table.typed_alone(e, None).ok()? == assigned {
        return Some(e.clone());
    }
    let cast = Expr::Cast(dtype.into(), e.clone().into());
    let TypedKind::Cast(inside) = table.typed_alone(&cast, None).ok()?.kind else { return None };
    let same = match &assigned.kind {
        TypedKind::Convert(converted) => *converted == inside || assigned == *inside,
        _ => assigned == *inside,
    };
    same.then_some(cast)
}
