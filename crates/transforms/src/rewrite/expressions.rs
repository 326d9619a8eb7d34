//! Replacement of expressions and accesses in instructions.

use loopwright_kernel_ir::{Access, Diagnostic, Expr, Instruction, Name, Reduce};

/// The expression with each reduction replaced by what `f` makes of it, inner ones first.
pub(crate) fn map_reductions(e: &Expr, f: &mut dyn FnMut(Reduce) -> Expr) -> Expr {
    let e = e.map_children(&mut |child| map_reductions(child, f));
    match e {
        Expr::Reduce(r) => f((*r).clone()),
        e => e,
    }
}

/// The element of an array as an expression; without subscripts, the scalar of that name.
pub(crate) fn element(array: &Name, index: Vec<Expr>) -> Expr {
    match index.is_empty() {
        true => Expr::Name(array.clone()),
        false => Expr::Subscript(Access::new(array, index)),
    }
}

/// Replaces all expressions of an instruction: subscripts of targets, value and predicate.
pub(crate) fn map_expressions(instruction: &mut Instruction, f: &mut dyn FnMut(&Expr) -> Expr) {
    instruction.value = f(&instruction.value);
    instruction.predicate = instruction.predicate.as_ref().map(&mut *f);
    for target in &mut instruction.targets {
        target.index = target.index.iter().map(&mut *f).collect();
    }
}

/// The expression with accesses of the array replaced.
pub(crate) fn replace_accesses(
    e: &Expr,
    array: &str,
    replace: &dyn Fn(&Access) -> Result<Expr, Diagnostic>,
    failed: &mut Option<Diagnostic>,
) -> Expr {
    let e = e.map_children(&mut |child| replace_accesses(child, array, replace, failed));
    match &e {
        Expr::Subscript(access) if *access.array == *array => match replace(access) {
            Ok(new) => new,
            Err(d) => {
                failed.get_or_insert(d);
                e
            }
        },
        _ => e,
    }
}

/// Whether an instruction reads or writes an array or scalar temporary.
pub(crate) fn touches(instruction: &Instruction, array: &Name) -> bool {
    let mut found = instruction.targets.iter().any(|t| t.array == *array);
    let index = instruction.targets.iter().flat_map(|t| &t.index);
    for e in [&instruction.value].into_iter().chain(&instruction.predicate).chain(index) {
        e.visit(&mut |e| match e {
            Expr::Subscript(access) => found |= access.array == *array,
            Expr::Name(name) => found |= name == array,
            _ => {}
        });
    }
    found
}

/// Replaces the subscripts of all accesses of an array, reads and writes, in one instruction. A
/// scalar is an access without subscripts.
pub(crate) fn map_accesses(
    instruction: &mut Instruction,
    array: &Name,
    new_index: &dyn Fn(&[Expr]) -> Vec<Expr>,
) {
    map_all(instruction, array, &mut |index| Access::new(array, new_index(index)));
}

/// Replaces all accesses of an array, reads and writes, in one instruction. A scalar is an access
/// without subscripts.
pub(crate) fn map_all(instruction: &mut Instruction, array: &Name, to: &mut dyn FnMut(&[Expr]) -> Access) {
    fn walk(e: &Expr, array: &Name, to: &mut dyn FnMut(&[Expr]) -> Access) -> Expr {
        let Access { array, index } = match e {
            Expr::Name(name) if name == array => to(&[]),
            Expr::Subscript(access) if access.array == *array => {
                let inside: Vec<Expr> = access.index.iter().map(|e| walk(e, array, to)).collect();
                to(&inside)
            }
            _ => return e.map_children(&mut |child| walk(child, array, to)),
        };
        element(&array, index)
    }
    map_expressions(instruction, &mut |e| walk(e, array, to));
    for target in instruction.targets.iter_mut().filter(|t| t.array == *array) {
        *target = to(&target.index);
    }
}

/// As [`map_all`], of a function that may refuse an access.
pub(crate) fn move_accesses(
    instruction: &mut Instruction,
    array: &Name,
    to: &mut dyn FnMut(&[Expr]) -> Result<Access, Diagnostic>,
) -> Result<(), Diagnostic> {
    let mut failed = None;
    map_all(instruction, array, &mut |index| match to(index) {
        Ok(access) => access,
        Err(d) => {
            failed.get_or_insert(d);
            Access::new(array, index.to_vec())
        }
    });
    failed.map_or(Ok(()), Err)
}
