//! Floors in one form, so that equal ones are recognised.
//!
//! `floor((g*t + c) / (g*d))` is `floor((t + floor(c/g)) / d)`, and a floor inside a floor, alone
//! up to whole multiples, is one floor: `floor((floor(t/e) + c) / d) = floor((t + e*c) / (d*e))`.

use loopwright_poly::{Aff, Constraint, Kind, Name, Result, Term};

use crate::rational::gcd;

/// `floor(aff / d)` in its form. The terms of `aff` have theirs already.
pub(crate) fn floor_div(aff: &Aff, d: i64) -> Result<Aff> {
    let divided = aff.floor_div(d)?;
    // What `Aff::floor_div` makes: whole terms, and at most one new floor with the coefficient 1.
    let Some(div) = divided.terms().iter().find_map(|(term, c)| match term {
        Term::Div(div) if *c == 1 && div.denominator == d && !aff.terms().iter().any(|(t, _)| t == term) => {
            Some(div.clone())
        }
        _ => None,
    }) else {
        return Ok(divided);
    };
    let whole = divided.sub(&term_aff(&Term::Div(div.clone()))?)?;
    let numerator = &div.numerator;
    let g = numerator.terms().iter().fold(i128::from(d), |g, (_, c)| gcd(g, (*c).into()));
    let g = i64::try_from(g).unwrap_or(1);
    if g > 1 {
        let mut rest = Aff::constant(numerator.constant_term().div_euclid(g));
        for (term, c) in numerator.terms() {
            rest = rest.add(&term_aff(term)?.scale(c / g)?)?;
        }
        return whole.add(&floor_div(&rest, d / g)?);
    }
    let inner = numerator.terms().iter().find_map(|(term, c)| match term {
        Term::Div(inner) if *c == 1 => Some((term, inner.clone())),
        _ => None,
    });
    if let Some((term, inner)) = inner
        && let Some(both) = d.checked_mul(inner.denominator)
    {
        let others = numerator.sub(&term_aff(term)?)?;
        let joined = inner.numerator.add(&others.scale(inner.denominator)?)?;
        return whole.add(&floor_div(&joined, both)?);
    }
    Ok(divided)
}

/// The function that a term is.
pub(crate) fn term_aff(term: &Term) -> Result<Aff> {
    match term {
        Term::Var(name) => Ok(Aff::var(name)),
        // The floor of a numerator that is reduced already is that very term.
        Term::Div(div) => div.numerator.floor_div(div.denominator),
    }
}

/// The function with names replaced and all floors in their form.
pub(crate) fn substitute(aff: &Aff, replace: &dyn Fn(&Name) -> Option<Aff>) -> Result<Aff> {
    let mut sum = Aff::constant(aff.constant_term());
    for (term, c) in aff.terms() {
        let value = match term {
            Term::Var(name) => replace(name).unwrap_or_else(|| Aff::var(name)),
            Term::Div(div) => floor_div(&substitute(&div.numerator, replace)?, div.denominator)?,
        };
        sum = sum.add(&value.scale(*c)?)?;
    }
    Ok(sum)
}

/// A constraint with names replaced, divided by what all its coefficients have in common; `None`
/// if it always holds, and one that never does where that is known.
pub(crate) fn constraint(
    c: &Constraint,
    replace: &dyn Fn(&Name) -> Option<Aff>,
) -> Result<Option<Constraint>> {
    let aff = substitute(&c.aff, replace)?;
    let never = || Some(Constraint::nonneg(Aff::constant(-1)));
    if let Some(value) = aff.as_constant() {
        let holds = match c.kind {
            Kind::Eq => value == 0,
            Kind::Ge => value >= 0,
        };
        return Ok(if holds { None } else { never() });
    }
    let g = aff.content().max(1);
    if g == 1 {
        return Ok(Some(Constraint { kind: c.kind, aff }));
    }
    let constant = aff.constant_term();
    if c.kind == Kind::Eq && constant % g != 0 {
        return Ok(never());
    }
    let mut divided = Aff::constant(constant.div_euclid(g));
    for (term, k) in aff.terms() {
        divided = divided.add(&term_aff(term)?.scale(k / g)?)?;
    }
    Ok(Some(Constraint { kind: c.kind, aff: divided }))
}

/// The floors of a function that mention a name, outermost.
pub(crate) fn floors_of<'a>(
    aff: &'a Aff,
    name: &'a str,
) -> impl Iterator<Item = &'a std::sync::Arc<loopwright_poly::FloorDiv>> {
    aff.terms().iter().filter_map(move |(term, _)| match term {
        Term::Div(div) if div.numerator.mentions(name) => Some(div),
        _ => None,
    })
}
