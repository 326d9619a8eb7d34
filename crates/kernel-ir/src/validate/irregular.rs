//! Subscripts that are not affine: proved by declared facts about the data that they read, or tried
//! on small numbers.
//!
//! A value read from an array is a name of its own, with the facts about the array as constraints;
//! what is affine in such names is proved like any other subscript ([`in_range`]). A subscript that
//! reads no data and is not affine (`j*j`, `max(j, 9)`, `j ^ 15`, `cast(u8, j)`), or that reads
//! nothing but constant tables, is evaluated at the points of its domain for a few small values of
//! the parameters ([`outside`]): equal ones, unequal ones, and negative ones where the kernel
//! allows them. A point at which it leaves the axis refutes the access. That none is found proves
//! nothing: a launch asks again, for its sizes ([`super::at_sizes`]).

use std::collections::{BTreeMap, BTreeSet};

use loopwright_poly::{Result, System};

use crate::{
    Access, Aff, Arg, BinaryOp, Constraint, Expr, Fact, Lookup, Name, Number, Type, UnaryOp,
    loaded::within,
    validate::scope::{Scope, data_of, integer},
};

/// What each parameter is at least, in turn; the others are as near to zero as can be.
const LEAST: [i64; 6] = [0, 1, 2, 5, 11, 40];
/// What one parameter is in turn where the others are at least [`OTHERS`].
const ODD_ONE: [i64; 6] = [1, 2, 3, -1, -3, 0];
/// What the others are at least, by whether the one is less than they are or more ([`LARGE`]).
const OTHERS: [i64; 2] = [5, 2];
const LARGE: i64 = 11;
/// The most parameters that are each tried apart from the others.
const APART: usize = 8;
/// The most iterations of all loops that are tried for one choice of parameters.
const POINTS: usize = 600;

/// The value of an expression, as a name of its own.
fn named(e: &Expr) -> Aff {
    Aff::var(Name::new(e.to_string()))
}

