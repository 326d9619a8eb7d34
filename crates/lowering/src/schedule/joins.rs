//! How threads join their partial results, or scan them.
//!
//! Threads with consecutive numbers are joined by shuffles: up to a warp by one butterfly; whole
//! warps by a butterfly in each warp, then across warps through shared memory. Other shapes use
//! shared memory only, which does not preserve the order.
//!
//! Scans go over any number of threads ([`Units`]): units of neighbouring lanes scan by shuffles,
//! and the totals of the units of a group pass through shared memory, in their order.

use loopwright_kernel_ir::{AxisSet, Diagnostic, Dim, HardwareAxis, PerDim, Tag};

use super::{Node, join_barriers::JoinBarriers, planner::Planner};
use crate::{
    analyse::{analysis::reduction, look_back},
    schedule::items::Join,
};

impl Planner<'_, '_> {
    pub fn join(&self, join: &Join) -> Result<Vec<Node>, Diagnostic> {
        let kernel = self.analysis.kernel;
        let instruction = &kernel.instructions[join.instruction];
        let Some(reduce) = reduction(instruction, join.reduction) else { return Ok(Vec::new()) };
        let operator = self.analysis.operator(&reduce.op)?;
        let plan = plan_of(self.block, join, self.target.warp_size);
        if !join.scan && !operator.commutes {
            return Err(Diagnostic::new(
                "does-not-commute",
                format!("`{}` does not commute, so its iname cannot run on lanes or threads", operator.name),
            )
            .help(
                kernel.forgotten_commutes(&operator).unwrap_or_else(|| "leave the iname sequential".into()),
            ));
        }
        if let (Some(_), JoinPlan::Scan(units)) = (join.tiles, plan) {
            let threads = self.block.values().product();
            let of = (join.instruction, join.reduction);
            look_back::fits(self.analysis, of, (threads, units.groups, self.target.warp_size))?;
        }
        let has_lanes_around = !self.analysis.lanes_around(join).is_empty();
        let barriers = JoinBarriers::of(join, plan, &instruction.id, has_lanes_around);
        Ok(vec![Node::Join { join: join.clone(), plan, barriers }])
    }
}

/// How threads are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinPlan {
    /// Each group is one thread, so that nothing is left to join.
    Nothing,
    /// Groups of neighbouring lanes, from 2 to a warp.
    Butterfly(u32),
    /// Groups of whole warps: `groups` in the block, of `group` threads each.
    Warps { group: u32, groups: u32 },
    /// Any other shape: through shared memory, in no fixed order.
    Memory,
    /// A scan, for groups of any shape.
    Scan(Units),
}

/// How groups of threads scan: in units of neighbouring lanes, then across the units of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// Threads that scan together.
    pub group: u32,
    /// Groups of threads in a block.
    pub groups: u32,
    /// Lanes of a unit: a power of two, up to a warp. If the only group has no multiple of that
    /// many threads, its last unit has fewer lanes.
    pub unit: u32,
    /// Whether units are warps.
    pub warps: bool,
    /// Whether the threads of a group have consecutive numbers. If not, a unit is one thread.
    pub neighbours: bool,
}

impl Units {
    /// The number of units in a group.
    pub fn count(self) -> u32 {
        self.group.div_ceil(self.unit)
    }

    /// Whether the last unit of the group has fewer lanes than the others.
    pub fn has_partial(self) -> bool {
        !self.group.is_multiple_of(self.unit)
    }
}

impl JoinPlan {
    /// Whether a join uses shared memory.
    pub fn uses_shared(self) -> bool {
        match self {
            JoinPlan::Nothing | JoinPlan::Butterfly(_) => false,
            JoinPlan::Warps { .. } | JoinPlan::Memory => true,
            JoinPlan::Scan(units) => units.count() > 1,
        }
    }
}

/// How the threads of a join are joined or scanned, for this warp size.
pub(crate) fn plan_of(block: PerDim<u32>, join: &Join, warp: u32) -> JoinPlan {
    match join.scan {
        true => JoinPlan::Scan(units(block, join.axes(), warp)),
        false => plan(block, join.axes(), warp),
    }
}

/// The units in which the threads of these axes scan.
///
/// Groups of neighbours begin at multiples of their size, so units that divide it begin at
/// multiples of theirs, and lie in one warp. One group alone begins at the first thread: its units
/// are as large as a warp whether or not they divide it, since a lane takes values from lanes
/// before it only.
fn units(block: PerDim<u32>, axes: AxisSet, warp: u32) -> Units {
    let threads: u32 = block.values().product();
    let group = size(block, axes);
    let groups = threads / group;
    let neighbours = are_neighbours(block, axes);
    let unit = match (neighbours, groups) {
        (false, _) => 1,
        (true, 1) => group.next_power_of_two().min(warp),
        (true, _) => (1 << group.trailing_zeros()).min(warp),
    };
    Units { group, groups, unit, warps: unit == warp, neighbours }
}

/// The number of threads along these axes.
fn size(block: PerDim<u32>, axes: AxisSet) -> u32 {
    axes.iter().filter_map(|axis| axis.extent_in(&block)).product()
}

/// Whether threads that differ along these axes only have consecutive numbers.
fn are_neighbours(block: PerDim<u32>, axes: AxisSet) -> bool {
    let wide = |axis: &HardwareAxis| axis.extent_in(&block).is_some_and(|extent| extent > 1);
    let last = axes.iter().filter(wide).last();
    let mut inner = HardwareAxis::all().filter(|axis| wide(axis) && Some(*axis) < last);
    inner.all(|axis| axes.contains(axis))
}

/// How the threads of these axes of a block are joined, for this warp size.
fn plan(block: PerDim<u32>, axes: AxisSet, warp: u32) -> JoinPlan {
    let threads: u32 = block.values().product();
    let group = size(block, axes);
    if group == 1 {
        return JoinPlan::Nothing;
    }
    let contiguous = are_neighbours(block, axes);
    let full_warps = threads.is_multiple_of(warp) || (threads < warp && threads.is_power_of_two());
    if contiguous && full_warps && group <= warp && group.is_power_of_two() {
        JoinPlan::Butterfly(group)
    } else if contiguous && full_warps && group.is_multiple_of(warp) {
        JoinPlan::Warps { group, groups: threads / group }
    } else {
        JoinPlan::Memory
    }
}

/// The axes that a join is over, by their tags.
pub(crate) fn axis_names(join: &Join) -> String {
    dims(join.axes()).map(|dim| Tag::Thread(dim).to_string()).collect::<Vec<_>>().join(", ")
}

/// The dimensions of a block among these axes.
pub(crate) fn dims(axes: AxisSet) -> impl Iterator<Item = Dim> {
    axes.iter().filter_map(|axis| match axis {
        HardwareAxis::Block(dim) => Some(dim),
        HardwareAxis::Grid(_) => None,
    })
}

/// Whether a join uses shared memory.
pub(crate) fn uses_shared(block: PerDim<u32>, join: &Join, warp: u32) -> bool {
    !join.axes().is_empty() && plan_of(block, join, warp).uses_shared()
}
