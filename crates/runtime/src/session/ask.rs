//! Queries about the arguments that a kernel expects, for tools that create arguments.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use loopwright_kernel_ir::{Arg, DType, Diagnostic, Expr, Fact, LoopKernel, Name, Type};

use super::Args;
use super::facts;
use super::open_types::{bind_types, still_open};
use super::resolve::resolve_given;

/// What follows from arguments while arrays are still missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The types bound to open types.
    pub types: BTreeMap<Name, DType>,
    /// Integer scalars, given or following from shapes.
    pub integers: BTreeMap<Name, i64>,
    /// The type and shape of each array argument that can be derived.
    pub arrays: IndexMap<Name, (DType, Vec<usize>)>,
}

/// What follows from the given arguments. Missing arrays are not an error, but scalars and lengths
/// that cannot be derived are.
pub fn known(kernel: &LoopKernel, args: &Args) -> Result<Known, Diagnostic> {
    let resolved = resolve_given(kernel, args)?;
    let arrays = expected_arrays(kernel, args)?;
    Ok(Known { types: resolved.types, integers: resolved.integers, arrays })
}

/// Whether the scalars that are given are numbers of their types, whatever else is missing.
///
/// # Errors
///
/// A scalar that its type does not hold.
pub fn check_scalars(kernel: &LoopKernel, args: &Args) -> Result<(), Diagnostic> {
    for arg in &kernel.args {
        if let Arg::Scalar(scalar) = arg
            && let Some(value) = args.scalars.get(&scalar.name)
            && let Some(dtype) = scalar.dtype.known()
        {
            value.to_number(&scalar.name, dtype)?;
        }
    }
    Ok(())
}

/// The type and shape of each array argument, derived from the given arguments. Missing arrays are
/// not an error, but lengths and types that cannot be derived are.
pub fn expected_arrays(
    kernel: &LoopKernel,
    args: &Args,
) -> Result<IndexMap<Name, (DType, Vec<usize>)>, Diagnostic> {
    let resolved = resolve_given(kernel, args)?;
    let mut expected = IndexMap::new();
    for arg in &kernel.args {
        if let Arg::Array(array) = arg
            && let Some(shape) = resolved.shapes.get(&array.name)
        {
            let dtype = match &array.dtype {
                Type::Known(dtype) => Some(*dtype),
                Type::Open(name) => resolved.types.get(name).copied(),
            };
            if let Some(dtype) = dtype {
                expected.insert(array.name.clone(), (dtype, shape.clone()));
            }
        }
    }
    Ok(expected)
}

/// The declared range of an integer array's elements, for these arguments: the least, and one more
/// than the greatest.
pub fn fact_range(
    kernel: &LoopKernel,
    args: &Args,
    array: &str,
) -> Result<(Option<i64>, Option<i64>), Diagnostic> {
    let resolved = resolve_given(kernel, args)?;
    let value = |e: &Option<Expr>| e.as_ref()?.to_integer(&|name| resolved.integers.get(name).copied());
    let mut range: (Option<i64>, Option<i64>) = (None, None);
    for fact in &kernel.facts {
        if let Fact::Range { array: name, lower, upper } = fact
            && **name == *array
        {
            range.0 = range.0.max(value(lower));
            range.1 = match (range.1, value(upper)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
    Ok(range)
}

/// Checks the declared facts of the given host arrays, as [`Args::check_facts`] does for all arrays
/// whenever they are bound.
pub fn check_facts(kernel: &LoopKernel, args: &Args) -> Result<(), Diagnostic> {
    let declared = kernel.declared();
    let args = &*args.with_fields(declared)?;
    let resolved = resolve_given(declared, args)?;
    declared.facts.iter().try_for_each(|fact| match args.host_tensor(fact.array()) {
        Some(data) => facts::check(fact, data, &resolved.integers),
        None => Ok(()),
    })
}

/// The kernel with its open types bound; refused if one remains open or is unknown.
pub fn bind_open_types(kernel: &LoopKernel, types: &BTreeMap<Name, DType>) -> Result<LoopKernel, Diagnostic> {
    let open = kernel.open_types();
    if let Some(name) = types.keys().find(|name| !open.contains(name)) {
        return Err(super::resolve::no_open_type(kernel, name));
    }
    if let Some(name) = open.iter().find(|name| !types.contains_key(*name)) {
        return Err(still_open(name));
    }
    bind_types(kernel, types)
}
