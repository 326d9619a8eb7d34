//! The order in which blocks run, and the warps of a block between two barriers.
//!
//! A device promises none, so that a right program computes the same in each, up to the rounding of
//! atomic sums. Other orders than that of the numbers show programs for which this is not so.

/// The numbers below `count`, each once, in an order that a seed decides; without one, ascending.
#[derive(Clone, Copy)]
pub(crate) struct Permuted {
    count: u64,
    factor: u64,
    offset: u64,
}

fn hash(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Permuted {
    /// The numbers below this count, which is less than 2^32.
    pub fn new(count: u64, seed: Option<u64>) -> Permuted {
        let Some(seed) = seed.filter(|_| count > 1) else { return Permuted { count, factor: 1, offset: 0 } };
        // Multiples of a number without a common divisor meet each remainder once.
        let first = hash(seed) % count;
        let factor = (first..).find(|f| gcd(*f, count) == 1).unwrap_or(1) % count;
        Permuted { count, factor, offset: hash(seed.wrapping_add(1)) % count }
    }

    /// The number at this place of the order, below the count.
    pub fn at(&self, place: u64) -> u64 {
        // Both are below 2^32.
        (place * self.factor + self.offset) % self.count.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Permuted;

    #[test]
    fn each_number_comes_once() {
        for count in [1, 2, 3, 7, 8, 12, 97, 128, 360] {
            for seed in 0..20 {
                let order = Permuted::new(count, Some(seed));
                let mut found: Vec<u64> = (0..count).map(|k| order.at(k)).collect();
                found.sort_unstable();
                assert_eq!(found, (0..count).collect::<Vec<_>>(), "{count}, {seed}");
            }
            let plain = Permuted::new(count, None);
            assert!((0..count).all(|k| plain.at(k) == k));
        }
        let orders =
            (0..20).map(|seed| (0..8).map(|k| Permuted::new(8, Some(seed)).at(k)).collect::<Vec<_>>());
        assert!(orders.collect::<std::collections::BTreeSet<_>>().len() > 8);
    }
}
