//! Accessors of values: names, parts, tuples, spaces. Tests of the guarantees that other crates
//! rely on.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_poly::{Aff, Constraint, Error, Name, System};

use crate::short::{map, set, v};

fn names(list: &[&str]) -> BTreeSet<Name> {
    list.iter().map(Name::new).collect()
}

#[test]
fn a_suffix_may_be_longer_than_the_name() {
    for (name, suffix, whole) in
        [("i", "_outer", "i_outer"), ("row", "'", "row'"), ("", "k", "k"), ("k", "", "k")]
    {
        assert_eq!(Name::new(name).followed_by(suffix), *whole);
    }
}

/// `4*i + 6*j - 2*floor((i + n)/3) + 5`.
fn mixed() -> Aff {
    let quotient = v("i").add(&v("n")).unwrap().floor_div(3).unwrap();
    let sum = v("i").scale(4).unwrap().add(&v("j").scale(6).unwrap()).unwrap();
    sum.sub(&quotient.scale(2).unwrap()).unwrap().add_constant(5).unwrap()
}

#[test]
fn a_function_knows_its_names_and_parts() {
    let f = mixed();
    assert_eq!(f.names(), names(&["i", "j", "n"]));
    // Each occurrence: `i` outside and inside of the quotient.
    let mut seen = Vec::new();
    f.visit_names(&mut |n| seen.push(n.to_string()));
    seen.sort();
    assert_eq!(seen, ["i", "i", "j", "n"]);
    assert_eq!((f.coefficient("i"), f.coefficient("j"), f.coefficient("n")), (4, 6, 0));
    assert!(!f.is_affine());
    assert!(v("i").add_constant(7).unwrap().is_affine() && Aff::from(3).is_affine());
    assert_eq!((Aff::from(-4).as_constant(), v("i").as_constant()), (Some(-4), None));
    assert_eq!((f.content(), Aff::from(9).content()), (2, 0));
    assert_eq!(v("i").scale(15).unwrap().add(&v("j").scale(-25).unwrap()).unwrap().content(), 5);
    assert_eq!(Constraint::nonneg(f).names(), names(&["i", "j", "n"]));
}

#[test]
fn a_function_has_a_value_where_all_of_its_names_have() {
    let at = |values: &[(&str, i64)]| {
        let values: BTreeMap<Name, i64> = values.iter().map(|(n, v)| (Name::new(n), *v)).collect();
        mixed().eval_in(&values)
    };
    // 4 + 6 - 2*floor(-6/3) + 5, and 4 + 6 - 2*floor(-7/3) + 5.
    assert_eq!(at(&[("i", 1), ("j", 1), ("n", -7)]), Some(19));
    assert_eq!(at(&[("i", 1), ("j", 1), ("n", -8)]), Some(21));
    assert_eq!(at(&[("i", 1), ("n", 2)]), None);
}

#[test]
fn one_name_is_replaced_everywhere() {
    let by = v("k").add_constant(-1).unwrap();
    let found = mixed().substitute_one("n", &by).unwrap();
    let quotient = v("i").add(&by).unwrap().floor_div(3).unwrap();
    let expected =
        mixed().add(&v("i").add(&v("n")).unwrap().floor_div(3).unwrap().scale(2).unwrap()).unwrap();
    assert_eq!(found, expected.sub(&quotient.scale(2).unwrap()).unwrap());
    assert_eq!(mixed().substitute_one("m", &by).unwrap(), mixed());
}

#[test]
fn names_are_compared_with_text() {
    let n = Name::new("n");
    assert!(n == *"n" && n == "n");
    assert!(n != *"m" && n != "m");
}

#[test]
fn a_map_consists_of_systems() {
    let m = map("[n] -> { A[i] -> B[j] : j = i + 1 and 0 <= i < n; A[i] -> B[j] : j = 0 and i = n }");
    assert_eq!(m.disjuncts().len(), 2);
    let at = |i: i64, j: i64| {
        m.contains(&|name: &Name| {
            Some(if *name == "i" {
                i
            } else if *name == "j" {
                j
            } else {
                5
            })
        })
    };
    assert_eq!([at(3, 4), at(5, 0), at(5, 6), at(3, 0)], [Some(true), Some(true), Some(false), Some(false)]);
    assert_eq!(m.is_empty(), Ok(false));
    assert_eq!(map("{ [i] -> [j] : i < j < i }").is_empty(), Ok(true));
    let back = m.reverse();
    assert_eq!(back.tuples(), (Some(&Name::new("B")), Some(&Name::new("A"))));
    assert_eq!(back.ins(), m.outs());
    // A pair nearest to zero, with the parameter fixed or free.
    let fixed = BTreeMap::from([(Name::new("n"), 0)]);
    let point = |values: &[(&str, i64)]| Some(values.iter().map(|(n, v)| (Name::new(n), *v)).collect());
    assert_eq!(m.sample(&fixed), Ok(point(&[("i", 0), ("j", 0), ("n", 0)])));
    assert_eq!(map("{ [i] -> [j] : i < j < i }").sample(&BTreeMap::new()), Ok(None));
}

