//! The walk through the text of a device kernel.

use std::{collections::BTreeSet, rc::Rc};

use loopwright_kernel_ir::{Aff, DType, Name, PartRef};
use loopwright_legality::is_coordinate;
use loopwright_poly::{System, Table, TableSet};

use super::{
    Local, WrongValue,
    buffers::{Buffers, Piece},
    filling::{Filling, Owed},
    forms::{Form, Forms, Place, UnaryOp, Version},
    spec::{Spec, Versions},
};
use crate::{
    Async, AsyncCopy, BinOp, DeviceKernel, Leaf, LookBack, MemRef, Memory, Program, Step, Stmt, Value,
    ValueKind, VarId,
    verify::reading::{Reading, ScopeId},
};

/// What the text has been found to compute, up to a place of it.
pub(super) struct Walk<'w, 'k, 'r> {
    pub program: &'k Program,
    pub kernel: &'k DeviceKernel,
    pub reading: &'w Reading<'r>,
    pub spec: &'w mut Spec<'k>,
    pub forms: &'w mut Forms,
    pub holders: Table<Local, Place>,
    pub vars: Table<VarId, Form>,
    /// When variables that hold indices have been assigned.
    pub times: Table<VarId, Version>,
    pub buffers: Buffers,
    pub versions: Rc<Versions>,
    pub last: Version,
    /// Lanes that loops around count, with the first value and the one after the last.
    pub lanes: Vec<(Name, Option<(i64, i64)>)>,
    /// Conditions around that are predicates of the kernel.
    pub predicates: Vec<Form>,
    /// All conditions around, as values of the text.
    pub conditions: Vec<Form>,
    /// The kernel's lane of a vector's elements, with what the elements' name is in it.
    pub lane: Option<(Name, Table<Name, Aff>)>,
    /// The executions of parts for which statements in this body have given some value, by part.
    pub groups: Table<&'k PartRef, Group<'k>>,
    /// The number of statements of parts so far, as in [`Reading::done`].
    done: usize,
    /// The number of statements so far, as in [`Reading::places`].
    visited: usize,
    /// Dividends and divisors that C's operators truncate.
    pub truncated: Vec<Form>,
    pub systems: Table<ScopeId, System>,
    /// The elements of a vector, where one is copied.
    pub range: Option<(Name, i64)>,
    /// Loops around, by their numbers, with the names that they count.
    pub path: Vec<(usize, Vec<Name>)>,
    loops: usize,
    /// Of loops that have been met, by their numbers: what they count, if that grows with an iname
    /// from one iteration to the next, its value in the first iteration, and by how much it grows.
    pub rising: Table<usize, (Aff, Aff, i64)>,
    /// What writes a place so far: for each statement the copy that fills it, if it is one.
    pub fillings: Table<Place, Vec<Option<Filling>>>,
    /// Updates that still have to be shown to add nothing outside of their instances.
    pub owed: Vec<Owed>,
    /// What the element holds and the operand, where a declared update is read.
    pub operands: Option<[Form; 2]>,
    /// Whether a collective is around.
    pub joining: bool,
    /// Whether data decide which instances some statement runs.
    pub has_nest: bool,
    /// The numbers of the values that statements give, by parts.
    pub numbers: Table<&'k PartRef, TableSet<u8>>,
}

/// Statements of one execution of a part.
pub(super) struct Group<'k> {
    pub given: TableSet<u8>,
    /// The time of the first of them.
    pub before: Version,
    /// The piece of a vector that the last of them copied, its lanes and its leaf: the piece after
    /// it is of the same executions.
    pub piece: Option<(&'k Leaf, &'k MemRef, u8)>,
}

impl Group<'_> {
    /// Whether a piece of a vector begins where the last one ends.
    pub fn is_continued_by(&self, leaf: &Leaf, from: &MemRef) -> bool {
        let Some((of, last, lanes)) = self.piece else { return false };
        let (Some((end, before)), Some((next, others))) =
            (last.subscripts.split_last(), from.subscripts.split_last())
        else {
            return false;
        };
        std::ptr::eq(of, leaf)
            && last.memory == from.memory
            && before == others
            && end.as_int().and_then(|end| end.checked_add(lanes.into())) == next.as_int()
            && next.as_int().is_some()
    }
}

