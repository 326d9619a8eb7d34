//! The executions of one part of an instruction: domain, threads, accesses and loaded values.

use loopwright_kernel_ir::{
    AddressSpace, Aff, Constraint, Instruction, KernelData, Lookup, Name, Part, PartRef, Tag,
};

/// The names of a thread's coordinates in its block, in constraints: x, y, z.
pub const THREAD_COORDINATES: [&str; 3] = ["threadIdx.x", "threadIdx.y", "threadIdx.z"];

/// The names of a block's coordinates in the grid, in constraints: x, y, z.
pub const BLOCK_COORDINATES: [&str; 3] = ["blockIdx.x", "blockIdx.y", "blockIdx.z"];

/// Whether the name is a thread or block coordinate.
pub fn is_coordinate(name: &str) -> bool {
    THREAD_COORDINATES.contains(&name) || BLOCK_COORDINATES.contains(&name)
}

/// How a part is distributed over an axis of the block or the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// One of its inames runs on the axis.
    Iname,
    /// It has no iname there; one elected thread (the first) runs it.
    Elected,
    /// It has no iname there; every thread runs its own copy.
    Replicated,
}

/// How a part with these inames stands to each axis of the block, then of the grid: the one rule
/// of who runs it, which legality, lowering and the final check share.
///
/// A value of a thread is computed by every thread that reads it, and what a reduction over an axis
/// needs is there on all of the axis; for anything else the first thread or block of an axis
/// without an iname is elected. An axis that no iname of the kernel is on has one coordinate.
pub fn presence(
    kernel: &KernelData,
    lookup: &Lookup<'_>,
    instruction: &Instruction,
    part: Part,
    inames: &[Name],
) -> ([Presence; 3], [Presence; 3]) {
    let space = instruction
        .targets
        .iter()
        .filter_map(|t| lookup.array(&t.array))
        .map(|a| a.space)
        .max()
        .unwrap_or(AddressSpace::Private);
    let reduced: Vec<Name> = match part {
        Part::Whole | Part::Finish => Vec::new(),
        Part::Init(_) | Part::Update(_) => {
            let reductions = instruction.reductions();
            let names = reductions.iter().flat_map(|r| &r.inames);
            names.flat_map(|i| lookup.base_of(i)).cloned().collect()
        }
    };
    let on = |of: &dyn Fn(Tag) -> Option<usize>, shared: Presence| {
        [0, 1, 2].map(|axis| {
            let here = |names: &[Name]| names.iter().any(|i| of(kernel.tag(i)) == Some(axis));
            if !kernel.tags.values().any(|t| of(*t) == Some(axis)) {
                Presence::Elected
            } else if here(inames) {
                Presence::Iname
            } else if here(&reduced) {
                Presence::Replicated
            } else {
                match space {
                    AddressSpace::Private => Presence::Replicated,
                    AddressSpace::Shared => shared,
                    AddressSpace::Global => Presence::Elected,
                }
            }
        })
    };
    (on(&Tag::thread_axis, Presence::Elected), on(&Tag::block_axis, Presence::Replicated))
}

/// The name that the coordinate of a tag's axis has in constraints; `None` of a tag that is on no
/// axis of the block or the grid.
pub fn coordinate_name(tag: Tag) -> Option<&'static str> {
    if let Some(axis) = tag.thread_axis() {
        return THREAD_COORDINATES.get(axis).copied();
    }
    BLOCK_COORDINATES.get(tag.block_axis()?).copied()
}

/// One access of a part.
#[derive(Clone, Debug)]
pub struct Access {
    /// The array that it touches.
    pub array: Name,
    /// Whether it writes.
    pub write: bool,
    /// Subscripts over coordinates, loop inames, lanes, parameters and data; `None` for a subscript
    /// that is not quasi-affine.
    pub subscripts: Vec<Option<Aff>>,
}

/// A value that an execution reads from an array that the kernel does not write, as a function of
/// the execution.
#[derive(Clone, Debug)]
pub struct Load {
    /// The name that denotes it in constraints and subscripts.
    pub name: Name,
    /// The array that it is read from.
    pub array: Name,
    /// The subscripts, over coordinates, loop inames, lanes, parameters, and the names of other
    /// loads.
    pub arguments: Vec<Aff>,
}

/// The executions of a part, over coordinates ([`THREAD_COORDINATES`], [`BLOCK_COORDINATES`]), the
/// inames of loops and lanes, parameters, and data.
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
    /// How it is distributed over the axes of the block.
    pub threads: [Presence; 3],
    /// How it is distributed over the axes of the grid.
    pub blocks: [Presence; 3],
    /// The reads and writes of each execution.
    pub accesses: Vec<Access>,
    /// Values read from data that occur in constraints and subscripts, if their source is known.
    pub loads: Vec<Load>,
}
