//! What is known at the place of an expression: the conditions around it, as constraints.
//!
//! A condition that is made of comparisons of affine functions which cannot wrap, joined by `and`,
//! `or` and `not`, is known as alternatives of which one holds. A comparison that may wrap, or
//! whose operands are converted, is kept to tell that it would have been a guard. Any other
//! condition that reads no data proves nothing; one that reads data may prevent what it guards.

use std::collections::BTreeSet;

use crate::{
    Aff, BinaryOp, Constraint, Expr, Kind, Lookup, Name, Standing, UnaryOp, validate::domains::is_integer,
};

/// The context of an expression.
#[derive(Clone)]
pub(super) struct Scope {
    pub inames: Vec<Name>,
    pub guards: Vec<Constraint>,
    /// Comparisons that hold if their integers do not wrap, and their texts.
    pub wrapping: Vec<(Constraint, String)>,
    /// For each of several conditions its alternatives, one of which holds; each a conjunction.
    pub alternatives: Vec<Vec<Vec<Constraint>>>,
    /// Texts of conditions that prove nothing, although they read no data.
    pub unclear: Vec<String>,
    /// The conditions that read no data and are not guards, and whether they hold.
    pub conditions: Vec<(Expr, bool)>,
    /// It is also guarded by a condition that reads data.
    pub opaque: bool,
    /// It is in a reduction under a condition.
    pub hoisted: bool,
    /// The arrays and scalars that conditions inside the value read. Those around a reduction do
    /// not guard what it reads.
    pub tested: BTreeSet<Name>,
    /// The scope before any condition inside the value.
    pub outside: Option<Box<Scope>>,
}

impl Scope {
    /// That of an instruction, before its predicate.
    pub fn new(inames: &[Name]) -> Self {
        Scope {
            inames: inames.to_vec(),
            guards: Vec::new(),
            wrapping: Vec::new(),
            alternatives: Vec::new(),
            unclear: Vec::new(),
            conditions: Vec::new(),
            opaque: false,
            hoisted: false,
            tested: BTreeSet::new(),
            outside: None,
        }
    }

    /// What the alternatives of all conditions leave: one of these conjunctions holds.
    pub fn cases(&self) -> Vec<Vec<Constraint>> {
        let mut cases = vec![Vec::new()];
        for alternatives in &self.alternatives {
            // To know less makes it harder to prove, not wrong.
            let Some(more) = both(&cases, alternatives) else { break };
            cases = more;
        }
        cases
    }

    /// Takes a condition as given for what is looked at next.
    pub fn assume(&mut self, lookup: &Lookup<'_>, condition: &Expr) {
        match condition {
            Expr::Binary(BinaryOp::And, a, b) => {
                self.assume(lookup, a);
                self.assume(lookup, b);
            }
            _ => self.compare(lookup, condition, true),
        }
    }

    /// Enters the place where a condition is false.
    pub fn assume_not(&mut self, lookup: &Lookup<'_>, condition: &Expr) {
        match condition {
            Expr::Binary(BinaryOp::Or, a, b) => {
                self.assume_not(lookup, a);
                self.assume_not(lookup, b);
            }
            Expr::Unary(UnaryOp::Not, a) => self.assume(lookup, a),
            _ => self.compare(lookup, condition, false),
        }
    }

    /// Enters the place where a condition holds, or does not.
    fn compare(&mut self, lookup: &Lookup<'_>, condition: &Expr, holds: bool) {
        self.tested.extend(data_of(lookup, condition));
        let standing = Standing::new(lookup, &self.inames).given(&self.guards);
        match alternatives(&standing, condition, holds) {
            Some(mut all) if all.len() == 1 => return self.guards.append(&mut all[0]),
            Some(all) => return self.alternatives.push(all),
            None => {}
        }
        if data_of(lookup, condition).is_empty() {
            self.conditions.push((condition.clone(), holds));
        }
        let side = |c: Constraint| match holds {
            true => Some(c),
            false if c.kind == Kind::Ge => {
                Some(Constraint::nonneg(c.aff.neg().and_then(|a| a.add_constant(-1)).ok()?))
            }
            false => None,
        };
        let text = || condition.to_string();
        if let Some(c) = comparison(lookup, condition).and_then(side) {
            return self.wrapping.push((c, text()));
        }
        // What is converted between integer types can wrap there. That is not used to find a
        // witness: where a conversion wraps, its integers need not satisfy the comparison.
        let converted = comparison(lookup, &without_casts(condition)).and_then(side);
        self.wrapping.extend(converted.map(|c| (c, text())));
        match data_of(lookup, condition).is_empty() {
            true => self.unclear.push(text()),
            false => self.opaque = true,
        }
    }

