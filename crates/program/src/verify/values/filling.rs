//! Whether filling adds nothing: copies that write their whole buffer, and updates of partial tiles
//! that read what no copy has put there.
//!
//! A copy may choose between its value and a constant. The condition has to hold for each of its
//! instances, and for nothing else that the statement runs for: so where an instance is, there is
//! its value, and the constant elsewhere.
//!
//! An update may run for more than its instances. For each constraint of the instances that may
//! fail where the statement runs, one of two things is shown:
//!
//! * It does not constrain reduced inames, and the part that uses the result has it too: what is
//!   accumulated there belongs to no result.
//! * Where it fails, each element that the term reads has been filled, and the term is the neutral
//!   element: copies that fill are all that writes the buffer. One of them has written the element,
//!   in this iteration of the loops around both, some iterations before, or before the loop; and
//!   since then no instance of a copy has. Or the update itself takes a constant in place of the
//!   element, by a condition that holds for each instance and does not hold where that fails.

use loopwright_kernel_ir::{
    Aff, BinaryOp, Constraint, Diagnostic, HardwareAxis, Name, Number, Part, PartRef, Role, arithmetic,
};
use loopwright_legality::consumer;
use loopwright_poly::System;

use super::{
    WrongValue,
    choices::Chosen,
    forms::{Form, Forms, Node, Op, Place, UnaryOp},
    spec::At,
    walk::Walk,
};
use crate::{
    BinOp, Leaf, Stmt,
    verify::{instances::Coverage, reading::ScopeId},
};

/// A copy that fills its buffer.
#[derive(Clone, Debug)]
pub(super) struct Filling {
    number: Number,
    scope: ScopeId,
    instances: Vec<Constraint>,
    /// The range of the lane that a vector's elements are.
    lanes: Vec<Constraint>,
    /// The element that is written.
    cell: Vec<Aff>,
    /// The loops around, and the names that they count.
    path: Vec<(usize, Vec<Name>)>,
}

/// An update that runs where a constraint of its instances fails.
pub(super) struct Owed {
    part: PartRef,
    fails: Constraint,
    scope: ScopeId,
    /// Loops around, by their numbers, with the names that they count.
    path: Vec<(usize, Vec<Name>)>,
    /// The terms, each with its neutral element.
    terms: Vec<(Form, Form)>,
    /// The elements that they read.
    read: Vec<(Place, Vec<Form>)>,
    /// Those in whose place the update takes zero where a condition does not hold.
    chosen: Vec<Chosen>,
    /// How many statements that write each of these places stand in front of the update.
    in_front: Vec<usize>,
}

