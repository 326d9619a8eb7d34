//! Drops the guards of partial tiles from updates of reductions.
//!
//! A tile at the edge is partial: some of its results do not exist, and the last step of the
//! reduction runs past its end. In the innermost loop, guards against this cost more than the
//! arithmetic. An update that reads buffers filled by copies needs none of them:
//!
//! * A guard without reduced inames decides about whole results. Where it fails, the accumulator
//!   takes up values that are never used, since the part that uses the result has the same guard.
//! * A guard with reduced inames decides about single terms. Where it fails, everything that the
//!   update reads is filling, and the resulting term is the operator's neutral element (`0 * 0` for
//!   a sum).
//!
//! A buffer with slots, which copies fill for later iterations of a loop, is read like one that is
//! filled in each iteration ([`ring`]).
//!
//! A factor that an atom takes from global memory has no copy: the lane that loads an element of
//! its fragment asks the guards for it, and takes zero where they fail ([`direct`]).
//!
//! To this end a copy writes its whole buffer: the array's cells where they exist and are needed,
//! filling elsewhere. A guard is dropped only if it is proved that everything read without it was
//! written before, in the same iteration of the loops around both, and that only filling is read
//! where a guard with reduced inames fails. Otherwise the guard stays.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    AddressSpace, Aff, Array, BinaryOp, Constraint, DType, Diagnostic, Expr, HardwareAxis, Instruction, Kind,
    Name, Part, Reduce, ReductionOp, Role, UnaryOp, arithmetic,
};
use loopwright_legality::Presence;
use loopwright_poly::System;

mod direct;
mod ring;

use direct::Factor;

use crate::analyse::analysis::{Analysis, Chosen, Filling, Guard, PartInfo, reduction};

/// Drops the guards of partial tiles from updates, and lets the copies that they read fill their
/// whole buffers.
pub(crate) fn fill_partial_tiles(analysis: &mut Analysis<'_>) -> Result<(), Diagnostic> {
    for update in 0..analysis.parts.len() {
        let Some(plan) = plan(analysis, update)? else { continue };
        analysis.parts[update].restrict(plan.guards);
        analysis.parts[update].chosen = plan.chosen;
        for (number, guards, filling) in plan.copies {
            analysis.parts[number].restrict(guards);
            analysis.parts[number].filling = Some(filling);
        }
    }
    Ok(())
}

impl PartInfo {
    /// Changes its guards, but not its executor.
    pub fn restrict(&mut self, guards: Vec<Guard>) {
        let is_election = |c: &Constraint| self.is_election(c);
        self.execution.constraints =
            guards.iter().map(|g| g.canonical.clone()).filter(|c| !is_election(c)).collect();
        self.guards = guards;
        self.beyond = true;
    }

    /// Whether a guard elects one of the threads or blocks along an axis, rather than saying that
    /// an iname along it has one value.
    fn is_election(&self, c: &Constraint) -> bool {
        let axis = c.aff.as_var().filter(|_| c.kind == Kind::Eq).and_then(|n| HardwareAxis::of_coordinate(n));
        axis.is_some_and(|axis| self.execution.executor[axis] == Presence::Elected)
    }
}

/// Whether all threads of a block have the same value of a coordinate.
pub(crate) fn is_of_block(name: &Name) -> bool {
    HardwareAxis::of_coordinate(name).is_some_and(|axis| !axis.is_in_block())
}

/// What changes: the update's guards, and for each copy its guards and its filling.
struct Plan {
    guards: Vec<Guard>,
    copies: Vec<(usize, Vec<Guard>, Filling)>,
    chosen: Vec<Chosen>,
}

/// A copy that fills the buffer of one of the update's reads.
struct Source {
    number: usize,
    /// In which iterations of the update it is the one: always, unless the buffer has slots that
    /// several copies fill.
    case: Vec<Constraint>,
    /// Guards that stay around the copy.
    kept: Vec<Guard>,
    /// Guards that decide between the source's cell and the filling.
    moved: Vec<Guard>,
    /// Names of the buffer's subscripts in the systems below.
    cell: Vec<Name>,
    /// The cells that are written, over the loops and blocks around and `cell`.
    written: System,
    /// A superset of the cells that hold a copy.
    copied: System,
    /// The update's subscripts.
    read: Vec<Aff>,
    /// The loops around both the copy, if it stood in the iteration that reads it, and the update.
    around: Vec<Name>,
}

