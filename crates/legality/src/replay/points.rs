//! The executions of a part for given parameter values.
//!
//! Names are enumerated in the order of the part's inames. The constraints with the later names
//! projected out give bounds, which may be too wide where a projection is not exact; all
//! constraints are checked at the end.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, Kind, Name, Term};
use loopwright_poly::System;

use super::Stop;

/// An affine function over a list of names.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    constant: i64,
    slots: Vec<(usize, i64)>,
    quotients: Vec<(Function, i64, i64)>,
}

impl Function {
    /// Compiles a function over these names, with all others fixed.
    pub fn new(aff: &Aff, names: &[Name], fixed: &BTreeMap<Name, i64>) -> Result<Function, Stop> {
        let mut f = Function { constant: aff.constant_term(), slots: Vec::new(), quotients: Vec::new() };
        for (term, c) in aff.terms() {
            match term {
                Term::Var(n) => match (names.iter().position(|m| m == n), fixed.get(n)) {
                    (Some(k), _) => f.slots.push((k, *c)),
                    (None, Some(v)) => {
                        f.constant = v
                            .checked_mul(*c)
                            .and_then(|v| f.constant.checked_add(v))
                            .ok_or(Stop::Overflow)?;
                    }
                    (None, None) => return Err(Stop::Data(n.clone())),
                },
                Term::Div(div) => {
                    f.quotients.push((Function::new(&div.numerator, names, fixed)?, div.denominator, *c));
                }
            }
        }
        Ok(f)
    }

    /// Evaluates it at these values of the names.
    pub fn at(&self, values: &[i64]) -> i64 {
        let mut sum = self.constant;
        for (k, c) in &self.slots {
            sum = sum.wrapping_add(values[*k].wrapping_mul(*c));
        }
        for (f, d, c) in &self.quotients {
            sum = sum.wrapping_add(f.at(values).div_euclid(*d).wrapping_mul(*c));
        }
        sum
    }

    fn slope(&self, slot: usize) -> Option<i64> {
        let inside = self.quotients.iter().any(|(f, _, _)| f.mentions(slot));
        if inside {
            return None;
        }
        Some(self.slots.iter().find(|(k, _)| *k == slot).map_or(0, |(_, c)| *c))
    }

    fn mentions(&self, slot: usize) -> bool {
        self.slots.iter().any(|(k, _)| *k == slot) || self.quotients.iter().any(|(f, _, _)| f.mentions(slot))
    }
}

pub(super) struct Row {
    equal: bool,
    f: Function,
}

impl Row {
    /// Whether it holds for these values of the names.
    pub fn holds(&self, values: &[i64]) -> bool {
        let v = self.f.at(values);
        if self.equal { v == 0 } else { v >= 0 }
    }
}

/// Constraints over these names, with all others fixed.
pub(super) fn rows(
    constraints: &[Constraint],
    names: &[Name],
    fixed: &BTreeMap<Name, i64>,
) -> Result<Vec<Row>, Stop> {
    constraints
        .iter()
        .map(|c| Ok(Row { equal: c.kind == Kind::Eq, f: Function::new(&c.aff, names, fixed)? }))
        .collect()
}

/// All integer points of the constraints, in lexicographic order of the names; at most `limit`.
pub(crate) fn points(
    constraints: &[Constraint],
    names: &[Name],
    fixed: &BTreeMap<Name, i64>,
    limit: usize,
) -> Result<Vec<Vec<i64>>, Stop> {
    let all = rows(constraints, names, fixed)?;
    let system = System::new(constraints)?.fix(fixed)?;
    let mut levels = Vec::new();
    for k in 0..names.len() {
        let shadow = system.keep_only(&|n| names[..=k].contains(n))?.system;
        let mut level = rows(shadow.constraints(), names, fixed)?;
        // An inexact projection may drop the constraint that bounds the name.
        let bounds =
            |sign: i64| level.iter().any(|r| r.f.slope(k).is_some_and(|s| r.equal && s != 0 || s * sign > 0));
        if !(bounds(1) && bounds(-1)) {
            let (low, high) = system.constant_range(&Aff::var(&names[k]))?;
            for (sign, end) in [(1, low), (-1, high)] {
                let Some(end) = end else { continue };
                let constant = end.checked_mul(-sign).ok_or(Stop::Overflow)?;
                let f = Function { constant, slots: vec![(k, sign)], quotients: Vec::new() };
                level.push(Row { equal: false, f });
            }
        }
        levels.push(level);
    }
    let mut found = Vec::new();
    let mut values = vec![0; names.len()];
    go(0, &all, &levels, &mut values, &mut found, limit, names)?;
    Ok(found)
}

