//! What lowering knows about each part before it decides anything: its constraints and accesses
//! over canonical names.
//!
//! Canonical names are the coordinates of threads and blocks (an iname tagged to an axis is the
//! coordinate plus its least value), the base inames of loops and lanes, parameters, and scalar
//! temporaries that hold data. Constraints are kept in two forms: as they were declared, for
//! printing (`i < n`), and canonical, for reasoning.

use std::{
    borrow::Cow,
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use loopwright_kernel_ir::{
    Access as Element, AddressSpace, Aff, AxisSet, Constraint, DType, Diagnostic, Expr, HardwareAxis,
    Instruction, Lookup, LoopKernel, Name, Part, PartRef, Reduce, ReductionTypes, Role, Share, Tree,
    TypeTable, UpdateOp, Via,
};
use loopwright_legality::{
    Access, DataReads, Execution, Load, Presence, affine_predicate, context, evaluated, executor,
    outside_reductions,
};
use loopwright_poly::{System, Table, leading};

use crate::{
    analyse::{
        dead::{LeftOut, left_out},
        extents::Extent,
        fragments::FragmentUse,
        paths::{Paths, paths},
    },
    program::Instances,
};

/// A constraint as declared and over canonical names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub declared: Constraint,
    pub canonical: Constraint,
}

/// What a copy writes where its source has no cell, or where the cell is not needed.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    /// Where these hold, the cell is copied.
    pub guards: Vec<Guard>,
    /// The value written elsewhere.
    pub value: Expr,
}

/// An element that is read, and the guards under which it is; zero takes its place elsewhere.
pub(crate) type Chosen = (loopwright_kernel_ir::Access, Vec<Guard>);

/// One part of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct PartInfo {
    pub instruction: usize,
    /// Base inames, outermost first.
    pub inames: Vec<Name>,
    /// The lanes of a thread among them, in order.
    pub lanes: Vec<Name>,
    /// The constraints on its execution, including those that elect threads.
    pub guards: Vec<Guard>,
    pub execution: Execution,
    /// For a copy that writes its whole buffer: what it writes where nothing is to be copied.
    pub filling: Option<Filling>,
    /// Of an update by an atom: the elements in whose place it takes zeros where these guards fail.
    pub chosen: Vec<Chosen>,
    /// Its instances in the kernel: exactly those that satisfy `guards`, unless it is filled or
    /// reads filling.
    pub instances: Vec<Constraint>,
    /// Whether it may run for more than its instances.
    pub beyond: bool,
}

impl PartInfo {
    /// What the finished program is checked against.
    pub fn instances(&self, analysis: &Analysis<'_>) -> Instances {
        let allowed = if self.beyond { &self.execution.constraints } else { &self.instances };
        let instruction = analysis.instruction(self);
        let values = match self.execution.part.part {
            Part::Init(n) | Part::Update(n) => reduction(instruction, n)
                .and_then(|r| analysis.kernel.operator(&r.op))
                .map_or(0, |operator| operator.state.len()),
            Part::Whole | Part::Finish => instruction.targets.len(),
        };
        // An accumulator has a copy for each lane that is around it or reduced over.
        let mut constraints = self.instances.clone();
        if let Part::Init(n) = self.execution.part.part
            && analysis.is_joined(self.instruction, n)
        {
            let update = PartRef { part: Part::Update(n), ..self.execution.part.clone() };
            for lane in analysis.lookup.part_inames(&update) {
                let Some(extent) = analysis.extents.get(&lane) else { continue };
                if let (true, Some(low), Some(length)) =
                    (analysis.kernel.tag(&lane).is_jam(), extent.lower.as_constant(), extent.constant)
                    && let Ok(value) = Aff::var(&lane).add_constant(low.saturating_neg())
                    && let Ok(below) = Constraint::lt(&value, &Aff::constant(length))
                {
                    constraints.extend([Constraint::nonneg(value), below]);
                }
            }
        }
        Instances {
            constraints,
            allowed: allowed.clone(),
            lanes: self.lanes.clone(),
            executor: self.execution.executor.unnamed(),
            conditional: instruction.predicate.is_some(),
            values: (0..values).filter_map(|k| u8::try_from(k).ok()).collect(),
        }
    }
}