fn plan(analysis: &Analysis<'_>, update: usize) -> Result<Option<Plan>, Diagnostic> {
    let info = &analysis.parts[update];
    let Part::Update(n) = info.execution.part.part else { return Ok(None) };
    let instruction = analysis.instruction(info);
    let Some(reduce) = reduction(instruction, n) else { return Ok(None) };
    // The accumulator of a scan is used again after a result that does not exist.
    let plain = instruction.predicate.is_none()
        && instruction.scan.is_none()
        && info.execution.loads.is_empty()
        && loopwright_legality::consumer(instruction, n) == Part::Finish
        && reduce.args.iter().all(is_harmless)
        && !info.guards.iter().any(|g| g.canonical.names().iter().any(|n| analysis.data.contains(n)));
    if !plain {
        return Ok(None);
    }
    let direct = direct::factors(analysis, info)?;
    let Some(sources) = sources(analysis, update, &direct)? else { return Ok(None) };
    let reduced: BTreeSet<Name> = names_of(analysis, reduce.inames.iter())?;
    let Some(filling) = filling(analysis, &reduce, &sources) else { return Ok(None) };
    // Asynchronous copies fill with zeros only.
    let zero = filling.value == Expr::Int(0);
    if !zero && (!direct.is_empty() || sources.iter().any(|s| analysis.copies_asynchronously(s.number))) {
        return Ok(None);
    }
    let asked = Asked { analysis, info, reduced, filling, sources, direct };
    let Some(Changed { kept, chosen, .. }) = asked.fewest()? else { return Ok(None) };
    let Asked { filling, sources, .. } = asked;
    let copies = sources
        .into_iter()
        .map(|s| (s.number, s.kept, Filling { guards: s.moved, value: filling.value.clone() }))
        .collect();
    Ok(Some(Plan { guards: kept, copies, chosen }))
}

/// The guards of an update, if some are dropped.
struct Changed {
    kept: Vec<Guard>,
    /// How many of these are not the same for a whole tile.
    left: usize,
    chosen: Vec<Chosen>,
}

/// What is asked about the guards of an update.
struct Asked<'a, 'k> {
    analysis: &'a Analysis<'k>,
    info: &'a PartInfo,
    /// The names of reduced inames.
    reduced: BTreeSet<Name>,
    filling: Choice,
    sources: Vec<Source>,
    direct: Vec<Factor>,
}

impl Asked<'_, '_> {
    /// As few guards as can be. What is the same for a whole tile, the loops around both the update
    /// and a copy, may guard it. Copies stand in different loops: those around all of them are
    /// tried first, then those around fewer.
    fn fewest(&self) -> Result<Option<Changed>, Diagnostic> {
        let mut depths: BTreeSet<usize> = self.sources.iter().map(|s| s.around.len()).collect();
        depths.extend(self.direct.iter().map(|factor| factor.around));
        let mut best: Option<Changed> = None;
        for depth in depths {
            let found = self.within(&self.info.execution.loops[..depth])?;
            let is_better = |found: &Changed| best.as_ref().is_none_or(|best| found.left < best.left);
            best = found.filter(is_better).or(best);
            if best.as_ref().is_some_and(|best| best.left == 0) {
                break;
            }
        }
        Ok(best)
    }

    /// The guards, if what is the same for a tile is what is in these loops.
    fn within(&self, around: &[Name]) -> Result<Option<Changed>, Diagnostic> {
        let Asked { analysis, info, reduced, filling, sources, direct } = self;
        let fixed = |name: &Name| around.contains(name) || is_of_block(name) || analysis.is_parameter(name);
        let split = split(analysis, &info.guards, &fixed)?;
        let (mut kept, mut left) = (split.kept, 0);
        let mut dropped = Vec::new();
        let mixed = match direct.is_empty() {
            true => split.mixed,
            // Whole tiles need no choice.
            false => {
                let known = system(analysis, kept.iter().map(|guard| &guard.canonical))?;
                needed(&known, split.mixed)?
            }
        };
        for guard in mixed {
            let droppable = guard.canonical.kind == Kind::Ge
                && (!guard.canonical.names().iter().any(|n| reduced.contains(n))
                    || filling.is_neutral
                        && direct.iter().all(|factor| factor.can_ask(&guard))
                        && reads_filling(analysis, &kept, &guard.canonical, sources)?);
            if droppable {
                dropped.push(guard);
            } else {
                kept.push(guard);
                left += 1;
            }
        }
        if dropped.is_empty() || !reads_what_is_written(analysis, &kept, sources)? {
            return Ok(None);
        }
        let chosen = direct.iter().map(|factor| factor.under(analysis, &kept, &dropped));
        let chosen = chosen.collect::<Result<_, _>>()?;
        Ok(Some(Changed { kept, left, chosen }))
    }
}

