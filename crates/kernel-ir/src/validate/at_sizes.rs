//! Subscripts that are not affine and read no data, for the sizes of a launch.
//!
//! Validation can only try such a subscript on small numbers ([`super::irregular`]). Once the
//! scalars are known, what it can be follows: first from the ranges of its inames, operation by
//! operation; where that leaves the axis, from each of its points, up to a limit. A point counts if
//! it is in the domains and no condition around it is false there. A condition whose numbers leave
//! 31 bits, and so might wrap, is taken to hold. What has no value in the integers (a quotient by
//! zero, what is computed in floating point) is left to the emulator.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_poly::{Result, System};

use super::{
    irregular::{Outside, value},
    scope::Scope,
};
use crate::{
    Aff, Constraint, DType, Expr, Lookup, Name, Type, UnaryOp,
    interval::{self, Interval},
    typed::end_of_range,
};

/// The most points of one subscript that are looked at: some tenths of a second.
const MOST_POINTS: u64 = 1 << 20;
/// Bounds of ranges stay within this, as operations on intervals want it.
const FARTHEST: i128 = 1 << 62;

/// What is found of a subscript.
pub(super) enum Found {
    Inside,
    Outside(Outside),
    /// There are too many points to look at each.
    TooMany,
}

/// Whether a subscript stays within its axis for these values of the scalars.
pub(super) fn at_sizes(
    lookup: &Lookup<'_>,
    context: &[Constraint],
    scalars: &BTreeMap<Name, i64>,
    scope: &Scope,
    [index, length]: [&Expr; 2],
) -> Result<Found> {
    let mut rows = context.to_vec();
    rows.extend(lookup.instances(&scope.inames));
    rows.extend(scope.guards.iter().cloned());
    for case in scope.cases() {
        let system = System::new(&[rows.as_slice(), &case].concat())?.fix(scalars)?;
        if system.is_empty()? {
            continue;
        }
        let mut ranges: Ranges =
            scalars.iter().map(|(name, v)| (name.clone(), (i128::from(*v), i128::from(*v)))).collect();
        for iname in &scope.inames {
            if let (Some(low), Some(high)) = system.constant_range(&Aff::var(iname))? {
                ranges.insert(iname.clone(), (low.into(), high.into()));
            }
        }
        if let (Some((low, high)), Some((shortest, _))) = (range(index, &ranges), range(length, &ranges))
            && low >= 0
            && high < shortest
        {
            continue;
        }
        let names: BTreeSet<Name> = index.names().into_iter().chain(length.names()).collect();
        let mut walk = Walk {
            inames: scope.inames.iter().filter(|i| names.contains(*i)).collect(),
            conditions: &scope.conditions,
            exprs: [index, length],
            point: scalars.clone(),
            left: MOST_POINTS,
        };
        match walk.from(&system, 0)? {
            Found::Inside => {}
            found => return Ok(found),
        }
    }
    Ok(Found::Inside)
}

/// A walk through the points of a subscript.
struct Walk<'a> {
    /// The inames that it mentions.
    inames: Vec<&'a Name>,
    /// The conditions around it of which nothing follows, and whether they hold.
    conditions: &'a [(Expr, bool)],
    /// The subscript, and the length of its axis.
    exprs: [&'a Expr; 2],
    /// The values of the scalars and of the inames so far.
    point: BTreeMap<Name, i64>,
    left: u64,
}

impl Walk<'_> {
    fn from(&mut self, system: &System, depth: usize) -> Result<Found> {
        let Some(iname) = self.inames.get(depth).copied() else { return self.here(system) };
        let (Some(low), Some(high)) = system.constant_range(&Aff::var(iname))? else {
            return Ok(Found::TooMany);
        };
        let last = depth + 1 == self.inames.len();
        for at in low..=high {
            if self.left == 0 {
                return Ok(Found::TooMany);
            }
            self.left -= 1;
            self.point.insert(iname.clone(), at);
            // Most points are inside of the axis, whether or not they are in the domain.
            if last && self.outside().is_none() {
                continue;
            }
            let inside = system.fix(&BTreeMap::from([(iname.clone(), at)]))?;
            match self.from(&inside, depth + 1)? {
                Found::Inside => {}
                found => return Ok(found),
            }
        }
        self.point.remove(iname);
        Ok(Found::Inside)
    }

    /// The subscript and the length here, if it is outside of the axis.
    fn outside(&self) -> Option<(i128, i128)> {
        let [index, length] = self.exprs.map(|e| value(e, &self.point));
        let (index, length) = (index?, length?);
        (index < 0 || index >= length).then_some((index, length))
    }

    fn here(&mut self, system: &System) -> Result<Found> {
        let Some((subscript, length)) = self.outside() else { return Ok(Found::Inside) };
        let prevented = self.conditions.iter().any(|(c, holds)| {
            stays_small(c, &self.point) && value(c, &self.point).is_some_and(|v| (v != 0) != *holds)
        });
        Ok(match prevented || system.is_empty()? {
            true => Found::Inside,
            false => Found::Outside(Outside { point: self.point.clone(), subscript, length }),
        })
    }
}

/// Whether no part of an expression leaves the numbers that all types of 32 bits and more have.
fn stays_small(e: &Expr, point: &BTreeMap<Name, i64>) -> bool {
    let small = value(e, point).is_some_and(|v| (0..=i128::from(i32::MAX)).contains(&v));
    small && e.children().into_iter().all(|child| stays_small(child, point))
}

/// The least and the greatest value of names.
type Ranges = BTreeMap<Name, Interval>;

/// Between which numbers an integer expression is. `None` if nothing is known.
fn range(e: &Expr, ranges: &Ranges) -> Option<Interval> {
    let of = |e: &Expr| range(e, ranges);
    let found = match e {
        Expr::Int(v) => ((*v).into(), (*v).into()),
        Expr::Name(name) => *ranges.get(name)?,
        Expr::Unary(UnaryOp::Neg, a) => {
            let (low, high) = of(a)?;
            (-high, -low)
        }
        Expr::Binary(op, a, b) => interval::binary(*op, of(a)?, of(b)?)?,
        Expr::If(_, a, b) => {
            let (a, b) = (of(a)?, of(b)?);
            (a.0.min(b.0), a.1.max(b.1))
        }
        Expr::Cast(Type::Known(to), a) if to.is_integer() => {
            let (a, whole) = (of(a)?, ends(*to)?);
            if a.0 >= whole.0 && a.1 <= whole.1 { a } else { whole }
        }
        Expr::Call { function, args, .. } => match (&**function, args.as_slice()) {
            ("min", [a, b]) => interval::min(of(a)?, of(b)?),
            ("max", [a, b]) => interval::max(of(a)?, of(b)?),
            ("abs", [a]) => {
                let (low, high) = of(a)?;
                (if low <= 0 && high >= 0 { 0 } else { low.abs().min(high.abs()) }, low.abs().max(high.abs()))
            }
            _ => return None,
        },
        _ => return None,
    };
    (found.0 >= -FARTHEST && found.1 <= FARTHEST).then_some(found)
}

/// The least and the greatest value of an integer type.
fn ends(dtype: DType) -> Option<Interval> {
    let end = |lowest| end_of_range(dtype, lowest).as_i128();
    Some((end(true)?, end(false)?))
}