/// What has been asked for parts, many of which are in the same loops.
#[derive(Default)]
struct Answers {
    /// The guards of parts by their inames.
    guards: Table<Vec<Name>, Vec<Guard>>,
    /// Which constraints of a list are not redundant; `None` if nothing satisfies all of them.
    needed: Table<Vec<Constraint>, Option<Vec<bool>>>,
}

/// The kernel with the facts derived from it.
pub(crate) struct Analysis<'k> {
    pub kernel: &'k LoopKernel,
    pub lookup: Lookup<'k>,
    pub parts: Vec<PartInfo>,
    /// For each part, its index in `parts`.
    pub numbers: Table<PartRef, usize>,
    /// For each array, the accesses to it: numbers of part and access.
    pub touches: Table<Name, Vec<(usize, usize)>>,
    /// For inames that are coordinates or lanes.
    pub extents: BTreeMap<Name, Extent>,
    /// Assumptions, and the non-negativity of lengths.
    pub context: Vec<Constraint>,
    /// Names of scalar temporaries that occur in constraints.
    pub data: BTreeSet<Name>,
    /// The instructions that no part runs, since nothing reads what they write.
    pub left_out: Vec<LeftOut>,
    /// The axes on which the kernel has an iname.
    pub axes: AxisSet,
    reads: DataReads<'k>,
    declared: OnceCell<(Lookup<'k>, Paths<'k>)>,
    /// How products read private arrays, by their names ([`super::fragments`]).
    pub fragments: OnceCell<Table<Name, FragmentUse>>,
    /// For indices of 32 and of 64 bits.
    types: [OnceCell<Types<'k>>; 2],
    reduction_types: RefCell<Table<usize, Rc<Vec<ReductionTypes>>>>,
}

/// The types of names in values, and in subscripts and bounds.
pub(crate) struct Types<'k> {
    pub values: TypeTable<'k>,
    pub indices: TypeTable<'k>,
}

