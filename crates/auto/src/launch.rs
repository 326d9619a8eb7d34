//! The launch that a pipeline is meant for.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Name;

/// What is known of a launch beyond what the kernel says: its sizes, and what the device is able
/// to do. They decide which form is taken, and not what it computes: the pipeline serves other
/// launches as well, as far as its own assumptions hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Integer arguments by name; those that are not known are left out.
    pub integers: BTreeMap<Name, i64>,
    /// For loops whose bounds are data, the most iterations that one of them has, by iname; those
    /// that are not known are left out.
    pub longest: BTreeMap<Name, i64>,
    /// Number of multiprocessors of the device, each of which wants blocks of its own.
    pub multiprocessors: u32,
    /// The most threads that a multiprocessor holds at a time.
    pub resident_threads: u32,
    /// Bytes that have to be in flight on the whole device for its memory to be busy: the bandwidth
    /// times the latency of a load (Little's law).
    pub in_flight: u64,
    /// Bytes that the second-level cache holds.
    pub cache: u64,
    /// Bytes of shared memory that the blocks on a multiprocessor have together.
    pub shared: u64,
    /// The architecture, 90 for sm_90, which says what instructions there are.
    pub architecture: u32,
}

/// Nothing is known, and the device is one of today's data centres, an H200.
impl Default for Launch {
    fn default() -> Launch {
        Launch {
            integers: BTreeMap::new(),
            longest: BTreeMap::new(),
            multiprocessors: 132,
            resident_threads: 2048,
            // 4.4 TB/s, 700 ns.
            in_flight: 3_080_000,
            cache: 50_000_000,
            shared: 228 << 10,
            architecture: 90,
        }
    }
}

impl Launch {
    /// A launch with these integer arguments, on a device of the usual size.
    pub fn of<N: Into<Name>>(integers: impl IntoIterator<Item = (N, i64)>) -> Launch {
        let integers = integers.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Launch { integers, ..Launch::default() }
    }

    /// The threads that the device holds at a time.
    pub(crate) fn places(&self) -> i64 {
        i64::from(self.multiprocessors) * i64::from(self.resident_threads)
    }

    /// Loads of so many bytes that each of `threads` threads has to have in flight for the memory
    /// to be busy: a power of two, rounded up. Each of them has some in flight for one part in
    /// `idle` of its time.
    pub(crate) fn loads_of_each(&self, threads: i64, bytes: i64, idle: i64) -> i64 {
        let threads = u64::try_from(threads.max(1)).unwrap_or(1);
        let bytes = u64::try_from(bytes.max(1)).unwrap_or(1);
        let idle = u64::try_from(idle.max(1)).unwrap_or(1);
        let loads = self.in_flight.saturating_mul(idle).div_ceil(threads.saturating_mul(bytes)).max(1);
        i64::try_from(loads.next_power_of_two()).unwrap_or(i64::MAX)
    }

    /// Bytes that have to be in flight on each multiprocessor.
    pub(crate) fn in_flight_of_each(&self) -> i64 {
        let each = self.in_flight / u64::from(self.multiprocessors.max(1));
        i64::try_from(each).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3.08 MB over 270 336 threads are 11.4 bytes for each, 0.71 of 16.
    #[test]
    fn loads_in_flight_follow_from_littles_law() {
        let launch = Launch::default();
        let of = |idle| launch.loads_of_each(launch.places(), 16, idle);
        assert_eq!([of(1), of(2), of(4)], [1, 2, 4]);
        assert_eq!(launch.loads_of_each(launch.places(), 8, 2), 4);
        assert_eq!(launch.in_flight_of_each(), 23_333);
        let slow = Launch { in_flight: launch.in_flight / 2, ..launch.clone() };
        assert_eq!(slow.loads_of_each(slow.places(), 16, 4), 2);
    }
}
