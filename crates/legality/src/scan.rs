//! Scans: reductions whose accumulator is carried from one value of an iname to the next.
//!
//! *Theorem.* Let `U` be the points `(w, i, j)` of a reduction over `j` in an instruction with the
//! inames `w` and `i`, and let `I` be its instances `(w, i)`. If for a constant `c`
//!
//! 1. each instance has the points that those up to it add, the instance `i` the point `i + c`:
//!    (a) `U` has no point with `j > i + c`;
//!    (b) of each `(w, i, j) in U`, also `(w, j - c, j) in U`;
//!    (c) of each `(w, j - c, j) in U` and `(w, i) in I` with `j - c <= i`, also `(w, i, j) in U`;
//! 2. the reduced expression does not mention `i`;
//! 3. nothing writes what is read for `j` between the first instance with that point, `i = j - c`,
//!    and any later one;
//!
//! then a single accumulator for all `i`, to which instance `i` adds only the point `i + c`, holds
//! at each instance the result of the reduction, in the order of its points. At `i` it has the
//! points `j` with `(w, j - c, j) in U` and `j - c <= i`: by (a) and (b) they are all points of
//! `i`, by (c) no others. Nothing is said of the instance before `i`, so that `i` may go in steps,
//! and have gaps. The parts of (1) are inclusions of conjunctions, premise (3) is one conjunction
//! for each case of the order of a write and the two reads. [`carried`] checks all three.
//!
//! Afterwards the accumulator has a contract: `finish` sees the updates of all values of the iname
//! up to its own. A loop preserves the contract if it keeps each update before each `finish` that
//! sees it (see `compare`). An update that a `finish` does *not* see may precede it if the two are
//! in different threads or lanes, since lowering joins those in iname order; that requires the
//! iname to be a mixed-radix number of its loops and coordinates ([`along`]).

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Aff, Constraint, Diagnostic, Instruction, KernelData, Kind, Lookup, LoopKernel, Name, Part, PartRef, Tag,
    Term,
};
use loopwright_poly::System;

use crate::{
    Model, ModelPart, Touch,
    conflict::primed,
    model::constant_ranges,
    order::{Way, before, not_before, radix},
};

/// How the loop over the iname of a scan may change, as a remedy.
pub(crate) fn keep_loop(iname: &Name) -> String {
    format!("only `split_iname` and `rename_iname` change the loop over `{iname}` of a scan")
}

/// Which order of loops, threads and lanes a scan keeps, as a remedy.
pub(crate) fn keep_order(iname: &Name) -> String {
    format!(
        "a scan takes the values of `{iname}` in order: of the inames that it was split into, the outermost \
         are loops or blocks, then come threads, then lanes (`ilp`, `vec`)"
    )
}

/// The base inames that the reductions of an instruction scan along, coarsest first, each with the
/// increment of the scan's iname that one step of it makes. `None` for an instruction that is not a
/// scan.
///
/// Errors: the iname is no longer a mixed-radix number of them, so they do not determine its
/// values, or not in order.
pub fn along(
    data: &KernelData,
    lookup: &Lookup<'_>,
    instruction: &Instruction,
) -> Option<Result<Vec<(Name, i64)>, Diagnostic>> {
    let iname = instruction.scan.as_ref()?;
    let refuse = || {
        Diagnostic::new(
            "scan-iname",
            format!(
                "`{}` is a scan along `{iname}`, which is no longer a loop of its own, split or not",
                instruction.id
            ),
        )
        .help(keep_loop(iname))
    };
    let value = instruction.scan_value()?;
    let Ok(value) = lookup.expand(&value) else { return Some(Err(refuse())) };
    let mut inames: Vec<(Name, i64)> = Vec::new();
    for (term, c) in value.terms() {
        match term {
            Term::Var(n) if lookup.is_scalar(n) => {}
            Term::Var(n) if *c > 0 => inames.push((n.clone(), *c)),
            _ => return Some(Err(refuse())),
        }
    }
    if !inames.iter().all(|(n, _)| instruction.within.contains(n)) {
        return Some(Err(refuse()));
    }
    // Threads and lanes are joined along these inames only. A coordinate that has no share in the
    // scan's iname, such as one that is a function of the others, would split the accumulator.
    let apart = |n: &&Name| data.tag(n).is_parallel() && !inames.iter().any(|(along, _)| along == *n);
    if let Some(n) = lookup.base_of(iname).iter().find(apart) {
        let message = format!(
            "`{}` is a scan along `{iname}`, and `{n}: {}` separates its points, although the \
             value of `{iname}` is a function of other inames",
            instruction.id,
            data.tag(n)
        );
        let help = format!("leave `{n}` a loop, or split `{iname}` by `split_iname` and tag what that gives");
        return Some(Err(Diagnostic::new("scan-iname", message).help(help)));
    }
    let mut ranges = constant_ranges(data);
    // Ranges of finer inames that the domains do not state, as of a split of a split, are derived.
    for (n, _) in &inames {
        if ranges.contains_key(n) {
            continue;
        }
        match range(lookup, instruction, &Aff::var(n)) {
            Ok(Some(range)) => ranges.insert(n.clone(), range),
            Ok(None) => None,
            Err(e) => return Some(Err(e)),
        };
    }
    // An iname with a single value, as after a split by the whole length, makes no step: among
    // equally coarse inames, those with several values come first.
    let only = |n: &Name| ranges.get(n).filter(|(low, high)| low == high).map(|(low, _)| Aff::constant(*low));
    inames.sort_by_key(|(n, c)| (std::cmp::Reverse(*c), only(n).is_some()));
    let Ok(value) = value.substitute(&only) else { return Some(Err(refuse())) };
    if !radix(&value, &ranges, &|n| lookup.is_scalar(n)) {
        let loops = inames.iter().all(|(n, _)| data.tag(n) == Tag::Seq);
        match loops.then(|| in_order(lookup, instruction, &inames)) {
            Some(Ok(true)) => {}
            Some(Err(e)) => return Some(Err(e)),
            _ => return Some(Err(refuse())),
        }
    }
    Some(Ok(inames))
}

