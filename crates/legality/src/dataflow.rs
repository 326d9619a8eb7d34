//! The exact proof: every read sees the definition that its declared instance sees.
//!
//! Where the order of conflicting pairs is not preserved, or a step adds copies or new storage, the
//! proof follows values instead. For each read, isl finds the last preceding write of its cell
//! ([`loopwright_poly::flow`]), in the declared kernel and in the new one. A copy is followed to
//! its source. The definition found must be the declared one, in terms of declared instances. Each
//! live-out cell counts as read once at the end.
//!
//! This proves dataflow for one linearisation of the new order: by time alone, which leaves
//! executions of one part at the same time unordered. A separate check comes first: no two of these
//! touch the same cell with at least one of them writing. Given that, every order that the new
//! kernel allows has the same last write for every read, so one linearisation stands for all.
//! A reduction whose parts are not those of the form before has to have the points of the declared
//! instances ([`recomputed`]).
//!
//! Where a write is under a condition on data, what reads see has to be under the same one
//! ([`conditions`]).
//!
//! An array whose elements are updated has no last writes. If all its writes and updates are those
//! of the form before, in its order, and come before all its reads, in the declared kernel and in
//! the new one, then each read sees what its cell holds in the end. Otherwise nothing is proved
//! where the order of its accesses is not preserved.
//!
//! Lowering ensures that conflicting executions at different times are ordered: it inserts barriers
//! and kernel boundaries, or refuses.

mod conditions;
mod copies;
mod flows;
mod recomputed;
mod sees;
mod through;

pub use conditions::conditions_before;
pub use sees::{operands_stay, sees_only};

use std::cmp::Ordering;

use loopwright_kernel_ir::{Aff, Arg, Constraint, Expr, Name, Part, PartRef};
use loopwright_poly::{Map, System};

use flows::{Flows, HOPS, Seen, View, unite, values};

use crate::{
    Event, Model, ModelPart, Touch,
    compare::Outcome,
    conflict::primed,
    copies::Copies,
    link::Link,
    order::{Against, Sign, not_before},
    owner,
    roles::PartRole,
};

/// Why there is no proof: a reason in words.
#[derive(Clone, Debug)]
pub(crate) struct Why {
    pub text: String,
    /// A set of pairs in which to look for a counterexample first, if the failed query has one.
    pub pairs: Option<System>,
}

type Checked<T> = std::result::Result<T, Why>;

fn why<T>(text: impl Into<String>) -> Checked<T> {
    Err(Why { text: text.into(), pairs: None })
}

impl From<loopwright_poly::Error> for Why {
    fn from(e: loopwright_poly::Error) -> Self {
        Why { text: e.to_string(), pairs: None }
    }
}

/// The reads in a part's expressions, as event numbers.
fn reads(model: &Model<'_>, part: &ModelPart) -> Vec<usize> {
    (0..part.events.len())
        .filter(|k| {
            let e = &part.events[*k];
            e.touch == Touch::Read && !e.bound && !model.is_accumulator(&e.array)
        })
        .collect()
}

/// Looks for two executions of one part at the same time, in different threads, that touch the same
/// cell of a changed array, at least one of them writing.
fn race(new: &Model<'_>, outcome: &Outcome, queries: &mut usize) -> Checked<()> {
    for part in &new.parts {
        for e in &part.events {
            if e.touch == Touch::Read
                || !outcome.changed.contains_key(&e.array)
                || new.is_accumulator(&e.array)
            {
                continue;
            }
            for f in part.events.iter().filter(|f| f.array == e.array && !e.touch.commutes_with(&f.touch)) {
                // Inames whose values a subscript proves equal when the cells are equal.
                let mut equal: Vec<Name> = Vec::new();
                for s in e.cell.iter().zip(&f.cell).filter(|(s, t)| s == t).filter_map(|(s, _)| s.as_ref()) {
                    if new.is_radix(s) {
                        equal.extend(s.names());
                    }
                }
                for (way, against) in not_before(part, e, part, f) {
                    if against != Against::Unordered {
                        continue;
                    }
                    let differs = way.iter().find(|s| s.relation != Ordering::Equal);
                    // Either of two executions of one event can be taken as the first.
                    if differs.is_some_and(|s| {
                        equal.contains(&s.iname) || s.relation == Ordering::Greater && std::ptr::eq(e, f)
                    }) {
                        continue;
                    }
                    let owners: Vec<&Name> = owner(new.space(&e.array))
                        .iter()
                        .filter_map(|axis| part.executor[axis].iname())
                        .collect();
                    let owned = differs.is_some_and(|s| owners.contains(&&s.iname));
                    if owned {
                        continue;
                    }
                    let mut rows = pair_rows(new, (part, e), (part, f), &way)?;
                    for n in owners {
                        rows.push(Constraint::equal(&Aff::var(n), &Aff::var(primed(n)))?);
                    }
                    let system = System::new(&rows)?;
                    *queries += 1;
                    if !system.is_empty()? && !new.facts_exclude(part, part, &system)? {
                        return Err(Why {
                            text: format!("threads may meet in `{}` in `{}`", e.array, part.part),
                            pairs: Some(system),
                        });
                    }
                }
            }
        }
    }
    Ok(())
}

