//! What the reads of one kernel see: the dataflow through its arrays.
//!
//! Every access gets a domain, a cell and a time. The cell consists of the owning axes and lanes
//! followed by the subscripts, so each owner has its own cells; a part that every thread runs has
//! the thread's coordinates as dimensions. The time is the path down the tree, then reads before
//! writes, then the lanes. From these, [`flow`] computes the last write before each read, once per
//! read. A write that copies is replaced by what its own read sees, to a depth of [`HOPS`]; any
//! other write is a definition, in terms of its declared instance. Anything that is not affine,
//! such as a subscript read from data, yields a [`Why`](super::Why).
//!
//! A write under a condition on data may or may not take place. Where the read is not under the
//! same condition, it sees one of a chain ([`Seen::Chain`]): the last write, if it takes place,
//! otherwise the one before it, and so on up to one that is under no condition, or under that of
//! the read. If a read has the same chain in two forms of a kernel, it sees the same value in both:
//! each condition is made of reads, of which the same is shown, and of two executions in a chain
//! the same one is the later.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet, HashSet},
};

use loopwright_kernel_ir::{Aff, Constraint, Name, TypeTable};
use loopwright_poly::{Access, Map, Set, Sources, Table, flow};

use super::{Checked, why};
use crate::{Model, ModelPart, Presence, Touch, owner, roles::PartRole, value::written};

/// Maximum length of a chain of copies that is followed.
pub(super) const HOPS: usize = 4;

/// Maximum number of writes under conditions on data between a read and a write that takes place in
/// any case.
const CHOICES: usize = 8;

/// A time later than any in the kernel.
const END: i64 = 1 << 40;

/// The kind of value that a read sees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    /// A target of a declared instruction; maps to its declared inames.
    Definition(Name, usize),
    /// A value of this shape, whichever instruction wrote it; maps to the arguments that fill its
    /// holes. See [`values`].
    Value(String),
    /// The initial value of an argument; maps to the cell.
    Initial(Name),
    /// The value that a cell of an updated array holds in the end; maps to the cell.
    Final(Name),
    /// No value; maps to a single point.
    Unwritten,
    /// One of a chain that ends with a write that takes place in any case: what is seen if none of
    /// so many later writes under conditions on data has taken place. Those before the last are
    /// under conditions themselves (`may`).
    Chain {
        /// The number of later writes.
        later: usize,
        /// Whether this one is under a condition on data.
        may: bool,
        /// The definition that is seen then.
        seen: Box<Seen>,
    },
}

impl Seen {
    /// A definition under a condition on data.
    fn maybe(self) -> Seen {
        Seen::Chain { later: 0, may: true, seen: Box::new(self) }
    }

    /// This after one more write under a condition on data.
    fn if_not(self) -> Seen {
        match self {
            Seen::Chain { later, may, seen } => Seen::Chain { later: later + 1, may, seen },
            seen => Seen::Chain { later: 1, may: false, seen: Box::new(seen) },
        }
    }

    /// Whether it is no value, even if only where conditions on data do not hold.
    pub(super) fn is_unwritten(&self) -> bool {
        match self {
            Seen::Unwritten => true,
            Seen::Chain { seen, .. } => seen.is_unwritten(),
            Seen::Definition(..) | Seen::Value(_) | Seen::Initial(_) | Seen::Final(_) => false,
        }
    }
}

pub(super) type View = BTreeMap<Seen, Map>;

/// The values that the reads of one kernel see.
pub(super) struct Flows<'a, 'k> {
    pub model: &'a Model<'k>,
    /// Number of dimensions of the path and of the lanes in a time.
    path: usize,
    lanes: usize,
    arrays: Table<(Name, Option<(usize, usize)>), Sources>,
    /// The updated arrays of which all reads see what they hold in the end.
    pub settled: BTreeSet<Name>,
    lowers: Table<Name, Aff>,
    /// The cells of an array that parts copy by way of buffers, as far as known.
    pub(super) through: Table<(usize, Name), Option<Vec<Aff>>>,
    context: Vec<Constraint>,
    /// How many conditions are being followed, each to decide about the one before.
    pub(super) conditions: usize,
    /// The reads of an array, and the writers under conditions that have run where these see them.
    pub(super) run: HashSet<(Name, (usize, usize), usize)>,
    pub queries: usize,
}

pub(super) fn unite(view: &mut View, seen: Seen, map: Map) -> Checked<()> {
    if map.is_empty()? {
        return Ok(());
    }
    match view.get_mut(&seen) {
        None => {
            view.insert(seen, map);
        }
        Some(known) => *known = known.union(&map)?,
    }
    Ok(())
}

