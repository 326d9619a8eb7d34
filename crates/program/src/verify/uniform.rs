//! Whether all threads of a block, or all lanes of a warp, come to the same barriers.
//!
//! The conditions and bounds around a barrier must have one value for all threads of a block. That
//! is plain where they are made of what all threads have in common: parameters, block coordinates,
//! elements that no kernel writes at common subscripts. Otherwise two threads that differ are
//! looked for. Of a warp's barriers and exchanges ([`super::exchanges`]) what is plain is, besides
//! the above, the number of the warp, votes, and what all lanes take from one.

use loopwright_kernel_ir::{Aff, Constraint, Dim, HardwareAxis, Name, PerDim};
use loopwright_legality::is_coordinate;
use loopwright_poly::{Result, System, TableSet};

use super::reading::{Barrier, Decision, Node, Reading, Rows, ScopeId};
use crate::{
    BinOp, DeviceKernel, Memory, Program, Scope as SyncScope, ShuffleMode, Step, Stmt, Value, ValueKind,
};

/// A barrier or an exchange to which some threads may come and others not.
#[derive(Clone, Debug)]
pub(super) struct Divergence {
    /// What it is: a barrier, the commit of a group of asynchronous copies, a wait, an exchange.
    pub what: &'static str,
    /// Who should come to it: the threads of a block, or the lanes of a warp.
    pub among: SyncScope,
    /// What the barrier says of itself.
    pub barrier: String,
    /// Two threads that differ, the second one's coordinates primed; `None` where that is not
    /// known.
    pub case: Option<System>,
}

/// What may differ between threads that should come to the same barriers.
pub(super) struct Varying<'p> {
    program: &'p Program,
    kernel: &'p DeviceKernel,
    /// Between the threads of a block, or of a warp.
    among: SyncScope,
    /// The variables whose values may differ.
    vars: Vec<bool>,
    /// Arrays in global memory that the kernel writes.
    written: TableSet<usize>,
}

impl<'p> Varying<'p> {
    pub fn new(program: &'p Program, kernel: &'p DeviceKernel, among: SyncScope) -> Self {
        let mut written = TableSet::default();
        Stmt::visit(&kernel.body, &mut |stmt| {
            if let Some(Memory::Global(number)) = stmt.written().map(|to| to.element.memory) {
                written.insert(number);
            }
        });
        let mut varying = Varying { program, kernel, among, vars: vec![false; kernel.vars.len()], written };
        loop {
            let before = varying.vars.clone();
            varying.mark(&kernel.body, false);
            if varying.vars == before {
                return varying;
            }
        }
    }

    /// Whether the threads may decide differently.
    pub fn decision(&self, decision: &Decision<'_>) -> bool {
        match decision {
            Decision::If(cond, ..) => self.varies(cond),
            Decision::Bounds(lower, upper, _) => self.varies(lower) || self.varies(upper),
        }
    }

    fn mark(&mut self, body: &[Stmt], around: bool) {
        for stmt in body {
            // What is assigned, and whether a body runs, depends on the operands.
            let mut varies = around;
            stmt.each_operand(&mut |value| varies |= self.varies(value));
            for var in stmt.assigned() {
                if let Some(v) = self.vars.get_mut(var.0) {
                    *v |= varies;
                }
            }
            stmt.bodies().for_each(|body| self.mark(body, varies));
        }
    }

    /// Whether a value may differ among the threads that have to agree.
    pub fn varies(&self, value: &Value) -> bool {
        let of_warp = self.among == SyncScope::Warp;
        match &value.kind {
            ValueKind::ThreadIdx(dim) => self.kernel.block[*dim] > 1,
            // The number of the warp.
            ValueKind::Binary(BinOp::TruncDiv | BinOp::FloorDiv, a, b)
                if of_warp
                    && matches!(self.kernel.block, PerDim { y: 1, z: 1, .. })
                    && a.kind == ValueKind::ThreadIdx(Dim::X)
                    && b.as_int()
                        .is_some_and(|b| b > 0 && b % i64::from(self.program.target.warp_size) == 0) =>
            {
                false
            }
            ValueKind::Var(var) => self.vars.get(var.0).copied().unwrap_or(true),
            ValueKind::Shuffle { mode: ShuffleMode::Index, operand, width, .. }
                if of_warp && *width == self.program.target.warp_size =>
            {
                self.varies(operand)
            }
            ValueKind::Any(_) | ValueKind::Ballot(_) => !of_warp,
            ValueKind::Shuffle { .. } => true,
            ValueKind::Load(element) => {
                let constant = matches!(element.memory, Memory::Global(g)
                    if self.program.globals.get(g).is_some_and(|g| !g.written)
                        || of_warp && !self.written.contains(&g));
                !constant || element.subscripts.iter().any(|s| self.varies(s))
            }
            _ => value.children().into_iter().any(|child| self.varies(child)),
        }
    }
}