/// What holds of two executions that access one cell, the second of them primed, where their inames
/// are related in this way.
fn pair_rows(
    model: &Model<'_>,
    (a, e): (&ModelPart, &Event),
    (b, f): (&ModelPart, &Event),
    way: &[Sign],
) -> Checked<Vec<Constraint>> {
    let mut rows = model.context.clone();
    rows.extend(a.constraints.iter().chain(&e.under).cloned());
    for c in b.constraints.iter().chain(&f.under) {
        rows.push(Constraint { kind: c.kind, aff: model.second(&c.aff)? });
    }
    for (s, t) in e.cell.iter().zip(&f.cell) {
        if let (Some(s), Some(t)) = (s, t) {
            rows.push(Constraint::equal(s, &model.second(t)?)?);
        }
    }
    for s in way {
        let (x, y) = (Aff::var(&s.iname), Aff::var(primed(&s.iname)));
        rows.push(match s.relation {
            Ordering::Less => Constraint::lt(&x, &y)?,
            Ordering::Equal => Constraint::equal(&x, &y)?,
            Ordering::Greater => Constraint::lt(&y, &x)?,
        });
    }
    Ok(rows)
}

/// Whether all writes and updates of an array come before all reads of it.
fn is_settled(model: &Model<'_>, array: &Name, queries: &mut usize) -> Checked<bool> {
    let touches = model.touches.get(array).map_or(&[][..], Vec::as_slice);
    let event = |(p, k): &(usize, usize)| (&model.parts[*p], &model.parts[*p].events[*k]);
    let (reads, writes): (Vec<_>, Vec<_>) =
        touches.iter().map(event).partition(|(_, e)| e.touch == Touch::Read);
    for (a, e) in &writes {
        for (b, f) in &reads {
            for (way, _) in not_before(a, e, b, f) {
                let rows = pair_rows(model, (a, e), (b, f), &way)?;
                *queries += 1;
                if !System::new(&rows)?.is_empty()? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Where a read sees something other than the declared definition. Another definition of the same
/// value is acceptable.
fn compare(found: &View, expected: &View, declared: &Model<'_>, what: &str) -> Checked<()> {
    let other = match only_expected(found, expected, what) {
        Ok(()) => return Ok(()),
        Err(other) => other,
    };
    let (found, expected) = (values(found, declared)?, values(expected, declared)?);
    match only_expected(&found, &expected, what) {
        Ok(()) => Ok(()),
        Err(_) => Err(other),
    }
}

fn only_expected(found: &View, expected: &View, what: &str) -> Checked<()> {
    for (seen, map) in found {
        let inside = match expected.get(seen) {
            Some(expected) => map.is_subset(expected)?,
            None => map.is_empty()?,
        };
        if !inside {
            let outside = match expected.get(seen) {
                Some(expected) => map.subtract(expected)?,
                None => map.clone(),
            };
            let pairs = outside.disjuncts().iter().find(|s| s.is_empty() == Ok(false)).cloned();
            return Err(Why { text: format!("{what} may see another definition"), pairs });
        }
    }
    Ok(())
}

/// Adds the arrays filled with copies of changed arrays: an error in a buffer is visible to those
/// who read the copy.
fn copied(new: &Model<'_>, outcome: &Outcome) -> Outcome {
    let mut all = outcome.clone();
    let mut grows = true;
    while grows {
        grows = false;
        for part in new.parts.iter().filter(|p| new.role(p) == PartRole::Copies) {
            let from =
                part.events.iter().find(|e| e.touch == Touch::Read && all.changed.contains_key(&e.array));
            let Some(from) = from else { continue };
            let why = format!("`{}` is copied from `{}`", part.part, from.array);
            for to in part.events.iter().filter(|e| e.touch == Touch::Write) {
                if !all.changed.contains_key(&to.array) {
                    all.changed.insert(to.array.clone(), why.clone());
                    grows = true;
                }
            }
        }
    }
    all
}

/// Whether every read whose flow may have changed sees the declared definition.
pub(crate) fn check_flow(
    declared: &Model<'_>,
    new: &Model<'_>,
    outcome: &Outcome,
    links: &[Option<Link>],
    queries: &mut usize,
) -> Checked<()> {
    // A reduction whose parts no longer match the old ones may compute values more than once.
    for (array, text) in &outcome.changed {
        if declared.is_accumulator(array) {
            if !recomputed::recomputed(declared, new, array, queries)? {
                return why(text.clone());
            }
            continue;
        }
        // What an updated element holds is not a single definition, but the combination of several.
        if declared.is_updated(array) || new.is_updated(array) {
            let settled = outcome.same_in_the_end.contains(array)
                && is_settled(declared, array, queries)?
                && is_settled(new, array, queries)?;
            if !settled {
                return why(format!("{text}, and `{array}` is updated, which is followed by order alone"));
            }
        }
    }
    race(new, outcome, queries)?;
    let outcome = &copied(new, outcome);
    let mut was = Flows::new(declared, &new.context);
    let mut is = Flows::new(new, &new.context);
    // Those whose updates are not settled have been refused.
    is.settled.extend(outcome.changed.keys().filter(|array| new.is_updated(array)).cloned());
    was.settled.clone_from(&is.settled);
    let result = check_reads(declared, new, outcome, links, &mut was, &mut is)
        .and_then(|()| check_outputs(new, outcome, &mut was, &mut is));
    *queries += was.queries + is.queries;
    result
}

/// The points of a system that violate a constraint; for an equality, those on one side of it.
fn without(system: &System, c: &Constraint) -> Checked<Option<System>> {
    Ok(c.negations()?.into_iter().next().and_then(|not| system.with(&[not]).ok()))
}

/// Whether every execution of a part does a declared instance. Any other execution could read out
/// of bounds, whether or not its result is used.
fn only_declared(
    new: &Model<'_>,
    part: &ModelPart,
    original: &ModelPart,
    value: &dyn Fn(&Name) -> Option<Aff>,
) -> Checked<()> {
    let rows: Vec<Constraint> = new.context.iter().chain(&part.constraints).cloned().collect();
    let system = System::new(&rows)?;
    for c in &original.constraints {
        let declared = c.substitute(value)?;
        if !system.implies(&declared)? {
            return Err(Why {
                text: format!("`{}` may run instances that are not declared", part.part),
                pairs: without(&system, &declared)?,
            });
        }
    }
    Ok(())
}

/// Whether a copy stays within the bounds of its source and destination arrays. Declared accesses
/// were checked with the declaration; where a copy runs was decided by a step.
fn within_arrays(new: &Model<'_>, part: &ModelPart, domain: &[Constraint]) -> Checked<()> {
    let system = System::new(domain)?;
    for e in &part.events {
        let Some(array) = new.lookup.array(&e.array) else { continue };
        let here = system.with(&e.under)?;
        for (s, axis) in e.cell.iter().zip(&array.axes) {
            let (Some(s), Some(length)) = (s, axis.length.to_aff()) else { continue };
            // Values read from data are bounded by the facts about them.
            if s.mentions_any(&|n| !part.inames.contains(n) && !new.is_parameter(n)) {
                continue;
            }
            for inside in [Constraint::nonneg(s.clone()), Constraint::lt(s, &length)?] {
                if !here.implies(&inside)? {
                    return Err(Why {
                        text: format!("`{}` may copy what lies outside of `{}`", part.part, e.array),
                        pairs: without(&here, &inside)?,
                    });
                }
            }
        }
    }
    Ok(())
}

fn check_reads(
    declared: &Model<'_>,
    new: &Model<'_>,
    outcome: &Outcome,
    links: &[Option<Link>],
    was: &mut Flows<'_, '_>,
    is: &mut Flows<'_, '_>,
) -> Checked<()> {
    let mut copies = Copies::new(new);
    for (p, part) in new.parts.iter().enumerate() {
        for e in part.events.iter().filter(|e| e.bound) {
            if links[p].is_none() || outcome.changed.contains_key(&e.array) {
                return why(format!("the range of `{}` depends on the values of `{}`", part.part, e.array));
            }
        }
        let mine = reads(new, part);
        let needed = |k: &usize| {
            links[p].as_ref().is_none_or(|l| !l.same[*k])
                || outcome.changed.contains_key(&part.events[*k].array)
        };
        let (id, here) = match new.role(part) {
            PartRole::Does(id, here) => (id, here),
            PartRole::Copies => {
                // The copy may have no reader, but the element that it reads must exist.
                if links[p].is_none() {
                    is.queries += 1;
                    within_arrays(new, part, &is.domain(part)?)?;
                }
                for k in mine.into_iter().filter(needed) {
                    let array = &part.events[k].array;
                    // A copy of what a caller passes is one of something.
                    if let Some(argument) = is.copied_argument(p)
                        && is.copied_through(p, &argument, HOPS)?.is_some()
                    {
                        continue;
                    }
                    let view = if is.model.is_given(array) {
                        None
                    } else {
                        Some(is.view(array, Some((p, k)), HOPS)?)
                    };
                    if view.is_some_and(|v| v.keys().any(Seen::is_unwritten)) {
                        return why(format!(
                            "`{}` may copy a cell of `{array}` that nothing has written",
                            part.part
                        ));
                    }
                }
                continue;
            }
            PartRole::Joins(..) => continue,
            PartRole::Realizes(id) => return why(format!("`{}` does a share of `{id}`", part.part)),
        };
        if matches!(here, Part::Init(_)) {
            continue;
        }
        let linked = links[p].is_some();
        if linked && !mine.iter().any(needed) {
            continue;
        }
        let Some(d) = declared.numbers.get(&PartRef { instruction: id.clone(), part: here }).copied() else {
            return why(format!("`{}` does no part of the declared `{id}`", part.part));
        };
        let original = &declared.parts[d];
        let theirs = reads(declared, original);
        if mine.len() != theirs.len() {
            return why(format!("`{}` reads other things than the declared `{id}`", part.part));
        }
        let values: Vec<Aff> = original
            .inames
            .iter()
            .map(|n| new.declared_value(part, n))
            .collect::<loopwright_poly::Result<_>>()?;
        let value = |n: &Name| original.inames.iter().position(|i| i == n).map(|k| values[k].clone());
        if !linked {
            is.queries += 1;
            only_declared(new, part, original, &value)?;
        }
        for (k, l) in mine.into_iter().zip(theirs) {
            if !needed(&k) {
                continue;
            }
            let (e, f) = (&part.events[k], &original.events[l]);
            if e.array == f.array && !new.is_written(&e.array) && !declared.is_written(&f.array) {
                // Nothing writes the array, so comparing the cells is enough.
                let mut same = e.cell.len() == f.cell.len();
                for (axis, (s, t)) in e.cell.iter().zip(&f.cell).enumerate() {
                    same = same
                        && match (s, t) {
                            (Some(s), Some(t)) if e.opaque.is_empty() && f.opaque.is_empty() => {
                                let t = t.substitute(&value)?;
                                *s == t || {
                                    let rows = is.domain(part)?;
                                    is.queries += 1;
                                    System::new(&rows)?.implies(&Constraint::equal(s, &t)?)?
                                }
                            }
                            _ => {
                                let of = |o: &[Option<Expr>]| o.get(axis).cloned().flatten();
                                let t = of(&f.opaque)
                                    .map(|t| t.substitute(&|n| value(n).map(|a| Expr::from_aff(&a))));
                                match (t, of(&e.opaque), s, f.cell.get(axis)) {
                                    (Some(t), Some(u), ..) => t == u,
                                    (None, None, Some(s), Some(Some(t))) => *s == t.substitute(&value)?,
                                    _ => false,
                                }
                            }
                        };
                }
                if same {
                    continue;
                }
            }
            let cell: Option<Vec<Aff>> =
                f.cell.iter().map(|t| t.as_ref().and_then(|t| t.substitute(&value).ok())).collect();
            let cell = cell.filter(|_| f.opaque.is_empty());
            let is_written = new.is_written(&f.array) || declared.is_written(&f.array);
            if let Some(cell) = &cell
                && !is_written
                && (copies.see_initial((p, k), &f.array, cell, &mut is.queries)?
                    || is.sees_copy((p, k), &f.array, cell, HOPS)?)
            {
                continue;
            }
            let to_declared = Map::from_affs(&Flows::dims(part), &values)?;
            let mut expected = View::new();
            for (seen, map) in was.view(&f.array, Some((d, l)), HOPS)? {
                unite(&mut expected, seen, to_declared.then(&map)?)?;
            }
            let what = format!("the read of `{}` in `{}`", e.array, part.part);
            if let Some(cell) = &cell
                && is_written
                && e.array != f.array
                && let Some(found) = is.sees_copy_of_result((p, k), &f.array, cell)?
                && compare(&found, &expected, declared, &what).is_ok()
            {
                continue;
            }
            let found = is.view(&e.array, Some((p, k)), HOPS)?;
            compare(&found, &expected, declared, &what)?;
        }
    }
    Ok(())
}

/// Each live-out cell is read once at the end.
fn check_outputs(
    new: &Model<'_>,
    outcome: &Outcome,
    was: &mut Flows<'_, '_>,
    is: &mut Flows<'_, '_>,
) -> Checked<()> {
    for arg in &new.kernel.args {
        let Arg::Array(array) = arg else { continue };
        if !outcome.changed.contains_key(&array.name) {
            continue;
        }
        if !was.model.is_written(&array.name) && !new.is_written(&array.name) {
            continue;
        }
        let expected = was.view(&array.name, None, HOPS)?;
        let found = is.view(&array.name, None, HOPS)?;
        compare(&found, &expected, was.model, &format!("what reads `{}` afterwards", array.name))?;
    }
    Ok(())
}
