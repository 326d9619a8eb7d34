//! What [`Set`](crate::Set) and [`Map`](crate::Map) share: a union of systems over parameters,
//! inputs and outputs.
//!
//! Invariants: parameters are sorted; all names (parameters, inputs, outputs) are distinct; every
//! disjunct mentions these names only. A set has no inputs. Names of dimensions are labels:
//! operands are matched by position, and a result takes the labels of the left operand. Nothing is
//! normalised unless an operation documents it.
//!
//! Each operation is done in plain Rust if [`System`] is exact, otherwise by isl in one query.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    Aff, Constraint, Error, Name, Result, System,
    isl::{Disjunct, IslMap, Shape, isl_only},
};

/// The number of disjuncts beyond which plain operations leave the query to isl, or give up.
pub(crate) const DISJUNCT_LIMIT: usize = 1024;

/// A union of systems over parameters, inputs and outputs: see the head of this file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "StoredRelation")]
pub(crate) struct Relation {
    pub(crate) params: Vec<Name>,
    pub(crate) in_tuple: Option<Name>,
    pub(crate) ins: Vec<Name>,
    pub(crate) out_tuple: Option<Name>,
    pub(crate) outs: Vec<Name>,
    pub(crate) disjuncts: Vec<System>,
}

/// The fields of a [`Relation`] as read from a file, which may contain anything.
#[derive(Deserialize)]
struct StoredRelation {
    params: Vec<Name>,
    in_tuple: Option<Name>,
    ins: Vec<Name>,
    out_tuple: Option<Name>,
    outs: Vec<Name>,
    disjuncts: Vec<System>,
}

impl TryFrom<StoredRelation> for Relation {
    type Error = Error;

    fn try_from(stored: StoredRelation) -> Result<Self> {
        let StoredRelation { params, in_tuple, ins, out_tuple, outs, disjuncts } = stored;
        Ok(Relation { in_tuple, out_tuple, ..Relation::new(&params, &ins, &outs, disjuncts)? })
    }
}

impl Relation {
    /// A union over these dimensions; all other names are parameters, in addition to those listed.
    pub(crate) fn new(params: &[Name], ins: &[Name], outs: &[Name], disjuncts: Vec<System>) -> Result<Self> {
        let mut all: BTreeSet<Name> = params.iter().cloned().collect();
        for system in &disjuncts {
            all.extend(system.names());
        }
        let mut seen = BTreeSet::new();
        for dim in ins.iter().chain(outs) {
            if !seen.insert(dim) {
                return Err(Error::Space(format!("two dimensions are called `{dim}`")));
            }
            if params.contains(dim) {
                return Err(Error::Space(format!("`{dim}` is a parameter and a dimension")));
            }
            all.remove(dim);
        }
        Ok(Relation {
            params: all.into_iter().collect(),
            in_tuple: None,
            ins: ins.to_vec(),
            out_tuple: None,
            outs: outs.to_vec(),
            disjuncts,
        })
    }

    /// Another union over the same space.
    pub(crate) fn like(&self, disjuncts: Vec<System>) -> Self {
        Relation { disjuncts, ..self.clone() }
    }

    pub(crate) fn order(&self) -> Vec<Name> {
        self.params.iter().chain(&self.ins).chain(&self.outs).cloned().collect()
    }

    fn shape(&self) -> Shape {
        Shape { params: self.params.len(), ins: self.ins.len(), outs: self.outs.len() }
    }

    fn rows(&self) -> Vec<Disjunct> {
        let order = self.order();
        self.disjuncts.iter().map(|s| s.disjunct(&order)).collect()
    }

    fn isl(&self) -> Result<IslMap> {
        IslMap::new(self.shape(), &self.rows())
    }

    fn isl_with(&self, other: &IslMap) -> Result<IslMap> {
        other.another(self.shape(), &self.rows())
    }

    /// The answer of isl, over this space.
    fn read(&self, answer: IslMap) -> Result<Self> {
        let order = self.order();
        let disjuncts =
            answer.answer()?.iter().map(|a| System::from_answer(a, &order)).collect::<Result<_>>()?;
        Ok(self.like(disjuncts))
    }

