//! Tables whose keys are names, functions or lists of constraints.
//!
//! Such keys are short and come from the kernel's own text, and one verdict takes thousands of
//! lookups: the standard library's collision-resistant hash would take a tenth of the total time.
//! Iteration order follows the hashes, so no output may depend on it.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
};

/// A table with a hash for short keys. See the module's head.
pub type Table<K, V> = HashMap<K, V, BuildHasherDefault<ShortHasher>>;

/// A table with capacity for `entries` entries.
pub fn table_for<K, V>(entries: usize) -> Table<K, V> {
    Table::with_capacity_and_hasher(entries, BuildHasherDefault::default())
}

/// A set with a hash for short keys. See the module's head.
pub type TableSet<K> = HashSet<K, BuildHasherDefault<ShortHasher>>;

/// Multiplies each word into the state and folds the halves of the product, so that each bit of a
/// key affects both ends of the hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortHasher(u64);

/// An odd number without a pattern: the fractional part of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl ShortHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0.rotate_left(23) ^ word ^ FACTOR) * u128::from(FACTOR);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for ShortHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let mut whole = [0; 8];
            whole.copy_from_slice(word);
            self.mix(u64::from_le_bytes(whole));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            self.mix(rest.iter().fold(rest.len() as u64, |word, b| (word << 8) | u64::from(*b)));
        }
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.mix(u64::from(word));
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    #[inline]
    fn write_i64(&mut self, word: i64) {
        self.mix(word as u64);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }

    #[inline]
    fn write_isize(&mut self, word: isize) {
        self.mix(word as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;
    use crate::Name;

    #[test]
    fn names_that_are_alike_spread_over_both_ends_of_the_hash() {
        let build = BuildHasherDefault::<ShortHasher>::default();
        let (mut low, mut high) = (HashSet::new(), HashSet::new());
        for k in 0..1000 {
            let hash = build.hash_one(Name::new(format!("t{k}")));
            low.insert(hash & 0xfff);
            high.insert(hash >> 52);
        }
        // A thousand balls that fall at random into 4096 boxes leave about 890 of them occupied.
        assert!(low.len() > 800 && high.len() > 800, "{} {}", low.len(), high.len());
    }
}
