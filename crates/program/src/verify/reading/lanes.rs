//! The lanes for which a copy of several elements gives a value of a part.
//!
//! A copy has no loop that counts its lanes. If one lane of its part has no value around it, the
//! elements are those of neighbouring values of that lane, from the one on for which the kernel's
//! target is the first element that is written. What is found here need not be trusted: where the
//! kernel is known, `values` compares the elements and what is copied into them with what the
//! kernel says of these lanes. Without the kernel, and where the target is not a function of
//! inames, a place in an array of the thread says it, or that the copies of a body have all lanes
//! together.
//!
//! A copy whose lanes are not known might run any of its part's instances: its scope is not read
//! completely ([`Scope::unread`]), so that nothing is shown with it.

use loopwright_kernel_ir::{AddressSpace, Aff, Constraint, Expr, Kind, Lookup, LoopKernel, Name, Part};
use loopwright_poly::{Result, System, Table};

use super::{Reading, Scope};
use crate::{Async, AsyncCopy, Instances, Leaf, LeafId, MemRef, Memory, Program, Purpose, Stmt, Value};

/// The elements that parts in lanes write: by the leaves that give their values, the subscripts of
/// the kernel's target in the order of storage, over coordinates and the inames of loops and lanes.
#[derive(Default)]
pub(in crate::verify) struct Targets(Table<LeafId, Vec<Option<Aff>>>);

impl Targets {
    pub fn of(kernel: &LoopKernel, program: &Program) -> Result<Self> {
        let mut found = Targets::default();
        let in_lanes = |leaf: &Leaf| leaf.instances.as_ref().is_some_and(|i| !i.lanes.is_empty());
        if !program.leaves.iter().any(in_lanes) {
            return Ok(found);
        }
        let lookup = Lookup::new(kernel);
        let coordinate =
            |name: &Name| program.coordinates.iter().find(|(n, _)| n == name).map(|(_, aff)| aff.clone());
        for (number, leaf) in program.leaves.iter().enumerate().filter(|(_, leaf)| in_lanes(leaf)) {
            let (Purpose::Value(value), Part::Whole | Part::Finish) = (leaf.purpose, leaf.part.part) else {
                continue;
            };
            let instruction = lookup.instruction(&leaf.part.instruction);
            let Some(target) = instruction.and_then(|i| i.targets.get(usize::from(value))) else { continue };
            let Some(array) = lookup.array(&target.array) else { continue };
            let order = match array.space {
                AddressSpace::Global | AddressSpace::Constant => (0..target.index.len()).collect(),
                AddressSpace::Shared | AddressSpace::Private => array.storage_order(),
            };
            let mut subscripts = Vec::with_capacity(order.len());
            for axis in order {
                subscripts.push(match target.index.get(axis).and_then(Expr::to_aff) {
                    Some(own) => Some(lookup.expand(&own)?.substitute(&coordinate)?),
                    None => None,
                });
            }
            found.0.insert(LeafId(number), subscripts);
        }
        Ok(found)
    }
}

/// The lane of the kernel that the elements of a copy are.
#[derive(Clone, Debug)]
pub(in crate::verify) struct Copied {
    pub lane: Name,
    /// Its value at the first element.
    pub first: i64,
    /// Whether it is the only value for which the kernel's target is that element.
    pub certain: bool,
}

/// What is known of the lanes of a statement.
pub(super) enum Lanes {
    /// It is no copy that gives a value, or its part has no lanes.
    Without,
    Known(Copied, Vec<Constraint>),
    Unknown,
}

/// The least value of a lane: its element is the first one of a thread's array.
pub(in crate::verify) fn first_lane(
    context: &[Constraint],
    of: &Instances,
    lane: &Name,
) -> Result<Option<i64>> {
    Ok(range_of(context, of, lane)?.0)
}

/// The least and the greatest value of a lane.
fn range_of(context: &[Constraint], of: &Instances, lane: &Name) -> Result<(Option<i64>, Option<i64>)> {
    let own = of.constraints.iter().filter(|c| c.aff.mentions(lane));
    System::of(context.iter().chain(own).cloned().collect())?.constant_range(&Aff::var(lane))
}

/// Where a copy writes, what it reads, and how many elements it has.
fn copy_of(stmt: &Stmt) -> Option<(&MemRef, &MemRef, u8)> {
    match stmt {
        Stmt::VectorCopy { to, from, lanes, .. }
        | Stmt::Async(Async::Copy(AsyncCopy { to, from, lanes, .. })) => Some((to, from, *lanes)),
        _ => None,
    }
}

