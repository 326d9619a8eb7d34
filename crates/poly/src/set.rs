//! Sets of integer points, in terms of parameters.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Aff, Constraint, Error, Map, Name, Result, System, parse, relation::Relation};

/// A union of systems over named dimensions and parameters:
/// `[n] -> { S[i, j] : 0 <= i < n and j = 2i }`.
///
/// Equality and hash are those of the stored constraints; whether two sets have the same points is
/// [`Set::is_equal`]. Dimensions of operands are matched by position. Queries may fail with
/// [`Error::Budget`] or [`Error::Overflow`], but never give a wrong answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Relation", into = "Relation")]
pub struct Set {
    pub(crate) relation: Relation,
}

/// From a file, which may contain anything.
impl TryFrom<Relation> for Set {
    type Error = Error;

    fn try_from(relation: Relation) -> Result<Self> {
        match relation.ins.is_empty() && relation.in_tuple.is_none() {
            true => Ok(Set { relation }),
            false => Err(Error::Space("a set has one tuple, this is a map".into())),
        }
    }
}

impl From<Set> for Relation {
    fn from(set: Set) -> Self {
        set.relation
    }
}

impl Set {
    pub(crate) fn of(relation: Relation) -> Self {
        debug_assert!(relation.ins.is_empty());
        Set { relation }
    }

    /// All points of these dimensions.
    pub fn universe(dims: &[Name]) -> Result<Self> {
        Self::from_constraints(dims, &[])
    }

    /// No point of these dimensions.
    pub fn empty(dims: &[Name]) -> Result<Self> {
        Self::from_systems(dims, Vec::new())
    }

    /// The points that satisfy all constraints. Names that are not dimensions are parameters.
    pub fn from_constraints(dims: &[Name], constraints: &[Constraint]) -> Result<Self> {
        Self::from_systems(dims, vec![System::new(constraints)?])
    }

    /// The union of these systems. Names that are not dimensions are parameters.
    pub fn from_systems(dims: &[Name], disjuncts: Vec<System>) -> Result<Self> {
        Ok(Set::of(Relation::new(&[], &[], dims, disjuncts)?))
    }

    /// The set with another tuple name.
    pub fn with_tuple(mut self, tuple: Option<Name>) -> Self {
        self.relation.out_tuple = tuple;
        self
    }

    /// The set with more parameters declared.
    pub fn with_params(&self, params: &[Name]) -> Result<Self> {
        let r = &self.relation;
        let all: Vec<Name> = r.params.iter().chain(params).cloned().collect();
        let mut wider = Relation::new(&all, &[], &r.outs, r.disjuncts.clone())?;
        wider.out_tuple.clone_from(&r.out_tuple);
        Ok(Set::of(wider))
    }

    /// The parameters, sorted by name.
    pub fn params(&self) -> &[Name] {
        &self.relation.params
    }

    /// The dimensions in their order.
    pub fn dims(&self) -> &[Name] {
        &self.relation.outs
    }

    /// The name of the tuple; `None` for a set without one.
    pub fn tuple(&self) -> Option<&Name> {
        self.relation.out_tuple.as_ref()
    }

    /// The systems whose union the set is.
    pub fn disjuncts(&self) -> &[System] {
        &self.relation.disjuncts
    }

    /// The points that are in both sets, whose dimensions are matched by position.
    pub fn intersect(&self, other: &Set) -> Result<Self> {
        self.relation.intersect(&other.relation).map(Set::of)
    }

    /// The points that also satisfy the constraints.
    pub fn constrain(&self, constraints: &[Constraint]) -> Result<Self> {
        self.intersect(&Set::from_constraints(self.dims(), constraints)?.with_tuple(self.tuple().cloned()))
    }

    /// The points that are in at least one of the sets, whose dimensions are matched by position.
    pub fn union(&self, other: &Set) -> Result<Self> {
        self.relation.union(&other.relation).map(Set::of)
    }

    /// The points that are not in the other set.
    pub fn subtract(&self, other: &Set) -> Result<Self> {
        self.relation.subtract(&other.relation).map(Set::of)
    }

    /// The points that are not in this set.
    pub fn complement(&self) -> Result<Self> {
        self.relation.complement().map(Set::of)
    }

    /// Whether there is no point, for any parameters.
    pub fn is_empty(&self) -> Result<bool> {
        self.relation.is_empty()
    }

    /// Whether the other set has every point of this one, for all parameters.
    pub fn is_subset(&self, other: &Set) -> Result<bool> {
        self.relation.is_subset(&other.relation)
    }

