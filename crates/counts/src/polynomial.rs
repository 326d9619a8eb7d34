//! Quasi-polynomials: polynomials in names and in floors of affine functions of names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use loopwright_poly::{Aff, Name, Term};

use crate::{
    Refusal,
    floors::{substitute, term_aff},
    rational::Rational,
};

/// Terms with their powers, in the order of the terms; the empty product is 1.
type Monomial = Vec<(Term, u32)>;

/// The greatest number of monomials of a formula.
const MONOMIALS: usize = 500;

/// A polynomial with rational coefficients in names and in floors, `n*(n + 1)/2` or
/// `n*((m + 3) // 4)`.
///
/// Equality is that of the stored monomials: equal ones are equal functions, while two floors can
/// be related in ways that it does not see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuasiPolynomial {
    monomials: BTreeMap<Monomial, Rational>,
}

impl QuasiPolynomial {
    /// The constant polynomial with this value.
    pub fn constant(value: i64) -> Self {
        QuasiPolynomial::rational(Rational::whole(value))
    }

    pub(crate) fn rational(value: Rational) -> Self {
        let mut monomials = BTreeMap::new();
        if !value.is_zero() {
            monomials.insert(Vec::new(), value);
        }
        QuasiPolynomial { monomials }
    }

    /// An affine function, which may have floors.
    pub fn affine(aff: &Aff) -> Result<Self, Refusal> {
        let mut sum = QuasiPolynomial::constant(aff.constant_term());
        for (term, c) in aff.terms() {
            sum.add_monomial(vec![(term.clone(), 1)], Rational::whole(*c))?;
        }
        Ok(sum)
    }

    /// Whether it is zero for all values of the parameters.
    pub fn is_zero(&self) -> bool {
        self.monomials.is_empty()
    }

    /// The value, if the polynomial is an integer constant of at most 64 bits.
    pub fn as_constant(&self) -> Option<i64> {
        let value = match self.monomials.len() {
            0 => 0,
            1 => self.monomials.get(&Vec::new())?.as_integer()?,
            _ => return None,
        };
        i64::try_from(value).ok()
    }

    fn add_monomial(&mut self, monomial: Monomial, c: Rational) -> Result<(), Refusal> {
        let sum = self.monomials.get(&monomial).copied().unwrap_or(Rational::ZERO).plus(c)?;
        if sum.is_zero() {
            self.monomials.remove(&monomial);
        } else {
            self.monomials.insert(monomial, sum);
            if self.monomials.len() > MONOMIALS {
                return Err(Refusal::new("count-size", "its formula has too many terms"));
            }
        }
        Ok(())
    }

    /// The sum; an error if a coefficient overflows, or if it has too many terms.
    pub fn plus(&self, other: &Self) -> Result<Self, Refusal> {
        let mut sum = self.clone();
        for (monomial, c) in &other.monomials {
            sum.add_monomial(monomial.clone(), *c)?;
        }
        Ok(sum)
    }

    /// The difference; an error if a coefficient overflows, or if it has too many terms.
    pub fn minus(&self, other: &Self) -> Result<Self, Refusal> {
        self.plus(&other.scale(Rational::whole(-1))?)
    }

    pub(crate) fn scale(&self, by: Rational) -> Result<Self, Refusal> {
        let mut product = QuasiPolynomial::default();
        for (monomial, c) in &self.monomials {
            product.add_monomial(monomial.clone(), c.times(by)?)?;
        }
        Ok(product)
    }

    /// The product; an error if a coefficient overflows, or if it has too many terms.
    pub fn times(&self, other: &Self) -> Result<Self, Refusal> {
        let mut product = QuasiPolynomial::default();
        for (a, c) in &self.monomials {
            for (b, d) in &other.monomials {
                product.add_monomial(multiply(a, b), c.times(*d)?)?;
            }
        }
        Ok(product)
    }

    /// The polynomial with names replaced by affine functions.
    pub(crate) fn substitute(&self, replace: &dyn Fn(&Name) -> Option<Aff>) -> Result<Self, Refusal> {
        self.replace_terms(&|term| Ok(Some(substitute(&term_aff(term)?, replace)?)))
    }

    /// The polynomial with terms replaced by affine functions, where `replace` gives one.
    pub(crate) fn replace_terms(
        &self,
        replace: &dyn Fn(&Term) -> Result<Option<Aff>, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut cache: BTreeMap<&Term, Option<QuasiPolynomial>> = BTreeMap::new();
        for term in self.monomials.keys().flatten().map(|(term, _)| term) {
            if cache.contains_key(term) {
                continue;
            }
            let value = replace(term)?.map(|aff| QuasiPolynomial::affine(&aff)).transpose()?;
            cache.insert(term, value);
        }
        let mut sum = QuasiPolynomial::default();
        for (monomial, c) in &self.monomials {
            let mut product = QuasiPolynomial::rational(*c);
            for (term, power) in monomial {
                match cache.get(term).and_then(Option::as_ref) {
                    Some(value) => {
                        for _ in 0..*power {
                            product = product.times(value)?;
                        }
                    }
                    None => {
                        let own = BTreeMap::from([(vec![(term.clone(), *power)], Rational::ONE)]);
                        product = product.times(&QuasiPolynomial { monomials: own })?;
                    }
                }
            }
            sum = sum.plus(&product)?;
        }
        Ok(sum)
    }

