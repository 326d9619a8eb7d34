//! Quasi-affine functions of named integers.
//!
//! An [`Aff`] is `c + sum a_k * t_k`, where a term `t_k` is a name or the floor of another `Aff`
//! over a positive constant. Terms are kept sorted and without zero coefficients, so that equal
//! functions built from the same terms are equal values. Every operation is checked: a coefficient
//! outside `i64`, or `i64::MIN`, whose negation does not fit and which could not change sides in a
//! text, is [`Error::Overflow`].

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{Error, Name, Result};

mod stored;
mod terms;

use terms::Terms;

fn negatable(sum: Option<i64>) -> Result<i64> {
    sum.filter(|x| *x != i64::MIN).ok_or(Error::Overflow)
}

/// `floor(numerator / denominator)`, the denominator positive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "stored::StoredDiv")]
pub struct FloorDiv {
    /// The numerator, of any sign.
    pub numerator: Aff,
    /// The denominator, at least 1.
    pub denominator: i64,
}

/// A term of an [`Aff`], which a coefficient multiplies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Term {
    /// The integer of this name.
    Var(Name),
    /// A quotient by a constant, rounded down.
    Div(Arc<FloorDiv>),
}

/// A quasi-affine function of named integers. See the module's head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "stored::StoredAff")]
pub struct Aff {
    terms: Terms,
    constant: i64,
}

impl Aff {
    /// The function with this value everywhere.
    pub fn constant(value: i64) -> Self {
        Aff { terms: Terms::None, constant: value }
    }

    /// The function that is the integer of this name.
    pub fn var(name: impl Into<Name>) -> Self {
        Aff { terms: Terms::One((Term::Var(name.into()), 1)), constant: 0 }
    }

    /// `floor(self / denominator)`. Constants are folded, and terms that divide evenly are taken
    /// out of the floor.
    pub fn floor_div(&self, denominator: i64) -> Result<Self> {
        if denominator <= 0 {
            return Err(Error::Space(format!("a divisor must be a positive constant, not {denominator}")));
        }
        if denominator == 1 {
            return Ok(self.clone());
        }
        // The terms that divide evenly leave the floor: floor((d*a + b) / d) = a + floor(b / d).
        let (mut whole, mut rest) = (Vec::new(), Vec::new());
        for (term, coefficient) in self.terms.iter() {
            if coefficient % denominator == 0 {
                whole.push((term.clone(), coefficient / denominator));
            } else {
                rest.push((term.clone(), *coefficient));
            }
        }
        let whole = Aff { terms: whole.into(), constant: self.constant.div_euclid(denominator) };
        if rest.is_empty() {
            return Ok(whole);
        }
        let numerator = Aff { terms: rest.into(), constant: self.constant.rem_euclid(denominator) };
        let div = Term::Div(Arc::new(FloorDiv { numerator, denominator }));
        whole.add(&Aff { terms: Terms::One((div, 1)), constant: 0 })
    }

    /// `self - m * floor(self / m)`: the remainder in `0..m`.
    pub fn modulo(&self, m: i64) -> Result<Self> {
        self.sub(&self.floor_div(m)?.scale(m)?)
    }

    /// The sum; [`Error::Overflow`] where a coefficient leaves 64 bits.
    pub fn add(&self, other: &Aff) -> Result<Self> {
        self.combine(other, 1)
    }

    /// The difference; [`Error::Overflow`] where a coefficient leaves 64 bits.
    pub fn sub(&self, other: &Aff) -> Result<Self> {
        self.combine(other, -1)
    }

    /// The sum with a constant.
    pub fn add_constant(&self, value: i64) -> Result<Self> {
        let mut sum = self.clone();
        sum.constant = negatable(sum.constant.checked_add(value))?;
        Ok(sum)
    }

    /// The product with a constant.
    pub fn scale(&self, factor: i64) -> Result<Self> {
        Aff::default().combine(self, factor)
    }

    /// The function with the opposite sign.
    pub fn neg(&self) -> Result<Self> {
        self.scale(-1)
    }