/// The variables and arrays that a body writes.
#[derive(Default)]
struct Written {
    vars: BTreeSet<VarId>,
    memories: BTreeSet<Memory>,
}

impl<'w, 'k, 'r> Walk<'w, 'k, 'r> {
    pub fn new(
        program: &'k Program,
        kernel: &'k DeviceKernel,
        reading: &'w Reading<'r>,
        spec: &'w mut Spec<'k>,
        forms: &'w mut Forms,
        holders: Table<Local, Place>,
    ) -> Self {
        let mut has_nest = false;
        let mut numbers: Table<&'k PartRef, TableSet<u8>> = Table::default();
        Stmt::visit(&kernel.body, &mut |stmt| {
            if let Some((leaf, number)) = stmt.gives(&program.leaves) {
                numbers.entry(&program.leaves[leaf.0].part).or_default().insert(number);
            }
            let leaf = stmt.leaf().and_then(|id| program.leaves.get(id.0));
            has_nest |= leaf.is_some_and(|l| l.decided_by_data);
        });
        Walk {
            program,
            kernel,
            reading,
            spec,
            forms,
            holders,
            vars: Table::default(),
            times: Table::default(),
            buffers: Buffers::default(),
            versions: Rc::default(),
            last: 0,
            lanes: Vec::new(),
            predicates: Vec::new(),
            conditions: Vec::new(),
            lane: None,
            groups: Table::default(),
            numbers,
            done: 0,
            visited: 0,
            truncated: Vec::new(),
            systems: Table::default(),
            range: None,
            path: Vec::new(),
            loops: 0,
            rising: Table::default(),
            fillings: Table::default(),
            owed: Vec::new(),
            operands: None,
            joining: false,
            has_nest,
        }
    }

    pub fn body(&mut self, body: &'k [Stmt]) -> Result<(), WrongValue> {
        let around = std::mem::take(&mut self.groups);
        for stmt in body {
            let reading = self.reading;
            let done = stmt.leaf().and_then(|_| {
                self.done += 1;
                reading.done.get(self.done - 1)
            });
            let place = reading.places.get(self.visited).copied().unwrap_or_default();
            self.visited += 1;
            let scope = done.map_or(place, |done| done.scope);
            self.truncated.clear();
            let leaf = stmt.leaf().and_then(|id| self.program.leaves.get(id.0));
            let given = stmt.gives(&self.program.leaves).map(|(_, number)| number);
            match (leaf, given, done) {
                (Some(leaf), Some(number), Some(done)) if !leaf.decided_by_data => {
                    self.given(stmt, leaf, number, done)?;
                }
                (Some(leaf), number, _) if leaf.decided_by_data => self.of_nest(stmt, leaf, number)?,
                (Some(_), Some(_), _) => {}
                _ => self.is_stray(stmt, scope)?,
            }
            self.statement(stmt, scope)?;
        }
        let groups = std::mem::replace(&mut self.groups, around);
        groups.into_iter().try_for_each(|(part, group)| self.is_complete(part, &group))
    }

