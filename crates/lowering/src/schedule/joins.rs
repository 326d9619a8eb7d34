//! How threads join their partial results, or scan them.
//!
//! Threads with consecutive numbers are joined by shuffles: up to a warp by one butterfly; whole
//! warps by a butterfly in each warp, then across warps through shared memory. Other shapes use
//! shared memory only, which does not preserve the order, so scans cannot use it.

use loopwright_kernel_ir::{AxisSet, Diagnostic, Dim, HardwareAxis, PerDim, Tag};

use super::{Node, planner::Planner};
use crate::{analyse::analysis::reduction, schedule::items::Join};

impl Planner<'_, '_> {
    pub fn join(&self, join: &Join) -> Result<Vec<Node>, Diagnostic> {
        let kernel = self.analysis.kernel;
        let instruction = &kernel.instructions[join.instruction];
        let Some(reduce) = reduction(instruction, join.reduction) else { return Ok(Vec::new()) };
        let operator = self.analysis.operator(&reduce.op)?;
        let plan = plan(self.block, join.axes(), self.target.warp_size);
        if !join.scan && !operator.commutes {
            return Err(Diagnostic::new(
                "does-not-commute",
                format!("`{}` does not commute, so its iname cannot run on lanes or threads", operator.name),
            )
            .help(
                kernel.forgotten_commutes(&operator).unwrap_or_else(|| "leave the iname sequential".into()),
            ));
        }
        if join.scan && plan == JoinPlan::Memory {
            let lanes = self.target.parts_of_warps().replace(" or ", " or a multiple of ");
            return Err(Diagnostic::new(
                "scan-threads",
                format!(
                    "the scan `{}` goes over {} of a block of {} threads, which are no \
                     groups of neighbouring lanes or whole warps",
                    instruction.id,
                    axis_names(join),
                    self.block
                ),
            )
            .help(format!("scan along thread.x, over {lanes} threads")));
        }
        Ok(vec![Node::Join { join: join.clone(), plan }])
    }
}

/// How threads are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinPlan {
    /// There is one thread.
    Nothing,
    /// Groups of neighbouring lanes, from 2 to a warp.
    Butterfly(u32),
    /// Groups of whole warps.
    Warps { group: u32, groups: u32 },
    /// Any other shape: through shared memory, in no fixed order.
    Memory,
}

impl JoinPlan {
    /// Whether a join uses shared memory.
    pub fn uses_shared(self) -> bool {
        matches!(self, JoinPlan::Warps { .. } | JoinPlan::Memory)
    }
}

/// How the threads of these axes of a block are joined, for this warp size.
pub(crate) fn plan(block: PerDim<u32>, axes: AxisSet, warp: u32) -> JoinPlan {
    let threads: u32 = block.values().product();
    let group: u32 = axes.iter().filter_map(|axis| axis.extent_in(&block)).product();
    if group == 1 {
        return JoinPlan::Nothing;
    }
    let wide = |axis: &HardwareAxis| axis.extent_in(&block).is_some_and(|extent| extent > 1);
    let last = axes.iter().filter(wide).last();
    let mut inner = HardwareAxis::all().filter(|axis| wide(axis) && Some(*axis) < last);
    let contiguous = inner.all(|axis| axes.contains(axis));
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
    !join.axes().is_empty() && plan(block, join.axes(), warp).uses_shared()
}
