//! Open element types replaced by those that arguments bind.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use loopwright_kernel_ir::{
    Access, Arg, DType, Diagnostic, Expr, KernelData, LoopKernel, Name, Reduce, Type,
};

/// The open types of a kernel, in the order of their names.
pub(super) fn open_types(kernel: &KernelData) -> BTreeSet<Name> {
    let mut open = BTreeSet::new();
    let mut note = |t: &Type| {
        if let Type::Open(name) = t {
            open.insert(name.clone());
        }
    };
    for arg in &kernel.args {
        match arg {
            Arg::Array(a) => note(&a.dtype),
            Arg::Scalar(s) => note(&s.dtype),
        }
    }
    kernel.temporaries.iter().for_each(|t| note(&t.dtype));
    for expr in expressions(kernel) {
        expr.visit(&mut |e| {
            if let Expr::Cast(t, _) = e {
                note(t);
            }
        });
    }
    open
}

fn expressions(kernel: &KernelData) -> impl Iterator<Item = &Expr> {
    kernel
        .instructions
        .iter()
        .flat_map(|i| i.targets.iter().flat_map(|t| &t.index).chain([&i.value]).chain(&i.predicate))
}

/// The kernel with its open types replaced.
pub(super) fn bind_types(kernel: &LoopKernel, types: &BTreeMap<Name, DType>) -> LoopKernel {
    if open_types(kernel).is_empty() {
        return kernel.clone();
    }
    let result = kernel.edit(|data| {
        bind_data(data, types);
        Ok::<(), Infallible>(())
    });
    match result {
        Ok(kernel) => kernel,
        Err(never) => match never {},
    }
}

fn bind_data(data: &mut KernelData, types: &BTreeMap<Name, DType>) {
    let bind = |t: &mut Type| {
        if let Type::Open(name) = t
            && let Some(dtype) = types.get(name)
        {
            *t = Type::Known(*dtype);
        }
    };
    for arg in &mut data.args {
        match arg {
            Arg::Array(a) => bind(&mut a.dtype),
            Arg::Scalar(s) => bind(&mut s.dtype),
        }
    }
    data.temporaries.iter_mut().for_each(|t| bind(&mut t.dtype));
    for instruction in &mut data.instructions {
        for target in &mut instruction.targets {
            target.index.iter_mut().for_each(|e| *e = bind_expr(e, types));
        }
        instruction.value = bind_expr(&instruction.value, types);
        instruction.predicate = instruction.predicate.as_ref().map(|e| bind_expr(e, types));
    }
    data.declared = data.declared.as_ref().map(|declared| {
        let mut inner = (**declared).clone();
        bind_data(&mut inner, types);
        LoopKernel::from_data(inner)
    });
}

fn bind_expr(expr: &Expr, types: &BTreeMap<Name, DType>) -> Expr {
    match expr {
        Expr::Cast(Type::Open(name), a) => {
            let t = types.get(name).map_or_else(|| Type::Open(name.clone()), |d| Type::Known(*d));
            Expr::Cast(t, Arc::new(bind_expr(a, types)))
        }
        Expr::Subscript(Access { array, index }) => Expr::Subscript(Access {
            array: array.clone(),
            index: index.iter().map(|e| bind_expr(e, types)).collect(),
        }),
        Expr::Reduce(r) => Expr::Reduce(Arc::new(Reduce {
            op: r.op.clone(),
            inames: r.inames.clone(),
            args: r.args.iter().map(|e| bind_expr(e, types)).collect(),
        })),
        _ => expr.map_children(&mut |child| bind_expr(child, types)),
    }
}

/// The refusal where nothing binds an open type.
pub(super) fn still_open(name: &Name) -> Diagnostic {
    Diagnostic::new("open-type", format!("nothing that was given tells what type `{name}` is")).help(format!(
        "say so with `bind_type(\"{name}\", DType::F32)`, on the command line `--type {name}=f32`"
    ))
}