impl Reading<'_> {
    /// The first barrier to which some threads may come and others not.
    pub fn divergence(&mut self, context: &[Constraint], queries: &mut usize) -> Result<Option<Divergence>> {
        fn barriers<'p>(nodes: &[Node<'p>], found: &mut Vec<(&'static str, Barrier<'p>)>) {
            for node in nodes {
                match node {
                    Node::Barrier(b) if b.among == SyncScope::Block => found.push(("barrier", b.clone())),
                    Node::Commit(b) => found.push(("commit", b.clone())),
                    Node::Wait(_, b) => found.push(("wait", b.clone())),
                    // What is the same for the whole block is so for each warp.
                    Node::Together(b) => found.push(("atom", b.clone())),
                    Node::Barrier(_) => {}
                    Node::Loop(_, body) => barriers(body, found),
                    Node::Choice([(_, body), (_, otherwise)]) => {
                        barriers(body, found);
                        barriers(otherwise, found);
                    }
                    Node::Touches(_) => {}
                }
            }
        }
        let mut found = Vec::new();
        barriers(&self.body, &mut found);
        if found.iter().all(|(_, b)| b.around.is_empty()) {
            return Ok(None);
        }
        let varying = Varying::new(self.program, self.kernel, SyncScope::Block);
        let mut asked: Vec<(ScopeId, Decision<'_>)> = Vec::new();
        for (what, barrier) in found {
            for (scope, decision) in barrier.around {
                if !varying.decision(&decision) || asked.contains(&(scope, decision)) {
                    continue;
                }
                if let Some(case) = self.differs(SyncScope::Block, (scope, decision), context, queries)? {
                    let barrier = barrier.note.to_string();
                    return Ok(Some(Divergence { what, among: SyncScope::Block, barrier, case }));
                }
                asked.push((scope, decision));
            }
        }
        Ok(None)
    }

    /// Two threads of a block, or of a warp, for which a decision may differ; the inner `None`
    /// where there is no telling.
    pub(super) fn differs(
        &mut self,
        among: SyncScope,
        (scope, decision): (ScopeId, Decision<'_>),
        context: &[Constraint],
        queries: &mut usize,
    ) -> Result<Option<Option<System>>> {
        // Cases in which the first thread comes to the barrier more often than the second one.
        let mut cases: Vec<Vec<Constraint>> = Vec::new();
        // Cases in which the two differ, but may come there equally often.
        let mut unlike: Vec<Vec<Constraint>> = Vec::new();
        let mut exact = self.scope(scope).exact;
        match decision {
            Decision::If(cond, side, asked) => {
                let mut all = Rows::default();
                let read = self.at(scope, |this| this.condition(cond, side, asked, &mut all))?;
                if !read || !all.either.is_empty() {
                    return Ok(Some(None));
                }
                let rows = all.all;
                let other = |aff: &Aff| self.of_other(aff);
                for c in &rows {
                    for not in c.negations()? {
                        let mut case = rows.clone();
                        case.push(Constraint { kind: not.kind, aff: other(&not.aff)? });
                        cases.push(case);
                    }
                }
            }
            Decision::Bounds(lower, upper, step) => {
                let mut length = Aff::constant(0);
                for (bound, sign) in [(lower, -1), (upper, 1)] {
                    let Some(bound) = self.at(scope, |this| this.aff(bound))? else { return Ok(Some(None)) };
                    length = length.add(&bound.scale(sign)?)?;
                    unlike.push(vec![Constraint::lt(&bound, &self.of_other(&bound)?)?]);
                }
                // As long by a step, if there is an iteration at all, is one iteration more.
                if let Step::Add(step) = step {
                    let shorter = self.of_other(&length)?.add_constant(step)?;
                    cases.push(vec![
                        Constraint::lt(&Aff::constant(0), &length)?,
                        Constraint::le(&shorter, &length)?,
                    ]);
                }
            }
        }
        let rows = self.scope(scope).rows.clone();
        let mut together = context.to_vec();
        if among == SyncScope::Warp {
            let warp = self.number_in_block()?.floor_div(i64::from(self.program.target.warp_size))?;
            together.push(Constraint::equal(&warp, &self.of_other(&warp)?)?);
        }
        let asked = cases.iter().chain(&unlike).flatten();
        let own = rows.iter().chain(asked).flat_map(Constraint::names);
        if own.into_iter().any(|n| !is_coordinate(n.trim_end_matches('\'')) && n.contains('[')) {
            exact = false;
        }
        let cases = cases.into_iter().map(|case| (case, exact));
        for (case, exact) in cases.chain(unlike.into_iter().map(|case| (case, false))) {
            let mut all = together.clone();
            all.extend(rows.iter().cloned());
            for c in &rows {
                let c = Constraint { kind: c.kind, aff: self.of_other(&c.aff)? };
                if !all.contains(&c) {
                    all.push(c);
                }
            }
            all.extend(case);
            *queries += 1;
            let system = System::new(&all)?;
            if !system.is_empty()? {
                return Ok(Some(exact.then_some(system)));
            }
        }
        Ok(None)
    }

    /// The number of a thread in its block.
    pub(super) fn number_in_block(&self) -> Result<Aff> {
        let PerDim { x, y, .. } = self.kernel.block.map(i64::from);
        let [along_x, along_y, along_z] =
            [Dim::X, Dim::Y, Dim::Z].map(|dim| HardwareAxis::Block(dim).position());
        along_x.add(&along_y.scale(x)?)?.add(&along_z.scale(x * y)?)
    }

    /// A function for the second one of two threads of a block: its coordinates, and what it reads
    /// from data at places that depend on them, are its own.
    fn of_other(&self, aff: &Aff) -> Result<Aff> {
        aff.substitute(&|n| self.is_of_thread(n).then(|| Aff::var(format!("{n}'"))))
    }

    /// Whether two threads of a block may have different values of a name.
    fn is_of_thread(&self, name: &Name) -> bool {
        if HardwareAxis::of_coordinate(name).is_some_and(HardwareAxis::is_in_block) {
            return true;
        }
        let arguments = self.arguments_of(name).into_iter().flatten().flat_map(Aff::names);
        arguments.into_iter().any(|argument| self.is_of_thread(&argument))
    }
}
