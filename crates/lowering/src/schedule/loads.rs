//! Loads elements once that a statement reads several times.
//!
//! * Lanes of a thread often read the same elements: of `acc[ir, jr] += a[ir] * b[jr]` the elements
//!   of `a` are loaded once for all `jr`, those of `b` once for all `ir`, into private arrays
//!   (registers, once everything is unrolled). All lanes of a statement read before any of them
//!   writes, so the result is the same.
//! * An element that one statement names twice, as in `x[i] * x[i]`, is loaded into a variable.
//!
//! Only unconditional reads are hoisted: where guards separate lanes, or a conditional expression
//! selects what is read, every element is read in place.

use loopwright_kernel_ir::{Access, AddressSpace, BinaryOp, Diagnostic, Expr, Name, Part, Tag};

use super::{
    Load, LoadHow, Node, Statement, Which,
    guards::{canonical, irredundant},
    lanes::Context,
    place::Place,
    planner::Planner,
};
use crate::analyse::analysis::{Analysis, Guard, PartInfo};

/// A read of a part: how often it occurs in the text, and whether it is unconditional.
struct Read {
    access: Access,
    count: usize,
    certain: bool,
}

/// The reads of memory that a part makes, except those of private values.
fn reads(analysis: &Analysis<'_>, info: &PartInfo) -> Vec<Read> {
    let instruction = analysis.instruction(info);
    let predicate = instruction.predicate.as_ref();
    let mut found = Vec::new();
    for e in loopwright_legality::evaluated(instruction, info.execution.part.part) {
        let certain = predicate.is_none() || predicate == Some(e);
        note_reads(analysis, e, certain && info.filling.is_none(), &mut found);
    }
    found
}

/// The elements of memory that an expression reads unconditionally.
pub(crate) fn certain_reads(analysis: &Analysis<'_>, e: &Expr) -> Vec<Access> {
    let mut found = Vec::new();
    note_reads(analysis, e, true, &mut found);
    found.into_iter().filter(|r| r.certain).map(|r| r.access).collect()
}

fn note_reads(analysis: &Analysis<'_>, e: &Expr, certain: bool, found: &mut Vec<Read>) {
    match e {
        Expr::Reduce(_) => return,
        Expr::If(c, a, b) => {
            note_reads(analysis, c, certain, found);
            note_reads(analysis, a, false, found);
            note_reads(analysis, b, false, found);
            return;
        }
        Expr::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
            note_reads(analysis, a, certain, found);
            note_reads(analysis, b, false, found);
            return;
        }
        Expr::Subscript(access) => {
            let array = analysis.lookup.array(&access.array);
            if array.is_some_and(|a| a.space != AddressSpace::Private) {
                match found.iter_mut().find(|r| r.access == *access) {
                    Some(read) => {
                        read.count += 1;
                        read.certain |= certain;
                    }
                    None => found.push(Read { access: access.clone(), count: 1, certain }),
                }
            }
        }
        _ => {}
    }
    for child in e.children() {
        note_reads(analysis, child, certain, found);
    }
}

impl Planner<'_, '_> {
    /// A statement of a part, where these elements have been loaded.
    pub fn statement(&self, of: &Which, loaded: &[Access], place: &Place) -> Result<Statement, Diagnostic> {
        let info = of.info(self.analysis);
        let mut repeated = Vec::new();
        if !matches!(info.execution.part.part, Part::Init(_)) {
            for read in reads(self.analysis, info) {
                let here = read.count > 1 && read.certain && is_plain(&read.access);
                if here && !loaded.contains(&read.access) {
                    repeated.push(read.access);
                }
            }
        }
        let mut filling = Vec::new();
        for guard in info.filling.iter().flat_map(|f| &f.guards) {
            if !place.implies(&guard.canonical)? {
                filling.push(guard.clone());
            }
        }
        let atomic = self.analysis.update(info).filter(|_| self.atomic.contains(&of.number));
        Ok(Statement { of: of.clone(), repeated, filling: irredundant(&filling, place)?, atomic })
    }

