//! The question whether two accesses may meet.
//!
//! The pairs are written as one conjunction: the constraints of both executions (the second with
//! all its own names primed, parameters shared), equal subscripts, and the asked relation of times
//! and threads. "Different thread" is a disjunction over the axes and over less and greater; each
//! case is asked on its own until one is not empty.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, Fact, Name};
use loopwright_poly::{Result, System};

use crate::{Access, BLOCK_COORDINATES, Execution, Load, Presence, THREAD_COORDINATES, loads::add_facts};

/// Who the two executions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Different threads of one block.
    Threads,
    /// Different blocks.
    Blocks,
    /// Different lanes of one thread.
    Lanes,
    /// Any two executions, of the same thread or not.
    Any,
}

/// How the times of the two executions relate, along the loops that are around both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The same iteration of all common loops.
    Same,
    /// The same iteration of the first `n` common loops, and the first execution in an earlier
    /// iteration of the next.
    Earlier(usize),
}

/// What is asked.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// Who they are.
    pub meeting: Meeting,
    /// When they are.
    pub time: Time,
    /// What holds for the parameters.
    pub context: &'a [Constraint],
    /// Names that have one value for both sides.
    pub shared: &'a dyn Fn(&Name) -> bool,
    /// What is declared of data.
    pub facts: &'a [Fact],
    /// Threads of a block on x, y, z.
    pub block: [u32; 3],
}

/// The name of a value in the second of two executions.
pub fn primed(name: &Name) -> Name {
    name.followed_by("'")
}

/// A small example of two executions that may touch the same cell: values of all names, those of
/// the second execution primed.
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

/// The pairs of executions of `a` (first) and of `b` that may touch the same cell in the asked
/// relation, of the first of the ways in which they can be different threads, blocks or lanes: a
/// system over all names, those of the second execution primed. `None` if there are none.
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
    // Who runs a part that lacks an axis.
    for (axis, coordinate) in THREAD_COORDINATES.iter().enumerate() {
        elect(&mut rows, a.threads[axis], Aff::var(*coordinate), Some(query.block[axis]))?;
        elect(&mut rows, b.threads[axis], Aff::var(primed(&Name::new(coordinate))), Some(query.block[axis]))?;
    }
    for (axis, coordinate) in BLOCK_COORDINATES.iter().enumerate() {
        elect(&mut rows, a.blocks[axis], Aff::var(*coordinate), None)?;
        elect(&mut rows, b.blocks[axis], Aff::var(primed(&Name::new(coordinate))), None)?;
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
    let threads: Vec<Name> = THREAD_COORDINATES.iter().map(Name::new).collect();
    let blocks: Vec<Name> = BLOCK_COORDINATES.iter().map(Name::new).collect();
    let differ: Vec<Name> = match query.meeting {
        Meeting::Threads => {
            for name in &blocks {
                same(&mut rows, name)?;
            }
            let wide = |axis: &usize| query.block[*axis] > 1;
            (0..3).filter(wide).map(|axis| threads[axis].clone()).collect()
        }
        Meeting::Blocks => {
            let present =
                |axis: &usize| a.blocks[*axis] != Presence::Elected || b.blocks[*axis] != Presence::Elected;
            (0..3).filter(present).map(|axis| blocks[axis].clone()).collect()
        }
        Meeting::Lanes => {
            for name in blocks.iter().chain(&threads) {
                same(&mut rows, name)?;
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
    if query.meeting == Meeting::Any {
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

fn elect(rows: &mut Vec<Constraint>, presence: Presence, coordinate: Aff, extent: Option<u32>) -> Result<()> {
    match (presence, extent) {
        (Presence::Elected, _) => rows.push(Constraint::zero(coordinate)),
        (Presence::Iname | Presence::Replicated, Some(extent)) => {
            rows.push(Constraint::lt(&coordinate, &Aff::constant(i64::from(extent)))?);
            rows.push(Constraint::nonneg(coordinate));
        }
        (Presence::Iname | Presence::Replicated, None) => rows.push(Constraint::nonneg(coordinate)),
    }
    Ok(())
}
