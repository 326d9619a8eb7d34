//! The nodes of a schedule as statements.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Access, Aff, Constraint, DType, Diagnostic, HardwareAxis, Name};

use crate::{
    analyse::arrays::{dense_axis, known, widest},
    program::{Async, BinOp, LeafId, LocalArray, Memory, Note, Scope, Step, Stmt, Value, ValueKind},
    schedule::{
        Branch, Counter, Ends, Guarded, Load, LoadHow, Loop, Node, Vector, Which, loop_bounds::Side,
        place::Place, spoken::fails,
    },
    write::{
        emitter::Emitter,
        env::{Env, Loaded},
        fold::{add, and, mul},
        translate::Target,
    },
};

/// The contents of loops over lanes.
pub(super) type Inside<'f, E> = &'f mut dyn FnMut(&mut E, &Env) -> Result<Vec<Stmt>, Diagnostic>;

impl Emitter<'_, '_> {
    /// The statements of neighbouring nodes.
    pub fn nodes(&mut self, nodes: &[Node], env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        let mut env = env.clone();
        let mut body = Vec::new();
        for node in nodes {
            body.extend(match node {
                Node::Known(place) => {
                    env.place = place.clone();
                    Vec::new()
                }
                Node::Sync(note) => vec![Stmt::Sync { scope: Scope::Block, note: note.clone() }],
                Node::Atom(plan) => vec![self.atom(plan, &env)?],
                Node::StoreMatrices(plan) => self.stored_matrices(plan, &env)?,
                Node::Commit => vec![Stmt::Async(Async::Commit)],
                Node::Wait(pending, note) => {
                    vec![Stmt::Async(Async::Wait { pending: *pending, note: note.clone() })]
                }
                Node::Join { join, plan, barriers } if join.scan => self.scan(join, *plan, barriers, &env)?,
                Node::Join { join, plan, barriers } => self.join(join, *plan, barriers, &env)?,
                Node::Start(join) => self.start(join, &env)?,
                Node::Loop(l) => vec![self.loop_of(l, &env)?],
                Node::Once { iname, value, inside, body } => self.once((iname, value), inside, body, &env)?,
                Node::Guard(guarded) => vec![self.guard(guarded, &env)?],
                Node::Ends { ends, note, body } => {
                    let cond = self.ends(ends, &env)?;
                    let (body, note) = (self.nodes(body, &env)?, note.clone());
                    vec![Stmt::If { cond, body, otherwise: Vec::new(), note }]
                }
                Node::Lane { lane, inside, body } => {
                    vec![
                        self.lane_loop((lane, 1), &env.inside(inside), &mut |this, env| {
                            this.nodes(body, env)
                        })?,
                    ]
                }
                Node::Statement(statement) => self.statement(statement, &env)?,
                Node::Branch(branch) => self.branch(branch, &env)?,
                Node::Loads { of, loads, body } => self.loads(of, loads, body, &env)?,
                Node::Vector(vector) => self.vector(vector, &env)?,
                Node::VectorLoads { of, accesses, around, lane, length, first } => {
                    let leaf = self.leaf(of.number, &env);
                    let (mut stmts, first) = self.first_lane(lane, first, &env)?;
                    let row = self.lane_values(around, &first)?;
                    for access in accesses {
                        let buffer = self.vector_buffer(access, around, *length)?;
                        stmts.extend(
                            self.copies_of_vector(access, buffer, &row, *length, false, &first, leaf)?,
                        );
                        self.ahead.push((access.clone(), buffer));
                    }
                    stmts
                }
                Node::Ahead { accesses, lanes, loads, uses } => {
                    let mut stmts = self.nodes(loads, &env)?;
                    let mut using = env.clone();
                    for access in accesses {
                        let Some(k) = self.ahead.iter().position(|(a, _)| a == access) else { continue };
                        let (access, number) = self.ahead.swap_remove(k);
                        using.loaded.push((access, Loaded::Array { number, lanes: lanes.clone() }));
                    }
                    stmts.extend(self.nodes(uses, &using)?);
                    stmts
                }
            });
        }
        Ok(body)
    }

