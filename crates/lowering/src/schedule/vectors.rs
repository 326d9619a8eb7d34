//! Vector loads and stores for an iname tagged `vec`.
//!
//! If neighbouring lanes of a statement access neighbouring elements, the first of them at a
//! multiple of the vector's size, and no guard separates the lanes, one access moves the elements
//! between memory and a private array, on which the lanes compute. All of this is proved here, from
//! the constraints and assumptions (such as `assume len % 4 = 0`); what cannot be proved remains an
//! access per lane, as with `ilp`. If the first element is misaligned for some instance and some
//! values of the parameters, the kernel is refused with these (`unaligned`): a `vec` that falls
//! back to single accesses is not what was requested. A reduction along misaligned rows has been
//! rewritten to start at the aligned address before each row (`loopwright_realize`); where guards
//! separate the lanes of a vector, whole and partial vectors are written one after the other
//! (`pieces`). Arrays themselves must begin at a multiple of 16 bytes, which is checked when they
//! are bound.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, BinaryOp, Constraint, Diagnostic, Expr, Name, Part, Tag, Via,
};
use loopwright_legality::{evaluated, outside_reductions};
use loopwright_poly::System;

use super::{
    Node, Vector, Which,
    guards::{canonical, irredundant},
    lanes::{AheadOf, Context},
    place::Place,
    planner::Planner,
};
use crate::{
    Hazards,
    analyse::{
        analysis::{Guard, PartInfo},
        arrays::{dense_axis, known, storage_order, widest},
        via,
    },
};

/// Neighbours in memory, one for each lane.
struct Row<'a> {
    array: &'a Array,
    /// The axis along which they are neighbours.
    dense: usize,
    /// The subscripts of the first one, over canonical names.
    first: Vec<Aff>,
    /// Number of elements in the widest access.
    widest: i64,
}

/// Small values of some parameters, the smallest first; none if there are many parameters.
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

