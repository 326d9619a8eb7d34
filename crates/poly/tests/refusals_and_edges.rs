//! Refusals, and answers that only one code path gives: distant ends, pieces of unions, large
//! coefficients.

use loopwright_poly::{Aff, Constraint, Error, Name, System, with_budget, with_isl_only};

use crate::short::{is_space_error, k, map, set, v};

/// Two terms become one, whose coefficient has more than 64 bits.
#[test]
fn terms_that_are_joined_do_not_overflow() {
    let half = 1 << 62;
    let both = |x: i64, y: i64| v("x").scale(x).unwrap().add(&v("y").scale(y).unwrap()).unwrap();
    let joined = |aff: Aff| aff.rename(&|n| (**n == *"y").then(|| Name::new("x")));
    assert_eq!(joined(both(half, half)), Err(Error::Overflow));
    assert_eq!(joined(both(-half, -half)), Err(Error::Overflow));
    assert_eq!(joined(both(half, half - 1)), v("x").scale(i64::MAX));
    assert_eq!(joined(both(half, -half)), Ok(k(0)));
}

/// The projection is a union of two pieces, since either bound may be the greater one; the system
/// given instead has all of its points.
#[test]
fn what_stands_for_a_union_contains_it() {
    let le = |a: Aff, b: Aff| Constraint::le(&a, &b).unwrap();
    let x = |c: i64| v("x").scale(c).unwrap();
    let system = System::new(&[le(v("n"), x(3)), le(v("p"), x(7)), le(x(5), v("m"))]).unwrap();
    let check = || {
        let found = system.eliminate(&[Name::new("x")]).unwrap();
        for n in -8..8 {
            for p in -16..16 {
                for m in -12..12 {
                    let some = (-10..10).any(|x| n <= 3 * x && p <= 7 * x && 5 * x <= m);
                    let values = |name: &Name| {
                        Some(if *name == "n" {
                            n
                        } else if *name == "p" {
                            p
                        } else {
                            m
                        })
                    };
                    let holds = found.system.holds(&values).unwrap();
                    assert!(!some || holds, "n={n} p={p} m={m} is lost: {}", found.system);
                    assert!(!found.exact || some == holds, "n={n} p={p} m={m} is no point: {}", found.system);
                }
            }
        }
    };
    check();
    with_isl_only(check);
}

/// `v = 7 mod 1000 = 5 mod 999` is `v = 997007 mod 999000`: far from the real ends, on both sides
/// of zero.
#[test]
fn ends_that_are_far_from_the_real_ones_are_found() {
    let equal = |m: i64, r: i64| Constraint::equal(&v("v").modulo(m).unwrap(), &k(r)).unwrap();
    let range = |low: i64, high: i64| {
        let ends = [Constraint::le(&k(low), &v("v")).unwrap(), Constraint::le(&v("v"), &k(high)).unwrap()];
        let system = System::new(&[&ends[..], &[equal(1000, 7), equal(999, 5)]].concat()).unwrap();
        let sum = v("v").scale(2).unwrap().add_constant(1).unwrap();
        (system.constant_range(&v("v")).unwrap(), system.constant_range(&sum).unwrap())
    };
    assert_eq!(range(0, 10_000_000), ((Some(997_007), Some(9_988_007)), (Some(1_994_015), Some(19_976_015))));
    // 997007 - 999000 = -1993.
    assert_eq!(
        range(-1_500_000, 900_000),
        ((Some(-1_000_993), Some(-1993)), (Some(-2_001_985), Some(-3985)))
    );
    assert_eq!(range(0, 900_000), ((Some(0), Some(-1)), (Some(0), Some(-1))));
}

