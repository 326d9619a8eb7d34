//! Integer projection of rows in plain Rust; reports whether it is exact.
//!
//! Equalities go first. One with a unit coefficient is substituted. Otherwise Euclid's algorithm,
//! as unimodular column operations on the unknowns to be eliminated, leaves one of them with the
//! greatest common divisor `g` of their coefficients; what remains states that a function of the
//! kept columns is a multiple of `g`, which becomes a division column.
//!
//! Then Fourier-Motzkin, the column with the fewest new rows first. A pair `a*x >= l`, `b*x <= u`
//! leaves the real shadow `a*u - b*l >= 0`. It is exact over the integers if `a` or `b` is 1, or if
//! it is the same integer row as the dark shadow `a*u - b*l >= (a-1)*(b-1)` (Pugh, "The Omega
//! test", 1991). If `u` or `l` has kept columns only, a floor makes the pair exact:
//! `a*floor(u/b) >= l`. The remaining pairs are inexact: the real shadow is too large and the dark
//! one too small, and the caller chooses between them.

use std::sync::Arc;

use crate::{
    Aff, Error, FloorDiv, Result, Term,
    aff::gcd,
    rows::{Reduced, Rows, combine, mul_add, reduce},
};

/// Which shadow an inexact pair leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shadow {
    /// The real shadow: contains the projection, and perhaps more integer points.
    Real,
    /// The dark shadow: is contained in the projection.
    Dark,
    /// The real shadow without strides and floors: contains the projection, and never adds a
    /// division.
    Rational,
}

/// The outcome of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The rows have no integer point. For the dark shadow: none in the shadow.
    Empty,
    /// The remaining rows are the projection, or its shadow if not exact.
    Done {
        /// Whether each step was exact.
        exact: bool,
    },
}

/// The number of rows at which plain elimination gives up, to bound its cost: isl takes over.
const ROW_LIMIT: usize = 300;

/// Eliminates the columns marked in `out` from the rows, in place. `terms` names column `k + 1` at
/// index `k`; new division columns of kept terms are appended to it and to the rows.
pub(crate) fn project(
    rows: &mut Rows,
    terms: &mut Vec<Term>,
    out: &mut Vec<bool>,
    shadow: Shadow,
) -> Result<Outcome> {
    project_from(rows, 0, terms, out, shadow)
}

/// [`project`] if the rows before `tidy` are already tidy.
pub(crate) fn project_from(
    rows: &mut Rows,
    mut tidy: usize,
    terms: &mut Vec<Term>,
    out: &mut Vec<bool>,
    shadow: Shadow,
) -> Result<Outcome> {
    let mut exact = true;
    loop {
        if !rows.tidy_from(tidy)? {
            return Ok(Outcome::Empty);
        }
        if rows.len() > ROW_LIMIT {
            return Err(Error::Budget);
        }
        if let Some(index) = pick_equality(rows, out) {
            match solve(rows, terms, out, index, shadow)? {
                Solved::Never => return Ok(Outcome::Empty),
                Solved::Changed(from) => tidy = from,
            }
            continue;
        }
        let Some(step) = pick_column(rows, out) else {
            return Ok(Outcome::Done { exact });
        };
        tidy = rows.len() - step.lower.len() - step.upper.len();
        exact &= fourier_motzkin(rows, terms, out, step, shadow)?;
    }
}

/// The equality that is cheapest to solve: one with a unit coefficient and the fewest entries, else
/// any.
fn pick_equality(rows: &Rows, out: &[bool]) -> Option<usize> {
    let mut best: Option<(bool, usize, usize)> = None;
    for i in 0..rows.len() {
        if !rows.is_eq(i) {
            continue;
        }
        let (mut any, mut unit, mut entries) = (false, false, 0);
        for (c, &going) in rows.row(i).iter().zip(out.iter()).skip(1) {
            if *c != 0 {
                entries += 1;
                any |= going;
                unit |= going && (*c == 1 || *c == -1);
            }
        }
        if any {
            let key = (!unit, entries, i);
            if best.is_none_or(|b| key < b) {
                best = Some(key);
            }
        }
    }
    best.map(|(_, _, i)| i)
}