/// Whether loops over these inames, coarsest first, enumerate the number that they form in
/// increasing order: the contribution of the finer ones varies by less than one step of a coarser
/// one. For `0 <= 3*o + i < 4` this holds jointly, though not for each iname alone.
fn in_order(
    lookup: &Lookup<'_>,
    instruction: &Instruction,
    inames: &[(Name, i64)],
) -> Result<bool, Diagnostic> {
    let mut finer = Aff::default();
    for (k, (n, c)) in inames.iter().enumerate().rev() {
        if matches!(range(lookup, instruction, &Aff::var(n))?, Some((low, high)) if low == high) {
            continue;
        }
        if k + 1 < inames.len() {
            match range(lookup, instruction, &finer)? {
                Some((low, high)) if high.saturating_sub(low) < *c => {}
                _ => return Ok(false),
            }
        }
        finer = finer.add(&Aff::var(n).scale(*c)?)?;
    }
    Ok(true)
}

/// The range of a function of the inames around an instruction, if it is constant.
fn range(lookup: &Lookup<'_>, instruction: &Instruction, of: &Aff) -> Result<Option<(i64, i64)>, Diagnostic> {
    let mut rows = Vec::new();
    for c in lookup.instances(&instruction.within) {
        rows.push(lookup.expand_constraint(&c)?);
    }
    let (low, high) = System::new(&rows)?.constant_range(of)?;
    Ok(low.zip(high))
}

impl Model<'_> {
    /// The iname along which the scan goes whose accumulator an array is, if it is one.
    pub fn scan_of(&self, array: &str) -> Option<&Name> {
        let (id, _) = array.rsplit_once('.')?;
        self.lookup.instruction(id)?.scan.as_ref()
    }

    /// Whether an array is the accumulator of a scan.
    pub fn is_scan(&self, array: &str) -> bool {
        self.scan_of(array).is_some()
    }
}

/// Formats, for example, `n=2, i=1, j=0`.
fn values(point: &BTreeMap<Name, i64>) -> String {
    point.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(", ")
}

/// Checks the premises of the theorem for the scan, along the iname `sweep`, of an instruction's
/// reductions over `point`, and returns the number `c` such that instance `i` adds the point
/// `i + c`. Both are base inames.
///
/// Errors: the premise that fails, with an instance.
pub fn carried(kernel: &LoopKernel, id: &Name, sweep: &Name, point: &Name) -> Result<i64, Diagnostic> {
    let model = Model::new(kernel)?;
    let of = |part: Part| {
        let part = PartRef { instruction: id.clone(), part };
        model.numbers.get(&part).map(|k| &model.parts[*k])
    };
    let (Some(update), Some(finish)) = (of(Part::Update(0)), of(Part::Finish)) else {
        return Err(Diagnostic::new("scan-shape", format!("`{id}` has no reduction")));
    };
    let offset = points(&model, update, finish, sweep, point)?;
    let count = model.instruction(update).reductions().len();
    for n in 0..count {
        if let Some(update) = of(Part::Update(n)) {
            reads_stay(&model, update, sweep, point, offset)?;
        }
    }
    Ok(offset)
}

