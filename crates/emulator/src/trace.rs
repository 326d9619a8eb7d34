//! The second look at a race: one cell is watched, and the first two of its accesses that are not
//! ordered are kept with all they know.
//!
//! A run that looks for races keeps a few bits for each cell and so knows only the later instance.
//! Runs are deterministic, so it is repeated, block after block, with the cell known beforehand.

use loopwright_program::{Atomic, Memory};

use crate::{
    fault::Instance,
    shadow::{Conflict, Stamp},
};

/// The cell to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub launch: u32,
    pub memory: Memory,
    /// Offset in elements.
    pub cell: i64,
}

#[derive(Clone, Debug)]
struct Seen {
    block: u32,
    stamp: Stamp,
    write: bool,
    atomic: Option<Atomic>,
    instance: Instance,
}

/// What was seen of the cell.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub target: Target,
    seen: Vec<Seen>,
}

impl Trace {
    pub fn new(target: Target) -> Trace {
        Trace { target, seen: Vec::new() }
    }

    /// An access comes, which may write and may be an update; gives an earlier one that is not
    /// ordered with it, and what lies between them.
    pub fn access(
        &mut self,
        block: u32,
        stamp: Stamp,
        (write, atomic): (bool, Option<Atomic>),
        instance: impl FnOnce() -> Instance,
    ) -> Option<(Instance, Conflict)> {
        let shared = matches!(self.target.memory, Memory::Shared(_));
        if shared {
            self.seen.retain(|s| s.block == block);
        }
        for seen in &self.seen {
            if !(write || seen.write) || (atomic.is_some() && atomic == seen.atomic) {
                continue;
            }
            if seen.block != block {
                return Some((seen.instance.clone(), Conflict::BetweenBlocks));
            }
            if seen.stamp.conflicts(stamp) {
                return Some((seen.instance.clone(), Conflict::InBlock));
            }
        }
        // Of other blocks, one read and one write say enough; of this block, what a thread did
        // between two synchronisations.
        let known = self.seen.iter().any(|s| {
            (s.write, s.atomic) == (write, atomic)
                && if s.block == block { s.stamp == stamp } else { !write && self.seen.len() > 4096 }
        });
        if !known {
            self.seen.push(Seen { block, stamp, write, atomic, instance: instance() });
        }
        None
    }
}