    /// Renames by a table, all at once. Sorts the parameters again.
    pub(crate) fn rename(&self, table: &BTreeMap<Name, Name>) -> Result<Self> {
        if table.is_empty() {
            return Ok(self.clone());
        }
        let of = |n: &Name| table.get(n).unwrap_or(n).clone();
        let disjuncts = self
            .disjuncts
            .iter()
            .map(|s| {
                let list: Vec<Constraint> = s
                    .constraints()
                    .iter()
                    .map(|c| c.substitute(&|n| table.get(n).map(Aff::var)))
                    .collect::<Result<_>>()?;
                System::new(&list)
            })
            .collect::<Result<_>>()?;
        let list = |names: &[Name]| names.iter().map(of).collect::<Vec<_>>();
        let mut renamed = Relation::new(&list(&self.params), &list(&self.ins), &list(&self.outs), disjuncts)?;
        renamed.in_tuple.clone_from(&self.in_tuple);
        renamed.out_tuple.clone_from(&self.out_tuple);
        Ok(renamed)
    }

    /// Both operands over one space: the labels of `self`, the parameters of both.
    fn aligned(&self, other: &Relation) -> Result<(Relation, Relation)> {
        if self.ins.len() != other.ins.len() || self.outs.len() != other.outs.len() {
            return Err(Error::Space(format!(
                "{} has {} dimensions, {} has {}",
                self.space_text(),
                self.ins.len() + self.outs.len(),
                other.space_text(),
                other.ins.len() + other.outs.len()
            )));
        }
        if self.in_tuple != other.in_tuple || self.out_tuple != other.out_tuple {
            return Err(Error::Space(format!("{} and {}", self.space_text(), other.space_text())));
        }
        let mut table = BTreeMap::new();
        for (from, to) in other.ins.iter().chain(&other.outs).zip(self.ins.iter().chain(&self.outs)) {
            if other.params.contains(to) || self.params.contains(from) {
                let both = if other.params.contains(to) { to } else { from };
                return Err(Error::Space(format!("`{both}` is a parameter here and a dimension there")));
            }
            if from != to {
                table.insert(from.clone(), to.clone());
            }
        }
        let mut right = other.rename(&table)?;
        if self.params == right.params {
            return Ok((self.clone(), right));
        }
        let params: BTreeSet<Name> = self.params.iter().chain(&right.params).cloned().collect();
        let mut left = self.clone();
        left.params = params.into_iter().collect();
        right.params.clone_from(&left.params);
        Ok((left, right))
    }

