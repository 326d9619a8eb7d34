//! What a block publishes and learns where it looks back, in a body that is run for all threads.
//!
//! The first warp of the block looks back, once. In all of its lanes, what it publishes has to be
//! the total of the block's tile: all points of the group, in their order. What it learns is what
//! the tiles before join, number 0 of the points ([`super::scan`]), in the lanes of that warp.
//!
//! What is done with the totals of tiles is the program's function for it ([`DeclaredLookBack`]),
//! which is run likewise, on two neighbouring runs of points.

use std::{collections::BTreeMap, rc::Rc};

use loopwright_kernel_ir::{Name, PerDim, ReductionOp, TypeTable};

use super::{
    Holder,
    known::{Cell, Known, Values},
    parts::{Content, Parts},
    run::{Claimed, Points, Run, Stop},
};
use crate::{DeclaredLookBack, DeviceKernel, Join, LookBack, Stmt, Value, Var, VarId};

impl Run<'_> {
    /// A look-back by the threads that are active.
    pub(super) fn look_back(&mut self, stmt: &LookBack, active: &[bool]) -> Result<(), Stop> {
        let Points::Scan(scan) = &self.points else { return Err(Stop::NotFollowed) };
        let whole =
            self.axes.iter().map(|(_, count)| (*count).max(1) as usize).product::<usize>() * scan.lanes;
        if !scan.tiles {
            return Err(Stop::LookBack(
                "a block looks back, where the scan does not go on from block to block",
            ));
        }
        let warp = usize::try_from(self.warp_size).unwrap_or(usize::MAX);
        if self.threads < warp || (0..self.threads).any(|thread| active[thread] != (thread < warp)) {
            return Err(Stop::LookBack("other threads look back than those of the first warp"));
        }
        self.looked += 1;
        let totals = self.of_block(&stmt.total, active, active)?;
        for thread in (0..self.threads).filter(|thread| active[*thread]) {
            let is_total = match self.settled(totals.at(thread).clone()) {
                Known::Parts(parts) => {
                    parts.number.is_none_or(|n| n == 0) && parts.content == Content::run(1, whole + 1)
                }
                _ => false,
            };
            if !is_total {
                return Err(Stop::LookBack("what is published is not the total of the block's tile"));
            }
        }
        let before = Known::Parts(Rc::new(Parts { number: Some(0), content: Content::run(0, 1) }));
        let values = self.each(&Cell::Var(stmt.before));
        for (value, _) in values.iter_mut().zip(active).filter(|(_, active)| **active) {
            *value = before.clone();
        }
        Ok(())
    }

    /// Whether the block looks back as often as the contract says: once, or not at all.
    pub(super) fn looks_back_otherwise(&self, join: &Join) -> Option<&'static str> {
        match (join.tiles, self.looked) {
            (None, 0) | (Some(_), 1) => None,
            (None, _) => Some("a block looks back, where the scan does not go on from block to block"),
            (Some(_), 0) => Some("no block looks back, where the scan goes on from block to block"),
            (Some(_), _) => Some("a block looks back more than once"),
        }
    }
}

/// Whether the function joins neighbouring tiles as an operator does whose first value is this one,
/// and begins with that value.
pub(super) fn is_of_operator(
    of: &DeclaredLookBack,
    first: Option<&Value>,
    (operator, types): (Option<&ReductionOp>, &TypeTable<'_>),
    warp_size: u32,
) -> bool {
    const JOINED: VarId = VarId(2);
    let var = |name: &str| Var {
        name: Name::new(name),
        dtype: of.dtype,
        mutable: false,
        meaning: None,
        within: None,
        index: false,
    };
    let [earlier, later] = DeclaredLookBack::NAMES;
    let kernel = DeviceKernel {
        name: of.name.clone(),
        params: Vec::new(),
        grid: PerDim::all(of.neutral.clone()),
        block: PerDim::all(1),
        min_blocks_per_multiprocessor: None,
        early: false,
        in_order: None,
        vars: [earlier, later, "joined"].map(var).into(),
        shared: Vec::new(),
        private: Vec::new(),
        body: Vec::new(),
        notes: Vec::new(),
    };
    let claimed = Claimed {
        state: BTreeMap::from([(0, Holder::Var(JOINED))]),
        first: first.map(|first| (0, first)).into_iter().collect(),
        operator,
        types,
    };
    let points = Points::Scan(super::Scan { lanes: 1, subscript: None, carry: None, tiles: false });
    let mut run = Run::new(&kernel, warp_size, &[], claimed, points);
    let parts = |from, to| Known::Parts(Rc::new(Parts { number: Some(0), content: Content::run(from, to) }));
    *run.values(&Cell::Var(DeclaredLookBack::EARLIER)) = Values::same(parts(1, 2));
    *run.values(&Cell::Var(DeclaredLookBack::LATER)) = Values::same(parts(2, 3));
    let mut gives = |value: &Value, wanted: Content| {
        let set = Stmt::Set { var: JOINED, value: value.clone(), leaf: None };
        run.body(&[set], &[true]).is_ok()
            && matches!(run.values(&Cell::Var(JOINED)).at(0), Known::Parts(p) if p.content == wanted)
    };
    gives(&of.combined, Content::run(1, 3)) && gives(&of.neutral, Content::run(0, 0))
}
