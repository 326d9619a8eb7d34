//! Least values, spaces that do not fit together, what is said of unions, and the greatest numbers
//! of alternatives.

use loopwright_poly::{Aff, Constraint, Error, Name, Set, System, leading, with_budget, with_isl_only};

use crate::short::{is_space_error, k, map, set, v};

fn times(c: i64, name: &str) -> Aff {
    v(name).scale(c).unwrap()
}

fn le(a: Aff, b: Aff) -> Constraint {
    Constraint::le(&a, &b).unwrap()
}

/// `i` is at least `j`, which is at least 0: for some `j` it is 0, which is stated, and from which
/// its values are counted for every `j`.
#[test]
fn a_stated_constant_that_is_attained_is_the_least_value() {
    let system = System::new(&[le(k(0), v("i")), le(k(0), v("j")), le(v("j"), v("i"))]).unwrap();
    assert_eq!(system.least_value(&Name::new("i"), &|n| *n == "j").unwrap(), Some(k(0)));
}

/// Half of `j` is no function without a division, and `j` itself is more than `i` is at least.
#[test]
fn a_part_of_a_name_is_no_least_value() {
    let system = System::new(&[le(v("j"), times(2, "i")), le(k(6), v("j")), le(v("i"), v("n"))]).unwrap();
    let least = |keep: &str| system.least_value(&Name::new("i"), &|n| *n == *keep).unwrap();
    assert_eq!(least("j"), Some(k(3)));
}

/// Two terms: 32*k + l <= 127 with l <= 31 is k <= 3. A constraint of one name or none is its own.
#[test]
fn two_digits_are_told_apart() {
    let lane = [le(k(0), v("l")), le(v("l"), k(31))];
    let left = |c: Constraint| leading(&[&lane[..], &[c]].concat(), &|name| *name == "k");
    let number = |last| le(times(32, "k").add(&v("l")).unwrap(), k(last));
    assert_eq!(left(number(127)), [le(v("k"), k(3))]);
    assert!(left(number(126)).is_empty());
    assert!(left(Constraint::nonneg(k(1))).is_empty() && left(le(v("k"), k(7))).is_empty());
}

/// Both pieces of the projection have the constraints that do not mention `x`.
#[test]
fn what_stands_for_a_union_keeps_what_its_pieces_share() {
    let shared = le(v("q"), v("m"));
    let system = System::new(&[
        le(v("n"), times(3, "x")),
        le(v("p"), times(7, "x")),
        le(times(5, "x"), v("m")),
        shared.clone(),
    ]);
    let system = system.unwrap();
    let check = || {
        let found = system.eliminate(&[Name::new("x")]).unwrap();
        assert!(found.system.implies(&shared).unwrap(), "{}", found.system);
    };
    check();
    with_isl_only(check);
}

/// `y` is bounded from below only, and goes with what it bounds; then `z` goes, and `x`. That one
/// pair of bounds of `x` is exact says nothing of the next, in either order.
#[test]
fn all_pairs_of_bounds_make_a_name_exact() {
    let sum = |terms: &[(i64, &str)], constant: i64| {
        let add = |aff: Aff, (c, name): &(i64, &str)| aff.add(&times(*c, name)).unwrap();
        Constraint::nonneg(terms.iter().fold(k(constant), add))
    };
    let lower = sum(&[(2, "x"), (1, "z"), (-1, "a")], 0);
    let uppers = [sum(&[(-1, "x")], 10), sum(&[(-3, "x"), (1, "y"), (1, "b")], 0)];
    for [one, other] in [[0, 1], [1, 0]] {
        let system = System::new(&[lower.clone(), uppers[one].clone(), uppers[other].clone()]).unwrap();
        let names = ["x", "y", "z"].map(Name::new);
        let found = with_budget(1, || system.eliminate(&names)).unwrap();
        assert!(found.exact && found.system.constraints().is_empty(), "{}", found.system);
    }
}

