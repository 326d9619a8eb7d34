//! The numbers in a layout: constants and launch parameters.
//!
//! An [`Int`] is a polynomial with integer coefficients over *atoms*: names of sizes, and quotients
//! rounded up. It is kept in one normal form, so that equal polynomials are equal values. Every
//! atom stands for an integer that is at least 1, which is what an order between two of them
//! (`Int::at_most`) rests on: with `x = 1 + x'` for each atom, a polynomial in the `x'` whose
//! coefficients are all non-negative is non-negative.

use std::{collections::BTreeMap, fmt, sync::Arc};

use loopwright_poly::{Aff, Name};

use crate::{Error, Result};

/// A constant or a polynomial in launch parameters. See the module's head.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Int(Repr);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Repr {
    Const(i64),
    /// Has a monomial other than the constant one, and no zero coefficients.
    Open(Arc<Polynomial>),
}

type Polynomial = BTreeMap<Monomial, i64>;

/// A product of atoms, sorted; empty for the constant term.
type Monomial = Vec<Atom>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Atom {
    Name(Name),
    /// Numerator and denominator, both known to be at least 1.
    CeilDiv(Int, Int),
}

/// Products with more terms are refused: sizes of arrays have a few.
const MOST_TERMS: usize = 256;

impl From<i64> for Int {
    fn from(value: i64) -> Self {
        Int(Repr::Const(value))
    }
}

impl Int {
    /// The constant zero.
    pub const ZERO: Int = Int(Repr::Const(0));
    /// The constant one.
    pub const ONE: Int = Int(Repr::Const(1));

    /// A size that is a launch parameter, at least 1.
    pub fn name(name: impl Into<Name>) -> Self {
        Int::of(BTreeMap::from([(vec![Atom::Name(name.into())], 1)]))
    }

    /// The value, if it is a constant.
    pub fn as_const(&self) -> Option<i64> {
        match &self.0 {
            Repr::Const(value) => Some(*value),
            Repr::Open(_) => None,
        }
    }

    /// Whether it is the constant 0.
    pub fn is_zero(&self) -> bool {
        self.as_const() == Some(0)
    }

    /// Whether it is the constant 1.
    pub fn is_one(&self) -> bool {
        self.as_const() == Some(1)
    }

    fn of(mut terms: Polynomial) -> Self {
        terms.retain(|_, c| *c != 0);
        match terms.iter().next() {
            None => Int::ZERO,
            Some((m, c)) if m.is_empty() && terms.len() == 1 => Int::from(*c),
            Some(_) => Int(Repr::Open(Arc::new(terms))),
        }
    }

    fn terms(&self) -> Polynomial {
        match &self.0 {
            Repr::Const(0) => BTreeMap::new(),
            Repr::Const(value) => BTreeMap::from([(Vec::new(), *value)]),
            Repr::Open(terms) => (**terms).clone(),
        }
    }

    /// The sum; an error if a coefficient overflows.
    pub fn add(&self, other: &Int) -> Result<Int> {
        if let (Some(a), Some(b)) = (self.as_const(), other.as_const()) {
            return a.checked_add(b).map(Int::from).ok_or(Error::Overflow);
        }
        let mut sum = self.terms();
        for (m, c) in other.terms() {
            let entry = sum.entry(m).or_insert(0);
            *entry = entry.checked_add(c).ok_or(Error::Overflow)?;
        }
        Ok(Int::of(sum))
    }

    /// The difference; an error if a coefficient overflows.
    pub fn sub(&self, other: &Int) -> Result<Int> {
        self.add(&other.mul(&Int::from(-1))?)
    }

    /// The product; an error if a coefficient overflows, or if it has too many terms.
    pub fn mul(&self, other: &Int) -> Result<Int> {
        if let (Some(a), Some(b)) = (self.as_const(), other.as_const()) {
            return a.checked_mul(b).map(Int::from).ok_or(Error::Overflow);
        }
        let mut product = Polynomial::new();
        let right = other.terms();
        for (m, c) in self.terms() {
            for (n, d) in &right {
                let mut atoms = [m.clone(), n.clone()].concat();
                atoms.sort();
                let entry = product.entry(atoms).or_insert(0);
                let term = c.checked_mul(*d).ok_or(Error::Overflow)?;
                *entry = entry.checked_add(term).ok_or(Error::Overflow)?;
            }
            if product.len() > MOST_TERMS {
                return Err(Error::Overflow);
            }
        }
        Ok(Int::of(product))
    }

