//! Subscripts that are not affine and read nothing but constant tables, for the sizes of a launch.
//!
//! Validation can only try such a subscript on small numbers ([`super::irregular`]). Once the
//! scalars are known, what it can be follows: first from the ranges of its inames, operation by
//! operation; where that leaves the axis, from each of its points, up to a limit. A point counts if
//! it is in the domains and no condition around it is false there. A condition whose numbers leave
//! 31 bits, and so might wrap, is taken to hold. A divisor of zero is refused like a subscript
//! outside. What is computed in floating point is left to the emulator; `check` warns of it
//! (`unbounded-data`).

use std::collections::{BTreeMap, BTreeSet};

use loopwright_poly::{Result, System};

use super::{
    irregular::{Outside, is_followed, value},
    scope::Scope,
};
use crate::{
    Aff, BinaryOp, Constraint, DType, Expr, Fact, Lookup, Name, Type, UnaryOp,
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
    /// The subscript divides by zero at this point.
    Undefined(BTreeMap<Name, i64>),
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
        let of = |e: &Expr| range(lookup, e, &ranges);
        if let (Some((low, high)), Some((shortest, _))) = (of(index), of(length))
            && low >= 0
            && high < shortest
        {
            continue;
        }
        let names: BTreeSet<Name> = index.names().into_iter().chain(length.names()).collect();
        let mut walk = Walk {
            lookup,
            is_followed: is_followed(lookup, index) && is_followed(lookup, length),
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
struct Walk<'a, 'k> {
    lookup: &'a Lookup<'k>,
    /// Whether the subscript has a value wherever it does not divide by zero.
    is_followed: bool,
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

impl Walk<'_, '_> {
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
            if last && self.is_inside() {
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

    fn values(&self) -> [Option<i128>; 2] {
        self.exprs.map(|e| value(self.lookup, e, &self.point))
    }

    /// Whether nothing is wrong with the subscript here, in the domain or not.
    fn is_inside(&self) -> bool {
        match self.values() {
            [Some(index), Some(length)] => (0..length).contains(&index),
            _ => !self.is_followed || !self.divides_by_zero(),
        }
    }

    fn divides_by_zero(&self) -> bool {
        let mut found = false;
        for e in self.exprs {
            e.visit(&mut |e| {
                if let Expr::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, _, divisor) = e {
                    found |= value(self.lookup, divisor, &self.point) == Some(0);
                }
            });
        }
        found
    }

    fn here(&mut self, system: &System) -> Result<Found> {
        if self.is_inside() {
            return Ok(Found::Inside);
        }
        let of = |e: &Expr| value(self.lookup, e, &self.point);
        let prevented = self.conditions.iter().any(|(c, holds)| {
            stays_small(self.lookup, c, &self.point) && of(c).is_some_and(|v| (v != 0) != *holds)
        });
        let point = self.point.clone();
        Ok(match (prevented || system.is_empty()?, self.values()) {
            (true, _) => Found::Inside,
            (false, [Some(subscript), Some(length)]) => Found::Outside(Outside { point, subscript, length }),
            (false, _) => Found::Undefined(point),
        })
    }
}

/// Whether no part of an expression leaves the numbers that all types of 32 bits and more have.
fn stays_small(lookup: &Lookup<'_>, e: &Expr, point: &BTreeMap<Name, i64>) -> bool {
    let small = value(lookup, e, point).is_some_and(|v| (0..=i128::from(i32::MAX)).contains(&v));
    small && e.children().into_iter().all(|child| stays_small(lookup, child, point))
}

/// The least and the greatest value of names.
type Ranges = BTreeMap<Name, Interval>;

/// Between which numbers an integer expression is. `None` if nothing is known.
fn range(lookup: &Lookup<'_>, e: &Expr, ranges: &Ranges) -> Option<Interval> {
    let of = |e: &Expr| range(lookup, e, ranges);
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
        // The range of a constant table is a fact about it, with numbers for bounds.
        Expr::Subscript(read) => {
            let table = lookup.kernel().constant(&read.array)?;
            table.facts().iter().find_map(|fact| match fact {
                Fact::Range { lower: Some(Expr::Int(lower)), upper: Some(Expr::Int(upper)), .. } => {
                    Some((i128::from(*lower), i128::from(*upper) - 1))
                }
                _ => None,
            })?
        }
        _ => return None,
    };
    (found.0 >= -FARTHEST && found.1 <= FARTHEST).then_some(found)
}

/// The least and the greatest value of an integer type.
fn ends(dtype: DType) -> Option<Interval> {
    let end = |lowest| end_of_range(dtype, lowest).as_i128();
    Some((end(true)?, end(false)?))
}
