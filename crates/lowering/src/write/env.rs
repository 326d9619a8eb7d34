//! The names and facts at a place of the body that is being written.

use std::{collections::BTreeMap, rc::Rc};

use loopwright_kernel_ir::{Access, Aff, Constraint, Diagnostic, Name};

use crate::{
    analyse::analysis::Chosen,
    program::{Value, VarId},
    schedule::{place::Place, spoken::Names},
};

/// Where a loaded element is.
#[derive(Clone, Debug)]
pub(crate) enum Loaded {
    /// In a variable of the thread, for all lanes.
    Var(VarId),
    /// In the private array of this number, one element for each value of the lanes.
    Array { number: usize, lanes: Vec<Name> },
}

/// The names and facts at a place of the body.
#[derive(Clone)]
pub(crate) struct Env {
    /// Names of the kernel with their values: inames, defined inames, coordinates, parameters.
    /// Shared between places: a kernel of hundreds of statements has a name for each, and every
    /// statement has its own place.
    pub values: Rc<BTreeMap<Name, Value>>,
    /// Named indices with their canonical functions, by which sums are abbreviated: `i` for
    /// `blockIdx.x*128 + threadIdx.x`.
    pub named: Vec<(Name, Aff)>,
    /// Which of the defined inames a statement of its own gives a variable.
    pub indices: Vec<Name>,
    /// Elements that the thread has loaded.
    pub loaded: Vec<(Access, Loaded)>,
    /// The element that the statement writes, if it is buffered in a private array: the array's
    /// index and the lanes that are its axes.
    pub stored: Option<(Access, usize, Vec<Name>)>,
    /// Elements in whose place zero is taken where guards fail.
    pub chosen: Rc<[Chosen]>,
    /// The constraints that hold here.
    pub place: Place,
}

impl Env {
    pub fn new(known: &[Constraint]) -> Result<Self, Diagnostic> {
        Ok(Env::at(Place::new(known)?))
    }

    /// A place where nothing is named yet.
    pub fn at(place: Place) -> Self {
        Env {
            values: Rc::default(),
            named: Vec::new(),
            indices: Vec::new(),
            loaded: Vec::new(),
            stored: None,
            chosen: Rc::new([]),
            place,
        }
    }

    /// The same names at a place further in.
    pub fn inside(&self, place: &Place) -> Self {
        Env { place: place.clone(), ..self.clone() }
    }

    /// From here on the name has this value.
    pub fn set(&mut self, name: Name, value: Value) {
        Rc::make_mut(&mut self.values).insert(name, value);
    }

    /// From here on these defined inames have no variables.
    pub fn forget(&mut self, names: &[Name]) {
        let is_kept = |name: &Name| !names.contains(name);
        Rc::make_mut(&mut self.values).retain(|name, _| is_kept(name));
        self.named.retain(|(name, _)| is_kept(name));
        self.indices.retain(is_kept);
    }

    /// The canonical function, with inames that have one value here replaced by it.
    pub fn with_constants(&self, canonical: &Aff) -> Result<Aff, Diagnostic> {
        Ok(canonical.substitute(&|n| {
            let only = self.place.only.get(n).cloned();
            only.or_else(|| crate::verify::parameters(self.values.get(n)?).ok()?)
        })?)
    }

    /// Whether a constraint is known to hold here.
    pub fn implies(&self, c: &Constraint) -> Result<bool, Diagnostic> {
        self.place.implies(c)
    }
}

impl Names for Env {
    fn has_value(&self, name: &Name) -> bool {
        self.values.contains_key(name)
    }

    fn is_bound(&self, name: &Name) -> bool {
        self.place.bound.contains(name)
    }

    fn named(&self) -> &[(Name, Aff)] {
        &self.named
    }
}