impl Walk<'_, '_, '_> {
    /// Whether a copy chooses between its value, for its instances, and a constant. If so it is
    /// remembered.
    pub fn is_filled(
        &mut self,
        (wanted, found): (Form, Form),
        subscripts: &[Form],
        leaf: &Leaf,
        scope: ScopeId,
    ) -> Result<Option<Filling>, WrongValue> {
        let (Role::Copies { .. }, Some(instances)) = (&leaf.role, &leaf.instances) else { return Ok(None) };
        let Node::Op(Op::Select, _, args) = self.forms.node(found) else { return Ok(None) };
        let [cond, copied, filling] = args[..] else { return Ok(None) };
        let Some(number) = self.forms.as_number(filling) else { return Ok(None) };
        if !self.same(wanted, copied, scope)? {
            return Ok(None);
        }
        let lane = self.lane.clone();
        let by = lane.as_ref().map(|(_, by)| by.clone()).unwrap_or_default();
        let cond = self.forms.substitute(cond, &by);
        let mut rows = Vec::new();
        if self.forms.constraints(cond, &mut rows).is_none() {
            return Ok(None);
        }
        let own = Coverage::instances(instances, self.reading.context, Some(self.reading));
        let own = System::new(&own.map_err(Diagnostic::from)?).map_err(Diagnostic::from)?;
        // Of a vector, the kernel's lane goes over its range.
        let of_lane = |c: &&Constraint| lane.as_ref().is_some_and(|(l, _)| c.names().iter().all(|n| n == l));
        let lanes: Vec<Constraint> = instances.constraints.iter().filter(of_lane).cloned().collect();
        let run = self.system(scope)?.with(&[rows.as_slice(), &lanes].concat());
        let run = run.map_err(Diagnostic::from)?;
        let follows = own.implies_all(&rows).map_err(Diagnostic::from)?
            && run.implies_all(&instances.constraints).map_err(Diagnostic::from)?;
        let mut function = |s: &Form| {
            let s = self.forms.substitute(*s, &by);
            self.forms.to_aff(s, &mut |_| None)
        };
        let cell = subscripts.iter().map(&mut function).collect::<Option<Vec<_>>>();
        let (true, Some(cell)) = (follows, cell) else { return Ok(None) };
        let (instances, path) = (instances.constraints.clone(), self.path.clone());
        Ok(Some(Filling { number, scope, instances, lanes, cell, path }))
    }

    /// Whether an update that runs for more than its instances adds nothing there.
    pub fn adds_nothing(
        &mut self,
        leaf: &Leaf,
        at: &At<'_>,
        scope: ScopeId,
        chosen: &[Chosen],
    ) -> Result<(), WrongValue> {
        let (Some(claim), Part::Update(n)) = (&leaf.instances, leaf.part.part) else { return Ok(()) };
        if claim.allowed == claim.constraints {
            return Ok(());
        }
        let lookup = &self.spec.lookup;
        let Some(instruction) = lookup.instruction(&leaf.part.instruction) else { return Ok(()) };
        let reductions = instruction.reductions();
        let Some(reduce) = reductions.get(n) else { return Ok(()) };
        let mut reduced: Vec<Name> = Vec::new();
        for iname in &reduce.inames {
            reduced.extend(self.spec.function(iname, at.only).names());
        }
        reduced.retain(|n| !lookup.is_scalar(n));
        let user = PartRef { instruction: instruction.id.clone(), part: consumer(instruction, n) };
        let mut finished = self.reading.context.to_vec();
        for c in lookup.instances(&lookup.part_inames(&user)) {
            let c = lookup.expand_constraint(&c).and_then(|c| {
                c.substitute(&|n| {
                    let coordinates = &self.program.coordinates;
                    coordinates.iter().find(|(name, _)| name == n).map(|(_, aff)| aff.clone())
                })
            });
            finished.push(c.map_err(Diagnostic::from)?);
        }
        let finished = System::new(&finished).map_err(Diagnostic::from)?;
        for c in &claim.constraints {
            if self.system(scope)?.implies(c).map_err(Diagnostic::from)? {
                continue;
            }
            let of_result = !c.aff.mentions_any(&|n| reduced.contains(n));
            if of_result && finished.implies(c).map_err(Diagnostic::from)? {
                continue;
            }
            let terms = self.spec.lifted(self.forms, &leaf.part, at)?;
            let mut read: Vec<(Place, Vec<Form>)> = Vec::new();
            for (term, _) in &terms {
                self.forms.elements(*term, &mut read);
            }
            let in_front = |place: &Place| self.fillings.get(place).map_or(0, Vec::len);
            let in_front = read.iter().map(|(place, _)| in_front(place)).collect();
            self.owed.push(Owed {
                part: leaf.part.clone(),
                fails: c.clone(),
                scope,
                path: self.path.clone(),
                terms,
                read,
                chosen: chosen.to_vec(),
                in_front,
            });
        }
        Ok(())
    }

    /// Whether the updates that run for more than their instances read filling there. Asked at the
    /// end: copies for later iterations may stand after the update.
    pub fn reads_filling(&mut self) -> Result<(), WrongValue> {
        for owed in std::mem::take(&mut self.owed) {
            if !self.is_neutral(&owed)? {
                let message = format!(
                    "`{}` may add to a result where {} has no instances: `{}` need not hold there",
                    self.kernel.name, owed.part, owed.fails
                );
                return Err(WrongValue::NotFollowed(Box::new(Diagnostic::new("wrong-value", message))));
            }
        }
        Ok(())
    }

    /// Whether the terms of an update are neutral where a constraint fails.
    fn is_neutral(&mut self, owed: &Owed) -> Result<bool, WrongValue> {
        let Owed { fails, scope, terms, read, .. } = owed;
        let mut fillings: Vec<(Place, Vec<Filling>)> = Vec::new();
        let mut choices: Vec<Option<&Chosen>> = Vec::new();
        for element in read {
            choices.push(self.choice_of(element, &owed.chosen, owed.scope)?);
        }
        for ((place, _), choice) in read.iter().zip(&choices) {
            if choice.is_some() {
                fillings.push((place.clone(), Vec::new()));
                continue;
            }
            // Nothing else writes it.
            let known = self.fillings.get(place).map(Vec::as_slice).unwrap_or_default();
            let all: Option<Vec<Filling>> = known.iter().cloned().collect();
            let Some(all) = all.filter(|all| all.len() == self.writers_of(place)) else { return Ok(false) };
            match all.first().map(|f| f.number) {
                Some(number) if all.iter().all(|f| f.number == number) => fillings.push((place.clone(), all)),
                _ => return Ok(false),
            }
        }
        let mut numbers: Vec<(&Place, Number)> = Vec::new();
        for ((place, of), choice) in fillings.iter().zip(&choices) {
            let number = choice.map(|chosen| chosen.number).or_else(|| of.first().map(|f| f.number));
            let Some(number) = number else { return Ok(false) };
            // One number stands for all elements of an array.
            if numbers.iter().any(|(other, n)| *other == place && *n != number) {
                return Ok(false);
            }
            numbers.push((place, number));
        }
        let filled = |place: &Place| numbers.iter().find(|(p, _)| *p == place).map(|(_, number)| *number);
        let neutral = terms.iter().all(|(term, neutral)| {
            let (Some(term), Some(neutral)) =
                (self.forms.evaluated(*term, &filled), self.forms.as_number(*neutral))
            else {
                return false;
            };
            match (term.as_i128(), neutral.as_i128()) {
                (Some(term), Some(neutral)) => term == neutral,
                _ => term.as_f64() == neutral.as_f64(),
            }
        });
        if terms.is_empty() || !neutral {
            return Ok(false);
        }
        for not in fails.negations().map_err(Diagnostic::from)? {
            for (k, ((_, subscripts), (_, of))) in read.iter().zip(&fillings).enumerate() {
                let cell: Option<Vec<Aff>> =
                    subscripts.iter().map(|s| self.forms.to_aff(*s, &mut |_| None)).collect();
                let Some(cell) = cell.filter(|cell| of.iter().all(|f| f.cell.len() == cell.len())) else {
                    return Ok(false);
                };
                let mut outside = self.reading.context.to_vec();
                outside.extend(self.reading.scope(*scope).rows.iter().cloned());
                outside.push(not.clone());
                if let Some(chosen) = choices[k] {
                    outside.extend(chosen.holds.iter().cloned());
                    if !System::new(&outside).and_then(|s| s.is_empty()).map_err(Diagnostic::from)? {
                        return Ok(false);
                    }
                    continue;
                }
                let of = of.split_at(owed.in_front[k]);
                if !self.is_filling(&outside, &cell, &owed.path, of).map_err(Diagnostic::from)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The number of statements that write a place.
    fn writers_of(&self, place: &Place) -> usize {
        let mut count = 0;
        Stmt::visit(&self.kernel.body, &mut |stmt| {
            let written = stmt.written().and_then(|to| self.place(to.element.memory));
            count += usize::from(written.as_ref() == Some(place));
        });
        count
    }

    /// Whether an element that is read holds filling, at all places where these rows hold: see
    /// [`Ring`]. Of the copies some stand in front of the read, and the others after it.
    fn is_filling(
        &self,
        outside: &[Constraint],
        read: &[Aff],
        path: &[(usize, Vec<Name>)],
        (in_front, behind): (&[Filling], &[Filling]),
    ) -> loopwright_poly::Result<bool> {
        let fillings = [in_front, behind].concat();
        let Some(ring) = Ring::of(self, outside, read, path, &fillings) else { return Ok(false) };
        if behind.iter().any(|f| !ring.is_inside(f)) {
            return Ok(false);
        }
        let mut all: Vec<Option<(&Filling, System)>> = Vec::new();
        for filling in &fillings {
            all.push(ring.written_by(filling)?.map(|written| (filling, written)));
        }
        let ahead = all.iter().take(in_front.len());
        let mut regions = Vec::new();
        for (filling, written) in ahead.flatten().filter(|(f, _)| ring.is_inside(f)) {
            regions.extend(ring.filled_by(filling, written, 0)?);
        }
        let outside = System::new(outside)?;
        if covered(&outside, &regions)? {
            return Ok(true);
        }
        let (inside, before): (Vec<_>, Vec<_>) =
            all.iter().flatten().partition(|(filling, _)| ring.is_inside(filling));
        // Those before the loop are read in the first iterations.
        let mut first = Vec::new();
        for iteration in (0..).take(before.len()) {
            for (filling, written) in &before {
                first.extend(ring.filled_by(filling, written, iteration)?);
            }
        }
        let furthest = if ring.iname.is_some() { MOST_BEFORE } else { 1 };
        for before in 1..furthest {
            let known = regions.len();
            for (filling, written) in &inside {
                regions.extend(ring.filled_by(filling, written, before)?);
            }
            if regions.len() > known && covered(&outside, &[regions.as_slice(), &first].concat())? {
                return Ok(true);
            }
        }
        covered(&outside, &[regions, first].concat())
    }
}

/// The iterations that a copy may be ahead of those that read it.
const MOST_BEFORE: i64 = 16;

/// Whether wherever a system holds, all constraints of some region hold.
fn covered(system: &System, regions: &[Vec<Constraint>]) -> loopwright_poly::Result<bool> {
    Ok(system.is_empty()? || covered_somewhere(system, regions)?)
}

/// As [`covered`], of a system that is not empty.
fn covered_somewhere(system: &System, regions: &[Vec<Constraint>]) -> loopwright_poly::Result<bool> {
    let Some((first, rest)) = regions.split_first() else { return Ok(false) };
    for c in first {
        for not in c.negations()? {
            let not = [not];
            // Most constraints follow from the system, which is asked without making another one.
            if !system.is_empty_with(&not)? && !covered_somewhere(&system.with(&not)?, rest)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// An element that is read where an update has no instance, and the copies that write its buffer.
///
/// The innermost loop around the update and some copy is the *ring's*. A copy stands in it or right
/// before it. It has written the element in the same iteration, or so many before, or before the
/// loop, for a read in one of the first iterations. If from then on until the read no instance of a
/// copy writes the element, it holds filling. A copy in the loop that stands after the update has
/// written what it reads at least one iteration before.
struct Ring<'r, 'w, 'k, 'p> {
    walk: &'r Walk<'w, 'k, 'p>,
    /// The loops around the update.
    path: &'r [(usize, Vec<Name>)],
    outside: &'r [Constraint],
    read: &'r [Aff],
    fillings: &'r [Filling],
    /// The number of loops around the update and the copies in the ring's loop.
    depth: usize,
    /// The iname of the ring's loop, if what the loop counts grows with it.
    iname: Option<Name>,
    /// What the ring's loop counts, its first value, and by how much it grows.
    counts: Option<&'r (Aff, Aff, i64)>,
}

impl<'r, 'w, 'k, 'p> Ring<'r, 'w, 'k, 'p> {
    /// `None` if copies stand elsewhere.
    fn of(
        walk: &'r Walk<'w, 'k, 'p>,
        outside: &'r [Constraint],
        read: &'r [Aff],
        path: &'r [(usize, Vec<Name>)],
        fillings: &'r [Filling],
    ) -> Option<Self> {
        let common = |f: &Filling| path.iter().zip(&f.path).take_while(|((a, _), (b, _))| a == b).count();
        let depth = fillings.iter().map(common).max()?;
        if fillings.iter().any(|f| common(f) != depth && common(f) + 1 != depth) {
            return None;
        }
        let last = depth.checked_sub(1).map(|last| &path[last]);
        let counts = last.and_then(|(number, _)| walk.rising.get(number));
        let iname = last.and_then(|(_, names)| names.first()).filter(|_| counts.is_some()).cloned();
        let ring = Ring { walk, path, outside, read, fillings, depth, iname, counts };
        // Those before the loop are told from those in it by what it counts.
        (ring.iname.is_some() || fillings.iter().all(|f| ring.is_inside(f))).then_some(ring)
    }

    fn is_inside(&self, filling: &Filling) -> bool {
        let around = self.path.iter().zip(&filling.path);
        around.take_while(|((a, _), (b, _))| a == b).count() == self.depth
    }

    /// Whether the update and a copy have a name in common, where they are in the same iteration of
    /// these loops.
    fn is_common(&self, name: &Name, loops: usize) -> bool {
        self.path[..loops].iter().any(|(_, names)| names.contains(name))
            || self.walk.spec.lookup.is_scalar(name)
            || HardwareAxis::of_coordinate(name).is_some_and(|axis| !axis.is_in_block())
    }

    /// Which elements, as `cell 0` and so on, a copy has surely written, in terms of what it has in
    /// common with the update; `None` if that is not known.
    fn written_by(&self, by: &Filling) -> loopwright_poly::Result<Option<System>> {
        let walk = self.walk;
        if !walk.reading.scope(by.scope).exact {
            return Ok(None);
        }
        let loops = if self.is_inside(by) { self.depth } else { self.depth - 1 };
        let rows = |scope: ScopeId| [walk.reading.context, &walk.reading.scope(scope).rows].concat();
        let mut written = rows(by.scope);
        written.extend(by.lanes.iter().cloned());
        for (k, own) in by.cell.iter().enumerate() {
            written.push(Constraint::equal(&Aff::var(Name::new(format!("cell {k}"))), own)?);
        }
        let keeps = |n: &Name| self.axis_of(n).is_some() || self.is_common(n, loops);
        let written = System::new(&written)?.keep_only(&keeps)?;
        Ok(written.exact.then_some(written.system))
    }

    /// The axis of an element that a name stands for in [`Ring::written_by`].
    fn axis_of(&self, name: &Name) -> Option<usize> {
        let axis: usize = name.strip_prefix("cell ")?.parse().ok()?;
        (axis < self.read.len()).then_some(axis)
    }

    /// Where a copy, which writes these elements, has surely written the one that is read, and no
    /// instance of a copy has written it since; `None` if that is not known. Of a copy in the loop,
    /// so many iterations before the read; of one before the loop, for a read that many iterations
    /// after the first.
    fn filled_by(
        &self,
        by: &Filling,
        written: &System,
        before: i64,
    ) -> loopwright_poly::Result<Option<Vec<Constraint>>> {
        let earlier = match &self.iname {
            Some(iname) if self.is_inside(by) => Some((iname, Aff::var(iname).add_constant(-before)?)),
            _ => None,
        };
        let mut region = Vec::new();
        for c in written.constraints() {
            region.push(c.substitute(&|n| {
                let then = earlier.as_ref().filter(|(iname, _)| *iname == n).map(|(_, then)| then.clone());
                self.axis_of(n).map(|k| self.read[k].clone()).or(then)
            })?);
        }
        if let (false, Some((counts, first, step))) = (self.is_inside(by), self.counts) {
            let at = first.add_constant(step.saturating_mul(before))?;
            region.push(Constraint::equal(counts, &at)?);
        }
        let here = [self.outside, &region].concat();
        if System::new(&here)?.is_empty()? {
            return Ok(None);
        }
        for other in self.fillings {
            // What stands before the loop has happened before what is in it.
            if self.is_inside(by) && !self.is_inside(other) {
                continue;
            }
            let mut since = here.clone();
            let same_iteration = self.is_inside(by) && before == 0;
            let loops = if same_iteration { self.depth } else { self.depth - 1 };
            let rename = |n: &Name| (!self.is_common(n, loops)).then(|| Name::new(format!("{n}'")));
            for c in &other.instances {
                since.push(c.rename(&rename)?);
            }
            for (own, read) in other.cell.iter().zip(self.read) {
                since.push(Constraint::equal(&own.rename(&rename)?, read)?);
            }
            if let (Some(iname), true, false) = (&self.iname, self.is_inside(other), same_iteration) {
                let at = Aff::var(Name::new(format!("{iname}'")));
                since.push(Constraint::le(&at, &Aff::var(iname))?);
                if let Some((_, then)) = &earlier {
                    since.push(Constraint::le(then, &at)?);
                }
            }
            if !System::new(&since)?.is_empty()? {
                return Ok(None);
            }
        }
        Ok(Some(region))
    }
}

impl Forms {
    /// The elements of the kernel's arrays in a form.
    pub fn elements(&self, form: Form, found: &mut Vec<(Place, Vec<Form>)>) {
        match self.node(form) {
            Node::Element(_, place, subscripts, _) => found.push((place.clone(), subscripts.clone())),
            Node::Sum(_, terms) => {
                terms.iter().flat_map(|(product, _)| product).for_each(|f| self.elements(*f, found));
            }
            Node::Op(_, _, args) => args.iter().for_each(|f| self.elements(*f, found)),
            Node::Name(_) | Node::Constant(..) | Node::Scalar(..) => {}
        }
    }

    /// The number that a form is where elements have these.
    fn evaluated(&self, form: Form, element: &dyn Fn(&Place) -> Option<Number>) -> Option<Number> {
        if let Some(number) = self.as_number(form) {
            return Some(number);
        }
        let of = |form: &Form| self.evaluated(*form, element);
        match self.node(form) {
            Node::Element(_, place, ..) => element(place),
            Node::Sum(dtype, terms) => {
                let mut sum: i64 = 0;
                for (product, factor) in terms {
                    let mut term = *factor;
                    for f in product {
                        term = term.wrapping_mul(of(f)?.as_i64()?);
                    }
                    sum = sum.wrapping_add(term);
                }
                Some(Number::I64(sum).cast(*dtype))
            }
            Node::Op(Op::Cast, dtype, args) => Some(of(args.first()?)?.cast(*dtype)),
            Node::Op(Op::Call(function, _), _, args)
                if matches!(&**function, "to_tf32" | "truncate_to_tf32") =>
            {
                arithmetic::math(function, &[of(args.first()?)?]).ok()
            }
            Node::Op(Op::Unary(UnaryOp::Neg), dtype, args) => {
                let zero = Number::F64(-0.0).cast(*dtype);
                arithmetic::binary(BinaryOp::Sub, zero, of(args.first()?)?).ok()
            }
            Node::Op(Op::Binary(op), _, args) => {
                let [a, b] = args.as_slice() else { return None };
                let op = match op {
                    BinOp::Add | BinOp::Sub | BinOp::Mul => op.declared()?,
                    _ => return None,
                };
                arithmetic::binary(op, of(a)?, of(b)?).ok()
            }
            _ => None,
        }
    }
}
