//! Whether two accesses touch one element, in executions that nothing orders.

use loopwright_kernel_ir::{Aff, Constraint, Dim, HardwareAxis, Name, PerDim};
use loopwright_legality::{Load, facts_exclude, primed};
use loopwright_poly::{Result, System};

use super::{Order, Who, is_own, shared_name, ways::End};
use crate::{
    LeafId, Step,
    verify::{
        cases::case_with,
        reading::TouchId,
        vouched::{loaded_for, meets_anyway, meets_by_data_alone},
    },
};

/// The relation of a loop's value in the second execution to that in the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Iteration {
    Next,
    /// Any later one, if no barrier stands in those between.
    Later,
}

/// Two accesses that nothing orders.
#[derive(Clone, Debug)]
pub(in crate::verify) struct Meeting {
    pub first: TouchId,
    pub second: TouchId,
    pub who: Who,
    /// The executions, the second one's own names primed.
    pub case: System,
    /// Whether each point of the case is a pair that runs.
    pub exact: bool,
}

impl Order<'_, '_> {
    /// Whether what is declared of data leaves no pair, whichever comes first in the loops around
    /// both; or, if pairs in the same iteration of all of them are vouched for, none besides those.
    fn excluded(&mut self, case: &System, loads: &[Load], loops: &[&Name], vouched: bool) -> Result<bool> {
        self.queries += 1;
        if case.is_empty()? || facts_exclude(case, loads, &self.reading.program.facts)? {
            return Ok(true);
        }
        let Some((first, rest)) = loops.split_first() else { return Ok(vouched) };
        let (this, other) = (Aff::var(*first), Aff::var(primed(first)));
        for c in [Constraint::lt(&this, &other)?, Constraint::lt(&other, &this)?] {
            self.queries += 1;
            let case = case.with(&[c])?;
            if !case.is_empty()? && !facts_exclude(&case, loads, &self.reading.program.facts)? {
                return Ok(false);
            }
        }
        self.excluded(&case.with(&[Constraint::equal(&this, &other)?])?, loads, rest, vouched)
    }

