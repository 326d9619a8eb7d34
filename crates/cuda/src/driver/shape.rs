//! The shape of a launch.

/// The grid and block of a launch, and its dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Blocks along x, y and z. 64 bits wide, so that a computed extent that is too large is
    /// refused and never wraps.
    pub grid: [u64; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes per block.
    pub dynamic_shared: u32,
}

impl LaunchShape {
    /// Whether the grid has no blocks.
    pub fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}