/// The guards that do not follow from a system.
pub(super) fn needed(known: &System, guards: Vec<Guard>) -> Result<Vec<Guard>, Diagnostic> {
    let mut needed = Vec::new();
    for guard in guards {
        if !known.implies(&guard.canonical)? {
            needed.push(guard);
        }
    }
    Ok(needed)
}

/// The names that inames have in canonical constraints.
fn names_of<'a>(
    analysis: &Analysis<'_>,
    inames: impl Iterator<Item = &'a Name>,
) -> Result<BTreeSet<Name>, Diagnostic> {
    let mut names = BTreeSet::new();
    for iname in inames {
        names.extend(analysis.canonical(&Aff::var(iname))?.names());
    }
    Ok(names.into_iter().filter(|n| !analysis.is_parameter(n)).collect())
}

/// The loops around a copy that are not over its buffer.
fn outer_loops<'a>(analysis: &'a Analysis<'_>, copy: usize) -> &'a [Name] {
    let execution = &analysis.parts[copy].execution;
    let through = |name: &Name| {
        let written = execution.accesses.iter().filter(|a| a.write);
        written.flat_map(|a| a.subscripts.iter().flatten()).any(|s| s.mentions(name))
    };
    let depth = execution.loops.iter().position(through).unwrap_or(execution.loops.len());
    &execution.loops[..depth]
}

/// Guards by what they decide.
pub(crate) struct Split {
    /// Those on fixed names only, those on the other names only, and what all of them together
    /// imply for the fixed names.
    pub kept: Vec<Guard>,
    /// Guards on both kinds of names.
    pub mixed: Vec<Guard>,
}

pub(crate) fn split(
    analysis: &Analysis<'_>,
    guards: &[Guard],
    fixed: &dyn Fn(&Name) -> bool,
) -> Result<Split, Diagnostic> {
    let whole = system(analysis, guards.iter().map(|g| &g.canonical))?;
    // A tile that is all there is has one block, whose number is 0: what bounds its points is said
    // with that number, and decides about them alone.
    let is_constant = |name: &Name| -> Result<bool, Diagnostic> {
        let range = || whole.constant_range(&Aff::var(name));
        Ok(!analysis.is_parameter(name) && matches!(range()?, (Some(least), Some(most)) if least == most))
    };
    let (mut kept, mut mixed, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for guard in guards {
        let names = guard.canonical.names();
        let (stay, moving): (Vec<&Name>, Vec<&Name>) = names.iter().partition(|n| fixed(n));
        let are_constant =
            || stay.iter().try_fold(true, |all, name| Ok::<_, Diagnostic>(all && is_constant(name)?));
        let kind = match stay.is_empty() || moving.is_empty() {
            true => &mut kept,
            false if are_constant()? => &mut beside,
            false => &mut mixed,
        };
        kind.push(guard.clone());
    }
    let mut known = system(analysis, kept.iter().map(|g: &Guard| &g.canonical))?;
    for c in whole.keep_only(fixed)?.system.constraints() {
        if !known.implies(c)? {
            known.add(c)?;
            kept.push(Guard { declared: c.clone(), canonical: c.clone() });
        }
    }
    kept.extend(beside);
    Ok(Split { kept, mixed })
}

/// The system of these constraints, the assumptions, and the non-negativity of coordinates.
pub(crate) fn system<'c>(
    analysis: &Analysis<'_>,
    constraints: impl Iterator<Item = &'c Constraint>,
) -> Result<System, Diagnostic> {
    let mut rows = analysis.context.clone();
    rows.extend(constraints.cloned());
    for axis in HardwareAxis::all() {
        if rows.iter().any(|c| c.aff.mentions(axis.coordinate())) {
            rows.push(Constraint::nonneg(axis.position()));
        }
    }
    Ok(System::new(&rows)?)
}

/// The copies that fill the buffers of all reads of an update but for its direct factors, or `None`
/// if it reads anything else.
fn sources(
    analysis: &Analysis<'_>,
    update: usize,
    direct: &[Factor],
) -> Result<Option<Vec<Source>>, Diagnostic> {
    let mut sources = Vec::new();
    for access in &analysis.parts[update].execution.accesses {
        let Some(buffer) = analysis.lookup.array(&access.array) else { continue };
        if direct.iter().any(|factor| factor.access.array == access.array) {
            continue;
        }
        let read: Option<Vec<Aff>> = access.subscripts.iter().cloned().collect();
        let (AddressSpace::Shared, Some(read)) = (buffer.space, read) else { return Ok(None) };
        if let Some(source) = source(analysis, update, buffer, read.clone())? {
            sources.push(source);
            continue;
        }
        match ring::sources(analysis, update, buffer, &read)? {
            Some(several) => sources.extend(several),
            None => return Ok(None),
        }
    }
    Ok((!sources.is_empty() || !direct.is_empty()).then_some(sources))
}

