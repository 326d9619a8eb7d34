//! Elects one block for writers of private scalars that only one block reads.
//!
//! A part that has no iname on an axis of the grid and writes a private scalar is replicated over
//! the axis: each thread has its own copy. If only one block reads the scalar, for example because
//! the axis belongs to another nest, the part need not run in the others. Nor may it: it may read
//! what that one block wrote, such as the value carried by a recurrence.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{AddressSpace, Constraint, HardwareAxis, Name, Part};
use loopwright_legality::Presence;

use crate::analyse::analysis::{Analysis, Guard};

/// Lets only the first block of an axis write private scalars that no other block on the axis
/// reads.
pub(crate) fn elect_writers(analysis: &mut Analysis<'_>) {
    let scalars: Vec<Name> = analysis
        .kernel
        .temporaries
        .iter()
        .filter(|t| t.space == AddressSpace::Private && t.axes.is_empty())
        // Scalars that bound loops are needed by all blocks.
        .filter(|t| !analysis.data.contains(&t.name))
        .map(|t| t.name.clone())
        .collect();
    let axes = analysis.axes;
    for axis in axes.iter().filter(|axis| !axis.is_in_block()) {
        // A part that reads one scalar may write another.
        let mut left = scalars.clone();
        loop {
            let found = left.iter().position(|name| one_block_reads(analysis, name, axis));
            let Some(found) = found else { break };
            let name = left.swap_remove(found);
            let writers: BTreeSet<usize> = analysis.writers(&name).map(|(p, _)| p).collect();
            for p in writers {
                let c = Constraint::zero(axis.position());
                let part = &mut analysis.parts[p];
                part.execution.executor[axis] = Presence::Elected;
                part.guards.push(Guard { declared: c.clone(), canonical: c });
            }
        }
    }
}

/// Whether all writers of a scalar are replicated over an axis, and all its readers run on one
/// block of it.
fn one_block_reads(analysis: &Analysis<'_>, name: &Name, axis: HardwareAxis) -> bool {
    let touches = analysis.touches.get(name).map_or(&[][..], Vec::as_slice);
    let mut written = false;
    touches.iter().all(|(p, k)| {
        let part = &analysis.parts[*p];
        if part.execution.accesses[*k].write {
            written = true;
            let instruction = analysis.instruction(part);
            let alone = instruction.targets.len() == 1 && part.execution.part.part == Part::Whole;
            return alone && part.execution.executor[axis] == Presence::Replicated;
        }
        let reads_itself = part.execution.accesses.iter().any(|a| a.write && a.array == *name);
        reads_itself || part.execution.executor[axis] == Presence::Elected
    }) && written
}
