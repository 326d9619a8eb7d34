//! Derives a value for every argument from those given: open types, scalars, shapes.
//!
//! An integer scalar that was not given follows from an array whose length on some axis is that
//! scalar, or an affine function of it alone (`nseg + 1`). Given and derived values have to agree
//! on every axis of every array.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use loopwright_kernel_ir::{
    Arg, Array, DType, Diagnostic, Expr, Fact, Kind, LoopKernel, Name, Number, Record, Type, did_you_mean,
};

use super::Args;
use super::host::Integers;
use super::open_types::still_open;

/// The values that a kernel needs before its arrays.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    /// The types bound to open types.
    pub types: BTreeMap<Name, DType>,
    /// Scalar arguments, of their declared types.
    pub scalars: BTreeMap<Name, Number>,
    /// The integers among them.
    pub integers: Integers,
    /// The shape of each array argument, given or derived.
    pub shapes: IndexMap<Name, Vec<usize>>,
}

/// Resolves the arguments of a kernel.
pub(super) fn resolve(kernel: &LoopKernel, args: &Args) -> Result<Resolved, Diagnostic> {
    let args = args.with_fields(kernel)?;
    check_arrays_are_given(kernel, &args)?;
    resolve_given(kernel, &args)
}

/// As [`resolve`], for arguments among which arrays may be missing.
pub(super) fn resolve_given(kernel: &LoopKernel, args: &Args) -> Result<Resolved, Diagnostic> {
    let args = &*args.with_fields(kernel)?;
    check_names(kernel, args)?;
    let types = types(kernel, args)?;
    let dtype_of = |t: &Type| match t {
        Type::Known(dtype) => Some(*dtype),
        Type::Open(name) => types.get(name).copied(),
    };
    for array in arrays(kernel) {
        let Some(given) = args.arrays.get(&array.name) else { continue };
        if given.shape().len() != array.axes.len() {
            return Err(Diagnostic::new(
                "argument-rank",
                format!(
                    "`{}` has {}, but an array of {} was given",
                    array.name,
                    axes(array.axes.len()),
                    axes(given.shape().len())
                ),
            )
            .help(format!("its declared shape is {}", declared(array))));
        }
        if let Some(dtype) = dtype_of(&array.dtype)
            && dtype != given.dtype()
        {
            return Err(Diagnostic::new(
                "argument-type",
                format!("the elements of `{}` are {dtype}, but {} was given", array.name, given.dtype()),
            )
            .help(format!("convert them, or declare `{}` with an open type", array.name)));
        }
    }
    let mut scalars = BTreeMap::new();
    for arg in &kernel.args {
        if let Arg::Scalar(scalar) = arg
            && let Some(value) = args.scalars.get(&scalar.name)
            && let Some(dtype) = dtype_of(&scalar.dtype)
        {
            scalars.insert(scalar.name.clone(), value.to_number(&scalar.name, dtype)?);
        }
    }
    let mut integers: Integers =
        scalars.iter().filter_map(|(name, number)| Some((name.clone(), number.as_i64()?))).collect();
    let origins = infer(kernel, args, &mut integers);
    for arg in &kernel.args {
        let Arg::Scalar(scalar) = arg else { continue };
        if scalars.contains_key(&scalar.name) {
            continue;
        }
        let Some(dtype) = dtype_of(&scalar.dtype) else { continue };
        match integers.get(&scalar.name) {
            Some(value) => {
                let number = super::ScalarValue::from(*value).to_number(&scalar.name, dtype)?;
                scalars.insert(scalar.name.clone(), number);
            }
            None => return Err(missing_scalar(kernel, &scalar.name, dtype)),
        }
    }
    check_width(kernel, &scalars)?;
    let shapes = shapes(kernel, args, &integers, &origins)?;
    check_assumptions(kernel, &integers, &origins)?;
    Ok(Resolved { types, scalars, integers, shapes })
}

