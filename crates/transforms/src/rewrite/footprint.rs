//! The footprint of a sweep of inames: the cells of an array that it reads.
//!
//! For each axis, a *base* is a function of the names that are not swept, such that each subscript
//! lies between the base and the base plus a constant. The base of a subscript is the subscript
//! without its terms in swept inames, plus the constant least value of these terms; if they have
//! none, the lower bounds of the subscript by elimination are tried. A read under a condition on
//! inames (`if(i > 0, x[i-1], 0)`) counts only where the condition holds. All subscripts together
//! give the box: `x[i-1]`, `x[i]`, `x[i+1]` under `i = 16*i_outer + i_inner` swept over `i_inner`
//! have the base `16*i_outer - 1` and the length 18, the halo included.
//!
//! Where all subscripts of an axis lie a multiple of a *step* from the base, only such cells count:
//! `x[64*t + i]` swept over two values of `t` is two cells, not 65.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    Access, Aff, Constraint, Diagnostic, Expr, KernelData, Lookup, Name, Part, PartRef, Term,
};
use loopwright_legality::conditional_reads;
use loopwright_poly::System;

use crate::{
    names,
    rewrite::extent::{Extents, constraints_of, instances_of, last_part},
};

/// A read of the array whose footprint is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    /// The part of an instruction that reads.
    pub part: PartRef,
    /// The subscripts over base inames.
    pub index: Vec<Aff>,
    /// Constraints on its executions from the conditions around it, over base inames.
    pub under: Vec<Constraint>,
}

/// The cells on one axis: `length` of them from the base on, a step apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub base: Aff,
    pub step: i64,
    pub length: i64,
}

impl Span {
    /// The cell of this number.
    pub fn cell(&self, number: &Name) -> Result<Aff, Diagnostic> {
        Ok(self.base.add(&Aff::var(number).scale(self.step)?)?)
    }

    /// The number of a cell, which must be one of these.
    pub fn number(&self, cell: &Aff) -> Result<Aff, Diagnostic> {
        Ok(cell.sub(&self.base)?.floor_div(self.step)?)
    }
}

