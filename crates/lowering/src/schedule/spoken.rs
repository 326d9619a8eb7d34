//! The names in which an index is written: `i` for `256*i_outer + i_inner`.
//!
//! Sums that have a name at a place are replaced by it if that leaves fewer terms, or fewer names
//! without a value (since a loop counts a sum of them). Deciding ([`super::counters`]) and writing
//! use the same function, so that what was decided can be written.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Access, Aff, Arg, Constraint, Diagnostic, Expr, Kind, Name, Term, remainders};
use loopwright_legality::coordinate_name;

use crate::{analyse::analysis::Analysis, program::BinOp};

/// The names that have a value at a place.
pub(crate) trait Names {
    fn has_value(&self, name: &Name) -> bool;
    /// Whether a canonical name is that of a coordinate, or of a loop or lane around.
    fn is_bound(&self, name: &Name) -> bool;
    /// Named indices with their canonical functions.
    fn named(&self) -> &[(Name, Aff)];
}

/// The names that have a value at a place, before values exist.
#[derive(Clone, Default)]
pub(crate) struct Spoken {
    pub values: BTreeSet<Name>,
    pub bound: BTreeSet<Name>,
    pub named: Vec<(Name, Aff)>,
}

impl Names for Spoken {
    fn has_value(&self, name: &Name) -> bool {
        self.values.contains(name)
    }

    fn is_bound(&self, name: &Name) -> bool {
        self.bound.contains(name)
    }

    fn named(&self) -> &[(Name, Aff)] {
        &self.named
    }
}

/// The canonical function in the names of a place.
pub(crate) fn in_names(canonical: &Aff, names: &dyn Names) -> Result<Aff, Diagnostic> {
    let mut aff = canonical.clone();
    // The same inside of quotients.
    for (term, c) in canonical.terms() {
        let Term::Div(div) = term else { continue };
        let numerator = in_names(&div.numerator, names)?;
        if numerator != div.numerator {
            let quotient = div.numerator.floor_div(div.denominator)?;
            aff = aff.sub(&quotient.scale(*c)?)?;
            aff = aff.add(&numerator.floor_div(div.denominator)?.scale(*c)?)?;
        }
    }
    let valueless =
        |aff: &Aff| aff.names().iter().filter(|n| names.is_bound(n) && !names.has_value(n)).count();
    let cost = |aff: &Aff| aff.terms().len() + valueless(aff);
    loop {
        let mut best: Option<(usize, Aff)> = None;
        for (name, value) in names.named() {
            let Some((first, k)) = value.terms().first() else { continue };
            let coefficient =
                |aff: &Aff, term| aff.terms().iter().find(|(t, _)| t == term).map_or(0, |(_, c)| *c);
            let have = coefficient(&aff, first);
            if have == 0 || have % k != 0 {
                continue;
            }
            let factor = have / k;
            if !value.terms().iter().all(|(t, c)| c.checked_mul(factor) == Some(coefficient(&aff, t))) {
                continue;
            }
            let next = aff.sub(&value.scale(factor)?)?.add(&Aff::var(name).scale(factor)?)?;
            let saved = cost(&aff).saturating_sub(cost(&next));
            if saved > 0 && best.as_ref().is_none_or(|(s, _)| saved > *s) {
                best = Some((saved, next));
            }
        }
        match best {
            Some((_, next)) => aff = next,
            None => return Ok(aff),
        }
    }
}

/// The negation of an inequality.
pub(crate) fn fails(c: &Constraint) -> Result<Constraint, Diagnostic> {
    Ok(Constraint::nonneg(c.aff.neg()?.add_constant(-1)?))
}