enum Solved {
    /// The rows from this index on are new.
    Changed(usize),
    /// There is no integer solution.
    Never,
}

/// Substitutes the column of number `pivot` by an equality, and removes that. Gives the equality,
/// and the number from which on rows are new.
fn substitute(rows: &mut Rows, index: usize, pivot: usize) -> Result<(Vec<i64>, usize)> {
    let row = rows.row(index).to_vec();
    let coefficient = row[pivot];
    let magnitude = coefficient.checked_abs().ok_or(Error::Overflow)?;
    // coefficient*x + f = 0: a row c*x + h becomes m*h - sign*c*f, divided by the divisor that c
    // and m share.
    let mut changed = Rows::with_capacity(rows.width(), rows.len());
    for i in 0..rows.len() {
        let other = rows.row(i);
        let c = other[pivot];
        if c != 0 && i != index {
            let g = gcd(c, magnitude);
            let q = (c / g).checked_mul(-coefficient.signum()).ok_or(Error::Overflow)?;
            changed.push_combination(rows.is_eq(i), magnitude / g, other, q, &row)?;
        }
    }
    // The equality itself goes too.
    rows.retain(|row, _| row[pivot] == 0);
    let from = rows.len();
    rows.extend(&changed);
    Ok((row, from))
}

/// Substitutes all columns that equalities with a unit coefficient determine, and tidies the rest.
/// The columns are added to `solved`, with their equalities in the order of solving. `false` if
/// there is a contradiction.
pub(crate) fn substitute_units(rows: &mut Rows, solved: &mut Vec<(usize, Vec<i64>)>) -> Result<bool> {
    let mut out = vec![true; rows.width()];
    out[0] = false;
    let mut tidy = 0;
    loop {
        if !rows.tidy_from(tidy)? {
            return Ok(false);
        }
        let Some(index) = pick_equality(rows, &out) else { return Ok(true) };
        let row = rows.row(index);
        let Some(pivot) = (1..row.len()).find(|c| row[*c] == 1 || row[*c] == -1) else { return Ok(true) };
        let (equality, from) = substitute(rows, index, pivot)?;
        solved.push((pivot, equality));
        tidy = from;
    }
}

/// Solves one equality and removes it.
fn solve(
    rows: &mut Rows,
    terms: &mut Vec<Term>,
    out: &mut Vec<bool>,
    index: usize,
    shadow: Shadow,
) -> Result<Solved> {
    // Euclid's algorithm among the eliminated columns, until only one has a coefficient or one is a
    // unit.
    let pivot = loop {
        let row = rows.row(index);
        let mut smallest: Option<usize> = None;
        let mut others = 0;
        for c in 1..row.len() {
            if out[c] && row[c] != 0 {
                others += 1;
                if smallest.is_none_or(|s| row[c].unsigned_abs() < row[s].unsigned_abs()) {
                    smallest = Some(c);
                }
            }
        }
        let Some(s) = smallest else { return Ok(Solved::Changed(0)) };
        if others == 1 || row[s] == 1 || row[s] == -1 {
            break s;
        }
        for (c, &going) in out.iter().enumerate().skip(1) {
            let (a, b) = (rows.row(index)[c], rows.row(index)[s]);
            if c != s && going && a != 0 {
                rows.column_subtract(c, a.checked_div(b).ok_or(Error::Overflow)?, s)?;
            }
        }
    };
    // Euclid's column operations may have changed any row, but not how they compare.
    let (row, from) = substitute(rows, index, pivot)?;
    let magnitude = row[pivot].checked_abs().ok_or(Error::Overflow)?;
    if magnitude == 1 || shadow == Shadow::Rational {
        return Ok(Solved::Changed(from));
    }
    // f must be a multiple of the magnitude: f - m*floor(f/m) = 0.
    let mut f = row;
    f[pivot] = 0;
    let floor = kept_floor(rows, terms, out, &f, magnitude)?;
    f.resize(rows.width(), 0);
    let mut stride = combine(1, &f, -magnitude, &floor)?;
    match reduce(&mut stride, true) {
        Reduced::Never => return Ok(Solved::Never),
        Reduced::Always => {}
        Reduced::Row => rows.push(true, &stride),
    }
    Ok(Solved::Changed(from))
}

