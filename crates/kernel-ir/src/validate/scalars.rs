//! Integer scalars that hold functions of inames and arguments.
//!
//! After `<i32> k = i + 1`, a statement of the same iteration reads `x[k]` as `x[i + 1]`: the
//! function is what bounds are proved and refuted by. A scalar has one where a single statement
//! before the reader assigns it, unconditionally and for each iteration of the reader's loops, and
//! nothing that it is computed from can wrap in fewer than 32 bits. That it does not wrap in more
//! is checked by each launch where it is a subscript or a bound; where a condition names it, and
//! where the scalar itself is narrower, it has to be shown ([`are_exact`]).

use loopwright_poly::{Result, System};

use crate::{
    Aff, Constraint, DType, Expr, Lookup, Name, Scalar, Type, loaded::within, validate::scope::integer,
};

/// A scalar that is a function.
pub(super) struct Function {
    pub name: Name,
    /// The equation of the scalar with its function.
    pub row: Constraint,
    value: Aff,
    dtype: DType,
}

impl Function {
    /// The range of the scalar's type, as far as queries go.
    pub fn range(&self) -> Vec<Constraint> {
        within(&Aff::var(&self.name), self.dtype)
    }

    /// Whether its type has fewer than 32 bits.
    pub fn is_narrow(&self) -> bool {
        self.dtype.bytes() < 4
    }

    /// The function as an expression, which wraps where the scalar does.
    fn value(&self) -> Expr {
        let value = Expr::from_aff(&self.value);
        match self.is_narrow() {
            true => Expr::Cast(Type::Known(self.dtype), value.into()),
            false => value,
        }
    }
}

/// An expression with functions in place of their scalars.
pub(super) fn inlined(e: &Expr, functions: &[Function]) -> Expr {
    let mut e = e.clone();
    // A function may read other scalars, which are assigned before.
    for _ in functions {
        let value = |name: &Name| functions.iter().find(|f| f.name == *name);
        e = e.substitute(&|name| value(name).map(Function::value));
    }
    e
}

/// Whether no function leaves the type of its scalar, where the constraints of a system hold.
pub(super) fn are_exact(lookup: &Lookup<'_>, functions: &[Function], system: &System) -> Result<bool> {
    let mut rows: Vec<Constraint> = functions.iter().map(|f| f.row.clone()).collect();
    for name in system.names().into_iter().chain(functions.iter().flat_map(|f| f.row.names())) {
        rows.extend(
            lookup
                .scalar(&name)
                .and_then(|s| s.dtype.known())
                .map_or_else(Vec::new, |t| within(&Aff::var(&name), t)),
        );
    }
    let system = system.with(&rows)?;
    for f in functions {
        // Queries say less of the widest types than their arithmetic does.
        if f.dtype.bytes() >= 8 || !system.implies_all(&f.range())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The functions of the scalars among these names, and among those that they are computed from. `k`
/// is the number of the instruction that reads them, in a place within these inames.
pub(super) fn functions(
    lookup: &Lookup<'_>,
    k: usize,
    inames: &[Name],
    names: impl IntoIterator<Item = Name>,
) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    let kernel = lookup.kernel();
    let mut open: Vec<(Name, usize, &[Name])> = names.into_iter().map(|name| (name, k, inames)).collect();
    while let Some((name, before, inames)) = open.pop() {
        if found.iter().any(|known| known.name == name) {
            continue;
        }
        if let Some((writer, value, dtype)) = function(lookup, before, inames, &name) {
            // What the writer reads has to be of the writer's own iteration.
            let inames = kernel.instructions.get(writer).map_or(&[][..], |i| &i.within);
            open.extend(value.names().into_iter().map(|n| (n, writer, inames)));
            if let Ok(row) = Constraint::equal(&Aff::var(&name), &value) {
                found.push(Function { name, row, value, dtype });
            }
        }
    }
    found
}

/// The writer of a scalar, and that it is its function.
fn function(lookup: &Lookup<'_>, before: usize, inames: &[Name], name: &Name) -> Option<(usize, Aff, DType)> {
    let scalar = lookup.temporary(name).filter(|t| t.axes.is_empty())?;
    let wide = |bytes: usize| bytes >= 4;
    let dtype = scalar.dtype.known().filter(|t| t.is_integer())?;
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
    Some((writer, value, dtype))
}
