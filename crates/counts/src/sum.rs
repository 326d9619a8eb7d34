//! Sums of quasi-polynomials over an interval.
//!
//! The *antidifference* of `p` in `x` is the function `G` with `G(t) - G(t - 1) = p(t)` for all
//! integers `t`, and `G(-1) = 0`. The sum over `low <= x <= high` is then `G(high) - G(low - 1)`,
//! for empty intervals too if `high = low - 1`.
//!
//! * Without floors in `x`, by Faulhaber's formulas.
//! * With `floor((x + h)/d)`: along `y = x + h = d*q + r`, whole blocks of `d` are summed over `r`
//!   and then over `q`, and what is left of the last block over `r` alone. This takes one new
//!   floor, however great `d` is. `floor((h - x)/d)` is that of `-x`.
//! * Other floors, such as `floor(3*x/5)`: the residues of `x` are summed one by one.

use std::collections::BTreeMap;

use loopwright_poly::{Aff, FloorDiv, Name, Term};

use crate::{
    Refusal,
    floors::floor_div,
    polynomial::QuasiPolynomial,
    rational::{Rational, gcd},
};

/// The greatest number of residues that are summed one by one.
pub(crate) const RESIDUES: i64 = 64;

/// How deep sums of sums may go.
const DEPTH: usize = 24;

/// The greatest number of sums of one count.
const SUMS: usize = 1_000;

/// Names that no text can spell, and the work that a count may still take.
pub(crate) struct Fresh {
    names: usize,
    sums: usize,
}

impl Fresh {
    pub fn new() -> Fresh {
        Fresh { names: 0, sums: 0 }
    }

    pub fn name(&mut self) -> Name {
        self.names += 1;
        Name::new(format!("\u{0}{}", self.names))
    }

    fn sum(&mut self) -> Result<(), Refusal> {
        self.sums += 1;
        if self.sums > SUMS {
            return Err(Refusal::new("count-size", "its formula takes too many sums"));
        }
        Ok(())
    }
}

/// The sum of `p` over `low <= x <= high`, where `low` is at most `high + 1`.
pub(crate) fn sum(
    p: &QuasiPolynomial,
    x: &Name,
    low: &Aff,
    high: &Aff,
    fresh: &mut Fresh,
) -> Result<QuasiPolynomial, Refusal> {
    let before = low.add_constant(-1)?;
    antidifference(p, x, high, fresh, 0)?.minus(&antidifference(p, x, &before, fresh, 0)?)
}

/// The antidifference of `p` in `x`, at `t`.
fn antidifference(
    p: &QuasiPolynomial,
    x: &Name,
    t: &Aff,
    fresh: &mut Fresh,
    depth: usize,
) -> Result<QuasiPolynomial, Refusal> {
    if depth > DEPTH {
        return Err(Refusal::new("count-size", "its floors are nested too deeply"));
    }
    fresh.sum()?;
    let floors = p.floors_with(x);
    if floors.is_empty() {
        return faulhaber(p, x, t);
    }
    // The greatest divisor first: smaller ones divide it where an iname was split repeatedly.
    let simple = |term: &Term| match term {
        Term::Div(div) => {
            let slope = div.numerator.coefficient(x);
            let rest = div.numerator.sub(&Aff::var(x).scale(slope).ok()?).ok()?;
            (slope.abs() == 1 && !rest.mentions(x)).then_some((div.denominator, slope, rest, term.clone()))
        }
        Term::Var(_) => None,
    };
    match floors.iter().filter_map(simple).max_by_key(|(d, slope, ..)| (*d, *slope)) {
        Some((d, 1, shift, term)) => blocks(p, x, t, d, &shift, &term, fresh, depth),
        Some(_) => {
            // p(-z) from 0 down.
            let z = fresh.name();
            let minus = Aff::var(&z).neg()?;
            let mirrored = p.substitute(&|n| (n == x).then(|| minus.clone()))?;
            let end = antidifference(&mirrored, &z, &Aff::constant(0), fresh, depth + 1)?;
            let start = antidifference(&mirrored, &z, &t.neg()?.add_constant(-1)?, fresh, depth + 1)?;
            end.minus(&start)
        }
        None => residues(p, x, t, &floors, fresh, depth),
    }
}

