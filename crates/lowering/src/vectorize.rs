//! Vector loads and stores for an iname tagged `vec`.
//!
//! Where neighbouring lanes of a statement touch neighbouring elements, the address of the first is
//! a multiple of the vector's size, and no guard tells the lanes apart, the elements are moved by
//! one access each way between memory and an array of the thread; the lanes compute on that. All of
//! it is proved here, from the constraints and assumptions (as `assume len % 4 = 0`); what cannot
//! be proved stays an access for each lane, as with `ilp`. Neighbouring elements whose first one
//! lies beside such a multiple, for some instance and some values of the parameters, are refused
//! with these (`unaligned`): a `vec` that costs single accesses is not what was asked for. A
//! reduction along rows that begin anywhere has been made one over positions from such a multiple
//! on before (`peel`), and where guards tell the lanes of a vector apart, whole vectors and the
//! elements of others are written one after the other (`partial`). That the arrays themselves begin
//! at a multiple of 16 bytes is checked when they are bound.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, BinaryOp, Constraint, Diagnostic, Expr, Name, Part, Tag,
};
use loopwright_legality::{evaluated, outside_reductions};
use loopwright_poly::System;

use crate::{
    Hazards,
    analysis::{Guard, PartInfo},
    emitter::{Emitter, known},
    env::{Ahead, Env, Loaded},
    layout::{storage_order, widest},
    program::{LocalArray, Memory, Step, Stmt, Value},
    translate::Target,
};

/// Neighbours in memory, one for each lane.
struct Row<'a> {
    array: &'a Array,
    /// The axis along which they are neighbours.
    dense: usize,
    /// The subscripts of the first one, over canonical names.
    first: Vec<Aff>,
    /// How many elements the widest access has.
    widest: i64,
}

/// Small values of some parameters, the smallest first; none of many.
fn small_values(names: &BTreeSet<Name>) -> Vec<BTreeMap<Name, i64>> {
    const UP_TO: i64 = 9;
    if names.len() > 2 {
        return Vec::new();
    }
    let mut all = vec![BTreeMap::new()];
    for name in names {
        all = all
            .into_iter()
            .flat_map(|values: BTreeMap<Name, i64>| {
                (0..=UP_TO).map(move |v| {
                    let mut values = values.clone();
                    values.insert(name.clone(), v);
                    values
                })
            })
            .collect();
    }
    all.sort_by_key(|values| values.values().sum::<i64>());
    all
}

