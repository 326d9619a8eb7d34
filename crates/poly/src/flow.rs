//! Value-based dataflow: which write each read of an array sees.

use std::collections::BTreeSet;

use crate::{
    Aff, Constraint, Error, Map, Name, Result, Set, System,
    isl::{self, IslAccess},
    memo,
    nearest::nearest,
    relation::Relation,
};

/// An access to an array by a set of executions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The names of an execution's dimensions. Other names are parameters.
    pub dims: Vec<Name>,
    /// The constraints on the executions.
    pub constraints: Vec<Constraint>,
    /// The accessed cell; all accesses have the same number of functions.
    pub cell: Vec<Aff>,
    /// The time of an execution, compared lexicographically; all accesses have the same number of
    /// functions. A write at the time of a read is not before it.
    pub time: Vec<Aff>,
}

/// The writes that a read sees.
#[derive(Clone, Debug)]
pub struct Sources {
    /// For each write, the pairs of a read's execution and the write's execution that it sees.
    /// Dimensions of the write get primes if they have names of the read's.
    pub writes: Vec<Map>,
    /// The read's executions that see no write.
    pub none: Set,
}

/// For each read, the last write to its cell before it, exactly, for all values of the parameters.
///
/// ```
/// use loopwright_poly::{Access, Aff, Constraint, Name, flow};
///
/// # fn main() -> loopwright_poly::Result<()> {
/// // for i in 0..n { a[i] = ..; .. = a[i - 1] }
/// let i = Aff::var("i");
/// let access = |offset: i64, position: i64| Access {
///     dims: vec![Name::new("i")],
///     constraints: vec![
///         Constraint::nonneg(i.clone()),
///         Constraint::lt(&i, &Aff::var("n")).unwrap(),
///     ],
///     cell: vec![i.add_constant(offset).unwrap()],
///     time: vec![i.clone(), Aff::constant(position)],
/// };
/// let found = flow(&[access(-1, 1)], &[access(0, 0)])?;
/// let expected = "[n] -> { [i] -> [i'] : i' = i - 1 and 1 <= i < n }".parse()?;
/// assert!(found[0].writes[0].is_equal(&expected)?);
/// assert!(found[0].none.is_equal(&"[n] -> { [i] : i = 0 and n >= 1 }".parse()?)?);
/// # Ok(())
/// # }
/// ```
///
/// Within [`remembering`](crate::remembering) the same accesses are analysed once.
pub fn flow(reads: &[Access], writes: &[Access]) -> Result<Vec<Sources>> {
    memo::flow(reads, writes, || analysed(reads, writes))
}

fn analysed(reads: &[Access], writes: &[Access]) -> Result<Vec<Sources>> {
    let all = || reads.iter().chain(writes);
    let Some(first) = all().next() else { return Ok(Vec::new()) };
    let (cell, time) = (first.cell.len(), first.time.len());
    if all().any(|a| a.cell.len() != cell || a.time.len() != time) {
        return Err(Error::Space("accesses of different cells or times".into()));
    }
    let mut params: BTreeSet<Name> = BTreeSet::new();
    for a in all() {
        let names = a.constraints.iter().map(|c| &c.aff).chain(&a.cell).chain(&a.time).flat_map(Aff::names);
        params.extend(names.filter(|n| !a.dims.contains(n)));
    }
    let params: Vec<Name> = params.into_iter().collect();
    if let Some(both) = all().flat_map(|a| &a.dims).find(|d| params.contains(d)) {
        return Err(Error::Space(format!("`{both}` is a dimension here and a parameter there")));
    }
    let rows = |a: &Access, constraints: &[Constraint], values: &[Aff]| -> Result<isl::Disjunct> {
        let out = |k: usize| Name::new(format!("\u{0}{k}"));
        let mut constraints = constraints.to_vec();
        for (k, value) in values.iter().enumerate() {
            constraints.push(Constraint::equal(&Aff::var(out(k)), value)?);
        }
        let order: Vec<Name> =
            params.iter().chain(&a.dims).cloned().chain((0..values.len()).map(out)).collect();
        Ok(System::new(&constraints)?.disjunct(&order))
    };
    // Which instances there are is said of the cells alone: with the same constraints around the
    // times isl found no source for reads that have one (`tests/flow.rs`).
    let of = |list: &[Access]| -> Result<Vec<IslAccess>> {
        let one = |a: &Access| -> Result<IslAccess> {
            let (cells, times) = (rows(a, &a.constraints, &a.cell)?, rows(a, &[], &a.time)?);
            Ok(IslAccess { dims: a.dims.len(), cells, times })
        };
        list.iter().map(one).collect()
    };
    let mut found = Vec::with_capacity(reads.len());
    for read in reads {
        // What is not known there, isl may know.
        if let Ok(Some(sources)) = nearest(read, writes, &params) {
            found.push(sources);
            continue;
        }
        let answer = isl::flow(params.len(), cell, time, &of(std::slice::from_ref(read))?, &of(writes)?)?;
        let Some((sources, none)) = answer.into_iter().next() else {
            return Err(Error::Isl("the dataflow analysis leaves a read out".into()));
        };
        let mut maps = Vec::with_capacity(writes.len());
        for (write, map) in writes.iter().zip(sources) {
            let outs = crate::map::apart(&read.dims, &write.dims);
            let order: Vec<Name> = params.iter().chain(&outs).chain(&read.dims).cloned().collect();
            let systems = map
                .answer()?
                .iter()
                .map(|a| System::from_answer(a, &order))
                .collect::<Result<Vec<System>>>()?;
            maps.push(Map { relation: Relation::new(&params, &read.dims, &outs, systems)? });
        }
        let outs: Vec<Name> = (0..cell).map(|k| Name::new(format!("\u{0}{k}"))).collect();
        let order: Vec<Name> = params.iter().chain(&read.dims).chain(&outs).cloned().collect();
        let systems =
            none.answer()?.iter().map(|a| System::from_answer(a, &order)).collect::<Result<Vec<System>>>()?;
        let none = Map { relation: Relation::new(&params, &read.dims, &outs, systems)? }.domain()?;
        for write in writes {
            if is_missed(&none, read, write)? {
                return Err(Error::Isl("the dataflow analysis misses a write".into()));
            }
        }
        for (write, map) in writes.iter().zip(&maps) {
            for later in writes {
                if is_followed(map, read, write, later)? {
                    return Err(Error::Isl("the dataflow analysis names a write before the last one".into()));
                }
            }
        }
        found.push(Sources { writes: maps, none });
    }
    Ok(found)
}