    fn guard(&mut self, guarded: &Guarded, env: &Env) -> Result<Stmt, Diagnostic> {
        let inner = env.inside(&guarded.inside);
        let body = self.nodes(&guarded.body, &inner)?;
        let mut cond = None;
        for g in &guarded.guards {
            let c = self.guard_condition(g, env)?;
            cond = Some(and(cond, c));
        }
        let cond = cond.ok_or_else(|| Diagnostic::new("internal", "a guard without conditions"))?;
        let note = self.guard_note(&guarded.explained, guarded.of.as_ref(), &inner);
        Ok(Stmt::If { cond, body, otherwise: Vec::new(), note })
    }

    fn branch(&mut self, branch: &Branch, env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        let mut inner = env.clone();
        let mut stmts = Vec::new();
        for (of, names) in &branch.loads {
            let Some((first, others)) = names.split_first() else { continue };
            let leaf = self.leaf(of.number, env);
            stmts.push(self.load_into_variable(first, leaf, &mut inner)?);
            let loaded = inner.loaded.last().map(|(_, loaded)| loaded.clone());
            inner.loaded.extend(others.iter().cloned().zip(std::iter::repeat(loaded).flatten()));
        }
        let at = crate::write::scope::Scope::of(&inner);
        let cond = self.value(&branch.predicate, DType::Bool, at)?;
        let (body, otherwise) = (self.nodes(&branch.then, &inner)?, self.nodes(&branch.otherwise, &inner)?);
        stmts.push(Stmt::If { cond, body, otherwise, note: Note::predicate() });
        Ok(stmts)
    }

    /// Whether some lane of a vector is in range, judged by each guard separately, and some is not.
    fn ends(&mut self, ends: &Ends, env: &Env) -> Result<Value, Diagnostic> {
        let mut cond: Option<Value> = None;
        for c in &ends.fails {
            let own = self.condition(&fails(c)?, env)?;
            cond = Some(match cond {
                Some(cond) => Value::binary(BinOp::Or, cond, own),
                None => own,
            });
        }
        let mut cond = cond.ok_or_else(|| Diagnostic::new("internal", "no guard tells lanes apart"))?;
        for c in &ends.holds {
            cond = Value::binary(BinOp::And, cond, self.condition(c, env)?);
        }
        Ok(cond)
    }

    fn loop_of(&mut self, l: &Loop, env: &Env) -> Result<Stmt, Diagnostic> {
        let mut inner = env.inside(&l.inside);
        let (var, lower, upper, step) = match &l.counter {
            Counter::Iname => {
                let lower = self.extreme(&l.bounds.lower, env, Side::Lower)?;
                let upper = self.extreme(&l.bounds.upper, env, Side::Upper)?;
                let var = self.new_index(&l.iname, Aff::var(&l.iname));
                inner.set(l.iname.clone(), self.var_value(var));
                (var, lower, upper, 1)
            }
            Counter::Sum(sum) => {
                let mut upper: Option<Value> = None;
                for end in &sum.ends {
                    let end = self.aff_value(end, env)?;
                    upper = Some(match upper {
                        None => end,
                        Some(u) => Value::binary(BinOp::Min, u, end),
                    });
                }
                let upper = upper.ok_or_else(|| Diagnostic::new("internal", "a loop without an end"))?;
                let start = self.extreme(&l.bounds.lower, env, Side::Lower)?;
                let rest = self.aff_value(&sum.rest, env)?;
                let lower = add(mul(start, self.index_int(sum.step)), rest);
                let var = self.new_index(&sum.name, env.with_constants(&sum.canonical)?);
                inner.set(sum.name.clone(), self.var_value(var));
                inner.named.push((sum.name.clone(), sum.canonical.clone()));
                (var, lower, upper, sum.step)
            }
        };
        let mut body = self.lets(&mut inner)?;
        body.extend(self.nodes(&l.body, &inner)?);
        let (step, unroll, note) = (Step::Add(step), l.unroll, l.note.clone());
        Ok(Stmt::For { var, lower, upper, step, unroll, body, note })
    }