/// Of v = 7 mod 1000, the points are those whose thousands are the last 50 of each 700, so the
/// first one is far from either end.
#[test]
fn ends_behind_wide_gaps_are_found() {
    let thousands = v("v").floor_div(1000).unwrap();
    let range = |low: i64, high: i64| {
        let system = System::new(&[
            Constraint::le(&k(low), &v("v")).unwrap(),
            Constraint::le(&v("v"), &k(high)).unwrap(),
            Constraint::equal(&v("v").modulo(1000).unwrap(), &k(7)).unwrap(),
            Constraint::le(&k(650), &thousands.modulo(700).unwrap()).unwrap(),
        ]);
        system.unwrap().constant_range(&v("v")).unwrap()
    };
    let check = || {
        assert_eq!(range(0, 1_000_000), (Some(650_007), Some(699_007)));
        // The thousands -750 to -701, and -50 to -1.
        assert_eq!(range(-1_000_000, 0), (Some(-749_993), Some(-993)));
        assert_eq!(range(0, 600_000), (Some(0), Some(-1)));
    };
    check();
    with_isl_only(check);
}

/// The pieces of a union that have no point do not affect the range: 27 <= 11i + 13j <= 45 and -10
/// <= 7i - 9j <= 4 has real points only.
#[test]
fn pieces_without_points_have_no_range() {
    let gap = "27 <= 11i + 13j <= 45 and -10 <= 7i - 9j <= 4";
    for text in [
        format!("{{ [i, j] : {gap} or (5 <= i <= 7 and j = 9) }}"),
        format!("{{ [i, j] : (5 <= i <= 7 and j = 9) or {gap} }}"),
    ] {
        assert_eq!(set(&text).constant_range(&v("i")).unwrap(), (Some(5), Some(7)));
        assert_eq!(set(&text).constant_range(&v("j")).unwrap(), (Some(9), Some(9)));
    }
    assert_eq!(set(&format!("{{ [i, j] : {gap} }}")).constant_range(&v("i")).unwrap(), (Some(0), Some(-1)));
}

/// Pieces that become equal in a projection are merged.
#[test]
fn equal_pieces_of_a_projection_are_one() {
    let rows = set("{ [i, j] : (0 <= i < 5 and j = 0) or (0 <= i < 5 and j = 1) or (i = 9 and j = 2) }");
    let line = rows.project_out(&[Name::new("j")]).unwrap();
    assert_eq!(line.disjuncts().len(), 2, "{line}");
    assert!(line.is_equal(&set("{ [i] : 0 <= i < 5 or i = 9 }")).unwrap());
}

/// A division in a projection is not defined twice: with `x` between `n - 2` and `n` over 4, only
/// `n mod 4 <= 2` remains.
#[test]
fn a_division_of_a_projection_is_not_defined_in_it() {
    let n = |names: &[(&str, i64)]| {
        names.iter().fold(k(1), |sum, (name, c)| sum.add(&v(name).scale(*c).unwrap()).unwrap())
    };
    for names in [&[("n", 1)][..], &[("n", 1), ("m", 1)], &[("p", 3), ("n", 2), ("m", -1)]] {
        let (n, x) = (n(names), v("x").scale(4).unwrap());
        let ends =
            [Constraint::le(&n.add_constant(-2).unwrap(), &x).unwrap(), Constraint::le(&x, &n).unwrap()];
        let found = System::new(&ends).unwrap().eliminate(&[Name::new("x")]).unwrap();
        assert!(found.exact && found.system.constraints().len() == 1, "{}", found.system);
        let rest = Constraint::le(&n.modulo(4).unwrap(), &k(2)).unwrap();
        let rest = System::new(&[rest]).unwrap();
        assert!(rest.implies_all(found.system.constraints()).unwrap());
        assert!(found.system.implies_all(rest.constraints()).unwrap());
    }
}

