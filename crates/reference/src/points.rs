//! The integers that a loop iterates over.
//!
//! Bounds are *necessary*: each constraint is relaxed to a linear one of the iname, with rational
//! numbers, and rounded outwards. Every integer between them is then tested against the constraints
//! themselves, so the result is exact for any constraint.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Kind, Name, Term};

/// `(slope * x + rest) / divisor`, the divisor positive.
#[derive(Clone, Copy, Debug)]
struct Line {
    slope: i128,
    rest: i128,
    divisor: i128,
}

impl Line {
    fn plus(self, other: Line) -> Option<Line> {
        let scaled = |l: Line, by: i128| Some((l.slope.checked_mul(by)?, l.rest.checked_mul(by)?));
        let (s1, r1) = scaled(self, other.divisor)?;
        let (s2, r2) = scaled(other, self.divisor)?;
        Some(Line {
            slope: s1.checked_add(s2)?,
            rest: r1.checked_add(r2)?,
            divisor: self.divisor.checked_mul(other.divisor)?,
        })
    }

    fn times(self, by: i128) -> Option<Line> {
        Some(Line { slope: self.slope.checked_mul(by)?, rest: self.rest.checked_mul(by)?, ..self })
    }
}

/// A line that bounds the function from above (`upper`) or from below. `None` if a name has no
/// value or numbers get too large.
fn bound(aff: &Aff, x: &Name, upper: bool, values: &dyn Fn(&Name) -> Option<i64>) -> Option<Line> {
    let mut sum = Line { slope: 0, rest: aff.constant_term().into(), divisor: 1 };
    for (term, coefficient) in aff.terms() {
        let coefficient = i128::from(*coefficient);
        let term = match term {
            Term::Var(name) if name == x => Line { slope: 1, rest: 0, divisor: 1 },
            Term::Var(name) => Line { slope: 0, rest: values(name)?.into(), divisor: 1 },
            Term::Div(div) => {
                // n/d - (d-1)/d <= floor(n/d) <= n/d
                let above = upper == (coefficient > 0);
                let numerator = bound(&div.numerator, x, above, values)?;
                let d = i128::from(div.denominator);
                let divided = Line { divisor: numerator.divisor.checked_mul(d)?, ..numerator };
                if above { divided } else { divided.plus(Line { slope: 0, rest: 1 - d, divisor: d })? }
            }
        };
        sum = sum.plus(term.times(coefficient)?)?;
    }
    Some(sum)
}

/// The values of `x`, in ascending order, for which all constraints hold.
pub(crate) fn points(
    x: &Name,
    constraints: &[&Constraint],
    values: &dyn Fn(&Name) -> Option<i64>,
) -> Result<Vec<i64>, Diagnostic> {
    let (mut low, mut high): (Option<i128>, Option<i128>) = (None, None);
    let mut at_least = |line: Line| {
        // slope * x + rest >= 0
        let Line { slope, rest, .. } = line;
        if slope > 0 {
            let least = -(rest.div_euclid(slope));
            low = Some(low.map_or(least, |l| l.max(least)));
        } else if slope < 0 {
            let most = rest.div_euclid(-slope);
            high = Some(high.map_or(most, |h| h.min(most)));
        }
    };
    for c in constraints {
        if let Some(line) = bound(&c.aff, x, true, values) {
            at_least(line);
        }
        if c.kind == Kind::Eq
            && let Some(line) = bound(&c.aff, x, false, values).and_then(|l| l.times(-1))
        {
            at_least(line);
        }
    }
    let (Some(low), Some(high)) = (low, high) else {
        return Err(Diagnostic::new("unbounded", format!("the iname `{x}` has no bound")));
    };
    let range = |v: i128| i64::try_from(v).map_err(|_| Diagnostic::new("overflow", "a bound is too large"));
    if low > high {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for value in range(low)?..=range(high)? {
        let values = |name: &Name| if name == x { Some(value) } else { values(name) };
        let mut all = true;
        for c in constraints {
            match c.holds(&values) {
                Some(holds) => all &= holds,
                None => {
                    return Err(Diagnostic::new("unknown-name", format!("a name in `{c}` has no value")));
                }
            }
        }
        if all {
            found.push(value);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(n: &str) -> Aff {
        Aff::var(n)
    }

    fn of(constraints: &[Constraint]) -> Result<Vec<i64>, Diagnostic> {
        let all: Vec<_> = constraints.iter().collect();
        points(&Name::new("x"), &all, &|name| (*name == "n").then_some(10))
    }

    #[test]
    fn points_satisfy_all_constraints_and_are_all_that_do() {
        let zero = Aff::constant(0);
        let low = Constraint::le(&zero, &v("x")).unwrap();
        let below_n = Constraint::lt(&v("x"), &v("n")).unwrap();
        assert_eq!(of(&[low.clone(), below_n.clone()]).unwrap(), (0..10).collect::<Vec<_>>());
        let even = Constraint::zero(v("x").modulo(2).unwrap());
        assert_eq!(of(&[low.clone(), below_n.clone(), even]).unwrap(), [0, 2, 4, 6, 8]);
        // Bounded through quotients only: -1 <= floor(x/3) and floor((x+1)/3) < 2.
        let quotient = |c: i64| v("x").add_constant(c).unwrap().floor_div(3).unwrap();
        let by_quotient = [
            Constraint::le(&Aff::constant(-1), &quotient(0)).unwrap(),
            Constraint::lt(&quotient(1), &Aff::constant(2)).unwrap(),
        ];
        let brute: Vec<_> =
            (-50i64..50).filter(|x| x.div_euclid(3) >= -1 && (x + 1).div_euclid(3) < 2).collect();
        assert_eq!(of(&by_quotient).unwrap(), brute);
        // 3x = n has no solution, 5x = n has one.
        let times = |k: i64| Constraint::equal(&v("x").scale(k).unwrap(), &v("n")).unwrap();
        assert_eq!(of(&[times(3)]).unwrap(), Vec::<i64>::new());
        assert_eq!(of(&[times(5)]).unwrap(), [2]);
        assert_eq!(of(&[low]).unwrap_err().code, "unbounded");
        // 4 <= 3x <= 11, rounded inwards.
        let scaled = v("x").scale(3).unwrap();
        let between = [
            Constraint::le(&Aff::constant(4), &scaled).unwrap(),
            Constraint::le(&scaled, &Aff::constant(11)).unwrap(),
        ];
        assert_eq!(of(&between).unwrap(), [2, 3]);
    }
}
