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
//! other threads. Nor do writers of which no execution touches a cell that an execution of the
//! reader does, where the predicates of both hold. Whether a value is that of the right iteration
//! is for legality to say.

use std::{borrow::Cow, cell::RefCell};

use loopwright_kernel_ir::{AddressSpace, Aff, AxisSet, Constraint, Diagnostic, HardwareAxis, Name};
use loopwright_legality::{Access, conditions_before, owner, primed};
use loopwright_poly::{Set, System, Table, TableSet};

use crate::analyse::analysis::{Analysis, PartInfo};

pub(crate) fn check(analysis: &Analysis<'_>) -> Result<(), Diagnostic> {
    let kernel = analysis.kernel;
    let asked = Asked::default();
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
        let mut seen = TableSet::default();
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
            let Some(writers) = meeting(analysis, name, &writers, r) else { continue };
            let writers = reaching(analysis, name, &writers, r, &asked);
            // The inames that distinguish owners, each with the first writer that has it.
            let mut parallel: Vec<(&Name, &PartInfo)> = Vec::new();
            let mut seen = TableSet::default();
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
                *w < r && covers(analysis, name, *w, r) && writes_all(analysis, name, writer, reader, &asked)
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

/// The writers that access a cell of the reader's in some execution, all of them if none does;
/// `None` if the reader has no execution. Only predicates that are affine rule out something here:
/// without them, parts that never run are left out before.
fn meeting<'w, 'k>(
    analysis: &Analysis<'k>,
    array: &Name,
    writers: &[(usize, &'w PartInfo)],
    r: usize,
) -> Option<Vec<(usize, &'w PartInfo)>> {
    let holds = |p: usize| analysis.guarded(p);
    let is_conditional = |p: usize| matches!(holds(p), Cow::Owned(_));
    let mut rows = analysis.context.clone();
    rows.extend(holds(r).constraints.iter().cloned());
    if is_conditional(r) && is_never(&rows) {
        return None;
    }
    let meets = |(w, writer): &&(usize, &PartInfo)| {
        if !is_conditional(*w) && !is_conditional(r) {
            return true;
        }
        let of = |info: &PartInfo, write: bool| -> Vec<Access> {
            let all = info.execution.accesses.iter();
            all.filter(|a| a.array == *array && a.write == write).cloned().collect()
        };
        let (written, read) = (of(writer, true), of(&analysis.parts[r], false));
        written.iter().any(|x| read.iter().any(|y| pair(analysis, (*w, x), (r, y)) != Some(false)))
    };
    let found: Vec<_> = writers.iter().filter(meets).copied().collect();
    Some(if found.is_empty() { writers.to_vec() } else { found })
}

/// Whether an execution of a writer and one of a reader access one cell, of whatever owners, where
/// their predicates hold; `None` if a subscript is not affine.
fn pair(analysis: &Analysis<'_>, (w, x): (usize, &Access), (r, y): (usize, &Access)) -> Option<bool> {
    let (writer, reader) = (&analysis.parts[w], &analysis.parts[r]);
    let mut rows = one_cell(analysis, (writer, x), (reader, y), std::iter::empty())?;
    rows.extend(analysis.guarded(w).constraints.iter().cloned());
    for c in &analysis.guarded(r).constraints {
        rows.push(Constraint { kind: c.kind, aff: second(analysis, &c.aff).ok()? });
    }
    Some(!is_never(&rows))
}

/// Whether nothing satisfies all of these.
fn is_never(rows: &[Constraint]) -> bool {
    System::new(rows).and_then(|system| system.is_empty()).unwrap_or(false)
}

/// The writers that may be the last one before an execution of the reader: those before it in the
/// text, and those after it in a common loop. If one of them writes, for each execution of the
/// reader, all that this one reads, it hides all earlier ones.
pub(super) fn reaching<'w, 'k>(
    analysis: &Analysis<'k>,
    array: &Name,
    writers: &[(usize, &'w PartInfo)],
    reader: usize,
    asked: &Asked,
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
    let hides = |n: usize, w: &PartInfo| {
        covers(analysis, array, n, reader) && writes_all(analysis, array, w, info, asked)
    };
    let last = writers.iter().rev().find(|(n, w)| *n < reader && hides(*n, w));
    // The writer that covers the reader runs in every iteration of their common loops.
    let (from, depth) = last.map_or((0, 0), |(n, w)| (*n, common_loops(w, info)));
    let found: Vec<_> = writers.iter().filter(|w| reaches(w, from, depth)).copied().collect();
    // If no writer reaches the reader, the diagnostic names those that exist.
    if found.is_empty() { writers.to_vec() } else { found }
}

/// What decides whether a writer writes all that a reader reads. The statements of a kernel are
/// much alike: one that differs from others in names of arrays and of inames on axes alone is not
/// asked about again.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Question {
    owned: AxisSet,
    /// The names that have one value for both.
    same: Vec<Name>,
    /// The elements that the one writes and the other reads, by their subscripts.
    written: Vec<Vec<Option<Aff>>>,
    read: Vec<Vec<Option<Aff>>>,
    writer: Vec<Constraint>,
    reader: Vec<Constraint>,
}

/// The answers that have been given.
pub(super) type Asked = RefCell<Table<Question, bool>>;

/// Whether all elements that a reader reads are written by a writer of the same owner, in the same
/// iteration of their common loops. A scalar is one element.
fn writes_all(
    analysis: &Analysis<'_>,
    array: &Name,
    writer: &PartInfo,
    reader: &PartInfo,
    asked: &Asked,
) -> bool {
    let of = |info: &PartInfo, write: bool| -> Vec<Vec<Option<Aff>>> {
        let own = info.execution.accesses.iter().filter(|a| a.array == *array && a.write == write);
        own.map(|a| a.subscripts.clone()).collect()
    };
    let (written, read) = (of(writer, true), of(reader, false));
    if written.iter().all(Vec::is_empty) {
        return true;
    }
    let Some(temporary) = analysis.lookup.array(array) else { return false };
    // Of each lane in both, the same one.
    let loops = writer.execution.loops.iter().take(common_loops(writer, reader));
    let is_lane = |n: &&Name| analysis.kernel.tag(n).is_jam() && writer.inames.contains(*n);
    let same = loops.chain(reader.inames.iter().filter(is_lane)).cloned().collect();
    let question = Question {
        owned: owner(temporary.space),
        same,
        written,
        read,
        writer: writer.execution.constraints.clone(),
        reader: reader.execution.constraints.clone(),
    };
    let known = asked.borrow().get(&question).copied();
    known.unwrap_or_else(|| {
        let answer = question.read.iter().all(|y| question.is_written(analysis, y) == Some(true));
        asked.borrow_mut().insert(question, answer);
        answer
    })
}

impl Question {
    /// Whether an element that the reader reads is written in all its executions; `None` if that is
    /// not known.
    fn is_written(&self, analysis: &Analysis<'_>, y: &[Option<Aff>]) -> Option<bool> {
        let goes = |n: &Name| !n.ends_with('\'') && !analysis.is_parameter(n);
        let mut found = Vec::new();
        for x in &self.written {
            let both = ((self.writer.as_slice(), x.as_slice()), (self.reader.as_slice(), y));
            let mut rows = one_cell_of(analysis, both.0, both.1, self.owned.iter())?;
            for name in &self.same {
                let own = Aff::var(name);
                rows.push(Constraint::equal(&own, &second(analysis, &own).ok()?).ok()?);
            }
            found.extend(System::new(&rows).ok()?.project_exactly(&goes).ok()?);
        }
        let mut wanted = analysis.context.clone();
        for c in &self.reader {
            wanted.push(Constraint { kind: c.kind, aff: second(analysis, &c.aff).ok()? });
        }
        for position in self.owned.iter().map(HardwareAxis::position) {
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
    }
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
pub(super) fn conditions_hold(analysis: &Analysis<'_>, array: &Name, w: usize, r: usize) -> bool {
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
        known.contains(&condition)
            && condition.names().iter().all(|name| before.map.get(name) == behind.map.get(name))
            && condition.reads().iter().all(|name| analysis.writers(name).all(|(p, _)| !is_between(p)))
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

/// The names of the second of two executions.
pub(super) fn second(analysis: &Analysis<'_>, aff: &Aff) -> loopwright_poly::Result<Aff> {
    aff.substitute(&|n| (!analysis.is_parameter(n)).then(|| Aff::var(primed(n))))
}

/// What it means that an execution writes a cell that a second one reads, if the owner is the same:
/// a value belongs to its thread or its block. `None` if a subscript is not affine.
pub(super) fn one_cell(
    analysis: &Analysis<'_>,
    (writer, x): (&PartInfo, &Access),
    (reader, y): (&PartInfo, &Access),
    axes: impl Iterator<Item = HardwareAxis>,
) -> Option<Vec<Constraint>> {
    let writes = (writer.execution.constraints.as_slice(), x.subscripts.as_slice());
    let reads = (reader.execution.constraints.as_slice(), y.subscripts.as_slice());
    one_cell_of(analysis, writes, reads, axes)
}

/// As [`one_cell`], by the constraints on the executions and the subscripts of their elements.
fn one_cell_of(
    analysis: &Analysis<'_>,
    (writer, x): (&[Constraint], &[Option<Aff>]),
    (reader, y): (&[Constraint], &[Option<Aff>]),
    axes: impl Iterator<Item = HardwareAxis>,
) -> Option<Vec<Constraint>> {
    let mut rows = analysis.context.clone();
    rows.extend(writer.iter().cloned());
    for c in reader {
        rows.push(Constraint { kind: c.kind, aff: second(analysis, &c.aff).ok()? });
    }
    for (s, t) in x.iter().zip(y) {
        rows.push(Constraint::equal(s.as_ref()?, &second(analysis, t.as_ref()?).ok()?).ok()?);
    }
    for position in axes.map(HardwareAxis::position) {
        rows.push(Constraint::nonneg(position.clone()));
        rows.push(Constraint::equal(&position, &second(analysis, &position).ok()?).ok()?);
    }
    Some(rows)
}
