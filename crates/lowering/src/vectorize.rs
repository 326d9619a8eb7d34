//! Vector loads and stores for an iname tagged `vec`.
//!
//! Where neighbouring lanes of a statement touch neighbouring elements, the address of the first is a multiple of the vector's size, and
//! no guard tells the lanes apart, the elements are moved by one access each way between memory and an array of the thread; the
//! lanes compute on that. All of it is proved here, from the constraints and assumptions (as `assume len % 4 = 0`); what cannot be
//! proved stays an access for each lane, as with `ilp`. That the arrays themselves begin at a multiple of 16 bytes is
//! checked when they are bound.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, BinaryOp, Constraint, Diagnostic, Expr, Name, Part, Tag,
};
use loopwright_legality::{evaluated, outside_reductions};

use crate::{
    analysis::{Guard, PartInfo},
    emitter::{Emitter, known},
    env::{Env, Loaded},
    layout::storage_order,
    program::{LocalArray, Memory, Step, Stmt, Value},
    translate::Target,
};

/// The bytes of the widest access.
const WIDEST: usize = 16;

impl Emitter<'_, '_> {
    /// The statements of a part over one `vec` lane by vector accesses, or `None` where that cannot be proved right.
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
        for access in reads {
            if self.is_vector(&access, lane, lanes, env)? {
                vector_reads.push(access);
            }
        }
        let mut write = None;
        if let (Part::Whole | Part::Finish, [target]) = (info.execution.part.part, &instruction.targets[..])
            && self.is_vector(target, lane, lanes, env)?
        {
            write = Some(target.clone());
        }
        if vector_reads.is_empty() && write.is_none() {
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
        // The other way round as well: where one lane runs, the first does, or lanes would be lost (`j <= 4*i + lane`).
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
        let leaf = self.leaf(number);
        let mut inside = env.clone();
        inside.learn(&guards.iter().map(|g| g.canonical.clone()).collect::<Vec<_>>())?;
        // The first lane's element of each access.
        let mut at_first = inside.clone();
        at_first.set(lane.clone(), self.index_int(0));
        at_first.bound.insert(lane.clone());
        at_first.learn(&[Constraint::zero(value.clone())])?;
        let mut body = self.lets(&mut at_first)?;
        let mut buffers: Vec<(Access, usize)> = Vec::new();
        for access in &vector_reads {
            let buffer = self.vector_buffer(access, lanes)?;
            let copies = self.vector_copies(access, buffer, &[], lanes, false, &at_first, leaf)?;
            body.extend(copies);
            buffers.push((access.clone(), buffer));
        }
        // An element that is read and written stays in its place: each lane reads before it writes.
        let write_buffer = match &write {
            Some(target) => Some(match buffers.iter().find(|(access, _)| access == target) {
                Some((access, buffer)) => (access.clone(), *buffer),
                None => (target.clone(), self.vector_buffer(target, lanes)?),
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
            body.extend(self.vector_copies(&target, buffer, &[], lanes, true, &at_first, leaf)?);
        }
        let guards = self.irredundant(&guards, env)?;
        let mut stmts = Vec::new();
        let note = self.guard_note(&guards, &crate::items::Item::Leaf(number), env);
        self.guarded(&mut stmts, &guards, body, note, env)?;
        Ok(Some(stmts))
    }

    fn vector_buffer(&mut self, access: &Access, lanes: i64) -> Result<usize, Diagnostic> {
        let array = self.analysis.lookup.array(&access.array);
        let dtype = match array {
            Some(array) => known(&array.dtype, &access.array)?,
            None => {
                return Err(Diagnostic::new("unknown-name", format!("there is no array `{}`", access.array)));
            }
        };
        let name = self.unique(&format!("{}_vec", access.array));
        let dims = vec![u64::try_from(lanes).unwrap_or(1)];
        self.private.push(LocalArray { name, dtype, dims, note: String::new() });
        Ok(self.private.len() - 1)
    }

    /// The copies between an access's elements and its buffer (its row behind these subscripts), each of 16 bytes at most.
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
        let chunk = lanes.min(i64::try_from(WIDEST / dtype.bytes()).unwrap_or(1));
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

    /// Whether the lanes touch neighbouring elements, from a multiple of the vector's length on.
    pub fn is_vector(&self, access: &Access, lane: &Name, lanes: i64, env: &Env) -> Result<bool, Diagnostic> {
        let analysis = self.analysis;
        let Some(array) = analysis.lookup.array(&access.array) else { return Ok(false) };
        if array.space == AddressSpace::Private || array.axes.iter().any(|a| a.stride.is_some()) {
            return Ok(false);
        }
        let order = storage_order(array);
        let Some((dense, outer)) = order.split_last() else { return Ok(false) };
        let mut canonical = Vec::new();
        for s in &access.index {
            let Some(aff) = s.to_aff().filter(|a| {
                a.names().iter().all(|n| analysis.lookup.is_iname(n) || analysis.is_parameter(n))
            }) else {
                return Ok(false);
            };
            canonical.push(analysis.canonical(&aff)?);
        }
        let Some(last) = canonical.get(*dense) else { return Ok(false) };
        if last.coefficient(lane) != 1
            || outer.iter().any(|a| canonical.get(*a).is_none_or(|c| c.mentions(lane)))
        {
            return Ok(false);
        }
        let rest = last.sub(&Aff::var(lane))?;
        if rest.mentions(lane) || !self.multiple(&rest, lanes, env)? {
            return Ok(false);
        }
        // The strides of the outer axes are products of the lengths of the denser ones.
        for (k, axis) in outer.iter().enumerate() {
            if canonical[*axis].as_constant() == Some(0) {
                continue;
            }
            let mut aligned = false;
            for denser in &order[k + 1..] {
                aligned |= self.length_multiple(array, *denser, lanes, env)?;
            }
            if !aligned {
                return Ok(false);
            }
        }
        Ok(true)
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