    fn combine(&self, other: &Aff, factor: i64) -> Result<Self> {
        let times = |x: i64| negatable(x.checked_mul(factor));
        let constant = negatable(self.constant.checked_add(times(other.constant)?))?;
        if other.terms.is_empty() {
            return Ok(Aff { terms: self.terms.clone(), constant });
        }
        if factor == 1 && self.terms.is_empty() {
            return Ok(Aff { terms: other.terms.clone(), constant });
        }
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((a, _)), Some((b, _))) => a.cmp(b),
            };
            let (term, coefficient) = match order {
                std::cmp::Ordering::Less => left.next().map(|(t, c)| (t, *c)).ok_or(Error::Overflow)?,
                std::cmp::Ordering::Greater => {
                    let (t, c) = right.next().ok_or(Error::Overflow)?;
                    (t, times(*c)?)
                }
                std::cmp::Ordering::Equal => {
                    let (t, c) = left.next().ok_or(Error::Overflow)?;
                    let (_, d) = right.next().ok_or(Error::Overflow)?;
                    (t, negatable(c.checked_add(times(*d)?))?)
                }
            };
            if coefficient != 0 {
                terms.push((term.clone(), coefficient));
            }
        }
        Ok(Aff { terms: terms.into(), constant })
    }

    /// The constant that is added to the terms.
    pub fn constant_term(&self) -> i64 {
        self.constant
    }

    /// The terms with their coefficients, none of them zero, in their order.
    pub fn terms(&self) -> &[(Term, i64)] {
        &self.terms
    }

    /// The value, if the function is constant.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The name if the function is just that name.
    pub fn as_var(&self) -> Option<&Name> {
        match &*self.terms {
            [(Term::Var(name), 1)] if self.constant == 0 => Some(name),
            _ => None,
        }
    }

    /// The coefficient of a name outside divisions; 0 if it does not occur there.
    pub fn coefficient(&self, name: &str) -> i64 {
        self.terms
            .iter()
            .find_map(|(term, c)| matches!(term, Term::Var(n) if n.is(name)).then_some(*c))
            .unwrap_or(0)
    }

    /// Whether no division occurs: the function is affine, not only quasi-affine.
    pub fn is_affine(&self) -> bool {
        self.terms.iter().all(|(term, _)| matches!(term, Term::Var(_)))
    }

    /// Whether the name occurs, including inside divisions.
    pub fn mentions(&self, name: &str) -> bool {
        self.terms.iter().any(|(term, _)| match term {
            Term::Var(n) => n.is(name),
            Term::Div(div) => div.numerator.mentions(name),
        })
    }

    /// All names that occur, including those inside divisions.
    pub fn names(&self) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        self.visit_names(&mut |n| {
            names.insert(n.clone());
        });
        names
    }

    /// Whether a name for which `of` holds occurs, including inside divisions.
    pub fn mentions_any(&self, of: &dyn Fn(&Name) -> bool) -> bool {
        self.terms.iter().any(|(term, _)| match term {
            Term::Var(n) => of(n),
            Term::Div(div) => div.numerator.mentions_any(of),
        })
    }

    /// Calls `f` with each occurrence of a name, including those inside divisions.
    pub fn visit_names<'a>(&'a self, f: &mut dyn FnMut(&'a Name)) {
        for (term, _) in self.terms.iter() {
            match term {
                Term::Var(n) => f(n),
                Term::Div(div) => div.numerator.visit_names(f),
            }
        }
    }

    /// The function with each name replaced by the function that `replace` gives for it, if any,
    /// simultaneously.
    pub fn substitute(&self, replace: &dyn Fn(&Name) -> Option<Aff>) -> Result<Self> {
        let mut constant = self.constant;
        // Most functions mention nothing that is replaced: then no list is made.
        let mut changed: Option<Vec<(Term, i64)>> = None;
        for (k, (term, coefficient)) in self.terms.iter().enumerate() {
            let value = match term {
                Term::Var(name) => replace(name),
                Term::Div(div) => Some(div.numerator.substitute(replace)?.floor_div(div.denominator)?),
            };
            let Some(value) = value else {
                if let Some(terms) = &mut changed {
                    terms.push((term.clone(), *coefficient));
                }
                continue;
            };
            let terms = changed.get_or_insert_with(|| {
                let mut terms = Vec::with_capacity(self.terms.len() + 2);
                terms.extend_from_slice(&self.terms[..k]);
                terms
            });
            let times = |x: i64| negatable(x.checked_mul(*coefficient));
            constant = negatable(constant.checked_add(times(value.constant)?))?;
            for (term, c) in value.terms.iter() {
                terms.push((term.clone(), times(*c)?));
            }
        }
        match changed {
            Some(terms) => Aff::sum(terms, constant),
            None => Ok(self.clone()),
        }
    }

    /// The function with each name replaced by the name that `replace` gives for it, if any,
    /// simultaneously.
    pub fn rename(&self, replace: &dyn Fn(&Name) -> Option<Name>) -> Result<Self> {
        let mut constant = self.constant;
        let mut terms = Vec::with_capacity(self.terms.len());
        for (term, coefficient) in self.terms.iter() {
            match term {
                Term::Var(name) => {
                    terms.push((replace(name).map_or_else(|| term.clone(), Term::Var), *coefficient));
                }
                Term::Div(div) => {
                    let value =
                        div.numerator.rename(replace)?.floor_div(div.denominator)?.scale(*coefficient)?;
                    constant = negatable(constant.checked_add(value.constant))?;
                    terms.extend_from_slice(&value.terms);
                }
            }
        }
        Aff::sum(terms, constant)
    }

    /// The sum of terms, in any order and possibly repeated, and a constant.
    pub(crate) fn sum(mut terms: Vec<(Term, i64)>, constant: i64) -> Result<Self> {
        if !terms.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            terms.sort_by(|(a, _), (b, _)| a.cmp(b));
            let mut overflow = false;
            terms.dedup_by(|(term, c), (first, sum)| {
                let same = term == first;
                if same {
                    match negatable(sum.checked_add(*c)) {
                        Ok(both) => *sum = both,
                        Err(_) => overflow = true,
                    }
                }
                same
            });
            if overflow {
                return Err(Error::Overflow);
            }
        }
        terms.retain(|(_, c)| *c != 0);
        Ok(Aff { terms: terms.into(), constant })
    }

    /// The function with one name replaced.
    pub fn substitute_one(&self, name: &str, by: &Aff) -> Result<Self> {
        if !self.mentions(name) {
            return Ok(self.clone());
        }
        self.substitute(&|n| n.is(name).then(|| by.clone()))
    }

    /// Its value for the values of names that `values` gives, or `None` if one is missing or the
    /// result overflows.
    pub fn eval(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<i64> {
        let mut sum = self.constant;
        for (term, coefficient) in self.terms.iter() {
            let value = match term {
                Term::Var(name) => values(name)?,
                Term::Div(div) => div.numerator.eval(values)?.div_euclid(div.denominator),
            };
            sum = sum.checked_add(coefficient.checked_mul(value)?)?;
        }
        Some(sum)
    }

    /// Its value for the names of a table.
    pub fn eval_in(&self, values: &BTreeMap<Name, i64>) -> Option<i64> {
        self.eval(&|name| values.get(name).copied())
    }

    /// The greatest common divisor of the coefficients, 0 for a constant.
    pub fn content(&self) -> i64 {
        self.terms.iter().fold(0, |g, (_, c)| gcd(g, *c))
    }
}

