//! Records which thread last accessed each cell, and checks whether a new access is ordered after
//! it.
//!
//! Within a block, an access carries a [`Stamp`]: the number of block barriers its warp has passed,
//! the number of warp synchronisations since the last of them, its warp and its lane. Two accesses
//! by different threads are ordered if a block barrier is between them or, within one warp, a
//! synchronisation of the warp. Of the writes of a cell the last one suffices: an earlier write
//! that is unordered with the new access would also be unordered with the last write and have been
//! reported there, or else be ordered before it. Of the reads since then, the latest of each warp
//! would be needed; "several warps" and "several lanes" stand for more than one, since every writer
//! then conflicts with another thread.
//!
//! Between blocks of a launch nothing is ordered. A cell of global memory records the launch and
//! block of the last write and of the reads; an access by a second block is a race if one of the
//! two writes. Blocks run concurrently, so each side first announces its access and then looks for
//! the other: at least one of them sees it. Atomic updates of the same kind do not race with each
//! other. With other accesses they are ordered as writes are: those of one block by its barriers,
//! those of several blocks with nothing in the same launch. Blocks of a launch with updates of
//! global memory run one after another.

use std::sync::atomic::{AtomicU64, Ordering};

use loopwright_program::Atomic;

/// When an access happens, and in which thread of the block. From the highest bit down: 25 bits of
/// barriers (plus one, so that no stamp is 0), 25 of warp synchronisations, 7 of the warp, 7 of the
/// lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

/// Bits of the number of a lane, and of a warp.
const LANE: u32 = 7;
/// Bits of the number of synchronisations.
const TIME: u32 = 25;
/// Denotes several warps or several lanes: the greatest number, which no warp or lane has.
const SEVERAL: u64 = (1 << LANE) - 1;
/// The greatest number of barriers, and of warp synchronisations between two of them, that a stamp
/// can represent.
pub(crate) const MOST_SYNCS: u32 = (1 << TIME) - 2;

impl Stamp {
    /// The stamp of a cell that nothing has accessed.
    pub const NONE: Stamp = Stamp(0);

    /// The stamp of lane 0 of a warp; see [`Stamp::lane`].
    pub fn new(barriers: u32, syncs: u32, warp: usize) -> Stamp {
        Stamp(
            u64::from(barriers + 1) << (TIME + 2 * LANE)
                | u64::from(syncs) << (2 * LANE)
                | (warp as u64) << LANE,
        )
    }

    /// The same time and warp, with this lane.
    pub fn lane(self, lane: usize) -> Stamp {
        Stamp(self.0 & !SEVERAL | lane as u64)
    }

    pub fn from_bits(bits: u64) -> Stamp {
        Stamp(bits)
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    fn barriers(self) -> u64 {
        self.0 >> (TIME + 2 * LANE)
    }

    fn warp(self) -> u64 {
        self.0 >> LANE & SEVERAL
    }

    /// Whether this earlier access (of one thread or several) may be unordered with `now`.
    #[inline]
    pub fn conflicts(self, now: Stamp) -> bool {
        if self.barriers() != now.barriers() || self == now {
            return false;
        }
        // Within one warp: unordered only if no warp synchronisation is between them. The lanes
        // differ then.
        self.warp() != now.warp() || self.0 >> LANE == now.0 >> LANE
    }

    /// The reads so far, with one more added.
    #[inline]
    pub fn joined(self, now: Stamp) -> Stamp {
        if self == now || self.barriers() != now.barriers() {
            return now;
        }
        if self.warp() != now.warp() {
            return Stamp(now.0 | SEVERAL << LANE | SEVERAL);
        }
        // One warp: its reads before the last synchronisation are ordered before everything that
        // follows.
        if self.0 >> LANE != now.0 >> LANE { now } else { Stamp(now.0 | SEVERAL) }
    }
}

/// The access history of a cell of global memory: two words for writes, two for reads.
#[derive(Debug, Default)]
pub(crate) struct GlobalCell {
    writer: AtomicU64,
    written: AtomicU64,
    reader: AtomicU64,
    read: AtomicU64,
}

/// The earlier access that an access conflicts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    None,
    InBlock,
    BetweenBlocks,
}

/// A launch and a block of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    bits: u64,
}

impl Who {
    /// Launches count from 1, blocks are less than [`MOST_BLOCKS`].
    pub fn new(launch: u32, block: u32) -> Who {
        Who { bits: u64::from(launch) << 32 | u64::from(block) }
    }