/// The greatest step that divides all these distances, whatever the values of names.
fn common_step(distances: &[Aff]) -> i64 {
    let coefficients = distances.iter().flat_map(|d| {
        let terms = d.terms().iter().map(|(_, coefficient)| *coefficient);
        terms.chain([d.constant_term()])
    });
    let gcd = coefficients.fold(0u64, |a, b| {
        let (mut a, mut b) = (a, b.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    });
    i64::try_from(gcd).unwrap_or(1).max(1)
}

/// The accesses of an array inside an expression, each with the number of the innermost reduction
/// around it.
pub(crate) fn accesses_in(e: &Expr, array: &str, next: &mut usize, found: &mut Vec<(Option<usize>, Access)>) {
    let start = found.len();
    for child in e.children() {
        accesses_in(child, array, next, found);
    }
    match e {
        Expr::Reduce(_) => {
            for (number, _) in &mut found[start..] {
                number.get_or_insert(*next);
            }
            *next += 1;
        }
        Expr::Subscript(access) if *access.array == *array => found.push((None, access.clone())),
        _ => {}
    }
}

/// All reads of an array by these instructions (all if empty), with affine subscripts: at least
/// one.
pub(crate) fn reads_of(data: &KernelData, array: &Name, only: &[Name]) -> Result<Vec<Read>, Diagnostic> {
    reads_where(data, array, only, &|_| true)
}

/// As [`reads_of`], of the accesses for which `wanted` is true.
pub(crate) fn reads_where(
    data: &KernelData,
    array: &Name,
    only: &[Name],
    wanted: &dyn Fn(&Access) -> bool,
) -> Result<Vec<Read>, Diagnostic> {
    let (reads, some) = chosen_reads(data, array, only, wanted)?;
    if reads.is_empty() && some {
        return Err(Diagnostic::new(
            "prefetch-nothing",
            format!("the reads of `{array}` are never executed: its readers have no instances"),
        )
        .help("choose readers that have instances"));
    }
    if reads.is_empty() {
        return Err(Diagnostic::new("prefetch-nothing", format!("nothing reads `{array}`"))
            .help("name an array that an instruction reads"));
    }
    Ok(reads)
}

/// As [`reads_of`], but there need not be any. Also whether the text has reads, among them those
/// that never happen.
pub(crate) fn any_reads_of(
    data: &KernelData,
    array: &Name,
    only: &[Name],
) -> Result<(Vec<Read>, bool), Diagnostic> {
    chosen_reads(data, array, only, &|_| true)
}

fn chosen_reads(
    data: &KernelData,
    array: &Name,
    only: &[Name],
    wanted: &dyn Fn(&Access) -> bool,
) -> Result<(Vec<Read>, bool), Diagnostic> {
    let lookup = Lookup::new(data);
    let mut reads: Vec<Read> = Vec::new();
    let mut found_any = false;
    for instruction in &data.instructions {
        if !only.is_empty() && !only.contains(&instruction.id) {
            continue;
        }
        let mut found = Vec::new();
        accesses_in(&instruction.value, array, &mut 0, &mut found);
        let others = instruction.targets.iter().flat_map(|t| &t.index).chain(&instruction.predicate);
        let mut outside = Vec::new();
        for e in others {
            accesses_in(e, array, &mut 0, &mut outside);
        }
        found.extend(outside.into_iter().map(|(_, a)| (None, a)));
        for (number, access) in found.into_iter().filter(|(_, access)| wanted(access)) {
            let part = match number {
                Some(n) => PartRef { instruction: instruction.id.clone(), part: Part::Update(n) },
                None => last_part(data, &instruction.id),
            };
            let index = access
                .index
                .iter()
                .map(|e| affine_subscript(data, e))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| {
                    Diagnostic::new(
                        "prefetch-not-affine",
                        format!(
                            "`{array}` is read in `{}` at a subscript that is not affine",
                            instruction.id
                        ),
                    )
                    .help(
                        "choose the instructions whose reads are to be replaced with \
                        `readers=[...]`",
                    )
                })?;
            // The same element may be read in several places, each under different conditions.
            for (read, under) in conditional_reads(&lookup, instruction, &part) {
                if read != access {
                    continue;
                }
                found_any = true;
                let read = Read { part: part.clone(), index: index.clone(), under };
                // A read that is never executed needs no cells, and does not restrict when they are
                // needed.
                let happens = !instances_of(data, &read.part)?.with(&read.under)?.is_empty()?;
                if happens && !reads.contains(&read) {
                    reads.push(read);
                }
            }
        }
    }
    Ok((reads, found_any))
}

/// A subscript over base inames and parameters, if it is one.
pub(crate) fn affine_subscript(data: &KernelData, e: &Expr) -> Option<Aff> {
    let aff = e.to_aff()?;
    let known = |n: &Name| data.temporary(n).is_none();
    aff.names().iter().all(known).then_some(())?;
    data.expand(&aff).ok()
}

/// The terms that mention no swept iname, and the constant.
fn unswept(aff: &Aff, sweep: &[Name]) -> Result<Aff, Diagnostic> {
    let mut rest = Aff::constant(aff.constant_term());
    for (term, c) in aff.terms() {
        let swept = match term {
            Term::Var(n) => sweep.contains(n),
            Term::Div(d) => sweep.iter().any(|s| d.numerator.mentions(s)),
        };
        if !swept {
            let value = match term {
                Term::Var(n) => Aff::var(n),
                Term::Div(d) => d.numerator.floor_div(d.denominator)?,
            };
            rest = rest.add(&value.scale(*c)?)?;
        }
    }
    Ok(rest)
}