/// What is seen, with definitions replaced by their values if these do not depend on an array that
/// the kernel writes.
pub(super) fn values(view: &View, declared: &Model<'_>) -> Checked<View> {
    let mut found = View::new();
    let types = OnceCell::new();
    let types = || types.get_or_init(|| TypeTable::new(declared.kernel));
    for (seen, map) in view {
        let value = match seen {
            Seen::Definition(id, target) => declared
                .lookup
                .instruction(id)
                .and_then(|i| Some((i, written(&declared.lookup, types(), i, *target)?))),
            _ => None,
        };
        match value {
            Some((instruction, mut pure)) => {
                // A map needs at least one output.
                pure.arguments.push(Aff::default());
                let filled = Map::from_affs(&instruction.within, &pure.arguments)?;
                unite(&mut found, Seen::Value(pure.shape), map.then(&filled)?)?;
            }
            None => unite(&mut found, seen.clone(), map.clone())?,
        }
    }
    Ok(found)
}

impl<'a, 'k> Flows<'a, 'k> {
    pub fn new(model: &'a Model<'k>, context: &[Constraint]) -> Self {
        let path = model.parts.iter().map(|p| 2 * p.path.len()).max().unwrap_or(0);
        let lanes = model.parts.iter().map(|p| p.lanes.len()).max().unwrap_or(0);
        Flows {
            model,
            path,
            lanes,
            arrays: Table::default(),
            settled: BTreeSet::new(),
            lowers: Table::default(),
            through: Table::default(),
            context: context.to_vec(),
            conditions: 0,
            run: HashSet::new(),
            queries: 0,
        }
    }

    /// The dimensions of a part's executions: its inames, then the axes on which every thread runs
    /// it.
    pub fn dims(part: &ModelPart) -> Vec<Name> {
        let every = part.executor.everywhere().map(|axis| Name::new(axis.coordinate()));
        part.inames.iter().cloned().chain(every).collect()
    }

    pub fn domain(&self, part: &ModelPart) -> Checked<Vec<Constraint>> {
        let mut rows = self.context.clone();
        rows.extend(part.constraints.iter().cloned());
        rows.extend(part.executor.everywhere().map(|axis| Constraint::nonneg(axis.position())));
        let dims = Self::dims(part);
        for name in part.constraints.iter().flat_map(Constraint::names) {
            if !dims.contains(&name) && !self.model.is_parameter(&name) {
                return why(format!("the range of `{}` depends on the values of `{name}`", part.part));
            }
        }
        Ok(rows)
    }

    fn lower(&mut self, iname: &Name) -> Checked<Aff> {
        if let Some(known) = self.lowers.get(iname) {
            return Ok(known.clone());
        }
        let Some(lower) = self.model.lower(iname)? else {
            return why(format!("the least value of `{iname}` is not one function of the parameters"));
        };
        self.lowers.insert(iname.clone(), lower.clone());
        Ok(lower)
    }

    pub(super) fn access(&mut self, p: usize, k: usize) -> Checked<Access> {
        let model = self.model;
        let part = &model.parts[p];
        let event = &part.events[k];
        let mut cell = Vec::new();
        let space = model.space(&event.array);
        for axis in owner(space).iter() {
            cell.push(match &part.executor[axis] {
                Presence::At(n) => Aff::var(n).sub(&self.lower(n)?)?,
                Presence::Elected => Aff::constant(0),
                Presence::Replicated | Presence::Collective => axis.position(),
            });
        }
        for lane in model.owning_lanes(&event.array) {
            if !part.lanes.contains(&lane) {
                let array = &event.array;
                return why(format!("`{}` touches `{array}` outside of the lanes of `{lane}`", part.part));
            }
            cell.push(Aff::var(lane));
        }
        for s in &event.cell {
            let plain = |s: &&Aff| !s.mentions_any(&|n| !part.inames.contains(n) && !model.is_parameter(n));
            let Some(s) = s.as_ref().filter(plain) else {
                return why(format!("a subscript of `{}` in `{}` is read from data", event.array, part.part));
            };
            cell.push(s.clone());
        }
        let mut time = Vec::new();
        for step in &part.path {
            time.push(Aff::constant(i64::try_from(step.position).unwrap_or(END - 1)));
            time.push(step.iname.as_ref().map_or(Aff::default(), Aff::var));
        }
        time.resize(self.path, Aff::default());
        time.push(Aff::constant(i64::from(event.touch != Touch::Read)));
        time.extend(part.lanes.iter().map(Aff::var));
        time.resize(self.path + 1 + self.lanes, Aff::default());
        let mut constraints = self.domain(part)?;
        // A part reads only where the conditions around the read hold.
        constraints.extend(event.under.iter().cloned());
        Ok(Access { dims: Self::dims(part), constraints, cell, time })
    }