/// A name that is a dimension of one operand and a parameter of the other means two things, on
/// whichever side it is the parameter.
#[test]
fn dimensions_of_one_are_no_parameters_of_the_other() {
    let (plain, other) = (set("{ [i] : 0 <= i < 5 }"), set("[i] -> { [j] : j = i }"));
    is_space_error(plain.intersect(&other));
    is_space_error(other.intersect(&plain));
    is_space_error(plain.is_subset(&other));
    is_space_error(other.is_subset(&plain));
    let pairs = map("{ [i] -> [o] : o = i }");
    is_space_error(pairs.intersect_domain(&set("[i] -> { [j] : j = i }")));
    is_space_error(pairs.intersect_domain(&set("[o] -> { [j] : j = o }")));
    is_space_error(pairs.intersect_range(&set("[i] -> { [j] : j = i }")));
    is_space_error(pairs.intersect_range(&set("[o] -> { [j] : j = o }")));
    let within = pairs.intersect_domain(&set("[n] -> { [j] : j = n }")).unwrap();
    assert!(within.is_equal(&map("[n] -> { [i] -> [o] : i = n and o = n }")).unwrap());
}

#[test]
fn maps_of_different_pairs_are_not_equal() {
    let one = map("[n] -> { [i] -> [i + 1] : 0 <= i < n }");
    for other in [
        "[n] -> { [i] -> [i + 2] : 0 <= i < n }",
        "[n] -> { [i] -> [i + 1] : 0 <= i <= n }",
        "[n] -> { [i] -> [i + 1] : 1 <= i < n }",
    ] {
        let other = map(other);
        assert!(!one.is_equal(&other).unwrap() && !other.is_equal(&one).unwrap(), "{other}");
    }
    assert!(one.is_equal(&map("[n] -> { [i] -> [j] : 0 <= i and i < n and j = 1 + i }")).unwrap());
}

/// A stored map is no set, whichever of its tuples have dimensions or names.
#[test]
fn no_map_is_read_as_a_set() {
    for text in ["{ [i] -> [j] : j = i }", "{ A[] -> [i] : 0 <= i < 3 }", "{ A[i] -> [j] : j = i }"] {
        let stored = serde_json::to_string(&map(text)).unwrap();
        let error = serde_json::from_str::<Set>(&stored).expect_err(text).to_string();
        assert!(error.contains("a set has one tuple, this is a map"), "{error}");
    }
}

/// 32 times 32 alternatives are as many as there may be, and 33 times 32 are too many.
#[test]
fn alternatives_up_to_their_greatest_number() {
    let points = |name: &str, count: i64| {
        (0..count).map(|x| format!("{name} = {}", 2 * x)).collect::<Vec<_>>().join(" or ")
    };
    let text = |count| format!("{{ [i, j] : ({}) and ({}) }}", points("i", count), points("j", 32));
    let all = set(&text(32));
    assert_eq!(all.disjuncts().len(), 1024);
    let error = text(33).parse::<Set>().unwrap_err().to_string();
    assert!(error.contains("more than 1024 alternatives"), "{error}");
    let only = |name: &str, count| set(&format!("{{ [i, j] : {} }}", points(name, count)));
    let both = only("i", 32).intersect(&only("j", 32)).unwrap();
    assert_eq!(both.disjuncts().len(), 1024);
    assert_eq!(only("i", 33).intersect(&only("j", 32)), Err(Error::Budget));
    // What no alternative contains takes nothing away, and makes no more of them.
    let left = with_budget(1, || all.subtract(&set("{ [i, j] : i = 1 }"))).unwrap();
    assert_eq!(left.disjuncts().len(), 1024);
}

/// A failing assertion shows which functions differ.
#[test]
fn functions_are_shown_with_their_terms() {
    let shown = [times(2, "i"), times(3, "i"), times(2, "j")].map(|aff| format!("{aff:?}"));
    assert!(shown[0].contains('i') && shown[2].contains('j'), "{shown:?}");
    assert!(shown[0] != shown[1] && shown[0] != shown[2], "{shown:?}");
}
