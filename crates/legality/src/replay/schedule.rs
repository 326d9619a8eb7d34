//! What runs and in which order: the parts of a kernel, instantiated for given parameter values,
//! and all their executions.
//!
//! An execution has a place, which is its thread, and a time: the positions and loop values on its
//! path down the tree. A part that every thread replicates has one execution for each thread.
//! Executions are sorted by time, then place, then lanes, so runs are deterministic and the
//! executions of one part at the same time are adjacent.

use std::collections::HashMap;

use loopwright_kernel_ir::{Aff, Name, Part, PartRef, PerAxis, ReductionOp};

use super::{
    Parameters, Stop,
    numbering::{Cells, Instances},
    points::{Function, Row, points, rows},
    value::consumed,
};
use crate::{Model, Touch, roles::PartRole};

/// One access of a part, ready to run.
pub(super) struct Access {
    /// The array's number in the run.
    pub array: usize,
    /// The positions of the array's own lanes among the part's inames.
    pub lanes: Vec<Option<usize>>,
    pub touch: Touch,
    /// Whether the elements of the array are integers.
    pub integers: bool,
    /// `None` if nothing writes the array; then its values do not matter.
    pub cell: Option<Vec<Function>>,
    pub accumulator: bool,
    /// Whether a conflict between threads at its cells counts as a race.
    pub seen: bool,
    pub bound: bool,
    /// The target number of a write.
    pub target: usize,
    /// The conditions around a read.
    under: Vec<Row>,
}

impl Access {
    /// Whether an execution with these iname values touches the cell.
    pub fn happens(&self, values: &[i64]) -> bool {
        self.under.iter().all(|row| row.holds(values))
    }
}

pub(super) struct Ready {
    pub role: PartRole,
    /// The number of the declared part of its instances.
    pub head: i64,
    /// Declared inames with their values.
    pub point: Vec<(Name, Function)>,
    pub accesses: Vec<Access>,
    /// The operators of the declared reductions whose results it uses, in the order of use.
    pub operators: Vec<Option<ReductionOp>>,
}

impl Ready {
    /// The vector of the declared instance that an execution does.
    pub fn instance(&self, x: &Execution) -> impl Iterator<Item = i64> {
        std::iter::once(self.head).chain(self.point.iter().map(|(_, f)| f.at(&x.values)))
    }

    /// The operator of the reduction whose result is used at this place.
    pub fn operator(&self, place: usize) -> Option<&ReductionOp> {
        self.operators.get(place)?.as_ref()
    }

    /// Whether that reduction is the sum of the library.
    pub fn is_sum(&self, place: usize) -> bool {
        self.operator(place)
            .is_some_and(|op| *op.name == *"sum" && ReductionOp::library("sum").as_ref() == Some(op))
    }

    /// Whether the order of the points of that reduction is irrelevant.
    pub fn sorts(&self, place: usize) -> bool {
        self.operator(place).is_none_or(|op| op.commutes)
    }
}

/// The operators of the declared reductions whose results a declared part uses.
fn operators(model: &Model<'_>, role: &PartRole) -> Vec<Option<ReductionOp>> {
    let declared = model.kernel.declared();
    let PartRole::Does(id, part) = role else { return Vec::new() };
    let Some(instruction) = declared.instruction(id) else { return Vec::new() };
    let reductions = instruction.reductions();
    let consumed = consumed(instruction, *part).into_iter();
    consumed.map(|n| reductions.get(n).and_then(|r| declared.operator(&r.op))).collect()
}

/// The declared instruction and part whose instances a part executes; of a copy, which the declared
/// kernel does not have, the copying instruction.
fn executed(role: &PartRole, part: &PartRef) -> (Name, Part) {
    match role {
        PartRole::Does(id, part) => (id.clone(), *part),
        PartRole::Joins(id, _) | PartRole::Realizes(id) => (id.clone(), Part::Whole),
        PartRole::Copies => (part.instruction.clone(), Part::Whole),
    }
}

/// An execution: the number of its part, its instance, where it runs and when.
pub(super) struct Execution {
    pub part: usize,
    pub values: Vec<i64>,
    pub place: PerAxis<i64>,
    pub time: Vec<i64>,
}

/// Maximum number of executions of a run.
const LIMIT: usize = 60_000;

