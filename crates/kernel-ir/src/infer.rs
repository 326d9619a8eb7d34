//! The types of temporaries that were declared without one.

use std::collections::BTreeMap;

use crate::{
    Expr, KernelData, Name, Type,
    types::{TypeTable, is_untyped, promote},
};

/// Gives every temporary without a type the one of the values that are assigned to it. What cannot be decided stays open.
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
    // In the order of their first values one pass is enough, save for values that go around loops.
    pending.sort_by_key(|k| writers(*k).first().map_or(usize::MAX, |w| w.0));
    let mut table = TypeTable::new(data);
    let mut found = Vec::new();
    loop {
        let before = pending.len();
        pending.retain(|k| {
            let Some(t) = type_of_writers(&table, data, writers(*k)) else { return true };
            table.learn(&data.temporaries[*k], t.clone());
            found.push((*k, t));
            false
        });
        if pending.len() == before {
            break;
        }
    }
    for (k, t) in found {
        data.temporaries[k].dtype = t;
    }
}

/// The type in which the values meet that these instructions assign (each with the number of its target). Values of a type
/// that is not known yet are passed over: they may speak of the target itself.
fn type_of_writers(table: &TypeTable<'_>, data: &KernelData, writers: &[(usize, usize)]) -> Option<Type> {
    let mut found: Option<Type> = None;
    for (k, n) in writers {
        let value = match &data.instructions[*k].value {
            e @ Expr::Reduce(r) => table.reduction(e, r).ok().and_then(|t| t.get(*n).cloned()),
            e => table.infer(e).ok(),
        };
        let Some(t) = value.map(|v| v.alone()) else { continue };
        found = Some(match found {
            None => t,
            Some(a) if a == t => a,
            Some(Type::Known(a)) => Type::Known(promote(a, t.known()?)?),
            Some(_) => return None,
        });
    }
    found
}
