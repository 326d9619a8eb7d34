//! Formulas of random conjunctions against their points, one by one.

use loopwright_counts::{Refusal, points};
use loopwright_kernel_ir::{Constraint, Name, parse_constraints, parse_domain};

/// A generator of numbers, the same in every run.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n) as i64
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64)
    }

    fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }
}

const SIZES: [(i64, i64); 9] = [(-3, 4), (0, 0), (1, 0), (1, 1), (2, 5), (5, 2), (7, 7), (12, 3), (9, 14)];

/// The points among those of a box around all of them.
fn brute(dims: &[Name], constraints: &[Constraint], n: i64, m: i64) -> i128 {
    fn walk(dims: &[Name], values: &mut Vec<i64>, constraints: &[Constraint], n: i64, m: i64) -> i128 {
        if values.len() == dims.len() {
            let of = |name: &Name| match name.as_str() {
                "n" => Some(n),
                "m" => Some(m),
                _ => dims.iter().position(|d| d == name).map(|k| values[k]),
            };
            return constraints.iter().all(|c| c.holds(&of).unwrap()).into();
        }
        let mut sum = 0;
        for value in -20..=40 {
            values.push(value);
            sum += walk(dims, values, constraints, n, m);
            values.pop();
        }
        sum
    }
    walk(dims, &mut Vec::new(), constraints, n, m)
}

/// Whether there is a formula; if so, it has to be right at all sizes at which the assumptions
/// hold.
fn check(text: &str, assumptions: &str) -> Result<String, Refusal> {
    let domain = parse_domain(text).unwrap_or_else(|d| panic!("{text}: {d}"));
    let assumed = if assumptions.is_empty() { Vec::new() } else { parse_constraints(assumptions).unwrap() };
    let formula = points(&domain.inames, &domain.constraints, &assumed)?;
    for (n, m) in SIZES {
        let of = |name: &Name| match name.as_str() {
            "n" => Some(n),
            "m" => Some(m),
            _ => None,
        };
        if assumed.iter().all(|c| c.holds(&of).unwrap()) {
            let expected = brute(&domain.inames, &domain.constraints, n, m);
            assert_eq!(formula.eval(&of), Some(expected), "{text} at n={n}, m={m}: {formula}");
        }
    }
    Ok(formula.to_string())
}

#[test]
fn known_domains_have_the_formulas_of_the_books() {
    for (text, assumptions, formula) in [
        ("{ [i] : 0 <= i < n }", "0 <= n", "n"),
        ("{ [i] : 0 <= i < n }", "", "n if 0 <= n"),
        ("{ [i, j] : 0 <= i < n and 0 <= j < m }", "0 <= n and 0 <= m", "m*n"),
        ("{ [i, j] : 0 <= i < n and 0 <= j <= i }", "0 <= n", "(n^2 + n)/2"),
        ("{ [i, j] : 0 <= j <= i < n and 0 <= j }", "0 <= n", "(n^2 + n)/2"),
        ("{ [i] : 0 <= 4*i < n }", "0 <= n", "((n + 3) // 4)"),
        ("{ [o, r] : 0 <= r < 16 and 0 <= 16*o + r < n }", "0 <= n", "n"),
        ("{ [i] : 0 <= i < n and i mod 2 = 1 }", "0 <= n", "(n // 2)"),
        ("{ [i] : 0 <= i < n and i < m }", "0 <= n and n <= m", "n"),
        ("{ [i] : 5 <= i < 3 }", "", "0"),
        ("{ [k] : 0 <= k < 12 and floor(k/4) < 2 }", "", "8"),
    ] {
        assert_eq!(check(text, assumptions).unwrap(), formula, "{text}");
    }
}