    /// A loop of one iteration: its iname has this value.
    fn once(
        &mut self,
        (iname, value): (&Name, &Aff),
        inside: &Place,
        nodes: &[Node],
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut inner = env.inside(inside);
        let meaning = env.with_constants(value)?;
        let value = self.aff_value(value, env)?;
        let mut body = Vec::new();
        if value.children().is_empty() {
            inner.set(iname.clone(), value);
        } else {
            let var = self.new_index(iname, meaning);
            inner.set(iname.clone(), self.var_value(var));
            body.push(Stmt::Let { var, value, leaf: None });
        }
        body.extend(self.lets(&mut inner)?);
        body.extend(self.nodes(nodes, &inner)?);
        Ok(body)
    }

    /// The statements of `inside` in a loop over a lane, by this step. `env` is that of the loop's
    /// body.
    fn lane_loop(
        &mut self,
        (lane, step): (&Name, i64),
        env: &Env,
        inside: Inside<'_, Self>,
    ) -> Result<Stmt, Diagnostic> {
        let extent = self.analysis.extents.get(lane);
        let Some((lower, length)) = extent.and_then(|e| Some((e.lower.as_constant()?, e.constant?))) else {
            return Err(Diagnostic::new("internal", format!("the lane `{lane}` has no constant bounds")));
        };
        let mut inner = env.clone();
        let var = self.new_index(lane, Aff::var(lane));
        inner.set(lane.clone(), self.var_value(var));
        let mut body = self.lets(&mut inner)?;
        body.extend(inside(self, &inner)?);
        Ok(Stmt::For {
            var,
            lower: self.index_int(lower),
            upper: self.index_int(lower.saturating_add(length)),
            step: Step::Add(step),
            unroll: true,
            body,
            note: Note::default(),
        })
    }

    /// The statements of `inside`, in a loop for each lane.
    pub fn lane_loops(
        &mut self,
        lanes: &[Name],
        env: &Env,
        inside: Inside<'_, Self>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        self.lane_loops_by(lanes, 1, env, inside)
    }

    /// As [`Self::lane_loops`], the last lane by this step.
    pub fn lane_loops_by(
        &mut self,
        lanes: &[Name],
        step: i64,
        env: &Env,
        inside: Inside<'_, Self>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Some((lane, rest)) = lanes.split_first() else { return inside(self, env) };
        let mut inner = env.clone();
        inner.place.bound.insert(lane.clone());
        self.learn_lane(lane, &mut inner)?;
        let own = if rest.is_empty() { step } else { 1 };
        let body = &mut |this: &mut Self, env: &Env| this.lane_loops_by(rest, step, env, inside);
        Ok(vec![self.lane_loop((lane, own), &inner, body)?])
    }

    /// Makes the range of a lane known in an environment.
    fn learn_lane(&self, lane: &Name, env: &mut Env) -> Result<(), Diagnostic> {
        let Some(extent) = self.analysis.extents.get(lane) else { return Ok(()) };
        let value = Aff::var(lane).sub(&extent.lower)?;
        let mut known = vec![Constraint::nonneg(value.clone())];
        if let Some(length) = extent.constant {
            known.push(Constraint::lt(&value, &Aff::constant(length))?);
        }
        env.place.learn(&known)
    }

    /// The environment of a vector's first lane.
    fn first_lane(&mut self, lane: &Name, first: &Place, env: &Env) -> Result<(Vec<Stmt>, Env), Diagnostic> {
        let mut env = env.inside(first);
        env.set(lane.clone(), self.index_int(0));
        let body = self.lets(&mut env)?;
        Ok((body, env))
    }