/// With `term = floor((x + shift) / d)` in `p`.
#[expect(clippy::too_many_arguments, reason = "one step of the recursion above, with its state")]
fn blocks(
    p: &QuasiPolynomial,
    x: &Name,
    t: &Aff,
    d: i64,
    shift: &Aff,
    term: &Term,
    fresh: &mut Fresh,
    depth: usize,
) -> Result<QuasiPolynomial, Refusal> {
    let (q, r) = (fresh.name(), fresh.name());
    // The quotient first, while it is recognised; then x = d*q + r - shift.
    let quotient = |t: &Term| Ok((t == term).then(|| Aff::var(&q)));
    let value = Aff::var(&q).scale(d)?.add(&Aff::var(&r))?.sub(shift)?;
    let inside = p.replace_terms(&quotient)?.substitute(&|n| (n == x).then(|| value.clone()))?;
    let block = antidifference(&inside, &r, &Aff::constant(d - 1), fresh, depth + 1)?;
    let mut up_to = |s: &Aff| -> Result<QuasiPolynomial, Refusal> {
        let whole = floor_div(&s.add_constant(1)?, d)?;
        let blocks = antidifference(&block, &q, &whole.add_constant(-1)?, fresh, depth + 1)?;
        let last = inside.substitute(&|n| (*n == q).then(|| whole.clone()))?;
        let rest = s.sub(&whole.scale(d)?)?;
        blocks.plus(&antidifference(&last, &r, &rest, fresh, depth + 1)?)
    };
    let end = up_to(&t.add(shift)?)?;
    let start = up_to(&shift.add_constant(-1)?)?;
    end.minus(&start)
}

/// The sum up to `t`, residue by residue of `x`: for each, the floors are linear in the quotient.
fn residues(
    p: &QuasiPolynomial,
    x: &Name,
    t: &Aff,
    floors: &std::collections::BTreeSet<Term>,
    fresh: &mut Fresh,
    depth: usize,
) -> Result<QuasiPolynomial, Refusal> {
    let mut period = 1i64;
    for floor in floors {
        if let Term::Div(div) = floor {
            period = lcm(period, period_of(div, x))?;
        }
    }
    if period > RESIDUES {
        let message = format!("it has floors that repeat only every {period} values");
        return Err(Refusal::new("count-period", message));
    }
    let q = fresh.name();
    let mut sum = QuasiPolynomial::default();
    for r in 0..period {
        let value = Aff::var(&q).scale(period)?.add_constant(r)?;
        let own = p.substitute(&|n| (n == x).then(|| value.clone()))?;
        let last = floor_div(&t.add_constant(-r)?, period)?;
        sum = sum.plus(&antidifference(&own, &q, &last, fresh, depth + 1)?)?;
    }
    Ok(sum)
}

/// A number of values of `x` after which a floor has grown by a constant for sure.
pub(crate) fn period_of(div: &FloorDiv, x: &str) -> i64 {
    let mut inside = 1;
    let mut slope: i128 = 0;
    for (term, c) in div.numerator.terms() {
        match term {
            Term::Var(n) if **n == *x => slope += i128::from(*c),
            Term::Div(inner) if inner.numerator.mentions(x) => {
                inside = lcm(inside, period_of(inner, x)).unwrap_or(i64::MAX);
                slope += 1;
            }
            _ => {}
        }
    }
    let own = i128::from(div.denominator) / gcd(slope, div.denominator.into()).max(1);
    if inside == 1 {
        return i64::try_from(own).unwrap_or(i64::MAX);
    }
    inside.checked_mul(div.denominator).unwrap_or(i64::MAX)
}

fn lcm(a: i64, b: i64) -> Result<i64, Refusal> {
    let g = i64::try_from(gcd(a.into(), b.into())).unwrap_or(1).max(1);
    (a / g).checked_mul(b).ok_or_else(Refusal::overflow)
}

/// The antidifference of a polynomial: `1 + ... + t^k` for each power.
fn faulhaber(p: &QuasiPolynomial, x: &Name, t: &Aff) -> Result<QuasiPolynomial, Refusal> {
    let coefficients = p.coefficients(x)?;
    let highest = coefficients.keys().next_back().copied().unwrap_or(0);
    let argument = QuasiPolynomial::affine(t)?;
    let mut powers = vec![QuasiPolynomial::constant(1)];
    for k in 0..=highest as usize {
        powers.push(powers[k].times(&argument)?);
    }
    let mut sum = QuasiPolynomial::default();
    for (k, coefficient) in coefficients {
        let mut of_power = QuasiPolynomial::default();
        for (power, c) in power_sum(k)? {
            of_power = of_power.plus(&powers[power as usize].scale(c)?)?;
        }
        sum = sum.plus(&coefficient.times(&of_power)?)?;
    }
    Ok(sum)
}

/// `0^k + 1^k + ... + t^k` as a polynomial of `t`: coefficients by power, from the recursion
/// `(t + 1)^(k + 1) = sum of binomial(k + 1, j) * S_j(t) over j = 0 ..= k`.
fn power_sum(k: u32) -> Result<BTreeMap<u32, Rational>, Refusal> {
    let mut known: Vec<BTreeMap<u32, Rational>> = Vec::new();
    for k in 0..=k {
        let mut own: BTreeMap<u32, Rational> = BTreeMap::new();
        let mut add = |power: u32, c: Rational| -> Result<(), Refusal> {
            let entry = own.entry(power).or_insert(Rational::ZERO);
            *entry = entry.plus(c)?;
            Ok(())
        };
        for j in 0..=k + 1 {
            add(j, binomial(k + 1, j)?)?;
        }
        for (j, lower) in known.iter().enumerate() {
            let factor = binomial(k + 1, j as u32)?.times(Rational::whole(-1))?;
            for (power, c) in lower {
                add(*power, c.times(factor)?)?;
            }
        }
        let share = Rational::new(1, i128::from(k) + 1)?;
        for c in own.values_mut() {
            *c = c.times(share)?;
        }
        own.retain(|_, c| !c.is_zero());
        known.push(own);
    }
    known.pop().ok_or_else(Refusal::overflow)
}

