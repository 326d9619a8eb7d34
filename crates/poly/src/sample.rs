//! Integer points: the range of a function over a system, and small points for counter-examples.

use std::collections::BTreeMap;

use crate::{
    Aff, Constraint, Error, Kind, Name, Result, System, Term,
    eliminate::{Outcome, Shadow, project},
    isl::{IslMap, Shape, budget, isl_only, with_budget},
    memo::{self, Range},
    projection::row_constraints,
};

/// The name that stands for a function whose range is queried. No user name can be spelt like this.
const VALUE: &str = "\u{0}value";

/// Number of integers tried from the end of a real range, in search of the integer end, before isl
/// is used.
const SEARCH_LIMIT: i64 = 256;

/// The same, if each try is an emptiness query.
const END_LIMIT: i64 = 4;

/// The most operations of isl to find the divisions of an exact projection. They are slow where
/// numbers are long.
const DIVISIONS_BUDGET: u64 = 3_000;

/// The range of an empty set of points.
const NO_POINT: Range = (Some(0), Some(-1));

impl System {
    /// The least and the greatest value of a function over the integer points; `None` if unbounded.
    /// For a system without points, `(Some(0), Some(-1))`: the empty range.
    ///
    /// If plain elimination is not exact, the rational shadow gives the ends (a system with a point
    /// is bounded where its shadow is), and emptiness queries find out whether there is a point at
    /// such an end, or close to it. Only if that fails too is isl asked for the exact projection,
    /// whose divisions may take it very long to find.
    pub fn constant_range(&self, aff: &Aff) -> Result<Range> {
        let value = Name::new(VALUE);
        let equation = Constraint::zero(Aff::var(&value).sub(aff)?);
        let wider = self.with(&[equation])?;
        if isl_only() {
            return wider.range_of(&value);
        }
        let column = wider.column(&Term::Var(value.clone())).unwrap_or(0);
        memo::range(wider.all_rows(), column, || wider.range_of(&value))
    }

    /// The range of a name, which occurs.
    fn range_of(&self, value: &Name) -> Result<Range> {
        let goes = |n: &Name| n != value;
        if !isl_only() {
            if let Ok(Some(line)) = self.project_plainly(&goes) {
                return Ok(line.points_of_line(value)?.unwrap_or(NO_POINT));
            }
            if let Some(range) = self.range_by_ends(value)? {
                return Ok(range);
            }
        }
        let mut range: Option<Range> = None;
        let exact = with_budget(budget().min(DIVISIONS_BUDGET), || self.project_exactly(&goes))?;
        for line in exact {
            let Some((low, high)) = line.points_of_line(value)? else { continue };
            range = Some(match range {
                None => (low, high),
                Some((l, h)) => (l.zip(low).map(|(a, b)| a.min(b)), h.zip(high).map(|(a, b)| a.max(b))),
            });
        }
        Ok(range.unwrap_or(NO_POINT))
    }

    /// The range of a name from its real range; `None` if there is no point near an end of that.
    fn range_by_ends(&self, value: &Name) -> Result<Option<Range>> {
        let (mut rows, mut terms) = (self.all_rows(), self.terms.clone());
        let mut out = vec![false];
        out.extend(terms.iter().map(|t| *t != Term::Var(value.clone())));
        let (low, high) = match project(&mut rows, &mut terms, &mut out, Shadow::Rational) {
            Ok(Outcome::Empty) => return Ok(Some(NO_POINT)),
            Ok(Outcome::Done { .. }) => System::of(row_constraints(&rows, &terms)?)?.ends(value)?,
            // Too many rows for plain elimination.
            Err(_) => return Ok(None),
        };
        if self.is_empty()? {
            return Ok(Some(NO_POINT));
        }
        let search = |from: i64, step: i64| -> Result<Option<i64>> {
            let mut v = from;
            for _ in 0..END_LIMIT {
                if !self.fix(&BTreeMap::from([(value.clone(), v)]))?.is_empty()? {
                    return Ok(Some(v));
                }
                v = v.checked_add(step).ok_or(Error::Overflow)?;
            }
            Ok(None)
        };
        let (least, greatest) =
            (low.map(|l| search(l, 1)).transpose()?, high.map(|h| search(h, -1)).transpose()?);
        Ok(match (least, greatest) {
            (Some(None), _) | (_, Some(None)) => None,
            (least, greatest) => Some((least.flatten(), greatest.flatten())),
        })
    }