impl<'k> Analysis<'k> {
    /// The types of the kernel's names where indices are of this type.
    pub fn types(&self, index: DType) -> &Types<'k> {
        self.types[usize::from(index == DType::I64)].get_or_init(|| {
            let table = TypeTable::new(self.kernel);
            Types { values: table.or_else(index), indices: table.of_indices(index) }
        })
    }

    /// In which types the reductions of the instruction of this number work, by number.
    pub fn reduction_types(&self, instruction: usize) -> Result<Rc<Vec<ReductionTypes>>, Diagnostic> {
        if let Some(found) = self.reduction_types.borrow().get(&instruction) {
            return Ok(found.clone());
        }
        let i = &self.kernel.instructions[instruction];
        let table = &self.types(DType::I32).values;
        let wanted = i.targets.iter().filter_map(|t| table.element(&t.array)?.known());
        let found = Rc::new(table.reduction_types(&i.value, &wanted.collect::<Vec<_>>())?);
        self.reduction_types.borrow_mut().insert(instruction, found.clone());
        Ok(found)
    }

    /// The kind of update by which a part writes its target, if it is one. Those of one kind may
    /// come in any order.
    pub fn update(&self, info: &PartInfo) -> Option<UpdateOp> {
        match info.execution.part.part {
            Part::Whole | Part::Finish => self.update_of(self.instruction(info)),
            Part::Init(_) | Part::Update(_) => None,
        }
    }

    /// The kind of update by which an instruction writes its target.
    pub fn update_of(&self, instruction: &Instruction) -> Option<UpdateOp> {
        if instruction.update.is_some() {
            return instruction.update.clone();
        }
        if instruction.role.share() != Some(Share::Update) {
            return None;
        }
        let array = self.lookup.array(&instruction.targets.first()?.array)?;
        let reductions = instruction.reductions();
        UpdateOp::joining(self.kernel, &reductions.first()?.op, array.dtype.known()?).ok()
    }

    pub fn new(kernel: &'k LoopKernel) -> Result<Self, Diagnostic> {
        let mut answers = Answers::default();
        let lookup = Lookup::new(kernel);
        let mut analysis = Analysis {
            kernel,
            axes: lookup.axes_in_use(),
            lookup,
            parts: Vec::new(),
            numbers: Table::default(),
            touches: Table::default(),
            extents: BTreeMap::new(),
            context: context(kernel),
            data: BTreeSet::new(),
            left_out: Vec::new(),
            reads: DataReads::new(kernel),
            declared: OnceCell::new(),
            fragments: OnceCell::new(),
            types: Default::default(),
            reduction_types: RefCell::default(),
        };
        let mut leaves = Vec::new();
        Tree::visit_leaves(&kernel.tree, &mut |path, part| {
            leaves.push((path.iter().map(|n| (*n).clone()).collect::<Vec<Name>>(), part.clone()));
        });
        for domain in &kernel.domains {
            for c in &domain.constraints {
                analysis.data.extend(
                    c.names()
                        .into_iter()
                        .filter(|n| analysis.lookup.array(n).is_some() && !analysis.lookup.is_iname(n)),
                );
            }
        }
        analysis.left_out = left_out(kernel, &analysis.data);
        leaves.retain(|(_, part)| !analysis.left_out.iter().any(|of| of.instruction == part.instruction));
        analysis.find_extents(&leaves)?;
        for (path, part) in leaves {
            let Some(info) = analysis.part_info(path, part, &mut answers)? else { continue };
            let number = analysis.parts.len();
            analysis.numbers.insert(info.execution.part.clone(), number);
            for (k, access) in info.execution.accesses.iter().enumerate() {
                analysis.touches.entry(access.array.clone()).or_default().push((number, k));
            }
            analysis.parts.push(info);
        }
        Ok(analysis)
    }

    /// The tables of the declared kernel, and the paths to its leaves.
    pub fn declared(&self) -> &(Lookup<'k>, Paths<'k>) {
        let declared = self.kernel.declared();
        self.declared.get_or_init(|| (Lookup::new(declared), paths(&declared.tree)))
    }

    pub fn instruction(&self, part: &PartInfo) -> &'k Instruction {
        &self.kernel.instructions[part.instruction]
    }

    /// Whether a part is an asynchronous copy.
    pub fn copies_asynchronously(&self, part: usize) -> bool {
        self.instruction(&self.parts[part]).via.is_asynchronous()
    }

    /// Whether another lane of the warp than the one that runs an execution of a part may make this
    /// access of it: a store of matrices, and the load of an atom's factor.
    pub fn is_made_by_other_lanes(&self, part: usize, access: usize) -> bool {
        let info = &self.parts[part];
        let instruction = self.instruction(info);
        let access = &info.execution.accesses[access];
        match info.execution.part.part {
            Part::Whole | Part::Finish if access.write => instruction.via == Via::Matrices,
            Part::Update(_) => instruction.atom.is_some() && !access.write,
            Part::Whole => instruction.targets.iter().any(|t| self.fragment(&t.array).is_some()),
            _ => false,
        }
    }

    /// The parts that write an array, in order.
    pub fn writers(&self, array: &str) -> impl Iterator<Item = (usize, &PartInfo)> {
        let touches = self.touches.get(array).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<usize> = touches
            .iter()
            .filter(|(p, k)| self.parts[*p].execution.accesses[*k].write)
            .map(|(p, _)| *p)
            .collect();
        found.dedup();
        found.into_iter().map(|p| (p, &self.parts[p]))
    }

    /// Whether a name is a parameter: neither iname nor coordinate nor data.
    pub fn is_parameter(&self, name: &Name) -> bool {
        self.lookup.is_scalar(name)
    }

    /// The function over canonical names.
    pub fn canonical(&self, aff: &Aff) -> Result<Aff, Diagnostic> {
        let expanded = self.lookup.expand(aff)?;
        Ok(expanded.substitute(&|name| self.coordinate_of(name))?)
    }

    /// Whether the updates of a reduction are joined, if they are spread over something. They are
    /// not in the lanes of one thread if there are none: then they are no part. Threads join their
    /// first values all the same.
    pub fn is_joined(&self, instruction: usize, n: usize) -> bool {
        let i = &self.kernel.instructions[instruction];
        let update = PartRef { instruction: i.id.clone(), part: Part::Update(n) };
        let in_block = |iname: &Name| {
            let mut base = self.lookup.base_of(iname).iter();
            base.any(|b| self.kernel.tag(b).axis().is_some_and(HardwareAxis::is_in_block))
        };
        self.numbers.contains_key(&update) || reduction(i, n).is_some_and(|r| r.inames.iter().any(in_block))
    }

    /// What the predicate of a part's instruction says of its executions; `None` if it is no
    /// conjunction of comparisons of functions of inames.
    pub fn predicate(&self, info: &PartInfo) -> Option<Vec<Constraint>> {
        let instruction = self.instruction(info);
        if instruction.predicate.is_none() {
            return Some(Vec::new());
        }
        let canonical = |c: Constraint| Some(Constraint { kind: c.kind, aff: self.canonical(&c.aff).ok()? });
        affine_predicate(&self.lookup, instruction)?.into_iter().map(canonical).collect()
    }

    /// The executions of a part in which it accesses memory: those for which its predicate holds,
    /// if that is known. What a reduction reads is read whether it holds or not.
    pub fn guarded(&self, p: usize) -> Cow<'_, Execution> {
        let info = &self.parts[p];
        let rows = self.predicate(info).unwrap_or_default();
        if rows.is_empty() || !matches!(info.execution.part.part, Part::Whole | Part::Finish) {
            return Cow::Borrowed(&info.execution);
        }
        let mut guarded = info.execution.clone();
        guarded.constraints.extend(rows);
        Cow::Owned(guarded)
    }

    /// An iname on an axis as its coordinate plus its least value.
    pub fn coordinate_of(&self, iname: &Name) -> Option<Aff> {
        let axis = self.lookup.tag(iname).axis()?;
        let lower = self.extents.get(iname).map(|e| e.lower.clone()).unwrap_or_default();
        lower.add(&axis.position()).ok()
    }

    /// What restricts the parts with these inames.
    fn guards_of(&self, inames: &[Name]) -> Result<Vec<Guard>, Diagnostic> {
        let mut guards = Vec::new();
        for declared in self.lookup.instances(inames) {
            let aff = self.canonical(&declared.aff)?;
            guards.push(Guard { canonical: Constraint { kind: declared.kind, aff }, declared });
        }
        // The ranges of lanes in simple form: `0 <= i_part` replaces `0 <= 256*i_part + i_thread`.
        for lane in inames.iter().filter(|i| self.kernel.tag(i).is_jam()) {
            let Some(extent) = self.extents.get(lane) else { continue };
            let (Some(low), Some(length)) = (extent.lower.as_constant(), extent.constant) else { continue };
            let value = Aff::var(lane).add_constant(low.saturating_neg())?;
            for c in [Constraint::nonneg(value.clone()), Constraint::lt(&value, &Aff::constant(length))?] {
                if !guards.iter().any(|g: &Guard| g.canonical == c) {
                    guards.push(Guard { declared: c.clone(), canonical: c });
                }
            }
        }
        Ok(guards)
    }

    /// What is known about a part; `None` if it has no instances, whatever the parameters.
    fn part_info(
        &self,
        path: Vec<Name>,
        part: PartRef,
        answers: &mut Answers,
    ) -> Result<Option<PartInfo>, Diagnostic> {
        let kernel = self.kernel;
        let position = self.lookup.instruction_number(&part.instruction).ok_or_else(|| {
            Diagnostic::new(
                "unknown-instruction",
                format!("the loop tree names `{part}`, which does not exist"),
            )
        })?;
        let instruction = &kernel.instructions[position];
        let inames = self.lookup.part_inames(&part);
        let mut guards = match answers.guards.get(&inames) {
            Some(guards) => guards.clone(),
            None => {
                let guards = self.guards_of(&inames)?;
                answers.guards.insert(inames.clone(), guards.clone());
                guards
            }
        };
        let instances: Vec<Constraint> = guards.iter().map(|g| g.canonical.clone()).collect();
        // The sweep of a copy into shared memory is spread over threads, the digits of one number.
        let is_shared = |target: &Element| {
            self.lookup.array(&target.array).is_some_and(|array| array.space == AddressSpace::Shared)
        };
        if matches!(instruction.role, Role::Copies { .. }) && instruction.targets.iter().any(is_shared) {
            let simpler = leading(&instances, &|n| loopwright_legality::is_coordinate(n))
                .into_iter()
                .filter(|c| !instances.contains(c));
            guards.extend(simpler.map(|c| Guard { declared: c.clone(), canonical: c }));
        }
        let Some(mut guards) = self.irredundant(guards, answers)? else { return Ok(None) };
        let executor = executor(&self.lookup, instruction, part.part, &inames);
        let lanes: Vec<Name> = inames.iter().filter(|i| kernel.tag(i).is_jam()).cloned().collect();
        let mut accesses = Vec::new();
        let mut loads: Vec<Load> = Vec::new();
        for g in &guards {
            for name in g.canonical.names() {
                self.load(&name, &inames, &mut loads)?;
            }
        }
        for (element, write) in elements(instruction, &part) {
            let mut subscripts = Vec::new();
            for s in &element.index {
                subscripts.push(self.subscript(s, &inames, &mut loads)?);
            }
            accesses.push(Access { array: element.array.clone(), write, subscripts });
        }
        // Reads in bounds count as reads.
        if !matches!(part.part, Part::Init(_)) {
            let mut bounds: BTreeSet<Name> = BTreeSet::new();
            for g in &guards {
                bounds.extend(g.declared.names().into_iter().filter(|n| self.data.contains(n)));
            }
            for array in bounds {
                accesses.push(Access { array, write: false, subscripts: Vec::new() });
            }
        }
        // Joins of accumulators are not accesses; lowering synchronises them itself.
        let execution = Execution {
            part,
            loops: path,
            lanes: lanes.clone(),
            constraints: guards.iter().map(|g: &Guard| g.canonical.clone()).collect(),
            executor,
            accesses,
            loads,
        };
        for (axis, presence) in execution.executor.iter() {
            if *presence == Presence::Elected && self.axes.contains(axis) {
                let c = Constraint::zero(axis.position());
                guards.push(Guard { declared: c.clone(), canonical: c });
            }
        }
        Ok(Some(PartInfo {
            instruction: position,
            inames,
            lanes,
            guards,
            execution,
            filling: None,
            chosen: Vec::new(),
            instances,
            beyond: false,
        }))
    }

    /// A subscript over canonical names and values read from data; `None` if nothing is known about
    /// its value: it is not affine, has factors that 64 bits do not hold, or reads an array or
    /// temporary that the kernel writes.
    fn subscript(&self, e: &Expr, inames: &[Name], loads: &mut Vec<Load>) -> Result<Option<Aff>, Diagnostic> {
        let mut found = Vec::new();
        let Some(aff) = self.reads.named(e, &mut found).to_aff() else { return Ok(None) };
        for (name, access) in found {
            if !self.load_from(name, &access, inames, loads)? {
                return Ok(None);
            }
        }
        for name in aff.names() {
            let known = self.lookup.is_iname(&name)
                || self.is_parameter(&name)
                || loads.iter().any(|l| l.name == name)
                || self.load(&name, inames, loads)?;
            if !known {
                return Ok(None);
            }
        }
        Ok(self.canonical(&aff).ok())
    }

    /// Adds what is known about a scalar that an earlier part loads from data; `false` if nothing
    /// is.
    fn load(&self, scalar: &Name, inames: &[Name], loads: &mut Vec<Load>) -> Result<bool, Diagnostic> {
        match self.reads.load_of(scalar) {
            // Parts are numbered in the order of the tree, and this one has no number yet.
            Some((part, access)) if self.numbers.contains_key(&part) => {
                self.load_from(scalar.clone(), access, inames, loads)
            }
            _ => Ok(false),
        }
    }

    fn load_from(
        &self,
        name: Name,
        access: &Element,
        inames: &[Name],
        loads: &mut Vec<Load>,
    ) -> Result<bool, Diagnostic> {
        if loads.iter().any(|l| l.name == name) {
            return Ok(true);
        }
        let mut arguments = Vec::new();
        for e in &access.index {
            let Some(argument) = self.subscript(e, inames, loads)? else { return Ok(false) };
            let same_for_both = |n: &Name| {
                loopwright_legality::is_coordinate(n)
                    || self.is_parameter(n)
                    || inames.contains(n)
                    || loads.iter().any(|l| l.name == *n)
            };
            if !argument.names().iter().all(same_for_both) {
                return Ok(false);
            }
            arguments.push(argument);
        }
        loads.push(Load { name, array: access.array.clone(), arguments });
        Ok(true)
    }

    /// The guards without redundant ones, trying the longest first: `0 <= i` is dropped if `i =
    /// 128*i_outer + i_inner` and both are known to be non-negative. This makes projections exact
    /// more often, and bounds simpler. `None` if nothing satisfies the guards.
    fn irredundant(
        &self,
        guards: Vec<Guard>,
        answers: &mut Answers,
    ) -> Result<Option<Vec<Guard>>, Diagnostic> {
        let key: Vec<Constraint> = guards.iter().map(|g| g.canonical.clone()).collect();
        let kept = match answers.needed.get(&key) {
            Some(kept) => kept.clone(),
            None => {
                let mut known = self.context.clone();
                // Coordinates are non-negative in any case.
                for n in key.iter().flat_map(Constraint::names).collect::<BTreeSet<_>>() {
                    if loopwright_legality::is_coordinate(&n) {
                        known.push(Constraint::nonneg(Aff::var(&n)));
                    }
                }
                let kept = match System::new(&[known.as_slice(), &key].concat())?.is_empty()? {
                    true => None,
                    false => Some(needed(&known, &key)?),
                };
                answers.needed.insert(key, kept.clone());
                kept
            }
        };
        let Some(kept) = kept else { return Ok(None) };
        Ok(Some(guards.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(g, _)| g).collect()))
    }
}

