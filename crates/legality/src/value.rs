//! Values that do not depend on an array that the kernel writes: when two writes leave the same
//! value.
//!
//! `y[i] = 0.0` and `y[j] = 0.0` write the same value, and the iterations of `y[i] = 2.0 * x[i]`
//! with equal `i` write the same value, whatever other loops are around them. Such a value is a
//! [`Pure`] expression of inames, scalar arguments and arrays that nothing writes. It consists of a
//! *shape*, which is the expression with a hole for each iname and subscript, and the functions
//! that fill the holes. Two writes with the same shape and equal functions leave the same value, so
//! it does not matter which of them a read sees.
//!
//! Shapes are of declared instructions; what else an instruction of a transformed kernel reads is
//! checked against them elsewhere.

use std::cmp::Ordering;

use loopwright_kernel_ir::{Access, Aff, Constraint, Expr, Instruction, Lookup, Name, Part};
use loopwright_poly::{Result, System};

use crate::{Model, ModelPart, Touch, roles::PartRole};

/// A value that does not depend on an array that the kernel writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pure {
    /// The expression with numbered holes, and the type that it is stored in.
    pub shape: String,
    /// The functions that fill the holes, in order.
    pub arguments: Vec<Aff>,
}

/// A hole, under a name that no kernel text can use.
fn hole(name: &str, value: Aff, arguments: &mut Vec<Aff>) -> Expr {
    arguments.push(value);
    Expr::Name(Name::new(format!("{name}#{}", arguments.len())))
}

/// The expression with its holes; `None` if it depends on an array that the kernel writes.
fn holed(lookup: &Lookup<'_>, e: &Expr, arguments: &mut Vec<Aff>) -> Option<Expr> {
    match e {
        // The type of an iname is that of its domain: only holes for the same iname are certain to
        // have the same type.
        Expr::Name(n) if lookup.is_iname(n) => Some(hole(n, Aff::var(n), arguments)),
        Expr::Name(n) => lookup.is_scalar(n).then(|| e.clone()),
        Expr::Subscript(a)
            if !lookup.writers(&a.array).is_empty() || lookup.temporary(&a.array).is_some() =>
        {
            None
        }
        Expr::Subscript(a) => {
            let known = |n: &Name| lookup.is_iname(n) || lookup.is_scalar(n);
            let mut index = Vec::with_capacity(a.index.len());
            for e in &a.index {
                index.push(match e.to_aff().filter(|aff| !aff.mentions_any(&|n| !known(n))) {
                    Some(aff) => hole("", aff, arguments),
                    None => holed(lookup, e, arguments)?,
                });
            }
            Some(Expr::Subscript(Access { array: a.array.clone(), index }))
        }
        Expr::Reduce(_) => None,
        _ => {
            let mut pure = true;
            let made = e.map_children(&mut |child| {
                holed(lookup, child, arguments).unwrap_or_else(|| {
                    pure = false;
                    child.clone()
                })
            });
            pure.then_some(made)
        }
    }
}

/// What a declared instruction writes to the target with this number, over its own inames.
pub(crate) fn written(lookup: &Lookup<'_>, instruction: &Instruction, target: usize) -> Option<Pure> {
    let array = lookup.array(&instruction.targets.get(target)?.array)?;
    let mut arguments = Vec::new();
    let shape = holed(lookup, &instruction.value, &mut arguments)?;
    let arguments = arguments.iter().map(|aff| lookup.expand(aff).ok()).collect::<Option<_>>()?;
    // An instruction with several targets writes a different component of its value to each.
    let shape = format!("{shape} as {} of {} to {target}", array.dtype, instruction.targets.len());
    Some(Pure { shape, arguments })
}

impl Model<'_> {
    /// What an event writes, over base inames of its part, if that does not depend on an array that
    /// either kernel writes.
    pub(crate) fn pure_write(
        &self,
        declared: &Lookup<'_>,
        part: &ModelPart,
        event: usize,
    ) -> Result<Option<Pure>> {
        if part.events[event].touch != Touch::Write || self.is_accumulator(&part.events[event].array) {
            return Ok(None);
        }
        let PartRole::Does(id, Part::Whole) = self.role(part) else { return Ok(None) };
        let target = part.events[..event].iter().filter(|e| e.touch == Touch::Write).count();
        let Some(instruction) = declared.instruction(&id) else { return Ok(None) };
        let Some(mut pure) = written(declared, instruction, target) else { return Ok(None) };
        let mut values: Vec<(&Name, Aff)> = Vec::with_capacity(instruction.within.len());
        for n in &instruction.within {
            values.push((n, self.declared_value(part, n)?));
        }
        let value = |n: &Name| values.iter().find(|(m, _)| *m == n).map(|(_, aff)| aff.clone());
        for aff in &mut pure.arguments {
            *aff = aff.substitute(&value)?;
        }
        Ok(Some(pure))
    }
}

/// Whether two writes leave the same value in all executions of a system, with the names of the
/// second one primed.
pub(crate) fn same(
    model: &Model<'_>,
    a: &Pure,
    b: &Pure,
    system: &System,
    queries: &mut usize,
) -> Result<bool> {
    if a.shape != b.shape || a.arguments.len() != b.arguments.len() {
        return Ok(false);
    }
    for (s, t) in a.arguments.iter().zip(&b.arguments) {
        let t = model.second(t)?;
        for relation in [Ordering::Less, Ordering::Greater] {
            let (x, y) = if relation == Ordering::Less { (s, &t) } else { (&t, s) };
            if x == y {
                continue;
            }
            *queries += 1;
            if !system.with(&[Constraint::lt(x, y)?])?.is_empty()? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
