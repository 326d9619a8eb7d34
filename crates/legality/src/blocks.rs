//! Whether two parts at one host level need a kernel boundary between them.
//!
//! Executions in different blocks that touch the same cell of global memory, at least one of them
//! writing, other than two updates by one operator, are ordered only by the end of a device kernel.
//! Lowering cuts the host level by asking the model: for equal values of the surrounding host
//! loops, is there a pair of executions at one cell in different blocks?

use loopwright_kernel_ir::{Aff, Constraint, HardwareAxis, Name, Tag, UpdateScope};
use loopwright_poly::{Result, System};

use crate::{Model, Presence, Touch, conflict::primed, is_common_to};

/// An array in which executions of the two parts, in different blocks, may touch the same cell, at
/// least one of them writing; `None` if there is none.
pub fn blocks_meet(model: &Model<'_>, p: usize, q: usize) -> Result<Option<Name>> {
    let (a, b) = (&model.parts[p], &model.parts[q]);
    let second = |aff: &Aff| model.second(aff);
    // The coordinate on an axis, relative to its least value; `None` if every block runs the part.
    let coordinate = |presence: &Presence<Name>| -> Result<Option<Aff>> {
        Ok(match presence {
            Presence::At(n) => Some(Aff::var(n).sub(&model.lower(n)?.unwrap_or_default())?),
            Presence::Elected => Some(Aff::constant(0)),
            Presence::Replicated | Presence::Collective => None,
        })
    };
    for e in &a.events {
        for f in b.events.iter().filter(|f| f.array == e.array) {
            // Updates that are one step in their own block alone are writes to other blocks.
            let in_block = [a, b].iter().any(|part| model.instruction(part).scope == UpdateScope::Block);
            let combine = matches!(e.touch, Touch::Combine(_)) && in_block;
            let commute = e.touch.commutes_with(&f.touch) && !combine;
            let common = is_common_to(model.space(&e.array), HardwareAxis::OF_GRID);
            if commute || model.is_accumulator(&e.array) || !common {
                continue;
            }
            let mut rows = model.context.clone();
            rows.extend(a.constraints.iter().cloned());
            for c in &b.constraints {
                rows.push(Constraint { kind: c.kind, aff: second(&c.aff)? });
            }
            let host = |n: &&Name| model.kernel.tag(n) == Tag::Host && b.inames.contains(n);
            for n in a.inames.iter().filter(host) {
                rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(n)))?);
            }
            for (s, t) in e.cell.iter().zip(&f.cell) {
                if let (Some(s), Some(t)) = (s, t) {
                    rows.push(Constraint::equal(s, &second(t)?)?);
                }
            }
            let base = System::new(&rows)?;
            for axis in HardwareAxis::OF_GRID {
                let cases = match (coordinate(&a.executor[*axis])?, coordinate(&b.executor[*axis])?) {
                    (Some(x), Some(y)) => {
                        let y = second(&y)?;
                        vec![vec![Constraint::lt(&x, &y)?], vec![Constraint::lt(&y, &x)?]]
                    }
                    _ => vec![Vec::new()],
                };
                for case in cases {
                    let system = base.with(&case)?;
                    if !system.is_empty()? && !model.facts_exclude(a, b, &system)? {
                        return Ok(Some(e.array.clone()));
                    }
                }
            }
        }
    }
    Ok(None)
}