    /// What is known after a statement.
    fn statement(&mut self, stmt: &'k Stmt, scope: ScopeId) -> Result<(), WrongValue> {
        match stmt {
            Stmt::Declare(_) | Stmt::Sync { .. } | Stmt::Async(Async::Commit | Async::Wait { .. }) => {}
            // That nothing sees it too early is shown elsewhere (`flights`).
            Stmt::Async(Async::Copy(AsyncCopy { to, .. })) => self.wrote(to, None, scope)?,
            Stmt::Let { var, value, .. } | Stmt::Set { var, value, .. } => {
                if self.holders.contains_key(&Local::Var(*var)) {
                    self.wrote_local(Local::Var(*var));
                } else {
                    let form = self.value(value);
                    let form = self.followed(form, scope)?;
                    self.vars.insert(*var, form);
                    self.times.insert(*var, self.last);
                }
            }
            Stmt::Store { to, value, .. } => {
                let element = match self.is_buffer(to.memory) {
                    true => {
                        let form = self.value(value);
                        Some(self.followed(form, scope)?)
                    }
                    false => None,
                };
                self.wrote(to, element.map(|form| (form, None)), scope)?;
            }
            Stmt::Update { to, .. } => self.wrote(to, None, scope)?,
            Stmt::VectorCopy { to, from, lanes, .. } => {
                let lane = self.buffers.parameter();
                self.range = Some((lane.clone(), i64::from(*lanes)));
                let element = match self.is_buffer(to.memory) {
                    true => {
                        let form = self.element_of_vector(from, &lane);
                        Some((self.followed(form, scope)?, Some((lane, i64::from(*lanes)))))
                    }
                    false => None,
                };
                self.range = None;
                self.wrote(to, element, scope)?;
            }
            // What the body does instead is checked in `atoms`.
            Stmt::Atom { contract, body, .. } => {
                self.body(contract)?;
                self.body(body)?;
            }
            Stmt::Mma { .. } => {}
            // What it gives is asked in `joins`.
            Stmt::LookBack(LookBack { before, .. }) => {
                for before in before {
                    let dtype = self.kernel.vars.get(before.0).map_or(self.program.index, |var| var.dtype);
                    let form = self.forms.opaque(dtype);
                    self.vars.insert(*before, form);
                    self.times.insert(*before, self.last);
                }
            }
            Stmt::LoadMatrices { to, .. } => {
                if let Memory::Private(array) = to.memory {
                    self.buffers.forget(array);
                }
            }
            // What is stored is said by the contract of the atom around it.
            Stmt::StoreMatrices { to, .. } => self.wrote(to, None, scope)?,
            Stmt::Collective { body, .. } => {
                let written = self.written(body);
                self.forget(&written);
                let around = std::mem::replace(&mut self.joining, true);
                self.body(body)?;
                self.joining = around;
                self.forget(&written);
            }
            Stmt::If { cond, body, otherwise, note } => {
                let cond = self.value(cond);
                let cond = self.followed(cond, scope)?;
                if note.is_predicate() {
                    self.predicates.push(cond);
                }
                let mut written = self.written(body);
                let before = (!otherwise.is_empty())
                    .then(|| (self.vars.clone(), self.buffers.clone(), self.versions.clone()));
                let since = self.buffers.now();
                self.conditions.push(cond);
                self.body(body)?;
                self.conditions.pop();
                if note.is_predicate() {
                    self.predicates.pop();
                }
                match before {
                    Some((vars, buffers, versions)) => {
                        let one = std::mem::replace(&mut self.buffers, buffers);
                        (self.vars, self.versions) = (vars, versions);
                        let fails = self.forms.unary(UnaryOp::Not, DType::Bool, cond);
                        if note.is_predicate() {
                            self.predicates.push(fails);
                        }
                        self.conditions.push(fails);
                        self.body(otherwise)?;
                        self.conditions.pop();
                        if note.is_predicate() {
                            self.predicates.pop();
                        }
                        self.buffers.choose(self.forms, one, since, cond);
                        let other = self.written(otherwise);
                        written.vars.extend(other.vars);
                        written.memories.extend(other.memories);
                    }
                    None => self.buffers.depends(since, cond),
                }
                written.memories.retain(|memory| !self.is_buffer(*memory));
                self.forget(&written);
            }
            Stmt::For { var, lower, upper, step, body, .. } => {
                self.loop_of(*var, (lower, upper, *step), body, scope)?
            }
        }
        Ok(())
    }

