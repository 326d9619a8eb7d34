//! The rerun after a race: watches one cell and keeps its first two unordered accesses in full
//! detail.
//!
//! A run that checks for races keeps a few bits per cell and so knows only the later instance. Runs
//! are deterministic, so the run is repeated block by block with the cell known in advance.

use loopwright_program::{Atomic, Memory};

use crate::{
    fault::Instance,
    shadow::{Conflict, Stamp},
};

/// The cell whose accesses are recorded in the rerun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub launch: u32,
    pub memory: Memory,
    /// Offset in the array, in elements.
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

/// The accesses of the watched cell.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub target: Target,
    seen: Vec<Seen>,
}

impl Trace {
    pub fn new(target: Target) -> Trace {
        Trace { target, seen: Vec::new() }
    }

    /// Records an access, which may write and may be an update. Returns an earlier access that is
    /// not ordered with it, and the kind of conflict.
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
        // An access of the same kind as an earlier one need not be kept if that one has the same
        // block and stamp, or, for reads beyond 4096 kept accesses, if it is of another block.
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
