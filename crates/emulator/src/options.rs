//! Which checks are made, and what the emulator is given besides the arguments.

use std::{collections::BTreeMap, fmt, sync::Arc};

use loopwright_kernel_ir::{Name, Number};

/// A device function of the user's, in Rust.
pub type DeviceClosure = Arc<dyn Fn(&[Number]) -> Number + Send + Sync>;

/// Which checks are made; all of them by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Subscripts lie in the array, axis by axis, and agree with the offset. (That the offset lies
    /// in the storage is always checked.)
    pub bounds: bool,
    /// Accesses of one cell of shared or global memory by different threads are ordered by
    /// synchronisation where one is a write.
    pub races: bool,
    /// Nothing is read that was never written.
    pub uninitialised: bool,
    /// Barriers and shuffles are reached by all threads of their scope. (A block that could not go
    /// on is a fault in any case.)
    pub divergence: bool,
    /// Index arithmetic does not leave the index type.
    pub overflow: bool,
}

impl Checks {
    /// Every check.
    pub const ALL: Checks =
        Checks { bounds: true, races: true, uninitialised: true, divergence: true, overflow: true };
    /// Only what memory safety needs.
    pub const NONE: Checks =
        Checks { bounds: false, races: false, uninitialised: false, divergence: false, overflow: false };
}

impl Default for Checks {
    fn default() -> Self {
        Checks::ALL
    }
}

/// How to run.
#[derive(Clone)]
pub struct Options {
    /// Which checks are made.
    pub checks: Checks,
    /// Whether to count; operations, traffic and lanes are zero otherwise.
    pub count: bool,
    /// The most steps of the emulator's code that the warps of one block may take together.
    pub max_steps: u64,
    /// The most bytes that arrays, the launch's own included, may take with what is remembered of
    /// their cells. By default a quarter of the memory that was available when the process first
    /// asked, and 64 GiB at most.
    pub max_bytes: u64,
    /// How many blocks run at once; `None` means one for each core.
    pub threads: Option<usize>,
    /// The user's device functions by name.
    pub functions: BTreeMap<Name, DeviceClosure>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            checks: Checks::ALL,
            count: true,
            max_steps: 1 << 34,
            max_bytes: crate::available::share(),
            threads: None,
            functions: BTreeMap::new(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("checks", &self.checks)
            .field("count", &self.count)
            .field("max_steps", &self.max_steps)
            .field("max_bytes", &self.max_bytes)
            .field("threads", &self.threads)
            .field("functions", &self.functions.keys().collect::<Vec<_>>())
            .finish()
    }
}
