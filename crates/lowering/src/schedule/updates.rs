//! Which updates are atomic.
//!
//! An update reads an element, combines it with a value and writes it. Nothing may come between the
//! read and the write. Other accesses than updates by the same operator are kept apart by barriers
//! and by the ends of kernels, as from any write. So an update of a device kernel has to be atomic
//! if another thread may update the same element in the same launch, at whatever time: no barrier
//! orders the two. Where no other thread can, as where each thread has elements of its own, it is a
//! plain read and write.
//!
//! Among whom an atomic update is one step is said by the instruction ([`UpdateScope`]). Blocks may
//! not meet in an element whose updates are one step in their block alone: `sync` takes these for
//! writes between blocks. What others outside the kernel may update is always atomic.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{AddressSpace, Diagnostic, HardwareAxis, Name, PerDim, Tag, UpdateScope};
use loopwright_legality::{Access, Execution, Meeting, Query, Time, is_common_to, meeting_pairs};

use crate::analyse::analysis::Analysis;

/// The parts of a device kernel whose updates have to be atomic.
pub(crate) fn atomic(
    analysis: &Analysis<'_>,
    parts: &[usize],
    block: PerDim<u32>,
) -> Result<BTreeSet<usize>, Diagnostic> {
    let mut found = BTreeSet::new();
    let mut updates: Vec<(usize, Execution, Access, AddressSpace)> = Vec::new();
    for &p in parts {
        let info = &analysis.parts[p];
        if analysis.update(info).is_none() {
            continue;
        }
        // What blocks have reduced is joined by them all; others outside the kernel may update what
        // has the system's scope.
        let instruction = analysis.instruction(info);
        if instruction.update.is_none() || instruction.scope == UpdateScope::System {
            found.insert(p);
        }
        let written = info.execution.accesses.iter().find(|access| access.write);
        let Some((access, array)) = written.and_then(|a| Some((a, analysis.lookup.array(&a.array)?))) else {
            continue;
        };
        // Launches for different values of loops of the host follow one another; no other loop
        // orders threads.
        let mut execution = info.execution.clone();
        execution.loops.retain(|iname| analysis.kernel.tag(iname) == Tag::Host);
        updates.push((p, execution, access.clone(), array.space));
    }
    let shared = |n: &Name| analysis.is_parameter(n);
    for (k, (p, a, x, space)) in updates.iter().enumerate() {
        for (q, b, y, _) in &updates[k..] {
            if x.array != y.array || found.contains(p) && found.contains(q) {
                continue;
            }
            for (meeting, axes) in
                [(Meeting::Threads, HardwareAxis::OF_BLOCK), (Meeting::Blocks, HardwareAxis::OF_GRID)]
            {
                let query = Query {
                    meeting,
                    time: Time::Same,
                    owning: &[],
                    context: &analysis.context,
                    shared: &shared,
                    facts: &analysis.kernel.facts,
                    block,
                };
                if is_common_to(*space, axes) && meeting_pairs(a, x, b, y, &query)?.is_some() {
                    found.extend([*p, *q]);
                }
            }
        }
    }
    Ok(found)
}
