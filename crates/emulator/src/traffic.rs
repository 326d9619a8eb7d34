//! The number of sectors and wavefronts of one memory instruction of a warp.

use crate::{
    counters::{GlobalTraffic, SharedTraffic},
    words::{WARP, active},
};

/// The 32-byte sectors that `bytes` bytes from each active lane's address touch. An access crosses
/// more than one sector boundary only if it is misaligned, which does not occur.
pub(crate) fn global(address: &[i64; WARP], mask: u32, bytes: u64) -> GlobalTraffic {
    let lanes = u64::from(mask.count_ones());
    if lanes == 1 {
        return GlobalTraffic { requests: 1, sectors: 1, lines: 1, bytes };
    }
    let (mut sectors, mut lines) = (0, 0);
    let mut last = -1;
    let mut rising = true;
    for lane in active(mask) {
        let sector = address[lane] >> 5;
        rising &= sector >= last;
        sectors += u64::from(sector != last);
        lines += u64::from(sector >> 2 != last >> 2);
        last = sector;
    }
    if !rising {
        let mut all: Vec<_> = active(mask).map(|lane| address[lane] >> 5).collect();
        all.sort_unstable();
        all.dedup();
        sectors = all.len() as u64;
        all.iter_mut().for_each(|sector| *sector >>= 2);
        all.dedup();
        lines = all.len() as u64;
    }
    GlobalTraffic { requests: u64::from(lanes > 0), sectors, lines, bytes: lanes * bytes }
}

/// Wavefronts of an access of `bytes` bytes from each active lane's address.
pub(crate) fn shared(address: &[i64; WARP], mask: u32, bytes: u64) -> SharedTraffic {
    // 8 bytes per lane are served by half warps, 16 by quarter warps.
    let group = match bytes {
        0..=4 => WARP,
        5..=8 => WARP / 2,
        _ => WARP / 4,
    };
    let words = bytes.div_ceil(4) as i64;
    let mut traffic = SharedTraffic { requests: 1, ..SharedTraffic::default() };
    for first in (0..WARP).step_by(group) {
        let members = if group == WARP { mask } else { mask & (((1u32 << group) - 1) << first) };
        if members == 0 {
            continue;
        }
        let passes = passes(address, members, words);
        traffic.wavefronts += passes;
        traffic.conflicts += passes - 1;
    }
    traffic.bytes = u64::from(mask.count_ones()) * bytes;
    traffic
}

/// The greatest number of distinct words that one bank has to deliver.
fn passes(address: &[i64; WARP], members: u32, words: i64) -> u64 {
    if members.is_power_of_two() {
        return 1;
    }
    if words == 1 && members == u32::MAX {
        // All lanes access the same word, or consecutive words.
        let (mut same, mut run) = (0, 0);
        for (lane, a) in address.iter().enumerate() {
            let distance = (a >> 2).wrapping_sub(address[0] >> 2);
            same |= distance;
            run |= distance ^ lane as i64;
        }
        if same == 0 || run == 0 {
            return 1;
        }
    }
    let mut first = [-1i64; WARP];
    let mut clash = false;
    for lane in active(members) {
        for k in 0..words {
            let word = (address[lane] >> 2) + k;
            let bank = (word & 31) as usize;
            clash |= first[bank] >= 0 && first[bank] != word;
            first[bank] = word;
        }
    }
    if !clash {
        return 1;
    }
    let mut all: Vec<i64> =
        active(members).flat_map(|lane| (0..words).map(move |k| (address[lane] >> 2) + k)).collect();
    all.sort_unstable();
    all.dedup();
    let mut count = [0u64; WARP];
    for word in all {
        count[(word & 31) as usize] += 1;
    }
    count.into_iter().max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(f: impl Fn(i64) -> i64) -> [i64; WARP] {
        std::array::from_fn(|lane| f(lane as i64))
    }

    #[test]
    fn sectors_are_the_pieces_of_32_bytes_touched() {
        let count = |f: fn(i64) -> i64, bytes| global(&lanes(f), u32::MAX, bytes).sectors;
        assert_eq!(count(|l| 4 * l, 4), 4);
        assert_eq!(count(|l| 4 * l + 16, 4), 5);
        assert_eq!(count(|l| 4 * (31 - l), 4), 4);
        assert_eq!(count(|l| 128 * l, 4), 32);
        assert_eq!(count(|_| 64, 4), 1);
        assert_eq!(count(|l| 16 * l, 16), 16);
        // Lanes alternate between two addresses: neither increasing nor decreasing.
        assert_eq!(count(|l| 4096 * (l & 1), 4), 2);
        assert_eq!(
            global(&lanes(|l| 4 * l), 0xff, 4),
            GlobalTraffic { requests: 1, sectors: 1, lines: 1, bytes: 32 }
        );
        let lines = |f: fn(i64) -> i64, bytes| global(&lanes(f), u32::MAX, bytes).lines;
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
            let t = shared(&lanes(f), u32::MAX, bytes);
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
}
