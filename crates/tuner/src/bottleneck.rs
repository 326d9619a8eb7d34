//! The resource that dominates the estimate of a candidate.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What takes the largest part of a candidate's estimated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Unknown: a log of a version that did not record it.
    #[default]
    NotRecorded,
    /// The bytes that must move, over the memory's bandwidth.
    Memory,
    /// All requested sectors, over the bandwidth of the L2 cache.
    SecondLevelCache,
    /// Too few bytes in flight to keep the memory busy.
    BytesInFlight,
    /// Lines of requests in the L1 cache.
    FirstLevelCache,
    /// Instructions: arithmetic, accesses, shuffles.
    Instructions,
    /// Passes over the banks of shared memory.
    SharedMemory,
    /// Latencies that barriers expose.
    Barriers,
    /// Block starts, if each block does little work.
    Blocks,
    /// Words that do not fit into registers.
    SpilledRegisters,
    /// The launches themselves.
    Launches,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bottleneck::NotRecorded => "not recorded",
            Bottleneck::Memory => "memory",
            Bottleneck::SecondLevelCache => "second-level cache",
            Bottleneck::BytesInFlight => "too few bytes in flight",
            Bottleneck::FirstLevelCache => "first-level cache",
            Bottleneck::Instructions => "instructions",
            Bottleneck::SharedMemory => "shared memory",
            Bottleneck::Barriers => "barriers",
            Bottleneck::Blocks => "starts of blocks",
            Bottleneck::SpilledRegisters => "spilled registers",
            Bottleneck::Launches => "launches",
        })
    }
}

impl Bottleneck {
    /// The longest of several times; the first of equal ones.
    pub(crate) fn longest(times: &[(Bottleneck, f64)]) -> Bottleneck {
        let longer = |a: (Bottleneck, f64), b: &(Bottleneck, f64)| if b.1 > a.1 { *b } else { a };
        times.iter().fold((Bottleneck::NotRecorded, 0.0), longer).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cost, Machine};

    #[test]
    fn each_resource_can_be_the_one() {
        // 1 GB read once by full lines, with enough blocks and loads.
        let streamed = Cost {
            necessary_bytes: 1e9,
            moved_bytes: 1e9,
            lines: 1e9 / 128.0,
            in_flight: 64.0,
            blocks: 1e5,
            threads: 256,
            launches: 1.0,
            ..Cost::default()
        };
        let cases = [
            (Bottleneck::Memory, streamed),
            (Bottleneck::BytesInFlight, Cost { blocks: 20.0, ..streamed }),
            (Bottleneck::SecondLevelCache, Cost { moved_bytes: 8e9, lines: 8e9 / 128.0, ..streamed }),
            (Bottleneck::FirstLevelCache, Cost { lines: 1e9, ..streamed }),
            (Bottleneck::Instructions, Cost { operations: 1e13, ..streamed }),
            (Bottleneck::Instructions, Cost { compared: 1e9, ..streamed }),
            (Bottleneck::Instructions, Cost { special: 1e9, ..streamed }),
            (Bottleneck::Instructions, Cost { shuffles: 1e9, ..streamed }),
            (Bottleneck::SharedMemory, Cost { wavefronts: 1e10, ..streamed }),
            (Bottleneck::Barriers, Cost { barriers: 1e8, ..streamed }),
            (Bottleneck::Blocks, Cost { blocks: 6e5, threads: 64, ..streamed }),
            (Bottleneck::SpilledRegisters, Cost { private_words: 1000, ..streamed }),
            (Bottleneck::Launches, Cost { launches: 1e3, ..streamed }),
        ];
        let device = loopwright_runtime::Device::emulator();
        for (expected, mut cost) in cases {
            cost.estimate(&Machine::h200(), device.limits());
            assert_eq!(cost.bottleneck, expected, "{cost:?}");
        }
    }
}
