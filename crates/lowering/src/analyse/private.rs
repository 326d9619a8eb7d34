//! Checks that values of private and shared temporaries reach their readers.
//!
//! A read has to see the value written in its own thread (private) or block (shared). This holds if
//! the reader has every hardware iname of the writer, and the writer comes before it in the text
//! and covers all its instances: its constraints hold wherever the reader's do, and so do its
//! conditions, as those of an `if` around both that nothing between them changes. It also holds if
//! the writer is known to write all elements that the reader reads, in the same thread or block, by
//! whatever inames. Otherwise the value comes from another thread or block, or from an earlier
//! iteration that another thread may have run, and the kernel is refused. Writers that cannot be
//! the last one before the reader do not matter: a later nest may reuse a scalar for values of
//! other threads. Whether a value is that of the right iteration is for legality to say.

use std::collections::{BTreeMap, HashMap, HashSet};

use loopwright_kernel_ir::{AddressSpace, Aff, Constraint, Diagnostic, HardwareAxis, Name, Tag};
use loopwright_legality::{
    Access, Load, affine_predicate, conditions_before, contradicted, data_ranges, owner, primed,
};
use loopwright_poly::{Set, System};

use crate::analyse::analysis::{Analysis, PartInfo};

pub(crate) fn check(analysis: &Analysis<'_>) -> Result<(), Diagnostic> {
    let kernel = analysis.kernel;
    for temporary in &kernel.temporaries {
        let name = &temporary.name;
        let owner = owner(temporary.space);
        let lanes = match temporary.space {
            AddressSpace::Private => analysis.owning_lanes(name),
            _ => Vec::new(),
        };
        let whose = |iname: &Name| {
            let axis = kernel.tag(iname).axis();
            axis.is_some_and(|axis| owner.contains(axis)) || lanes.contains(iname)
        };
        if temporary.space == AddressSpace::Global {
            continue;
        }
        // A part that reads several elements is asked about once.
        let mut seen = HashSet::new();
        let readers: Vec<usize> = analysis
            .touches
            .get(name)
            .into_iter()
            .flatten()
            .filter(|(p, k)| !analysis.parts[*p].execution.accesses[*k].write)
            .map(|(p, _)| *p)
            .filter(|p| seen.insert(*p))
            .collect();
        let writers: Vec<(usize, &PartInfo)> = analysis.writers(name).collect();
        for r in readers {
            let writers = reaching(analysis, name, &writers, r);
            // The inames that distinguish owners, each with the first writer that has it.
            let mut parallel: Vec<(&Name, &PartInfo)> = Vec::new();
            let mut seen = HashSet::new();
            for (_, writer) in &writers {
                let own = writer.inames.iter().filter(|i| whose(i) && seen.insert(*i));
                parallel.extend(own.map(|i| (i, *writer)));
            }
            let reader = &analysis.parts[r];
            let Some((_, first)) = writers.first() else {
                return Err(Diagnostic::new(
                    "never-written",
                    format!("{} reads `{name}`, which nothing writes", reader.execution.part),
                )
                .help("write it before, or make it an argument"));
            };
            let Some((one, _)) = parallel.first() else { continue };
            // Another nest may have other inames on the same axes, and the same elements in the
            // same thread. That they are the values of the right iteration is for legality.
            let is_own = |(w, writer): &(usize, &PartInfo)| {
                *w < r && covers(analysis, name, *w, r) && writes_all(analysis, name, writer, reader)
            };
            if !temporary.axes.is_empty() && writers.iter().any(is_own) {
                continue;
            }
            if let Some((iname, writer)) = parallel.iter().find(|(i, _)| !reader.inames.contains(i)) {
                return Err(foreign(analysis, name, temporary.space, reader, writer, iname));
            }
            let before = writers.iter().any(|(w, _)| *w < r && covers(analysis, name, *w, r));
            if !before {
                return Err(foreign(analysis, name, temporary.space, reader, first, one));
            }
        }
    }
    Ok(())
}