    /// Whether an access that a cell records was made in this launch.
    fn shares_launch(self, recorded: u64) -> bool {
        (recorded & !IN_BLOCK) >> 32 == self.bits >> 32
    }
}

/// The bits of a block's number.
const BLOCK_BITS: u32 = 27;

/// Denotes several blocks, in place of a block number.
const SEVERAL_BLOCKS: u64 = (1 << BLOCK_BITS) - 1;

/// The bits above a block's number that say which kind of updates a cell records, 0 for a write.
const KIND: u64 = 31 << BLOCK_BITS;

/// The bit above the number of a launch that says that updates are one step in their block alone.
const IN_BLOCK: u64 = 1 << 63;

/// The number of updates that a program may declare, so that each has a mark of its own.
pub(crate) const MOST_DECLARED: usize = 31 - 5;

/// The mark of updates of a kind; those of a program's own are less than [`MOST_DECLARED`].
const fn kind(atomic: Atomic) -> u64 {
    let number = match atomic {
        Atomic::Add => 1,
        Atomic::Min => 2,
        Atomic::Max => 3,
        Atomic::And => 4,
        Atomic::Or => 5,
        Atomic::By(number) => 6 + number as u64,
    };
    number << BLOCK_BITS
}

/// The number of block numbers that are distinct from the mark for several blocks.
pub(crate) const MOST_BLOCKS: u32 = SEVERAL_BLOCKS as u32;

impl GlobalCell {
    fn meet(&self, other: u64, stamp: &AtomicU64, who: Who, now: Stamp) -> Conflict {
        if other & !(KIND | IN_BLOCK) == who.bits {
            let earlier = Stamp::from_bits(stamp.load(Ordering::Relaxed));
            return if earlier.conflicts(now) { Conflict::InBlock } else { Conflict::None };
        }
        if who.shares_launch(other) { Conflict::BetweenBlocks } else { Conflict::None }
    }

    /// Records a write; whether it conflicts with an earlier access.
    pub fn write(&self, who: Who, now: Stamp) -> Conflict {
        let mut other = self.writer.load(Ordering::SeqCst);
        if other != who.bits {
            other = self.writer.swap(who.bits, Ordering::SeqCst);
        }
        let mut conflict = self.meet(other, &self.written, who, now);
        if conflict == Conflict::None {
            conflict = self.meet(self.reader.load(Ordering::SeqCst), &self.read, who, now);
        }
        self.written.store(now.bits(), Ordering::Relaxed);
        conflict
    }

    /// Records an update, and whether it is one step in its block alone. Updates of one kind need
    /// no order, unless they are of different blocks and one of them is such; with other accesses
    /// they are in order as writes are. No other block runs at the same time.
    pub fn update(&self, who: Who, now: Stamp, (atomic, in_block): (Atomic, bool)) -> Conflict {
        let (own, other) = (who.bits | kind(atomic), self.writer.load(Ordering::SeqCst));
        let narrow = other & IN_BLOCK | if in_block { IN_BLOCK } else { 0 };
        let same = who.shares_launch(other) && other & KIND == kind(atomic);
        if same {
            if other & !IN_BLOCK == own {
                let joined = Stamp::from_bits(self.written.load(Ordering::Relaxed)).joined(now);
                self.written.store(joined.bits(), Ordering::Relaxed);
                self.writer.store(own | narrow, Ordering::SeqCst);
            } else if narrow != 0 {
                return Conflict::BetweenBlocks;
            } else {
                self.writer.store(own | SEVERAL_BLOCKS, Ordering::SeqCst);
            }
            return self.meet(self.reader.load(Ordering::SeqCst), &self.read, who, now);
        }
        let mut conflict = self.meet(other, &self.written, who, now);
        if conflict == Conflict::None {
            conflict = self.meet(self.reader.load(Ordering::SeqCst), &self.read, who, now);
        }
        // The mark replaces the block's own write, or its updates of another kind, with which later
        // updates have to conflict: these are kept as a read, with which they conflict likewise.
        // They and the block's reads are ordered, so that the latest of them, the one with the
        // greatest stamp, suffices.
        if other & !(KIND | IN_BLOCK) == who.bits {
            let written = self.written.load(Ordering::Relaxed);
            if self.reader.swap(who.bits, Ordering::SeqCst) == who.bits {
                self.read.fetch_max(written, Ordering::Relaxed);
            } else {
                self.read.store(written, Ordering::Relaxed);
            }
        }
        let narrow = if in_block { IN_BLOCK } else { 0 };
        self.writer.store(own | narrow, Ordering::SeqCst);
        self.written.store(now.bits(), Ordering::Relaxed);
        conflict
    }

