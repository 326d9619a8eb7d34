//! Checks that private and shared temporaries, and accumulators, are read before their device
//! kernel ends, and in the launch that has written them.
//!
//! A value that another kernel or launch reads has to be global. Which writers may have left it is
//! asked as in [`super::private`].

use std::collections::BTreeMap;

use loopwright_kernel_ir::{AddressSpace, Aff, Constraint, Diagnostic, HardwareAxis, Name, Tag};
use loopwright_legality::{Access, Load, affine_predicate, contradicted, data_ranges, owner, primed};
use loopwright_poly::{Set, System, Table, TableSet};

use crate::analyse::{
    analysis::{Analysis, PartInfo},
    private::{Asked, conditions_hold, one_cell, reaching, second},
};

/// Refuses what would outlive its device kernel or launch. `kernels` are the parts of each device
/// kernel.
pub(crate) fn check(analysis: &Analysis<'_>, kernels: &[Vec<usize>]) -> Result<(), Diagnostic> {
    let homes: Table<usize, usize> = kernels
        .iter()
        .enumerate()
        .flat_map(|(kernel, parts)| parts.iter().map(move |p| (*p, kernel)))
        .collect();
    let home = |part: usize| homes.get(&part).copied();
    // For each array, the kernels that write it, each with the first writer there.
    let mut written: Table<&Name, Vec<usize>> = Table::default();
    for array in analysis.touches.keys() {
        let mut seen = TableSet::default();
        let first = analysis.writers(array).map(|(w, _)| w).filter(|w| seen.insert(home(*w)));
        written.insert(array, first.collect());
    }
    let mut of_instruction: Table<usize, usize> = Table::default();
    let asked = Asked::default();
    for (r, reader) in analysis.parts.iter().enumerate() {
        for access in reader.execution.accesses.iter().filter(|a| !a.write) {
            let Some(temporary) = analysis.lookup.array(&access.array) else { continue };
            if temporary.space == AddressSpace::Global {
                continue;
            }
            // Usually all writers are in the reader's own kernel.
            if written.get(&access.array).into_iter().flatten().any(|w| home(*w) != home(r)) {
                let writers: Vec<_> = analysis.writers(&access.array).collect();
                let reaching = reaching(analysis, &access.array, &writers, r, &asked);
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
