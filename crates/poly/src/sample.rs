//! Integer points: the range of a function over a system, and small points for counter-examples.

use std::collections::BTreeMap;

use crate::{Aff, Constraint, Error, Name, Result, System};

/// The value that stands for a function whose range is asked. No name of a user can be spelt like this.
const VALUE: &str = "\u{0}value";

/// How many integers from the end of a real range are tried for the integer one.
const SEARCH_LIMIT: i64 = 4096;

impl System {
    /// The least and the greatest value of a function over the integer points; `None` where there is no such bound.
    /// For a system without points, `(Some(0), Some(-1))`: the empty range.
    pub fn constant_range(&self, aff: &Aff) -> Result<(Option<i64>, Option<i64>)> {
        let value = Name::new(VALUE);
        let equation = Constraint::zero(Aff::var(&value).sub(aff)?);
        let wider = self.with(&[equation])?;
        let projection = wider.keep_only(&|n| *n == value)?;
        let line = projection.system;
        if line.is_empty()? || (!projection.exact && wider.is_empty()?) {
            return Ok((Some(0), Some(-1)));
        }
        let (mut low, mut high) = (None, None);
        for constraint in &line.relax_strides(&value)?.constraints {
            let c = constraint.aff.coefficient(&value);
            let k = constraint.aff.constant_term();
            let magnitude = c.checked_abs().ok_or(Error::Overflow)?;
            let eq = constraint.kind == crate::Kind::Eq;
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
        // The ends are real ones where strides or inexact steps are involved: look for the integers next to them.
        let member = |v: i64| -> Result<bool> {
            if projection.exact {
                return line.holds(&|_| Some(v)).ok_or(Error::Overflow);
            }
            let fixed = wider.with(&[Constraint::zero(
                Aff::var(&value).add_constant(v.checked_neg().ok_or(Error::Overflow)?)?,
            )])?;
            Ok(!fixed.is_empty()?)
        };
        let search = |from: i64, step: i64| -> Result<i64> {
            let mut v = from;
            for _ in 0..SEARCH_LIMIT {
                if member(v)? {
                    return Ok(v);
                }
                v = v.checked_add(step).ok_or(Error::Overflow)?;
            }
            Err(Error::Budget)
        };
        Ok((low.map(|l| search(l, 1)).transpose()?, high.map(|h| search(h, -1)).transpose()?))
    }

    /// A small integer point that has the fixed values, or `None` if there is none. Name by name in the order of [`System::names`], the
    /// value nearest to zero is taken, the positive one of two.
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
            let (low, high) = system.constant_range(&Aff::var(name))?;
            let start = 0.max(low.unwrap_or(i64::MIN)).min(high.unwrap_or(i64::MAX));
            let mut found = None;
            for distance in 0..SEARCH_LIMIT {
                let sides = [start.checked_add(distance), start.checked_sub(distance)];
                let count = if distance == 0 { 1 } else { 2 };
                for v in sides.into_iter().take(count).flatten() {
                    if low.is_some_and(|l| v < l) || high.is_some_and(|h| v > h) {
                        continue;
                    }
                    let next = system.fix(&BTreeMap::from([(name.clone(), v)]))?;
                    if !next.is_empty()? {
                        found = Some((v, next));
                        break;
                    }
                }
                if found.is_some() {
                    break;
                }
            }
            let (v, next) = found.ok_or(Error::Budget)?;
            point.insert(name.clone(), v);
            system = next;
        }
        Ok(Some(point))
    }
}