    /// Asks about one pair: the second's execution is in the same iteration of all loops around
    /// both that have barriers in them, up to the one that is given.
    pub(super) fn pair(&mut self, x: &End, y: &End, who: Who, at: Option<(usize, Iteration)>) -> Result<()> {
        let (first, second) = (self.touch(x.touch), self.touch(y.touch));
        if self.is_settled() || first.memory != second.memory || !(first.write || second.write) {
            return Ok(());
        }
        // Updates of one kind may come in any order, if each is one step for the other.
        let apart = who == Who::Blocks && (first.in_block || second.in_block);
        if first.atomic.is_some() && first.atomic == second.atomic && !apart {
            return Ok(());
        }
        let reading = self.reading;
        // Which thread writes which element is up to the data; that no two write the same one is
        // what the leaf claims.
        if first.write && second.write && first.leaf == second.leaf && reading.is_decided_by_data(first.leaf)
        {
            return Ok(());
        }
        let (a, b) = (reading.scope(first.scope), reading.scope(second.scope));
        // Loops in whose same iteration both are.
        let common = a.loops.iter().zip(&b.loops).take_while(|(p, q)| p == q).map(|(p, _)| *p);
        let equal: Vec<&Name> = match who {
            Who::Blocks => Vec::new(),
            Who::Threads => common
                .clone()
                .take_while(|l| at.is_none_or(|(last, _)| *l != last))
                .filter(|l| self.joins(*l))
                .map(|l| &reading.loops[l].name)
                .collect(),
        };
        // Barriers of warps in loops that have no barrier that counts.
        let has_lanes =
            who == Who::Threads && common.clone().any(|l| reading.loops[l].joins_lanes && !self.joins(l));
        let free: Vec<&Name> = common
            .clone()
            .map(|l| &reading.loops[l].name)
            .filter(|n| !equal.contains(n) && at.is_none_or(|(l, _)| reading.loops[l].name != **n))
            .collect();
        let is_other = |n: &Name| is_own(n) && !shared_name(n, who) && !equal.contains(&n);
        let other = |aff: &Aff| aff.rename(&|n| is_other(n).then(|| primed(n)));
        let mut rows = Vec::with_capacity(a.rows.len() + b.rows.len() + 8);
        for (s, t) in first.cell.iter().zip(&second.cell) {
            if let (Some(s), Some(t)) = (s, t) {
                let c = Constraint::equal(s, &other(t)?)?;
                if c.aff.as_constant().is_some_and(|k| k != 0) {
                    return Ok(());
                }
                rows.push(c);
            }
        }
        rows.extend(self.context.iter().cloned());
        rows.extend(a.rows.iter().cloned());
        for c in &b.rows {
            let c = Constraint { kind: c.kind, aff: other(&c.aff)? };
            if !rows.contains(&c) {
                rows.push(c);
            }
        }
        for c in x.way.also() {
            rows.push(c.clone());
        }
        for c in y.way.also() {
            rows.push(Constraint { kind: c.kind, aff: other(&c.aff)? });
        }
        let mut either = a.either.clone();
        for list in &b.either {
            let of_second = |c: &Constraint| Ok(Constraint { kind: c.kind, aff: other(&c.aff)? });
            either.push(list.iter().map(of_second).collect::<Result<_>>()?);
        }
        let mut exact = a.is_whole()
            && b.is_whole()
            && x.way.is_exact()
            && y.way.is_exact()
            && first.cell.iter().chain(&second.cell).all(Option::is_some);
        if let Some((number, iteration)) = at {
            let (l, step) = (&reading.loops[number].name, reading.loops[number].step);
            let (this, next) = (Aff::var(l), Aff::var(primed(l)));
            rows.push(match (iteration, step) {
                (Iteration::Next, Step::Add(step)) => Constraint::equal(&next, &this.add_constant(step)?)?,
                (Iteration::Next, Step::Halve) => Constraint::equal(&next, &this.floor_div(2)?)?,
                (Iteration::Next, Step::Double) => Constraint::equal(&next, &this.scale(2)?)?,
                (Iteration::Later, Step::Add(_) | Step::Double) => Constraint::lt(&this, &next)?,
                (Iteration::Later, Step::Halve) => Constraint::lt(&next, &this)?,
            });
            exact &= iteration == Iteration::Next;
        }
        if self.found.is_some() && !exact {
            return Ok(());
        }
        let by_data = [&a.loads, &b.loads].iter().any(|l| !l.is_empty())
            || first.cell.iter().chain(&second.cell).any(Option::is_none);
        let part = |leaf: Option<LeafId>| reading.program.leaves.get(leaf?.0).map(|leaf| &leaf.part);
        let vouched = self.vouched
            && at.is_none()
            && by_data
            && part(first.leaf).is_some_and(|part_of| part(second.leaf) == Some(part_of));
        let known = first.cell.iter().chain(&second.cell).all(Option::is_some);
        let alike = x.touch == y.touch && at.is_none();
        let both = self.number(rows)?;
        for axis in self.axes(who) {
            let (own, foreign) = (Aff::var(&axis), Aff::var(primed(&axis)));
            for (low, high) in [(&own, &foreign), (&foreign, &own)].iter().take(if alike { 1 } else { 2 }) {
                let differ = Constraint::lt(low, high)?;
                if self.is_empty(both, &differ)? {
                    continue;
                }
                let mut loads: Vec<Load> = a.loads.clone();
                for load in &b.loads {
                    let arguments = load.arguments.iter().map(other).collect::<Result<_>>()?;
                    loads.push(Load { name: primed(&load.name), array: load.array.clone(), arguments });
                }
                let case = self.asked[both].0.with(&[differ])?;
                let whatever = vouched && who == Who::Blocks;
                let vouched = vouched && !meets_anyway(&case, loads.split_at(a.loads.len()))?;
                if whatever && known {
                    let (own, others) = loads.split_at(a.loads.len());
                    let (own, others) =
                        (loaded_for(&first.cell, own, false), loaded_for(&second.cell, others, true));
                    if meets_by_data_alone(&case, (&own, &others))? {
                        continue;
                    }
                }
                if (vouched || !loads.is_empty()) && self.excluded(&case, &loads, &free, vouched)? {
                    continue;
                }
                let Some(mut case) = case_with(&case, &either, &mut self.queries)? else { continue };
                if exact && (has_lanes || x.way.has_lanes() || y.way.has_lanes()) {
                    match self.of_two_warps(&case)? {
                        Some(apart) => case = apart,
                        None => exact = false,
                    }
                }
                if exact || self.found.is_none() {
                    self.found = Some(Meeting { first: x.touch, second: y.touch, who, case, exact });
                }
                return Ok(());
            }
        }
        Ok(())
    }

    /// A case in which the two threads are of different warps of a block that lies along x.
    fn of_two_warps(&self, case: &System) -> Result<Option<System>> {
        let PerDim { y: 1, z: 1, .. } = self.reading.kernel.block else { return Ok(None) };
        let x = Name::new(HardwareAxis::Block(Dim::X).coordinate());
        let lanes = i64::from(self.reading.program.target.warp_size);
        let (own, other) = (Aff::var(&x).floor_div(lanes)?, Aff::var(primed(&x)).floor_div(lanes)?);
        for (low, high) in [(&own, &other), (&other, &own)] {
            let apart = case.with(&[Constraint::lt(low, high)?])?;
            if !apart.is_empty()? {
                return Ok(Some(apart));
            }
        }
        Ok(None)
    }
}