/// The writers that may be the last one before an execution of the reader: those before it in the
/// text, and those after it in a common loop. If one of them writes, for each execution of the
/// reader, all that this one reads, it hides all earlier ones.
fn reaching<'w, 'k>(
    analysis: &Analysis<'k>,
    array: &Name,
    writers: &[(usize, &'w PartInfo)],
    reader: usize,
) -> Vec<(usize, &'w PartInfo)> {
    let info = &analysis.parts[reader];
    let shares_loop = |w: &PartInfo, beyond: usize| common_loops(w, info) > beyond;
    let reaches = |(n, w): &(usize, &PartInfo), from: usize, depth: usize| {
        (from <= *n && *n < reader) || (*n >= reader && shares_loop(w, depth))
    };
    // A single writer hides no other.
    let possible: Vec<_> = writers.iter().filter(|w| reaches(w, 0, 0)).copied().collect();
    if possible.len() == 1 {
        return possible;
    }
    let hides =
        |n: usize, w: &PartInfo| covers(analysis, array, n, reader) && writes_all(analysis, array, w, info);
    let last = writers.iter().rev().find(|(n, w)| *n < reader && hides(*n, w));
    // The writer that covers the reader runs in every iteration of their common loops.
    let (from, depth) = last.map_or((0, 0), |(n, w)| (*n, common_loops(w, info)));
    let found: Vec<_> = writers.iter().filter(|w| reaches(w, from, depth)).copied().collect();
    // If no writer reaches the reader, the diagnostic names those that exist.
    if found.is_empty() { writers.to_vec() } else { found }
}

/// Whether all elements that a reader reads are written by a writer of the same owner, in the same
/// iteration of their common loops. A scalar is one element.
fn writes_all(analysis: &Analysis<'_>, array: &Name, writer: &PartInfo, reader: &PartInfo) -> bool {
    let of = |info: &PartInfo, write: bool| -> Vec<Access> {
        info.execution.accesses.iter().filter(|a| a.array == *array && a.write == write).cloned().collect()
    };
    let (written, read) = (of(writer, true), of(reader, false));
    if written.iter().all(|a| a.subscripts.is_empty()) {
        return true;
    }
    let Some(temporary) = analysis.lookup.array(array) else { return false };
    let owned = owner(temporary.space);
    // Of each lane in both, the same one.
    let mut same: Vec<&Name> = writer.execution.loops.iter().take(common_loops(writer, reader)).collect();
    same.extend(
        reader.inames.iter().filter(|n| analysis.kernel.tag(n).is_jam() && writer.inames.contains(*n)),
    );
    let goes = |n: &Name| !n.ends_with('\'') && !analysis.is_parameter(n);
    let is_written = |y: &Access| -> Option<bool> {
        let mut found = Vec::new();
        for x in &written {
            let axes = HardwareAxis::all().filter(|axis| owned.contains(*axis));
            let mut rows = one_cell(analysis, (writer, x), (reader, y), axes)?;
            for name in &same {
                let own = Aff::var(*name);
                rows.push(Constraint::equal(&own, &second(analysis, &own).ok()?).ok()?);
            }
            found.extend(System::new(&rows).ok()?.project_exactly(&goes).ok()?);
        }
        let mut wanted = analysis.context.clone();
        for c in &reader.execution.constraints {
            wanted.push(Constraint { kind: c.kind, aff: second(analysis, &c.aff).ok()? });
        }
        for position in HardwareAxis::all().filter(|axis| owned.contains(*axis)).map(HardwareAxis::position) {
            wanted.push(Constraint::nonneg(second(analysis, &position).ok()?));
        }
        let wanted = System::new(&wanted).ok()?;
        let mut dims: Vec<Name> = Vec::new();
        for system in found.iter().chain([&wanted]) {
            dims.extend(system.names().into_iter().filter(|n| n.ends_with('\'')));
        }
        dims.sort();
        dims.dedup();
        let found = Set::from_systems(&dims, found).ok()?;
        Set::from_systems(&dims, vec![wanted]).ok()?.subtract(&found).ok()?.is_empty().ok()
    };
    read.iter().all(|y| is_written(y) == Some(true))
}

/// How many of the outermost loops around two parts are the same.
fn common_loops(a: &PartInfo, b: &PartInfo) -> usize {
    a.execution.loops.iter().zip(&b.execution.loops).take_while(|(a, b)| a == b).count()
}

/// Whether every instance of the reader has one of the writer, by their common inames. Both are
/// numbers of parts, the writer's the smaller one.
fn covers(analysis: &Analysis<'_>, array: &Name, w: usize, r: usize) -> bool {
    let (writer, reader) = (&analysis.parts[w], &analysis.parts[r]);
    if !conditions_hold(analysis, array, w, r) {
        return false;
    }
    // Elements of an array may be written one by one; whether all are written is checked by the
    // emulator.
    if writer.execution.accesses.iter().any(|a| a.write && !a.subscripts.is_empty()) {
        return true;
    }
    let rows: Vec<_> = analysis.context.iter().chain(&reader.execution.constraints).cloned().collect();
    let Ok(system) = System::new(&rows) else { return false };
    writer.execution.constraints.iter().all(|c| system.implies(c).unwrap_or(false))
}

/// Whether the conditions of the writer hold wherever the reader reads the array: they are among
/// those under which it does, with the same meaning, and nothing that they read is written between
/// the two.
fn conditions_hold(analysis: &Analysis<'_>, array: &Name, w: usize, r: usize) -> bool {
    let (writer, reader) = (&analysis.parts[w], &analysis.parts[r]);
    let (before, behind) = (analysis.instruction(writer), analysis.instruction(reader));
    let Some(predicate) = &before.predicate else { return true };
    let known = conditions_before(behind, array);
    let depth = writer.execution.loops.len();
    // In a loop of its own the writer's conditions are those of each iteration.
    if common_loops(writer, reader) < depth {
        return false;
    }
    let is_between =
        |p: usize| (w <= p && p < r) || (r <= p && common_loops(&analysis.parts[p], reader) > depth);
    predicate.conjuncts().into_iter().all(|condition| {
        let names = condition.names();
        let arrays = condition.accesses().into_iter().map(|access| access.array);
        known.contains(&condition)
            && names.iter().all(|name| before.map.get(name) == behind.map.get(name))
            && names
                .iter()
                .cloned()
                .chain(arrays)
                .all(|name| analysis.writers(&name).all(|(p, _)| !is_between(p)))
    })
}

fn foreign(
    analysis: &Analysis<'_>,
    name: &Name,
    space: AddressSpace,
    reader: &PartInfo,
    writer: &PartInfo,
    iname: &Name,
) -> Diagnostic {
    let tag = analysis.kernel.tag(iname);
    let (who, remedy) = match space {
        AddressSpace::Private if tag.is_jam() => ("lane", "read it inside the same iname".to_string()),
        AddressSpace::Private if tag.is_in_block() => (
            "thread",
            format!(
                "make `{name}` shared with one element for each `{iname}`, or leave `{iname}` \
                 sequential"
            ),
        ),
        _ => (
            "block",
            format!(
                "make `{name}` global with one element for each `{iname}`, or leave `{iname}` \
                 sequential"
            ),
        ),
    };
    Diagnostic::new(
        "foreign-value",
        format!(
            "{} may read the value of `{name}` that {} wrote in another {who}: `{name}` is \
             {space}, and `{iname}` is tagged `{tag}`",
            reader.execution.part, writer.execution.part
        ),
    )
    .help(remedy)
}

/// Private and shared temporaries and accumulators do not outlive their device kernel, nor one of
/// its launches: a value that another kernel or launch reads has to be global. `kernels` are the
/// parts of each device kernel.
pub(crate) fn check_kernels(analysis: &Analysis<'_>, kernels: &[Vec<usize>]) -> Result<(), Diagnostic> {
    let homes: HashMap<usize, usize> = kernels
        .iter()
        .enumerate()
        .flat_map(|(kernel, parts)| parts.iter().map(move |p| (*p, kernel)))
        .collect();
    let home = |part: usize| homes.get(&part).copied();
    // For each array, the kernels that write it, each with the first writer there.
    let mut written: HashMap<&Name, Vec<usize>> = HashMap::new();
    for array in analysis.touches.keys() {
        let mut seen = HashSet::new();
        let first = analysis.writers(array).map(|(w, _)| w).filter(|w| seen.insert(home(*w)));
        written.insert(array, first.collect());
    }
    let mut of_instruction: HashMap<usize, usize> = HashMap::new();
    for (r, reader) in analysis.parts.iter().enumerate() {
        for access in reader.execution.accesses.iter().filter(|a| !a.write) {
            let Some(temporary) = analysis.lookup.array(&access.array) else { continue };
            if temporary.space == AddressSpace::Global {
                continue;
            }
            // Usually all writers are in the reader's own kernel.
            if written.get(&access.array).into_iter().flatten().any(|w| home(*w) != home(r)) {
                let writers: Vec<_> = analysis.writers(&access.array).collect();
                let reaching = reaching(analysis, &access.array, &writers, r);
                if let Some((_, writer)) = reaching.iter().find(|(w, _)| home(*w) != home(r)) {
                    let refusal = Diagnostic::new(
                        "ends-with-kernel",
                        format!(
                            "{} reads `{}`, which {} writes in another device kernel: a {} \
                             temporary does not outlive its kernel",
                            reader.execution.part, access.array, writer.execution.part, temporary.space
                        ),
                    )
                    .help(format!(
                        "make `{}` global: set_address_space({}, global)",
                        access.array, access.array
                    ));
                    return Err(match crosses(analysis, writer, reader, &access.array) {
                        Some(witness) => refusal.witness(witness),
                        None => refusal,
                    });
                }
            }
            let own = analysis.writers(&access.array).filter(|(w, _)| home(*w) == home(r));
            let own: Vec<(&PartInfo, bool)> =
                own.map(|(w, info)| (info, is_sure(analysis, access, w, r))).collect();
            if let Some((writer, iname, witness)) = left_by_a_launch(analysis, &own, reader, access) {
                return Err(Diagnostic::new(
                    "ends-with-kernel",
                    format!(
                        "{} reads `{}`, which {} writes in the launch for another `{iname}`: a {} \
                         temporary does not outlive its launch",
                        reader.execution.part, access.array, writer.execution.part, temporary.space
                    ),
                )
                .witness(witness)
                .help(format!(
                    "make `{}` global: set_address_space({}, global)",
                    access.array, access.array
                )));
            }
        }
        let first = *of_instruction.entry(reader.instruction).or_insert(r);
        if home(first) != home(r) {
            return Err(Diagnostic::new(
                "ends-with-kernel",
                format!(
                    "{} and {} lie in different device kernels, but share an accumulator",
                    analysis.parts[first].execution.part, reader.execution.part
                ),
            )
            .help("split the reduction outward, with a global temporary for the partial results"));
        }
    }
    Ok(())
}

/// The names of the second of two executions.
fn second(analysis: &Analysis<'_>, aff: &Aff) -> loopwright_poly::Result<Aff> {
    aff.substitute(&|n| (!analysis.is_parameter(n)).then(|| Aff::var(primed(n))))
}

/// What it means that an execution writes a cell that a second one reads, if the owner is the same:
/// a value belongs to its thread or its block. `None` if a subscript is not affine.
fn one_cell(
    analysis: &Analysis<'_>,
    (writer, x): (&PartInfo, &Access),
    (reader, y): (&PartInfo, &Access),
    axes: impl Iterator<Item = HardwareAxis>,
) -> Option<Vec<Constraint>> {
    let mut rows = analysis.context.clone();
    rows.extend(writer.execution.constraints.iter().cloned());
    for c in &reader.execution.constraints {
        rows.push(Constraint { kind: c.kind, aff: second(analysis, &c.aff).ok()? });
    }
    for (s, t) in x.subscripts.iter().zip(&y.subscripts) {
        rows.push(Constraint::equal(s.as_ref()?, &second(analysis, t.as_ref()?).ok()?).ok()?);
    }
    for position in axes.map(HardwareAxis::position) {
        rows.push(Constraint::nonneg(position.clone()));
        rows.push(Constraint::equal(&position, &second(analysis, &position).ok()?).ok()?);
    }
    Some(rows)
}

/// A function of the names of an execution, or of a second one, at a point.
fn value_at(analysis: &Analysis<'_>, point: &BTreeMap<Name, i64>, aff: &Aff, is_second: bool) -> Option<i64> {
    aff.eval(&|n| {
        let name = if is_second && !analysis.is_parameter(n) { primed(n) } else { n.clone() };
        Some(point.get(&name).copied().unwrap_or(0))
    })
}

/// A part with its inames' values at a point, for messages: `s7 (i = 1)`.
fn instance(
    analysis: &Analysis<'_>,
    point: &BTreeMap<Name, i64>,
    info: &PartInfo,
    is_second: bool,
) -> Option<String> {
    let mut values = Vec::new();
    for iname in &info.inames {
        let value = analysis.canonical(&Aff::var(iname)).ok()?;
        values.push(format!("{iname} = {}", value_at(analysis, point, &value, is_second)?));
    }
    Some(format!("{} ({})", info.execution.part, values.join(", ")))
}

/// `[1, 2]`, nothing for a scalar.
fn cell_text(
    analysis: &Analysis<'_>,
    point: &BTreeMap<Name, i64>,
    access: &Access,
    is_second: bool,
) -> Option<String> {
    let mut cell = Vec::new();
    for s in &access.subscripts {
        cell.push(value_at(analysis, point, s.as_ref()?, is_second)?.to_string());
    }
    Some(if cell.is_empty() { String::new() } else { format!("[{}]", cell.join(", ")) })
}

/// ` with n = 1`, nothing without parameters.
fn parameters_text(analysis: &Analysis<'_>, point: &BTreeMap<Name, i64>) -> String {
    let parameters: Vec<String> =
        point.iter().filter(|(n, _)| analysis.is_parameter(n)).map(|(n, v)| format!("{n} = {v}")).collect();
    if parameters.is_empty() { String::new() } else { format!(" with {}", parameters.join(", ")) }
}

/// An execution that reads what another one wrote before the end of a kernel.
fn crosses(analysis: &Analysis<'_>, writer: &PartInfo, reader: &PartInfo, array: &Name) -> Option<String> {
    let of = |info: &PartInfo, write: bool| {
        info.execution.accesses.iter().find(|a| a.array == *array && a.write == write).cloned()
    };
    let (x, y) = (of(writer, true)?, of(reader, false)?);
    let mut rows = one_cell(analysis, (writer, &x), (reader, &y), HardwareAxis::all())?;
    rows.extend(analysis.predicate(writer)?);
    for c in analysis.predicate(reader)? {
        rows.push(Constraint { kind: c.kind, aff: second(analysis, &c.aff).ok()? });
    }
    // What both load is as declared, or there is no example.
    let kernel = analysis.kernel;
    let mut loads = writer.execution.loads.clone();
    rows.extend(data_ranges(kernel, &loads).ok()?);
    for c in data_ranges(kernel, &reader.execution.loads).ok()? {
        rows.push(Constraint { kind: c.kind, aff: second(analysis, &c.aff).ok()? });
    }
    for load in &reader.execution.loads {
        let arguments = load.arguments.iter().map(|aff| second(analysis, aff)).collect::<Result<_, _>>();
        loads.push(Load { name: primed(&load.name), array: load.array.clone(), arguments: arguments.ok()? });
    }
    let point = System::new(&rows).ok()?.sample(&Default::default()).ok()??;
    if contradicted(&point, &loads, &kernel.facts).ok()?.is_some() {
        return None;
    }
    Some(format!(
        "{} writes `{array}{}` in one kernel and {} reads it in another{}",
        instance(analysis, &point, writer, false)?,
        cell_text(analysis, &point, &x, false)?,
        instance(analysis, &point, reader, true)?,
        parameters_text(analysis, &point)
    ))
}

/// Whether a writer writes for each of its instances for which the reader reads what it writes: it
/// has no condition on data, or one under which the reader is too.
fn is_sure(analysis: &Analysis<'_>, access: &Access, w: usize, r: usize) -> bool {
    let instruction = analysis.instruction(&analysis.parts[w]);
    instruction.predicate.is_none()
        || affine_predicate(&analysis.lookup, instruction).is_some()
        || (w < r && conditions_hold(analysis, &access.array, w, r))
}

/// A read of a cell that a writer of the same kernel writes in an earlier launch, for another value
/// of a loop of the host around, while nothing writes it in the launch of the reader: that writer,
/// the iname of the loop, and the execution. Writers come with whether they write for certain.
/// Whether a launch writes the cell before it reads it is checked in the finished program.
fn left_by_a_launch<'w>(
    analysis: &Analysis<'_>,
    writers: &[(&'w PartInfo, bool)],
    reader: &PartInfo,
    access: &Access,
) -> Option<(&'w PartInfo, Name, String)> {
    let is_host = |n: &&Name| analysis.kernel.tag(n) == Tag::Host;
    let host: Vec<&Name> = reader.execution.loops.iter().filter(is_host).collect();
    if host.is_empty() || writers.iter().any(|(w, _)| w.filling.is_some()) {
        return None;
    }
    let space = analysis.lookup.array(&access.array)?.space;
    let owned = owner(space);
    let goes = |n: &Name| !n.ends_with('\'') && !analysis.is_parameter(n);
    // The executions of the reader that read what a launch has written: another, and their own.
    let (mut elsewhere, mut own): (Vec<(&PartInfo, &Name, System)>, Vec<System>) = (Vec::new(), Vec::new());
    for (writer, is_sure) in writers {
        for x in writer.execution.accesses.iter().filter(|a| a.write && a.array == access.array) {
            let owners = HardwareAxis::all().filter(|axis| owned.contains(*axis));
            let another = System::new(&one_cell(analysis, (writer, x), (reader, access), owners)?).ok()?;
            let same = one_cell(analysis, (writer, x), (reader, access), std::iter::empty())?;
            let mut equal = Vec::new();
            for iname in &host {
                let (first, later) = (Aff::var(*iname), second(analysis, &Aff::var(*iname)).ok()?);
                let mut rows = equal.clone();
                rows.push(Constraint::lt(&first, &later).ok()?);
                for system in another.with(&rows).ok()?.project_exactly(&goes).ok()? {
                    elsewhere.push((*writer, *iname, system));
                }
                equal.push(Constraint::equal(&first, &later).ok()?);
            }
            if *is_sure {
                own.extend(System::new(&same).ok()?.with(&equal).ok()?.project_exactly(&goes).ok()?);
            }
        }
    }
    let mut dims: Vec<Name> = Vec::new();
    for system in elsewhere.iter().map(|(.., s)| s).chain(&own) {
        dims.extend(system.names().into_iter().filter(|n| n.ends_with('\'')));
    }
    dims.sort();
    dims.dedup();
    let own = Set::from_systems(&dims, own).ok()?;
    for (writer, iname, system) in elsewhere {
        let left = Set::from_systems(&dims, vec![system]).ok()?.subtract(&own).ok()?;
        let Some(point) = left.sample(&BTreeMap::new()).ok()? else { continue };
        let witness = format!(
            "{} reads `{}{}`, which is not written in the same launch{}",
            instance(analysis, &point, reader, true)?,
            access.array,
            cell_text(analysis, &point, access, true)?,
            parameters_text(analysis, &point)
        );
        return Some((writer, iname.clone(), witness));
    }
    None
}
