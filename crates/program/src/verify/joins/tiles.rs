//! What a block publishes and learns where it looks back, in a body that is run for all threads.
//!
//! The first warp of the block looks back, once. In all of its lanes, what it publishes has to be
//! the total of the block's tile: all points of the group, in their order. What it learns is what
//! the tiles before join, number 0 of the points ([`super::scan`]), in the lanes of that warp.
//!
//! What is done with the totals of tiles is the program's function for it ([`DeclaredLookBack`]),
//! which is run likewise, on two neighbouring runs of points.

use std::{collections::BTreeMap, rc::Rc};

use loopwright_kernel_ir::{DType, Name, PerDim, ReductionOp, TypeTable};

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
        let counts = [stmt.total.len(), stmt.before.len()];
        if counts.iter().any(|count| *count != self.claimed.state.len()) {
            return Err(Stop::LookBack("what is published has another number of values than the state"));
        }
        for (number, total) in (0u8..).zip(&stmt.total) {
            let totals = self.of_block(total, active, active)?;
            for thread in (0..self.threads).filter(|thread| active[*thread]) {
                let is_total = match self.settled(totals.at(thread).clone()) {
                    Known::Parts(parts) => {
                        parts.number.is_none_or(|n| n == number)
                            && parts.content == Content::run(1, whole + 1)
                    }
                    _ => false,
                };
                if !is_total {
                    return Err(Stop::LookBack("what is published is not the total of the block's tile"));
                }
            }
        }
        for (number, var) in (0u8..).zip(&stmt.before) {
            let content = Content::run(0, 1);
            let before = Known::Parts(Rc::new(Parts { number: Some(number), content }));
            let values = self.each(&Cell::Var(*var));
            for (value, _) in values.iter_mut().zip(active).filter(|(_, active)| **active) {
                *value = before.clone();
            }
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

/// Whether the function joins neighbouring tiles as an operator does whose first values are these,
/// and begins with those values.
pub(super) fn is_of_operator(
    of: &DeclaredLookBack,
    first: &BTreeMap<u8, &Value>,
    (operator, types): (Option<&ReductionOp>, &TypeTable<'_>),
    warp_size: u32,
) -> bool {
    let count = of.state.len();
    if of.neutral.len() != count || of.combined.len() != count {
        return false;
    }
    let var = |(name, dtype): (String, DType)| Var {
        name: Name::new(name),
        dtype,
        mutable: false,
        meaning: None,
        within: None,
        index: false,
    };
    // The variables of both runs, and those of what they join.
    let joined = |number: usize| VarId(2 * count + number);
    let names = DeclaredLookBack::names(count).into_iter();
    let names = names.chain((0..count).map(|number| format!("joined_{number}")));
    let Some(one) = of.neutral.first() else { return false };
    let kernel = DeviceKernel {
        name: of.name.clone(),
        params: Vec::new(),
        grid: PerDim::all(one.clone()),
        block: PerDim::all(1),
        min_blocks_per_multiprocessor: None,
        early: false,
        in_order: None,
        vars: names.zip(of.state.iter().cycle().copied()).map(var).collect(),
        shared: Vec::new(),
        private: Vec::new(),
        body: Vec::new(),
        notes: Vec::new(),
    };
    let state = (0u8..).zip(0..count).map(|(number, k)| (number, Holder::Var(joined(k))));
    let claimed = Claimed { state: state.collect(), first: first.clone(), operator, types };
    let points = Points::Scan(super::Scan { lanes: 1, subscript: None, carry: None, tiles: false });
    let mut run = Run::new(&kernel, warp_size, &[], claimed, points);
    let parts = |number, from, to| {
        Known::Parts(Rc::new(Parts { number: Some(number), content: Content::run(from, to) }))
    };
    for (number, k) in (0u8..).zip(0..count) {
        *run.values(&Cell::Var(of.earlier(k))) = Values::same(parts(number, 1, 2));
        *run.values(&Cell::Var(of.later(k))) = Values::same(parts(number, 2, 3));
    }
    let mut gives = |values: &[Value], wanted: Content| {
        let set =
            |(k, value): (usize, &Value)| Stmt::Set { var: joined(k), value: value.clone(), leaf: None };
        let body: Vec<Stmt> = values.iter().enumerate().map(set).collect();
        let is_wanted = |run: &mut Run<'_>, number: u8, k| match run.values(&Cell::Var(joined(k))).at(0) {
            Known::Parts(p) => p.number.is_none_or(|n| n == number) && p.content == wanted,
            _ => false,
        };
        run.body(&body, &[true]).is_ok() && (0u8..).zip(0..count).all(|(n, k)| is_wanted(&mut run, n, k))
    };
    gives(&of.combined, Content::run(1, 3)) && gives(&of.neutral, Content::run(0, 0))
}