#[test]
fn hard_domains_are_exact() {
    for text in [
        "{ [i, j] : 0 <= i < n and 2*i <= 3*j and 5*j <= n + 4*i }",
        "{ [i, j, k] : 0 <= i < n and i <= j < n and j <= k < m }",
        "{ [i, j] : 0 <= i < n and 0 <= j < m and i + j < 9 }",
        "{ [i, j] : 0 <= i < n and 3*j = 2*i + 1 }",
        "{ [i, j] : 0 <= i < n and 0 <= j < floor(i/3) }",
        "{ [i, j] : 0 <= i < n and 0 <= j and 4*j <= i and (i + j) mod 3 = 0 }",
        "{ [i, j] : 0 <= i < n and floor((i + m)/4) <= j < 30 }",
        "{ [t, r, j] : 0 <= r < 4 and 0 <= 4*t + r < n and 0 <= j <= 4*t + r }",
        "{ [t, j] : 0 <= 4*t < n and 0 <= j < 4 and j <= t }",
        "{ [i] : 0 <= i < n and m <= i and i <= 2*m }",
        "{ [i] : 0 <= i < n and floor(2*i/3) mod 2 = 0 }",
        "{ [i, j] : 0 <= i < n and 2*j <= i and i <= 2*j + 1 and j <= 4 }",
    ] {
        check(text, "").unwrap_or_else(|r| panic!("{text}: {r}"));
    }
}

/// Random nests: constraints with floors, strides, several bounds.
#[test]
fn random_domains_are_exact_or_refused_by_name() {
    let mut rng = Rng(2026);
    let (mut right, mut refused) = (0, std::collections::BTreeMap::<&str, usize>::new());
    for _ in 0..400 {
        let dims: &[&str] = if rng.chance(60) { &["i", "j"] } else { &["i"] };
        let mut parts = Vec::new();
        for (k, d) in dims.iter().enumerate() {
            let scale = if rng.chance(25) { format!("{}*", rng.between(2, 4)) } else { String::new() };
            let low = if k > 0 && rng.chance(30) { "i".into() } else { rng.between(-2, 2).to_string() };
            let end = rng.pick(&["n", "m", "n + m", "9", "n - 2"]);
            let end = if k > 0 && rng.chance(40) { "i + 2" } else { end };
            parts.push(format!("{low} <= {scale}{d} < {end}"));
        }
        for _ in 0..rng.below(3) {
            let d = dims[rng.below(dims.len() as u64) as usize];
            let other = rng.pick(&["n", "m", "i"]);
            let (a, b, c) = (rng.between(1, 3), rng.between(-2, 2), rng.between(-3, 9));
            parts.push(match rng.below(4) {
                0 => format!("{a}*{d} + {b}*{other} <= {c}"),
                1 => format!("({d} + {other}) mod {} = {}", a + 1, rng.below(2)),
                2 => format!("floor(({d} + {c})/{}) <= {a}*{other} + {c}", a + 1),
                _ => format!("{b}*{other} <= {d} + {c}"),
            });
        }
        let text = format!("{{ [{}] : {} }}", dims.join(", "), parts.join(" and "));
        match check(&text, if rng.chance(50) { "" } else { "0 <= n and 0 <= m" }) {
            Ok(_) => right += 1,
            Err(refusal) => *refused.entry(refusal.code).or_default() += 1,
        }
    }
    println!("{right} of 400 have a formula; refused: {refused:?}");
    assert!(right >= 390, "{refused:?}");
}

#[test]
fn refusals_name_what_stands_in_the_way() {
    for (text, expected) in [
        ("0 <= i", "error[count-unbounded]: it cannot be counted: `i` has no upper bound"),
        ("i < n", "error[count-unbounded]: it cannot be counted: `i` has no lower bound"),
        (
            "0 <= i < n and floor(3*i/1001) mod 2 = 0",
            "error[count-period]: it cannot be counted: its domain has floors of `i` that repeat only every \
             1001 values",
        ),
        (
            // Cases of all residues of `i` and of both bounds.
            "0 <= i < n and floor((i + m)/4) <= j < floor((i + m)/2) and j < 30",
            "error[count-size]: it cannot be counted: it takes too many cases of the parameters",
        ),
        (
            "7*n <= 4611686018427387903*i and 4611686018427387901*i <= 11*m",
            "error[count-overflow]: it cannot be counted: a coefficient of the formula does not fit",
        ),
    ] {
        let refusal =
            check(&format!("{{ [i{}] : {text} }}", if text.contains('j') { ", j" } else { "" }), "")
                .unwrap_err();
        assert_eq!(refusal.about("it").to_string(), expected, "{text}");
    }
}
