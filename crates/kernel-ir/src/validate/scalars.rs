//! Integer scalars that hold functions of inames and arguments.
//!
//! After `<i32> k = i + 1`, a statement of the same iteration reads `x[k]` as `x[i + 1]`: the
//! function is what bounds are proved and refuted by. A scalar has one where a single statement
//! before the reader assigns it, unconditionally and for each iteration of the reader's loops, and
//! nothing in it can wrap in fewer than 32 bits.

use crate::{Constraint, Expr, Lookup, Name, Scalar, validate::scope::integer};

/// The scalars among these names, and among those that they are computed from, with what holds for
/// each: that it is its function. `k` is the number of the instruction that reads them, in a place
/// within these inames.
pub(super) fn functions(
    lookup: &Lookup<'_>,
    k: usize,
    inames: &[Name],
    names: impl IntoIterator<Item = Name>,
) -> Vec<(Name, Constraint)> {
    let mut found: Vec<(Name, Constraint)> = Vec::new();
    let kernel = lookup.kernel();
    let mut open: Vec<(Name, usize, &[Name])> = names.into_iter().map(|name| (name, k, inames)).collect();
    while let Some((name, before, inames)) = open.pop() {
        if found.iter().any(|(known, _)| *known == name) {
            continue;
        }
        if let Some((writer, row)) = function(lookup, before, inames, &name) {
            // What the writer reads has to be of the writer's own iteration.
            let inames = kernel.instructions.get(writer).map_or(&[][..], |i| &i.within);
            open.extend(row.names().into_iter().filter(|n| *n != name).map(|n| (n, writer, inames)));
            found.push((name, row));
        }
    }
    found
}

/// The writer of a scalar, and that it is its function.
fn function(lookup: &Lookup<'_>, before: usize, inames: &[Name], name: &Name) -> Option<(usize, Constraint)> {
    let scalar = lookup.temporary(name).filter(|t| t.axes.is_empty())?;
    let wide = |bytes: usize| bytes >= 4;
    scalar.dtype.known().filter(|t| t.is_integer() && wide(t.bytes()))?;
    let &[writer] = lookup.writers(name) else { return None };
    let i = lookup.kernel().instructions.get(writer).filter(|_| writer < before)?;
    let is_plain = i.targets.len() == 1 && i.predicate.is_none() && i.update.is_none();
    if !is_plain || !i.within.iter().all(|n| inames.contains(n)) {
        return None;
    }
    let mut reads = false;
    i.value.visit(&mut |e| reads |= matches!(e, Expr::Subscript(_) | Expr::Reduce(_)));
    let value = integer(lookup, &i.value).filter(|_| !reads)?;
    // What the function and the bounds of its inames are computed from.
    let around = lookup.instances(&i.within);
    let mut names = around.iter().flat_map(Constraint::names).chain(value.names());
    let is_wide = |s: &Scalar| s.dtype.known().is_some_and(|t| wide(t.bytes()));
    if !names.all(|n| lookup.scalar(&n).is_none_or(is_wide)) {
        return None;
    }
    Some((writer, Constraint::equal(&crate::Aff::var(name), &value).ok()?))
}
