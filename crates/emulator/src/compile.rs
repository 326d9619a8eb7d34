//! Compiles a device kernel to flat code: statements.
//!
//! Registers are allocated in the order presets, variables, temporaries. The temporaries of a
//! statement are freed at its end, so a loop's bound outlives its body and nothing else outlives
//! its statement. Everything that the interpreter relies on is checked here: indices of arrays and
//! variables, types of operands, numbers of subscripts. A violation is a fault, never a panic.
//! Accesses are in [`compile_access`](crate::compile_access), values in
//! [`compile_value`](crate::compile_value).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use loopwright_kernel_ir::{DType, Name, UpdateScope};
use loopwright_program::{
    Async, Atomic, DeclaredLookBack, DeclaredUpdate, DeviceKernel, LeafId, LookBack, Memory, Positions,
    Program, Scope, Step, Stmt, Value, ValueKind, VarId,
};

use crate::{
    bytecode::{CLASSES, Code, DOUBLE, HALVE, InScope, Inst, Look, Preset, Reg, Site, is_wide},
    fault::{Fault, FaultKind},
    options::Options,
    shadow::MOST_DECLARED,
};

/// Maximum nesting depth of statements and values.
const DEPTH: usize = 3000;

/// The register of a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub reg: Reg,
    /// The slot that records the lanes with a value, for variables declared without one.
    pub watched: Option<u32>,
}

pub(crate) struct Compiler<'a> {
    pub program: &'a Program,
    pub kernel: &'a DeviceKernel,
    pub options: &'a Options,
    pub code: Code,
    pub vars: Vec<Place>,
    /// Where the elements of arrays lie whose layout is set, as far as they are accessed.
    pub positions: BTreeMap<Memory, Arc<Positions>>,
    /// The next free register of each file.
    pub next: [u32; 2],
    /// For each file, which registers hold the same value in all lanes, active or not.
    uniform: [Vec<bool>; 2],
    /// The number of statements that assign each variable.
    writers: Vec<u32>,
    /// Variables of joins that hold data.
    joined: BTreeSet<VarId>,
    /// The next free slot for masks.
    pub masks: u32,
    /// The index of the innermost name in scope, plus one.
    scope: usize,
    leaf: Option<LeafId>,
    pub what: &'static str,
    /// Whether the operations being compiled are counted.
    pub counted: bool,
    /// Whether overflow is a fault, as in index arithmetic.
    pub exact: bool,
    /// Whether an address, a bound or a guard is being compiled, whose integers count as index
    /// arithmetic.
    pub index: bool,
    pub depth: usize,
    /// The number of loops so far, and the number of the innermost enclosing one.
    loops: usize,
    pub in_loop: usize,
    /// By class, the operations that the current choice computes under masks.
    pub tally: [u64; CLASSES],
    /// Whether a declaration is being compiled.
    pub declares: bool,
    /// Conditions of the declarations since the last statement of another kind; their registers
    /// stay allocated until the next such statement.
    pub conditions: Vec<(&'a Value, Reg)>,
    /// Values within the current offset, and the depth of choices at which they are valid.
    pub memo: Vec<(&'a Value, Reg)>,
    pub lazy: usize,
    pub memo_at: Option<usize>,
    /// Where the variables of a declared update are, while it is being compiled.
    operands: Option<Vec<(Reg, DType)>>,
}

/// Compiles a kernel of the program.
pub(crate) fn compile<'a>(
    program: &'a Program,
    kernel: &'a DeviceKernel,
    options: &'a Options,
) -> Result<Code, Fault> {
    let mut compiler = Compiler {
        program,
        kernel,
        options,
        code: Code {
            reads: vec![false; program.globals.len()],
            writes: vec![false; program.globals.len()],
            ..Code::default()
        },
        vars: Vec::new(),
        positions: BTreeMap::new(),
        next: [0; 2],
        uniform: [Vec::new(), Vec::new()],
        writers: vec![0; kernel.vars.len()],
        joined: kernel.joined_values(),
        masks: 0,
        scope: 0,
        leaf: None,
        what: "",
        counted: true,
        exact: false,
        index: false,
        depth: 0,
        loops: 0,
        in_loop: 0,
        tally: [0; CLASSES],
        declares: false,
        conditions: Vec::new(),
        memo: Vec::new(),
        lazy: 0,
        memo_at: None,
        operands: None,
    };
    let result = compiler.kernel().and_then(|()| compiler.body(&kernel.body));
    compiler.code.insts.push(Inst::End);
    match result {
        Ok(()) => Ok(compiler.code),
        Err(mut fault) => {
            fault.kernel = Some(kernel.name.clone());
            Err(fault)
        }
    }
}