/// An access under names of its own.
pub(crate) struct Renamed {
    constraints: Vec<Constraint>,
    cell: Vec<Aff>,
    pub time: Vec<Aff>,
}

impl Access {
    /// The name that a dimension has under these names.
    pub(crate) fn renaming(&self, names: &[Name]) -> impl Fn(&Name) -> Option<Name> {
        |n| self.dims.iter().position(|d| d == n).map(|k| names[k].clone())
    }
}

impl Renamed {
    pub fn new(access: &Access, names: &[Name]) -> Result<Self> {
        let own = access.renaming(names);
        let functions = |list: &[Aff]| list.iter().map(|f| f.rename(&own)).collect::<Result<Vec<Aff>>>();
        Ok(Renamed {
            constraints: access.constraints.iter().map(|c| c.rename(&own)).collect::<Result<_>>()?,
            cell: functions(&access.cell)?,
            time: functions(&access.time)?,
        })
    }

    /// The executions that access this cell.
    pub fn at(&self, cell: &[Aff]) -> Result<Vec<Constraint>> {
        let mut rows = self.constraints.clone();
        for (own, other) in self.cell.iter().zip(cell) {
            rows.push(Constraint::equal(other, own)?);
        }
        Ok(rows)
    }
}

/// The cases in which one time is before another, each with what holds there.
pub(crate) fn earlier(mut alike: System, first: &[Aff], second: &[Aff]) -> Result<Vec<System>> {
    let mut cases = Vec::new();
    for (a, b) in first.iter().zip(second) {
        // Most times begin with constants.
        let apart = b.sub(a)?.as_constant();
        if apart.is_none_or(|apart| apart > 0) {
            let case = alike.with(&[Constraint::lt(a, b)?])?;
            if !case.is_empty()? {
                cases.push(case);
            }
        }
        if apart.is_some_and(|apart| apart != 0) {
            break;
        }
        alike.add(&Constraint::equal(a, b)?)?;
    }
    Ok(cases)
}

/// Whether a write to its cell is before a read that is said to see none. isl's own answer to which
/// reads see none is not used: it leaves some out where times have quotients, and has too many
/// where it misses a write (`tests/flow.rs`).
pub(crate) fn is_missed(none: &Set, read: &Access, write: &Access) -> Result<bool> {
    let write = Renamed::new(write, &crate::map::apart(&read.dims, &write.dims))?;
    let rows = write.at(&read.cell)?;
    for seen in none.disjuncts() {
        if !earlier(seen.with(&rows)?, &write.time, &read.time)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether between a read and the write that it is said to see `later` writes the cell again. Where
/// some statements run in one iteration only, isl takes the levels at which they come after each
/// other for others, and names an earlier one (`tests/flow_of_fixed_iterations.rs`).
pub(crate) fn is_followed(seen: &Map, read: &Access, write: &Access, later: &Access) -> Result<bool> {
    if seen.disjuncts().is_empty() {
        return Ok(false);
    }
    let write = Renamed::new(write, seen.outs())?;
    let both: Vec<Name> = read.dims.iter().chain(seen.outs()).cloned().collect();
    let later = Renamed::new(later, &crate::map::apart(&both, &later.dims))?;
    let rows = later.at(&read.cell)?;
    for pairs in seen.disjuncts() {
        for behind in earlier(pairs.with(&rows)?, &write.time, &later.time)? {
            if !earlier(behind, &later.time, &read.time)?.is_empty() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
