//! The number of integer points of a conjunction, as a formula of its parameters.
//!
//! Names are eliminated one after another while a quasi-polynomial is carried along, whose sum over
//! the remaining points is the count; at first it is 1.
//!
//! 1. *Equalities* are solved for a name; one with a coefficient other than 1 leaves a condition
//!    that it divides, and waits until no floor is left.
//! 2. *Floors* in constraints: for `floor((x + h)/m)`, `x` becomes `m*q + r - h` with `0 <= r < m`,
//!    which makes the floor `q`. With another coefficient of `x` its residues are taken one by one.
//! 3. What is left are linear inequalities. A name is summed between its bounds (`sum`). Of several
//!    lower or upper bounds, cases decide which one is the tightest; they are disjoint. A case
//!    keeps, as a constraint on the other names, that the real interval is not shorter than -1:
//!    where it holds, the sum is right, and where it does not, there is no point.
//!
//! Every rewriting is exact, so a formula is exact wherever the context holds.

use loopwright_poly::{Aff, Constraint, Kind, Name, System, Term};

use crate::{
    Formula, Piece, QuasiPolynomial, Refusal,
    floors::{constraint, floors_of},
    sum::{Fresh, RESIDUES, ceil, floor, period_of, sum},
};

/// The greatest number of cases and substitutions of one count.
const STEPS: usize = 400;

/// Counts points. The context is what is known about the parameters.
pub(crate) struct Points<'c> {
    context: &'c System,
    /// Of several names that an equality could be solved for, the one with the least rank is.
    rank: &'c dyn Fn(&Name) -> usize,
    fresh: Fresh,
    steps: usize,
}

/// A point set with the function to be summed over it.
struct State {
    dims: Vec<Name>,
    constraints: Vec<Constraint>,
    value: QuasiPolynomial,
}

/// `numerator / denominator`, a bound on a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    numerator: Aff,
    denominator: i64,
}

/// The bounds of one name among linear inequalities.
struct Interval<'s> {
    name: &'s Name,
    lower: Vec<Bound>,
    upper: Vec<Bound>,
    /// How much it takes to sum over it: cases, then floors.
    cost: (usize, usize),
}

impl<'s> Interval<'s> {
    fn of(name: &'s Name, constraints: &[Constraint], value: &QuasiPolynomial) -> Result<Self, Refusal> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for c in constraints {
            let k = c.aff.coefficient(name);
            let rest = c.aff.sub(&Aff::var(name).scale(k)?)?;
            match k.signum() {
                1 => lower.push(Bound { numerator: rest.neg()?, denominator: k }),
                -1 => upper.push(Bound { numerator: rest, denominator: -k }),
                _ => {}
            }
        }
        if lower.is_empty() || upper.is_empty() {
            let side = if lower.is_empty() { "lower" } else { "upper" };
            return Err(Refusal::new("count-unbounded", format!("`{}` has no {side} bound", shown(name))));
        }
        let once = match (&lower[..], &upper[..]) {
            ([l], [u]) => l.denominator == u.denominator && difference(l, u)? == Some(l.denominator - 1),
            _ => false,
        };
        // A name with exactly one value comes first; then what needs no cases and no floors.
        let floors = value.floors_with(name).len();
        let scaled = lower.iter().chain(&upper).filter(|b| b.denominator != 1).count();
        let cost =
            if once && floors == 0 { (0, 0) } else { (lower.len() * upper.len() + 2 * scaled, floors) };
        Ok(Interval { name, lower, upper, cost })
    }
}

/// A floor in a constraint that mentions a name of the point set.
struct OpenFloor {
    name: Name,
    /// The name's coefficient, 1 or -1; 0 if the residues of the name have to be taken one by one.
    slope: i64,
    /// The numerator without the name.
    rest: Aff,
    /// The divisor, or the number of residues.
    period: i64,
    cost: (bool, i64),
}

