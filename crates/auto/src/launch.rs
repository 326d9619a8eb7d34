//! The launch that a pipeline is meant for.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Name;

/// What is known of a launch beyond what the kernel says: its sizes, and how large the device is.
/// They decide which form is taken, and not what it computes: the pipeline serves other launches as
/// well, as far as its own assumptions hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Integer arguments by name; those that are not known are left out.
    pub integers: BTreeMap<Name, i64>,
    /// Number of multiprocessors of the device, each of which wants blocks of its own.
    pub multiprocessors: u32,
    /// The most threads that a multiprocessor holds at a time.
    pub resident_threads: u32,
}

/// Nothing is known, and the device is one of today's data centres.
impl Default for Launch {
    fn default() -> Launch {
        Launch { integers: BTreeMap::new(), multiprocessors: 132, resident_threads: 2048 }
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
}