    /// The real ends of the only name of a system.
    fn ends(&self, value: &Name) -> Result<Range> {
        let (mut low, mut high) = (None, None);
        for constraint in &self.constraints {
            let c = constraint.aff.coefficient(value);
            let k = constraint.aff.constant_term();
            let magnitude = c.checked_abs().ok_or(Error::Overflow)?;
            let eq = constraint.kind == Kind::Eq;
            if c > 0 || (eq && c < 0) {
                // c*v + k >= 0: v >= ceil(-k / c) = -floor(k / c)
                let bound = k.checked_mul(c.signum()).ok_or(Error::Overflow)?.div_euclid(magnitude);
                let bound = bound.checked_neg().ok_or(Error::Overflow)?;
                low = Some(low.map_or(bound, |l: i64| l.max(bound)));
            }
            if c < 0 || (eq && c > 0) {
                let k = if c < 0 { k } else { k.checked_neg().ok_or(Error::Overflow)? };
                let bound = k.div_euclid(magnitude);
                high = Some(high.map_or(bound, |h: i64| h.min(bound)));
            }
        }
        Ok((low, high))
    }

    /// The least and the greatest value of the only name of a system; `None` if it has no point.
    fn points_of_line(&self, value: &Name) -> Result<Option<Range>> {
        if self.is_empty()? {
            return Ok(None);
        }
        let (low, high) = self.relax_strides(value)?.ends(value)?;
        // With strides, the ends are real: search the nearest integers.
        let search = |from: i64, step: i64| -> Result<i64> {
            let mut v = from;
            for _ in 0..SEARCH_LIMIT {
                if self.holds(&|_| Some(v)).ok_or(Error::Overflow)? {
                    return Ok(v);
                }
                v = v.checked_add(step).ok_or(Error::Overflow)?;
            }
            self.extreme_by_isl(value, step < 0)
        };
        Ok(Some((low.map(|l| search(l, 1)).transpose()?, high.map(|h| search(h, -1)).transpose()?)))
    }

    /// The end of a line whose strides are too large to search.
    fn extreme_by_isl(&self, value: &Name, greatest: bool) -> Result<i64> {
        let names = [value.clone()];
        let map = IslMap::new(Shape { params: 0, ins: 0, outs: 1 }, &[self.disjunct(&names)])?;
        let answers = if greatest { map.lexmax()? } else { map.lexmin()? }.answer()?;
        let no_point = || Error::Isl("an extreme value that is not attained".into());
        let [answer] = answers.as_slice() else { return Err(no_point()) };
        let system = System::from_answer(answer, &names)?;
        let equation = system.constraints.iter().find(|c| c.kind == Kind::Eq && c.aff.is_affine());
        let aff = &equation.ok_or_else(no_point)?.aff;
        match aff.coefficient(value) {
            1 => aff.constant_term().checked_neg().ok_or(Error::Overflow),
            -1 => Ok(aff.constant_term()),
            _ => Err(no_point()),
        }
    }

    /// The value of a name nearest to zero, positive in a tie, in a system that has a point.
    fn nearest_zero(&self, name: &Name) -> Result<i64> {
        let (value, zero) = (Aff::var(name), Aff::constant(0));
        if !self.with(&[Constraint::zero(value.clone())])?.is_empty()? {
            return Ok(0);
        }
        let above = self.with(&[Constraint::le(&zero, &value)?])?.constant_range(&value)?;
        let below = self.with(&[Constraint::le(&value, &zero)?])?.constant_range(&value)?;
        let some = |range: (Option<i64>, Option<i64>), end: Option<i64>| end.filter(|_| range != NO_POINT);
        match (some(above, above.0), some(below, below.1)) {
            (Some(a), Some(b)) => Ok(if a.unsigned_abs() <= b.unsigned_abs() { a } else { b }),
            (Some(v), None) | (None, Some(v)) => Ok(v),
            (None, None) => Err(Error::Isl(format!("no value for `{name}` in a system that has a point"))),
        }
    }

    /// A small integer point with the fixed values, or `None` if there is none. Name by name in the
    /// order of [`System::names`], the value nearest to zero is taken, the positive one in a tie.
    pub fn sample(&self, fixed: &BTreeMap<Name, i64>) -> Result<Option<BTreeMap<Name, i64>>> {
        self.sample_in_order(fixed, &[])
    }

    /// Like [`System::sample`], with the names of `order` chosen first and in that order.
    pub fn sample_in_order(
        &self,
        fixed: &BTreeMap<Name, i64>,
        order: &[Name],
    ) -> Result<Option<BTreeMap<Name, i64>>> {
        let mut system = self.fix(fixed)?;
        if system.is_empty()? {
            return Ok(None);
        }
        let own = self.names();
        let mut point: BTreeMap<Name, i64> =
            own.iter().filter_map(|n| fixed.get(n).map(|v| (n.clone(), *v))).collect();
        for name in order.iter().filter(|n| own.contains(n)).chain(own.iter()) {
            if point.contains_key(name) {
                continue;
            }
            let v = system.nearest_zero(name)?;
            let next = system.fix(&BTreeMap::from([(name.clone(), v)]))?;
            point.insert(name.clone(), v);
            system = next;
        }
        Ok(Some(point))
    }
}
