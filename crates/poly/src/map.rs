//! Relations between integer points, in terms of parameters.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::{
    Aff, Constraint, Error, Name, Result, Set, System, parse,
    relation::{Relation, fresh},
};

/// A union of systems that relate two tuples: `[n] -> { S[i] -> A[i + 1] : 0 <= i < n }`.
///
/// Inputs and outputs have distinct names: an output that would have the name of an input gets a
/// prime. Otherwise as [`Set`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Map {
    pub(crate) relation: Relation,
}

/// Names for outputs that no input has.
pub(crate) fn apart(ins: &[Name], outs: &[Name]) -> Vec<Name> {
    let mut taken: BTreeSet<Name> = ins.iter().cloned().collect();
    let name = |out: &Name| {
        let fresh = fresh(out, &taken);
        taken.insert(fresh.clone());
        fresh
    };
    outs.iter().map(name).collect()
}

impl Map {
    /// All pairs of points. Outputs with names of inputs get primes.
    pub fn universe(ins: &[Name], outs: &[Name]) -> Result<Self> {
        Self::from_systems(ins, &apart(ins, outs), vec![System::default()])
    }

    /// The map without any pair of points.
    pub fn empty(ins: &[Name], outs: &[Name]) -> Result<Self> {
        Self::from_systems(ins, &apart(ins, outs), Vec::new())
    }

    /// The pairs that satisfy all constraints. Names that are not dimensions are parameters; inputs
    /// and outputs must have different names.
    pub fn from_constraints(ins: &[Name], outs: &[Name], constraints: &[Constraint]) -> Result<Self> {
        Self::from_systems(ins, outs, vec![System::new(constraints)?])
    }

    /// The union of systems; inputs and outputs must differ.
    pub fn from_systems(ins: &[Name], outs: &[Name], disjuncts: Vec<System>) -> Result<Self> {
        Ok(Map { relation: Relation::new(&[], ins, outs, disjuncts)? })
    }

    /// Each input to the values of functions of it. The outputs are named `o0`, `o1`, ...
    pub fn from_affs(ins: &[Name], affs: &[Aff]) -> Result<Self> {
        let mut taken: BTreeSet<Name> = ins.iter().cloned().collect();
        taken.extend(affs.iter().flat_map(Aff::names));
        let (mut outs, mut constraints) = (Vec::new(), Vec::new());
        for (k, aff) in affs.iter().enumerate() {
            let out = fresh(&Name::new(format!("o{k}")), &taken);
            constraints.push(Constraint::equal(aff, &Aff::var(&out))?);
            outs.push(out);
        }
        Self::from_constraints(ins, &outs, &constraints)
    }

    /// The map of each point to itself.
    pub fn identity(dims: &[Name]) -> Result<Self> {
        let outs = apart(dims, dims);
        let equal: Vec<Constraint> = dims
            .iter()
            .zip(&outs)
            .map(|(a, b)| Constraint::equal(&Aff::var(a), &Aff::var(b)))
            .collect::<Result<_>>()?;
        Self::from_constraints(dims, &outs, &equal)
    }

    /// Each point to those that come after it in lexicographic order.
    pub fn lex_lt(dims: &[Name]) -> Result<Self> {
        Self::lexicographic(dims, false)
    }

    /// Each point to itself and to those that come after it in lexicographic order.
    pub fn lex_le(dims: &[Name]) -> Result<Self> {
        Self::lexicographic(dims, true)
    }

    fn lexicographic(dims: &[Name], or_equal: bool) -> Result<Self> {
        let outs = apart(dims, dims);
        let mut systems = Vec::new();
        let mut prefix = System::default();
        for (a, b) in dims.iter().zip(&outs) {
            let (a, b) = (Aff::var(a), Aff::var(b));
            systems.push(prefix.with(&[Constraint::lt(&a, &b)?])?);
            prefix.add(&Constraint::equal(&a, &b)?)?;
        }
        if or_equal {
            systems.push(prefix);
        }
        Self::from_systems(dims, &outs, systems)
    }

