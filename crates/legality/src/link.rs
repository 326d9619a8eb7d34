//! Matches executions between two forms of a kernel.
//!
//! A part of the new form is *linked* to the part of the old form that does the same part of the
//! same declared instruction, with a value for each old iname in terms of new ones, if these values
//! are injective on executions and both parts do the same declared instances. Several new parts may
//! be linked to one old part, as after an index-set split; together they must cover it. A link is
//! guessed from names (kept, defined by others, or renamed in order) and then checked.

use loopwright_kernel_ir::{Aff, Constraint, Expr, Name};
use loopwright_poly::{Result, Set, System, Table};

use crate::{Event, Model, ModelPart, conflict::primed, order::Possible};

/// The old part that corresponds to a new one.
#[derive(Clone, Debug)]
pub struct Link {
    /// The number of the old part in its model.
    pub old: usize,
    /// The values of the old part's base inames, over the new part's.
    pub values: Table<Name, Aff>,
    /// Whether each old iname is the new one of the same name.
    pub identity: bool,
    /// Whether the new part is known to cover all of the old part's executions.
    pub onto: bool,
    /// For each event of the new part, whether the old part's event of the same number does the
    /// same to the same cell.
    pub same: Vec<bool>,
}

impl Link {
    /// Rewrites a function of old inames in terms of new ones.
    pub fn apply(&self, aff: &Aff) -> Result<Aff> {
        if self.identity {
            return Ok(aff.clone());
        }
        aff.substitute(&|n| self.values.get(n).cloned())
    }

    fn constraint(&self, c: &Constraint) -> Result<Constraint> {
        Ok(Constraint { kind: c.kind, aff: self.apply(&c.aff)? })
    }
}

/// Why no old part corresponds to a new one, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlinked(pub String);

type Linked<T> = std::result::Result<T, Unlinked>;

fn unlinked<T>(why: impl Into<String>) -> Linked<T> {
    Err(Unlinked(why.into()))
}

impl From<loopwright_poly::Error> for Unlinked {
    fn from(e: loopwright_poly::Error) -> Self {
        Unlinked(e.to_string())
    }
}

fn old_part(old: &Model<'_>, new: &Model<'_>, part: &ModelPart) -> Option<usize> {
    if let Some(k) = old.numbers.get(&part.part)
        && old.instruction(&old.parts[*k]).role == new.instruction(part).role
    {
        return Some(*k);
    }
    // A new instruction that does what exactly one old instruction does. If there are several, the
    // one whose name it extends.
    let does = new.does(part)?;
    let candidates: Vec<usize> = (0..old.parts.len())
        .filter(|k| old.parts[*k].part.part == part.part.part && old.does(&old.parts[*k]) == Some(does))
        .collect();
    match candidates.as_slice() {
        [one] => Some(*one),
        several => several
            .iter()
            .copied()
            .filter(|k| part.part.instruction.starts_with(old.parts[*k].part.instruction.as_str()))
            .max_by_key(|k| old.parts[*k].part.instruction.len()),
    }
}

/// The values of the old inames: kept ones, those now defined by others, and renamed ones in order.
fn guess(old: &ModelPart, new: &Model<'_>, part: &ModelPart) -> Result<Option<(Table<Name, Aff>, bool)>> {
    let mut values = Table::default();
    let mut missing = Vec::new();
    for n in &old.inames {
        if part.inames.contains(n) {
            values.insert(n.clone(), Aff::var(n));
        } else if new.lookup.definition(n).is_some()
            && new.lookup.base_of(n).iter().all(|b| part.inames.contains(b))
        {
            values.insert(n.clone(), new.lookup.expand(&Aff::var(n))?);
        } else {
            missing.push(n);
        }
    }
    if missing.is_empty() {
        let identity =
            values.len() == part.inames.len() && part.inames.iter().all(|n| values.contains_key(n));
        return Ok(Some((values, identity)));
    }
    let taken: Vec<Name> = values.values().flat_map(Aff::names).collect();
    let free: Vec<&Name> = part.inames.iter().filter(|n| !taken.contains(n)).collect();
    if free.len() != missing.len() {
        return Ok(None);
    }
    for (n, by) in missing.into_iter().zip(free) {
        values.insert(n.clone(), Aff::var(by));
    }
    Ok(Some((values, false)))
}