    /// The quotient, if the divisor divides this number for all sizes.
    pub fn exact_div(&self, divisor: &Int) -> Option<Int> {
        if let (Some(a), Some(b)) = (self.as_const(), divisor.as_const()) {
            return (b != 0 && a.checked_rem(b)? == 0).then(|| Int::from(a / b));
        }
        // Division of polynomials by their leading terms (by degree, then by name), which ends
        // without a remainder exactly if the divisor divides.
        let lead = |p: &Polynomial| p.iter().max_by_key(|(m, _)| (m.len(), *m)).map(|(m, c)| (m.clone(), *c));
        let (lead_monomial, lead_coefficient) = lead(&divisor.terms())?;
        let (mut rest, mut quotient) = (self.clone(), Int::ZERO);
        for _ in 0..64 {
            let Some((monomial, coefficient)) = lead(&rest.terms()) else { return Some(quotient) };
            let left = without(&monomial, &lead_monomial)?;
            if coefficient.checked_rem(lead_coefficient)? != 0 {
                return None;
            }
            let term = Int::of(BTreeMap::from([(left, coefficient / lead_coefficient)]));
            rest = rest.sub(&term.mul(divisor).ok()?).ok()?;
            quotient = quotient.add(&term).ok()?;
        }
        None
    }

    /// The quotient rounded up; numerator and denominator have to be at least 1 unless both are
    /// constants.
    pub fn ceil_div(&self, divisor: &Int) -> Result<Int> {
        if let Some(quotient) = self.exact_div(divisor) {
            return Ok(quotient);
        }
        if let (Some(a), Some(b)) = (self.as_const(), divisor.as_const()) {
            if b == 0 {
                return Err(Error::Call("division by zero".into()));
            }
            let floor = a.checked_div_euclid(b).ok_or(Error::Overflow)?;
            return Ok(Int::from(if b > 0 { floor + 1 } else { floor }));
        }
        if Int::ONE.at_most(self) != Some(true) || Int::ONE.at_most(divisor) != Some(true) {
            return Err(Error::not_known("ceil_div", format!("1 <= {self} and 1 <= {divisor}")));
        }
        if self.at_most(divisor) == Some(true) {
            return Ok(Int::ONE);
        }
        let (top, bottom) = reduced(self, divisor);
        // ceil(ceil(a / b) / c) = ceil(a / (b c)) for positive integers.
        let atom = match top.as_atom() {
            Some(Atom::CeilDiv(a, b)) => Atom::CeilDiv(a.clone(), b.mul(&bottom)?),
            _ => Atom::CeilDiv(top, bottom),
        };
        Ok(Int::of(BTreeMap::from([(vec![atom], 1)])))
    }