    fn loop_of(
        &mut self,
        var: VarId,
        (lower, upper, step): (&'k Value, &'k Value, Step),
        body: &'k [Stmt],
        scope: ScopeId,
    ) -> Result<(), WrongValue> {
        let written = self.written(body);
        let first = self.value(lower);
        let first = self.followed(first, scope)?;
        let first = self.forms.to_aff(first, &mut |_| None);
        let meaning = self.kernel.vars.get(var.0).and_then(|v| v.meaning.clone());
        let lane = meaning.as_ref().and_then(|m| m.as_var()).filter(|n| !is_coordinate(n)).cloned();
        let constant = match (lower.as_int(), upper.as_int(), step) {
            (Some(low), Some(end), Step::Add(1)) if lane.is_some() => Some((low, end)),
            _ => None,
        };
        // Arrays with elements of their own for each iteration are not forgotten.
        let mut others = Written { vars: written.vars.clone(), memories: BTreeSet::new() };
        let mut own: Vec<Memory> = Vec::new();
        for memory in &written.memories {
            match self.is_buffer(*memory) && constant.is_some() && own_elements(body, *memory, var) {
                true => own.push(*memory),
                false => {
                    others.memories.insert(*memory);
                }
            }
        }
        self.forget(&others);
        self.times.insert(var, self.last);
        let known = self.lanes.len();
        self.loops += 1;
        let counted: Vec<Name> = meaning.iter().flat_map(Aff::names).filter(|n| !is_coordinate(n)).collect();
        if let ([name], Step::Add(step @ 1..), Some(meaning)) = (counted.as_slice(), step, &meaning)
            && meaning.coefficient(name) > 0
            && meaning.is_affine()
            && let Some(first) = first
        {
            self.rising.insert(self.loops, (meaning.clone(), first, step));
        }
        self.path.push((self.loops, counted));
        for name in meaning.iter().flat_map(Aff::names).filter(|n| !is_coordinate(n)) {
            let range = constant.filter(|_| lane.as_ref() == Some(&name));
            if !self.lanes.iter().any(|(other, _)| *other == name) && !self.spec.lookup.is_scalar(&name) {
                self.lanes.push((name, range));
            }
        }
        if meaning.is_none() {
            let only = self.reading.loops.get(self.loops - 1).is_some_and(|l| l.only_value(step).is_some());
            let form = match only {
                true => {
                    let form = self.value(lower);
                    self.followed(form, scope)?
                }
                false => self.forms.opaque(self.program.index),
            };
            self.vars.insert(var, form);
        }
        self.body(body)?;
        self.path.pop();
        self.lanes.truncate(known);
        match (lane, constant) {
            (Some(lane), Some(range)) => {
                let vars = Written { vars: written.vars.clone(), memories: BTreeSet::new() };
                self.forget(&vars);
                for memory in &written.memories {
                    if !self.is_buffer(*memory) {
                        self.wrote_local_or_global(*memory);
                    }
                }
                self.buffers.leave(self.forms, &lane, range);
            }
            _ => self.forget(&written),
        }
        Ok(())
    }

    /// The variables and arrays that a body may write, on any path through it.
    fn written(&self, body: &[Stmt]) -> Written {
        let mut found = Written::default();
        Stmt::visit(body, &mut |stmt| {
            found.vars.extend(stmt.assigned());
            found.memories.extend(stmt.written().map(|to| to.element.memory));
        });
        found
    }

    /// Nothing is known any more of what has been written.
    fn forget(&mut self, written: &Written) {
        for var in &written.vars {
            match self.holders.contains_key(&Local::Var(*var)) {
                true => self.wrote_local(Local::Var(*var)),
                false => {
                    self.vars.remove(var);
                }
            }
        }
        for memory in &written.memories {
            self.wrote_local_or_global(*memory);
            if let Memory::Private(array) = memory {
                self.buffers.forget(*array);
            }
        }
    }

    pub fn is_buffer(&self, memory: Memory) -> bool {
        matches!(memory, Memory::Private(_)) && !self.holders.contains_key(&Local::Array(memory))
    }

    pub fn place(&self, memory: Memory) -> Option<Place> {
        match memory {
            Memory::Global(g) => self.program.globals.get(g).map(|g| Place::Array(g.name.clone())),
            memory => self.holders.get(&Local::Array(memory)).cloned(),
        }
    }

    fn wrote_local(&mut self, local: Local) {
        if let Some(place) = self.holders.get(&local).cloned() {
            self.last += 1;
            Rc::make_mut(&mut self.versions).entry(place).or_default().push(self.last);
        }
    }

    fn wrote_local_or_global(&mut self, memory: Memory) {
        if let Some(place) = self.place(memory) {
            self.last += 1;
            Rc::make_mut(&mut self.versions).entry(place).or_default().push(self.last);
        }
    }