/// The floor to be rewritten next: coefficients of 1 first, great divisors first.
fn find_floor(state: &State) -> Result<Option<OpenFloor>, Refusal> {
    let mut best: Option<OpenFloor> = None;
    for c in &state.constraints {
        for name in &state.dims {
            for div in floors_of(&c.aff, name) {
                let slope = div.numerator.coefficient(name);
                let rest = div.numerator.sub(&Aff::var(name).scale(slope)?)?;
                let found = if slope.abs() == 1 && !rest.mentions(name) {
                    let period = div.denominator;
                    OpenFloor { name: name.clone(), slope, rest, period, cost: (false, -period) }
                } else {
                    let period = period_of(div, name);
                    OpenFloor { name: name.clone(), slope: 0, rest, period, cost: (true, period) }
                };
                if best.as_ref().is_none_or(|least| found.cost < least.cost) {
                    best = Some(found);
                }
            }
        }
    }
    Ok(best)
}

/// The number of integer points of `constraints` over the names `dims`; other names are parameters,
/// about which `context` holds. Equalities are solved for names of low rank: the names that stand
/// for functions of others stay, and with them the constraints that were written for them.
pub(crate) fn count_points(
    dims: &[Name],
    constraints: &[Constraint],
    context: &System,
    rank: &dyn Fn(&Name) -> usize,
) -> Result<Formula, Refusal> {
    let mut points = Points { context, rank, fresh: Fresh::new(), steps: 0 };
    let mut formula = Formula::default();
    let value = QuasiPolynomial::constant(1);
    let state = State { dims: dims.to_vec(), constraints: constraints.to_vec(), value };
    points.go(state, &mut formula)?;
    Ok(formula)
}

/// The number of integer points of a conjunction over the names `dims`, in terms of its other
/// names, wherever the assumptions hold.
///
/// ```
/// use loopwright_counts::points;
/// use loopwright_kernel_ir::parse_domain;
///
/// let triangle = parse_domain("{ [i, j] : 0 <= i < n and 0 <= j <= i }").unwrap();
/// let count = points(&triangle.inames, &triangle.constraints, &[]).unwrap();
/// assert_eq!(count.to_string(), "(n^2 + n)/2 if 0 <= n + 1");
/// assert_eq!(count.eval(&|_| Some(10)), Some(55));
/// assert_eq!(count.eval(&|_| Some(-10)), Some(0));
/// ```
pub fn points(
    dims: &[Name],
    constraints: &[Constraint],
    assumptions: &[Constraint],
) -> Result<Formula, Refusal> {
    count_points(dims, constraints, &System::new(assumptions)?, &|_| 0)
}

