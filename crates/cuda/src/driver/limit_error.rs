//! The limits of a launch, and the error for one that is exceeded.

use std::fmt;

/// A launch that exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError {
    /// The name of the kernel.
    pub kernel: String,
    /// The first limit exceeded, in the order of [`check`](super::limits::check).
    pub limit: Limit,
    /// The requested amount, in the unit of the limit: threads, blocks or bytes.
    pub asked: u64,
    /// The greatest value allowed; for [`Limit::EmptyBlock`] the least.
    pub allowed: u64,
}

/// The limits of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A block needs at least one thread along each axis.
    EmptyBlock,
    /// Threads per block along an axis: 0, 1 or 2 for x, y or z.
    BlockExtent(usize),
    /// Threads per block, on this device.
    BlockThreads,
    /// Threads per block, given the registers of this kernel and its launch bounds.
    KernelThreads,
    /// Blocks per grid along an axis: 0, 1 or 2 for x, y or z.
    GridExtent(usize),
    /// Shared memory per block, static and dynamic, in bytes.
    SharedMemory,
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitError { kernel, limit, asked, allowed } = self;
        write!(f, "`{kernel}` cannot be launched: ")?;
        match limit {
            Limit::EmptyBlock => write!(f, "its block has {asked} threads along an axis"),
            Limit::BlockExtent(axis) => {
                write!(
                    f,
                    "its block has {asked} threads along {}, and the device allows {allowed}",
                    AXES[*axis]
                )
            }
            Limit::BlockThreads => {
                write!(f, "its block has {asked} threads, and the device allows {allowed}")
            }
            Limit::KernelThreads => {
                write!(f, "its block has {asked} threads, and its registers or launch bounds allow {allowed}")
            }
            Limit::GridExtent(axis) => {
                write!(
                    f,
                    "its grid has {asked} blocks along {}, and the device allows {allowed}",
                    AXES[*axis]
                )
            }
            Limit::SharedMemory => {
                write!(
                    f,
                    "a block needs {asked} bytes of shared memory, and the device has {allowed} \
                     per block"
                )
            }
        }
    }
}

impl LimitError {
    /// The remedy, as an imperative clause.
    pub fn remedy(&self) -> &'static str {
        match self.limit {
            Limit::EmptyBlock | Limit::BlockExtent(_) | Limit::BlockThreads => {
                "split the inames on threads by smaller factors"
            }
            Limit::KernelThreads => {
                "use fewer threads per block, or unroll less so that a thread needs fewer \
                 registers"
            }
            Limit::GridExtent(_) => {
                "map the longer iname to block.x, or split it and leave a sequential loop in each \
                 block"
            }
            Limit::SharedMemory => "prefetch smaller tiles",
        }
    }
}

impl std::error::Error for LimitError {}
