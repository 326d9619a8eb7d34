//! What a statement reads, writes, assigns and synchronises, defined in one place for all passes.
//!
//! Each query is about the statement itself, not the statements in its bodies ([`Stmt::bodies`]);
//! [`Stmt::visit`] visits all of them. A new kind of statement is described here, and passes that
//! need only these answers pick it up.

use crate::{Async, AsyncCopy, LookBack, MemRef, Memory, Note, Scope, Stmt, Value, ValueKind, VarId};

/// Contiguous elements that a statement touches in one access.
#[derive(Clone, Copy, Debug)]
pub struct Accessed<'a> {
    /// The first element, with the lowest address.
    pub element: &'a MemRef,
    /// Number of elements, along the contiguous axis.
    pub lanes: u8,
}

/// Where a statement puts a value.
#[derive(Clone, Copy, Debug)]
pub enum Destination<'a> {
    /// A variable of the thread.
    Var(VarId),
    /// Contiguous elements of an array.
    Elements(Accessed<'a>),
}

/// What a statement does with a variable.
struct Variable {
    var: VarId,
    declared: bool,
    assigned: bool,
}

impl Stmt {
    /// The bytes of a row of a matrix that is loaded by [`Stmt::LoadMatrices`].
    pub const ROW_BYTES: usize = 16;

    /// The elements of a row of a matrix that is stored by [`Stmt::StoreMatrices`].
    pub const STORED_ROW: u8 = 8;

    /// The lanes among which [`Stmt::LoadMatrices`] distributes a matrix of eight rows: each gets a
    /// fourth of one.
    pub const LANES_OF_MATRIX: u32 = 32;

