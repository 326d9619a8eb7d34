//! The counts that a profiler would report.
//!
//! A *request* is one memory instruction of one warp. Its *sectors* are the pieces of global memory
//! that its active lanes touch. Its *wavefronts* in shared memory are the passes over its banks:
//! where 32 banks of 4 bytes serve 32 lanes, 8-byte accesses are served per half warp, 16-byte
//! accesses per quarter warp; lanes that read the same word share it. The sizes are those of the
//! program's target. All counts are sums over warps and blocks, so they do not depend on the order
//! in which blocks run.

use std::ops::AddAssign;

use loopwright_kernel_ir::Name;
use loopwright_program::LeafId;

/// Accesses of one kind (load or store) to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalTraffic {
    /// Memory instructions executed by warps.
    pub requests: u64,
    /// Sectors touched, summed over requests; [`Target::sector`] is their size.
    ///
    /// [`Target::sector`]: loopwright_program::Target::sector
    pub sectors: u64,
    /// Lines touched, summed over requests; [`Target::line`] is their size.
    ///
    /// [`Target::line`]: loopwright_program::Target::line
    pub lines: u64,
    /// Bytes requested by lanes.
    pub bytes: u64,
    /// Bytes of the sectors touched.
    pub moved: u64,
}

/// Accesses of one kind (load or store) to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTraffic {
    /// Memory instructions executed by warps.
    pub requests: u64,
    /// Passes over the banks, summed over requests.
    pub wavefronts: u64,
    /// Bank conflicts: passes beyond one for each participating warp, half warp or quarter warp.
    pub conflicts: u64,
    /// Bytes requested by lanes.
    pub bytes: u64,
}

/// The traffic of one access in a device kernel's text, over all warps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessTraffic {
    /// Memory instructions executed by warps.
    pub requests: u64,
    /// Sectors of global memory, or wavefronts of shared memory.
    pub passes: u64,
    /// Passes beyond the minimum for that number of lanes: scattered sectors, or bank conflicts.
    pub excess: u64,
    /// Active lanes, summed over requests.
    pub active_lanes: u64,
    /// Bytes requested by lanes.
    pub bytes: u64,
}

/// One access in a device kernel's text, with its traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedAccess {
    /// Index of the device kernel in the program.
    pub kernel: usize,
    /// Name of the array in the program.
    pub array: Name,
    /// Whether the array is in shared memory; otherwise it is in global memory.
    pub shared: bool,
    /// Whether it writes; otherwise it reads.
    pub write: bool,
    /// The leaf of the statement that contains it, if any.
    pub leaf: Option<LeafId>,
    /// The innermost enclosing loop, unrolled or not: its number in the order of the kernel's text,
    /// from 1; 0 outside loops.
    pub in_loop: usize,
    /// Its traffic over the run.
    pub traffic: AccessTraffic,
}

/// Operations by class. Operations done only for checks are not counted. Both sides of a choice
/// are, except loads and calls of user functions, which count where they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Integer and bitwise arithmetic on values, including minima and maxima.
    pub integer: u64,
    /// Integer quotients and remainders of values.
    pub integer_division: u64,
    /// Floating-point sums, differences and negations.
    pub float_add: u64,
    /// Floating-point products.
    pub float_multiply: u64,
    /// Floating-point quotients.
    pub float_division: u64,
    /// Floating-point minima and maxima.
    pub float_extremes: u64,
    /// Math functions and the user's device functions.
    pub functions: u64,
    /// Comparisons of values of any type, not of indices.
    pub comparisons: u64,
    /// Logical `and`, `or` and `not`.
    pub logic: u64,
    /// Selections of one of two values by a condition.
    pub choices: u64,
    /// Conversions of values from one type to another.
    pub conversions: u64,
    /// Operations for addresses, loop counters and guards as written in the text; compilers move
    /// most of them out of loops.
    pub index: u64,
}

/// All counts of a kernel or of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Launches with a non-empty grid.
    pub launches: u64,
    /// Blocks run, summed over launches.
    pub blocks: u64,
    /// Reads of global memory.
    pub global_loads: GlobalTraffic,
    /// Writes of global memory.
    pub global_stores: GlobalTraffic,
    /// Reads of shared memory.
    pub shared_loads: SharedTraffic,
    /// Writes of shared memory.
    pub shared_stores: SharedTraffic,
    /// Block-wide barriers passed, summed over blocks.
    pub barriers: u64,
    /// Warp barriers passed, summed over warps.
    pub warp_syncs: u64,
    /// Shuffles, counted once for each warp.
    pub shuffles: u64,
    /// Operations, counted per lane.
    pub operations: Operations,
    /// Operations, counted per warp instruction regardless of the number of active lanes.
    pub issued: Operations,
    /// Active lanes, summed over counted warp instructions.
    pub active_lanes: u64,
    /// Inactive lanes, summed over counted warp instructions; includes lanes beyond the block's
    /// threads.
    pub idle_lanes: u64,
    /// Warps that ended without an access of global or shared memory, summed over blocks: in a
    /// partial tile, or where a block has more threads than its loop has iterations.
    pub idle_warps: u64,
    /// Steps of the emulator's bytecode, over all warps.
    pub steps: u64,
}

impl Counters {
    /// Bytes moved between global memory and the multiprocessors: whole sectors.
    pub fn global_bytes_moved(&self) -> u64 {
        self.global_loads.moved + self.global_stores.moved
    }

    /// Bank conflicts of reads and writes together.
    pub fn bank_conflicts(&self) -> u64 {
        self.shared_loads.conflicts + self.shared_stores.conflicts
    }
}

macro_rules! add_fields {
    ($type:ty, $($field:ident),*) => {
        impl AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

add_fields!(GlobalTraffic, requests, sectors, lines, bytes, moved);
add_fields!(AccessTraffic, requests, passes, excess, active_lanes, bytes);
add_fields!(SharedTraffic, requests, wavefronts, conflicts, bytes);
add_fields!(
    Operations,
    integer,
    integer_division,
    float_add,
    float_multiply,
    float_division,
    float_extremes,
    functions,
    comparisons,
    logic,
    choices,
    conversions,
    index
);
add_fields!(
    Counters,
    launches,
    blocks,
    global_loads,
    global_stores,
    shared_loads,
    shared_stores,
    barriers,
    warp_syncs,
    shuffles,
    operations,
    issued,
    active_lanes,
    idle_lanes,
    idle_warps,
    steps
);

/// The counts of a run, if its options ask for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The sum over all launches of all kernels.
    pub total: Counters,
    /// The counts of each device kernel, in program order.
    pub kernels: Vec<(Name, Counters)>,
    /// Accesses of global and shared memory that ran, by kernel, in the order of its text.
    pub accesses: Vec<CountedAccess>,
}
