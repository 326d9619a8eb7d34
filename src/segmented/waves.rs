//! Results that are stored in waves (`cache_waves`), so that the memory seldom changes between
//! reading and writing.

use crate::ir::{DType, Name};
use crate::tuner::Machine;

use super::forms::{TARGET, are_held, exceed_cache, multiprocessors, vector};
use super::lanes::suit_waves;

/// Windows of each wave.
const WINDOWS: usize = 8;
/// The least number of waves.
const LEAST: f64 = 3.5;
/// Rows that a multiprocessor works on at a time: 2048 threads, sixteen lanes a row.
const ROWS_AT_A_TIME: usize = 128;

/// How an array of results is stored.
pub(super) struct Waves<'n> {
    result: &'n Name,
    /// Elements of a window, a multiple of 128.
    window: i64,
}

impl Waves<'_> {
    /// The waves for `count` rows of one length, if they are short enough for the stores to matter,
    /// and more is read than the L2 cache holds, so that there are lines to evict. `results` has
    /// the arrays with the bytes of an element.
    ///
    /// A wave takes a sixth of the cache, which is at most what an H200 grants to persisting lines,
    /// or less, for three waves and a half; a window has room for the rows that the device works on
    /// at a time, whose results are stored in no order. Sums of 2^28 f32 in rows of 64, 128 and 256
    /// take 4.5, 2.7 and 1.8 % less than without waves on an H200, whether the kernel before has
    /// left the cache as it was, clean, or full of lines that it has written. Evict-first loads of
    /// the elements, instead, take 3 to 5 % less than others in a clean cache, and 3 to 7 % more in
    /// one that has just been written to: the written lines stay, and the elements have the rest.
    ///
    /// Other rows, and those without vectors of 16 bytes, are stored so only where their results
    /// take more than half of the cache. Values and indices of argmax take 6 to 7 % longer in
    /// waves, measured at 16 and 64 f32: it is bound by instructions.
    pub fn of<'n>(
        [count, length]: [usize; 2],
        dtype: DType,
        results: &'n [(Name, usize)],
        machine: &Machine,
    ) -> Option<Waves<'n>> {
        let [(result, bytes)] = results else { return None };
        let v = vector(dtype, length);
        let suit = v == TARGET.widest_elements(dtype.bytes()) && suit_waves(length.div_ceil(v));
        if !suit && are_held(count, *bytes, machine) {
            return None;
        }
        let least = (ROWS_AT_A_TIME * multiprocessors(machine)) as f64;
        let most = machine.l2_bytes / 6.0 / (WINDOWS - 1) as f64 / *bytes as f64;
        let elements = (count as f64 / LEAST / WINDOWS as f64).min(most);
        let window = (elements / 128.0) as i64 * 128;
        let matter = exceed_cache([count, length], dtype, machine) && elements >= least && window > 0;
        matter.then_some(Waves { result, window })
    }

    /// The text of the step that stores the results in waves.
    pub fn step(&self) -> String {
        format!("cache_waves({}, window={}, windows={WINDOWS})", self.result, self.window)
    }
}