fn binomial(n: u32, k: u32) -> Result<Rational, Refusal> {
    let mut product = Rational::ONE;
    for i in 0..k {
        product = product.times(Rational::new(i128::from(n - i), i128::from(i) + 1)?)?;
    }
    Ok(product)
}

/// The bound `ceil(numerator / denominator)`.
pub(crate) fn ceil(numerator: &Aff, denominator: i64) -> Result<Aff, Refusal> {
    Ok(floor_div(&numerator.add_constant(denominator - 1)?, denominator)?)
}

/// The bound `floor(numerator / denominator)`.
pub(crate) fn floor(numerator: &Aff, denominator: i64) -> Result<Aff, Refusal> {
    Ok(floor_div(numerator, denominator)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floors::term_aff;

    fn v(n: &str) -> Aff {
        Aff::var(n)
    }

    /// `p` summed by hand over all small intervals, empty ones of length 0 included.
    fn check(p: &[(Aff, u32)]) {
        let x = Name::new("x");
        let mut q = QuasiPolynomial::constant(1);
        for (aff, power) in p {
            for _ in 0..*power {
                q = q.times(&QuasiPolynomial::affine(aff).unwrap()).unwrap();
            }
        }
        let total = sum(&q, &x, &v("l"), &v("u"), &mut Fresh::new()).unwrap();
        for h in [-5i64, 0, 7] {
            for l in -9i64..9 {
                let mut expected = 0i128;
                for u in l - 1..l + 23 {
                    let at = |x: i64| {
                        let values = |n: &Name| if *n == "x" { Some(x) } else { Some(h) };
                        q.eval(&values).unwrap()
                    };
                    if u >= l {
                        expected += at(u);
                    }
                    let values = |n: &Name| match n.as_str() {
                        "l" => Some(l),
                        "u" => Some(u),
                        _ => Some(h),
                    };
                    assert_eq!(total.eval(&values), Some(expected), "{q} over {l}..={u}, h = {h}: {total}");
                }
            }
        }
    }

    #[test]
    fn sums_of_powers_are_those_of_faulhaber() {
        check(&[]);
        for power in 1..6 {
            check(&[(v("x"), power)]);
        }
        check(&[(v("x").add(&v("h")).unwrap(), 3)]);
    }

    #[test]
    fn sums_with_floors_are_exact_on_negative_values_too() {
        let by = |aff: &Aff, d: i64| floor_div(aff, d).unwrap();
        let shifted = v("x").add(&v("h")).unwrap();
        check(&[(by(&v("x"), 4), 1)]);
        check(&[(by(&shifted, 4), 2), (v("x"), 1)]);
        check(&[(by(&v("h").sub(&v("x")).unwrap(), 3), 1)]);
        check(&[(by(&v("x"), 4), 1), (by(&v("x"), 16), 1)]);
        check(&[(by(&v("x"), 4), 1), (by(&shifted, 6), 1)]);
        check(&[(by(&v("x").scale(3).unwrap().add(&v("h")).unwrap(), 5), 2)]);
        check(&[(by(&v("x").scale(2).unwrap(), 6), 1)]);
        // A floor inside a floor that is not alone.
        let nested = by(&by(&v("x"), 2).scale(3).unwrap().add(&v("x")).unwrap(), 5);
        check(&[(nested, 1)]);
    }

    #[test]
    fn a_great_divisor_takes_few_terms() {
        let q = QuasiPolynomial::affine(&floor_div(&v("x"), 1024).unwrap()).unwrap();
        let total =
            sum(&q, &Name::new("x"), &Aff::constant(0), &v("n").add_constant(-1).unwrap(), &mut Fresh::new());
        let total = total.unwrap();
        assert_eq!(total.to_string(), "n*(n // 1024) - 512*(n // 1024)^2 - 512*(n // 1024)");
        let by_hand: i64 = (0..5000i64).map(|x| x / 1024).sum();
        assert_eq!(total.eval(&|_| Some(5000)), Some(by_hand.into()));
    }

    #[test]
    fn floors_are_reduced() {
        let all = [
            floor_div(&v("x").scale(2).unwrap().add_constant(1).unwrap(), 4).unwrap(),
            floor_div(&floor_div(&v("x"), 4).unwrap().add_constant(3).unwrap(), 4).unwrap(),
        ];
        let texts: Vec<String> =
            all.iter().map(|a| QuasiPolynomial::affine(a).unwrap().to_string()).collect();
        assert_eq!(texts, ["(x // 2)", "((x + 12) // 16)"]);
        // A reduced floor is found again as the same term.
        for (term, _) in all.iter().flat_map(Aff::terms) {
            assert_eq!(term_aff(term).unwrap().terms(), [(term.clone(), 1)]);
        }
    }
}