#[test]
fn injective_maps_have_single_valued_inverses() {
    for (text, single, injective) in [
        ("{ A[i] -> B[2i + 1] }", true, true),
        ("{ [i, j] -> [i + j] }", true, false),
        ("{ [i] -> [j] : i <= 2j <= i + 1 }", true, false),
        ("{ [i] -> [j] : i <= 2j and 2j <= i + 2 and i mod 2 = 0 }", false, false),
        ("{ [i] -> [j] : 2i <= j <= 2i + 1 }", false, true),
    ] {
        let m = map(text);
        assert_eq!((m.is_single_valued(), m.is_injective()), (Ok(single), Ok(injective)), "{text}");
    }
    assert_eq!(set("{ A[i] : i = 2 }").tuple(), Some(&Name::new("A")));
    assert_eq!(set("{ [i] : i = 2 }").tuple(), None);
}

#[test]
fn fixed_parameters_leave_the_space() {
    let values = BTreeMap::from([(Name::new("n"), 3)]);
    let s = set("[m, n] -> { [i] : 0 <= i < n and i < m }").fix_params(&values).unwrap();
    assert_eq!(s.params(), [Name::new("m")]);
    assert!(s.is_equal(&set("[m] -> { [i] : 0 <= i < 3 and i < m }")).unwrap());
    let m = map("[m, n] -> { [i] -> [j] : j = i + n and i < m }").fix_params(&values).unwrap();
    assert_eq!(m.params(), [Name::new("m")]);
}

/// Sets of other spaces are refused, whether the names of the tuples or the numbers of dimensions
/// differ, and the refusal shows both spaces.
#[test]
fn sets_and_maps_of_other_spaces_are_refused() {
    let m = map("{ A[i] -> B[j] : j = i }");
    for (other, text) in [("{ C[i] }", "A[i] -> B[j] and C[i]"), ("{ A[i, k] }", "A[i] -> B[j] and A[i, k]")]
    {
        for result in [m.intersect_domain(&set(other)), m.intersect_range(&set(other))] {
            match result {
                Err(Error::Space(found)) => assert_eq!(found, text),
                result => panic!("{other}: {result:?}"),
            }
        }
    }
    // A parameter of the set with the name of a dimension of the map.
    for other in ["[i] -> { A[k] : k < i }", "[j] -> { A[k] : k < j }"] {
        assert!(matches!(m.intersect_domain(&set(other)), Err(Error::Space(_))), "{other}");
    }
    assert!(
        m.intersect_domain(&set("{ A[i] : i = 2 }")).unwrap().is_equal(&map("{ A[2] -> B[2] }")).unwrap()
    );
    assert!(m.intersect_range(&set("{ B[i] : i = 2 }")).unwrap().is_equal(&map("{ A[2] -> B[2] }")).unwrap());
    // The dimension of a set is renamed to that of the side.
    let next = map("{ A[i] -> B[j] : j = i + 1 }");
    assert!(
        next.intersect_range(&set("{ B[i] : i = 2 }")).unwrap().is_equal(&map("{ A[1] -> B[2] }")).unwrap()
    );
    assert!(
        next.intersect_domain(&set("{ A[j] : j = 2 }")).unwrap().is_equal(&map("{ A[2] -> B[3] }")).unwrap()
    );
}

/// An equality decides about the constraints parallel to it, and about no others.
#[test]
fn an_equality_implies_its_own_value_only() {
    let fixed = System::new(&[Constraint::equal(&v("i"), &Aff::from(3)).unwrap()]).unwrap();
    let below = System::new(&[Constraint::le(&v("i"), &Aff::from(3)).unwrap()]).unwrap();
    for c in 0..7 {
        let (equal, least, most) = (
            Constraint::equal(&v("i"), &Aff::from(c)).unwrap(),
            Constraint::le(&Aff::from(c), &v("i")).unwrap(),
            Constraint::le(&v("i"), &Aff::from(c)).unwrap(),
        );
        assert_eq!(fixed.implies(&equal), Ok(c == 3), "i = {c}");
        assert_eq!(fixed.implies(&least), Ok(c <= 3), "i >= {c}");
        assert_eq!(fixed.implies(&most), Ok(c >= 3), "i <= {c}");
        assert_eq!(fixed.implies_all(&[least.clone(), most.clone()]), Ok(c == 3), "{c}");
        assert_eq!(below.implies(&equal), Ok(false), "i = {c}");
        assert_eq!(below.implies_all(&[most, least]), Ok(false), "{c}");
    }
}