/// Which of these constraints do not follow from the others and from what is known, trying the
/// longest first.
fn needed(known: &[Constraint], key: &[Constraint]) -> Result<Vec<bool>, Diagnostic> {
    let mut kept = vec![true; key.len()];
    let mut order: Vec<usize> = (0..key.len()).filter(|k| key[*k].aff.terms().len() > 1).collect();
    order.sort_by_key(|k| std::cmp::Reverse(key[*k].aff.terms().len()));
    for k in order {
        let others = key.iter().enumerate().filter(|(n, _)| *n != k && kept[*n]).map(|(_, c)| c.clone());
        let rows: Vec<Constraint> = known.iter().cloned().chain(others).collect();
        kept[k] = !System::new(&rows)?.implies(&key[k])?;
    }
    Ok(kept)
}

/// The elements that a part accesses, each with whether it is written. An update reads its target.
pub(crate) fn elements(instruction: &Instruction, part: &PartRef) -> Vec<(Element, bool)> {
    let mut found = Vec::new();
    for e in evaluated(instruction, part.part) {
        outside_reductions(e, &mut |e| match e {
            Expr::Subscript(access) => found.push((access.clone(), false)),
            Expr::Name(name) => found.push((Element { array: name.clone(), index: Vec::new() }, false)),
            _ => {}
        });
    }
    if matches!(part.part, Part::Whole | Part::Finish) {
        let updated = instruction.targets.iter().filter(|_| instruction.update.is_some());
        found.extend(updated.map(|t| (t.clone(), false)));
        found.extend(instruction.targets.iter().map(|t| (t.clone(), true)));
    }
    found
}

/// The reduction of this number.
pub(crate) fn reduction(instruction: &Instruction, number: usize) -> Option<std::sync::Arc<Reduce>> {
    instruction.reductions().into_iter().nth(number)
}