impl<'a> Compiler<'a> {
    pub fn invalid<T>(&self, detail: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::new(FaultKind::InvalidProgram, detail))
    }

    /// Allocates a register of the type's file.
    pub fn fresh(&mut self, dtype: DType) -> Reg {
        let file = usize::from(is_wide(dtype));
        let reg = self.next[file];
        self.next[file] += 1;
        let count = if file == 1 { &mut self.code.wide } else { &mut self.code.narrow };
        *count = (*count).max(self.next[file] as usize);
        self.set_uniform(dtype, reg, false);
        reg
    }

    /// Records whether the value last written to the register is equal in all lanes.
    pub fn set_uniform(&mut self, dtype: DType, reg: Reg, uniform: bool) {
        let known = &mut self.uniform[usize::from(is_wide(dtype))];
        if known.len() <= reg as usize {
            known.resize(reg as usize + 1, false);
        }
        known[reg as usize] = uniform;
    }

    /// Whether the register holds the same value in all lanes, active or not.
    pub fn is_uniform(&self, dtype: DType, reg: Reg) -> bool {
        self.uniform[usize::from(is_wide(dtype))].get(reg as usize).is_some_and(|u| *u)
    }

    /// Clears the mark of a variable with several writers: it may be written in some lanes only.
    fn settle_uniform(&mut self, var: VarId, dtype: DType, reg: Reg) {
        if self.writers[var.0] != 1 {
            self.set_uniform(dtype, reg, false);
        }
    }

    /// Allocates two mask slots for a statement that changes the active lanes; the number of the
    /// first.
    pub fn enter(&mut self) -> u32 {
        let slot = self.masks;
        self.masks += 2;
        self.code.masks = self.code.masks.max(self.masks as usize);
        slot
    }

    pub fn leave(&mut self) {
        self.masks -= 2;
    }

    pub fn emit(&mut self, inst: Inst) -> usize {
        self.code.insts.push(inst);
        self.code.insts.len() - 1
    }

    pub fn here(&self) -> u32 {
        self.code.insts.len() as u32
    }

    /// A site of the statement being compiled.
    pub fn site(&mut self, about: Option<&Name>) -> u32 {
        let site = Site { leaf: self.leaf, what: self.what, about: about.cloned(), scope: self.scope };
        if let Some(last) = self.code.sites.last()
            && (last.leaf, last.what, last.scope) == (site.leaf, site.what, site.scope)
            && last.about == site.about
        {
            return self.code.sites.len() as u32 - 1;
        }
        self.code.sites.push(site);
        self.code.sites.len() as u32 - 1
    }

    /// As [`Compiler::site`], but not shared with another statement.
    pub fn own_site(&mut self) -> u32 {
        let site = Site { leaf: self.leaf, what: self.what, about: None, scope: self.scope };
        self.code.sites.push(site);
        self.code.sites.len() as u32 - 1
    }

    fn kernel(&mut self) -> Result<(), Fault> {
        if !matches!(self.program.index, DType::I32 | DType::I64) {
            return self.invalid("the index type is neither i32 nor i64");
        }
        let threads: u64 = self.kernel.block.values().map(|b| u64::from(*b)).product();
        if threads == 0 || threads > u64::from(self.program.target.most_threads) {
            return self.invalid(format!("a block of {threads} threads"));
        }
        let mut watch = vec![false; self.kernel.vars.len()];
        let mut presets: Vec<(Preset, DType)> = Vec::new();
        Stmt::visit(&self.kernel.body, &mut |s| {
            if let Stmt::Declare(VarId(v)) = s
                && let Some(w) = watch.get_mut(*v)
            {
                *w = true;
            }
            if let Stmt::Let { var, .. } | Stmt::Set { var, .. } | Stmt::For { var, .. } = s
                && let Some(writers) = self.writers.get_mut(var.0)
            {
                *writers += 1;
            }
            // What a look-back gives is joined step by step.
            if let Stmt::LookBack(LookBack { before, .. }) = s {
                for before in before {
                    if let Some(writers) = self.writers.get_mut(before.0) {
                        *writers += 2;
                    }
                }
            }
            for value in values_of(self.program, s) {
                value.visit(&mut |v| {
                    if let Some(preset) = Preset::of(v)
                        && !presets.contains(&(preset.clone(), v.dtype))
                    {
                        presets.push((preset, v.dtype));
                    }
                });
            }
        });
        for (preset, dtype) in presets {
            let reg = self.fresh(dtype);
            self.set_uniform(dtype, reg, !matches!(preset, Preset::ThreadIdx(_)));
            self.code.presets.push((preset, dtype, reg));
        }
        for (var, watch) in self.kernel.vars.iter().zip(watch) {
            let reg = self.fresh(var.dtype);
            let watched = (watch && self.options.checks.uninitialised).then_some(self.code.watched as u32);
            self.code.watched += usize::from(watched.is_some());
            self.vars.push(Place { reg, watched });
        }
        Ok(())
    }

    pub fn place(&self, var: VarId) -> Result<(Place, DType), Fault> {
        if let Some(operands) = &self.operands {
            return match operands.get(var.0) {
                Some((reg, dtype)) => Ok((Place { reg: *reg, watched: None }, *dtype)),
                None => self.invalid(format!("there is no variable {} in an update", var.0)),
            };
        }
        match (self.vars.get(var.0), self.kernel.vars.get(var.0)) {
            (Some(place), Some(var)) => Ok((*place, var.dtype)),
            _ => self.invalid(format!("there is no variable {}", var.0)),
        }
    }

    fn body(&mut self, body: &'a [Stmt]) -> Result<(), Fault> {
        let scope = self.scope;
        let (next, masks) = (self.next, self.masks);
        for stmt in body {
            if !matches!(stmt, Stmt::Let { .. }) {
                self.conditions.clear();
                self.next = next;
            }
            self.depth += 1;
            if self.depth > DEPTH {
                return self.invalid("statements nest too deeply");
            }
            self.stmt(stmt)?;
            self.depth -= 1;
            self.masks = masks;
            if self.conditions.is_empty() {
                self.next = next;
            }
        }
        self.conditions.clear();
        self.next = next;
        self.scope = scope;
        Ok(())
    }

    /// From here on, reports include the variable's value.
    fn show(&mut self, var: VarId) -> Result<(), Fault> {
        let (place, dtype) = self.place(var)?;
        let name = self.kernel.vars[var.0].name.clone();
        self.code.scopes.push((InScope { name, dtype, reg: place.reg }, self.scope));
        self.scope = self.code.scopes.len();
        Ok(())
    }

    pub fn speak_of(&mut self, leaf: Option<LeafId>, what: &'static str) -> Result<(), Fault> {
        if leaf.is_some_and(|l| l.0 >= self.program.leaves.len()) {
            return self.invalid("a statement comes from a leaf that does not exist");
        }
        (self.leaf, self.what) = (leaf, what);
        Ok(())
    }

    pub fn typed(&mut self, value: &'a Value, dtype: DType, dst: Option<Reg>) -> Result<Reg, Fault> {
        if value.dtype != dtype {
            return self.invalid(format!(
                "a value of type {} where {dtype} is needed, in {}",
                value.dtype, self.what
            ));
        }
        match dst {
            Some(dst) => {
                self.value_into(value, dst)?;
                Ok(dst)
            }
            None => self.value(value),
        }
    }

    /// Whether what a variable is assigned is index arithmetic: that of no part, and not the data
    /// of a join.
    fn is_of_index(&self, var: VarId, leaf: Option<LeafId>, dtype: DType) -> bool {
        leaf.is_none() && dtype == self.program.index && !self.joined.contains(&var)
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), Fault> {
        match stmt {
            Stmt::Let { var, value, leaf } => {
                self.speak_of(*leaf, "the value of a variable")?;
                let (place, dtype) = self.place(*var)?;
                let of_index = self.is_of_index(*var, *leaf, dtype);
                self.exact = of_index && self.options.checks.overflow;
                // A choice is data: joins of partial results, even of an index, have no leaf.
                self.index = of_index && !matches!(value.kind, ValueKind::Select(..));
                self.forget_conditions_of(*var);
                self.declares = true;
                self.typed(value, dtype, Some(place.reg))?;
                self.settle_uniform(*var, dtype, place.reg);
                (self.exact, self.index, self.declares) = (false, false, false);
                if let Some(slot) = place.watched {
                    self.emit(Inst::Define { slot });
                }
                if dtype.is_integer() && !self.kernel.vars[var.0].mutable {
                    self.show(*var)?;
                }
            }
            Stmt::Declare(var) => {
                if let (Place { watched: Some(slot), .. }, _) = self.place(*var)? {
                    self.emit(Inst::Undefine { slot });
                }
            }
            Stmt::Set { var, value, leaf } => {
                self.speak_of(*leaf, "an assignment")?;
                let (place, dtype) = self.place(*var)?;
                self.index = self.is_of_index(*var, *leaf, dtype);
                let src = self.typed(value, dtype, None)?;
                self.index = false;
                self.emit(Inst::MoveActive { wide: is_wide(dtype), dst: place.reg, src });
                if let Some(slot) = place.watched {
                    self.emit(Inst::Define { slot });
                }
            }
            Stmt::Store { to, value, leaf } => {
                self.speak_of(*leaf, "a store")?;
                let src = self.value(value)?;
                let access = self.access(to, value.dtype, true)?;
                self.emit(Inst::Store { access, src });
            }
            Stmt::Update { atomic, scope, to, value, leaf } => {
                self.speak_of(*leaf, "an atomic update")?;
                let updates = &self.program.updates;
                if !atomic.takes(value.dtype, updates) || matches!(to.memory, Memory::Private(_)) {
                    let what = format!("an atomic update ({atomic:?}) of {} in {:?}", value.dtype, to.memory);
                    return self.invalid(what);
                }
                let src = self.value(value)?;
                let access = self.access(to, value.dtype, true)?;
                if let Some(access) = self.code.accesses.get_mut(access as usize) {
                    access.atomic = Some(*atomic);
                    access.in_block = *scope == UpdateScope::Block;
                }
                self.emit(Inst::Update { access, src });
                if let Atomic::By(number) = atomic {
                    self.exchange(*number, access, src)?;
                }
            }
            Stmt::VectorCopy { to, from, lanes, leaf } => {
                self.speak_of(*leaf, "a vector copy")?;
                self.vector_copy(to, from, *lanes)?;
            }
            Stmt::Async(Async::Copy(copy)) => {
                self.speak_of(copy.leaf, "an asynchronous copy")?;
                self.async_copy(copy)?;
            }
            Stmt::Async(Async::Commit) => {
                self.emit(Inst::Commit);
            }
            Stmt::Async(Async::Wait { pending, .. }) => {
                self.emit(Inst::Wait { pending: *pending });
            }
            Stmt::For { var, lower, upper, step, body, .. } => {
                self.speak_of(None, "the bounds of a loop")?;
                let (place, dtype) = self.place(*var)?;
                let index = self.program.index;
                if dtype != index {
                    return self.invalid(format!("a loop counter of type {dtype}"));
                }
                let step = match step {
                    Step::Add(step) if *step > 0 => *step,
                    Step::Add(step) => return self.invalid(format!("a loop with step {step}")),
                    Step::Halve => HALVE,
                    Step::Double => DOUBLE,
                };
                (self.exact, self.index) = (self.options.checks.overflow, true);
                self.typed(lower, index, Some(place.reg))?;
                self.settle_uniform(*var, index, place.reg);
                let bound = self.typed(upper, index, None)?;
                (self.exact, self.index) = (false, false);
                if let Some(slot) = place.watched {
                    self.emit(Inst::Define { slot });
                }
                let wide = is_wide(index);
                // A bound that is a variable is read before each iteration.
                let upper = match upper.kind {
                    ValueKind::Var(_) => bound,
                    _ => {
                        let upper = self.fresh(index);
                        self.emit(Inst::Move { wide, dst: upper, src: bound });
                        upper
                    }
                };
                let counts_alike = !wide && self.is_uniform(index, place.reg);
                let ends_alike = counts_alike && self.is_uniform(index, bound);
                let scope = self.scope;
                self.show(*var)?;
                let site = self.site(None);
                let slot = self.enter();
                self.emit(Inst::LoopEnter { slot });
                let head = self.here();
                let (var, uniform) = (place.reg, ends_alike);
                let test =
                    self.emit(Inst::LoopTest { wide, uniform, var, upper, down: step == HALVE, end: 0 });
                self.loops += 1;
                let outer = std::mem::replace(&mut self.in_loop, self.loops);
                self.body(body)?;
                self.in_loop = outer;
                self.emit(Inst::LoopNext { wide, uniform: counts_alike, var, step, head, site });
                let here = self.here();
                if let Inst::LoopTest { end, .. } = &mut self.code.insts[test] {
                    *end = here;
                }
                self.emit(Inst::Restore { slot });
                self.leave();
                self.scope = scope;
            }
            Stmt::If { cond, body, otherwise, note } => {
                self.speak_of(None, "the condition of a guard")?;
                self.index = !note.is_predicate();
                let cond = self.typed(cond, DType::Bool, None)?;
                self.index = false;
                let slot = self.enter();
                let begin = self.emit(Inst::If { cond, slot, other: 0 });
                self.body(body)?;
                self.otherwise(begin, slot, |c| c.body(otherwise), !otherwise.is_empty())?;
                self.leave();
            }
            Stmt::Sync { scope, .. } => {
                let what = match scope {
                    Scope::Warp => "a synchronisation of the warp",
                    Scope::Block => "a barrier",
                };
                self.speak_of(None, what)?;
                let site = self.own_site();
                self.emit(Inst::Sync { scope: *scope, site });
            }
            Stmt::LookBack(stmt) => self.look_back(stmt)?,
            Stmt::Collective { body, .. } | Stmt::Atom { body, .. } => self.body(body)?,
            Stmt::Mma { atom, d, a, b } => self.mma(atom, d, a, b)?,
            Stmt::LoadMatrices { to, from, matrices, row, transposed } => {
                self.matrices(to, from, (*matrices, *row), *transposed)?;
            }
            Stmt::StoreMatrices { to, from, matrices, transposed } => {
                self.store_matrices(to, from, *matrices, *transposed)?;
            }
        }
        Ok(())
    }

    /// The update of this number of the program's own, of elements by a register: lane by lane, so
    /// that lanes that meet in an element follow one another.
    fn exchange(&mut self, number: usize, access: u32, src: Reg) -> Result<(), Fault> {
        let program = self.program;
        let Some(DeclaredUpdate { dtype, combined, .. }) = program.updates.get(number) else {
            return self.invalid(format!("there is no update {number}"));
        };
        if number >= MOST_DECLARED {
            return self.invalid(format!("the program declares more than {MOST_DECLARED} updates"));
        }
        let held = self.fresh(*dtype);
        let slot = self.enter();
        self.emit(Inst::Lanes { slot });
        let head = self.emit(Inst::EachLane { slot, end: 0 });
        self.emit(Inst::Held { access, dst: held });
        let was = (self.counted, self.operands.replace(vec![(held, *dtype), (src, *dtype)]));
        self.counted = false;
        let next = self.typed(combined, *dtype, None)?;
        (self.counted, self.operands) = was;
        self.emit(Inst::Exchange { access, src: next, head: head as u32 });
        let here = self.here();
        if let Inst::EachLane { end, .. } = &mut self.code.insts[head] {
            *end = here;
        }
        self.emit(Inst::Restore { slot });
        self.leave();
        Ok(())
    }

    /// Publishes a total, joins what the tiles before have published, from the nearest one on, and
    /// publishes what all join.
    fn look_back(&mut self, stmt: &'a LookBack) -> Result<(), Fault> {
        let LookBack { by, axis, total, before, word } = stmt;
        self.speak_of(None, "a look-back")?;
        let program = self.program;
        let Some(DeclaredLookBack { state, neutral, combined, .. }) = program.look_backs.get(*by) else {
            return self.invalid(format!("there is no look-back {by}"));
        };
        if [total.len(), before.len(), neutral.len(), combined.len()].iter().any(|n| *n != state.len()) {
            return self.invalid(format!("a look-back of {} values gives others", state.len()));
        }
        let mut places = Vec::new();
        for (var, dtype) in before.iter().zip(state) {
            let (place, of_var) = self.place(*var)?;
            if of_var != *dtype || !matches!(word.memory, Memory::Global(_)) {
                return self.invalid(format!("a look-back of {dtype} into a variable of {of_var}"));
            }
            places.push((place.reg, *dtype));
        }
        let site = self.own_site();
        let mut own = Vec::new();
        for (value, dtype) in total.iter().zip(state) {
            own.push((self.typed(value, *dtype, None)?, *dtype));
        }
        let (found, mark) = (self.fresh(DType::U64), self.fresh(DType::U64));
        let read = self.access(word, DType::U64, false)?;
        let write = self.access(word, DType::U64, true)?;
        let look = self.code.looks.len() as u32;
        let (words, axis) = (LookBack::words(state), *axis);
        let registers = |this: &mut Self| state.iter().map(|t| (this.fresh(*t), *t)).collect::<Vec<_>>();
        let (next, joined, prefix) = (registers(self), registers(self), registers(self));
        self.code.looks.push(Look {
            axis,
            read,
            write,
            found,
            mark,
            words,
            site,
            total: own.clone(),
            next: next.clone(),
            prefix: prefix.clone(),
        });
        self.emit(Inst::Publish { look });
        for ((value, (reg, dtype)), var) in neutral.iter().zip(&places).zip(before) {
            self.typed(value, *dtype, Some(*reg))?;
            self.settle_uniform(*var, *dtype, *reg);
        }
        let head = self.emit(Inst::Look { look, end: 0 });
        let was = self.operands.replace([next, places.clone()].concat());
        // All are computed of what has been joined before, and change afterwards.
        for (value, (reg, dtype)) in combined.iter().zip(&joined) {
            self.typed(value, *dtype, Some(*reg))?;
        }
        for ((src, dtype), (dst, _)) in joined.iter().zip(&places) {
            self.emit(Inst::MoveActive { wide: is_wide(*dtype), dst: *dst, src: *src });
        }
        self.emit(Inst::Jump { to: head as u32 });
        let here = self.here();
        if let Inst::Look { end, .. } = &mut self.code.insts[head] {
            *end = here;
        }
        self.operands = Some([places, own].concat());
        for (value, (reg, dtype)) in combined.iter().zip(&prefix) {
            self.typed(value, *dtype, Some(*reg))?;
        }
        self.operands = was;
        self.emit(Inst::Prefix { look });
        Ok(())
    }

    /// The rest of an `If` at `begin`: its other side and its end.
    pub fn otherwise(
        &mut self,
        begin: usize,
        slot: u32,
        other_side: impl FnOnce(&mut Self) -> Result<(), Fault>,
        there_is_one: bool,
    ) -> Result<(), Fault> {
        let mut split = None;
        let mut here = self.here();
        if there_is_one {
            split = Some(self.emit(Inst::Else { slot, end: 0 }));
            here = split.map_or(here, |s| s as u32);
            other_side(self)?;
        }
        let end_here = self.here();
        if let Some(split) = split
            && let Inst::Else { end, .. } = &mut self.code.insts[split]
        {
            *end = end_here;
        }
        if let Inst::If { other, .. } = &mut self.code.insts[begin] {
            *other = if there_is_one { here } else { end_here };
        }
        self.emit(Inst::Restore { slot });
        Ok(())
    }
}

/// The values of a statement, excluding those of nested statements, and what a declared update
/// computes.
fn values_of<'a>(program: &'a Program, stmt: &'a Stmt) -> Vec<&'a Value> {
    let mut found = Vec::new();
    stmt.each_value(&mut |value| found.push(value));
    if let Stmt::Update { atomic: Atomic::By(number), .. } = stmt {
        found.extend(program.updates.get(*number).map(|update| &update.combined));
    }
    if let Stmt::LookBack(LookBack { by, .. }) = stmt {
        found.extend(
            program.look_backs.get(*by).into_iter().flat_map(|of| of.neutral.iter().chain(&of.combined)),
        );
    }
    found
}
