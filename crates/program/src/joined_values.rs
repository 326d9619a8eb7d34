//! Which variables of a join hold values of the state that is joined.
//!
//! No part of an instruction computes them, so that their statements have no leaf; neither have
//! those of indices. What comes from an array of the block or the thread that a part writes is
//! data, as is, in a join between threads, what comes from another thread or any such array; and
//! so is what is computed of data. Its arithmetic wraps.

use std::collections::BTreeSet;

use crate::{DeviceKernel, Memory, Stmt, Value, ValueKind, VarId};

impl DeviceKernel {
    /// The variables of joins that hold data, without those that count as indices.
    pub fn joined_values(&self) -> BTreeSet<VarId> {
        let mut of_parts = BTreeSet::new();
        Stmt::visit(&self.body, &mut |stmt| {
            let written = stmt.leaf().and_then(|_| stmt.written()).map(|to| to.element.memory);
            of_parts.extend(written.filter(|memory| !matches!(memory, Memory::Global(_))));
        });
        let mut joined = Joined { kernel: self, of_parts, found: BTreeSet::new() };
        joined.body(&self.body, false);
        joined.found
    }
}

struct Joined<'k> {
    kernel: &'k DeviceKernel,
    /// Arrays of blocks and threads that hold values of parts.
    of_parts: BTreeSet<Memory>,
    found: BTreeSet<VarId>,
}

impl Joined<'_> {
    fn body(&mut self, body: &[Stmt], between_threads: bool) {
        for stmt in body {
            if let Stmt::Let { var, value, leaf: None } | Stmt::Set { var, value, leaf: None } = stmt
                && self.kernel.vars.get(var.0).is_some_and(|v| !v.index)
                && self.is_data(value, between_threads)
            {
                self.found.insert(*var);
            }
            let is_join = between_threads || matches!(stmt, Stmt::Collective { .. });
            stmt.bodies().for_each(|body| self.body(body, is_join));
        }
    }

    fn is_data(&self, value: &Value, between_threads: bool) -> bool {
        match &value.kind {
            ValueKind::Load(element) => between_threads || self.of_parts.contains(&element.memory),
            ValueKind::Shuffle { .. } if between_threads => true,
            ValueKind::Var(var) => self.found.contains(var),
            _ => value.children().into_iter().any(|child| self.is_data(child, between_threads)),
        }
    }
}
