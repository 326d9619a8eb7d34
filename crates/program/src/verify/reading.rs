//! A device kernel as integer sets: the elements that each access touches, for which threads and
//! loop values.
//!
//! The names in constraints are `thread.x` and so on, the program's scalars and host variables,
//! and one name for each loop (the variable's name and number, which no two loops share). Named
//! values are replaced by their definitions. An element of an array that no kernel writes is a
//! function of its subscripts ([`Load`]); any other value read from memory is an unknown
//! integer. Conditions that are not affine are left out, which can only enlarge
//! the set of executions; [`Scope::exact`] says whether any were.
//!
//! With [`Terms::Instances`], named indices and loops are replaced by their meanings
//! ([`crate::Var::meaning`]), which are functions of the kernel's inames. Loops and guards are then
//! constraints on the executions of the kernel's parts.

mod lanes;
mod loops;
mod scalars;
mod scopes;
mod sets;
mod touches;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use loopwright_kernel_ir::{Aff, Constraint, Dim, HardwareAxis, Name, UpdateScope};
use loopwright_legality::{Load, is_coordinate};
use loopwright_poly::{Result, System, Table, TableSet};

pub(super) use lanes::{Copied, Targets, first_lane};
pub(super) use sets::{
    Access, AtomText, Barrier, Decision, Done, Given, HostLoop, Loop, Named, Node, PrivateTouch, Rows, Says,
    Scope, ScopeId, Side, Terms, Touch, TouchId, Turn, lane_of, name_of_loop,
};

use lanes::Lanes;
use scalars::OfLanes;
pub(super) use scalars::declared_of;

use super::integers::Asked;
use crate::{Async, DeviceKernel, LeafId, LookBack, Memory, Program, Scope as SyncScope, Step, Stmt, Value};

/// A device kernel as sets.
pub(super) struct Reading<'p> {
    pub program: &'p Program,
    pub kernel: &'p DeviceKernel,
    /// What parts in lanes write, if the kernel is known.
    targets: &'p Targets,
    /// What holds for the parameters.
    pub context: &'p [Constraint],
    pub scopes: Vec<Scope>,
    pub loops: Vec<Loop>,
    /// The bodies of the loops, by the same numbers.
    bodies: Vec<&'p [Stmt]>,
    pub touches: Vec<Touch>,
    pub body: Vec<Node<'p>>,
    /// The statements that atoms do.
    pub atoms: Vec<AtomText<'p>>,
    /// What these statements access of private arrays, in the order of the text.
    pub private: Vec<PrivateTouch>,
    /// What is accessed of arrays, if constraints are over the text's names.
    pub accesses: Vec<Access>,
    /// Whether the statements of an atom are being read.
    in_atom: bool,
    /// The conditions of the choices around what is being read of a value: see [`Touch::choices`].
    choices: Option<Vec<Constraint>>,
    /// Whether a barrier of warps stands anywhere.
    pub joins_lanes: bool,
    /// Statements of parts, by themselves.
    pub done: Vec<Done>,
    /// The scopes of all statements, in the order of the text.
    pub places: Vec<ScopeId>,
    /// The named values, where constraints are over inames.
    pub named: Vec<Named>,
    /// Scalars of the kernel whose values are read from data.
    pub data: BTreeSet<Name>,
    /// The statements that give lanes values of such scalars.
    pub of_lanes: Vec<OfLanes>,
    /// What is known of them wherever they are given a value.
    known: BTreeMap<Name, Vec<Constraint>>,
    terms: Terms,
    /// Inames that the loops around have bound.
    bound: Vec<Name>,
    /// What each variable stands for, and the loops in which it was assigned.
    values: Vec<Option<(Aff, Vec<usize>)>>,
    /// How often each variable is assigned in the text.
    assigned: Vec<usize>,
    /// The loops around the last assignment of each variable that has been read; `None` without
    /// one.
    within: Vec<Option<Vec<usize>>>,
    /// Whether a variable was computed from a scalar that has got another value since.
    stale: Vec<bool>,
    scope: ScopeId,
    around: Vec<(ScopeId, Decision<'p>)>,
    /// Where the statement stands that is being read.
    path: Vec<Turn>,
    /// What the instances of parts mention, if that has been asked.
    spoken_of: OnceCell<TableSet<Name>>,
    /// Values read from data, by name.
    loads: Table<Name, Load>,
    /// Whether a function is not negative in a scope.
    pub natural: Table<(ScopeId, Aff), bool>,
    /// Whether what is known of scalars that are read from data says so, too.
    knows_scalars: bool,
}

