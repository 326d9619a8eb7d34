//! The emulator's options: checks, limits, and device functions.

use std::{collections::BTreeMap, fmt, sync::Arc};

use loopwright_kernel_ir::{Name, Number};

/// A user device function, implemented in Rust.
pub type DeviceClosure = Arc<dyn Fn(&[Number]) -> Number + Send + Sync>;

/// Which checks are made. By default, all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Subscripts are within the array on each axis and agree with the offset. (That the offset is
    /// within the storage is always checked.)
    pub bounds: bool,
    /// Accesses to the same cell of shared or global memory by different threads are ordered by
    /// synchronisation if at least one is a write.
    pub races: bool,
    /// No read of a cell or variable that was never written.
    pub uninitialised: bool,
    /// Barriers and shuffles are reached by all threads of their scope. (A block that cannot
    /// proceed is always a fault.)
    pub divergence: bool,
    /// Index arithmetic does not overflow the index type.
    pub overflow: bool,
}

impl Checks {
    /// Every check; the default.
    pub const ALL: Checks =
        Checks { bounds: true, races: true, uninitialised: true, divergence: true, overflow: true };
    /// Only the checks required for memory safety.
    pub const NONE: Checks =
        Checks { bounds: false, races: false, uninitialised: false, divergence: false, overflow: false };
}

impl Default for Checks {
    fn default() -> Self {
        Checks::ALL
    }
}

/// When asynchronous copies take effect, between their issue and the wait that covers them. A right
/// program computes the same in each case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asynchrony {
    /// When they are issued.
    Early,
    /// When they are waited for.
    #[default]
    Late,
    /// Each at some time of these, chosen by this seed.
    Random(u64),
}

impl Asynchrony {
    /// One of each kind, for runs that compare them.
    pub const ALL: [Asynchrony; 3] = [Asynchrony::Early, Asynchrony::Late, Asynchrony::Random(1)];
}

/// Options of a run on the emulator.
#[derive(Clone)]
pub struct Options {
    /// The checks that are made.
    pub checks: Checks,
    /// Whether to count. If not, operations, traffic and lanes are zero.
    pub count: bool,
    /// Maximum number of bytecode steps of all warps of one block together.
    pub max_steps: u64,
    /// Maximum number of bytes for all arrays, including the launch's own, and their shadow state.
    /// By default a quarter of the memory available when the process first asked, and at most 64
    /// GiB.
    pub max_bytes: u64,
    /// When asynchronous copies take effect.
    pub asynchrony: Asynchrony,
    /// The seed of the order in which blocks take turns that look back. A right program computes
    /// the same in each case, up to the rounding of sums.
    pub turns: u64,
    /// The seed of the order in which other blocks run, and the warps of a block between barriers;
    /// `None`: as they are numbered. A right program computes the same, up to the rounding of
    /// atomic sums. With a seed, blocks run one after the other.
    pub order: Option<u64>,
    /// Number of blocks that run in parallel; `None` means one per core.
    pub threads: Option<usize>,
    /// User device functions by name.
    pub functions: BTreeMap<Name, DeviceClosure>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            checks: Checks::ALL,
            count: true,
            max_steps: 1 << 34,
            max_bytes: crate::available::share(),
            asynchrony: Asynchrony::default(),
            turns: 1,
            order: None,
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
            .field("asynchrony", &self.asynchrony)
            .field("turns", &self.turns)
            .field("order", &self.order)
            .field("threads", &self.threads)
            .field("functions", &self.functions.keys().collect::<Vec<_>>())
            .finish()
    }
}
