//! What a profiler would count.
//!
//! A *request* is one memory instruction of one warp. Its *sectors* are the 32-byte pieces of
//! global memory that its active lanes touch. Its *wavefronts* in shared memory are the passes over
//! 32 banks of 4 bytes: accesses of 8 bytes are served by half warps, of 16 bytes by quarter warps;
//! lanes that read one word share it. All counts are sums over warps and blocks, so they do not
//! depend on the order in which blocks run.

use std::ops::AddAssign;

use loopwright_kernel_ir::Name;
use loopwright_program::LeafId;

/// Accesses of one kind to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalTraffic {
    /// Memory instructions of warps.
    pub requests: u64,
    /// 32-byte sectors touched, summed over requests.
    pub sectors: u64,
    /// 128-byte lines touched, summed over requests.
    pub lines: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
}

/// Accesses of one kind to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTraffic {
    /// Memory instructions of warps.
    pub requests: u64,
    /// Passes over the banks.
    pub wavefronts: u64,
    /// Passes beyond one for each warp, half warp or quarter warp that took part: bank conflicts.
    pub conflicts: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
}

/// What one access in a device kernel's text took, over all warps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessTraffic {
    /// Memory instructions of warps.
    pub requests: u64,
    /// Sectors of global memory, or wavefronts of shared memory.
    pub passes: u64,
    /// Passes beyond the least in which so many lanes could be served: scattered sectors, bank
    /// conflicts.
    pub excess: u64,
    /// Lanes that took part.
    pub active_lanes: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
}

/// One access in a device kernel's text, with what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedAccess {
    /// Number of the device kernel.
    pub kernel: usize,
    /// The array.
    pub array: Name,
    /// Whether the array is in shared memory; otherwise it is in global memory.
    pub shared: bool,
    /// Whether it writes.
    pub write: bool,
    /// The statement that it is part of.
    pub leaf: Option<LeafId>,
    /// The innermost loop that it stands in, unrolled or not: its number in the order of the
    /// kernel's text, from 1; 0 outside of loops.
    pub in_loop: usize,
    /// What it took.
    pub traffic: AccessTraffic,
}

/// Operations by class. What only the checks compute is not counted. Both sides of a choice are,
/// except loads and calls of the user's functions, which count where they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Integer and bitwise arithmetic on values, minima and maxima of them included.
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
    /// Comparisons of values.
    pub comparisons: u64,
    /// And, or, not.
    pub logic: u64,
    /// Choices of one of two values by a condition.
    pub choices: u64,
    /// Conversions.
    pub conversions: u64,
    /// What addresses, loop counters and guards take, as the text says it: compilers move most of
    /// it out of loops.
    pub index: u64,
}

/// All counts of a kernel or of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Launches that were not empty.
    pub launches: u64,
    /// Blocks that ran.
    pub blocks: u64,
    /// Reads of global memory.
    pub global_loads: GlobalTraffic,
    /// Writes of global memory.
    pub global_stores: GlobalTraffic,
    /// Reads of shared memory.
    pub shared_loads: SharedTraffic,
    /// Writes of shared memory.
    pub shared_stores: SharedTraffic,
    /// Block-wide barriers that blocks came through.
    pub barriers: u64,
    /// Synchronisations of single warps.
    pub warp_syncs: u64,
    /// Shuffles of warps.
    pub shuffles: u64,
    /// Operations of lanes.
    pub operations: Operations,
    /// The same in instructions of warps, however many lanes take part.
    pub issued: Operations,
    /// Lanes that took part in counted instructions of their warps.
    pub active_lanes: u64,
    /// Lanes that did not, those that the block does not have included.
    pub idle_lanes: u64,
    /// Steps of the emulator's own code, over all warps.
    pub steps: u64,
}

impl Counters {
    /// Bytes moved between global memory and the multiprocessors: 32 for each sector.
    pub fn global_bytes_moved(&self) -> u64 {
        32 * (self.global_loads.sectors + self.global_stores.sectors)
    }

    /// Bank conflicts of reads and writes.
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

add_fields!(GlobalTraffic, requests, sectors, lines, bytes);
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
    steps
);

/// What a run counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Over all launches.
    pub total: Counters,
    /// The same by device kernel, in the program's order.
    pub kernels: Vec<(Name, Counters)>,
    /// Accesses of global and shared memory that took part, by kernel, in the order of its text.
    pub accesses: Vec<CountedAccess>,
}
