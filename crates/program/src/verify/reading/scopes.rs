//! The places of a text: what holds there.
//!
//! Each body has a scope, with what the scope around it says and its own condition or bounds. Where
//! predicates of the kernel stand around, the same place without what they say is a scope, too
//! ([`Scope::guards`]): instances may be kept from running by their predicate alone.

use loopwright_kernel_ir::{Aff, Constraint, Name};

use super::{Reading, Rows, Scope, ScopeId, declared_of};

impl Reading<'_> {
    /// What holds at a place.
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id]
    }

    /// The scope of what is being read.
    pub fn place(&self) -> ScopeId {
        self.scope
    }

    /// The constraints around what is being read.
    pub fn scope_rows(&self) -> &[Constraint] {
        &self.scopes[self.scope].rows
    }

    /// Asks something as if the text were being read at a place.
    pub fn at<T>(&mut self, scope: ScopeId, ask: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.scope, scope);
        let answer = ask(self);
        self.scope = before;
        answer
    }

    /// Adds what holds everywhere.
    pub(super) fn restrict(&mut self, mut rows: Rows, exact: bool) {
        let scope = &mut self.scopes[0];
        scope.unread |= !exact;
        scope.exact &= exact && rows.either.is_empty();
        scope.rows.append(&mut rows.all);
        scope.either.append(&mut rows.either);
    }

    /// Goes into a scope with more constraints; gives the one before.
    pub(super) fn enter(&mut self, rows: &Rows, exact: bool) -> ScopeId {
        let before = self.scope;
        let guards = self.scopes[before].guards.map(|guards| self.narrowed(guards, rows, exact));
        self.scope = self.narrowed(before, rows, exact);
        self.scopes[self.scope].guards = guards;
        before
    }

    /// Goes into the scope of a side of a predicate; gives the one before.
    pub(super) fn enter_predicate(&mut self, rows: &Rows, exact: bool) -> ScopeId {
        let before = self.scope;
        self.scope = self.narrowed(before, rows, exact);
        self.scopes[self.scope].guards = self.scopes[before].guards.or(Some(before));
        before
    }

    /// A scope like this one, with more constraints.
    fn narrowed(&mut self, of: ScopeId, rows: &Rows, exact: bool) -> ScopeId {
        let mut scope = self.scopes[of].clone();
        for c in &rows.all {
            c.aff.visit_names(&mut |name| self.use_load(name, &mut scope));
            scope.rows.push(c.clone());
        }
        scope.unread |= !exact;
        scope.exact &= exact && rows.either.is_empty();
        scope.either.extend(rows.either.iter().cloned());
        self.scopes.push(scope);
        self.scopes.len() - 1
    }

    /// Lets a scope know of a value read from data, and of those that it was read with.
    pub(super) fn use_load(&self, name: &Name, scope: &mut Scope) {
        let Some(load) = self.loads.get(name) else { return };
        if scope.loads.iter().any(|l| l.name == *name) {
            return;
        }
        for argument in load.arguments.iter().flat_map(Aff::names) {
            self.use_load(&argument, scope);
        }
        scope.loads.push(load.clone());
        scope.exact = false;
        // A fact is about what the caller gives, not about what the program writes.
        if !self.program.writes(&load.array) {
            scope.rows.extend(declared_of(&self.program.facts, &load.array, &Aff::var(name)));
        }
    }
}