fn system(new: &Model<'_>, constraints: &[Constraint]) -> Result<System> {
    let rows: Vec<Constraint> = new.context.iter().chain(constraints).cloned().collect();
    System::of(rows)
}

/// Whether the values map the new part's executions injectively to executions of the old one.
pub(crate) fn is_injection(
    p: &ModelPart,
    new: &Model<'_>,
    part: &ModelPart,
    link: &mut Link,
) -> Result<bool> {
    let preimage: Vec<Constraint> =
        p.constraints.iter().map(|c| link.constraint(c)).collect::<Result<_>>()?;
    let same = |a: &[Constraint], b: &[Constraint]| a.iter().all(|c| b.contains(c));
    let inside =
        same(&preimage, &part.constraints) || system(new, &part.constraints)?.implies_all(&preimage)?;
    if !inside {
        return Ok(false);
    }
    // A one-to-one renaming is a bijection of all points.
    let mut names: Vec<&Name> = link.values.values().filter_map(Aff::as_var).collect();
    names.sort();
    names.dedup();
    if names.len() == p.inames.len() && names.len() == part.inames.len() {
        link.onto =
            same(&part.constraints, &preimage) || system(new, &preimage)?.implies_all(&part.constraints)?;
        return Ok(true);
    }
    let second = |aff: &Aff| new.second(aff);
    let mut rows = new.context.clone();
    for c in &part.constraints {
        rows.push(c.clone());
        rows.push(Constraint { kind: c.kind, aff: second(&c.aff)? });
    }
    for value in link.values.values() {
        rows.push(Constraint::equal(value, &second(value)?)?);
    }
    let pairs = System::of(rows)?;
    for n in &part.inames {
        let differ = Constraint::lt(&Aff::var(n), &Aff::var(primed(n)))?;
        if !pairs.is_empty_with(&[differ])? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn old_name(n: &Name) -> Name {
    n.followed_by("\"")
}

/// Whether the executions of some new parts are exactly those of an old part, each once.
pub(crate) fn cover(p: &ModelPart, new: &Model<'_>, links: &[(&ModelPart, &Link)]) -> Result<bool> {
    if let [(_, link)] = links
        && link.onto
    {
        return Ok(true);
    }
    let second = |aff: &Aff| new.second(aff);
    for (k, (a, one)) in links.iter().enumerate() {
        for (b, other) in &links[..k] {
            let mut rows = new.context.clone();
            rows.extend(a.constraints.iter().cloned());
            for c in &b.constraints {
                rows.push(Constraint { kind: c.kind, aff: second(&c.aff)? });
            }
            for n in &p.inames {
                let value = |l: &Link| l.values.get(n).cloned().unwrap_or_default();
                rows.push(Constraint::equal(&value(one), &second(&value(other))?)?);
            }
            if !System::of(rows)?.is_empty()? {
                return Ok(false);
            }
        }
    }
    let dims: Vec<Name> = p.inames.iter().map(old_name).collect();
    let mut images = Vec::new();
    for (part, link) in links {
        let mut rows = new.context.clone();
        rows.extend(part.constraints.iter().cloned());
        for n in &p.inames {
            let value = link.values.get(n).cloned().unwrap_or_default();
            rows.push(Constraint::equal(&Aff::var(old_name(n)), &value)?);
        }
        images.extend(System::of(rows)?.project_exactly(&|n| part.inames.contains(n))?);
    }
    let image = Set::from_systems(&dims, images)?;
    let renamed = |c: &Constraint| c.substitute(&|n| p.inames.contains(n).then(|| Aff::var(old_name(n))));
    let mut rows = new.context.clone();
    for c in &p.constraints {
        rows.push(renamed(c)?);
    }
    Set::from_constraints(&dims, &rows)?.is_subset(&image)
}

/// Whether executions share an accumulator in the new form as in the old one. Its cell consists of
/// the inames around its reduction: the old ones must be functions of the new ones. As links are
/// guessed from names in order, these are the same functions for all parts of the reduction, and
/// the link of its `init`, which has no other inames, proves that they are one-to-one.
fn same_accumulators(new: &Model<'_>, link: &Link, a: &Event, b: &Event) -> bool {
    let around: Vec<Name> = b.cell.iter().flatten().flat_map(Aff::names).collect();
    let other = |n: &Name| !around.contains(n) && !new.is_parameter(n);
    let mut names = a.cell.iter().flatten().flat_map(Aff::names);
    names.all(|n| link.values.get(&n).is_some_and(|v| !v.mentions_any(&other)))
}

/// Whether two events do the same to the same cell.
pub(crate) fn same_event(
    old: &Model<'_>,
    new: &Model<'_>,
    link: &Link,
    a: &Event,
    b: &Event,
) -> Result<bool> {
    if a.touch != b.touch {
        return Ok(false);
    }
    if old.is_accumulator(&a.array) {
        // The same reduction, in an instruction whose id may differ.
        let number = |array: &Name| array.rsplit_once('.').map(|(_, n)| n.to_string());
        return Ok(number(&a.array) == number(&b.array) && same_accumulators(new, link, a, b));
    }
    if a.array != b.array || a.cell.len() != b.cell.len() {
        return Ok(false);
    }
    for (k, (s, t)) in a.cell.iter().zip(&b.cell).enumerate() {
        let same = match (s, t) {
            (Some(s), Some(t)) if a.opaque.is_empty() && b.opaque.is_empty() => {
                if link.identity {
                    s == t
                } else {
                    link.apply(s)? == *t
                }
            }
            _ => {
                let by_value = |n: &Name| link.values.get(n).map(Expr::from_aff);
                let of = |e: &Event| e.opaque.get(k).cloned().flatten();
                let was = of(a).map(|e| if link.identity { e } else { e.substitute(&by_value) });
                match (was, of(b)) {
                    (Some(was), Some(is)) => was == is,
                    (None, None) => match (s, t) {
                        (Some(s), Some(t)) => link.apply(s)? == *t,
                        _ => false,
                    },
                    _ => false,
                }
            }
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The link from a new part to the old part whose instances it runs, or why there is no such part.
pub fn link(old: &Model<'_>, new: &Model<'_>, part: &ModelPart) -> Linked<Link> {
    let name = &part.part;
    let Some(k) = old_part(old, new, part) else { return unlinked(format!("`{name}` is new")) };
    let p = &old.parts[k];
    let Some((values, identity)) = guess(p, new, part)? else {
        return unlinked(format!("`{name}` runs over other loops"));
    };
    let mut link = Link { old: k, values, identity, onto: false, same: vec![false; part.events.len()] };
    if p.may != part.may {
        return unlinked(format!("`{name}` has another predicate"));
    }
    if p.events.len() == part.events.len() {
        link.same = p
            .events
            .iter()
            .zip(&part.events)
            .map(|(a, b)| same_event(old, new, &link, a, b))
            .collect::<Result<_>>()?;
    }
    if !is_injection(p, new, part, &mut link)? {
        return unlinked(format!("`{name}` runs through other instances"));
    }
    if let Some(does) = new.does(part) {
        let declared = new.kernel.declared();
        let inames: Vec<Name> = declared
            .instruction(does)
            .map(|i| {
                i.within.iter().cloned().chain(i.reductions().iter().flat_map(|r| r.inames.clone())).collect()
            })
            .unwrap_or_default();
        for iname in inames {
            let (a, b) = (old.declared_value(p, &iname)?, new.declared_value(part, &iname)?);
            // Inames of the instruction's other reductions do not constrain this part.
            if a.mentions_any(&|n| old.lookup.is_iname(n) && !p.inames.contains(n)) {
                continue;
            }
            if link.apply(&a)? != b {
                let equal = Constraint::equal(&link.apply(&a)?, &b)?;
                if !system(new, &part.constraints)?.implies(&equal)? {
                    return unlinked(format!("`{name}` does other instances"));
                }
            }
        }
    }
    Ok(link)
}

/// Adds the relation of two inames from a sign whose two sides are single inames.
pub(crate) fn narrow_by(
    possible: &mut Possible,
    left: &Aff,
    right: &Aff,
    relation: std::cmp::Ordering,
) -> bool {
    match (left.as_var(), right.as_var()) {
        (Some(a), Some(b)) if a == b => possible.narrow(a, relation),
        _ => true,
    }
}
