//! The number of sectors and wavefronts of one memory instruction of a warp.

use crate::{
    counters::{GlobalTraffic, SharedTraffic},
    words::{active, lowest_lanes},
};

/// The bytes of a sector of global memory; four of them are a line of the cache.
pub(crate) const SECTOR: u64 = 32;
/// The banks of shared memory, each of which delivers one word in a pass.
const BANKS: usize = 32;
/// The bytes of a word of a bank.
const WORD: u64 = 4;

/// The number of the sector of an address.
fn sector(address: i64) -> i64 {
    address.div_euclid(SECTOR as i64)
}

/// The number of the word of an address in shared memory.
fn word(address: i64) -> i64 {
    address.div_euclid(WORD as i64)
}

/// The sectors that `bytes` bytes from each active lane's address touch. An access crosses
/// more than one sector boundary only if it is misaligned, which does not occur.
pub(crate) fn global<const W: usize>(address: &[i64; W], mask: u64, bytes: u64) -> GlobalTraffic {
    let lanes = u64::from(mask.count_ones());
    if lanes == 1 {
        return GlobalTraffic { requests: 1, sectors: 1, lines: 1, bytes };
    }
    let (mut sectors, mut lines) = (0, 0);
    let mut last = -1;
    let mut rising = true;
    for lane in active(mask) {
        let sector = sector(address[lane]);
        rising &= sector >= last;
        sectors += u64::from(sector != last);
        lines += u64::from(sector >> 2 != last >> 2);
        last = sector;
    }
    if !rising {
        let mut all: Vec<_> = active(mask).map(|lane| sector(address[lane])).collect();
        all.sort_unstable();
        all.dedup();
        sectors = all.len() as u64;
        all.iter_mut().for_each(|sector| *sector >>= 2);
        all.dedup();
        lines = all.len() as u64;
    }
    GlobalTraffic { requests: u64::from(lanes > 0), sectors, lines, bytes: lanes * bytes }
}

/// Wavefronts of an access of `bytes` bytes from each active lane's address. Lanes are served in
/// groups that ask for one word of each bank: 32 lanes of 4 bytes, 16 of 8, 8 of 16.
pub(crate) fn shared<const W: usize>(address: &[i64; W], mask: u64, bytes: u64) -> SharedTraffic {
    let words = bytes.div_ceil(WORD).max(1) as usize;
    let group = (BANKS / words.next_power_of_two()).clamp(1, W);
    let mut traffic = SharedTraffic { requests: 1, ..SharedTraffic::default() };
    for (n, address) in address.chunks_exact(group).enumerate() {
        let members = mask >> (n * group) & lowest_lanes(group);
        if members == 0 {
            continue;
        }
        let passes = passes(address, members, words as i64);
        traffic.wavefronts += passes;
        traffic.conflicts += passes - 1;
    }
    traffic.bytes = u64::from(mask.count_ones()) * bytes;
    traffic
}

/// The greatest number of distinct words that one bank has to deliver to these lanes of a group.
fn passes(address: &[i64], members: u64, words: i64) -> u64 {
    if members.is_power_of_two() {
        return 1;
    }
    if words == 1 && members == lowest_lanes(address.len()) {
        // All lanes access the same word, or consecutive words.
        let (mut same, mut run) = (0, 0);
        for (lane, a) in address.iter().enumerate() {
            let distance = word(*a).wrapping_sub(word(address[0]));
            same |= distance;
            run |= distance ^ lane as i64;
        }
        if same == 0 || run == 0 {
            return 1;
        }
    }
    let bank = |word: i64| word as usize % BANKS;
    let mut first = [-1i64; BANKS];
    let mut clash = false;
    for lane in active(members) {
        for k in 0..words {
            let word = word(address[lane]) + k;
            clash |= first[bank(word)] >= 0 && first[bank(word)] != word;
            first[bank(word)] = word;
        }
    }
    if !clash {
        return 1;
    }
    let mut all: Vec<i64> =
        active(members).flat_map(|lane| (0..words).map(move |k| word(address[lane]) + k)).collect();
    all.sort_unstable();
    all.dedup();
    let mut count = [0u64; BANKS];
    for word in all {
        count[bank(word)] += 1;
    }
    count.into_iter().max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u64 = lowest_lanes(32);

    fn lanes<const W: usize>(f: impl Fn(i64) -> i64) -> [i64; W] {
        std::array::from_fn(|lane| f(lane as i64))
    }

    #[test]
    fn sectors_are_the_pieces_of_32_bytes_touched() {
        let count = |f: fn(i64) -> i64, bytes| global::<32>(&lanes(f), ALL, bytes).sectors;
        assert_eq!(count(|l| 4 * l, 4), 4);
        assert_eq!(count(|l| 4 * l + 16, 4), 5);
        assert_eq!(count(|l| 4 * (31 - l), 4), 4);
        assert_eq!(count(|l| 128 * l, 4), 32);
        assert_eq!(count(|_| 64, 4), 1);
        assert_eq!(count(|l| 16 * l, 16), 16);
        // Lanes alternate between two addresses: neither increasing nor decreasing.
        assert_eq!(count(|l| 4096 * (l & 1), 4), 2);
        assert_eq!(
            global::<32>(&lanes(|l| 4 * l), 0xff, 4),
            GlobalTraffic { requests: 1, sectors: 1, lines: 1, bytes: 32 }
        );
        let lines = |f: fn(i64) -> i64, bytes| global::<32>(&lanes(f), ALL, bytes).lines;
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
            let t = shared::<32>(&lanes(f), ALL, bytes);
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
            let t = shared::<64>(&lanes(f), u64::MAX, bytes);
            (t.wavefronts, t.conflicts)
        };
        assert_eq!(count(|l| 4 * l, 4), (2, 0));
        assert_eq!(count(|l| 8 * l, 4), (4, 2));
        assert_eq!(count(|l| 16 * l, 16), (8, 0));
        let upper = shared::<64>(&lanes(|l| 4 * l), u64::MAX << 32, 4);
        assert_eq!((upper.wavefronts, upper.bytes), (1, 128));
        let stored = global::<64>(&lanes(|l| 4 * l), u64::MAX, 4);
        assert_eq!(stored, GlobalTraffic { requests: 1, sectors: 8, lines: 2, bytes: 256 });
    }
}