/// The spans of all axes under the sweep.
pub(crate) fn spans(
    data: &KernelData,
    array: &Name,
    reads: &[Read],
    sweep: &[Name],
) -> Result<Vec<Span>, Diagnostic> {
    let systems: Vec<System> = reads
        .iter()
        .map(|r| Ok(instances_of(data, &r.part)?.with(&r.under)?))
        .collect::<Result<_, Diagnostic>>()?;
    let axes = reads.first().map_or(0, |r| r.index.len());
    if reads.iter().any(|r| r.index.len() != axes) {
        return Err(Diagnostic::new(
            "subscript-count",
            format!("`{array}` is read with different numbers of subscripts"),
        )
        .help("give every access one subscript per axis"));
    }
    (0..axes)
        .map(|axis| {
            let mut candidates: Vec<Aff> = Vec::new();
            for (read, system) in reads.iter().zip(&systems) {
                let base = unswept(&read.index[axis], sweep)?.clone();
                let base = base.add_constant(base.constant_term().checked_neg().unwrap_or(0))?;
                if !candidates.contains(&base) {
                    candidates.push(base);
                }
                let value = Name::new("value'");
                let with = system.with(&[Constraint::zero(Aff::var(&value).sub(&read.index[axis])?)])?;
                let bounds = with.bounds(&value, &|n| !sweep.contains(n) && *n != value)?;
                for b in bounds.lower.iter().filter(|b| b.denominator == 1) {
                    let inames_of_all = |n: &Name| {
                        !data.is_iname(n) || reads.iter().all(|r| data.part_inames(&r.part).contains(n))
                    };
                    if b.aff.names().iter().all(inames_of_all) && !candidates.contains(&b.aff) {
                        candidates.push(b.aff.clone());
                    }
                }
            }
            let mut best: Option<Span> = None;
            for candidate in candidates {
                if let Some(span) = span_from(&candidate, axis, reads, &systems)?
                    && best.as_ref().is_none_or(|b| span.length < b.length)
                {
                    best = Some(span);
                }
            }
            best.map_or_else(|| Err(unbounded(data, array, axis, reads, sweep)?), Ok)
        })
        .collect()
}

/// The span that begins at a constant from `candidate`, if all subscripts lie within a constant
/// from it.
fn span_from(
    candidate: &Aff,
    axis: usize,
    reads: &[Read],
    systems: &[System],
) -> Result<Option<Span>, Diagnostic> {
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for (read, system) in reads.iter().zip(systems) {
        match system.constant_range(&read.index[axis].sub(candidate)?)? {
            // There are no reads.
            (Some(l), Some(h)) if l > h => {}
            (Some(l), Some(h)) => (low, high) = (low.min(l), high.max(h)),
            _ => return Ok(None),
        }
    }
    if low > high {
        return Ok(Some(Span { base: candidate.clone(), step: 1, length: 1 }));
    }
    let base = candidate.add_constant(low)?;
    let distances: Vec<Aff> = reads.iter().map(|r| r.index[axis].sub(&base)).collect::<Result<_, _>>()?;
    let step = common_step(&distances);
    let Some(length) = high.checked_sub(low).and_then(|l| (l / step).checked_add(1)) else {
        return Ok(None);
    };
    Ok(Some(Span { base, step, length }))
}

/// The refusal for an axis without a constant length, with the inames that could be swept instead.
fn unbounded(
    data: &KernelData,
    array: &Name,
    axis: usize,
    reads: &[Read],
    sweep: &[Name],
) -> Result<Diagnostic, Diagnostic> {
    // A loop without a constant length has no constant footprint either.
    let extents = Extents::new(data);
    let mut occurring: BTreeSet<Name> = BTreeSet::new();
    for name in reads.iter().flat_map(|r| r.index[axis].names()) {
        if data.is_iname(&name) && !sweep.contains(&name) && extents.constant_length(&name)?.is_some() {
            occurring.insert(name);
        }
    }
    let swept: Vec<&str> = sweep.iter().map(Name::as_str).collect();
    let d = Diagnostic::new(
        "prefetch-unbounded",
        format!(
            "the footprint of the sweep over {} on axis {axis} of `{array}` has no constant length",
            names::list(swept)
        ),
    );
    // Reads of different places are each bounded alone, or not at all; those that the sweep moves
    // are the ones that are meant.
    let differ = reads.iter().any(|r| r.index != reads[0].index);
    let is_bounded = |read: &&Read| spans(data, array, std::slice::from_ref(*read), sweep).is_ok();
    let moved = |read: &&Read| sweep.iter().filter(|n| read.index.iter().any(|e| e.mentions(n))).count();
    let alone = reads.iter().filter(|_| differ).filter(is_bounded).max_by_key(moved);
    Ok(if let Some(one) = alone {
        d.help(format!(
            "its reads are of different places; one of them alone has one: `accesses=[{}]`",
            written(array, one)
        ))
    } else if occurring.is_empty() {
        d.help("split the swept inames first, and sweep over the inner ones of constant length")
    } else {
        d.help(format!("sweep over {} as well", names::list(occurring.iter().map(Name::as_str))))
    })
}

