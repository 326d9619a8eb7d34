//! The shape of a launch.

/// How many threads a launch has, and what a block gets beyond what the kernel declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Blocks, by axis. Computed sizes come as they are: too large ones are refused, with their
    /// number, rather than wrapped.
    pub grid: [u64; 3],
    /// Threads of a block, by axis.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes a block.
    pub dynamic_shared: u32,
}

impl LaunchShape {
    /// Whether there is nothing to launch.
    pub fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}
