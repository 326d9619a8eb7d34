//! The barriers inside of a join or a scan of threads, each with what it orders.
//!
//! Threads that pass partial results through shared memory store them, and read those of others
//! behind a barrier (`stored`). A block that looks back has a second array, in which its first warp
//! stores what the tiles before join (`learnt`). Where a thread has several accumulators, one for
//! each value of lanes that are not joined, they go through the same arrays one after another, so
//! that a barrier stands behind each (`again`). What comes before and after the whole join is
//! ordered by [`super::sync`].

use loopwright_kernel_ir::Name;

use super::{
    items::Join,
    joins::{JoinPlan, Units},
};
use crate::program::Note;

/// The barriers of the block inside of a join.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinBarriers {
    /// Between the stores of partial results, or of the totals of units, and their loads.
    pub stored: Option<Note>,
    /// Between the store of what the tiles before join, and its loads.
    pub learnt: Option<Note>,
    /// Between these loads and the stores for the next value of the lanes around.
    pub again: Option<Note>,
}

impl JoinBarriers {
    /// Those of the join of an instruction's reduction, whose accumulators have lanes around that
    /// are not joined, or have none.
    pub fn of(join: &Join, plan: JoinPlan, id: &Name, has_lanes_around: bool) -> JoinBarriers {
        let stored = |who: &str| Some(Note::new(format!("{who} have stored their partial results of {id}")));
        let stored = match plan {
            JoinPlan::Nothing | JoinPlan::Butterfly(_) => None,
            JoinPlan::Warps { .. } => stored("all warps"),
            JoinPlan::Memory => stored("all threads"),
            JoinPlan::Scan(units) if units.count() > 1 => stored(&format!("all {}", names(units)[1])),
            JoinPlan::Scan(_) => None,
        };
        let learnt = join
            .tiles
            .map(|_| Note::new("the first warp has stored the joined partial results of the tiles before"));
        let again = match (has_lanes_around && plan.uses_shared(), join.scan) {
            (false, _) => None,
            (true, true) => Some(Note::new("the totals of the warps are written again for the next lane")),
            (true, false) => Some(Note::new("the partial results are written again for the next lane")),
        };
        JoinBarriers { stored, learnt, again }
    }

    /// All of them, in their order.
    pub fn all(&self) -> impl Iterator<Item = &Note> {
        [&self.stored, &self.learnt, &self.again].into_iter().flatten()
    }
}

/// What one unit of a scan is called, and what several are.
pub(crate) fn names(units: Units) -> [&'static str; 2] {
    match (units.warps, units.unit) {
        (true, _) => ["warp", "warps"],
        (false, 1) => ["thread", "threads"],
        (false, _) => ["unit", "units"],
    }
}
