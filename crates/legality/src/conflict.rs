//! Whether two accesses may touch the same cell.
//!
//! The pairs form one conjunction: the constraints of both executions (the names of the second one
//! primed, parameters shared), equal subscripts, and the requested relation of times and threads.
//! "Different thread" is a disjunction over the axes and over less and greater; the cases are
//! tested one by one until one is not empty.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, Fact, HardwareAxis, Name, PerDim};
use loopwright_poly::{Result, System};

use crate::{Access, Execution, Load, Presence, loads::add_facts};

/// Which executions the query pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Different threads of one block.
    Threads,
    /// Different blocks of one launch.
    Blocks,
    /// Any two executions of one block, whether or not in the same thread.
    Block,
    /// Different lanes of one thread.
    Lanes,
    /// Any two executions, whether or not in the same thread.
    Any,
}

/// How the times of the two executions compare, along the loops around both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The same iteration of all common loops.
    Same,
    /// The same iteration of the first `n` common loops, with the first execution in an earlier
    /// iteration of the next loop.
    Earlier(usize),
}

/// The parameters of a conflict query.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// Which executions are paired.
    pub meeting: Meeting,
    /// How their times compare.
    pub time: Time,
    /// Lanes that own cells of the array: both executions are in the same one.
    pub owning: &'a [Name],
    /// Constraints on the parameters.
    pub context: &'a [Constraint],
    /// Whether a name has the same value on both sides.
    pub shared: &'a dyn Fn(&Name) -> bool,
    /// The declared facts about data.
    pub facts: &'a [Fact],
    /// Threads per block on each dimension.
    pub block: PerDim<u32>,
}

/// The name that denotes a value of the second of two executions.
pub fn primed(name: &Name) -> Name {
    name.followed_by("'")
}

/// A small example of two executions that may touch the same cell: values of all names, with those
/// of the second execution primed.
pub fn example(
    a: &Execution,
    x: &Access,
    b: &Execution,
    y: &Access,
    query: &Query<'_>,
) -> Result<Option<BTreeMap<Name, i64>>> {
    match meeting_pairs(a, x, b, y, query)? {
        Some(case) => case.sample(&BTreeMap::new()),
        None => Ok(None),
    }
}

/// The pairs of executions of `a` (first) and `b` (second) that may touch the same cell in the
/// requested relation: a system over all names, those of the second execution primed. Of the ways
/// to be in different threads, blocks or lanes, it covers the first that is not empty. `None` if
/// there are no such pairs.
pub fn meeting_pairs(
    a: &Execution,
    x: &Access,
    b: &Execution,
    y: &Access,
    query: &Query<'_>,
) -> Result<Option<System>> {
    let prime = |aff: &Aff| aff.rename(&|n| (!(query.shared)(n)).then(|| primed(n)));
    let mut rows: Vec<Constraint> = query.context.to_vec();
    rows.extend(a.constraints.iter().cloned());
    for c in &b.constraints {
        rows.push(Constraint { kind: c.kind, aff: prime(&c.aff)? });
    }
    // Which thread or block runs a part that has no iname on an axis.
    for axis in HardwareAxis::all() {
        let extent = axis.extent_in(&query.block);
        elect(&mut rows, &a.executor[axis], axis.position(), extent)?;
        elect(&mut rows, &b.executor[axis], axis.position().rename(&|n| Some(primed(n)))?, extent)?;
    }
    for (s, t) in x.subscripts.iter().zip(&y.subscripts) {
        if let (Some(s), Some(t)) = (s, t) {
            rows.push(Constraint::equal(s, &prime(t)?)?);
        }
    }
    let common = a.loops.iter().zip(&b.loops).take_while(|(p, q)| p == q).count();
    let equal_loops = match query.time {
        Time::Same => common,
        Time::Earlier(n) => n,
    };
    for name in &a.loops[..equal_loops] {
        rows.push(Constraint::equal(&Aff::var(name), &Aff::var(primed(name)))?);
    }
    if let Time::Earlier(n) = query.time {
        let Some(name) = a.loops[..common].get(n) else { return Ok(None) };
        rows.push(Constraint::lt(&Aff::var(name), &Aff::var(primed(name)))?);
    }
    let same = |rows: &mut Vec<Constraint>, name: &Name| -> Result<()> {
        rows.push(Constraint::equal(&Aff::var(name), &Aff::var(primed(name)))?);
        Ok(())
    };
    let coordinate = |axis: &HardwareAxis| Name::new(axis.coordinate());
    let differ: Vec<Name> = match query.meeting {
        Meeting::Block => {
            for axis in HardwareAxis::OF_GRID {
                same(&mut rows, &coordinate(axis))?;
            }
            Vec::new()
        }
        Meeting::Threads => {
            for axis in HardwareAxis::OF_GRID {
                same(&mut rows, &coordinate(axis))?;
            }
            let wide = |axis: &&HardwareAxis| axis.extent_in(&query.block).is_none_or(|extent| extent > 1);
            HardwareAxis::OF_BLOCK.iter().filter(wide).map(coordinate).collect()
        }
        Meeting::Blocks => {
            let present = |axis: &&HardwareAxis| {
                [a, b].iter().any(|execution| execution.executor[**axis] != Presence::Elected)
            };
            HardwareAxis::OF_GRID.iter().filter(present).map(coordinate).collect()
        }
        Meeting::Lanes => {
            for axis in HardwareAxis::OF_GRID.iter().chain(HardwareAxis::OF_BLOCK) {
                same(&mut rows, &coordinate(axis))?;
            }
            for lane in query.owning {
                same(&mut rows, lane)?;
            }
            a.lanes.iter().filter(|l| b.lanes.contains(l)).cloned().collect()
        }
        Meeting::Any => Vec::new(),
    };
    let base = System::of(rows)?;
    if base.is_empty()? {
        return Ok(None);
    }
    let mut loads: Vec<Load> = a.loads.clone();
    for load in &b.loads {
        let arguments = load.arguments.iter().map(prime).collect::<Result<_>>()?;
        loads.push(Load { name: primed(&load.name), array: load.array.clone(), arguments });
    }
    if matches!(query.meeting, Meeting::Any | Meeting::Block) {
        let mut case = base;
        return Ok((!add_facts(&mut case, &loads, query.facts)?).then_some(case));
    }
    let symmetric = std::ptr::eq(a, b) && std::ptr::eq(x, y) && query.time == Time::Same;
    for name in &differ {
        let (own, other) = (Aff::var(name), Aff::var(primed(name)));
        for (low, high) in [(&own, &other), (&other, &own)].iter().take(if symmetric { 1 } else { 2 }) {
            let differ = Constraint::lt(low, high)?;
            if base.is_empty_with(std::slice::from_ref(&differ))? {
                continue;
            }
            let mut case = base.with(&[differ])?;
            if !add_facts(&mut case, &loads, query.facts)? {
                return Ok(Some(case));
            }
        }
    }
    Ok(None)
}

fn elect(
    rows: &mut Vec<Constraint>,
    presence: &Presence<Name>,
    position: Aff,
    extent: Option<u32>,
) -> Result<()> {
    match presence {
        Presence::Elected => rows.push(Constraint::zero(position)),
        Presence::At(_) | Presence::Replicated | Presence::Collective => {
            if let Some(extent) = extent {
                rows.push(Constraint::lt(&position, &Aff::constant(i64::from(extent)))?);
            }
            rows.push(Constraint::nonneg(position));
        }
    }
    Ok(())
}
