//! The executions of one part of an instruction: domain, threads, accesses and loaded values.

use loopwright_kernel_ir::{Aff, Constraint, HardwareAxis, Name, PartRef, Tag};

use crate::Executor;

/// Whether the name is that of a coordinate of an axis of the hardware.
pub fn is_coordinate(name: &str) -> bool {
    HardwareAxis::of_coordinate(name).is_some()
}

/// The name that the coordinate of a tag's axis has in constraints; `None` of a tag that is on no
/// axis of the hardware.
pub fn coordinate_name(tag: Tag) -> Option<&'static str> {
    tag.axis().map(HardwareAxis::coordinate)
}

/// A read or a write that each execution of a part makes.
#[derive(Clone, Debug)]
pub struct Access {
    /// The array that it touches.
    pub array: Name,
    /// Whether it writes; it reads otherwise.
    pub write: bool,
    /// Subscripts over coordinates, loop inames, lanes, parameters and data; `None` for a subscript
    /// that is not quasi-affine.
    pub subscripts: Vec<Option<Aff>>,
}

/// A value that an execution reads from an array that the kernel does not write, as a function of
/// the execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The name that denotes it in constraints and subscripts.
    pub name: Name,
    /// The array that it is read from.
    pub array: Name,
    /// The subscripts, over coordinates, loop inames, lanes, parameters, and the names of other
    /// loads.
    pub arguments: Vec<Aff>,
}

/// The executions of a part, over coordinates ([`HardwareAxis::coordinate`]), the inames of loops
/// and lanes, parameters, and data.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The part that is executed.
    pub part: PartRef,
    /// The sequential loops around it, outermost first.
    pub loops: Vec<Name>,
    /// Inames that are lanes of a thread.
    pub lanes: Vec<Name>,
    /// Constraints that define the set of executions.
    pub constraints: Vec<Constraint>,
    /// How the part stands to each axis of the hardware: which threads run its executions.
    pub executor: Executor,
    /// The reads and writes of each execution.
    pub accesses: Vec<Access>,
    /// Values read from data that occur in constraints and subscripts, if their source is known.
    pub loads: Vec<Load>,
}