    pub(crate) fn is_empty(&self) -> Result<bool> {
        for system in &self.disjuncts {
            if !system.is_empty()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn union(&self, other: &Relation) -> Result<Self> {
        let (mut left, right) = self.aligned(other)?;
        for system in right.disjuncts {
            if !left.disjuncts.contains(&system) {
                left.disjuncts.push(system);
            }
        }
        Ok(left)
    }

    pub(crate) fn intersect(&self, other: &Relation) -> Result<Self> {
        let (left, right) = self.aligned(other)?;
        if isl_only() {
            let a = left.isl()?;
            let b = right.isl_with(&a)?;
            return left.read(a.intersect(b)?);
        }
        left.product(&right)
    }

    /// Pairwise conjunction, without the empty ones.
    fn product(&self, other: &Relation) -> Result<Self> {
        let mut disjuncts = Vec::new();
        for a in &self.disjuncts {
            for b in &other.disjuncts {
                let more: Vec<Constraint> =
                    b.constraints().iter().filter(|c| !a.constraints().contains(c)).cloned().collect();
                let both = a.with(&more)?;
                if !both.is_empty()? {
                    disjuncts.push(both);
                }
                if disjuncts.len() > DISJUNCT_LIMIT {
                    return Err(Error::Budget);
                }
            }
        }
        Ok(self.like(disjuncts))
    }

    pub(crate) fn subtract(&self, other: &Relation) -> Result<Self> {
        let (left, right) = self.aligned(other)?;
        if !isl_only() {
            match left.subtract_plainly(&right) {
                Err(Error::Budget | Error::Overflow) => {}
                answer => return answer,
            }
        }
        let a = left.isl()?;
        let b = right.isl_with(&a)?;
        left.read(a.subtract(b)?)
    }

    /// `a` without `c1 and c2 and ...` is `a and not c1`, `a and c1 and not c2`, and so on:
    /// disjoint pieces.
    fn subtract_plainly(&self, other: &Relation) -> Result<Self> {
        let mut pieces: Vec<System> = Vec::new();
        for a in &self.disjuncts {
            if !a.is_empty()? {
                pieces.push(a.clone());
            }
        }
        for b in &other.disjuncts {
            let mut next = Vec::new();
            for piece in pieces {
                let mut inside = piece;
                for constraint in b.constraints() {
                    let mut cut = false;
                    for negated in constraint.negations()? {
                        let outside = inside.with(&[negated])?;
                        if !outside.is_empty()? {
                            next.push(outside);
                            cut = true;
                        }
                    }
                    if next.len() > DISJUNCT_LIMIT {
                        return Err(Error::Budget);
                    }
                    if cut {
                        inside.add(constraint)?;
                    }
                }
            }
            pieces = next;
        }
        Ok(self.like(pieces))
    }

    pub(crate) fn is_subset(&self, other: &Relation) -> Result<bool> {
        let (left, right) = self.aligned(other)?;
        if !isl_only() {
            match left.subtract_plainly(&right) {
                Err(Error::Budget | Error::Overflow) => {}
                // The pieces of a difference are not empty.
                answer => return Ok(answer?.disjuncts.is_empty()),
            }
        }
        let a = left.isl()?;
        let b = right.isl_with(&a)?;
        a.is_subset(&b)
    }

    pub(crate) fn is_equal(&self, other: &Relation) -> Result<bool> {
        Ok(self.is_subset(other)? && other.is_subset(self)?)
    }

    pub(crate) fn complement(&self) -> Result<Self> {
        self.like(vec![System::default()]).subtract(self)
    }

    /// The projection without these names; the result's space must not need them any more.
    fn without(&self, goes: &[Name]) -> Result<Vec<System>> {
        let mut disjuncts = Vec::new();
        for system in &self.disjuncts {
            for piece in system.project_exactly(&|n| goes.contains(n))? {
                if piece != System::nothing() && !disjuncts.contains(&piece) {
                    disjuncts.push(piece);
                }
            }
        }
        Ok(disjuncts)
    }

    /// The projection without some dimensions and parameters.
    pub(crate) fn project_out(&self, goes: &[Name]) -> Result<Self> {
        for name in goes {
            if !self.params.contains(name) && !self.ins.contains(name) && !self.outs.contains(name) {
                return Err(Error::Space(format!("`{name}` is not a dimension of {}", self.space_text())));
            }
        }
        let mut next = self.like(self.without(goes)?);
        for list in [&mut next.params, &mut next.ins, &mut next.outs] {
            list.retain(|n| !goes.contains(n));
        }
        Ok(next)
    }

    /// First `self`, then `other`: `{ x -> z : exists y: (x -> y) in self and (y -> z) in other }`.
    pub(crate) fn then(&self, other: &Relation) -> Result<Self> {
        if self.outs.len() != other.ins.len() || self.out_tuple != other.in_tuple {
            return Err(Error::Space(format!("{} then {}", self.space_text(), other.space_text())));
        }
        // The dimensions between the two get unique names.
        let middle: Vec<Name> = (0..self.outs.len()).map(|k| Name::new(format!("\u{0}{k}"))).collect();
        let left = self.rename(&self.outs.iter().cloned().zip(middle.iter().cloned()).collect())?;
        let mut taken: BTreeSet<Name> =
            self.ins.iter().chain(&self.params).chain(&other.params).cloned().collect();
        let mut table: BTreeMap<Name, Name> = other.ins.iter().cloned().zip(middle.iter().cloned()).collect();
        let mut outs = Vec::new();
        for out in &other.outs {
            let fresh = fresh(out, &taken);
            taken.insert(fresh.clone());
            if fresh != *out {
                table.insert(out.clone(), fresh.clone());
            }
            outs.push(fresh);
        }
        if let Some(both) = self.ins.iter().find(|n| other.params.contains(n)) {
            return Err(Error::Space(format!("`{both}` is a dimension here and a parameter there")));
        }
        let right = other.rename(&table)?;
        let params: BTreeSet<Name> = left.params.iter().chain(&right.params).cloned().collect();
        let params: Vec<Name> = params.into_iter().collect();
        let mut result = Relation::new(&params, &self.ins, &outs, Vec::new())?;
        result.in_tuple.clone_from(&self.in_tuple);
        result.out_tuple.clone_from(&other.out_tuple);
        if isl_only() {
            let (mut a, mut b) = (left, right);
            a.params.clone_from(&params);
            b.params.clone_from(&params);
            let a = a.isl()?;
            let b = b.isl_with(&a)?;
            return result.read(a.then(b)?);
        }
        let all: Vec<Name> = middle.iter().chain(&outs).cloned().collect();
        let space = Relation::new(&params, &self.ins, &all, Vec::new())?;
        let both = space.like(left.disjuncts).product(&space.like(right.disjuncts))?;
        result.disjuncts = both.without(&middle)?;
        Ok(result)
    }

    pub(crate) fn reverse(&self) -> Self {
        Relation {
            ins: self.outs.clone(),
            in_tuple: self.out_tuple.clone(),
            outs: self.ins.clone(),
            out_tuple: self.in_tuple.clone(),
            ..self.clone()
        }
    }

    /// Implemented here because isl's own function corrupts the heap if a context turns out to be
    /// empty.
    pub(crate) fn gist(&self, context: &Relation) -> Result<Self> {
        let (left, right) = self.aligned(context)?;
        let contexts: Vec<&System> = right.disjuncts.iter().collect();
        let mut disjuncts = Vec::new();
        for system in &left.disjuncts {
            let mut met = false;
            for context in &contexts {
                met = met || !system.with(context.constraints())?.is_empty()?;
            }
            // If the system does not intersect the context, the constraints that separate the two
            // are kept.
            if met {
                disjuncts.push(System::new(&system.gist_in(&contexts)?)?);
            }
        }
        Ok(left.like(disjuncts))
    }

    pub(crate) fn coalesce(&self) -> Result<Self> {
        if !isl_only() && self.disjuncts.len() < 2 {
            let mut next = self.clone();
            if self.is_empty()? {
                next.disjuncts.clear();
            }
            return Ok(next);
        }
        self.read(self.isl()?.coalesce()?)
    }

    pub(crate) fn make_disjoint(&self) -> Result<Self> {
        if self.disjuncts.len() < 2 {
            return Ok(self.clone());
        }
        self.read(self.isl()?.make_disjoint()?)
    }

    /// For each input the lexicographically least (or greatest) output.
    pub(crate) fn lexopt(&self, greatest: bool) -> Result<Self> {
        if !isl_only()
            && let Some(plain) = self.lexopt_plainly(greatest)?
        {
            return Ok(plain);
        }
        let map = self.isl()?;
        self.read(if greatest { map.lexmax()? } else { map.lexmin()? })
    }

    /// Handles one disjunct in which each output has exactly one bound on the requested side.
    fn lexopt_plainly(&self, greatest: bool) -> Result<Option<Self>> {
        let [system] = self.disjuncts.as_slice() else {
            return Ok(self.disjuncts.is_empty().then(|| self.clone()));
        };
        if system.is_empty()? {
            return Ok(Some(self.like(Vec::new())));
        }
        let mut optimal = system.clone();
        for (k, out) in self.outs.iter().enumerate() {
            let bounds = match system.bounds(out, &|n| !self.outs[k..].contains(n)) {
                Err(Error::Budget | Error::Overflow) => return Ok(None),
                bounds => bounds?,
            };
            if !bounds.exact || !bounds.guards.is_empty() {
                return Ok(None);
            }
            let value = match (greatest, bounds.lower.as_slice(), bounds.upper.as_slice()) {
                (false, [one], _) => one.ceil()?,
                (true, _, [one]) => one.floor()?,
                _ => return Ok(None),
            };
            optimal.add(&Constraint::equal(&value, &Aff::var(out))?)?;
        }
        Ok(Some(self.like(vec![System::new(&optimal.gist(&System::default())?)?])))
    }

    /// A small point of the first disjunct that has one.
    pub(crate) fn sample(&self, fixed: &BTreeMap<Name, i64>) -> Result<Option<BTreeMap<Name, i64>>> {
        let order = self.order();
        for system in &self.disjuncts {
            if let Some(mut point) = system.sample_in_order(fixed, &order)? {
                for name in &order {
                    let value = fixed.get(name).copied().unwrap_or(0);
                    point.entry(name.clone()).or_insert(value);
                }
                return Ok(Some(point));
            }
        }
        Ok(None)
    }

    /// Fixes some names, which are removed from the space.
    pub(crate) fn fix(&self, values: &BTreeMap<Name, i64>) -> Result<Self> {
        let mut next = self.clone();
        next.disjuncts = self.disjuncts.iter().map(|s| s.fix(values)).collect::<Result<_>>()?;
        next.params.retain(|n| !values.contains_key(n));
        Ok(next)
    }

    pub(crate) fn holds(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<bool> {
        for system in &self.disjuncts {
            if system.holds(values)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// The name, with as many primes as it takes to be new.
pub(crate) fn fresh(name: &Name, taken: &BTreeSet<Name>) -> Name {
    let mut fresh = name.clone();
    while taken.contains(&fresh) {
        fresh = Name::new(format!("{fresh}'"));
    }
    fresh
}