    /// The map with other tuple names.
    pub fn with_tuples(mut self, domain: Option<Name>, range: Option<Name>) -> Self {
        self.relation.in_tuple = domain;
        self.relation.out_tuple = range;
        self
    }

    /// The parameters, sorted by name.
    pub fn params(&self) -> &[Name] {
        &self.relation.params
    }

    /// The dimensions of the domain.
    pub fn ins(&self) -> &[Name] {
        &self.relation.ins
    }

    /// The dimensions of the range.
    pub fn outs(&self) -> &[Name] {
        &self.relation.outs
    }

    /// The names of the tuples of the domain and of the range, where they have one.
    pub fn tuples(&self) -> (Option<&Name>, Option<&Name>) {
        (self.relation.in_tuple.as_ref(), self.relation.out_tuple.as_ref())
    }

    /// The systems whose union the map is.
    pub fn disjuncts(&self) -> &[System] {
        &self.relation.disjuncts
    }

    fn of(relation: Relation) -> Self {
        Map { relation }
    }

    /// The pairs that are in both maps, whose dimensions are matched by position.
    pub fn intersect(&self, other: &Map) -> Result<Self> {
        self.relation.intersect(&other.relation).map(Map::of)
    }

    /// The pairs that also satisfy the constraints.
    pub fn constrain(&self, constraints: &[Constraint]) -> Result<Self> {
        let other = Map::from_constraints(self.ins(), self.outs(), constraints)?;
        let (domain, range) = self.tuples();
        self.intersect(&other.with_tuples(domain.cloned(), range.cloned()))
    }

    /// The pairs whose input is in the set.
    pub fn intersect_domain(&self, set: &Set) -> Result<Self> {
        self.within(set, true)
    }

    /// The pairs whose output is in the set.
    pub fn intersect_range(&self, set: &Set) -> Result<Self> {
        self.within(set, false)
    }

    /// The set as pairs, by its own labels renamed to those of one side.
    fn within(&self, set: &Set, domain: bool) -> Result<Self> {
        let r = &self.relation;
        let (dims, tuple) = if domain { (&r.ins, &r.in_tuple) } else { (&r.outs, &r.out_tuple) };
        let s = &set.relation;
        if dims.len() != s.outs.len() || *tuple != s.out_tuple {
            return Err(Error::Space(format!("{} and {}", r.space_text(), s.space_text())));
        }
        let table: BTreeMap<Name, Name> =
            s.outs.iter().cloned().zip(dims.iter().cloned()).filter(|(a, b)| a != b).collect();
        let renamed = s.rename(&table)?;
        if let Some(both) = renamed.params.iter().find(|p| r.ins.contains(p) || r.outs.contains(p)) {
            return Err(Error::Space(format!("`{both}` is a dimension here and a parameter there")));
        }
        let params: Vec<Name> = r.params.iter().chain(&renamed.params).cloned().collect();
        let mut other = Relation::new(&params, &r.ins, &r.outs, renamed.disjuncts)?;
        other.in_tuple.clone_from(&r.in_tuple);
        other.out_tuple.clone_from(&r.out_tuple);
        r.intersect(&other).map(Map::of)
    }

    /// The pairs that are in at least one of the maps, whose dimensions are matched by position.
    pub fn union(&self, other: &Map) -> Result<Self> {
        self.relation.union(&other.relation).map(Map::of)
    }

    /// The pairs that are not in the other map.
    pub fn subtract(&self, other: &Map) -> Result<Self> {
        self.relation.subtract(&other.relation).map(Map::of)
    }

    /// The pairs that are not in this map.
    pub fn complement(&self) -> Result<Self> {
        self.relation.complement().map(Map::of)
    }

    /// Whether there is no pair, for any parameters.
    pub fn is_empty(&self) -> Result<bool> {
        self.relation.is_empty()
    }

    /// Whether the other map has every pair of this one, for all parameters.
    pub fn is_subset(&self, other: &Map) -> Result<bool> {
        self.relation.is_subset(&other.relation)
    }

