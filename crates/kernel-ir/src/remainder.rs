//! The remainders that an affine function contains: how it is written, and compared.

use loopwright_poly::{Aff, FloorDiv, Term};

/// A multiple of a remainder in a function.
#[derive(Clone, Debug)]
pub struct Remainder<'a> {
    /// The number that the remainder is multiplied by.
    pub factor: i64,
    /// The divisor, greater than 1.
    pub divisor: i64,
    /// The term in whose place it is written.
    pub first: &'a Term,
    /// All terms that it consists of.
    pub terms: Vec<&'a Term>,
    /// The dividend, if it is not `first`.
    pub numerator: Option<&'a Aff>,
    /// The part of the function's constant that belongs to it.
    pub constant: i64,
}

/// The remainders that a function contains: `x - 4*floor(x/4)` is `x mod 4`,
/// `floor(x/2) - 4*floor(x/8)` is `floor(x/2) mod 4`, and `x + y + 1 - 4*floor((x + y + 1)/4)` is
/// `(x + y + 1) mod 4`. Those with positive factors come first. No term is part of two of them.
pub fn remainders(aff: &Aff) -> Vec<Remainder<'_>> {
    let terms = aff.terms().iter();
    let of_terms = terms.clone().filter_map(|(term, c)| remainder_of_term(aff, term, *c));
    let of_sums = terms.filter_map(|(term, k)| match term {
        Term::Div(div) => remainder_of_sum(aff, term, div, *k),
        Term::Var(_) => None,
    });
    let (positive, negative): (Vec<_>, Vec<_>) = of_sums.partition(|r| r.factor > 0);
    let mut found: Vec<Remainder> = Vec::new();
    let mut rest = aff.constant_term();
    for remainder in of_terms.chain(positive).chain(negative) {
        let is_taken = |term: &&Term| found.iter().any(|r| r.terms.contains(term));
        if !remainder.terms.iter().any(is_taken)
            && let Some(without) = rest.checked_sub(remainder.constant)
        {
            rest = without;
            found.push(remainder);
        }
    }
    found
}

/// The remainder of a term by itself, if the function has the quotient that belongs to it.
fn remainder_of_term<'a>(aff: &'a Aff, term: &'a Term, c: i64) -> Option<Remainder<'a>> {
    if c <= 0 {
        return None;
    }
    let (other, divisor) = aff.terms().iter().find_map(|(other, k)| {
        let Term::Div(other_div) = other else { return None };
        let divisor = match term {
            Term::Var(name) if other_div.numerator.as_var() == Some(name) => other_div.denominator,
            Term::Div(own)
                if own.numerator == other_div.numerator && other_div.denominator % own.denominator == 0 =>
            {
                other_div.denominator / own.denominator
            }
            _ => return None,
        };
        let is_whole = divisor > 1 && c.checked_mul(divisor).and_then(i64::checked_neg) == Some(*k);
        is_whole.then_some((other, divisor))
    })?;
    let terms = vec![term, other];
    Some(Remainder { factor: c, divisor, first: term, terms, numerator: None, constant: 0 })
}

/// The remainder that a quotient belongs to, if the function has all terms of its numerator.
fn remainder_of_sum<'a>(aff: &'a Aff, term: &'a Term, div: &'a FloorDiv, k: i64) -> Option<Remainder<'a>> {
    let (numerator, divisor) = (&div.numerator, div.denominator);
    if k % divisor != 0 {
        return None;
    }
    let factor = (k / divisor).checked_neg()?;
    let mut terms = vec![term];
    for (part, c) in numerator.terms() {
        let (own, have) = aff.terms().iter().find(|(own, _)| own == part)?;
        if c.checked_mul(factor) != Some(*have) {
            return None;
        }
        terms.push(own);
    }
    let constant = numerator.constant_term().checked_mul(factor)?;
    let first = terms.get(1).copied()?;
    Some(Remainder { factor, divisor, first, terms, numerator: Some(numerator), constant })
}