impl Points<'_> {
    fn go(&mut self, state: State, formula: &mut Formula) -> Result<(), Refusal> {
        self.steps += 1;
        if self.steps > STEPS {
            return Err(Refusal::new("count-size", "its domain takes too many cases"));
        }
        let State { dims, constraints, value } = state;
        let mut reduced: Vec<Constraint> = Vec::with_capacity(constraints.len());
        for c in &constraints {
            if let Some(c) = constraint(c, &|_| None)?
                && !reduced.contains(&c)
            {
                reduced.push(c);
            }
        }
        let constraints = reduced;
        if value.is_zero() || self.context.is_empty_with(&constraints)? {
            return Ok(());
        }
        let state = State { dims, constraints, value };
        // First for the names that split others, as soon as no floor hides them.
        if let Some((name, by, conditions)) = self.solve(&state, true)? {
            return self.replace(&state, &name, &by, &[], conditions, formula);
        }
        if self.open_floor(&state, formula)? {
            return Ok(());
        }
        if let Some((name, by, conditions)) = self.solve(&state, false)? {
            return self.replace(&state, &name, &by, &[], conditions, formula);
        }
        if state.dims.is_empty() {
            let conditions = System::new(&state.constraints)?.gist(self.context)?;
            return formula.add_piece(Piece { conditions, value: state.value });
        }
        self.sum_one(state, formula)
    }

    /// Goes on with a name replaced, with other names in its place and more constraints.
    fn replace(
        &mut self,
        state: &State,
        name: &Name,
        by: &Aff,
        new: &[Name],
        more: Vec<Constraint>,
        formula: &mut Formula,
    ) -> Result<(), Refusal> {
        let replace = |n: &Name| (n == name).then(|| by.clone());
        let mut constraints = more;
        for c in &state.constraints {
            constraints.extend(constraint(c, &replace)?);
        }
        let dims = state.dims.iter().flat_map(|d| if d == name { new } else { std::slice::from_ref(d) });
        let dims = dims.cloned().collect();
        let value = state.value.substitute(&replace)?;
        self.go(State { dims, constraints, value }, formula)
    }

    /// An equality solved for a name: the name, its value, and that the coefficient divides. If
    /// `plainly`, only for a name of rank 0 with the coefficient 1.
    fn solve(&self, state: &State, plainly: bool) -> Result<Option<(Name, Aff, Vec<Constraint>)>, Refusal> {
        let mut best: Option<((bool, usize, u64), &Name, &Constraint)> = None;
        for c in state.constraints.iter().filter(|c| c.kind == Kind::Eq) {
            for d in &state.dims {
                let k = c.aff.coefficient(d);
                if k == 0 || floors_of(&c.aff, d).next().is_some() {
                    continue;
                }
                let cost = (k.unsigned_abs() != 1, (self.rank)(d), k.unsigned_abs());
                if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                    best = Some((cost, d, c));
                }
            }
        }
        let Some((cost, name, c)) = best else { return Ok(None) };
        if plainly && cost > (false, 0, 1) {
            return Ok(None);
        }
        // k*name + rest = 0
        let k = c.aff.coefficient(name);
        let rest = c.aff.sub(&Aff::var(name).scale(k)?)?;
        let rest = if k > 0 { rest.neg()? } else { rest };
        let k = k.abs();
        let value = floor(&rest, k)?;
        let conditions = match k {
            1 => Vec::new(),
            k => vec![Constraint::zero(rest.sub(&value.scale(k)?)?)],
        };
        Ok(Some((name.clone(), value, conditions)))
    }

    /// Rewrites one floor that mentions a name of the point set; false if there is none.
    fn open_floor(&mut self, state: &State, formula: &mut Formula) -> Result<bool, Refusal> {
        let Some(OpenFloor { name, slope, rest, period, .. }) = find_floor(state)? else { return Ok(false) };
        let (q, r) = (self.fresh.name(), self.fresh.name());
        let whole = Aff::var(&q).scale(period)?;
        if slope != 0 {
            // slope*name + rest = period*q + r
            let value = whole.add(&Aff::var(&r))?.sub(&rest)?;
            let value = if slope > 0 { value } else { value.neg()? };
            let range = vec![
                Constraint::nonneg(Aff::var(&r)),
                Constraint::lt(&Aff::var(&r), &Aff::constant(period))?,
            ];
            // The floor is q: it is replaced before names are, while it is recognised.
            let numerator = Aff::var(&name).scale(slope)?.add(&rest)?;
            let floor = floor(&numerator, period)?;
            let [(term, 1)] = floor.terms() else {
                return Err(Refusal::new("count-undecided", format!("`{floor}` is not reduced")));
            };
            let mut opened =
                State { dims: state.dims.clone(), constraints: Vec::new(), value: state.value.clone() };
            for c in &state.constraints {
                opened.constraints.push(Constraint { kind: c.kind, aff: replace_term(&c.aff, term, &q)? });
            }
            opened.value = opened.value.replace_terms(&|t| Ok((t == term).then(|| Aff::var(&q))))?;
            self.replace(&opened, &name, &value, &[q, r], range, formula)?;
            return Ok(true);
        }
        if period > RESIDUES {
            let message =
                format!("its domain has floors of `{}` that repeat only every {period} values", shown(&name));
            return Err(Refusal::new("count-period", message));
        }
        for residue in 0..period {
            let value = whole.add_constant(residue)?;
            self.replace(state, &name, &value, std::slice::from_ref(&q), Vec::new(), formula)?;
        }
        Ok(true)
    }

    /// Sums over one name of a system of linear inequalities.
    fn sum_one(&mut self, state: State, formula: &mut Formula) -> Result<(), Refusal> {
        let system = System::new(&state.constraints)?;
        let constraints = system.gist(self.context)?;
        let mut best: Option<Interval<'_>> = None;
        // The innermost first.
        for name in state.dims.iter().rev() {
            let interval = Interval::of(name, &constraints, &state.value)?;
            if best.as_ref().is_none_or(|least| interval.cost < least.cost) {
                best = Some(interval);
            }
        }
        let Some(Interval { name, lower, upper, .. }) = best else { return Ok(()) };
        let others: Vec<Constraint> = constraints.iter().filter(|c| !c.aff.mentions(name)).cloned().collect();
        let dims: Vec<Name> = state.dims.iter().filter(|d| *d != name).cloned().collect();
        for (i, low) in lower.iter().enumerate() {
            for (k, high) in upper.iter().enumerate() {
                let mut own = others.clone();
                for (j, other) in lower.iter().enumerate().filter(|(j, _)| *j != i) {
                    own.push(at_least(low, other, j < i)?);
                }
                for (j, other) in upper.iter().enumerate().filter(|(j, _)| *j != k) {
                    own.push(at_least(other, high, j < k)?);
                }
                // high - low >= -1, as real numbers scaled: see the head.
                let gap = scaled_difference(low, high)?
                    .add_constant(low.denominator)?
                    .add_constant(high.denominator - 1)?;
                own.push(Constraint::nonneg(gap));
                if self.context.is_empty_with(&own)? {
                    continue;
                }
                let from = ceil(&low.numerator, low.denominator)?;
                let to = floor(&high.numerator, high.denominator)?;
                let value = sum(&state.value, name, &from, &to, &mut self.fresh)?;
                self.go(State { dims: dims.clone(), constraints: own, value }, formula)?;
            }
        }
        Ok(())
    }
}