/// The greatest common divisor, at least 0.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

impl From<i64> for Aff {
    fn from(value: i64) -> Self {
        Aff::constant(value)
    }
}

/// The printed form of a function: names, floors and remainders with coefficients, and a constant.
struct Shown<'a> {
    terms: Vec<(Factor<'a>, i64)>,
    constant: i64,
}

enum Factor<'a> {
    Term(&'a Term),
    /// `numerator mod denominator`.
    Remainder(&'a FloorDiv),
}

impl<'a> Shown<'a> {
    /// `k*e - k*m*floor(e/m)` is `k*(e mod m)`, if the other terms of the function share none with
    /// `e`. Not used with numbers so large that expanding the remainders again could overflow 64
    /// bits.
    fn of(aff: &'a Aff) -> Self {
        let mut terms: Vec<(Factor<'a>, i64)> =
            aff.terms.iter().map(|(t, c)| (Factor::Term(t), *c)).collect();
        let mut constant = aff.constant;
        let small = |x: i64| x.unsigned_abs() < 1 << 48;
        if !small(constant) || !aff.terms.iter().all(|(_, c)| small(*c)) {
            return Shown { terms, constant };
        }
        for (term, coefficient) in aff.terms.iter() {
            let Term::Div(div) = term else { continue };
            let quotient = coefficient.checked_div(div.denominator).and_then(i64::checked_neg);
            let (Some(k), Some(0)) = (quotient, coefficient.checked_rem(div.denominator)) else { continue };
            let numerator = &div.numerator;
            let covered = |own: &Term, c: i64| {
                numerator.terms.iter().any(|(t, n)| t == own && n.checked_mul(k) == Some(c))
            };
            let present = |t: &Term| {
                terms.iter().any(|(f, c)| matches!(f, Factor::Term(own) if *own == t && covered(own, *c)))
            };
            let moved = numerator.constant.checked_mul(k).filter(|c| small(*c));
            let rest = moved.and_then(|c| constant.checked_sub(c)).filter(|c| small(*c));
            let (true, Some(rest)) = (numerator.terms.iter().all(|(t, _)| present(t)), rest) else {
                continue;
            };
            constant = rest;
            let part = |f: &Factor<'_>| matches!(f, Factor::Term(t) if *t == term || numerator.terms.iter().any(|(n, _)| n == *t));
            terms.retain(|(f, _)| !part(f));
            terms.push((Factor::Remainder(div), k));
        }
        Shown { terms, constant }
    }
}

impl fmt::Display for Factor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Factor::Term(Term::Var(name)) => write!(f, "{name}"),
            Factor::Term(Term::Div(div)) => match div.numerator.as_var() {
                Some(name) => write!(f, "floor({name}/{})", div.denominator),
                None => write!(f, "floor(({})/{})", div.numerator, div.denominator),
            },
            Factor::Remainder(div) => match div.numerator.as_var() {
                Some(name) => write!(f, "{name} mod {}", div.denominator),
                None => write!(f, "({}) mod {}", div.numerator, div.denominator),
            },
        }
    }
}

