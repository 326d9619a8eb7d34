//! A value and the hash of its derivation.

use loopwright_kernel_ir::{DType, Number};

/// A number, and the hash of its derivation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Val {
    pub number: Number,
    pub hash: u64,
}

/// One hash of several, in their order. (Rounds of splitmix64.)
pub(crate) fn mix(what: &str, hashes: &[u64]) -> u64 {
    let step = |h: u64, x: u64| {
        let mut z = (h ^ x).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let named = what.bytes().fold(0, |h, b| step(h, b.into()));
    hashes.iter().fold(step(named, hashes.len() as u64), |h, x| step(h, *x))
}

/// The hash of a value without a derivation.
pub(crate) fn hash_of(number: Number) -> u64 {
    match number.as_i128() {
        Some(v) => mix("integer", &[v as u64]),
        None => mix("float", &[number.as_f64().to_bits()]),
    }
}

impl Val {
    /// The same value in another type; implicit conversions do not change the hash.
    pub fn cast(self, dtype: DType) -> Val {
        Val { number: self.number.cast(dtype), ..self }
    }
}
