//! The number of sectors and wavefronts of one memory instruction of a warp.

use loopwright_program::Target;

use crate::{
    counters::{GlobalTraffic, SharedTraffic},
    words::{active, lowest_lanes},
};

/// The most banks that are counted apart; a target with more is counted as if it had this number.
const MOST_BANKS: usize = 64;

/// The pieces in which a target's memories deliver bytes, as powers of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    /// Bits of an address within a sector of global memory.
    sector: u32,
    /// Bits of a sector's number within a line.
    line: u32,
    /// Bits of an address within a word of a bank.
    word: u32,
    /// Banks of shared memory.
    banks: usize,
}

impl Pieces {
    /// The pieces in which the memories of a target deliver bytes.
    pub fn of(target: &Target) -> Pieces {
        let Target { sector, line, bank_word, banks, .. } = *target;
        let bits = |bytes: u32| bytes.max(1).ilog2();
        Pieces {
            sector: bits(sector),
            line: bits(line).saturating_sub(bits(sector)),
            word: bits(bank_word),
            banks: 1 << bits(banks.min(MOST_BANKS as u32)),
        }
    }

    /// The fewest sectors that hold so many bytes.
    pub fn sectors(&self, bytes: u64) -> u64 {
        bytes.div_ceil(1 << self.sector)
    }

    /// The number of the sector of an address.
    fn sector(&self, address: i64) -> i64 {
        address >> self.sector
    }

    /// The number of the word of an address in shared memory.
    fn word(&self, address: i64) -> i64 {
        address >> self.word
    }

    /// The sectors that `bytes` bytes from each active lane's address touch. An access crosses
    /// more than one sector boundary only if it is misaligned, which does not occur.
    pub fn global<const W: usize>(&self, address: &[i64; W], mask: u64, bytes: u64) -> GlobalTraffic {
        let lanes = u64::from(mask.count_ones());
        if lanes == 1 {
            let moved = 1 << self.sector;
            return GlobalTraffic { requests: 1, sectors: 1, lines: 1, bytes, moved };
        }
        let (mut sectors, mut lines) = (0, 0);
        let mut last = -1;
        let mut rising = true;
        for lane in active(mask) {
            let sector = self.sector(address[lane]);
            rising &= sector >= last;
            sectors += u64::from(sector != last);
            lines += u64::from(sector >> self.line != last >> self.line);
            last = sector;
        }
        if !rising {
            let mut all: Vec<_> = active(mask).map(|lane| self.sector(address[lane])).collect();
            all.sort_unstable();
            all.dedup();
            sectors = all.len() as u64;
            all.iter_mut().for_each(|sector| *sector >>= self.line);
            all.dedup();
            lines = all.len() as u64;
        }
        let requests = u64::from(lanes > 0);
        GlobalTraffic { requests, sectors, lines, bytes: lanes * bytes, moved: sectors << self.sector }
    }

    /// Wavefronts of an access of `bytes` bytes from each active lane's address. Lanes are served
    /// in groups that ask for one word of each bank: 32 lanes of 4 bytes, 16 of 8, 8 of 16.
    pub fn shared<const W: usize>(&self, address: &[i64; W], mask: u64, bytes: u64) -> SharedTraffic {
        let words = bytes.div_ceil(1 << self.word).max(1) as usize;
        let group = (self.banks / words.next_power_of_two()).clamp(1, W);
        let mut traffic = SharedTraffic { requests: 1, ..SharedTraffic::default() };
        for (n, address) in address.chunks_exact(group).enumerate() {
            let members = mask >> (n * group) & lowest_lanes(group);
            if members == 0 {
                continue;
            }
            let passes = self.passes(address, members, words as i64);
            traffic.wavefronts += passes;
            traffic.conflicts += passes - 1;
        }
        traffic.bytes = u64::from(mask.count_ones()) * bytes;
        traffic
    }