/// The row of `floor(f / d)`, where `f` has no eliminated columns. A division column is added
/// unless there is one.
fn kept_floor(
    rows: &mut Rows,
    terms: &mut Vec<Term>,
    out: &mut Vec<bool>,
    f: &[i64],
    d: i64,
) -> Result<Vec<i64>> {
    let mut whole = vec![0; rows.width()];
    let mut numerator = vec![0; f.len()];
    let mut content = d;
    for (k, &c) in f.iter().enumerate() {
        whole[k] = c.div_euclid(d);
        numerator[k] = c.rem_euclid(d);
        if k > 0 {
            content = gcd(content, numerator[k]);
        }
    }
    // floor((g*a + c) / (g*d)) = floor((a + floor(c/g)) / d)
    let denominator = d / content;
    for c in &mut numerator {
        *c = c.div_euclid(content);
    }
    // Of a constant, the remainder is less than the denominator.
    if numerator[1..].iter().all(|c| *c == 0) {
        return Ok(whole);
    }
    let aff = row_aff(&numerator, terms)?;
    let term = Term::Div(Arc::new(FloorDiv { numerator: aff, denominator }));
    // A known division of kept columns is kept.
    let column = match terms.iter().position(|t| *t == term) {
        Some(k) => k + 1,
        None => {
            terms.push(term);
            out.push(false);
            rows.widen(terms.len() + 1);
            whole.resize(rows.width(), 0);
            let column = terms.len();
            // d*q <= numerator <= d*q + d - 1, for later steps.
            let mut low = numerator.clone();
            low.resize(rows.width(), 0);
            low[column] = -denominator;
            let mut high: Vec<i64> = low.iter().map(|c| -c).collect();
            high[0] += denominator - 1;
            rows.push(false, &low);
            rows.push(false, &high);
            column
        }
    };
    whole[column] = mul_add(whole[column], 1, 1)?;
    Ok(whole)
}

/// The function that a row is, in the terms of its columns.
pub(crate) fn row_aff(row: &[i64], terms: &[Term]) -> Result<Aff> {
    let entries = row[1..].iter().zip(terms).filter(|(c, _)| **c != 0);
    let sum: Vec<(Term, i64)> = entries.map(|(c, term)| (term.clone(), *c)).collect();
    // A number without a negation is not a valid coefficient: see `Aff`.
    if !sum.is_empty() && (row[0] == i64::MIN || sum.iter().any(|(_, c)| *c == i64::MIN)) {
        return Err(Error::Overflow);
    }
    Aff::sum(sum, row[0])
}

/// A column to eliminate, with the rows that bound it.
struct Step {
    column: usize,
    lower: Vec<usize>,
    upper: Vec<usize>,
}

/// How a pair of bounds is combined.
enum Pair {
    Exact,
    FloorUpper,
    FloorLower,
    Inexact,
}

fn pair_kind(rows: &Rows, out: &[bool], column: usize, l: usize, u: usize) -> Pair {
    let (lower, upper) = (rows.row(l), rows.row(u));
    let (a, b) = (lower[column] as i128, -(upper[column] as i128));
    if a == 1 || b == 1 {
        return Pair::Exact;
    }
    // The content of a*u - b*l and its constant decide whether the dark shadow is the same integer
    // row. With a content of one it is not.
    let mut content: u128 = 0;
    for c in 1..rows.width() {
        if c != column && (lower[c], upper[c]) != (0, 0) {
            let s = (a * upper[c] as i128 + b * lower[c] as i128).unsigned_abs();
            content = gcd_u128(content, s);
            if content == 1 {
                break;
            }
        }
    }
    let constant = a * upper[0] as i128 + b * lower[0] as i128;
    let slack = (a - 1) * (b - 1);
    // Beyond this the sums below could overflow 128 bits; such a pair is simply not recognised.
    let large = a > 1 << 40 || b > 1 << 40;
    let same = match content {
        _ if large => false,
        0 => constant < 0 || constant >= slack,
        g => floor_quotient(constant, g as i128) == floor_quotient(constant - slack, g as i128),
    };
    if same {
        return Pair::Exact;
    }
    let kept = |row: &[i64]| (1..row.len()).all(|c| c == column || !out[c] || row[c] == 0);
    match (kept(lower), kept(upper)) {
        (true, true) if a < b => Pair::FloorLower,
        (_, true) => Pair::FloorUpper,
        (true, false) => Pair::FloorLower,
        (false, false) => Pair::Inexact,
    }
}

