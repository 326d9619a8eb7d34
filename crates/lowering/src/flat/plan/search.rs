//! How the first launch finds where chunks begin.
//!
//! A warp for each border between chunks finds how many segments end before it, digit by digit; a
//! digit has as many values as a warp has lanes. Each lane tests one value of the digit. Offsets
//! are non-decreasing, so the last lane whose test succeeds has the digit: a ballot tells it to
//! all. There is one more border than chunks.

use loopwright_kernel_ir::{DType, Diagnostic};
use loopwright_target::Target;

/// Threads of each block of the search, at most.
const THREADS: u32 = 256;
/// Bits of the greatest number of segments where indices have 32 bits, and where they have 64:
/// there are fewer than 2^30 segments where steps have 32 bits.
const COUNT_BITS: [u32; 2] = [30, 50];

/// How the warps of the first launch search.
pub(crate) struct Search {
    /// Threads of each block.
    pub threads: u32,
    /// Warps of a block; each has a border.
    pub warps: i64,
    /// Bits of a digit: a digit has as many values as a warp has lanes.
    pub digit: u32,
    /// Number of digits of a count, and so of rounds: each finds one digit, the highest first.
    pub rounds: i64,
    /// The weight of the first digit.
    pub highest: i64,
}

impl Search {
    /// Errors: a lane's digit is not a whole number of bits of all counts.
    pub fn new(index: DType, target: &Target) -> Result<Search, Diagnostic> {
        let digit = target.warp_size.trailing_zeros().max(1);
        if COUNT_BITS.iter().any(|bits| bits % digit != 0) {
            return Err(wrong_warp(target));
        }
        let warps = THREADS.min(target.most_threads) / target.warp_size;
        if warps == 0 {
            return Err(small_block(target, target.warp_size));
        }
        let bits = COUNT_BITS[usize::from(index.bytes() == 8)];
        Ok(Search {
            threads: warps * target.warp_size,
            warps: i64::from(warps),
            digit,
            rounds: i64::from(bits / digit),
            highest: 1 << (bits - digit),
        })
    }
}

/// The refusal of a target with such warps.
pub(crate) fn wrong_warp(target: &Target) -> Diagnostic {
    Diagnostic::new(
        "flat-warp",
        format!("flattened nests cannot be written for warps of {} threads", target.warp_size),
    )
    .help("lower the kernel without `flatten_ragged` for this target")
}

/// The refusal of a target whose blocks have fewer threads than a launch needs.
pub(crate) fn small_block(target: &Target, needed: u32) -> Diagnostic {
    Diagnostic::new(
        "flat-warp",
        format!(
            "flattened nests need a block of {needed} threads, which is more than the {} that a block \
             may have",
            target.most_threads
        ),
    )
    .help("lower the kernel without `flatten_ragged` for this target")
}
