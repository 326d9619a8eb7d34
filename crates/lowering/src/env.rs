//! What is known and named at a place of the body that is being written.

use std::{cell::RefCell, collections::BTreeMap, collections::BTreeSet, collections::HashMap, rc::Rc};

use loopwright_kernel_ir::{Constraint, Diagnostic, Name};
use loopwright_poly::System;

use crate::program::Value;

/// What is known and named at a place of the body.
#[derive(Clone)]
pub(crate) struct Env {
    /// Names of the kernel with their values: inames, defined inames, coordinates, parameters.
    pub values: BTreeMap<Name, Value>,
    /// Canonical names that have a value here: coordinates and inames of loops and lanes around.
    pub bound: BTreeSet<Name>,
    /// What holds here.
    system: System,
    answers: Rc<RefCell<HashMap<Constraint, bool>>>,
}

impl Env {
    pub fn new(known: &[Constraint]) -> Result<Self, Diagnostic> {
        Ok(Env {
            values: BTreeMap::new(),
            bound: BTreeSet::new(),
            system: System::new(known)?,
            answers: Rc::default(),
        })
    }

    /// What holds here.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// From here on this holds as well.
    pub fn learn(&mut self, known: &[Constraint]) -> Result<(), Diagnostic> {
        if known.is_empty() {
            return Ok(());
        }
        for c in known {
            self.system.add(c)?;
        }
        self.answers = Rc::default();
        Ok(())
    }

    /// Whether a constraint is known to hold here.
    pub fn implies(&self, c: &Constraint) -> Result<bool, Diagnostic> {
        if let Some(answer) = self.answers.borrow().get(c) {
            return Ok(*answer);
        }
        let answer = self.system.implies(c)?;
        self.answers.borrow_mut().insert(c.clone(), answer);
        Ok(answer)
    }
}