    /// A statement over a vector's lanes: vectors are loaded into private arrays, the lanes compute
    /// on those, and results are stored as vectors.
    fn vector(&mut self, vector: &Vector, env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        let Vector { of, lane, length, reads, write, first, inside, statement, .. } = vector;
        let leaf = self.leaf(of.number, env);
        if let ([from], Some(to)) = (reads.as_slice(), write)
            && self.analysis.copies_asynchronously(of.number)
        {
            let (mut stmts, first) = self.first_lane(lane, first, env)?;
            stmts.extend(self.async_vector(to, from, vector, &first, leaf)?);
            return Ok(stmts);
        }
        let (mut stmts, first) = self.first_lane(lane, first, env)?;
        let mut inner = env.inside(inside);
        let mut buffers: Vec<(&Access, usize)> = Vec::new();
        for access in reads {
            let buffer = self.vector_buffer(access, &[], *length)?;
            let loads = self.copies_of_vector(access, buffer, &[], *length, false, &first, leaf)?;
            stmts.extend(self.filled_vector(loads, vector, buffer, (&first, &inner), leaf)?);
            buffers.push((access, buffer));
            let lanes = vec![lane.clone()];
            inner.loaded.push((access.clone(), Loaded::Array { number: buffer, lanes }));
        }
        // An element that is read and written is accessed in place: each lane reads before it
        // writes.
        if let Some(target) = write {
            let buffer = match buffers.iter().find(|(access, _)| *access == target) {
                Some((_, buffer)) => *buffer,
                None => self.vector_buffer(target, &[], *length)?,
            };
            inner.stored = Some((target.clone(), buffer, vec![lane.clone()]));
        }
        let stored = inner.stored.clone();
        let run = &mut |this: &mut Self, env: &Env| this.statement(statement, env);
        stmts.push(self.lane_loop((lane, 1), &inner, run)?);
        if let Some((target, buffer, _)) = stored {
            let number = self.analysis.instruction(of.info(self.analysis)).targets.iter();
            let number = number.clone().position(|t| *t == target);
            let leaf = self.giving(leaf, number.unwrap_or(0));
            stmts.extend(self.copies_of_vector(&target, buffer, &[], *length, true, &first, leaf)?);
        }
        Ok(stmts)
    }

    /// The loads of a copy's vector where it is to be copied, and filling elsewhere. The
    /// environments are those of the first lane and inside the loop over lanes.
    fn filled_vector(
        &mut self,
        loads: Vec<Stmt>,
        vector: &Vector,
        buffer: usize,
        (first, inside): (&Env, &Env),
        leaf: LeafId,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut cond = None;
        for guard in &vector.filling {
            let own = self.guard_condition(guard, first)?;
            cond = Some(and(cond, own));
        }
        let (Some(cond), Some(filling)) = (cond, &vector.of.info(self.analysis).filling) else {
            return Ok(loads);
        };
        let fill = self.lane_loop((&vector.lane, 1), inside, &mut |this, env| {
            let dtype = this.private[buffer].dtype;
            let value = this.value(&filling.value, dtype, crate::write::scope::Scope::of(env))?;
            let row = this.lane_values(std::slice::from_ref(&vector.lane), env)?;
            let to = this.local_element(Memory::Private(buffer), row);
            Ok(vec![Stmt::Store { to, value, leaf: Some(leaf) }])
        })?;
        Ok(vec![Stmt::If { cond, body: loads, otherwise: vec![fill], note: Note::default() }])
    }

    /// Elements that lanes share, loaded before the statements that read them.
    fn loads(
        &mut self,
        of: &Which,
        loads: &[Load],
        body: &[Node],
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let leaf = self.leaf(of.number, env);
        let mut stmts = Vec::new();
        let mut loaded = env.clone();
        for Load { access, how } in loads {
            match how {
                LoadHow::Variable => stmts.push(self.load_into_variable(access, leaf, &mut loaded)?),
                LoadHow::Elements(lanes) | LoadHow::Vectors(lanes, ..) => {
                    let number = self.lane_array(access, lanes)?;
                    stmts.extend(match how {
                        LoadHow::Vectors(_, length, first) => {
                            self.load_vectors(access, number, (lanes, *length, first), leaf, env)?
                        }
                        _ => self.load_elements(access, number, lanes, leaf, env)?,
                    });
                    loaded.loaded.push((access.clone(), Loaded::Array { number, lanes: lanes.clone() }));
                }
            }
        }
        stmts.extend(self.nodes(body, &loaded)?);
        Ok(stmts)
    }

