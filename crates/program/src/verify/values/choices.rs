//! Elements in whose place an update takes a constant, by a condition of its own.
//!
//! The condition holds for each instance of the update, so that the value is that of the kernel
//! there; elsewhere it is that of a term of the constants (`filling`). All elements of the arrays
//! that are chosen from are chosen: one that is not would be another value where the condition
//! fails.

use loopwright_kernel_ir::{Constraint, Diagnostic, Number, Part};
use loopwright_poly::System;

use super::{
    WrongValue,
    forms::{Form, Node, Op, Place},
    walk::Walk,
};
use crate::{
    Instances, Leaf,
    verify::{instances::Coverage, reading::ScopeId},
};

/// An element in whose place a number is taken where these constraints do not all hold.
#[derive(Clone)]
pub(super) struct Chosen {
    pub place: Place,
    pub subscripts: Vec<Form>,
    pub holds: Vec<Constraint>,
    pub number: Number,
}

impl Walk<'_, '_, '_> {
    /// The instances of a part for which a statement is run where it stands.
    pub fn instances_here(&mut self, claim: &Instances, scope: ScopeId) -> Result<System, WrongValue> {
        let own = Coverage::instances(claim, self.reading.context, Some(self.reading));
        let own = own.map_err(Diagnostic::from)?;
        Ok(self.system(scope)?.with(&own).map_err(Diagnostic::from)?)
    }

    /// The value of an update without the choices in it between an element and a constant whose
    /// conditions hold for all of its instances, and these choices.
    pub fn without_choices(
        &mut self,
        found: Form,
        leaf: &Leaf,
        scope: ScopeId,
    ) -> Result<(Form, Vec<Chosen>), WrongValue> {
        let mut chosen = Vec::new();
        let (Some(claim), Part::Update(_)) = (&leaf.instances, leaf.part.part) else {
            return Ok((found, chosen));
        };
        let mut has_choice = false;
        self.forms.visit(found, &mut |node| has_choice |= matches!(node, Node::Op(Op::Select, ..)));
        if !has_choice {
            return Ok((found, chosen));
        }
        let own = self.instances_here(claim, scope)?;
        let plain = self.forms.replaced(found, &mut |forms, form| {
            let Node::Op(Op::Select, _, args) = forms.node(form) else { return None };
            let [cond, of, other] = args[..] else { return None };
            let (Node::Element(_, place, subscripts, _), Some(number)) =
                (forms.node(of), forms.as_number(other))
            else {
                return None;
            };
            let mut holds = Vec::new();
            forms.constraints(cond, &mut holds)?;
            if !own.implies_all(&holds).ok()? {
                return None;
            }
            chosen.push(Chosen { place: place.clone(), subscripts: subscripts.clone(), holds, number });
            Some(of)
        });
        // An element of the same array that is not chosen is another value where that fails.
        let zero = self.forms.number(Number::Bool(false));
        let others = self.forms.replaced(found, &mut |forms, form| {
            matches!(forms.node(form), Node::Op(Op::Select, ..)).then_some(zero)
        });
        let mut left = Vec::new();
        self.forms.elements(others, &mut left);
        match left.iter().any(|(place, _)| chosen.iter().any(|c| c.place == *place)) {
            true => Ok((found, Vec::new())),
            false => Ok((plain, chosen)),
        }
    }

    /// The choice of an update that is one of this element.
    pub fn choice_of<'o>(
        &mut self,
        (place, subscripts): &(Place, Vec<Form>),
        all: &'o [Chosen],
        scope: ScopeId,
    ) -> Result<Option<&'o Chosen>, WrongValue> {
        for chosen in all {
            if chosen.place != *place || chosen.subscripts.len() != subscripts.len() {
                continue;
            }
            let mut same = true;
            for (a, b) in chosen.subscripts.iter().zip(subscripts) {
                same = same && self.same_subscript(*a, *b, scope)?;
            }
            if same {
                return Ok(Some(chosen));
            }
        }
        Ok(None)
    }
}
