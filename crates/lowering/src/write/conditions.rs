//! Joins neighbouring statements that stand under one condition of the kernel.
//!
//! Each instruction is written under its own predicate. Where the next one has the same, or its
//! negation, it belongs into the same `if`, or after its `else`:
//!
//! ```text
//! float v = x[i];            float v = x[i];
//! if (v > 0.5f) {            if (v > 0.5f) {
//!     a = 2.0f * v;              a = 2.0f * v;
//! }                              y[i] = a;
//! if (x[i] > 0.5f) {         } else {
//!     y[i] = a;                  y[i] = 0.0f;
//! }                          }
//! if (!(x[i] > 0.5f)) {
//!     y[i] = 0.0f;
//! }
//! ```
//!
//! Conditions are compared with their variables replaced by the loads that these stand for. They
//! have one value in both places if nothing that they read is written between the first of these
//! loads and the second condition, by the first branch neither. Only loads may lie between the two
//! statements; they move ahead of both, and of two that load one element the first is kept.

use loopwright_poly::TableSet;

use crate::program::{Destination, Memory, Stmt, UnOp, Value, ValueKind, VarId};

/// Joins them in a body and in those inside it.
pub(super) fn join_conditions(body: &mut Vec<Stmt>) {
    let mut assigned = TableSet::default();
    Stmt::visit(body, &mut |stmt| {
        if let Stmt::Set { var, .. } = stmt {
            assigned.insert(*var);
        }
    });
    let mut same = Vec::new();
    join_in(body, &assigned, &mut same);
    for (from, to) in same {
        replace_in(body, from, to);
    }
}

fn join_in(body: &mut Vec<Stmt>, assigned: &TableSet<VarId>, same: &mut Vec<(VarId, VarId)>) {
    for stmt in body.iter_mut().filter(|stmt| !matches!(stmt, Stmt::Atom { .. } | Stmt::Collective { .. })) {
        stmt.bodies_mut().for_each(|inner| join_in(inner, assigned, same));
    }
    let mut done: Vec<Stmt> = Vec::with_capacity(body.len());
    for stmt in std::mem::take(body) {
        if !joined(&mut done, &stmt, assigned, same) {
            done.push(stmt);
        }
    }
    *body = done;
}

/// The condition of a predicate.
fn predicate(stmt: &Stmt) -> Option<&Value> {
    match stmt {
        Stmt::If { cond, note, .. } if note.is_predicate() => Some(cond),
        _ => None,
    }
}

/// Joins a statement with the last one under a condition, if it can be.
fn joined(
    done: &mut Vec<Stmt>,
    stmt: &Stmt,
    assigned: &TableSet<VarId>,
    same: &mut Vec<(VarId, VarId)>,
) -> bool {
    let Some(second) = predicate(stmt) else { return false };
    let is_load = |stmt: &&Stmt| matches!(stmt, Stmt::Let { .. });
    let loads = done.iter().rev().take_while(is_load).count();
    let Some(at) = done.len().checked_sub(loads + 1) else { return false };
    let Some(first) = predicate(&done[at]) else { return false };
    let mut known = Known { body: done, assigned, from: at };
    let (first, second) = (known.expanded(first), known.expanded(second));
    let from = known.from;
    let negates =
        |a: &Value, b: &Value| matches!(&a.kind, ValueKind::Unary(UnOp::Not, a) if a.is_identical(b));
    let is_else = match first.is_identical(&second) {
        true => false,
        false if negates(&first, &second) || negates(&second, &first) => true,
        false => return false,
    };
    let Some(written) = Written::by(&done[from..]) else { return false };
    let between = done[at + 1..].iter().filter_map(Stmt::value);
    if [&first, &second].into_iter().chain(between).any(|value| written.changes(value)) {
        return false;
    }
    let Stmt::If { body: more, otherwise: others, .. } = stmt.clone() else { return false };
    let mut place = at;
    for load in done.split_off(at + 1) {
        let Stmt::Let { var, value, .. } = &load else { continue };
        let twin = done[from..at].iter().find_map(|stmt| match stmt {
            Stmt::Let { var, value: known, .. } if known.is_identical(value) && !assigned.contains(var) => {
                Some(*var)
            }
            _ => None,
        });
        match twin.filter(|_| !assigned.contains(var)) {
            Some(twin) => same.push((*var, twin)),
            None => {
                done.insert(place, load);
                place += 1;
            }
        }
    }
    // Loads were inserted in front of it.
    let Some(Stmt::If { body, otherwise, .. }) = done.last_mut() else { return false };
    let (then, other) = if is_else { (otherwise, body) } else { (body, otherwise) };
    then.extend(more);
    other.extend(others);
    true
}