    fn as_atom(&self) -> Option<&Atom> {
        match &self.0 {
            Repr::Open(terms) if terms.len() == 1 => match terms.iter().next() {
                Some((m, 1)) if m.len() == 1 => m.first(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether this is at most the other for all sizes (`Some(true)`), greater for all sizes
    /// (`Some(false)`), or neither is known.
    pub fn at_most(&self, other: &Int) -> Option<bool> {
        if let (Some(a), Some(b)) = (self.as_const(), other.as_const()) {
            return Some(a <= b);
        }
        let shifted = shifted(&other.sub(self).ok()?)?;
        if shifted.values().all(|c| *c >= 0) {
            return Some(true);
        }
        let constant = shifted.get(&Vec::new()).copied().unwrap_or(0);
        (constant < 0 && shifted.values().all(|c| *c <= 0)).then_some(false)
    }

    /// The number as an affine function of the sizes.
    pub fn to_aff(&self) -> Result<Aff> {
        let refuse = || Error::not_known("affine form", format!("that {self} is linear in the sizes"));
        let mut sum = Aff::constant(0);
        for (monomial, coefficient) in self.terms() {
            let term = match monomial.as_slice() {
                [] => Aff::constant(1),
                [Atom::Name(name)] => Aff::var(name),
                [Atom::CeilDiv(a, b)] => {
                    // ceil(a / b) = floor((a + b - 1) / b)
                    let b = b.as_const().ok_or_else(refuse)?;
                    let top = a.to_aff()?.add_constant(b - 1);
                    top.and_then(|top| top.floor_div(b)).map_err(|_| Error::Overflow)?
                }
                _ => return Err(refuse()),
            };
            sum = term.scale(coefficient).and_then(|term| sum.add(&term)).map_err(|_| Error::Overflow)?;
        }
        Ok(sum)
    }

    /// The value for given sizes.
    pub fn eval(&self, sizes: &dyn Fn(&Name) -> Option<i64>) -> Result<i64> {
        let mut sum = 0i64;
        for (monomial, coefficient) in self.terms() {
            let mut product = coefficient;
            for atom in &monomial {
                let value = match atom {
                    Atom::Name(name) => {
                        sizes(name).ok_or_else(|| Error::not_known("eval", format!("the size {name}")))?
                    }
                    Atom::CeilDiv(a, b) => {
                        let quotient = Int::from(a.eval(sizes)?).ceil_div(&Int::from(b.eval(sizes)?))?;
                        quotient.as_const().ok_or(Error::Overflow)?
                    }
                };
                product = product.checked_mul(value).ok_or(Error::Overflow)?;
            }
            sum = sum.checked_add(product).ok_or(Error::Overflow)?;
        }
        Ok(sum)
    }
}

/// The monomial divided by another.
fn without(monomial: &Monomial, divisor: &Monomial) -> Option<Monomial> {
    let mut left = monomial.clone();
    for atom in divisor {
        let at = left.iter().position(|a| a == atom)?;
        left.remove(at);
    }
    Some(left)
}

/// Both divided by the atoms and the constant that they have in common.
fn reduced(top: &Int, bottom: &Int) -> (Int, Int) {
    let all: Vec<(Monomial, i64)> = top.terms().into_iter().chain(bottom.terms()).collect();
    let Some((first, _)) = all.first() else { return (top.clone(), bottom.clone()) };
    let mut common = Monomial::new();
    let mut candidates = first.clone();
    while let Some(atom) = candidates.pop() {
        let mut wanted = common.clone();
        wanted.push(atom);
        if all.iter().all(|(m, _)| without(m, &wanted).is_some()) {
            common = wanted;
        }
    }
    common.sort();
    let factor = all.iter().fold(0u64, |g, (_, c)| gcd(g, c.unsigned_abs()));
    let Ok(factor) = i64::try_from(factor) else { return (top.clone(), bottom.clone()) };
    let divisor = Int::of(BTreeMap::from([(common, factor)]));
    match (top.exact_div(&divisor), bottom.exact_div(&divisor)) {
        (Some(a), Some(b)) => (a, b),
        _ => (top.clone(), bottom.clone()),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The polynomial with `1 + x` for each atom `x`; nothing if that overflows or is too long.
fn shifted(value: &Int) -> Option<Polynomial> {
    let mut sum = Polynomial::new();
    for (monomial, coefficient) in value.terms() {
        if monomial.len() > 12 {
            return None;
        }
        for chosen in 0u32..1 << monomial.len() {
            let kept = monomial.iter().enumerate().filter(|(k, _)| chosen >> k & 1 == 1);
            let entry = sum.entry(kept.map(|(_, a)| a.clone()).collect()).or_insert(0);
            *entry = i64::checked_add(*entry, coefficient)?;
        }
    }
    Some(sum)
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Name(name) => write!(f, "{name}"),
            Atom::CeilDiv(a, b) => write!(f, "ceil_div({a},{b})"),
        }
    }
}

/// Monomials of highest degree first: `m*n + 16*m + 3`.
impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms: Vec<(Monomial, i64)> = match &self.0 {
            Repr::Const(value) => return write!(f, "{value}"),
            Repr::Open(terms) => terms.iter().map(|(m, c)| (m.clone(), *c)).collect(),
        };
        terms.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        for (k, (monomial, coefficient)) in terms.iter().enumerate() {
            let sign = match (k, *coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            f.write_str(sign)?;
            let mut factors: Vec<String> = monomial.iter().map(Atom::to_string).collect();
            if coefficient.unsigned_abs() != 1 || factors.is_empty() {
                factors.insert(0, coefficient.unsigned_abs().to_string());
            }
            f.write_str(&factors.join("*"))?;
        }
        Ok(())
    }
}