impl Emitter<'_, '_> {
    /// The statements of a part over one `vec` lane by vector accesses, or `None` where that cannot
    /// be proved right.
    pub fn emit_vector(
        &mut self,
        number: usize,
        info: &PartInfo,
        lane: &Name,
        env: &Env,
    ) -> Result<Option<Vec<Stmt>>, Diagnostic> {
        let analysis = self.analysis;
        if analysis.kernel.tag(lane) != Tag::Vec || matches!(info.execution.part.part, Part::Init(_)) {
            return Ok(None);
        }
        let Some(extent) = analysis.extents.get(lane).cloned() else { return Ok(None) };
        let (Some(0), Some(lanes @ (2 | 4 | 8 | 16))) = (extent.lower.as_constant(), extent.constant) else {
            return Ok(None);
        };
        let instruction = analysis.instruction(info);
        if instruction.predicate.is_some() || info.filling.is_some() {
            return Ok(None);
        }
        // Reads that all lanes make, and the write.
        let mut reads: Vec<Access> = Vec::new();
        let mut branches = false;
        for e in evaluated(instruction, info.execution.part.part) {
            outside_reductions(e, &mut |e| match e {
                Expr::Subscript(access)
                    if !reads.contains(access) && !env.loaded.iter().any(|(a, _)| a == access) =>
                {
                    reads.push(access.clone());
                }
                Expr::If(..) | Expr::Binary(BinaryOp::And | BinaryOp::Or, ..) => branches = true,
                _ => {}
            });
        }
        if branches {
            return Ok(None);
        }
        let mut vector_reads = Vec::new();
        let mut unaligned = None;
        for access in reads {
            if self.is_vector(&access, lane, lanes, env)? {
                vector_reads.push(access);
            } else if unaligned.is_none() {
                unaligned = self.unaligned(info, &access, false, lane, lanes)?;
            }
        }
        let mut write = None;
        if let (Part::Whole | Part::Finish, [target]) = (info.execution.part.part, &instruction.targets[..])
            && self.analysis.update(info).is_none()
        {
            if self.is_vector(target, lane, lanes, env)? {
                write = Some(target.clone());
            } else if unaligned.is_none() {
                unaligned = self.unaligned(info, target, true, lane, lanes)?;
            }
        }
        if vector_reads.is_empty()
            && write.is_none()
            && unaligned.is_none()
            && !matches!(env.ahead, Ahead::Loaded)
        {
            return Ok(None);
        }
        // A guard of the first lane has to hold for all.
        let first = |aff: &Aff| aff.substitute_one(lane, &Aff::constant(0));
        let value = Aff::var(lane);
        let mut all = env.clone();
        all.bound.insert(lane.clone());
        all.learn(&[Constraint::nonneg(value.clone()), Constraint::lt(&value, &Aff::constant(lanes))?])?;
        let mut guards = Vec::new();
        for g in &info.guards {
            if all.implies(&g.canonical)? {
                continue;
            }
            let c = Constraint { kind: g.canonical.kind, aff: first(&g.canonical.aff)? };
            guards.push(Guard { declared: c.clone(), canonical: c });
        }
        // The other way round as well: where one lane runs, the first does, or lanes would be lost
        // (`j <= 4*i + lane`).
        let mut any = all.clone();
        any.learn(&info.guards.iter().map(|g| g.canonical.clone()).collect::<Vec<_>>())?;
        for g in &guards {
            if !any.implies(&g.canonical)? {
                return Ok(None);
            }
        }
        all.learn(&guards.iter().map(|g| g.canonical.clone()).collect::<Vec<_>>())?;
        for g in &info.guards {
            if !all.implies(&g.canonical)? {
                return Ok(None);
            }
        }
        if let Some(refusal) = unaligned {
            return Err(refusal);
        }
        let leaf = self.leaf(number, env);
        let mut inside = env.clone();
        inside.learn(&guards.iter().map(|g| g.canonical.clone()).collect::<Vec<_>>())?;
        // The first lane's element of each access.
        let mut at_first = inside.clone();
        at_first.set(lane.clone(), self.index_int(0));
        at_first.bound.insert(lane.clone());
        at_first.learn(&[Constraint::zero(value.clone())])?;
        let mut body = self.lets(&mut at_first)?;
        let mut buffers: Vec<(Access, usize)> = Vec::new();
        let around: &[Name] = if let Ahead::Loads(around) = &env.ahead { around } else { &[] };
        let row = self.lane_values(around, &at_first)?;
        for access in &vector_reads {
            let buffer = self.vector_buffer(access, around, lanes)?;
            let copies = self.vector_copies(access, buffer, &row, lanes, false, &at_first, leaf)?;
            body.extend(copies);
            buffers.push((access.clone(), buffer));
        }
        if let Ahead::Loads(_) = env.ahead {
            self.loaded_ahead = buffers;
            return self.guarded_vector(number, &guards, body, env).map(Some);
        }
        // An element that is read and written stays in its place: each lane reads before it writes.
        let write_buffer = match &write {
            Some(target) => Some(match buffers.iter().find(|(access, _)| access == target) {
                Some((access, buffer)) => (access.clone(), *buffer),
                None => (target.clone(), self.vector_buffer(target, &[], lanes)?),
            }),
            None => None,
        };
        let mut lane_env = inside.clone();
        let var = self.new_index(lane, Aff::var(lane));
        lane_env.set(lane.clone(), self.var_value(var));
        lane_env.bound.insert(lane.clone());
        lane_env
            .learn(&[Constraint::nonneg(value.clone()), Constraint::lt(&value, &Aff::constant(lanes))?])?;
        for (access, number) in buffers {
            lane_env.loaded.push((access, Loaded::Array { number, lanes: vec![lane.clone()] }));
        }
        lane_env.stored = write_buffer.clone().map(|(access, number)| (access, number, vec![lane.clone()]));
        let mut loop_body = self.lets(&mut lane_env)?;
        loop_body.extend(self.emit_statement(number, info, &lane_env)?);
        body.push(Stmt::For {
            var,
            lower: self.index_int(0),
            upper: self.index_int(lanes),
            step: Step::Add(1),
            unroll: true,
            body: loop_body,
            note: crate::program::Note::default(),
        });
        if let Some((target, buffer)) = write_buffer {
            let number = self.analysis.instruction(info).targets.iter().position(|t| *t == target);
            let leaf = self.giving(leaf, number.unwrap_or(0));
            body.extend(self.vector_copies(&target, buffer, &[], lanes, true, &at_first, leaf)?);
        }
        self.guarded_vector(number, &guards, body, env).map(Some)
    }

