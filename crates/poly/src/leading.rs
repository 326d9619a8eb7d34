//! Constraints on mixed radix numbers, without the digits that make no difference.
//!
//! Of `256*k + 32*w + l < 2048` with `0 <= w < 8` and `0 <= l < 32` only `k < 8` is left. A split
//! of an iname that runs over a flattened range leaves the first form, in which each thread seems
//! to have a condition of its own; the second one is the same for all threads of a block, is shared
//! by all copies that have as many rounds, and is decided where `k` is unrolled.
//!
//! With `head` a multiple `d*u` and `tail` the sum of the terms with the least coefficients, whose
//! range is constant: `d*u + tail + c >= 0` if and only if `u >= -floor((tail + c)/d)`. If this
//! quotient is the same at both ends of the range, it is so throughout.

use std::collections::BTreeMap;

use crate::{Aff, Constraint, Kind, Name, Term, aff::gcd};

/// Constant ranges of names, as far as these constraints bound single names.
fn ranges(
    constraints: &[Constraint],
    is_nonnegative: &dyn Fn(&Name) -> bool,
) -> BTreeMap<Name, (Option<i64>, Option<i64>)> {
    let mut ranges: BTreeMap<Name, (Option<i64>, Option<i64>)> = BTreeMap::new();
    for c in constraints {
        for name in c.names() {
            if is_nonnegative(&name) {
                ranges.entry(name).or_default().0.get_or_insert(0);
            }
        }
        let [(Term::Var(name), k)] = c.aff.terms() else { continue };
        let constant = c.aff.constant_term();
        let (lower, upper) = ranges.entry(name.clone()).or_default();
        match (c.kind, k, constant.checked_neg()) {
            (Kind::Ge, 1, Some(least)) => *lower = Some(lower.map_or(least, |known| known.max(least))),
            (Kind::Ge, -1, _) => *upper = Some(upper.map_or(constant, |known| known.min(constant))),
            _ => {}
        }
    }
    ranges
}

/// For each of these constraints that is one on its leading terms where all of them hold, that one.
/// `is_nonnegative` says of which names it is known anyway that they are not negative: a result
/// that says no more than this is left out.
///
/// ```
/// use loopwright_poly::{Aff, Constraint, leading};
///
/// // l <= 31, and 32*k + l <= 127.
/// let l = Constraint::le(&Aff::var("l"), &Aff::constant(31))?;
/// let number = Aff::var("k").scale(32)?.add(&Aff::var("l"))?;
/// let number = Constraint::le(&number, &Aff::constant(127))?;
/// let k = Constraint::le(&Aff::var("k"), &Aff::constant(3))?;
/// assert_eq!(leading(&[number, l], &|_| true), [k]);
/// # Ok::<(), loopwright_poly::Error>(())
/// ```
pub fn leading(constraints: &[Constraint], is_nonnegative: &dyn Fn(&Name) -> bool) -> Vec<Constraint> {
    let ranges = ranges(constraints, is_nonnegative);
    let range = |name: &Name| match ranges.get(name)? {
        (Some(lower), Some(upper)) => Some((*lower, *upper)),
        _ => None,
    };
    constraints.iter().filter_map(|c| leading_of(c, &range, is_nonnegative)).collect()
}

fn leading_of(
    c: &Constraint,
    range: &dyn Fn(&Name) -> Option<(i64, i64)>,
    is_nonnegative: &dyn Fn(&Name) -> bool,
) -> Option<Constraint> {
    if c.kind != Kind::Ge || c.aff.terms().len() < 2 {
        return None;
    }
    let mut terms: Vec<(&Name, i64)> = Vec::new();
    for (term, k) in c.aff.terms() {
        let Term::Var(name) = term else { return None };
        terms.push((name, *k));
    }
    terms.sort_by_key(|(_, k)| k.unsigned_abs());
    let (mut least, mut greatest) = (c.aff.constant_term(), c.aff.constant_term());
    let mut found = None;
    for (n, (name, k)) in terms.iter().enumerate().take(terms.len() - 1) {
        let (lower, upper) = range(name)?;
        let ends = [k.checked_mul(lower)?, k.checked_mul(upper)?];
        least = least.checked_add(ends[0].min(ends[1]))?;
        greatest = greatest.checked_add(ends[0].max(ends[1]))?;
        let head = &terms[n + 1..];
        let d = head.iter().fold(0, |d, (_, k)| gcd(d, *k));
        if d > 1 && least.div_euclid(d) == greatest.div_euclid(d) {
            found = Some((head, d, least.div_euclid(d)));
        }
    }
    let (head, d, quotient) = found?;
    let mut aff = Aff::constant(quotient);
    for (name, k) in head {
        aff = aff.add(&Aff::var(*name).scale(k / d).ok()?).ok()?;
    }
    let is_known = quotient >= 0 && matches!(head, [(name, 1..)] if is_nonnegative(name));
    (!is_known).then_some(Constraint { kind: Kind::Ge, aff })
}
