//! Elects one block for writers of private scalars that only one block reads.
//!
//! A part that has no iname on an axis of the grid and writes a private scalar is replicated over
//! the axis: each thread has its own copy. If only one block reads what it writes, for example
//! because the axis belongs to another nest, the part need not run in the others. Nor may it: it
//! may read what that one block wrote, such as the value carried by a recurrence.
//!
//! Another nest may use the scalar again, over all blocks. Its reads are of no concern where the
//! same thread has just written the scalar anew ([`Flow`]).

use std::collections::BTreeSet;

use loopwright_kernel_ir::{AddressSpace, Constraint, HardwareAxis, Name, Part};
use loopwright_legality::Presence;

use crate::analyse::analysis::{Analysis, Guard, PartInfo};

/// Lets only the first block of an axis write values of private scalars that no other block on the
/// axis reads.
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
    let axes: Vec<HardwareAxis> = analysis.axes.iter().filter(|axis| !axis.is_in_block()).collect();
    if axes.is_empty() {
        return;
    }
    let flows: Vec<Flow> = scalars.iter().map(|name| Flow::of(analysis, name)).collect();
    for axis in axes {
        // A part that reads one scalar may write another.
        while let Some(elected) =
            flows.iter().map(|flow| flow.of_one_block(analysis, axis)).find(|elected| !elected.is_empty())
        {
            for p in elected {
                let c = Constraint::zero(axis.position());
                let part = &mut analysis.parts[p];
                part.execution.executor[axis] = Presence::Elected;
                part.guards.push(Guard { declared: c.clone(), canonical: c });
            }
        }
    }
}

/// Which parts may read what which others have written to a private scalar.
struct Flow {
    writers: BTreeSet<usize>,
    /// Each part that reads the scalar, with all the writers whose value it may find there.
    reads: Vec<(usize, BTreeSet<usize>)>,
}

impl Flow {
    fn of(analysis: &Analysis<'_>, name: &Name) -> Flow {
        let touches = analysis.touches.get(name).map_or(&[][..], Vec::as_slice);
        let of = |write: bool| -> BTreeSet<usize> {
            let is = |p: usize, k: usize| analysis.parts[p].execution.accesses[k].write == write;
            touches.iter().filter(|(p, k)| is(*p, *k)).map(|(p, _)| *p).collect()
        };
        let (writers, readers) = (of(true), of(false));
        let reads = readers.iter().map(|reader| {
            let renewed = writers
                .iter()
                .rev()
                .filter(|writer| *writer < reader && !readers.contains(writer))
                .find(|writer| renews(analysis, **writer, *reader));
            let may_find = |writer: &usize| match renewed {
                Some(last) => last <= writer && writer < reader,
                None => writer < reader || share_a_loop(&analysis.parts[*writer], &analysis.parts[*reader]),
            };
            (*reader, writers.iter().copied().filter(may_find).collect())
        });
        let reads = reads.collect();
        Flow { writers, reads }
    }

    /// The writers that are replicated over an axis, although all that may read their values run on
    /// one block of it, or can be elected themselves.
    fn of_one_block(&self, analysis: &Analysis<'_>, axis: HardwareAxis) -> BTreeSet<usize> {
        let is_replicated = |p: &usize| {
            let part = &analysis.parts[*p];
            let alone = analysis.instruction(part).targets.len() == 1;
            alone
                && part.execution.part.part == Part::Whole
                && part.execution.executor[axis] == Presence::Replicated
        };
        // What nothing reads stays in all blocks, of which there may be none.
        let is_read = |p: &usize| self.reads.iter().any(|(_, from)| from.contains(p));
        let replicated = self.writers.iter().copied().filter(is_replicated);
        let mut found: BTreeSet<usize> = replicated.filter(is_read).collect();
        loop {
            let elsewhere = self.reads.iter().filter(|(reader, _)| {
                !found.contains(reader)
                    && analysis.parts[*reader].execution.executor[axis] != Presence::Elected
            });
            let read: BTreeSet<usize> = elsewhere.flat_map(|(_, from)| from).copied().collect();
            let before = found.len();
            found.retain(|writer| !read.contains(writer));
            if found.len() == before {
                return found;
            }
        }
    }
}

/// Whether some loop may run the second part before the first, although it comes later in the tree.
fn share_a_loop(a: &PartInfo, b: &PartInfo) -> bool {
    a.execution.loops.first().zip(b.execution.loops.first()).is_some_and(|(a, b)| a == b)
}

/// Whether each thread that runs the reader has run the writer before it, in the same iteration of
/// all loops and whatever the data are.
fn renews(analysis: &Analysis<'_>, writer: usize, reader: usize) -> bool {
    let (w, r) = (&analysis.parts[writer], &analysis.parts[reader]);
    let instruction = analysis.instruction(w);
    if w.execution.part.part != Part::Whole || instruction.predicate.is_some() || instruction.update.is_some()
    {
        return false;
    }
    // Lanes run their statements one after the other.
    if !(w.lanes.is_empty() && r.lanes.is_empty()) {
        return false;
    }
    let same_threads =
        w.execution.executor.iter().all(|(axis, presence)| {
            *presence == Presence::Replicated || *presence == r.execution.executor[axis]
        });
    // An iname has one loop, so that parts in the same loops stand in one body.
    w.inames == r.inames && same_threads && w.execution.loops == r.execution.loops
}
