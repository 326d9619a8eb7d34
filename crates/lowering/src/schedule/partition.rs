//! Loop partitioning: the iterations in which all conditions hold are a loop of their own.
//!
//! A condition inside of a loop that depends on its iname holds from some iteration on, or up to
//! one. Where an iname is tagged `partition`, its loop is written as up to three over neighbouring
//! ranges of its values:
//!
//! ```text
//! for (the values before some condition holds)         the body with conditions
//! for (the values for which all of them hold)          the body, none of them tested
//! for (the values after some condition has failed)     the body with conditions
//! ```
//!
//! A condition that also depends on what varies inside of the loop, such as that the elements of a
//! tile are in range, counts where it holds for all of that: at the value in the constant range of
//! each such name at which it is hardest to satisfy.
//!
//! With `l` the greatest of the values from which on conditions hold, and `u` the least of those up
//! to which they do, the ranges are `k < l`, `l <= k <= u`, and `k >= l` with `k > u`: whatever the
//! conditions are, each value is in exactly one of them, and they come in order. A loop that has no
//! values is left out, and so is a statement that cannot run in the first or the last one, such as
//! the copies of a ring for iterations behind the end.
//!
//! A loop with copies that fill what is outside of their array is left as it is: the final check
//! follows filling from a copy to what reads it within one loop. So is one that joins partial
//! results, whose rounds the final check counts in one loop.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, HardwareAxis, Kind, Name, Part};
use loopwright_poly::{Bound, System};

use super::{
    Node,
    guards::{canonical, irredundant},
    loop_bounds::{LoopBounds, LoopEnd, Side},
    place::Place,
    planner::Planner,
};
use crate::{
    analyse::analysis::{Guard, PartInfo},
    program::Note,
    schedule::items::Item,
};

/// A condition on the iname of a loop.
struct Cut {
    /// The end of the range for which it holds.
    side: Side,
    /// The bound on the iname that it states.
    holds: Bound,
    /// The bound that its opposite states, on the other side.
    fails: Bound,
}

impl Cut {
    /// `a*iname + rest >= 0`.
    fn of(condition: &Constraint, iname: &Name) -> Result<Cut, Diagnostic> {
        let a = condition.aff.coefficient(iname);
        let rest = condition.aff.substitute_one(iname, &Aff::constant(0))?;
        let bound = |aff| Bound { aff, denominator: a.abs() };
        Ok(match a > 0 {
            true => {
                let least = rest.neg()?;
                Cut { side: Side::Lower, holds: bound(least.clone()), fails: bound(least.add_constant(-1)?) }
            }
            false => {
                Cut { side: Side::Upper, holds: bound(rest.clone()), fails: bound(rest.add_constant(1)?) }
            }
        })
    }
}

impl LoopEnd {
    /// This end, and each of these bounds besides.
    fn with_all(&self, bounds: &[Bound]) -> LoopEnd {
        LoopEnd(self.0.iter().map(|list| list.iter().chain(bounds).cloned().collect()).collect())
    }

    /// This end, and the weakest of these bounds besides.
    fn with_weakest(&self, bounds: &[Bound]) -> LoopEnd {
        let with = |b: &Bound| self.with_all(std::slice::from_ref(b)).0;
        LoopEnd(bounds.iter().flat_map(with).collect())
    }
}

impl Planner<'_, '_> {
    /// The loops over the ranges of `iname`; `None` if no condition inside of its loop holds for
    /// some iterations only, or copies fill what is outside of their array, or partial results are
    /// joined.
    pub fn partitioned(
        &mut self,
        iname: &Name,
        items: &[Item],
        place: &Place,
    ) -> Result<Option<Vec<Node>>, Diagnostic> {
        let mut joins = false;
        Item::visit(items, &mut |item| joins |= matches!(item, Item::Join(_) | Item::Start(_)));
        if joins {
            return Ok(None);
        }
        for number in Item::parts(items) {
            if self.fills(self.part(number), place)? {
                return Ok(None);
            }
        }
        let bounds = self.loop_bounds(items, iname, place)?;
        let cuts = self.cuts(iname, items, &bounds, place)?;
        let of = |side| -> (Vec<Bound>, Vec<Bound>) {
            cuts.iter().filter(|c| c.side == side).map(|c| (c.holds.clone(), c.fails.clone())).unzip()
        };
        let ((from, before), (to, after)) = (of(Side::Lower), of(Side::Upper));
        if cuts.is_empty() {
            return Ok(None);
        }
        let mut nodes = Vec::new();
        if !from.is_empty() {
            let (lower, upper) = (bounds.lower.clone(), bounds.upper.with_weakest(&before));
            let note = Note::new("the iterations before all conditions hold");
            nodes.extend(self.range(iname, items, LoopBounds { lower, upper }, place, note, true)?);
        }
        let steady = LoopBounds { lower: bounds.lower.with_all(&from), upper: bounds.upper.with_all(&to) };
        let note = Note::new("the iterations in which all conditions hold");
        nodes.extend(self.range(iname, items, steady, place, note, false)?);
        if !to.is_empty() {
            let (lower, upper) = (bounds.lower.with_all(&from).with_weakest(&after), bounds.upper);
            let note = Note::new("the iterations after some condition has failed");
            nodes.extend(self.range(iname, items, LoopBounds { lower, upper }, place, note, true)?);
        }
        Ok(Some(nodes))
    }

