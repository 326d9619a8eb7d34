//! Values that do not depend on an array that the kernel writes: when two writes leave the same
//! value.
//!
//! `y[i] = 0.0` and `y[j] = 0.0` write the same value, and the iterations of `y[i] = 2.0 * x[i]`
//! with equal `i` write the same value, whatever other loops are around them. Such a value is a
//! [`Pure`] expression of inames, scalar arguments and arrays that nothing writes. It consists of a
//! *shape*, which is the [form] of the expression with a hole for each iname and subscript, and the
//! functions that fill the holes. Two writes with the same shape and equal functions leave the same
//! value, so it does not matter which of them a read sees.
//!
//! Shapes are of declared instructions; what else an instruction of a transformed kernel reads is
//! checked against them elsewhere.

mod form;

use std::cmp::Ordering;

use loopwright_kernel_ir::{Aff, Constraint, Instruction, Lookup, Name, Part, TypeTable};
use loopwright_poly::{Result, System};

use crate::{Model, ModelPart, Touch, roles::PartRole};

/// A value that does not depend on an array that the kernel writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pure {
    /// The form with its holes, and the type that it is stored in.
    pub shape: String,
    /// The functions that fill the holes, in order.
    pub arguments: Vec<Aff>,
}

/// What a declared instruction writes to the target with this number, over its own inames; `types`
/// are those of the declared kernel.
pub(crate) fn written(
    lookup: &Lookup<'_>,
    types: &TypeTable<'_>,
    instruction: &Instruction,
    target: usize,
) -> Option<Pure> {
    // An instruction with several targets has a reduction.
    let ([only], 0) = (instruction.targets.as_slice(), target) else { return None };
    let array = lookup.array(&only.array)?;
    let typed = array.dtype.known().and_then(|t| types.typed(&instruction.value, t, None).ok());
    // Open types are those that arguments will have.
    let (form, kind) = match typed {
        Some(e) => (form::form(lookup, &e)?, "of"),
        None => (form::untyped(lookup, &instruction.value)?, "as text of"),
    };
    let arguments = form.holes.iter().map(|aff| lookup.expand(aff).ok()).collect::<Option<_>>()?;
    Some(Pure { shape: format!("{} {kind} {}", form.text, array.dtype), arguments })
}

impl Model<'_> {
    /// What an event writes, over base inames of its part, if that does not depend on an array that
    /// either kernel writes.
    pub(crate) fn pure_write(
        &self,
        (declared, types): &(Lookup<'_>, TypeTable<'_>),
        part: &ModelPart,
        event: usize,
    ) -> Result<Option<Pure>> {
        if part.events[event].touch != Touch::Write || self.is_accumulator(&part.events[event].array) {
            return Ok(None);
        }
        let PartRole::Does(id, Part::Whole) = self.role(part) else { return Ok(None) };
        let target = part.events[..event].iter().filter(|e| e.touch == Touch::Write).count();
        let Some(instruction) = declared.instruction(&id) else { return Ok(None) };
        let Some(mut pure) = written(declared, types, instruction, target) else { return Ok(None) };
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