    /// A part in the loops over its lanes, with shared elements loaded before these loops; `None`
    /// if nothing is shared, or some lanes may be guarded.
    pub fn shared_loads(
        &mut self,
        of: &Which,
        lanes: &[Name],
        place: &Place,
    ) -> Result<Option<Vec<Node>>, Diagnostic> {
        let analysis = self.analysis;
        let info = of.info(analysis);
        let is_asynchronous = analysis.copies_asynchronously(of.number);
        if lanes.is_empty() || is_asynchronous || matches!(info.execution.part.part, Part::Init(_)) {
            return Ok(None);
        }
        let written = &analysis.instruction(info).targets;
        let mut shared: Vec<(Access, Vec<Name>)> = Vec::new();
        for read in reads(analysis, info) {
            let own = self.lanes_of(&read.access, lanes);
            let stays = written.iter().any(|t| t.array == read.access.array);
            if read.certain && own.len() < lanes.len() && !stays && is_plain(&read.access) {
                shared.push((read.access, own));
            }
        }
        if shared.is_empty() {
            return Ok(None);
        }
        let mut guards: Vec<Guard> = Vec::new();
        for guard in &info.guards {
            if place.implies(&guard.canonical)? {
                continue;
            }
            if !self.testable(&guard.canonical, place) {
                // The guard may state only the ranges of the lanes.
                let mut all = place.clone();
                for lane in lanes {
                    self.learn_lane(lane, &mut all)?;
                }
                if !all.implies(&guard.canonical)? {
                    return Ok(None);
                }
            } else if !guards.contains(guard) {
                guards.push(guard.clone());
            }
        }
        let guards = irredundant(&guards, place)?;
        let inside = place.with(&canonical(&guards))?;
        let mut loads = Vec::new();
        let mut context = Context::default();
        for (access, own) in shared {
            let how = self.how_to_load(info, &access, own, &inside)?;
            context.loaded.push(access.clone());
            loads.push(Load { access, how });
        }
        let body = self.lanes(of, lanes, &context, &inside)?;
        let node = Node::Loads { of: of.clone(), loads, body };
        Ok(Some(self.guarded(guards, Some(of.clone()), inside, vec![node])))
    }

    /// The lanes that an access depends on, in the order of the statement's.
    fn lanes_of(&self, access: &Access, lanes: &[Name]) -> Vec<Name> {
        let names: Vec<Name> = access.index.iter().flat_map(Expr::names).collect();
        // A private scalar among the subscripts has a value in each lane that writes it.
        let written = |n: &Name, lane: &Name| self.analysis.writers(n).any(|(_, w)| w.inames.contains(lane));
        let uses = |lane: &&Name| {
            names.iter().any(|n| self.analysis.lookup.base_of(n).contains(lane) || written(n, lane))
        };
        lanes.iter().filter(uses).cloned().collect()
    }

    /// How an element for each value of these lanes is loaded.
    fn how_to_load(
        &self,
        info: &PartInfo,
        access: &Access,
        lanes: Vec<Name>,
        place: &Place,
    ) -> Result<LoadHow, Diagnostic> {
        let Some((last, before)) = lanes.split_last() else { return Ok(LoadHow::Variable) };
        if self.analysis.kernel.tag(last) != Tag::Vec {
            return Ok(LoadHow::Elements(lanes));
        }
        let length = self.analysis.extents.get(last).and_then(|e| e.constant).unwrap_or(1);
        if !matches!(length, 2 | 4 | 8 | 16) {
            return Ok(LoadHow::Elements(lanes));
        }
        if self.is_vector(access, last, length, place)? {
            let mut first = place.clone();
            for lane in before {
                first = self.in_lane(lane, &first)?;
            }
            self.learn_lane(last, &mut first)?;
            first.bound.insert(last.clone());
            return Ok(LoadHow::Vectors(lanes, length, Box::new(first)));
        }
        match self.unaligned(info, access, false, last, length)? {
            Some(refusal) => Err(refusal),
            None => Ok(LoadHow::Elements(lanes)),
        }
    }
}

/// Whether no subscript itself reads memory.
fn is_plain(access: &Access) -> bool {
    access.index.iter().all(|s| s.to_aff().is_some())
}
