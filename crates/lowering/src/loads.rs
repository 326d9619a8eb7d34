//! What a statement reads several times is loaded once.
//!
//! * Lanes of a thread often share what they read: of `acc[ir, jr] += a[ir] * b[jr]` the elements
//!   of `a` are loaded once for all `jr`, those of `b` once for all `ir`, into arrays of the thread
//!   (registers, once all is unrolled). All lanes of a statement read before one of them writes, so
//!   that this changes nothing.
//! * An element that one statement names twice, as in `x[i] * x[i]`, is loaded into a variable.
//!
//! Only what is read in any case is loaded ahead: where guards tell lanes apart, or a choice
//! decides what is read, everything is read where it stands.

use loopwright_kernel_ir::{Access, AddressSpace, BinaryOp, Diagnostic, Expr, Name, Part, Tag};

use crate::{
    analysis::{Guard, PartInfo},
    emitter::{Emitter, known},
    env::{Env, Loaded},
    items::Item,
    program::{LeafId, LocalArray, Memory, Stmt},
    translate::Target,
};

/// A read of a part: how often it stands in the text, and whether it is made in any case.
struct Read {
    access: Access,
    count: usize,
    certain: bool,
}

impl Emitter<'_, '_> {
    /// The reads of memory that a part makes, those of private values left out.
    fn reads(&self, info: &PartInfo) -> Vec<Read> {
        let instruction = self.analysis.instruction(info);
        let predicate = instruction.predicate.as_ref();
        let mut found = Vec::new();
        for e in loopwright_legality::evaluated(instruction, info.execution.part.part) {
            let certain = predicate.is_none() || predicate == Some(e);
            self.note_reads(e, certain && info.filling.is_none(), &mut found);
        }
        found
    }

    /// The elements of memory that an expression reads in any case.
    pub fn certain_reads(&self, e: &Expr) -> Vec<Access> {
        let mut found = Vec::new();
        self.note_reads(e, true, &mut found);
        found.into_iter().filter(|r| r.certain).map(|r| r.access).collect()
    }

    fn note_reads(&self, e: &Expr, certain: bool, found: &mut Vec<Read>) {
        match e {
            Expr::Reduce(_) => return,
            Expr::If(c, a, b) => {
                self.note_reads(c, certain, found);
                self.note_reads(a, false, found);
                self.note_reads(b, false, found);
                return;
            }
            Expr::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                self.note_reads(a, certain, found);
                self.note_reads(b, false, found);
                return;
            }
            Expr::Subscript(access) => {
                let array = self.analysis.lookup.array(&access.array);
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
            self.note_reads(child, certain, found);
        }
    }

    /// Loads what a statement reads more than once.
    pub fn load_repeated(
        &mut self,
        info: &PartInfo,
        leaf: LeafId,
        env: &mut Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut stmts = Vec::new();
        if matches!(info.execution.part.part, Part::Init(_)) {
            return Ok(stmts);
        }
        for read in self.reads(info) {
            let here = read.count > 1 && read.certain && is_plain(&read.access);
            if here && !env.loaded.iter().any(|(a, _)| *a == read.access) {
                stmts.push(self.load_into_variable(&read.access, leaf, env)?);
            }
        }
        Ok(stmts)
    }

    fn load_into_variable(
        &mut self,
        access: &Access,
        leaf: LeafId,
        env: &mut Env,
    ) -> Result<Stmt, Diagnostic> {
        let value = self.read(access, env)?;
        let var = self.new_var(&format!("{}_value", access.array), value.dtype, false);
        env.loaded.push((access.clone(), Loaded::Var(var)));
        Ok(Stmt::Let { var, value, leaf: Some(leaf) })
    }