#[test]
fn only_names_of_the_space_are_projected_out() {
    let points = set("[n] -> { [i, j] : 0 <= i < j < n }");
    is_space_error(points.project_out(&[Name::new("k")]));
    is_space_error(points.project_out(&[Name::new("i"), Name::new("k")]));
    assert_eq!(
        points.project_out(&[Name::new("n"), Name::new("j")]).unwrap().to_string(),
        "{ [i] : 0 <= i }"
    );
    let moved = map("[n] -> { [i] -> [o] : o = i + n }");
    is_space_error(moved.project_out(&[Name::new("k")]));
    for name in ["n", "i", "o"] {
        let rest = moved.project_out(&[Name::new(name)]).unwrap();
        let left = [rest.params(), rest.ins(), rest.outs()].concat();
        assert_eq!(left.len(), 2, "{rest}");
        assert!(!left.contains(&Name::new(name)), "{rest}");
    }
}

#[test]
fn maps_are_put_together_where_the_spaces_in_between_are_the_same() {
    let one = map("{ A[i] -> B[i + 1] }");
    let two = map("{ B[j] -> C[2j] }");
    assert_eq!(one.then(&two).unwrap(), map("{ A[i] -> C[2i + 2] }"));
    is_space_error(two.then(&one));
    is_space_error(one.then(&map("{ [j] -> C[2j] }")));
    is_space_error(map("{ [i] -> [i + 1] }").then(&map("{ [i, j] -> [i] }")));
    is_space_error(map("{ [i] -> [i, i] }").then(&map("{ [i] -> [i] }")));
    // The names of the tuples go with the map.
    let plain = map("{ [i] -> [i + 1] }");
    let named = plain.clone().with_tuples(Some(Name::new("A")), Some(Name::new("B")));
    assert_eq!(named.tuples(), (Some(&Name::new("A")), Some(&Name::new("B"))));
    assert_eq!(named, one);
    assert_eq!(named.with_tuples(None, None), plain);
}

/// A divisor that is not positive is refused before anything is divided by it.
#[test]
fn divisors_are_positive() {
    for denominator in [0, -1, i64::MIN] {
        is_space_error(v("i").floor_div(denominator));
    }
    assert_eq!(v("i").floor_div(1).unwrap(), v("i"));
}

/// Coefficients for which sums of products overflow 128 bits.
#[test]
fn coefficients_may_be_as_large_as_they_get() {
    const A: i64 = i64::MAX;
    let row = |x: i64, y: i64, constant: i64| {
        let sum = v("x").scale(x).unwrap().add(&v("y").scale(y).unwrap()).unwrap();
        Constraint::nonneg(sum.add_constant(constant).unwrap())
    };
    for constant in [-A, -A + 2, 0, A] {
        let system =
            System::new(&[row(A, 2, constant), row(-A, 2, constant), row(0, 1, 9), row(0, -1, 9)]).unwrap();
        // With |y| <= 9 and c = -A there is no x with A*x >= A - 18 and A*x <= -A + 18; otherwise x
        // = 0 is one for some y or all.
        match system.eliminate(&[Name::new("x")]) {
            Ok(found) => {
                for y in -9i64..=9 {
                    let (y, c) = (i128::from(y), i128::from(constant));
                    let some = (-2..=2)
                        .any(|x| i128::from(A) * x + 2 * y + c >= 0 && -i128::from(A) * x + 2 * y + c >= 0);
                    // `None` if the value itself overflows 64 bits.
                    let Some(holds) = found.system.holds(&|_| Some(y as i64)) else { continue };
                    assert!(!some || holds, "c={constant} y={y}: {}", found.system);
                    assert!(!found.exact || some == holds, "c={constant} y={y}: {}", found.system);
                }
            }
            Err(e) => assert!(matches!(e, Error::Overflow | Error::Budget | Error::Isl(_)), "{e}"),
        }
    }
}

/// A constraint without names holds everywhere or nowhere.
#[test]
fn constants_are_implied_where_they_hold() {
    let some = System::new(&[Constraint::le(&k(0), &v("i")).unwrap()]).unwrap();
    for system in [System::default(), some] {
        for constant in [-2, -1, 0, 1, 2] {
            let (ge, eq) = (Constraint::nonneg(k(constant)), Constraint::zero(k(constant)));
            assert_eq!(system.implies(&ge), Ok(constant >= 0), "{constant}");
            assert_eq!(system.implies(&eq), Ok(constant == 0), "{constant}");
            assert_eq!(System::nothing().implies(&eq), Ok(true), "{constant}");
        }
    }
}

