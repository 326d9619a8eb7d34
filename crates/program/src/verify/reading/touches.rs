//! The elements of shared and global memory that statements access, in the order in which a thread
//! does: what values read, each under the choices around it, then what is written.

use loopwright_kernel_ir::{Aff, Constraint, Name, WarpLanes};
use loopwright_poly::Result;

use super::{Access, Asked, Barrier, Node, PrivateTouch, Reading, Rows, Terms, Touch, TouchId, lane_of};
use crate::{AsyncCopy, BinOp, LeafId, MemRef, Memory, Scope as SyncScope, Stmt, Value, ValueKind};

impl<'p> Reading<'p> {
    /// The accesses of a statement: what its values read, then what it writes.
    pub(super) fn statement(
        &mut self,
        values: &[&Value],
        to: Option<(&MemRef, u8)>,
        leaf: Option<LeafId>,
    ) -> Result<Node<'p>> {
        let mut found = Vec::new();
        for value in values {
            self.reads(value, leaf, &mut found)?;
        }
        if let Some((to, lanes)) = to {
            self.subscripts(to, &mut found, leaf)?;
            self.touch(to, true, lanes, leaf, &mut found)?;
        }
        Ok(Node::Touches(found))
    }

    /// What all threads of a block have to reach, at this place.
    pub(super) fn barrier(&self, note: &'p str) -> Barrier<'p> {
        Barrier { note, among: SyncScope::Block, around: self.around.clone() }
    }

    /// The accesses of an asynchronous copy, which reads only under its condition.
    pub(super) fn async_copy(&mut self, copy: &'p AsyncCopy) -> Result<Node<'p>> {
        let AsyncCopy { to, from, lanes, when, leaf } = copy;
        let mut found = Vec::new();
        self.subscripts(to, &mut found, *leaf)?;
        let before = self.scope;
        if let Some(when) = when {
            self.reads(when, *leaf, &mut found)?;
            let mut rows = Rows::default();
            let exact = self.condition(when, true, Asked::All, &mut rows)?;
            self.enter(&rows, exact);
        }
        self.subscripts(from, &mut found, *leaf)?;
        let first = self.touches.len();
        self.touch(from, false, *lanes, *leaf, &mut found)?;
        self.scope = before;
        self.touch(to, true, *lanes, *leaf, &mut found)?;
        self.touches[first..].iter_mut().for_each(|touch| touch.asynchronous = true);
        Ok(Node::Touches(found))
    }

    /// The accesses of a store of matrices: a row for each lane that gives the address of one.
    pub(super) fn stored_matrices(&mut self, to: &MemRef, from: &MemRef, matrices: u8) -> Result<Node<'p>> {
        let mut found = Vec::new();
        self.subscripts(from, &mut found, None)?;
        self.subscripts(to, &mut found, None)?;
        let cell: Vec<_> = from.subscripts.iter().map(|s| self.aff(s)).collect::<Result<_>>()?;
        self.access(from, matrices.saturating_mul(Stmt::STORED_ROW / 4), false, &cell);
        self.touch(from, false, 1, None, &mut found)?;
        let before = self.scope;
        let warp = WarpLanes::new(self.kernel.block, self.program.target.warp_size);
        if let Some(warp) = warp.filter(|_| matrices < 4) {
            let lane = warp.digit(1, self.program.target.warp_size.into())?;
            let gives = Constraint::lt(&lane, &Aff::constant(8 * i64::from(matrices)))?;
            self.enter(&Rows { all: vec![gives], either: Vec::new() }, true);
        }
        self.touch(to, true, Stmt::STORED_ROW, None, &mut found)?;
        self.scope = before;
        Ok(Node::Touches(found))
    }

    pub(super) fn subscripts(
        &mut self,
        element: &MemRef,
        found: &mut Vec<TouchId>,
        leaf: Option<LeafId>,
    ) -> Result<()> {
        // The offset says the same once more.
        element.subscripts.iter().try_for_each(|s| self.reads(s, leaf, found))
    }

    /// The elements that a value reads, each under the choices around it.
    fn reads(&mut self, value: &Value, leaf: Option<LeafId>, found: &mut Vec<TouchId>) -> Result<()> {
        match &value.kind {
            ValueKind::Load(element) => {
                self.subscripts(element, found, leaf)?;
                self.touch(element, false, 1, leaf, found)
            }
            ValueKind::Select(cond, a, b) => {
                self.reads(cond, leaf, found)?;
                self.reads_if(cond, true, a, leaf, found)?;
                self.reads_if(cond, false, b, leaf, found)
            }
            ValueKind::Binary(op @ (BinOp::And | BinOp::Or), a, b) => {
                self.reads(a, leaf, found)?;
                self.reads_if(a, *op == BinOp::And, b, leaf, found)
            }
            _ => {
                let mut done = Ok(());
                value.each_child(&mut |child| {
                    if done.is_ok() {
                        done = self.reads(child, leaf, found);
                    }
                });
                done
            }
        }
    }

    fn reads_if(
        &mut self,
        cond: &Value,
        side: bool,
        value: &Value,
        leaf: Option<LeafId>,
        found: &mut Vec<TouchId>,
    ) -> Result<()> {
        let mut touches = false;
        value.visit(&mut |v| touches |= matches!(v.kind, ValueKind::Load(_)));
        if !touches {
            return Ok(());
        }
        let mut rows = Rows::default();
        let exact = self.condition(cond, side, Asked::Indices, &mut rows)?;
        let mut choices = self.choices.clone();
        match exact && rows.either.is_empty() {
            true => choices.iter_mut().for_each(|choices| choices.extend(rows.all.iter().cloned())),
            false => choices = None,
        }
        let around = std::mem::replace(&mut self.choices, choices);
        let before = self.enter(&rows, exact);
        let done = self.reads(value, leaf, found);
        self.scope = before;
        self.choices = around;
        done
    }

    pub(super) fn touch(
        &mut self,
        element: &MemRef,
        write: bool,
        lanes: u8,
        leaf: Option<LeafId>,
        found: &mut Vec<TouchId>,
    ) -> Result<()> {
        let is_private = matches!(element.memory, Memory::Private(_));
        if is_private && !self.in_atom && self.terms != Terms::Text {
            return Ok(());
        }
        let mut cell: Vec<Option<Aff>> =
            element.subscripts.iter().map(|s| self.aff(s)).collect::<Result<_>>()?;
        self.access(element, lanes, true, &cell);
        if is_private && !self.in_atom {
            return Ok(());
        }
        if let Memory::Private(array) = element.memory {
            self.private.push(PrivateTouch { array, write, cell });
            return Ok(());
        }
        let mut scope = self.scope;
        let loaded: Vec<Name> = match self.loads.is_empty() {
            true => Vec::new(),
            false => cell.iter().flatten().flat_map(Aff::names).collect(),
        };
        let lanes = (lanes > 1).then(|| (lane_of(self.touches.len()), lanes));
        if lanes.is_some() || loaded.iter().any(|n| self.loads.contains_key(n)) {
            let mut own = self.scopes[scope].clone();
            loaded.iter().for_each(|n| self.use_load(n, &mut own));
            if let Some((lane, count)) = lanes {
                let lane = Aff::var(lane);
                own.rows.push(Constraint::lt(&lane, &Aff::constant(count.into()))?);
                own.rows.push(Constraint::nonneg(lane.clone()));
                let dense = self.dense(element);
                if let Some(s) = cell.get_mut(dense) {
                    *s = match s {
                        Some(s) => Some(s.add(&lane)?),
                        None => None,
                    };
                }
            }
            self.scopes.push(own);
            scope = self.scopes.len() - 1;
        }
        let (memory, atomic, asynchronous) = (element.memory, None, false);
        let (in_block, choices) = (false, self.choices.clone());
        self.touches.push(Touch {
            memory,
            write,
            atomic,
            in_block,
            asynchronous,
            cell,
            scope,
            choices,
            leaf,
        });
        found.push(self.touches.len() - 1);
        Ok(())
    }

    /// Notes an access, for the check of its bounds.
    pub(super) fn access(&mut self, element: &MemRef, lanes: u8, aligned: bool, cell: &[Option<Aff>]) {
        if self.terms != Terms::Text {
            return;
        }
        let mut scope = self.scope;
        let names: Vec<Name> = cell.iter().flatten().flat_map(Aff::names).collect();
        if names.iter().any(|n| self.loads.contains_key(n)) {
            let mut own = self.scopes[scope].clone();
            names.iter().for_each(|n| self.use_load(n, &mut own));
            self.scopes.push(own);
            scope = self.scopes.len() - 1;
        }
        let (memory, dense, cell) = (element.memory, self.dense(element), cell.to_vec());
        self.accesses.push(Access { memory, lanes, aligned, dense, cell, scope });
    }

    /// The axis along which neighbouring elements lie.
    pub(super) fn dense(&self, element: &MemRef) -> usize {
        let last = element.subscripts.len().saturating_sub(1);
        match element.memory {
            Memory::Global(g) => self
                .program
                .globals
                .get(g)
                .and_then(|g| g.strides.iter().rposition(|s| s.as_int() == Some(1)))
                .unwrap_or(last),
            Memory::Shared(_) | Memory::Private(_) => last,
        }
    }
}