fn arrays(kernel: &LoopKernel) -> impl Iterator<Item = &Array> {
    kernel.args.iter().filter_map(|arg| match arg {
        Arg::Array(a) => Some(a),
        Arg::Scalar(_) => None,
    })
}

fn axes(count: usize) -> String {
    match count {
        1 => "1 axis".to_owned(),
        n => format!("{n} axes"),
    }
}

/// The type and shape of an array as text: `f32[nseg, len]`.
fn declared(array: &Array) -> String {
    let lengths: Vec<String> = array.axes.iter().map(|axis| axis.length.to_string()).collect();
    format!("{}[{}]", array.dtype, lengths.join(", "))
}

fn check_names(kernel: &LoopKernel, args: &Args) -> Result<(), Diagnostic> {
    if let Some(name) = &args.twice {
        return Err(Diagnostic::new("argument-twice", format!("argument `{name}` was given twice"))
            .help("give it once"));
    }
    for name in args.arrays.keys().chain(args.scalars.keys()) {
        match kernel.args.iter().find(|arg| arg.name() == name) {
            None => {
                let records = kernel.records.iter().map(|r| r.array.name.as_str());
                let plain = kernel.args.iter().map(|arg| arg.name().as_str());
                let plain = plain.filter(|name| kernel.record_of(name).is_none());
                let known: Vec<&str> = plain.chain(records).collect();
                let diagnostic = Diagnostic::new(
                    "unknown-argument",
                    format!("`{}` has no argument `{name}`", kernel.name),
                );
                let near = did_you_mean(name, known.iter().copied());
                return Err(diagnostic
                    .help(near.unwrap_or_else(|| format!("its arguments are {}", known.join(", ")))));
            }
            Some(Arg::Array(array)) if args.scalars.contains_key(name) => {
                return Err(Diagnostic::new(
                    "argument-kind",
                    format!("`{name}` is an array, but a number was given"),
                )
                .help(format!("pass an array of {}", declared(array))));
            }
            Some(Arg::Scalar(scalar)) if args.arrays.contains_key(name) => {
                return Err(Diagnostic::new(
                    "argument-kind",
                    format!("`{name}` is a number, but an array was given"),
                )
                .help(format!("pass one value of {}", scalar.dtype)));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Only arrays that the kernel writes and does not read can be derived.
fn check_arrays_are_given(kernel: &LoopKernel, args: &Args) -> Result<(), Diagnostic> {
    check_names(kernel, args)?;
    let written: BTreeSet<&Name> =
        kernel.instructions.iter().flat_map(|i| &i.targets).map(|t| &t.array).collect();
    let mut read = BTreeSet::new();
    for instruction in &kernel.instructions {
        for expr in instruction.expressions() {
            read.extend(expr.accesses().into_iter().map(|a| a.array));
        }
        let updated = instruction.targets.iter().filter(|_| instruction.update.is_some());
        read.extend(updated.map(|t| t.array.clone()));
    }
    for array in arrays(kernel) {
        // The fields of structs that are not accessed follow from those that are.
        let is_unused = |name: &Name| !written.contains(name) && !read.contains(name);
        let follows = (written.contains(&array.name) || kernel.record_of(&array.name).is_some())
            && !read.contains(&array.name);
        if let Some((record, _)) = kernel.record_of(&array.name)
            && !args.arrays.contains_key(&array.name)
            && (!follows || is_unused(&array.name) && !fields_are_given(kernel, args, record, &written))
        {
            let message = format!("argument `{}` of `{}` is missing", record.array.name, kernel.name);
            return Err(Diagnostic::new("missing-argument", message).help(format!(
                "pass an array of {}, as bytes, or an array for each field that is accessed",
                declared(&record.array)
            )));
        }
        if !args.arrays.contains_key(&array.name) && !follows {
            return Err(Diagnostic::new(
                "missing-argument",
                format!("argument `{}` of `{}` is missing", array.name, kernel.name),
            )
            .help(match written.contains(&array.name) {
                true => {
                    format!("pass an array of {}: the kernel writes it, and reads it too", declared(array))
                }
                false => format!("pass an array of {}", declared(array)),
            }));
        }
    }
    Ok(())
}

/// Whether some field of a record is given or written, so that the record is there.
fn fields_are_given(kernel: &LoopKernel, args: &Args, record: &Record, written: &BTreeSet<&Name>) -> bool {
    let fields = kernel.structure(record.of()).into_iter().flat_map(|of| &of.fields);
    fields
        .map(|f| record.field_name(&f.name))
        .any(|name| args.arrays.contains_key(&name) || written.contains(&name))
}

fn missing_scalar(kernel: &LoopKernel, name: &Name, dtype: DType) -> Diagnostic {
    Diagnostic::new("missing-argument", format!("argument `{name}` of `{}` is missing", kernel.name)).help(
        if dtype.is_integer() {
            format!("pass a value of {dtype}: it does not follow from the length of any given array")
        } else {
            format!("pass a value of {dtype}")
        },
    )
}

/// The refusal of a type for a name that is none of the kernel's open types.
pub(super) fn no_open_type(kernel: &LoopKernel, name: &Name) -> Diagnostic {
    let open: Vec<String> = kernel.open_types().iter().map(ToString::to_string).collect();
    let d = Diagnostic::new("unknown-type", format!("`{}` has no open type `{name}`", kernel.name));
    match open.is_empty() {
        true => d.help("it has no open types"),
        false => d.help(format!("its open types are {}", open.join(", "))),
    }
}

/// The types bound to open types: those given explicitly, then those of arrays, then those of
/// scalars.
fn types(kernel: &LoopKernel, args: &Args) -> Result<BTreeMap<Name, DType>, Diagnostic> {
    let open = kernel.open_types();
    if let Some(name) = args.types.keys().find(|name| !open.contains(name)) {
        return Err(no_open_type(kernel, name));
    }
    let mut types: BTreeMap<Name, DType> = args.types.clone();
    let mut origin: BTreeMap<Name, String> =
        types.keys().map(|name| (name.clone(), "was bound to".to_owned())).collect();
    for array in arrays(kernel) {
        if let (Type::Open(name), Some(given)) = (&array.dtype, args.arrays.get(&array.name)) {
            match types.get(name) {
                None => {
                    types.insert(name.clone(), given.dtype());
                    origin.insert(name.clone(), format!("is, by `{}`,", array.name));
                }
                Some(bound) if *bound != given.dtype() => {
                    return Err(Diagnostic::new(
                        "type-conflict",
                        format!(
                            "type `{name}` {} {bound}, and the elements of `{}` are {}",
                            origin.get(name).map_or("is", String::as_str),
                            array.name,
                            given.dtype()
                        ),
                    )
                    .help("convert one of them"));
                }
                Some(_) => {}
            }
        }
    }
    for arg in &kernel.args {
        if let Arg::Scalar(scalar) = arg
            && let Type::Open(name) = &scalar.dtype
            && let Some(value) = args.scalars.get(&scalar.name)
        {
            types.entry(name.clone()).or_insert_with(|| value.own_dtype());
        }
    }
    match open.iter().find(|name| !types.contains_key(*name)) {
        None => Ok(types),
        Some(name) => Err(still_open(name)),
    }
}

/// The source of a scalar's value, for those that were not given.
type Origins = BTreeMap<Name, String>;

fn infer(kernel: &LoopKernel, args: &Args, integers: &mut Integers) -> Origins {
    let scalars: BTreeSet<&Name> = kernel
        .args
        .iter()
        .filter_map(|arg| match arg {
            Arg::Scalar(s) => Some(&s.name),
            Arg::Array(_) => None,
        })
        .collect();
    let mut origins = Origins::new();
    // Plain lengths first, which determine a scalar directly.
    for plain in [true, false] {
        loop {
            let before = integers.len();
            for array in arrays(kernel) {
                let Some(given) = args.arrays.get(&array.name) else { continue };
                for (number, (axis, length)) in array.axes.iter().zip(given.shape()).enumerate() {
                    let Some(aff) = axis.length.to_aff() else { continue };
                    let unknown: Vec<Name> =
                        aff.names().into_iter().filter(|n| !integers.contains_key(n)).collect();
                    let [name] = unknown.as_slice() else { continue };
                    if !scalars.contains(name) || !aff.is_affine() || (plain && aff.as_var().is_none()) {
                        continue;
                    }
                    let coefficient = aff.coefficient(name);
                    let with_zero = aff.eval(&|n| if n == name { Some(0) } else { integers.get(n).copied() });
                    let rest = with_zero.zip(i64::try_from(*length).ok()).and_then(|(z, l)| l.checked_sub(z));
                    if let Some(rest) = rest
                        && rest.checked_rem(coefficient) == Some(0)
                        && let Some(value) = rest.checked_div(coefficient)
                    {
                        integers.insert(name.clone(), value);
                        origins.insert(name.clone(), format!("from axis {number} of `{}`", array.name));
                    }
                }
            }
            if integers.len() == before {
                break;
            }
        }
    }
    // A value that no array determines may be fixed by the kernel.
    for assumption in kernel.assumptions.iter().filter(|c| c.kind == Kind::Eq) {
        let names = assumption.aff.names();
        if let (1, Some(name)) = (names.len(), names.first())
            && scalars.contains(name)
            && !integers.contains_key(name)
            && let coefficient @ (1 | -1) = assumption.aff.coefficient(name)
            && assumption.aff.is_affine()
            && let Some(value) = assumption.aff.constant_term().checked_mul(-coefficient)
        {
            integers.insert(name.clone(), value);
            origins.insert(name.clone(), format!("from `assume {assumption}`"));
        }
    }
    origins
}

/// The values of these names, with their sources: `len = 4 from axis 1 of `x``.
fn explain(names: &BTreeSet<Name>, integers: &Integers, origins: &Origins) -> String {
    let said: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let value = integers.get(name)?;
            Some(match origins.get(name) {
                Some(origin) => format!("{name} = {value} {origin}"),
                None => format!("{name} = {value}"),
            })
        })
        .collect();
    said.join(", ")
}

fn shapes(
    kernel: &LoopKernel,
    args: &Args,
    integers: &Integers,
    origins: &Origins,
) -> Result<IndexMap<Name, Vec<usize>>, Diagnostic> {
    let mut shapes = IndexMap::new();
    for array in arrays(kernel) {
        let mut shape = Vec::new();
        for (number, axis) in array.axes.iter().enumerate() {
            let what = format!("the length `{}` of axis {number} of `{}`", axis.length, array.name);
            let witness = explain(&axis.length.names(), integers, origins);
            let because = |d: Diagnostic| if witness.is_empty() { d } else { d.witness(witness.clone()) };
            let Some(length) = axis.length.to_integer(&|name| integers.get(name).copied()) else {
                return Err(because(
                    Diagnostic::new("host-value", format!("{what} has no value in 64 bits"))
                        .help("work on smaller pieces"),
                ));
            };
            let Ok(length) = usize::try_from(length) else {
                return Err(because(
                    Diagnostic::new("negative-length", format!("{what} is {length}"))
                        .help("lengths have to be at least 0"),
                ));
            };
            if let Some(given) = args.arrays.get(&array.name)
                && given.shape()[number] != length
            {
                return Err(because(
                    Diagnostic::new(
                        "argument-shape",
                        format!("{what} is {length}, but {} was given", given.shape()[number]),
                    )
                    .help(format!("the declared shape is {}", declared(array))),
                ));
            }
            shape.push(length);
        }
        shapes.insert(array.name.clone(), shape);
    }
    Ok(shapes)
}

/// Bounds, lengths, subscripts and assumptions are computed in i64: refuses values that they use
/// and i64 cannot represent.
fn check_width(kernel: &LoopKernel, scalars: &BTreeMap<Name, Number>) -> Result<(), Diagnostic> {
    let wide = |names: BTreeSet<Name>| names.into_iter().find(|n| is_too_wide(scalars, n));
    if !scalars.keys().any(|name| is_too_wide(scalars, name)) {
        return Ok(());
    }
    let refuse = |place: String, name: Name| {
        let value = scalars.get(&name).map(Number::to_string).unwrap_or_default();
        Diagnostic::new(
            "scalar-range",
            format!("`{name}` is {value}, which does not fit into i64, and {place} uses it"),
        )
        .help(format!(
            "bounds, subscripts and assumptions are signed 64-bit numbers: pass `{name}` below \
             2^63"
        ))
    };
    for (what, constraint) in kernel
        .assumptions
        .iter()
        .map(|c| ("the assumption", c))
        .chain(kernel.domains.iter().flat_map(|d| &d.constraints).map(|c| ("the bound", c)))
    {
        if let Some(name) = wide(constraint.names()) {
            return Err(refuse(format!("{what} `{constraint}`"), name));
        }
    }
    for definition in &kernel.definitions {
        if let Some(name) = wide(definition.value.names()) {
            return Err(refuse(format!("`{} = {}`", definition.iname, definition.value), name));
        }
    }
    for array in arrays(kernel).chain(&kernel.temporaries) {
        for axis in &array.axes {
            if let Some(name) =
                [Some(&axis.length), axis.stride.as_ref()].into_iter().flatten().find_map(|e| wide(e.names()))
            {
                return Err(refuse(format!("the layout of `{}`", array.name), name));
            }
        }
    }
    for fact in &kernel.facts {
        if let Fact::Range { array, lower, upper } = fact
            && let Some(name) = [lower, upper].into_iter().flatten().find_map(|e| wide(e.names()))
        {
            return Err(refuse(format!("the declared range of `{array}`"), name));
        }
    }
    for instruction in &kernel.instructions {
        let mut found = None;
        let targets = instruction.targets.iter().map(|t| Expr::Subscript(t.clone()));
        for e in targets.chain([instruction.value.clone()]).chain(instruction.predicate.clone()) {
            e.visit(&mut |e| {
                if let Expr::Subscript(access) = e {
                    let name = access.index.iter().find_map(|e| wide(e.names()));
                    found = found.take().or_else(|| Some((e.to_string(), name?)));
                }
            });
        }
        if let Some((access, name)) = found {
            return Err(refuse(format!("the subscript of `{access}`"), name));
        }
    }
    Ok(())
}

fn is_too_wide(scalars: &BTreeMap<Name, Number>, name: &Name) -> bool {
    scalars.get(name).is_some_and(|n| n.as_i128().is_some() && n.as_i64().is_none())
}

fn check_assumptions(kernel: &LoopKernel, integers: &Integers, origins: &Origins) -> Result<(), Diagnostic> {
    for assumption in &kernel.assumptions {
        let message = match assumption.holds(&|name| integers.get(name).copied()) {
            Some(true) => continue,
            Some(false) => format!("the assumption `{assumption}` of `{}` does not hold", kernel.name),
            // An unknown outcome counts as a violation.
            None => format!(
                "it is not known whether the assumption `{assumption}` of `{}` holds: its value \
                 exceeds 64 bits",
                kernel.name
            ),
        };
        return Err(Diagnostic::new("assumption", message)
            .witness(explain(&assumption.names(), integers, origins))
            .help(match kernel.declared().assumptions.contains(assumption) {
                true => "the kernel is declared for these values only: pass others",
                false => {
                    "the transformed kernel relies on it: transform it without the assumption, or pass \
                     other values"
                }
            }));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