impl fmt::Display for Aff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let Shown { mut terms, constant } = Shown::of(self);
        // Positive terms first, greater coefficients first: `128*i_outer + i_inner`.
        terms.sort_by_key(|(_, c)| (*c < 0, std::cmp::Reverse(c.unsigned_abs())));
        for (factor, coefficient) in terms {
            let magnitude = coefficient.unsigned_abs();
            match (first, coefficient < 0) {
                (true, true) => write!(f, "-")?,
                (true, false) => {}
                (false, true) => write!(f, " - ")?,
                (false, false) => write!(f, " + ")?,
            }
            match (&factor, magnitude) {
                // A sign or a coefficient binds more strongly than `mod`.
                (_, 1) if !(first && coefficient < 0) => write!(f, "{factor}")?,
                (Factor::Remainder(_), 1) => write!(f, "({factor})")?,
                (Factor::Remainder(_), _) => write!(f, "{magnitude}*({factor})")?,
                (Factor::Term(_), 1) => write!(f, "{factor}")?,
                (Factor::Term(_), _) => write!(f, "{magnitude}*{factor}")?,
            }
            first = false;
        }
        if first {
            write!(f, "{constant}")
        } else if constant < 0 {
            write!(f, " - {}", constant.unsigned_abs())
        } else if constant > 0 {
            write!(f, " + {constant}")
        } else {
            Ok(())
        }
    }
}

/// The printed terms of a function, each without its sign, the sign (whether it is negative), and
/// the constant.
pub(crate) fn shown_parts(aff: &Aff) -> Result<(Vec<(Aff, bool)>, i64)> {
    let shown = Shown::of(aff);
    let part = |(factor, c): (Factor<'_>, i64)| {
        let magnitude = c.saturating_abs();
        let value = match factor {
            Factor::Term(term) => single(term.clone(), magnitude),
            Factor::Remainder(div) => div.numerator.modulo(div.denominator)?.scale(magnitude)?,
        };
        Ok((value, c < 0))
    };
    Ok((shown.terms.into_iter().map(part).collect::<Result<_>>()?, shown.constant))
}

/// One term with its coefficient.
pub(crate) fn single(term: Term, coefficient: i64) -> Aff {
    let terms = if coefficient == 0 { Terms::None } else { Terms::One((term, coefficient)) };
    Aff { terms, constant: 0 }
}