    /// Whether both have the same points, for all parameters.
    pub fn is_equal(&self, other: &Set) -> Result<bool> {
        self.relation.is_equal(&other.relation)
    }

    /// The projection without some dimensions or parameters.
    pub fn project_out(&self, names: &[Name]) -> Result<Self> {
        self.relation.project_out(names).map(Set::of)
    }

    /// The points that the map relates to points of the set.
    pub fn apply(&self, map: &Map) -> Result<Self> {
        self.relation.then(&map.relation).map(Set::of)
    }

    /// The points whose image under the map has a point in this set: the inverse image.
    pub fn preimage(&self, map: &Map) -> Result<Self> {
        self.apply(&map.reverse())
    }

    /// The parameter values for which there is a point, as a set without dimensions.
    pub fn params_domain(&self) -> Result<Self> {
        self.project_out(self.dims()).map(|s| s.with_tuple(None))
    }

    /// For each parameter value the lexicographically least point.
    pub fn lexmin(&self) -> Result<Self> {
        self.relation.lexopt(false).map(Set::of)
    }

    /// For each parameter value the lexicographically greatest point.
    pub fn lexmax(&self) -> Result<Self> {
        self.relation.lexopt(true).map(Set::of)
    }

    /// The least value of one dimension in terms of the parameters, as a set of that dimension.
    pub fn dim_min(&self, dim: &Name) -> Result<Self> {
        self.only(dim)?.lexmin()
    }

    /// The greatest value of one dimension in terms of the parameters, as a set of that dimension.
    pub fn dim_max(&self, dim: &Name) -> Result<Self> {
        self.only(dim)?.lexmax()
    }

    fn only(&self, dim: &Name) -> Result<Self> {
        if !self.dims().contains(dim) {
            return Err(Error::Space(format!(
                "`{dim}` is not a dimension of {}",
                self.relation.space_text()
            )));
        }
        let others: Vec<Name> = self.dims().iter().filter(|d| *d != dim).cloned().collect();
        Ok(self.project_out(&others)?.with_tuple(None))
    }

    /// The least and the greatest value of a function over all points and parameters, see
    /// [`System::constant_range`].
    pub fn constant_range(&self, aff: &Aff) -> Result<(Option<i64>, Option<i64>)> {
        let mut range: Option<(Option<i64>, Option<i64>)> = None;
        for system in self.disjuncts() {
            if system.is_empty()? {
                continue;
            }
            let (low, high) = system.constant_range(aff)?;
            range = Some(match range {
                None => (low, high),
                Some((l, h)) => (l.zip(low).map(|(a, b)| a.min(b)), h.zip(high).map(|(a, b)| a.max(b))),
            });
        }
        Ok(range.unwrap_or((Some(0), Some(-1))))
    }

    /// Simplified under the assumption that the context holds: the intersection with the context
    /// stays the same.
    pub fn gist(&self, context: &Set) -> Result<Self> {
        self.relation.gist(&context.relation).map(Set::of)
    }

    /// The same points with fewer disjuncts, if isl finds them.
    pub fn coalesce(&self) -> Result<Self> {
        self.relation.coalesce().map(Set::of)
    }

    /// The same points with disjoint disjuncts.
    pub fn make_disjoint(&self) -> Result<Self> {
        self.relation.make_disjoint().map(Set::of)
    }

    /// A small point with some names fixed: a value for each parameter and dimension.
    pub fn sample(&self, fixed: &BTreeMap<Name, i64>) -> Result<Option<BTreeMap<Name, i64>>> {
        self.relation.sample(fixed)
    }

    /// The set for fixed parameters.
    pub fn fix_params(&self, values: &BTreeMap<Name, i64>) -> Result<Self> {
        if let Some(dim) = self.dims().iter().find(|d| values.contains_key(*d)) {
            return Err(Error::Space(format!("`{dim}` is no parameter")));
        }
        self.relation.fix(values).map(Set::of)
    }

    /// Whether a point belongs to the set; `None` if a name has no value.
    pub fn contains(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<bool> {
        self.relation.holds(values)
    }

    /// The map of each point to itself.
    pub fn identity(&self) -> Result<Map> {
        Map::identity(self.dims())?
            .with_tuples(self.tuple().cloned(), self.tuple().cloned())
            .intersect_domain(self)
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.relation.print(f, false)
    }
}

impl FromStr for Set {
    type Err = Error;

    /// Reads isl's syntax. The grammar is at the head of this crate's module `parse`; an error
    /// carries the byte offset.
    fn from_str(text: &str) -> Result<Self> {
        parse::set(text)
    }
}
