//! The writes that reads see, where each sees one of its own iteration or none.
//!
//! The last write before a read is a lexicographic maximum, which is costly where accesses have
//! many dimensions. Most buffers need none: each read sees what was written in the same iteration
//! of the loops around both, or before them, by the only instance that writes the cell there. And
//! most reads of other arrays see what no write has changed.
//!
//! The times of a read and a write are equal up to where they differ by a constant: up to there
//! they have loops in common. The *pairs* of the two are the executions of one cell whose times are
//! equal up to there, if the constant says that the write is the earlier one. They are what the
//! read sees if
//!
//! 1. for no execution of the read that is in no pair there is a write of its cell before it,
//! 2. no execution of the read is in two pairs, with one write or with two,
//! 3. for no pair a write of the cell comes between its write and its read.
//!
//! By 3 the write of a pair is a last one, by 2 there is no other at its time. Where one of the
//! three does not hold, or is not known, there is no answer.

use crate::{
    Access, Aff, Constraint, Map, Name, Result, Set, Sources, System,
    flow::{Renamed, is_followed, is_missed},
    map::apart,
    relation::Relation,
};

/// What a read sees, if each of its executions sees a write of its own iteration or none.
pub(crate) fn nearest(read: &Access, writes: &[Access], params: &[Name]) -> Result<Option<Sources>> {
    let mut maps = Vec::with_capacity(writes.len());
    let mut covered = Vec::new();
    let mut taken = read.dims.clone();
    let mut all: Vec<(System, Vec<Name>)> = Vec::new();
    for write in writes {
        let outs = apart(&read.dims, &write.dims);
        let found = pairs(read, write, &outs)?;
        if let Some(pairs) = &found {
            covered.extend(pairs.project_exactly(&|n| outs.contains(n))?);
            // Under names that no other write has.
            let own = apart(&taken, &write.dims);
            let rename = |n: &Name| outs.iter().position(|out| out == n).map(|k| own[k].clone());
            let rows = pairs.constraints().iter().map(|c| c.rename(&rename)).collect::<Result<Vec<_>>>()?;
            taken.extend(own.iter().cloned());
            all.push((System::new(&rows)?, own));
        }
        let systems: Vec<System> = found.into_iter().collect();
        maps.push(Map { relation: Relation::new(params, &read.dims, &outs, systems)? });
    }
    let reads = Set::from_constraints(&read.dims, &read.constraints)?;
    let covered = Set::from_systems(&read.dims, covered)?;
    let none = match reads.is_subset(&covered)? {
        true => Set::from_systems(&read.dims, Vec::new())?,
        false => reads.subtract(&covered)?,
    };
    for write in writes {
        if is_missed(&none, read, write)? {
            return Ok(None);
        }
    }
    for (k, (pairs, own)) in all.iter().enumerate() {
        if has_two(pairs, own, &taken)? {
            return Ok(None);
        }
        for (others, _) in &all[k + 1..] {
            if !pairs.is_empty_with(others.constraints())? {
                return Ok(None);
            }
        }
    }
    for (write, map) in writes.iter().zip(&maps) {
        for later in writes {
            if is_followed(map, read, write, later)? {
                return Ok(None);
            }
        }
    }
    Ok(Some(Sources { writes: maps, none }))
}

/// The pairs of a read and a write, whose dimensions have these names; `None` if there are none.
fn pairs(read: &Access, write: &Access, outs: &[Name]) -> Result<Option<System>> {
    let write = Renamed::new(write, outs)?;
    let mut rows = read.constraints.clone();
    rows.extend(write.at(&read.cell)?);
    for (earlier, later) in write.time.iter().zip(&read.time) {
        match later.sub(earlier)?.as_constant() {
            Some(0) => {}
            Some(apart) => {
                let pairs = System::new(&rows)?;
                return Ok((apart > 0 && !pairs.is_empty()?).then_some(pairs));
            }
            None => rows.push(Constraint::equal(earlier, later)?),
        }
    }
    Ok(None)
}

/// Whether some execution of the read is in two pairs.
fn has_two(pairs: &System, own: &[Name], taken: &[Name]) -> Result<bool> {
    let others = apart(taken, own);
    let rename = |n: &Name| own.iter().position(|name| name == n).map(|k| others[k].clone());
    let rows = pairs.constraints().iter().map(|c| c.rename(&rename)).collect::<Result<Vec<_>>>()?;
    let both = pairs.with(&rows)?;
    for (a, b) in own.iter().zip(&others) {
        let (a, b) = (Aff::var(a), Aff::var(b));
        // By symmetry, one of the two orders is enough.
        if !both.vanishes(&a.sub(&b)?) && !both.is_empty_with(&[Constraint::lt(&a, &b)?])? {
            return Ok(true);
        }
    }
    Ok(false)
}