/// Of constraints that are equivalent in a context, the simplest one is kept, whatever its
/// position.
#[test]
fn the_simplest_of_equal_constraints_is_kept() {
    let le = |a: Aff, b: i64| Constraint::le(&a, &k(b)).unwrap();
    let equal = Constraint::equal(&v("i"), &v("j")).unwrap();
    let even = Constraint::equal(&v("i").modulo(2).unwrap(), &k(0)).unwrap();
    let context = System::new(&[equal, even]).unwrap();
    let half = v("i").floor_div(2).unwrap();
    let simple = le(v("i"), 6);
    for longer in [le(v("i").add(&v("j")).unwrap(), 12), le(v("i").scale(2).unwrap(), 12), le(half, 3)] {
        for both in [[simple.clone(), longer.clone()], [longer.clone(), simple.clone()]] {
            let left = System::new(&both).unwrap().gist(&context).unwrap();
            assert_eq!(left, std::slice::from_ref(&simple), "{longer}");
        }
    }
}

/// The exact projection without a name, with a budget too small for isl.
fn without(name: &str, constraints: &[Constraint]) -> Vec<String> {
    let system = System::new(constraints).unwrap();
    let found = with_budget(1, || system.eliminate(&[Name::new(name)])).unwrap();
    assert!(found.exact, "{system}: {}", found.system);
    found.system.constraints().iter().map(Constraint::to_string).collect()
}

fn sum(terms: &[(i64, &str)], constant: i64) -> Aff {
    let add = |sum: Aff, (c, name): &(i64, &str)| sum.add(&v(name).scale(*c).unwrap()).unwrap();
    terms.iter().fold(k(constant), add)
}

/// Pairs of bounds whose real shadow is the projection, each with its simplest form.
#[test]
fn exact_pairs_leave_their_real_shadow() {
    let nonneg = |terms: &[(i64, &str)], constant: i64| Constraint::nonneg(sum(terms, constant));
    // A unit coefficient, however large the other one is.
    let far = 1 << 41;
    let pair = [nonneg(&[(1, "x"), (-1, "y")], 0), nonneg(&[(-far, "x"), (1, "n")], 0)];
    assert_eq!(without("x", &pair), [format!("{far}*y <= n")]);
    // -y <= 2x and 3x <= 2y + 1 is 7y >= -2, and the dark shadow 7y >= 0 has the same integers.
    let pair = [nonneg(&[(2, "x"), (1, "y")], 0), nonneg(&[(-3, "x"), (2, "y")], 1)];
    assert_eq!(without("x", &pair), ["0 <= y"]);
    // Of three consecutive numbers one is a multiple of three.
    let pair = [nonneg(&[(3, "x"), (1, "y")], 0), nonneg(&[(-3, "x"), (-1, "y")], 2)];
    assert!(without("x", &pair).is_empty());
}

/// A floor of kept names makes a pair exact; the inequalities that define it are not constraints.
#[test]
fn floors_of_kept_names_are_not_defined_in_a_projection() {
    let pair = [
        Constraint::nonneg(sum(&[(-4, "x"), (1, "n")], 0)),
        Constraint::nonneg(sum(&[(3, "x"), (-1, "m")], 0)),
    ];
    let left = without("x", &pair);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].contains("floor("), "{left:?}");
}