/// Whether the body contains a barrier of the block, or a commit of asynchronous copies or a wait.
fn has_events(body: &[Stmt]) -> bool {
    let mut found = Stmt::synchronises(body, &[SyncScope::Block]);
    Stmt::visit(body, &mut |s| found |= matches!(s, Stmt::Async(Async::Commit | Async::Wait { .. })));
    found
}

impl<'p> Reading<'p> {
    /// Reads a kernel that runs inside these host loops. `targets` are those of the kernel from
    /// which the program comes.
    pub fn new(
        program: &'p Program,
        kernel: &'p DeviceKernel,
        targets: &'p Targets,
        host: &[HostLoop<'p>],
        context: &'p [Constraint],
        terms: Terms,
    ) -> Result<Self> {
        let reading = Self::read((program, kernel), targets, host, context, terms, true)?;
        match reading.keeps_signs()? {
            true => Ok(reading),
            // What a scalar was known to be where it was read does not hold of a later value.
            false => Self::read((program, kernel), targets, host, context, terms, false),
        }
    }

    /// Reads it, with what is known of scalars that are read from data taken for the signs of what
    /// C's operators divide, or without.
    fn read(
        (program, kernel): (&'p Program, &'p DeviceKernel),
        targets: &'p Targets,
        host: &[HostLoop<'p>],
        context: &'p [Constraint],
        terms: Terms,
        knows_scalars: bool,
    ) -> Result<Self> {
        let mut assigned = vec![0; kernel.vars.len()];
        Stmt::visit(&kernel.body, &mut |s| match s {
            Stmt::Let { var, .. } | Stmt::Set { var, .. } | Stmt::For { var, .. } => {
                if let Some(n) = assigned.get_mut(var.0) {
                    *n += 1;
                }
            }
            _ => {}
        });
        let mut reading = Reading {
            program,
            kernel,
            targets,
            context,
            scopes: vec![Scope { exact: true, ..Scope::default() }],
            loops: Vec::new(),
            bodies: Vec::new(),
            touches: Vec::new(),
            body: Vec::new(),
            atoms: Vec::new(),
            private: Vec::new(),
            accesses: Vec::new(),
            in_atom: false,
            choices: Some(Vec::new()),
            joins_lanes: Stmt::synchronises(&kernel.body, &[SyncScope::Warp]),
            done: Vec::new(),
            places: Vec::new(),
            named: Vec::new(),
            data: BTreeSet::new(),
            of_lanes: Vec::new(),
            known: BTreeMap::new(),
            terms,
            bound: host.iter().map(|(name, ..)| name.clone()).collect(),
            values: vec![None; kernel.vars.len()],
            assigned,
            within: vec![None; kernel.vars.len()],
            stale: vec![false; kernel.vars.len()],
            scope: 0,
            around: Vec::new(),
            path: Vec::new(),
            spoken_of: OnceCell::new(),
            loads: Table::default(),
            natural: Table::default(),
            knows_scalars,
        };
        for (name, lower, upper) in host {
            let (counter, mut rows) = (Aff::var(name), Rows::default());
            let exact =
                reading.above(&counter, lower, &mut rows)? & reading.below(&counter, upper, &mut rows)?;
            reading.restrict(rows, exact);
        }
        reading.coordinates()?;
        reading.body = reading.nodes(&kernel.body)?;
        Ok(reading)
    }

    /// The ranges of blocks and threads.
    fn coordinates(&mut self) -> Result<()> {
        for dim in Dim::ALL {
            let thread = HardwareAxis::Block(*dim).position();
            let block = HardwareAxis::Grid(*dim).position();
            let mut rows = match self.kernel.block[*dim] {
                0 | 1 => vec![Constraint::zero(thread)],
                extent => vec![
                    Constraint::lt(&thread, &Aff::constant(i64::from(extent)))?,
                    Constraint::nonneg(thread),
                ],
            };
            rows.push(Constraint::nonneg(block.clone()));
            let mut rows = Rows { all: rows, either: Vec::new() };
            let exact = self.below(&block, &self.kernel.grid[*dim], &mut rows)?;
            self.restrict(rows, exact);
        }
        Ok(())
    }

    /// Whether a function is not negative in a scope, by what is known now.
    pub fn is_natural(&self, scope: ScopeId, aff: &Aff) -> Result<bool> {
        let mut rows = self.context.to_vec();
        rows.extend(self.scopes[scope].rows.iter().cloned());
        for name in aff.names() {
            rows.extend(self.facts_of(&name));
        }
        if self.knows_scalars {
            rows.extend(self.facts().cloned());
        }
        System::new(&rows)?.implies(&Constraint::nonneg(aff.clone()))
    }

    /// Whether each function that was not negative by what was known of scalars where it was read
    /// is not by what holds of all their values.
    fn keeps_signs(&self) -> Result<bool> {
        if self.known.is_empty() {
            return Ok(true);
        }
        for ((scope, aff), known) in &self.natural {
            if *known && !self.is_natural(*scope, aff)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The subscripts with which a value is read from data.
    pub fn arguments_of(&self, name: &Name) -> Option<&[Aff]> {
        self.loads.get(name).map(|load| load.arguments.as_slice())
    }

    /// What is declared of a value read from data that no kernel writes.
    pub fn facts_of(&self, name: &Name) -> Vec<Constraint> {
        let load = self.loads.get(name).filter(|load| !self.program.writes(&load.array));
        load.map(|load| declared_of(&self.program.facts, &load.array, &Aff::var(name)).into_iter().collect())
            .unwrap_or_default()
    }

    /// The array from which the value of this name is read.
    pub fn load_of(&self, name: &Name) -> Option<Name> {
        self.loads.get(name).map(|load| load.array.clone())
    }

    fn nodes(&mut self, body: &'p [Stmt]) -> Result<Vec<Node<'p>>> {
        let mut nodes = Vec::new();
        for (number, stmt) in body.iter().enumerate() {
            self.path.push(Turn::Nth(number));
            self.places.push(self.scope);
            if let Some(leaf) = stmt.leaf() {
                let ((scope, copied), path) = (self.scope_of(leaf, stmt, body)?, self.path.clone());
                self.done.push(Done { leaf, scope, copied, gives: Given::of(stmt, self.program), path });
            }
            match stmt {
                Stmt::Declare(_) => {}
                Stmt::Let { var, value, leaf } | Stmt::Set { var, value, leaf } => {
                    nodes.push(self.statement(&[value], None, *leaf)?);
                    // What is declared with its value has it wherever it can be read.
                    let is_declared = matches!(stmt, Stmt::Let { .. });
                    let mut known = match self.assigned.get(var.0) {
                        Some(1) if is_declared && value.dtype.is_integer() => self.integer(value, *leaf)?,
                        _ => None,
                    };
                    if let Some(variable) = self.kernel.vars.get(var.0)
                        && let (Some(meaning), Terms::Instances) = (&variable.meaning, self.terms)
                    {
                        let loads = |value: &Aff| value.mentions_any(&|n| self.loads.contains_key(n));
                        let given = self.scalar_held(meaning).cloned().filter(|_| self.is_given(*leaf));
                        let index = known.as_ref().filter(|v| !variable.mutable && !loads(v));
                        match (index, given) {
                            (Some(value), _) if value == meaning => {}
                            // A scalar of the kernel is what its statement gives, and goes by its
                            // name.
                            (_, Some(name)) => {
                                self.know_scalar(value, name)?;
                                self.data.extend(meaning.names());
                                known = None;
                            }
                            (Some(value), None) => self.named.push(Named::Index {
                                name: variable.name.clone(),
                                scope: self.scope,
                                value: value.clone(),
                                meaning: meaning.clone(),
                            }),
                            (None, None) => {
                                self.named
                                    .push(Named::Unread { name: variable.name.clone(), scope: self.scope });
                                self.data.extend(meaning.names());
                            }
                        }
                    }
                    if let Some(slot) = self.within.get_mut(var.0) {
                        *slot = Some(self.scopes[self.scope].loops.clone());
                    }
                    if let Some(slot) = self.values.get_mut(var.0) {
                        *slot = known.map(|aff| (aff, self.scopes[self.scope].loops.clone()));
                        self.stale[var.0] = false;
                    }
                }
                Stmt::Store { to, value, leaf } => {
                    nodes.push(self.statement(&[value], Some((to, 1)), *leaf)?);
                }
                Stmt::Update { atomic, scope, to, value, leaf } => {
                    nodes.push(self.statement(&[value], Some((to, 1)), *leaf)?);
                    if let Some(touch) = self.touches.last_mut() {
                        touch.atomic = Some(*atomic);
                        touch.in_block = *scope == UpdateScope::Block;
                    }
                }
                Stmt::VectorCopy { to, from, lanes, leaf } => {
                    let mut found = Vec::new();
                    self.subscripts(from, &mut found, *leaf)?;
                    self.subscripts(to, &mut found, *leaf)?;
                    self.touch(from, false, *lanes, *leaf, &mut found)?;
                    self.touch(to, true, *lanes, *leaf, &mut found)?;
                    nodes.push(Node::Touches(found));
                }
                Stmt::Async(Async::Copy(copy)) => nodes.push(self.async_copy(copy)?),
                Stmt::Async(Async::Commit) => nodes.push(Node::Commit(self.barrier(""))),
                Stmt::Async(Async::Wait { pending, note }) => {
                    nodes.push(Node::Wait(*pending, self.barrier(&note.text)));
                }
                Stmt::Sync { scope, note } => {
                    let (note, around) = (note.text.as_str(), self.around.clone());
                    nodes.push(Node::Barrier(Barrier { note, among: *scope, around }));
                }
                // What it publishes and reads is asked in `look_back`.
                Stmt::LookBack(LookBack { total, .. }) => {
                    let total: Vec<&Value> = total.iter().collect();
                    nodes.push(self.statement(&total, None, None)?);
                }
                Stmt::Collective { body, .. } => nodes.extend(self.nodes(body)?),
                Stmt::Atom { contract, body, note } => {
                    let (note, around) = (note.text.as_str(), self.around.clone());
                    nodes.push(Node::Together(Barrier { note, among: SyncScope::Warp, around }));
                    let before = std::mem::replace(&mut self.in_atom, true);
                    let first = (self.touches.len(), self.private.len());
                    let stated = self.nodes(contract)?;
                    // Matrices are stored by other lanes than those that state it: what orders
                    // accesses has to order these.
                    if Stmt::stores_of_matrices(body) == 0 {
                        nodes.extend(stated);
                    }
                    let then = (self.touches.len(), self.private.len());
                    nodes.extend(self.nodes(body)?);
                    self.in_atom = before;
                    let (read, loaded) = (first.0..then.0, then.0..self.touches.len());
                    let (contract_private, body_private) = (first.1..then.1, then.1..self.private.len());
                    self.atoms.push(AtomText {
                        contract,
                        body,
                        read,
                        loaded,
                        contract_private,
                        body_private,
                    });
                }
                // What its elements are is said by the contract around it.
                Stmt::Mma { a, b, .. } => {
                    for element in [a, b] {
                        let mut found = Vec::new();
                        self.subscripts(element, &mut found, None)?;
                        self.touch(element, false, 1, None, &mut found)?;
                        nodes.push(Node::Touches(found));
                    }
                }
                Stmt::LoadMatrices { to, from, row, .. } => {
                    let mut found = Vec::new();
                    self.subscripts(from, &mut found, None)?;
                    self.subscripts(to, &mut found, None)?;
                    if let Some(all) = stmt.written() {
                        let cell: Vec<_> =
                            to.subscripts.iter().map(|s| self.aff(s)).collect::<Result<_>>()?;
                        self.access(to, all.lanes, false, &cell);
                    }
                    self.touch(from, false, *row, None, &mut found)?;
                    self.touch(to, true, 1, None, &mut found)?;
                    nodes.push(Node::Touches(found));
                }
                Stmt::StoreMatrices { to, from, matrices, .. } => {
                    nodes.push(self.stored_matrices(to, from, *matrices)?);
                }
                Stmt::If { cond, body, otherwise, note } => {
                    nodes.push(self.statement(&[cond], None, None)?);
                    let mut sides = <[(Side, Vec<Node<'p>>); 2]>::default();
                    for (own, (side, body)) in sides.iter_mut().zip([(true, body), (false, otherwise)]) {
                        let mut rows = Rows::default();
                        let asked = if note.is_predicate() { Asked::Indices } else { Asked::All };
                        let exact = self.condition(cond, side, asked, &mut rows)?;
                        own.0.taken = Says::of(rows.clone(), exact);
                        self.around.push((self.scope, Decision::If(cond, side, asked)));
                        let before = match note.is_predicate() {
                            true => self.enter_predicate(&rows, exact),
                            false => self.enter(&rows, exact),
                        };
                        own.0.scope = self.scope;
                        self.path.push(Turn::Side(side));
                        own.1 = self.nodes(body)?;
                        self.path.pop();
                        self.scope = before;
                        self.around.pop();
                    }
                    nodes.push(Node::Choice(sides));
                }
                Stmt::For { var, lower, upper, step, body, .. } => {
                    nodes.push(self.statement(&[lower, upper], None, None)?);
                    self.renew_in(body);
                    let Some(variable) = self.kernel.vars.get(var.0) else {
                        self.path.pop();
                        continue;
                    };
                    let name = name_of_loop(&variable.name, var.0);
                    let number = self.loops.len();
                    let (lowers, uppers) = (self.greatest_of(lower)?, self.least_of(upper)?);
                    let begins = self.begins(lower, upper, *step)?;
                    let goes_on = self.goes_on(&name, upper, *step)?;
                    self.bodies.push(body);
                    self.loops.push(Loop {
                        name: name.clone(),
                        step: *step,
                        lowers,
                        uppers,
                        scope: self.scope,
                        begins,
                        goes_on,
                        synchronises: Stmt::synchronises(body, &[SyncScope::Block]),
                        joins_lanes: Stmt::synchronises(body, &[SyncScope::Block, SyncScope::Warp]),
                        has_events: has_events(body),
                        counter: None,
                        inames: Vec::new(),
                    });
                    let only = self.loops[number].only_value(*step).cloned();
                    let only = only.filter(|_| variable.meaning.is_none() && self.terms == Terms::Instances);
                    let counter = match (&variable.meaning, self.terms) {
                        (Some(meaning), Terms::Instances) => meaning.clone(),
                        _ => only.clone().unwrap_or_else(|| Aff::var(&name)),
                    };
                    // A loop of at most one iteration is as a choice.
                    if only.is_some() {
                        self.loops[number].counter = Some(Aff::constant(0));
                    }
                    let bound = self.bound.len();
                    if self.terms == Terms::Instances
                        && let Some(meaning) = &variable.meaning
                    {
                        let is_new = |n: &Name| {
                            !is_coordinate(n)
                                && !self.bound.contains(n)
                                && !self.program.scalars().any(|s| s.name == *n)
                        };
                        let inames: Vec<Name> = meaning.names().into_iter().filter(is_new).collect();
                        self.bound.extend(inames.iter().cloned());
                        let lower = self.aff(lower)?;
                        let own = &mut self.loops[number];
                        own.counter = Some(meaning.clone());
                        own.inames.clone_from(&inames);
                        let (name, scope, meaning) = (variable.name.clone(), self.scope, meaning.clone());
                        self.named.push(Named::Loop { name, scope, lower, step: *step, meaning, inames });
                    }
                    let mut rows = Rows::default();
                    let exact = match step {
                        _ if only.is_some() => {
                            let begins = &self.loops[number].begins;
                            rows.all.clone_from(&begins.rows);
                            begins.exact
                        }
                        Step::Add(step) => {
                            let mut exact = self.above(&counter, lower, &mut rows)?;
                            exact &= self.below(&counter, upper, &mut rows)?;
                            if *step > 1 {
                                match self.aff(lower)? {
                                    Some(low) => {
                                        rows.all.push(Constraint::zero(counter.sub(&low)?.modulo(*step)?));
                                    }
                                    None => exact = false,
                                }
                            }
                            exact
                        }
                        // Some of the values between the bounds.
                        Step::Double => {
                            self.above(&counter, lower, &mut rows)?;
                            self.below(&counter, upper, &mut rows)?;
                            false
                        }
                        Step::Halve => {
                            rows.all.push(Constraint::nonneg(counter.add_constant(-1)?));
                            if let Some(end) = self.aff(upper)? {
                                rows.all.push(Constraint::lt(&end, &counter)?);
                            }
                            if let Some(high) = self.aff(lower)? {
                                rows.all.push(Constraint::le(&counter, &high)?);
                            }
                            false
                        }
                    };
                    self.around.push((self.scope, Decision::Bounds(lower, upper, *step)));
                    let before = self.enter(&rows, exact);
                    let guards = self.scopes[self.scope].guards;
                    for scope in guards.into_iter().chain([self.scope]) {
                        self.scopes[scope].loops.push(number);
                    }
                    if let Some(slot) = self.values.get_mut(var.0) {
                        *slot = Some((counter, self.scopes[self.scope].loops.clone()));
                    }
                    self.path.push(Turn::Loop(number));
                    let inside = self.nodes(body)?;
                    self.path.pop();
                    self.scope = before;
                    self.bound.truncate(bound);
                    self.around.pop();
                    nodes.push(Node::Loop(number, inside));
                }
            }
            self.renew(stmt)?;
            self.path.pop();
        }
        Ok(nodes)
    }

    /// The function that a variable is declared as, if that is what the arithmetic of its types
    /// gives. A launch is asked of indices alone, not of values of parts.
    fn integer(&mut self, value: &Value, leaf: Option<LeafId>) -> Result<Option<Aff>> {
        let is_index = leaf.is_none() && value.dtype == self.program.index;
        let asked = if is_index { Asked::All } else { Asked::Indices };
        let Some(aff) = self.aff(value)? else { return Ok(None) };
        Ok(self.is_integer(value, asked, &Rows::default())?.then_some(aff))
    }

    /// The scope of a statement of a part, with the values of inames that no loop counts, and the
    /// lanes of a copy. One that something around speaks of has the values which that leaves it.
    fn scope_of(&mut self, leaf: LeafId, stmt: &Stmt, body: &[Stmt]) -> Result<(ScopeId, Option<Copied>)> {
        let program = self.program;
        let Some(of) = program.leaves.get(leaf.0) else { return Ok((self.scope, None)) };
        let is_copy = matches!(stmt, Stmt::VectorCopy { .. } | Stmt::Async(Async::Copy(_)));
        if self.terms != Terms::Instances || of.only.is_empty() && !is_copy {
            return Ok((self.scope, None));
        }
        let mut scope = self.scopes[self.scope].clone();
        for (iname, value) in &of.only {
            let spoken_of =
                scope.rows.iter().chain(scope.either.iter().flatten()).any(|c| c.aff.mentions(iname));
            if !spoken_of && !self.bound.contains(iname) && !is_coordinate(iname) && !value.mentions(iname) {
                scope.rows.push(Constraint::equal(&Aff::var(iname), value)?);
            }
        }
        let lanes = self.lanes_of_copy(leaf, stmt, body, &scope)?;
        let unknown = matches!(lanes, Lanes::Unknown);
        let copied = match lanes {
            Lanes::Without if of.only.is_empty() => return Ok((self.scope, None)),
            Lanes::Without => None,
            Lanes::Known(copied, rows) => {
                scope.rows.extend(rows);
                Some(copied)
            }
            Lanes::Unknown => {
                (scope.exact, scope.unread) = (false, true);
                None
            }
        };
        if let Some(guards) = scope.guards {
            let mut beside = self.scopes[guards].clone();
            beside.rows.extend(scope.rows[self.scopes[self.scope].rows.len()..].iter().cloned());
            (beside.exact, beside.unread) = (beside.exact && scope.exact, beside.unread || unknown);
            scope.guards = Some(self.scopes.len());
            self.scopes.push(beside);
        }
        self.scopes.push(scope);
        Ok((self.scopes.len() - 1, copied))
    }

    /// What a variable stands for at this place: an assignment in a loop says nothing outside of
    /// it.
    pub fn variable(&self, number: usize) -> Option<Aff> {
        if let (Terms::Instances, Some(meaning)) = (self.terms, &self.kernel.vars.get(number)?.meaning) {
            return (!self.stale[number]).then(|| meaning.clone());
        }
        let (aff, loops) = self.values.get(number)?.as_ref()?;
        self.scopes[self.scope].loops.starts_with(loops).then(|| aff.clone())
    }

    /// Whether data decide who runs a statement.
    pub fn is_decided_by_data(&self, leaf: Option<LeafId>) -> bool {
        leaf.and_then(|id| self.program.leaves.get(id.0)).is_some_and(|l| l.decided_by_data)
    }

    /// Remembers a value read from data.
    pub fn know(&mut self, load: Load) {
        self.loads.entry(load.name.clone()).or_insert(load);
    }

    /// The name of an array of shared or global memory.
    pub fn array_name(&self, memory: Memory) -> Name {
        let name = match memory {
            Memory::Global(g) => self.program.globals.get(g).map(|g| &g.name),
            Memory::Shared(s) => self.kernel.shared.get(s).map(|a| &a.name),
            Memory::Private(p) => self.kernel.private.get(p).map(|a| &a.name),
        };
        name.cloned().unwrap_or_else(|| Name::new("?"))
    }
}
