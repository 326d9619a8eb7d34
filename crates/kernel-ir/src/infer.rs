//! The types of temporaries that were declared without one.
//!
//! A temporary has the type in which the values assigned to it meet. If that is an open
//! floating-point value such as `0.1*i`, it takes the kernel's only floating-point type; if the
//! kernel has several, the type of what the temporary meets in the values assigned to it, or else
//! in those that read it.

use std::collections::BTreeMap;

use crate::{
    Access, Expr, Instruction, KernelData, Name, Type, ValueType,
    type_table::TypeTable,
    types::{is_untyped, promote},
};

/// Gives every temporary without a type the one that its values and readers imply. What cannot be
/// decided stays open.
pub(crate) fn infer_temporaries(data: &mut KernelData) {
    let mut pending: Vec<usize> =
        (0..data.temporaries.len()).filter(|k| is_untyped(&data.temporaries[*k].dtype)).collect();
    if pending.is_empty() {
        return;
    }
    let mut writers: BTreeMap<&Name, Vec<(usize, usize)>> = BTreeMap::new();
    for (k, i) in data.instructions.iter().enumerate() {
        for (n, target) in i.targets.iter().enumerate() {
            writers.entry(&target.array).or_default().push((k, n));
        }
    }
    let no_writer = Vec::new();
    let writers = |k: usize| writers.get(&data.temporaries[k].name).unwrap_or(&no_writer);
    // In the order of their first values, one pass suffices except for values carried around loops.
    pending.sort_by_key(|k| writers(*k).first().map_or(usize::MAX, |w| w.0));
    let mut table = TypeTable::new(data);
    let mut found = Vec::new();
    loop {
        let before = pending.len();
        let mut settle = |decide: &dyn Fn(&TypeTable<'_>, usize) -> Option<Type>| {
            let before = pending.len();
            pending.retain(|k| {
                let Some(t) = decide(&table, *k) else { return true };
                table.learn(&data.temporaries[*k], t.clone());
                found.push((*k, t));
                false
            });
            pending.len() < before
        };
        while settle(&|table, k| decided(table, type_of_writers(table, data, writers(k))?)) {}
        // Readers decide only if the values do not.
        settle(&|table, k| {
            let name = &data.temporaries[k].name;
            let adapting = table.adapting(name);
            match type_of_writers(&adapting, data, writers(k))? {
                ValueType::Of(t) => Some(t),
                ValueType::FloatLiteral => type_of_readers(&adapting, data, name),
                _ => None,
            }
        });
        if pending.len() == before {
            break;
        }
    }
    for (k, t) in found {
        data.temporaries[k].dtype = t;
    }
}

/// The type that such a value has without context in this kernel.
fn decided(table: &TypeTable<'_>, own: ValueType) -> Option<Type> {
    match (own, table.floats()) {
        (ValueType::FloatLiteral, [one]) => Some(one.clone()),
        (ValueType::FloatLiteral, _) => None,
        (own, _) => Some(own.alone()),
    }
}

/// The type in which the values meet that these instructions assign (each with the number of its
/// target). Values of unknown type are skipped: they may refer to the target itself.
fn type_of_writers(
    table: &TypeTable<'_>,
    data: &KernelData,
    writers: &[(usize, usize)],
) -> Option<ValueType> {
    use ValueType::{FloatLiteral, Of};
    let mut found: Option<ValueType> = None;
    for (k, n) in writers {
        let Some(t) = value_type(table, &data.instructions[*k], *n) else { continue };
        // An integer literal is i32 here, as it is without context.
        let t = if t == FloatLiteral { t } else { Of(t.alone()) };
        found = Some(match (found, t) {
            (None, t) => t,
            (Some(a), b) if a == b => a,
            (Some(FloatLiteral), Of(t)) | (Some(Of(t)), FloatLiteral) => match t.known() {
                Some(known) if !known.is_float() => FloatLiteral,
                _ => Of(t),
            },
            (Some(Of(a)), Of(b)) => Of(Type::Known(promote(a.known()?, b.known()?)?)),
            _ => return None,
        });
    }
    found
}

/// The type of the value that an instruction assigns to its `n`-th target.
fn value_type(table: &TypeTable<'_>, instruction: &Instruction, n: usize) -> Option<ValueType> {
    match &instruction.value {
        e @ Expr::Reduce(r) => table.reduction(e, r).ok().and_then(|t| t.get(n).cloned()),
        e => table.infer(e).ok(),
    }
}

/// The single floating-point type that a temporary meets where it is read: that of the surrounding
/// value, or of the target.
fn type_of_readers(table: &TypeTable<'_>, data: &KernelData, name: &Name) -> Option<Type> {
    let mut found: Option<Type> = None;
    for instruction in data.instructions.iter().filter(|i| reads(&i.value, name)) {
        for (n, Access { array, .. }) in instruction.targets.iter().enumerate() {
            let t = match value_type(table, instruction, n) {
                Some(ValueType::Of(t)) => Some(t),
                Some(ValueType::FloatLiteral) => table.element(array).cloned(),
                _ => None,
            };
            let Some(t) = t.filter(|t| t.known().is_none_or(|t| t.is_float())) else { continue };
            if found.get_or_insert_with(|| t.clone()) != &t {
                return None;
            }
        }
    }
    found
}

fn reads(e: &Expr, name: &Name) -> bool {
    let mut found = false;
    e.visit(&mut |e| {
        found |= match e {
            Expr::Name(n) => n == name,
            Expr::Subscript(a) => a.array == *name,
            _ => false,
        }
    });
    found
}