/// `b` is eliminated first, since it has unit coefficients: 3a <= b <= 2a + n leaves a <= n.
#[test]
fn what_goes_exactly_goes_first() {
    let list = [
        Constraint::nonneg(sum(&[(-3, "a"), (1, "b")], 0)),
        Constraint::nonneg(sum(&[(2, "a"), (-1, "b"), (1, "n")], 0)),
        Constraint::nonneg(sum(&[(5, "a"), (-1, "m")], 0)),
    ];
    let system = System::new(&list).unwrap();
    let found = with_budget(1, || system.eliminate(&[Name::new("a"), Name::new("b")])).unwrap();
    assert!(found.exact, "{}", found.system);
    let expected = System::new(&[Constraint::nonneg(sum(&[(5, "n"), (-1, "m")], 0))]).unwrap();
    assert!(found.system.implies_all(expected.constraints()).unwrap());
    assert!(expected.implies_all(found.system.constraints()).unwrap());
}

/// Neither name can be eliminated exactly, and the dark shadow of `x` has only the point y = 1:
/// 2y - 2 >= 0.
#[test]
fn a_point_of_the_dark_shadow_is_a_point() {
    let system = System::new(&[
        Constraint::nonneg(sum(&[(3, "x"), (-2, "y")], 0)),
        Constraint::nonneg(sum(&[(-5, "x"), (4, "y")], 2)),
        Constraint::nonneg(v("y")),
        Constraint::nonneg(sum(&[(-1, "y")], 1)),
    ]);
    assert_eq!(with_budget(1, || system.unwrap().is_empty()), Ok(false));
}

/// -2^63*y >= 0 is y <= 0, whose coefficients can all be negated.
#[test]
fn the_least_number_is_no_coefficient() {
    let far = 1 << 62;
    let pair = [
        Constraint::nonneg(sum(&[(1, "x"), (-far, "y")], 0)),
        Constraint::nonneg(sum(&[(-1, "x"), (-far, "y")], 0)),
    ];
    match System::new(&pair).unwrap().eliminate(&[Name::new("x")]) {
        Ok(found) => assert_eq!(found.system.to_string(), "y <= 0"),
        Err(e) => assert!(matches!(e, Error::Overflow | Error::Isl(_)), "{e}"),
    }
}

/// The lexicographically least point does not need isl if each output has one lower bound.
#[test]
fn extremes_of_plain_boxes_are_plain() {
    let pairs = map("[n] -> { [i] -> [a, b] : i <= a < n and a + i <= b <= n }");
    let least = with_budget(1, || pairs.lexmin()).unwrap();
    let expected = map("[n] -> { [i] -> [a, b] : a = i and b = 2i and i < n and 2i <= n }");
    assert!(least.is_equal(&expected).unwrap(), "{least}");
    let pairs = map("[n] -> { [i] -> [a, b] : 0 <= a <= i and a <= b and b <= a + n }");
    let greatest = with_budget(1, || pairs.lexmax()).unwrap();
    let expected = map("[n] -> { [i] -> [a, b] : a = i and b = i + n and 0 <= i and 0 <= n }");
    assert!(greatest.is_equal(&expected).unwrap(), "{greatest}");
}

/// Of two lower bounds, the one that follows from the other and the constraints on other names is
/// dropped; the least value may be a function of these names.
#[test]
fn a_bound_that_follows_is_none() {
    let le = |a: Aff, b: Aff| Constraint::le(&a, &b).unwrap();
    let system =
        System::new(&[le(k(3), v("n")), le(k(0), v("i")), le(v("n"), v("i")), le(v("i"), v("m"))]).unwrap();
    let i = Name::new("i");
    let keep = |n: &Name| *n != "i";
    let bounds = system.bounds(&i, &keep).unwrap();
    assert_eq!((bounds.lower.len(), bounds.upper.len()), (1, 1));
    assert_eq!(bounds.lower[0].ceil().unwrap(), v("n"));
    assert_eq!(bounds.upper[0].floor().unwrap(), v("m"));
    // The same without an end on the other side.
    let system = System::new(&[le(k(3), v("n")), le(k(0), v("i")), le(v("n"), v("i"))]).unwrap();
    let bounds = system.bounds(&i, &keep).unwrap();
    assert_eq!((bounds.lower.len(), bounds.upper.len()), (1, 0));
    let system = System::new(&[le(v("n"), v("i")), le(v("i"), v("m"))]).unwrap();
    assert_eq!(system.least_value(&i, &keep).unwrap(), Some(v("n")));
}