    /// Whether both have the same pairs, for all parameters.
    pub fn is_equal(&self, other: &Map) -> Result<bool> {
        self.relation.is_equal(&other.relation)
    }

    /// The projection without some dimensions or parameters.
    pub fn project_out(&self, names: &[Name]) -> Result<Self> {
        self.relation.project_out(names).map(Map::of)
    }

    /// First this map, then the other.
    pub fn then(&self, other: &Map) -> Result<Self> {
        self.relation.then(&other.relation).map(Map::of)
    }

    /// First the other map, then this one.
    pub fn compose(&self, first: &Map) -> Result<Self> {
        first.then(self)
    }

    /// The inverse map: each pair with input and output exchanged.
    pub fn reverse(&self) -> Self {
        Map::of(self.relation.reverse())
    }

    /// The points that have an image.
    pub fn domain(&self) -> Result<Set> {
        self.range_of(&self.relation.reverse())
    }

    /// The points that are an image.
    pub fn range(&self) -> Result<Set> {
        self.range_of(&self.relation)
    }

    fn range_of(&self, relation: &Relation) -> Result<Set> {
        let mut range = relation.project_out(&relation.ins)?;
        range.in_tuple = None;
        Ok(Set::of(range))
    }

    /// The pairs as points of one set: inputs, then outputs. It has no tuple name.
    pub fn wrap(&self) -> Result<Set> {
        let r = &self.relation;
        let dims: Vec<Name> = r.ins.iter().chain(&r.outs).cloned().collect();
        Ok(Set::of(Relation::new(&r.params, &[], &dims, r.disjuncts.clone())?))
    }

    /// For each input the lexicographically least output.
    pub fn lexmin(&self) -> Result<Self> {
        self.relation.lexopt(false).map(Map::of)
    }

    /// For each input the lexicographically greatest output.
    pub fn lexmax(&self) -> Result<Self> {
        self.relation.lexopt(true).map(Map::of)
    }

    /// Whether no input has two outputs.
    pub fn is_single_valued(&self) -> Result<bool> {
        // All pairs of outputs of one input: { y -> y' }, which must be the identity.
        let pairs = self.reverse().then(self)?;
        pairs.is_subset(
            &Map::identity(pairs.ins())?
                .with_tuples(pairs.relation.in_tuple.clone(), pairs.relation.out_tuple.clone()),
        )
    }

    /// Whether no two inputs share an output.
    pub fn is_injective(&self) -> Result<bool> {
        self.reverse().is_single_valued()
    }

    /// Simplified under the assumption that the context holds.
    pub fn gist(&self, context: &Map) -> Result<Self> {
        self.relation.gist(&context.relation).map(Map::of)
    }

    /// The same pairs with fewer disjuncts, if isl finds them.
    pub fn coalesce(&self) -> Result<Self> {
        self.relation.coalesce().map(Map::of)
    }

    /// The same pairs with disjoint disjuncts.
    pub fn make_disjoint(&self) -> Result<Self> {
        self.relation.make_disjoint().map(Map::of)
    }

    /// A small pair with some names fixed: a value for each parameter and dimension.
    pub fn sample(&self, fixed: &BTreeMap<Name, i64>) -> Result<Option<BTreeMap<Name, i64>>> {
        self.relation.sample(fixed)
    }

    /// The map for fixed parameters.
    pub fn fix_params(&self, values: &BTreeMap<Name, i64>) -> Result<Self> {
        if let Some(dim) = self.ins().iter().chain(self.outs()).find(|d| values.contains_key(*d)) {
            return Err(Error::Space(format!("`{dim}` is no parameter")));
        }
        self.relation.fix(values).map(Map::of)
    }

    /// Whether a pair belongs to the map; `None` if a name has no value.
    pub fn contains(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<bool> {
        self.relation.holds(values)
    }
}

impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.relation.print(f, true)
    }
}

impl FromStr for Map {
    type Err = Error;

    /// Reads isl's syntax. The grammar is at the head of this crate's module `parse`; an error
    /// carries the byte offset.
    fn from_str(text: &str) -> Result<Self> {
        parse::map(text)
    }
}
