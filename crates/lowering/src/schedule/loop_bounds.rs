//! The bounds of loops.
//!
//! The parts inside one loop may have different ranges. The bounds of one part are a conjunction,
//! those of several parts a disjunction: the loop runs over the hull of all ranges, and a part is
//! guarded where its own range is smaller.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name};
use loopwright_poly::Bound;

use crate::schedule::place::Place;

/// Which end of a range a bound is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The least value; its bounds are rounded up.
    Lower,
    /// The greatest value; its bounds are rounded down.
    Upper,
}

impl Side {
    /// The numerator for division by a bound's denominator, rounded down: `ceil(a/d) = floor((a +
    /// d-1)/d)` for the first value, `floor(a/d) + 1 = floor((a + d)/d)` for the one after the
    /// last.
    pub fn numerator(self, bound: &Bound) -> Result<Aff, Diagnostic> {
        let d = bound.denominator;
        Ok(bound.aff.add_constant(if self == Side::Lower { d - 1 } else { d })?)
    }

    /// A bound as a constraint on the name that it bounds.
    pub fn says(self, bound: &Bound, of: &Aff) -> Result<Constraint, Diagnostic> {
        let scaled = of.scale(bound.denominator)?;
        Ok(match self {
            Side::Lower => Constraint::le(&bound.aff, &scaled)?,
            Side::Upper => Constraint::le(&scaled, &bound.aff)?,
        })
    }

    /// The condition that the first of two bounds is no tighter than the second: a/d against b/e,
    /// as fractions, or, if `exact`, as the integers that they are rounded to, if the first is one.
    /// ceil(b/e) >= a is b >= e*a - (e - 1), and floor(b/e) <= a is b <= e*a + (e - 1).
    pub fn weaker(self, first: &Bound, second: &Bound, exact: bool) -> Result<Constraint, Diagnostic> {
        let (a, b) = (first.aff.scale(second.denominator)?, second.aff.scale(first.denominator)?);
        let slack = if exact && first.denominator == 1 { second.denominator - 1 } else { 0 };
        Ok(match self {
            Side::Lower => Constraint::le(&a, &b.add_constant(slack)?)?,
            Side::Upper => Constraint::le(&b, &a.add_constant(slack)?)?,
        })
    }

    /// The bounds of one part that do not follow from another one and known facts.
    pub fn needed(self, bounds: Vec<Bound>, known: Known<'_>) -> Result<Vec<Bound>, Diagnostic> {
        let mut kept = bounds;
        for exact in [false, true] {
            let mut k = 0;
            while k < kept.len() && kept.len() > 1 {
                let mut implied = false;
                for n in (0..kept.len()).filter(|n| *n != k) {
                    if known(&self.weaker(&kept[k], &kept[n], exact)?)? {
                        implied = true;
                        break;
                    }
                }
                if implied {
                    kept.remove(k);
                } else {
                    k += 1;
                }
            }
        }
        Ok(kept)
    }
}

/// Whether a constraint is known to hold.
pub(crate) type Known<'f> = &'f dyn Fn(&Constraint) -> Result<bool, Diagnostic>;

/// One end of the range of a loop: a disjunction of lists of bounds, one list for each part whose
/// end may be the loop's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoopEnd(pub Vec<Vec<Bound>>);

impl LoopEnd {
    /// The bounds, if there is only one list.
    pub fn conjunction(&self) -> Option<&[Bound]> {
        match self.0.as_slice() {
            [bounds] => Some(bounds),
            _ => None,
        }
    }

    /// The end of the hull of the ranges of several parts, given the bounds of each.
    ///
    /// A list is dropped if another one bounds all instances of its part. `known` says whether a
    /// constraint holds before the loop, `of_part` whether it holds for all instances of a part, by
    /// its position in the list.
    pub fn hull(
        side: Side,
        iname: &Name,
        parts: Vec<Vec<Bound>>,
        known: Known<'_>,
        of_part: &dyn Fn(usize, &Constraint) -> Result<bool, Diagnostic>,
    ) -> Result<LoopEnd, Diagnostic> {
        let of = Aff::var(iname);
        let bounds_all = |wide: usize, narrow: usize| {
            'bounds: for b in &parts[wide] {
                if parts[narrow].contains(b) {
                    continue;
                }
                for (exact, a) in
                    [false, true].into_iter().flat_map(|e| parts[narrow].iter().map(move |a| (e, a)))
                {
                    if known(&side.weaker(b, a, exact)?)? {
                        continue 'bounds;
                    }
                }
                if !of_part(narrow, &side.says(b, &of)?)? {
                    return Ok::<bool, Diagnostic>(false);
                }
            }
            Ok(true)
        };
        // For each list that is kept, the parts that it represents.
        let mut kept: Vec<Vec<usize>> = Vec::new();
        for k in 0..parts.len() {
            let mut found = None;
            for (n, group) in kept.iter().enumerate() {
                if bounds_all(group[0], k)? {
                    found = Some(n);
                    break;
                }
            }
            if let Some(n) = found {
                kept[n].push(k);
                continue;
            }
            let mut own = vec![k];
            let mut others = Vec::new();
            for group in kept {
                let mut all = true;
                for other in &group {
                    all = all && bounds_all(k, *other)?;
                }
                if all { own.extend(group) } else { others.push(group) }
            }
            kept = others;
            kept.push(own);
        }
        let mut first: Vec<usize> = kept.iter().map(|group| group[0]).collect();
        first.sort_unstable();
        Ok(LoopEnd(first.into_iter().map(|k| parts[k].clone()).collect()))
    }

    /// Constraints on the iname that hold wherever the loop runs: those implied by each of the
    /// lists.
    fn known(&self, side: Side, iname: &Name, known: Known<'_>) -> Result<Vec<Constraint>, Diagnostic> {
        let mut found = Vec::new();
        for b in self.0.iter().flatten() {
            let mut everywhere = true;
            for list in &self.0 {
                let mut here = list.contains(b);
                for a in list {
                    here = here || known(&side.weaker(b, a, false)?)?;
                }
                everywhere = everywhere && here;
            }
            if everywhere {
                found.push(side.says(b, &Aff::var(iname))?);
            }
        }
        Ok(found)
    }
}

/// The bounds of a loop, each a disjunction over parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopBounds {
    pub lower: LoopEnd,
    pub upper: LoopEnd,
}

impl LoopBounds {
    /// Constraints on the iname that hold wherever the loop runs.
    pub fn known(&self, iname: &Name, known: Known<'_>) -> Result<Vec<Constraint>, Diagnostic> {
        let mut found = self.lower.known(Side::Lower, iname, known)?;
        found.extend(self.upper.known(Side::Upper, iname, known)?);
        Ok(found)
    }

    /// From here on, their constraints on the iname are known.
    pub fn learn(&self, iname: &Name, place: &mut Place) -> Result<(), Diagnostic> {
        let known = self.known(iname, &|c| place.implies(c))?;
        place.learn(&known)
    }

    /// The value of the iname, if they imply that it has exactly one.
    pub fn one_value(&self) -> Option<&Aff> {
        match (self.lower.conjunction()?, self.upper.conjunction()?) {
            ([low], [high]) if low.denominator == 1 && low == high => Some(&low.aff),
            _ => None,
        }
    }
}
