//! Value-based dataflow: which write each read of an array sees.

use std::collections::BTreeSet;

use crate::{
    Aff, Constraint, Error, Map, Name, Result, Set, System,
    isl::{self, IslAccess},
    memo,
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
    let answer = isl::flow(params.len(), cell, time, &of(reads)?, &of(writes)?)?;
    let mut found = Vec::with_capacity(reads.len());
    for (read, (sources, none)) in reads.iter().zip(answer) {
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
        found.push(Sources { writes: maps, none });
    }
    Ok(found)
}

/// Whether a write to its cell is before a read that is said to see none. isl's own answer to which
/// reads see none is not used: it leaves some out where times have quotients, and has too many
/// where it misses a write (`tests/flow.rs`).
fn is_missed(none: &Set, read: &Access, write: &Access) -> Result<bool> {
    let own = crate::map::apart(&read.dims, &write.dims);
    let renamed = |n: &Name| write.dims.iter().position(|d| d == n).map(|k| own[k].clone());
    let mut rows = Vec::new();
    for c in &write.constraints {
        rows.push(c.rename(&renamed)?);
    }
    for (r, w) in read.cell.iter().zip(&write.cell) {
        rows.push(Constraint::equal(r, &w.rename(&renamed)?)?);
    }
    for seen in none.disjuncts() {
        let mut alike = seen.with(&rows)?;
        for (r, w) in read.time.iter().zip(&write.time) {
            let w = w.rename(&renamed)?;
            // Most times begin with constants.
            let apart = r.sub(&w)?.as_constant();
            if apart.is_none_or(|apart| apart > 0) && !alike.with(&[Constraint::lt(&w, r)?])?.is_empty()? {
                return Ok(true);
            }
            if apart.is_some_and(|apart| apart != 0) {
                break;
            }
            alike.add(&Constraint::equal(r, &w)?)?;
        }
    }
    Ok(false)
}