/// Which loops of a reduction have to run backwards for it to be a scan, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backwards {
    /// That over the iname along which the scan would go: later instances have fewer points.
    pub sweep: bool,
    /// That over the points: they come in from the end.
    pub point: bool,
}

/// Which loops have to run backwards for the range of a reduction over `point` to have an end that
/// goes on by one with `sweep`: none of `0 <= j <= i`, both of `i <= j < n`, that over `j` of
/// `n - i <= j < n`, that over `i` of `0 <= j < n - i`. None either if no such end is seen; what
/// the scan is then has to be asked in any case ([`carried`]). Both are base inames.
pub fn backwards(
    kernel: &LoopKernel,
    id: &Name,
    sweep: &Name,
    point: &Name,
) -> Result<Backwards, Diagnostic> {
    let model = Model::new(kernel)?;
    let update = PartRef { instruction: id.clone(), part: Part::Update(0) };
    let Some(update) = model.numbers.get(&update).map(|k| &model.parts[*k]) else {
        return Ok(Backwards::default());
    };
    let (i, j) = (Aff::var(sweep), Aff::var(point));
    if last(update, &i, &j).is_some() {
        return Ok(Backwards::default());
    }
    let ends = || update.constraints.iter().filter(|c| c.kind == Kind::Ge && c.aff.is_affine());
    let is_end = |of_i: i64, of_j: i64| {
        ends().any(|c| c.aff.coefficient(sweep) == of_i && c.aff.coefficient(point) == of_j)
    };
    let ways = [(-1, 1, true, true), (1, 1, false, true), (-1, -1, true, false)];
    let way = ways.into_iter().find(|(of_i, of_j, ..)| is_end(*of_i, *of_j));
    Ok(way.map_or_else(Backwards::default, |(_, _, sweep, point)| Backwards { sweep, point }))
}

/// The least number `c` for which a constraint of an update is `j <= i + c`, if there is one.
fn last(update: &ModelPart, i: &Aff, j: &Aff) -> Option<i64> {
    let offsets = update.constraints.iter().filter_map(|c| {
        let rest = c.aff.sub(&i.sub(j).ok()?).ok()?;
        rest.as_constant().filter(|_| c.kind == Kind::Ge)
    });
    offsets.min()
}

/// Premise 1, and the constant.
fn points(
    model: &Model<'_>,
    update: &ModelPart,
    finish: &ModelPart,
    sweep: &Name,
    point: &Name,
) -> Result<i64, Diagnostic> {
    let id = &update.part.instruction;
    let (i, j) = (Aff::var(sweep), Aff::var(point));
    for c in &update.constraints {
        for n in c.names() {
            let own = |n: &Name| update.inames.contains(n) || model.is_parameter(n);
            let writers = model.lookup.writers(&n).iter().map(|k| &model.kernel.instructions[*k]);
            let varies = writers.flat_map(|w| &w.within).any(|w| w == sweep);
            if !own(&n) && varies {
                let message = format!(
                    "the range of `{point}` in `{id}` is read from data anew for each `{sweep}`: \
                     `{c}`"
                );
                return Err(Diagnostic::new("not-a-scan", message)
                    .help(format!("only a range that grows by one with `{sweep}` makes a scan")));
            }
        }
    }
    let Some(offset) = last(update, &i, &j) else {
        let help = format!(
            "a scan along `{sweep}` has a range such as `0 <= {point} <= {sweep}` or `0 <= {point} < \
             {sweep}`"
        );
        let message =
            format!("the range of `{point}` in `{id}` has no end that goes on by one with `{sweep}`");
        return Err(Diagnostic::new("not-a-scan", message).help(help));
    };
    let mut own = model.context.clone();
    own.extend(update.constraints.iter().cloned());
    // In a lattice the last point may lie before the end of the range.
    let offset = match System::new(&own)?.constant_range(&j.sub(&i)?)? {
        (low, Some(high)) if low.is_none_or(|low| low <= high) => high.min(offset),
        _ => offset,
    };
    // `U` with the instance that adds the point in place of `i`.
    let adds = j.add_constant(-offset)?;
    let mut added = Vec::new();
    for c in &update.constraints {
        added.push(Constraint { kind: c.kind, aff: c.aff.substitute_one(sweep, &adds)? });
    }
    let mut known = model.context.clone();
    known.extend(added.iter().cloned());
    known.extend(finish.constraints.iter().cloned());
    known.push(Constraint::le(&adds, &i)?);
    for (has, lacks, is_own) in [(&own, &added, true), (&known, &update.constraints, false)] {
        let system = System::new(has)?;
        for c in lacks.iter().filter(|c| !has.contains(c)) {
            if system.implies(c)? {
                continue;
            }
            let (i_order, none) = ([sweep.clone(), point.clone()], BTreeMap::new());
            let mut at = None;
            for opposite in c.negations()? {
                at = at.or(system.with(&[opposite])?.sample_in_order(&none, &i_order)?);
            }
            let at = at.unwrap_or_default();
            let (i, j) = (at.get(sweep).copied().unwrap_or(0), at.get(point).copied().unwrap_or(0));
            let first = j.saturating_sub(offset);
            let what = match is_own {
                true => format!(
                    "`{sweep}={i}` has the point `{point}={j}`, which is not the last one of \
                     `{sweep}={first}`"
                ),
                false => {
                    format!("`{sweep}={first}` has the point `{point}={j}`, and `{sweep}={i}` has not")
                }
            };
            return Err(Diagnostic::new("not-a-scan", format!("`{id}` is no scan along `{sweep}`: {what}"))
                .witness(values(&at))
                .help(format!(
                    "in a scan each `{sweep}` has the points of the one before it and one more, \
                     as in `0 <= {point} <= {sweep}`"
                )));
        }
    }
    Ok(offset)
}

