//! The state of one warp, and of the memory of its block.

use loopwright_program::{Atomic, LocalArray};

use crate::{
    bytecode::{Code, Pc, Reg, is_wide},
    flights::Pending,
    shadow::Stamp,
    words::{Narrow, Wide, lowest_lanes},
};

/// The execution state of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// It has not reached a barrier or its end.
    #[default]
    Running,
    /// It waits at the barrier of this site.
    Waiting(u32),
    /// It is in a look-back, and lets other blocks run, or waits for them.
    Looking,
    /// It has reached the end of its code.
    Ended,
}

/// A private array of the threads of one warp: one value per lane for each element.
#[derive(Debug, Default)]
pub(crate) struct PrivateArray<const W: usize> {
    pub narrow: Vec<Narrow<W>>,
    pub wide: Vec<Wide<W>>,
    /// For each element, the lanes that have written it.
    pub valued: Vec<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Warp<const W: usize> {
    pub number: usize,
    /// Lanes that are threads of the block.
    pub exists: u64,
    /// Lanes that execute the present statement, a subset of `exists`.
    pub mask: u64,
    pub pc: Pc,
    pub state: State,
    /// Synchronisations of this warp since the last barrier of the block.
    pub syncs: u32,
    pub narrow: Vec<Narrow<W>>,
    pub wide: Vec<Wide<W>>,
    /// Saved masks of enclosing statements.
    pub masks: Vec<u64>,
    /// For each watched variable, the lanes in which it has a value.
    pub defined: Vec<u64>,
    pub private: Vec<PrivateArray<W>>,
    /// In a look-back, the next tile to look at.
    pub looking: i64,
    /// Asynchronous copies of its lanes that are under way.
    pub pending: Vec<Pending>,
    /// For each lane, the number of groups of copies that it has committed.
    pub commits: Vec<u32>,
}

impl<const W: usize> Warp<W> {
    pub fn new(code: &Code, private: &[LocalArray], number: usize, threads: u32) -> Warp<W> {
        let rest = threads.saturating_sub(number as u32 * W as u32);
        let exists = lowest_lanes((rest as usize).min(W));
        let private = private
            .iter()
            .map(|a| {
                let elements = a.elements() as usize;
                let (narrow, wide) = if is_wide(a.dtype) { (0, elements) } else { (elements, 0) };
                PrivateArray {
                    // Arbitrary initial contents: NaN, minus one.
                    narrow: vec![[u32::MAX; W]; narrow],
                    wide: vec![[u64::MAX; W]; wide],
                    valued: vec![0; elements],
                }
            })
            .collect();
        Warp {
            number,
            exists,
            narrow: vec![[0; W]; code.narrow],
            wide: vec![[0; W]; code.wide],
            masks: vec![0; code.masks],
            defined: vec![0; code.watched],
            private,
            commits: vec![0; W],
            ..Warp::default()
        }
    }

    /// Resets it for another block.
    pub fn restart(&mut self) {
        (self.pc, self.mask, self.state, self.syncs) = (0, self.exists, State::Running, 0);
        self.defined.fill(0);
        self.commits.fill(0);
        self.pending.clear();
        for array in &mut self.private {
            array.valued.fill(0);
        }
    }

    /// The lanes of an index register.
    pub fn index(&self, wide: bool, reg: Reg) -> [i64; W] {
        let mut out = [0; W];
        if wide {
            for (to, from) in out.iter_mut().zip(&self.wide[reg as usize]) {
                *to = *from as i64;
            }
        } else {
            for (to, from) in out.iter_mut().zip(&self.narrow[reg as usize]) {
                *to = i64::from(*from as i32);
            }
        }
        out
    }
}

/// A shared array of one block.
#[derive(Debug)]
pub(crate) struct SharedArray {
    /// The register word of each element.
    pub cells: Vec<u64>,
    /// The last write of each element, as a stamp; 0 if there was none.
    pub written: Vec<u64>,
    /// Of each element, whether what is recorded as its last write is updates of one kind, and of
    /// which. Empty until the first update.
    pub updates: Vec<Option<Atomic>>,
    /// The reads of each element, as a stamp.
    pub read: Vec<u64>,
    /// Its offset in the block's shared memory, in bytes.
    pub base: i64,
}

impl SharedArray {
    pub fn all(arrays: &[LocalArray]) -> Vec<SharedArray> {
        let mut base = 0;
        arrays
            .iter()
            .map(|a| {
                let n = a.elements() as usize;
                let begin = base;
                base += a.bytes().next_multiple_of(16) as i64;
                SharedArray {
                    cells: vec![u64::MAX; n],
                    written: vec![0; n],
                    updates: Vec::new(),
                    read: vec![0; n],
                    base: begin,
                }
            })
            .collect()
    }