fn go(
    k: usize,
    all: &[Row],
    levels: &[Vec<Row>],
    values: &mut Vec<i64>,
    found: &mut Vec<Vec<i64>>,
    limit: usize,
    names: &[Name],
) -> Result<(), Stop> {
    if k == values.len() {
        if all.iter().all(|r| r.holds(values)) {
            if found.len() >= limit {
                return Err(Stop::Large);
            }
            found.push(values.clone());
        }
        return Ok(());
    }
    let (mut low, mut high): (Option<i64>, Option<i64>) = (None, None);
    values[k] = 0;
    for row in &levels[k] {
        let Some(slope) = row.f.slope(k) else { continue };
        if slope == 0 {
            continue;
        }
        // slope * x + rest >= 0
        let rest = row.f.at(values);
        let mut at_least = |slope: i64, rest: i64| {
            if slope > 0 {
                let v = -rest.div_euclid(slope);
                low = Some(low.map_or(v, |l| l.max(v)));
            } else {
                let v = rest.div_euclid(-slope);
                high = Some(high.map_or(v, |h| h.min(v)));
            }
        };
        at_least(slope, rest);
        if row.equal {
            at_least(-slope, -rest);
        }
    }
    let (Some(low), Some(high)) = (low, high) else {
        // An empty level has no bounds.
        let empty = levels[k].iter().any(|r| !r.f.mentions(k) && !r.holds(values));
        return if empty { Ok(()) } else { Err(Stop::Unbounded(names[k].clone())) };
    };
    if high.saturating_sub(low) > 1 << 16 {
        return Err(Stop::Large);
    }
    for v in low..=high {
        values[k] = v;
        // The later values are still zero, so only this level's rows are decided.
        if levels[k].iter().all(|r| r.holds(values)) {
            go(k + 1, all, levels, values, found, limit, names)?;
        }
        for later in &mut values[k + 1..] {
            *later = 0;
        }
    }
    values[k] = 0;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_bounds_are_refused_unless_there_are_no_points() {
        let names = [Name::new("i"), Name::new("j")];
        let (i, j) = (Aff::var("i"), Aff::var("j"));
        let found = |constraints: &[Constraint]| points(constraints, &names, &BTreeMap::new(), 100);
        let within = |v: &Aff| [Constraint::nonneg(v.clone()), Constraint::lt(v, &Aff::constant(2)).unwrap()];
        let both = [within(&i), within(&j)].concat();
        assert_eq!(found(&both).unwrap(), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(found(&within(&i)).unwrap_err(), Stop::Unbounded(Name::new("j")));
        let half = [within(&i).to_vec(), vec![Constraint::nonneg(j.clone())]].concat();
        assert_eq!(found(&half).unwrap_err(), Stop::Unbounded(Name::new("j")));
        // Neither is there none where the one bound excludes zero.
        let beyond = Constraint::le(&Aff::constant(5), &j).unwrap();
        let beyond = [within(&i).to_vec(), vec![beyond]].concat();
        assert_eq!(found(&beyond).unwrap_err(), Stop::Unbounded(Name::new("j")));
        // No constraint at all.
        let nothing = points(&[], &names[1..], &BTreeMap::new(), 100);
        assert_eq!(nothing.unwrap_err(), Stop::Unbounded(Name::new("j")));
        let never =
            [vec![Constraint::nonneg(Aff::constant(-1))], vec![Constraint::nonneg(j.clone())]].concat();
        assert_eq!(found(&never).unwrap(), Vec::<Vec<i64>>::new());
    }

    /// A bound on one side, whatever its factor, does not stand for one on the other side.
    #[test]
    fn names_inside_quotients_have_bounds_on_both_sides() {
        let (i, j, names) = (Aff::var("i"), Aff::var("j"), [Name::new("j"), Name::new("i")]);
        let quotients = i.floor_div(2).unwrap().add(&i.floor_div(3).unwrap()).unwrap();
        let le = |a: &Aff, b: &Aff| Constraint::le(a, b).unwrap();
        let twice = i.scale(2).unwrap();
        let found = |rows: [Constraint; 2]| {
            let one = [Constraint::nonneg(j.clone()), le(&j, &Aff::constant(1))];
            points(&[&one[..], &rows].concat(), &names, &BTreeMap::new(), 100).unwrap()
        };
        let expected = |holds: fn(i64, i64) -> bool| -> Vec<Vec<i64>> {
            let points = (0..2).flat_map(|j| (-20..20).map(move |i| (j, i)));
            points.filter(|(j, i)| holds(*j, *i)).map(|(j, i)| vec![j, i]).collect()
        };
        assert_eq!(
            found([le(&j, &twice), le(&quotients, &Aff::constant(3))]),
            expected(|j, i| j <= 2 * i && i.div_euclid(2) + i.div_euclid(3) <= 3)
        );
        assert_eq!(
            found([le(&twice, &j), le(&Aff::constant(-2), &quotients)]),
            expected(|j, i| 2 * i <= j && i.div_euclid(2) + i.div_euclid(3) >= -2)
        );
    }

    /// Bounds of a sum of quotients bound the name inside.
    #[test]
    fn names_inside_quotients_have_bounds() {
        let (i, names) = (Aff::var("i"), [Name::new("i")]);
        let quotients = i.floor_div(2).unwrap().add(&i.floor_div(3).unwrap()).unwrap();
        let found = |low: &Aff, high: &Aff| {
            let le = |a: &Aff, b: i64, sign: i64| {
                Constraint::nonneg(Aff::constant(b).sub(&a.scale(sign).unwrap()).unwrap())
            };
            points(&[le(low, 2, -1), le(high, 3, 1)], &names, &BTreeMap::new(), 100).unwrap().concat()
        };
        assert_eq!(found(&i, &quotients), [-2, -1, 0, 1, 2, 3, 4, 5]);
        assert_eq!(found(&quotients, &i), [-2, -1, 0, 1, 2, 3]);
        assert_eq!(found(&quotients, &quotients), [-2, -1, 0, 1, 2, 3, 4, 5]);
    }
}
