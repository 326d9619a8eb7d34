//! Updates: one target, of a type that has the update, which the instruction does not read besides.

use crate::{
    DType, Diagnostic, Instruction, Name, Role, Type, TypeTable, UpdateOp, UpdateScope,
    text::source_map::Item, validate::Check,
};

/// What is wrong with an instruction as an update, if it is one.
pub(super) fn check(check: &mut Check<'_>, item: &Item, table: &TypeTable<'_>, i: &Instruction) {
    if let Some((at, refusal)) = wrong_scope(check, i) {
        check.add(item.clone(), at, refusal);
    }
    let Some(op) = &i.update else { return };
    let (id, sign) = (&i.id, op.sign());
    let [target] = i.targets.as_slice() else {
        let message = format!("`{id}` is an update, and has {} targets", i.targets.len());
        let d = Diagnostic::new("update-shape", message).help("write an update of its own for each target");
        return check.add(item.clone(), "", d);
    };
    let array = &target.array;
    if i.operands().contains(array) {
        let message = format!(
            "`{id}` reads `{array}` besides updating it, and updates are in no order among each other"
        );
        let d = Diagnostic::new("update-reads-target", message).help(format!(
            "read `{array}` in another instruction, before or after all updates; where the order \
             matters, write an assignment: `{target} = ...`"
        ));
        check.add(item.clone(), &target.to_string(), d);
    }
    let other = match &i.role {
        Role::Copies { .. } => Some("a copy"),
        _ if i.scan.is_some() => Some("a scan"),
        _ if i.atomic => Some("joined by `join=atomic`"),
        _ => None,
    };
    if let Some(other) = other {
        let message = format!("`{id}` is an update (`{sign}`), which cannot be {other}");
        let d = Diagnostic::new("update-shape", message)
            .help("assign the value to an array, and update by that in another instruction");
        check.add(item.clone(), id, d);
    }
    if let Some(dtype) = table.element(array).and_then(Type::known)
        && !op.takes(dtype)
    {
        let message = format!("there is no update `{sign}` of {dtype}, the type of `{array}`");
        let d = Diagnostic::new("update-type", message).help(match op {
            UpdateOp::And | UpdateOp::Or => {
                "there are `&=` and `|=` of i32, u32, i64 and u64: give the array such a type"
            }
            UpdateOp::Sum | UpdateOp::Min | UpdateOp::Max => {
                "there are `+=`, `min=` and `max=` of i32, u32, i64, u64, f16, bf16, f32 and f64: give the \
                 array such a type"
            }
            UpdateOp::By(_) => {
                "devices exchange elements of 32 and 64 bits: give the array one of i32, u32, i64, u64, f32 \
                 and f64"
            }
        });
        check.add(item.clone(), array, d);
    } else if let UpdateOp::By(operator) = op {
        by_operator(check, item, table.element(array).and_then(Type::known), op, operator);
    }
    // What is updated has a value before.
    let begins = |k: &usize| check.data.instructions.get(*k).is_some_and(|w| w.update.is_none());
    if check.lookup.temporary(array).is_some() && !check.lookup.writers(array).iter().any(begins) {
        let message = format!("`{array}` is updated and never given a first value");
        let d = Diagnostic::new("never-written", message)
            .help(format!("assign it in an earlier instruction: `{target} = 0`"));
        check.add(item.clone(), array, d);
    }
}

/// What is wrong with the scope of an instruction, before it is known what runs in blocks, with
/// the name that it is about.
fn wrong_scope<'i>(check: &Check<'_>, i: &'i Instruction) -> Option<(&'i Name, Diagnostic)> {
    let (id, word) = (&i.id, i.scope.word());
    let refuse =
        |at, message: String, help: String| Some((at, Diagnostic::new("update-scope", message).help(help)));
    if i.update.is_none() {
        if i.scope.is_device() {
            return None;
        }
        let message = format!("`{id}` is no update, and `scope={word}` says among whom one is a single step");
        return refuse(id, message, "leave `scope` out".into());
    }
    let (UpdateScope::System, [target]) = (i.scope, i.targets.as_slice()) else { return None };
    let array = &target.array;
    if let Err(refusal) = i.check_system_scope(check.data) {
        return Some((array, refusal));
    }
    // What others update at any time has no value that a read or a write could be in order with.
    let is_other = |o: &&Instruction| {
        let touches = o.reads().contains(array) || o.targets.iter().any(|t| t.array == *array);
        touches && !(o.update.is_some() && o.scope == UpdateScope::System)
    };
    let other = check.data.instructions.iter().find(is_other)?;
    let message = format!(
        "`{id}` updates `{array}` while others outside the kernel may, and `{}` accesses it otherwise",
        other.id
    );
    let help = match other.update.is_some() {
        true => format!("give `{}` `scope=system`, too", other.id),
        false => format!("access `{array}` in a kernel of its own, before or after all updates"),
    };
    refuse(array, message, help)
}

/// What is wrong with an update by an operator that has a name, of elements of this type, if that
/// is known.
fn by_operator(check: &mut Check<'_>, item: &Item, dtype: Option<DType>, op: &UpdateOp, operator: &Name) {
    // An operator that has a sign is named by that alone: updates by one operator commute.
    if let Some((_, sign)) = UpdateOp::SIGNS.iter().find(|(known, _)| known.name() == operator.as_str()) {
        let message = format!("the update by `{operator}` is `{sign}`, not by the operator's name");
        let d = Diagnostic::new("update-operator", message).help(format!("write `{sign}`"));
        return check.add(item.clone(), operator, d);
    }
    if check
        .data
        .reductions
        .iter()
        .enumerate()
        .any(|(k, o)| o.name == *operator && check.has(&Item::Reduction(k)))
    {
        return;
    }
    // An open type is looked at where it is bound.
    let found = op.combination(check.data, dtype.unwrap_or(DType::F32));
    let found = found.and_then(|of| match (of, check.data.operator(operator)) {
        (Some(of), Some(operator)) => of.is_in_any_order(&operator, check.data),
        _ => Ok(()),
    });
    if let Err(d) = found
        && (dtype.is_some() || d.code == "unknown-reduction")
    {
        check.add(item.clone(), operator, d);
    }
}