    /// Records a read; whether it conflicts with an earlier write.
    pub fn read(&self, who: Who, now: Stamp) -> Conflict {
        let mut reader = self.reader.load(Ordering::SeqCst);
        loop {
            if reader == who.bits {
                let joined = Stamp::from_bits(self.read.load(Ordering::Relaxed)).joined(now);
                self.read.store(joined.bits(), Ordering::Relaxed);
                break;
            }
            let several = who.bits | SEVERAL_BLOCKS;
            if reader == several {
                break;
            }
            let stale = !who.shares_launch(reader);
            let next = if stale { who.bits } else { several };
            match self.reader.compare_exchange(reader, next, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => {
                    self.read.store(now.bits(), Ordering::Relaxed);
                    break;
                }
                Err(found) => reader = found,
            }
        }
        self.meet(self.writer.load(Ordering::SeqCst), &self.written, who, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stamp of (barriers, warp synchronisations, warp, lane).
    fn at(b: u32, s: u32, warp: usize, lane: usize) -> Stamp {
        Stamp::new(b, s, warp).lane(lane)
    }

    #[test]
    fn barriers_and_warp_synchronisations_order() {
        assert!(!Stamp::NONE.conflicts(at(0, 0, 0, 0)) && !Stamp::NONE.conflicts(at(0, 0, 0, 1)));
        assert!(!at(0, 0, 0, 0).conflicts(at(0, 0, 0, 0)));
        assert!(at(0, 0, 0, 0).conflicts(at(0, 0, 0, 1)));
        assert!(at(0, 0, 0, 0).conflicts(at(0, 0, 1, 0)));
        // A warp synchronisation orders its own warp, not others.
        assert!(!at(0, 0, 0, 0).conflicts(at(0, 1, 0, 1)));
        assert!(at(0, 0, 0, 0).conflicts(at(0, 1, 1, 0)));
        assert!(!at(0, 3, 0, 0).conflicts(at(1, 0, 1, 5)));
        assert!(at(0, 0, 31, 31).conflicts(at(0, 0, 0, 31)));
        // The last lane of a warp of 64 is one lane, not several.
        assert!(!at(0, 0, 2, 63).conflicts(at(0, 0, 2, 63)) && at(0, 0, 2, 63).conflicts(at(0, 0, 2, 62)));
        assert!(!at(0, 0, 63, 0).conflicts(at(0, 1, 63, 1)));
        // However many synchronisations a warp has passed, that was no barrier, nor the reverse.
        assert!(at(0, 0, 0, 0).conflicts(at(0, MOST_SYNCS, 1, 0)));
        assert!(at(0, MOST_SYNCS, 0, 0).conflicts(at(0, 0, 1, 0)));
        assert!(!at(MOST_SYNCS - 1, MOST_SYNCS, 0, 0).conflicts(at(MOST_SYNCS, MOST_SYNCS, 1, 0)));
    }

    #[test]
    fn readers_are_kept_as_far_as_writers_need_them() {
        let one_warp = at(0, 0, 2, 0).joined(at(0, 0, 2, 1));
        assert!(one_warp.conflicts(at(0, 0, 2, 0)) && one_warp.conflicts(at(0, 0, 2, 1)));
        assert!(!one_warp.conflicts(at(0, 1, 2, 0)) && one_warp.conflicts(at(0, 1, 3, 0)));
        let later = one_warp.joined(at(0, 1, 2, 4));
        assert!(!later.conflicts(at(0, 1, 2, 4)) && later.conflicts(at(0, 1, 2, 5)));
        let warps = later.joined(at(0, 0, 1, 0));
        assert!(warps.conflicts(at(0, 5, 1, 0)) && warps.conflicts(at(0, 5, 2, 0)));
        assert!(warps.joined(at(0, 5, 1, 0)).conflicts(at(0, 6, 1, 0)));
        assert!(!warps.conflicts(at(1, 0, 1, 0)));
    }

    #[test]
    fn all_blocks_that_read_a_cell_count() {
        let now = at(0, 0, 0, 0);
        let blocks = [0, 3, 7].map(|block| Who::new(2, block));
        // Whichever of the readers writes, another one has read, even if the writer read last.
        for count in 2..=3 {
            for writer in &blocks[..count] {
                let cell = GlobalCell::default();
                for reader in &blocks[..count] {
                    assert_eq!(cell.read(*reader, now), Conflict::None);
                }
                // Another read must not discard the other readers.
                assert_eq!(cell.read(blocks[count - 1], now), Conflict::None);
                assert_eq!(cell.write(*writer, at(1, 0, 0, 0)), Conflict::BetweenBlocks);
                let cell = GlobalCell::default();
                blocks[..count].iter().for_each(|reader| _ = cell.read(*reader, now));
                assert_eq!(
                    cell.update(*writer, at(1, 0, 0, 0), (Atomic::Add, false)),
                    Conflict::BetweenBlocks
                );
            }
        }
        // A block that reads twice is one reader, and readers of an earlier launch do not count.
        let cell = GlobalCell::default();
        blocks.iter().for_each(|reader| _ = cell.read(*reader, now));
        let later = Who::new(3, 3);
        assert_eq!(cell.read(later, now), Conflict::None);
        assert_eq!(cell.read(later, at(0, 0, 0, 1)), Conflict::None);
        assert_eq!(cell.write(later, at(1, 0, 0, 0)), Conflict::None);
    }

    /// Updates of two blocks need no order if they are of one kind, and only then.
    #[test]
    fn each_kind_of_update_has_a_mark_of_its_own() {
        let library = [Atomic::Add, Atomic::Min, Atomic::Max, Atomic::And, Atomic::Or];
        let kinds: Vec<Atomic> = library.into_iter().chain((0..MOST_DECLARED).map(Atomic::By)).collect();
        let now = at(0, 0, 0, 0);
        for a in &kinds {
            for b in &kinds {
                let cell = GlobalCell::default();
                assert_eq!(cell.update(Who::new(1, 0), now, (*a, false)), Conflict::None);
                let expected = if a == b { Conflict::None } else { Conflict::BetweenBlocks };
                assert_eq!(cell.update(Who::new(1, 1), now, (*b, false)), expected, "{a:?} {b:?}");
            }
        }
    }

    /// Updates that are one step in their block alone race with those of other blocks, and with no
    /// others of their own.
    #[test]
    fn updates_of_a_block_race_with_those_of_others() {
        let now = at(0, 0, 0, 0);
        let (a, b) = (Who::new(1, 3), Who::new(1, 4));
        for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
            let cell = GlobalCell::default();
            assert_eq!(cell.update(a, now, (Atomic::Add, first)), Conflict::None);
            assert_eq!(cell.update(a, at(0, 0, 2, 1), (Atomic::Add, false)), Conflict::None);
            let expected = if first || second { Conflict::BetweenBlocks } else { Conflict::None };
            assert_eq!(cell.update(b, now, (Atomic::Add, second)), expected, "{first} {second}");
            assert_eq!(cell.update(Who::new(2, 4), now, (Atomic::Add, true)), Conflict::None);
            assert_eq!(cell.update(Who::new(2, 4), at(0, 0, 1, 0), (Atomic::Max, true)), Conflict::InBlock);
        }
        // Several blocks before.
        let cell = GlobalCell::default();
        assert_eq!(cell.update(a, now, (Atomic::Add, false)), Conflict::None);
        assert_eq!(cell.update(b, now, (Atomic::Add, false)), Conflict::None);
        assert_eq!(cell.update(b, now, (Atomic::Add, true)), Conflict::BetweenBlocks);
        assert_eq!(cell.write(a, at(1, 0, 0, 0)), Conflict::BetweenBlocks);
    }

    /// Whichever blocks update, their mark is not that of another block.
    #[test]
    fn blocks_that_update_together_are_not_a_third_one() {
        let (now, later) = (at(0, 0, 0, 0), at(1, 0, 0, 0));
        let numbers = [0, 1, 2, 5, 1 << 26, (1 << 26) + 1, MOST_BLOCKS - 5, MOST_BLOCKS - 2, MOST_BLOCKS - 1];
        for a in numbers {
            for b in numbers.into_iter().filter(|b| *b != a) {
                for c in numbers {
                    let cell = GlobalCell::default();
                    for block in [a, b] {
                        assert_eq!(
                            cell.update(Who::new(1, block), now, (Atomic::Add, false)),
                            Conflict::None
                        );
                    }
                    assert_eq!(cell.write(Who::new(1, c), later), Conflict::BetweenBlocks, "{a} {b} {c}");
                }
            }
        }
    }

    #[test]
    fn blocks_of_one_launch_are_not_ordered() {
        let (a, b) = (Who::new(1, 0), Who::new(1, 7));
        let now = at(0, 0, 0, 0);
        let cell = GlobalCell::default();
        assert_eq!(cell.read(a, now), Conflict::None);
        assert_eq!(cell.read(b, now), Conflict::None);
        assert_eq!(cell.write(a, now), Conflict::BetweenBlocks);
        let cell = GlobalCell::default();
        assert_eq!(cell.write(a, now), Conflict::None);
        assert_eq!(cell.read(a, at(0, 0, 0, 1)), Conflict::InBlock);
        assert_eq!(cell.read(a, at(1, 0, 0, 1)), Conflict::None);
        assert_eq!(cell.read(b, at(1, 0, 0, 1)), Conflict::BetweenBlocks);
        // Updates of one kind are unordered among themselves, but conflict with any other access
        // that no barrier of their only block separates from them.
        let cell = GlobalCell::default();
        assert_eq!(cell.update(a, now, (Atomic::Add, false)), Conflict::None);
        assert_eq!(cell.update(b, now, (Atomic::Add, false)), Conflict::None);
        assert_eq!(cell.read(b, at(1, 0, 0, 0)), Conflict::BetweenBlocks);
        assert_eq!(cell.update(a, now, (Atomic::Max, false)), Conflict::BetweenBlocks);
        assert_eq!(cell.read(Who::new(2, 0), now), Conflict::None);
        assert_eq!(cell.update(Who::new(2, 1), now, (Atomic::Add, false)), Conflict::BetweenBlocks);
        let cell = GlobalCell::default();
        assert_eq!(cell.write(a, now), Conflict::None);
        assert_eq!(cell.update(a, at(0, 0, 0, 1), (Atomic::Add, false)), Conflict::InBlock);
        let cell = GlobalCell::default();
        assert_eq!(cell.write(a, now), Conflict::None);
        assert_eq!(cell.update(a, at(1, 0, 0, 1), (Atomic::Add, false)), Conflict::None);
        let cell = GlobalCell::default();
        assert_eq!(cell.write(a, now), Conflict::None);
        assert_eq!(cell.update(b, now, (Atomic::Add, false)), Conflict::BetweenBlocks);
        assert_eq!(cell.update(Who::new(2, 1), now, (Atomic::Add, false)), Conflict::None);
        let cell = GlobalCell::default();
        assert_eq!(cell.update(a, now, (Atomic::Or, false)), Conflict::None);
        assert_eq!(cell.update(a, at(0, 0, 1, 0), (Atomic::Or, false)), Conflict::None);
        assert_eq!(cell.read(a, at(1, 0, 0, 0)), Conflict::None);
        assert_eq!(cell.read(b, at(1, 0, 0, 0)), Conflict::BetweenBlocks);
        // The next launch is ordered after it.
        let cell = GlobalCell::default();
        assert_eq!(cell.write(Who::new(2, 7), now), Conflict::None);
        assert_eq!(cell.read(Who::new(2, 7), now), Conflict::None);
    }
    /// One thing that happens in a history.
    #[derive(Clone, Copy, Debug)]
    enum Happens {
        /// A barrier of this block.
        Barrier(usize),
        /// A synchronisation of this warp of a block.
        Sync(usize, usize),
        /// The next launch.
        Launch,
        /// An access of this block, warp and lane.
        Access(usize, usize, usize, Way),
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Way {
        Read,
        Write,
        Update(Atomic),
    }

    /// An access with its complete position in the history.
    #[derive(Clone, Copy, Debug)]
    struct Known {
        launch: u32,
        block: usize,
        warp: usize,
        lane: usize,
        barriers: u32,
        syncs: u32,
        way: Way,
    }

    /// The relation of two accesses, directly by the rules.
    fn rule(first: &Known, second: &Known) -> Conflict {
        match (first.way, second.way) {
            (Way::Read, Way::Read) => return Conflict::None,
            (Way::Update(a), Way::Update(b)) if a == b => return Conflict::None,
            _ => {}
        }
        if first.launch != second.launch {
            return Conflict::None;
        }
        if first.block != second.block {
            return Conflict::BetweenBlocks;
        }
        let same_thread = (first.warp, first.lane) == (second.warp, second.lane);
        let synchronised = first.warp == second.warp && first.syncs != second.syncs;
        if same_thread || synchronised || first.barriers != second.barriers {
            Conflict::None
        } else {
            Conflict::InBlock
        }
    }

    /// All histories of this length: an access is reported if and only if it is unordered with one
    /// of those before it. A history ends with its first race. Returns the number of races.
    fn histories(alphabet: &[Happens], length: usize) -> usize {
        let mut races = 0;
        let mut digits = vec![0; length];
        'histories: loop {
            let (cell, mut known) = (GlobalCell::default(), Vec::new());
            let (mut launch, mut barriers, mut syncs) = (1, [0; 2], [[0; 2]; 2]);
            for (step, &digit) in digits.iter().enumerate() {
                let (block, warp, lane, way) = match alphabet[digit] {
                    Happens::Barrier(block) => {
                        barriers[block] += 1;
                        syncs[block] = [0; 2];
                        continue;
                    }
                    Happens::Sync(block, warp) => {
                        syncs[block][warp] += 1;
                        continue;
                    }
                    Happens::Launch => {
                        launch += 1;
                        (barriers, syncs) = ([0; 2], [[0; 2]; 2]);
                        continue;
                    }
                    Happens::Access(block, warp, lane, way) => (block, warp, lane, way),
                };
                let (barriers, syncs) = (barriers[block], syncs[block][warp]);
                let now = Known { launch, block, warp, lane, barriers, syncs, way };
                let stamp = at(barriers, syncs, warp, lane);
                let who = Who::new(launch, block as u32);
                let found = match way {
                    Way::Read => cell.read(who, stamp),
                    Way::Write => cell.write(who, stamp),
                    Way::Update(atomic) => cell.update(who, stamp, (atomic, false)),
                };
                let expected: Vec<Conflict> =
                    known.iter().map(|k| rule(k, &now)).filter(|c| *c != Conflict::None).collect();
                let history = || digits[..=step].iter().map(|d| alphabet[*d]).collect::<Vec<_>>();
                assert_eq!(found != Conflict::None, !expected.is_empty(), "{found:?}: {:?}", history());
                if found != Conflict::None {
                    assert!(expected.contains(&found), "{found:?}: {:?}", history());
                    races += 1;
                    break;
                }
                known.push(now);
            }
            for digit in &mut digits {
                *digit += 1;
                if *digit < alphabet.len() {
                    continue 'histories;
                }
                *digit = 0;
            }
            return races;
        }
    }

    #[test]
    fn short_histories_of_one_block() {
        use Happens::{Access, Barrier, Sync};
        let mut alphabet = vec![Barrier(0), Sync(0, 0), Sync(0, 1)];
        for way in [Way::Read, Way::Write] {
            alphabet.extend([Access(0, 0, 0, way), Access(0, 0, 1, way), Access(0, 1, 0, way)]);
        }
        assert!(histories(&alphabet, 5) > 0);
    }

    /// Updates of one block are ordered with its other accesses as writes are.
    #[test]
    fn short_histories_of_updates_of_one_block() {
        use Happens::{Access, Barrier, Launch, Sync};
        let mut alphabet = vec![Barrier(0), Sync(0, 0), Launch, Access(0, 0, 0, Way::Update(Atomic::Max))];
        for way in [Way::Read, Way::Write, Way::Update(Atomic::Add)] {
            alphabet.extend([Access(0, 0, 0, way), Access(0, 0, 1, way), Access(0, 1, 0, way)]);
        }
        assert!(histories(&alphabet, 5) > 0);
    }

    #[test]
    fn short_histories_of_two_blocks() {
        use Happens::{Access, Barrier, Launch, Sync};
        let mut alphabet = vec![Barrier(0), Launch];
        for way in [Way::Read, Way::Write, Way::Update(Atomic::Add), Way::Update(Atomic::Max)] {
            alphabet.extend([Access(0, 0, 0, way), Access(1, 0, 0, way)]);
        }
        alphabet.push(Access(0, 0, 1, Way::Update(Atomic::Add)));
        assert!(histories(&alphabet, 5) > 0);
        // Threads of several warps, and updates of one kind.
        let mut alphabet = vec![Sync(0, 0), Barrier(0), Access(1, 0, 0, Way::Update(Atomic::Add))];
        for way in [Way::Read, Way::Write, Way::Update(Atomic::Add)] {
            alphabet.extend([Access(0, 0, 0, way), Access(0, 0, 1, way), Access(0, 1, 0, way)]);
        }
        assert!(histories(&alphabet, 5) > 0);
    }
}