    /// The scope in which the reductions inside run: before the instruction, under its predicate
    /// alone.
    pub fn of_reductions(&self) -> Scope {
        let Some(outside) = self.outside.as_deref() else { return self.clone() };
        let conditional = self.guards.len() > outside.guards.len()
            || self.wrapping.len() > outside.wrapping.len()
            || self.alternatives.len() > outside.alternatives.len()
            || self.unclear.len() > outside.unclear.len()
            || self.opaque && !outside.opaque;
        Scope {
            inames: self.inames.clone(),
            hoisted: self.hoisted || conditional,
            tested: self.tested.clone(),
            ..outside.clone()
        }
    }

    /// Whether a condition around the reduction seems to guard this subscript, because both depend
    /// on the same data; it does not.
    pub fn seems_guarded(&self, lookup: &Lookup<'_>, index: &Expr) -> bool {
        self.hoisted && data_of(lookup, index).iter().any(|name| self.tested.contains(name))
    }
}

/// The most alternatives that the conditions around an expression are divided into.
const ALTERNATIVES: usize = 32;

/// What is known where a condition holds, or does not: one of these conjunctions. `None` if it is
/// not made of comparisons of affine functions that cannot wrap.
fn alternatives(standing: &Standing<'_, '_>, condition: &Expr, holds: bool) -> Option<Vec<Vec<Constraint>>> {
    use BinaryOp::{And, Eq, Ne, Or};
    let negated = |all: Vec<Constraint>| {
        let negations = all.iter().map(|c| c.negations().ok()).collect::<Option<Vec<_>>>()?;
        Some(negations.into_iter().flatten().map(|c| vec![c]).collect())
    };
    match condition {
        Expr::Bool(value) if *value == holds => Some(vec![Vec::new()]),
        Expr::Bool(_) => Some(vec![vec![Constraint::nonneg(Aff::constant(-1))]]),
        Expr::Unary(UnaryOp::Not, a) => alternatives(standing, a, !holds),
        Expr::Binary(op @ (And | Or), a, b) => {
            let (a, b) = (alternatives(standing, a, holds)?, alternatives(standing, b, holds)?);
            if (*op == Or) == holds { Some([a, b].concat()) } else { both(&a, &b) }
        }
        Expr::Binary(Ne, a, b) => {
            let equal = standing.constraints(&Expr::Binary(Eq, a.clone(), b.clone()))?;
            if holds { negated(equal) } else { Some(vec![equal]) }
        }
        _ => {
            let all = standing.constraints(condition)?;
            if holds { Some(vec![all]) } else { negated(all) }
        }
    }
}

/// Both of two conditions, each given by its alternatives; `None` if there are too many.
fn both(a: &[Vec<Constraint>], b: &[Vec<Constraint>]) -> Option<Vec<Vec<Constraint>>> {
    let pairs = || a.iter().flat_map(|x| b.iter().map(|y| [&x[..], y].concat()));
    (a.len() * b.len() <= ALTERNATIVES).then(|| pairs().collect())
}

/// The arrays and the scalar temporaries that an expression reads.
pub(super) fn data_of(lookup: &Lookup<'_>, e: &Expr) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    e.visit(&mut |e| match e {
        Expr::Subscript(access) => {
            found.insert(access.array.clone());
        }
        Expr::Name(name) if lookup.temporary(name).is_some() => {
            found.insert(name.clone());
        }
        _ => {}
    });
    found
}

/// The affine form of a comparison of integers, ignoring types.
fn comparison(lookup: &Lookup<'_>, condition: &Expr) -> Option<Constraint> {
    let Expr::Binary(op, a, b) = condition else { return None };
    let (a, b) = (integer(lookup, a)?, integer(lookup, b)?);
    match op {
        BinaryOp::Lt => Constraint::lt(&a, &b).ok(),
        BinaryOp::Le => Constraint::le(&a, &b).ok(),
        BinaryOp::Gt => Constraint::lt(&b, &a).ok(),
        BinaryOp::Ge => Constraint::le(&b, &a).ok(),
        BinaryOp::Eq => Constraint::equal(&a, &b).ok(),
        _ => None,
    }
}

/// The expression without conversions to integer types.
fn without_casts(e: &Expr) -> Expr {
    match e {
        Expr::Cast(to, a) if is_integer(to) => without_casts(a),
        _ => e.map_children(&mut without_casts),
    }
}

/// The affine form of an expression all of whose names are integers.
pub(super) fn integer(lookup: &Lookup<'_>, e: &Expr) -> Option<Aff> {
    let aff = e.to_aff()?;
    let foreign = aff.mentions_any(&|name| {
        !lookup.is_iname(name)
            && !lookup.scalar(name).is_some_and(|s| is_integer(&s.dtype))
            && !lookup.temporary(name).is_some_and(|t| is_integer(&t.dtype))
    });
    (!foreign).then_some(aff)
}