/// The constant at which another name begins is none from which to count this one's values, though
/// it is one of these.
#[test]
fn a_least_value_is_stated_of_the_name_itself() {
    let le = |a: Aff, b: Aff| Constraint::le(&a, &b).unwrap();
    let system =
        System::new(&[le(v("m"), v("i")), le(v("i"), k(9)), le(k(5), v("j")), le(v("j"), v("n"))]).unwrap();
    let least = |name: &str, keep: &str| system.least_value(&Name::new(name), &|n| *n == *keep).unwrap();
    assert_eq!(least("i", "m"), Some(v("m")));
    assert_eq!(least("j", "n"), Some(k(5)));
}

#[test]
fn unions_of_two_are_joined_and_separated() {
    let two = set("{ [i] : 0 <= i < 5 or 5 <= i < 9 }");
    assert_eq!(two.disjuncts().len(), 2);
    assert_eq!(two.coalesce().unwrap().to_string(), "{ [i] : 0 <= i and i <= 8 }");
    let both = set("{ [i] : 0 <= i < 6 or 3 <= i < 9 }").make_disjoint().unwrap();
    for i in -1..10 {
        let at = |_: &Name| Some(i);
        let holding = both.disjuncts().iter().filter(|s| s.holds(&at) == Some(true)).count();
        assert_eq!(holding, usize::from((0..9).contains(&i)), "{i}: {both}");
    }
    let three = set("{ [i] : 0 <= i < 5 or 5 <= i < 9 or 7 <= i < 12 }");
    assert_eq!(three.coalesce().unwrap().disjuncts().len(), 1);
    let apart = three.make_disjoint().unwrap();
    for i in -1..13 {
        let holding = apart.disjuncts().iter().filter(|s| s.holds(&|_: &Name| Some(i)) == Some(true)).count();
        assert_eq!(holding, usize::from((0..12).contains(&i)), "{i}: {apart}");
    }
}

/// Strides are relaxed by plain elimination, which takes systems of up to 300 rows: here the ranges
/// of parameters, a bound of `x`, and the equation that makes it a multiple of four, from which the
/// inequalities of the quotient follow.
#[test]
fn strides_are_relaxed_in_systems_of_limited_size() {
    let bounds = |parameters: usize| {
        let mut rows =
            vec![Constraint::zero(v("x").modulo(4).unwrap()), Constraint::le(&v("p0"), &v("x")).unwrap()];
        rows.extend((0..parameters).map(|n| Constraint::nonneg(v(&format!("p{n}")))));
        let found = System::new(&rows).unwrap().bounds(&Name::new("x"), &|_| true)?;
        Ok((found.lower.len(), found.upper.len(), found.guards.len(), found.rest.len()))
    };
    assert_eq!(bounds(298), Ok((1, 0, 1, 298)));
    assert_eq!(bounds(299), Err(Error::Budget));
}

/// The column that adds the fewest rows is eliminated first: `b`, which nothing bounds from above,
/// goes with all rows that it is in, and then nothing bounds `x` from below. The other way round,
/// there would be too many rows in between for an answer without isl.
#[test]
fn what_is_unbounded_goes_first() {
    let mut rows = Vec::new();
    for n in 0..14 {
        rows.push(Constraint::le(&v(&format!("q{n}")), &v("x").add(&v("b")).unwrap()).unwrap());
    }
    for n in 0..20 {
        rows.push(Constraint::le(&v("x"), &v(&format!("r{n}"))).unwrap());
    }
    for n in 0..262 {
        rows.push(Constraint::le(&v(&format!("p{n}")), &v("b")).unwrap());
    }
    let system = System::new(&rows).unwrap();
    let found = with_budget(1, || system.eliminate(&[Name::new("x"), Name::new("b")])).unwrap();
    assert!(found.exact && found.system.constraints().is_empty(), "{}", found.system);
}