// Divisions of 128 bits take many times as long as those of 64, for which nearly all pairs have
// room.

fn gcd_u128(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = match (u64::try_from(a), u64::try_from(b)) {
            (Ok(short_a), Ok(short_b)) => (b, u128::from(short_a % short_b)),
            _ => (b, a % b),
        };
    }
    a
}

/// `a / b` rounded down, for a positive `b`.
fn floor_quotient(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => a.div_euclid(b).into(),
        _ => a.div_euclid(b),
    }
}

/// The column whose elimination is exact, if there is one, and adds the fewest rows.
fn pick_column(rows: &Rows, out: &[bool]) -> Option<Step> {
    let mut best: Option<((u8, i64), usize, [usize; 2])> = None;
    for column in 1..rows.width() {
        if !out[column] {
            continue;
        }
        let (mut lowers, mut uppers, mut unit_low, mut unit_up) = (0i64, 0i64, true, true);
        for row in 0..rows.len() {
            let c = rows.at(row, column);
            if c > 0 {
                lowers += 1;
                unit_low &= c == 1;
            } else if c < 0 {
                uppers += 1;
                unit_up &= c == -1;
            }
        }
        if lowers + uppers == 0 {
            continue;
        }
        let cost = lowers * uppers - lowers - uppers;
        // Pairs are looked at as long as the column may still be better than the best.
        let is_worse = |class: u8| best.is_some_and(|(key, ..)| (class, cost) >= key);
        let class = if lowers * uppers == 0 || unit_low || unit_up || is_worse(0) {
            0
        } else {
            let step = gather(rows, column, [lowers as usize, uppers as usize]);
            let mut class = 0;
            'pairs: for &l in &step.lower {
                for &u in &step.upper {
                    class = class.max(match pair_kind(rows, out, column, l, u) {
                        Pair::Exact => 0,
                        Pair::FloorLower | Pair::FloorUpper => 1,
                        Pair::Inexact => 2,
                    });
                    if class == 2 || is_worse(class) {
                        break 'pairs;
                    }
                }
            }
            class
        };
        if best.is_none_or(|(key, ..)| (class, cost) < key) {
            best = Some(((class, cost), column, [lowers as usize, uppers as usize]));
            if class == 0 && cost < 0 {
                break;
            }
        }
    }
    best.map(|(_, column, counts)| gather(rows, column, counts))
}

/// The rows that bound a column from below and from above; the numbers are known beforehand.
fn gather(rows: &Rows, column: usize, [lowers, uppers]: [usize; 2]) -> Step {
    let (mut lower, mut upper) = (Vec::with_capacity(lowers), Vec::with_capacity(uppers));
    for i in 0..rows.len() {
        match rows.at(i, column) {
            0 => {}
            c if c > 0 => lower.push(i),
            _ => upper.push(i),
        }
    }
    Step { column, lower, upper }
}