    /// The floors in which a name occurs.
    pub(crate) fn floors_with(&self, name: &str) -> BTreeSet<Term> {
        let terms = self.monomials.keys().flatten().map(|(term, _)| term);
        terms.filter(|t| matches!(t, Term::Div(div) if div.numerator.mentions(name))).cloned().collect()
    }

    /// Its coefficients as a polynomial of a name that occurs in no floor, by power.
    pub(crate) fn coefficients(&self, name: &str) -> Result<BTreeMap<u32, QuasiPolynomial>, Refusal> {
        let mut found: BTreeMap<u32, QuasiPolynomial> = BTreeMap::new();
        for (monomial, c) in &self.monomials {
            let is_it = |term: &Term| matches!(term, Term::Var(n) if **n == *name);
            let power = monomial.iter().find(|(t, _)| is_it(t)).map_or(0, |(_, power)| *power);
            let rest: Monomial = monomial.iter().filter(|(t, _)| !is_it(t)).cloned().collect();
            found.entry(power).or_default().add_monomial(rest, *c)?;
        }
        Ok(found)
    }

    /// The names that occur, those in floors too.
    pub fn names(&self) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        for (term, _) in self.monomials.keys().flatten() {
            match term {
                Term::Var(name) => {
                    names.insert(name.clone());
                }
                Term::Div(div) => names.extend(div.numerator.names()),
            }
        }
        names
    }

    /// Its value; `None` if a name has no value, or if the result is not an integer of at most 128
    /// bits.
    pub fn eval(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<i128> {
        let mut sum = Rational::ZERO;
        for (monomial, c) in &self.monomials {
            let mut product = *c;
            for (term, power) in monomial {
                let value = match term {
                    Term::Var(name) => values(name)?,
                    Term::Div(div) => div.numerator.eval(values)?.div_euclid(div.denominator),
                };
                for _ in 0..*power {
                    product = product.times(Rational::whole(value)).ok()?;
                }
            }
            sum = sum.plus(product).ok()?;
        }
        sum.as_integer()
    }
}

fn multiply(a: &Monomial, b: &Monomial) -> Monomial {
    let mut powers: BTreeMap<&Term, u32> = BTreeMap::new();
    for (term, power) in a.iter().chain(b) {
        *powers.entry(term).or_insert(0) += power;
    }
    powers.into_iter().map(|(term, power)| (term.clone(), power)).collect()
}

/// A term as a factor: floors are quotients in the syntax of kernels.
fn factor(term: &Term) -> String {
    match term {
        Term::Var(name) => name.to_string(),
        Term::Div(div) => {
            let numerator = affine_text(&div.numerator);
            match div.numerator.as_var() {
                Some(name) => format!("({name} // {})", div.denominator),
                None => format!("(({numerator}) // {})", div.denominator),
            }
        }
    }
}

fn affine_text(aff: &Aff) -> String {
    QuasiPolynomial::affine(aff).map_or_else(|_| aff.to_string(), |p| p.to_string())
}

/// By falling degree, over the least common denominator: `(n^2 + n)/2`.
impl fmt::Display for QuasiPolynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut common = 1i128;
        for c in self.monomials.values() {
            let d = c.denominator();
            common = (common / crate::rational::gcd(common, d).max(1)).saturating_mul(d);
        }
        let degree = |m: &Monomial| m.iter().map(|(_, power)| *power).sum::<u32>();
        let mut ordered: Vec<(&Monomial, i128)> = self
            .monomials
            .iter()
            .map(|(m, c)| (m, c.numerator().saturating_mul(common / c.denominator())))
            .collect();
        ordered.sort_by_key(|(m, c)| (std::cmp::Reverse(degree(m)), *c < 0, (*m).clone()));
        let mut text = String::new();
        for (monomial, c) in &ordered {
            let mut factors: Vec<String> = Vec::new();
            if c.unsigned_abs() != 1 || monomial.is_empty() {
                factors.push(c.unsigned_abs().to_string());
            }
            for (term, power) in *monomial {
                match power {
                    1 => factors.push(factor(term)),
                    power => factors.push(format!("{}^{power}", factor(term))),
                }
            }
            text += match (text.is_empty(), *c < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            text += &factors.join("*");
        }
        match (ordered.len(), common) {
            (0, _) => write!(f, "0"),
            (_, 1) => write!(f, "{text}"),
            (1, d) => write!(f, "{text}/{d}"),
            (_, d) => write!(f, "({text})/{d}"),
        }
    }
}
