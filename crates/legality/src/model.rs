//! A kernel as legality sees it: the executions of parts, when and where they run, what they touch,
//! and how they relate to the declared kernel.
//!
//! * **Executions** of a part are the integer points of its constraints over base inames;
//!   definitions of split inames are expanded.
//! * **Time** is the path through the loop tree ([`Step`]): position among the children, iname of
//!   the loop, position, and so on; lanes of a thread come last, statement by statement, reads
//!   before writes.
//! * **Place** is a coordinate on each axis of the hardware, as the part's executor says
//!   ([`Executor`]): the value of an iname on the axis minus its least value; the first coordinate
//!   for an elected part; every coordinate for a part that each thread replicates.
//! * **Cells** ([`Event`]) belong to an owner ([`owner`](crate::owner)): a private cell to its
//!   thread (and lane), a shared cell to its block.
//! * Integers read from data appear in constraints under the name of the temporary that holds them;
//!   two executions may see different values.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use loopwright_kernel_ir::{
    AddressSpace, Aff, Arg, Constraint, Diagnostic, Instruction, KernelData, Kind, Lookup, LoopKernel, Name,
    PartRef, Role, Tag, Term, Tree,
};
use loopwright_poly::{Result, System, Table};

use crate::{
    DataReads, Event, Executor, Load, Touch,
    conflict::primed,
    data_ranges, declarations,
    event::{Loads, affine_predicate, events},
    executor::{executor, owning_lanes},
    loads::add_facts,
    replay::{Stop, expressions::Expressions},
};

/// A component of a time: a position in a body, and the iteration of a loop there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The index among the children of its parent.
    pub position: usize,
    /// The iname of the loop; `None` for the part itself.
    pub iname: Option<Name>,
}

/// A part of an instruction, as sets of executions and events.
#[derive(Clone, Debug)]
pub struct ModelPart {
    /// The part that this models.
    pub part: PartRef,
    /// The number of its instruction.
    pub instruction: usize,
    /// Its base inames, outermost first.
    pub inames: Vec<Name>,
    /// Constraints on its executions, over base inames, parameters and data.
    pub constraints: Vec<Constraint>,
    /// The number of leading constraints that come from domains; those of an affine predicate
    /// follow.
    pub from_domains: usize,
    /// Whether a predicate on data may disable it.
    pub may: bool,
    /// Its path through the loop tree.
    pub path: Vec<Step>,
    /// Its inames that are lanes of a thread.
    pub lanes: Vec<Name>,
    /// Its inames on axes of the hardware.
    pub hardware: Vec<Name>,
    /// How the part stands to each axis of the hardware: which threads run its executions.
    pub executor: Executor,
    /// Its reads, writes and updates.
    pub events: Vec<Event>,
    /// Values read from data that occur in its constraints and cells, if their source is known.
    pub loads: Vec<Load>,
}

impl ModelPart {
    /// The loops around it, outermost first.
    pub fn loops(&self) -> impl Iterator<Item = &Name> {
        self.path.iter().filter_map(|s| s.iname.as_ref())
    }
}

/// A kernel as legality sees it.
pub struct Model<'k> {
    /// The kernel that this models.
    pub kernel: &'k LoopKernel,
    /// Lookup tables of its names.
    pub lookup: Lookup<'k>,
    /// Its parts in text order.
    pub parts: Vec<ModelPart>,
    /// The index of each part in [`Model::parts`].
    pub numbers: Table<PartRef, usize>,
    /// Constraints on the parameters: the assumptions, and non-negative array lengths.
    pub context: Vec<Constraint>,
    /// The events on each array, as (part, event) indices.
    pub touches: BTreeMap<Name, Vec<(usize, usize)>>,
    /// Constant ranges of base inames that a domain states.
    pub ranges: Table<Name, (i64, i64)>,
    /// What its declared instructions compute, found when it is replayed for the first time.
    pub(crate) expressions: OnceCell<std::result::Result<Expressions, Stop>>,
}