    /// A part in the loops over its lanes, what several lanes read loaded before them; `None` where
    /// nothing is shared, or some lanes may be guarded.
    pub fn emit_loaded(
        &mut self,
        number: usize,
        info: &PartInfo,
        lanes: &[Name],
        env: &Env,
    ) -> Result<Option<Vec<Stmt>>, Diagnostic> {
        let analysis = self.analysis;
        if lanes.is_empty() || matches!(info.execution.part.part, Part::Init(_)) {
            return Ok(None);
        }
        let written = &analysis.instruction(info).targets;
        let mut shared: Vec<(Access, Vec<Name>)> = Vec::new();
        for read in self.reads(info) {
            let of = self.lanes_of(&read.access, lanes);
            let stays = written.iter().any(|t| t.array == read.access.array);
            if read.certain && of.len() < lanes.len() && !stays && is_plain(&read.access) {
                shared.push((read.access, of));
            }
        }
        if shared.is_empty() {
            return Ok(None);
        }
        let mut guards: Vec<Guard> = Vec::new();
        for guard in &info.guards {
            if env.implies(&guard.canonical)? {
                continue;
            }
            if !guard.canonical.names().iter().all(|n| self.available(n, env)) {
                // Perhaps the ranges of the lanes are all that it says.
                let mut all = env.clone();
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
        let guards = self.irredundant(&guards, env)?;
        let mut inner = env.clone();
        inner.learn(&guards.iter().map(|g| g.canonical.clone()).collect::<Vec<_>>())?;
        let leaf = self.leaf(number, env);
        let mut stmts = Vec::new();
        let mut loaded = inner.clone();
        for (access, of) in &shared {
            if of.is_empty() {
                stmts.push(self.load_into_variable(access, leaf, &mut loaded)?);
            } else {
                let array = self.load_lanes(info, access, of, leaf, &inner, &mut stmts)?;
                loaded.loaded.push((access.clone(), Loaded::Array { number: array, lanes: of.clone() }));
            }
        }
        stmts.extend(self.emit_lanes(number, info, lanes, &loaded)?);
        let mut body = Vec::new();
        let note = self.guard_note(&guards, &Item::Leaf(number), env);
        self.guarded(&mut body, &guards, stmts, note, env)?;
        Ok(Some(body))
    }

    /// The lanes that an access depends on, in the order of the statement's.
    fn lanes_of(&self, access: &Access, lanes: &[Name]) -> Vec<Name> {
        let names: Vec<Name> = access.index.iter().flat_map(Expr::names).collect();
        let uses = |lane: &&Name| names.iter().any(|n| self.analysis.lookup.base_of(n).contains(lane));
        lanes.iter().filter(uses).cloned().collect()
    }

    /// Loads an element for each value of these lanes into an array of the thread: its number.
    fn load_lanes(
        &mut self,
        info: &PartInfo,
        access: &Access,
        lanes: &[Name],
        leaf: LeafId,
        env: &Env,
        stmts: &mut Vec<Stmt>,
    ) -> Result<usize, Diagnostic> {
        let array = self.analysis.lookup.array(&access.array);
        let Some(array) = array else {
            return Err(Diagnostic::new("unknown-name", format!("there is no array `{}`", access.array)));
        };
        let dtype = known(&array.dtype, &access.array)?;
        let name = self.unique(&format!("{}_reg", access.array.trim_end_matches("_tile")));
        let dims = self.lane_lengths(lanes);
        let vector = match lanes.split_last() {
            Some((last, before)) if self.analysis.kernel.tag(last) == Tag::Vec => {
                let length = dims.last().and_then(|d| i64::try_from(*d).ok()).unwrap_or(0);
                let whole = matches!(length, 2 | 4 | 8 | 16);
                let vector = whole && self.is_vector(access, last, length, env)?;
                if whole
                    && !vector
                    && let Some(refusal) = self.unaligned(info, access, false, last, length)?
                {
                    return Err(refusal);
                }
                vector.then_some((last, before, length))
            }
            _ => None,
        };
        self.private.push(LocalArray { name, dtype, dims, note: String::new() });
        let number = self.private.len() - 1;
        let filled = match vector {
            Some((lane, before, length)) => self.lane_loops(before, env, &mut |this, env| {
                let row = this.lane_values(before, env)?;
                let mut first = env.clone();
                this.learn_lane(lane, &mut first)?;
                first.set(lane.clone(), this.index_int(0));
                first.bound.insert(lane.clone());
                let mut body = this.lets(&mut first)?;
                body.extend(this.vector_copies(access, number, &row, length, false, &first, leaf)?);
                Ok(body)
            })?,
            None => self.lane_loops(lanes, env, &mut |this, env| {
                let Target::Element(from, dtype) = this.element(access, env)? else {
                    return Err(Diagnostic::new("internal", "an element of memory in a variable"));
                };
                let row = this.lane_values(lanes, env)?;
                let to = this.local_element(Memory::Private(number), row);
                Ok(vec![Stmt::Store { to, value: this.load(from, dtype), leaf: Some(leaf) }])
            })?,
        };
        stmts.extend(filled);
        Ok(number)
    }
}

/// Whether no subscript is read from memory itself.
fn is_plain(access: &Access) -> bool {
    access.index.iter().all(|s| s.to_aff().is_some())
}