/// A name for messages: those made here have no spelling.
fn shown(name: &Name) -> String {
    if name.starts_with('\u{0}') { "a quotient".into() } else { name.to_string() }
}

fn replace_term(aff: &Aff, term: &Term, by: &Name) -> Result<Aff, Refusal> {
    let mut sum = Aff::constant(aff.constant_term());
    for (t, c) in aff.terms() {
        let value = if t == term {
            Aff::var(by)
        } else {
            match t {
                Term::Var(name) => Aff::var(name),
                Term::Div(div) => floor(&replace_term(&div.numerator, term, by)?, div.denominator)?,
            }
        };
        sum = sum.add(&value.scale(*c)?)?;
    }
    Ok(sum)
}

/// `high - low`, times both denominators.
fn scaled_difference(low: &Bound, high: &Bound) -> Result<Aff, Refusal> {
    Ok(high.numerator.scale(low.denominator)?.sub(&low.numerator.scale(high.denominator)?)?)
}

/// The difference of the numerators of two bounds, if it is constant.
fn difference(low: &Bound, high: &Bound) -> Result<Option<i64>, Refusal> {
    Ok(high.numerator.sub(&low.numerator)?.as_constant())
}

/// That one bound is at least another, or greater.
fn at_least(one: &Bound, other: &Bound, greater: bool) -> Result<Constraint, Refusal> {
    let difference = scaled_difference(other, one)?;
    Ok(Constraint::nonneg(if greater { difference.add_constant(-1)? } else { difference }))
}
