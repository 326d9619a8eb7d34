//! Facts known at a place of a body: which names have a value there, and which constraints hold.
//!
//! Decisions depend on nothing else. Writing tracks the same places, since the form of an index (a
//! truncating quotient, a constant bound) depends on what holds there.

use std::{cell::RefCell, collections::BTreeMap, collections::BTreeSet, rc::Rc};

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name};
use loopwright_poly::{System, Table, Term};

/// The facts known at a place.
#[derive(Clone)]
pub(crate) struct Place {
    /// Canonical names that have a value here: coordinates and inames of loops and lanes around.
    pub bound: BTreeSet<Name>,
    /// Integer scalars that have been loaded from data by now.
    pub data: Rc<BTreeSet<Name>>,
    /// Inames of loops of one iteration, with their only value.
    pub only: BTreeMap<Name, Aff>,
    /// Coordinates of axes on which there is one thread or block.
    pub fixed: Rc<BTreeMap<Name, Aff>>,
    /// The constraints that hold here.
    system: System,
    answers: Rc<RefCell<Table<Constraint, bool>>>,
}

impl Place {
    pub fn new(known: &[Constraint]) -> Result<Self, Diagnostic> {
        Ok(Place {
            bound: BTreeSet::new(),
            data: Rc::default(),
            only: BTreeMap::new(),
            fixed: Rc::default(),
            system: System::new(known)?,
            answers: Rc::default(),
        })
    }

    /// The constraints that hold here.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Adds a constraint that holds from here on.
    pub fn learn(&mut self, known: &[Constraint]) -> Result<(), Diagnostic> {
        if known.is_empty() {
            return Ok(());
        }
        self.system.add_all(known)?;
        self.answers = Rc::default();
        Ok(())
    }

    /// As [`Self::learn`], for a place further in.
    pub fn with(&self, known: &[Constraint]) -> Result<Place, Diagnostic> {
        let mut inner = self.clone();
        inner.learn(known)?;
        Ok(inner)
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

    /// The canonical function, with inames and coordinates that have one value here replaced by it.
    pub fn with_constants(&self, canonical: &Aff) -> Result<Aff, Diagnostic> {
        Ok(canonical.substitute(&|n| self.only.get(n).or_else(|| self.fixed.get(n)).cloned())?)
    }

    /// The canonical function without its quotients that have one value here: `(16*l + v) // 512`
    /// is zero where `16*l + v` is a remainder by 512.
    pub fn without_constant_quotients(&self, canonical: &Aff) -> Result<Aff, Diagnostic> {
        let mut result = canonical.clone();
        for (term, factor) in canonical.terms() {
            if let Term::Div(div) = term
                && let Some(value) = self.constant_quotient(&div.numerator, div.denominator)?
            {
                let quotient = div.numerator.floor_div(div.denominator)?;
                result = result.sub(&quotient.scale(*factor)?)?.add(&Aff::constant(value).scale(*factor)?)?;
            }
        }
        Ok(result)
    }

    /// The value of `floor(numerator / denominator)`, if it is constant here and this can be seen
    /// cheaply.
    pub fn constant_quotient(&self, numerator: &Aff, denominator: i64) -> Result<Option<i64>, Diagnostic> {
        let range = || match self.system.constant_range(numerator) {
            Err(loopwright_poly::Error::Budget | loopwright_poly::Error::Overflow) => Ok((None, None)),
            found => found,
        };
        if (denominator > 1 || !numerator.is_affine())
            && let (Some(least), Some(greatest)) = range()?
            && least.div_euclid(denominator) == greatest.div_euclid(denominator)
        {
            return Ok(Some(least.div_euclid(denominator)));
        }
        // Nothing is known of what 64 bits do not hold.
        let Ok(quotient) = numerator.floor_div(denominator) else { return Ok(None) };
        Ok(self.with_constants(&quotient).ok().and_then(|value| value.as_constant()))
    }
}