    fn guarded_vector(
        &mut self,
        number: usize,
        guards: &[Guard],
        body: Vec<Stmt>,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let guards = self.irredundant(guards, env)?;
        let mut stmts = Vec::new();
        let note = self.guard_note(&guards, &crate::items::Item::Leaf(number), env);
        self.guarded(&mut stmts, &guards, body, note, env)?;
        Ok(stmts)
    }

    /// The statements of an update of several values over lanes around a vector's: first all
    /// vectors are loaded, then used. Compilers choose between both sides of such an update by
    /// branches, and move no load across those of the lanes before. `None` where it is of one
    /// value, or nothing is loaded by vectors.
    pub fn emit_ahead(
        &mut self,
        number: usize,
        info: &PartInfo,
        lanes: &[Name],
        env: &Env,
    ) -> Result<Option<Vec<Stmt>>, Diagnostic> {
        let Some((vector, around)) = lanes.split_last() else { return Ok(None) };
        let is_vector = self.analysis.kernel.tag(vector) == Tag::Vec;
        if around.is_empty()
            || !is_vector
            || !matches!(env.ahead, Ahead::Whole)
            || !self.updates_several(info)?
        {
            return Ok(None);
        }
        let (first, rest) = (&lanes[..1], &lanes[1..]);
        let mark = self.mark();
        self.loaded_ahead.clear();
        let mut loading = env.clone();
        loading.ahead = Ahead::Loads(around.to_vec());
        let mut stmts =
            self.lane_loops(first, &loading, &mut |this, env| this.emit_lanes(number, info, rest, env))?;
        let loaded = std::mem::take(&mut self.loaded_ahead);
        if loaded.is_empty() {
            self.back_to(mark);
            return Ok(None);
        }
        let mut using = env.clone();
        using.ahead = Ahead::Loaded;
        for (access, buffer) in loaded {
            using.loaded.push((access, Loaded::Array { number: buffer, lanes: lanes.to_vec() }));
        }
        stmts.extend(
            self.lane_loops(first, &using, &mut |this, env| this.emit_lanes(number, info, rest, env))?,
        );
        Ok(Some(stmts))
    }

    /// Whether a part updates several values, as those of argmax.
    fn updates_several(&self, info: &PartInfo) -> Result<bool, Diagnostic> {
        let Part::Update(n) = info.execution.part.part else { return Ok(false) };
        let reductions = self.analysis.instruction(info).reductions();
        let Some(reduce) = reductions.get(n) else { return Ok(false) };
        Ok(self.operator(&reduce.op)?.state.len() > 1)
    }

    fn vector_buffer(&mut self, access: &Access, around: &[Name], lanes: i64) -> Result<usize, Diagnostic> {
        let array = self.analysis.lookup.array(&access.array);
        let dtype = match array {
            Some(array) => known(&array.dtype, &access.array)?,
            None => {
                return Err(Diagnostic::new("unknown-name", format!("there is no array `{}`", access.array)));
            }
        };
        let name = self.unique(&format!("{}_vec", access.array));
        let mut dims = self.lane_lengths(around);
        dims.push(u64::try_from(lanes).unwrap_or(1));
        self.private.push(LocalArray { name, dtype, dims, note: String::new() });
        Ok(self.private.len() - 1)
    }

    /// The copies between an access's elements and its buffer (its row behind these subscripts),
    /// each of 16 bytes at most.
    #[allow(clippy::too_many_arguments)]
    pub fn vector_copies(
        &mut self,
        access: &Access,
        buffer: usize,
        row: &[Value],
        lanes: i64,
        store: bool,
        env: &Env,
        leaf: crate::program::LeafId,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut stmts = Vec::new();
        let dtype = self.private[buffer].dtype;
        let chunk = lanes.min(widest(dtype, self.target()));
        let mut k = 0;
        while k < lanes {
            let Target::Element(mut element, _) = self.element(access, env)? else {
                return Err(Diagnostic::new("internal", "a vector access to a scalar"));
            };
            let step = self.index_int(k);
            element.offset = Box::new(crate::fold::add(*element.offset, step.clone()));
            // Subscripts of local arrays are in the order of the storage.
            let dense = match element.memory {
                Memory::Global(_) => self.dense_axis(access),
                Memory::Shared(_) | Memory::Private(_) => element.subscripts.len().checked_sub(1),
            };
            if let Some(s) = dense.and_then(|a| element.subscripts.get_mut(a)) {
                *s = crate::fold::add(s.clone(), step.clone());
            }
            let own: Vec<Value> = row.iter().cloned().chain([step]).collect();
            let own = self.local_element(Memory::Private(buffer), own);
            let lanes = u8::try_from(chunk).unwrap_or(1);
            let (to, from) = if store { (element, own) } else { (own, element) };
            stmts.push(Stmt::VectorCopy { to, from, lanes, leaf: Some(leaf) });
            k += chunk;
        }
        Ok(stmts)
    }