/// The one copy that fills a buffer before an update, in the same iteration of the loops around
/// both.
fn source(
    analysis: &Analysis<'_>,
    update: usize,
    buffer: &Array,
    read: Vec<Aff>,
) -> Result<Option<Source>, Diagnostic> {
    let mut writers = analysis.writers(&buffer.name);
    let (Some((number, copy)), None) = (writers.next(), writers.next()) else { return Ok(None) };
    let instruction = analysis.instruction(copy);
    let outer = outer_loops(analysis, number);
    let written = copy.execution.accesses.iter().find(|a| a.write);
    let subscripts: Option<Vec<Aff>> = written.and_then(|a| a.subscripts.iter().cloned().collect());
    let Some(subscripts) = subscripts.filter(|s| is_copy(instruction) && s.len() == read.len()) else {
        return Ok(None);
    };
    if number >= update
        || instruction.predicate.is_some()
        || !copy.execution.loads.is_empty()
        || copy.execution.part.part != Part::Whole
        || !analysis.parts[update].execution.loops.starts_with(outer)
    {
        return Ok(None);
    }
    let through: BTreeSet<Name> =
        subscripts.iter().flat_map(Aff::names).filter(|n| !analysis.is_parameter(n)).collect();
    let (kept, moved) = match &copy.filling {
        // Filled for another update already.
        Some(filling) => (copy.guards.clone(), filling.guards.clone()),
        None => {
            let split = split(analysis, &copy.guards, &|n| !through.contains(n))?;
            (split.kept, split.mixed)
        }
    };
    let cell: Vec<Name> = (0..subscripts.len()).map(|k| Name::new(format!("{}.{k}", buffer.name))).collect();
    let mut cells = Vec::new();
    for (name, s) in cell.iter().zip(&subscripts) {
        cells.push(Constraint::equal(&Aff::var(name), s)?);
    }
    let stays =
        |n: &Name| cell.contains(n) || outer.contains(n) || is_of_block(n) || analysis.is_parameter(n);
    let kept_rows = kept.iter().map(|g| &g.canonical);
    let all = system(analysis, kept_rows.clone().chain(&cells))?;
    // The buffer has a place for each cell that is written.
    for (name, axis) in cell.iter().zip(&buffer.axes) {
        let Some(length) = axis.length.to_aff() else { return Ok(None) };
        let inside = [Constraint::nonneg(Aff::var(name)), Constraint::lt(&Aff::var(name), &length)?];
        if !(all.implies(&inside[0])? && all.implies(&inside[1])?) {
            return Ok(None);
        }
    }
    let written = all.keep_only(&stays)?;
    let copied = system(analysis, kept_rows.chain(moved.iter().map(|g| &g.canonical)).chain(&cells))?;
    let copied = copied.keep_only(&stays)?.system;
    if !written.exact {
        return Ok(None);
    }
    let (case, around) = (Vec::new(), outer.to_vec());
    Ok(Some(Source { number, case, kept, moved, cell, written: written.system, copied, read, around }))
}

fn is_copy(instruction: &Instruction) -> bool {
    matches!(instruction.role, Role::Copies { .. }) && matches!(instruction.value, Expr::Subscript(_))
}

impl Source {
    /// A constraint on the cell as one on the update's read.
    fn of_read(&self, c: &Constraint) -> Result<Constraint, Diagnostic> {
        Ok(c.substitute(&|name| {
            let k = self.cell.iter().position(|n| n == name)?;
            self.read.get(k).cloned()
        })?)
    }
}