    /// The parts and events that write an array, or may write it.
    pub(super) fn writes(&self, array: &Name) -> Vec<(usize, usize)> {
        let touches = self.model.touches.get(array).map_or(&[][..], Vec::as_slice);
        let writes = |(p, k): &(usize, usize)| self.model.parts[*p].events[*k].touch != Touch::Read;
        touches.iter().copied().filter(writes).collect()
    }

    /// The direct sources of a read, if all writes take place that may. `None` stands for the end
    /// of the kernel, with the array's cells as dimensions.
    fn sources(
        &mut self,
        array: &Name,
        read: Option<(usize, usize)>,
    ) -> Checked<(Sources, Vec<(usize, usize)>)> {
        let writes = self.writes(array);
        let key = (array.clone(), read);
        if let Some(known) = self.arrays.get(&key) {
            return Ok((known.clone(), writes));
        }
        let mut accesses = Vec::new();
        for (p, k) in &writes {
            accesses.push(self.access(*p, *k)?);
        }
        let access = match read {
            Some((p, k)) => self.access(p, k)?,
            None => {
                let rank = self.model.lookup.array(array).map_or(0, |a| a.axes.len());
                let dims = cell_names(rank);
                let mut time = vec![Aff::constant(END)];
                time.resize(self.path + 1 + self.lanes, Aff::default());
                let cell = dims.iter().map(Aff::var).collect();
                Access { dims, constraints: self.context.clone(), cell, time }
            }
        };
        self.queries += 1;
        let Some(found) = flow(std::slice::from_ref(&access), &accesses)?.pop() else {
            return why("no answer");
        };
        self.arrays.insert(key, found.clone());
        Ok((found, writes))
    }

    /// What a read sees, with copies followed to their sources.
    pub fn view(&mut self, array: &Name, read: Option<(usize, usize)>, hops: usize) -> Checked<View> {
        self.view_by(array, read, hops, CHOICES, None)
    }