/// The statements before a condition, which say what its variables hold.
struct Known<'b> {
    body: &'b [Stmt],
    /// Variables that have other values later.
    assigned: &'b TableSet<VarId>,
    /// The first of the statements whose loads a condition has needed.
    from: usize,
}

impl Known<'_> {
    /// Whether a value could be another one later: indices are not.
    fn changes(&self, value: &Value) -> bool {
        let mut found = false;
        value.visit(&mut |value| {
            found |= match &value.kind {
                ValueKind::Load(_) => true,
                ValueKind::Var(var) => self.assigned.contains(var),
                kind => kind.joins_lanes(),
            };
        });
        found
    }

    /// A value with the loads of this body in place of the variables that hold them.
    fn expanded(&mut self, value: &Value) -> Value {
        if let ValueKind::Var(var) = &value.kind
            && !self.assigned.contains(var)
        {
            let held = self.body.iter().enumerate().find_map(|(k, stmt)| match stmt {
                Stmt::Let { var: declared, value, .. } if declared == var => Some((k, value.clone())),
                _ => None,
            });
            if let Some((k, held)) = held {
                if self.changes(&held) {
                    self.from = self.from.min(k);
                }
                return self.expanded(&held);
            }
        }
        let mut value = value.clone();
        value.each_child_mut(&mut |child| *child = self.expanded(child));
        value
    }
}

/// The arrays and variables that statements write.
struct Written {
    memories: TableSet<Memory>,
    vars: TableSet<VarId>,
}

impl Written {
    /// What these statements write; `None` if other threads may write between them.
    fn by(body: &[Stmt]) -> Option<Written> {
        let mut written = Written { memories: TableSet::default(), vars: TableSet::default() };
        let mut alone = true;
        Stmt::visit(body, &mut |stmt| {
            alone &= stmt.barrier().is_none()
                && !matches!(
                    stmt,
                    Stmt::Async(_) | Stmt::Atom { .. } | Stmt::Collective { .. } | Stmt::Mma { .. }
                );
            match stmt.destination() {
                Some(Destination::Elements(elements)) => {
                    written.memories.insert(elements.element.memory);
                }
                Some(Destination::Var(var)) if !matches!(stmt, Stmt::Let { .. }) => {
                    written.vars.insert(var);
                }
                _ => {}
            }
        });
        alone.then_some(written)
    }

    /// Whether they write what a value reads.
    fn changes(&self, value: &Value) -> bool {
        let mut found = false;
        value.visit(&mut |value| {
            found |= match &value.kind {
                ValueKind::Load(element) => self.memories.contains(&element.memory),
                ValueKind::Var(var) => self.vars.contains(var),
                kind => kind.joins_lanes(),
            };
        });
        found
    }
}

/// Puts one variable in place of another.
fn replace_in(body: &mut [Stmt], from: VarId, to: VarId) {
    fn replace(value: &mut Value, from: VarId, to: VarId) {
        match &mut value.kind {
            ValueKind::Var(var) if *var == from => *var = to,
            _ => value.each_child_mut(&mut |child| replace(child, from, to)),
        }
    }
    for stmt in body {
        stmt.each_value_mut(&mut |value| replace(value, from, to));
        stmt.bodies_mut().for_each(|inner| replace_in(inner, from, to));
    }
}