    /// Loads an element into a variable, where later reads find it.
    pub fn load_into_variable(
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

    /// Declares a private array with an element for each value of these lanes, and returns its
    /// index.
    fn lane_array(&mut self, access: &Access, lanes: &[Name]) -> Result<usize, Diagnostic> {
        let array = self.analysis.lookup.array(&access.array);
        let Some(array) = array else {
            return Err(Diagnostic::new("unknown-name", format!("there is no array `{}`", access.array)));
        };
        let dtype = known(&array.dtype, &access.array)?;
        let name = self.unique(&format!("{}_reg", access.array.trim_end_matches("_tile")));
        let dims = self.analysis.lane_lengths(lanes);
        self.private.push(LocalArray { name, dtype, dims, layout: None, note: String::new() });
        Ok(self.private.len() - 1)
    }

    /// Loads an element for each value of these lanes.
    fn load_elements(
        &mut self,
        access: &Access,
        number: usize,
        lanes: &[Name],
        leaf: LeafId,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        self.lane_loops(lanes, env, &mut |this, env| {
            let Target::Element(from, dtype) = this.element(access, env)? else {
                return Err(Diagnostic::new("internal", "an element of memory in a variable"));
            };
            let row = this.lane_values(lanes, env)?;
            let to = this.local_element(Memory::Private(number), row);
            Ok(vec![Stmt::Store { to, value: this.load(from, dtype), leaf: Some(leaf) }])
        })
    }

    /// Loads a vector of the last lane for each value of the others.
    fn load_vectors(
        &mut self,
        access: &Access,
        number: usize,
        (lanes, length, first): (&[Name], i64, &Place),
        leaf: LeafId,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Some((lane, before)) = lanes.split_last() else { return Ok(Vec::new()) };
        self.lane_loops(before, env, &mut |this, env| {
            let row = this.lane_values(before, env)?;
            let (mut body, first) = this.first_lane(lane, first, env)?;
            body.extend(this.copies_of_vector(access, number, &row, length, false, &first, leaf)?);
            Ok(body)
        })
    }

    /// A private array for a vector, with axes for the lanes around.
    fn vector_buffer(&mut self, access: &Access, around: &[Name], lanes: i64) -> Result<usize, Diagnostic> {
        let array = self.analysis.lookup.array(&access.array);
        let dtype = match array {
            Some(array) => known(&array.dtype, &access.array)?,
            None => {
                return Err(Diagnostic::new("unknown-name", format!("there is no array `{}`", access.array)));
            }
        };
        let name = self.unique(&format!("{}_vec", access.array));
        let mut dims = self.analysis.lane_lengths(around);
        dims.push(u64::try_from(lanes).unwrap_or(1));
        self.private.push(LocalArray { name, dtype, dims, layout: None, note: String::new() });
        Ok(self.private.len() - 1)
    }

    /// The copies between an access's elements and its buffer (the row at these subscripts), each
    /// of at most 16 bytes.
    #[allow(clippy::too_many_arguments)]
    pub fn copies_of_vector(
        &mut self,
        access: &Access,
        buffer: usize,
        row: &[Value],
        lanes: i64,
        store: bool,
        env: &Env,
        leaf: LeafId,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut stmts = Vec::new();
        let dtype = self.private[buffer].dtype;
        let chunk = lanes.min(widest(dtype, self.target()));
        let mut k = 0;
        while k < lanes {
            let Target::Element(element, _) = self.element(access, env)? else {
                return Err(Diagnostic::new("internal", "a vector access to a scalar"));
            };
            let element = self.element_behind(element, access, k);
            let step = self.index_int(k);
            let own: Vec<Value> = row.iter().cloned().chain([step]).collect();
            let own = self.local_element(Memory::Private(buffer), own);
            let lanes = u8::try_from(chunk).unwrap_or(1);
            let (to, from) = if store { (element, own) } else { (own, element) };
            stmts.push(Stmt::VectorCopy { to, from, lanes, leaf: Some(leaf) });
            k += chunk;
        }
        Ok(stmts)
    }

    pub fn dense_axis(&self, access: &Access) -> Option<usize> {
        let array = self.analysis.lookup.array(&access.array)?;
        dense_axis(array)
    }

    /// Names for the defined inames that have a value from here on.
    pub fn lets(&mut self, env: &mut Env) -> Result<Vec<Stmt>, Diagnostic> {
        let analysis = self.analysis;
        let mut body = Vec::new();
        // Later definitions are closer to the names that are bound.
        for definition in analysis.kernel.definitions.iter().rev() {
            if env.values.contains_key(&definition.iname)
                || !analysis.lookup.base_of(&definition.iname).iter().all(|b| self.relevant.contains(b))
            {
                continue;
            }
            let canonical = analysis.canonical(&definition.value)?;
            if !canonical.names().iter().all(|n| env.place.bound.contains(n) || analysis.is_parameter(n)) {
                continue;
            }
            // Where a loop counts a sum instead of its parts, nothing below uses this name.
            if !analysis.can_write(&definition.value, env)? {
                continue;
            }
            let value = self.aff_value(&definition.value, env)?;
            if value.children().is_empty() {
                env.set(definition.iname.clone(), value);
                continue;
            }
            let var = self.new_index(&definition.iname, env.with_constants(&canonical)?);
            env.set(definition.iname.clone(), self.var_value(var));
            env.named.push((definition.iname.clone(), canonical));
            env.indices.push(definition.iname.clone());
            body.push(Stmt::Let { var, value, leaf: None });
        }
        Ok(body)
    }

    /// Names for the inames that run on axes of the block and the grid:
    /// `const int s = blockIdx.x;`.
    pub fn coordinate_lets(&mut self, parts: &[usize], env: &mut Env) -> Result<Vec<Stmt>, Diagnostic> {
        let mut body = Vec::new();
        let mut seen = BTreeSet::new();
        // Names of declared instructions before those of copies.
        let analysis = self.analysis;
        let is_copy = |p: &usize| {
            let instruction = analysis.instruction(&analysis.parts[*p]);
            instruction.role.declared().is_none()
        };
        let mut parts = parts.to_vec();
        parts.sort_by_key(|p| (is_copy(p), *p));
        for part in &parts {
            for iname in &self.analysis.parts[*part].inames {
                if !self.analysis.kernel.tag(iname).is_hardware() || !seen.insert(iname.clone()) {
                    continue;
                }
                let mut value = self.name_value(iname, crate::write::scope::Scope::of(env))?;
                // A copy uses its own names for its buffer, not that of another iname on the same
                // axis.
                if let (ValueKind::Var(_), Some(HardwareAxis::Block(dim))) =
                    (&value.kind, self.analysis.kernel.tag(iname).axis())
                    && is_copy(part)
                {
                    value.kind = ValueKind::ThreadIdx(dim);
                }
                if value.as_int().is_some() || matches!(value.kind, ValueKind::Var(_)) {
                    env.set(iname.clone(), value);
                    continue;
                }
                let var = self.new_index(iname, analysis.canonical(&Aff::var(iname))?);
                env.set(iname.clone(), self.var_value(var));
                // The builtins are unsigned: from here on bounds use the signed name.
                if let Some(coordinate) =
                    loopwright_legality::coordinate_name(self.analysis.kernel.tag(iname))
                    && env.values.get(coordinate) == Some(&value)
                {
                    env.set(Name::new(coordinate), self.var_value(var));
                }
                body.push(Stmt::Let { var, value, leaf: None });
            }
        }
        Ok(body)
    }
}
