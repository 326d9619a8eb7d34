//! Private scalars on axes of the grid that nothing which reads them goes over.
//!
//! A part that has no iname on an axis and writes a private scalar runs for all of its blocks: each
//! thread has its own. Where only one block reads the scalar, as where the axis is that of another
//! nest, it need not run in the others, and may not: what it reads can be what that one block
//! wrote, as the value that a recurrence carries.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{AddressSpace, Constraint, HardwareAxis, Name, Part};
use loopwright_legality::Presence;

use crate::analyse::analysis::{Analysis, Guard};

/// Leaves what writes private scalars to the first block of axes on which no other block reads
/// them.
pub(crate) fn elect_writers(analysis: &mut Analysis<'_>) {
    let scalars: Vec<Name> = analysis
        .kernel
        .temporaries
        .iter()
        .filter(|t| t.space == AddressSpace::Private && t.axes.is_empty())
        // What bounds loops is known to all of them.
        .filter(|t| !analysis.data.contains(&t.name))
        .map(|t| t.name.clone())
        .collect();
    let axes = analysis.axes;
    for axis in axes.iter().filter(|axis| !axis.is_in_block()) {
        // Who reads one scalar may write another.
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

/// Whether all that writes a scalar runs for all blocks of an axis, and all that reads it on one.
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
