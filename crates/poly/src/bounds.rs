//! The bounds of one name in terms of others, as needed for a loop over it.
//!
//! The other names are projected out over the integers (see [`System::eliminate`]). The remaining
//! constraints on the name itself are sorted into lower and upper bounds, and each bound that
//! follows from the rest is dropped, the most complicated first. Conditions such as `i mod 2 = 0`
//! are not bounds: they are returned as guards.

use crate::{
    Aff, Constraint, Error, Kind, Name, Result, System, Term,
    eliminate::{Outcome, Shadow, project},
    projection::row_constraints,
    system::complexity,
};

/// One bound of a name: `aff / denominator`, rounded up for a lower bound and down for an upper
/// one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    /// The numerator, over the names that the bound may mention.
    pub aff: Aff,
    /// The denominator, at least 1.
    pub denominator: i64,
}

/// The range of one name: `max(ceil(lower)) <= name <= min(floor(upper))`, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Lower bounds, simplest first; empty if the name is unbounded below.
    pub lower: Vec<Bound>,
    /// Upper bounds, simplest first; empty if the name is unbounded above.
    pub upper: Vec<Bound>,
    /// Further conditions on the name inside divisions, that is, strides.
    pub guards: Vec<Constraint>,
    /// Constraints on the kept names alone. Bounds that follow from these are left out.
    pub rest: Vec<Constraint>,
    /// Whether the range with guards and rest is exactly the integer projection. If not, it
    /// contains the projection.
    pub exact: bool,
}

impl Bound {
    /// The bound as a function: the quotient rounded up.
    pub fn ceil(&self) -> Result<Aff> {
        self.aff.add_constant(self.denominator - 1)?.floor_div(self.denominator)
    }

    /// The bound as a function: the quotient rounded down.
    pub fn floor(&self) -> Result<Aff> {
        self.aff.floor_div(self.denominator)
    }
}

impl System {
    /// The bounds of a name in terms of the names for which `keep` holds.
    pub fn bounds(&self, name: &Name, keep: &dyn Fn(&Name) -> bool) -> Result<Bounds> {
        let projection = self.keep_only(&|n| n == name || keep(n))?;
        let system = projection.system;
        let strided = |c: &Constraint| {
            c.aff.terms().iter().any(|(t, _)| match t {
                Term::Div(div) => div.numerator.mentions(name),
                Term::Var(_) => false,
            })
        };
        let plain =
            if system.constraints.iter().any(strided) { system.relax_strides(name)? } else { system.clone() };

        let mut kept: Vec<bool> = vec![true; plain.constraints.len()];
        let mut order: Vec<usize> =
            (0..kept.len()).filter(|&i| plain.constraints[i].aff.coefficient(name) != 0).collect();
        order.sort_by_key(|&i| std::cmp::Reverse((complexity(&plain.constraints[i]), i)));
        let own = order.clone();
        // Two constraints cannot make each other redundant if they bound different sides, or if
        // each is the only bound on its side.
        let side = |i: usize| plain.constraints[i].aff.coefficient(name).signum();
        for &i in &order {
            let rivals =
                own.iter().filter(|&&k| k != i && kept[k] && (side(k) == side(i) || plain.rows.is_eq(k)));
            if rivals.count() > 0 && plain.implied_by_others(i, &|k| k != i && kept[k])? {
                kept[i] = false;
            }
        }
        order.reverse();

        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for i in order.into_iter().filter(|&i| kept[i]) {
            let constraint = &plain.constraints[i];
            let c = constraint.aff.coefficient(name);
            let denominator = c.checked_abs().ok_or(Error::Overflow)?;
            let rest = constraint.aff.sub(&Aff::var(name).scale(c)?)?;
            if c > 0 || constraint.kind == Kind::Eq {
                let aff = if c > 0 { rest.neg()? } else { rest.clone() };
                lower.push(Bound { aff, denominator });
            }
            if c < 0 || constraint.kind == Kind::Eq {
                let aff = if c > 0 { rest.neg()? } else { rest };
                upper.push(Bound { aff, denominator });
            }
        }
        let strides: Vec<Constraint> = system.constraints.iter().filter(|c| strided(c)).cloned().collect();
        let guards = if strides.is_empty() { Vec::new() } else { System::new(&strides)?.gist(&plain)? };
        let rest = plain.constraints.iter().filter(|c| !c.aff.mentions(name)).cloned().collect();
        Ok(Bounds { lower, upper, guards, rest, exact: projection.exact })
    }

    /// A lower bound of a name from which to count its values, as a function of the names for which
    /// `keep` holds; `None` if no single function is known.
    ///
    /// A constant that a constraint states, and that the name attains for some values of the
    /// others, is taken immediately, though for other values of these the range may begin later.
    /// Otherwise it is the only lower bound of [`System::bounds`], or else a constant lower bound.
    pub fn least_value(&self, name: &Name, keep: &dyn Fn(&Name) -> bool) -> Result<Option<Aff>> {
        let stated = self.constraints.iter().filter_map(|c| match (c.kind, c.aff.terms()) {
            (Kind::Ge, [(Term::Var(n), 1)]) if n == name => c.aff.constant_term().checked_neg(),
            _ => None,
        });
        if let Some(stated) = stated.max().map(Aff::constant)
            && !self.with(&[Constraint::equal(&Aff::var(name), &stated)?])?.is_empty()?
        {
            return Ok(Some(stated));
        }
        Ok(match self.bounds(name, keep)?.lower.as_slice() {
            [b] if b.denominator == 1 => Some(b.aff.clone()),
            _ => self.constant_range(&Aff::var(name))?.0.map(Aff::constant),
        })
    }

    /// The rational shadow without the divisions that mention the name.
    pub(crate) fn relax_strides(&self, name: &Name) -> Result<System> {
        let (mut rows, mut terms) = (self.all_rows(), self.terms.clone());
        let mut out = vec![false];
        out.extend(terms.iter().map(|t| match t {
            Term::Div(div) => div.numerator.mentions(name),
            Term::Var(_) => false,
        }));
        match project(&mut rows, &mut terms, &mut out, Shadow::Rational)? {
            Outcome::Empty => Ok(System::nothing()),
            Outcome::Done { .. } => System::of(row_constraints(&rows, &terms)?),
        }
    }
}