/// A constraint as a comparison: terms with negative signs go to the other side, and remainders as
/// a whole.
pub(crate) fn sides(c: &Constraint) -> Result<(BinOp, Aff, Aff), Diagnostic> {
    let mut left = Aff::default();
    let mut right = Aff::default();
    let remainders = remainders(&c.aff);
    for (term, k) in c.aff.terms() {
        let one = match term {
            Term::Var(name) => Aff::var(name),
            Term::Div(div) => div.numerator.floor_div(div.denominator)?,
        };
        let factor = remainders.iter().find(|r| r.terms.contains(&term)).map_or(*k, |r| r.factor);
        if factor < 0 {
            left = left.add(&one.scale(k.saturating_neg())?)?;
        } else {
            right = right.add(&one.scale(*k)?)?;
        }
    }
    let of_left =
        remainders.iter().filter(|r| r.factor < 0).fold(0i64, |sum, r| sum.saturating_add(r.constant));
    let left = left.add_constant(of_left.saturating_neg())?;
    let constant = c.aff.constant_term().saturating_sub(of_left);
    // The compared names are alone on the left: `i < n`, `i >= 1`, `i + j <= n - 3`.
    Ok(match c.kind {
        Kind::Eq if left.terms().is_empty() => (BinOp::Eq, right, Aff::constant(constant.saturating_neg())),
        Kind::Eq => (BinOp::Eq, left, right.add_constant(constant)?),
        Kind::Ge if left.terms().is_empty() => (BinOp::Ge, right, Aff::constant(constant.saturating_neg())),
        Kind::Ge => (BinOp::Lt, left, right.add_constant(constant.saturating_add(1))?),
    })
}

impl Analysis<'_> {
    /// How an index is written, if not as it is.
    pub fn respoken(&self, aff: &Aff, names: &dyn Names) -> Result<Option<Aff>, Diagnostic> {
        let plain = aff.names().iter().all(|n| {
            self.lookup.is_iname(n)
                || self.lookup.is_scalar(n)
                || loopwright_legality::is_coordinate(n)
                || self.lookup.array(n).is_some_and(|a| a.axes.is_empty())
        });
        if !plain {
            return Ok(None);
        }
        // What 64 bits do not hold over canonical names is written as it is.
        let Ok(canonical) = self.canonical(aff) else { return Ok(None) };
        let named = in_names(&canonical, names)?;
        // A loop that counts a sum gives no values to its parts.
        let has_value = |n: &Name| {
            names.has_value(n) || !self.lookup.is_iname(n) || coordinate_name(self.kernel.tag(n)).is_some()
        };
        let shorter = named.terms().len() < aff.terms().len();
        Ok((shorter || !aff.names().iter().all(has_value)).then_some(named))
    }

    /// Whether an index can be written at a place.
    pub fn can_write(&self, aff: &Aff, names: &dyn Names) -> Result<bool, Diagnostic> {
        let spoken = self.respoken(aff, names)?;
        for name in spoken.as_ref().unwrap_or(aff).names() {
            if !self.has_value(&name, names)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a constraint can be written at a place, as a comparison.
    pub fn can_compare(&self, c: &Constraint, names: &dyn Names) -> Result<bool, Diagnostic> {
        let (_, left, right) = sides(c)?;
        Ok(self.can_write(&left, names)? && self.can_write(&right, names)?)
    }

    /// Whether an expression can be written at a place: all names in it have values.
    pub fn can_write_expr(&self, e: &Expr, names: &dyn Names) -> Result<bool, Diagnostic> {
        match e {
            Expr::Reduce(_) => Ok(true),
            Expr::Name(name) => self.has_value(name, names),
            Expr::Subscript(access) => self.can_write_subscripts(access, names),
            _ => {
                for child in e.children() {
                    if !self.can_write_expr(child, names)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Whether the subscripts of an access can be written at a place.
    pub fn can_write_subscripts(&self, access: &Access, names: &dyn Names) -> Result<bool, Diagnostic> {
        for s in &access.index {
            let written = match s.to_aff() {
                Some(aff) => self.can_write(&aff, names)?,
                None => self.can_write_expr(s, names)?,
            };
            if !written {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_value(&self, name: &Name, names: &dyn Names) -> Result<bool, Diagnostic> {
        if names.has_value(name) {
            return Ok(true);
        }
        if let Some(definition) = self.lookup.definition(name) {
            return self.can_write(definition, names);
        }
        if let Some(coordinate) = coordinate_name(self.kernel.tag(name))
            && names.has_value(&Name::new(coordinate))
        {
            return Ok(true);
        }
        let is_argument = |arg: &Arg| matches!(arg, Arg::Scalar(s) if s.name == *name);
        Ok(self.kernel.args.iter().any(is_argument) || self.lookup.array(name).is_some())
    }
}
