//! Whether all reads of a temporary see known values of one instruction, so that its expression can
//! stand in their place.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Access, Aff, Diagnostic, Instruction, KernelData, LoopKernel, Name, Part, PartRef,
};
use loopwright_poly::Map;

use super::{
    Why, compare,
    flows::{Flows, HOPS, Seen, View, unite},
    reads,
};
use crate::{Model, Touch};

/// The value of an iname of `writer` at a read with these subscripts: the subscript of its own
/// axis, or the same iname of the reader.
fn value(writer: &Instruction, target: &Access, iname: &Name, cell: &[Option<Aff>]) -> Option<Aff> {
    let axis = target.index.iter().position(|e| e.to_aff().is_some_and(|a| a.as_var() == Some(iname)));
    match axis {
        Some(axis) => cell.get(axis)?.clone(),
        None => writer.within.contains(iname).then(|| Aff::var(iname)),
    }
}

/// Whether each read of `temporary` in a declared kernel sees what `writer` writes in the instance
/// that the read's subscripts name. The writer's subscripts are inames of its own, each once;
/// inames without a subscript have the values that they have at the read.
///
/// # Errors
///
/// A read that may see something else, with an example, or one for which it is not known.
pub fn sees_only(kernel: &LoopKernel, temporary: &Name, writer: &Instruction) -> Result<(), Diagnostic> {
    let model = Model::new(kernel)?;
    let Some(target) = writer.targets.first() else { return Ok(()) };
    let mut flows = Flows::new(&model, &model.context);
    for (p, part) in model.parts.iter().enumerate() {
        for (k, event) in part.events.iter().enumerate() {
            if event.array != *temporary || event.touch != Touch::Read {
                continue;
            }
            let refuse = |why: String| refusal(temporary, why, None);
            let values: Option<Vec<Aff>> =
                writer.within.iter().map(|n| value(writer, target, n, &event.cell)).collect();
            let known = |a: &Aff| !a.mentions_any(&|n| !part.inames.contains(n) && !model.is_parameter(n));
            let Some(values) = values.filter(|v| v.iter().all(known)) else {
                let outside = writer.within.iter().find(|n| !part.inames.contains(n));
                return Err(refuse(match outside {
                    Some(n) if target.index.is_empty() => {
                        format!("`{}` reads it outside of the loop over `{n}`", part.part)
                    }
                    _ => format!("the subscripts of its read in `{}` are not functions of inames", part.part),
                }));
            };
            let seen = flows.view(temporary, Some((p, k)), HOPS).map_err(|why| refuse(why.text))?;
            // A map needs at least one output; a definition outside of all loops has none.
            let expected = Map::from_affs(&Flows::dims(part), &values)?;
            for (what, map) in &seen {
                let (other, why) = match what {
                    Seen::Definition(..) => {
                        (map.subtract(&expected)?, "reads what another instance has written")
                    }
                    Seen::Chain { .. } => (map.clone(), "reads what is written under a condition on data"),
                    _ => (map.clone(), "reads it where nothing has written it"),
                };
                if other.is_empty()? {
                    continue;
                }
                let point = other.sample(&Default::default())?;
                return Err(shown(refuse(format!("`{}` {why}", part.part)), kernel, &part.inames, point));
            }
        }
    }
    Ok(())
}

fn refusal(temporary: &Name, why: String, help: Option<&str>) -> Diagnostic {
    let help =
        help.unwrap_or("only a value that is computed once for each read, before it, can stand in its place");
    Diagnostic::new("substitution-value", format!("`{temporary}` cannot be replaced: {why}")).help(help)
}

/// The refusal with the values of a part's inames and of the kernel's arguments at a point, if
/// there is one, as its witness.
fn shown(
    refusal: Diagnostic,
    kernel: &KernelData,
    inames: &[Name],
    point: Option<BTreeMap<Name, i64>>,
) -> Diagnostic {
    let Some(point) = point else { return refusal };
    let own = |n: &&Name| inames.contains(n) || is_size(kernel, n);
    let list: Vec<String> = point.keys().filter(own).map(|n| format!("{n}={}", point[n])).collect();
    refusal.witness(list.join(", "))
}

/// Whether the operands of `writer`'s expression, read where `temporary` was read, have the values
/// that they had where it was computed. `after` is the declared kernel `before` with the expression
/// in place of each read, and without `writer`; the reads see only `writer` ([`sees_only`]).
///
/// # Errors
///
/// An operand that may have changed in between, with an example, or one for which it is not known.
pub fn operands_stay(
    before: &LoopKernel,
    after: &LoopKernel,
    temporary: &Name,
    writer: &Instruction,
) -> Result<(), Diagnostic> {
    let (old, new) = (Model::new(before)?, Model::new(after)?);
    let (mut was, mut is) = (Flows::new(&old, &new.context), Flows::new(&new, &new.context));
    let whole = PartRef { instruction: writer.id.clone(), part: Part::Whole };
    let (Some(w), Some(target)) = (old.numbers.get(&whole).copied(), writer.targets.first()) else {
        return Ok(());
    };
    let operands = reads(&old, &old.parts[w]);
    for (q, part) in new.parts.iter().enumerate() {
        let unlike = || refusal(temporary, format!("`{}` has another form", part.part), None);
        let Some(p) = old.numbers.get(&part.part).copied() else { return Err(unlike()) };
        let mut mine = reads(&new, part).into_iter();
        for l in reads(&old, &old.parts[p]) {
            let event = &old.parts[p].events[l];
            if event.array != *temporary {
                mine.next().ok_or_else(unlike)?;
                continue;
            }
            let values: Option<Vec<Aff>> =
                writer.within.iter().map(|n| value(writer, target, n, &event.cell)).collect();
            let at = Map::from_affs(&Flows::dims(part), &values.ok_or_else(unlike)?)?;
            for operand in &operands {
                let k = mine.next().ok_or_else(unlike)?;
                let array = &old.parts[w].events[*operand].array;
                if part.events[k].array != *array {
                    return Err(unlike());
                }
                if !old.is_written(array) {
                    continue;
                }
                let mut checked = || -> Result<(), Why> {
                    let mut expected = View::new();
                    for (seen, map) in was.view(array, Some((w, *operand)), HOPS)? {
                        unite(&mut expected, seen, at.then(&map)?)?;
                    }
                    let found = is.view(array, Some((q, k)), HOPS)?;
                    compare(&found, &expected, &old, &format!("`{array}`, read by `{}`,", part.part))
                };
                if let Err(why) = checked() {
                    let point = why.pairs.and_then(|s| s.sample(&Default::default()).ok().flatten());
                    let help = "keep the temporary: it holds the value from before the write";
                    return Err(shown(refusal(temporary, why.text, Some(help)), after, &part.inames, point));
                }
            }
        }
        if mine.next().is_some() {
            return Err(unlike());
        }
    }
    Ok(())
}

fn is_size(kernel: &KernelData, name: &Name) -> bool {
    kernel.args.iter().any(|a| a.name() == name)
}
