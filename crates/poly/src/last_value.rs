//! Whether the last write before each read gives a known value.
//!
//! [`flow`](crate::flow) finds the last write whatever it writes, a lexicographic maximum that is
//! costly where accesses have many dimensions. Where it is known what a read should see, two
//! questions of emptiness and one of inclusion are enough. With `W -> R` the pairs of a write and a
//! later read of one cell where the write gives the read's value:
//!
//! 1. each execution of the read is in a pair `(w, r)`;
//! 2. for no such pair there is a write `v` of the cell, with `w <= v < r`, that gives another
//!    value.
//!
//! Then the last write before `r` is `w` or none before it, and gives the value. The pairs are
//! those of one write and one case of how it comes before the read; a case in which another value
//! comes between is left out of 1, so that the answer is a proof or none.

use crate::{
    Access, Aff, Constraint, Name, Result, Set, System,
    flow::{Renamed, earlier},
    map::apart,
};

/// A write of a value: as many functions of its dimensions as those of all other writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Valued {
    /// Which instances write which cells, and when.
    pub access: Access,
    /// What an instance writes, as functions of its dimensions.
    pub value: Vec<Aff>,
}

/// A write under names of its own.
struct Own {
    names: Vec<Name>,
    access: Renamed,
    value: Vec<Aff>,
}

impl Own {
    fn new(write: &Valued, taken: &[Name]) -> Result<Own> {
        let names = apart(taken, &write.access.dims);
        let access = Renamed::new(&write.access, &names)?;
        let renamed = |f: &Aff| f.rename(&write.access.renaming(&names));
        let value = write.value.iter().map(renamed).collect::<Result<_>>()?;
        Ok(Own { access, names, value })
    }

    /// What holds where it gives another value: for each function, less and more.
    fn gives_another(&self, value: &[Aff], here: &System) -> Result<Vec<Constraint>> {
        let mut found = Vec::new();
        for (own, wanted) in self.value.iter().zip(value) {
            if !here.vanishes(&own.sub(wanted)?) {
                found.extend([Constraint::lt(own, wanted)?, Constraint::lt(wanted, own)?]);
            }
        }
        Ok(found)
    }
}

/// Whether the last write to its cell before each execution of a read provably gives this value, in
/// terms of the read's dimensions. `false` means only that there is no proof.
///
/// ```
/// use loopwright_poly::{Access, Aff, Constraint, Name, Valued, last_gives};
///
/// # fn main() -> loopwright_poly::Result<()> {
/// // for i in 0..n { a[i mod 2] = i; .. = a[i mod 2] }
/// let i = Aff::var("i");
/// let access = |position: i64| Access {
///     dims: vec![Name::new("i")],
///     constraints: vec![
///         Constraint::nonneg(i.clone()),
///         Constraint::lt(&i, &Aff::var("n")).unwrap(),
///     ],
///     cell: vec![i.modulo(2).unwrap()],
///     time: vec![i.clone(), Aff::constant(position)],
/// };
/// let write = Valued { access: access(0), value: vec![i.clone()] };
/// assert!(last_gives(&access(1), std::slice::from_ref(&write), &[i.clone()])?);
/// // Not if the read comes first.
/// assert!(!last_gives(&access(-1), &[write], &[i.clone()])?);
/// # Ok(())
/// # }
/// ```
pub fn last_gives(read: &Access, writes: &[Valued], value: &[Aff]) -> Result<bool> {
    let mut proved = Vec::new();
    for write in writes {
        if write.value.len() != value.len() {
            return Ok(false);
        }
        let own = Own::new(write, &read.dims)?;
        let mut rows = read.constraints.clone();
        rows.extend(own.access.at(&read.cell)?);
        for (gives, wanted) in own.value.iter().zip(value) {
            rows.push(Constraint::equal(gives, wanted)?);
        }
        let taken: Vec<Name> = read.dims.iter().chain(&own.names).cloned().collect();
        let others = writes.iter().map(|other| Own::new(other, &taken)).collect::<Result<Vec<Own>>>()?;
        for pairs in earlier(System::new(&rows)?, &own.access.time, &read.time)? {
            if !has_another_between(&pairs, &own, read, &others, value)? {
                proved.extend(pairs.project_exactly(&|n| own.names.contains(n))?);
            }
        }
    }
    Set::from_constraints(&read.dims, &read.constraints)?.is_subset(&Set::from_systems(&read.dims, proved)?)
}

/// Whether, for one of these pairs of a write and a read, another value is written between.
fn has_another_between(
    pairs: &System,
    own: &Own,
    read: &Access,
    others: &[Own],
    value: &[Aff],
) -> Result<bool> {
    for other in others {
        let both = pairs.with(&other.access.at(&read.cell)?)?;
        let mut alike = both.clone();
        for (a, b) in own.access.time.iter().zip(&other.access.time) {
            alike.add(&Constraint::equal(a, b)?)?;
        }
        let mut not_before = earlier(both, &own.access.time, &other.access.time)?;
        not_before.push(alike);
        for behind in not_before {
            for between in earlier(behind, &other.access.time, &read.time)? {
                for differs in other.gives_another(value, &between)? {
                    if !between.is_empty_with(&[differs])? {
                        return Ok(true);
                    }
                }
            }
        }
    }
    Ok(false)
}
