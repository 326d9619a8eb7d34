//! What is known of the executions of one part of an instruction.

use loopwright_kernel_ir::{Aff, Constraint, Name, PartRef};

/// The names under which the coordinates of a thread in its block appear in constraints: x, y, z.
pub const THREAD_COORDINATES: [&str; 3] = ["threadIdx.x", "threadIdx.y", "threadIdx.z"];

/// The names under which the coordinates of a block in the grid appear in constraints: x, y, z.
pub const BLOCK_COORDINATES: [&str; 3] = ["blockIdx.x", "blockIdx.y", "blockIdx.z"];

/// Whether the name is one of a coordinate of a thread or a block.
pub fn is_coordinate(name: &str) -> bool {
    THREAD_COORDINATES.contains(&name) || BLOCK_COORDINATES.contains(&name)
}

/// How a part stands to an axis of the block or the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// One of its inames runs on the axis.
    Iname,
    /// It has no iname there, and one elected thread (the first) runs it.
    Elected,
    /// It has no iname there, and every thread runs it for itself.
    Replicated,
}

/// One access of a part.
#[derive(Clone, Debug)]
pub struct Access {
    /// The array.
    pub array: Name,
    /// Whether it writes.
    pub write: bool,
    /// Its subscripts over coordinates, loop inames, lanes, parameters and data; `None` where one
    /// is not quasi-affine.
    pub subscripts: Vec<Option<Aff>>,
}

/// A value that an execution reads from an array which the kernel does not write: a function of the
/// execution.
#[derive(Clone, Debug)]
pub struct Load {
    /// Under which name it stands in constraints and subscripts.
    pub name: Name,
    /// The array.
    pub array: Name,
    /// The subscripts, over coordinates, loop inames, lanes, parameters, and the names of other
    /// loads.
    pub arguments: Vec<Aff>,
}

/// The executions of a part, over coordinates ([`THREAD_COORDINATES`], [`BLOCK_COORDINATES`]), the
/// inames of loops and lanes, parameters, and data.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The part.
    pub part: PartRef,
    /// The sequential loops around it, outermost first.
    pub loops: Vec<Name>,
    /// Inames that are lanes of a thread.
    pub lanes: Vec<Name>,
    /// What restricts the executions.
    pub constraints: Vec<Constraint>,
    /// How it stands to the axes of the block.
    pub threads: [Presence; 3],
    /// How it stands to the axes of the grid.
    pub blocks: [Presence; 3],
    /// What it touches.
    pub accesses: Vec<Access>,
    /// The values read from data that occur in constraints and subscripts, as far as it is known
    /// from where.
    pub loads: Vec<Load>,
}