    fn dense_axis(&self, access: &Access) -> Option<usize> {
        let array = self.analysis.lookup.array(&access.array)?;
        storage_order(array).last().copied()
    }

    /// Whether the lanes touch neighbouring elements, each access from a multiple of its length on.
    pub fn is_vector(&self, access: &Access, lane: &Name, lanes: i64, env: &Env) -> Result<bool, Diagnostic> {
        let Some(row) = self.neighbours(access, lane)? else { return Ok(false) };
        let lanes = lanes.min(row.widest);
        if self.is_shifted(access, &row, lane, lanes)? {
            return Ok(true);
        }
        if !self.multiple(&row.first[row.dense], lanes, env)? {
            return Ok(false);
        }
        // The strides of the outer axes are products of the lengths of the denser ones.
        let order = storage_order(row.array);
        for (k, axis) in order[..order.len() - 1].iter().enumerate() {
            if row.first[*axis].as_constant() == Some(0) {
                continue;
            }
            let mut aligned = false;
            for denser in &order[k + 1..] {
                aligned |= self.length_multiple(row.array, *denser, lanes, env)?;
            }
            if !aligned {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the loop goes over positions from the last multiple before the row on (`peel`).
    fn is_shifted(
        &self,
        access: &Access,
        row: &Row<'_>,
        lane: &Name,
        lanes: i64,
    ) -> Result<bool, Diagnostic> {
        let analysis = self.analysis;
        let names = row.first[row.dense].names();
        let mut shifts = names.iter().filter(|n| analysis.data.contains(*n));
        let (Some(shift), None) = (shifts.next(), shifts.next()) else { return Ok(false) };
        let Some(iname) =
            crate::peel::from_multiple(analysis.kernel, &analysis.lookup, access, lane, lanes, shift)
        else {
            return Ok(false);
        };
        let first = analysis.canonical(&Aff::var(&iname))?.sub(&Aff::var(lane))?;
        Ok(first.modulo(lanes)?.as_constant() == Some(0))
    }

    /// The elements of an access of neighbouring lanes, if they are neighbours in memory.
    fn neighbours(&self, access: &Access, lane: &Name) -> Result<Option<Row<'_>>, Diagnostic> {
        let analysis = self.analysis;
        let Some(array) = analysis.lookup.array(&access.array) else { return Ok(None) };
        if array.space == AddressSpace::Private || array.axes.iter().any(|a| a.stride.is_some()) {
            return Ok(None);
        }
        let order = storage_order(array);
        let Some((dense, outer)) = order.split_last() else { return Ok(None) };
        let mut first = Vec::new();
        for s in &access.index {
            let Some(aff) = s.to_aff().filter(|a| {
                a.names().iter().all(|n| {
                    analysis.lookup.is_iname(n) || analysis.is_parameter(n) || analysis.data.contains(n)
                })
            }) else {
                return Ok(None);
            };
            first.push(analysis.canonical(&aff)?);
        }
        let Some(last) = first.get(*dense) else { return Ok(None) };
        if last.coefficient(lane) != 1 || outer.iter().any(|a| first.get(*a).is_none_or(|c| c.mentions(lane)))
        {
            return Ok(None);
        }
        let rest = last.sub(&Aff::var(lane))?;
        if rest.mentions(lane) {
            return Ok(None);
        }
        first[*dense] = rest;
        let dtype = known(&array.dtype, &access.array)?;
        let widest = widest(dtype, self.target());
        Ok(Some(Row { array, dense: *dense, first, widest }))
    }

    /// The refusal of neighbouring lanes that may begin beside a multiple of the bytes of their
    /// access, with an instance that does.
    pub fn unaligned(
        &self,
        info: &PartInfo,
        access: &Access,
        write: bool,
        lane: &Name,
        lanes: i64,
    ) -> Result<Option<Diagnostic>, Diagnostic> {
        let analysis = self.analysis;
        let Some(row) = self.neighbours(access, lane)? else { return Ok(None) };
        // What is read from data may be anything; an example of it would prove nothing. By force,
        // lanes move one by one.
        if !info.execution.loads.is_empty() || self.shared_state.hazards == Hazards::Left {
            return Ok(None);
        }
        let lanes = lanes.min(row.widest);
        let mut rows = analysis.context.clone();
        for c in &info.instances {
            let aff = c.aff.substitute_one(lane, &Aff::constant(0))?;
            rows.push(Constraint { kind: c.kind, aff });
        }
        let system = System::new(&rows)?;
        let mut lengths = Vec::new();
        for axis in &row.array.axes {
            let Some(length) = axis.length.to_aff() else { return Ok(None) };
            lengths.push(length.add_constant(i64::from(axis.padding))?);
        }
        let order = storage_order(row.array);
        let inner: BTreeSet<Name> = order[1..].iter().flat_map(|axis| lengths[*axis].names()).collect();
        for values in small_values(&inner) {
            // With constant lengths the offset is affine.
            let mut offset = Aff::constant(0);
            let mut stride = 1i64;
            for axis in order.iter().rev() {
                offset = offset.add(&row.first[*axis].scale(stride)?)?;
                let length = lengths[*axis].eval(&|n| values.get(n).copied()).unwrap_or(0);
                stride = stride.checked_mul(length).ok_or(loopwright_poly::Error::Overflow)?;
            }
            let mut case = vec![Constraint::lt(&Aff::constant(0), &offset.modulo(lanes)?)?];
            for (name, v) in &values {
                case.push(Constraint::equal(&Aff::var(name), &Aff::constant(*v))?);
            }
            let Some(mut point) = system.with(&case)?.sample(&BTreeMap::new())? else { continue };
            point.insert(lane.clone(), 0);
            let value = |aff: &Aff| aff.eval(&|n| Some(point.get(n).copied().unwrap_or(0)));
            let (Some(at), Some(cell)) =
                (value(&offset), row.first.iter().map(value).collect::<Option<Vec<i64>>>())
            else {
                return Ok(None);
            };
            let mut instance = Vec::new();
            for iname in &info.inames {
                if let Some(v) = value(&analysis.canonical(&Aff::var(iname))?) {
                    instance.push(format!("{iname} = {v}"));
                }
            }
            let parameters: Vec<String> = point
                .iter()
                .filter(|(n, _)| analysis.is_parameter(n))
                .map(|(n, v)| format!("{n} = {v}"))
                .collect();
            let with = match parameters.is_empty() {
                true => String::new(),
                false => format!(" with {}", parameters.join(", ")),
            };
            let bytes = i64::from(self.target().widest_access) / row.widest;
            let (name, part) = (&access.array, &info.execution.part);
            let cell: Vec<String> = cell.iter().map(i64::to_string).collect();
            let verb = if write { "writes" } else { "reads" };
            return Ok(Some(
                Diagnostic::new(
                    "unaligned",
                    format!(
                        "{part} {verb} {lanes} elements of `{name}` at once (`{lane}: vec`), from an address that may be no multiple of {} bytes",
                        lanes * bytes
                    ),
                )
                .witness(format!(
                    "the lanes of ({}) begin with `{name}[{}]`, which lies {} bytes behind the beginning of `{name}`{with}",
                    instance.join(", "),
                    cell.join(", "),
                    at.saturating_mul(bytes)
                ))
                .help(format!(
                    "pad or shift `{name}`, assume that its rows are multiples of {lanes} elements, or peel what is not aligned; for single accesses tag `{lane}: ilp`{}",
                    match write {
                        true => String::new(),
                        false => format!(", or copy by `add_prefetch({name}, [{lane}], space=private)`"),
                    }
                )),
            ));
        }
        Ok(None)
    }

    fn length_multiple(&self, array: &Array, axis: usize, m: i64, env: &Env) -> Result<bool, Diagnostic> {
        let axis = &array.axes[axis];
        let Some(length) = axis.length.to_aff() else { return Ok(false) };
        let length = length.add_constant(i64::from(axis.padding))?;
        self.multiple(&length, m, env)
    }

    fn multiple(&self, aff: &Aff, m: i64, env: &Env) -> Result<bool, Diagnostic> {
        let remainder = aff.modulo(m)?;
        if remainder.as_constant() == Some(0) {
            return Ok(true);
        }
        env.implies(&Constraint::zero(remainder))
    }
}