/// A read as it is written in a text.
fn written(array: &Name, read: &Read) -> String {
    let index: Vec<String> = read.index.iter().map(ToString::to_string).collect();
    format!("{array}[{}]", index.join(", "))
}

/// The constraints of the new inames: the box, and those that all reads have in common, over the
/// names that `keep` allows. Cells outside the array are excluded.
pub(crate) fn needed(
    data: &KernelData,
    reads: &[Read],
    fetch: &[(Name, usize, Span)],
    shape: &[Option<Aff>],
    keep: &dyn Fn(&Name) -> bool,
) -> Result<Vec<Constraint>, Diagnostic> {
    let cell = |name: &Name, span: &Span| span.cell(name);
    let mut projections: Vec<System> = Vec::new();
    let mut around: Vec<Constraint> = Vec::new();
    for read in reads {
        let mut rows = constraints_of(data, &read.part)?;
        rows.extend(read.under.iter().cloned());
        for (name, axis, span) in fetch {
            rows.push(Constraint::zero(cell(name, span)?.sub(&read.index[*axis])?));
        }
        let fetched = |n: &Name| fetch.iter().any(|(f, _, _)| f == n);
        let all = data.assumptions.iter().cloned().chain(rows).collect::<Vec<_>>();
        let projection = System::new(&all)?.keep_only(&|n| fetched(n) || keep(n))?.system;
        if !projections.contains(&projection) {
            // Constraints on the inames around the copy come first, so that they are not dropped as
            // redundant.
            around.extend(projection.keep_only(&|n| !fetched(n))?.system.constraints().iter().cloned());
            projections.push(projection);
        }
    }
    let mut rows = Vec::new();
    for (name, axis, span) in fetch {
        let f = Aff::var(name);
        rows.push(Constraint::nonneg(f.clone()));
        rows.push(Constraint::lt(&f, &span.length.into())?);
        if let Some(Some(length)) = shape.get(*axis) {
            let cell = cell(name, span)?;
            rows.push(Constraint::nonneg(cell.clone()));
            rows.push(Constraint::lt(&cell, length)?);
        }
    }
    let fetch_box = rows.iter().filter(|c| c.names().len() == 1).cloned().collect::<Vec<_>>();
    // In an order that does not depend on that of elimination: the simplest first.
    let simplest = |c: &&Constraint| (c.aff.terms().len(), (*c).clone());
    let mut candidates: Vec<&Constraint> = around.iter().collect();
    candidates.sort_by_key(simplest);
    let mut others: Vec<&Constraint> = projections.iter().flat_map(System::constraints).collect();
    others.sort_by_key(simplest);
    for candidate in candidates.into_iter().chain(others) {
        let common = projections.iter().all(|p| p.implies(candidate).unwrap_or(false));
        let plain = candidate.aff.is_affine() && candidate.aff.as_constant().is_none();
        if common && plain && !rows.contains(candidate) {
            rows.push(candidate.clone());
        }
    }
    let context = System::new(&data.assumptions)?;
    let mut kept = System::new(&rows)?.gist(&context)?;
    // The box itself is kept even if other constraints imply a side of it, since it bounds the
    // inames.
    for c in fetch_box.into_iter().rev() {
        if !kept.contains(&c) {
            kept.insert(0, c);
        }
    }
    Ok(kept)
}
