//! Factors of an atom's product that are read from global memory.
//!
//! Lanes load fragments by elements, each lane elements that others multiply. So a guard can be
//! asked for an element of the left factor if it is a function of `m` and `k`, and for one of the
//! right factor if it is one of `n` and `k`. Where a guard with `k` fails, both factors are zero;
//! one without decides about results, and only keeps its factor from being read where it is none.
//! Where guards that can be asked do not say that an element is one of the array, that is asked.

use loopwright_atom::{Factors, Subscript, matching};
use loopwright_kernel_ir::{Access, AddressSpace, Array, AtomUse, Constraint, Diagnostic};

use super::{needed, system};
use crate::analyse::analysis::{Analysis, Chosen, Guard, PartInfo};

/// A factor in global memory.
pub(super) struct Factor {
    pub access: Access,
    /// The number of loops around the atom.
    pub around: usize,
    /// The guards of the update that can be asked for its elements.
    guards: Vec<Guard>,
    /// What says that an element is one of the array.
    bounds: Vec<Guard>,
}

impl Factor {
    /// Whether a guard can be asked for its elements.
    pub fn can_ask(&self, guard: &Guard) -> bool {
        self.guards.contains(guard)
    }

    /// The access, and what has to be asked for it where these guards are kept, and those dropped.
    pub fn under(
        &self,
        analysis: &Analysis<'_>,
        kept: &[Guard],
        dropped: &[Guard],
    ) -> Result<Chosen, Diagnostic> {
        let mut own: Vec<Guard> = dropped.iter().filter(|guard| self.can_ask(guard)).cloned().collect();
        let known = system(analysis, kept.iter().chain(&own).map(|guard| &guard.canonical))?;
        // A guard may have kept it from being read elsewhere that cannot be asked for it.
        own.extend(needed(&known, self.bounds.clone())?);
        Ok((self.access.clone(), own))
    }
}

/// The factors in global memory of an update that an atom does.
pub(super) fn factors(analysis: &Analysis<'_>, info: &PartInfo) -> Result<Vec<Factor>, Diagnostic> {
    let instruction = analysis.instruction(info);
    let Some(used) = &instruction.atom else { return Ok(Vec::new()) };
    let Some(atom) = loopwright_atom::named(&analysis.kernel.atoms, &used.name) else {
        return Ok(Vec::new());
    };
    // What is no product of the atom is refused elsewhere.
    let Ok(Factors { a, b }) = matching(&analysis.lookup, instruction, atom, used) else {
        return Ok(Vec::new());
    };
    let around = info.execution.loops.iter().position(|name| *name == used.axes[2]);
    let around = around.unwrap_or(info.execution.loops.len());
    let mut found = Vec::new();
    for (access, other) in [(a, 1), (b, 0)] {
        let array = analysis.lookup.array(&access.array);
        let Some(array) = array.filter(|array| array.space == AddressSpace::Global) else { continue };
        let Some(bounds) = bounds(analysis, array, &access)? else { return Ok(Vec::new()) };
        let mut guards = Vec::new();
        for guard in &info.guards {
            if is_without(analysis, guard, used, other)? {
                guards.push(guard.clone());
            }
        }
        found.push(Factor { access, around, guards, bounds });
    }
    Ok(found)
}

/// What says that an element is one of the array; `None` if that is not affine.
fn bounds(analysis: &Analysis<'_>, array: &Array, access: &Access) -> Result<Option<Vec<Guard>>, Diagnostic> {
    let mut bounds = Vec::new();
    for (axis, e) in array.axes.iter().zip(&access.index) {
        let (Some(subscript), Some(length)) = (e.to_aff(), axis.length.to_aff()) else { return Ok(None) };
        let own = [Constraint::nonneg(subscript.clone()), Constraint::lt(&subscript, &length)?];
        for declared in own {
            let canonical = Constraint { kind: declared.kind, aff: analysis.canonical(&declared.aff)? };
            bounds.push(Guard { declared, canonical });
        }
    }
    Ok(Some(bounds))
}

/// Whether a guard is a function of the box's axes but this one.
fn is_without(
    analysis: &Analysis<'_>,
    guard: &Guard,
    used: &AtomUse,
    axis: usize,
) -> Result<bool, Diagnostic> {
    let of = Subscript::of(&analysis.lookup, &guard.declared.aff, used)?;
    Ok(of.is_some_and(|of| of.factors[axis] == 0))
}
