//! How busy the blocks of a launch keep the memory.
//!
//! By Little's law the memory moves the bytes in flight once per latency; it is busy with
//! `bandwidth * latency` bytes in flight. A resident thread has its bytes in flight for the latency
//! of each of its rounds, and nothing before the first and after the last: while its block is
//! launched and computes addresses, while partial results go through a sequence of shuffles, and
//! while its block waits for its slowest warp, since the slot of a block is free for the next only
//! when the whole block has ended. The delay of the slowest warp grows with the logarithm of the
//! number of warps. A thread of one round, as with short rows, spends a third of its life in this
//! way; one of many rounds hardly any.
//!
//! The number of resident blocks in that part of their lives fluctuates, so if the bytes in flight
//! are barely sufficient, some of the memory's time is lost, and more of it the larger that part
//! is.
//!
//! The last wave has fewer blocks, which keep the memory less busy. The extra time counts in full
//! after one wave, when all blocks end together, and decreases with the square of the number of
//! waves: blocks drift apart, and others fill the gap.
//!
//! The constants fit a sweep of short segments on an H200 (`tests/recorded.rs`) and the untuned
//! times of `benches/RESULTS-archive.md`; nearby values fit as well. In that sweep, blocks of 32
//! warps with one round per thread reach 0.78 of what blocks of 4 warps do with as many bytes in
//! flight.

use crate::Machine;

/// Seconds to launch a block and compute its first addresses.
const LAUNCHED: f64 = 140e-9;
/// Delay of the slowest warp in seconds, per unit of the logarithm of the number of warps.
const SLOWEST: f64 = 70e-9;
/// Seconds per shuffle with the operation after it: half of what a single one takes, as those of
/// several rows overlap.
const SHUFFLED: f64 = 7e-9;
/// How sharply the memory saturates as bytes are added, times the fraction of a thread's life in
/// which it does not wait.
const SHARPNESS: f64 = 1.5;
/// The largest sharpness that makes a difference.
const SHARPEST: f64 = 64.0;

/// The blocks of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residents {
    /// Number of blocks of the launch.
    pub blocks: f64,
    /// Number of blocks resident at once, on all multiprocessors.
    pub places: f64,
    /// Warps of each block.
    pub warps: f64,
    /// Threads of a warp.
    pub lanes: f64,
    /// Bytes that each thread moves.
    pub bytes: f64,
    /// Bytes that a thread waits for at a time.
    pub in_flight: f64,
    /// Shuffle instructions of each warp.
    pub shuffles: f64,
}

impl Residents {
    /// Utilisation of the memory while `resident` blocks are resident, 0 to 1.
    pub fn busy(&self, resident: f64, machine: &Machine) -> f64 {
        let waits = (self.bytes / self.in_flight).max(1.0) * machine.latency;
        let rest = LAUNCHED + SLOWEST * self.warps.max(1.0).ln() + SHUFFLED * self.shuffles;
        let life = waits + rest;
        let under_way = resident * self.lanes * self.warps * self.in_flight * waits / life;
        let enough = under_way / (machine.bandwidth * machine.latency);
        let sharpness = (SHARPNESS * life / rest).min(SHARPEST);
        if enough < 1.0 {
            enough * (1.0 + enough.powf(sharpness)).powf(-1.0 / sharpness)
        } else {
            (1.0 + enough.powf(-sharpness)).powf(-1.0 / sharpness)
        }
    }

    /// As [`Residents::busy`], with as many resident blocks as possible.
    pub fn busy_at_most(&self, machine: &Machine) -> f64 {
        self.busy(self.blocks.min(self.places), machine)
    }

    /// The time of the launch over that with a memory that is always busy.
    pub fn stretch(&self, machine: &Machine) -> f64 {
        let full = 1.0 / self.busy_at_most(machine);
        let waves = (self.blocks / self.places).floor();
        let last = self.blocks - waves * self.places;
        if waves < 1.0 || last < 1.0 {
            return full;
        }
        full + last / self.blocks * (1.0 / self.busy(last, machine) - full) / (waves * waves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 256 threads that read 2^28 f32 on an H200, with these rounds of `in_flight` bytes.
    fn of(warps: f64, rounds: f64, in_flight: f64) -> Residents {
        let bytes = rounds * in_flight;
        let places = 132.0 * (64.0 / warps);
        Residents {
            blocks: 1.073e9 / (32.0 * warps * bytes),
            places,
            warps,
            lanes: 32.0,
            bytes,
            in_flight,
            shuffles: 0.0,
        }
    }

    #[test]
    fn short_lives_keep_the_memory_less_busy() {
        let machine = Machine::h200();
        let busy = |r: Residents| r.busy_at_most(&machine);
        // 2048 threads with 16 bytes each are 1.4 times what is needed, if they only wait.
        assert!(busy(of(8.0, 64.0, 16.0)) > 0.99);
        assert!(busy(of(8.0, 2.0, 16.0)) < 0.98);
        assert!(busy(of(8.0, 1.0, 16.0)) < busy(of(8.0, 2.0, 16.0)) - 0.05);
        // Larger blocks wait longer for their slowest warp.
        assert!(busy(of(32.0, 1.0, 16.0)) < busy(of(8.0, 1.0, 16.0)) - 0.03);
        // More bytes in one round make up for it; shuffles cost.
        assert!(busy(of(8.0, 1.0, 64.0)) > 0.98);
        assert!(busy(Residents { shuffles: 16.0, ..of(8.0, 1.0, 16.0) }) < busy(of(8.0, 1.0, 16.0)) - 0.03);
        // Without enough bytes, it is proportional.
        let few = busy(Residents { places: 132.0, ..of(8.0, 64.0, 16.0) });
        assert!((few - 0.176).abs() < 0.01, "{few}");
    }

    #[test]
    fn a_last_wave_of_few_blocks_takes_long_after_one_wave_and_hardly_after_many() {
        let machine = Machine::h200();
        let stretch = |blocks: f64| Residents { blocks, ..of(8.0, 1000.0, 64.0) }.stretch(&machine);
        // 1056 blocks are one wave, and keep the memory busy; four more are left alone with a few
        // multiprocessors for as long.
        assert!(stretch(1056.0) < 1.01);
        assert!(stretch(1060.0) > 1.1);
        assert!(stretch(1056.0 + 1000.0) < 1.05);
        assert!(stretch(10.0 * 1056.0 + 4.0) < 1.01);
    }
}