/// One step of Fourier-Motzkin. Returns whether it was exact.
fn fourier_motzkin(
    rows: &mut Rows,
    terms: &mut Vec<Term>,
    out: &mut Vec<bool>,
    step: Step,
    shadow: Shadow,
) -> Result<bool> {
    let column = step.column;
    if step.lower.len() * step.upper.len() > ROW_LIMIT * 4 {
        return Err(Error::Budget);
    }
    let mut exact = true;
    let mut next = Rows::with_capacity(rows.width(), step.lower.len() * step.upper.len());
    for &l in &step.lower {
        for &u in &step.upper {
            let (a, b) = (rows.row(l)[column], rows.row(u)[column].checked_neg().ok_or(Error::Overflow)?);
            // No caller needs to know whether a rational shadow is exact.
            let kind = match shadow {
                Shadow::Rational => Pair::Inexact,
                Shadow::Real | Shadow::Dark => pair_kind(rows, out, column, l, u),
            };
            match kind {
                Pair::Exact | Pair::Inexact => {
                    let g = gcd(a, b);
                    next.push_combination(false, a / g, rows.row(u), b / g, rows.row(l))?;
                    if matches!(kind, Pair::Inexact) {
                        exact = false;
                        if shadow == Shadow::Dark {
                            let slack = (a - 1).checked_mul(b - 1).ok_or(Error::Overflow)?;
                            // ceil(slack / g), as the row was divided by g.
                            let less = slack.checked_add(g - 1).ok_or(Error::Overflow)?.div_euclid(g);
                            next.lower_last(less)?;
                        }
                    }
                }
                Pair::FloorUpper | Pair::FloorLower => {
                    // a*x + L >= 0 and -b*x + U >= 0: a*floor(U/b) + L >= 0, or U + b*floor(L/a) >=
                    // 0.
                    let (inner, divisor, factor, outer) = match kind {
                        Pair::FloorUpper => (u, b, a, l),
                        _ => (l, a, b, u),
                    };
                    let mut f = rows.row(inner).to_vec();
                    f[column] = 0;
                    let floor = kept_floor(&mut next, terms, out, &f, divisor)?;
                    let mut rest = rows.row(outer).to_vec();
                    rest[column] = 0;
                    rest.resize(next.width(), 0);
                    let sum = combine(1, &rest, factor, &floor)?;
                    next.push(false, &sum);
                }
            }
        }
    }
    rows.retain(|row, _| row[column] == 0);
    rows.widen(next.width());
    rows.extend(&next);
    Ok(exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `2a = 3b` has fewer entries, and determines neither; `c = a + b + d` determines all of its
    /// names.
    #[test]
    fn an_equality_with_a_unit_is_solved_before_shorter_ones() {
        let mut rows = Rows::new(5);
        rows.push(true, &[0, 2, -3, 0, 0]);
        rows.push(true, &[0, -1, -1, 1, -1]);
        let mut solved = Vec::new();
        assert!(substitute_units(&mut rows, &mut solved).is_ok_and(|possible| possible));
        // In terms of `a`, `b` is not whole: one name is left with it.
        assert_eq!(solved.len(), 1, "{solved:?}");
        let (pivot, equality) = &solved[0];
        assert_eq!(equality[*pivot].abs(), 1);
        assert_eq!(rows.len(), 1, "{rows:?}");
    }

    /// At the ends of what has room in 64 bits, and beyond.
    #[test]
    fn short_and_long_divisions_agree() {
        let ends = [0, 1, 5, 6, 1 << 40, i128::from(i64::MAX), i128::from(u64::MAX), 1 << 100];
        let near: Vec<i128> = ends.iter().flat_map(|v| [v - 1, *v, v + 1]).flat_map(|v| [v, -v]).collect();
        for &a in &near {
            for &b in &near {
                let (x, y) = (a.unsigned_abs(), b.unsigned_abs());
                let common = gcd_u128(x, y);
                if common == 0 {
                    assert_eq!((x, y), (0, 0));
                } else {
                    assert_eq!((x % common, y % common), (0, 0), "{x} and {y}");
                    assert_eq!(gcd_u128(x / common, y / common), 1, "{x} and {y}");
                }
                if b > 0 {
                    let quotient = floor_quotient(a, b);
                    assert!(quotient * b <= a && a - quotient * b < b, "{a} / {b}");
                }
            }
        }
    }
}
