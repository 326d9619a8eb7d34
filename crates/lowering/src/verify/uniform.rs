//! Whether all threads of a block come to the same barriers.
//!
//! The conditions and bounds around a barrier must have one value for all threads of a block. That is plain where they are made of what
//! all threads have in common: parameters, block coordinates, elements that no kernel writes at common subscripts. Otherwise two threads that
//! differ are looked for.

use loopwright_kernel_ir::{Aff, Constraint};
use loopwright_legality::{THREAD_COORDINATES, is_coordinate};
use loopwright_poly::{Result, System};

use super::reading::{Barrier, Decision, Node, Reading, Rows, ScopeId};
use crate::program::{Memory, Program, Stmt, Value, ValueKind};

/// A barrier to which some threads may come and others not.
#[derive(Clone, Debug)]
pub(super) struct Divergence {
    /// What the barrier says of itself.
    pub barrier: String,
    /// Two threads that differ, the second one's coordinates primed; `None` where that is not known.
    pub case: Option<System>,
}

/// The variables whose values may differ between the threads of a block.
pub(super) fn varying(program: &Program, kernel: &crate::program::DeviceKernel) -> Vec<bool> {
    let mut varying = vec![false; kernel.vars.len()];
    loop {
        let before = varying.clone();
        mark(program, kernel, &kernel.body, false, &mut varying);
        if varying == before {
            return varying;
        }
    }
}

fn mark(
    program: &Program,
    kernel: &crate::program::DeviceKernel,
    body: &[Stmt],
    around: bool,
    varying: &mut [bool],
) {
    for stmt in body {
        match stmt {
            Stmt::Let { var, value, .. } | Stmt::Set { var, value, .. } => {
                let varies = around || varies(program, kernel, value, varying);
                if let Some(v) = varying.get_mut(var.0) {
                    *v |= varies;
                }
            }
            Stmt::For { var, lower, upper, body, .. } => {
                let bounds =
                    varies(program, kernel, lower, varying) || varies(program, kernel, upper, varying);
                if let Some(v) = varying.get_mut(var.0) {
                    *v |= around || bounds;
                }
                mark(program, kernel, body, around || bounds, varying);
            }
            Stmt::If { cond, body, otherwise, .. } => {
                let around = around || varies(program, kernel, cond, varying);
                mark(program, kernel, body, around, varying);
                mark(program, kernel, otherwise, around, varying);
            }
            Stmt::Collective { body, .. } => mark(program, kernel, body, around, varying),
            Stmt::Declare(_)
            | Stmt::Store { .. }
            | Stmt::Update { .. }
            | Stmt::VectorCopy { .. }
            | Stmt::Sync { .. } => {}
        }
    }
}

/// Whether a value may differ between the threads of a block.
fn varies(program: &Program, kernel: &crate::program::DeviceKernel, value: &Value, varying: &[bool]) -> bool {
    match &value.kind {
        ValueKind::ThreadIdx(axis) => kernel.block.get(usize::from(*axis)).is_none_or(|b| *b > 1),
        ValueKind::Var(var) => varying.get(var.0).copied().unwrap_or(true),
        ValueKind::Shuffle { .. } => true,
        ValueKind::Load(element) => {
            let constant = matches!(element.memory, Memory::Global(g)
                if program.globals.get(g).is_some_and(|g| !g.written));
            !constant || element.subscripts.iter().any(|s| varies(program, kernel, s, varying))
        }
        _ => value.children().into_iter().any(|child| varies(program, kernel, child, varying)),
    }
}

impl Reading<'_> {
    /// The first barrier to which some threads may come and others not.
    pub fn divergence(
        &mut self,
        context: &[Constraint],
        questions: &mut usize,
    ) -> Result<Option<Divergence>> {
        fn barriers<'p>(nodes: &[Node<'p>], found: &mut Vec<Barrier<'p>>) {
            for node in nodes {
                match node {
                    Node::Barrier(b) => found.push(b.clone()),
                    Node::Loop(_, body) => barriers(body, found),
                    Node::Choice(body, otherwise) => {
                        barriers(body, found);
                        barriers(otherwise, found);
                    }
                    Node::Touches(_) => {}
                }
            }
        }
        let mut found = Vec::new();
        barriers(&self.body, &mut found);
        if found.iter().all(|b| b.around.is_empty()) {
            return Ok(None);
        }
        let varying = varying(self.program, self.kernel);
        let mut asked: Vec<(ScopeId, Decision<'_>)> = Vec::new();
        for barrier in found {
            for (scope, decision) in barrier.around {
                let varies = |v: &Value| varies(self.program, self.kernel, v, &varying);
                let uniform = match decision {
                    Decision::If(cond, _) => !varies(cond),
                    Decision::Bounds(lower, upper) => !varies(lower) && !varies(upper),
                };
                if uniform || asked.contains(&(scope, decision)) {
                    continue;
                }
                if let Some(case) = self.differs(scope, decision, context, questions)? {
                    return Ok(Some(Divergence { barrier: barrier.note.to_string(), case }));
                }
                asked.push((scope, decision));
            }
        }
        Ok(None)
    }

    /// Two threads of a block for which a decision may differ; the inner `None` where there is no telling.
    fn differs(
        &mut self,
        scope: ScopeId,
        decision: Decision<'_>,
        context: &[Constraint],
        questions: &mut usize,
    ) -> Result<Option<Option<System>>> {
        let mine = |n: &loopwright_kernel_ir::Name| THREAD_COORDINATES.contains(&n.as_str());
        let other = |aff: &Aff| aff.substitute(&|n| mine(n).then(|| Aff::var(format!("{n}'"))));
        // Pairs of constraints of which the first thread fulfils one and the second one the other.
        let mut cases: Vec<Vec<Constraint>> = Vec::new();
        let mut exact = self.scope(scope).exact;
        match decision {
            Decision::If(cond, side) => {
                let mut all = Rows::default();
                if !self.condition(cond, side, &mut all)? || !all.either.is_empty() {
                    return Ok(Some(None));
                }
                let rows = all.all;
                for c in &rows {
                    for not in c.negations()? {
                        let mut case = rows.clone();
                        case.push(Constraint { kind: not.kind, aff: other(&not.aff)? });
                        cases.push(case);
                    }
                }
            }
            Decision::Bounds(lower, upper) => {
                for bound in [lower, upper] {
                    let Some(bound) = self.aff(bound)? else { return Ok(Some(None)) };
                    let theirs = other(&bound)?;
                    cases.push(vec![Constraint::lt(&bound, &theirs)?]);
                }
            }
        }
        let rows = self.scope(scope).rows.clone();
        let own = rows.iter().chain(cases.iter().flatten()).flat_map(Constraint::names);
        if own.into_iter().any(|n| !is_coordinate(n.trim_end_matches('\'')) && n.contains('[')) {
            exact = false;
        }
        for case in cases {
            let mut all = context.to_vec();
            all.extend(rows.iter().cloned());
            for c in &rows {
                let c = Constraint { kind: c.kind, aff: other(&c.aff)? };
                if !all.contains(&c) {
                    all.push(c);
                }
            }
            all.extend(case);
            *questions += 1;
            let system = System::new(&all)?;
            if !system.is_empty()? {
                return Ok(Some(exact.then_some(system)));
            }
        }
        Ok(None)
    }
}
