//! What a statement reads, writes, assigns and synchronises, defined in one place for all passes.
//!
//! Each query is about the statement itself, not the statements in its bodies ([`Stmt::bodies`]);
//! [`Stmt::visit`] visits all of them. A new kind of statement is described here, and passes that
//! need only these answers pick it up.

use crate::{Async, AsyncCopy, MemRef, Scope, Stmt, Value, ValueKind, VarId};

/// Contiguous elements that a statement touches in one access.
#[derive(Clone, Copy, Debug)]
pub struct Accessed<'a> {
    /// The first element.
    pub element: &'a MemRef,
    /// Number of elements, along the contiguous axis.
    pub lanes: u8,
}

impl Stmt {
    /// The bodies of the statement; both sides of a choice.
    pub fn bodies(&self) -> impl Iterator<Item = &Vec<Stmt>> {
        let (first, second) = match self {
            Stmt::For { body, .. } | Stmt::Collective { body, .. } => (Some(body), None),
            Stmt::If { body, otherwise, .. } => (Some(body), Some(otherwise)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// As [`Stmt::bodies`], mutably.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Vec<Stmt>> {
        let (first, second) = match self {
            Stmt::For { body, .. } | Stmt::Collective { body, .. } => (Some(body), None),
            Stmt::If { body, otherwise, .. } => (Some(body), Some(otherwise)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Calls `f` on each statement, in preorder.
    pub fn visit<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
        for stmt in body {
            f(stmt);
            stmt.bodies().for_each(|body| Stmt::visit(body, f));
        }
    }

    /// Calls `f` on each value that the statement evaluates: subscripts and offsets of its
    /// accesses, bounds, conditions, stored values.
    pub fn each_value<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        let address = |element: &'a MemRef, f: &mut dyn FnMut(&'a Value)| {
            element.subscripts.iter().for_each(&mut *f);
            f(&element.offset);
        };
        match self {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } => f(value),
            Stmt::Store { to, value, .. } | Stmt::Update { to, value, .. } => {
                address(to, f);
                f(value);
            }
            Stmt::VectorCopy { to, from, .. } => {
                address(to, f);
                address(from, f);
            }
            Stmt::For { lower, upper, .. } => {
                f(lower);
                f(upper);
            }
            Stmt::If { cond, .. } => f(cond),
            Stmt::Async(Async::Copy(AsyncCopy { to, from, when, .. })) => {
                address(to, f);
                address(from, f);
                when.iter().for_each(f);
            }
            Stmt::Declare(_) | Stmt::Sync { .. } | Stmt::Async(_) | Stmt::Collective { .. } => {}
        }
    }

    /// Calls `f` on each value of the statement and all its subexpressions.
    pub fn visit_values<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        self.each_value(&mut |value| value.visit(f));
    }

    /// The elements that the statement writes, if any.
    pub fn written(&self) -> Option<Accessed<'_>> {
        match self {
            Stmt::Store { to, .. } | Stmt::Update { to, .. } => Some(Accessed { element: to, lanes: 1 }),
            Stmt::VectorCopy { to, lanes, .. } | Stmt::Async(Async::Copy(AsyncCopy { to, lanes, .. })) => {
                Some(Accessed { element: to, lanes: *lanes })
            }
            _ => None,
        }
    }

    /// Calls `f` on each array access that the statement reads, including those in values and
    /// subscripts.
    pub fn each_read<'a>(&'a self, f: &mut dyn FnMut(Accessed<'a>)) {
        if let Stmt::VectorCopy { from, lanes, .. }
        | Stmt::Async(Async::Copy(AsyncCopy { from, lanes, .. })) = self
        {
            f(Accessed { element: from, lanes: *lanes });
        }
        self.visit_values(&mut |value| {
            if let ValueKind::Load(element) = &value.kind {
                f(Accessed { element, lanes: 1 });
            }
        });
    }

    /// The variable that the statement assigns, if any.
    pub fn assigned(&self) -> Option<VarId> {
        match self {
            Stmt::Let { var, .. } | Stmt::Set { var, .. } | Stmt::For { var, .. } => Some(*var),
            _ => None,
        }
    }

    /// The variable that the statement declares, if any.
    pub fn declared(&self) -> Option<VarId> {
        match self {
            Stmt::Let { var, .. } | Stmt::For { var, .. } | Stmt::Declare(var) => Some(*var),
            _ => None,
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

    /// The scope of the statement as a barrier, if it is one.
    pub fn barrier(&self) -> Option<Scope> {
        match self {
            Stmt::Sync { scope, .. } => Some(*scope),
            _ => None,
        }
    }
}