/// Whether everything that is read under these guards has been written.
fn reads_what_is_written(
    analysis: &Analysis<'_>,
    guards: &[Guard],
    sources: &[Source],
) -> Result<bool, Diagnostic> {
    for source in sources {
        let known = system(analysis, guards.iter().map(|g| &g.canonical).chain(&source.case))?;
        for c in source.written.constraints() {
            if !known.implies(&source.of_read(c)?)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether only filling is read where a guard fails.
fn reads_filling(
    analysis: &Analysis<'_>,
    kept: &[Guard],
    guard: &Constraint,
    sources: &[Source],
) -> Result<bool, Diagnostic> {
    let fails = Constraint::lt(&guard.aff, &Aff::constant(0))?;
    for source in sources {
        let case = source.case.iter().chain([&fails]);
        let mut copied = system(analysis, kept.iter().map(|g| &g.canonical).chain(case))?;
        for c in source.copied.constraints() {
            copied.add(&source.of_read(c)?)?;
        }
        if !copied.is_empty()? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an expression can be evaluated on any values.
fn is_harmless(e: &Expr) -> bool {
    is_harmless_around(e) && e.reductions().is_empty()
}

/// The same of what is around reductions in it.
pub(crate) fn is_harmless_around(e: &Expr) -> bool {
    let mut harmless = true;
    e.visit(&mut |e| {
        harmless &= match e {
            Expr::Binary(op, _, b) => {
                !matches!(op, BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::Shl | BinaryOp::Shr)
                    || matches!(**b, Expr::Int(v) if v > 0)
            }
            Expr::Call { function, .. } => loopwright_kernel_ir::math_function(function).is_some(),
            _ => true,
        }
    });
    harmless
}

/// A value to fill buffers with.
struct Choice {
    value: Expr,
    /// Whether the term made of it is the operator's neutral element.
    is_neutral: bool,
}

/// The filling for the buffers that an update reads: if possible a value for which the terms are
/// the operator's neutral element.
fn filling(analysis: &Analysis<'_>, reduce: &Reduce, sources: &[Source]) -> Option<Choice> {
    let operator = analysis.kernel.operator(&reduce.op)?;
    let copies = || sources.iter().map(|s| &analysis.parts[s.number]);
    // A buffer that is already filled keeps its filling.
    let mut filled = copies().filter_map(|c| Some(&c.filling.as_ref()?.value));
    let candidates = match filled.next() {
        Some(first) if filled.all(|v| v == first) => vec![first.clone()],
        Some(_) => return None,
        None => std::iter::once(Expr::Int(0)).chain(operator.neutral.first().cloned()).collect(),
    };
    let floats = copies().all(|copy| {
        let target = analysis.instruction(copy).targets.first();
        let array = target.and_then(|t| analysis.lookup.array(&t.array));
        array.and_then(|a| a.dtype.known()).is_some_and(DType::is_float)
    });
    let neutral = candidates.iter().find(|c| is_neutral(&operator, reduce, c, floats));
    Some(Choice { is_neutral: neutral.is_some(), value: neutral.or(candidates.first())?.clone() })
}

/// Whether the term of an update is the neutral element if all its reads give this value. The least
/// and greatest values depend on the type unless they are infinities.
fn is_neutral(operator: &ReductionOp, reduce: &Reduce, filling: &Expr, floats: bool) -> bool {
    let nothing = |_: &Name| None;
    let Some(read) = constant(filling, None, &nothing).filter(|v| floats || v.is_finite()) else {
        return false;
    };
    let inputs: Vec<Option<f64>> =
        reduce.args.iter().map(|arg| constant(arg, Some(read), &nothing)).collect();
    let input = |name: &Name| {
        let k = operator.inputs.iter().position(|i| i == name)?;
        *inputs.get(k)?
    };
    operator.lift.iter().zip(&operator.neutral).all(|(lift, neutral)| {
        let lifted = constant(lift, None, &input);
        lifted.is_some() && lifted == constant(neutral, None, &nothing)
    })
}

/// The value of an expression whose reads all give `read`.
fn constant(e: &Expr, read: Option<f64>, name: &dyn Fn(&Name) -> Option<f64>) -> Option<f64> {
    let of = |e: &Expr| constant(e, read, name);
    match e {
        Expr::Int(v) => Some(*v as f64),
        Expr::Float(v) => Some(v.0),
        Expr::Bool(v) => Some(f64::from(u8::from(*v))),
        Expr::Name(n) => name(n),
        Expr::Subscript(_) => read,
        Expr::Cast(_, a) => of(a),
        Expr::Unary(UnaryOp::Neg, a) => Some(-of(a)?).map(|v| if v == 0.0 { 0.0 } else { v }),
        Expr::Binary(op, a, b) => {
            let (a, b) = (of(a)?, of(b)?);
            match op {
                BinaryOp::Add => Some(a + b),
                BinaryOp::Sub => Some(a - b),
                BinaryOp::Mul => Some(a * b),
                _ => None,
            }
        }
        Expr::Call { function, args, .. } => match (function.as_str(), args.as_slice()) {
            ("lowest", []) => Some(f64::NEG_INFINITY),
            ("highest", []) => Some(f64::INFINITY),
            ("to_tf32", [a]) => Some(arithmetic::to_tf32(of(a)? as f32).into()),
            ("truncate_to_tf32", [a]) => Some(arithmetic::truncate_to_tf32(of(a)? as f32).into()),
            _ => None,
        },
        _ => None,
    }
}
