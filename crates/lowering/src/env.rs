//! What is known and named at a place of the body that is being written.

use std::{cell::RefCell, collections::BTreeMap, collections::BTreeSet, rc::Rc};

use loopwright_kernel_ir::{Access, Aff, Constraint, Diagnostic, Name};
use loopwright_poly::{System, Table};

use crate::program::{Value, VarId};

/// Where a loaded element is.
#[derive(Clone, Debug)]
pub(crate) enum Loaded {
    /// In a variable.
    Var(VarId),
    /// In the private array of this number, one element for each value of the lanes.
    Array { number: usize, lanes: Vec<Name> },
}

/// What of a statement over a vector's lanes is written.
#[derive(Clone, Debug, Default)]
pub(crate) enum Ahead {
    /// All of it.
    #[default]
    Whole,
    /// What it loads, into arrays with an axis for each of these lanes around the vector's.
    Loads(Vec<Name>),
    /// What it does with what has been loaded.
    Loaded,
}

/// What is known and named at a place of the body.
#[derive(Clone)]
pub(crate) struct Env {
    /// Names of the kernel with their values: inames, defined inames, coordinates, parameters.
    /// Shared between places: a kernel of hundreds of statements has a name for each, and every
    /// statement has a place of its own.
    pub values: Rc<BTreeMap<Name, Value>>,
    /// Named indices with their canonical functions, of which sums are made again: `i` for
    /// `blockIdx.x*128 + threadIdx.x`.
    pub named: Vec<(Name, Aff)>,
    /// Elements that the thread has loaded.
    pub loaded: Vec<(Access, Loaded)>,
    /// The element that the statement writes, where it goes to an array of the thread first: its
    /// number and the lanes that are its axes.
    pub stored: Option<(Access, usize, Vec<Name>)>,
    /// Whether this is only about what vectors load, or about what is done with it.
    pub ahead: Ahead,
    /// Canonical names that have a value here: coordinates and inames of loops and lanes around.
    pub bound: BTreeSet<Name>,
    /// Inames of loops of one iteration: their one value.
    pub only: BTreeMap<Name, Aff>,
    /// What holds here.
    system: System,
    answers: Rc<RefCell<Table<Constraint, bool>>>,
}

impl Env {
    pub fn new(known: &[Constraint]) -> Result<Self, Diagnostic> {
        Ok(Env {
            values: Rc::default(),
            named: Vec::new(),
            loaded: Vec::new(),
            stored: None,
            ahead: Ahead::default(),
            bound: BTreeSet::new(),
            only: BTreeMap::new(),
            system: System::new(known)?,
            answers: Rc::default(),
        })
    }

    /// What holds here.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// From here on the name has this value.
    pub fn set(&mut self, name: Name, value: Value) {
        Rc::make_mut(&mut self.values).insert(name, value);
    }

    /// From here on this holds as well.
    pub fn learn(&mut self, known: &[Constraint]) -> Result<(), Diagnostic> {
        if known.is_empty() {
            return Ok(());
        }
        self.system.add_all(known)?;
        self.answers = Rc::default();
        Ok(())
    }

    /// The canonical function, where inames that have one value here are that value.
    pub fn with_constants(&self, canonical: &Aff) -> Result<Aff, Diagnostic> {
        Ok(canonical.substitute(&|n| {
            self.only.get(n).cloned().or_else(|| crate::verify::parameters(self.values.get(n)?).ok()?)
        })?)
    }

    /// The canonical function with sums that have a name here replaced by it, where that leaves
    /// fewer terms, or fewer names that have no value because a loop counts a sum of them.
    pub fn in_names(&self, canonical: &Aff) -> Result<Aff, Diagnostic> {
        let mut aff = canonical.clone();
        // The same inside of quotients.
        for (term, c) in canonical.terms() {
            let loopwright_kernel_ir::Term::Div(div) = term else { continue };
            let numerator = self.in_names(&div.numerator)?;
            if numerator != div.numerator {
                let quotient = div.numerator.floor_div(div.denominator)?;
                aff = aff.sub(&quotient.scale(*c)?)?;
                aff = aff.add(&numerator.floor_div(div.denominator)?.scale(*c)?)?;
            }
        }
        let valueless = |aff: &Aff| {
            aff.names().iter().filter(|n| self.bound.contains(*n) && !self.values.contains_key(*n)).count()
        };
        let cost = |aff: &Aff| aff.terms().len() + valueless(aff);
        loop {
            let mut best: Option<(usize, Aff)> = None;
            for (name, value) in &self.named {
                let Some((first, k)) = value.terms().first() else { continue };
                let coefficient =
                    |aff: &Aff, term| aff.terms().iter().find(|(t, _)| t == term).map_or(0, |(_, c)| *c);
                let have = coefficient(&aff, first);
                if have == 0 || have % k != 0 {
                    continue;
                }
                let factor = have / k;
                if !value.terms().iter().all(|(t, c)| c.checked_mul(factor) == Some(coefficient(&aff, t))) {
                    continue;
                }
                let next = aff.sub(&value.scale(factor)?)?.add(&Aff::var(name).scale(factor)?)?;
                let saved = cost(&aff).saturating_sub(cost(&next));
                if saved > 0 && best.as_ref().is_none_or(|(s, _)| saved > *s) {
                    best = Some((saved, next));
                }
            }
            match best {
                Some((_, next)) => aff = next,
                None => return Ok(aff),
            }
        }
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
