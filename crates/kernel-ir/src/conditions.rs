//! Conditions as constraints on integers.
//!
//! A condition is a value: what it compares wraps in its type. A proof needs a statement about
//! integers. The two agree if nothing that is compared can leave its type, which is checked here
//! from the instances, the assumptions and the types of scalars. A comparison for which that cannot
//! be shown is not a constraint and counts in no proof.
//!
//! Sums, differences and products wrap to a value congruent to the exact integer. So only the two
//! sides of a comparison, the dividends of quotients and remainders, and converted values have to
//! lie in their types; intermediate values need not.

use loopwright_poly::System;

use crate::{Aff, Arg, BinaryOp, Constraint, DType, Expr, Kind, Lookup, Name, Typed, TypedKind, UnaryOp};

/// The greatest magnitude that a query about 64-bit values admits: queries themselves use 64 bits.
const FAR: i64 = i64::MAX >> 1;
/// The greatest magnitude of 64-bit scalars in conditions, which launches check.
pub const FAR_SCALAR: i64 = FAR >> 1;

/// What is known at the place of a condition.
pub struct Standing<'l, 'k> {
    lookup: &'l Lookup<'k>,
    /// The base inames of the loops around the condition.
    inames: &'l [Name],
    /// What else is known to hold there.
    known: Vec<Constraint>,
}

/// An integer that has to lie in a type.
struct Claim {
    value: Aff,
    dtype: DType,
}

impl<'l, 'k> Standing<'l, 'k> {
    /// For a condition inside these base inames.
    pub fn new(lookup: &'l Lookup<'k>, inames: &'l [Name]) -> Self {
        Standing { lookup, inames, known: Vec::new() }
    }

    /// Adds constraints that hold as well.
    pub fn given(mut self, known: &[Constraint]) -> Self {
        self.known.extend(known.iter().cloned());
        self
    }

    /// The constraints that a condition consists of: a conjunction of comparisons of quasi-affine
    /// functions of integers that cannot wrap. `None` for anything else.
    pub fn constraints(&self, condition: &Expr) -> Option<Vec<Constraint>> {
        // Most conditions do not have this form, whatever the types.
        if !has_form(condition) {
            return None;
        }
        let typed = self.lookup.types().typed(condition, DType::Bool, None).ok()?;
        let mut found = Vec::new();
        self.conjunction(&typed, &mut found)?;
        Some(found)
    }

    /// Whether a condition holds, or does not, in all executions there; `None` if neither is known.
    pub fn decides(&self, condition: &Expr) -> Option<bool> {
        let found = self.constraints(condition)?;
        let all = System::new(&self.rows(&[], &[])?).ok()?;
        let expanded =
            |c: &Constraint| Some(Constraint { kind: c.kind, aff: self.lookup.expand(&c.aff).ok()? });
        let claims = found.iter().map(expanded).collect::<Option<Vec<_>>>()?;
        if all.implies_all(&claims).ok()? {
            return Some(true);
        }
        System::new(&self.rows(&[], &found)?).ok()?.is_empty().ok()?.then_some(false)
    }

    /// What is known where a condition holds: the constraints among the parts of a conjunction.
    pub fn where_true(&self, condition: &Expr) -> Vec<Constraint> {
        match condition {
            Expr::Binary(BinaryOp::And, a, b) => self.both(self.where_true(a), |inside| inside.where_true(b)),
            Expr::Unary(UnaryOp::Not, a) => self.where_false(a),
            Expr::Binary(BinaryOp::Ne, a, b) => self.unequal(a, b),
            _ => self.constraints(condition).unwrap_or_default(),
        }
    }

    /// What is known where a condition does not hold.
    pub fn where_false(&self, condition: &Expr) -> Vec<Constraint> {
        match condition {
            Expr::Binary(BinaryOp::Or, a, b) => {
                self.both(self.where_false(a), |inside| inside.where_false(b))
            }
            Expr::Unary(UnaryOp::Not, a) => self.where_true(a),
            Expr::Binary(BinaryOp::Eq, a, b) => self.unequal(a, b),
            _ => match self.constraints(condition).as_deref() {
                Some([c]) if c.kind == Kind::Ge => c.negations().unwrap_or_default(),
                _ => Vec::new(),
            },
        }
    }