    /// The greatest number of distinct words that one bank has to deliver to these lanes of a
    /// group.
    fn passes(&self, address: &[i64], members: u64, words: i64) -> u64 {
        if members.is_power_of_two() {
            return 1;
        }
        if words == 1 && members == lowest_lanes(address.len()) {
            // All lanes access the same word, or consecutive words.
            let (mut same, mut run) = (0, 0);
            for (lane, a) in address.iter().enumerate() {
                let distance = self.word(*a).wrapping_sub(self.word(address[0]));
                same |= distance;
                run |= distance ^ lane as i64;
            }
            if same == 0 || run == 0 {
                return 1;
            }
        }
        let bank = |word: i64| word as usize & (self.banks - 1);
        let mut first = [-1i64; MOST_BANKS];
        let mut clash = false;
        for lane in active(members) {
            for k in 0..words {
                let word = self.word(address[lane]) + k;
                clash |= first[bank(word)] >= 0 && first[bank(word)] != word;
                first[bank(word)] = word;
            }
        }
        if !clash {
            return 1;
        }
        let mut all: Vec<i64> =
            active(members).flat_map(|lane| (0..words).map(move |k| self.word(address[lane]) + k)).collect();
        all.sort_unstable();
        all.dedup();
        let mut count = [0u64; MOST_BANKS];
        for word in all {
            count[bank(word)] += 1;
        }
        count.into_iter().max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sectors of 32 bytes, lines of 128, 32 banks of 4 bytes.
    const CUDA: Pieces = Pieces { sector: 5, line: 2, word: 2, banks: 32 };

    const ALL: u64 = lowest_lanes(32);

    fn lanes<const W: usize>(f: impl Fn(i64) -> i64) -> [i64; W] {
        std::array::from_fn(|lane| f(lane as i64))
    }

    #[test]
    fn pieces_are_those_of_the_target() {
        let of = |target: Target| {
            let Pieces { sector, line, word, banks } = Pieces::of(&target);
            (sector, line, word, banks)
        };
        assert_eq!(of(Target::cuda()), (5, 2, 2, 32));
        let other = Target { sector: 64, line: 64, banks: 64, bank_word: 8, ..Target::cuda() };
        assert_eq!(of(other), (6, 0, 3, 64));
        let pieces = Pieces::of(&other);
        let address: [i64; 32] = std::array::from_fn(|lane| 8 * lane as i64);
        let GlobalTraffic { sectors, lines, .. } = pieces.global(&address, ALL, 8);
        assert_eq!((sectors, lines, pieces.sectors(65)), (4, 4, 2));
        assert_eq!(pieces.shared(&address, ALL, 8).wavefronts, 1, "64 banks, one word for each lane");
    }

    #[test]
    fn sectors_are_the_pieces_of_32_bytes_touched() {
        let count = |f: fn(i64) -> i64, bytes| CUDA.global::<32>(&lanes(f), ALL, bytes).sectors;
        assert_eq!(count(|l| 4 * l, 4), 4);
        assert_eq!(count(|l| 4 * l + 16, 4), 5);
        assert_eq!(count(|l| 4 * (31 - l), 4), 4);
        assert_eq!(count(|l| 128 * l, 4), 32);
        assert_eq!(count(|_| 64, 4), 1);
        assert_eq!(count(|l| 16 * l, 16), 16);
        // Lanes alternate between two addresses: neither increasing nor decreasing.
        assert_eq!(count(|l| 4096 * (l & 1), 4), 2);
        assert_eq!(
            CUDA.global::<32>(&lanes(|l| 4 * l), 0xff, 4),
            GlobalTraffic { requests: 1, sectors: 1, lines: 1, bytes: 32, moved: 32 }
        );
        let lines = |f: fn(i64) -> i64, bytes| CUDA.global::<32>(&lanes(f), ALL, bytes).lines;
        assert_eq!(lines(|l| 4 * l, 4), 1);
        assert_eq!(lines(|l| 4 * l + 16, 4), 2);
        assert_eq!(lines(|l| 4 * (31 - l), 4), 1);
        // Two lanes per row: 32 bytes of each of 16 lines.
        assert_eq!(lines(|l| 4096 * (l / 2) + 16 * (l % 2), 16), 16);
        assert_eq!(lines(|l| 4096 * (l & 1), 4), 2);
    }

    #[test]
    fn wavefronts_follow_the_fullest_bank() {
        let count = |f: fn(i64) -> i64, bytes| {
            let t = CUDA.shared::<32>(&lanes(f), ALL, bytes);
            (t.wavefronts, t.conflicts)
        };
        assert_eq!(count(|l| 4 * l, 4), (1, 0));
        assert_eq!(count(|_| 4, 4), (1, 0));
        assert_eq!(count(|l| 8 * l, 4), (2, 1));
        assert_eq!(count(|l| 128 * l, 4), (32, 31));
        assert_eq!(count(|l| 132 * l, 4), (1, 0));
        // Half warps and quarter warps.
        assert_eq!(count(|l| 8 * l, 8), (2, 0));
        assert_eq!(count(|l| 16 * l, 16), (4, 0));
        assert_eq!(count(|l| 16 * l, 8), (4, 2));
        // Bytes of the same word count as one word.
        assert_eq!(count(|l| l, 1), (1, 0));
    }

    /// Warps of 64 lanes ask the same banks, which takes twice as long; their groups do not
    /// conflict with each other.
    #[test]
    fn wide_warps_are_served_in_more_groups() {
        let count = |f: fn(i64) -> i64, bytes| {
            let t = CUDA.shared::<64>(&lanes(f), u64::MAX, bytes);
            (t.wavefronts, t.conflicts)
        };
        assert_eq!(count(|l| 4 * l, 4), (2, 0));
        assert_eq!(count(|l| 8 * l, 4), (4, 2));
        assert_eq!(count(|l| 16 * l, 16), (8, 0));
        let upper = CUDA.shared::<64>(&lanes(|l| 4 * l), u64::MAX << 32, 4);
        assert_eq!((upper.wavefronts, upper.bytes), (1, 128));
        let stored = CUDA.global::<64>(&lanes(|l| 4 * l), u64::MAX, 4);
        assert_eq!(stored, GlobalTraffic { requests: 1, sectors: 8, lines: 2, bytes: 256, moved: 256 });
    }
}