    /// The bodies of the statement: both sides of a choice, both forms of an atom's statements.
    pub fn bodies(&self) -> impl Iterator<Item = &Vec<Stmt>> {
        let (first, second) = match self {
            Stmt::For { body, .. } | Stmt::Collective { body, .. } => (Some(body), None),
            Stmt::If { body, otherwise, .. } => (Some(body), Some(otherwise)),
            Stmt::Atom { contract, body, .. } => (Some(contract), Some(body)),
            Stmt::Let { .. }
            | Stmt::Declare(_)
            | Stmt::Set { .. }
            | Stmt::Store { .. }
            | Stmt::Update { .. }
            | Stmt::VectorCopy { .. }
            | Stmt::Sync { .. }
            | Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::LookBack(_)
            | Stmt::Async(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// As [`Stmt::bodies`], mutably.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Vec<Stmt>> {
        let (first, second) = match self {
            Stmt::For { body, .. } | Stmt::Collective { body, .. } => (Some(body), None),
            Stmt::If { body, otherwise, .. } => (Some(body), Some(otherwise)),
            Stmt::Atom { contract, body, .. } => (Some(contract), Some(body)),
            Stmt::Let { .. }
            | Stmt::Declare(_)
            | Stmt::Set { .. }
            | Stmt::Store { .. }
            | Stmt::Update { .. }
            | Stmt::VectorCopy { .. }
            | Stmt::Sync { .. }
            | Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::LookBack(_)
            | Stmt::Async(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The bodies that run: of an atom's statements the form that the hardware does, not the
    /// contract.
    pub fn running(&self) -> impl Iterator<Item = &Vec<Stmt>> {
        let skipped = usize::from(matches!(self, Stmt::Atom { .. }));
        self.bodies().skip(skipped)
    }

    /// The statement's note: why it is there.
    pub fn note_mut(&mut self) -> Option<&mut Note> {
        match self {
            Stmt::For { note, .. }
            | Stmt::If { note, .. }
            | Stmt::Sync { note, .. }
            | Stmt::Async(Async::Wait { note, .. })
            | Stmt::Collective { note, .. }
            | Stmt::Atom { note, .. } => Some(note),
            Stmt::Let { .. }
            | Stmt::Declare(_)
            | Stmt::Set { .. }
            | Stmt::Store { .. }
            | Stmt::Update { .. }
            | Stmt::VectorCopy { .. }
            | Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::LookBack(_)
            | Stmt::Async(Async::Copy(_) | Async::Commit) => None,
        }
    }

    /// Calls `f` on each statement, in preorder.
    pub fn visit<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
        for stmt in body {
            f(stmt);
            stmt.bodies().for_each(|body| Stmt::visit(body, f));
        }
    }

    /// Calls `f` on each element that the statement itself names, not those inside of values; of
    /// several neighbours on the first.
    pub fn each_element<'a>(&'a self, f: &mut dyn FnMut(&'a MemRef)) {
        match self {
            Stmt::Store { to, .. } | Stmt::Update { to, .. } => f(to),
            Stmt::VectorCopy { to, from, .. }
            | Stmt::LoadMatrices { to, from, .. }
            | Stmt::StoreMatrices { to, from, .. }
            | Stmt::Async(Async::Copy(AsyncCopy { to, from, .. })) => {
                f(to);
                f(from);
            }
            Stmt::Mma { d, a, b, .. } => d.iter().chain([a, b]).for_each(f),
            Stmt::LookBack(LookBack { word, .. }) => f(word),
            Stmt::Let { .. }
            | Stmt::Set { .. }
            | Stmt::Declare(_)
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Sync { .. }
            | Stmt::Async(Async::Commit | Async::Wait { .. })
            | Stmt::Atom { .. }
            | Stmt::Collective { .. } => {}
        }
    }

    /// Calls `f` on each value that the statement evaluates: subscripts and offsets of its
    /// accesses, and its operands.
    pub fn each_value<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        self.each_element(&mut |element| {
            element.subscripts.iter().for_each(&mut *f);
            f(&element.offset);
        });
        self.each_operand(f);
    }

    /// As [`Stmt::each_value`], mutably.
    pub fn each_value_mut(&mut self, f: &mut dyn FnMut(&mut Value)) {
        match self {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } => f(value),
            Stmt::Store { to, value, .. } | Stmt::Update { to, value, .. } => {
                to.each_value_mut(f);
                f(value);
            }
            Stmt::VectorCopy { to, from, .. }
            | Stmt::LoadMatrices { to, from, .. }
            | Stmt::StoreMatrices { to, from, .. } => {
                to.each_value_mut(f);
                from.each_value_mut(f);
            }
            Stmt::Async(Async::Copy(AsyncCopy { to, from, when, .. })) => {
                to.each_value_mut(f);
                from.each_value_mut(f);
                when.iter_mut().for_each(f);
            }
            Stmt::Mma { d, a, b, .. } => {
                d.iter_mut().chain([a, b]).for_each(|element| element.each_value_mut(f));
            }
            Stmt::LookBack(LookBack { word, total, .. }) => {
                word.each_value_mut(f);
                total.iter_mut().for_each(f);
            }
            Stmt::For { lower, upper, .. } => {
                f(lower);
                f(upper);
            }
            Stmt::If { cond, .. } => f(cond),
            Stmt::Declare(_)
            | Stmt::Sync { .. }
            | Stmt::Async(Async::Commit | Async::Wait { .. })
            | Stmt::Collective { .. }
            | Stmt::Atom { .. } => {}
        }
    }

    /// Calls `f` on each operand: bounds, conditions, assigned and stored values.
    pub fn each_operand<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        match self {
            Stmt::Let { value, .. }
            | Stmt::Set { value, .. }
            | Stmt::Store { value, .. }
            | Stmt::Update { value, .. } => f(value),
            Stmt::For { lower, upper, .. } => {
                f(lower);
                f(upper);
            }
            Stmt::If { cond, .. } => f(cond),
            Stmt::LookBack(LookBack { total, .. }) => total.iter().for_each(f),
            Stmt::Async(Async::Copy(AsyncCopy { when, .. })) => when.iter().for_each(f),
            Stmt::Declare(_)
            | Stmt::VectorCopy { .. }
            | Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::Sync { .. }
            | Stmt::Async(_)
            | Stmt::Collective { .. }
            | Stmt::Atom { .. } => {}
        }
    }

    /// Calls `f` on each value of the statement and all its subexpressions.
    pub fn visit_values<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        self.each_value(&mut |value| value.visit(f));
    }