/// What domains state for some base inames.
struct Executions {
    /// Constraints over base inames, parameters and data, each once.
    constraints: Vec<Constraint>,
    /// The names in them that are neither inames nor parameters.
    data: BTreeSet<Name>,
}

/// The assumptions, and the constraints that array lengths are not negative.
pub fn context(kernel: &LoopKernel) -> Vec<Constraint> {
    let mut context = kernel.assumptions.clone();
    for arg in &kernel.args {
        let Arg::Array(array) = arg else { continue };
        for axis in &array.axes {
            if let Some(aff) = axis.length.to_aff()
                && aff.as_constant().is_none()
            {
                let c = Constraint::nonneg(aff);
                if !context.contains(&c) {
                    context.push(c);
                }
            }
        }
    }
    context
}

/// The constant ranges that domains state for single inames, such as the inner iname of a split.
pub(crate) fn constant_ranges(kernel: &KernelData) -> Table<Name, (i64, i64)> {
    let mut low: Table<&Name, i64> = Table::default();
    let mut high: Table<&Name, i64> = Table::default();
    for c in kernel.domains.iter().flat_map(|d| &d.constraints) {
        let [(Term::Var(name), k)] = c.aff.terms() else { continue };
        let constant = c.aff.constant_term();
        match (c.kind, k) {
            (Kind::Ge, 1) => {
                let least = constant.saturating_neg();
                low.entry(name).and_modify(|l| *l = (*l).max(least)).or_insert(least);
            }
            (Kind::Ge, -1) => {
                high.entry(name).and_modify(|h| *h = (*h).min(constant)).or_insert(constant);
            }
            _ => {}
        }
    }
    low.into_iter().filter_map(|(n, l)| Some((n.clone(), (l, *high.get(n)?)))).collect()
}

impl<'k> Model<'k> {
    /// The model of a kernel.
    ///
    /// Errors: a tree that refers to parts that do not exist; integers that do not fit in 64 bits.
    pub fn new(kernel: &'k LoopKernel) -> std::result::Result<Self, Diagnostic> {
        let mut model = Model {
            kernel,
            lookup: Lookup::new(kernel),
            parts: Vec::new(),
            numbers: Table::default(),
            context: context(kernel),
            touches: BTreeMap::new(),
            ranges: constant_ranges(kernel),
            expressions: OnceCell::new(),
        };
        let reads = DataReads::new(kernel);
        let mut known = Table::default();
        let mut leaves: Vec<(Vec<Step>, PartRef)> = Vec::new();
        paths(&kernel.tree, &mut Vec::new(), &mut leaves);
        for (path, part) in leaves {
            let part = model.part(path, part, &reads, &mut known)?;
            let number = model.parts.len();
            for (k, event) in part.events.iter().enumerate() {
                model.touches.entry(event.array.clone()).or_default().push((number, k));
            }
            model.numbers.insert(part.part.clone(), number);
            model.parts.push(part);
        }
        Ok(model)
    }

    /// What domains state for parts with these base inames.
    fn executions(&self, inames: &[Name]) -> Result<Executions> {
        let (mut constraints, mut data) = (Vec::new(), BTreeSet::new());
        for c in self.lookup.instances(inames) {
            let c = self.lookup.expand_constraint(&c)?;
            if constraints.contains(&c) {
                continue;
            }
            c.aff.visit_names(&mut |n| {
                if !self.lookup.is_iname(n) && !self.lookup.is_scalar(n) && !data.contains(n) {
                    data.insert(n.clone());
                }
            });
            constraints.push(c);
        }
        Ok(Executions { constraints, data })
    }