    /// What is known where two values differ: which one is smaller, if the other order cannot be.
    fn unequal(&self, a: &Expr, b: &Expr) -> Vec<Constraint> {
        let is = |op| self.constraints(&Expr::binary(op, a.clone(), b.clone()));
        let (Some(less), Some(greater)) = (is(BinaryOp::Lt), is(BinaryOp::Gt)) else { return Vec::new() };
        let cannot_be = |order: &[Constraint]| -> Option<bool> {
            System::new(&self.rows(&[], order)?).ok()?.is_empty().ok()
        };
        match (cannot_be(&less), cannot_be(&greater)) {
            (Some(true), _) => greater,
            (_, Some(true)) => less,
            _ => Vec::new(),
        }
    }

    /// The right side of `and` and `or` is evaluated only if the left does not decide.
    fn both(&self, mut first: Vec<Constraint>, second: impl Fn(&Self) -> Vec<Constraint>) -> Vec<Constraint> {
        let known = self.known.iter().chain(&first).cloned().collect();
        let more = second(&Standing { lookup: self.lookup, inames: self.inames, known });
        first.extend(more);
        first
    }

    /// Calls `f` on an expression and everything evaluated inside it, each with what the
    /// surrounding conditions imply there. Does not descend into reductions, which run whatever
    /// conditions surround them.
    pub fn visit_evaluated<'e>(&self, e: &'e Expr, f: &mut dyn FnMut(&'e Expr, &[Constraint])) {
        if matches!(e, Expr::Reduce(_)) {
            return;
        }
        f(e, &self.known);
        let mut inside = |known: Vec<Constraint>, e: &'e Expr| {
            let known = self.known.iter().cloned().chain(known).collect();
            Standing { lookup: self.lookup, inames: self.inames, known }.visit_evaluated(e, f);
        };
        match e {
            Expr::If(c, a, b) => {
                inside(Vec::new(), c);
                inside(self.where_true(c), a);
                inside(self.where_false(c), b);
            }
            Expr::Binary(BinaryOp::And, a, b) => {
                inside(Vec::new(), a);
                inside(self.where_true(a), b);
            }
            Expr::Binary(BinaryOp::Or, a, b) => {
                inside(Vec::new(), a);
                inside(self.where_false(a), b);
            }
            _ => e.each_child(&mut |child| self.visit_evaluated(child, f)),
        }
    }

    fn conjunction(&self, e: &Typed, found: &mut Vec<Constraint>) -> Option<()> {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt};
        match &e.kind {
            TypedKind::Constant(crate::Number::Bool(true)) => Some(()),
            TypedKind::Binary(And, a, b) => {
                self.conjunction(a, found)?;
                // The right side is evaluated where the left holds.
                self.conjunction(b, found)
            }
            TypedKind::Binary(op @ (Lt | Le | Gt | Ge | Eq), x, y) if x.dtype.is_integer() => {
                let mut claims = Vec::new();
                let (a, b) = (integer(x, &mut claims)?, integer(y, &mut claims)?);
                claims.extend([
                    Claim { value: a.clone(), dtype: x.dtype },
                    Claim { value: b.clone(), dtype: y.dtype },
                ]);
                let c = match op {
                    Lt => Constraint::lt(&a, &b),
                    Le => Constraint::le(&a, &b),
                    Gt => Constraint::lt(&b, &a),
                    Ge => Constraint::le(&b, &a),
                    _ => Constraint::equal(&a, &b),
                };
                if !self.hold(&claims, found)? {
                    return None;
                }
                found.push(c.ok()?);
                Some(())
            }
            _ => None,
        }
    }

    /// Whether all claims are proved, given `found` as well.
    fn hold(&self, claims: &[Claim], found: &[Constraint]) -> Option<bool> {
        let open: Vec<&Claim> = claims.iter().filter(|c| !self.is_plain(c)).collect();
        if open.is_empty() {
            return Some(true);
        }
        let system = System::new(&self.rows(&open, found)?).ok()?;
        for claim in open {
            let value = self.lookup.expand(&claim.value).ok()?;
            let (low, high) = range(claim.dtype)?;
            let at_least = Constraint::le(&Aff::constant(low), &value).ok()?;
            let at_most = Constraint::le(&value, &Aff::constant(high)).ok()?;
            if !(system.implies(&at_least).ok()? && system.implies(&at_most).ok()?) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether it is a constant of the type, or a scalar of that type.
    fn is_plain(&self, claim: &Claim) -> bool {
        let Some((low, high)) = range(claim.dtype) else { return false };
        match (claim.value.as_constant(), claim.value.as_var()) {
            (Some(c), _) => (low..=high).contains(&c),
            (_, Some(name)) => match self.scalar_range(name) {
                Some((l, h)) => low <= l && h <= high,
                None => false,
            },
            _ => false,
        }
    }

    /// The values of a scalar argument or temporary.
    fn scalar_range(&self, name: &Name) -> Option<(i64, i64)> {
        if self.lookup.is_iname(name) {
            return None;
        }
        let (low, high) = range(self.lookup.types().scalar(name)?.known()?)?;
        Some((low.max(-FAR_SCALAR), high.min(FAR_SCALAR)))
    }

    /// All that is known: instances, assumptions, non-negative lengths, and the ranges of scalars.
    fn rows(&self, claims: &[&Claim], found: &[Constraint]) -> Option<Vec<Constraint>> {
        let data = self.lookup.kernel();
        let mut rows = data.assumptions.clone();
        let lengths = data.args.iter().filter_map(|arg| match arg {
            Arg::Array(a) => Some(a.axes.iter().filter_map(|x| x.length.to_aff())),
            Arg::Scalar(_) => None,
        });
        rows.extend(lengths.flatten().filter(|l| l.as_constant().is_none()).map(Constraint::nonneg));
        rows.extend(self.lookup.instances(self.inames));
        rows.extend(self.known.iter().chain(found).cloned());
        for row in &mut rows {
            row.aff = self.lookup.expand(&row.aff).ok()?;
        }
        let mut names: Vec<Name> = rows.iter().flat_map(Constraint::names).collect();
        names.extend(claims.iter().flat_map(|c| c.value.names()));
        names.sort();
        names.dedup();
        for name in names {
            if let Some((low, high)) = self.scalar_range(&name) {
                let value = Aff::var(&name);
                rows.push(Constraint::le(&Aff::constant(low), &value).ok()?);
                rows.push(Constraint::le(&value, &Aff::constant(high)).ok()?);
            }
        }
        Some(rows)
    }
}

/// Whether an expression is a conjunction of comparisons of quasi-affine expressions, ignoring
/// casts.
fn has_form(e: &Expr) -> bool {
    use BinaryOp::{And, Eq, Ge, Gt, Le, Lt};
    fn affine(e: &Expr) -> bool {
        match e {
            Expr::Int(_) | Expr::Name(_) => true,
            Expr::Cast(_, a) | Expr::Unary(UnaryOp::Neg, a) => affine(a),
            Expr::Binary(_, a, b) => affine(a) && affine(b),
            _ => false,
        }
    }
    match e {
        Expr::Bool(true) => true,
        Expr::Binary(And, a, b) => has_form(a) && has_form(b),
        Expr::Binary(Lt | Le | Gt | Ge | Eq, a, b) => affine(a) && affine(b),
        _ => false,
    }
}

/// The integer that a value is congruent to; adds what has to lie in its type for that to `claims`.
fn integer(e: &Typed, claims: &mut Vec<Claim>) -> Option<Aff> {
    match &e.kind {
        TypedKind::Constant(number) => number.as_i64().map(Aff::constant),
        TypedKind::Name(name) if e.dtype.is_integer() => Some(Aff::var(name)),
        TypedKind::Convert(a) | TypedKind::Cast(a) if a.dtype.is_integer() && e.dtype.is_integer() => {
            let value = integer(a, claims)?;
            claims.push(Claim { value: value.clone(), dtype: a.dtype });
            Some(value)
        }
        TypedKind::Unary(UnaryOp::Neg, a) => integer(a, claims)?.neg().ok(),
        TypedKind::Binary(op, a, b) => {
            let (x, y) = (integer(a, claims)?, integer(b, claims)?);
            match op {
                BinaryOp::Add => x.add(&y).ok(),
                BinaryOp::Sub => x.sub(&y).ok(),
                BinaryOp::Mul => match (x.as_constant(), y.as_constant()) {
                    (Some(c), _) => y.scale(c).ok(),
                    (_, Some(c)) => x.scale(c).ok(),
                    _ => None,
                },
                BinaryOp::FloorDiv | BinaryOp::Mod => {
                    let d = y.as_constant().filter(|d| *d > 0)?;
                    claims.push(Claim { value: x.clone(), dtype: a.dtype });
                    if *op == BinaryOp::Mod { x.modulo(d).ok() } else { x.floor_div(d).ok() }
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The range of an integer type, clipped to what queries admit.
fn range(dtype: DType) -> Option<(i64, i64)> {
    let clipped = |end: i128| end.clamp((-FAR).into(), FAR.into()) as i64;
    dtype.range().map(|(low, high)| (clipped(low), clipped(high)))
}