/// The parts of a kernel, by number. Their arrays have no numbers yet.
pub(super) fn prepare(
    model: &Model<'_>,
    fixed: &Parameters,
    instances: &mut Instances,
) -> Result<Vec<Ready>, Stop> {
    let declared = model.kernel.declared();
    let mut ready = Vec::new();
    for part in &model.parts {
        let role = model.role(part);
        if let PartRole::Realizes(id) = &role {
            return Err(Stop::Other(format!("`{}` does a share of `{id}`", part.part)));
        }
        let mut names: Vec<Name> = Vec::new();
        if let PartRole::Does(id, _) | PartRole::Joins(id, _) = &role
            && let Some(instruction) = declared.instruction(id)
        {
            names.extend(instruction.within.iter().cloned());
            if let PartRole::Does(_, here) = &role {
                let part = PartRef { instruction: id.clone(), part: *here };
                names.extend(
                    declared.part_inames(&part).into_iter().filter(|n| !instruction.within.contains(n)),
                );
            }
        }
        let mut point = Vec::new();
        for n in names {
            // A scan is initialised once for all values of its iname.
            let begins = matches!(part.part.part, Part::Init(_));
            let value = match begins && model.instruction(part).scan.as_ref() == Some(&n) {
                true => Aff::constant(0),
                false => model.declared_value(part, &n)?,
            };
            point.push((n, Function::new(&value, &part.inames, fixed)?));
        }
        if let Some(n) = &model.instruction(part).scan
            && !point.iter().any(|(m, _)| m == n)
            && !matches!(part.part.part, Part::Init(_))
        {
            return Err(Stop::Other(format!("a scan along `{n}`, which is not declared, is not replayed")));
        }
        if part.may {
            return Err(Stop::Data(part.part.instruction.clone()));
        }
        let mut accesses = Vec::new();
        let mut target = 0;
        for e in &part.events {
            let accumulator = model.is_accumulator(&e.array);
            let matters = accumulator || model.is_written(&e.array) || declared_writes(model, &e.array);
            let functions = || -> Result<Vec<Function>, Stop> {
                e.cell
                    .iter()
                    .map(|s| match s {
                        Some(s) => Function::new(s, &part.inames, fixed),
                        None => Err(Stop::Data(e.array.clone())),
                    })
                    .collect()
            };
            let cell = if matters { Some(functions()?) } else { functions().ok() };
            accesses.push(Access {
                array: 0,
                lanes: Vec::new(),
                touch: e.touch.clone(),
                integers: model
                    .lookup
                    .array(&e.array)
                    .is_some_and(|a| a.dtype.known().is_some_and(|t| t.is_integer())),
                cell,
                accumulator,
                seen: !accumulator && model.is_seen(&e.array),
                bound: e.bound,
                target,
                under: rows(&e.under, &part.inames, fixed)?,
            });
            if e.touch == Touch::Write && !accumulator {
                target += 1;
            }
        }
        let (instruction, executes) = executed(&role, &part.part);
        let names: Vec<Name> = point.iter().map(|(n, _)| n.clone()).collect();
        let head = instances.head(&instruction, executes, &names);
        let operators = operators(model, &role);
        ready.push(Ready { role, head, point, accesses, operators });
    }
    Ok(ready)
}

/// Gives the arrays that the parts touch their numbers.
pub(super) fn number(ready: &mut [Ready], model: &Model<'_>, cells: &Cells) {
    for (ready, part) in ready.iter_mut().zip(&model.parts) {
        for (access, event) in ready.accesses.iter_mut().zip(&part.events) {
            access.array = cells.array(&event.array);
            access.lanes = cells.lanes(access.array, &part.inames);
        }
    }
}

fn declared_writes(model: &Model<'_>, array: &Name) -> bool {
    model.kernel.declared().instructions.iter().any(|i| i.targets.iter().any(|t| t.array == *array))
}

/// All executions, in the order in which they run.
pub(super) fn executions(model: &Model<'_>, fixed: &Parameters) -> Result<Vec<Execution>, Stop> {
    let mut found = Vec::new();
    let mut extents = PerAxis::from_fn(|_| 1i64);
    // The origin of the coordinates. If it is not one function of the parameters, it is the least
    // value that occurs.
    let mut lowers: HashMap<Name, i64> = HashMap::new();
    let mut runs = Vec::with_capacity(model.parts.len());
    for part in &model.parts {
        let points = points(&part.constraints, &part.inames, fixed, LIMIT)?;
        for (_, presence) in part.executor.iter() {
            let Some(n) = presence.iname() else { continue };
            let k = part.inames.iter().position(|i| i == n).unwrap_or(0);
            let mut least = points.iter().map(|values| values[k]).min();
            if !lowers.contains_key(n) {
                least = least.into_iter().chain(model.lower(n)?.and_then(|a| a.eval_in(fixed))).min();
            }
            if let Some(least) = least {
                lowers.entry(n.clone()).and_modify(|l| *l = least.min(*l)).or_insert(least);
            }
        }
        runs.push(points);
    }
    for (number, (part, points)) in model.parts.iter().zip(runs).enumerate() {
        for values in points {
            let mut place = PerAxis::default();
            for (axis, presence) in part.executor.iter() {
                if let Some(n) = presence.iname() {
                    let k = part.inames.iter().position(|i| i == n).unwrap_or(0);
                    place[axis] = values[k] - lowers[n];
                    extents[axis] = extents[axis].max(place[axis] + 1);
                }
            }
            let mut time = Vec::with_capacity(2 * part.path.len());
            for step in &part.path {
                time.push(i64::try_from(step.position).unwrap_or(i64::MAX));
                if let Some(n) = &step.iname {
                    time.push(part.inames.iter().position(|i| i == n).map_or(0, |k| values[k]));
                }
            }
            found.push(Execution { part: number, values, place, time });
            if found.len() > LIMIT {
                return Err(Stop::Large);
            }
        }
    }
    // Expand parts that every thread replicates.
    let mut all = Vec::with_capacity(found.len());
    for x in found {
        let part = &model.parts[x.part];
        let mut places = vec![x.place];
        for axis in part.executor.everywhere() {
            places = places
                .into_iter()
                .flat_map(|p| {
                    (0..extents[axis]).map(move |v| {
                        let mut q = p;
                        q[axis] = v;
                        q
                    })
                })
                .collect();
        }
        for place in places {
            all.push(Execution { part: x.part, values: x.values.clone(), place, time: x.time.clone() });
            if all.len() > LIMIT {
                return Err(Stop::Large);
            }
        }
    }
    // The executions of a part come in the order of their inames, which lanes of one thread keep.
    all.sort_by(|x, y| x.time.cmp(&y.time).then_with(|| x.place.cmp(&y.place)));
    Ok(all)
}