    /// Remembers that an element has been written, or as many of a vector.
    fn wrote(
        &mut self,
        to: &'k MemRef,
        element: Option<(Form, Option<(Name, i64)>)>,
        scope: ScopeId,
    ) -> Result<(), WrongValue> {
        let (Memory::Private(array), Some((mut form, vector))) = (to.memory, element) else {
            self.wrote_local_or_global(to.memory);
            return Ok(());
        };
        let subscripts = self.functions(&to.subscripts);
        let is_known = self.rounds_down(scope)?;
        let Some(mut subscripts) = subscripts.filter(|_| is_known) else {
            self.buffers.forget(array);
            return Ok(());
        };
        let mut parameters = Vec::new();
        if let Some((lane, count)) = vector {
            // As a function of the subscript, which is the same for the next vector.
            let first = subscripts.pop().and_then(|s| s.as_constant());
            let own = Aff::var(Name::new("subscript"));
            let (Some(first), Ok(by)) = (first, own.add_constant(first.map_or(0, i64::saturating_neg)))
            else {
                self.buffers.forget(array);
                return Ok(());
            };
            form = self.forms.substitute(form, &Table::from_iter([(lane, by)]));
            subscripts.push(own);
            parameters.push((Name::new("subscript"), first, first.saturating_add(count)));
        }
        self.buffers.write(array, Piece { subscripts, parameters, form, conditions: Vec::new() });
        Ok(())
    }

    fn functions(&mut self, subscripts: &'k [Value]) -> Option<Vec<Aff>> {
        subscripts
            .iter()
            .map(|s| {
                let form = self.value(s);
                self.forms.to_aff(form, &mut |_| None)
            })
            .collect()
    }

    /// The form of a single element.
    pub fn element_of(&mut self, from: &'k MemRef) -> Form {
        let subscripts = from.subscripts.iter().map(|s| self.value(s)).collect();
        self.element(from.memory, subscripts, self.dtype(from.memory))
    }

    /// The element of a vector at this lane.
    pub fn element_of_vector(&mut self, from: &'k MemRef, lane: &Name) -> Form {
        let mut subscripts: Vec<Form> = from.subscripts.iter().map(|s| self.value(s)).collect();
        let dense = self.dense(from);
        self.move_subscript(&mut subscripts, dense, lane);
        self.element(from.memory, subscripts, self.dtype(from.memory))
    }

    pub fn move_subscript(&mut self, subscripts: &mut [Form], dense: usize, lane: &Name) {
        let index = self.forms.index;
        let lane = self.forms.of_aff(&Aff::var(lane), index, &mut |_, _| None);
        if let Some(s) = subscripts.get_mut(dense) {
            *s = self.forms.binary(BinOp::Add, index, *s, lane);
        }
    }

    /// The axis along which neighbouring elements lie.
    pub fn dense(&self, element: &MemRef) -> usize {
        let last = element.subscripts.len().saturating_sub(1);
        match element.memory {
            Memory::Global(g) => {
                let strides = self.program.globals.get(g).map(|g| g.strides.as_slice()).unwrap_or_default();
                strides.iter().rposition(|s| s.as_int() == Some(1)).unwrap_or(last)
            }
            Memory::Shared(_) | Memory::Private(_) => last,
        }
    }

    fn dtype(&self, memory: Memory) -> DType {
        let found = match memory {
            Memory::Global(g) => self.program.globals.get(g).map(|g| g.dtype),
            Memory::Shared(k) => self.kernel.shared.get(k).map(|a| a.dtype),
            Memory::Private(k) => self.kernel.private.get(k).map(|a| a.dtype),
        };
        found.unwrap_or(self.program.index)
    }
}

/// Whether each iteration of a loop has its own elements of an array: all that is said of it in the
/// body has what the loop counts on one axis, moved by one constant.
fn own_elements(body: &[Stmt], memory: Memory, counter: VarId) -> bool {
    let mut accesses: Vec<&MemRef> = Vec::new();
    Stmt::visit(body, &mut |stmt| {
        accesses.extend(stmt.written().map(|to| to.element).filter(|e| e.memory == memory));
        stmt.each_read(&mut |from| {
            if from.element.memory == memory {
                accesses.push(from.element);
            }
        });
    });
    let Some(first) = accesses.first() else { return true };
    (0..first.subscripts.len()).any(|axis| {
        let own = |s: &Value| match &s.kind {
            ValueKind::Var(var) => *var == counter,
            ValueKind::Binary(BinOp::Add | BinOp::Sub, a, b) => {
                a.kind == ValueKind::Var(counter) && b.as_int().is_some()
            }
            _ => false,
        };
        let subscript = &first.subscripts[axis];
        own(subscript) && accesses.iter().all(|e| e.subscripts.get(axis) == Some(subscript))
    })
}