    /// A part; `known` has the executions of parts before it by their inames, which many have in
    /// common.
    fn part(
        &self,
        path: Vec<Step>,
        part: PartRef,
        reads: &DataReads<'k>,
        known: &mut Table<Vec<Name>, Executions>,
    ) -> std::result::Result<ModelPart, Diagnostic> {
        let kernel = self.kernel;
        let number = self.lookup.instruction_number(&part.instruction).ok_or_else(|| {
            Diagnostic::new(
                "unknown-instruction",
                format!("the loop tree names `{part}`, which does not exist"),
            )
        })?;
        let instruction = &kernel.instructions[number];
        let inames = self.lookup.part_inames(&part);
        if !known.contains_key(&inames) {
            known.insert(inames.clone(), self.executions(&inames)?);
        }
        let Executions { constraints, data } = &known[&inames];
        let mut loads = Loads {
            lookup: &self.lookup,
            reads,
            earlier: &|part| self.numbers.contains_key(part),
            inames: &inames,
            found: Vec::new(),
        };
        for n in data {
            // If nothing is known of it, it is an unknown integer.
            let _ = loads.scalar(n);
        }
        let events = events(kernel, &self.lookup, instruction, &part, data, &mut loads);
        let loads = loads.found;
        let mut constraints = constraints.clone();
        let from_domains = constraints.len();
        let mut may = false;
        if instruction.predicate.is_some() {
            match affine_predicate(&self.lookup, instruction) {
                Some(rows) => {
                    for c in rows {
                        constraints.push(Constraint { kind: c.kind, aff: self.lookup.expand(&c.aff)? });
                    }
                }
                None => may = true,
            }
        }
        let executor = executor(&self.lookup, instruction, part.part, &inames);
        let tagged = |f: fn(Tag) -> bool| inames.iter().filter(|i| f(self.lookup.tag(i))).cloned().collect();
        Ok(ModelPart {
            instruction: number,
            constraints,
            from_domains,
            may,
            path,
            lanes: tagged(Tag::is_jam),
            hardware: tagged(Tag::is_hardware),
            executor,
            events,
            loads,
            inames,
            part,
        })
    }