/// Premise 3: no write of a cell that an update reads lies between the first instance with its
/// point and a later one.
fn reads_stay(
    model: &Model<'_>,
    update: &ModelPart,
    sweep: &Name,
    point: &Name,
    offset: i64,
) -> Result<(), Diagnostic> {
    // The first instance is the one with this value of `sweep` and the same values of all other
    // inames.
    let first_value = Aff::var(point).add_constant(-offset)?;
    let first = |n: &Name| if n == sweep { first_value.clone() } else { Aff::var(n) };
    let second = |aff: &Aff| model.second(aff);
    let relation = |x: &Aff, y: &Aff, r: std::cmp::Ordering| match r {
        std::cmp::Ordering::Less => Constraint::lt(x, y),
        std::cmp::Ordering::Equal => Constraint::equal(x, y),
        std::cmp::Ordering::Greater => Constraint::lt(y, x),
    };
    for e in update.events.iter().filter(|e| e.touch == Touch::Read) {
        for (w, k) in model.touches.get(&e.array).into_iter().flatten() {
            let writer = &model.parts[*w];
            let f = &writer.events[*k];
            if f.touch == Touch::Read {
                continue;
            }
            let mut rows = model.context.clone();
            for c in &update.constraints {
                rows.push(c.clone());
                rows.push(Constraint { kind: c.kind, aff: c.aff.substitute_one(sweep, &first_value)? });
            }
            rows.push(Constraint::lt(&first_value, &Aff::var(sweep))?);
            for c in &writer.constraints {
                rows.push(Constraint { kind: c.kind, aff: second(&c.aff)? });
            }
            for (s, t) in e.cell.iter().zip(&f.cell) {
                if let (Some(s), Some(t)) = (s, t) {
                    rows.push(Constraint::equal(s, &second(t)?)?);
                }
            }
            let base = System::new(&rows)?;
            // The write comes before the later read, and not before the first one.
            let not_first: Vec<Way> =
                not_before(writer, f, update, e).into_iter().map(|(way, _)| way).collect();
            for way in before(writer, f, update, e) {
                for other in &not_first {
                    let mut more = Vec::new();
                    for s in &way {
                        more.push(relation(&Aff::var(primed(&s.iname)), &Aff::var(&s.iname), s.relation)?);
                    }
                    for s in other {
                        more.push(relation(&Aff::var(primed(&s.iname)), &first(&s.iname), s.relation)?);
                    }
                    let Some(at) =
                        base.with(&more)?.sample_in_order(&BTreeMap::new(), std::slice::from_ref(sweep))?
                    else {
                        continue;
                    };
                    let value = |n: &Name| at.get(n).copied().unwrap_or(0);
                    let (i, j) = (value(sweep), value(point));
                    let message = format!(
                        "`{}` is no scan along `{sweep}`: `{}` is written by `{}` between \
                         `{sweep}={}`, which reads it for `{point}={j}`, and `{sweep}={i}`, which \
                         reads it anew",
                        update.part.instruction,
                        e.array,
                        writer.part,
                        j - offset,
                    );
                    return Err(Diagnostic::new("scan-operand", message).witness(values(&at)).help(
                        "a running total reads each element once: write the results to another \
                         array",
                    ));
                }
            }
        }
    }
    Ok(())
}