    /// Resets it for another block.
    pub fn restart(&mut self) {
        self.written.fill(0);
        self.updates.fill(None);
        self.read.fill(0);
    }

    /// Records that an element is written.
    pub fn wrote(&mut self, cell: usize, now: Stamp) {
        self.written[cell] = now.bits();
        if let Some(updates) = self.updates.get_mut(cell) {
            *updates = None;
        }
    }

    /// Records a read of an element. Returns whether it conflicts with an earlier access.
    pub fn is_read(&mut self, cell: usize, now: Stamp) -> bool {
        self.read[cell] = Stamp::from_bits(self.read[cell]).joined(now).bits();
        Stamp::from_bits(self.written[cell]).conflicts(now)
    }

    /// Records a write of an element. Returns whether it conflicts with an earlier access.
    pub fn is_written(&mut self, cell: usize, now: Stamp) -> bool {
        let earlier = [self.written[cell], self.read[cell]];
        self.wrote(cell, now);
        earlier.into_iter().any(|stamp| Stamp::from_bits(stamp).conflicts(now))
    }

    /// Records an update of an element. Returns whether it conflicts with an earlier access.
    pub fn is_updated(&mut self, cell: usize, now: Stamp, atomic: Atomic) -> bool {
        self.updates.resize(self.cells.len(), None);
        let (written, read) = (Stamp::from_bits(self.written[cell]), Stamp::from_bits(self.read[cell]));
        if self.updates[cell] == Some(atomic) {
            self.written[cell] = written.joined(now).bits();
            return read.conflicts(now);
        }
        // Later updates conflict with what comes before this one: it is kept as a read, with which
        // they conflict likewise.
        self.read[cell] = self.read[cell].max(self.written[cell]);
        self.written[cell] = now.bits();
        self.updates[cell] = Some(atomic);
        written.conflicts(now) || read.conflicts(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Way {
        Read,
        Write,
        Update(Atomic),
    }

    /// One thing that happens: a barrier, a synchronisation of warp 0, an access by this warp and
    /// lane.
    #[derive(Clone, Copy, Debug)]
    enum Happens {
        Barrier,
        Sync,
        Access(usize, usize, Way),
    }

    /// An access with its time.
    type Known = (u32, u32, usize, usize, Way);

    /// Whether two accesses may not come in either order, directly by the rules.
    fn conflict(a: Known, b: Known) -> bool {
        let commute = match (a.4, b.4) {
            (Way::Read, Way::Read) => true,
            (Way::Update(x), Way::Update(y)) => x == y,
            _ => false,
        };
        let same_thread = (a.2, a.3) == (b.2, b.3);
        let ordered = a.0 != b.0 || a.2 == b.2 && a.1 != b.1;
        !commute && !same_thread && !ordered
    }

    /// In all short histories of an element of shared memory, an access is reported if and only if
    /// it is unordered with one before it.
    #[test]
    fn short_histories_of_a_shared_element() {
        let mut alphabet = vec![Happens::Barrier, Happens::Sync];
        for way in [Way::Read, Way::Write, Way::Update(Atomic::Add), Way::Update(Atomic::Max)] {
            alphabet.extend([(0, 0), (0, 1), (1, 0)].map(|(w, l)| Happens::Access(w, l, way)));
        }
        let length = 5;
        let mut races = 0;
        for number in 0..alphabet.len().pow(length) {
            let mut array =
                SharedArray { cells: vec![0], written: vec![0], updates: Vec::new(), read: vec![0], base: 0 };
            let (mut barriers, mut syncs, mut rest) = (0, [0; 2], number);
            let mut known: Vec<Known> = Vec::new();
            for _ in 0..length {
                let happens = alphabet[rest % alphabet.len()];
                rest /= alphabet.len();
                let (warp, lane, way) = match happens {
                    Happens::Barrier => {
                        (barriers, syncs) = (barriers + 1, [0; 2]);
                        continue;
                    }
                    Happens::Sync => {
                        syncs[0] += 1;
                        continue;
                    }
                    Happens::Access(warp, lane, way) => (warp, lane, way),
                };
                let now = Stamp::new(barriers, syncs[warp], warp).lane(lane);
                let found = match way {
                    Way::Read => array.is_read(0, now),
                    Way::Write => array.is_written(0, now),
                    Way::Update(atomic) => array.is_updated(0, now, atomic),
                };
                let this = (barriers, syncs[warp], warp, lane, way);
                let expected = known.iter().any(|earlier| conflict(*earlier, this));
                assert_eq!(found, expected, "{known:?}, then {this:?}");
                if found {
                    races += 1;
                    break;
                }
                known.push(this);
            }
        }
        assert!(races > 0);
    }
}