    /// The instruction of a part.
    pub fn instruction(&self, part: &ModelPart) -> &'k Instruction {
        &self.kernel.instructions[part.instruction]
    }

    /// The declared instruction whose instances the part does; `None` for a copy, and for what does
    /// only a share of one.
    pub fn does(&self, part: &ModelPart) -> Option<&'k Name> {
        match &self.instruction(part).role {
            Role::Does(id) => Some(id),
            Role::Copies { .. } | Role::Realizes { .. } => None,
        }
    }

    /// The value of a declared iname in an execution of a part, over base inames.
    pub fn declared_value(&self, part: &ModelPart, iname: &Name) -> Result<Aff> {
        let value = match self.instruction(part).map.get(iname) {
            Some(value) => value.clone(),
            None => Aff::var(iname),
        };
        self.lookup.expand(&value)
    }

    /// Parameters that the assumptions fix to one value.
    pub fn fixed(&self) -> BTreeMap<Name, i64> {
        declarations::fixed(self.kernel)
    }

    /// Whether a name is a parameter: neither iname nor data.
    pub fn is_parameter(&self, name: &Name) -> bool {
        self.lookup.is_scalar(name)
    }

    /// Whether an array has values from the start: an argument, or a constant table.
    pub fn is_given(&self, array: &Name) -> bool {
        self.kernel.constant(array).is_some()
            || self.kernel.args.iter().any(|arg| matches!(arg, Arg::Array(a) if a.name == *array))
    }

    /// The address space of an array. Accumulators count as global, since lowering combines them.
    pub fn space(&self, array: &str) -> AddressSpace {
        self.lookup.array(array).map_or(AddressSpace::Global, |a| a.space)
    }

    /// Whether the name is that of an accumulator.
    pub fn is_accumulator(&self, array: &str) -> bool {
        array.contains('.')
    }

    /// The lanes that own the cells of a private array, by name ([`owning_lanes`]).
    pub fn owning_lanes(&self, array: &Name) -> Vec<Name> {
        if self.space(array) != AddressSpace::Private {
            return Vec::new();
        }
        let touches = self.touches.get(array).map_or(&[][..], Vec::as_slice).iter().map(|(p, k)| {
            let part = &self.parts[*p];
            (part.lanes.as_slice(), part.events[*k].touch != Touch::Read)
        });
        let is_scalar = self.lookup.array(array).is_some_and(|a| a.axes.is_empty());
        let mut lanes = owning_lanes(is_scalar, touches);
        lanes.sort();
        lanes
    }

    /// Whether the contents of an array are observable: it is an argument, or something reads it.
    /// Lowering omits what is not.
    pub fn is_seen(&self, array: &str) -> bool {
        let touches = self.touches.get(array).map_or(&[][..], Vec::as_slice);
        touches.iter().any(|(p, k)| self.parts[*p].events[*k].touch == Touch::Read)
            || self.kernel.args.iter().any(|a| **a.name() == *array)
    }

    /// Whether an instruction updates elements of the array.
    pub fn is_updated(&self, array: &str) -> bool {
        let touches = self.touches.get(array).map_or(&[][..], Vec::as_slice);
        touches.iter().any(|(p, k)| matches!(self.parts[*p].events[*k].touch, Touch::Combine(_)))
    }

    /// Whether anything writes the array.
    pub fn is_written(&self, array: &str) -> bool {
        let touches = self.touches.get(array).map_or(&[][..], Vec::as_slice);
        touches.iter().any(|(p, k)| self.parts[*p].events[*k].touch != Touch::Read)
    }

    /// Rewrites a function for the second of two executions: its names are primed; parameters are
    /// shared.
    pub fn second(&self, aff: &Aff) -> Result<Aff> {
        aff.rename(&|n| (!self.is_parameter(n)).then(|| primed(n)))
    }

    /// The ranges of the values that a part reads from data: see [`data_ranges`].
    pub fn ranges_of_data(&self, part: &ModelPart) -> Result<Vec<Constraint>> {
        data_ranges(self.kernel, &part.loads)
    }

    /// Whether the declared facts about data rule out every pair of executions of two parts in a
    /// system whose second execution has primed names.
    pub fn facts_exclude(&self, p: &ModelPart, q: &ModelPart, system: &System) -> Result<bool> {
        if p.loads.is_empty() && q.loads.is_empty() {
            return Ok(false);
        }
        let mut loads = p.loads.clone();
        for load in &q.loads {
            let arguments = load.arguments.iter().map(|aff| self.second(aff)).collect::<Result<_>>()?;
            loads.push(Load { name: primed(&load.name), array: load.array.clone(), arguments });
        }
        add_facts(&mut system.clone(), &loads, &self.kernel.facts)
    }

    /// The least value of an iname on an axis, over parameters. Lowering computes coordinates
    /// relative to it.
    pub fn lower(&self, iname: &Name) -> Result<Option<Aff>> {
        let fewest = self.parts.iter().filter(|p| p.inames.contains(iname)).min_by_key(|p| p.inames.len());
        let Some(part) = fewest else { return Ok(None) };
        let mut rows = self.context.clone();
        rows.extend(part.constraints[..part.from_domains].iter().cloned());
        System::of(rows)?.least_value(iname, &|n| self.is_parameter(n))
    }
}

fn paths(trees: &[Tree], around: &mut Vec<Step>, found: &mut Vec<(Vec<Step>, PartRef)>) {
    for (position, tree) in trees.iter().enumerate() {
        match tree {
            Tree::Leaf(part) => {
                let mut path = around.clone();
                path.push(Step { position, iname: None });
                found.push((path, part.clone()));
            }
            Tree::Loop { iname, body } => {
                around.push(Step { position, iname: Some(iname.clone()) });
                paths(body, around, found);
                around.pop();
            }
        }
    }
}
