//! How threads join their partial results, or scan them.
//!
//! Threads that are neighbours by number are joined by shuffles: up to a warp by one butterfly;
//! whole warps by a butterfly in each warp, then through shared memory across them. Other shapes go
//! through shared memory alone, which keeps no order: scans have none.

use loopwright_kernel_ir::Diagnostic;

use super::{Node, planner::Planner};
use crate::{
    analysis::reduction,
    items::Join,
    join::{JoinPlan, axis_names, plan},
};

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
                    "the scan `{}` goes over {} of a block of {} x {} x {} threads, which are no groups of neighbouring lanes or whole warps",
                    instruction.id,
                    axis_names(join),
                    self.block[0],
                    self.block[1],
                    self.block[2]
                ),
            )
            .help(format!("scan along thread.x, over {lanes} threads")));
        }
        Ok(vec![Node::Join { join: join.clone(), plan }])
    }
}
