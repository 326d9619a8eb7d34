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
//! * It is none on reduced inames, and the part that uses the result has it too: what is
//!   accumulated there belongs to no result.
//! * Where it fails, each element that the term reads has been filled, and the term is the neutral
//!   element: the buffer has one writer, a copy before the update in the same loops; the element is
//!   among those that the copy writes in this iteration of the loops around both, and is none of an
//!   instance of the copy.

use loopwright_kernel_ir::{
    Aff, BinaryOp, Constraint, Diagnostic, HardwareAxis, Name, Number, Part, PartRef, Role, arithmetic,
};
use loopwright_legality::consumer;
use loopwright_poly::System;

use super::{
    WrongValue,
    forms::{Form, Forms, Node, Op, Operation, Place, UnaryOp},
    spec::At,
    walk::Walk,
};
use crate::{
    Leaf,
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
    pub fn adds_nothing(&mut self, leaf: &Leaf, at: &At<'_>, scope: ScopeId) -> Result<(), WrongValue> {
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
            if !self.reads_filling(leaf, at, scope, c)? {
                let message = format!(
                    "`{}` may add to a result where {} has no instances: `{c}` need not hold there",
                    self.kernel.name, leaf.part
                );
                return Err(WrongValue::NotFollowed(Box::new(Diagnostic::new("wrong-value", message))));
            }
        }
        Ok(())
    }

    /// Whether the terms of an update are neutral where a constraint fails.
    fn reads_filling(
        &mut self,
        leaf: &Leaf,
        at: &At<'_>,
        scope: ScopeId,
        c: &Constraint,
    ) -> Result<bool, WrongValue> {
        let terms = self.spec.lifted(self.forms, &leaf.part, at)?;
        let mut read: Vec<(Place, Vec<Form>)> = Vec::new();
        for (term, _) in &terms {
            self.forms.elements(*term, &mut read);
        }
        let mut fillings: Vec<(Place, Filling)> = Vec::new();
        for (place, _) in &read {
            match self.fillings.get(place) {
                Some(Some(filling)) => fillings.push((place.clone(), filling.clone())),
                _ => return Ok(false),
            }
        }
        let filled = |place: &Place| fillings.iter().find(|(p, _)| p == place).map(|(_, f)| f.number);
        let neutral = terms.iter().all(|(term, neutral)| {
            let (Some(term), Some(neutral)) =
                (self.forms.evaluated(*term, &filled), self.forms.as_number(*neutral))
            else {
                return false;
            };
            term.as_f64() == neutral.as_f64()
        });
        if terms.is_empty() || !neutral {
            return Ok(false);
        }
        for not in c.negations().map_err(Diagnostic::from)? {
            for ((_, subscripts), (_, filling)) in read.iter().zip(&fillings) {
                let cell: Option<Vec<Aff>> =
                    subscripts.iter().map(|s| self.forms.to_aff(*s, &mut |_| None)).collect();
                let Some(cell) = cell.filter(|cell| cell.len() == filling.cell.len()) else {
                    return Ok(false);
                };
                if !self.is_of_filling(scope, &not, &cell, filling).map_err(Diagnostic::from)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether an element that is read is one that a copy fills, in the same iteration of the loops
    /// around both.
    fn is_of_filling(
        &mut self,
        scope: ScopeId,
        not: &Constraint,
        read: &[Aff],
        filling: &Filling,
    ) -> loopwright_poly::Result<bool> {
        let around = self.path.iter().zip(&filling.path).take_while(|((a, _), (b, _))| a == b);
        let around: Vec<Name> = around.flat_map(|((_, names), _)| names.clone()).collect();
        let is_common = |n: &Name| {
            around.contains(n)
                || self.spec.lookup.is_scalar(n)
                || HardwareAxis::of_coordinate(n).is_some_and(|axis| !axis.is_in_block())
        };
        let rows = |scope: ScopeId| [self.reading.context, &self.reading.scope(scope).rows].concat();
        let mut outside = rows(scope);
        outside.push(not.clone());
        // It is none of an instance.
        let other = |n: &Name| (!is_common(n)).then(|| Name::new(format!("{n}'")));
        let mut copied = outside.clone();
        for c in &filling.instances {
            copied.push(c.rename(&other)?);
        }
        let mut written = rows(filling.scope);
        written.extend(filling.lanes.iter().cloned());
        for (k, (own, read)) in filling.cell.iter().zip(read).enumerate() {
            copied.push(Constraint::equal(&own.rename(&other)?, read)?);
            written.push(Constraint::equal(&Aff::var(Name::new(format!("cell {k}"))), own)?);
        }
        if !System::new(&copied)?.is_empty()? {
            return Ok(false);
        }
        // It is written.
        if !self.reading.scope(filling.scope).exact {
            return Ok(false);
        }
        let is_cell = |n: &Name| (0..read.len()).find(|k| **n == *format!("cell {k}"));
        let written = System::new(&written)?.keep_only(&|n| is_cell(n).is_some() || is_common(n))?;
        if !written.exact {
            return Ok(false);
        }
        let outside = System::new(&outside)?;
        for c in written.system.constraints() {
            if !outside.implies(&c.substitute(&|n| is_cell(n).map(|k| read[k].clone()))?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Forms {
    /// The elements of the kernel's arrays in a form.
    fn elements(&self, form: Form, found: &mut Vec<(Place, Vec<Form>)>) {
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
            Node::Op(Op::Unary(UnaryOp::Neg), dtype, args) => {
                let zero = Number::F64(-0.0).cast(*dtype);
                arithmetic::binary(BinaryOp::Sub, zero, of(args.first()?)?).ok()
            }
            Node::Op(Op::Binary(op), _, args) => {
                let [a, b] = args.as_slice() else { return None };
                let op = match op {
                    Operation::Add => BinaryOp::Add,
                    Operation::Sub => BinaryOp::Sub,
                    Operation::Mul => BinaryOp::Mul,
                    _ => return None,
                };
                arithmetic::binary(op, of(a)?, of(b)?).ok()
            }
            _ => None,
        }
    }
}