impl Planner<'_, '_> {
    /// A part over one `vec` lane by vector accesses, or `None` if these cannot be proved correct.
    pub fn vector(
        &mut self,
        of: &Which,
        lane: &Name,
        context: &Context,
        place: &Place,
    ) -> Result<Option<Vec<Node>>, Diagnostic> {
        let analysis = self.analysis;
        let info = of.info(analysis);
        if analysis.kernel.tag(lane) != Tag::Vec || matches!(info.execution.part.part, Part::Init(_)) {
            return Ok(None);
        }
        let Some(extent) = analysis.extents.get(lane) else { return Ok(None) };
        let (Some(0), Some(length @ (2 | 4 | 8 | 16))) = (extent.lower.as_constant(), extent.constant) else {
            return Ok(None);
        };
        let instruction = analysis.instruction(info);
        // Matrices are stored behind the loops over lanes (`stored`).
        if instruction.predicate.is_some() || instruction.via == Via::Matrices {
            return Ok(None);
        }
        // Reads that all lanes make, and the write.
        let mut reads: Vec<Access> = Vec::new();
        let mut branches = false;
        for e in evaluated(instruction, info.execution.part.part) {
            outside_reductions(e, &mut |e| match e {
                Expr::Subscript(access) if !reads.contains(access) && !context.loaded.contains(access) => {
                    reads.push(access.clone());
                }
                Expr::If(..) | Expr::Binary(BinaryOp::And | BinaryOp::Or, ..) => branches = true,
                _ => {}
            });
        }
        if branches {
            return Ok(None);
        }
        // A vector is loaded if its first lane is to be copied, so all lanes have to agree. Where
        // they do not, or rows may be misaligned, each lane reads or fills its own element.
        let mut filling = None;
        if let Some(of) = &info.filling {
            let inside = place.with(&canonical(&info.guards))?;
            filling = self.guards_of_first(&of.guards, lane, length, &inside)?;
            if filling.is_none() {
                reads.clear();
            }
        }
        let mut vectors = Vec::new();
        let mut unaligned = None;
        for access in reads {
            if self.is_vector(&access, lane, length, place)? {
                vectors.push(access);
            } else if unaligned.is_none() && info.filling.is_none() {
                unaligned = self.unaligned(info, &access, false, lane, length)?;
            }
        }
        let mut write = None;
        if let (Part::Whole | Part::Finish, [target]) = (info.execution.part.part, &instruction.targets[..])
            && analysis.update(info).is_none()
        {
            if self.is_vector(target, lane, length, place)? {
                write = Some(target.clone());
            } else if unaligned.is_none() {
                unaligned = self.unaligned(info, target, true, lane, length)?;
            }
        }
        // Lanes that store their elements one after another read theirs of that array where they
        // stand: a vector that is loaded before them would have to be shown to be the same.
        if write.is_none() && matches!(info.execution.part.part, Part::Whole | Part::Finish) {
            vectors.retain(|read| !instruction.targets.iter().any(|t| t.array == read.array));
        }
        if vectors.is_empty()
            && write.is_none()
            && unaligned.is_none()
            && !matches!(context.ahead, AheadOf::Loaded)
        {
            return Ok(None);
        }
        let Some(guards) = self.guards_of_first(&info.guards, lane, length, place)? else {
            return Ok(None);
        };
        // An asynchronous copy moves a vector from memory to memory, or single elements.
        let is_whole = vectors.len() == 1 && write.is_some();
        if instruction.via.is_asynchronous() && unaligned.is_none() {
            if !is_whole {
                return Ok(None);
            }
            let dtype = write.as_ref().and_then(|w| analysis.lookup.array(&w.array)).map(|a| &a.dtype);
            let most = match (dtype, &write) {
                (Some(dtype), Some(write)) => widest(known(dtype, &write.array)?, self.target),
                _ => length,
            };
            via::check_width(analysis, instruction, length.min(most))?;
        }
        if let Some(refusal) = unaligned {
            return Err(refusal);
        }
        let value = Aff::var(lane);
        let known = place.with(&canonical(&guards))?;
        // The first lane's element of each access.
        let mut first = known.clone();
        first.bound.insert(lane.clone());
        first.learn(&[Constraint::zero(value.clone())])?;
        let node = if let AheadOf::Loads(around) = &context.ahead {
            let (of, around, lane) = (of.clone(), around.clone(), lane.clone());
            Node::VectorLoads { of, accesses: vectors, around, lane, length, first }
        } else {
            let mut inside = known.clone();
            inside.bound.insert(lane.clone());
            inside.learn(&[
                Constraint::nonneg(value.clone()),
                Constraint::lt(&value, &Aff::constant(length))?,
            ])?;
            let loaded: Vec<Access> = context.loaded.iter().chain(&vectors).cloned().collect();
            let mut statement = self.statement(of, &loaded, &inside)?;
            let filling = match filling {
                Some(guards) if !vectors.is_empty() => {
                    statement.filling.clear();
                    irredundant(&guards, &known)?
                }
                _ => Vec::new(),
            };
            let (of, lane, reads) = (of.clone(), lane.clone(), vectors);
            let vector = Vector { of, lane, length, reads, write, filling, first, inside, statement };
            Node::Vector(Box::new(vector))
        };
        let guards = irredundant(&guards, place)?;
        Ok(Some(self.guarded(guards, Some(of.clone()), known, vec![node])))
    }

    /// The guards of the first lane, if they are equivalent to those of all lanes; `None` if guards
    /// separate lanes.
    fn guards_of_first(
        &self,
        of_lanes: &[Guard],
        lane: &Name,
        length: i64,
        place: &Place,
    ) -> Result<Option<Vec<Guard>>, Diagnostic> {
        let value = Aff::var(lane);
        let mut all = place.clone();
        all.bound.insert(lane.clone());
        all.learn(&[Constraint::nonneg(value.clone()), Constraint::lt(&value, &Aff::constant(length))?])?;
        let mut guards = Vec::new();
        for g in of_lanes {
            if all.implies(&g.canonical)? {
                continue;
            }
            let aff = g.canonical.aff.substitute_one(lane, &Aff::constant(0))?;
            let c = Constraint { kind: g.canonical.kind, aff };
            guards.push(Guard { declared: c.clone(), canonical: c });
        }
        // If any lane runs, the first does; otherwise lanes would be lost (`j <= 4*i + lane`).
        let any = all.with(&canonical(of_lanes))?;
        for g in &guards {
            if !any.implies(&g.canonical)? {
                return Ok(None);
            }
        }
        // And if the first lane runs, all do.
        all.learn(&canonical(&guards))?;
        for g in of_lanes {
            if !all.implies(&g.canonical)? {
                return Ok(None);
            }
        }
        Ok(Some(guards))
    }

