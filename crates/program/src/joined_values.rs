//! Which variables of a join hold values of the state that is joined.
//!
//! No part of an instruction computes them, so that their statements have no leaf; neither have
//! those of indices. A value that comes from another thread or from an array, and what is computed
//! of one, is data: its arithmetic wraps.

use std::collections::BTreeSet;

use crate::{DeviceKernel, Stmt, Value, ValueKind, VarId};

impl DeviceKernel {
    /// The variables of joins that hold data, without those that count as indices.
    pub fn joined_values(&self) -> BTreeSet<VarId> {
        let mut found = BTreeSet::new();
        Stmt::visit(&self.body, &mut |stmt| {
            if let Stmt::Collective { body, .. } = stmt {
                Stmt::visit(body, &mut |stmt| self.joined_in(stmt, &mut found));
            }
        });
        found
    }

    fn joined_in(&self, stmt: &Stmt, found: &mut BTreeSet<VarId>) {
        if let Stmt::Let { var, value, leaf: None } | Stmt::Set { var, value, leaf: None } = stmt
            && self.vars.get(var.0).is_some_and(|v| !v.index)
            && is_joined(value, found)
        {
            found.insert(*var);
        }
    }
}

/// Whether a value comes from an array or another thread, by itself or by a variable.
fn is_joined(value: &Value, known: &BTreeSet<VarId>) -> bool {
    match &value.kind {
        ValueKind::Load(_) | ValueKind::Shuffle { .. } => true,
        ValueKind::Var(var) => known.contains(var),
        _ => value.children().into_iter().any(|child| is_joined(child, known)),
    }
}