    /// Whether a part fills anything: where tiles are known to be whole, there is nothing to fill.
    fn fills(&self, info: &PartInfo, place: &Place) -> Result<bool, Diagnostic> {
        let Some(filling) = &info.filling else { return Ok(false) };
        let known = place.with(&canonical(&info.guards))?;
        for guard in &filling.guards {
            if !known.implies(&guard.canonical)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The conditions on `iname` that hold for some of its iterations only: guards of the
    /// parts inside, each for all values that names have which vary inside of the loop.
    fn cuts(
        &self,
        iname: &Name,
        items: &[Item],
        bounds: &LoopBounds,
        place: &Place,
    ) -> Result<Vec<Cut>, Diagnostic> {
        let mut inside = place.clone();
        inside.bound.insert(iname.clone());
        bounds.learn(iname, &mut inside)?;
        let converges = items.iter().any(|item| item.converges(self.analysis));
        let mut found: Vec<Guard> = Vec::new();
        for number in Item::parts(items) {
            let info = self.part(number);
            if matches!(info.execution.part.part, Part::Init(_)) {
                continue;
            }
            for guard in &info.guards {
                let condition = &guard.canonical;
                if condition.kind != Kind::Ge || !condition.aff.mentions(iname) {
                    continue;
                }
                let outside = |n: &Name| {
                    n == iname || self.available(n, place) && (!converges || self.uniform(&Aff::var(n)))
                };
                let Some(condition) = self.for_all(condition, info, &outside)? else { continue };
                if condition.aff.coefficient(iname) != 0
                    && !found.iter().any(|g| g.canonical == condition)
                    && !inside.implies(&condition)?
                {
                    found.push(Guard { declared: condition.clone(), canonical: condition });
                }
            }
        }
        let found = irredundant(&found, &inside)?;
        found.iter().map(|guard| Cut::of(&guard.canonical, iname)).collect()
    }

    /// The condition that another one holds whatever values the names have that are not `fixed`;
    /// `None` if one of them has no constant range, or no constant coefficient.
    fn for_all(
        &self,
        condition: &Constraint,
        info: &PartInfo,
        fixed: &dyn Fn(&Name) -> bool,
    ) -> Result<Option<Constraint>, Diagnostic> {
        let mut aff = condition.aff.clone();
        let mut part = None;
        for name in condition.names().into_iter().filter(|n| !fixed(n)) {
            let axis = HardwareAxis::of_coordinate(&name).and_then(|axis| axis.extent_in(&self.block));
            let range = match axis {
                Some(extent) => (Some(0), Some(i64::from(extent) - 1)),
                None => {
                    let part = match &part {
                        Some(part) => part,
                        None => {
                            let mut system = System::new(&self.analysis.context)?;
                            system.add_all(&canonical(&info.guards))?;
                            part.insert(system)
                        }
                    };
                    part.constant_range(&Aff::var(&name))?
                }
            };
            let worst = match aff.coefficient(&name) {
                0 => None,
                k if k > 0 => range.0,
                _ => range.1,
            };
            let Some(worst) = worst else { return Ok(None) };
            aff = aff.substitute_one(&name, &Aff::constant(worst))?;
            if aff.mentions(&name) {
                return Ok(None);
            }
        }
        Ok(Some(Constraint::nonneg(aff)))
    }

    /// One of the loops; `at_end` if it is not the one in which all conditions hold.
    fn range(
        &mut self,
        iname: &Name,
        items: &[Item],
        bounds: LoopBounds,
        place: &Place,
        note: Note,
        at_end: bool,
    ) -> Result<Vec<Node>, Diagnostic> {
        let known = |c: &Constraint| place.implies(c);
        let needed = |side: Side, end: LoopEnd| -> Result<LoopEnd, Diagnostic> {
            end.0.into_iter().map(|list| side.needed(list, &known)).collect::<Result<_, _>>().map(LoopEnd)
        };
        let bounds = LoopBounds {
            lower: needed(Side::Lower, bounds.lower)?,
            upper: needed(Side::Upper, bounds.upper)?,
        };
        if place.with(&bounds.known(iname, &known)?)?.system().is_empty()? {
            return Ok(Vec::new());
        }
        let around = self.at_ends;
        self.at_ends |= at_end;
        let nodes = self.bounded_loop(iname, items, bounds, place, note);
        self.at_ends = around;
        nodes
    }
}
