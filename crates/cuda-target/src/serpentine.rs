//! Products of registers are visited back and forth.
//!
//! A nest of unrolled loops `for j { for i { acc[j][i] += a[i] * b[j] } }` reads `b[j]` in all
//! iterations of the inner loops, and the hardware keeps an operand that the instruction before has
//! read. Where `j` advances, both operands would change; if `i` then runs in the other direction,
//! `a[i]` stays. Hence inner loops run upwards where the counter of the loop around them is even,
//! and downwards where it is odd (a *serpentine*).
//!
//! The order of iterations makes no difference: each has an element of its own, at subscripts of
//! which each loop of the nest counts one; it reads of that array nothing else, and the other
//! arrays that it reads are private and not written in the nest.

use std::collections::BTreeSet;

use loopwright_program::{DeviceKernel, MemRef, Memory, Step, Stmt, Value, ValueKind, VarId};

/// The loops of a nest that run back and forth.
#[derive(Clone, Debug)]
pub(crate) struct Serpentine {
    /// The loop around them, which decides the direction.
    pub(crate) by: VarId,
    /// Their counters, which begin at 0, with the last value of each.
    turning: Vec<(VarId, i64)>,
}

impl Serpentine {
    /// If this counter goes back and forth: who decides its direction, and its last value.
    pub(crate) fn turn(&self, counter: VarId) -> Option<(VarId, i64)> {
        let (_, last) = self.turning.iter().find(|(var, _)| *var == counter)?;
        Some((self.by, *last))
    }

    /// Which loops run back and forth, if the statement is the outermost loop of such a nest.
    pub(crate) fn of(kernel: &DeviceKernel, stmt: &Stmt) -> Option<Serpentine> {
        let mut loops = Vec::new();
        let mut stmt = stmt;
        while let Stmt::For { var, lower, upper, step: Step::Add(1), unroll: true, body, .. } = stmt {
            let (Some(0), Some(end), [only]) = (lower.as_int(), upper.as_int(), &body[..]) else {
                return None;
            };
            loops.push((*var, end - 1));
            stmt = only;
        }
        let Stmt::Store { to, value, .. } = stmt else { return None };
        let counters: BTreeSet<VarId> = loops.iter().map(|(var, _)| *var).collect();
        let Memory::Private(array) = to.memory else { return None };
        // In a layout of their own, cells may share an element.
        if kernel.private.get(array)?.layout.is_some() {
            return None;
        }
        let read = operands(to, value, &counters)?;
        // The loops of a suffix turn if one operand stays in all of them, and another one depends
        // on some of them, but not on the loop around them.
        (1..loops.len()).rev().find_map(|start| {
            let (by, turning) = (loops[start - 1].0, &loops[start..]);
            let turns = |of: &BTreeSet<VarId>| turning.iter().any(|(var, _)| of.contains(var));
            let stays = read.iter().any(|of| !turns(of) && of.contains(&by));
            let kept = read.iter().any(|of| turns(of) && !of.contains(&by));
            (stays && kept).then(|| Serpentine { by, turning: turning.to_vec() })
        })
    }
}

/// The counters on which each element depends that the stored value reads from other arrays than
/// the one that is written; `None` if the order of iterations might matter.
fn operands(to: &MemRef, value: &Value, counters: &BTreeSet<VarId>) -> Option<Vec<BTreeSet<VarId>>> {
    let is_private = |m: &MemRef| matches!(m.memory, Memory::Private(_));
    let counted: Vec<VarId> = to.subscripts.iter().filter_map(|s| counter(s, counters)).collect();
    let own = counted.iter().collect::<BTreeSet<_>>().len() == counters.len();
    let mut independent = own;
    // Which element it is depends on counters and what the kernel knows before, and on no memory.
    for subscript in &to.subscripts {
        subscript.visit(&mut |s| independent &= !matches!(s.kind, ValueKind::Load(_)));
    }
    let mut read = Vec::new();
    value.visit(&mut |v| match &v.kind {
        ValueKind::Load(m) if m.memory == to.memory => independent &= m.subscripts == to.subscripts,
        ValueKind::Load(m) => {
            independent &= is_private(m);
            let mut on = BTreeSet::new();
            for subscript in &m.subscripts {
                subscript.visit(&mut |s| on.extend(counter(s, counters)));
            }
            read.push(on);
        }
        ValueKind::Shuffle { .. } | ValueKind::Ballot(_) | ValueKind::Any(_) => independent = false,
        _ => {}
    });
    independent.then_some(read)
}

/// The counter that a value is, if it is one of these.
fn counter(value: &Value, counters: &BTreeSet<VarId>) -> Option<VarId> {
    match &value.kind {
        ValueKind::Var(var) if counters.contains(var) => Some(*var),
        _ => None,
    }
}