    /// Whether the lanes access neighbouring elements, each access beginning at a multiple of its
    /// length.
    pub fn is_vector(
        &self,
        access: &Access,
        lane: &Name,
        lanes: i64,
        place: &Place,
    ) -> Result<bool, Diagnostic> {
        let Some(row) = self.neighbours(access, lane)? else { return Ok(false) };
        let lanes = lanes.min(row.widest);
        if self.is_shifted(access, &row, lane, lanes)? {
            return Ok(true);
        }
        self.is_aligned(row.array, &row.first, lanes, place)
    }

    /// Whether an element of an array lies at a multiple of a number of elements.
    pub fn is_aligned(
        &self,
        array: &Array,
        first: &[Aff],
        lanes: i64,
        place: &Place,
    ) -> Result<bool, Diagnostic> {
        let Some(dense) = dense_axis(array) else { return Ok(false) };
        if !self.multiple(&first[dense], lanes, place)? {
            return Ok(false);
        }
        if array.layout.modes.is_some() {
            return Ok(array.keeps_vectors(dense, lanes).is_ok());
        }
        if array.layout.swizzle.is_some_and(|s| lanes > 1 << s.base().min(62)) {
            return Ok(false);
        }
        let order = storage_order(array);
        for (k, axis) in order.iter().enumerate().filter(|(_, axis)| **axis != dense) {
            if first[*axis].as_constant() == Some(0) {
                continue;
            }
            let mut aligned = false;
            match &array.axes[*axis].stride {
                Some(stride) => {
                    let Some(stride) = stride.to_aff() else { return Ok(false) };
                    aligned = self.multiple(&stride, lanes, place)?;
                }
                // The strides of the outer axes are products of the lengths of the denser ones.
                None => {
                    for denser in &order[k + 1..] {
                        aligned |= self.length_multiple(array, *denser, lanes, place)?;
                    }
                }
            }
            if !aligned {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the loop counts positions from the aligned address before the row
    /// (`loopwright_realize`).
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
            loopwright_realize::aligned_iname(analysis.kernel, &analysis.lookup, access, lane, lanes, shift)
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
        let Some(dense) = dense_axis(array).filter(|_| array.space != AddressSpace::Private) else {
            return Ok(None);
        };
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
        let Some(last) = first.get(dense) else { return Ok(None) };
        let elsewhere = first.iter().enumerate().any(|(axis, s)| axis != dense && s.mentions(lane));
        if last.coefficient(lane) != 1 || elsewhere || first.len() != array.axes.len() {
            return Ok(None);
        }
        let rest = last.sub(&Aff::var(lane))?;
        if rest.mentions(lane) {
            return Ok(None);
        }
        first[dense] = rest;
        let dtype = known(&array.dtype, &access.array)?;
        let widest = widest(dtype, self.target);
        Ok(Some(Row { array, dense, first, widest }))
    }

    /// The refusal of neighbouring lanes whose first element may be misaligned for their access,
    /// with a witness.
    pub fn unaligned(
        &self,
        info: &PartInfo,
        access: &Access,
        write: bool,
        lane: &Name,
        lanes: i64,
    ) -> Result<Option<Diagnostic>, Diagnostic> {
        let analysis = self.analysis;
        if let Some(refusal) = self.taken_apart(info, access, write, lane, lanes)? {
            return Ok(Some(refusal));
        }
        let Some(row) = self.neighbours(access, lane)? else { return Ok(None) };
        // Data may have any values; an example with made-up ones would prove nothing. When lowering
        // is forced, lanes are accessed one by one.
        if !info.execution.loads.is_empty() || self.hazards == Hazards::Left {
            return Ok(None);
        }
        let lanes = lanes.min(row.widest);
        let (name, part) = (&access.array, &info.execution.part);
        let verb = if write { "writes" } else { "reads" };
        let mut rows = analysis.context.clone();
        for c in &info.instances {
            let aff = c.aff.substitute_one(lane, &Aff::constant(0))?;
            rows.push(Constraint { kind: c.kind, aff });
        }
        let system = System::new(&rows)?;
        // The strides, or the lengths that make them.
        let order = storage_order(row.array);
        let explicit = row.array.axes.iter().any(|axis| axis.stride.is_some());
        let mut lengths = Vec::new();
        for axis in &row.array.axes {
            let of = axis.stride.as_ref().unwrap_or(&axis.length);
            let Some(length) = of.to_aff() else { return Ok(None) };
            lengths.push(if explicit { length } else { length.add_constant(i64::from(axis.padding))? });
        }
        let used = if explicit { &order[..] } else { &order[1..] };
        let inner: BTreeSet<Name> = used.iter().flat_map(|axis| lengths[*axis].names()).collect();
        for values in small_values(&inner) {
            // With constant lengths and strides the offset is affine.
            let mut offset = Aff::constant(0);
            let mut stride = 1i64;
            for axis in order.iter().rev() {
                // Other modes add multiples of the vector's length.
                if row.array.layout.modes.is_some() && *axis != row.dense {
                    continue;
                }
                let length = lengths[*axis].eval(&|n| values.get(n).copied()).unwrap_or(0);
                let own = if explicit { length } else { stride };
                offset = offset.add(&row.first[*axis].scale(own)?)?;
                if !explicit {
                    stride = stride.checked_mul(length).ok_or(loopwright_poly::Error::Overflow)?;
                }
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
            let bytes = i64::from(self.target.widest_access) / row.widest;
            let cell: Vec<String> = cell.iter().map(i64::to_string).collect();
            return Ok(Some(
                Diagnostic::new(
                    "unaligned",
                    format!(
                        "{part} {verb} {lanes} elements of `{name}` at once (`{lane}: vec`), from \
                         an address that may not be a multiple of {} bytes",
                        lanes * bytes
                    ),
                )
                .witness(format!(
                    "the lanes of ({}) begin with `{name}[{}]`, which lies {} bytes after the \
                     beginning of `{name}`{with}",
                    instance.join(", "),
                    cell.join(", "),
                    at.saturating_mul(bytes)
                ))
                .help(format!(
                    "pad or shift `{name}`, assume that its rows are multiples of {lanes} \
                     elements, or handle misaligned elements separately; for single accesses tag \
                     `{lane}: ilp`{}",
                    match write {
                        true => String::new(),
                        false => format!(", or copy by `add_prefetch({name}, [{lane}], space=private)`"),
                    }
                )),
            ));
        }
        Ok(None)
    }

    /// The refusal of neighbouring lanes whose elements do not lie together in the layout that is
    /// set of an array.
    fn taken_apart(
        &self,
        info: &PartInfo,
        access: &Access,
        write: bool,
        lane: &Name,
        lanes: i64,
    ) -> Result<Option<Diagnostic>, Diagnostic> {
        let analysis = self.analysis;
        let array = analysis.lookup.array(&access.array).filter(|a| {
            !a.layout.is_default() && a.space != AddressSpace::Private && self.hazards != Hazards::Left
        });
        let Some(array) = array else { return Ok(None) };
        let lanes = lanes.min(widest(known(&array.dtype, &access.array)?, self.target));
        let mut along = Vec::new();
        for (axis, subscript) in access.index.iter().enumerate() {
            let Some(aff) = subscript.to_aff() else { return Ok(None) };
            if analysis.canonical(&aff)?.mentions(lane) {
                along.push(axis);
            }
        }
        let [axis] = along[..] else { return Ok(None) };
        // A swizzle takes nothing apart that lay together only along another axis.
        if array.layout.modes.is_none() && dense_axis(array) != Some(axis) {
            return Ok(None);
        }
        let Err(why) = array.keeps_vectors(axis, lanes) else { return Ok(None) };
        let (name, part) = (&access.array, &info.execution.part);
        let verb = if write { "writes" } else { "reads" };
        let message = format!(
            "{part} {verb} {lanes} elements of `{name}` at once (`{lane}: vec`), which do not lie \
             together: {why}"
        );
        Ok(Some(Diagnostic::new("unaligned", message).help(format!(
            "choose a layout in which {lanes} neighbours stay together (a swizzle from bit {} on), or \
             shorter vectors; for single accesses tag `{lane}: ilp`",
            lanes.ilog2()
        ))))
    }

    fn length_multiple(&self, array: &Array, axis: usize, m: i64, place: &Place) -> Result<bool, Diagnostic> {
        let axis = &array.axes[axis];
        let Some(length) = axis.length.to_aff() else { return Ok(false) };
        let length = length.add_constant(i64::from(axis.padding))?;
        self.multiple(&length, m, place)
    }

    fn multiple(&self, aff: &Aff, m: i64, place: &Place) -> Result<bool, Diagnostic> {
        let remainder = aff.modulo(m)?;
        if remainder.as_constant() == Some(0) {
            return Ok(true);
        }
        place.implies(&Constraint::zero(remainder))
    }
}