/// A function of inames, scalars and values read from arrays. What declared facts say of these is
/// added to `known`.
fn with_data(lookup: &Lookup<'_>, e: &Expr, known: &mut Vec<Constraint>) -> Option<Aff> {
    if let Some(aff) = integer(lookup, e) {
        return Some(aff);
    }
    let constant = |e: &Expr| e.to_aff().and_then(|a| a.as_constant());
    match e {
        Expr::Subscript(read) => {
            let value = named(e);
            let own = lookup.array(&read.array).and_then(|a| a.dtype.known());
            let own = own.filter(|t| t.bytes() < 4 || t.is_unsigned());
            known.extend(own.map_or_else(Vec::new, |t| within(&value, t)));
            for fact in lookup.kernel().lasting_facts() {
                let Fact::Range { array, lower, upper } = fact else { continue };
                if *array != read.array {
                    continue;
                }
                let lower = lower.as_ref().and_then(Expr::to_aff);
                let upper = upper.as_ref().and_then(Expr::to_aff);
                known.extend(lower.and_then(|l| Constraint::le(&l, &value).ok()));
                known.extend(upper.and_then(|u| Constraint::lt(&value, &u).ok()));
            }
            Some(value)
        }
        // Values of their own, of which nothing but the range is known.
        Expr::Cast(Type::Known(to), _) if to.is_integer() => {
            let value = named(e);
            known.extend(within(&value, *to));
            Some(value)
        }
        Expr::Binary(BinaryOp::BitAnd, a, b) => {
            let mask = constant(b).or_else(|| constant(a)).filter(|mask| *mask >= 0)?;
            let value = named(e);
            known.push(Constraint::nonneg(value.clone()));
            known.extend(Constraint::le(&value, &Aff::constant(mask)));
            Some(value)
        }
        // Of a remainder of what is not affine, the range is known.
        Expr::Binary(BinaryOp::Mod, a, b) if constant(b).is_some_and(|d| d > 0) => {
            let divisor = constant(b)?;
            if let Some(left) = with_data(lookup, a, known) {
                return left.modulo(divisor).ok();
            }
            let value = named(e);
            known.push(Constraint::nonneg(value.clone()));
            known.extend(Constraint::lt(&value, &Aff::constant(divisor)));
            Some(value)
        }
        Expr::Unary(UnaryOp::Neg, a) => with_data(lookup, a, known)?.neg().ok(),
        Expr::Binary(op, a, b) => {
            let left = with_data(lookup, a, known)?;
            match (op, constant(b), constant(a)) {
                (BinaryOp::Add, ..) => left.add(&with_data(lookup, b, known)?).ok(),
                (BinaryOp::Sub, ..) => left.sub(&with_data(lookup, b, known)?).ok(),
                (BinaryOp::Mul, Some(factor), _) => left.scale(factor).ok(),
                (BinaryOp::Mul, None, Some(factor)) => with_data(lookup, b, known)?.scale(factor).ok(),
                (BinaryOp::FloorDiv, Some(divisor), _) if divisor > 0 => left.floor_div(divisor).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether declared facts about data keep a subscript that reads data within an axis. Remainders,
/// minima, maxima and choices are followed.
pub(super) fn in_range(
    lookup: &Lookup<'_>,
    context: &[Constraint],
    scope: &Scope,
    index: &Expr,
    length: &Expr,
) -> bool {
    let Some(length) = length.to_aff() else { return false };
    let mut known = context.to_vec();
    known.extend(lookup.instances(&scope.inames));
    let within = Within { lookup, known, length: &length };
    within.is_natural(index) && within.is_below(index)
}

/// By what a subscript divides, if nothing shows that it is not 0. Conditions that are not followed
/// may show it.
pub(super) fn divisor(
    lookup: &Lookup<'_>,
    context: &[Constraint],
    scope: &Scope,
    index: &Expr,
) -> Option<Expr> {
    if scope.opaque {
        return None;
    }
    let mut known = context.to_vec();
    known.extend(lookup.instances(&scope.inames));
    known.extend(scope.guards.iter().cloned());
    let one = Aff::constant(1);
    let within = Within { lookup, known, length: &one };
    let mut found = None;
    index.visit(&mut |e| {
        if let Expr::Binary(BinaryOp::Mod | BinaryOp::FloorDiv, _, by) = e
            && is_variable(by)
            && by.to_aff().is_some()
            && !within.holds(by, |by| Ok(Constraint::nonneg(by.add_constant(-1)?)))
            && !within.holds(by, |by| Ok(Constraint::nonneg(by.neg()?.add_constant(-1)?)))
        {
            found = found.take().or_else(|| Some((**by).clone()));
        }
    });
    found
}

/// What a subscript is compared with.
struct Within<'a, 'k> {
    lookup: &'a Lookup<'k>,
    known: Vec<Constraint>,
    length: &'a Aff,
}

impl Within<'_, '_> {
    /// Whether a constraint on the values of affine expressions holds.
    fn holds(&self, e: &Expr, wanted: impl FnOnce(&Aff) -> Result<Constraint>) -> bool {
        let mut known = self.known.clone();
        let Some(value) = with_data(self.lookup, e, &mut known) else { return false };
        let asked = || System::new(&known)?.implies(&wanted(&value)?);
        asked() == Ok(true)
    }

    /// The place where a condition holds, or does not.
    fn under(&self, condition: &Expr, holds: bool) -> Self {
        let mut known = self.known.clone();
        known.extend(compared(self.lookup, condition, holds));
        Within { lookup: self.lookup, known, length: self.length }
    }

    fn is_natural(&self, e: &Expr) -> bool {
        match e {
            Expr::Binary(BinaryOp::Mod, _, b) if is_variable(b) => {
                self.holds(b, |b| Ok(Constraint::nonneg(b.add_constant(-1)?)))
            }
            Expr::If(c, a, b) => self.under(c, true).is_natural(a) && self.under(c, false).is_natural(b),
            Expr::Call { function, args, .. } => match (extreme(self.lookup, function), args.as_slice()) {
                (Some(false), [a, b]) => self.is_natural(a) && self.is_natural(b),
                (Some(true), [a, b]) => self.is_natural(a) || self.is_natural(b),
                _ => false,
            },
            _ => self.holds(e, |value| Ok(Constraint::nonneg(value.clone()))),
        }
    }

    fn is_below(&self, e: &Expr) -> bool {
        match e {
            Expr::Binary(BinaryOp::Mod, _, b) if is_variable(b) => {
                self.holds(b, |b| Constraint::le(b, self.length)) && self.is_natural(e)
            }
            Expr::If(c, a, b) => self.under(c, true).is_below(a) && self.under(c, false).is_below(b),
            Expr::Call { function, args, .. } => match (extreme(self.lookup, function), args.as_slice()) {
                (Some(false), [a, b]) => self.is_below(a) || self.is_below(b),
                (Some(true), [a, b]) => self.is_below(a) && self.is_below(b),
                _ => false,
            },
            _ => self.holds(e, |value| Constraint::lt(value, self.length)),
        }
    }
}

/// What a condition says of loaded elements where it holds, or does not: comparisons of an element
/// with a constant of its type, which neither converts nor wraps.
fn compared(lookup: &Lookup<'_>, condition: &Expr, holds: bool) -> Vec<Constraint> {
    let Expr::Binary(op, a, b) = condition else {
        return match condition {
            Expr::Unary(UnaryOp::Not, a) => compared(lookup, a, !holds),
            _ => Vec::new(),
        };
    };
    let both = match op {
        BinaryOp::And => holds,
        BinaryOp::Or => !holds,
        _ => false,
    };
    if both {
        return [compared(lookup, a, holds), compared(lookup, b, holds)].concat();
    }
    let element = |e: &Expr| match e {
        Expr::Subscript(read) => lookup.array(&read.array).and_then(|array| array.dtype.known()),
        _ => None,
    };
    let ((Some(dtype), None) | (None, Some(dtype))) = (element(a), element(b)) else { return Vec::new() };
    let side = |e: &Expr| match (element(e), e.to_aff().and_then(|aff| aff.as_constant())) {
        (Some(_), _) => Some(named(e)),
        (None, Some(c)) => {
            let held = dtype.range().is_some_and(|(least, greatest)| (least..=greatest).contains(&c.into()));
            held.then(|| Aff::constant(c))
        }
        _ => None,
    };
    let (Some(x), Some(y)) = (side(a), side(b)) else { return Vec::new() };
    let found = match (op, holds) {
        (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => Constraint::lt(&x, &y),
        (BinaryOp::Le, true) | (BinaryOp::Gt, false) => Constraint::le(&x, &y),
        (BinaryOp::Gt, true) | (BinaryOp::Le, false) => Constraint::lt(&y, &x),
        (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => Constraint::le(&y, &x),
        (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => Constraint::equal(&x, &y),
        _ => return Vec::new(),
    };
    found.into_iter().collect()
}

/// Whether a function is the library's `max`, rather than its `min`; `None` of others.
fn extreme(lookup: &Lookup<'_>, function: &Name) -> Option<bool> {
    let is_own = lookup.kernel().functions.iter().any(|f| f.name == *function);
    match function.as_str() {
        "min" if !is_own => Some(false),
        "max" if !is_own => Some(true),
        _ => None,
    }
}

fn is_variable(e: &Expr) -> bool {
    e.to_aff().is_some_and(|aff| aff.as_constant().is_none())
}

/// A point at which a subscript leaves its axis.
pub(super) struct Outside {
    /// The parameters and inames.
    pub point: BTreeMap<Name, i64>,
    /// The value of the subscript at that point.
    pub subscript: i128,
    /// The length of the axis there.
    pub length: i128,
}

impl Outside {
    /// `for i = 3, n = 5: the subscript 9, of an axis of length 5`
    pub fn text(&self) -> String {
        let at = at(&self.point);
        format!("{at}: the subscript {}, of an axis of length {}", self.subscript, self.length)
    }
}

/// A point as the beginning of a message: `for i = 3, n = 5`; `always` if there is nothing to fix.
pub(super) fn at(point: &BTreeMap<Name, i64>) -> String {
    let values: Vec<String> = point.iter().map(|(n, v)| format!("{n} = {v}")).collect();
    if values.is_empty() { "always".into() } else { format!("for {}", values.join(", ")) }
}

/// The arrays and scalars that a subscript reads, apart from constant tables.
pub(super) fn unknown_data(lookup: &Lookup<'_>, e: &Expr) -> BTreeSet<Name> {
    data_of(lookup, e).into_iter().filter(|name| lookup.kernel().constant(name).is_none()).collect()
}

/// A point, among a few, at which a subscript that reads no data leaves its axis.
pub(super) fn outside(
    lookup: &Lookup<'_>,
    context: &[Constraint],
    parameters: &[Name],
    scope: &Scope,
    [index, length]: [&Expr; 2],
) -> Option<Outside> {
    // Conditions that are not known may prevent what would be found.
    let rows = scope.guards.iter().chain(scope.alternatives.iter().flatten().flatten());
    let of_scalars = rows.flat_map(Constraint::names).any(|n| lookup.temporary(&n).is_some());
    let is_known = !scope.opaque && !of_scalars && scope.unclear.is_empty() && scope.wrapping.is_empty();
    if !is_known || !unknown_data(lookup, index).is_empty() || !unknown_data(lookup, length).is_empty() {
        return None;
    }
    let mut rows = context.to_vec();
    let instances = lookup.instances(&scope.inames);
    let mut named: BTreeSet<Name> = index.names().into_iter().chain(length.names()).collect();
    named.extend(instances.iter().flat_map(Constraint::names));
    let named: Vec<&Name> = parameters.iter().filter(|name| named.contains(*name)).collect();
    rows.extend(instances);
    rows.extend(scope.guards.iter().cloned());
    for case in scope.cases() {
        let system = System::new(&[rows.as_slice(), &case].concat()).ok()?;
        for trial in trials(parameters, &named) {
            let exprs = [index, length];
            let tried = Tried { lookup, parameters, inames: &scope.inames, exprs };
            if let Ok(Some(found)) = tried.at(&system, &trial.ok()?) {
                return Some(found);
            }
        }
    }
    None
}

/// What is required of the parameters, in turn: nothing; all of them large; one unlike the others.
fn trials(parameters: &[Name], named: &[&Name]) -> Vec<Result<Vec<Constraint>>> {
    let at_least = |least: i64, name: &Name| Constraint::le(&Aff::constant(least), &Aff::var(name));
    let mut trials = vec![Ok(Vec::new())];
    trials.extend(LEAST.map(|least| parameters.iter().map(|name| at_least(least, name)).collect()));
    for one in named.iter().take(APART) {
        let with_others = |own: Result<Constraint>, least: i64| {
            let others = named.iter().filter(|name| *name != one).map(|name| at_least(least, name));
            std::iter::once(own).chain(others).collect::<Result<Vec<Constraint>>>()
        };
        trials.extend(
            ODD_ONE.map(|value| {
                with_others(Constraint::equal(&Aff::var(*one), &Aff::constant(value)), OTHERS[0])
            }),
        );
        trials.push(with_others(at_least(LARGE, one), OTHERS[1]));
    }
    trials
}

/// A subscript that is tried.
struct Tried<'a, 'k> {
    lookup: &'a Lookup<'k>,
    parameters: &'a [Name],
    inames: &'a [Name],
    /// The subscript, and the length of its axis.
    exprs: [&'a Expr; 2],
}

impl Tried<'_, '_> {
    /// A point that is outside, for the least values of the parameters that satisfy these rows.
    fn at(&self, system: &System, rows: &[Constraint]) -> Result<Option<Outside>> {
        let system = system.with(rows)?;
        let Some(sample) = system.sample_in_order(&BTreeMap::new(), self.parameters)? else {
            return Ok(None);
        };
        let mut point: BTreeMap<Name, i64> = self
            .parameters
            .iter()
            .map(|name| (name.clone(), sample.get(name).copied().unwrap_or(0)))
            .collect();
        if !self.has_arrays(&point) {
            return Ok(None);
        }
        let mut budget = POINTS;
        self.walk(&system.fix(&point)?, self.inames, &mut point, &mut budget)
    }

    /// Whether no length is negative, where it has a value. Affine ones are in the context.
    fn has_arrays(&self, point: &BTreeMap<Name, i64>) -> bool {
        self.lookup.kernel().args.iter().all(|arg| match arg {
            Arg::Array(array) => array
                .axes
                .iter()
                .all(|axis| value(self.lookup, &axis.length, point).is_some_and(|length| length >= 0)),
            Arg::Scalar(_) => true,
        })
    }

    fn walk(
        &self,
        system: &System,
        inames: &[Name],
        point: &mut BTreeMap<Name, i64>,
        budget: &mut usize,
    ) -> Result<Option<Outside>> {
        let Some((first, rest)) = inames.split_first() else {
            let [index, length] = self.exprs.map(|e| value(self.lookup, e, point));
            return Ok(match (index, length) {
                (Some(subscript), Some(length))
                    if (subscript < 0 || subscript >= length) && !system.fix(point)?.is_empty()? =>
                {
                    Some(Outside { point: point.clone(), subscript, length })
                }
                _ => None,
            });
        };
        let (Some(low), Some(high)) = system.constant_range(&Aff::var(first))? else { return Ok(None) };
        for at in low..=high {
            // Loops without iterations count too: there may be very many.
            if *budget == 0 {
                break;
            }
            *budget -= 1;
            point.insert(first.clone(), at);
            let found = match rest.is_empty() {
                true => self.walk(system, rest, point, budget)?,
                false => {
                    let inside = system.fix(&BTreeMap::from([(first.clone(), at)]))?;
                    self.walk(&inside, rest, point, budget)?
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        point.remove(first);
        Ok(None)
    }
}

/// Whether [`value`] follows each operation of an expression, at points where it has a value.
pub(super) fn is_followed(lookup: &Lookup<'_>, e: &Expr) -> bool {
    let itself = match e {
        Expr::Float(_) | Expr::Reduce(_) | Expr::Binary(BinaryOp::Div, ..) => false,
        Expr::Cast(to, _) => matches!(to, Type::Known(to) if to.is_integer()),
        Expr::Name(name) => {
            let scalar = lookup.scalar(name);
            scalar.is_none_or(|s| s.dtype.known().is_some_and(|t| t.is_integer()))
        }
        Expr::Call { function, args, .. } => {
            matches!((&**function, args.len()), ("min" | "max", 2) | ("abs", 1))
        }
        _ => true,
    };
    itself && e.children().into_iter().all(|child| is_followed(lookup, child))
}

/// An integer expression at a point, of unlimited size; `None` where it is not known.
pub(super) fn value(lookup: &Lookup<'_>, e: &Expr, point: &BTreeMap<Name, i64>) -> Option<i128> {
    let of = |e: &Expr| value(lookup, e, point);
    Some(match e {
        Expr::Int(v) => (*v).into(),
        Expr::Bool(v) => (*v).into(),
        Expr::Name(name) => (*point.get(name)?).into(),
        Expr::Unary(op, a) => match op {
            UnaryOp::Neg => of(a)?.checked_neg()?,
            UnaryOp::Not => (of(a)? == 0).into(),
            UnaryOp::BitNot => !of(a)?,
        },
        Expr::Binary(BinaryOp::And, a, b) => (of(a)? != 0 && of(b)? != 0).into(),
        Expr::Binary(BinaryOp::Or, a, b) => (of(a)? != 0 || of(b)? != 0).into(),
        Expr::Binary(op, a, b) => {
            let (a, b) = (of(a)?, of(b)?);
            let shift = || u32::try_from(b).ok().filter(|s| *s < 31);
            match op {
                BinaryOp::Add => a.checked_add(b)?,
                BinaryOp::Sub => a.checked_sub(b)?,
                BinaryOp::Mul => a.checked_mul(b)?,
                BinaryOp::FloorDiv if b != 0 => floor_div(a, b)?,
                BinaryOp::Mod if b != 0 => a.checked_sub(floor_div(a, b)?.checked_mul(b)?)?,
                BinaryOp::Lt => (a < b).into(),
                BinaryOp::Le => (a <= b).into(),
                BinaryOp::Gt => (a > b).into(),
                BinaryOp::Ge => (a >= b).into(),
                BinaryOp::Eq => (a == b).into(),
                BinaryOp::Ne => (a != b).into(),
                BinaryOp::BitAnd => a & b,
                BinaryOp::BitOr => a | b,
                BinaryOp::BitXor => a ^ b,
                BinaryOp::Shl => a.checked_mul(1 << shift()?)?,
                BinaryOp::Shr => a >> shift()?,
                BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::And | BinaryOp::Or => {
                    return None;
                }
            }
        }
        Expr::If(c, a, b) => match of(c)? {
            0 => of(b)?,
            _ => of(a)?,
        },
        Expr::Cast(Type::Known(to), a) if to.is_integer() => {
            Number::I64(of(a)?.try_into().ok()?).cast(*to).as_i128()?
        }
        Expr::Call { function, args, .. } => match (&**function, args.as_slice()) {
            ("min", [a, b]) => of(a)?.min(of(b)?),
            ("max", [a, b]) => of(a)?.max(of(b)?),
            ("abs", [a]) => of(a)?.checked_abs()?,
            _ => return None,
        },
        Expr::Subscript(read) => in_table(lookup, read, point)?,
        Expr::Float(_) | Expr::Cast(..) | Expr::Reduce(_) => return None,
    })
}

/// Rounded down, for divisors of either sign.
fn floor_div(a: i128, b: i128) -> Option<i128> {
    let (quotient, remainder) = (a.checked_div(b)?, a.checked_rem(b)?);
    Some(if remainder != 0 && (remainder < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// An element of a constant table of integers.
fn in_table(lookup: &Lookup<'_>, read: &Access, point: &BTreeMap<Name, i64>) -> Option<i128> {
    let table = lookup.kernel().constant(&read.array)?;
    let shape = table.shape()?;
    let mut at: u64 = 0;
    for (index, length) in read.index.iter().zip(&shape) {
        let index = u64::try_from(value(lookup, index, point)?).ok().filter(|index| index < length)?;
        at = at.checked_mul(*length)?.checked_add(index)?;
    }
    let element = table.values.get(usize::try_from(at).ok()?)?;
    crate::constant::literal(element, table.array.dtype.known()?)?.as_i128()
}