impl Reading<'_> {
    /// The lanes for which a statement of a body, in this scope, gives a value of its part.
    pub(super) fn lanes_of_copy(
        &mut self,
        id: LeafId,
        stmt: &Stmt,
        body: &[Stmt],
        scope: &Scope,
    ) -> Result<Lanes> {
        let Some((to, from, count)) = copy_of(stmt) else { return Ok(Lanes::Without) };
        let program = self.program;
        let given = program.leaves.get(id.0).filter(|leaf| matches!(leaf.purpose, Purpose::Value(_)));
        let Some(instances) = given.and_then(|leaf| leaf.instances.as_ref()) else {
            return Ok(Lanes::Without);
        };
        let is_free = |lane: &&Name| {
            !self.bound.contains(lane)
                && !scope.rows.iter().any(|c| c.kind == Kind::Eq && c.aff.mentions(lane))
        };
        let free: Vec<&Name> = instances.lanes.iter().filter(is_free).collect();
        let lane = match free.as_slice() {
            [lane] => *lane,
            // Of a single element the lanes around are its own.
            [] if count == 1 || instances.lanes.is_empty() => return Ok(Lanes::Without),
            _ => return Ok(Lanes::Unknown),
        };
        let first = match self.first_by_target(id, (to, lane), scope)? {
            Some(first) => Some((first, true)),
            None => {
                let first = self.first_by_place(id, (instances, lane), (to, from), body)?;
                first.map(|first| (first, false))
            }
        };
        let Some((first, certain)) = first else { return Ok(Lanes::Unknown) };
        let copied = Aff::var(lane).add_constant(first.saturating_neg())?;
        let rows = vec![Constraint::lt(&copied, &Aff::constant(count.into()))?, Constraint::nonneg(copied)];
        Ok(Lanes::Known(Copied { lane: lane.clone(), first, certain }, rows))
    }

    /// The value of a lane for which the kernel's target is this element.
    fn first_by_target(
        &mut self,
        leaf: LeafId,
        (to, lane): (&MemRef, &Name),
        scope: &Scope,
    ) -> Result<Option<i64>> {
        let along = self.dense(to);
        let (Some(found), Some(own)) = (to.subscripts.get(along), self.target_along(leaf, to, along, scope)?)
        else {
            return Ok(None);
        };
        let Some(found) = self.aff(found)? else { return Ok(None) };
        let rest = own.sub(&Aff::var(lane))?;
        match rest.mentions(lane) {
            true => Ok(None),
            false => Ok(found.sub(&rest)?.as_constant()),
        }
    }

    /// The subscript of the kernel's target along an axis of an element in storage.
    fn target_along(&self, leaf: LeafId, to: &MemRef, along: usize, scope: &Scope) -> Result<Option<Aff>> {
        let Some(own) = self.targets.0.get(&leaf) else { return Ok(None) };
        // In front of them are the lanes of which each has an array.
        let axis = to.subscripts.len().checked_sub(own.len()).and_then(|lanes| along.checked_sub(lanes));
        let Some(Some(own)) = axis.and_then(|axis| own.get(axis)) else { return Ok(None) };
        let only = self.program.leaves.get(leaf.0).map(|l| l.only.as_slice()).unwrap_or_default();
        let value = |name: &Name| {
            let (_, value) = only.iter().find(|(n, _)| n == name)?;
            let is_so = Constraint::equal(&Aff::var(name), value).is_ok_and(|c| scope.rows.contains(&c));
            is_so.then(|| value.clone())
        };
        Ok(Some(own.substitute(&value)?))
    }

    /// The first lane of a copy from the array of the thread that has an element for each lane, and
    /// of one that has all lanes together with the copies beside it.
    fn first_by_place(
        &mut self,
        id: LeafId,
        (instances, lane): (&Instances, &Name),
        (to, from): (&MemRef, &MemRef),
        body: &[Stmt],
    ) -> Result<Option<i64>> {
        let (Some(least), greatest) = range_of(self.context, instances, lane)? else { return Ok(None) };
        if matches!(from.memory, Memory::Private(_))
            && let Some(place) = from.subscripts.last().and_then(Value::as_int)
        {
            return Ok(Some(least.saturating_add(place)));
        }
        let along = self.dense(to);
        let Some(own) = to.subscripts.get(along).map(|s| self.aff(s)).transpose()?.flatten() else {
            return Ok(None);
        };
        // Where the others begin, from this one on.
        let (mut low, mut high, mut all) = (0, 0, 0);
        for stmt in body.iter().filter(|stmt| stmt.leaf() == Some(id)) {
            let Some((other, _, count)) = copy_of(stmt) else { return Ok(None) };
            let Some(begins) = other.subscripts.get(along).map(|s| self.aff(s)).transpose()?.flatten() else {
                return Ok(None);
            };
            let Some(begins) = begins.sub(&own)?.as_constant().filter(|_| other.memory == to.memory) else {
                return Ok(None);
            };
            low = begins.min(low);
            high = begins.saturating_add(count.into()).max(high);
            all += i64::from(count);
        }
        let lanes = greatest.map(|most| most.saturating_sub(least).saturating_add(1));
        let is_whole = high.saturating_sub(low) == all && lanes == Some(all);
        Ok(is_whole.then(|| least.saturating_sub(low)))
    }
}