    /// The elements that the statement writes, if any. Those that [`Stmt::Mma`] writes are said by
    /// the contract of the atom around it, and the words of blocks that look back by
    /// [`Stmt::published`].
    pub fn written(&self) -> Option<Accessed<'_>> {
        match self {
            Stmt::Store { to, .. } | Stmt::Update { to, .. } => Some(Accessed { element: to, lanes: 1 }),
            Stmt::VectorCopy { to, lanes, .. } | Stmt::Async(Async::Copy(AsyncCopy { to, lanes, .. })) => {
                Some(Accessed { element: to, lanes: *lanes })
            }
            Stmt::LoadMatrices { to, matrices, row, .. } => {
                Some(Accessed { element: to, lanes: matrices.saturating_mul(row / 4) })
            }
            Stmt::StoreMatrices { to, .. } => Some(Accessed { element: to, lanes: Stmt::STORED_ROW }),
            Stmt::Let { .. }
            | Stmt::Declare(_)
            | Stmt::Set { .. }
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Sync { .. }
            | Stmt::Atom { .. }
            | Stmt::Mma { .. }
            | Stmt::Async(Async::Commit | Async::Wait { .. })
            | Stmt::LookBack(_)
            | Stmt::Collective { .. } => None,
        }
    }

    /// The array in global memory through which blocks look back, if the statement is a look-back:
    /// it writes the words of its own block, and reads those of others.
    pub fn published(&self) -> Option<usize> {
        match self {
            Stmt::LookBack(LookBack { word: MemRef { memory: Memory::Global(array), .. }, .. }) => {
                Some(*array)
            }
            _ => None,
        }
    }

    /// The elements that the statement copies as they are, if it does.
    pub fn source(&self) -> Option<Accessed<'_>> {
        match self {
            Stmt::VectorCopy { from, lanes, .. }
            | Stmt::Async(Async::Copy(AsyncCopy { from, lanes, .. })) => {
                Some(Accessed { element: from, lanes: *lanes })
            }
            Stmt::LoadMatrices { from, row, .. } => Some(Accessed { element: from, lanes: *row }),
            Stmt::StoreMatrices { from, matrices, .. } => {
                Some(Accessed { element: from, lanes: matrices.saturating_mul(Stmt::STORED_ROW / 4) })
            }
            Stmt::Let { .. }
            | Stmt::Declare(_)
            | Stmt::Set { .. }
            | Stmt::Store { .. }
            | Stmt::Update { .. }
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Sync { .. }
            | Stmt::Atom { .. }
            | Stmt::Mma { .. }
            | Stmt::Async(Async::Commit | Async::Wait { .. })
            | Stmt::LookBack(_)
            | Stmt::Collective { .. } => None,
        }
    }

    /// Where the statement puts the value that it computes or copies, if it does. The counter of a
    /// loop is not meant: it takes its values by itself.
    pub fn destination(&self) -> Option<Destination<'_>> {
        if let Stmt::For { .. } = self {
            return None;
        }
        let var = self.variable().filter(|of| of.assigned).map(|of| Destination::Var(of.var));
        var.or_else(|| self.written().map(Destination::Elements))
    }

    /// The value that the statement computes for its destination; `None` if it copies elements as
    /// they are ([`Stmt::source`]), or puts no value anywhere.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Stmt::Let { value, .. }
            | Stmt::Set { value, .. }
            | Stmt::Store { value, .. }
            | Stmt::Update { value, .. } => Some(value),
            Stmt::Declare(_)
            | Stmt::VectorCopy { .. }
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Sync { .. }
            | Stmt::Atom { .. }
            | Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::Async(_)
            | Stmt::LookBack(_)
            | Stmt::Collective { .. } => None,
        }
    }

    /// Calls `f` on each array access that the statement reads, including those in values and
    /// subscripts.
    pub fn each_read<'a>(&'a self, f: &mut dyn FnMut(Accessed<'a>)) {
        self.source().into_iter().for_each(&mut *f);
        if let Stmt::Mma { d, a, b, .. } = self {
            for element in d.iter().chain([a, b]) {
                f(Accessed { element, lanes: 1 });
            }
        }
        self.visit_values(&mut |value| {
            if let ValueKind::Load(element) = &value.kind {
                f(Accessed { element, lanes: 1 });
            }
        });
    }

    /// The variables that the statement assigns: several by a look-back, otherwise one or none.
    pub fn assigned(&self) -> impl Iterator<Item = VarId> + '_ {
        self.variable().filter(|of| of.assigned).map(|of| of.var).into_iter().chain(self.learnt())
    }

    /// The variables that the statement declares, likewise.
    pub fn declared(&self) -> impl Iterator<Item = VarId> + '_ {
        self.variable().filter(|of| of.declared).map(|of| of.var).into_iter().chain(self.learnt())
    }

    /// The variables of what a look-back learns, which it declares and assigns.
    fn learnt(&self) -> impl Iterator<Item = VarId> + '_ {
        let before = match self {
            Stmt::LookBack(LookBack { before, .. }) => before.as_slice(),
            _ => &[],
        };
        before.iter().copied()
    }

    fn variable(&self) -> Option<Variable> {
        let of = |var: &VarId, declared, assigned| Some(Variable { var: *var, declared, assigned });
        match self {
            Stmt::Let { var, .. } | Stmt::For { var, .. } => of(var, true, true),
            Stmt::Declare(var) => of(var, true, false),
            Stmt::Set { var, .. } => of(var, false, true),
            Stmt::Store { .. }
            | Stmt::Update { .. }
            | Stmt::VectorCopy { .. }
            | Stmt::If { .. }
            | Stmt::Sync { .. }
            | Stmt::Atom { .. }
            | Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::Async(_)
            | Stmt::LookBack(_)
            | Stmt::Collective { .. } => None,
        }
    }

    /// The asynchronous copy that the statement issues, if it does.
    pub fn async_copy(&self) -> Option<&AsyncCopy> {
        match self {
            Stmt::Async(Async::Copy(copy)) => Some(copy),
            _ => None,
        }
    }

    /// Whether asynchronous copies occur in a body.
    pub fn copies_asynchronously(body: &[Stmt]) -> bool {
        let mut found = false;
        Stmt::visit(body, &mut |stmt| found |= matches!(stmt, Stmt::Async(_)));
        found
    }

    /// Whether the lanes of a warp do the statement together, besides exchanges in its values.
    pub fn joins_lanes(&self) -> bool {
        matches!(
            self,
            Stmt::Mma { .. } | Stmt::LoadMatrices { .. } | Stmt::StoreMatrices { .. } | Stmt::LookBack(_)
        )
    }

    /// The number of statements in a body that store matrices.
    pub fn stores_of_matrices(body: &[Stmt]) -> usize {
        let mut found = 0;
        Stmt::visit(body, &mut |stmt| found += usize::from(matches!(stmt, Stmt::StoreMatrices { .. })));
        found
    }

    /// Whether barriers of one of these scopes occur in a body.
    pub fn synchronises(body: &[Stmt], scopes: &[Scope]) -> bool {
        let mut found = false;
        Stmt::visit(body, &mut |stmt| {
            found |= stmt.barrier().is_some_and(|scope| scopes.contains(&scope));
        });
        found
    }

    /// The scope of the statement as a barrier, if it is one.
    pub fn barrier(&self) -> Option<Scope> {
        match self {
            Stmt::Sync { scope, .. } => Some(*scope),
            Stmt::Let { .. }
            | Stmt::Declare(_)
            | Stmt::Set { .. }
            | Stmt::Store { .. }
            | Stmt::Update { .. }
            | Stmt::VectorCopy { .. }
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Atom { .. }
            | Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::Async(_)
            | Stmt::LookBack(_)
            | Stmt::Collective { .. } => None,
        }
    }
}