    /// What a read sees, or a write would see if it read its element before it writes it; with at
    /// most so many writes under conditions on data, one after the other. Of such a write: the read
    /// that is asked about, and its executions as a function of those of that read. The conditions
    /// of the read hold, those of the write do not.
    fn view_by(
        &mut self,
        array: &Name,
        read: Option<(usize, usize)>,
        hops: usize,
        choices: usize,
        asked: Option<((usize, usize), Map)>,
    ) -> Checked<View> {
        if self.model.is_updated(array) {
            return self.in_the_end(array, read);
        }
        if hops == 0 {
            return why(format!("`{array}` is copied too often to follow"));
        }
        let (sources, writes) = self.sources(array, read)?;
        let is_read = |(p, k): &(usize, usize)| self.model.parts[*p].events[*k].touch == Touch::Read;
        let under = read.filter(is_read);
        let mut view = View::new();
        for (map, (w, k)) in sources.writes.iter().zip(writes) {
            if map.is_empty()? {
                continue;
            }
            let part = &self.model.parts[w];
            let runs = match (part.may, under, &asked) {
                (false, ..) => true,
                (true, Some(read), _) => self.runs_with(array, read, w, map)?,
                (true, None, Some((read, to))) => self.conditions_hold(array, read.0, w, &to.then(map)?)?,
                (true, None, None) => false,
            };
            let role = self.model.role(part);
            if let (false, PartRole::Does(id, _), 1..) = (runs, &role, choices) {
                let target = part.events[..k].iter().filter(|e| e.touch == Touch::Write).count();
                let declared = self.declared_point(part, id)?;
                let definition = Seen::Definition(id.clone(), target).maybe();
                unite(&mut view, definition, map.then(&declared)?)?;
                let asked = match (under, &asked) {
                    (Some(read), _) => Some((read, map.clone())),
                    (None, Some((read, to))) => Some((*read, to.then(map)?)),
                    (None, None) => None,
                };
                for (seen, before) in self.view_by(array, Some((w, k)), hops, choices - 1, asked)? {
                    unite(&mut view, seen.if_not(), map.then(&before)?)?;
                }
                continue;
            }
            if !runs {
                let instruction = self.model.lookup.instruction(&part.part.instruction);
                let is_index = |n: &Name| self.model.lookup.is_iname(n) || self.model.lookup.is_scalar(n);
                return why(match instruction.and_then(|i| i.predicate.as_ref()) {
                    Some(p) if p.accesses().is_empty() && p.names().iter().all(is_index) => {
                        format!("whether `{}` writes depends on `{p}`, which is not followed", part.part)
                    }
                    _ => format!("whether `{}` writes depends on data", part.part),
                });
            }
            match role {
                PartRole::Copies => {
                    let copied = (0..part.events.len())
                        .find(|e| part.events[*e].touch == Touch::Read && !part.events[*e].bound);
                    let Some(copied) = copied else { return why(format!("`{}` copies nothing", part.part)) };
                    let source = part.events[copied].array.clone();
                    for (seen, next) in self.view(&source, Some((w, copied)), hops - 1)? {
                        unite(&mut view, seen, map.then(&next)?)?;
                    }
                }
                PartRole::Does(id, _) => {
                    let target = part.events[..k].iter().filter(|e| e.touch == Touch::Write).count();
                    let declared = self.declared_point(part, &id)?;
                    unite(&mut view, Seen::Definition(id, target), map.then(&declared)?)?;
                }
                PartRole::Joins(..) => return why(format!("`{}` writes an array", part.part)),
                PartRole::Realizes(id) => {
                    return why(format!("`{}` does a share of `{id}`", part.part));
                }
            }
        }
        if !sources.none.is_empty()? {
            let (cells, seen) = match (self.model.is_given(array), read) {
                (true, Some((p, k))) => {
                    let part = &self.model.parts[p];
                    let cell: Vec<Aff> = part.events[k].cell.iter().flatten().cloned().collect();
                    (Map::from_affs(&Self::dims(part), &cell)?, Seen::Initial(array.clone()))
                }
                (true, None) => {
                    let dims = sources.none.dims().to_vec();
                    let cell: Vec<Aff> = dims.iter().map(Aff::var).collect();
                    (Map::from_affs(&dims, &cell)?, Seen::Initial(array.clone()))
                }
                (false, _) => (Map::from_affs(sources.none.dims(), &[Aff::default()])?, Seen::Unwritten),
            };
            unite(&mut view, seen, cells.intersect_domain(&sources.none)?)?;
        }
        Ok(view)
    }

    /// What a read of an updated array sees: what its cells hold in the end.
    fn in_the_end(&self, array: &Name, read: Option<(usize, usize)>) -> Checked<View> {
        if !self.settled.contains(array) {
            return why(format!("`{array}` is updated, and has no single definition"));
        }
        let (dims, cell, rows) = match read {
            None => {
                let dims = cell_names(self.model.lookup.array(array).map_or(0, |a| a.axes.len()));
                let cell = dims.iter().map(|n| Some(Aff::var(n))).collect();
                (dims, cell, self.context.clone())
            }
            Some((p, k)) => {
                let part = &self.model.parts[p];
                let mut rows = self.domain(part)?;
                rows.extend(part.events[k].under.iter().cloned());
                (Self::dims(part), part.events[k].cell.clone(), rows)
            }
        };
        let plain = |s: &Aff| !s.mentions_any(&|n| !dims.contains(n) && !self.model.is_parameter(n));
        let Some(cell) = cell.into_iter().map(|s| s.filter(plain)).collect::<Option<Vec<Aff>>>() else {
            return why(format!("a subscript of `{array}` is read from data"));
        };
        let map = Map::from_affs(&dims, &cell)?.intersect_domain(&Set::from_constraints(&dims, &rows)?)?;
        let mut view = View::new();
        unite(&mut view, Seen::Final(array.clone()), map)?;
        Ok(view)
    }

    /// The declared instance that an execution does.
    fn declared_point(&self, part: &ModelPart, id: &Name) -> Checked<Map> {
        let declared = self.model.kernel.declared();
        let Some(instruction) = declared.instruction(id) else {
            return why(format!("`{id}` is not declared"));
        };
        let values: Vec<Aff> = instruction
            .within
            .iter()
            .map(|n| self.model.declared_value(part, n))
            .collect::<loopwright_poly::Result<_>>()?;
        Ok(Map::from_affs(&Self::dims(part), &values)?)
    }
}

fn cell_names(rank: usize) -> Vec<Name> {
    (0..rank).map(|k| Name::new(format!("cell{k}"))).collect()
}
